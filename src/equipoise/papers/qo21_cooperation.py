"""[QO21, Sec. 6.1.3]: two arms carry an object in the cooperative dual task space, on a fixed torso and on wheels.

The pose of one hand seen from the other must not change; the pose half way between the hands goes to a place. QP heeds nothing
else, CQP keeps the joints within their limits. On wheels the velocities obey the rolling constraint too. The thesis's robot is
Poppy's upper body, in experiments; here it is the built-in pair of arms, and the motion is the commanded one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from ..control.constraints import JointLimits
from ..control.controller import WholeBodyController
from ..control.tasks import AbsoluteTask, PostureTask, RelativeTask, Task, Terms
from ..model.robots.mobile import rolling_constraint
from ..robot import Robot, load
from .rows import Figure, small

Array = np.ndarray
DT, DURATION = 0.01, 16.0  # s
SHIFT = {"bimanual": (0.04, 0.33, 0.0), "nonholonomic_bimanual": (0.8, 0.4, 0.15)}  # m, of the object
MARGIN = 0.2  # rad, kept from the ends of the joints


@dataclass(frozen=True, eq=False)
class Rolling(Task):
    """Wheels do not slip sideways, −sin φ ẋ + cos φ ẏ = 0 [QO21, Eq. (5.48)]: a task of one's own in one small class."""

    hard: bool = True

    def rows(self, robot: Robot) -> int:
        return 1

    def here(self, robot: Robot, q: Array) -> Array:
        return np.zeros(0)

    def reference(self, robot: Robot, values: Sequence[Any]) -> Array:
        return np.zeros(0)

    def terms(self, scene: Any, p: Any) -> Terms:
        import casadi

        J = casadi.SX(1, scene.tree.nv)
        J[0, 0], J[0, 1] = -casadi.sin(scene.q[2]), casadi.cos(scene.q[2])
        zero = casadi.SX(1, 1)
        return Terms(zero, J, J @ scene.v, -scene.v[2] * (-J[0, 0] * scene.v[1] + J[0, 1] * scene.v[0]), zero, zero)


@dataclass(frozen=True, eq=False)
class Carrying:
    """What happened; one entry per step."""

    t: Array
    q: Array
    v: Array
    absolute: Array  # m, of the middle of the hands from its target
    relative: Array  # m and rad, of the pose between the hands from what it was
    joints: Array  # rad, least distance of a joint from its limits, which are `MARGIN` before its ends
    slip: Array  # m/s, of the wheels sideways


@cache
def carried(name: str, constrained: bool, duration: float = DURATION) -> Carrying:
    """The object brought to its place."""
    robot = _gripping(load(name))
    q, v = robot.standing(), np.zeros(robot.nv)
    middle = AbsoluteTask("left_tool", "right_grip", gain=1.0, name="object")
    goal = middle.here(robot, q)
    goal[:3, 3] += SHIFT[name]
    tasks: list[Task] = [
        AbsoluteTask("left_tool", "right_grip", goal, gain=1.0, name="object"),
        RelativeTask("right_grip", "left_tool", gain=2.0, name="grip", hard=True),
        PostureTask(q, weight=1e-4, gain=0.0),
    ]
    wheels = name.startswith("nonholonomic")
    limits = [JointLimits(20.0, margin=MARGIN)] if constrained else []
    controller = WholeBodyController(robot, [*tasks, *([Rolling()] if wheels else [])], (), limits, level="velocity", dt=DT)
    rows = []
    for k in range(round(duration / DT)):
        solution = controller(k * DT, q, v)
        v = solution.velocity
        slip = float(np.abs(rolling_constraint(q)[..., :2] @ v[:2]).max()) if wheels else 0.0
        joints = np.minimum(q - robot.limits.lower, robot.limits.upper - q) - MARGIN
        errors = solution.task_errors
        rows.append((k * DT, q, v, errors["object"], errors["grip"], float(joints.min()), slip))
        q = robot.integrate(q, v, DT)
    return Carrying(*(np.array(column) for column in zip(*rows, strict=True)))


def _gripping(robot: Robot) -> Robot:
    """With a frame in the right hand that is turned as the left one: between opposite poses there is no middle."""
    q, X = robot.standing(), np.eye(4)
    X[:3, :3] = robot.pose(q, "right_tool")[:3, :3].T @ robot.pose(q, "left_tool")[:3, :3]
    return robot.with_frame("right_grip", "right_tool", X)


def cooperation_figures() -> Iterator[Figure]:
    """[QO21, Figs. 6.10 and 6.12]: the object arrives, the grip holds, only CQP keeps the joint limits."""
    for name in SHIFT:
        free, held = carried(name, False), carried(name, True)
        yield small(f"{name}: QP, object from its place, m and rad", float(free.absolute[-1]), 1e-2)
        yield small(f"{name}: CQP, object from its place, m and rad", float(held.absolute[-1]), 1e-2)
        yield small(f"{name}: CQP, change of the grip, m and rad", float(held.relative.max()), 1e-3)
        least = float(free.joints.min())
        yield Figure(f"{name}: QP breaks joint limits by, rad", "> 0", f"{-least:.3f}", least < 0)
        yield small(f"{name}: CQP breaks joint limits by, rad", max(0.0, -float(held.joints.min())), 1e-9)
        if held.slip.any():
            yield small(f"{name}: slip of the wheels, m/s", float(held.slip.max()), 1e-9)
