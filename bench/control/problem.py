"""The control problems of the benchmark, as plain data that every side reads.

Peers run without our package's dependencies, so this file needs nothing but the standard library.

A torque problem asks for accelerations a, contact forces f and torques that

- obey M a + h = Sᵀ tau + Jᵀ f, and keep both soles still: J a + J̇ v = −kp e − kd J v, strictly;
- keep the force at every corner of a sole inside the pyramid |t·f| ≤ friction · n·f, and the sum of the normal forces
  of a sole between its bounds; keep |tau| ≤ effort and |v + dt a| ≤ velocity for every joint, where asked the
  positions too;
- minimise Σ weight ‖a_task − a_wanted‖² over the centre of mass, the posture and the hands, plus a little ‖f‖².

A velocity problem asks for v that minimises the weighted task errors within position and velocity limits.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

Numbers = tuple[float, ...]


@dataclass(frozen=True)
class Gain:
    """A task's weight in the cost, and its spring and damper: wanted acceleration −kp error − kd rate."""

    weight: float
    kp: float

    @property
    def kd(self) -> float:
        """Critical damping."""
        return 2.0 * self.kp**0.5


@dataclass(frozen=True)
class Costs:
    """Of a velocity problem: ½ Σ ‖cost · (J v dt + gain · error)‖² + ½ damping ‖v dt‖², as Pink and mink write it."""

    foot: float = 10.0
    com: float = 5.0
    posture: float = 0.1
    damping: float = 1e-6
    gain: float = 0.1  # share of the error that one step should take away


