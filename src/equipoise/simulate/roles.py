"""Parts of a body by what they do, so that one scenario fits several robots.

Each role becomes a frame of the robot: "left foot" and "right foot" in the middle of the soles (x to the toes, z into the foot),
"left hand" and "right hand" in the middle of the palms (x to the fingers, z into the hand), "torso", "pelvis", "head".
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ..model.shapes import placement

if TYPE_CHECKING:
    from ..robot import Robot

Array = np.ndarray


@dataclass(frozen=True)
class Part:
    """Where a role's frame is on a robot.

    Attributes:
        link: frame that carries it; position (m) and rpy (rad) in it.
        size: half length along x and half width along y of the flat that touches, m; None where nothing is to touch.
    """

    link: str
    position: tuple[float, float, float] = (0.0, 0.0, 0.0)
    rpy: tuple[float, float, float] = (0.0, 0.0, 0.0)
    size: tuple[float, float] | None = None

    @property
    def X(self) -> Array:
        return placement(self.link, self.position, self.rpy)

    @property
    def corners(self) -> Array | None:
        """Of the flat, counter-clockwise from the front left, (4, 2)."""
        if self.size is None:
            return None
        x, y = self.size
        return np.array([(x, y), (-x, y), (-x, -y), (x, -y)])


@dataclass(frozen=True)
class Body:
    """What scenarios know of a robot.

    Attributes:
        height: of the centre of mass when it stands, m; lengths of a scenario are scaled with it.
        mass: kg; forces are scaled with it.
        parts: by role. posture: joints when it stands, where the description's own is not meant.
        locked: joints that have nothing to do here: fingers.
    """

    height: float
    mass: float
    parts: Mapping[str, Part]
    posture: Mapping[str, float] = field(default_factory=dict)
    locked: tuple[str, ...] = ()


def _both(left: Mapping[str, float], flipped: str, sides: tuple[str, str]) -> dict[str, float]:
    """Joints of both sides from the left's; those whose names hold one of the words of `flipped` change their sign."""
    words = flipped.split()
    right = {name.replace(*sides, 1): -x if any(word in name for word in words) else x for name, x in left.items()}
    return {**left, **right}


_UP, _HALF = 0.0, np.pi / 2
# A hand that hangs with its palm towards the thigh: x down, z outward on the left and on the right.
_LEFT_PALM, _RIGHT_PALM = (-_HALF, _HALF, _UP), (_HALF, _HALF, _UP)

