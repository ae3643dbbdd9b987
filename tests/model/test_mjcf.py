"""MJCF models against MuJoCo itself, which compiled them."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import numpy as np
import pytest
import support
from numpy.testing import assert_allclose

from equipoise.algebra import rigid
from equipoise.algebra.quaternions import NUMBERS
from equipoise.errors import ModelError, ModelWarning
from equipoise.model.joints import Ball, Continuous, Fixed, Floating, Prismatic, Revolute
from equipoise.model.mjcf import joint_names, read_mjcf
from equipoise.model.types import Model

mujoco = pytest.importorskip("mujoco")

FROM_URDF = ("solo12", "talos", "go2")  # MuJoCo's compiler makes MJCF of these

SHAKEN = """
<mujoco model="shaken">
  <compiler angle="radian"/>
  <option gravity="0 0 -3"/>
  <worldbody>
    <geom type="plane" size="1 1 1"/>
    <site name="marker" pos="1 2 3"/>
    <body name="trunk" pos="0.1 0.2 1" quat="1 0.2 0.1 -0.4">
      <freejoint/>
      <geom type="box" size="0.1 0.2 0.3" rgba="1 0 0 1"/>
      <site name="limb" pos="0 0 0.1"/>
      <site name="tip" pos="0 0.1 0" euler="0.3 0 0"/>
      <body name="limb" pos="0 0.3 1" euler="0.1 0.2 0.3">
        <joint name="swing" pos="0.1 0.2 0.3" axis="1 1 0" ref="0.4" range="-1 1" damping="0.5" frictionloss="0.2"/>
        <joint name="slide" type="slide" axis="0 1 1" pos="0.3 0 0" ref="0.2" springref="0.3" stiffness="2"/>
        <joint pos="-0.1 0.2 0.3" axis="1 -1 2" ref="-0.4"/>
        <geom type="capsule" size="0.1 0.2" contype="0" conaffinity="0"/>
        <body pos="0.2 0 0.5">
          <joint name="shoulder" type="ball" pos="0 0.1 0.2" range="0 1" stiffness="3"/>
          <geom type="ellipsoid" size="0.1 0.2 0.3" pos="0.1 0 0" euler="0.2 0.4 0"/>
          <body name="rod" pos="0 0 0.2" euler="0 0.3 0"><geom type="cylinder" size="0.02 0.3"/></body>
        </body>
      </body>
    </body>
  </worldbody>
  <equality>
    <connect body1="limb" body2="trunk" anchor="0.1 0.2 0.3"/>
    <weld name="glue" body1="rod" body2="trunk" anchor="0.1 0.2 0.3"/>
    <weld name="nailed" body1="rod"/>
    <joint name="geared" joint1="swing" joint2="slide" polycoef="0.1 2 0.3 -0.4 0.5"/>
    <joint name="held" joint1="swing" polycoef="0.2 0 0 0 0"/>
  </equality>
  <actuator>
    <motor joint="swing" gear="-5" ctrlrange="-2 3" armature="0.1" damping="0.2"/>
    <motor joint="slide" gear="2" ctrlrange="-9 9" forcerange="-4 3"/>
  </actuator>
