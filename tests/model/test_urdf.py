"""URDF models against Pinocchio's reader, small files by hand, and files that must be refused."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import warnings
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest
import support
from numpy.testing import assert_allclose
from walk import com, link_poses, neutral

from equipoise.algebra import rigid
from equipoise.errors import EquipoiseError, ModelError, ModelWarning, UnknownNameError
from equipoise.model import library, urdf, xml
from equipoise.model.joints import Ball, Continuous, Fixed, Floating, Planar, Prismatic, Revolute
from equipoise.model.tree import tree_of
from equipoise.model.types import DeclaredLimits, JointDynamics, Mimic, Model
from equipoise.model.urdf import read_urdf, write_urdf

ROBOTS = ("jvrc1", "g1", "anymal_c", "ur5", "talos", "tiago_dual", "centauro", "panda", "romeo", "pr2", "hyq", "kinova",
          "icub", "b1_z1", "thormang3 raw", "poppy", "hrp2", "hrp4c")  # fmt: skip


def quietly(source: str | Path, **options) -> Model:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        return read_urdf(source, **options)


def random_configuration(model: Model, seed: int = 3) -> np.ndarray:
    rng = np.random.default_rng(seed)
    q = neutral(model)
    for joint in model.joints.values():
        if joint.mimic is None:
            q[joint.q] = rng.uniform(-1, 1, joint.type.nq)
        if joint.type == Floating():
            q[joint.q][3:] /= np.linalg.norm(q[joint.q][3:])
        if joint.type == Ball():
            q[joint.q] /= np.linalg.norm(q[joint.q])
    return q


def one_joint(joint: str, link: str = "") -> str:
    return f'<robot name="r">\n<link name="a"/>\n<link name="b">{link}</link>\n{joint}\n</robot>'


ENDS = '<parent link="a"/><child link="b"/>'
LIMIT = '<limit lower="-1" upper="1" velocity="2" effort="3"/>'


# Real robots


def pinocchio_state(pin, reference, model: Model, q: np.ndarray) -> np.ndarray:
    """The configuration in Pinocchio's order; its reader moves followers on their own."""
    found = pin.neutral(reference)
    for joint in model.joints.values():
        if not joint.moving:
            continue
        if joint is model.base:
            x, y, z, w, i, j, k = q[joint.q]
            found[:7] = x, y, z, i, j, k, w
            continue
        theirs = reference.joints[reference.getJointId(joint.name)]
        angle = q[joint.q][0] if joint.mimic is None else joint.mimic.multiplier * q[joint.q][0] + joint.mimic.offset
        found[theirs.idx_q : theirs.idx_q + theirs.nq] = angle if theirs.nq == 1 else (np.cos(angle), np.sin(angle))
    return found


@pytest.mark.parametrize("name", support.marked(ROBOTS))
def test_real_robots_agree_with_pinocchio(name):
    pin = pytest.importorskip("pinocchio")
    path = support.description(name)
    model = quietly(path)
    reference = pin.buildModelFromUrdf(str(path), pin.JointModelFreeFlyer())
    data = reference.createData()
    followers = sum(joint.mimic is not None for joint in model.joints.values())
    assert model.nv + followers == reference.nv
    assert_allclose(model.mass, pin.computeTotalMass(reference), rtol=1e-12)

    q = random_configuration(model)
    pin.ccrba(reference, data, pinocchio_state(pin, reference, model, q), np.zeros(reference.nv))
    pin.updateFramePlacements(reference, data)
    poses = link_poses(model, q)
    for link in model.links:
        frame = reference.getFrameId(link, pin.FrameType.BODY)
        assert_allclose(poses[link], data.oMf[frame].homogeneous, atol=1e-10, err_msg=link)

    assert_allclose(com(model, q), data.com[0], atol=1e-10)
    parts = [link.inertia.about(poses[link.name]) for link in model.links.values() if link.inertia is not None]
    c = rigid.skew(com(model, q))
    assert_allclose(sum(about_origin for _, _, about_origin in parts) + model.mass * c @ c, data.Ig.inertia, atol=1e-9)


