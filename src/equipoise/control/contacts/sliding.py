"""A flat polygon that slides on its surface."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ..item import NamedNumbers, Parameters, Points, Setting, at_first
from .cones import facets
from .contact import Contact, ContactTerms
from .flat import SOLE, polygon

if TYPE_CHECKING:
    from ..controller.context import Context
    from ..controller.scene import Scene

Array = np.ndarray


@dataclass(frozen=True, eq=False, kw_only=True)
class SlidingContact(Contact):
    """A flat polygon that slides on its surface: kinetic friction against the motion, μ times the normal force.

    It may move along the surface and turn about its normal. λ is (normal force, torques about x and y). The direction
    of sliding is given; the task that moves the frame decides how fast.

    Args:
        direction: of the sliding, world axes; its length does not matter.
        corners: of the polygon in the contact's axes, (n, 2) or (n, 3), m.
        normal: of the surface in the frame's axes, pointing to the robot.

    Examples:
        >>> import equipoise as eq
        >>> corners = [(0.1, 0.05), (0.1, -0.05), (-0.1, -0.05), (-0.1, 0.05)]
        >>> wiping = eq.SlidingContact("left_hand", direction=(1, 0, 0), corners=corners, friction=0.3)
        >>> wiping.label, wiping.size
        ('left_hand', 3)
    """

    direction: Setting = (1.0, 0.0, 0.0)
    corners: Points = SOLE
    normal: ArrayLike = (0.0, 0.0, 1.0)
    rests: ClassVar[bool] = False

    @property
    def size(self) -> int:
        return 3

    @property
    def normal_at_row(self) -> int:
        return 0

    @property
    def points(self) -> Array:
        return polygon(self.label, self.corners) @ self._axes.T

    @property
    def cone(self) -> Array:
        """Centre of pressure within the polygon: (x, y) = (−τ_y, τ_x)/f_z in the hull of the corners."""
        corners = polygon(self.label, self.corners)
        rays = np.stack([np.ones(len(corners)), corners[:, 1], -corners[:, 0]], axis=1)
        return facets(self.label, rays)

    @property
    def cone_names(self) -> list[str]:
        return [f"{self.label} centre of pressure"] * len(self.cone)

    def wrench_map(self, X: Array) -> Array:
        R_WC = self.surface_axes(X)
        n, d = R_WC[:, 2], _unit(at_first(self.direction))
        N = np.zeros((6, 3))
        N[:3, 0], N[3:, 1:] = n - at_first(self.friction) * (d - n * (n @ d)), R_WC[:, :2]
        return N

    def parameters(self, context: Context) -> Mapping[str, Parameters]:
        direction = Parameters(("direction",), {"direction": (3,)}, lambda given: [_unit(given)])
        return {**super().parameters(context), "direction": direction}

    def terms(self, scene: Scene, numbers: NamedNumbers) -> ContactTerms:
        from ...equations.symbols import beside, constant, skew, stack, zeros
        from ..controller.scene import rotation_error

        X, V = scene.pose(self.frame), scene.twist(self.frame)
        R, w = X[:3, :3], V[3:6]
        R_WC = R @ constant(self._axes)
        n, tangents = R_WC[:, 2], R_WC[:, :2]
        S = stack(beside(n, zeros(3, 2)), beside(zeros(3, 1), tangents))
        S_dot_V = stack(-n.T @ (skew(w) @ V[:3]), zeros(2))
        along = numbers.direction - n * (n.T @ numbers.direction)  # friction lies in the surface
        N = stack(beside(n - numbers.friction * along, zeros(3, 2)), beside(zeros(3, 1), tangents))
        turn = rotation_error(R, numbers.anchor[:3, :3])
        error = stack(n.T @ (numbers.anchor[:3, 3] - X[:3, 3]), tangents.T @ turn)
        return ContactTerms(S, S_dot_V, N, error, constant(self.cone))


def _unit(direction: Any) -> Array:
    d = np.asarray(direction, dtype=float)
    length = float(np.linalg.norm(d))
    return d / length if length > 1e-12 else 0 * d
