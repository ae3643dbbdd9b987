"""Torques of the motors within their limits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..at_rest import AtRest
from ..controller.context import Context
from ..item import NamedNumbers, Parameters, Setting, TaskError
from .constraint import BoundedRows, Constraint

if TYPE_CHECKING:
    from ...robot import Robot
    from ..controller.scene import Scene

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class TorqueLimits(Constraint):
    """Torques of the motors within the limits of the description, or within given ones.

    Args:
        scale: factor on the limits.
        limits: N m or N, one number or one per motor; the description's if not given.
    """

    scale: Setting = 1.0
    limits: Setting | None = None
    rank: int = field(default=0, kw_only=True)
    levels: ClassVar[tuple[str, ...]] = ("torque",)

    @property
    def label(self) -> str:
        return self.name or "torque limit"

    def row_names(self, context: Context) -> list[str]:
        return [f"{self.label} of {context.rate_names[k]}" for k in context.motors]

    def parameters(self, context: Context) -> Mapping[str, Parameters]:
        shapes = {"largest": (len(context.motors),)}
        return {"limits": Parameters(("scale", "limits"), shapes, lambda *x: [self._largest(context, *x)], unbounded=True)}

    def _largest(self, context: Context, scale: Any, limits: Any) -> Array:
        n = len(context.motors)
        given = context.robot.limits.effort[context.motors] if limits is None else np.asarray(limits, dtype=float)
        if given.shape not in ((), (n,)) or not (given >= 0).all() or not (np.ndim(scale) == 0 and 0 < scale < np.inf):
            raise TaskError(f"{self.label}: limits must be one number or {n}, not negative, and scale positive")
        return np.broadcast_to(scale * given, (n,))

    def at_rest(self, robot: Robot) -> AtRest:
        context = Context(robot)
        effort = np.full(robot.nv, np.inf)
        effort[context.motors] = self._largest(context, self.scale, self.limits)
        return AtRest(effort=effort)

    def rows(self, scene: Scene, numbers: NamedNumbers) -> BoundedRows:
        return BoundedRows(scene.torque, -numbers.largest, numbers.largest)

    def torque_bounds(self, numbers: Mapping[str, Array], previous: Array | None) -> tuple[Array, Array]:
        return -numbers["largest"], numbers["largest"]
