"""What a robot stands on: support polygon, its area and how it changes, zero-moment point.

The thesis takes the quadrilateral of two feet and a hand [QO21, Sec. 4.4]; here it is the convex hull of any contacts.
On flat ground with enough friction a robot at rest keeps its balance while its centre of mass is above that polygon. On
other ground the region is another one: `static_balance.py` finds it.
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
