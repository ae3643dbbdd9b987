"""Where to look from: near enough to see the robot, far enough to see all of it, and from where nothing hides its
feet."""

from __future__ import annotations

import numpy as np

from ..model.types import Array

FIELD = 0.6  # rad, vertical: a short lens bends limbs at the edges of the picture
ASPECT = 1.15  # width over height that a window has at least, beside its panel
ROOM = 1.12  # around what is seen
# (azimuth, elevation), rad, from which to look, best first: in front and to the right; then from behind, then higher up
VIEWS = [(azimuth, elevation) for elevation in (0.3, 0.5) for azimuth in (-0.65, 0.65, -1.25, 1.25, -2.2, 2.2, 3.1)]


def framing(points: Array, view: tuple[float, float] = VIEWS[0], *, field: float = FIELD) -> tuple[Array, Array]:
    """(position of the eye, point it looks at) so that all points (n, 3) are in the picture."""
    azimuth, elevation = view
    eye = np.array([np.cos(azimuth) * np.cos(elevation), np.sin(azimuth) * np.cos(elevation), np.sin(elevation)])
    right = np.cross([0.0, 0.0, 1.0], eye)
    right /= np.linalg.norm(right)
    axes = np.stack([right, np.cross(eye, right), eye])
    seen = points @ axes.T
    middle = (seen.min(axis=0) + seen.max(axis=0)) / 2
    x, y, near = np.abs(seen[:, 0] - middle[0]), np.abs(seen[:, 1] - middle[1]), seen[:, 2] - middle[2]
    distance = float(np.max(ROOM * np.maximum(y, x / ASPECT) / np.tan(field / 2) + near))
    at = middle @ axes
    return at + distance * eye, at


def clearest(points: Array, feet: Array, triangles: Array) -> tuple[Array, Array]:
    """The first view, of those that hold all points, from which the fewest `feet` (m, 3) are behind triangles (k, 3,
    3)."""
    views = [framing(points, view) for view in VIEWS]
    hidden = [int(_hidden(eye, feet, triangles).sum()) for eye, _ in views]
    return views[int(np.argmin(hidden))]


def _hidden(eye: Array, points: Array, triangles: Array) -> Array:
    """Whether a triangle stands between the eye and each point, (m,) [Möller and Trumbore, 1997]."""
    a, e_1, e_2 = triangles[:, 0], triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0]
    ray = (points - eye)[:, None]  # (m, 1, 3)
    across = np.cross(ray, e_2)
    scale = np.einsum("mki,ki->mk", across, e_1)
    with np.errstate(divide="ignore", invalid="ignore"):
        u = np.einsum("mki,ki->mk", across, eye - a) / scale
        upright = np.cross(eye - a, e_1)
        v = np.einsum("ki,mki->mk", upright, np.broadcast_to(ray, across.shape)) / scale
        along = np.einsum("ki,ki->k", upright, e_2) / scale
        met = (u >= 0) & (v >= 0) & (u + v <= 1) & (along > 0) & (along < 0.999)
    return np.any(met, axis=1)
