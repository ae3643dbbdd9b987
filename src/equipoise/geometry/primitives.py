"""Points, lines, planes and bodies made of them: fixed to a frame of the robot, or in the world, where they may move.

Each primitive is a core (a point, a line, a segment or a plane) with or without a radius around it. What is written in
a frame is in the axes of that frame; `frame=None` means the world. A primitive of the world may move as a rigid body:
`velocity` is the twist (linear, angular) of its reference point in world axes at t = 0, `acceleration` the time
derivative of those numbers, which stays constant. Three numbers mean the linear part alone. `at(t)` is the same body at
another time.

    primitive   core       reference point             numbers of its parameters
    Point       point      position                    3
    Sphere      point      centre                      3 + radius
    Line        line       point                       3 + unit direction
    Segment     segment    a                           3 + 3
    Capsule     segment    a                           3 + 3 + radius
    Plane       plane      point (offset · normal)     3 + unit normal
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Literal, Self

import numpy as np

from ..algebra import dual_quaternions as dq
from ..errors import EquipoiseError, ShapeError, StateError
from ..model.types import frozen
from .motion import displacement

Array = np.ndarray
Vector = Any  # three numbers
Twist = Any  # six numbers (linear, angular), or three: the linear part
Core = Literal["point", "line", "segment", "plane"]


class GeometryError(EquipoiseError, ValueError):
    """A primitive that is none (a direction of no length, a negative radius), or a pair that has no distance."""


class Primitive:
    """What all primitives share; each is points and unit vectors that move as one rigid body."""

    core: ClassVar[Core]
    placed_by: ClassVar[tuple[str, ...]]  # fields of its points, then of its directions
    frame: str | None
    velocity: Array | None
    acceleration: Array | None

    @property
    def points(self) -> tuple[Array, ...]:
        """Those that fix it in space; the first is its reference point."""
        raise NotImplementedError

    @property
    def directions(self) -> tuple[Array, ...]:
        """Unit vectors."""
        return ()

    @property
    def thickness(self) -> float | None:
        """Radius around the core, None where there is none."""
        return None

    @property
    def parameters(self) -> Array:
        """The numbers that place it: points, unit vectors, radius."""
        radius = () if self.thickness is None else ([self.thickness],)
        return np.concatenate([*self.points, *self.directions, *radius])

    @property
    def motion(self) -> Array:
        """Its parameters with their first and second time derivatives, (3, n): what kernels want of the world.

        Points move as ṗ + ω × r, unit vectors as ω × n, and a radius stays.
        """
        linear, w = np.split(six_numbers(self.velocity), 2)
        linear_rate, alpha = np.split(six_numbers(self.acceleration), 2)
        arms = [p - self.points[0] for p in self.points] + list(self.directions)
        base = np.array([1.0] * len(self.points) + [0.0] * len(self.directions))[:, None]
        turn = np.cross(w, arms)
        rates = base * linear + turn
        second = base * linear_rate + np.cross(alpha, arms) + np.cross(w, turn)
        still = np.zeros(0 if self.thickness is None else 1)
        return np.stack([self.parameters, np.r_[rates.ravel(), still], np.r_[second.ravel(), still]])

    @property
    def moves(self) -> bool:
        """Whether its place in the world depends on time."""
        return any(x is not None and bool(np.any(x)) for x in (self.velocity, self.acceleration))

    def at(self, t: float) -> Self:
        """The same body t seconds later, with the velocity it has then: its points and unit vectors turn, its size
        stays.

        What is on a frame moves with that frame, and is returned as it is.
        """
        if not self.moves:
            return self
        R, p, twist = displacement(six_numbers(self.velocity), six_numbers(self.acceleration), t)
        r = self.points[0]
        points = [r + p + R @ (x - r) for x in self.points]
        placed = self._placed(points, [R @ u for u in self.directions])
        return replace(self, **placed, velocity=twist)  # type: ignore[type-var]

    def _placed(self, points: list[Array], directions: list[Array]) -> dict[str, Any]:
        """The fields that place it there."""
        return dict(zip(self.placed_by, points + directions, strict=True))

    def _check(self) -> None:
        """Numbers of the right shape, read-only; motion only in the world."""
        if self.frame is not None and not isinstance(self.frame, str):
            raise ShapeError(
                f"{self._name}: frame must be the name of a frame, or None for the world; got {self.frame!r}"
            )
        for name in ("velocity", "acceleration"):
            given = getattr(self, name)
            if given is None:
                continue
            if self.frame is not None:
                raise GeometryError(
                    f"{self._name} on frame {self.frame!r} moves with that frame: give no {name}. "
                    "What moves by itself is in the world (frame=None)."
                )
            self._set(name, _numbers(f"{self._name}.{name}", given, 3, 6))

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    def _set_vectors(self, *names: str) -> None:
        for name in names:
            self._set(name, _numbers(f"{self._name}.{name}", getattr(self, name), 3))

    def _set_unit(self, name: str) -> None:
        vector = _numbers(f"{self._name}.{name}", getattr(self, name), 3)
        largest = np.abs(vector).max()
        if largest < SHORTEST:
            raise GeometryError(f"{self._name}.{name} is {vector.tolist()}: a vector of no length points nowhere")
        scaled = vector / largest  # the square of 1e200 is no number
        self._set(name, frozen(scaled / np.linalg.norm(scaled)))

    def _set_radius(self, radius: Any) -> None:
        number = np.asarray(radius)
        if number.shape != () or number.dtype.kind not in "fiu":
            raise ShapeError(f"{self._name}.radius must be one number, in metres; got {radius!r}")
        if not np.isfinite(number) or number < 0:
            raise GeometryError(f"{self._name}.radius must be finite and not negative, in metres; got {radius!r}")
        self._set("radius", float(number))

    @property
    def _name(self) -> str:
        return type(self).__name__

    def __repr__(self) -> str:
        given = ((f.name, getattr(self, f.name)) for f in fields(self) if f.repr)  # type: ignore[arg-type]
        shown = (f"{name}={x.tolist() if isinstance(x, np.ndarray) else x!r}" for name, x in given if x is not None)
        return f"{self._name}({', '.join(shown)})"


SHORTEST = 1e-12  # below, a direction is noise


@dataclass(frozen=True, eq=False, repr=False)
class Point(Primitive):
    """A point p, in dual quaternions 1 + ½ ε p [QO21, Sec. 3.2].

    Args:
        position: m.
        frame: of the robot; None for the world.
        velocity: of a point of the world, m/s.
        acceleration: m/s².

    Examples:
        >>> import numpy as np
        >>> import equipoise as eq
        >>> arm, q = eq.load("arm6"), np.full(6, 0.4)
        >>> squared = eq.distance(eq.Point((0, 0, 0), "tool"), eq.Point((1, 0, 0))).on(arm)
        >>> bool(np.isclose(squared(q, np.zeros(6)).value, ((arm.pose(q, "tool")[:3, 3] - [1, 0, 0]) ** 2).sum()))
        True
    """

    position: Vector
    frame: str | None = None
    velocity: Twist | None = None
    acceleration: Twist | None = None
    core: ClassVar[Core] = "point"
    placed_by: ClassVar[tuple[str, ...]] = ("position",)

    def __post_init__(self) -> None:
        self._set_vectors("position")
        self._check()

    @property
    def points(self) -> tuple[Array, ...]:
        return (self.position,)

    @property
    def dual_quaternion(self) -> dq.DQ:
        """The translation 1 + ε p / 2 from the origin to the point."""
        return dq.translation(self.position)


@dataclass(frozen=True, eq=False, repr=False)
class Line(Primitive):
    """The Plücker line l + ε m with m = p × l [QO21, Sec. 3.2]: infinite, and with a sense, which only angles heed.

    Args:
        point: any point of it, m. Which one matters only where an angular velocity is given.
        direction: of any length but zero.

    Examples:
        >>> import numpy as np
        >>> import equipoise as eq
        >>> arm, q = eq.load("arm6"), np.full(6, 0.4)
        >>> squared = eq.distance(eq.Point((0, 0, 0), "tool"), eq.Line((0, 0, 0), (0, 0, 1))).on(arm)
        >>> bool(np.isclose(squared(q, np.zeros(6)).value, (arm.pose(q, "tool")[:2, 3] ** 2).sum()))
        True
    """

    point: Vector
    direction: Vector
    frame: str | None = None
    velocity: Twist | None = None
    acceleration: Twist | None = None
    core: ClassVar[Core] = "line"
    placed_by: ClassVar[tuple[str, ...]] = ("point", "direction")

    def __post_init__(self) -> None:
        self._set_vectors("point")
        self._set_unit("direction")
        self._check()

    @property
    def points(self) -> tuple[Array, ...]:
        return (self.point,)

    @property
    def directions(self) -> tuple[Array, ...]:
        return (self.direction,)

    @property
    def moment(self) -> Array:
        """m = p × l, whatever point of the line p is."""
        return np.cross(self.point, self.direction)

    @property
    def dual_quaternion(self) -> dq.DQ:
        """l + ε m."""
        return dq.pure(np.concatenate([self.direction, self.moment]))


@dataclass(frozen=True, eq=False, repr=False)
class Segment(Primitive):
    """The straight line from a to b, ends included; a = b is a point.

    Examples:
        >>> import numpy as np
        >>> import equipoise as eq
        >>> arm, q = eq.load("arm6"), np.full(6, 0.4)
        >>> near = eq.distance(eq.Segment((0, 0, 0), (0, 0, 0.1), "tool"), eq.Plane((0, 0, 1), -1.0)).on(arm)
        >>> bool(near(q, np.zeros(6)).value > 1.0)
        True
    """

    a: Vector
    b: Vector
    frame: str | None = None
    velocity: Twist | None = None
    acceleration: Twist | None = None
    core: ClassVar[Core] = "segment"
    placed_by: ClassVar[tuple[str, ...]] = ("a", "b")

    def __post_init__(self) -> None:
        self._set_vectors("a", "b")
        self._check()

    @property
    def points(self) -> tuple[Array, ...]:
        return self.a, self.b


@dataclass(frozen=True, eq=False, repr=False)
class Plane(Primitive):
    """The plane n + ε d of all points with ⟨p, n⟩ = d [QO21, Sec. 3.2]; n points to the side of positive distances.

    Args:
        normal: n, of any length but zero.
        offset: d, distance of the plane from the origin along the unit normal, m.
        velocity: twist at `point`; only what moves the plane matters.
        point: of the plane, m: the one that `velocity` is of, such as a hinge; d n if not given.

    Examples:
        >>> import numpy as np
        >>> import equipoise as eq
        >>> arm, q = eq.load("arm6"), np.full(6, 0.4)
        >>> height = eq.distance(eq.Point((0, 0, 0), "tool"), eq.Plane((0, 0, 1), 0.2)).on(arm)
        >>> bool(np.isclose(height(q, np.zeros(6)).value, arm.pose(q, "tool")[2, 3] - 0.2))
        True
    """

    normal: Vector
    offset: float = 0.0
    frame: str | None = None
    velocity: Twist | None = None
    acceleration: Twist | None = None
    point: Vector | None = None
    core: ClassVar[Core] = "plane"
    placed_by: ClassVar[tuple[str, ...]] = ("point", "normal")

    def __post_init__(self) -> None:
        self._set_unit("normal")
        offset = np.asarray(self.offset)
        if offset.shape != () or offset.dtype.kind not in "fiu":
            raise ShapeError(f"Plane.offset must be one number, in metres; got {self.offset!r}")
        if not np.isfinite(offset):
            raise StateError(f"Plane.offset is {self.offset!r}; every number must be finite")
        self._set("offset", float(offset))
        self._check()
        if self.point is None:
            return
        self._set_vectors("point")
        height = float(self.normal @ self.point - self.offset)
        if abs(height) > 1e-9 * (1 + np.abs(self.point).max()):
            raise GeometryError(
                f"Plane.point must be a point of the plane; {self.point.tolist()} is {height:.3g} m above it"
            )

    @property
    def points(self) -> tuple[Array, ...]:
        return (self.offset * self.normal if self.point is None else self.point,)

    @property
    def directions(self) -> tuple[Array, ...]:
        return (self.normal,)

    @property
    def dual_quaternion(self) -> dq.DQ:
        """n + ε d: normal and distance from the origin."""
        return dq.pure(self.normal) + self.offset * dq.E

    def _placed(self, points: list[Array], directions: list[Array]) -> dict[str, Any]:
        return {**super()._placed(points, directions), "offset": float(directions[0] @ points[0])}


@dataclass(frozen=True, eq=False, repr=False)
class Sphere(Primitive):
    """All points within `radius` (m) of the centre: a point with a safe distance in [QO21, Sec. 3.2].

    Examples:
        >>> import numpy as np
        >>> import equipoise as eq
        >>> arm, q = eq.load("arm6"), np.full(6, 0.4)
        >>> gap = eq.distance(eq.Sphere((0, 0, 0), 0.05, "tool"), eq.Sphere((1, 0, 0), 0.1)).on(arm)
        >>> apart = np.linalg.norm(arm.pose(q, "tool")[:3, 3] - [1, 0, 0])
        >>> bool(np.isclose(gap(q, np.zeros(6)).value, apart - 0.15))
        True
    """

    centre: Vector
    radius: float
    frame: str | None = None
    velocity: Twist | None = None
    acceleration: Twist | None = None
    core: ClassVar[Core] = "point"
    placed_by: ClassVar[tuple[str, ...]] = ("centre",)

    def __post_init__(self) -> None:
        self._set_vectors("centre")
        self._set_radius(self.radius)
        self._check()

    @property
    def points(self) -> tuple[Array, ...]:
        return (self.centre,)

    @property
    def thickness(self) -> float | None:
        return self.radius


@dataclass(frozen=True, eq=False, repr=False)
class Capsule(Primitive):
    """All points within `radius` (m) of the segment from a to b.

    Examples:
        >>> import numpy as np
        >>> import equipoise as eq
        >>> arm, q = eq.load("arm6"), np.full(6, 0.4)
        >>> forearm = eq.Capsule((0, 0, 0), (0, 0, 0.1), 0.04, "tool")
        >>> gap = eq.distance(forearm, eq.Sphere((1, 0, 0), 0.1)).on(arm)(q, np.zeros(6))
        >>> bool(gap.value > 0), gap.J.shape
        (True, (6,))
    """

    a: Vector
    b: Vector
    radius: float
    frame: str | None = None
    velocity: Twist | None = None
    acceleration: Twist | None = None
    core: ClassVar[Core] = "segment"
    placed_by: ClassVar[tuple[str, ...]] = ("a", "b")

    def __post_init__(self) -> None:
        self._set_vectors("a", "b")
        self._set_radius(self.radius)
        self._check()

    @property
    def points(self) -> tuple[Array, ...]:
        return self.a, self.b

    @property
    def thickness(self) -> float | None:
        return self.radius


def _numbers(name: str, values: Any, *sizes: int) -> Array:
    """A read-only array of finite numbers."""
    try:
        array = np.array(values, dtype=float)
    except (TypeError, ValueError):
        raise ShapeError(f"{name} is not an array of real numbers: {values!r}") from None
    if array.ndim != 1 or len(array) not in sizes:
        raise ShapeError(f"{name}: wanted shape {' or '.join(f'({size},)' for size in sizes)}, got {array.shape}")
    if not np.isfinite(array).all():
        raise StateError(f"{name} is {array.tolist()}; every number must be finite")
    return frozen(array)


def six_numbers(twist: Array | None) -> Array:
    """A twist in full, (6,): None is no motion, three numbers are the linear part."""
    if twist is None:
        return np.zeros(6)
    return twist if len(twist) == 6 else np.concatenate([twist, np.zeros(3)])


def at_time(primitive: Primitive | Callable[[float], Primitive], t: float) -> Primitive:
    """A primitive at time t (s), or what a function of time gives."""
    return primitive(t) if callable(primitive) else primitive.at(t)
