"""Cones of contact forces by their facets, for a coefficient of friction that is a parameter.

The rays of a friction pyramid at a corner (x, y) are, per unit of normal force, f = (μ cos θ, μ sin θ, 1) and τ = (y,
−x, μ (x sin θ − y cos θ)). Dividing f_x, f_y and τ_z by μ gives the rays for μ = 1. So the facets for any μ are those
for μ = 1 with f_z, τ_x and τ_y multiplied by μ: their number and shape do not depend on friction.
"""

from __future__ import annotations

import numpy as np

from ...machine.cached import cached
from ..item import TaskError

Array = np.ndarray


def facets_of_pyramid(edges: Array) -> Array:
    """Rows G of the cone that edges span in 3D, in order: each side has the normal of two neighbours."""
    sides = np.cross(np.roll(edges, -1, axis=0), edges)
    return sides / np.linalg.norm(sides, axis=1, keepdims=True)


def wrench_cone(label: str, corners: Array, edges: Array) -> Array:
    """Rows G with G w ≤ 0 for exactly the wrenches w that forces along the edges at the corners make, about the origin.

    Each edge at each corner is a ray of the cone; cut at unit normal force the cone is a polytope in five dimensions,
    and its facets are the rows.
    """
    forces = np.tile(edges, (len(corners), 1))
    torques = np.cross(np.repeat(corners, len(edges), axis=0), forces)
    rays = np.concatenate([forces, torques], axis=1)
    return facets(label, rays[:, [2, 0, 1, 3, 4, 5]])[:, [1, 2, 0, 3, 4, 5]]


def facets(label: str, rays: Array) -> Array:
    """Rows G of the cone spanned by rays whose first entry is 1; cached, so that a second start needs no hulls."""
    found = cached(_facets, rays)
    if not len(found):
        raise TaskError(f"{label}: the corners do not span an area: they must not lie on one line")
    return found


def _facets(rays: Array) -> Array:
    """Rows G; none where the rays span no cone."""
    from scipy.spatial import ConvexHull, QhullError

    try:
        hull = ConvexHull(rays[:, 1:])
    except QhullError:
        return np.empty((0, rays.shape[1]))
    planes = np.unique(np.round(hull.equations, 10), axis=0)
    G = np.concatenate([planes[:, -1:], planes[:, :-1]], axis=1)
    return np.ascontiguousarray(G / np.linalg.norm(G, axis=1, keepdims=True))
