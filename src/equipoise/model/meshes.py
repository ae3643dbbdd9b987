"""Vertices and triangles of mesh files: STL (binary and text), OBJ and DAE. Small readers: no colours, no textures."""

from __future__ import annotations

import os
import stat
from itertools import pairwise
from pathlib import Path

import numpy as np

from ..algebra.rigid import pose, rotation_about
from ..errors import ModelError
from ..files import read_bounded
from . import xml

Array = np.ndarray
Mesh = tuple[Array, Array]  # vertices (n, 3), triangles (k, 3) as indices of vertices
LFS_POINTER, LARGEST_POINTER = b"version https://git-lfs", 1024  # how it begins, bytes
STL_HEADER, STL_TRIANGLE = 84, 50  # bytes
MAX_BYTES = 2**28  # of a mesh file
MAX_NODES = 10_000  # of a DAE scene, each instance counted
MAX_CORNERS = 30_000_000  # of the triangles of a DAE scene, each instance counted


def read_mesh(path: str | Path) -> Mesh:
    """The vertices (in the file's own unit; DAE files name theirs and are in m) and triangles of a mesh file."""
    path = Path(path)
    readers = {".stl": _stl, ".obj": _obj, ".dae": _dae}
    if path.suffix.lower() not in readers:
        raise ModelError(
            f"mesh {path.name}: files of kind {path.suffix!r} are not read; there are {', '.join(readers)}"
        )
    if not is_there(path):
        what = "is only a pointer of Git LFS" if path.is_file() else "does not exist"
        raise xml.MissingFileError(f"mesh file {path.name!r} {what}")
    try:
        vertices, triangles = readers[path.suffix.lower()](read_bounded(path, MAX_BYTES))
    except ModelError as error:
        raise xml.named_after(path, error) from None
    except (ValueError, IndexError, KeyError, StopIteration, OSError) as error:
        raise ModelError(f"mesh {path.name} cannot be read: {type(error).__name__} {error}") from None
    if len(vertices) == 0 or not np.isfinite(vertices).all():
        raise ModelError(
            f"mesh {path.name} has {len(vertices)} vertices" + ("" if len(vertices) == 0 else ", not all finite")
        )
    if triangles.size and not 0 <= triangles.min() <= triangles.max() < len(vertices):
        raise ModelError(f"mesh {path.name}: a triangle names a vertex that does not exist; there are {len(vertices)}")
    return vertices, triangles


def is_there(path: str | Path) -> bool:
    """Whether a mesh file exists; the pointer that Git LFS leaves in its place is none."""
    try:
        found = os.stat(path)
        if not stat.S_ISREG(found.st_mode) or found.st_size > LARGEST_POINTER:
            return stat.S_ISREG(found.st_mode)
        with open(path, "rb") as file:
            return not file.read().startswith(LFS_POINTER)
    except (OSError, ValueError):
        return False


def _merged(corners: Array) -> Mesh:
    """Equal corners of loose triangles (k, 3, 3) become one vertex."""
    vertices, index = np.unique(corners.reshape(-1, 3), axis=0, return_inverse=True)
    return vertices, index.reshape(-1, 3)


# --- STL --------------------------------------------------------------------------------------------------------------


def _stl(data: bytes) -> Mesh:
    count = int.from_bytes(data[80:STL_HEADER], "little") if len(data) >= STL_HEADER else -1
    if len(data) == STL_HEADER + STL_TRIANGLE * count:  # some binary files begin with "solid" too: the size decides
        triangle = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("extra", "<u2")])
        return _merged(np.frombuffer(data, triangle, count, STL_HEADER)["corners"].astype(float))
    if not data.lstrip()[:5].lower() == b"solid":
        raise ModelError(f"no STL: {len(data)} bytes where the header says {count} triangles, and no text either")
    lines = (line.split() for line in data.decode("ascii", "replace").splitlines())
    corners = [line[1:4] for line in lines if line and line[0].lower() == "vertex"]
    return _merged(np.array(corners, dtype=float).reshape(-1, 3, 3))


# --- OBJ --------------------------------------------------------------------------------------------------------------


def _obj(data: bytes) -> Mesh:
    vertices: list[list[str]] = []
    triangles: list[tuple[int, int, int]] = []
    for line in data.decode("utf-8", "replace").replace("\\\n", " ").splitlines():
        words = line.split()
        if words[:1] == ["v"]:
            vertices.append(words[1:4])
        elif words[:1] == ["f"]:
            corners = [int(word.split("/", 1)[0]) for word in words[1:]]
            corners = [c - 1 if c > 0 else len(vertices) + c for c in corners]  # negative ones count from the last
            triangles += [(corners[0], *edge) for edge in pairwise(corners[1:])]
    return np.array(vertices, dtype=float).reshape(-1, 3), np.array(triangles, dtype=int).reshape(-1, 3)


# --- DAE --------------------------------------------------------------------------------------------------------------


