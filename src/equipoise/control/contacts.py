"""Contacts: where the robot touches the world, how it may move there, and which forces it may get.

Each contact has axes with z along the surface normal, from the surface into the robot. Its unknown forces λ (N, N m, on the
robot, in those axes) make the wrench N λ on the frame, world axes; the motion that the contact forbids is Sᵀ V, V the twist
of the frame. For a contact that sticks S = N: forces that hold do no work. λ lies in a cone G λ ≤ 0 and between bounds.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..algebra import rigid
from .tasks import TaskError

if TYPE_CHECKING:
    from ..equations.symbols import SX
    from ..robot import Robot
    from .controller.scene import Scene

Array = np.ndarray
SOLE = ((0.1, 0.05), (0.1, -0.05), (-0.1, -0.05), (-0.1, 0.05))


@dataclass(frozen=True)
class ContactTerms:
    """A contact on symbols, in world axes at the frame's origin."""

    S: SX  # (6, k): forbidden motion is Sᵀ V
    S_dot_V: SX  # (k,): Ṡᵀ V
    N: SX  # (6, k): wrench N λ
    error: SX  # (k,): how far it slipped from where it was made


@dataclass(frozen=True, eq=False, kw_only=True)
class Contact:
    """What all contacts share.

    Args:
        friction: coefficient μ.
        edges: of the pyramid that stands for the friction cone.
        inner: whether the pyramid lies inside the cone, which is safe (the force never leaves the true cone); else its sides
            touch the cone from outside.
        min_force, max_force: of the normal force, N.
        stiffness, damping: with which slip is undone, 1/s² and 1/s: J a + J̇ v = stiffness · slip − damping · J v.
    """

    frame: str = field(kw_only=False)
    name: str = ""
    friction: float = 0.7
    edges: int = 4
    inner: bool = True
    min_force: float = 0.0
    max_force: float = np.inf
    stiffness: float = 100.0
    damping: float = 20.0
    pivots: ClassVar[bool] = False  # whether the frame may turn on it
    rests: ClassVar[bool] = True  # whether a robot at rest can stand on it

    def check(self, robot: Robot) -> None:
        robot.place(self.frame)
        if not (np.isfinite(self.friction) and self.friction >= 0):
            raise TaskError(f"{self.label}: friction must be finite and not negative; got {self.friction!r}")
        if self.edges < 3:
            raise TaskError(f"{self.label}: a friction pyramid has three edges or more; got {self.edges}")
        if not 0 <= self.min_force <= self.max_force:
            raise TaskError(f"{self.label}: wanted 0 ≤ min_force ≤ max_force; got {self.min_force!r} and {self.max_force!r}")

    @property
    def label(self) -> str:
        return self.name or self.frame

    @property
    def size(self) -> int:
        """How many unknown forces, and forbidden directions."""
        raise NotImplementedError

    @property
    def points(self) -> Array:
        """Where it touches, in the frame's axes, (n, 3)."""
        raise NotImplementedError

    @property
    def cone(self) -> Array:
        """G with G λ ≤ 0."""
        raise NotImplementedError

    @property
    def cone_names(self) -> list[str]:
        """One per row of the cone."""
        return [f"{self.label} friction"] * len(self.cone)

    @property
    def normal_force(self) -> Array:
        """Row that picks the normal force out of λ."""
        row = np.zeros(self.size)
        row[2 if self.size > 2 and not isinstance(self, SlidingContact) else 0] = 1.0
        return row

    @cached_property
    def _axes(self) -> Array:
        """Rotation whose z is the contact's normal; wanted in every step that is recorded."""
        return axes_from_normal(self.label, self.normal)  # type: ignore[attr-defined]

    def surface_axes(self, X: Array) -> Array:
        """Rotation in world axes whose z is the surface's normal, with the frame at pose X, 3×3."""
        return X[:3, :3] @ self._axes

    def normal_at(self, X: Array) -> Array:
        """The surface's unit normal in world axes, with the frame at pose X, (3,)."""
        return self.surface_axes(X)[:, 2]

    def numbers(self) -> Array:
        """What `terms` reads beside the anchor."""
        return np.zeros(0)

    def terms(self, scene: Scene, anchor: SX, p: SX) -> ContactTerms:
        """On symbols; anchor: rotation (row by row) and place of the frame where the contact was made."""
        raise NotImplementedError

    def wrench(self, robot: Robot, q: Array, forces: Array) -> Array:
        """N λ: wrench on the frame, world axes, (6,)."""
        raise NotImplementedError

    @property
    def friction_edges(self) -> Array:
        """Edges of the friction pyramid, unit normal force, contact axes, (edges, 3)."""
        angles = 2 * np.pi * (np.arange(self.edges) + 0.5) / self.edges
        reach = self.friction if self.inner else self.friction / np.cos(np.pi / self.edges)
        return np.stack([reach * np.cos(angles), reach * np.sin(angles), np.ones(self.edges)], axis=1)


