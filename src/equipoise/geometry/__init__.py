"""Primitives, distances with their derivatives, capsules of a robot, and sets of pairs that may collide."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # what editors and type checkers see
    from .capsules import collision_capsules as collision_capsules
    from .capsules import smallest_capsule as smallest_capsule
    from .collisions import SortedPairs as SortedPairs
    from .collisions import self_collision_pairs as self_collision_pairs
    from .collisions import sorted_pairs as sorted_pairs
    from .distances import Distance as Distance
    from .distances import DistanceKernel as DistanceKernel
    from .distances import DistanceValues as DistanceValues
    from .distances import angle as angle
    from .distances import distance as distance
    from .distances import distances_kernel as distances_kernel
    from .line_point import LinePointSwitch as LinePointSwitch
    from .line_point import line_point_switch as line_point_switch
    from .pairs import NearPairs as NearPairs
    from .pairs import PairMotion as PairMotion
    from .pairs import PairSet as PairSet
    from .primitives import Capsule as Capsule
    from .primitives import GeometryError as GeometryError
    from .primitives import Line as Line
    from .primitives import Plane as Plane
    from .primitives import Point as Point
    from .primitives import Primitive as Primitive
    from .primitives import Segment as Segment
    from .primitives import Sphere as Sphere
    from .primitives import at_time as at_time
    from .regions import target_region as target_region

# Where each name lives; imported when first used, so that primitives do not load a compiler.
_HOMES = {
    "Primitive": "primitives",
    "Point": "primitives",
    "Line": "primitives",
    "Segment": "primitives",
    "Plane": "primitives",
    "Sphere": "primitives",
    "Capsule": "primitives",
    "GeometryError": "primitives",
    "at_time": "primitives",
    "Distance": "distances",
    "DistanceKernel": "distances",
    "DistanceValues": "distances",
    "angle": "distances",
    "distance": "distances",
    "distances_kernel": "distances",
    "collision_capsules": "capsules",
    "smallest_capsule": "capsules",
    "NearPairs": "pairs",
    "PairMotion": "pairs",
    "PairSet": "pairs",
    "SortedPairs": "collisions",
    "self_collision_pairs": "collisions",
    "sorted_pairs": "collisions",
    "LinePointSwitch": "line_point",
    "line_point_switch": "line_point",
    "target_region": "regions",
}

__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'equipoise.geometry' has no attribute {name!r}; it offers {', '.join(__all__)}")
    value = getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