@dataclass(frozen=True)
class BenchProblem:
    """One problem. Arrays over joints are in the order of the robot's own q, without the base."""

    name: str
    level: str  # "torque" or "velocity"
    robot: str
    posture: Mapping[str, float]  # the joints around which states are taken; those not named are zero
    feet: Mapping[str, str]  # contact frame → link it is on
    sole: tuple[Numbers, Numbers]  # centre of the sole in the link, and half length and half width, m; its normal is z
    locked: tuple[str, ...] = ()
    gravity: Numbers = (0.0, 0.0, -9.81)
    dt: float = 0.005  # s, over which velocity and position limits look ahead
    friction: float = 0.3
    normal_force: tuple[float, float] = (5.0, 1500.0)  # N, sum over one sole
    force_weight: float = 1e-6
    com: Gain = Gain(1.0, 30.0)
    joints: Gain = Gain(0.1, 20.0)
    contact: Gain = Gain(1e3, 30.0)  # its weight counts where contacts are soft
    hand: Gain = Gain(1.0, 30.0)
    costs: Costs = Costs()
    hands: tuple[str, ...] = ()
    position_limits: bool = False
    com_offset: Numbers = (0.0, 0.0, 0.0)  # of the wanted centre of mass from the one of the posture, m
    posture_offset: Mapping[str, float] = field(default_factory=dict)  # of the wanted joints from the posture, rad
    effort_scale: Mapping[str, float] = field(default_factory=dict)  # factors on the robot's own torque limits
    velocity_limit: Mapping[str, float] = field(default_factory=dict)  # rad/s, instead of the robot's own

    @property
    def corners(self) -> tuple[Numbers, ...]:
        """The four corners of a sole in its contact frame, m."""
        x, y = self.sole[1]
        return ((-x, -y, 0.0), (-x, y, 0.0), (x, -y, 0.0), (x, y, 0.0))

    def as_plain(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_plain(cls, data: Mapping[str, Any]) -> BenchProblem:
        """The problem of `as_plain`, also after a journey through JSON."""
        gains = {key: Gain(**data[key]) for key in ("com", "joints", "contact", "hand")}
        rows = {key: tuple(value) for key, value in data.items() if isinstance(value, list)}
        centre, halves = data["sole"]
        shapes = {"sole": (tuple(centre), tuple(halves)), "costs": Costs(**data["costs"])}
        return cls(**{**data, **rows, **gains, **shapes})


def _mirrored(left: Mapping[str, float], flipped: tuple[str, ...], sides: tuple[str, str]) -> dict[str, float]:
    """Both sides' joints from the left side's; `flipped` joints change their sign on the other side."""
    right = {name.replace(*sides, 1): -x if name in flipped else x for name, x in left.items()}
    return {**left, **right}


_TALOS_LEFT = {
    "leg_left_3_joint": -0.411354, "leg_left_4_joint": 0.859395, "leg_left_5_joint": -0.448041,
    "arm_left_1_joint": 0.25847, "arm_left_2_joint": 0.173046, "arm_left_4_joint": -0.525366,
    "gripper_left_joint": -0.1,
}  # fmt: skip
_TALOS = BenchProblem(
    name="talos, none active",
    level="torque",
    robot="talos",
    posture=_mirrored(_TALOS_LEFT, ("arm_left_1_joint", "arm_left_2_joint"), ("left", "right")),
    feet={"left_sole": "leg_left_6_link", "right_sole": "leg_right_6_link"},
    sole=((0.0, 0.0, -0.107), (0.1, 0.06)),
)

_ARMS = tuple(f"arm_{side}_{k}_joint" for side in ("left", "right") for k in range(1, 8))
_UPPER = (
    *_ARMS,
    "head_1_joint",
    "head_2_joint",
    "torso_1_joint",
    "torso_2_joint",
    "gripper_left_joint",
    "gripper_right_joint",
)
# Every joint above the legs wants to go faster than it may, one this way, the next that way: twenty velocity limits are
# active in every state, and no force is near its bounds, so that the contact model does not matter.
_TALOS_TWENTY = replace(
    _TALOS,
    name="talos, twenty active",
    posture_offset={name: 0.63 * (-1) ** (k + 1) for k, name in enumerate(_UPPER)},
    velocity_limit=dict.fromkeys(_UPPER, 0.03),
)
# Limits of all kinds: velocities of the arms, torques of wrists and legs, and so friction and the edges of the soles.
_TALOS_MIXED = replace(
    _TALOS,
    name="talos, mixed",
    posture_offset=dict.fromkeys((*_ARMS, "head_1_joint", "head_2_joint"), 0.7),
    velocity_limit={name: 0.03 for name in (*_ARMS, "head_1_joint", "head_2_joint") if name[-7] not in "67"},
    effort_scale={
        **{name: 0.06 for name in _ARMS if name[-7] in "67"},
        **{f"leg_{side}_{k}_joint": x for side in ("left", "right") for k, x in ((2, 0.06), (4, 0.07))},
    },
)

_JVRC1_RIGHT = {
    "R_HIP_P": -0.38, "R_KNEE": 0.72, "R_ANKLE_P": -0.34,
    "R_SHOULDER_P": -0.052, "R_SHOULDER_R": -0.17, "R_ELBOW_P": -0.52,
}  # fmt: skip
_JVRC1 = BenchProblem(
    name="jvrc1",
    level="torque",
    robot="jvrc1",
    posture={**_mirrored(_JVRC1_RIGHT, ("R_SHOULDER_R",), ("R_", "L_")), "WAIST_P": 0.13},
    locked=("R_UTHUMB", "L_UTHUMB"),  # the fingers follow them; no side has anything to do with fingers
    feet={"left_sole": "L_ANKLE_P_S", "right_sole": "R_ANKLE_P_S"},
    sole=((0.03, 0.0, -0.1077), (0.1, 0.04)),
    hands=("l_wrist", "r_wrist"),
    position_limits=True,
)

_G1_LEFT = {
    "left_hip_pitch_joint": -0.3,
    "left_knee_joint": 0.6,
    "left_ankle_pitch_joint": -0.3,
    "left_elbow_joint": 0.6,
    "left_shoulder_roll_joint": 0.2,
}
_G1 = BenchProblem(
    name="g1 velocities",
    level="velocity",
    robot="g1",
    posture=_mirrored(_G1_LEFT, ("left_shoulder_roll_joint",), ("left", "right")),
    feet={"left_sole": "left_ankle_roll_link", "right_sole": "right_ankle_roll_link"},
    sole=((0.035, 0.0, -0.035), (0.085, 0.025)),
    position_limits=True,
    com_offset=(0.02, 0.01, -0.02),
)

PROBLEMS: dict[str, BenchProblem] = {
    problem.name: problem for problem in (_TALOS, _TALOS_TWENTY, _TALOS_MIXED, _JVRC1, _G1)
}
