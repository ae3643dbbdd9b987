"""Which joints have motors: from actuators, from transmissions, by default, and as the user says."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import support
from numpy.testing import assert_array_equal
from texts import told

import equipoise as eq
from equipoise.balance.support_dynamics import selection
from equipoise.model.urdf import write_urdf

SOLID = '<inertial><mass value="1"/><inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>'
TRANSMISSION = '<transmission name="t{0}"><joint name="{0}"/><actuator name="m{0}"/></transmission>'
INERTIAL = '<inertial mass="1" pos="0 0 0" diaginertia="0.1 0.1 0.1"/>'


def chain(joints: dict[str, str], extra: str = "", effort: float = 5.0) -> str:
    """URDF text of links in a row; `joints` are their types, or "mimic LEADER"."""
    links = "".join(f'<link name="l{k}">{SOLID}</link>' for k in range(len(joints) + 1))
    text = ""
    for k, (name, kind) in enumerate(joints.items()):
        mimic = f'<mimic joint="{kind.split()[1]}"/>' if kind.startswith("mimic") else ""
        kind = "revolute" if mimic else kind
        text += f'<joint name="{name}" type="{kind}"><parent link="l{k}"/><child link="l{k + 1}"/>{mimic}'
        text += (
            f'<origin xyz="0 0 0.3"/><axis xyz="1 0 0"/><limit lower="-1" upper="1" effort="{effort}" '
            'velocity="2"/></joint>'
        )
    return f'<robot name="chain">{links}{text}{extra}</robot>'


def motors(robot: eq.Robot) -> list[str]:
    return [name for name, joint in robot.joints.items() if joint.actuated]


# --- by default -------------------------------------------------------------------------------------------------------


def test_by_default_the_joints_with_one_freedom_have_motors():
    robot, doubts = told(chain({"a": "revolute", "b": "spherical", "c": "prismatic", "d": "planar", "e": "continuous"}))
    assert motors(robot) == ["a", "c", "e"] and doubts == []
    expected = np.zeros(robot.nv, dtype=bool)
    for name in ("a", "c", "e"):
        expected[robot.joints[name].v] = True
    assert_array_equal(robot.actuated, expected)
    assert robot.actuated.dtype == bool and not robot.actuated.flags.writeable


def test_the_base_has_no_motor():
    for name in ("human", "quadruped"):
        robot = eq.load(name)
        assert not robot.actuated[:6].any() and robot.actuated[6:].all()
    assert eq.load("arm7").actuated.all()
    assert eq.load("holonomic_arm").actuated.all()  # its platform drives


@pytest.mark.parametrize("object_first", [True, False])
@pytest.mark.parametrize("kind", ["floating", "fixed"])
def test_objects_have_no_motors(kind, object_first):
    builder = eq.RobotBuilder("scene", floating=False)
    solid = dict(mass=1.0, inertia=(0.1, 0.1, 0.1))
    builder.link("trunk", **solid).link("limb", **solid).link("hand", **solid).link("drawer", **solid).link(
        "handle", **solid
    )
    builder.link("door", **solid)

    def add_robot() -> None:
        builder.joint("root", kind, "world", "trunk")
        builder.joint("swing", "revolute", "trunk", "limb").joint("turn", "revolute", "limb", "hand")

    def add_object() -> None:
        builder.joint("free", "floating", "world", "drawer").joint("slide", "prismatic", "drawer", "handle")

    for add in (add_object, add_robot) if object_first else (add_robot, add_object):
        add()
    builder.joint("hinge", "revolute", "world", "door")
    robot = builder.build()
    assert motors(robot) == (["swing", "turn"] if kind == "floating" else ["swing", "turn", "hinge"])


def test_of_two_equal_trees_that_of_the_base_has_motors():
    builder = eq.RobotBuilder("two", floating=False)
    solid = dict(mass=1.0, inertia=(0.1, 0.1, 0.1))
    builder.link("a", **solid).link("b", **solid).link("c", **solid)
    builder.joint("door", "revolute", "world", "c")
    builder.joint("root", "floating", "world", "a").joint("swing", "revolute", "a", "b")
    assert motors(builder.build()) == ["swing"]


def test_an_arm_on_the_world_keeps_its_motors_beside_a_free_body():
    builder = eq.RobotBuilder("arm and cube", floating=False)
    solid = dict(mass=1.0, inertia=(0.1, 0.1, 0.1))
    builder.link("mount").link("rod", **solid).link("cube", **solid)
    builder.joint("cube", "floating", "world", "cube").joint("post", "fixed", "world", "mount")
    builder.joint("swing", "revolute", "mount", "rod")
    robot = builder.build()
    assert robot.base_link == "cube" and motors(robot) == ["swing"]
    assert robot.actuated.sum() == 1 and robot.actuated[6]


def test_the_builder_takes_the_word_of_the_user():
    builder = eq.RobotBuilder("b", floating=False)
    solid = dict(mass=1.0, inertia=(0.1, 0.1, 0.1))
    builder.link("l0").link("l1", **solid).link("l2", **solid).link("l3", **solid)
    builder.joint("hip", "ball", "l0", "l1", actuated=True).joint("knee", "revolute", "l1", "l2", actuated=False)
    builder.joint("ankle", "revolute", "l2", "l3")
    robot = builder.build()
    assert motors(robot) == ["hip", "ankle"]
    assert_array_equal(robot.actuated, [True, True, True, False, True])


# --- URDF -------------------------------------------------------------------------------------------------------------


THREE = {"a": "revolute", "b": "revolute", "c": "revolute"}


def test_transmissions_decide():
    robot, doubts = told(chain(THREE, TRANSMISSION.format("a") + TRANSMISSION.format("c")))
    assert motors(robot) == ["a", "c"]
    assert len(doubts) == 1 and "'b'" in doubts[0] and "passive" in doubts[0] and "actuated=[…]" in doubts[0]


def test_transmissions_of_all_joints_are_no_doubt():
    robot, doubts = told(chain(THREE, "".join(map(TRANSMISSION.format, THREE)) + TRANSMISSION.format("nobody")))
    assert motors(robot) == list(THREE) and doubts == []


@pytest.mark.parametrize("effort, expected", [(5.0, ["a", "b", "c"]), (0.0, ["b"])])
def test_where_most_transmissions_are_missing_effort_limits_tell_of_motors(effort, expected):
    robot, doubts = told(chain(THREE, TRANSMISSION.format("b"), effort))
    assert motors(robot) == expected
    assert ("taken to have motors" if effort else "passive") in doubts[0]
    assert len(doubts) == 1 if effort else "effort limits that are placeholders" in doubts[1]


def test_ros2_control_decides():
    joint = '<joint name="{}"><{}_interface name="position"/></joint>'
    system = f'<ros2_control name="x" type="system">{joint.format("a", "command")}{joint.format("b", "state")}'
    robot, _ = told(chain({"a": "revolute", "b": "revolute"}, f"{system}</ros2_control>"))
    assert motors(robot) == ["a"]


@pytest.mark.parametrize("named", ["leader", "follower"])
def test_the_motor_is_the_leaders(named):
    joints = {"leader": "revolute", "follower": "mimic leader", "other": "revolute"}
    robot, _ = told(chain(joints, TRANSMISSION.format(named)))
    assert motors(robot) == ["leader"]
    assert_array_equal(robot.actuated[6:], [True, False])


@pytest.mark.parametrize(
    "name, passive",
    [
        pytest.param(
            "cassie",
            {f"{s}{j}" for s in ("Left", "Right") for j in ("ShinPitch", "TarsusPitch", "AchillesSpring")},
            marks=support.further,
        ),
        pytest.param("hrp4c", set(), marks=support.further),
        ("a1", set()),
        ("talos", set()),
    ],
)
def test_transmissions_of_real_robots(name, passive):
    robot, _ = told(str(support.description(name)))
    assert {name for name, joint in robot.joints.items() if not joint.actuated} == passive


# --- MJCF -------------------------------------------------------------------------------------------------------------


SCENE = f"""<mujoco><worldbody>
  <body name="trunk"><freejoint/>{INERTIAL}<site name="s0" pos="0.1 0 0"/>
    <body name="one" pos="0 0 0.2"><joint name="one" axis="1 0 0"/>{INERTIAL}<site name="s1" pos="0.1 0 0"/>
      <body name="two" pos="0 0 0.2"><joint name="two" axis="0 1 0"/>{INERTIAL}
        <body name="three" pos="0 0 0.2"><joint name="three" axis="1 0 0"/>{INERTIAL}<site name="s3" pos="0.1 0 0"/>
          <body name="four" pos="0 0 0.2"><joint name="four" type="ball"/>{INERTIAL}</body></body></body></body></body>
  <body name="cup" pos="1 0 0"><freejoint name="cup"/>{INERTIAL}
    <body name="lid" pos="0 0 0.1"><joint name="lid" axis="1 0 0"/>{INERTIAL}</body></body>
  </worldbody>
  <tendon><fixed name="cable"><joint joint="one" coef="1"/><joint joint="three" coef="-2"/></fixed>
    <spatial name="string"><site site="s1"/><site site="s3"/></spatial></tendon>
  <actuator>%s</actuator></mujoco>"""


@pytest.mark.parametrize(
    "actuators, expected",
    [
        ("", ["one", "two", "three"]),
        ('<motor joint="two"/>', ["two"]),
        ('<position joint="one"/><velocity jointinparent="three"/>', ["one", "three"]),
        ('<motor tendon="cable"/>', ["one", "three"]),
        ('<motor tendon="string"/>', ["two", "three"]),
        ('<motor site="s3" gear="0 0 1 0 0 0"/><motor joint="lid"/>', ["lid"]),
        ('<motor joint="four" gear="1 0 0"/>', []),
        ("".join(f'<motor joint="four" gear="{g}"/>' for g in ("1 0 0", "0 1 0", "0 1 1")), ["four"]),
        ('<motor joint="two" gear="0"/><motor joint="one"/>', ["one"]),
    ],
)
def test_actuators_decide(actuators, expected):
    robot, doubts = told(SCENE % actuators, None)
    assert motors(robot) == expected
    passive = [name for name in ("one", "two", "three") if name not in expected]
    assert len(doubts) == bool(passive)
    assert all(repr(name) in doubts[0] for name in passive) and "lid" not in "".join(doubts)


SOME_MOTORS = '<motor joint="FL_HAA"/><motor joint="HR_KFE" gear="3"/><position joint="FR_HFE"/>'


@pytest.mark.parametrize("name", ["solo12", *support.marked(["cassie", "g1", "tiago_dual"], support.FURTHER_MJCFS)])
def test_velocities_with_motors_are_those_that_mujoco_moves(name):
    import mujoco

    made = name not in support.FURTHER_MJCFS
    source = support.mjcf_of(name, SOME_MOTORS) if made else str(support.robots_folder() / support.FURTHER_MJCFS[name])
    robot, _ = told(source, None)
    m = mujoco.MjModel.from_xml_string(source) if made else mujoco.MjModel.from_xml_path(source)
    d = mujoco.MjData(m)
    d.qpos[:] = m.qpos0 + 0.1
    mujoco.mj_forward(m, d)
    moment = np.zeros((m.nu, m.nv))
    mujoco.mju_sparse2dense(
        moment, d.actuator_moment.ravel(), d.moment_rownnz, d.moment_rowadr, d.moment_colind.ravel()
    )
    moved = np.abs(moment).max(axis=0) > 0
    for j in range(m.njnt):
        joint = robot.joints.get(m.joint(j).name)
        if joint is not None:
            assert robot.actuated[joint.v].all() == moved[m.jnt_dofadr[j]], joint.name


# --- the user ---------------------------------------------------------------------------------------------------------


def test_the_user_names_passive_joints():
    robot = eq.load("quadruped")
    chosen = list(robot.joints)[:2]
    for passive in (robot.with_passive(chosen), eq.load("quadruped", passive=chosen)):
        assert [n for n in robot.joints if n not in motors(passive)] == chosen
        assert_array_equal(passive.actuated, [*[False] * 8, *[True] * 10])
        S = passive.selection_matrix
        assert S.shape == (10, 18) and not S.flags.writeable
        assert_array_equal(S @ np.arange(18.0), np.arange(8.0, 18.0))
        assert_array_equal(selection(passive), S)
        assert passive.with_actuated(chosen).actuated[6:].all()
    assert robot.actuated[6:].all()  # a robot is frozen


def test_motors_survive_other_changes():
    robot = eq.load("quadruped", passive=["front_left_knee"])
    for other in (
        robot.with_frame("f", robot.base_link, np.eye(4)),
        robot.with_armature(),
        robot.with_locked(["front_right_knee"]),
    ):
        assert not other.joints["front_left_knee"].actuated and other.actuated.sum() == len(other.joints) - 1


@pytest.mark.parametrize(
    "options, error, message",
    [
        (dict(passive=["knee"]), eq.UnknownNameError, "no joint named 'knee'"),
        (dict(passive=["follower"]), eq.ModelError, "follows 'leader'"),
        (dict(passive="leader"), eq.ModelError, r"write \['leader'\]"),
        (dict(passive=["leader"], actuated=["leader"]), eq.ModelError, "at once"),
        (dict(actuated=["away"]), eq.ModelError, "is free"),
        (dict(actuated=["base"]), eq.UnknownNameError, "no joint named 'base'"),
    ],
)
def test_motors_nobody_can_have(options, error, message):
    with pytest.raises(error, match=message):
        eq.load(chain({"leader": "revolute", "follower": "mimic leader", "away": "floating"}), **options)


# --- writing ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("passive", [[], ["a"], ["a", "b"], ["follower_of_c"]])
def test_motors_survive_writing(passive):
    text = chain({"a": "revolute", "b": "prismatic", "c": "continuous", "d": "spherical", "e": "mimic c"})
    passive = ["c"] if passive == ["follower_of_c"] else passive
    robot = eq.load(text, passive=passive)
    written = write_urdf(robot.model)
    assert ("<transmission" in written) == bool(passive)
    again, _ = told(written, None)
    assert_array_equal(again.actuated, robot.actuated)
    assert again.model.joints["e"].limits.effort == (0.0 if passive == ["c"] else 5.0)


def test_writing_tells_that_no_motor_cannot_be_written():
    robot = eq.load(chain({"a": "revolute"}), passive=["a"])
    with pytest.warns(eq.ModelWarning, match="no joint has a motor"):
        write_urdf(robot.model)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        write_urdf(eq.RobotBuilder("crate").link("crate", mass=1.0, inertia=(0.1, 0.1, 0.1)).build().model)
