"""States in the conventions of Pinocchio, MuJoCo and iDynTree: round trips, and the peers' own word on what they
mean."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import support
from numpy.testing import assert_allclose
from scipy.spatial.transform import Rotation

from equipoise import convert
from equipoise.algebra.quaternions import NUMBERS
from equipoise.errors import ModelError, ShapeError, StateError
from equipoise.model.builder import ModelBuilder
from equipoise.model.joints import Ball
from equipoise.model.mjcf import read_mjcf
from equipoise.model.types import Model
from equipoise.model.urdf import read_urdf

pin = pytest.importorskip("pinocchio")
mujoco = pytest.importorskip("mujoco")

pytestmark = pytest.mark.filterwarnings("ignore::equipoise.errors.ModelWarning")

INERTIAL = (
    '<inertial><origin xyz="0.1 0.2 -0.1"/><mass value="1.5"/>'
    '<inertia ixx="0.3" iyy="0.4" izz="0.5" ixy="0.01" ixz="0.02" iyz="-0.03"/></inertial>'
)
LIMIT = '<limit lower="-3" upper="3" effort="1" velocity="1"/>'


def urdf_joint(name: str, kind: str, parent: str, child: str, axis: str, inner: str = "") -> str:
    """A joint and the link it moves; the joint's place depends on its name."""
    x = sum(map(ord, name)) % 7 / 10
    return (
        f'<link name="{child}">{INERTIAL}</link>'
        f'<joint name="{name}" type="{kind}"><origin xyz="{x} 0.2 -0.1" rpy="0.3 {x} -0.2"/>'
        f'<parent link="{parent}"/><child link="{child}"/><axis xyz="{axis}"/>{LIMIT}{inner}</joint>'
    )


# names out of alphabetical order: Pinocchio sorts children
AXES = (
    f'<robot name="axes"><link name="root">{INERTIAL}</link>'
    + urdf_joint("z_turn", "revolute", "root", "a", "0 0 -1")
    + urdf_joint("wheel", "continuous", "a", "b", "0 1 1")
    + urdf_joint("follower", "revolute", "a", "c", "1 0 0", '<mimic joint="z_turn" multiplier="-2" offset="0.3"/>')
    + urdf_joint("slide", "prismatic", "root", "d", "1 2 3")
    + urdf_joint("arm", "revolute", "d", "e", "0 1 0")
    + "</robot>"
)
MANIFOLDS = (
    f'<robot name="manifolds"><link name="root">{INERTIAL}</link>'
    + urdf_joint("table", "planar", "root", "a", "0 0 1")
    + urdf_joint("turn", "revolute", "a", "b", "0 1 0")
    + urdf_joint("kite", "floating", "a", "c", "0 0 1")
    + "</robot>"
)
MJCF = """
<mujoco><compiler angle="radian"/><worldbody>
  <body name="trunk" pos="0 0 1" quat="1 0.2 0 0"><freejoint/><geom type="box" size="0.1 0.2 0.3"/>
    <body name="arm" pos="0 0.3 0"><joint name="turn" axis="1 1 0" ref="0.4" range="-1 1"/>
      <joint name="slide" type="slide" axis="0 1 1"/><geom size="0.1"/>
      <body pos="0 0 0.4"><joint type="ball" pos="0 0.1 0"/><geom size="0.1" pos="0.1 0 0"/></body>
    </body></body></worldbody></mujoco>
"""


def robot_of(model: Model) -> SimpleNamespace:
    """All that the converters ask of a robot."""
    return SimpleNamespace(model=model)


def random_state(model: Model, rng, batch=()) -> tuple[np.ndarray, np.ndarray]:
    q, v = rng.uniform(-1.5, 1.5, (*batch, model.nq)), rng.normal(size=(*batch, model.nv))
    for joint in model.joints.values():
        if joint.type.name in ("ball", "floating"):
            part = slice(joint.q.stop - 4, joint.q.stop)
            q[..., part] /= np.linalg.norm(q[..., part], axis=-1, keepdims=True)
    return q, v


