"""Momentum about the centre of mass within bounds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..item import NamedNumbers, Parameters, Setting, TaskError
from ..safety.piecewise import symbols as piecewise_symbols
from .constraint import BoundedRows, Constraint

if TYPE_CHECKING:
    from ..controller.context import Context
    from ..controller.scene import Affine, Scene

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class MomentumLimits(Constraint):
    """Momentum about the centre of mass within ±bounds (world axes) after the next step.

    Args:
        linear: N s, one number or one per axis; infinite where there is none. Axes that have no bound at first get none
            later.
        angular: N m s, the same.
        rate: with which momentum that is outside returns, 1/s.

    Examples:
        >>> import numpy as np
        >>> import equipoise as eq
        >>> robot = eq.load("quadruped")
        >>> calm = eq.MomentumLimits(angular=0.5)
        >>> tasks = [eq.CoMTask(), eq.PostureTask()]
        >>> controller = eq.WholeBodyController(robot, tasks, constraints=[calm], level="velocity")
        >>> solution = controller(0.0, robot.standing(), np.zeros(robot.nv))
        >>> bool((abs(robot.momentum(robot.standing(), solution.velocity)[3:]) <= 0.5 + 1e-6).all())
        True
    """

    linear: Setting = np.inf
    angular: Setting = np.inf
    rate: Setting = 10.0

    @property
    def label(self) -> str:
        return self.name or "momentum limit"

    @property
    def _axes(self) -> list[int]:
        """Those with a bound."""
        bounds, _ = self._bounds(self.linear, self.angular, self.rate)
        return np.flatnonzero(np.isfinite(bounds)).tolist()

    def row_names(self, context: Context) -> list[str]:
        return [f"{self.label} ({'xyz'[k % 3]}, {'linear' if k < 3 else 'angular'})" for k in self._axes]

    def structure(self, context: Context) -> object:
        return self._axes

    def parameters(self, context: Context) -> Mapping[str, Parameters]:
        shapes = {"bounds": (6,), "rate": ()}
        return {"limits": Parameters(("linear", "angular", "rate"), shapes, self._bounds, unbounded=True)}

    def _bounds(self, linear: Any, angular: Any, rate: Any) -> tuple[Array, float]:
        bounds = np.concatenate([np.broadcast_to(np.asarray(x, dtype=float), (3,)) for x in (linear, angular)])
        if not ((bounds > 0).all() and np.isfinite(bounds).any() and 0 < rate < np.inf):
            raise TaskError(f"{self.label}: bounds and rate must be positive, and some bound finite")
        return bounds, float(rate)

    def rows(self, scene: Scene, numbers: NamedNumbers) -> BoundedRows:
        """A v at velocity level, A v + dt (A a + Ȧ v) else. From outside it comes back at a rate."""
        dt, m, at = scene.context.dt, piecewise_symbols(), self._axes
        matrix, bound = scene.momentum_matrix[at, :], numbers.bounds[at]
        now = matrix @ scene.v
        back = m.larger(0.0, 1 - numbers.rate * dt) * now
        low, high = m.smaller(-bound, back), m.larger(bound, back)
        got: Affine = scene.motion(matrix, scene.momentum_drift[at, :])
        if scene.context.level == "velocity":
            return BoundedRows(got, low, high)
        return BoundedRows(type(got)(dt * got.matrix, now + dt * got.offset), low, high)
