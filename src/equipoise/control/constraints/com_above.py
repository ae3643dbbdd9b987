"""The centre of mass, seen from above, inside a polygon some corners of which move with a frame."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..item import NamedNumbers, Parameters, Points, Setting, TaskError
from .barrier import Barrier, BarrierConstraint

if TYPE_CHECKING:
    from ..controller.context import Context
    from ..controller.scene import Scene

Array = np.ndarray
NEVER = -1e3  # m: the offset of an edge or a wall that is not there


@dataclass(frozen=True, eq=False)
class CoMAbove(BarrierConstraint):
    """The centre of mass, seen from above, inside a polygon that may change from step to step [QO21, Eq. (4.62)].

    Some of its corners may be points of a frame that moves. The edge from a to b, where the centre of mass c lies
    beside the part s of its length, then moves too: with its inward normal n the distance changes by n · (ċ − (1 − s) ȧ
    − s ḃ).

    Args:
        edges: at time t, (n, 3 + k): inward normal (2), offset (m) with normal · c ≥ offset, and the share of each of
            the frame's k points in the edge's motion: s, 1 − s or zero.
        frame: whose points may be corners.
        points: (k, 3) in its axes, m.
        most: edges it may have.
        margin: kept from the edges, m.
    """

    edges: Callable[[float], Array]
    frame: str
    points: Points
    most: int = 12
    margin: Setting = 0.02

    @property
    def label(self) -> str:
        return self.name or "centre of mass in support"

    def row_names(self, context: Context) -> list[str]:
        return [f"{self.label} (edge {k})" for k in range(self.most)]

    def parameters(self, context: Context) -> Mapping[str, Parameters]:
        shape = (self.most, 3 + len(self.points))
        edges = Parameters(("edges", "margin"), {"edges": shape}, lambda *values: [self._rows(*values)])
        return {**super().parameters(context), "edges": edges}

    def _rows(self, edges: Array, margin: float) -> Array:
        """Inward normals, offsets and shares; rows without an edge are far from everything."""
        n = len(edges)
        if n > self.most:
            raise TaskError(f"{self.label}: a polygon of {n} edges, and room for {self.most}; give most={n}")
        rows = np.zeros((self.most, 3 + len(self.points)))
        rows[:, 2] = NEVER
        rows[:n] = edges
        rows[:n, 2] += margin
        return rows

    def barrier(self, scene: Scene, numbers: NamedNumbers) -> Barrier:
        from ...equations.symbols import constant, zeros

        rows = numbers.edges
        normals = rows[:, :2]
        J, drift = normals @ scene.com_jacobian[:2, :], normals @ scene.com_drift[:2]
        for k, point in enumerate(np.asarray(self.points, dtype=float)):
            _, J_k, _, drift_k = scene.point(self.frame, constant(point))
            J -= rows[:, 3 + k] * (normals @ J_k[:2, :])
            drift -= rows[:, 3 + k] * (normals @ drift_k[:2])
        return Barrier(normals @ scene.com[:2] - rows[:, 2], J, zeros(self.most), drift)
