"""The centre of mass, seen from above, inside an ellipse."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..item import NamedNumbers, Parameters, Setting
from ..safety.ellipses import ellipse_parameters
from ..tasks.references import moment
from .barrier import Barrier, BarrierConstraint

if TYPE_CHECKING:
    from ..controller.context import Context
    from ..controller.scene import Scene

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class CoMInEllipse(BarrierConstraint):
    """e₁ᵀ W e₁ ≤ ρ² with e₁ from the centre of the ellipse to the mass, seen from above [EB98, Eqs. (80)–(81)], never
    left.

    `CoMEllipseTask` is the paper's penalty; this is the border itself.

    Args:
        centre: m, two numbers; with its rate and acceleration, or a function of time, where it moves.
        radius: ρ, m: half-axis where W is 1.
        shape: W, (2, 2), symmetric and positive definite.
    """

    centre: Setting
    radius: Setting = 0.05
    shape: Setting = ((1.0, 0.0), (0.0, 1.0))

    @property
    def label(self) -> str:
        return self.name or "centre of mass in an ellipse"

    def parameters(self, context: Context) -> Mapping[str, Parameters]:
        places = dict.fromkeys(("centre", "centre_rate", "centre_acceleration"), (2,))
        return {
            **super().parameters(context),
            "place": Parameters(("centre",), places, self._place),
            "ellipse": ellipse_parameters(self.label),
        }

    def _place(self, centre: Any) -> list[Array]:
        return [np.zeros(2) if x is None else np.asarray(x, dtype=float)[:2] for x in moment(centre)]

    def barrier(self, scene: Scene, numbers: NamedNumbers) -> Barrier:
        """d = ρ (1 − V) / 2: metres near the border of a circle."""
        J, rho = scene.com_jacobian[:2, :], numbers.radius
        e, e_dot = scene.com[:2] - numbers.centre, J @ scene.v - numbers.centre_rate
        g = -(numbers.shape @ e).T / rho  # of d along e
        drift = g @ (scene.com_drift[:2] - numbers.centre_acceleration) - e_dot.T @ numbers.shape @ e_dot / rho
        return Barrier((rho - e.T @ numbers.shape @ e / rho) / 2, g @ J, -g @ numbers.centre_rate, drift)
