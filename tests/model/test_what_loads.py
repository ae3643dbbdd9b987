"""Awkward descriptions: what others read is read, what cannot be is refused with a typed error that says why."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from texts import INERTIAL, LIMIT, joint, link, pair, told, with_mesh

import equipoise as eq
from equipoise.errors import MissingPackageError
from equipoise.model.meshes import is_there, read_mesh
from equipoise.model.types import JointDynamics

LFS = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n"


# --- a root that cannot float -----------------------------------------------------------------------------------------


ON_THE_GROUND = (
    "<robot "
    f'name="arm">{link("world", "")}{link("a")}{link("b")}{joint("j", "world", "a")}{joint("k", "a", "b")}</robot>'
)


def test_a_root_without_inertia_that_only_carries_joints_is_a_fixed_base():
    robot, doubts = told(ON_THE_GROUND, floating=None)
    assert not robot.floating and robot.nv == 2
    assert len(doubts) == 1 and "root link is named 'world'" in doubts[0] and "floating=False" in doubts[0]
    same, none = told(ON_THE_GROUND, floating=False)
    assert none == []
    q = np.array([0.3, -0.2])
    assert_allclose(robot.mass_matrix(q), same.mass_matrix(q))


def test_a_root_that_is_asked_to_float_and_cannot_says_what_to_write():
    with pytest.raises(eq.ModelError, match="floating=False"):
        eq.load(ON_THE_GROUND, floating=True)


def test_a_root_without_inertia_floats_with_what_is_fixed_to_it():
    fixed = joint("w", "world", "c", "", "fixed")
    robot, doubts = told(ON_THE_GROUND.replace("</robot>", f"{link('c')}{fixed}</robot>"), floating=True)
    assert robot.floating and doubts == []


def test_a_root_without_inertia_is_a_fixed_base_beside_followers_too():
    follower = joint("l", "b", "c", f'{LIMIT}<mimic joint="k" multiplier="0.5"/>')
    robot, doubts = told(ON_THE_GROUND.replace("</robot>", f"{link('c')}{follower}</robot>"), floating=None)
    assert not robot.floating and robot.nv == 2 and len(doubts) == 1


def test_a_root_without_inertia_under_one_joint_is_a_fixed_base():
    """The base's pivot is exactly singular here, not by all but rounding."""
    ball = '<inertial><mass value="1"/><inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>'
    ends = '<parent link="world"/><child link="a"/><axis xyz="0 0 1"/>'
    turn = f'<joint name="j" type="revolute">{ends}{LIMIT}</joint>'
    robot, doubts = told(f'<robot name="r"><link name="world"/>{link("a", ball)}{turn}</robot>', floating=None)
    assert not robot.floating and robot.nv == 1 and len(doubts) == 1


def test_a_link_without_mass_on_a_root_without_inertia_is_told_first():
    with pytest.raises(eq.ModelError, match="joint 'k' moves link 'b', which has no mass"):
        eq.load(ON_THE_GROUND.replace(link("b"), link("b", "")))


# --- links without mass -----------------------------------------------------------------------------------------------


def test_a_massless_moving_link_suggests_what_to_write():
    text = pair().replace("</robot>", f"{link('c', '')}{joint('tip', 'b', 'c')}</robot>")
    with pytest.raises(eq.ModelError, match=r"joint 'tip' moves link 'c'.*locked=\['tip'\]") as caught:
        eq.load(text)
    assert "armature" not in str(caught.value)
    assert eq.load(text, locked=["tip"], floating=True).nv == 7


def test_all_massless_links_are_named_at_once():
    """A hand of five fingers is not mended in five tries."""
    text = ON_THE_GROUND.replace(link("b"), link("b", "")).replace(
        "</robot>", f"{link('c', '')}{joint('l', 'a', 'c')}</robot>"
    )
    with pytest.raises(eq.ModelError, match=r"locked=\['l', 'k'\]\) holds the joint and those like it"):
        eq.load(text, floating=False)
    assert eq.load(text, floating=False, locked=["l", "k"]).nv == 1


