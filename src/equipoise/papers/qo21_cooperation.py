"""[QO21, Sec. 6.1.3]: two arms carry an object in the cooperative dual task space, on a fixed torso and on wheels.

The pose of one hand seen from the other must not change. First the hands put a cup on a table: the height half way
between them is the task; CQP keeps the cup, which is the absolute pose, within 0.3 rad of upright and the joints within
their limits. Then the pose half way between the hands goes to a place, on a fixed torso and on wheels, whose velocities
obey the rolling constraint too; CQP keeps the limits of the joints, and on wheels the ball is released at the end: the
hands move apart. Arms keep off the torso and off each other all the while, by QP and by CQP. The thesis's robot is
Poppy's upper body, in experiments; here it is the built-in pair of arms, and the motion is the commanded one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from ..control.constraints import AbsoluteCone, JointLimits, SelfCollision
from ..control.controller.controller import WholeBodyController
from ..control.safety.vfi import Gains
from ..control.tasks import AbsoluteTask, PlaneTask, PostureTask, RelativeTask, Task
from ..control.tasks.rolling import Rolling
from ..geometry.collisions import self_collision_pairs
from ..geometry.pairs import PairSet
from ..model.robots.mobile import rolling_constraint
from ..robot import Robot, load
from .rows import Figure, small

Array = np.ndarray
DT, DURATION = 0.01, 16.0  # s
SHIFT = {"bimanual": (0.04, 0.33, 0.0), "nonholonomic_bimanual": (0.8, 0.4, 0.15)}  # m, of the object
MARGIN = 0.2  # rad, kept from the ends of the joints
DESCENT, TILT, ETA = 0.35, 0.3, 0.36  # m, rad and 1/s, of the cup between both hands
GRIP = ("left_tool", "right_grip")  # frames of the hands, turned alike
SAFE = 0.07  # m, between arms and torso [QO21, Sec. 6.1]
RELEASE = 0.1  # m, by which the hands go apart


@dataclass(frozen=True, eq=False)
class Carrying:
    """What happened; one entry per step."""

    t: Array
    q: Array
    v: Array
    absolute: Array  # m (and rad), of the middle of the hands from its target
    relative: Array  # m and rad, of the pose between the hands from what it was
    tilt: Array  # rad, of what is carried
    joints: Array  # rad, least distance of a joint from its limits, which are `MARGIN` before its ends
    slip: Array  # m/s, of the wheels sideways
    gap: Array  # m, least distance between parts of the robot


@cache
def lowered(constrained: bool, duration: float = DURATION) -> Carrying:
    """A cup between both hands put on a table [QO21, Fig. 6.10]."""
    robot = _gripping(load("bimanual"))
    left, right = (robot.pose(robot.standing(), frame) for frame in GRIP)
    middle = left[:3, :3].T @ (right[:3, 3] - left[:3, 3]) / 2  # as long as the grip holds
    table = float(left[2, 3] + right[2, 3]) / 2 - DESCENT
    task = PlaneTask(GRIP[0], offset=table, point=middle, gain=ETA, name="object")
    cone = AbsoluteCone(*GRIP, axis=_upright(robot), angle=TILT, name="cup", gains=Gains.of_rates(ETA, 2 * ETA))
    limits = [cone, JointLimits(20.0, margin=MARGIN)] if constrained else []
    return _followed(robot, [task, _grip()], limits, duration)


@cache
def carried(name: str, constrained: bool, duration: float = DURATION) -> Carrying:
    """The object brought to its place [QO21, Fig. 6.12]."""
    robot = _gripping(load(name))
    goal = AbsoluteTask(*GRIP).here(robot, robot.standing())
    goal[:3, 3] += SHIFT[name]
    wheels = [Rolling()] if name.startswith("nonholonomic") else []
    limits = [JointLimits(20.0, margin=MARGIN)] if constrained else []
    return _followed(robot, [AbsoluteTask(*GRIP, goal, gain=1.0, name="object"), _grip(), *wheels], limits, duration)


@cache
def released(name: str, duration: float = 6.0) -> Carrying:
    """After `carried`: all constraints are disabled, and the hands go apart [QO21, Fig. 6.11]."""
    robot, q = _gripping(load(name)), carried(name, True).q[-1]
    apart = RelativeTask(GRIP[1], GRIP[0]).here(robot, q)
    apart[:3, 3] *= 1 + RELEASE / np.linalg.norm(apart[:3, 3])
    # an arm is straight
    held = AbsoluteTask(*GRIP, AbsoluteTask(*GRIP).here(robot, q), gain=1.0, weight=1e-3, name="object")
    wheels = [Rolling()] if name.startswith("nonholonomic") else []
    opened = RelativeTask(GRIP[1], GRIP[0], apart, gain=1.0, name="grip")
    return _followed(robot, [held, opened, *wheels], [], duration, q, collisions=False)


def hands_apart(run: Carrying, robot: Robot) -> Array:
    """m, the distance of the hands at each step."""
    left, right = (robot.pose(run.q, frame)[:, :3, 3] for frame in GRIP)
    return np.linalg.norm(right - left, axis=1)


def _grip() -> RelativeTask:
    """ẋ_rel = 0: the pose between the hands must not change."""
    return RelativeTask(GRIP[1], GRIP[0], gain=2.0, name="grip", hard=True)


def _followed(
    robot: Robot,
    tasks: Sequence[Task],
    limits: Sequence[Any],
    duration: float,
    q: Array | None = None,
    collisions: bool = True,
) -> Carrying:
    """The commanded motion of tasks, off itself, with as little motion as they leave."""
    up, rows = _upright(robot), []
    q = robot.standing() if q is None else q
    v, pairs = np.zeros(robot.nv), tuple(_pairs(robot))
    limits = [*limits, SelfCollision(pairs, SAFE)] if collisions else limits
    rest = PostureTask(q, weight=1e-4, gain=0.0)
    controller = WholeBodyController(robot, [*tasks, rest], (), limits, level="velocity", dt=DT)
    wheels, middle = any(isinstance(task, Rolling) for task in tasks), AbsoluteTask(*GRIP)
    for k in range(round(duration / DT)):
        solution = controller(k * DT, q, v)
        v = solution.velocity
        slip = float(np.abs(rolling_constraint(q)[..., :2] @ v[:2]).max()) if wheels else 0.0
        joints = np.minimum(q - robot.limits.lower, robot.limits.upper - q) - MARGIN
        tilt = float(np.arccos(min(1.0, middle.here(robot, q)[2, :3] @ up)))
        errors = solution.task_errors
        rows.append((k * DT, q, v, errors["object"], errors["grip"], tilt, float(joints.min()), slip))
        q = robot.integrate(q, v, DT)
    columns = [np.array(column) for column in zip(*rows, strict=True)]
    columns.append(PairSet(robot, pairs).distances(columns[1]).min(axis=1))
    return Carrying(*columns)


def _pairs(robot: Robot) -> list[Any]:
    """Arms with torso and with each other, as in the thesis; within an arm it is the joints' limits that count."""
    return [(a, b) for a, b in self_collision_pairs(robot) if str(a.frame).split("_")[0] != str(b.frame).split("_")[0]]


