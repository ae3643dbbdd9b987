"""Whether a base floats where the description leaves that open: what stands, drives or flies does, an arm does not."""

from __future__ import annotations

import warnings

import pytest
import support

import equipoise as eq
from equipoise.model import installed
from equipoise.model.urdf import write_urdf

FIXED = [
    "alex", "allegro_left_hand", "allegro_right_hand", "baxter", "bravo7", "double_pendulum", "finger_edu", "kinova",
    "panda", "pr2", "so100", "so101", "talos_left_arm", "ur3", "ur5", "ur10", "xarm7", "z1",
]  # fmt: skip
FLOATING = [
    "a1", "anymal_b", "anymal_b_kinova", "anymal_c", "b1", "b1_z1", "bolt", "borinot", "centauro", "g1",
    "g1_with_hands", "go1", "go2", "hector", "hextilt", "hyq", "icub", "iris", "jvrc1", "laikago", "romeo",
    "simple_humanoid", "solo8", "solo12", "talos", "talos_full", "tiago", "tiago_dual", "tiago_no_hand", "tiago_pro",
]  # fmt: skip
FURTHER_FIXED = ["ur5 (file)", "ur5e", "iiwa14"]
INERTIAL = '<inertial><mass value="{}"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'


def messages(source, **options) -> tuple[eq.Robot, list[str]]:
    """Returns the robot and what is reported about its base."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        robot = eq.load(source, **options)
    return robot, [str(one.message) for one in caught if "fixed to the world" in str(one.message)]


@pytest.mark.parametrize("name", support.marked([*FIXED, *FURTHER_FIXED]))
def test_arms_hands_and_torsos_are_fixed_and_that_is_reported_once(name):
    robot, said = messages(support.description(name))
    assert not robot.floating and robot.base_link is None
    assert len(said) == 1 and "floating=True" in said[0]
    robot, said = messages(support.description(name), floating=True)
    assert robot.floating and not said
    robot, said = messages(support.description(name), floating=False)
    assert not robot.floating and not said


@pytest.mark.parametrize("name", support.marked([*FLOATING, *sorted({*support.FURTHER_URDFS} - {*FURTHER_FIXED})]))
def test_robots_that_stand_drive_or_fly_float(name):
    robot, said = messages(support.description(name))
    assert robot.floating and not said
    assert not messages(support.description(name), floating=False)[0].floating


def test_every_robot_of_the_packages_is_in_the_table():
    found = installed.by_package()
    assert {*FIXED, *FLOATING} >= found["example-robot-data"].keys() | found["jvrc_description"].keys()


def test_an_arm_does_not_fly_to_a_target_that_it_cannot_reach():
    robot = messages("panda")[0]
    assert not eq.solve_ik(robot, {"panda_link8": (3.0, 0.0, 0.3)}, robot.neutral(), attempts=2).converged


def with_root(urdf: str, root: str, joint: str) -> str:
    """Returns the text of a robot with a link without mass before its root."""
    ends = f'<parent link="{root}"/><child link="trunk"/>'
    return urdf.replace("</robot>", f'<link name="{root}"/><joint name="r" type="{joint}">{ends}</joint></robot>')


@pytest.fixture(scope="module")
def quadruped() -> str:
    return write_urdf(eq.load("quadruped").model)


def test_legs_under_a_link_without_mass_float_unless_it_is_called_world(quadruped):
    robot, said = messages(with_root(quadruped, "base_footprint", "fixed"))
    assert robot.floating and robot.base_link == "base_footprint" and not said
    robot, said = messages(with_root(quadruped, "world", "fixed"))
    assert not robot.floating and "'world'" in said[0]
    assert messages(with_root(quadruped, "world", "fixed"), floating=True)[0].floating
    robot, said = messages(with_root(quadruped, "world", "floating"))
    assert robot.floating and robot.base_link == "trunk" and not said


def test_locked_legs_are_legs(quadruped):
    free = messages(quadruped)[0]
    robot, said = messages(quadruped, locked=list(free.joints))
    assert robot.floating and not said


def test_an_arm_that_hangs_is_no_leg():
    links = "".join(f'<link name="{name}">{INERTIAL.format(1)}</link>' for name in "abc")
    hinge = '<joint name="{0}{1}" type="revolute"><parent link="{0}"/><child link="{1}"/><axis xyz="0 1 0"/>' + (
        '<origin xyz="0 0 -0.5"/><limit lower="-1" upper="1" effort="9" velocity="9"/></joint>'
    )
    hanging = f'<robot name="hanging">{links}{hinge.format("a", "b")}{hinge.format("b", "c")}</robot>'
    assert not messages(hanging)[0].floating


def test_builders_and_mjcf_say_it_themselves():
    assert messages("human")[0].floating and not messages("arm7")[0].floating
    body = (
        '<body name="arm">{}<geom size="0.1"/><body pos="0 0 1"><joint axis="0 1 0"/><geom size="0.1"/></body></body>'
    )
    for joint, floats in (("", False), ("<freejoint/>", True)):
        robot, said = messages(f"<mujoco><worldbody>{body.format(joint)}</worldbody></mujoco>")
        assert robot.floating is floats and not said
