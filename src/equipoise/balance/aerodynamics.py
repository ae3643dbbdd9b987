"""Force elements: drag and lift of a link that moves through air or water [ETH19, slide 17].

    drag = −½ ρ A c_D |u| u,    lift = ½ ρ A c_L |u|² n

u is the velocity of the element's point through the fluid, n the part of its `up` axis across u, of unit length. The
slide prints ½ ρ c_v A c_L: c_v stands for the square of the speed. Drag only takes power; lift takes none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..algebra.arrays import times
from ..errors import ShapeError
from .contacts import point_jacobian

if TYPE_CHECKING:
    from ..robot import Robot

Array = np.ndarray
AIR = 1.2  # kg/m³


@dataclass(frozen=True)
class Aerodynamic:
    """Drag and lift at a point of a link.

    Args:
        frame: the link, or any frame of it.
        area: A, m².
        drag, lift: coefficients c_D and c_L.
        point: where the force acts, m, in axes of the frame.
        up: direction of lift, in axes of the frame; what of it lies along the motion does not count.
        density: ρ, kg/m³.
        wind: velocity of the fluid in the world, m/s.
    """

    frame: str
    area: float
    drag: float = 0.0
    lift: float = 0.0
    point: Sequence[float] = (0.0, 0.0, 0.0)
    up: Sequence[float] = (0.0, 0.0, 1.0)
    density: float = AIR
    wind: Sequence[float] = (0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        if not (self.area >= 0 and self.density >= 0 and self.drag >= 0 and np.isfinite(self.lift)):
            raise ShapeError(
                "area, density and drag of an aerodynamic force are zero or more and lift is finite; got "
                f"{self.area!r}, "
                f"{self.density!r}, {self.drag!r}, {self.lift!r}"
            )
        for name in ("point", "up", "wind"):
            if np.shape(getattr(self, name)) != (3,) or not np.isfinite(getattr(self, name)).all():
                raise ShapeError(f"{name} of an aerodynamic force is three finite numbers, got {getattr(self, name)!r}")

    def force(self, robot: Robot, q: Array, v: Array) -> Array:
        """Force at the point, world axes, N, (…, 3)."""
        u = times(point_jacobian(robot, q, self.frame, self.point), v) - np.asarray(self.wind, dtype=float)
        up = times(robot.pose(q, self.frame)[..., :3, :3], np.asarray(self.up, dtype=float))
        speed = np.linalg.norm(u, axis=-1, keepdims=True)
        along = u / np.where(speed > 0, speed, 1.0)
        across = up - along * np.sum(along * up, axis=-1, keepdims=True)
        size = np.linalg.norm(across, axis=-1, keepdims=True)
        n = across / np.where(size > 0, size, 1.0)
        return 0.5 * self.density * self.area * (-self.drag * speed * u + self.lift * speed**2 * n)

    def generalised_force(self, robot: Robot, q: Array, v: Array) -> Array:
        """Jᵀ F, (…, nv): to be added to tau."""
        J = point_jacobian(robot, q, self.frame, self.point)
        return times(np.swapaxes(J, -1, -2), self.force(robot, q, v))

    def wrench(self, robot: Robot, q: Array, v: Array) -> Array:
        """(force, torque) at the frame's origin, world axes, (…, 6): what plants take as a push on `frame`."""
        F = self.force(robot, q, v)
        arm = times(robot.pose(q, self.frame)[..., :3, :3], np.asarray(self.point, dtype=float))
        return np.concatenate([F, np.cross(arm, F)], axis=-1)