def test_rotors_make_a_massless_link_possible():
    text = f"""<mujoco><worldbody><body name="a"><freejoint/>{INERTIAL}<body name="b">
        <joint name="h" axis="1 0 0" armature="0.01"/>
        <inertial mass="2e-15" pos="0 0 0" diaginertia="2e-15 2e-15 2e-15"/>
        <body name="c"><joint name="k" axis="1 0 0"/>{INERTIAL}</body></body></body></worldbody></mujoco>"""
    with pytest.raises(eq.ModelError, match="armature=True gives it the inertia of its rotor"):
        eq.load(text)
    robot = eq.load(text, armature=True)
    q, v = robot.random_state(np.random.default_rng(1))
    a = robot.forward_dynamics(q, v, np.zeros(robot.nv))
    assert np.isfinite(a).all()
    assert_allclose(robot.inverse_dynamics(q, v, a), 0.0, atol=1e-9)


# --- limits -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "given, expected",
    [
        ('lower="1" upper="-2"', (-2.0, 1.0)),
        ('lower="1"', (1.0, np.inf)),
        ('upper="-1"', (-np.inf, -1.0)),
        ('upper="1"', (0.0, 1.0)),
    ],
)
def test_limits_the_wrong_way_round_are_swapped_or_freed(given, expected):
    robot, doubts = told(pair(f'<limit {given} effort="1" velocity="1"/>'))
    limits = robot.joints["j"].limits
    assert (limits.lower, limits.upper) == expected
    assert len(doubts) == (expected != (0.0, 1.0)) and all(
        "lower limit above the upper one" in doubt for doubt in doubts
    )


# --- not quite XML ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "before",
    [
        "<!-- made by -- somebody -->",
        '<!-- first -->\n<?xml version="1.0"?>',
        '<!-- a --- b -->\n<?xml version="1.0" encoding="utf-8"?>\n<!----->',
        '<?xml version="1.0"?>\n<?xml version="1.0"?>',
    ],
)
@pytest.mark.parametrize("kind", ["text", "file", "utf-16"])
def test_what_other_readers_forgive_is_forgiven(before, kind, tmp_path):
    source: str | Path = before + "\n" + pair()
    if kind != "text":
        source = tmp_path / "r.urdf"
        source.write_text(before + "\n" + pair(), encoding="utf-8" if kind == "file" else "utf-16")
    assert eq.load(source, floating=True).nv == 7


def test_lines_are_those_of_the_file_all_the_same():
    text = '<!-- a -- b\n -->\n<?xml version="1.0"?>\n' + pair().replace("<link", "\n<link", 1).replace('"a"', '""', 1)
    with pytest.raises(eq.ModelError, match=r"a <link> \(line 5\) has no name"):
        eq.load(text)
    with pytest.raises(eq.ModelError, match="malformed XML: mismatched tag at line 3"):
        eq.load("<!-- a -- b\n -->\n<robot><link></robot>")


def test_entities_stay_refused_behind_what_is_forgiven():
    entity = '<!-- a -- b --><!DOCTYPE robot [<!ENTITY a "b">]>'
    with pytest.raises(eq.ModelError, match="XML entities are off"):
        eq.load(entity + pair())


# --- xacro, SDF, USD --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("element", ['<xacro:include filename="x"/>', "<xacro:leg side='l'/>", '<xacro:if value="1"/>'])
def test_xacro_among_plain_links_is_an_error(element):
    with pytest.raises(eq.ModelError, match=r"<xacro:\w+> \(line 1\) is not expanded"):
        eq.load(pair(extra=element).replace("<robot", '<robot xmlns:xacro="x"', 1))


def test_definitions_of_xacro_that_nobody_uses_are_no_harm():
    assert (
        eq.load(
            pair(extra='<xacro:property name="h" value="1"/>').replace("<robot", '<robot xmlns:xacro="x"', 1),
            floating=True,
        ).nv
        == 7
    )


XACRO = pair(LIMIT.replace('"-1"', '"${-2*a}"')).replace(
    '<robot name="pair">',
    '<robot name="pair" xmlns:xacro="http://ros.org/wiki/xacro"><xacro:property name="a" value="0.4"/>',
)


def test_xacro_files_are_expanded(tmp_path):
    pytest.importorskip("xacro")
    (tmp_path / "r.urdf.xacro").write_text(XACRO)
    assert eq.load(tmp_path / "r.urdf.xacro").joints["j"].limits.lower == -0.8


