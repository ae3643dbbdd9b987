"""A configuration put on the ground with its feet."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from ..algebra.quaternions import from_rotation
from ..algebra.rigid import smallest_rotation_up
from ..model.skeleton import Skeleton
from .parts import Part

if TYPE_CHECKING:
    from ..robot import Robot
    from .body import Body

Array = np.ndarray


def grounded(robot: Robot, q: Array, feet: Mapping[str, Part], up: Array, front: Array) -> Array:
    """q with the base moved: soles level, or three points and more on the ground, their middle at the origin, facing
    +x.

    Args:
        feet: parts by role. up, front: (3,) in the base's axes.
    """
    upright = np.stack([front, np.cross(up, front), up])
    upright[0] = np.cross(upright[1], upright[2])
    q = _placed(q, upright / np.linalg.norm(upright, axis=1)[:, None], np.zeros(3))
    poses = _frames(robot, q, feet)
    points = np.concatenate(
        [X[:3, 3] + part.points @ X[:3, :3].T for X, part in zip(poses, feet.values(), strict=True)]
    )
    level = _level(poses, feet, points)
    q = _placed(q, level @ upright, np.zeros(3))
    points = points @ level.T
    middle = np.mean([X[:3, 3] @ level.T for X in poses], axis=0)
    return _placed(q, level @ upright, -np.array([middle[0], middle[1], points[:, 2].min()]))


def foot_points(body: Body) -> Array:
    """(n, 3) all points that touch in the standing posture, m, in the world."""
    poses = _frames(body.robot, body.standing, body.feet)
    parts = body.feet.values()
    return np.concatenate([X[:3, 3] + part.points @ X[:3, :3].T for X, part in zip(poses, parts, strict=True)])


def _placed(q: Array, R: Array, p: Array) -> Array:
    q = q.copy()
    q[:3], q[3:7] = p, from_rotation(R)
    return q


def _frames(robot: Robot, q: Array, feet: Mapping[str, Part]) -> list[Array]:
    skeleton = Skeleton(robot)
    motion = skeleton.at(q)
    found = []
    for part in feet.values():
        body, X = robot.place(part.link)
        X_W = np.eye(4)
        X_W[:3, :3], X_W[:3, 3] = motion.R[body], motion.p[body]
        found.append(X_W @ X @ part.X)
    return found


def _level(poses: list[Array], feet: Mapping[str, Part], points: Array) -> Array:
    """The rotation that makes the soles level: by their normals, or by the plane through three points or more."""
    flat = [X[:3, 2] for X, part in zip(poses, feet.values(), strict=True) if part.contact == "flat"]
    if flat:
        normal = np.mean(flat, axis=0)
    elif len(points) >= 3:
        _, _, turn = np.linalg.svd(points - points.mean(axis=0))
        normal = turn[2] * np.sign(turn[2][2] or 1.0)
    else:
        return np.eye(3)
    return smallest_rotation_up(normal / np.linalg.norm(normal))