def moved(model: Model, q: np.ndarray, v: np.ndarray, dt: float) -> np.ndarray:
    """q after dt at constant v, as docs/notation.md says what v means."""
    q = q.copy()
    for joint in model.joints.values():
        own, rate = q[joint.q].copy(), v[joint.v]
        if joint.mimic is not None:
            continue
        if joint.type.name in ("ball", "floating"):
            turn = Rotation.from_quat(own[-4:], scalar_first=True)
            step = Rotation.from_rotvec(rate[-3:] * dt)
            own[-4:] = (turn * step if joint.type.name == "ball" else step * turn).as_quat(scalar_first=True)
            own[:-4] += rate[:-3] * dt
        else:
            own += rate * dt
        q[joint.q] = own
    return q


def link_poses(model: Model, q: np.ndarray) -> dict[str | None, np.ndarray]:
    """Pose of every link in the world, by walking the tree."""
    X_W: dict[str | None, np.ndarray] = {None: np.eye(4)}
    waiting = list(model.joints.values())
    while waiting:
        joint = waiting.pop(0)
        if joint.parent not in X_W:
            waiting.append(joint)
            continue
        own = q[joint.q] if joint.mimic is None else joint.mimic.multiplier * q[joint.q] + joint.mimic.offset
        X = np.eye(4)
        X[:3, :3], X[:3, 3] = joint.type.pose(own, NUMBERS)
        X_W[joint.child] = X_W[joint.parent] @ joint.origin @ X @ joint.tail
    return X_W


def assert_same_configuration(model: Model, q: np.ndarray, expected: np.ndarray) -> None:
    """Equal up to whole turns and the sign of quaternions."""
    for joint in model.joints.values():
        a, b = q[..., joint.q], expected[..., joint.q]
        if joint.type.name in ("ball", "floating"):
            side = np.sign(np.sum(a[..., -4:] * b[..., -4:], axis=-1, keepdims=True))
            b = np.concatenate([b[..., :-4], b[..., -4:] * side], -1)
        elif joint.type.name in ("revolute", "continuous", "planar"):
            a, b = (np.concatenate([x[..., :-1], np.exp(1j * x[..., -1:])], -1) for x in (a, b))
        assert_allclose(a, b, atol=1e-12)


def pinocchio_pair(text, floating: bool, mimic: bool):
    root = (pin.JointModelFreeFlyer(),) if floating else ()
    if isinstance(text, Path):
        pin_model = pin.buildModelFromUrdf(str(text), *root, mimic=mimic)
    else:
        pin_model = pin.buildModelFromXML(text, *root, mimic=mimic)
    return robot_of(read_urdf(text, floating=floating)), pin_model


def assert_same_poses_pinocchio(robot, pin_model, q) -> None:
    data = pin_model.createData()
    pin.framesForwardKinematics(pin_model, data, convert.pinocchio(robot, pin_model).to_peer(q))
    X_W = link_poses(robot.model, q)
    for name in robot.model.links:
        X = data.oMf[pin_model.getFrameId(name, pin.FrameType.BODY)].homogeneous
        assert_allclose(X_W[name], X, atol=1e-11, err_msg=name)


# --- Pinocchio -------------------------------------------------------------------------------------------------------

PINOCCHIO = [
    (AXES, True, False), (AXES, True, True), (AXES, False, False), (AXES, False, True),
    (MANIFOLDS, True, False), (MANIFOLDS, False, False),
]  # fmt: skip


@pytest.fixture(params=PINOCCHIO, ids=lambda case: f"{case[0][13:18]}-floating={case[1]}-mimic={case[2]}")
def pin_pair(request):
    return pinocchio_pair(*request.param)


def test_pinocchio_sees_the_same_poses(pin_pair):
    robot, pin_model = pin_pair
    rng = np.random.default_rng(1)
    for _ in range(3):
        assert_same_poses_pinocchio(robot, pin_model, random_state(robot.model, rng)[0])