@pytest.mark.parametrize(
    "text, message",
    [
        (XACRO.replace("${-2*a}", "${b}"), "r.xacro: xacro cannot expand it: .*'b'"),
        (XACRO.replace("</robot>", ""), "r.xacro: malformed XML"),
        ('<!DOCTYPE robot [<!ENTITY a "b">]>' + XACRO, "r.xacro: DOCTYPE"),
        (
            '<robot name="r" xmlns:xacro="http://ros.org/wiki/xacro"/>',
            "r.xacro: .* macros of xacro .* load the one that uses it",
        ),
    ],
)
def test_xacro_files_that_cannot_be_expanded_say_why(tmp_path, text, message):
    pytest.importorskip("xacro")
    (tmp_path / "r.xacro").write_text(text)
    with pytest.raises(eq.ModelError, match=message):
        eq.load(tmp_path / "r.xacro")


def test_packages_of_ros_in_xacro_files_need_ros(tmp_path):
    pytest.importorskip("xacro")
    if find_spec("ament_index_python") is not None:
        pytest.skip("ROS is here")
    (tmp_path / "r.xacro").write_text(
        XACRO.replace("</robot>", '<xacro:include filename="$(find other)/a.xacro"/></robot>')
    )
    with pytest.raises(eq.ModelError, match=r"r.xacro: .*expand it there, xacro FILE.xacro > robot.urdf"):
        eq.load(tmp_path / "r.xacro")


def test_xacro_that_is_not_installed_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "xacro", None)
    (tmp_path / "r.xacro").write_text(XACRO)
    with pytest.raises(MissingPackageError, match=r"expanding a .xacro file needs the package 'xacro'"):
        eq.load(tmp_path / "r.xacro")


def test_formats_that_are_not_read_say_what_to_do(tmp_path):
    with pytest.raises(eq.ModelError, match="SDF is not read: write the robot as URDF or MJCF"):
        eq.load("<sdf version='1.9'/>")
    for ending in ("usd", "usda", "USDZ"):
        with pytest.raises(eq.ModelError, match=f"r.{ending}: USD is not read.*URDF"):
            eq.load(f"r.{ending}")


# --- meshes -----------------------------------------------------------------------------------------------------------


MESH = "solid a\nfacet\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\nendfacet\nendsolid"


@pytest.mark.parametrize(
    "mesh, filename, variable",
    [
        ("ws/own_description/m.stl", "own_description/m.stl", None),  # a path that begins with the package
        ("ws/stack/other_description/m.stl", "package://other_description/m.stl", None),  # inside another package
        ("elsewhere/share/far/m.stl", "package://far/m.stl", ("AMENT_PREFIX_PATH", "elsewhere")),
        ("elsewhere/far/m.stl", "package://far/m.stl", ("ROS_PACKAGE_PATH", "elsewhere/far")),  # the package itself
        ("elsewhere/repo/far/m.stl", "package://far/m.stl", ("ROS_PACKAGE_PATH", "elsewhere")),
        ("ws/own_description/m.stl", "package://named_so/m.stl", None),  # by its manifest
        ("ws/own_description/urdf/assets/m.stl", "package://gone/x/m.stl", None),  # where MuJoCo looks
    ],
)
def test_meshes_are_found(mesh, filename, variable, tmp_path, monkeypatch):
    for name in ("AMENT_PREFIX_PATH", "ROS_PACKAGE_PATH"):
        monkeypatch.delenv(name, raising=False)
    if variable is not None:
        monkeypatch.setenv(variable[0], str(tmp_path / "nobody") + os.pathsep + str(tmp_path / variable[1]))
    file, path = tmp_path / mesh, tmp_path / "ws/own_description/urdf/r.urdf"
    for folder in (file.parent, path.parent):
        folder.mkdir(parents=True, exist_ok=True)
    file.write_text(MESH)
    (tmp_path / "ws/own_description/package.xml").write_text("<package><name>named_so</name></package>")
    extra = '<mujoco><compiler meshdir="assets"/></mujoco></robot>'
    path.write_text(with_mesh(filename).replace("</robot>", extra))
    robot, doubts = told(path)
    assert doubts == [] and Path(str(robot.links["a"].visuals[0].mesh)).samefile(file)


