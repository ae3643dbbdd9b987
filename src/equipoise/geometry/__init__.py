"""Primitives, distances with their derivatives, capsules of a robot, and sets of pairs that may collide."""

from __future__ import annotations

import importlib
from typing import Any

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
