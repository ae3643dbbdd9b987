"""The centre of mass, seen from above, inside a convex polygon."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..item import NamedNumbers, Parameters, Setting, TaskError, at_first
from .barrier import Barrier, BarrierConstraint

if TYPE_CHECKING:
    from ...robot import Robot
    from ..controller.context import Context
    from ..controller.scene import Scene

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class CoMInSupport(BarrierConstraint):
    """The centre of mass, seen from above, inside a convex polygon: enough for slow motions; fast ones are held by the
    contacts' centres of pressure.

    Args:
        polygon: corners counter-clockwise, (n, 2), m; may change while their number stays.
        margin: kept from the edges, m.

    Examples:
        >>> import numpy as np
        >>> import equipoise as eq
        >>> robot = eq.load("quadruped")
        >>> q = robot.standing()
        >>> corners = [robot.pose(q, name)[:2, 3] for name in robot.frames if name.endswith("_foot")]
        >>> polygon = eq.balance.support_polygon(corners).vertices
        >>> inside = eq.CoMInSupport(polygon, margin=0.02)
        >>> tasks = [eq.CoMTask(), eq.PostureTask()]
        >>> controller = eq.WholeBodyController(robot, tasks, constraints=[inside], level="velocity")
        >>> controller(0.0, q, np.zeros(robot.nv)).status.ok
        True
    """

    polygon: Setting
    margin: Setting = 0.0

    @property
    def label(self) -> str:
        return self.name or "centre of mass in support"

    @property
    def _count(self) -> int:
        return len(np.asarray(at_first(self.polygon)))

    def least_margin(self, robot: Robot, q: Array, t: Array) -> float:
        inside = []
        for com, time in zip(robot.com(q), t.tolist(), strict=True):
            given = (x(time) if callable(x) else x for x in (self.polygon, self.margin))
            normals, offsets = self._edges(*given)
            inside.append(float((normals @ com[:2] - offsets).min()))
        return min(inside)

    def row_names(self, context: Context) -> list[str]:
        return [f"{self.label} (edge {k})" for k in range(self._count)]

    def structure(self, context: Context) -> object:
        return [self._count, self.braking is None]

    def parameters(self, context: Context) -> Mapping[str, Parameters]:
        n = self._count
        edges = Parameters(("polygon", "margin"), {"normals": (n, 2), "offsets": (n,)}, self._edges)
        return {**super().parameters(context), "edges": edges}

    def _edges(self, polygon: Any, margin: Any) -> tuple[Array, Array]:
        """(inward normals (n, 2), offsets) with normal · c ≥ offset."""
        corners = np.asarray(polygon, dtype=float)
        if corners.ndim != 2 or corners.shape[1] < 2 or len(corners) < 3:
            raise TaskError(
                f"{self.label}: a polygon is three or more corners of two numbers; got shape {corners.shape}"
            )
        corners = corners[:, :2]
        along = np.roll(corners, -1, axis=0) - corners
        turns = along[:, 0] * np.roll(along[:, 1], -1) - along[:, 1] * np.roll(along[:, 0], -1)
        if not (turns >= -1e-12).all():
            raise TaskError(f"{self.label}: corners must go round a convex polygon counter-clockwise")
        along = along / np.linalg.norm(along, axis=1, keepdims=True)
        normals = np.stack([-along[:, 1], along[:, 0]], axis=1)
        return normals, np.sum(normals * corners, axis=1) + margin

    def barrier(self, scene: Scene, numbers: NamedNumbers) -> Barrier:
        from ...equations.symbols import zeros

        J, drift = numbers.normals @ scene.com_jacobian[:2, :], numbers.normals @ scene.com_drift[:2]
        return Barrier(numbers.normals @ scene.com[:2] - numbers.offsets, J, zeros(self._count), drift)