def test_jvrc1_has_followers_and_a_base():
    model = quietly(support.description("jvrc1"))
    followers = [joint for joint in model.joints.values() if joint.mimic is not None]
    assert len(followers) == 10
    assert model.nv == 6 + 34
    assert followers[0].q == model.joints[followers[0].mimic.leader].q


@support.further
def test_poppy_takes_its_mass_from_the_inertial_element():
    model = quietly(support.description("poppy"))
    assert model.mass == pytest.approx(2.6, abs=0.1)
    assert model.links["pelvis"].inertia.mass == 0.18520035953947


def test_missing_meshes_are_one_warning(tmp_path):
    path = tmp_path / "talos.urdf"
    path.write_text(support.description("talos").read_text().replace("package://", "package://absent/"))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        read_urdf(path)
    (warning,) = caught
    assert re.match(r"\d\d mesh files are missing: 'package://absent/[^']*', .*Dynamics work", str(warning.message))
    assert warning.filename == __file__


def test_example_robots_find_their_meshes():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = read_urdf(support.description("panda"))
    meshes = [shape.mesh for link in model.links.values() for shape in (*link.visuals, *link.collisions)]
    assert meshes
    assert all(Path(mesh).is_file() for mesh in meshes if mesh is not None)


# Links


def test_a_rotated_inertial_frame_turns_the_inertia():
    origin = '<origin xyz="1 2 3" rpy="0 0 1.5707963267948966"/>'
    inertial = f'<inertial>{origin}<mass value="4"/><inertia ixx="1" iyy="2" izz="3"/></inertial>'
    inertia = read_urdf(f'<robot><link name="a">{inertial}</link></robot>').links["a"].inertia
    assert inertia.mass == 4
    assert_allclose(inertia.com, [1, 2, 3])
    assert_allclose(inertia.matrix, np.diag([2, 1, 3]), atol=1e-15)


def test_mass_between_the_tags():
    inertial = '<inertial><mass>4.5</mass><inertia ixx="1" iyy="2" izz="3"/></inertial>'
    assert read_urdf(f'<robot><link name="a">{inertial}</link></robot>').mass == 4.5


def test_a_link_without_inertial_has_no_inertia():
    model = read_urdf('<robot><link name="a"/></robot>')
    assert model.links["a"].inertia is None
    assert model.name == "robot"


SHAPES = """
<robot name="shapes">
  <link name="a">
    <visual><origin xyz="1 0 0"/><geometry><box size="1 2 3"/></geometry><material name="blue"/></visual>
    <visual><geometry><sphere radius="0.5"/></geometry><material name="m"><color rgba="1 0 0 0.5"/></material></visual>
    <visual><geometry><mesh filename="package://nowhere/a.stl" scale="1 2 3"/></geometry><material name="m"/></visual>
    <collision><geometry><cylinder radius="0.1" length="2"/></geometry></collision>
    <collision><geometry><capsule radius="0.2" length="3"/></geometry></collision>
  </link>
  <material name="blue"><color rgba="0 0 1 1"/></material>
</robot>
"""


def test_shapes_and_colours():
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # meshes of a text are not looked for
        link = read_urdf(SHAPES).links["a"]
    box, sphere, mesh = link.visuals
    cylinder, capsule = link.collisions
    assert (box.kind, box.size, box.color, box.X[0, 3]) == ("box", (1, 2, 3), (0, 0, 1, 1), 1)
    assert (sphere.kind, sphere.size, sphere.color) == ("sphere", (0.5,), (1, 0, 0, 0.5))
    assert (mesh.kind, mesh.size, mesh.mesh, mesh.color) == (
        "mesh",
        (1, 2, 3),
        "package://nowhere/a.stl",
        (1, 0, 0, 0.5),
    )
    assert (cylinder.kind, cylinder.size, cylinder.color) == ("cylinder", (0.1, 2), None)
    assert (capsule.kind, capsule.size) == ("capsule", (0.2, 3))


