"""Numbers that no robot has: NaN, infinity, negative masses, sizes beyond all measure."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from ..errors import ModelError
from .types import Joint, Link, Model, Shape

LARGEST = 1e9  # m, kg, kg m²: beyond it sums of squares lose what a robot is made of


def require_sound_numbers(model: Model) -> None:
    """Every number of a model is finite and of a size that can be computed with.

    Raises:
        ModelError: one is not, an inertia is not symmetric, a mass, a size or a damping is negative, or a lower limit
            is above the upper one.
    """
    for link in model.links.values():
        _require_inertia(link)
        for shape in (*link.visuals, *link.collisions):
            _require_shape(link.name, shape)
    for joint in model.joints.values():
        _require_joint(joint)
    for frame in model.frames.values():
        if not _are_places(frame.X):
            raise ModelError(f"frame {frame.name!r}: its placement must be finite numbers, {_sizes()}")
    for name, position in model.standing.items():
        if not np.isfinite(position).all():
            raise ModelError(f"the standing posture of joint {name!r} must be finite numbers, got {position}")


def _require_inertia(link: Link) -> None:
    if link.inertia is None:
        return
    mass, com, I = link.inertia.mass, link.inertia.com, link.inertia.matrix
    if not (_are_places((mass,)) and _are_places(com) and _are_places(I)):
        raise ModelError(f"link {link.name!r}: mass, centre of mass and inertia must be finite numbers, {_sizes()}")
    if mass < 0:
        raise ModelError(f"link {link.name!r} has the negative mass {mass:g} kg")
    if np.abs(I - I.T).max() > 1e-9 * np.abs(I).max():
        raise ModelError(f"link {link.name!r}: the inertia matrix is not symmetric: {I.tolist()}")


def _require_shape(link: str, shape: Shape) -> None:
    if not (_are_places(shape.size) and _are_places(shape.X)):
        raise ModelError(f"link {link!r}: size and placement of a {shape.kind} must be finite numbers, {_sizes()}")
    if shape.kind != "mesh" and min(shape.size, default=0.0) < 0:  # the scale of a mesh may mirror it
        raise ModelError(f"link {link!r}: the size of a {shape.kind} is not negative, got {shape.size}")


def _require_joint(joint: Joint) -> None:
    limits = joint.limits
    if (
        any(map(math.isnan, (limits.lower, limits.upper, limits.velocity, limits.effort)))
        or limits.lower > limits.upper
    ):
        raise ModelError(
            f"joint {joint.name!r}: limits must be numbers with lower ≤ upper, "
            f"got lower {limits.lower:g}, upper {limits.upper:g}, velocity {limits.velocity:g}, effort "
            f"{limits.effort:g}"
        )
    if not (_are_places(joint.origin) and _are_places(joint.tail)):
        raise ModelError(f"joint {joint.name!r}: its placement must be finite numbers, {_sizes()}")
    mimic = joint.mimic
    if mimic is not None and not _are_places((mimic.multiplier, mimic.offset)):
        raise ModelError(
            f"joint {joint.name!r}: multiplier and offset of a follower must be finite numbers, {_sizes()}"
        )
    for what in ("damping", "friction", "armature", "stiffness", "rest"):
        value = getattr(joint.dynamics, what)
        if not math.isfinite(value) or (what in ("damping", "friction", "armature") and value < 0):
            zero = "" if what in ("stiffness", "rest") else ", zero or more"
            raise ModelError(f"joint {joint.name!r}: {what} must be a finite number{zero}, got {value:g}")


def _are_places(values: Iterable[float]) -> bool:
    """Whether all are finite and not too large; so written that NaN is refused too."""
    if isinstance(values, np.ndarray):
        return bool(values.min() >= -LARGEST and values.max() <= LARGEST)
    return all(-LARGEST <= x <= LARGEST for x in values)


def _sizes() -> str:
    return f"none beyond {LARGEST:g} in SI units"
