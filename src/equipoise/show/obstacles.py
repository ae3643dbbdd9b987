"""Obstacles as surfaces: primitives and boxes, with the safe distance around them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..algebra import rigid
from ..errors import ShapeError
from ..geometry.primitives import Primitive
from ..model.types import Array
from ..robot import Robot
from ..simulate.world import Box, placed, reference
from .triangles import Surface, frame_pose, surfaces_of

WOOD, ORANGE = (201, 186, 165), (217, 119, 52)
FAR = 3.0  # m, half of what is drawn of a plane or a line without end


@dataclass(frozen=True, eq=False)
class Obstacle:
    """A primitive or box, and how near the robot may come to it."""

    primitive: Primitive | Box
    safe_distance: float = 0.0  # m

    @classmethod
    def of(cls, thing: Any) -> Obstacle:
        """From a primitive or box, a pair (primitive, safe distance), or anything with these two attributes."""
        if isinstance(thing, Obstacle):
            return thing
        if isinstance(thing, Primitive | Box):
            return cls(thing)
        if isinstance(thing, tuple | list) and len(thing) == 2 and isinstance(thing[0], Primitive | Box):
            return cls(thing[0], float(thing[1]))
        primitive = getattr(thing, "primitive", None)
        if isinstance(primitive, Primitive | Box):
            return cls(primitive, float(getattr(thing, "safe_distance", 0.0) or 0.0))
        raise ShapeError(
            f"an obstacle is a primitive such as eq.Sphere, or a pair (primitive, safe distance); got {thing!r}"
        )

    @classmethod
    def all_of(cls, run: Any) -> list[Obstacle]:
        """Those of a run, with their safe distances."""
        distances = tuple(run.safe_distances) + (0.0,) * (len(run.obstacles) - len(run.safe_distances))
        return [cls(thing, float(distance)) for thing, distance in zip(run.obstacles, distances, strict=True)]

    def surfaces(self) -> list[Surface]:
        """Its body, and around it the safe distance, half transparent; about its reference point."""
        solid = [Surface(s.vertices, s.faces, WOOD) for s in _body(self.primitive, 0.0)]
        halo = [Surface(s.vertices, s.faces, ORANGE, 0.2) for s in _body(self.primitive, self.safe_distance)]
        return solid + (halo if self.safe_distance > 0 else [])

    def pose(self, t: float, poses: Mapping[str | None, Array], robot: Robot) -> Array:
        """Where its reference point and axes are at time t: with its frame, or moving in the world from where it was at
        0."""
        primitive, X = self.primitive, np.eye(4)
        X[:3, 3] = reference(primitive)
        if primitive.frame is not None:
            return frame_pose(robot.frames[primitive.frame], dict(poses)) @ X
        R, p, _ = placed(primitive, t)
        X[:3, :3], X[:3, 3] = R, X[:3, 3] + p
        return X


def _body(primitive: Primitive | Box, more: float) -> list[Surface]:
    """Surfaces of a primitive about its first point, thickened by `more`."""
    from ..model import shapes

    if isinstance(primitive, Box):
        sides = primitive.size + 2 * more
        return [s.at(rigid.pose(primitive.X[:3, :3])) for s in surfaces_of(shapes.box(*sides))]
    thin = 0.006
    radius = (primitive.thickness if primitive.thickness is not None else thin) + more
    if primitive.core == "point":
        return surfaces_of(shapes.sphere(max(radius, thin)))
    if primitive.core == "segment":
        end = primitive.points[1] - primitive.points[0]
        if np.linalg.norm(end) < 1e-9:
            return surfaces_of(shapes.sphere(max(radius, thin)))
        return surfaces_of(shapes.capsule_between((0.0, 0.0, 0.0), end, max(radius, thin)))
    along = primitive.directions[0]
    if primitive.core == "line":
        return surfaces_of(shapes.cylinder_between(-FAR * along, FAR * along, max(radius, thin)))
    sheet = surfaces_of(shapes.box(2 * FAR, 2 * FAR, 2e-3))
    return [s.at(rigid.pose(rigid.rotation_to(along), more * along)) for s in sheet]
