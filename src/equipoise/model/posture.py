"""Standing on the ground."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ..algebra.quaternions import NUMBERS
from ..errors import ModelError
from .meshes import read_mesh
from .types import Model, Shape

Array = np.ndarray
LOW = 0.3  # of the robot's height: meshes of links above need not be read to find the lowest point


@lru_cache(maxsize=256)
def _corners(path: str) -> Array:
    """(n, 3) vertices of a mesh file; its origin where it cannot be read, which was warned of at load."""
    try:
        return read_mesh(path)[0]
    except ModelError:
        return np.zeros((1, 3))


def link_poses(model: Model, q: Array) -> dict[str | None, Array]:
    """Pose of every link at q, by a plain walk over the joints."""
    X: dict[str | None, Array] = {None: np.eye(4)}
    waiting = list(model.joints.values())
    while waiting:
        later = []
        for joint in waiting:
            if joint.parent not in X:
                later.append(joint)
                continue
            s = q[joint.q] if joint.mimic is None else joint.mimic.multiplier * q[joint.q] + joint.mimic.offset
            moved = np.eye(4)
            moved[:3, :3], moved[:3, 3] = joint.type.pose(s if joint.moving else (), NUMBERS)
            X[joint.child] = X[joint.parent] @ joint.origin @ moved @ joint.tail
        waiting = later
    return X


def standing(model: Model, neutral: Array) -> Array:
    """The standing posture, or neutral; a floating base is lifted so that the lowest point touches the ground: of
    collision shapes, or of what is drawn where the description has none."""
    q = np.array(neutral)
    for name, position in model.standing.items():
        joint = model.joints.get(name)
        if joint is not None and joint.mimic is None and len(position) == joint.type.nq:
            q[joint.q] = position
    if model.base is not None:
        poses = {name: X for name, X in link_poses(model, q).items() if name is not None}
        heights = [X[2, 3] for X in poses.values()]
        near = min(heights) + LOW * (max(heights) - min(heights))
        drawn = not any(link.collisions for link in model.links.values())
        shapes = {name: link.visuals if drawn else link.collisions for name, link in model.links.items()}
        q[2] -= min(_lowest(X, shapes[name], X[2, 3] <= near) for name, X in poses.items())
    return q


def _lowest(X: Array, shapes: tuple[Shape, ...], meshes: bool) -> float:
    """Height of the lowest point of a link: of its shapes, or of its origin where they are unknown."""
    left_out = ("plane",) if meshes else ("plane", "mesh")
    heights = [_lowest_of_shape(X @ shape.X, shape) for shape in shapes if shape.kind not in left_out]
    return min(heights, default=float(X[2, 3]))


def _lowest_of_shape(X: Array, shape: Shape) -> float:
    down = np.abs(X[2, :3])
    if shape.kind == "mesh":
        return float(X[2, 3] + (_corners(str(shape.mesh)) * np.array(shape.size) @ X[2, :3]).min())
    if shape.kind == "box":
        reach = down @ np.array(shape.size) / 2
    elif shape.kind == "cylinder":
        reach = shape.size[0] * np.hypot(down[0], down[1]) + shape.size[1] / 2 * down[2]
    elif shape.kind == "capsule":
        reach = shape.size[0] + shape.size[1] / 2 * down[2]
    elif shape.kind == "ellipsoid":
        reach = np.linalg.norm(down * np.array(shape.size))
    else:
        reach = shape.size[0]
    return float(X[2, 3] - reach)