def test_pinocchio_velocity_is_the_derivative_of_its_position(pin_pair):
    robot, pin_model = pin_pair
    q, v = random_state(robot.model, np.random.default_rng(2))
    dt = 1e-5
    ends = [convert.pinocchio(robot, pin_model).to_peer(moved(robot.model, q, v, s * dt)) for s in (-1, 1)]
    q_pin, v_pin = convert.pinocchio(robot, pin_model).to_peer(q, v)
    assert_allclose(pin.difference(pin_model, *ends) / (2 * dt), v_pin, atol=1e-8)
    assert_allclose(convert.pinocchio(robot, pin_model).velocity_map(q) @ v, v_pin, atol=1e-14)
    assert_allclose(pin.normalize(pin_model, q_pin), q_pin, atol=1e-14)


def test_pinocchio_acceleration_is_the_derivative_of_its_velocity(pin_pair):
    robot, pin_model = pin_pair
    rng = np.random.default_rng(3)
    q, v = random_state(robot.model, rng)
    a = rng.normal(size=robot.model.nv)
    dt = 1e-5
    ends = []
    for s in (-dt, dt):
        q_end = moved(robot.model, q, v + a * s / 2, s)
        ends.append(convert.pinocchio(robot, pin_model).to_peer(q_end, v + a * s)[1])
    a_pin = convert.pinocchio(robot, pin_model).acceleration_to_peer(q, v, a)
    assert_allclose((ends[1] - ends[0]) / (2 * dt), a_pin, atol=1e-8)
    state = convert.pinocchio(robot, pin_model).to_peer(q, v)
    assert_allclose(convert.pinocchio(robot, pin_model).acceleration_from_peer(*state, a_pin), a, atol=1e-13)


@pytest.mark.parametrize("batch", [(), (3,), (2, 4)])
def test_pinocchio_round_trip(pin_pair, batch):
    robot, pin_model = pin_pair
    q, v = random_state(robot.model, np.random.default_rng(4), batch)
    q_pin, v_pin = convert.pinocchio(robot, pin_model).to_peer(q, v)
    assert (q_pin.shape, v_pin.shape) == ((*batch, pin_model.nq), (*batch, pin_model.nv))
    q_back, v_back = convert.pinocchio(robot, pin_model).from_peer(q_pin, v_pin)
    assert_same_configuration(robot.model, q_back, q)
    assert_allclose(v_back, v, atol=1e-13)
    assert_allclose(convert.pinocchio(robot, pin_model).from_peer(q_pin), q_back, atol=0)


def test_a_batch_is_its_states_one_by_one(pin_pair):
    robot, pin_model = pin_pair
    q, v = random_state(robot.model, np.random.default_rng(5), (3,))
    converter = convert.pinocchio(robot, pin_model)
    many, many_a = converter.velocity_map(q), converter.acceleration_to_peer(q, v, v)
    for k in range(3):
        assert_allclose(many[k], convert.pinocchio(robot, pin_model).velocity_map(q[k]), atol=1e-15)
        assert_allclose(
            many_a[k], convert.pinocchio(robot, pin_model).acceleration_to_peer(q[k], v[k], v[k]), atol=1e-14
        )


def test_base_acceleration_of_pinocchio_is_the_true_one():
    """In mixed representation our base acceleration is p̈ and ω̇: what Pinocchio calls classical, world-aligned."""
    robot, pin_model = pinocchio_pair(AXES, True, False)
    rng = np.random.default_rng(6)
    q, v = random_state(robot.model, rng)
    a = rng.normal(size=robot.model.nv)
    data = pin_model.createData()
    pin.forwardKinematics(
        pin_model, data, *convert.pinocchio(robot, pin_model).to_peer(q, v),
        convert.pinocchio(robot, pin_model).acceleration_to_peer(q, v, a),
    )  # fmt: skip
    base = pin.getClassicalAcceleration(pin_model, data, 1, pin.LOCAL_WORLD_ALIGNED)
    assert_allclose(base.vector, a[:6], atol=1e-12)


