"""Robots that bodies are tried on, with what a person sees at a glance: feet, sides and front."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
import support

import equipoise as eq
from equipoise.model import installed, library

FOUR = ("left front foot", "right front foot", "left hind foot", "right hind foot")
TWO = ("left foot", "right foot")


@dataclass(frozen=True)
class Known:
    """What is true of a robot: the links of its feet by role, and its front in the base's axes."""

    source: str
    feet: dict[str, str]
    front: tuple[float, float, float] = (1.0, 0.0, 0.0)
    hands: tuple[str, ...] = ()


def _four(lf: str, rf: str, lh: str, rh: str) -> dict[str, str]:
    return dict(zip(FOUR, (lf, rf, lh, rh), strict=True))


def _two(left: str, right: str) -> dict[str, str]:
    return dict(zip(TWO, (left, right), strict=True))


_UNITREE = _four("FL_calf", "FR_calf", "RL_calf", "RR_calf")
_SOLO = _four("FL_LOWER_LEG", "FR_LOWER_LEG", "HL_LOWER_LEG", "HR_LOWER_LEG")
_G1 = _two("left_ankle_roll_link", "right_ankle_roll_link")
_G1_HANDS = ("left_rubber_hand", "right_rubber_hand")
_THOR = _two("l_leg_foot_link", "r_leg_foot_link")
_TALOS = _two("leg_left_6_link", "leg_right_6_link")
_TALOS_HANDS = ("gripper_left_base_link", "gripper_right_base_link")