@dataclass(frozen=True, eq=False, kw_only=True)
class PointContact(Contact):
    """A point of a frame on a surface with a given normal in the world: three forces, no torque.

    Args:
        point: in the frame's axes, m.
        normal: of the surface, world axes, pointing to the robot.
    """

    point: Any = (0.0, 0.0, 0.0)
    normal: Any = (0.0, 0.0, 1.0)
    pivots: ClassVar[bool] = True

    @property
    def size(self) -> int:
        return 3

    @property
    def points(self) -> Array:
        return np.asarray(self.point, dtype=float)[None]

    @property
    def cone(self) -> Array:
        d = self.friction_edges
        return _facets_of_pyramid(d)

    def surface_axes(self, X: Array) -> Array:
        return self._axes

    def numbers(self) -> Array:
        return self._axes.ravel()

    def wrench(self, robot: Robot, q: Array, forces: Array) -> Array:
        F = self._axes @ forces
        arm = robot.pose(q, self.frame)[:3, :3] @ np.asarray(self.point, dtype=float)
        return np.concatenate([F, _cross(arm, F)])

    def terms(self, scene: Scene, anchor: SX, p: SX) -> ContactTerms:
        from ..equations.symbols import constant, skew, stack
        from .controller.scene import matrix_of

        R_WC, s = matrix_of(p, 3, 3), constant(self.point)
        R, place = scene.pose(self.frame)
        arm, w = R @ s, scene.twist(self.frame)[3:6]
        S = stack(R_WC, skew(arm) @ R_WC)
        S_dot_V = R_WC.T @ (skew(w) @ (skew(w) @ arm))
        slip = matrix_of(anchor, 3, 3) @ s + anchor[9:12] - place - arm
        return ContactTerms(S, S_dot_V, S, R_WC.T @ slip)