def test_ball_joint_in_pinocchio():
    text = AXES.replace('name="wheel" type="continuous"', 'name="wheel" type="ball"')
    robot = robot_of(read_urdf(text, floating=False))
    assert isinstance(robot.model.joints["wheel"].type, Ball)
    pin_model = pin.Model()
    for name, kind in {"slide": pin.JointModelPZ(), "wheel": pin.JointModelSpherical(), "arm": pin.JointModelRY(),
                       "z_turn": pin.JointModelRZ(), "follower": pin.JointModelRX()}.items():  # fmt: skip
        pin_model.addJoint(0, kind, pin.SE3.Identity(), name)
    q, v = random_state(robot.model, np.random.default_rng(7))
    q_pin, v_pin = convert.pinocchio(robot, pin_model).to_peer(q, v)
    ours = robot.model.joints["wheel"]
    place = pin_model.joints[pin_model.getJointId("wheel")].idx_q
    assert_allclose(np.roll(q_pin[place : place + 4], 1), q[ours.q], atol=1e-15)
    dt = 1e-5
    ends = [convert.pinocchio(robot, pin_model).to_peer(moved(robot.model, q, v, s * dt)) for s in (-1, 1)]
    assert_allclose(pin.difference(pin_model, *ends) / (2 * dt), v_pin, atol=1e-8)


def example_robots() -> Path:
    """The folder of the package example-robot-data, in the prefix it shares with Pinocchio."""
    for parent in Path(pin.__file__).parents:
        folder = parent / "share" / "example-robot-data" / "robots"
        if folder.is_dir():
            return folder
    pytest.skip("the package example-robot-data is not installed")


@pytest.mark.parametrize("mimic", [False, True])
@pytest.mark.parametrize(
    "file",
    [
        "talos_data/robots/talos_reduced.urdf", "tiago_description/robots/tiago.urdf", "go2_description/urdf/go2.urdf",
        "panda_description/urdf/panda.urdf", "simple_humanoid_description/urdf/simple_humanoid.urdf",
    ],
)  # fmt: skip
@pytest.mark.parametrize("floating", [True, False])
def test_known_robots_stand_as_in_pinocchio(file, floating, mimic):
    path = example_robots() / file
    if not path.is_file():
        pytest.skip(f"example-robot-data has no {file}")
    robot, pin_model = pinocchio_pair(path, floating, mimic)
    q, v = random_state(robot.model, np.random.default_rng(8))
    assert_same_poses_pinocchio(robot, pin_model, q)
    q_back, v_back = convert.pinocchio(robot, pin_model).from_peer(*convert.pinocchio(robot, pin_model).to_peer(q, v))
    assert_same_configuration(robot.model, q_back, q)
    assert_allclose(v_back, v, atol=1e-12)


# --- MuJoCo ----------------------------------------------------------------------------------------------------------


@pytest.fixture(params=["inline", "solo12", *support.marked(["cassie", "tiago_dual"], support.FURTHER_MJCFS)])
def mj_pair(request):
    if request.param in ("inline", "solo12"):
        text = MJCF if request.param == "inline" else support.mjcf_of(request.param)
        return robot_of(read_mjcf(text)), mujoco.MjModel.from_xml_string(text)
    path = support.robots_folder() / support.FURTHER_MJCFS[request.param]
    return robot_of(read_mjcf(path)), mujoco.MjModel.from_xml_path(str(path))


def test_mujoco_velocity_is_the_derivative_of_its_position(mj_pair):
    robot, m = mj_pair
    q, v = random_state(robot.model, np.random.default_rng(9))
    dt = 1e-5
    ends = [convert.mujoco(robot, m).to_peer(moved(robot.model, q, v, s * dt)) for s in (-1, 1)]
    expected = np.zeros(m.nv)
    mujoco.mj_differentiatePos(m, expected, 2 * dt, *ends)
    qvel = convert.mujoco(robot, m).to_peer(q, v)[1]
    assert_allclose(expected, qvel, atol=1e-7)
    assert_allclose(convert.mujoco(robot, m).velocity_map(q) @ v, qvel, atol=1e-14)


