"""The wrenches that several contacts can give together, by their facets: the common contact wrench cone, cut where
contacts would squeeze each other too hard.

Forces within friction pyramids at points p_j make the wrenches w = Σ λ_j (e_j, (p_j − o) × e_j), λ_j ≥ 0, with one ray
for each edge e_j of each pyramid: a cone [CPN15]. Hands on opposite walls can press as hard as they like and make no
wrench at all, so the cone need not be pointed and has no facets that a hull could find. With Σ λ_j / s_j ≤ 1, s_j the
most that a point bears, it becomes the polytope whose vertices are the origin and s_j (e_j, (p_j − o) × e_j): a hull in
six dimensions, of some dozen points, for any contacts.

[CPN15] Caron, Pham, Nakamura: Leveraging cone double description for multi-contact stability of humanoids with
    applications to statics and dynamics, Robotics: Science and Systems 2015.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..errors import ShapeError
from ..model.types import frozen

Array = np.ndarray
LEVER = 0.3  # m: a moment of one weight × this is as large as a force of one weight
FLAT = 1e-9  # of the largest extent: directions in which contacts give less give nothing
THIN = 1e-3  # weights: how far beyond a wrench may be along those


@dataclass(frozen=True, eq=False)
class ContactWrenches:
    """Wrenches w with G w ≤ h: forces in weights of the robot, moments about `origin` in weights × m.

    Args:
        origin: (3,) m. G: (m, 6). h: (m,), weights: rows have unit length where moments are divided by 0.3 m.
    """

    origin: Array
    G: Array
    h: Array

    def excess(self, wrenches: Array) -> Array:
        """By how much each row is exceeded, (…, m) weights; none is positive where the contacts can give the wrench.

        Args:
            wrenches: (…, 6), as above.
        """
        return wrenches @ self.G.T - self.h


def contact_wrenches(points: Array, edges: Array, largest: Array, origin: Array) -> ContactWrenches:
    """What contacts at points give together.

    Args:
        points: (n, 3) m, world.
        edges: (n, e, 3), of their friction pyramids, world axes, unit normal force.
        largest: (n,) most normal force of each, weights; a part of it leaves the same part less to the others.
        origin: (3,) m, about which moments are.
    """
    points, edges, largest, origin = (np.asarray(x, dtype=float) for x in (points, edges, largest, origin))
    n = len(points)
    if points.shape != (n, 3) or edges.ndim != 3 or edges.shape[::2] != (n, 3) or largest.shape != (n,) or not n:
        raise ShapeError(
            f"wanted points (n, 3), edges (n, e, 3) and n largest forces, n ≥ 1; got {points.shape}, {edges.shape} and "
            f"{largest.shape}"
        )
    if origin.shape != (3,):
        raise ShapeError(f"wanted an origin (3,), got {origin.shape}")
    if not all(np.isfinite(x).all() for x in (points, edges, largest, origin)):
        raise ShapeError("points, edges, largest forces and origin must be finite")
    moments = np.cross((points - origin)[:, None], edges) / LEVER
    rays = largest[:, None, None] * np.concatenate([edges, moments], axis=2)
    G, h = _facets(rays.reshape(-1, 6))
    G[:, 3:] /= LEVER
    return ContactWrenches(frozen(np.array(origin, dtype=float)), frozen(G), frozen(h))


def _facets(vertices: Array) -> tuple[Array, Array]:
    """Rows of the hull of the vertices and the origin; two thin ones for each direction in which it has no extent."""
    from scipy.spatial import ConvexHull

    _, sizes, axes = np.linalg.svd(vertices, full_matrices=True)
    sizes = np.concatenate([sizes, np.zeros(6 - len(sizes))])
    extended = sizes > FLAT * sizes[0]
    span, flat = axes[extended], axes[~extended]
    places = np.vstack([np.zeros(len(span)), vertices @ span.T])
    # rays of one sole lie in common planes, which Qhull cannot always merge: it may move them by rounding (QJ). Each
    # facet then is moved back onto the vertices themselves
    hull = np.array([[1.0], [-1.0]]) if len(span) == 1 else ConvexHull(places, qhull_options="QJ").equations[:, :-1]
    normals = np.unique(np.round(hull, 9), axis=0)
    G = np.vstack([normals @ span, flat, -flat])
    return G, np.concatenate([(places @ normals.T).max(axis=0), np.full(2 * len(flat), THIN)])
