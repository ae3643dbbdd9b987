"""Torques of the motors change by no more than a rate from step to step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..item import NamedNumbers, Parameters, Setting, TaskError
from .constraint import BoundedRows, Constraint

if TYPE_CHECKING:
    from ..controller.context import Context
    from ..controller.scene import Scene

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class TorqueRate(Constraint):
    """Torques of the motors change by no more than `rate` · dt from step to step; the first step is free.

    Args:
        rate: N m/s or N/s, one number or one per motor.

    Examples:
        >>> import numpy as np
        >>> import equipoise as eq
        >>> arm = eq.load("arm6")
        >>> q, v = np.full(6, 0.4), np.zeros(6)
        >>> controller = eq.WholeBodyController(arm, [eq.PostureTask(q)], constraints=[eq.TorqueRate(100.0)])
        >>> first = controller(0.0, q, v).torque
        >>> controller.set("posture", weight=1.0)
        >>> second = controller(0.001, q + 0.1, v).torque
        >>> bool(abs(second - first).max() <= 0.1 + 1e-6)  # 100 N m/s for 1 ms
        True
    """

    rate: Setting
    rank: int = field(default=2, kw_only=True)
    levels: ClassVar[tuple[str, ...]] = ("torque",)
    reads_last_torque: ClassVar[bool] = True

    @property
    def label(self) -> str:
        return self.name or "torque rate"

    def row_names(self, context: Context) -> list[str]:
        return [f"{self.label} of {context.rate_names[k]}" for k in context.motors]

    def parameters(self, context: Context) -> Mapping[str, Parameters]:
        shapes = {"change": (len(context.motors),)}
        return {"limits": Parameters(("rate",), shapes, lambda rate: [self._change(context, rate)], unbounded=True)}

    def _change(self, context: Context, rate: Any) -> Array:
        n, given = len(context.motors), np.asarray(rate, dtype=float)
        if given.shape not in ((), (n,)) or not (given > 0).all():
            raise TaskError(f"{self.label}: a rate is positive, one number or {n}, one per motor; got {rate!r}")
        return np.broadcast_to(given * context.dt, (n,))

    def rows(self, scene: Scene, numbers: NamedNumbers) -> BoundedRows:
        from ...equations.symbols import SYMBOLS

        known = scene.previous_known > 0.5
        lower = SYMBOLS.where(known, scene.previous_torque - numbers.change, -np.inf)
        upper = SYMBOLS.where(known, scene.previous_torque + numbers.change, np.inf)
        return BoundedRows(scene.torque, lower, upper)

    def torque_bounds(
        self, numbers: Mapping[str, Array], previous: Array | None, rates: Array
    ) -> tuple[Array, Array] | None:
        return None if previous is None else (previous - numbers["change"], previous + numbers["change"])
