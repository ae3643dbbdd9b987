"""A flat polygon of a frame on a surface."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ...algebra import rigid
from ..item import NamedNumbers, Points, TaskError, at_first
from .cones import wrench_cone
from .contact import Contact, ContactTerms, OtherSide

if TYPE_CHECKING:
    from ...equations.symbols import SX
    from ...robot import Robot
    from ..controller.scene import Scene

Array = np.ndarray
SOLE = ((0.1, 0.05), (0.1, -0.05), (-0.1, -0.05), (-0.1, 0.05))
TANGENTIAL = [0, 1, 5]  # f_x, f_y, τ_z: what friction bears
PRESSING = [2, 3, 4]  # f_z, τ_x, τ_y: what pressure bears


@dataclass(frozen=True, eq=False, kw_only=True)
class FlatContact(Contact):
    """A flat polygon of a frame on a surface: six forces. Friction, the centre of pressure and torsion are one exact
    cone, the wrenches that forces within the pyramid at the corners can make.

    Args:
        corners: of the polygon in the contact's axes, (n, 2) or (n, 3), m.
        normal: of the surface in the frame's axes, pointing to the robot; the contact's axes are the frame's for (0, 0,
            1).
        centre: origin of the contact's axes, in the frame, m.
        margin: m, by which the centre of pressure stays off the edges: on its very edge a soft sole begins to roll.
        against: frame of another body, a free object or a part of the robot, that it touches instead of the world; what
            acts on the one reacts on the other.

    Examples:
        >>> import equipoise as eq
        >>> corners = [(0.1, 0.05), (0.1, -0.05), (-0.1, -0.05), (-0.1, 0.05)]
        >>> sole = eq.FlatContact("left_foot", corners=corners, friction=0.7)
        >>> sole.label, sole.size  # three forces and three torques
        ('left_foot', 6)
    """

    corners: Points = SOLE
    normal: ArrayLike = (0.0, 0.0, 1.0)
    centre: ArrayLike = (0.0, 0.0, 0.0)
    margin: float = 0.0
    against: str | None = None

    def check(self, robot: Robot) -> None:
        super().check(robot)
        if self.against is not None:
            robot.place(self.against)
        self._unit_cone  # noqa: B018 (raises where the corners span nothing)

    @property
    def size(self) -> int:
        return 6

    @property
    def local_corners(self) -> Array:
        """Corners in the contact's axes, (n, 3)."""
        return polygon(self.label, self.corners)

    @property
    def points(self) -> Array:
        return self.local_corners @ self._axes.T + np.asarray(self.centre, dtype=float)

    @cached_property
    def _unit_cone(self) -> Array:
        """The cone for a coefficient of friction of 1."""
        return wrench_cone(self.label, self._pressed, self.pyramid(1.0))

    @property
    def cone(self) -> Array:
        G = self._unit_cone.copy()
        G[np.ix_(~self._about_pressure, np.array(PRESSING))] *= at_first(self.friction)
        return G

    @cached_property
    def _about_pressure(self) -> Array:
        """Rows that bound torque alone against the normal force: they are about the centre of pressure, not
        friction."""
        return np.abs(self._unit_cone[:, TANGENTIAL]).max(axis=1) < 1e-9

    @property
    def cone_names(self) -> list[str]:
        words = ("friction", "centre of pressure")
        return [f"{self.label} {words[int(about)]}" for about in self._about_pressure]

    @property
    def _pressed(self) -> Array:
        """Corners drawn to their middle until the nearest edge is `margin` farther in."""
        corners = self.local_corners
        if self.margin == 0.0:
            return corners
        middle = corners.mean(0)
        way = np.roll(corners, -1, axis=0) - corners
        length = np.maximum(np.linalg.norm(way[:, :2], axis=1), 1e-12)
        arms = corners - middle
        nearest = float((np.abs(way[:, 0] * arms[:, 1] - way[:, 1] * arms[:, 0]) / length).min())
        if not 0 < self.margin < nearest:
            raise TaskError(
                f"{self.label}: margin lies between 0 and {nearest:.3g} m, half of the contact; got {self.margin!r}"
            )
        return middle + (1 - self.margin / nearest) * (corners - middle)

    def here(self, robot: Robot, q: Array) -> Array:
        """Pose of the frame at q, as the body sees it that it touches."""
        X = robot.pose(q, self.frame)
        return X if self.against is None else rigid.inverse(robot.pose(q, self.against)) @ X

    def wrench_map(self, X: Array) -> Array:
        R = X[:3, :3]
        return np.concatenate([R @ self._map[:3], R @ self._map[3:]])

    @cached_property
    def _map(self) -> Array:
        """From λ to the wrench at the frame's origin, in the frame's axes."""
        A = self._axes
        return np.block([[A, np.zeros((3, 3))], [rigid.skew(np.asarray(self.centre, dtype=float)) @ A, A]])

    def terms(self, scene: Scene, numbers: NamedNumbers) -> ContactTerms:
        from ...equations.symbols import beside, constant, skew, stack, zeros
        from ..controller.scene import rotation_error

        X, V = scene.pose(self.frame), scene.twist(self.frame)
        R, w = X[:3, :3], V[3:6]
        R_WC, arm = R @ constant(self._axes), R @ constant(self.centre)
        S = stack(beside(R_WC, zeros(3, 3)), beside(skew(arm) @ R_WC, R_WC))
        other, X_to = self._other(scene, X[:3, 3] + arm, R_WC, numbers.anchor)
        at_centre, w_O, turning = V[:3] + skew(w) @ arm, zeros(3), zeros(3)
        if other is not None:
            V_O = scene.twist(other.frame)
            r, w_O = X[:3, 3] + arm - scene.pose(other.frame)[:3, 3], V_O[3:6]
            turning = skew(w_O) @ (at_centre - V_O[:3])
            at_centre -= V_O[:3] + skew(w_O) @ r
        # Axes that turn with the frame change Sᵀ V by −ω × both parts; arms add centripetal terms.
        linear = skew(w) @ (skew(w) @ arm) - turning - skew(w) @ at_centre
        S_dot_V = stack(R_WC.T @ linear, R_WC.T @ (skew(w) @ w_O))
        R_to = X_to[:3, :3]
        slip = X_to[:3, 3] + R_to @ constant(self.centre) - X[:3, 3] - arm
        error = stack(R_WC.T @ slip, R_WC.T @ rotation_error(R, R_to))
        return ContactTerms(S, S_dot_V, S, error, self._cone_of(numbers.friction), other)

    def _other(self, scene: Scene, at: SX, R_WC: SX, anchor: SX) -> tuple[OtherSide | None, SX]:
        """(the other side of a contact whose centre is at a place; the pose that the frame should have)."""
        from ...equations.symbols import beside, skew, stack, zeros

        if self.against is None:
            return None, anchor
        X = scene.pose(self.against)
        N = -stack(beside(R_WC, zeros(3, 3)), beside(skew(at - X[:3, 3]) @ R_WC, R_WC))
        return OtherSide(self.against, N), X @ anchor

    def _cone_of(self, friction: Any) -> Any:
        from ...equations.symbols import constant

        G = constant(self._unit_cone)
        rows = np.flatnonzero(~self._about_pressure).tolist()
        G[rows, PRESSING] = friction * G[rows, PRESSING]
        return G


def polygon(label: str, corners: Points) -> Array:
    """Three or more corners with three coordinates each, (n, 3)."""
    given = np.asarray(corners, dtype=float)
    if given.ndim != 2 or given.shape[1] not in (2, 3) or len(given) < 3 or not np.isfinite(given).all():
        raise TaskError(f"{label}: corners must be three or more points of 2 or 3 numbers; got shape {given.shape}")
    return given if given.shape[1] == 3 else np.column_stack([given, np.zeros(len(given))])
