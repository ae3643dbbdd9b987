"""Capsules around the shapes of a link: the smallest by volume that a search finds, and always around all of it.

A shape is points with a radius around each (a ball where the point is alone, a capsule where there are two); its hull
is what must be inside. A capsule is convex, so it holds the shape as soon as it holds the points with their radii.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..algebra import rigid
from ..errors import ModelError, ModelWarning
from ..model.meshes import read_mesh
from ..model.types import Inertia, Link, Shape
from .primitives import Capsule, Sphere

if TYPE_CHECKING:
    from ..robot import Robot

Array = np.ndarray
Round = Capsule | Sphere
SIDES = 24  # of the prism around a cylinder: 0.9 % wider than it
SPARED = 0.85  # a split must leave at most this part of the volume
ROUNDING = 1e-12  # relative growth of a radius, so that the points on the surface are inside in floating point too
SHORT = 1e-3  # a capsule shorter than this part of its radius is given as a sphere


@dataclass(frozen=True, eq=False)
class Cloud:
    """What a capsule must hold: points with radii, in the axes of a link, and the edges along which it may be cut."""

    points: Array  # (n, 3)
    radii: Array  # (n,)
    edges: Array  # (k, 2) indices; empty: not to be cut

    def at(self, X: Array) -> Cloud:
        return Cloud(self.points @ X[:3, :3].T + X[:3, 3], self.radii, self.edges)


def collision_capsules(robot: Robot, *, most: int = 1) -> dict[str, tuple[Round, ...]]:
    """Spheres and capsules that hold the collision shapes of every link that has some.

    Spheres and capsules of the description are taken as they are. Around anything else the smallest capsule is searched
    for: boxes and meshes by their corners, cylinders by a prism around them. Where a mesh file is missing or not
    readable, the visual shapes of the link take its place, and else the ellipsoid of its inertia, which need not hold
    all of the link; a `ModelWarning` says so.

    Args:
        most: capsules for each link at most. With more than one, shapes get capsules of their own and long or wide ones
            are cut in two, as long as that saves enough volume.
    """
    if most < 1:
        raise ModelError(f"collision_capsules: most is at least 1 capsule for a link, got {most!r}")
    doubts: list[str] = []
    found = {}
    for name, link in robot.links.items():
        clouds = _clouds_of(link, doubts)
        if clouds:
            found[name] = tuple(_on(name, fit) for fit in _fitted(clouds, most))
    if doubts:
        shown = "; ".join(doubts[:6]) + (f"; … ({len(doubts)} links in all)" if len(doubts) > 6 else "")
        warnings.warn(f"collision shapes of {robot.name!r} are incomplete: {shown}", ModelWarning, stacklevel=2)
    return found


def volume(shape: Round) -> float:
    """m³."""
    length = 0.0 if isinstance(shape, Sphere) else float(np.linalg.norm(shape.b - shape.a))
    return _volume(length, shape.radius)


def _volume(length: float, radius: float) -> float:
    """Of a capsule, m³."""
    return float(np.pi * radius**2 * (length + 4 / 3 * radius))


def smallest_capsule(points: ArrayLike, radii: ArrayLike = 0.0, frame: str | None = None) -> Round:
    """The smallest capsule (or sphere, if that is smaller) around points with radii that a search finds.

    Whatever the search does, all points are inside: given an axis and a radius, the ends are placed where they must be.
    Starts are the principal axes of the points; the search turns and shifts the axis (Nelder–Mead) and widens the
    radius.

    Args:
        points: (n, 3) m.
        radii: (n,) m, or one for all.
    """
    points = np.asarray(points, dtype=float).reshape(-1, 3)
    radii = np.broadcast_to(np.asarray(radii, dtype=float), len(points))
    if len(points) == 0 or not (np.isfinite(points).all() and (radii >= 0).all()):
        raise ModelError("smallest_capsule: give at least one point, finite, and radii that are not negative")
    return _on(frame, _fit(Cloud(points, radii, np.empty((0, 2), int)))[1])


# --- fitting ----------------------------------------------------------------------------------------------------------

Ends = tuple[Array, Array, float]  # two ends and a radius


def _spread(count: int) -> Array:
    """Directions spread evenly over the sphere, along a spiral."""
    z = 1 - (2 * np.arange(count) + 1) / count
    turn = np.pi * (1 + np.sqrt(5)) * np.arange(count)
    return np.stack([np.sqrt(1 - z**2) * np.cos(turn), np.sqrt(1 - z**2) * np.sin(turn), z], axis=1)


DIRECTIONS = _spread(160)


def _on(frame: str | None, ends: Ends) -> Round:
    a, b, radius = ends
    if np.linalg.norm(b - a) == 0.0:
        return Sphere(a, radius, frame)
    return Capsule(a, b, radius, frame)


def _ends_on_axis(centre: Array, axis: Array, extra: float, points: Array, radii: Array) -> tuple[float, Ends]:
    """(volume, capsule) around points on a given axis; its radius is the least possible one and `extra` more.

    A point at height t, ρ from the axis, is inside if an end is no farther than √((R − r)² − ρ²) from t.
    """
    arms = points - centre
    heights = arms @ axis
    square = np.einsum("ij,ij->i", arms, arms) - heights**2
    away = np.sqrt(np.maximum(square, 0.0))
    radius = float((away + radii).max()) * (1 + ROUNDING) + extra
    reach = np.sqrt(np.maximum((radius - radii) ** 2 - away**2, 0.0))
    low, high = float((heights + reach).min()), float((heights - reach).max())
    if high - low < SHORT * radius:  # one ball holds them: the smallest about this centre
        middle = centre + (low + high) / 2 * axis
        radius = float((np.linalg.norm(points - middle, axis=1) + radii).max()) * (1 + ROUNDING)
        return _volume(0.0, radius), (middle, middle, radius)
    return _volume(high - low, radius), (centre + low * axis, centre + high * axis, radius)


def _fit(cloud: Cloud) -> tuple[float, Ends]:
    """(volume, capsule), by a search from the better two of the principal axes."""
    from scipy.optimize import minimize

    points, radii = cloud.points, cloud.radii
    if len(points) <= 2 and np.ptp(radii) == 0:  # a ball or capsule: it is its own
        a, b, radius = points[0], points[-1], float(radii[0])
        return _volume(float(np.linalg.norm(b - a)), radius), (a, b, radius)
    few, few_radii = _outermost(cloud)
    middle = (few.min(axis=0) + few.max(axis=0)) / 2
    size = float(np.linalg.norm(few - middle, axis=1).max() + few_radii.max())
    if size <= 1e-9:
        return _ends_on_axis(middle, np.array([0.0, 0.0, 1.0]), 0.0, points, radii)
    found = []
    for _, _, centre, axes in _starts(few, few_radii)[:2]:
        unpack = _unpacked(centre, axes, size)

        def cost(x: Array, unpack: Callable[[Array], tuple[Array, Array, float]] = unpack) -> float:
            return _ends_on_axis(*unpack(x), few, few_radii)[0] / size**3

        options = {
            "xatol": 1e-3,
            "fatol": 1e-5,
            "maxfev": 600,
            "initial_simplex": np.vstack([np.zeros(5), 0.15 * np.eye(5)]),
        }
        x = minimize(cost, np.zeros(5), method="Nelder-Mead", options=options).x
        found.append(_ends_on_axis(*unpack(x), points, radii))
    return min(found, key=lambda fit: fit[0])


def _rough_fit(cloud: Cloud) -> tuple[float, Ends]:
    """(volume, capsule) along the best principal axis, without a search."""
    return _starts(cloud.points, cloud.radii)[0][:2]


def _unpacked(centre: Array, axes: Array, size: float) -> Callable[[Array], tuple[Array, Array, float]]:
    """Five numbers as an axis (a point of it, its direction) and an extra radius, all in parts of the size."""

    def unpack(x: Array) -> tuple[Array, Array, float]:
        axis = axes[:, 0] + x[0] * axes[:, 1] + x[1] * axes[:, 2]
        return (
            centre + size * (x[2] * axes[:, 1] + x[3] * axes[:, 2]),
            axis / np.linalg.norm(axis),
            size * abs(float(x[4])),
        )

    return unpack


def _principal_axes(points: Array) -> list[Array]:
    """Principal axes of the points, each once as the first column."""
    offsets = points - points.mean(axis=0)
    _, axes = np.linalg.eigh(offsets.T @ offsets)
    return [np.roll(axes, k, axis=1) for k in range(3)]


def _starts(points: Array, radii: Array) -> list[tuple[float, Ends, Array, Array]]:
    """(volume, capsule, centre, axes) along each principal axis, the smallest first."""
    found = []
    for axes in _principal_axes(points):
        centre = axes @ ((points @ axes).min(axis=0) + (points @ axes).max(axis=0)) / 2
        size = float(np.ptp(points @ axes, axis=0).max())
        tries = [_ends_on_axis(centre, axes[:, 0], part * size, points, radii) for part in (0.0, 0.02, 0.05, 0.1)]
        found.append((*min(tries, key=lambda fit: fit[0]), centre, axes))
    return sorted(found, key=lambda start: start[0])


def _outermost(cloud: Cloud) -> tuple[Array, Array]:
    """The points that lie farthest in each of many directions: enough to search with."""
    if len(cloud.points) <= len(DIRECTIONS):
        return cloud.points, cloud.radii
    few = np.unique(np.argmax(cloud.points @ DIRECTIONS.T + cloud.radii[:, None], axis=0))
    return cloud.points[few], cloud.radii[few]


# --- several capsules -------------------------------------------------------------------------------------------------


def _fitted(clouds: Sequence[Cloud], most: int) -> list[Ends]:
    """One capsule around all; then the one that gains most is divided, as long as that saves volume and `most`
    allows."""
    groups = [(_fit(_together(clouds)), list(clouds))]
    while len(groups) < most:
        divided = [_divided(group) for _, group in groups]
        gains = [
            1 - sum(part[0][0] for part in parts) / fit[0] if parts else 0.0
            for (fit, _), parts in zip(groups, divided, strict=True)
        ]
        k = int(np.argmax(gains))
        if gains[k] < 1 - SPARED:
            break
        groups[k : k + 1] = divided[k]
    return [ends for (_, ends), _ in groups]


def _divided(clouds: Sequence[Cloud]) -> list[tuple[tuple[float, Ends], list[Cloud]]]:
    """The best way to divide shapes in two: by whole shapes where there are several, else by a cut through the one."""
    if len(clouds) > 1:
        middles = np.array([cloud.points.mean(axis=0) for cloud in clouds])
        axes = _principal_axes(np.concatenate([c.points for c in clouds]))
        orders = [np.argsort(middles @ turned[:, 0], kind="stable") for turned in axes]
        ways = [
            ([clouds[i] for i in order[:k]], [clouds[i] for i in order[k:]])
            for order in orders
            for k in range(1, len(clouds))
        ]
    elif len(clouds[0].edges):
        cuts = [_cut(clouds[0], axes[:, 0]) for axes in _principal_axes(clouds[0].points)]
        ways = [way for way in cuts if way is not None]
    else:
        ways = []
    if not ways:
        return []
    best = min(ways, key=lambda way: sum(_rough_fit(_together(part))[0] for part in way))
    return [(_fit(_together(part)), part) for part in best]


def _cut(cloud: Cloud, axis: Array) -> tuple[list[Cloud], list[Cloud]] | None:
    """Both sides of a plane across the middle: the points of each side, and where edges cross the plane."""
    heights = cloud.points @ axis
    level = (heights.min() + heights.max()) / 2
    a, b = cloud.edges.T
    crossing = (heights[a] < level) != (heights[b] < level)
    a, b = a[crossing], b[crossing]
    share = ((level - heights[a]) / (heights[b] - heights[a]))[:, None]
    on_plane = cloud.points[a] + share * (cloud.points[b] - cloud.points[a])
    none = np.empty((0, 2), int)
    sides = [np.concatenate([cloud.points[side], on_plane]) for side in (heights < level, heights >= level)]
    if min(map(len, sides)) == 0:
        return None
    low, high = ([Cloud(side, np.zeros(len(side)), none)] for side in sides)
    return low, high


def _together(clouds: Sequence[Cloud]) -> Cloud:
    points, radii = (np.concatenate(parts) for parts in zip(*((c.points, c.radii) for c in clouds), strict=True))
    return Cloud(points, radii, np.empty((0, 2), int))


# --- shapes -----------------------------------------------------------------------------------------------------------


def _clouds_of(link: Link, doubts: list[str]) -> list[Cloud]:
    """Of the collision shapes; where one cannot be read, of the visual ones, and else of the inertia."""
    if not link.collisions:
        return []
    try:
        return [cloud for shape in link.collisions if (cloud := cloud_of(shape)) is not None]
    except ModelError as error:
        reason = str(error)
    try:
        clouds = [cloud for shape in link.visuals if (cloud := cloud_of(shape)) is not None]
        if clouds:
            doubts.append(f"{link.name}: {reason}, its visual shapes are taken instead")
            return clouds
    except ModelError:
        pass
    if link.inertia is None:
        doubts.append(f"{link.name}: {reason}, left out")
        return []
    doubts.append(f"{link.name}: {reason}, the ellipsoid of its inertia is taken instead")
    return [_inertia_ellipsoid(link.inertia)]


def cloud_of(shape: Shape) -> Cloud | None:
    """A shape as points with radii; None for a plane, which belongs to the world."""
    if shape.kind == "plane":
        return None
    if shape.kind == "mesh":
        vertices, triangles = read_mesh(str(shape.mesh))
        edges = np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]])
        vertices = vertices * np.array(shape.size)
        return Cloud(vertices, np.zeros(len(vertices)), np.unique(np.sort(edges, axis=1), axis=0)).at(shape.X)
    return _MAKERS[shape.kind](*shape.size).at(shape.X)


def _solid(corners: Array) -> Cloud:
    """A convex solid: cut along the lines between any two of its corners."""
    return Cloud(corners, np.zeros(len(corners)), np.argwhere(np.triu(np.ones((len(corners),) * 2), 1)))


def _box(x: float, y: float, z: float) -> Cloud:
    signs = np.stack(np.meshgrid([-1, 1], [-1, 1], [-1, 1]), axis=-1).reshape(-1, 3)
    return _solid(signs * np.array([x, y, z]) / 2)


def _cylinder(radius: float, length: float) -> Cloud:
    angles = 2 * np.pi * np.arange(SIDES) / SIDES
    circle = radius / np.cos(np.pi / SIDES) * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    return _solid(np.concatenate([np.c_[circle, np.full(SIDES, h)] for h in (-length / 2, length / 2)]))


def _balls(points: Any, radius: float) -> Cloud:
    points = np.array(points, dtype=float)
    return Cloud(points, np.full(len(points), radius), np.empty((0, 2), int))


def _ellipsoid(*axes: float) -> Cloud:
    """The capsule around an ellipsoid with these half axes: as wide as the middle one, as long as the longest."""
    half = np.array(axes)
    longest, middle = int(np.argmax(half)), float(np.sort(half)[1])
    reach = (half[longest] - middle) * np.eye(3)[longest]
    return _balls([-reach, reach], middle)


_MAKERS: dict[str, Callable[..., Cloud]] = {
    "box": _box,
    "cylinder": _cylinder,
    "sphere": lambda radius: _balls([[0, 0, 0]], radius),
    "capsule": lambda radius, length: _balls([[0, 0, -length / 2], [0, 0, length / 2]], radius),
    "ellipsoid": _ellipsoid,
}


def _inertia_ellipsoid(inertia: Inertia) -> Cloud:
    """The solid ellipsoid of even density with this mass and inertia: a² = 5 (I_y + I_z − I_x) / 2m."""
    moments, axes = np.linalg.eigh(inertia.matrix)
    half = np.sqrt(np.maximum(2.5 / inertia.mass * (moments.sum() - 2 * moments), 0.0))
    if np.linalg.det(axes) < 0:
        axes = -axes
    return _ellipsoid(*half).at(rigid.pose(axes, inertia.com))
