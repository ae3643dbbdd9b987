"""What a hand that leans on a surface does to the support: its edges move with the hand, and so does its area."""

from __future__ import annotations

import numpy as np

from ...balance.support import SupportPolygon, area_gradient

Array = np.ndarray


def edge_rows(polygon: SupportPolygon, com: Array, k: int, first: int | None) -> Array:
    """Rows of the support for `CoMAbove`: each edge with the shares of the hand's points in its motion, (n, 3 + k).

    Beside the part s of an edge from a to b, where the centre of mass is, the edge moves with (1 − s) ȧ + s ḃ.

    Args:
        com: centre of mass, m.
        k: points of the hand.
        first: index of the first of them among the points of the polygon; None where the hand does not touch.
    """
    outward, offsets = polygon.rows
    rows = np.zeros((len(offsets), 3 + k))
    rows[:, :2], rows[:, 2] = -outward, -offsets
    n = len(polygon.vertices)
    if first is None or n < 3:
        return rows
    for i in range(n):
        a, b = polygon.vertices[i], polygon.vertices[(i + 1) % n]
        s = float(np.clip((com[:2] - a) @ (b - a) / ((b - a) @ (b - a)), 0.0, 1.0))
        for index, share in ((polygon.indices[i], 1 - s), (polygon.indices[(i + 1) % n], s)):
            if index >= first:
                rows[i, 3 + index - first] = share
    return rows


def area_slopes(polygon: SupportPolygon, k: int, first: int) -> Array:
    """∂A/∂x of the hand's k points, (k, 2) m; zeros for those that are no vertices. `first` as of `edge_rows`."""
    g = np.zeros((k, 2))
    for index, gradient in zip(polygon.indices, area_gradient(polygon.vertices), strict=True):
        if index >= first:
            g[index - first] = gradient
    return g


def returning(offsets: Array, outside: Array, rate: float, late: float) -> Array:
    """Where walls stand for points that began `outside` (m) of them: first at the points, then at their own offsets
    (m).

    Args:
        rate: 1/s.
        late: s, since the beginning.
    """
    return offsets - outside * np.exp(-rate * late)
