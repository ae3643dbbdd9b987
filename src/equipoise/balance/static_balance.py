"""Static balance on any ground: where the centre of mass may be at rest on point contacts with friction."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ShapeError
from .support import SupportPolygon, support_polygon

Array = np.ndarray


def static_region(
    points: ArrayLike,
    normals: ArrayLike = (0.0, 0.0, 1.0),
    *,
    mass: float = 1.0,
    mu: ArrayLike = 0.5,
    sides: int = 8,
    largest: ArrayLike = np.inf,
    gravity: float = 9.80665,
    tolerance: float = 1e-3,
    reach: float = 10.0,
) -> SupportPolygon:
    """Where the centre of mass may be, seen from above, for a robot at rest on point contacts with friction.

    Forces f_i within friction cones balance weight and moment: Σ f_i + m g = 0, Σ p_i × f_i + c × m g = 0. The
    positions c are a convex cylinder along gravity; its section is found by iterative projection [Bretl & Lall,
    "Testing static equilibrium for legged robots", 2008]: a linear program finds the farthest point of the section in a
    direction, and the edge that may be farthest from the truth is refined, until none is farther than `tolerance`. What
    is returned is inside the true region.

    Args:
        points: (n, 3) m, corners of feet and hands.
        normals: (n, 3) or one for all, out of the ground.
        mass: kg; matters only beside `largest`.
        mu: friction, one or (n,).
        sides: of the pyramid inside each friction cone; more are nearer to the cone.
        largest: normal force that a contact bears, N, one or (n,).
        tolerance: m.
        reach: m; a region that friction leaves unbounded is cut off this far from the middle of the contacts.

    Returns:
        A polygon without vertices where no force keeps the robot in balance.
    """
    points, generators = _cones(points, normals, mu, sides)
    middle = points.mean(axis=0)
    program = _BalanceProgram(points - middle, generators, mass * gravity, largest, reach)
    vertices = _projection(program, tolerance)
    if len(vertices) == 0:
        return SupportPolygon(np.empty((0, 2)), np.empty(0, dtype=int))
    found = support_polygon(np.array(vertices) + middle[:2])
    return SupportPolygon(found.vertices, np.empty(0, dtype=int))


def _cones(points: ArrayLike, normals: ArrayLike, mu: ArrayLike, sides: int) -> tuple[Array, Array]:
    """Points (n, 3), and edges (n, sides, 3) of the pyramids, each with normal part 1."""
    points = np.asarray(points, dtype=float)
    if points.ndim != 2 or points.shape[1] != 3 or len(points) == 0 or not np.isfinite(points).all():
        raise ShapeError(f"static_region: wanted points of shape (n, 3), at least one, finite; got {points!r}")
    n = np.broadcast_to(np.asarray(normals, dtype=float), points.shape)
    lengths = np.linalg.norm(n, axis=1, keepdims=True)
    mu = np.broadcast_to(np.asarray(mu, dtype=float), len(points))
    if not (lengths > 0).all() or not (mu >= 0).all() or sides < 3:
        raise ShapeError("static_region: normals have a length, mu is not negative, and a pyramid has at least 3 sides")
    n = n / lengths
    helper = np.eye(3)[np.abs(n).argmin(axis=1)]
    s = np.cross(n, helper)
    s /= np.linalg.norm(s, axis=1, keepdims=True)
    t = np.cross(n, s)
    angles = 2 * np.pi * np.arange(sides) / sides
    ring = np.cos(angles)[None, :, None] * s[:, None] + np.sin(angles)[None, :, None] * t[:, None]
    return points, n[:, None] + mu[:, None, None] * ring


@dataclass(frozen=True)
class _BalanceProgram:
    """max dᵀ c over c = (c_x, c_y) and forces λ ≥ 0 along the edges of the pyramids, in balance with the weight."""

    points: Array
    generators: Array  # (n, sides, 3)
    weight: float
    largest: ArrayLike
    reach: float

    def farthest(self, direction: Array) -> Array | None:
        """The point of the region farthest in a direction, None where there is no balance at all."""
        from scipy.optimize import linprog

        n, sides, _ = self.generators.shape
        torques = np.cross(self.points[:, None], self.generators)
        # in units of the weight: Σ f = z and Σ p × f = c × z = (c_y, −c_x, 0)
        A = np.zeros((6, 2 + n * sides))
        A[:3, 2:], A[3:, 2:] = self.generators.reshape(-1, 3).T, torques.reshape(-1, 3).T
        A[3, 1], A[4, 0] = -1.0, 1.0
        b = np.array([0.0, 0.0, 1.0, 0.0, 0.0, 0.0])
        bounds = [(-self.reach, self.reach)] * 2 + [(0, None)] * (n * sides)
        limits = np.broadcast_to(np.asarray(self.largest, dtype=float), n) / self.weight
        bounded = np.flatnonzero(np.isfinite(limits))
        upper = np.zeros((len(bounded), A.shape[1]))
        for row, i in zip(upper, bounded, strict=True):
            row[2 + i * sides : 2 + (i + 1) * sides] = 1.0
        cost = np.concatenate([-direction, np.zeros(n * sides)])
        more = {"A_ub": upper, "b_ub": limits[bounded]} if len(bounded) else {}
        result = linprog(cost, A_eq=A, b_eq=b, bounds=bounds, method="highs", **more)
        return None if result.x is None or result.status != 0 else result.x[:2]


def _projection(program: _BalanceProgram, tolerance: float, most: int = 200) -> list[Array]:
    """Vertices inside the region, in order: refine the edge whose outer corner is farthest, until none is too far."""
    turns = [(np.array([np.cos(t), np.sin(t)])) for t in 2 * np.pi * np.arange(3) / 3]
    found = [(d, p) for d in turns if (p := program.farthest(d)) is not None]
    if len(found) < 3:
        return []
    while len(found) < most:
        gaps = [_uncertainty(*found[k], *found[(k + 1) % len(found)]) for k in range(len(found))]
        k = int(np.argmax(gaps))
        if gaps[k] <= tolerance:
            break
        direction = found[k][0] + found[(k + 1) % len(found)][0]
        edge = found[(k + 1) % len(found)][1] - found[k][1]
        if np.linalg.norm(edge) > tolerance:
            direction = np.array([edge[1], -edge[0]])
        direction = direction / np.linalg.norm(direction)
        farther = program.farthest(direction)
        if farther is None:
            break
        found.insert(k + 1, (direction, farther))
    return [point for _, point in found]


def _uncertainty(d_0: Array, p_0: Array, d_1: Array, p_1: Array) -> float:
    """How far the region may reach beyond the edge from p_0 to p_1: to where the lines across d_0 and d_1 meet."""
    edge = p_1 - p_0
    length = float(np.linalg.norm(edge))
    sine = float(d_0[0] * d_1[1] - d_0[1] * d_1[0])
    if length < 1e-12:
        return 0.0
    normal = np.array([edge[1], -edge[0]]) / length
    if sine < 1e-9:  # the same direction twice: nothing beyond the edge
        return 0.0
    corner = np.linalg.solve(np.stack([d_0, d_1]), np.array([d_0 @ p_0, d_1 @ p_1]))
    return float(max(0.0, normal @ (corner - p_0)))
