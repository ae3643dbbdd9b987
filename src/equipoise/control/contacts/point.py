"""A point of a frame on a surface."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ...algebra import rigid
from ..item import NamedNumbers, Parameters, Setting, at_first
from .cones import facets_of_pyramid
from .contact import Contact, ContactTerms, axes_from_normal

if TYPE_CHECKING:
    from ..controller.context import Context
    from ..controller.scene import Scene

Array = np.ndarray


@dataclass(frozen=True, eq=False, kw_only=True)
class PointContact(Contact):
    """A point of a frame on a surface with a given normal in the world: three forces, no torque; the frame may turn on
    it.

    Args:
        point: in the frame's axes, m.
        normal: of the surface, world axes, pointing to the robot.

    Examples:
        >>> import equipoise as eq
        >>> foot = eq.PointContact("front_left_foot", friction=0.6)
        >>> foot.label, foot.size  # three unknown forces
        ('front_left_foot', 3)
    """

    point: ArrayLike = (0.0, 0.0, 0.0)
    normal: Setting = (0.0, 0.0, 1.0)
    pivots: ClassVar[bool] = True

    @property
    def size(self) -> int:
        return 3

    @property
    def points(self) -> Array:
        return np.asarray(self.point, dtype=float)[None]

    @property
    def _unit_cone(self) -> Array:
        """The cone for a coefficient of friction of 1."""
        return facets_of_pyramid(self.pyramid(1.0))

    @property
    def cone(self) -> Array:
        return self._unit_cone * [1.0, 1.0, at_first(self.friction)]

    def surface_axes(self, X: Array) -> Array:
        return self._axes

    def wrench_map(self, X: Array) -> Array:
        arm = X[:3, :3] @ np.asarray(self.point, dtype=float)
        return np.concatenate([self._axes, rigid.skew(arm) @ self._axes])

    def parameters(self, context: Context) -> Mapping[str, Parameters]:
        axes = Parameters(("normal",), {"axes": (3, 3)}, lambda normal: [axes_from_normal(self.label, normal)])
        return {**super().parameters(context), "surface": axes}

    def terms(self, scene: Scene, numbers: NamedNumbers) -> ContactTerms:
        from ...equations.symbols import beside, constant, skew, stack

        R_WC, s = numbers.axes, constant(self.point)
        X = scene.pose(self.frame)
        arm, w = X[:3, :3] @ s, scene.twist(self.frame)[3:6]
        S = stack(R_WC, skew(arm) @ R_WC)
        S_dot_V = R_WC.T @ (skew(w) @ (skew(w) @ arm))
        slip = numbers.anchor[:3, :3] @ s + numbers.anchor[:3, 3] - X[:3, 3] - arm
        G = constant(self._unit_cone)
        return ContactTerms(S, S_dot_V, S, R_WC.T @ slip, beside(G[:, :2], numbers.friction * G[:, 2]))