def _upright(robot: Robot) -> Array:
    """The direction of the pose half way between the hands that is up at the start."""
    return AbsoluteTask(*GRIP).here(robot, robot.standing())[2, :3]


def _gripping(robot: Robot) -> Robot:
    """With a frame in the right hand that is turned as the left one: between opposite poses there is no middle."""
    q, X = robot.standing(), np.eye(4)
    X[:3, :3] = robot.pose(q, "right_tool")[:3, :3].T @ robot.pose(q, "left_tool")[:3, :3]
    return robot.with_frame("right_grip", "right_tool", X)


def cooperation_figures() -> Iterator[Figure]:
    """[QO21, Figs. 6.10 and 6.12]: the object arrives, the grip holds, only CQP keeps tilt and joint limits."""
    free, held = lowered(False), lowered(True)
    yield small("cup in both hands: QP reaches the table, m", float(free.absolute[-1]), 1e-2)
    yield small("cup in both hands: CQP reaches the table, m", float(held.absolute[-1]), 1e-2)
    yield Figure(
        "cup in both hands: tilt of QP, rad", f"> {TILT}", f"{free.tilt.max():.3f}", bool(free.tilt.max() > TILT)
    )
    yield small("cup in both hands: CQP goes beyond the tilt by, rad", max(0.0, float(held.tilt.max()) - TILT), 1e-4)
    for name in SHIFT:
        yield from _carrying_figures(name.replace("_", " "), carried(name, False), carried(name, True))
    yield from _release_figures("nonholonomic_bimanual")


def _release_figures(name: str) -> Iterator[Figure]:
    """[QO21, Fig. 6.11, third snapshot]."""
    robot, run = _gripping(load(name)), released(name)
    first, *_, last = hands_apart(run, robot)
    opened = abs(last - first - RELEASE)
    yield Figure(
        "ball released: the hands go apart, m [Fig. 6.11]",
        f"{RELEASE:g} ± 1 %",
        f"{last - first:.3f}",
        bool(opened < 0.01 * RELEASE),
        "apart",
    )
    middles = [np.mean([robot.pose(q, frame)[:3, 3] for frame in GRIP], axis=0) for q in (run.q[0], run.q[-1])]
    moved = float(np.linalg.norm(middles[1] - middles[0]))
    yield Figure(
        "ball released: the place between them moves, m", f"≤ {RELEASE / 2}", f"{moved:.3f}", moved < RELEASE / 2 + 1e-3
    )


def _carrying_figures(name: str, free: Carrying, held: Carrying) -> Iterator[Figure]:
    yield small(f"{name}: QP, object from its place, m and rad", float(free.absolute[-1]), 1e-2)
    yield small(f"{name}: CQP, object from its place, m and rad", float(held.absolute[-1]), 1e-2)
    yield small(f"{name}: CQP, change of the grip, m and rad", float(held.relative.max()), 1e-3)
    least = float(free.joints.min())
    yield Figure(f"{name}: QP breaks joint limits by, rad", "> 0", f"{-least:.3f}", least < 0)
    yield small(f"{name}: CQP breaks joint limits by, rad", max(0.0, -float(held.joints.min())), 1e-9)
    gap = float(min(free.gap.min(), held.gap.min()))
    yield Figure(f"{name}: least distance of the robot's parts, m", f"≥ {SAFE}", f"{gap:.4f}", gap > SAFE - 1e-4)
    if held.slip.any():
        yield small(f"{name}: slip of the wheels, m/s", float(held.slip.max()), 1e-9)
