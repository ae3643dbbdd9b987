"""Standing on the ground."""

from __future__ import annotations

import numpy as np

from ..algebra.quaternions import NUMBERS
from .types import Model, Shape

Array = np.ndarray


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
    """The standing posture, or neutral; a floating base is lifted so that the lowest point touches the ground."""
    q = np.array(neutral)
    for name, position in model.standing.items():
        joint = model.joints.get(name)
        if joint is not None and joint.mimic is None and len(position) == joint.type.nq:
            q[joint.q] = position
    if model.base is not None:
        poses = link_poses(model, q)
        q[2] -= min(_lowest(X, model.links[name].collisions) for name, X in poses.items() if name is not None)
    return q


def _lowest(X: Array, shapes: tuple[Shape, ...]) -> float:
    """Height of the lowest point of a link: of its shapes, or of its origin where they are unknown."""
    heights = [_lowest_of_shape(X @ shape.X, shape) for shape in shapes if shape.kind not in ("mesh", "plane")]
    return min(heights, default=float(X[2, 3]))


def _lowest_of_shape(X: Array, shape: Shape) -> float:
    down = np.abs(X[2, :3])
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
