"""Flat places of a body that touch: soles and palms, from its shapes.

Collision shapes come first, then visual ones. Each is points with radii; the lowest facets of their hull, merged where
they lie in one plane within a tolerance, are the patch. A patch too small to carry a torque is a point.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from ..errors import ModelError
from ..geometry.capsules import Cloud, cloud_of
from ..model.skeleton import Skeleton
from ..model.types import Shape

Array = np.ndarray
Kind = Literal["flat", "line", "point"]
FLAT = 0.004  # m: points this near the lowest plane belong to it
# a facet farther from the wanted direction is not the sole; where none is, wider
TILTS = tuple(np.cos(np.radians([35, 75])))
STEEP = 0.5  # cosine: how far a bar may be from level at zero and still be a foot
PLANE = np.cos(np.radians(4))  # facets within this angle are one patch
POINT = 0.12  # of the limb's reach: a patch shorter than this is a point
STRIP = 0.03  # of the limb's reach: a facet narrower than this does not tell which way a sole faces
LINE = 0.05  # of its own length: a patch narrower than this is a line
FOOT = 0.25  # of the limb's reach: how far a foot's links may be from its ankle
USUAL = (0.24, 0.11)  # of the limb's reach: length and width of feet
DEEP = 0.08  # of the limb's reach: height of an ankle
ANKLE = 6  # bodies from a foot with an ankle to the root, at least
NEAR_FRAME = float(np.cos(np.radians(35)))  # principal axes of a foot this near to its frame's are meant to be them
FILLED = 0.9  # of a rectangle: polygons that fill more of it are taken for it
FEWEST = 4  # points of a hull in space


@dataclass(frozen=True, eq=False)
class Patch:
    """A place of a body that touches, in the body's axes."""

    kind: Kind
    normal: Array  # (3,) out of the body, into what it touches
    polygon: Array  # (n, 3) corners, in order for a flat one; one point for a point
    source: str  # which shapes it comes from

    @property
    def middle(self) -> Array:
        return self.polygon.mean(axis=0)


@dataclass(frozen=True, eq=False)
class Surfaces:
    """Points of every body, read once."""

    skeleton: Skeleton
    doubts: list[str] = field(default_factory=list)
    _clouds: dict[tuple[int, bool], tuple[Array, Array, str]] = field(default_factory=dict)

    def of(self, body: int, *, meshes: bool = True) -> tuple[Array, Array, str]:
        """(n, 3) points with radii (n,), in the body's axes, and which shapes they come from."""
        if (body, meshes) not in self._clouds:
            self._clouds[body, meshes] = self._read(body, meshes)
        return self._clouds[body, meshes]

    def _read(self, body: int, meshes: bool) -> tuple[Array, Array, str]:
        robot = self.skeleton.robot
        for kind in ("collision", "visual"):
            parts: list[Cloud] = []
            for name in self.skeleton.links[body]:
                X, link = robot.place(name)[1], robot.links[name]
                shapes: Sequence[Shape] = link.collisions if kind == "collision" else link.visuals
                parts += [cloud.at(X) for shape in shapes if (cloud := self._cloud(name, shape, meshes)) is not None]
            if parts:
                return (
                    np.concatenate([c.points for c in parts]),
                    np.concatenate([c.radii for c in parts]),
                    f"{kind} shapes",
                )
        return np.zeros((0, 3)), np.zeros(0), "no shapes"

    def _cloud(self, link: str, shape: Shape, meshes: bool) -> Cloud | None:
        if shape.kind == "mesh" and not meshes:
            return None
        try:
            return cloud_of(shape)
        except (ModelError, OSError) as error:
            self.doubts.append(f"{link}: {error}")
            return None

    def extent(self, body: int, direction: Array) -> float:
        """How far a body reaches along a direction given in its axes, from its joint, m; to its links where it has no
        shapes."""
        points, radii, _ = self.of(body)
        if len(points):
            return float((points @ direction + radii).max())
        places = [self.skeleton.robot.place(name)[1][:3, 3] for name in self.skeleton.links[body]]
        return float(max((x @ direction for x in places), default=0.0))