def test_mujoco_acceleration_is_the_derivative_of_its_velocity(mj_pair):
    robot, m = mj_pair
    rng = np.random.default_rng(10)
    q, v = random_state(robot.model, rng)
    a = rng.normal(size=robot.model.nv)
    dt = 1e-5
    ends = [convert.mujoco(robot, m).to_peer(moved(robot.model, q, v + a * s / 2, s), v + a * s)[1] for s in (-dt, dt)]
    qacc = convert.mujoco(robot, m).acceleration_to_peer(q, v, a)
    assert_allclose((ends[1] - ends[0]) / (2 * dt), qacc, atol=1e-8)
    state = convert.mujoco(robot, m).to_peer(q, v)
    assert_allclose(convert.mujoco(robot, m).acceleration_from_peer(*state, qacc), a, atol=1e-13)


@pytest.mark.parametrize("batch", [(), (2, 3)])
def test_mujoco_round_trip(mj_pair, batch):
    robot, m = mj_pair
    q, v = random_state(robot.model, np.random.default_rng(11), batch)
    state = convert.mujoco(robot, m).to_peer(q, v)
    assert [x.shape for x in state] == [(*batch, m.nq), (*batch, m.nv)]
    q_back, v_back = convert.mujoco(robot, m).from_peer(*state)
    assert_allclose(q_back, q, atol=1e-14)
    assert_allclose(v_back, v, atol=1e-13)


BOTH = """
<mujoco><compiler angle="radian"/><worldbody>
  <body name="trunk" pos="0 0 1" quat="1 0.2 0 0"><freejoint name="root"/>
    <inertial pos="0.1 0.2 0.3" mass="2" diaginertia="1 1.1 1.2"/>
    <body name="arm" pos="0 0.3 0" quat="1 0.3 0.1 0"><joint name="turn" axis="1 1 0" range="-1 1"/>
      <inertial pos="0.1 -0.2 0.3" mass="3" quat="1 0.2 0.3 0.1" diaginertia="0.3 0.35 0.4"/>
      <body name="rod" pos="0.1 0 0.4"><joint name="shoulder" type="ball"/>
        <inertial pos="0.1 0.2 0.3" mass="1" diaginertia="0.1 0.11 0.12"/>
        <body name="tip" pos="0 0 0.4"><joint name="slide" type="slide" axis="0 1 1"/>
          <inertial pos="-0.1 0.2 0" mass="1.5" diaginertia="0.1 0.11 0.12"/></body></body></body></body>
</worldbody></mujoco>
"""


def test_pinocchio_and_mujoco_agree_on_the_dynamics(tmp_path):
    """One file, two engines: mass matrix and inverse dynamics meet in our coordinates."""
    path = tmp_path / "both.xml"
    path.write_text(BOTH)
    robot, pin_model, m = (
        robot_of(read_mjcf(path)),
        pin.buildModelFromMJCF(str(path)),
        mujoco.MjModel.from_xml_string(BOTH),
    )
    pin_model.gravity.linear = m.opt.gravity
    m.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    rng = np.random.default_rng(12)
    q, v = random_state(robot.model, rng)
    a = rng.normal(size=robot.model.nv)
    q_pin, v_pin = convert.pinocchio(robot, pin_model).to_peer(q, v)
    data = mujoco.MjData(m)
    data.qpos[:], data.qvel[:] = convert.mujoco(robot, m).to_peer(q, v)
    data.qacc[:] = convert.mujoco(robot, m).acceleration_to_peer(q, v, a)
    mujoco.mj_inverse(m, data)
    M_mj = np.zeros((m.nv, m.nv))
    mujoco.mj_fullM(m, data, M_mj)
    T_mj, T_pin = convert.mujoco(robot, m).velocity_map(q), convert.pinocchio(robot, pin_model).velocity_map(q)
    M_pin = pin.crba(pin_model, pin_model.createData(), q_pin)
    assert_allclose(T_mj.T @ M_mj @ T_mj, T_pin.T @ M_pin @ T_pin, atol=1e-11)
    a_pin = convert.pinocchio(robot, pin_model).acceleration_to_peer(q, v, a)
    tau_pin = pin.rnea(pin_model, pin_model.createData(), q_pin, v_pin, a_pin)
    assert_allclose(T_mj.T @ data.qfrc_inverse, T_pin.T @ tau_pin, atol=1e-10)