def test_pointers_of_git_lfs_are_missing_meshes(tmp_path):
    (tmp_path / "m.stl").write_text(LFS)
    (tmp_path / "r.urdf").write_text(with_mesh("m.stl"))
    _, doubts = told(tmp_path / "r.urdf")
    assert len(doubts) == 1 and "1 mesh files are missing: 'm.stl'" in doubts[0]
    assert not is_there(tmp_path / "m.stl") and not is_there(tmp_path) and not is_there(tmp_path / "no\0name")
    with pytest.raises(FileNotFoundError, match="'m.stl' is only a pointer of Git LFS"):
        read_mesh(tmp_path / "m.stl")
    asset, geom = '<asset><mesh name="m" file="m.stl"/></asset>', '<geom type="mesh" mesh="m"/>'
    (tmp_path / "r.xml").write_text(f"<mujoco>{asset}<worldbody><body>{INERTIAL}{geom}</body></worldbody></mujoco>")
    _, doubts = told(tmp_path / "r.xml")
    assert len(doubts) == 1 and "mesh files are missing" in doubts[0]


# --- what simulators add to URDF --------------------------------------------------------------------------------------


def test_springs_and_rotors_are_read():
    spring = "<springStiffness>30</springStiffness><springReference>0.2</springReference>"
    actuator = '<actuator name="m"><drake:rotor_inertia value="2e-4"/><drake:gear_ratio value="50"/></actuator>'
    extra = f'<gazebo reference="j">{spring}</gazebo><transmission name="t"><joint name="j"/>{actuator}</transmission>'
    text = pair(LIMIT + '<dynamics damping="0.3" friction="0.1"/>', extra).replace(
        "<robot", '<robot xmlns:drake="d"', 1
    )
    robot, doubts = told(text)
    assert robot.joints["j"].dynamics == JointDynamics(0.3, 0.1, pytest.approx(0.5), 30.0, 0.2) and doubts == []
    q = robot.neutral()
    assert_allclose(robot.with_armature().mass_matrix(q)[6, 6], robot.mass_matrix(q)[6, 6] + 0.5)
    with pytest.raises(eq.ModelError, match=r"<springStiffness> \(line 1\) must be a finite number, not 'soft'"):
        eq.load(text.replace(">30<", ">soft<"))


@pytest.mark.parametrize(
    "extra, named",
    [
        ("<loop_joint name='x'/>", "<loop_joint> .line 1."),
        ("<gazebo><joint name='x' type='revolute'/></gazebo>", "<gazebo><joint> .line 1."),
        ("<gazebo><plugin filename='libmimic_joint.so'/></gazebo>", "<plugin 'libmimic_joint.so'>"),
        ("<mujoco><equality/></mujoco>", "<mujoco><equality>"),
    ],
)
def test_what_is_not_read_but_matters_is_named(extra, named):
    with pytest.warns(eq.ModelWarning, match=f"not read: {named}"):
        eq.load(pair(extra=extra))


def test_a_plugin_for_a_follower_that_is_one_is_no_loss():
    plugin = "<gazebo><plugin filename='libmimic_joint.so'><mimicJoint>k</mimicJoint></plugin></gazebo>"
    follower = joint("k", "a", "c", f'{LIMIT}<mimic joint="j"/>')
    assert told(pair(extra=f"{link('c')}{follower}{plugin}"))[1] == []
    assert len(told(pair(extra=f"{link('c')}{joint('k', 'a', 'c')}{plugin}"))[1]) == 1


def test_a_colour_that_is_none_is_no_reason_to_refuse_a_robot():
    paint = '<material name="sand"><color rgba="0.9, 0.8, 0.7 1"/></material>'
    ball = f'<visual><geometry><sphere radius="0.1"/></geometry>{paint}</visual>'
    robot, doubts = told(pair(extra=paint).replace("</inertial></link>", f"</inertial>{ball}</link>", 1))
    assert len(doubts) == 1 and "colours are not four numbers" in doubts[0] and "'sand'" in doubts[0]
    assert [shape.color for link in robot.links.values() for shape in link.visuals] == [None]