def lowest_patch(surfaces: Surfaces, body: int, down: Array, reach: float, *, turns: bool = False) -> Patch:
    """The patch of a body that touches first when it moves along `down` (body axes); the body may turn a little for it.

    Args:
        reach: m, of the limb that ends in the body; sizes are judged beside it.
        turns: whether an ankle can turn the body far: the zero posture may hold a foot tilted.
    """
    points, radii, source = surfaces.of(body)
    if len(points) == 0:
        points, radii, source = _without_shapes(surfaces.skeleton, body, down, reach)
    normal = _facet(points + radii[:, None] * down, down, reach, turns)
    touching = points + radii[:, None] * normal
    heights = touching @ normal
    touching = touching[heights >= heights.max() - FLAT]
    return _shaped(touching, normal, heights.max(), reach, source)


def _without_shapes(skeleton: Skeleton, body: int, down: Array, reach: float) -> tuple[Array, Array, str]:
    """The box of even density with the body's inertia, for a foot on an ankle; else the farthest of its links."""
    inertia = skeleton.robot.tree.bodies[body]
    places = [skeleton.robot.place(name)[1][:3, 3] for name in skeleton.links[body]]
    lowest = max([*places, skeleton.com[body]], key=lambda x: float(x @ down))
    if (
        reach <= 0
        or inertia.mass <= 0
        or float(lowest @ down) > FOOT * reach
        or len(skeleton.robot.tree.ancestors(body)) < ANKLE
    ):
        return lowest[None], np.zeros(1), "the farthest link: no shapes"
    c = skeleton.com[body]
    about = inertia.I - inertia.mass * ((c @ c) * np.eye(3) - np.outer(c, c))
    moments, axes = np.linalg.eigh(about)
    axes = _along_frame(axes)  # a foot's heel and toes tilt its axes, not its sole
    edges = np.sqrt(np.maximum(6 / inertia.mass * (moments.sum() - 2 * moments), 0.0))
    source = "the box of its inertia: no shapes"
    if not POINT * reach < edges.max() < 2 * FOOT * reach or float(np.linalg.norm(c)) > FOOT * reach:
        return (
            _usual(skeleton, body, lowest, down, reach),
            np.zeros(8),
            "a foot as they usually are: no shapes, no inertia of a foot",
        )
    signs = np.stack(np.meshgrid([-1, 1], [-1, 1], [-1, 1]), axis=-1).reshape(-1, 3)
    return c + (signs * edges / 2) @ axes.T, np.zeros(8), source


def _along_frame(axes: Array) -> Array:
    """The axes of the frame where principal axes (columns) are near them, one each; else themselves."""
    nearest = np.abs(axes).argmax(axis=0)
    if len(set(nearest.tolist())) < 3 or np.abs(axes).max(axis=0).min() < NEAR_FRAME:
        return axes
    return np.eye(3)[:, nearest]


def _usual(skeleton: Skeleton, body: int, lowest: Array, down: Array, reach: float) -> Array:
    """(8, 3) a box under the ankle as large as feet usually are, along the base's x at zero."""
    depth = min(max(float(lowest @ down), DEEP * reach), FOOT * reach)
    ahead = skeleton.rest.R[body].T @ np.array([1.0, 0.0, 0.0])
    ahead = ahead - down * (down @ ahead)
    ahead = ahead / max(float(np.linalg.norm(ahead)), 1e-9)
    aside = np.cross(ahead, down)
    long, wide = USUAL
    corners = [
        (x, y, z) for x in (-0.35 * long, 0.65 * long) for y in (-wide / 2, wide / 2) for z in (0.0, depth / reach)
    ]
    return reach * np.array([x * ahead + y * aside + z * down for x, y, z in corners])