</mujoco>
"""


def body(inner: str, *, rest: str = "", world: str = "") -> str:
    """A file with one body on the world."""
    shape = '<geom type="sphere" size="0.1"/>'
    return f'<mujoco><worldbody>{world}<body name="a" pos="0 0 1">{shape}{inner}</body></worldbody>{rest}</mujoco>'


def link_poses(model: Model, q: np.ndarray) -> dict[str | None, np.ndarray]:
    """Pose of every link in the world, by walking the tree."""
    X_W: dict[str | None, np.ndarray] = {None: np.eye(4)}
    waiting = list(model.joints.values())
    while waiting:
        joint = waiting.pop(0)
        if joint.parent not in X_W:
            waiting.append(joint)
            continue
        X = np.eye(4)
        X[:3, :3], X[:3, 3] = joint.type.pose(q[joint.q], NUMBERS)
        X_W[joint.child] = X_W[joint.parent] @ joint.origin @ X @ joint.tail
    return X_W


def random_qpos(m, rng) -> np.ndarray:
    q = rng.uniform(-2, 2, m.nq)
    for j in range(m.njnt):
        start = m.jnt_qposadr[j] + {0: 3, 1: 0}.get(int(m.jnt_type[j]), 0)
        if m.jnt_type[j] in (0, 1):
            q[start : start + 4] /= np.linalg.norm(q[start : start + 4])
    return q


def assert_same_poses(model: Model, m, q: np.ndarray) -> None:
    data = mujoco.MjData(m)
    data.qpos[:] = q
    mujoco.mj_kinematics(m, data)
    X_W = link_poses(model, q)
    links = [link.name for link in model.links.values() if not link.virtual]
    assert len(links) == m.nbody - 1
    for i, name in enumerate(links, start=1):
        assert_allclose(X_W[name][:3, 3], data.xpos[i], atol=1e-12)
        assert_allclose(X_W[name][:3, :3], data.xmat[i].reshape(3, 3), atol=1e-12)
    for frame in model.frames.values():
        if frame.name not in model.links:
            site = frame.name.removeprefix("site:")
            assert_allclose((X_W[frame.parent] @ frame.X)[:3, 3], data.site(site).xpos, atol=1e-12)


@pytest.fixture(params=[*FROM_URDF, *support.marked(support.FURTHER_MJCFS, support.FURTHER_MJCFS)])
def pair(request):
    if request.param in FROM_URDF:
        text = support.mjcf_of(request.param)
        return read_mjcf(text), mujoco.MjModel.from_xml_string(text)
    path = support.robots_folder() / support.FURTHER_MJCFS[request.param]
    return read_mjcf(path), mujoco.MjModel.from_xml_path(str(path))


@pytest.fixture
def shaken():
    return read_mjcf(SHAKEN), mujoco.MjModel.from_xml_string(SHAKEN)


def test_robots_have_the_bodies_of_mujoco(pair):
    model, m = pair
    assert (model.nq, model.nv) == (m.nq, m.nv)
    assert_allclose(model.mass, m.body_mass.sum(), rtol=1e-14)
    for name, mass in zip((m.body(i).name for i in range(1, m.nbody)), m.body_mass[1:], strict=True):
        inertia = model.links[name].inertia
        assert (0.0 if inertia is None else inertia.mass) == mass
    for j, name in enumerate(joint_names(m)):
        assert model.joints[name].q.start == m.jnt_qposadr[j]
        assert model.joints[name].v.start == m.jnt_dofadr[j]


def test_robots_stand_as_in_mujoco(pair):
    model, m = pair
    rng = np.random.default_rng(1)
    for q in [m.qpos0, random_qpos(m, rng), random_qpos(m, rng)]:
        assert_same_poses(model, m, q)


def test_shaken_model_stands_as_in_mujoco(shaken):
    """Several joints on a body, anchors off the origin, references, ball joints, unnamed parts."""
    model, m = shaken
    rng = np.random.default_rng(2)
    for q in [m.qpos0, *(random_qpos(m, rng) for _ in range(5))]:
        assert_same_poses(model, m, q)


def test_mass_matrix_from_link_inertias_is_that_of_mujoco(pair):
    """M = Σ Jᵀ I J over the links, with the Jacobians of MuJoCo: only the inertias are ours."""
    model, m = pair
    data = mujoco.MjData(m)
    data.qpos[:] = random_qpos(m, np.random.default_rng(3))
    mujoco.mj_forward(m, data)
    expected = np.zeros((m.nv, m.nv))
    mujoco.mj_fullM(m, data, expected)
    M = np.diag(m.dof_armature.copy())
    for i in range(1, m.nbody):
        inertia = model.links[m.body(i).name].inertia
        if inertia is None:
            continue
        R = data.xmat[i].reshape(3, 3)
        J_p, J_r = np.zeros((3, m.nv)), np.zeros((3, m.nv))
        mujoco.mj_jac(m, data, J_p, J_r, data.xpos[i] + R @ inertia.com, i)
        M += inertia.mass * J_p.T @ J_p + J_r.T @ R @ inertia.matrix @ R.T @ J_r
    assert_allclose(M, expected, atol=1e-9)


def test_joint_types_and_names(shaken):
    model, m = shaken
    types = {name: type(joint.type) for name, joint in model.joints.items()}
    assert types == {
        "base": Floating, "swing": Revolute, "slide": Prismatic, "limb_joint2": Continuous,
        "shoulder": Ball, "rod_joint": Fixed,
    }  # fmt: skip
    assert list(model.links) == ["trunk", "limb/swing", "limb/slide", "limb", "body3", "rod"]
    assert [link.name for link in model.links.values() if link.virtual] == ["limb/swing", "limb/slide"]
    assert joint_names(m) == [name for name in model.joints if name != "rod_joint"]
    assert model.name == "shaken"


def test_given_names_win_over_made_ones():
    inner = '<body><joint/><geom size="0.1"/><body name="body2"><geom size="1"/></body></body>'
    model = read_mjcf(body('<joint name="body2_joint"/>' + inner))
    assert list(model.links) == ["a", "body2_2", "body2"]
    assert list(model.joints) == ["body2_joint", "body2_2_joint", "body2_joint_2"]


def test_frames_are_sites_and_clashes_are_prefixed(shaken):
    model, _ = shaken
    assert model.frames["marker"].parent is None
    assert model.frames["site:limb"].parent == "trunk"
    assert model.frames["limb"].parent == "limb"
    assert model.frames["tip"].parent == "trunk"


def test_limits_and_dynamics(shaken):
    model, _ = shaken
    swing, slide = model.joints["swing"], model.joints["slide"]
    assert (swing.limits.lower, swing.limits.upper) == (-1, 1)
    assert swing.limits.effort == 15
    assert slide.limits.effort == 8
    assert model.joints["limb_joint2"].limits.upper == np.inf
    assert swing.dynamics.friction == 0.2
    assert_allclose(swing.dynamics.armature, 25 * 0.1)
    assert_allclose(swing.dynamics.damping, 0.5 + 25 * 0.2)
    assert (slide.dynamics.stiffness, slide.dynamics.rest) == (2, 0.3)
    assert model.joints["shoulder"].dynamics.stiffness == 3


def test_armature_of_actuators_is_that_of_mujoco(shaken):
    model, m = shaken
    data = mujoco.MjData(m)
    data.qpos[:] = random_qpos(m, np.random.default_rng(4))
    mujoco.mj_forward(m, data)
    M, bare = np.zeros((2, m.nv, m.nv))
    mujoco.mj_fullM(m, data, M)
    m.actuator_armature[:] = 0
    mujoco.mj_forward(m, data)
    mujoco.mj_fullM(m, data, bare)
    place = model.joints["swing"].v.start
    assert_allclose((M - bare)[place, place], model.joints["swing"].dynamics.armature, rtol=1e-12)


def test_actuator_force_range_of_a_joint():
    motor = '<actuator><position joint="h" kp="100" ctrlrange="-1 1"/></actuator>'
    assert read_mjcf(body('<joint name="h"/>', rest=motor)).joints["h"].limits.effort == np.inf
    limited = body('<joint name="h" actuatorfrcrange="-7 6"/>', rest=motor)
    assert read_mjcf(limited).joints["h"].limits.effort == 7


def test_shapes(shaken):
    model, _ = shaken
    trunk, limb, rod = (model.links[name] for name in ("trunk", "limb", "rod"))
    assert (trunk.visuals[0].kind, trunk.visuals[0].size) == ("box", (0.2, 0.4, 0.6))
    assert trunk.visuals[0].color == (1, 0, 0, 1)
    assert len(trunk.collisions) == 1
    assert (limb.visuals[0].kind, limb.visuals[0].size, limb.collisions) == ("capsule", (0.1, 0.4), ())
    assert (rod.visuals[0].kind, rod.visuals[0].size) == ("cylinder", (0.02, 0.6))


TETRAHEDRON = "v 0 0 0\nv 1 0 0\nv 0 2 0\nv 0 0 3\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 4 3\n"


def mesh_file(folder: Path, *, inertial: str, compiler: str = "") -> Path:
    path = folder / "robot.xml"
    path.write_text(
        f'<mujoco><compiler meshdir="assets" {compiler}/>'
        '<asset><texture name="x" type="2d" file="none.png"/><material name="m" texture="x" rgba="0 1 0 1"/>'
        '<mesh file="tetra.obj" scale="1 1 2"/></asset>'
        f'<worldbody><body name="a">{inertial}<joint/>'
        '<geom name="g" type="mesh" mesh="tetra" pos="0 0 5" euler="30 0 0" material="m"/></body></worldbody>'
        '<sensor><framepos objtype="geom" objname="g"/></sensor></mujoco>'
    )
    return path


INERTIAL = '<inertial pos="0 0 0" mass="2" diaginertia="1 1 1"/>'


def test_mesh_keeps_file_and_pose(tmp_path):
    (tmp_path / "assets").mkdir()
    (tmp_path / "assets" / "tetra.obj").write_text(TETRAHEDRON)
    shape = read_mjcf(mesh_file(tmp_path, inertial="")).links["a"].visuals[0]
    assert shape.mesh is not None
    assert Path(shape.mesh) == tmp_path / "assets" / "tetra.obj"
    assert (shape.kind, shape.size, shape.color) == ("mesh", (1, 1, 2), (0, 1, 0, 1))
    expected = rigid.pose(rigid.rotation_about(np.array([1, 0, 0]), np.pi / 6), np.array([0, 0, 5]))
    assert_allclose(shape.X, expected, atol=1e-12)


def test_missing_mesh_is_a_warning_if_the_inertia_is_given(tmp_path):
    with pytest.warns(ModelWarning, match=r"tetra\.obj"):
        model = read_mjcf(mesh_file(tmp_path, inertial=INERTIAL))
    assert model.mass == 2
    assert model.links["a"].visuals == ()


@pytest.mark.parametrize(("inertial", "compiler"), [("", ""), (INERTIAL, 'inertiafromgeom="true"')])
def test_missing_mesh_is_an_error_if_the_inertia_depends_on_it(tmp_path, inertial, compiler):
    with pytest.raises(ModelError, match=r"tetra\.obj.*'a'.*<inertial>"):
        read_mjcf(mesh_file(tmp_path, inertial=inertial, compiler=compiler))


@pytest.mark.parametrize("name", support.marked(["cassie", "g1", "iiwa14"], support.FURTHER_MJCFS))
def test_file_without_its_meshes_is_the_same_robot(name):
    """The full files name hundreds of meshes that are not beside them."""
    bare = support.robots_folder() / support.FURTHER_MJCFS[name]
    with pytest.warns(ModelWarning, match="mesh files are missing"):
        full = read_mjcf(bare.with_name(bare.name.replace("_nomesh", "")))
    stripped = read_mjcf(bare)
    assert (list(full.joints), list(full.links)) == (list(stripped.joints), list(stripped.links))
    assert_allclose(full.mass, stripped.mass, rtol=1e-14)


@support.further
def test_cassie_keeps_its_loops_and_springs():
    model = read_mjcf(support.robots_folder() / support.FURTHER_MJCFS["cassie"])
    assert [loop.kind for loop in model.loops.values()] == ["connect"] * 4
    assert list(model.loops) == ["loop0", "loop1", "loop2", "loop3"]
    assert model.joints["left-shin"].dynamics.stiffness == 1500
    assert model.joints["left-hip-roll"].limits.effort == 25 * 4.5
    assert model.base is not None
    assert model.base.name == "base"
    q = np.concatenate([model.standing[joint.name] for joint in model.joints.values() if joint.moving])
    X_W = link_poses(model, q)
    for loop in model.loops.values():
        assert loop.frame_a is not None
        assert loop.frame_b is not None
        gap = X_W[loop.frame_a.parent] @ loop.frame_a.X - X_W[loop.frame_b.parent] @ loop.frame_b.X
        assert_allclose(gap[:3, 3], 0, atol=2e-3)  # the keyframe was settled under load, with soft loops


def test_loops_are_closed_at_the_reference(shaken):
    """Frames made from anchors and relative poses meet where MuJoCo derived them: at qpos0."""
    model, m = shaken
    X_W = link_poses(model, m.qpos0)
    kinds = {name: loop.kind for name, loop in model.loops.items()}
    assert kinds == {"loop0": "connect", "glue": "weld", "nailed": "weld", "geared": "joint", "held": "joint"}
    for name in ("loop0", "glue", "nailed"):
        a, b = model.loops[name].frame_a, model.loops[name].frame_b
        gap = X_W[a.parent] @ a.X - X_W[b.parent] @ b.X
        assert_allclose(gap[:3, 3], 0, atol=1e-12)
        if name != "loop0":
            assert_allclose(gap, 0, atol=1e-12)
    assert model.loops["nailed"].frame_b.parent is None
    assert (model.loops["glue"].frame_a.name, model.loops["glue"].frame_b.name) == ("glue:a", "glue:b")


def test_polynomial_is_that_of_mujoco(shaken):
    model, m = shaken
    data = mujoco.MjData(m)
    data.qpos[:] = random_qpos(m, np.random.default_rng(5))
    mujoco.mj_forward(m, data)
    residuals = data.efc_pos[data.efc_type == mujoco.mjtConstraint.mjCNSTR_EQUALITY][-2:]
    q_a, q_b = (data.qpos[model.joints[name].q][0] for name in ("swing", "slide"))
    geared, held = model.loops["geared"], model.loops["held"]
    assert (geared.joint_a, geared.joint_b) == ("swing", "slide")
    assert_allclose(q_a - np.polynomial.polynomial.polyval(q_b, geared.polynomial), residuals[0], atol=1e-12)
    assert held.joint_b is None
    assert_allclose(q_a - held.polynomial[0], residuals[1], atol=1e-12)


def test_loops_between_sites():
    text = body(
        '<joint/><site name="s" pos="0.1 0 0" euler="0 0 90"/><body name="b"><joint/><geom size="0.1"/><site '
        'name="t"/></body>',
        rest='<equality><weld site1="s" site2="t"/></equality>',
    )
    model = read_mjcf(text)
    loop = model.loops["loop0"]
    assert (loop.frame_a.parent, loop.frame_b.parent) == ("a", "b")
    assert_allclose(loop.frame_a.X, model.frames["s"].X)


def test_other_equalities_are_left_out_with_a_warning():
    rest = (
        '<tendon><spatial name="t"><site site="s"/><site site="o"/></spatial></tendon>'
        '<equality><tendon name="rope" tendon1="t"/><joint name="off" joint1="h" active="false"/></equality>'
    )
    world, inner = '<site name="o" pos="0 0 2"/>', '<joint name="h"/><site name="s" pos="0.1 0 0"/>'
    with pytest.warns(ModelWarning, match="tendons over sites or three joints.*rope, off"):
        assert not read_mjcf(body(inner, world=world, rest=rest)).loops


TENDON = '<fixed name="{}">{}</fixed>'
WRAP = '<joint joint="{}" coef="{}"/>'


@pytest.mark.parametrize(
    ("first", "second", "coefficients", "equal"),
    [
        ([("h", 0.5)], [("k", -2.0)], "0.1 0.3 -0.4 0 0", ("h", "k")),  # a rack and its pinion
        ([("h", 0.5), ("k", 1.5)], [], "0.2 1 0 0 0", ("h", "k")),  # a differential whose motor is locked
        ([("k", 4.0)], [], "0.2 1 0 0 0", ("k", None)),
    ],
)
def test_equalities_of_fixed_tendons_are_couplings(first, second, coefficients, equal, rng):
    tendons = "".join(
        TENDON.format(name, "".join(WRAP.format(*term) for term in terms))
        for name, terms in (("one", first), ("two", second))
        if terms
    )
    two = 'tendon2="two"' if second else ""
    tie = f'<tendon name="tie" tendon1="one" {two} polycoef="{coefficients}"/>'
    rest = f"<tendon>{tendons}</tendon><equality>{tie}</equality>"
    inner = '<joint name="h" axis="0 1 0" ref="0.2"/><body name="b"><joint name="k" type="slide" ref="-0.1"/>'
    text = body(f'{inner}<geom size="0.1"/></body>', rest=rest)
    (tie,) = read_mjcf(text).loops.values()
    assert (tie.kind, tie.joint_a, tie.joint_b) == ("joint", *equal)
    m = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(m)
    a, b = (None if name is None else int(m.joint(name).qposadr[0]) for name in equal)
    for x in rng.uniform(-0.5, 0.5, 5):
        data.qpos[:] = x
        data.qpos[a] = np.polynomial.Polynomial(tie.polynomial)(0.0 if b is None else data.qpos[b])
        mujoco.mj_forward(m, data)
        assert_allclose(data.efc_pos[:1], 0.0, atol=1e-12)


def test_a_differential_of_three_joints_is_left_out_and_says_so():
    wraps = "".join(WRAP.format(name, 1.0) for name in ("h", "k", "l"))
    rest = f'<tendon>{TENDON.format("one", wraps)}</tendon><equality><tendon name="tie" tendon1="one"/></equality>'
    inner = "".join(
        f'<joint name="{name}" axis="{axis}"/>' for name, axis in zip("hkl", ("1 0 0", "0 1 0", "0 0 1"), strict=True)
    )
    with pytest.warns(ModelWarning, match="not carried.*three joints.*tie"):
        assert not read_mjcf(body(inner, rest=rest)).loops


def test_fixed_base_stands_where_the_file_puts_it(shaken):
    _, m = shaken
    model = read_mjcf(SHAKEN, floating=False)
    assert model.base is None
    assert (model.nq, model.nv) == (m.nq - 7, m.nv - 6)
    q = random_qpos(m, np.random.default_rng(6))
    q[:7] = m.qpos0[:7]
    data = mujoco.MjData(m)
    data.qpos[:] = q
    mujoco.mj_kinematics(m, data)
    assert_allclose(link_poses(model, q[7:])["rod"][:3, 3], data.body("rod").xpos, atol=1e-12)


def test_floating_true_frees_a_fixed_base():
    key = '<keyframe><key qpos="0.7"/></keyframe>'
    text = body('<body name="b" pos="0 0 1"><joint name="h"/><geom size="0.1"/></body>', rest=key)
    model = read_mjcf(text, floating=True)
    assert model.base is not None
    assert (model.base.name, model.base.child, model.nv) == ("base", "a", 7)
    assert model.standing == {"base": (0, 0, 1, 1, 0, 0, 0), "h": (0.7,)}
    assert_allclose(link_poses(model, np.array([1, 2, 3, 1, 0, 0, 0, 0.0]))["b"][:3, 3], [1, 2, 4])
    assert read_mjcf(text).base is None


def test_floating_true_keeps_a_free_base():
    assert read_mjcf(SHAKEN, floating=True).nv == read_mjcf(SHAKEN).nv


def test_floating_true_says_why_it_cannot():
    with pytest.raises(ModelError, match=r"here are 0 such bodies .*'a' by continuous 'h'"):
        read_mjcf(body('<joint name="h"/>'), floating=True)
    with pytest.raises(ModelError, match="here are 2 such bodies"):
        read_mjcf(body("", world="<body/>"), floating=True)


def test_standing_is_the_keyframe_of_that_name():
    def read(*names):
        keys = "".join(f'<key name="{name}" qpos="{k}"/>' for k, name in enumerate(names))
        return read_mjcf(body('<joint name="h"/>', rest=f"<keyframe>{keys}</keyframe>")).standing

    assert read("sit", "lie") == {"h": (0,)}
    assert read("sit", "stand") == {"h": (1,)}
    assert read("sit", "run", "home") == {"h": (2,)}
    assert not read_mjcf(body('<joint name="h"/>')).standing


def test_gravity_is_ours_not_the_file_s(shaken):
    assert shaken[0].gravity == (0, 0, -9.80665)
    assert read_mjcf(SHAKEN, gravity=(0, 0, -1.62)).gravity == (0, 0, -1.62)


ENTITY = '<!DOCTYPE x [<!ENTITY lol "lol">]>'


@pytest.mark.parametrize("text", [ENTITY + body(""), '<?xml version="1.0"?>\n<!-- a -->' + ENTITY.lower() + body("")])
def test_entities_are_refused(text):
    with pytest.raises(ModelError, match="DOCTYPE or XML entities"):
        read_mjcf(text)


def test_entities_are_refused_in_included_files(tmp_path):
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "leg.xml").write_text(ENTITY + '<mujoco><worldbody><body name="x"/></worldbody></mujoco>')
    (tmp_path / "part.xml").write_text('<mujoco><include file="parts/leg.xml"/></mujoco>')
    (tmp_path / "robot.xml").write_text('<mujoco><include file="part.xml"/></mujoco>')
    with pytest.raises(ModelError, match=r"leg\.xml.*included in .*part\.xml.*refused"):
        read_mjcf(tmp_path / "robot.xml")


def test_comments_may_speak_of_entities():
    assert read_mjcf("<!-- no <!DOCTYPE here -- nor there -->" + body("")).links


def test_included_files_are_read(tmp_path):
    (tmp_path / "leg.xml").write_text('<mujoco><worldbody><body name="leg"/></worldbody></mujoco>')
    (tmp_path / "robot.xml").write_text('<mujoco><include file="leg.xml"/></mujoco>')
    model = read_mjcf(str(tmp_path / "robot.xml"))
    assert (list(model.links), model.name) == (["leg"], "robot")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<mujoco><worldbody></mujoco>", "MuJoCo cannot read the MJCF text: .*XML_ERROR"),
        ("<mujoco><worldbody><bod/></worldbody></mujoco>", "Schema violation.*'bod'"),
        ("<robot name='r'/>", "not MJCF: its root element is <robot>"),
        (body('<joint type="hinge" axis="0 0 0"/>'), "MuJoCo cannot read"),
        ("no/such/file.xml", "'no/such/file.xml' does not exist"),
    ],
)
def test_unreadable_files_say_why(text, message):
    with pytest.raises(ModelError, match=message):
        read_mjcf(text)


def test_good_files_give_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read_mjcf(re.sub(r"<actuator>.*</actuator>", "", SHAKEN, flags=re.DOTALL))