def test_shapes_urdf_does_not_know_are_left_out_with_one_warning():
    link = "<visual><geometry><cone/></geometry></visual><collision><geometry/></collision><visual/>"
    with pytest.warns(ModelWarning, match="3 visuals or collisions hold no shape .* 'a'"):
        model = read_urdf(f'<robot><link name="a">{link}</link></robot>')
    assert model.links["a"].visuals == ()


@pytest.mark.parametrize(
    "filename", ["package://my_robot/meshes/a.stl", "../meshes/a.stl", "file://{folder}/meshes/a.stl"]
)
def test_meshes_are_found_in_the_layout_of_a_ros_package(tmp_path, filename):
    package = tmp_path / "my_robot"
    (package / "urdf").mkdir(parents=True)
    (package / "meshes").mkdir()
    (package / "meshes" / "a.stl").touch()
    mesh = f'<visual><geometry><mesh filename="{filename.format(folder=package)}"/></geometry></visual>'
    (package / "urdf" / "r.urdf").write_text(f'<robot><link name="a">{mesh}</link></robot>')
    model = read_urdf(package / "urdf" / "r.urdf")
    assert Path(model.links["a"].visuals[0].mesh).resolve() == package / "meshes" / "a.stl"


# Joints


@pytest.mark.parametrize(
    ("kind", "type_"),
    [
        ("fixed", Fixed()),
        ("revolute", Revolute((0, 1, 0))),
        ("continuous", Continuous((0, 1, 0))),
        ("prismatic", Prismatic((0, 1, 0))),
        ("floating", Floating()),
        ("planar", Planar()),
        ("spherical", Ball()),
        ("ball", Ball()),
    ],
)
def test_joint_types(kind, type_):
    text = one_joint(f'<joint name="j" type="{kind}">{ENDS}<axis xyz="0 2 0"/>{LIMIT}</joint>')
    model = read_urdf(text, floating=False)
    assert model.joints["j"].type == type_
    assert model.nv == type_.nv


def test_defaults_are_those_of_urdf():
    joint = read_urdf(one_joint(f'<joint name="j" type="revolute">{ENDS}<limit upper="1"/></joint>')).joints["j"]
    assert joint.type == Revolute((1, 0, 0))
    assert_allclose(joint.origin, np.eye(4))
    assert joint.limits == DeclaredLimits(0, 1)
    assert joint.dynamics == JointDynamics()


