"""What a hand does on a surface: come to it, stay above it, hold the centre of mass within what it adds, enlarge that.

These are the tasks and constraints of [QO21, Sec. 4.4, 4.5]; `MultiContact` puts them together. What changes from step to step
(where the polygon is, which walls stand) are numbers that a function gives; nothing is compiled anew.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .constraints import Barrier, BarrierConstraint
from .tasks import Task, TaskError, Terms

if TYPE_CHECKING:
    from ..equations.symbols import SX
    from ..robot import Robot
    from .controller.scene import Scene

Array = np.ndarray
NEVER = -1e3  # m: the offset of a wall that is not there


@dataclass(frozen=True, eq=False)
class SurfaceTask(Task):
    """A plane of a frame onto a plane of the world: error n_to − n and d_to − d [QO21, Eqs. (4.55), (4.56)].

    Where it vanishes the frame lies flat on the surface, anywhere on it and turned about its normal as it likes.

    Args:
        frame: of the robot. normal, point: of its plane, in its axes, the normal away from the surface.
        target: (normal, offset) of the surface in the world, four numbers.
    """

    frame: str
    target: Any = (0.0, 0.0, 1.0, 0.0)
    normal: Any = (0.0, 0.0, 1.0)
    point: Any = (0.0, 0.0, 0.0)

    @property
    def label(self) -> str:
        return self.name or f"{self.frame} onto a surface"

    def check(self, robot: Robot) -> None:
        robot.place(self.frame)

    def rows(self, robot: Robot) -> int:
        return 4

    def here(self, robot: Robot, q: Array) -> Array:
        X = robot.pose(q, self.frame)
        n = X[:3, :3] @ np.asarray(self.normal, dtype=float)
        return np.append(n, n @ (X[:3, :3] @ np.asarray(self.point, dtype=float) + X[:3, 3]))

    def reference(self, robot: Robot, values: Sequence[Any]) -> Array:
        given = [np.zeros(4) if x is None else np.asarray(x, dtype=float) for x in values]
        if any(x.shape != (4,) for x in given):
            raise TaskError(f"{self.label}: a surface is four numbers, its normal and offset; got {values[0]!r}")
        return np.concatenate(given)

    def terms(self, scene: Scene, p: SX) -> Terms:
        """ṅ = ω × n; ḋ = ṅ · x + n · ẋ for the point x; and once more for what is left when a = 0."""
        from ..equations.symbols import constant, skew, stack

        R, _ = scene.pose(self.frame)
        n, V, A = R @ constant(self.normal), scene.twist(self.frame), scene.drift(self.frame)
        x, J_x, v_x, a_x = scene.point(self.frame, constant(self.point))
        w, J_n = V[3:6], -skew(n) @ scene.jacobian(self.frame)[3:, :]
        rate_n, drift_n = skew(w) @ n, skew(A[3:6]) @ n + skew(w) @ (skew(w) @ n)
        J = stack(J_n, x.T @ J_n + n.T @ J_x)
        drift = stack(drift_n, x.T @ drift_n + 2 * rate_n.T @ v_x + n.T @ a_x)
        return Terms(p[:4] - stack(n, n.T @ x), J, J @ scene.v, drift, p[4:8], p[8:12])


@dataclass(frozen=True, eq=False)
class HullAreaTask(Task):
    """The area of a support polygon of which some vertices are points of a frame grows [QO21, Eq. (4.54)].

    Ȧ = Σ g_i · ẋ_i with g_i = ∂A/∂x_i, which a function gives in each step together with the error: 2 k + 1 numbers, zeros for
    points that are no vertices. The part of Ä that is quadratic in velocities of several vertices is left out: it vanishes
    where one vertex moves.
    """

    frame: str
    points: Any = ((0.0, 0.0, 0.0),)
    target: Any = None

    @property
    def label(self) -> str:
        return self.name or "support area"

    def rows(self, robot: Robot) -> int:
        return 1

    def here(self, robot: Robot, q: Array) -> Array:
        return np.zeros(2 * len(self.points) + 1)

    def reference(self, robot: Robot, values: Sequence[Any]) -> Array:
        return np.asarray(values[0], dtype=float)

    def terms(self, scene: Scene, p: SX) -> Terms:
        from ..equations.symbols import constant, zeros

        J, drift = zeros(1, scene.tree.nv), zeros(1, 1)
        for k, point in enumerate(np.asarray(self.points, dtype=float)):
            _, J_k, _, drift_k = scene.point(self.frame, constant(point))
            g = p[2 * k : 2 * k + 2]
            J += g.T @ J_k[:2, :]
            drift += g.T @ drift_k[:2]
        return Terms(p[-1], J, J @ scene.v, drift, zeros(1, 1), zeros(1, 1))


@dataclass(frozen=True, eq=False)
class CoMAbove(BarrierConstraint):
    """The centre of mass, seen from above, inside a polygon that may change from step to step [QO21, Eq. (4.62)].

    Some of its vertices may be points of a frame that moves. The edge from a to b, where the centre of mass c lies beside the
    part s of its length, then moves too: with its inward normal n the distance changes by n · (ċ − (1 − s) ȧ − s ḃ).

    Args:
        edges: at time t, (n, 3 + k): inward normal (2), offset (m) with normal · c ≥ offset, and the share of each of the frame's
            k points in the edge's motion: s, 1 − s or zero.
        frame, points: whose points may be vertices, (k, 3) in its axes.
        most: edges it may have.
        margin: kept from the edges, m.
    """

    edges: Callable[[float], Array]
    frame: str
    points: Any
    most: int = 12
    margin: float = 0.02

    @property
    def label(self) -> str:
        return self.name or "centre of mass in support"

    @property
    def moving(self) -> bool:
        return True

    def row_names(self, robot: Robot) -> list[str]:
        return [f"{self.label} (edge {k})" for k in range(self.most)]

    def numbers(self, robot: Robot, t: float) -> Array:
        """Inward normals, offsets and shares; rows without an edge are far from everything."""
        edges = self.edges(t)
        n = len(edges)
        if n > self.most:
            raise TaskError(f"{self.label}: a polygon of {n} edges, and room for {self.most}; give most={n}")
        rows = np.zeros((self.most, 3 + len(self.points)))
        rows[:, 2] = NEVER
        rows[:n] = edges
        rows[:n, 2] += self.margin
        return rows.ravel()

    def barrier(self, scene: Scene, p: SX) -> Barrier:
        from ..equations.symbols import constant, zeros
        from .controller.scene import matrix_of

        n, points = self.most, np.asarray(self.points, dtype=float)
        rows = matrix_of(p, n, 3 + len(points))
        normals = rows[:, :2]
        J, drift = normals @ scene.com_jacobian[:2, :], normals @ scene.com_drift[:2]
        for k, point in enumerate(points):
            _, J_k, _, drift_k = scene.point(self.frame, constant(point))
            J -= rows[:, 3 + k] * (normals @ J_k[:2, :])
            drift -= rows[:, 3 + k] * (normals @ drift_k[:2])
        return Barrier(normals @ scene.com[:2] - rows[:, 2], J, J @ scene.v, zeros(n, 1), drift)


@dataclass(frozen=True, eq=False)
class PointsInside(BarrierConstraint):
    """Points of a frame on the inner side of planes of the world, each with its own: n · x ≥ offset [QO21, Eqs. (4.39), (4.57)].

    Args:
        points, normals: (n, 3) each, the first in the frame's axes.
        offsets: of the n planes at time t, m; none at all means that no plane is there.
    """

    frame: str
    points: Any
    normals: Any
    offsets: Callable[[float], Array]

    @property
    def label(self) -> str:
        return self.name or f"{self.frame} inside walls"

    @property
    def moving(self) -> bool:
        return True

    def row_names(self, robot: Robot) -> list[str]:
        return [self.label] * len(self.points)

    def numbers(self, robot: Robot, t: float) -> Array:
        given = np.asarray(self.offsets(t), dtype=float)
        return given if len(given) == len(self.points) else np.full(len(self.points), NEVER)

    def barrier(self, scene: Scene, p: SX) -> Barrier:
        from ..equations.symbols import constant, stack, zeros

        d, J, drift = [], [], []
        for k, (point, normal) in enumerate(zip(np.asarray(self.points), np.asarray(self.normals), strict=True)):
            x, J_x, _, a_x = scene.point(self.frame, constant(point))
            n = constant(normal)
            d.append(n.T @ x - p[k])
            J.append(n.T @ J_x)
            drift.append(n.T @ a_x)
        rows = stack(*J)
        return Barrier(stack(*d), rows, rows @ scene.v, zeros(len(d), 1), stack(*drift))