# --- iDynTree --------------------------------------------------------------------------------------------------------


def idyntree_model(text: str):
    idyntree = pytest.importorskip("idyntree.bindings", reason="iDynTree is not installed")
    loader = idyntree.ModelLoader()
    assert loader.loadModelFromString(text)
    return idyntree, loader.model().copy()


def with_massless_root(text: str) -> str:
    """The same robot behind a frame without mass, as many URDF files have it."""
    joint = (
        '<joint name="nail" type="fixed"><origin xyz="0.1 0.2 0.3" rpy="0.4 0 0.5"/>'
        '<parent link="ground"/><child link="root"/></joint>'
    )
    return text.replace('<link name="root">', f'<link name="ground"/>{joint}<link name="root">')


@pytest.mark.parametrize("floating", [True, False])
@pytest.mark.parametrize("text", [AXES, with_massless_root(AXES)], ids=["plain", "massless root"])
def test_idyntree_sees_the_same_robot(text, floating):
    idyntree, idyn_model = idyntree_model(text)
    robot = robot_of(read_urdf(text, floating=floating))
    q, v = random_state(robot.model, np.random.default_rng(13))
    X_WB, s, V_WB, s_dot = convert.to_idyntree(robot, idyn_model, q, v)
    kindyn = idyntree.KinDynComputations()
    assert kindyn.loadRobotModel(idyn_model)
    assert kindyn.setFrameVelocityRepresentation(idyntree.MIXED_REPRESENTATION)
    assert kindyn.setRobotState(X_WB, s, V_WB, s_dot, np.array([0, 0, -9.8]))
    dt = 1e-6
    before, now, after = (link_poses(robot.model, moved(robot.model, q, v, x)) for x in (-dt, 0, dt))
    for name in ("root", "a", "b", "c", "e"):
        assert_allclose(now[name], kindyn.getWorldTransform(name).asHomogeneousTransform().toNumPy(), atol=1e-12)
        X_dot = (after[name] - before[name]) / (2 * dt)
        spin = X_dot[:3, :3] @ now[name][:3, :3].T
        expected = [*X_dot[:3, 3], spin[2, 1], spin[0, 2], spin[1, 0]]
        assert_allclose(kindyn.getFrameVel(name).toNumPy(), expected, atol=1e-7)


@pytest.mark.parametrize("batch", [(), (3,)])
@pytest.mark.parametrize("floating", [True, False])
@pytest.mark.parametrize("text", [AXES, with_massless_root(AXES)], ids=["plain", "massless root"])
def test_idyntree_round_trip(text, floating, batch):
    _, idyn_model = idyntree_model(text)
    robot = robot_of(read_urdf(text, floating=floating))
    q, v = random_state(robot.model, np.random.default_rng(14), batch)
    state = convert.to_idyntree(robot, idyn_model, q, v)
    n = idyn_model.getNrOfDOFs()
    assert [x.shape for x in state] == [(*batch, 4, 4), (*batch, n), (*batch, 6), (*batch, n)]
    q_back, v_back = convert.from_idyntree(robot, idyn_model, *state)
    assert_same_configuration(robot.model, q_back, q)
    assert_allclose(v_back, v, atol=1e-12)
    assert_allclose(
        convert.from_idyntree(robot, idyn_model, *convert.to_idyntree(robot, idyn_model, q)), q_back, atol=1e-12
    )


def test_a_fixed_robot_is_not_where_idyntree_puts_it():
    _, idyn_model = idyntree_model(AXES)
    robot = robot_of(read_urdf(AXES, floating=False))
    X_WB, s = convert.to_idyntree(robot, idyn_model, np.zeros(robot.model.nq))
    X_WB[0, 3] += 0.1
    with pytest.raises(StateError, match="base of 'axes' is fixed"):
        convert.from_idyntree(robot, idyn_model, X_WB, s)


