"""Triangles of the shapes of a link, for everything that draws in three dimensions. Outward sides run
counter-clockwise."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..algebra import rigid
from ..errors import ModelWarning
from ..model.meshes import read_mesh
from ..model.types import Array, Frame, Model, Shape

ROUND = 24  # sides of a circle
GREY = (140, 150, 170)


@dataclass(frozen=True, eq=False)
class Surface:
    """Triangles in the axes of a link."""

    vertices: Array  # (n, 3) m
    faces: Array  # (k, 3) indices
    color: tuple[int, int, int] = GREY
    opacity: float | None = None  # None: solid
    flat: bool = False  # shaded face by face: edges of a machined part stay edges

    def at(self, X: Array) -> Surface:
        """The same surface in the axes in which its own stand at X."""
        return replace(self, vertices=self.vertices @ X[:3, :3].T + X[:3, 3])


def surfaces_of(shape: Shape) -> list[Surface]:
    """What a shape looks like, in the axes of its link; a file of meshes may hold several parts, or none."""
    if shape.kind == "mesh":
        return [part.at(shape.X) for part in _mesh(shape)]
    color, opacity = _color(shape.color)
    vertices, faces = _MAKERS[shape.kind](*shape.size)
    return [Surface(vertices, faces, color, opacity).at(shape.X)]


def joined(shapes: Sequence[Shape]) -> list[Surface]:
    """Returns the surfaces of all shapes of one link."""
    return [surface for shape in shapes for surface in surfaces_of(shape)]


def link_surfaces(model: Model) -> Iterator[tuple[str, list[Surface]]]:
    """Every link that can be seen: its visual shapes, or its collision shapes where those are missing.

    A robot without any shapes is drawn as a skeleton: a ball at each moving joint, a rod to each of the next.
    """
    seen = False
    for name, link in model.links.items():
        for shapes in (link.visuals, link.collisions):
            surfaces = joined(shapes)
            if surfaces:
                seen = True
                yield name, surfaces
                break
    if not seen:
        yield from _skeleton(model)


def _skeleton(model: Model) -> Iterator[tuple[str, list[Surface]]]:
    reach = max([float(np.linalg.norm(joint.origin[:3, 3])) for joint in model.joints.values()] + [0.1])
    thick = 0.05 * reach
    for name in model.links:
        parts = [Surface(*_sphere(thick))]
        for joint in model.joints.values():
            p = joint.origin[:3, 3]
            length = float(np.linalg.norm(p))
            if joint.parent == name and length > thick:
                X = rigid.pose(rigid.rotation_to(p / length), p / 2)
                parts.append(Surface(*_cylinder(thick / 2, length)).at(X))
        yield name, parts


def frame_pose(frame: Frame, poses: dict[str | None, Array]) -> Array:
    """Pose of a frame in the world, given those of the links."""
    return poses[frame.parent] @ frame.X


# --- simple shapes ----------------------------------------------------------------------------------------------------


def _box(x: float, y: float, z: float) -> tuple[Array, Array]:
    corners = np.array([[sx, sy, sz] for sx in (-1, 1) for sy in (-1, 1) for sz in (-1, 1)]) * (x / 2, y / 2, z / 2)
    squares = ((0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3))
    # own corners for each side: a renderer that smooths over shared corners would round the edges
    faces = [(4 * k + i, 4 * k + j, 4 * k + m) for k in range(6) for i, j, m in ((0, 1, 2), (0, 2, 3))]
    return corners[np.array(squares).ravel()], np.array(faces)


def _turned(profile: Array) -> tuple[Array, Array]:
    """The surface that a profile of (radius, height), from the bottom to the top of the z axis, sweeps around it."""
    angles = np.linspace(0, 2 * np.pi, ROUND, endpoint=False)
    # the poles are points
    r, z = np.where(profile[:, 0] > 1e-9 * profile[:, 0].max(), profile[:, 0], 0.0), profile[:, 1]
    ring = np.stack(
        [np.outer(r, np.cos(angles)), np.outer(r, np.sin(angles)), np.repeat(z[:, None], ROUND, axis=1)], axis=-1
    )
    k, i = (index.ravel() for index in np.meshgrid(np.arange(len(profile) - 1), np.arange(ROUND), indexing="ij"))
    here, right = k * ROUND + i, k * ROUND + (i + 1) % ROUND
    up, up_right = here + ROUND, right + ROUND
    faces = np.concatenate([np.stack([here, right, up_right], axis=1), np.stack([here, up_right, up], axis=1)])
    vertices = ring.reshape(-1, 3)
    a, b, c = (vertices[faces[:, column]] for column in range(3))
    return vertices, faces[np.linalg.norm(np.cross(b - a, c - a), axis=1) > 0]


def _cylinder(radius: float, length: float) -> tuple[Array, Array]:
    h = length / 2
    return _turned(np.array([(0, -h), (radius, -h), (radius, -h), (radius, h), (radius, h), (0, h)]))


def _capsule(radius: float, length: float) -> tuple[Array, Array]:
    bow = np.linspace(-np.pi / 2, np.pi / 2, ROUND // 2 + 1)
    profile = np.stack([radius * np.cos(bow), radius * np.sin(bow) + np.where(bow < 0, -1, 1) * length / 2], axis=1)
    middle = ROUND // 4
    return _turned(np.insert(profile, middle, (radius, -length / 2), axis=0))


def _ellipsoid(*radii: float) -> tuple[Array, Array]:
    bow = np.linspace(-np.pi / 2, np.pi / 2, ROUND // 2 + 1)
    vertices, faces = _turned(np.stack([np.cos(bow), np.sin(bow)], axis=1))
    return vertices * np.array(radii), faces


def _sphere(radius: float) -> tuple[Array, Array]:
    return _ellipsoid(radius, radius, radius)


def _plane(*_: float) -> tuple[Array, Array]:
    return _box(4.0, 4.0, 1e-3)


_MAKERS: dict[str, Callable[..., tuple[Array, Array]]] = {
    "box": _box,
    "sphere": _sphere,
    "cylinder": _cylinder,
    "capsule": _capsule,
    "ellipsoid": _ellipsoid,
    "plane": _plane,
}


# --- meshes from files ------------------------------------------------------------------------------------------------

MOST_FACES = 12_000  # of one part; larger ones are coarsened, for the eye alone


def _mesh(shape: Shape) -> list[Surface]:
    """The parts of a mesh file, scaled; nothing, and a warning, if it cannot be read."""
    if shape.mesh is None or not Path(shape.mesh).is_file():
        return []  # whoever read the description has warned of it
    try:
        import trimesh

        if shape.mesh.lower().endswith(".dae"):
            read_mesh(shape.mesh)  # its nodes may stand for without end; our reader counts them
        scene = trimesh.load_scene(shape.mesh, process=False)
        parts = [part for part in scene.dump() if isinstance(part, trimesh.Trimesh) and len(part.faces)]
        if not parts:
            raise ValueError("it holds no triangles")
    except Exception as error:  # many file formats, many readers, many exceptions
        warnings.warn(f"mesh {shape.mesh} is left out of the picture: {error}", ModelWarning, stacklevel=4)
        return []
    scale = np.array(shape.size) if shape.size else np.ones(3)
    return [_part(part, scale, shape.color) for part in parts]


def _part(part: Any, scale: Array, color: tuple[float, float, float, float] | None) -> Surface:
    if len(part.faces) <= MOST_FACES:
        part.merge_vertices()  # larger ones are merged as they are coarsened
    vertices, faces = np.asarray(part.vertices, dtype=float) * scale, np.asarray(part.faces)
    if np.prod(scale) < 0:
        faces = faces[:, ::-1]  # a mirror turns the outside in
    vertices, faces = coarsened(vertices, faces, MOST_FACES)
    shade, opacity = _color(color) if color is not None else _color(_own_color(part))
    return Surface(vertices, faces, shade, opacity, flat=True)


def coarsened(vertices: Array, faces: Array, most: int) -> tuple[Array, Array]:
    """At most about `most` triangles: vertices in one cell of a grid become one, triangles that lose a corner go."""
    cells = 256
    whole = vertices, faces
    while len(faces) > most and cells >= 8:
        low, span = whole[0].min(axis=0), float(np.ptp(whole[0], axis=0).max())
        keys = np.floor((whole[0] - low) / (span / cells)).astype(int)
        flat = (keys[:, 0] * (cells + 1) + keys[:, 1]) * (cells + 1) + keys[:, 2]  # one number sorts faster than three
        _, inverse, counts = np.unique(flat, return_inverse=True, return_counts=True)
        vertices = np.stack([np.bincount(inverse, column) for column in whole[0].T], axis=1) / counts[:, None]
        faces = inverse[whole[1]]
        a, b, c = faces.T
        faces = faces[(a != b) & (b != c) & (c != a)]
        cells = cells * 3 // 4
    return vertices, faces


def _own_color(part: Any) -> tuple[float, float, float, float] | None:
    try:
        red, green, blue, alpha = (float(x) / 255 for x in part.visual.to_color().main_color)
    except (AttributeError, TypeError, ValueError):
        return None
    return (red, green, blue, alpha)


def _color(color: tuple[float, float, float, float] | None) -> tuple[tuple[int, int, int], float | None]:
    if color is None:
        return GREY, None
    red, green, blue = (round(255 * min(max(x, 0.0), 1.0)) for x in color[:3])
    alpha = color[3] if len(color) > 3 else 1.0
    return (red, green, blue), None if alpha >= 1.0 else max(alpha, 0.05)
