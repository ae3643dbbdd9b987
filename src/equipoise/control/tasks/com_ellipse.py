"""The centre of mass free inside an ellipse, driven back outside."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..item import NamedNumbers, Parameters, Setting, Target, TaskError
from ..safety.ellipses import ellipse_parameters
from .references import Reference, VectorReference
from .task import Task, Terms

if TYPE_CHECKING:
    from ...robot import Robot
    from ..controller.context import Context
    from ..controller.scene import Scene

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class CoMEllipseTask(Task):
    """y = V^(τ/2) to zero, with V = e₁ᵀ W e₁ / ρ² of the centre of mass seen from above [EB98, Eqs. (80)–(82)].

    Half the weight times y² is the paper's penalty ½ α V^τ: next to nothing inside of the ellipse, steep outside.

    Args:
        target: centre of the ellipse, m, three numbers, of which the first two count.
        radius: ρ, m: half-axis where W is 1.
        shape: W, (2, 2), symmetric and positive definite.
        exponent: τ, even; the larger, the sharper the border.
    """

    target: Target = None
    radius: Setting = 0.05
    shape: Setting = ((1.0, 0.0), (0.0, 1.0))
    exponent: int = 8

    @property
    def label(self) -> str:
        return self.name or "safe ellipse"

    def check(self, robot: Robot) -> None:
        super().check(robot)
        if self.exponent not in range(2, 65, 2):
            raise TaskError(f"{self.label}: the exponent is an even number from 2 to 64; got {self.exponent!r}")

    def rows(self, context: Context) -> int:
        return 1

    def here(self, robot: Robot, q: Array) -> Array:
        return robot.com(q)

    def reference(self, context: Context) -> Reference:
        return VectorReference(self.label, 3)

    def parameters(self, context: Context) -> Mapping[str, Parameters]:
        return {**super().parameters(context), "ellipse": ellipse_parameters(self.label)}

    def terms(self, scene: Scene, reference: NamedNumbers) -> Terms:
        import casadi

        from ...equations.symbols import SX

        e, J = SX.sym("e", 2), scene.com_jacobian[:2, :]
        V = e.T @ reference.shape @ e / reference.radius**2
        y = V
        for _ in range(self.exponent // 2 - 1):
            y = y * V
        slope, bend = casadi.jacobian(y, e), casadi.hessian(y, e)[0]
        at = scene.com[:2] - reference.value[:2]
        y, slope, bend = (casadi.substitute(x, e, at) for x in (y, slope, bend))
        rate_to, acceleration_to = reference.rate[:2], reference.acceleration[:2]
        e_dot = J @ scene.v - rate_to
        drift = slope @ scene.com_drift[:2] + e_dot.T @ bend @ e_dot
        return Terms(-y, slope @ J, slope @ (J @ scene.v), drift, slope @ rate_to, slope @ acceleration_to)
