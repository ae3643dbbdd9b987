"""[QO21, Sec. 6.2]: the right hand reaches for a ball that is too far, so the left hand leans on a table or on a wall.

The thesis's robot is Thormang with 27 joints; here it is the built-in human. Its places are not given either, so ours are such
that the outcomes differ: with the table the support must be enlarged before the ball is reached, for a ball farther away the hand
must slide as well, and with the wall the contact is enough.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from ..balance.support import support_polygon
from ..control.constraints import KeepOut, SelfCollision
from ..control.contacts import FlatContact
from ..control.stances.attempts import Report
from ..control.stances.events import EventKind
from ..control.stances.multi_contact import MultiContact
from ..control.tasks import FrameTask
from ..geometry.primitives import Plane, Sphere
from ..robot import Robot, load
from .pictures import LIMIT, draw, sheet
from .rows import Figure, equal, small

Array = np.ndarray
FEET, HAND = ("left_foot", "right_foot"), "left_hand"
MARGIN = 0.02  # m, kept by the centre of mass from the edges of its support
CONTACT = 5e-3  # m (and sine of the tilt), within which the hand has come to its surface
EVERY = 5  # of the steps of 10 ms are looked at


@dataclass(frozen=True)
class Place:
    """What the left hand may lean on, and where the ball is."""

    normal: tuple[float, float, float]
    offset: float  # m
    region: tuple[tuple[float, float, float], ...]  # m, corners on the surface
    ball: tuple[float, float, float]  # m
    step: int  # the attempt that fulfils the task
    thesis: str  # where it says so


HEIGHT, WALL = 0.85, 0.65  # m
TABLE = ((0.35, 0.0, HEIGHT), (0.75, 0.0, HEIGHT), (0.75, 0.5, HEIGHT), (0.35, 0.5, HEIGHT))
PANEL = ((WALL, 0.0, 1.0), (WALL, 0.5, 1.0), (WALL, 0.5, 1.5), (WALL, 0.0, 1.5))
PLACES = {
    "table": Place((0, 0, 1), HEIGHT, TABLE, (1.31, -0.2, 1.0), 3, "Fig. 6.14"),
    "table, farther ball": Place((0, 0, 1), HEIGHT, TABLE, (1.38, -0.2, 1.0), 4, "Table 6.3"),
    "wall": Place((-1, 0, 0), -WALL, PANEL, (1.25, -0.2, 1.0), 2, "Fig. 6.17"),
}
TRUNK = {"pelvis": 0.0, "thorax": 0.1, "head": 0.1}  # m, places of balls that stay off the wall


@dataclass(frozen=True, eq=False)
class Touching:
    """What happened; one entry per look."""

    robot: Robot
    report: Report
    t: Array
    ends: Array  # s, of the attempts
    distance: Array  # m, of the right hand from the ball
    area: Array  # m², of the support
    margin: Array  # m, of the centre of mass from the edge of the support
    feet: Array  # m, how far a foot is from where it stood
    off: Array  # m, the farthest of the hand's corners from the surface while it leans; NaN before


@cache
def touched(name: str) -> Touching:
    """The strategy of [QO21, Fig. 4.13] at one of `PLACES`, commanded velocities followed."""
    place, machine = PLACES[name], _machine(PLACES[name].region)
    robot = machine.robot
    machine.controller.set_target("ball", np.array(place.ball))
    report = machine.run(robot.standing())
    made = min((event.t for event in machine.log if event.kind is EventKind.TOUCHED), default=np.inf)
    start = _corners(robot, report.path[0], FEET)
    rows = [_looked(place, robot, q, bool(t > made), start) for t, q in zip(report.t[::EVERY], report.path[::EVERY], strict=True)]
    ends = np.cumsum([attempt.seconds for attempt in report.attempts])
    return Touching(robot, report, report.t[::EVERY], ends, *np.array(rows).T)


@cache
def _machine(region: tuple[tuple[float, float, float], ...]) -> MultiContact:
    """One for the table and one for the wall, which trunk and head must not enter either."""
    place, robot = next(place for place in PLACES.values() if place.region == region), load("human")
    ball = FrameTask("right_hand", np.array(place.ball), axes="position", gain=2.0, name="ball")
    surface = Plane(place.normal, place.offset)
    off = [KeepOut(Sphere((0, 0, z), 0.12, link), surface, 0.02, name=f"{link} off the wall") for link, z in TRUNK.items()]
    rules = [SelfCollision(), *(off if place.normal[0] else [])]
    hand, feet = _sole(robot, HAND), [_sole(robot, foot) for foot in FEET]
    options: dict[str, Any] = dict(region=np.array(region), margin=MARGIN, contact_tolerance=CONTACT, constraints=rules)
    return MultiContact(robot, ball, feet, hand, surface, cooperative=True, **options)  # feet by Eqs. (4.58), (4.59)


def _looked(place: Place, robot: Robot, q: Array, leaning: bool, start: Array) -> tuple[float, ...]:
    feet, palm = _corners(robot, q, FEET), _corners(robot, q, (HAND,))
    polygon = support_polygon(np.concatenate([feet, palm]) if leaning else feet)
    away = float(np.linalg.norm(robot.pose(q, "right_hand")[:3, 3] - place.ball))
    off = float(np.abs(palm @ place.normal - place.offset).max()) if leaning else np.nan
    return away, polygon.area, float(polygon.margin(robot.com(q))), float(np.abs(feet - start).max()), off


def _sole(robot: Robot, frame: str) -> FlatContact:
    return FlatContact(frame, corners=np.array([robot.frames[f"{frame}_corner_{k}"].X[:2, 3] for k in range(4)]), friction=0.7)


def _corners(robot: Robot, q: Array, frames: tuple[str, ...]) -> Array:
    return np.array([robot.pose(q, f"{frame}_corner_{k}")[:3, 3] for frame in frames for k in range(4)])


def multi_contact_figures() -> Iterator[Figure]:
    """Row Q8: which attempt fulfils the task, and what holds on every step of the way."""
    for name, place in PLACES.items():
        run = touched(name)
        yield equal(f"{name}: attempt that touches the ball [{place.thesis}]", run.report.step, place.step)
        wider = _of(name, "area", 1) > 1.5 * _of(name, "area", 0)
        areas = " → ".join(f"{attempt.area:.3f}" for attempt in run.report.attempts)
        yield Figure(f"{name}: area of the support with the hand, m²", "larger", areas, wider)
        inside = float(run.margin.min())
        yield Figure(f"{name}: least distance of the mass from the edge, m", "inside", f"{inside:.4f}", inside > MARGIN - 2e-3)
        yield small(f"{name}: feet from where they stood, m [Eqs. (4.58)–(4.59)]", float(run.feet.max()), 2e-3)
        off = max(run.off[np.isfinite(run.off)], default=np.nan)  # not good if it never leaned
        yield small(f"{name}: hand off the surface it leans on, m", float(off), 2 * CONTACT)
    before, after = _of("table", "area", 1), _of("table", "area", 2)
    yield Figure("table: support, hand slid, m² [Fig. 6.15]", "grows", f"{before:.3f} → {after:.3f}", after > before)


def _of(name: str, what: str, attempt: int) -> float:
    """A number of an attempt; NaN, which is neither larger nor smaller, if it did not come to it."""
    attempts = touched(name).report.attempts
    return float(getattr(attempts[attempt], what)) if attempt < len(attempts) else np.nan


def pictures() -> Iterator[tuple[str, Any]]:
    """Distances and areas over time, and the posture at the end of each attempt."""
    for name, (postures, curves) in {"table": ("6.14", "6.15"), "wall": ("6.17", "6.18")}.items():
        yield f"fig-{postures}-{name}", _postures(name, postures)
        yield f"fig-{curves}-{name}", _curves(name, curves)
    yield "table-6.3-farther-ball", _postures("table, farther ball", "4.13")


def _postures(name: str, number: str) -> Any:
    run, place = touched(name), PLACES[name]
    panels = [f"{attempt.name}: {attempt.reason}" for attempt in run.report.attempts]
    picture, axes = sheet(f"[QO21, Fig. {number}] {name}", panels, columns=4, size=(3.2, 3.4))
    for one, end in zip(axes, run.ends, strict=True):
        k = min(int(np.searchsorted(run.report.t, end)), len(run.report.path) - 1)
        draw(one, run.robot, run.report.path[k], color="#2b6cb0")
        one.plot(place.ball[0], place.ball[2], "o", color="#2f9e44", markersize=8)
        x, _, z = np.array(place.region).T
        one.plot([x.min(), x.max()], [z.min(), z.max()], color="#868e96", lw=3)
    return picture


def _curves(name: str, number: str) -> Any:
    run = touched(name)
    panels = ["right hand and ball, m", "area of the support, m²", "mass and edge of the support, m"]
    picture, axes = sheet(f"[QO21, Fig. {number}] {name}", panels)
    for one, curve in zip(axes, (run.distance, run.area, run.margin), strict=True):
        one.plot(run.t, curve, color="#1c5fb0", lw=1.2)
        for end in run.ends[:-1]:
            one.axvline(end, color="#868e96", lw=0.8, linestyle=":")
        one.set_xlabel("t, s; dotted: next attempt")
    axes[2].axhline(MARGIN, **LIMIT)
    return picture
