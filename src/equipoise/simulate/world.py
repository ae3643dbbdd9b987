"""What a robot can touch: the ground, walls, tables, stairs, balls; at rest or moving by themselves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..geometry.motion import displacement
from ..geometry.primitives import Capsule, GeometryError, Plane, Primitive, Sphere, Twist, Vector, six_numbers
from ..model.shapes import is_positive, placement
from ..model.types import frozen

Array = np.ndarray
GROUND = Plane((0.0, 0.0, 1.0))
SOLIDS = "Plane (all below it), Sphere, Capsule, Box"


@dataclass(frozen=True, eq=False)
class Box:
    """A box in the world: a table, a wall, a step of stairs.

    Args:
        size: its edges along its own x, y, z, m.
        position: of its centre, m.
        rpy: roll, pitch, yaw about the axes of the world, rad.
        velocity: twist (linear, angular) of its centre in world axes, where it moves; three numbers are the linear
            part.

    Examples:
        >>> import equipoise as eq
        >>> table = eq.Box((0.8, 1.2, 0.04), position=(0.7, 0.0, 0.75))
        >>> standing = eq.Standing(eq.load("quadruped"))
        >>> run = eq.simulate(standing.robot, standing, q0=standing.q0, duration=0.01, obstacles=[table])
        >>> len(run.obstacles)
        1
    """

    size: Vector
    position: Vector = (0.0, 0.0, 0.0)
    rpy: Vector = (0.0, 0.0, 0.0)
    velocity: Twist = None
    frame: None = None  # boxes are in the world

    def __post_init__(self) -> None:
        size = tuple(np.atleast_1d(self.size).tolist())
        if len(size) != 3 or not all(is_positive(edge) for edge in size):
            raise GeometryError(f"Box.size is three positive numbers, the edges in metres; got {self.size!r}")
        X = placement("Box", self.position, self.rpy)
        object.__setattr__(self, "size", frozen(size))
        object.__setattr__(self, "position", frozen(X[:3, 3]))
        object.__setattr__(self, "rpy", frozen(self.rpy))
        if self.velocity is not None:
            twist = np.zeros(6)
            given = np.asarray(self.velocity, dtype=float)
            if given.shape not in ((3,), (6,)) or not np.isfinite(given).all():
                raise GeometryError(f"Box.velocity is three or six finite numbers, got {self.velocity!r}")
            twist[: len(given)] = given
            object.__setattr__(self, "velocity", frozen(twist))

    @property
    def X(self) -> Array:
        """Its pose, 4×4."""
        return placement("Box", self.position, self.rpy)

    @property
    def acceleration(self) -> None:
        """Boxes move evenly."""
        return None

    def __repr__(self) -> str:
        return f"Box(size={self.size.tolist()}, position={self.position.tolist()}, rpy={self.rpy.tolist()})"


Solid = Primitive | Box


def solids(obstacles: Sequence[Any], ground: Any = GROUND) -> tuple[Solid, ...]:
    """The ground and obstacles, each of a kind that can be touched; an error names the first that cannot."""
    every = (
        tuple(obstacles) if ground is None or ground is False else (GROUND if ground is True else ground, *obstacles)
    )
    for solid in every:
        if not isinstance(solid, Plane | Sphere | Capsule | Box):
            raise GeometryError(f"{solid!r} cannot be touched; what can: {SOLIDS}")
        if solid.frame is not None:
            raise GeometryError(
                f"{solid!r} is on frame {solid.frame!r} of the robot; obstacles are in the world (frame=None)"
            )
        if getattr(solid, "radius", 1.0) == 0.0:
            raise GeometryError(f"{solid!r} has no radius and so nothing to touch")
    return every


# --- motion -----------------------------------------------------------------------------------------------------------


def moves(solid: Solid) -> bool:
    """Whether its place depends on time."""
    return any(rates is not None and np.any(rates) for rates in (solid.velocity, solid.acceleration))


def placed(solid: Solid, t: float) -> tuple[Array, Array, Array]:
    """(R, p, twist) that carry a solid from time 0 to t: a point x of it is at R (x − r) + r + p, r its reference
    point."""
    return displacement(six_numbers(solid.velocity), six_numbers(solid.acceleration), t)


def reference(solid: Solid) -> Array:
    """The point that its velocity is of."""
    return solid.position if isinstance(solid, Box) else solid.points[0]


# --- distance of points -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Gaps:
    """Of each point: distance to the nearest solid (negative inside), unit normal away from it, velocity of its
    surface."""

    distance: Array  # (k,)
    normal: Array  # (k, 3)
    velocity: Array  # (k, 3)


def gaps(world: Sequence[Solid], p: Array, t: float) -> Gaps:
    """Gaps of points p, (k, 3), at time t. Each point sees the solid nearest to it, and that one alone."""
    best = Gaps(np.full(len(p), np.inf), np.tile([0.0, 0.0, 1.0], (len(p), 1)), np.zeros((len(p), 3)))
    for solid in world:
        found = _gaps_of(solid, p, t)
        nearer = found.distance < best.distance
        if nearer.all():
            best = found
        elif nearer.any():
            pairs = ((best.normal, found.normal), (best.velocity, found.velocity))
            rows = [np.where(nearer[:, None], new, old) for old, new in pairs]
            best = Gaps(np.where(nearer, found.distance, best.distance), *rows)
    return best


def _gaps_of(solid: Solid, p: Array, t: float) -> Gaps:
    distance = _DISTANCES[type(solid)]
    if not moves(solid):
        return Gaps(*distance(solid, p), np.zeros_like(p))
    R, shift, twist = placed(solid, t)
    r = reference(solid)
    arm = p - r - shift
    d, n = distance(solid, arm @ R + r)
    return Gaps(d, n @ R.T, twist[:3] + np.cross(twist[3:], arm))


def _plane(solid: Plane, p: Array) -> tuple[Array, Array]:
    return p @ solid.normal - solid.offset, np.broadcast_to(solid.normal, p.shape)


def _sphere(solid: Sphere, p: Array) -> tuple[Array, Array]:
    return _around(p - solid.centre, solid.radius)


def _capsule(solid: Capsule, p: Array) -> tuple[Array, Array]:
    axis = solid.b - solid.a
    length = axis @ axis
    along = np.clip((p - solid.a) @ axis / (length if length > 0 else 1.0), 0.0, 1.0)
    return _around(p - solid.a - along[:, None] * axis, solid.radius)


def _around(arm: Array, radius: float) -> tuple[Array, Array]:
    size = np.linalg.norm(arm, axis=1)
    normal = np.where(size[:, None] > 0, arm / np.where(size > 0, size, 1.0)[:, None], [0.0, 0.0, 1.0])
    return size - radius, normal


def _box(solid: Box, p: Array) -> tuple[Array, Array]:
    """Outside, to the nearest point of the box; inside, to the nearest face."""
    X = solid.X
    local = (p - X[:3, 3]) @ X[:3, :3]
    sign = np.where(local >= 0, 1.0, -1.0)
    over = np.abs(local) - solid.size / 2
    outside = np.maximum(over, 0.0)
    far = np.linalg.norm(outside, axis=1)
    face = np.eye(3)[np.argmax(over, axis=1)]
    inside = far == 0.0
    normal = sign * np.where(inside[:, None], face, outside / np.where(inside, 1.0, far)[:, None])
    return np.where(inside, over.max(axis=1), far), normal @ X[:3, :3].T


_DISTANCES: dict[type, Callable[..., tuple[Array, Array]]] = {
    Plane: _plane,
    Sphere: _sphere,
    Capsule: _capsule,
    Box: _box,
}
