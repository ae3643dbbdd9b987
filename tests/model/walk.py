"""Forward kinematics of a Model in a few lines of NumPy, as an oracle for tests."""

from __future__ import annotations

import numpy as np

from equipoise.algebra import rigid
from equipoise.algebra.quaternions import NUMBERS
from equipoise.model.types import Joint, Model


def neutral(model: Model) -> np.ndarray:
    """The zero configuration."""
    return _configuration(model, {})


def standing(model: Model) -> np.ndarray:
    """The standing posture."""
    return _configuration(model, model.standing)


def joint_pose(joint: Joint, q: np.ndarray) -> np.ndarray:
    """Pose of the child link in the parent link, 4×4."""
    coordinates = q[joint.q]
    if joint.mimic is not None:
        coordinates = joint.mimic.multiplier * coordinates + joint.mimic.offset
    return joint.origin @ rigid.pose(*joint.type.pose(coordinates, NUMBERS)) @ joint.tail


def link_poses(model: Model, q: np.ndarray) -> dict[str, np.ndarray]:
    """Pose of every link in the world, 4×4, by name."""
    poses: dict[str | None, np.ndarray] = {None: np.eye(4)}
    waiting = list(model.joints.values())
    while waiting:
        ready = [joint for joint in waiting if joint.parent in poses]
        assert ready, "the joints are not one tree"
        for joint in ready:
            poses[joint.child] = poses[joint.parent] @ joint_pose(joint, q)
        waiting = [joint for joint in waiting if joint.child not in poses]
    return {name: X for name, X in poses.items() if name is not None}


def frame_pose(model: Model, q: np.ndarray, name: str) -> np.ndarray:
    """Pose of a frame in the world, 4×4."""
    frame = model.frames[name]
    return frame.X if frame.parent is None else link_poses(model, q)[frame.parent] @ frame.X


def com(model: Model, q: np.ndarray) -> np.ndarray:
    """Centre of mass of the robot in the world."""
    poses = link_poses(model, q)
    parts = [link.inertia.about(poses[link.name]) for link in model.links.values() if link.inertia is not None]
    return sum(moment for _, moment, _ in parts) / sum(mass for mass, _, _ in parts)


def _configuration(model: Model, positions) -> np.ndarray:
    q = np.zeros(model.nq)
    for joint in model.joints.values():
        if joint.mimic is None:
            q[joint.q] = positions.get(joint.name, joint.type.neutral())
    return q
