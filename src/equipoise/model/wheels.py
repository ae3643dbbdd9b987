"""What moves a robot over the ground without legs: ends that roll, and joints that stand for a base that drives."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from .limbs import Limb
from .skeleton import Skeleton

Array = np.ndarray
Extent = Callable[[int, Array], float]  # (body, direction in its axes) → m, how far the body reaches along it
UP = np.array([0.0, 0.0, 1.0])
TURNS = 4 * np.pi  # rad: a range that counts as no limits
LEVEL = 0.2  # sine of how far from level an axle may be
ROUND = 0.1  # of the wheel's radius, or 1 cm: how far its centre of mass may be from its axis
EVEN = 0.05  # of the radius: by how much it may differ to the side
LOW = 0.25  # of the robot's height at zero: where wheels are
WRIST = 4  # joints of a limb from which on a single end that turns without limits is a wrist


def wheels_of(limbs: Sequence[Limb], extent: Extent) -> dict[Limb, int]:
    """Returns the body that rolls of each limb that has one. A single one at the end of an arm is its wrist."""
    found = {limb: i for limb in limbs if (i := _wheel_of(limb, extent)) is not None}
    return found if len(found) > 1 else {limb: i for limb, i in found.items() if len(limb.chain) < WRIST}


def _wheel_of(limb: Limb, extent: Extent) -> int | None:
    """The body of a limb that rolls: its end, or one that carries nothing but rollers."""
    found = None
    for i in reversed(limb.chain):
        if not spins(limb.skeleton, i):
            break
        found = i if _rolls(limb.skeleton, i, extent) else found
    return found


def _rolls(skeleton: Skeleton, i: int, extent: Extent) -> bool:
    """Whether the axis of a body is level and through its own centre, low down."""
    axis = skeleton.rest.R[i] @ skeleton.robot.tree.bodies[i].joint.spin()[:, 0]
    com = skeleton.rest.R[i] @ skeleton.com[i]
    off = float(np.linalg.norm(com - axis * (axis @ com)))
    down = extent(i, -skeleton.rest.R[i].T @ UP)
    side = extent(i, skeleton.rest.R[i].T @ np.cross(axis, UP))
    is_round = abs(down - side) <= EVEN * max(down, 1e-9)
    lowest = float(skeleton.rest.p[:-1, 2].min()) if skeleton.count else 0.0
    low = float(skeleton.rest.p[i][2]) - max(down, 0.0) <= lowest + LOW * float(np.ptp(skeleton.rest.p[:-1, 2]))
    return abs(axis[2]) < LEVEL and off <= max(ROUND * down, 0.01) and low and (is_round or down <= 0)


def spins(skeleton: Skeleton, i: int) -> bool:
    """Whether a body turns without limits."""
    joint = skeleton.robot.model.joints[skeleton.joint(i)]
    return joint.type.name in ("continuous", "revolute") and joint.limits.upper - joint.limits.lower >= TURNS


def slides_of(skeleton: Skeleton) -> tuple[str, ...]:
    """Joints that stand for a base that drives: a planar one, or two level slides longer than what they carry, below
    all else."""
    found, planar, i = [], False, skeleton.root
    while len(children := skeleton.children[i]) == 1:
        i = children[0]
        joint = skeleton.robot.model.joints[skeleton.joint(i)]
        planar = planar or joint.type.name == "planar"
        along = (
            skeleton.rest.R[i] @ skeleton.robot.tree.bodies[i].joint.slide()[:, 0]
            if joint.type.name == "prismatic"
            else UP
        )
        if joint.type.name == "planar" or (abs(along[2]) < LEVEL and skeleton.travel(i) == 0.0):
            found.append(joint.name)
    return tuple(found) if planar or len(found) >= 2 else ()