def test_limits_dynamics_and_mimic_are_kept():
    follower = f'<joint name="k" type="revolute">{ENDS}<mimic joint="j" multiplier="-2" offset="0.5"/></joint>'
    text = one_joint(
        '<link name="c"/><joint name="j" type="prismatic"><parent link="b"/><child link="c"/>'
        '<limit lower="-1" upper="2" velocity="0" effort="0"/><dynamics damping="0.1" friction="0.2"/></joint>'
        + follower
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = read_urdf(text)
    assert model.joints["j"].limits == DeclaredLimits(-1, 2, 0, 0)
    assert model.joints["j"].dynamics == JointDynamics(0.1, 0.2)
    assert model.joints["k"].mimic == Mimic("j", -2, 0.5)
    assert [model.nq, model.nv] == [8, 7]


def test_mimic_defaults():
    follower = f'<joint name="k" type="revolute">{ENDS}<mimic joint="j"/></joint>'
    text = one_joint(
        f'<link name="c"/><joint name="j" type="revolute"><parent link="b"/><child link="c"/>{LIMIT}</joint>{follower}'
    )
    assert read_urdf(text).joints["k"].mimic == Mimic("j", 1, 0)


def test_a_fixed_joint_follows_nobody():
    model = read_urdf(one_joint(f'<joint name="j" type="fixed">{ENDS}<mimic joint="nobody"/></joint>'))
    assert model.joints["j"].mimic is None


def test_a_huge_limit_is_none():
    limit = '<limit lower="-inf" upper="1e30" velocity="inf" effort="1e300"/>'
    joint = read_urdf(one_joint(f'<joint name="j" type="prismatic">{ENDS}{limit}</joint>')).joints["j"]
    assert joint.limits == DeclaredLimits()


def test_joints_without_limits_are_one_warning():
    limited = '<limit velocity="1" effort="2"/>'
    second = f'<link name="c"/><joint name="k" type="prismatic"><parent link="b"/><child link="c"/>{limited}</joint>'
    with pytest.warns(ModelWarning, match="2 joints give no position limits .*: 'j', 'k'") as caught:
        model = read_urdf(one_joint(f'<joint name="j" type="revolute">{ENDS}</joint>{second}'))
    assert len(caught) == 1
    assert model.joints["j"].limits == DeclaredLimits()
    assert model.joints["k"].limits == DeclaredLimits(velocity=1, effort=2)


@pytest.mark.parametrize("normal", ["0 0 1", "1 0 0", "0 -3 0", "1 2 3"])
def test_a_planar_joint_moves_in_the_plane_of_its_normal(normal):
    joint = f'<joint name="j" type="planar"><origin xyz="1 2 3" rpy="0.1 0.2 0.3"/>{ENDS}<axis xyz="{normal}"/></joint>'
    model = read_urdf(one_joint(joint), floating=False)
    X_0 = link_poses(model, np.zeros(3))["b"]
    X = link_poses(model, np.array([0.4, 0.5, 0.6]))["b"]
    assert_allclose(X_0, rigid.pose(rigid.rotation_from_rpy(0.1, 0.2, 0.3), [1, 2, 3]), atol=1e-15)
    n = np.array([float(x) for x in normal.split()])
    n_W = X_0[:3, :3] @ n / np.linalg.norm(n)
    shift = X[:3, 3] - X_0[:3, 3]
    assert_allclose(shift @ n_W, 0, atol=1e-15)
    assert_allclose(shift @ shift, 0.4**2 + 0.5**2)
    assert_allclose(X[:3, :3] @ X_0[:3, :3].T, rigid.rotation_about(n_W, 0.6), atol=1e-15)


def test_floating_decides_how_the_root_is_attached():
    text = one_joint(f'<joint name="j" type="continuous">{ENDS}</joint>')
    assert read_urdf(text).nv == 7
    assert read_urdf(text, floating=False).nv == 1
    assert read_urdf(text, gravity=(0, 0, -1)).gravity == (0, 0, -1)


def test_a_floating_joint_from_a_massless_world_is_the_base():
    text = one_joint(f'<joint name="free" type="floating">{ENDS}</joint>')
    model = read_urdf(text)
    assert model.base is not None
    assert (model.base.name, model.nv) == ("free", 6)


# Bad input

JOINT = f'<joint name="j" type="revolute">{ENDS}{{}}</joint>'
FIXED = f'<joint name="j" type="fixed">{ENDS}{{}}</joint>'
BAD_FILES = [
    ('<robot><link name="a"></robot>', "malformed XML: mismatched tag at line 1, column 25"),
    ("<robot>\n<link name=a/></robot>", "malformed XML: .* at line 2, column 12"),
    ("<mujoco/>", "root element is <mujoco>"),
    ("<robot/>", "has no links"),
    ("<robot xmlns:xacro='x'><xacro:include/></robot>", "is a xacro file"),
    ("<robot>\n<link/></robot>", "a <link> .line 2. has no name"),
    ('<robot><link name="a"/>\n<link name="a"/></robot>', "two links are named 'a' .lines 1 and 2."),
    ('<robot><link name="a"/>\n<link name="b"/></robot>', "2 links have no parent joint .'a', 'b'."),
    ('<!DOCTYPE robot [<!ENTITY a "b">]><robot><link name="&a;"/></robot>', "DOCTYPE at line 1: XML entities are off"),
    ('<?xml version="1.0"?>\n<!DOCTYPE robot SYSTEM "file:///etc/passwd"><robot/>', "XML entities are off"),
    ('<robot><link name="&a;"/></robot>', "malformed XML: undefined entity"),
]
BAD_JOINTS = [
    (f'<joint name="j" type="screw">{ENDS}</joint>', "joint 'j' .line 4.: unsupported type 'screw'.* revolute, cont"),
    (f'<joint name="j">{ENDS}</joint>', "unsupported type ''"),
    ('<joint name="j" type="fixed"><child link="b"/></joint>', "joint 'j': <joint> .line 4. has no <parent>"),
    ('<joint name="j" type="fixed"><parent/><child link="b"/></joint>', "<parent> .line 4. names no link"),
    ('<joint name="j" type="fixed"><parent link="aa"/><child link="b"/></joint>',
     "no link .parent of joint 'j', line 4. named 'aa'. Did you mean 'a'"),
    (FIXED.format("") + f'<joint name="k" type="fixed">{ENDS}</joint>', "'b' is the child of two joints"),
    (JOINT.format('<axis xyz="0 0 0"/>'), "axis of zero length .line 4."),
    (JOINT.format('<axis xyz="0 1"/>'), "xyz of <axis> .line 4. must be 3 finite numbers, not '0 1'"),
    (FIXED.format('\n<origin rpy="0 0 nan"/>'), "joint 'j': rpy of <origin> .line 5. must be 3 finite"),
    (FIXED.format('<origin xyz="0 0 1,5"/>'), "not '0 0 1,5'"),
    (FIXED.format('<origin xyz="0 0 1_0"/>'), "not '0 0 1_0'"),
    (FIXED.format('<origin xyz="0 0 ${h}"/>'), "expression of xacro"),
    (JOINT.format('<limit lower="nan" upper="1"/>'), "lower of <limit> .line 4. must be a number"),
    (JOINT.format('<mimic joint="k"/>'), "mimicked by joint 'j', line 4. named 'k'"),
    (JOINT.format('<mimic joint="j"/>'), "joint 'j' mimics itself"),
    (JOINT.format("<mimic/>"), "<mimic> .line 4. names no joint"),
]  # fmt: skip
BAD_LINKS = [
    ('<inertial><mass value="1"/></inertial>', "link 'b': <inertial> .line 3. has no <inertia>"),
    ("<inertial><mass/><inertia/></inertial>", "link 'b': <mass> .line 3. has no value"),
    ('<visual><geometry><box size="1 2"/></geometry></visual>', "link 'b': size of <box>"),
]
BAD = [
    *BAD_FILES,
    *((one_joint(joint), message) for joint, message in BAD_JOINTS),
    *((one_joint(FIXED.format(""), link), message) for link, message in BAD_LINKS),
]


@pytest.mark.parametrize(("text", "message"), BAD, ids=[message for _, message in BAD])
def test_bad_files_are_refused_with_a_reason(text, message):
    with pytest.raises(EquipoiseError, match=message) as caught:
        quietly(text)
    assert str(caught.value).startswith("XML text: ")


def test_unknown_names_are_name_errors():
    with pytest.raises(UnknownNameError):
        read_urdf(one_joint('<joint name="j" type="fixed"><parent link="x"/><child link="b"/></joint>'))


def test_errors_name_the_file(tmp_path):
    path = tmp_path / "broken.urdf"
    path.write_text("<robot>\n")
    with pytest.raises(ModelError, match=r"^broken.urdf: malformed XML: no element found at line 2"):
        read_urdf(path)


def test_a_missing_file_is_a_file_not_found_error(tmp_path):
    for path, reason in ((tmp_path / "none.urdf", "does not exist"), (tmp_path, "is a folder")):
        with pytest.raises(FileNotFoundError, match=f"{path}.* {reason}") as caught:
            read_urdf(path)
        assert isinstance(caught.value, ModelError)


def test_an_encoding_nobody_has(tmp_path):
    path = tmp_path / "r.urdf"
    path.write_bytes(b'<?xml version="1.0" encoding="klingon"?><robot/>')
    with pytest.raises(ModelError, match="encoding"):
        read_urdf(path)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1"])
def test_encodings(tmp_path, encoding):
    path = tmp_path / "r.urdf"
    path.write_text(
        f'<?xml version="1.0" encoding="{encoding.removesuffix("-sig")}"?><robot><link name="ä"/></robot>',
        encoding=encoding,
    )
    assert list(read_urdf(path).links) == ["ä"]


def test_text_may_start_with_blank_lines_before_its_declaration():
    with pytest.raises(ModelError, match="line 4"):
        read_urdf('\n\n<?xml version="1.0" encoding="utf-16"?>\n<robot')
    assert read_urdf('\n<?xml version="1.0"?>\n<robot><link name="a"/></robot>').nv == 6


# Size


def chain(n: int) -> str:
    limit = '<limit lower="-1" upper="1" velocity="1" effort="1"/>'
    inertial = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial>'
    links = "".join(f'<link name="l{i}">{inertial}</link>' for i in range(n))
    joints = "".join(
        f'<joint name="j{i}" type="revolute"><parent link="l{i - 1}"/><child link="l{i}"/>{limit}</joint>'
        for i in range(1, n)
    )
    return f"<robot>{links}{joints}</robot>"


def test_a_long_chain_needs_no_recursion():
    n = 2 * sys.getrecursionlimit()
    model = read_urdf(chain(n))
    assert model.nv == 6 + n - 1
    assert len(tree_of(model).bodies) == n


def test_sizes_up_to_the_limits_are_read(monkeypatch):
    """Each limit is the largest that is read: with one less, the same file is refused."""
    text = chain(3)
    root = ET.fromstring(text)
    depth, level = 0, [root]
    while level:
        depth, level = depth + 1, [child for element in level for child in element]
    sizes = {
        (xml, "MAX_ELEMENTS"): len(list(root.iter())),
        (xml, "MAX_DEPTH"): depth,
        (xml, "MAX_BYTES"): len(text.encode()),
        (urdf, "MAX_PARTS"): 3,
    }
    for (module, name), size in sizes.items():
        with monkeypatch.context() as patch:
            patch.setattr(module, name, size)
            assert len(read_urdf(text).links) == 3
            patch.setattr(module, name, size - 1)
            with pytest.raises(ModelError):
                read_urdf(text)


def test_hostile_sizes_are_refused(monkeypatch, tmp_path):
    with pytest.raises(ModelError, match="nested more than 100 deep"):
        read_urdf("<robot>" + "<a>" * 1_000_000)
    monkeypatch.setattr(xml, "MAX_ELEMENTS", 1000)
    with pytest.raises(ModelError, match="more than 1000 XML elements"):
        read_urdf("<robot>" + "<a/>" * 2000)
    monkeypatch.setattr(urdf, "MAX_PARTS", 10)
    with pytest.raises(ModelError, match="20 links; up to 10 are read"):
        read_urdf(chain(20))
    monkeypatch.setattr(xml, "MAX_BYTES", 2**20)
    (tmp_path / "big.urdf").write_text("<robot>" + " " * 2**21 + "</robot>")
    for source in ("<robot>" + " " * 2**21, tmp_path / "big.urdf"):
        with pytest.raises(ModelError, match="2 MiB of XML; robot descriptions of up to 1 MiB are read"):
            read_urdf(source)


def test_messages_do_not_repeat_a_long_value():
    with pytest.raises(ModelError) as caught:
        read_urdf(one_joint(f'<joint name="j" type="fixed">{ENDS}<origin xyz="{"9 " * 100_000}"/></joint>'))
    assert len(str(caught.value)) < 300


def test_the_reader_imports_no_heavy_package():
    code = (
        "import sys; before = set(sys.modules); import equipoise.model.urdf, equipoise.model.library;"
        "heavy = {'lxml', 'yourdfpy', 'trimesh', 'mujoco', 'casadi', 'scipy', 'pinocchio', 'urllib.request'};"
        "print(sorted(heavy & set(sys.modules)))"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.strip() == "[]"


# Writing

ZOO = """
<robot name="z &amp; o &lt;o">
  <link name="root"><inertial><mass value="3"/>
    <inertia ixx="1" ixy="0.1" ixz="0.2" iyy="1.5" iyz="0.3" izz="2"/></inertial></link>
  <link name="slide"><visual><origin rpy="1 2 3"/><geometry><capsule radius="1" length="2"/></geometry>
    <material name="m"><color rgba="0.1 0.2 0.3 1"/></material></visual></link>
  <link name="turn"/> <link name="spin"/> <link name="plane"/> <link name="ball"/> <link name="tip"/>
  <link name="mimic"/>
  <joint name="a" type="prismatic"><origin xyz="1 2 3" rpy="0.3 1.5707963267948966 0.1"/>
    <parent link="root"/><child link="slide"/><axis xyz="1 2 3"/>
    <limit lower="-1" upper="2" velocity="3" effort="4"/></joint>
  <joint name="b" type="revolute"><origin rpy="0.1 -0.2 0.3"/><parent link="slide"/><child link="turn"/>
    <limit lower="-1" upper="2" effort="4"/><dynamics damping="0.5"/></joint>
  <joint name="c" type="continuous"><parent link="turn"/><child link="spin"/><axis xyz="0 0 -1"/></joint>
  <joint name="d" type="planar"><origin xyz="0 1 0"/><parent link="spin"/><child link="plane"/>
    <axis xyz="0 1 1"/></joint>
  <joint name="e" type="spherical"><parent link="plane"/><child link="ball"/></joint>
  <joint name="f" type="fixed"><origin xyz="0 0 1"/><parent link="ball"/><child link="tip"/></joint>
  <joint name="g" type="prismatic"><parent link="root"/><child link="mimic"/>
    <mimic joint="b" multiplier="2" offset="-1"/></joint>
</robot>
"""


def assert_same(model: Model, again: Model) -> None:
    assert (again.name, again.nq, again.nv) == (model.name, model.nq, model.nv)
    q = random_configuration(model)
    poses, poses_again = link_poses(model, q), link_poses(again, q)
    for name, link in model.links.items():
        assert_allclose(poses_again[name], poses[name], atol=1e-9)
        assert (link.inertia is None) == (again.links[name].inertia is None)
        if link.inertia is not None:
            assert again.links[name].inertia.mass == link.inertia.mass
            assert_allclose(again.links[name].inertia.matrix, link.inertia.matrix, rtol=1e-12, atol=1e-18)
        shapes = [(s.kind, s.size, s.color) for s in (*link.visuals, *link.collisions) if s.kind != "capsule"]
        written = (*again.links[name].visuals, *again.links[name].collisions)
        if len(shapes) == len(link.visuals) + len(link.collisions):
            assert shapes == [(s.kind, s.size, s.color) for s in written]
        else:
            assert [s.kind for s in written] == ["cylinder", "sphere", "sphere"]
    for name, joint in model.joints.items():
        assert again.joints[name].limits == joint.limits
        assert again.joints[name].mimic == joint.mimic
        assert again.joints[name].dynamics == joint.dynamics


@pytest.mark.parametrize("floating", [True, False])
def test_what_is_written_reads_back(floating):
    model = quietly(ZOO, floating=floating)
    assert_same(model, quietly(write_urdf(model), floating=floating))


@pytest.mark.parametrize("name", ["jvrc1", "g1", "talos", "centauro"])
def test_real_robots_survive_writing(name):
    model = quietly(support.description(name))
    assert_same(model, quietly(write_urdf(model)))


@pytest.mark.parametrize("name", ["arm7", "human", "holonomic_arm"])
def test_built_in_robots_survive_writing(name):
    model = library.read(name)
    again = quietly(write_urdf(model), floating=model.base is not None)
    assert set(model.frames) <= set(again.frames)
    q = random_configuration(model)
    poses, poses_again = link_poses(model, q), link_poses(again, q)
    for link in model.links:
        assert_allclose(poses_again[link], poses[link], atol=1e-9)


def test_pinocchio_reads_what_is_written():
    pin = pytest.importorskip("pinocchio")
    model = quietly(support.description("g1"))
    reference = pin.buildModelFromXML(write_urdf(model), pin.JointModelFreeFlyer())
    assert reference.nv == model.nv
    assert_allclose(pin.computeTotalMass(reference), model.mass)
