"""Ends that roll."""

from __future__ import annotations

import numpy as np

from .limbs import Limb
from .patches import Surfaces

UP = np.array([0.0, 0.0, 1.0])
TURNS = 4 * np.pi  # rad: a range that counts as no limits
LEVEL = 0.2  # sine of how far from level an axle may be
ROUND = 0.1  # of the wheel's radius, or 1 cm: how far its centre of mass may be from its axis
EVEN = 0.05  # of the radius: by how much it may differ to the side
LOW = 0.25  # of the robot's height at zero: where wheels are


def is_wheel(limb: Limb, surfaces: Surfaces) -> bool:
    """Whether a limb ends in a body that turns without limits about a level axis through its own centre, low down."""
    skeleton, i = limb.skeleton, limb.end
    joint = skeleton.robot.model.joints[skeleton.joint(i)]
    if joint.type.name not in ("continuous", "revolute") or joint.limits.upper - joint.limits.lower < TURNS:
        return False
    axis = limb.axes[-1]
    com = skeleton.rest.R[i] @ skeleton.com[i]
    off = float(np.linalg.norm(com - axis * (axis @ com)))
    down = surfaces.extent(i, -skeleton.rest.R[i].T @ UP)
    side = surfaces.extent(i, skeleton.rest.R[i].T @ np.cross(axis, UP))
    is_round = abs(down - side) <= EVEN * max(down, 1e-9)
    lowest = float(skeleton.rest.p[:-1, 2].min()) if skeleton.count else 0.0
    low = float(skeleton.rest.p[i][2]) <= lowest + LOW * float(np.ptp(skeleton.rest.p[:-1, 2]))
    return abs(axis[2]) < LEVEL and off <= max(ROUND * down, 0.01) and low and (is_round or down <= 0)
