"""Regions of the world with planes around them [QO21, Eqs. (4.39), (4.40)]."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ShapeError
from .primitives import GeometryError, Plane


def target_region(corners: ArrayLike, up: ArrayLike = (0.0, 0.0, 1.0), frame: str | None = None) -> tuple[Plane, ...]:
    """Planes along `up` through the edges of a convex polygon, normals inwards: the walls around a target [QO21, Fig.
    4.8].

    A point is between them where its distance from each is positive; keep a `Point` of the hand there and it cannot
    reach a table from below.

    Args:
        corners: (n, 3) m, in order, either way round.
        up: direction of the walls.
        frame: of the robot, or None for the world.
    """
    corners = np.asarray(corners, dtype=float)
    if corners.ndim != 2 or corners.shape[1] != 3 or len(corners) < 3 or not np.isfinite(corners).all():
        raise ShapeError(f"target_region: wanted at least three corners, shape (n, 3), finite; got {corners!r}")
    along = np.asarray(up, dtype=float) / np.linalg.norm(np.asarray(up, dtype=float))
    edges = np.roll(corners, -1, axis=0) - corners
    normals = np.cross(along, edges)
    if (turns := np.cross(edges, np.roll(edges, -1, axis=0)) @ along).sum() < 0:
        normals, turns = -normals, -turns
    if (turns <= 0).any():
        raise GeometryError(
            "target_region: the corners, in their order, are those of a convex polygon seen along `up`; these are not"
        )
    return tuple(
        Plane(n, float(n @ c) / float(np.linalg.norm(n)), frame) for n, c in zip(normals, corners, strict=True)
    )
