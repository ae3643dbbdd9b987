"""[BK12, Sec. I]: contacts on any link. A human goes down on knees and forearms, crawls a metre, and stands up again.

Down: both hands in front of the feet, one foot back on its toes, the other, both knees, toes off, one forearm, the
other. Crawling: knee and elbow of the right side, then of the left; three points carry meanwhile. Up: the same postures
in reverse order. All of it is a sequence of static postures [BK12, Sec. VI], found once for each kind of stance and
shifted along the ground.

The motion must not depend on rounding, so every posture keeps a distance from each limit: from the ends of joints,
torques, friction and the edge of the support, with the numbers below. The places of the contacts were searched at
random for postures that exist at these distances. On the way to a contact a limb passes a posture in which it is still
above the ground. Straight references of joints, centre of mass and frames then agree along the way. What does not
carry stays above the ground: a toe or an elbow that touches it is a contact that the controller does not know.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ..algebra.rigid import pose
from ..body.body import Body
from ..control import constraints, contacts
from ..control.stances.machine import Stances
from ..control.stances.planner import Planner
from ..control.stances.stance import Stance
from ..geometry.primitives import Plane, Point
from ..robot import Robot, load
from .perturbation import measured, start
from .pictures import draw, sheet
from .rows import Figure, exactly, small

if TYPE_CHECKING:
    from ..simulate.run import Run

Array = np.ndarray
SIDES = {"left": 1.0, "right": -1.0}
FEET, TOES, HANDS, KNEES, ELBOWS = (
    [f"{side} {part}" for side in SIDES] for part in ("foot", "toe", "hand", "knee", "elbow")
)
PADS = {  # link, and where it touches, m
    "toe": ("foot", (0.14, 0.0, 0.0)), "knee": ("shank", (0.055, 0.0, 0.0)), "elbow": ("forearm", (-0.035, 0.0, 0.0)),
}  # fmt: skip
HEEL = (-0.05, 0.0, 0.0)  # m, of a hand in the axes of its palm
ALONG = {"toe": -0.61, "hand": 0.34, "knee": -0.08, "elbow": 0.32}  # m, ahead of the starting place
ASIDE = {"toe": 0.124, "hand": 0.292, "knee": 0.145, "elbow": 0.237}
STRIDE, CYCLES = 0.25, 4
SUPPORT = 0.5  # of each sole's size, and 1 − SUPPORT of its share of the weight at least on each point
STRENGTH = 0.6  # of the torque limits, in postures
END_DISTANCE = 0.15  # rad, between postures and the ends of joints; noise and motion take a part of it
FRICTION = 0.7  # of the ground
CAREFUL = 0.5  # the coefficient of friction that postures and controller use
BRAKING = 20.0  # rad/s²; wrists that brake harder with the hands on the ground use up the torque of the shoulders
# Three points forgive no error of the centre of mass; the posture decides what contacts and frames leave free.
WEIGHTS = {"centre of mass": 200.0, "frames": 20.0, "posture": 0.5}
LOADED = 10.0  # N: a contact that bears less does not bear
BELOW = 0.003  # m, by which a tip may be below the ground in a posture: soft contacts are below it, too
# m, from the place of a contact: the limb passes there on its way to the contact
OVER = {"hand": (-0.1, 0.0, 0.15), "toe": (0.45, 0.0, 0.15), "knee": (0.0, 0.0, 0.12), "elbow": (-0.08, 0.0, 0.1)}
NOISE = {
    "position": 2e-4, "velocity": 5e-3, "base_position": 2e-4, "base_orientation": 2e-4,
    "base_linear": 2e-3, "base_angular": 5e-3,
}  # fmt: skip

# Wanted joints, rad: of both sides, then of the trunk. Postures are the nearest ones that the contacts allow.
BENT = {"hip_pitch": -1.6, "knee": 0.9, "ankle_pitch": -0.4, "shoulder_pitch": -1.7, "elbow": -0.2, "wrist_roll": 1.0}
BENT_TRUNK = {"lumbar_pitch": 0.7, "thorax_pitch": 0.4, "neck_pitch": -0.5}
ON_TOES = BENT | {"hip_pitch": -1.5, "knee": 0.7, "ankle_pitch": -0.2, "shoulder_pitch": -2.0}
ON_TOES_TRUNK = {"lumbar_pitch": 0.4, "thorax_pitch": 0.2, "neck_pitch": -0.5}
KNEELING = ON_TOES | {"knee": 2.0, "ankle_pitch": 0.0, "shoulder_pitch": -1.8, "wrist_roll": 1.2}
KNEELING_TRUNK = {"lumbar_pitch": 0.2, "neck_pitch": -0.5}
PRONE = {"hip_pitch": -1.5, "knee": 2.1, "ankle_pitch": 0.4, "shoulder_pitch": -1.6, "elbow": -1.5}
PRONE_TRUNK = {"lumbar_pitch": 0.1, "neck_pitch": -0.5}
ON_RIGHT_HAND = {"right_shoulder_pitch": -1.8, "right_elbow": -0.2, "right_wrist_roll": -1.2}
STRETCHED = {f"{side}_ankle_pitch": 0.65 for side in SIDES}  # toes off the ground


def mirrored(joints: dict[str, float], **middle: float) -> dict[str, float]:
    """Joints of both sides: roll and yaw have opposite signs."""
    made = dict(middle)
    for side, sign in SIDES.items():
        made |= {f"{side}_{name}": x * (sign if name.endswith(("roll", "yaw")) else 1.0) for name, x in joints.items()}
    return made


def padded(robot: Robot) -> Robot:
    """Returns the robot with frames at the points of toes, knees, elbows and heels of the hands that touch."""
    for part, (link, point) in PADS.items():
        for side in SIDES:
            robot = robot.with_frame(f"{side} {part}", f"{side}_{link}", pose(p=np.array(point)))
    for hand in HANDS:
        robot = robot.with_frame(_frame(hand), hand, pose(p=np.array(HEEL)))
    return robot


def above_ground(tips: Iterable[str]) -> list[Any]:
    """Returns constraints that keep frames above the ground."""
    ground = Plane((0.0, 0.0, 1.0), -BELOW)
    return [constraints.KeepOut(Point((0, 0, 0), tip), ground, name=f"{tip} above ground") for tip in tips]


def crawler() -> tuple[Robot, list[Any], list[Any]]:
    """Returns the built-in human with pads on toes, knees and elbows, its contacts, and constraints for its tips."""
    body = Body.of(load("human"))
    touching: list[Any] = [
        contacts.FlatContact(foot, corners=np.array(body.parts[foot].corners), margin=0.005, friction=CAREFUL)
        for foot in FEET
    ]
    # Frames at the points that touch: a frame that is tracked then meets the ground whatever the wrist does.
    touching += [
        contacts.PointContact(_frame(name), name=name, friction=CAREFUL) for name in (*HANDS, *TOES, *KNEES, *ELBOWS)
    ]
    tips = [f"{side}_{part}_corner_{k}" for side in SIDES for part in ("foot", "hand") for k in (0, 3)]
    return padded(body.robot), touching, above_ground([*tips, *TOES, *KNEES, *ELBOWS])


def _frame(contact: str) -> str:
    """Returns the frame at the point where a contact touches."""
    return f"heel of {contact}" if contact in HANDS else contact


def _place(name: str, ahead: float = 0.0) -> Array:
    side, part = name.split()
    return np.array([ALONG[part] + ahead, SIDES[side] * ASIDE[part], 0.0])


def _down() -> list[Stance]:
    """From both feet to knees and forearms."""
    bent, prone = mirrored(BENT, **BENT_TRUNK), mirrored(PRONE, **PRONE_TRUNK)
    on_toes, kneeling = mirrored(ON_TOES, **ON_TOES_TRUNK), mirrored(KNEELING, **KNEELING_TRUNK)
    made = [Stance(FEET, name="standing")]
    for contacts_now, posture, new, name in (
        (FEET, bent, HANDS, "hands low"),
        ([*FEET, *HANDS], bent, HANDS, "hands down"),
        ([*HANDS, "left foot"], on_toes, ["right toe"], "right leg back"),
        ([*HANDS, "left foot", "right toe"], on_toes, ["right toe"], "right toe back"),
        ([*HANDS, "right toe"], on_toes, ["left toe"], "left leg back"),
        ([*HANDS, *TOES], on_toes, ["left toe"], "on hands and toes"),
        ([*HANDS, *TOES], kneeling, KNEES, "knees low"),
        ([*HANDS, *TOES, *KNEES], kneeling, KNEES, "on hands and knees"),
        ([*HANDS, *KNEES], kneeling | STRETCHED, [], "toes off"),
        (["right hand", *KNEES], prone | ON_RIGHT_HAND, ["left elbow"], "left elbow low"),
        (["right hand", *KNEES, "left elbow"], prone | ON_RIGHT_HAND, ["left elbow"], "left forearm down"),
        ([*KNEES, "left elbow"], prone, ["right elbow"], "right elbow low"),
        ([*KNEES, *ELBOWS], prone, ["right elbow"], "on knees and forearms"),
    ):
        places = {one: _place(one) for one in new if one in contacts_now}
        over = {_frame(one): _place(one) + OVER[one.split()[1]] for one in new if one not in contacts_now}
        made.append(Stance(contacts_now, posture, name, places, over, hold=0.1))
    return made


def _cycle() -> list[Stance]:
    """One stride of all four, without the last, after which all is as before and a stride farther on."""
    prone, moves = mirrored(PRONE, **PRONE_TRUNK), ("right knee", "right elbow", "left knee")
    return [Stance([*KNEES, *ELBOWS], prone, f"{name} ahead", {name: _place(name, STRIDE)}, hold=0.0) for name in moves]


def stances(robot: Robot, touching: list[Any], options: dict[str, Any]) -> list[Stance]:
    """The whole motion, every posture known."""
    kinds, count = [*_down(), *_cycle()], len(_down())
    planner = Planner(robot, {contact.label: contact for contact in touching}, options)
    known = [
        replace(stance, posture=planned.q, places={}, targets={})
        for stance, planned in zip(kinds, planner.plan(kinds, None), strict=True)
    ]
    made = down = known[:count]
    for k in range(CYCLES):
        made = made + [_shifted(step, k * STRIDE, f"{step.name} {k + 1}") for step in known[count:]]
        made.append(_shifted(replace(down[-1], hold=0.0), (k + 1) * STRIDE, f"left elbow ahead {k + 1}"))
    return made + [_shifted(stance, CYCLES * STRIDE, f"{stance.name} again") for stance in reversed(down[:-1])]


def _shifted(stance: Stance, ahead: float, name: str) -> Stance:
    q = np.array(stance.posture)
    q[0] += ahead
    return replace(stance, posture=q, name=name)


def crawling(**more: Any) -> Stances:
    """The machine that does it; more options of `Stances`."""
    robot, touching, above = crawler()
    options = {
        "support": SUPPORT,
        "strength": STRENGTH,
        "constraints": (*above, constraints.JointLimits(margin=END_DISTANCE)),
    }
    pace = {"speed": (0.25, 0.6, 1.3), "shortest": 0.3, "load_time": 0.2, "clearance": 0.03}
    given = {
        **pace,
        "weights": WEIGHTS,
        "postures": options,
        "constraints": [constraints.JointLimits(BRAKING)],
        **more,
    }
    return Stances(robot, stances(robot, touching, options), touching, **given)


def crawl(machine: Stances, controller: Any = None, **given: Any) -> Run:
    """The motion in MuJoCo, by another controller in the place of the machine if there is one; more options of
    `simulate`."""
    from ..simulate.loop import simulate

    fall = {"height": 0.12, "tilt": 3.0}  # m of the base, and rad: prone is no fall
    given = {"q0": machine.q0, "noise": NOISE, "fall": fall, "friction": FRICTION, **given}
    return simulate(machine.robot, controller or machine, duration=1.05 * machine.seconds + 1.0, **given)


@cache
def crawled() -> tuple[Stances, Run]:
    """The motion with noise of the sensors."""
    machine = crawling()
    q0, v0 = start(machine.robot, machine.q0, np.zeros(machine.robot.nv))
    return machine, crawl(machine, measured(machine), q0=q0, v0=v0)


def bearing(run: Run) -> dict[str, Array]:
    """Whether each contact bears, measured, at every step."""
    return {name: np.linalg.norm(force[:, :3], axis=1) > LOADED for name, force in run.measured.items()}


def crawl_figures() -> Iterator[Figure]:
    """Of row B6."""
    yield from figures_of(*crawled())


def figures_of(machine: Stances, run: Run) -> Iterator[Figure]:
    """What carries is measured, not what was planned."""
    yield exactly("knees and forearms: how the motion ended", machine.outcome.name, "COMPLETED")
    went, rose = run.q[-1, [0, 2]] - run.q[0, [0, 2]]
    yield small(f"knees and forearms: off the {STRIDE * CYCLES:g} m to crawl, m", abs(went - STRIDE * CYCLES), 0.03)
    yield small("knees and forearms: pelvis as high as before, m", abs(rose), 0.02)
    bears = bearing(run)
    prone = np.any([bears[name] for name in ELBOWS], axis=0)
    least = min(float(bears[name][prone].mean()) for name in (*KNEES, *ELBOWS))
    yield Figure(
        "knees and forearms: part of the time with a forearm down that each of the four bears",
        "> 0.6",
        f"{least:.2f}",
        least > 0.6,
    )
    feet = max(float(bears[name][prone].mean()) for name in (*FEET, *HANDS))
    yield Figure("knees and forearms: a foot or a hand bears while forearms do", "< 0.5", f"{feet:.2f}", feet < 0.5)
    yield largest_torque("knees and forearms", run)


def largest_torque(on: str, run: Run) -> Figure:
    """The torque that comes nearest to its limit."""
    used = float(np.max(np.abs(run.torque[:, 6:]) / np.asarray(run.robot.limits.effort)[6:]))
    return Figure(f"{on}: largest torque by its limit", "≤ 1", f"{used:.3f}", used <= 1 + 1e-9)


def crawl_picture() -> Any:
    """Postures on the way, from the side."""
    machine, run = crawled()
    times = np.linspace(run.t[0], run.t[-1], 12)
    picture, axes = sheet(
        "[BK12, Sec. I] on knees and forearms", [f"{t:.0f} s" for t in times], columns=6, size=(2.4, 2.2)
    )
    for one, t in zip(axes, times, strict=True):
        q = run.q[min(int(np.searchsorted(run.t, t)), len(run.t) - 1)]
        draw(one, machine.robot, q, color="#2b6cb0")
    return picture
