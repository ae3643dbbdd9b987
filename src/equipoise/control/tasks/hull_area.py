"""The area of a support polygon of which some corners are points of a frame."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..item import NamedNumbers, Points, Shape, Target, TaskError
from .references import Reference
from .task import Task, Terms

if TYPE_CHECKING:
    from ...robot import Robot
    from ..controller.context import Context
    from ..controller.scene import Scene

Array = np.ndarray


@dataclass(frozen=True)
class GradientReference:
    """`gradient` of the area by each point, (k, 2), and the `error` of the area."""

    label: str
    count: int

    @property
    def shapes(self) -> Mapping[str, Shape]:
        return {"gradient": (self.count, 2), "error": (1,)}

    def numbers(self, target: object) -> Sequence[Array]:
        given = np.asarray(target, dtype=float)
        if given.shape != (2 * self.count + 1,):
            raise TaskError(
                f"{self.label}: wanted {2 * self.count + 1} numbers, gradients and error; got shape {given.shape}"
            )
        return given[:-1], given[-1:]


@dataclass(frozen=True, eq=False)
class HullAreaTask(Task):
    """The area of a support polygon of which some corners are points of one frame grows [QO21, Eq. (4.54)].

    Ȧ = Σ g_i · ẋ_i with g_i = ∂A/∂x_i, which a function gives in each step together with the error: 2 k + 1 numbers,
    zeros for points that are no corners. The part of Ä that is quadratic in velocities of several corners is left out:
    it vanishes where one corner moves. `SupportAreaTask` measures the hull itself.

    Args:
        frame: that carries the points.
        points: (k, 3) in its axes, m.
        target: gradients and error.
    """

    frame: str
    points: Points = ((0.0, 0.0, 0.0),)
    target: Target = None

    @property
    def label(self) -> str:
        return self.name or "support area"

    def rows(self, context: Context) -> int:
        return 1

    def here(self, robot: Robot, q: Array) -> Array:
        return np.zeros(2 * len(self.points) + 1)

    def reference(self, context: Context) -> Reference:
        return GradientReference(self.label, len(self.points))

    def terms(self, scene: Scene, reference: NamedNumbers) -> Terms:
        from ...equations.symbols import constant, zeros

        J, drift = zeros(1, scene.robot.nv), zeros(1, 1)
        for k, point in enumerate(np.asarray(self.points, dtype=float)):
            _, J_k, _, drift_k = scene.point(self.frame, constant(point))
            J += reference.gradient[k, :] @ J_k[:2, :]
            drift += reference.gradient[k, :] @ drift_k[:2]
        return Terms(reference.error, J, J @ scene.v, drift, zeros(1, 1), zeros(1, 1))
