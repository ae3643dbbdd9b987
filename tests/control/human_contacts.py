"""Soles and palms of the built-in human as flat contacts."""

from __future__ import annotations

import numpy as np

import equipoise as eq

GROUND = eq.Plane((0.0, 0.0, 1.0))
# Arms overhead, wrists bent: from here a handstand is near.
HANDSTAND = {
    f"{side}_{joint}": position
    for side in ("left", "right")
    for joint, position in {
        "shoulder_pitch": -3.0,
        "elbow": -0.1,
        "hip_pitch": 0.0,
        "knee": 0.05,
        "ankle_pitch": 0.5,
    }.items()
} | {"left_wrist_roll": 1.4, "right_wrist_roll": -1.4}


def flat(robot: eq.Robot, frame: str, friction: float = 0.7) -> eq.FlatContact:
    corners = np.array([robot.frames[f"{frame}_corner_{k}"].X[:2, 3] for k in range(4)])
    return eq.FlatContact(frame, corners=corners, friction=friction)


def flat_at(x: float, y: float, z: float = 0.0) -> np.ndarray:
    X = np.eye(4)
    X[:3, 3] = x, y, z
    return X