def _shaped(touching: Array, normal: Array, height: float, reach: float, source: str) -> Patch:
    """Polygon, line or point, by the size of what touches."""
    axes = _across(normal)
    flat = touching @ axes
    middle = flat.mean(axis=0)
    _, _, turn = np.linalg.svd(flat - middle, full_matrices=False) if len(flat) > 1 else (0, 0, np.eye(2))
    spans = np.ptp((flat - middle) @ turn.T, axis=0)
    spans = np.pad(spans, (0, 2 - len(spans)))

    def place(x: Array) -> Array:
        return x @ axes.T + height * normal

    if spans.max() <= POINT * reach:
        return Patch("point", normal, place(((flat.min(axis=0) + flat.max(axis=0)) / 2)[None]), source)
    if spans.min() < LINE * spans.max():
        along = (flat - middle) @ turn[int(np.argmax(spans))]
        ends = np.array([along.max(), along.min()])[:, None] * turn[int(np.argmax(spans))] + middle
        return Patch("line", normal, place(ends), source)
    from scipy.spatial import ConvexHull

    return Patch("flat", normal, place(flat[ConvexHull(flat).vertices]), source)


def _facet(points: Array, down: Array, reach: float, turns: bool) -> Array:
    """Normal of the largest flat of the hull near `down`; `down` itself where there is none of some size."""
    from scipy.spatial import ConvexHull, QhullError

    if len(points) < FEWEST:
        return _lying(points, down, reach) if turns else down
    try:
        hull = ConvexHull(points)
    except QhullError:  # all in one plane, or in one line
        _, spread, turn = np.linalg.svd(points - points.mean(axis=0))
        normal = turn[2] * np.sign(turn[2] @ down or 1.0)
        return normal if spread[1] > STRIP * reach and normal @ down > TILTS[0] else down
    normals = hull.equations[:, :3]
    corners = points[hull.simplices]
    areas = np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1) / 2
    for tilt in TILTS if turns else TILTS[:1]:
        near = np.flatnonzero(normals @ down > tilt)
        same = (normals[near] @ normals[near].T > PLANE) * areas[near]
        best = int(np.argmax(same.sum(axis=1) * (normals[near] @ down) ** 4)) if len(near) else 0
        if len(near) and same[best].sum() >= (STRIP * reach) * (POINT * reach):
            mean = same[best] @ normals[near]
            return mean / np.linalg.norm(mean)
    return down


def _lying(points: Array, down: Array, reach: float) -> Array:
    """Normal of a bar that is laid on the ground, if it is not too steep; else `down`."""
    bar = points[-1] - points[0]
    length = float(np.linalg.norm(bar))
    if length < POINT * reach:
        return down
    normal = down - bar * (bar @ down) / length**2
    size = float(np.linalg.norm(normal))
    return normal / size if size > STEEP else down


def _across(normal: Array) -> Array:
    """(3, 2): two directions across a normal."""
    helper = np.eye(3)[int(np.argmin(np.abs(normal)))]
    one = np.cross(helper, normal)
    one /= np.linalg.norm(one)
    return np.column_stack([one, np.cross(normal, one)])


def four_corners(polygon: Array) -> Array:
    """Four corners for a convex polygon (n, 2), counter-clockwise from the front left.

    Of a polygon that nearly fills a rectangle along x and y, those of the rectangle: rounded edges and a slanted toe
    are left out of account, as people do who measure soles. Else the polygon's own corners farthest along the
    diagonals.
    """
    low, high = polygon.min(axis=0), polygon.max(axis=0)
    if _area(polygon) >= FILLED * float(np.prod(high - low)):
        return np.array([(high[0], high[1]), (low[0], high[1]), (low[0], low[1]), (high[0], low[1])])
    scaled = (polygon - (low + high) / 2) / np.maximum((high - low) / 2, 1e-9)
    chosen = [int(np.argmax(scaled @ np.array(d))) for d in ((1, 1), (-1, 1), (-1, -1), (1, -1))]
    return polygon[chosen]


def _area(polygon: Array) -> float:
    """m² of a polygon whose corners are in order."""
    x, y = polygon.T
    return float(abs(x @ np.roll(y, -1) - y @ np.roll(x, -1))) / 2
