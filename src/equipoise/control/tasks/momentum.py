"""Momentum about the centre of mass to a value."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ..item import NamedNumbers, Setting, Target, column
from .references import Reference, VectorReference
from .task import Task, Terms, axes_of

if TYPE_CHECKING:
    from ...robot import Robot
    from ..controller.context import Context
    from ..controller.scene import Scene

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class MomentumTask(Task):
    """Momentum about the centre of mass (linear N s, angular N m s, world axes) to a value: rates only, places do not
    matter.

    `gain` is how fast: ḣ = ḣ_to + gain (h_to − h).

    Args:
        target: one number per axis, or one for all.
        axes: "orientation" is the angular part, "position" the linear one, "pose" both.

    Examples:
        >>> import numpy as np
        >>> import equipoise as eq
        >>> robot = eq.load("quadruped")
        >>> feet = [eq.PointContact(name) for name in robot.frames if name.endswith("_foot")]
        >>> tasks = [eq.MomentumTask(), eq.CoMTask(), eq.PostureTask()]  # angular momentum to zero
        >>> controller = eq.WholeBodyController(robot, tasks, feet)
        >>> sorted(controller(0.0, robot.standing(), np.zeros(robot.nv)).task_errors)
        ['centre of mass', 'momentum', 'posture']
    """

    target: Target = 0.0
    axes: str = "orientation"
    gain: Setting = field(default=5.0, kw_only=True)

    def check(self, robot: Robot) -> None:
        super().check(robot)
        axes_of(self.label, self.axes)

    @property
    def label(self) -> str:
        return self.name or "momentum"

    def rows(self, context: Context) -> int:
        return len(axes_of(self.label, self.axes))

    def here(self, robot: Robot, q: Array) -> float:
        return 0.0

    def reference(self, context: Context) -> Reference:
        return VectorReference(self.label, self.rows(context), spread=True)

    def _gains(
        self, level: str, n: int, weight: Any, gain: Any, stiffness: Any, damping: Any
    ) -> tuple[Array, Array, Array]:
        root = np.sqrt(column(self.label, "weight", weight, n))
        return root, np.zeros(n), column(self.label, "gain", gain, n)

    def terms(self, scene: Scene, reference: NamedNumbers) -> Terms:
        from ...equations.symbols import zeros

        at = axes_of(self.label, self.axes)
        A = scene.momentum_matrix[at, :]
        share = type(A).eye(6)[at, :]
        return Terms(
            zeros(len(at)), A, A @ scene.v, scene.momentum_drift[at, :], reference.value, reference.rate, share
        )