# --- what does not fit -----------------------------------------------------------------------------------------------


def test_joints_that_differ_are_listed():
    robot, _ = pinocchio_pair(AXES, True, False)
    _, other = pinocchio_pair(AXES.replace('"arm"', '"leg"'), False, False)
    with pytest.raises(ModelError, match=r"Only here: base, arm\. Only in Pinocchio: leg\. .*floating base"):
        convert.pinocchio(robot, other).to_peer(np.zeros(robot.model.nq))


def test_a_joint_that_follows_only_in_the_peer_is_listed():
    robot = robot_of(read_urdf(AXES.replace('<mimic joint="z_turn" multiplier="-2" offset="0.3"/>', ""), floating=True))
    _, pin_model = pinocchio_pair(AXES, True, True)
    with pytest.raises(ModelError, match=r"Only here: follower\. Only in Pinocchio: none"):
        convert.pinocchio(robot, pin_model).to_peer(np.zeros(robot.model.nq))


def test_joints_of_another_kind_are_refused():
    robot, _ = pinocchio_pair(AXES, True, False)
    _, other = pinocchio_pair(AXES.replace('name="arm" type="revolute"', 'name="arm" type="prismatic"'), True, False)
    with pytest.raises(ModelError, match="joint 'arm' is revolute here and 'length' in Pinocchio"):
        convert.pinocchio(robot, other).to_peer(np.zeros(robot.model.nq))


@pytest.mark.parametrize("place", [{"position": (0, 0, 1)}, {"child_position": (0, 0, 1)}])
def test_a_body_that_floats_from_elsewhere_is_refused(place):
    """The position of a free joint of MuJoCo is the body's own, in the world."""
    peer = mujoco.MjModel.from_xml_string(
        '<mujoco><worldbody><body><freejoint name="kite"/><geom size="1"/></body></worldbody></mujoco>'
    )

    def flying(**place):
        builder = ModelBuilder("flies", floating=False).link("ground").link("kite", mass=1.0, inertia=(0.1, 0.1, 0.1))
        return robot_of(builder.joint("kite", "floating", "ground", "kite", **place).model())

    q = np.array([1.0, 2.0, 3.0, 0.0, 0.0, 0.0, 1.0])
    assert_allclose(convert.mujoco(flying(), peer).to_peer(q)[:3], q[:3])
    with pytest.raises(ModelError, match="'kite' floats from a place other than the world's origin, which MuJoCo"):
        convert.mujoco(flying(**place), peer).to_peer(q)


def test_bad_states_are_refused():
    robot, pin_model = pinocchio_pair(AXES, True, False)
    q, v = random_state(robot.model, np.random.default_rng(15))
    with pytest.raises(ShapeError, match=r"q has shape \(3,\), wanted \(…, 11\)"):
        convert.pinocchio(robot, pin_model).to_peer(q[:3])
    with pytest.raises(ShapeError, match=r"v of Pinocchio has shape"):
        convert.pinocchio(robot, pin_model).from_peer(convert.pinocchio(robot, pin_model).to_peer(q), v[:3])
    with pytest.raises(StateError, match="v holds NaN"):
        convert.pinocchio(robot, pin_model).to_peer(q, v * np.nan)
    with pytest.raises(StateError, match=r"quaternion of joint 'base' has length 2, wanted 1"):
        convert.pinocchio(robot, pin_model).to_peer(np.concatenate([q[:3], 2 * q[3:7], q[7:]]))


def test_a_nearly_unit_quaternion_is_normalised():
    robot, pin_model = pinocchio_pair(AXES, True, False)
    q, _ = random_state(robot.model, np.random.default_rng(16))
    q[3:7] *= 1 + 5e-7
    assert_allclose(np.linalg.norm(convert.pinocchio(robot, pin_model).to_peer(q)[3:7]), 1, atol=1e-15)
