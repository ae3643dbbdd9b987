"""Shapes a link can have, and the inertia of each as a solid of even density."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

import numpy as np

from ..algebra import rigid
from ..errors import ModelError
from .types import Array, Inertia, Shape

Vector = Sequence[float] | Array
Color = tuple[float, float, float, float]
T = TypeVar("T")
ORIGIN = (0.0, 0.0, 0.0)


def is_positive(value: object) -> bool:
    """Whether this is a finite number above zero."""
    return isinstance(value, int | float | np.number) and not isinstance(value, bool) and bool(0 < value < np.inf)


def vector(what: str, values: Vector) -> Array:
    """Three finite numbers as an array, or an error that names what they are."""
    try:
        array = np.array(values, dtype=float)
    except (TypeError, ValueError):
        array = np.empty(0)
    if array.shape != (3,) or not np.isfinite(array).all():
        raise ModelError(f"{what} is three finite numbers, got {values!r}")
    return array


def placement(what: str, position: Vector, rpy: Vector) -> Array:
    """The 4×4 pose of a position and fixed-axis roll, pitch, yaw."""
    roll, pitch, yaw = vector(f"rpy of {what}", rpy)
    R = rigid.tidy(rigid.rotation_from_rpy(float(roll), float(pitch), float(yaw)))
    return rigid.pose(R, vector(f"position of {what}", position))


def box(
    x: float, y: float, z: float, position: Vector = ORIGIN, rpy: Vector = ORIGIN, *, color: Color | None = None
) -> Shape:
    """A box with edges of length x, y, z (m), about its centre."""
    return Shape("box", _lengths("box", x=x, y=y, z=z), placement("box", position, rpy), color=color)


def sphere(radius: float, position: Vector = ORIGIN, *, color: Color | None = None) -> Shape:
    """A ball about its centre."""
    return Shape("sphere", _lengths("sphere", radius=radius), placement("sphere", position, ORIGIN), color=color)


def cylinder(
    radius: float, length: float, position: Vector = ORIGIN, rpy: Vector = ORIGIN, *, color: Color | None = None
) -> Shape:
    """A cylinder along its own z, about its centre."""
    size = _lengths("cylinder", radius=radius, length=length)
    return Shape("cylinder", size, placement("cylinder", position, rpy), color=color)


def capsule(
    radius: float, length: float, position: Vector = ORIGIN, rpy: Vector = ORIGIN, *, color: Color | None = None
) -> Shape:
    """A cylinder of that length along its own z with half a ball at each end, about its centre."""
    size = _lengths("capsule", radius=radius, length=length)
    return Shape("capsule", size, placement("capsule", position, rpy), color=color)


def cylinder_between(a: Vector, b: Vector, radius: float, *, color: Color | None = None) -> Shape:
    """The cylinder whose end faces are centred at points a and b."""
    length, X = _between("cylinder", a, b)
    return Shape("cylinder", _lengths("cylinder", radius=radius, length=length), X, color=color)


def capsule_between(a: Vector, b: Vector, radius: float, *, color: Color | None = None) -> Shape:
    """All points within `radius` of the segment from a to b."""
    length, X = _between("capsule", a, b)
    return Shape("capsule", _lengths("capsule", radius=radius, length=length), X, color=color)


def volume(shape: Shape) -> float:
    """Volume in m³ of a box, sphere, cylinder or capsule."""
    return float(_of_kind(_VOLUME, shape)(*shape.size))


def solid_inertia(shape: Shape, mass: float) -> Inertia:
    """Mass properties, in the axes of the link, of a shape filled evenly with `mass` kg."""
    (mass,) = _lengths("solid", mass=mass)
    R = shape.X[:3, :3]
    principal = mass * np.array(_of_kind(_SQUARED_RADII, shape)(*shape.size))
    return Inertia(mass, shape.X[:3, 3], R @ np.diag(principal) @ R.T)


def solids_inertia(shapes: Sequence[Shape], mass: float) -> Inertia:
    """The same for several shapes, the mass shared by volume; where shapes overlap both count."""
    total = sum(volume(shape) for shape in shapes)
    parts = [solid_inertia(shape, mass * volume(shape) / total) for shape in shapes]
    return combined(parts)


def combined(parts: Sequence[Inertia], less: Sequence[Inertia] = ()) -> Inertia:
    """Mass properties of all `parts` as one body, with those of `less` taken out."""
    signed = [(1.0, part) for part in parts] + [(-1.0, part) for part in less]
    mass = sum(sign * part.mass for sign, part in signed)
    com = np.sum([sign * part.mass * part.com for sign, part in signed], axis=0) / mass
    to_com = rigid.pose(p=-com)
    return Inertia(mass, com, np.sum([sign * part.about(to_com)[2] for sign, part in signed], axis=0))


def _lengths(what: str, **values: float) -> tuple[float, ...]:
    for name, value in values.items():
        if not is_positive(value):
            raise ModelError(f"{name} of a {what} is a positive number, got {value!r}")
    return tuple(float(value) for value in values.values())


def _between(what: str, a: Vector, b: Vector) -> tuple[float, Array]:
    start, end = vector(f"start of a {what}", a), vector(f"end of a {what}", b)
    length = float(np.linalg.norm(end - start))
    if length == 0.0:
        raise ModelError(f"a {what} needs two different ends, both are {a!r}; for a ball use sphere()")
    return length, rigid.pose(rigid.tidy(rigid.rotation_to((end - start) / length)), (start + end) / 2)


def _capsule_squared_radii(r: float, length: float) -> tuple[float, float, float]:
    """Cylinder and two half balls, each with its share of the volume; a half ball's centre is 3r/8 beyond the
    cylinder."""
    tube, balls = length, 4 * r / 3  # volumes over π r²
    about_z = (tube * r**2 / 2 + balls * 2 * r**2 / 5) / (tube + balls)
    ends = 2 * r**2 / 5 + length**2 / 4 + 3 * length * r / 8
    about_x = (tube * (length**2 / 12 + r**2 / 4) + balls * ends) / (tube + balls)
    return about_x, about_x, about_z


_VOLUME: dict[str, Callable[..., float]] = {
    "box": lambda x, y, z: x * y * z,
    "sphere": lambda r: 4 / 3 * np.pi * r**3,
    "cylinder": lambda r, length: np.pi * r**2 * length,
    "capsule": lambda r, length: np.pi * r**2 * (length + 4 / 3 * r),
}
# squares of the radii of gyration about the shape's own axes through its centre
_SQUARED_RADII: dict[str, Callable[..., tuple[float, float, float]]] = {
    "box": lambda x, y, z: ((y**2 + z**2) / 12, (x**2 + z**2) / 12, (x**2 + y**2) / 12),
    "sphere": lambda r: (2 * r**2 / 5,) * 3,
    "cylinder": lambda r, length: (length**2 / 12 + r**2 / 4, length**2 / 12 + r**2 / 4, r**2 / 2),
    "capsule": _capsule_squared_radii,
}


def _of_kind(formulas: Mapping[str, Callable[..., T]], shape: Shape) -> Callable[..., T]:
    if shape.kind not in formulas:
        raise ModelError(
            f"the solid inertia of a {shape.kind} is not known; give the link's inertia, or a shape of these kinds: "
            f"{', '.join(formulas)}"
        )
    return formulas[shape.kind]
