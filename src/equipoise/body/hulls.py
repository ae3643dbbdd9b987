"""Whether two convex hulls of points with radii overlap: Gilbert's algorithm, which needs nothing but farthest
points."""

from __future__ import annotations

import numpy as np

Array = np.ndarray
Hull = tuple[Array, Array]  # points (n, 3) and radii (n,)
ROUNDS = 60


def overlap(one: Hull, other: Hull, margin: float = 0.0) -> bool:
    """Whether two hulls come nearer than `margin` (m).

    The nearest point x of the difference of both to the origin is approached from corner to corner. A direction in
    which the difference stays farther than the margin proves that they are apart; without one after all rounds they
    count as overlapping.
    """
    x = one[0].mean(axis=0) - other[0].mean(axis=0)
    for _ in range(ROUNDS):
        length = float(np.linalg.norm(x))
        if length <= margin or length < 1e-9:
            return True
        d = x / length
        a, reach_a = _farthest(one, -d)
        b, reach_b = _farthest(other, d)
        if -reach_a - reach_b > margin:
            return False
        corner = a - b
        step = corner - x
        size = float(step @ step)
        if size < 1e-16:
            return True
        x = x + np.clip(-(x @ step) / size, 0.0, 1.0) * step
    return True


def _farthest(hull: Hull, d: Array) -> tuple[Array, float]:
    """The farthest point along a unit direction, and how far."""
    heights = hull[0] @ d + hull[1]
    k = int(np.argmax(heights))
    return hull[0][k] + hull[1][k] * d, float(heights[k])
