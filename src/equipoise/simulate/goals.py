"""Checks whether a run reached the goals of its scenario."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .contacts import ContactPoints
from .toml_source import TomlItem
from .world import GROUND, gaps, solids

if TYPE_CHECKING:
    from .actuators import Actuators
    from .run import Run
    from .scenario_build import Built

Array = np.ndarray
PUSH_ERROR = 0.3  # × momentum of the push, tolerance; random pushes may act at the same time
EVERY = 5  # rows between two checks of positions; speeds are far below 1 m/s
SLACK = 1e-9  # tolerance of torque limits, for rounding
SOLVED = ("optimal", "relaxed", "none")  # statuses that count as solved; "none" is a controller without a solver


@dataclass(frozen=True)
class Check:
    """One requirement, with the wanted and the actual value."""

    name: str
    good: bool
    came: str
    wanted: str

    def __str__(self) -> str:
        return f"{self.name}: {self.came} (wanted {self.wanted})"


@dataclass(frozen=True)
class Verdict:
    """All checks of a run."""

    checks: tuple[Check, ...]

    @property
    def reached(self) -> bool:
        """Whether all checks passed."""
        return all(check.good for check in self.checks)

    @property
    def reasons(self) -> tuple[str, ...]:
        """Texts of the failed checks."""
        return tuple(str(check) for check in self.checks if not check.good)

    def as_plain(self) -> dict[str, Any]:
        """Returns the verdict as JSON data."""
        checks = [{"name": c.name, "good": c.good, "came": c.came, "wanted": c.wanted} for c in self.checks]
        return {"reached": self.reached, "checks": checks}

    @classmethod
    def of_plain(cls, plain: Any) -> Verdict:
        return cls(tuple(Check(**check) for check in plain["checks"]))


def judged(run: Run, built: Built, actuators: Actuators | None = None) -> Verdict:
    """Returns the verdict on a run of a scenario; `actuators` are those used in the run, if any."""
    return Verdict((*_always(run, built, actuators), *(_goal(run, built, item) for item in built.scenario.goal)))


# --- what always counts -----------------------------------------------------------------------------------------------


def _always(run: Run, built: Built, actuators: Actuators | None) -> Iterator[Check]:
    ended = run.outcome == "completed"
    why = next((text for _, text in reversed(run.events) if "fell" in text or "failed" in text), run.outcome)
    yield Check("no fall", ended, "stands to the end" if ended else why, "none")
    machine = built.controller
    if built.scenario.stance:
        outcome, progress = str(getattr(machine, "outcome", "")), float(getattr(machine, "progress", 0.0))
        yield Check("all stances", outcome == "completed", f"{outcome}, {progress:.0%} of the way", "completed")
    if built.options["plant"] == "kinematic":
        yield _margins(run, built)
        return
    yield _torques(run, actuators)
    yield _margins(run, built)
    yield from _pushes(run, built)
    yield _penetration(run, built)
    unsolved = [name for name in set(run.statuses.tolist()) if name not in SOLVED]
    share = float(np.mean(np.isin(run.statuses, unsolved))) if unsolved else 0.0
    yield Check("every step solved", share == 0.0, f"{1 - share:.2%} of them", "all")


def _torques(run: Run, actuators: Actuators | None) -> Check:
    """Checks joint torques against the effort limits, plus Coulomb friction.

    Clipped torques fail too: motors log an event when a command exceeded the limit."""
    limit = np.array(run.robot.limits.effort)
    if actuators is not None:
        limit[6 if run.robot.floating else 0 :] += actuators.array(run.robot, "coulomb")
    finite = np.isfinite(limit) & (limit > 0)
    part = np.abs(run.torque[:, finite]) / limit[finite]
    worst = float(part.max(initial=0.0))
    cut = [text for _, text in run.events if text.startswith("torque cut")]
    return Check(
        "torques within limits",
        worst <= 1 + SLACK and not cut,
        cut[0] if cut else f"at most {worst:.0%}",
        "at most 100%",
    )


def _margins(run: Run, built: Built) -> Check:
    """Checks the margins of joint limits and constraints from recorded configurations, not from the controller's
    report."""
    worst, name = _joint_margin(run)
    rows, margins = _rows(run), {name: worst}
    q, t = np.ascontiguousarray(run.q[rows]), run.t[rows]
    for constraint in built.constraints:
        margin = constraint.least_margin(run.robot, q, t)
        margins |= {} if margin is None else {constraint.label: margin}
    name = min(margins, key=lambda label: margins[label])
    good = all(margin >= 0.0 for margin in margins.values())
    return Check("margins of constraints", good, f"at least {margins[name]:.3g} ({name})", "not below 0")


def _pushes(run: Run, built: Built) -> Iterator[Check]:
    """Checks that each push of the scenario transferred its momentum, after subtracting contacts and gravity."""
    mass, gravity = run.robot.mass, np.asarray(run.robot.model.gravity)
    felt = sum((np.nan_to_num(wrench[:, :3]) for wrench in run.measured.values()), np.zeros((len(run.t), 3)))
    for push in built.options.get("pushes", ()):
        a, b = np.searchsorted(run.t, [push.start - 1e-9, push.start + push.duration - 1e-9])
        wanted = push.force * push.duration
        if b >= len(run.t) or not wanted.any():
            continue
        ends = np.ascontiguousarray(run.q[[a, b]]), np.ascontiguousarray(run.v[[a, b]])
        before, after = run.robot.momentum(*ends)[:, :3]
        dt = np.diff(run.t[a : b + 1])[:, None]
        came = after - before - (dt * (felt[a:b] + mass * gravity)).sum(axis=0)
        good = bool(np.linalg.norm(came - wanted) <= PUSH_ERROR * np.linalg.norm(wanted))
        name = f"push at {push.start:g} s arrives"
        yield Check(name, good, f"{came.round(1)} N s", f"{wanted.round(1)} N s within {PUSH_ERROR:.0%}")


def _joint_margin(run: Run) -> tuple[float, str]:
    """Returns the smallest distance of a joint from its limits, and its label."""
    best, where = np.inf, "joint limits"
    for name, joint in run.robot.joints.items():
        if joint.mimic is None and joint.type.nq == 1 and not (run.robot.floating and joint.q.start == 0):
            x, lower, upper = run.q[:, joint.q], run.robot.limits.lower[joint.q], run.robot.limits.upper[joint.q]
            margin = float(np.minimum(x - lower, upper - x).min())
            if margin < best:
                best, where = margin, f"{name} from its limit"
    return best, where


def _rows(run: Run) -> Array:
    return np.unique(np.append(np.arange(0, len(run.t), EVERY), len(run.t) - 1))


def _penetration(run: Run, built: Built) -> Check:
    """Checks how deep contact points penetrate the ground and obstacles."""
    world = solids(built.options["obstacles"], built.options.get("ground", GROUND))
    points, deepest, name = ContactPoints(run.robot, run.contacts), 0.0, "none touches"
    for k in _rows(run) if points.count and world else ():
        depth = -gaps(world, points.arms(run.q[k])[1], float(run.t[k])).distance
        if depth.max() > deepest:
            deepest, name = float(depth.max()), str(points.names[int(depth.argmax())])
    most = built.scenario.safety.penetration
    return Check(
        "penetration", deepest <= most, f"at most {1e3 * deepest:.2f} mm ({name})", f"at most {1e3 * most:g} mm"
    )


# --- goals ------------------------------------------------------------------------------------------------------------


def _goal(run: Run, built: Built, item: TomlItem) -> Check:
    return GOALS[item.kind](run, built, item)


def _place_goal(run: Run, built: Built, item: TomlItem, places: Array, rows: Array, what: str) -> Check:
    """Checks the position of a point: at the end, once, always or at a given time, and for how long."""
    o, start = item.options, places[0]
    if "at" in o:
        at = built.scale * np.asarray(o["at"])
        to = np.where(np.isnan(at), places, at)
    else:
        to = start + built.scale * np.asarray(o.get("by", (0.0, 0.0, 0.0)))
    error = np.linalg.norm(places - to, axis=1)
    within, when, hold = o.get("within", 0.03), o.get("when", "end"), o.get("hold", 0.0)
    t = run.t[rows]
    worst = _over(error, t, when, hold)
    tail = f" for {hold:g} s" if hold else ""
    return Check(
        o.get("name", what),
        worst <= within,
        f"{1e3 * worst:.0f} mm off{tail}",
        f"within {1e3 * within:.0f} mm, {_when(when)}",
    )


def _when(when: Any) -> str:
    return (
        {"end": "at the end", "once": "once", "always": "always"}.get(when, f"at {when} s")
        if isinstance(when, str)
        else f"at {when:g} s"
    )


def _over(error: Array, t: Array, when: Any, hold: float) -> float:
    """Returns the error that counts: the largest in the requested time; for "once", the largest of the best `hold`
    seconds."""
    if when == "always":
        return float(error.max())
    if when == "end":
        return float(error[t >= t[-1] - hold].max())
    if when != "once":
        near = (t >= when - 1e-9) & (t <= when + hold + (t[1] - t[0] if len(t) > 1 else 0.0))
        return float(error[near].max()) if near.any() else float("inf")
    if not hold:
        return float(error.min())
    n = max(round(hold / (t[1] - t[0])), 1)
    if len(error) <= n:
        return float("inf")
    return float(np.lib.stride_tricks.sliding_window_view(error, n).max(axis=1).min())


def _frame(run: Run, built: Built, item: TomlItem) -> Check:
    frame, rows = item.options["frame"], _rows(run)
    places = run.robot.pose(np.ascontiguousarray(run.q[rows]), frame)[:, :3, 3]
    return _place_goal(run, built, item, places, rows, f"{frame} where it should be")


def _com(run: Run, built: Built, item: TomlItem) -> Check:
    rows = _rows(run)
    return _place_goal(run, built, item, run.com[rows], rows, "centre of mass where it should be")


def _beyond(run: Run, built: Built, item: TomlItem) -> Check:
    """Checks how far a frame (or "com") is outside the support polygon of contacts, seen from above."""
    o, rows = item.options, _rows(run)
    frame, names = o["frame"], o["contacts"]
    contacts = ContactPoints(run.robot, {name: run.contacts[name] for name in names})
    places = run.com[rows] if frame == "com" else run.robot.pose(np.ascontiguousarray(run.q[rows]), frame)[:, :3, 3]
    outside = np.array([_outside(contacts.arms(run.q[k])[1][:, :2], p[:2]) for k, p in zip(rows, places, strict=True)])
    most = -_over(-outside, run.t[rows], o.get("when", "end"), 0.0)
    least = built.scale * o.get("least", 0.0)
    what = "centre of mass" if frame == "com" else frame
    return Check(
        o.get("name", f"{what} beyond {' and '.join(names)}"),
        most >= least,
        f"{1e3 * most:.0f} mm outside",
        f"{1e3 * least:.0f} mm or more",
    )


def _outside(corners: Array, p: Array) -> float:
    """Returns the distance of p from the convex hull of corners; negative inside."""
    from scipy.spatial import ConvexHull

    hull = ConvexHull(corners)
    d = hull.equations[:, :2] @ p + hull.equations[:, 2]
    if d.max() <= 0:
        return float(d.max())
    ring = corners[hull.vertices]
    edges = np.roll(ring, -1, axis=0) - ring
    s = np.clip(np.sum((p - ring) * edges, axis=1) / np.sum(edges**2, axis=1), 0.0, 1.0)
    return float(np.linalg.norm(p - ring - s[:, None] * edges, axis=1).min())


def _load(run: Run, built: Built, item: TomlItem) -> Check:
    """Checks the force on a contact, as a fraction of the weight."""
    o = item.options
    contact, least = o["contact"], o.get("least", 0.05)
    weight = run.robot.mass * float(np.linalg.norm(run.robot.model.gravity))
    wrench = run.measured.get(contact, np.zeros((len(run.t), 6)))
    part = np.linalg.norm(np.nan_to_num(wrench[:, :3]), axis=1) / weight
    smooth = np.convolve(part, np.ones(20) / 20, mode="same") if len(part) >= 20 else part
    most = -_over(
        -smooth[10:-10] if len(smooth) > 40 else -smooth,
        run.t[10:-10] if len(smooth) > 40 else run.t,
        o.get("when", "once"),
        0.0,
    )
    return Check(
        o.get("name", f"{contact} carries"),
        most >= least,
        f"{most:.0%} of the weight",
        f"{least:.0%} or more, {_when(o.get('when', 'once'))}",
    )


def _upright(run: Run, built: Built, item: TomlItem) -> Check:
    """Checks the angle between a frame's z axis and its initial direction."""
    o, rows = item.options, _rows(run)
    z = run.robot.pose(np.ascontiguousarray(run.q[rows]), o["frame"])[:, :3, 2]
    tilt = np.arccos(np.clip(z @ z[0], -1.0, 1.0))
    worst, within = _over(tilt, run.t[rows], o.get("when", "always"), 0.0), o.get("within", 0.2)
    return Check(
        o.get("name", f"{o['frame']} upright"),
        worst <= within,
        f"tilted by {worst:.3g} rad",
        f"at most {within:g} rad, {_when(o.get('when', 'always'))}",
    )


def _held(run: Run, built: Built, item: TomlItem) -> Check:
    """Checks how far a frame has moved relative to another frame since the start.

    An object held by both frames would be stretched or squeezed by that distance."""
    o, rows = item.options, _rows(run)
    q = np.ascontiguousarray(run.q[rows])
    X, Y = run.robot.pose(q, o["seen_from"]), run.robot.pose(q, o["frame"])
    seen = np.einsum("kji,kj->ki", X[:, :3, :3], Y[:, :3, 3] - X[:, :3, 3])
    worst = _over(np.linalg.norm(seen - seen[0], axis=1), run.t[rows], o.get("when", "always"), 0.0)
    within = o.get("within", 0.005)
    name = o.get("name", f"{o['frame']} held by {o['seen_from']}")
    wanted = f"at most {1e3 * within:g} mm, {_when(o.get('when', 'always'))}"
    return Check(name, worst <= within, f"moved by {1e3 * worst:.2g} mm", wanted)


GOALS: dict[str, Callable[[Any, Any, TomlItem], Check]] = {
    "frame": _frame, "com": _com, "beyond": _beyond, "load": _load, "upright": _upright, "held": _held,
}  # fmt: skip