# Robots of the package and of example-robot-data, by name.
NAMED = {
    "human": Known("human", _two("left_foot", "right_foot"), hands=("left_hand", "right_hand")),
    "quadruped": Known(
        "quadruped", _four("front_left_shank", "front_right_shank", "hind_left_shank", "hind_right_shank")
    ),
    "jvrc1": Known("jvrc1", _two("L_ANKLE_P_S", "R_ANKLE_P_S"), hands=("L_WRIST_Y_S", "R_WRIST_Y_S")),
    "talos": Known("talos", _TALOS, hands=_TALOS_HANDS),
    "talos_full": Known("talos_full", _TALOS, hands=_TALOS_HANDS),
    "g1": Known("g1", _G1, hands=_G1_HANDS),
    "g1_with_hands": Known("g1_with_hands", _G1, hands=("left_hand_palm_link", "right_hand_palm_link")),
    "romeo": Known("romeo", _two("l_ankle", "r_ankle"), hands=("l_wrist", "r_wrist")),
    "icub": Known("icub", _two("l_foot", "r_foot"), (-1.0, 0.0, 0.0), hands=("l_hand", "r_hand")),
    "simple_humanoid": Known("simple_humanoid", _two("l_ankle", "r_ankle"), hands=("l_wrist", "r_wrist")),
    "bolt": Known("bolt", _two("FL_LOWER_LEG", "FR_LOWER_LEG")),
    "a1": Known("a1", _UNITREE),
    "b1": Known("b1", _UNITREE),
    "b1_z1": Known("b1_z1", _UNITREE, hands=("gripperStator",)),
    "go1": Known("go1", _UNITREE),
    "go2": Known("go2", _UNITREE),
    "laikago": Known("laikago", _UNITREE),
    "hyq": Known("hyq", _four("lf_lowerleg", "rf_lowerleg", "lh_lowerleg", "rh_lowerleg")),
    "anymal_b": Known("anymal_b", _four("LF_SHANK", "RF_SHANK", "LH_SHANK", "RH_SHANK")),
    "anymal_b_kinova": Known(
        "anymal_b_kinova", _four("LF_SHANK", "RF_SHANK", "LH_SHANK", "RH_SHANK"), hands=("j2s6s200_link_6",)
    ),
    "anymal_c": Known("anymal_c", _four("LF_shank_fixed", "RF_shank_fixed", "LH_shank_fixed", "RH_shank_fixed")),
    "solo8": Known("solo8", _SOLO),
    "solo12": Known("solo12", _SOLO),
}
# Other files of example-robot-data, below its folder.
FILES = {
    "human_36": Known(
        "human_description/robots/human.urdf", _two("left_foot", "right_foot"), hands=("left_hand", "right_hand")
    ),  # y up
    "pybullet_quadruped": Known(
        "quadruped_description/urdf/quadruped.urdf",
        _four("FL_shank", "FR_shank", "BL_shank", "BR_shank"),
        (0.0, 1.0, 0.0),
    ),
    "alexander": Known("alexander_description/urdf/alexander_v1.lowerBodyOnly.urdf", _two("LEFT_FOOT", "RIGHT_FOOT")),
}
# Files of the folder that EQUIPOISE_ROBOTS names; most come without their meshes.
OTHERS = {
    "cassie_urdf": Known("cassie/cassie_v4.urdf", _two("leftfoot", "rightfoot")),
    "cassie_mjcf": Known("cassie/mjcf/cassie_nomesh.xml", _two("left-foot", "right-foot")),
    "anymal_mjcf": Known("anymal_c/mjcf/anymal_c_nomesh.xml", _four("LF_SHANK", "RF_SHANK", "LH_SHANK", "RH_SHANK")),
    "hrp2": Known("hrp2/hrp2.urdf", _two("LLEG_LINK5", "RLEG_LINK5"), hands=("LARM_LINK6", "RARM_LINK6")),
    "hrp4c": Known(
        "hrp4c/HRP4Cmain.urdf", _two("L_ANKLE_R_LINK", "R_ANKLE_R_LINK"), hands=("L_WRIST_R_LINK", "R_WRIST_R_LINK")
    ),
    "poppy": Known(
        "poppy_humanoid/Poppy_Humanoid.urdf",
        _two("l_foot", "r_foot"),
        (0.0, -1.0, 0.0),
        hands=("l_forearm", "r_forearm"),
    ),
    "jvrc1_file": Known("jvrc1/jvrc1.urdf", _two("L_ANKLE_P_S", "R_ANKLE_P_S"), hands=("L_WRIST_Y_S", "R_WRIST_Y_S")),
    "solo12_file": Known("solo12/solo12.urdf", _SOLO),
    "thormang3": Known("thormang3/thormang3.urdf", _THOR, hands=("l_arm_wr_p_link", "r_arm_wr_p_link")),
    "thormang3_27": Known("thormang3/thormang3_sheet_27dof.urdf", _THOR, hands=("l_arm_wr_p_link", "r_arm_wr_p_link")),
    "g1_23": Known(
        "unitree_g1/g1_23dof_rev_1_0.urdf", _G1, hands=("left_wrist_roll_rubber_hand", "right_wrist_roll_rubber_hand")
    ),
    "g1_mjcf": Known("unitree_g1/mjcf/g1_nomesh.xml", _G1, hands=("left_wrist_yaw_link", "right_wrist_yaw_link")),
}
ALL = {**NAMED, **FILES, **OTHERS}


def marked(names: Iterable[str], *marks: pytest.MarkDecorator) -> list:
    """Returns the names as parameters of a test, robots that no package brings marked as further ones."""
    return support.marked(names, OTHERS, *marks)


# Robots without feet, with what they are.
FOOTLESS = {
    "arm6": "arm",
    "arm7": "arm",
    "ur5": "arm",
    "panda": "arm",
    "kinova": "arm",
    "so100": "arm",
    "tiago": "mobile manipulator",
    "tiago_dual": "mobile manipulator",
    "tiago_pro": "mobile manipulator",
    "centauro": "mobile manipulator",
    "pr2": "2 arms",
    "baxter": "2 arms",
    "alex": "2 arms",
    "iris": "no limbs",
}


@cache
def robot(name: str) -> eq.Robot:
    """A robot of the tables above; skipped by name where its package or folder is not there."""
    known = ALL.get(name)
    source: str | Path = name if known is None or name in NAMED else known.source
    if name in FILES:
        folder = installed.example_robots_folder()
        source = Path("missing") if folder is None else folder / FILES[name].source
    if name in OTHERS:
        source = support.robots_folder() / OTHERS[name].source
    missing = not source.is_file() if isinstance(source, Path) else library.find(source) is None
    if missing:
        pytest.skip(f"{name}: {source} is not installed here")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return eq.load(source)


@cache
def body(name: str) -> eq.Body:
    """Found without a profile."""
    return eq.Body.of(robot(name), search=False)
