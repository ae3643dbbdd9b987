"""A plane of a frame onto a plane of the world."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ..item import NamedNumbers, Target
from .references import Reference, VectorReference
from .task import Task, Terms

if TYPE_CHECKING:
    from ...robot import Robot
    from ..controller.context import Context
    from ..controller.scene import Scene

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class SurfaceTask(Task):
    """A plane of a frame onto a plane of the world: error n_to − n and d_to − d [QO21, Eqs. (4.55), (4.56)].

    Where it vanishes the frame lies flat on the surface, anywhere on it and turned about its normal as it likes.

    Args:
        frame: of the robot.
        target: (normal, offset) of the surface in the world, an array of four numbers.
        normal: of the frame's plane, in its axes, away from the surface.
        point: of the frame's plane, in its axes, m.
    """

    frame: str
    target: Target = (0.0, 0.0, 1.0, 0.0)
    normal: ArrayLike = (0.0, 0.0, 1.0)
    point: ArrayLike = (0.0, 0.0, 0.0)

    @property
    def label(self) -> str:
        return self.name or f"{self.frame} onto a surface"

    def check(self, robot: Robot) -> None:
        super().check(robot)
        robot.place(self.frame)

    def rows(self, context: Context) -> int:
        return 4

    def here(self, robot: Robot, q: Array) -> Array:
        X = robot.pose(q, self.frame)
        n = X[:3, :3] @ np.asarray(self.normal, dtype=float)
        return np.append(n, n @ (X[:3, :3] @ np.asarray(self.point, dtype=float) + X[:3, 3]))

    def reference(self, context: Context) -> Reference:
        return VectorReference(self.label, 4)

    def terms(self, scene: Scene, reference: NamedNumbers) -> Terms:
        """ṅ = ω × n; ḋ = ṅ · x + n · ẋ for the point x; and once more for what is left when a = 0."""
        from ...equations.symbols import constant, skew, stack

        R = scene.pose(self.frame)[:3, :3]
        n, V, A = R @ constant(self.normal), scene.twist(self.frame), scene.drift(self.frame)
        x, J_x, v_x, a_x = scene.point(self.frame, constant(self.point))
        w, J_n = V[3:6], -skew(n) @ scene.jacobian(self.frame)[3:, :]
        rate_n, drift_n = skew(w) @ n, skew(A[3:6]) @ n + skew(w) @ (skew(w) @ n)
        J = stack(J_n, x.T @ J_n + n.T @ J_x)
        drift = stack(drift_n, x.T @ drift_n + 2 * rate_n.T @ v_x + n.T @ a_x)
        error = reference.value - stack(n, n.T @ x)
        return Terms(error, J, J @ scene.v, drift, reference.rate, reference.acceleration)