@dataclass(frozen=True, eq=False, kw_only=True)
class FlatContact(Contact):
    """A flat polygon of a frame on a surface: six forces. Friction, the centre of pressure and torsion are one exact cone,
    the wrenches that forces within the pyramid at the corners can make.

    Args:
        corners: of the polygon in the contact's axes, (n, 2) or (n, 3), m.
        normal: of the surface in the frame's axes, pointing to the robot; the contact's axes are the frame's for (0, 0, 1).
        centre: origin of the contact's axes, in the frame, m.
        margin: m, by which the centre of pressure stays off the edges: on its very edge a sole that gives way begins to roll.
    """

    corners: Any = SOLE
    normal: Any = (0.0, 0.0, 1.0)
    centre: Any = (0.0, 0.0, 0.0)
    margin: float = 0.0

    @property
    def size(self) -> int:
        return 6

    @property
    def _local(self) -> Array:
        corners = np.asarray(self.corners, dtype=float)
        if corners.ndim != 2 or corners.shape[1] not in (2, 3) or len(corners) < 3:
            raise TaskError(f"{self.label}: corners must be three or more points of 2 or 3 numbers; got shape {corners.shape}")
        return corners if corners.shape[1] == 3 else np.column_stack([corners, np.zeros(len(corners))])

    @property
    def points(self) -> Array:
        return self._local @ axes_from_normal(self.label, self.normal).T + np.asarray(self.centre, dtype=float)

    @property
    def cone(self) -> Array:
        return wrench_cone(self.label, self._pressed, self.friction_edges)

    @property
    def _pressed(self) -> Array:
        """Corners drawn to their middle until the nearest edge is `margin` farther in."""
        corners = self._local
        if self.margin == 0.0:
            return corners
        middle = corners.mean(0)
        way = np.roll(corners, -1, axis=0) - corners
        length = np.maximum(np.linalg.norm(way[:, :2], axis=1), 1e-12)
        nearest = float((np.abs(_cross_2d(way, corners - middle)) / length).min())
        if not 0 < self.margin < nearest:
            raise TaskError(f"{self.label}: margin lies between 0 and {nearest:.3g} m, half of the contact; got {self.margin!r}")
        return middle + (1 - self.margin / nearest) * (corners - middle)

    @property
    def cone_names(self) -> list[str]:
        """Rows that bound torque alone against the normal force are about the centre of pressure."""
        tilts = np.abs(self.cone[:, [0, 1, 5]]).max(axis=1) < 1e-9
        return [f"{self.label} centre of pressure" if tilt else f"{self.label} friction" for tilt in tilts]

    def wrench(self, robot: Robot, q: Array, forces: Array) -> Array:
        R = robot.pose(q, self.frame)[:3, :3]
        return ((self._map @ forces).reshape(2, 3) @ R.T).reshape(6)

    @cached_property
    def _map(self) -> Array:
        """From λ to the wrench at the frame's origin, in the frame's axes."""
        A = self._axes
        return np.block([[A, np.zeros((3, 3))], [rigid.skew(np.asarray(self.centre, dtype=float)) @ A, A]])

    def terms(self, scene: Scene, anchor: SX, p: SX) -> ContactTerms:
        from ..equations.symbols import beside, constant, skew, stack, zeros
        from .controller.scene import matrix_of, rotation_error

        R, place = scene.pose(self.frame)
        w = scene.twist(self.frame)[3:6]
        R_WC, arm = R @ constant(axes_from_normal(self.label, self.normal)), R @ constant(self.centre)
        S = stack(beside(R_WC, zeros(3, 3)), beside(skew(arm) @ R_WC, R_WC))
        # Axes that turn with the frame change Sᵀ V by −ω × both parts; the arm adds the centripetal term.
        V = scene.twist(self.frame)
        at_centre = V[:3] + skew(w) @ arm
        S_dot_V = stack(R_WC.T @ (skew(w) @ (skew(w) @ arm) - skew(w) @ at_centre), zeros(3))
        R_to = matrix_of(anchor, 3, 3)
        slip = anchor[9:12] + R_to @ constant(self.centre) - place - arm
        return ContactTerms(S, S_dot_V, S, stack(R_WC.T @ slip, R_WC.T @ rotation_error(R, R_to)))


@dataclass(frozen=True, eq=False, kw_only=True)
class SlidingContact(Contact):
    """A flat polygon that slides on its surface: kinetic friction against the motion, μ times the normal force.

    It may move along the surface and turn about its normal. λ is (normal force, torques about x and y). The direction of
    sliding is given, world axes; the task that moves the frame decides how fast.

    Args:
        direction: of the sliding, world axes; its length does not matter.
    """

    direction: Any = (1.0, 0.0, 0.0)
    corners: Any = SOLE
    normal: Any = (0.0, 0.0, 1.0)
    rests: ClassVar[bool] = False

    @property
    def size(self) -> int:
        return 3

    @property
    def points(self) -> Array:
        local = FlatContact(self.frame, corners=self.corners)._local
        return local @ axes_from_normal(self.label, self.normal).T

    @property
    def cone(self) -> Array:
        """Centre of pressure within the polygon: (x, y) = (−τ_y, τ_x)/f_z in the hull of the corners."""
        corners = FlatContact(self.frame, corners=self.corners)._local
        rays = np.stack([np.ones(len(corners)), corners[:, 1], -corners[:, 0]], axis=1)
        return _facets(self.label, rays)

    @property
    def cone_names(self) -> list[str]:
        return [f"{self.label} centre of pressure"] * len(self.cone)

    def wrench(self, robot: Robot, q: Array, forces: Array) -> Array:
        R_WC = robot.pose(q, self.frame)[:3, :3] @ self._axes
        n, d = R_WC[:, 2], self.numbers()
        F = (n - self.friction * (d - n * (n @ d))) * forces[0]
        return np.concatenate([F, R_WC[:, :2] @ forces[1:]])

    def numbers(self) -> Array:
        d = np.asarray(self.direction, dtype=float)
        length = np.linalg.norm(d)
        return d / length if length > 1e-12 else np.zeros(3)

    def terms(self, scene: Scene, anchor: SX, p: SX) -> ContactTerms:
        from ..equations.symbols import beside, constant, skew, stack, zeros
        from .controller.scene import matrix_of, rotation_error

        R, place = scene.pose(self.frame)
        V = scene.twist(self.frame)
        w, R_WC = V[3:6], R @ constant(axes_from_normal(self.label, self.normal))
        n, tangents = R_WC[:, 2], R_WC[:, :2]
        S = stack(beside(n, zeros(3, 2)), beside(zeros(3, 1), tangents))
        S_dot_V = stack(-n.T @ (skew(w) @ V[:3]), zeros(2))
        along = p[:3] - n * (n.T @ p[:3])  # friction lies in the surface
        N = stack(beside(n - self.friction * along, zeros(3, 2)), beside(zeros(3, 1), tangents))
        error = rotation_error(R, matrix_of(anchor, 3, 3))
        return ContactTerms(S, S_dot_V, N, stack(n.T @ (anchor[9:12] - place), tangents.T @ error))


