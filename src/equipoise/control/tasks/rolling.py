"""Wheels that roll and do not slip sideways, as a task that always holds."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ..item import NamedNumbers, TaskError
from .references import NoReference, Reference
from .task import Task, Terms

if TYPE_CHECKING:
    from ...robot import Robot
    from ..controller.context import Context
    from ..controller.scene import Scene

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class Rolling(Task):
    """Wheels of a differential drive do not slip sideways, −sin φ ẋ + cos φ ẏ = 0 [QO21, Eq. (5.48)].

    For robots whose first joint is planar (x, y, φ) and whose wheels turn about the platform's y axis. The constraint
    is one of rates: there is no target, `damping` is how fast a slip that is there dies out at acceleration and torque
    level.
    """

    hard: bool = field(default=True, kw_only=True)

    def check(self, robot: Robot) -> None:
        super().check(robot)
        first = next(iter(robot.joints.values()), None)
        if robot.floating or first is None or first.type.name != "planar":
            raise TaskError(f"{self.label}: wheels need a robot whose first joint is planar; {robot.name!r} has none")

    @property
    def label(self) -> str:
        return self.name or "rolling"

    def rows(self, context: Context) -> int:
        return 1

    def here(self, robot: Robot, q: Array) -> Array:
        return np.zeros(0)

    def reference(self, context: Context) -> Reference:
        return NoReference()

    def terms(self, scene: Scene, reference: NamedNumbers) -> Terms:
        import casadi

        J = casadi.SX(1, scene.robot.nv)
        J[0, 0], J[0, 1] = -casadi.sin(scene.q[2]), casadi.cos(scene.q[2])
        zero = casadi.SX(1, 1)
        return Terms(zero, J, J @ scene.v, -scene.v[2] * (-J[0, 0] * scene.v[1] + J[0, 1] * scene.v[0]), zero, zero)
