"""Points of a frame on the inner side of planes of the world."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..item import NamedNumbers, Parameters, Points
from .barrier import Barrier, BarrierConstraint
from .com_above import NEVER

if TYPE_CHECKING:
    from ..controller.context import Context
    from ..controller.scene import Scene

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class PointsInside(BarrierConstraint):
    """Points of a frame on the inner side of planes of the world, each with its own: n · x ≥ offset [QO21, Eqs. (4.39),
    (4.57)].

    Args:
        frame: that carries the points.
        points: (n, 3) in its axes, m.
        normals: (n, 3) of the planes, world axes.
        offsets: of the n planes at time t, m; none at all means that no plane is there.
    """

    frame: str
    points: Points
    normals: Points
    offsets: Callable[[float], Array]

    @property
    def label(self) -> str:
        return self.name or f"{self.frame} inside walls"

    def row_names(self, context: Context) -> list[str]:
        return [self.label] * len(self.points)

    def parameters(self, context: Context) -> Mapping[str, Parameters]:
        offsets = Parameters(("offsets",), {"offsets": (len(self.points),)}, self._offsets)
        return {**super().parameters(context), "offsets": offsets}

    def _offsets(self, offsets: Any) -> list[Array]:
        given = np.asarray(offsets, dtype=float)
        return [given if given.size else np.full(len(self.points), NEVER)]

    def barrier(self, scene: Scene, numbers: NamedNumbers) -> Barrier:
        from ...equations.symbols import constant, stack, zeros

        d, J, drift = [], [], []
        for k, (point, normal) in enumerate(zip(np.asarray(self.points), np.asarray(self.normals), strict=True)):
            x, J_x, _, a_x = scene.point(self.frame, constant(point))
            n = constant(normal)
            d.append(n.T @ x - numbers.offsets[k])
            J.append(n.T @ J_x)
            drift.append(n.T @ a_x)
        return Barrier(stack(*d), stack(*J), zeros(len(d)), stack(*drift))