def _cross(a: Array, b: Array) -> Array:
    """a × b of two vectors; NumPy's own takes ten times as long."""
    (x, y, z), (u, v, w) = a.tolist(), b.tolist()
    return np.array([y * w - z * v, z * u - x * w, x * v - y * u])


def axes_from_normal(label: str, normal: Any) -> Array:
    """Rotation whose z is the normal; the identity for (0, 0, 1)."""
    n = np.asarray(normal, dtype=float)
    if n.shape != (3,) or not np.isfinite(n).all() or np.linalg.norm(n) < 1e-9:
        raise TaskError(f"{label}: a normal is three numbers, not all zero; got {normal!r}")
    z = n / np.linalg.norm(n)
    aside = np.array([1.0, 0.0, 0.0]) if abs(z[0]) < 0.9 else np.array([0.0, 1.0, 0.0])
    x = aside - z * (z @ aside)
    x /= np.linalg.norm(x)
    return np.stack([x, np.cross(z, x), z], axis=1)


def _facets_of_pyramid(edges: Array) -> Array:
    """Rows G of the cone that the edges span in 3D: each side has the normal of two neighbours."""
    sides = np.cross(np.roll(edges, -1, axis=0), edges)
    lengths = np.linalg.norm(sides, axis=1)
    if (lengths < 1e-12).any():  # no friction: the force is along z
        return np.array([[1.0, 0, 0], [-1.0, 0, 0], [0, 1.0, 0], [0, -1.0, 0], [0, 0, -1.0]])
    return sides / lengths[:, None]


def _cross_2d(a: Array, b: Array) -> Array:
    return a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]


def wrench_cone(label: str, corners: Array, edges: Array) -> Array:
    """Rows G with G w ≤ 0 for exactly the wrenches w that forces along the edges at the corners make, about the origin.

    Each edge at each corner is a ray of the cone; cut at unit normal force the cone is a polytope in five dimensions, and
    its facets are the rows.
    """
    forces = np.tile(edges, (len(corners), 1))
    torques = np.cross(np.repeat(corners, len(edges), axis=0), forces)
    rays = np.concatenate([forces, torques], axis=1)
    return _facets(label, rays[:, [2, 0, 1, 3, 4, 5]])[:, [1, 2, 0, 3, 4, 5]]


def _facets(label: str, rays: Array) -> Array:
    """Rows G of the cone spanned by rays whose first entry is 1."""
    from scipy.spatial import ConvexHull, QhullError

    try:
        hull = ConvexHull(rays[:, 1:])
    except QhullError:
        raise TaskError(
            f"{label}: the corners and the friction do not span a cone with an inside: corners must not lie on one line, "
            "and friction must not be zero for a flat contact"
        ) from None
    facets = np.unique(np.round(hull.equations, 10), axis=0)
    G = np.concatenate([facets[:, -1:], facets[:, :-1]], axis=1)
    return G / np.linalg.norm(G, axis=1, keepdims=True)
