"""What a robot stands on: support polygon, its area and how it changes, zero-moment point, region of static balance.

The thesis takes the quadrilateral of two feet and a hand [QO21, Sec. 4.4]; here it is the convex hull of any contacts.
On flat ground with enough friction a robot at rest keeps its balance while its centre of mass is above that polygon. On
other ground the region is another one: `static_region` finds it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ShapeError, StateError
from ..model.types import frozen
from .contacts import Contact, parts, place, point_bias, point_jacobian

if TYPE_CHECKING:
    from ..robot import Robot

Array = np.ndarray
SAME = 1e-9  # of the size of the set: nearer points are one, flatter corners lie on a line


# --- the polygon ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class SupportPolygon:
    """A convex polygon on the ground, counter-clockwise; one point or a line of two are polygons without area.

    Attributes:
        vertices: (k, 2) m.
        indices: (k,) which of the given points they are; empty where there were none.
    """

    vertices: Array
    indices: Array

    def __post_init__(self) -> None:
        object.__setattr__(self, "vertices", frozen(self.vertices))

    @property
    def area(self) -> float:
        """m²."""
        return float(polygon_area(self.vertices))

    @property
    def rows(self) -> tuple[Array, Array]:
        """(A, b) with A p ≤ b exactly for the points p of the polygon; the rows of A are unit normals outwards.

        An edge gives a row. A line of two points gives four (both sides and both ends), a single point four, none at
        all one that nothing satisfies.
        """
        n = len(self.vertices)
        if n == 0:
            return np.zeros((1, 2)), np.full(1, -1.0)
        if n < 3:
            along = np.array([1.0, 0.0]) if n == 1 else self.vertices[1] - self.vertices[0]
            along = along / np.linalg.norm(along)
            A = np.array([along, [-along[1], along[0]], -along, [along[1], -along[0]]])
            return A, (A @ self.vertices.T).max(axis=1)
        edges = np.roll(self.vertices, -1, axis=0) - self.vertices
        A = np.stack([edges[:, 1], -edges[:, 0]], axis=1) / np.linalg.norm(edges, axis=1, keepdims=True)
        return A, np.einsum("ij,ij->i", A, self.vertices)

    def margins(self, point: ArrayLike) -> Array:
        """Signed distances (…, edges) of points (…, 2) or (…, 3) from the lines of all edges, m; positive inside."""
        A, b = self.rows
        return b - np.asarray(point, dtype=float)[..., :2] @ A.T

    def margin(self, point: ArrayLike) -> float | Array:
        """The least of them, (…): how far a point is inside; negative outside."""
        return self.margins(point).min(axis=-1)[()]

    def __contains__(self, point: ArrayLike) -> bool:
        return bool(self.margin(point) >= -SAME * _size(self.vertices))


def support_polygon(points: ArrayLike) -> SupportPolygon:
    """The convex hull of contact points in the ground plane, counter-clockwise from the lowest left one.

    Points on an edge and duplicates are no vertices. By Andrew's chain: sort, then walk along the lower and the upper
    side.

    Args:
        points: (n, 2) or (n, 3) m; heights do not matter.
    """
    flat = _flat("support_polygon", points)
    order = np.lexsort((flat[:, 1], flat[:, 0]))
    lower, upper = _chain(flat, order), _chain(flat, order[::-1])
    indices = _corners(flat, [*lower[:-1], *upper[:-1]] or lower[:1], SAME * _size(flat))
    return SupportPolygon(flat[indices], indices)


def _chain(points: Array, order: Array) -> list[int]:
    """One side of the hull: corners that turn left.

    Exactly, without a tolerance: soles side by side have corners on one line but for rounding, and the order along the
    chain is then that of the rounding. A tolerance here would take the last of them for a corner and drop the
    outermost.
    """
    chain: list[int] = []
    for i in order:
        while len(chain) >= 2 and not _turns_left(points[chain[-2]], points[chain[-1]], points[i]):
            chain.pop()
        chain.append(int(i))
    return chain


def _turns_left(a: Array, b: Array, c: Array) -> bool:
    """Whether b lies to the right of the line from a to c."""
    (x, y), (u, w) = c - a, b - a
    return bool(y * u > x * w)


def _corners(points: Array, hull: Sequence[int], least: float) -> Array:
    """Indices of a hull without those nearer than `least` to the line past them, the nearest first."""
    kept = np.array(hull, dtype=int)
    while len(kept) > 1:
        before, here, after = points[np.roll(kept, 1)], points[kept], points[np.roll(kept, -1)]
        along, out = after - before, here - before
        length = np.linalg.norm(along, axis=1)
        off = np.abs(along[:, 0] * out[:, 1] - along[:, 1] * out[:, 0]) / np.maximum(length, least)
        off = np.where(length <= least, np.linalg.norm(out, axis=1), off)  # neighbours that are one point: a spike
        if off.min() > least:
            break
        kept = np.delete(kept, off.argmin())
    return kept


def _flat(function: str, points: ArrayLike) -> Array:
    array = np.asarray(points, dtype=float)
    if array.ndim != 2 or array.shape[1] not in (2, 3) or len(array) == 0:
        raise ShapeError(f"{function}: wanted points of shape (n, 2) or (n, 3), at least one; got {array.shape}")
    if not np.isfinite(array).all():
        raise StateError(f"{function}: every number must be finite, got {array.tolist()}")
    return array[:, :2]


def _size(points: Array) -> float:
    """Of a set of points: how far they spread, or lie from the origin if they do not."""
    return float(max(np.ptp(points, axis=0).max(), 1e-6 * np.abs(points).max(), 1e-12)) if len(points) else 0.0


# --- area and its derivatives [QO21, Sec. 4.4] ------------------------------------------------------------------------


def polygon_area(vertices: ArrayLike) -> float | Array:
    """½ Σ (x_i y_{i+1} − x_{i+1} y_i), (…), m²; positive counter-clockwise. vertices: (…, k, 2)."""
    p = np.asarray(vertices, dtype=float)
    following = np.roll(p, -1, axis=-2)
    return 0.5 * np.sum(p[..., 0] * following[..., 1] - p[..., 1] * following[..., 0], axis=-1)[()]


def area_gradient(vertices: ArrayLike) -> Array:
    """∂A/∂p_i, (…, k, 2): half the line between the neighbours of a vertex, turned outwards."""
    p = np.asarray(vertices, dtype=float)
    between = np.roll(p, -1, axis=-2) - np.roll(p, 1, axis=-2)
    return 0.5 * np.stack([between[..., 1], -between[..., 0]], axis=-1)


@dataclass(frozen=True, eq=False)
class SupportArea:
    """The area of a support polygon at a state: Ȧ = J v, Ä = J a + J_dot_v."""

    value: float  # m²
    J: Array  # (nv,)
    J_dot_v: float
    polygon: SupportPolygon

    def rate(self, v: Array) -> float:
        """Ȧ, m²/s."""
        return float(self.J @ v)


def support_area(robot: Robot, q: Array, v: Array, contacts: Sequence[Contact], fixed: ArrayLike = ()) -> SupportArea:
    """Area of the hull of contacts, its Jacobian J_A [QO21, Eq. (4.54)] and J̇_A v, at one state.

    The area is quadratic in the vertices: A = ½ pᵀ Q p, so Ȧ = pᵀ Q ṗ and Ä = pᵀ Q p̈ + ṗᵀ Q ṗ, and the last term is
    twice the area of the polygon of velocities. Where a contact enters or leaves the hull, A and J are continuous and
    J̇v is not; contacts that coincide or lie on one line have J of those the hull keeps.

    Args:
        contacts: frames, or points of frames (frame, point), that carry the robot.
        fixed: further points (n, 2) or (n, 3) that stay where they are, such as feet that are not to move.
    """
    fixed = np.asarray(fixed, dtype=float)
    standing = _flat("support_area", fixed) if fixed.size else np.empty((0, 2))
    named = [parts(contact) for contact in contacts]
    if not named and not len(standing):
        raise ShapeError("support_area: give at least one contact or fixed point")
    moving = np.array([place(robot, q, contact) for contact in contacts]).reshape(-1, 3)
    polygon = support_polygon(np.concatenate([moving[:, :2], standing]))
    J_p, bias = np.zeros((len(polygon.indices), 2, robot.nv)), np.zeros((len(polygon.indices), 2))
    for k, index in enumerate(polygon.indices):
        if index < len(named):
            J_p[k] = point_jacobian(robot, q, *named[index])[:2]
            bias[k] = point_bias(robot, q, v, *named[index])[:2]
    g = area_gradient(polygon.vertices)
    J = np.einsum("ki,kij->j", g, J_p)
    return SupportArea(
        polygon.area, J, float(np.sum(g * bias) + 2 * polygon_area(J_p @ np.asarray(v, dtype=float))), polygon
    )


def four_point_area(p_a: ArrayLike, p_b: ArrayLike, p_c: ArrayLike, p_d: ArrayLike) -> tuple[float, Array]:
    """(A, J̄_A) of the quadrilateral of feet a, b, d and a hand c as the thesis writes them [QO21, Eqs. (4.41)–(4.52)].

    Two triangles along the line from b to d, lengths and angles instead of coordinates. It is `polygon_area` and the
    part of `area_gradient` that belongs to c, for a quadrilateral that is convex; c must not lie on the line through b
    and d.

    Args:
        p_a, p_b, p_d: (2,) m, of the feet, which stay; b and d are beside the hand c.
    """
    p_a, p_b, p_c, p_d = (np.asarray(p, dtype=float)[:2] for p in (p_a, p_b, p_c, p_d))
    to_d, to_b = p_c - p_d, p_c - p_b
    a, b, c, d, e = (np.linalg.norm(x) for x in (to_d, to_b, p_d - p_b, p_b - p_a, p_d - p_a))
    if a == 0 or b == 0 or d == 0 or e == 0:
        raise StateError("four_point_area: the four points must be different")
    alpha = np.arccos(np.clip((d**2 + e**2 - c**2) / (2 * d * e), -1, 1))
    u = (a**2 + b**2 - c**2) / (2 * a * b)
    if 1 - u**2 <= 1e-24:
        raise StateError(
            "four_point_area: the hand lies on the line of the feet beside it, where Eq. (4.47) is singular"
        )
    phi = np.arccos(u)
    area = 0.5 * (e * d * np.sin(alpha) + a * b * np.sin(phi))  # (4.41)
    J_1 = 0.5 * (b * np.sin(phi) / a * to_d + a * np.sin(phi) / b * to_b)  # (4.45)
    J_u = (c**2 + a**2 - b**2) / (2 * a**3 * b) * to_d + (c**2 - a**2 + b**2) / (2 * a * b**3) * to_b  # (4.49)
    J_2 = -a * b * np.cos(phi) / (2 * np.sqrt(1 - u**2)) * J_u  # (4.52)
    return float(area), J_1 + J_2


# --- zero-moment point ------------------------------------------------------------------------------------------------


def zero_moment_point(robot: Robot, q: Array, v: Array, a: Array, *, height: float = 0.0) -> Array:
    """Point of the level plane at `height` about which the contact forces have no horizontal moment, (…, 3), m.

    All contacts together supply the rate of momentum less gravity, f = ṗ − m g and τ_G = L̇ about the centre of mass c.
    Carried from c to the plane,

        z = c − ((c_z − h) f_x + τ_y, (c_z − h) f_y − τ_x) / f_z

    With all contacts in that plane it is the centre of pressure, and lies in the support polygon. Where nothing presses
    on the ground (f_z ≤ 0) it does not exist: NaN.
    """
    q, v, a = (np.asarray(x, dtype=float) for x in (q, v, a))
    rate = np.einsum("...ij,...j->...i", robot.momentum_matrix(q), a) + robot.momentum_bias(q, v)
    force = rate[..., :3] - robot.mass * np.array(robot.model.gravity)
    return moment_free_point(robot.com(q), force, rate[..., 3:], height=height)


def moment_free_point(at: ArrayLike, force: ArrayLike, torque: ArrayLike, *, height: float = 0.0) -> Array:
    """The same of any wrench: force and torque at the point `at`, (…, 3) each; NaN where the force does not point
    up."""
    c, f, tau = (np.asarray(x, dtype=float) for x in (at, force, torque))
    up = np.where(f[..., 2] > 0, f[..., 2], np.nan)
    rise = c[..., 2] - height
    x = c[..., 0] - (rise * f[..., 0] + tau[..., 1]) / up
    y = c[..., 1] - (rise * f[..., 1] - tau[..., 0]) / up
    return np.stack([x, y, np.where(np.isnan(up), np.nan, height)], axis=-1)


def centre_of_pressure(points: ArrayLike, forces: ArrayLike) -> Array:
    """Σ f_z p / Σ f_z of contact forces on the robot at points of level ground, (3,); NaN where nothing presses."""
    p, f = np.asarray(points, dtype=float), np.asarray(forces, dtype=float)
    total = f[:, 2].sum()
    return (f[:, 2] @ p) / total if total > 0 else np.full(3, np.nan)


# --- static balance on any ground [Bretl & Lall 2008] -----------------------------------------------------------------


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
