"""Capsules and balls of one link as one smooth surface, so that a limb looks like a limb and not like a heap of blobs.

The surface is the zero set of a soft minimum of the distances to all parts, extracted by surface nets: one vertex in
each cell of a grid that the surface crosses, pulled onto it, and one quadrilateral across each edge whose ends lie on
different sides.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..model.types import Array, Shape

ROUNDED = ("capsule", "sphere")
CELLS = 8  # of the grid across a part of middling thickness
MOST_CELLS = 400_000
SOFTNESS = 0.18  # of the thinner part's radius: how far from a seam the surface is rounded


class _Segments:
    """All points within radii (n,) of segments from a to b, (n, 3) each."""

    def __init__(self, shapes: Sequence[Shape]) -> None:
        half = np.array([shape.size[1] / 2 if shape.kind == "capsule" else 0.0 for shape in shapes])[:, None]
        centre, axis = np.array([s.X[:3, 3] for s in shapes]), np.array([s.X[:3, 2] for s in shapes])
        order = np.argsort([-shape.size[0] for shape in shapes], kind="stable")
        self.a, self.b = (centre - half * axis)[order], (centre + half * axis)[order]
        self.radii = np.array([shape.size[0] for shape in shapes])[order]

    def distance(self, points: Array) -> Array:
        """Of points (m, 3) from the blended surface, negative inside, (m,)."""
        blended = np.full(len(points), np.inf)
        for a, b, radius in zip(self.a, self.b, self.radii, strict=True):
            along, arm = b - a, points - a
            share = np.clip(arm @ along / max(float(along @ along), 1e-12), 0.0, 1.0)
            distance = np.linalg.norm(arm - share[:, None] * along, axis=1) - radius
            soft = SOFTNESS * radius
            near = np.maximum(soft - np.abs(blended - distance), 0.0)
            blended = np.minimum(blended, distance) - near**2 / (4 * soft)
        return blended

    def gradient(self, points: Array, step: float) -> Array:
        sides = [self.distance(points + h) - self.distance(points - h) for h in step * np.eye(3)]
        return np.stack(sides, axis=1) / (2 * step)


def soft_union(shapes: Sequence[Shape]) -> tuple[Array, Array]:
    """Vertices (n, 3) and outward faces (k, 3) of the surface around capsules and balls."""
    segments = _Segments(shapes)
    ends = np.concatenate([segments.a, segments.b])
    reach = np.tile(segments.radii, 2)[:, None]
    low, high = (ends - reach).min(axis=0), (ends + reach).max(axis=0)
    cell = 2 * float(np.median(segments.radii)) / CELLS
    cell = max(cell, float(np.prod(high - low + 4 * cell) / MOST_CELLS) ** (1 / 3))
    counts = np.ceil((high - low) / cell).astype(int) + 5
    axes = [low[k] + cell * (np.arange(counts[k]) - 2) for k in range(3)]
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
    values = segments.distance(grid.reshape(-1, 3)).reshape(counts)
    cells, faces = _surface_net(values < 0)
    vertices = low + cell * (cells - 1.5)  # middles of the cells
    for _ in range(3):
        slope = segments.gradient(vertices, 0.05 * cell)
        length = np.maximum((slope**2).sum(axis=1), 0.25)
        vertices = vertices - (segments.distance(vertices) / length)[:, None] * slope
    return vertices, faces


def _surface_net(inside: Array) -> tuple[Array, Array]:
    """(cells that the surface crosses (n, 3), triangles between them (k, 3)) of a grid of points inside or not."""
    number = np.full(np.array(inside.shape) - 1, -1)
    corners = [
        inside[i : i + number.shape[0], j : j + number.shape[1], k : k + number.shape[2]]
        for i, j, k in np.ndindex(2, 2, 2)
    ]
    crossed = np.any(corners, axis=0) & ~np.all(corners, axis=0)
    cells = np.argwhere(crossed)
    number[crossed] = np.arange(len(cells))
    faces = []
    for axis in range(3):
        one, two = (axis + 1) % 3, (axis + 2) % 3
        change = np.diff(inside.astype(np.int8), axis=axis)
        for sign in (1, -1):  # the surface is met from outside, or left
            at = np.argwhere(change == sign)
            step_one, step_two = np.eye(3, dtype=int)[one], np.eye(3, dtype=int)[two]
            around = [at - step_one - step_two, at - step_two, at, at - step_one]
            a, b, c, d = (number[tuple(cell.T)] for cell in (around if sign < 0 else around[::-1]))
            faces += [np.stack([a, b, c], axis=1), np.stack([a, c, d], axis=1)]
    return cells, np.concatenate(faces)