_HUMAN = Body(
    height=0.971,
    mass=75.0,
    parts={
        "left foot": Part("left_foot", size=(0.127, 0.048)),
        "right foot": Part("right_foot", size=(0.127, 0.048)),
        "left hand": Part("left_hand", size=(0.093, 0.042)),
        "right hand": Part("right_hand", size=(0.093, 0.042)),
        "torso": Part("thorax", (0.0, 0.0, 0.15)),
        "pelvis": Part("pelvis"),
        "head": Part("head"),
    },
)
_JVRC1 = Body(
    height=0.861,
    mass=62.4,
    parts={
        "left foot": Part("L_ANKLE_P_S", (0.031, 0.0, -0.1077), size=(0.11, 0.045)),
        "right foot": Part("R_ANKLE_P_S", (0.031, 0.0, -0.1077), size=(0.11, 0.045)),
        "left hand": Part("L_WRIST_Y_S", (0.0, -0.032, -0.06), _LEFT_PALM, size=(0.035, 0.03)),
        "right hand": Part("R_WRIST_Y_S", (0.0, 0.032, -0.06), _RIGHT_PALM, size=(0.035, 0.03)),
        "torso": Part("WAIST_R_S", (0.0, 0.0, 0.2)),
        "pelvis": Part("PELVIS_S"),
        "head": Part("NECK_P_S"),
    },
    posture={
        **_both(
            {
                "L_HIP_P": -0.38,
                "L_KNEE": 0.72,
                "L_ANKLE_P": -0.34,
                "L_SHOULDER_P": -0.052,
                "L_SHOULDER_R": 0.17,
                "L_ELBOW_P": -0.52,
            },
            "SHOULDER_R",
            ("L_", "R_"),
        ),
        "WAIST_P": 0.13,
    },
    locked=("R_UTHUMB", "L_UTHUMB"),
)
_TALOS = Body(
    height=0.877,
    mass=90.3,
    parts={
        "left foot": Part("left_sole_link", size=(0.1, 0.06)),
        "right foot": Part("right_sole_link", size=(0.1, 0.06)),
        "left hand": Part("gripper_left_base_link", (0.0, -0.05, -0.03), _LEFT_PALM, size=(0.02, 0.03)),
        "right hand": Part("gripper_right_base_link", (0.0, -0.05, -0.03), _LEFT_PALM, size=(0.02, 0.03)),
        "torso": Part("torso_2_link"),
        "pelvis": Part("base_link"),
        "head": Part("head_2_link"),
    },
    posture=_both(
        {
            "leg_left_3_joint": -0.411354, "leg_left_4_joint": 0.859395, "leg_left_5_joint": -0.448041,
            "arm_left_1_joint": 0.25847, "arm_left_2_joint": 0.173046, "arm_left_4_joint": -0.525366,
            "gripper_left_joint": -0.1,
        },
        "arm_left_1 arm_left_2",
        ("left", "right"),
    ),
    locked=("gripper_left_joint", "gripper_right_joint"),
)  # fmt: skip
_G1 = Body(
    height=0.676,
    mass=33.3,
    parts={
        "left foot": Part("left_ankle_roll_link", (0.035, 0.0, -0.035), size=(0.085, 0.03)),
        "right foot": Part("right_ankle_roll_link", (0.035, 0.0, -0.035), size=(0.085, 0.03)),
        "left hand": Part("left_rubber_hand", (0.07, -0.03, 0.0), (-_HALF, 0.0, 0.0), size=(0.04, 0.02)),
        "right hand": Part("right_rubber_hand", (0.07, 0.03, 0.0), (_HALF, 0.0, 0.0), size=(0.04, 0.02)),
        "torso": Part("torso_link", (0.0, 0.0, 0.15)),
        "pelvis": Part("pelvis"),
        "head": Part("head_link"),
    },
    posture=_both(
        {
            "left_hip_pitch_joint": -0.3, "left_knee_joint": 0.6, "left_ankle_pitch_joint": -0.3, "left_elbow_joint": 0.6,
            "left_shoulder_roll_joint": 0.2,
        },
        "shoulder_roll",
        ("left", "right"),
    ),
)  # fmt: skip

BODIES: Mapping[str, Body] = {"human": _HUMAN, "jvrc1": _JVRC1, "talos": _TALOS, "g1": _G1}
ROLES = tuple(dict.fromkeys(role for body in BODIES.values() for role in body.parts))


def embodied(source: str) -> tuple[Robot, Body | None]:
    """A robot with a frame for each role; other robots than those of the table come as they are."""
    from ..robot import load

    body = BODIES.get(source)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        robot = load(source, locked=body.locked or None) if body else load(source)
        for role, part in (body.parts if body else {}).items():
            if role not in robot.frames:
                robot = robot.with_frame(role, part.link, part.X)
    return robot, body


def standing(robot: Robot, body: Body | None) -> Array:
    """Where a robot stands on the ground with its feet, or as its description says."""
    if body is None or not robot.floating:
        return robot.standing()
    q = robot.standing()
    for name, position in body.posture.items():
        if name in robot.joints:
            q[robot.joints[name].q] = position
    feet = [robot.pose(q, role) for role in body.parts if role.endswith("foot")]
    R = feet[0][:3, :3].T  # soles level with the ground
    X = robot.pose(q, str(robot.base_link))
    turned = R @ X[:3, :3]
    from ..algebra.quaternions import from_rotation

    q[3:7] = from_rotation(turned)
    q[:3] = R @ q[:3]
    lowest = min(robot.pose(q, role)[2, 3] for role in body.parts if role.endswith("foot"))
    q[2] -= lowest
    middle = np.mean([robot.pose(q, role)[:2, 3] for role in body.parts if role.endswith("foot")], axis=0)
    q[:2] -= middle
    return q
