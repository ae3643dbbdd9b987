"""Limits of revolute joints as the thesis poses them: the angle between a line on the parent and one on the child."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import unknown_name
from ..item import NamedNumbers, Parameters, Setting, TaskError
from .barrier import Barrier, BarrierConstraint

if TYPE_CHECKING:
    from ...robot import Robot
    from ..controller.context import Context
    from ..controller.scene import Scene

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class JointCones(BarrierConstraint):
    """Revolute joints within their limits by f = 2 − 2 cos(q − q_mid) ≤ f(half of the range) [QO21, Sec. 4.3, Figs.
    4.5–4.6].

    A line across the axis stands on the parent in the middle of the range, another on the child: their angle is |q −
    q_mid|. `JointLimits` has limits of velocity and acceleration too; this is the thesis's form, a barrier like any
    other.

    Args:
        joints: names; all that turn, have both limits and a range below 2π if not given.
        margin: rad, kept from the ends.
    """

    joints: Sequence[str] | None = None
    margin: Setting = 0.0

    @property
    def label(self) -> str:
        return self.name or "joint cone"

    def check(self, robot: Robot) -> None:
        for name in self.joints or ():
            if name not in robot.joints:
                raise unknown_name("joint", name, robot.joints)
            if name not in _turning(robot):
                raise TaskError(f"{self.label}: {name!r} has no cone; wanted a revolute joint with a range below 2π")
        if not self._names(robot):
            raise TaskError(f"{self.label}: no joint of {robot.name} turns between two limits")

    def _names(self, robot: Robot) -> list[str]:
        return list(self.joints) if self.joints is not None else _turning(robot)

    def row_names(self, context: Context) -> list[str]:
        return [f"{self.label} of {name}" for name in self._names(context.robot)]

    def structure(self, context: Context) -> object:
        places = [context.robot.joints[name].v.start for name in self._names(context.robot)]
        return [places, self.braking is None]

    def parameters(self, context: Context) -> Mapping[str, Parameters]:
        limits = [context.robot.joints[name].limits for name in self._names(context.robot)]
        lower, upper = np.array([x.lower for x in limits]), np.array([x.upper for x in limits])

        def numbers(margin: Any) -> tuple[Array, Array]:
            half = (upper - lower) / 2 - float(margin)
            if not (half > 0).all() or not float(margin) >= 0:
                raise TaskError(f"{self.label}: margin must leave every joint a range; got {margin!r}")
            return (lower + upper) / 2, half

        shape = (len(limits),)
        return {
            **super().parameters(context),
            "range": Parameters(("margin",), {"middle": shape, "half": shape}, numbers),
        }

    def barrier(self, scene: Scene, numbers: NamedNumbers) -> Barrier:
        import casadi

        from ...equations.symbols import SX, SYMBOLS, zeros

        joints = [scene.robot.joints[name] for name in self._names(scene.robot)]
        at = [j.v.start for j in joints]
        away, v = scene.q[[j.q.start for j in joints]] - numbers.middle, scene.v[at]
        sin, cos = SYMBOLS.sin(away), SYMBOLS.cos(away)
        J = -2 * casadi.diag(sin) @ SX.eye(scene.robot.nv)[at, :]
        return Barrier(2 * cos - 2 * SYMBOLS.cos(numbers.half), J, zeros(len(at)), -2 * cos * v * v)


def _turning(robot: Robot) -> list[str]:
    """Revolute joints with both limits and a range below 2π."""
    turning = (name for name, j in robot.joints.items() if j.mimic is None and j.type.name == "revolute")
    return [
        name for name in turning if 0 < robot.joints[name].limits.upper - robot.joints[name].limits.lower < 2 * np.pi
    ]
