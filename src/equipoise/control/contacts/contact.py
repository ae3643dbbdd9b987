"""Contacts: where the robot touches the world, how it may move there, and which forces it may get.

Each contact has axes with z along the surface normal, from the surface into the robot. Its unknown forces λ (N, N m, on
the robot, in those axes) make the wrench N λ on the frame, world axes; the motion that the contact forbids is Sᵀ V, V
the twist of the frame. For a contact that sticks S = N: forces that hold do no work. λ lies in a cone G λ ≤ 0 and
between bounds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import isfinite
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ..item import Item, NamedNumbers, NumberSetting, Parameters, TaskError, at_first

if TYPE_CHECKING:
    from ...equations.symbols import SX
    from ...robot import Robot
    from ..controller.context import Context
    from ..controller.scene import Scene

Array = np.ndarray


@dataclass(frozen=True)
class OtherSide:
    """What a contact does to another body that it touches, in world axes at the origin of that body's frame.

    Args:
        frame: of the other body.
        N: wrench N λ on it, (6, k): the reaction. What it moves of the contact is Nᵀ V.
    """

    frame: str
    N: SX


@dataclass(frozen=True)
class ContactTerms:
    """A contact on symbols, in world axes at the frame's origin; k unknown forces.

    Args:
        S: forbidden motion is Sᵀ V, (6, k).
        S_dot_V: Ṡᵀ V, (k,).
        N: wrench N λ, (6, k).
        error: how far it slipped from where it was made, (k,).
        cone: G with G λ ≤ 0, (c, k).
        other: the body on the other side, if that is no part of the world; S_dot_V then has its part too.
    """

    S: SX
    S_dot_V: SX
    N: SX
    error: SX
    cone: SX
    other: OtherSide | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class Contact(Item):
    """What all contacts share. A contact of one's own has five members: `size`, `points`, `cone`, `wrench_map` and
    `terms`.

    Args:
        frame: that touches.
        friction: coefficient μ.
        edges: of the pyramid that stands for the friction cone.
        inner: whether the pyramid lies inside the cone, which is safe (the force never leaves the true cone); else its
            sides touch the cone from outside.
        min_force: least normal force, N.
        max_force: largest normal force, N.
        stiffness: with which slip is undone, 1/s²: J a + J̇ v = stiffness · slip − damping · J v.
        damping: 1/s.
    """

    frame: str = field(kw_only=False)
    friction: NumberSetting = 0.7
    edges: int = 4
    inner: bool = True
    min_force: NumberSetting = 0.0
    max_force: NumberSetting = np.inf
    stiffness: NumberSetting = 100.0
    damping: NumberSetting = 20.0
    pivots: ClassVar[bool] = False  # whether the frame may turn on it
    rests: ClassVar[bool] = True  # whether a robot at rest can stand on it
    placed: ClassVar[str | None] = "anchor"

    @property
    def label(self) -> str:
        return self.name or self.frame

    def check(self, robot: Robot) -> None:
        robot.place(self.frame)
        if self.edges < 3:
            raise TaskError(f"{self.label}: a friction pyramid has three edges or more; got {self.edges}")
        for name in ("friction", "min_force", "max_force", "stiffness", "damping"):
            value = getattr(self, name)
            if not callable(value) and np.shape(value) != ():
                raise TaskError(f"{self.label}: {name} must be one number; got {value!r}")

    @property
    def size(self) -> int:
        """How many unknown forces, and forbidden directions."""
        raise NotImplementedError(f"{type(self).__name__} has no size")

    @property
    def points(self) -> Array:
        """Where it touches, in the frame's axes, (n, 3)."""
        raise NotImplementedError(f"{type(self).__name__} has no points")

    @property
    def cone(self) -> Array:
        """G with G λ ≤ 0 for the friction it was given, (c, k)."""
        raise NotImplementedError(f"{type(self).__name__} has no cone")

    @property
    def cone_names(self) -> list[str]:
        """One per row of the cone."""
        return [f"{self.label} friction"] * len(self.cone)

    @property
    def normal_at_row(self) -> int:
        """Which of its unknown forces is the normal force."""
        return 2

    @property
    def normal_force(self) -> Array:
        """Row that picks the normal force out of λ, (k,)."""
        return np.eye(self.size)[self.normal_at_row]

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

    def here(self, robot: Robot, q: Array) -> Array:
        """Pose of the frame at q, 4×4: where the contact is made."""
        return robot.pose(q, self.frame)

    def wrench_map(self, X: Array) -> Array:
        """N with the frame at pose X: the wrench on the frame is N λ, world axes, (6, k)."""
        raise NotImplementedError(f"{type(self).__name__} has no wrench_map()")

    def wrench(self, robot: Robot, q: Array, forces: Array) -> Array:
        """N λ: wrench on the frame, world axes, (6,)."""
        return self.wrench_map(robot.pose(q, self.frame)) @ forces

    def terms(self, scene: Scene, numbers: NamedNumbers) -> ContactTerms:
        """The contact on symbols; `numbers` has every declared number as an attribute, `anchor` (the frame's pose where
        the contact was made, 4×4) among them."""
        raise NotImplementedError(f"{type(self).__name__} has no terms()")

    def parameters(self, context: Context) -> Mapping[str, Parameters]:
        settings = ("friction", "min_force", "max_force", "stiffness", "damping")
        return {
            "anchor": Parameters(("anchor",), {"anchor": (4, 4)}, lambda X: [X]),
            "law": Parameters(settings, dict.fromkeys(settings, ()), self._law, unbounded=True),
        }

    def _law(self, friction: float, least: float, most: float, stiffness: float, damping: float) -> tuple[float, ...]:
        if not (isfinite(friction) and friction >= 0):
            raise TaskError(f"{self.label}: friction must be finite and not negative; got {friction!r}")
        if not (0 <= least <= most and isfinite(least)):
            raise TaskError(f"{self.label}: wanted 0 ≤ min_force ≤ max_force; got {least!r} and {most!r}")
        if not (isfinite(stiffness) and isfinite(damping) and stiffness >= 0 and damping >= 0):
            raise TaskError(f"{self.label}: stiffness and damping must be finite and not negative")
        return friction, least, most, stiffness, damping

    @property
    def force_bounds(self) -> tuple[float, float]:
        """Least and largest normal force that it was made with, N."""
        return float(at_first(self.min_force)), float(at_first(self.max_force))

    @property
    def friction_edges(self) -> Array:
        """Edges of the friction pyramid, unit normal force, contact axes, (edges, 3)."""
        return self.pyramid(at_first(self.friction))

    def pyramid(self, friction: float) -> Array:
        """Edges of the pyramid of a coefficient of friction, unit normal force, (edges, 3)."""
        angles = 2 * np.pi * (np.arange(self.edges) + 0.5) / self.edges
        reach = friction if self.inner else friction / np.cos(np.pi / self.edges)
        return np.stack([reach * np.cos(angles), reach * np.sin(angles), np.ones(self.edges)], axis=1)


def axes_from_normal(label: str, normal: ArrayLike) -> Array:
    """Rotation whose z is the normal; the identity for (0, 0, 1)."""
    n = np.asarray(normal, dtype=float)
    if n.shape != (3,) or not np.isfinite(n).all() or np.linalg.norm(n) < 1e-9:
        raise TaskError(f"{label}: a normal is three numbers, not all zero; got {normal!r}")
    z = n / np.linalg.norm(n)
    aside = np.array([1.0, 0.0, 0.0]) if abs(z[0]) < 0.9 else np.array([0.0, 1.0, 0.0])
    x = aside - z * (z @ aside)
    x /= np.linalg.norm(x)
    return np.stack([x, np.cross(z, x), z], axis=1)