def _dae(data: bytes) -> Mesh:
    """All geometries of the scene, where its nodes put them, in metres.

    The file's up axis is not heeded: readers of robot descriptions have never done so, and robots rely on it.
    """
    root = xml.parse(data)
    by_id = {f"#{name}": element for element in _walk(root) if (name := element.get("id")) is not None}
    asset = root.child("asset")
    unit = None if asset is None else asset.child("unit")
    scale = float((unit.get("meter") if unit is not None else None) or 1)
    scene = _Scene(by_id)
    for scenes in root.all("library_visual_scenes"):
        for described in scenes.all("visual_scene"):
            for node in described.all("node"):
                scene.collect(node, np.diag([scale, scale, scale, 1.0]))
    return _joined(scene.parts)


def _walk(element: xml.Element) -> list[xml.Element]:
    found, waiting = [], [element]
    while waiting:
        found.append(waiting.pop())
        waiting.extend(found[-1].children)
    return found


class _Scene:
    """Geometries where the nodes of a DAE scene put them. Nodes may instance others: a few of them stand for many."""

    def __init__(self, by_id: dict[str, xml.Element]) -> None:
        self.by_id, self.parts = by_id, list[Mesh]()
        self.nodes = self.corners = 0
        self._geometries: dict[str, Mesh] = {}

    def collect(self, node: xml.Element, X: Array, depth: int = 0) -> None:
        """Add the geometries of a node and of those below it; X is where its parent stands."""
        self.nodes += 1
        if depth > xml.MAX_DEPTH:
            raise ModelError("nodes that contain themselves")
        if self.nodes > MAX_NODES:
            raise ModelError(f"its nodes stand for more than {MAX_NODES:,} nodes")
        for element in node.children:
            X = X @ _transform(element)
            if element.tag == "instance_geometry":
                self._place(str(element.get("url")), X)
            elif element.tag == "node":
                self.collect(element, X, depth + 1)
            elif element.tag == "instance_node":
                self.collect(self.by_id[str(element.get("url"))], X, depth + 1)

    def _place(self, url: str, X: Array) -> None:
        if url not in self._geometries:
            self._geometries[url] = _geometry(self.by_id[url], self.by_id)
        vertices, triangles = self._geometries[url]
        self.corners += len(vertices) + triangles.size
        if self.corners > MAX_CORNERS:
            raise ModelError(f"its triangles have more than {MAX_CORNERS:,} corners")
        self.parts.append((vertices @ X[:3, :3].T + X[:3, 3], triangles))


def _transform(element: xml.Element) -> Array:
    if element.tag not in ("matrix", "translate", "rotate", "scale"):
        return np.eye(4)
    numbers = np.array(element.text.split(), dtype=float)
    if element.tag == "matrix":
        return numbers.reshape(4, 4)
    if element.tag == "translate":
        return pose(p=numbers)
    if element.tag == "scale":
        return np.diag([*numbers, 1.0])
    return pose(rotation_about(numbers[:3] / np.linalg.norm(numbers[:3]), np.radians(numbers[3])))


def _geometry(geometry: xml.Element, by_id: dict[str, xml.Element]) -> Mesh:
    mesh = geometry.child("mesh")
    if mesh is None:
        raise ModelError(f"geometry {geometry.get('id')!r} is no mesh")
    parts = []
    for group in mesh.children:
        if group.tag in ("triangles", "polylist", "polygons"):
            inputs = group.all("input")
            corner = next(x for x in inputs if x.get("semantic") == "VERTEX")
            positions = _positions(by_id[str(corner.get("source"))], by_id)
            stride = 1 + max(int(x.get("offset") or 0) for x in inputs)
            parts.append((positions, _triangles(group, stride)[..., int(corner.get("offset") or 0)]))
    return _joined(parts)


def _positions(vertices: xml.Element, by_id: dict[str, xml.Element]) -> Array:
    named = next(x for x in vertices.all("input") if x.get("semantic") == "POSITION")
    source = by_id[str(named.get("source"))]
    numbers = source.child("float_array")
    if numbers is None:
        raise ModelError(f"source {source.get('id')!r} has no numbers")
    return np.array(numbers.text.split(), dtype=float).reshape(-1, 3)


def _triangles(group: xml.Element, stride: int) -> Array:
    """Index rows (k, 3, stride); polygons are cut into fans."""
    indices = [np.array(p.text.split(), dtype=int).reshape(-1, stride) for p in group.all("p")]
    if group.tag == "triangles":
        return np.concatenate([*indices, np.empty((0, stride), int)]).reshape(-1, 3, stride)
    counts = group.child("vcount")
    if counts is not None:
        ends = np.cumsum(np.array(counts.text.split(), dtype=int))[:-1]
        indices = [part for whole in indices for part in np.split(whole, ends)]
    fans = [np.stack([face[0], one, other]) for face in indices for one, other in pairwise(face[1:])]
    return np.array(fans, dtype=int).reshape(-1, 3, stride)


def _joined(parts: list[Mesh]) -> Mesh:
    starts = np.cumsum([0, *(len(vertices) for vertices, _ in parts)])
    vertices = np.concatenate([np.empty((0, 3)), *(vertices for vertices, _ in parts)])
    return vertices, np.concatenate(
        [np.empty((0, 3), int), *(triangles + start for (_, triangles), start in zip(parts, starts, strict=False))]
    )
