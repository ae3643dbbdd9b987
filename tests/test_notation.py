"""What docs/notation.md says is what the code does."""

from __future__ import annotations

from pathlib import Path

import casadi
import numpy as np
import pytest
from numpy.testing import assert_allclose
from support import load

import equipoise as eq
from equipoise.algebra.rigid import pose, skew
from equipoise.model.types import STANDARD_GRAVITY, Mimic
from equipoise.model.urdf_writer import write_urdf

PAGE = (Path(__file__).parents[1] / "docs" / "notation.md").read_text(encoding="utf-8")
WORDS = " ".join(PAGE.split())  # without line breaks
REPRESENTATIONS = ("mixed", "body", "inertial")
PART = dict(mass=2.0, com=(0.1, -0.2, 0.3), inertia=(0.3, 0.4, 0.5))
TILT = dict(position=(0.2, 0.3, -0.1), rpy=(0.4, -0.5, 0.6))  # so that no two frames have the same axes


def says(text: str) -> None:
    """The page holds these words: whoever changes them changes the test."""
    assert text in WORDS, text


def rotation(axis: str, angle: float) -> np.ndarray:
    c, s = np.cos(angle), np.sin(angle)
    return np.array({"x": [[1, 0, 0], [0, c, -s], [0, s, c]], "z": [[c, -s, 0], [s, c, 0], [0, 0, 1]]}[axis])


def rate(function, robot: eq.Robot, q, v, h: float = 1e-5) -> np.ndarray:
    """d/dt of a function of q while the robot moves at v."""
    return (function(robot.integrate(q, v, h)) - function(robot.integrate(q, v, -h))) / (2 * h)


@pytest.fixture(scope="module")
def crate() -> eq.Robot:
    """One free body, its centre of mass at its origin."""
    return eq.RobotBuilder("crate").link("crate", mass=2.0, inertia=(0.3, 0.4, 0.5)).build()


@pytest.fixture(scope="module")
def walker() -> eq.Robot:
    """A free base with a ball joint and a hinge after it."""
    builder = eq.RobotBuilder("walker").link("trunk", **PART).link("thigh", **PART).link("shank", **PART)
    builder.joint("hip", "ball", "trunk", "thigh", **TILT)
    builder.joint("knee", "revolute", "thigh", "shank", axis=(0, 1, 0), **TILT)
    return builder.frame("foot", "shank", **TILT).build()


@pytest.fixture(scope="module")
def state(walker) -> tuple[np.ndarray, np.ndarray]:
    q, v = walker.random_state(np.random.default_rng(0))
    q[:3] = 1.0, -2.0, 3.0
    return q, v


def with_joint(kind: str) -> eq.Robot:
    """A link on a fixed, tilted parent."""
    builder = eq.RobotBuilder(kind, floating=False).link("parent").link("child", **PART)
    return builder.joint("joint", kind, "parent", "child", **TILT).build()


# Frames and names


def test_world_up_is_z_and_gravity_pulls_down(crate):
    says("| W | the world: inertial, z up |")
    says("Gravity is −9.80665 m/s² along z unless given.")
    assert STANDARD_GRAVITY == (0.0, 0.0, -9.80665)
    q, v = crate.random_state(np.random.default_rng(1))
    assert_allclose(crate.forward_dynamics(q, v, np.zeros(6))[:3], [0, 0, -9.80665], atol=1e-12)


def test_inner_letters_meet(walker, state):
    says("In a product the inner letters meet: `X_WF = X_WB @ X_BF`.")
    X_WF, X_WB = walker.pose(state[0], "foot"), walker.pose(state[0], "shank")
    assert_allclose(X_WF, X_WB @ walker.frames["foot"].X, atol=1e-14)


def test_wrenches_act_on_the_robot_force_first(crate):
    says("| `F_C` | wrench (force, torque) acting **on** the robot at frame C |")
    q, v = crate.neutral(), np.zeros(6)
    wrench = np.array([1.0, 2, 3, 4, 5, 6])
    pushed = crate.forward_dynamics(q, v, np.zeros(6), {"crate": wrench}) - crate.forward_dynamics(q, v, np.zeros(6))
    assert_allclose(pushed, wrench / [2, 2, 2, 0.3, 0.4, 0.5], rtol=1e-13)


# Configuration and velocity


def test_configuration_is_position_then_quaternion_wxyz(crate):
    says("| `q` | nq | `(p_WB, quaternion wxyz, joint positions…)` |")
    q = np.array([1, 2, 3, np.cos(0.35), 0, 0, np.sin(0.35)])
    assert_allclose(crate.pose(q, "crate"), pose(rotation("z", 0.7), np.array([1.0, 2, 3])), atol=1e-15)
    q = np.array([0, 0, 0, np.cos(0.35), np.sin(0.35), 0, 0])
    assert_allclose(crate.pose(q, "crate")[:3, :3], rotation("x", 0.7), atol=1e-15)


def test_velocity_is_linear_first_in_world_axes(walker, state):
    says("| `v` | nv | `(ṗ_WB, ω_WB, joint rates…)` |")
    says("Linear part first, everywhere.")
    q, v = state
    X_dot = rate(lambda q: walker.pose(q, "trunk"), walker, q, v)
    assert_allclose(X_dot[:3, 3], v[:3], atol=1e-8)
    assert_allclose(X_dot[:3, :3] @ walker.pose(q, "trunk")[:3, :3].T, skew(v[3:6]), atol=1e-8)


def test_acceleration_is_the_derivative_of_the_numbers_in_v(walker, state):
    says("| `a` | nv | time derivative of `v`, component by component |")
    says("In the mixed representation the linear part is therefore the true acceleration of the point, p̈.")
    q, v = state
    a = np.random.default_rng(2).normal(size=walker.nv)
    h = 1e-4
    ahead, behind = (walker.integrate(q, v + s * h / 2 * a, s * h) for s in (1, -1))  # positions to second order
    p = [walker.pose(x, "foot")[:3, 3] for x in (behind, q, ahead)]
    twist_rate = walker.jacobian(q, "foot") @ a + walker.bias_acceleration(q, v, "foot")
    assert_allclose((p[0] - 2 * p[1] + p[2]) / h**2, twist_rate[:3], atol=1e-5)


def test_power_is_tau_times_v(walker, state):
    says("| `tau` | nv | generalised force paired with `v`: power is `tau @ v` |")
    q, v = state
    tau = np.random.default_rng(3).normal(size=walker.nv)
    a = walker.forward_dynamics(q, v, tau)

    def energy(t: float) -> float:
        later = walker.integrate(q, v + t / 2 * a, t)
        return walker.kinetic_energy(later, v + t * a) + walker.potential_energy(later)

    assert_allclose((energy(1e-5) - energy(-1e-5)) / 2e-5, tau @ v, rtol=1e-6)


def test_a_fixed_base_has_no_base_part():
    says("A fixed-base robot has no base part.")
    assert (with_joint("revolute").nq, with_joint("revolute").nv) == (1, 1)


@pytest.mark.parametrize("floating", [True, False])
def test_joints_are_in_the_order_of_the_file(floating):
    says("Joints come in the order of the description file, whatever the base is [TPN17, Sec. 3.1].")
    builder = eq.RobotBuilder("order", floating=floating).link("root", **PART).link("b", **PART).link("a", **PART)
    builder.joint("z_last_in_the_tree", "revolute", "b", "a").joint("first_in_the_tree", "prismatic", "root", "b")
    robot = builder.build()
    assert list(robot.joints) == ["z_last_in_the_tree", "first_in_the_tree"]
    assert [joint.v.start for joint in robot.joints.values()] == ([6, 7] if floating else [0, 1])


def test_float32_stays_float32(crate):
    says("float64 unless the arrays that come in are float32")
    assert crate.mass_matrix(crate.neutral()).dtype == np.float64
    assert crate.mass_matrix(crate.neutral().astype(np.float32)).dtype == np.float32


# Joint coordinates


def test_ball_joint():
    says("| ball | quaternion wxyz of the child in the parent | angular velocity, expressed in the **child** frame")
    robot = with_joint("ball")
    q, v = robot.random_state(np.random.default_rng(4))
    R = robot.pose(q, "child")[:3, :3]
    assert (robot.nq, robot.nv) == (4, 3)
    assert_allclose(robot.velocity(q, v, "child"), [0, 0, 0, *(R @ v)], atol=1e-14)
    q = np.array([np.cos(0.35), 0, 0, np.sin(0.35)])
    at_rest = robot.pose(robot.neutral(), "child")
    assert_allclose(at_rest[:3, :3].T @ robot.pose(q, "child")[:3, :3], rotation("z", 0.7), atol=1e-14)


def test_planar_joint():
    says("| planar | x, y, angle in the parent frame | their rates |")
    robot = with_joint("planar")
    q, v = np.array([0.3, -0.4, 0.7]), np.array([1.0, 2.0, 3.0])
    X = robot.pose(robot.neutral(), "child")
    assert_allclose(robot.pose(q, "child"), X @ pose(rotation("z", 0.7), np.array([0.3, -0.4, 0.0])), atol=1e-14)
    assert_allclose(robot.velocity(q, v, "child"), [*(X[:3, :3] @ [1, 2, 0]), *(X[:3, :3] @ [0, 0, 3])], atol=1e-14)


def test_floating_joint():
    says(
        "| floating | position and quaternion wxyz of the child in the parent | `(ṗ, ω)` expressed in the "
        "**parent** frame"
    )
    builder = eq.RobotBuilder("kite").link("root", **PART).link("kite", **PART)
    robot = builder.joint("string", "floating", "root", "kite", **TILT).build()
    assert (robot.nq, robot.nv) == (14, 12)
    q, v = robot.random_state(np.random.default_rng(5))
    q[:7], v[:6] = robot.neutral()[:7], 0
    X = robot.pose(robot.neutral(), "kite")  # the parent frame of the joint, where the child stands at neutral
    assert_allclose(robot.pose(q, "kite")[:3, 3], X[:3, :3] @ q[7:10] + X[:3, 3], atol=1e-14)
    assert_allclose(robot.velocity(q, v, "kite"), [*(X[:3, :3] @ v[6:9]), *(X[:3, :3] @ v[9:12])], atol=1e-13)


def test_mimic_joint():
    says("| mimic | none of its own: `multiplier · q_leader + offset` | none of its own |")
    builder = eq.RobotBuilder("pair", floating=False).link("root").link("leader", **PART).link("follower", **PART)
    builder.joint("lead", "revolute", "root", "leader").joint(
        "follow", "revolute", "root", "follower", mimic=Mimic("lead", -2, 0.3)
    )
    robot = builder.build()
    assert (robot.nq, robot.nv) == (1, 1)
    assert_allclose(robot.pose([0.5], "follower")[:3, :3], rotation("z", -2 * 0.5 + 0.3), atol=1e-15)


# Representations


@pytest.mark.parametrize(
    ("representation", "row", "twist"),
    [
        ("mixed", '| `"mixed"` (default) | `(ṗ_WL, ω_WL)` in world axes |', lambda R, p, l, w: (l, w)),
        ("body", '| `"body"` | `(R_WLᵀ ṗ_WL, R_WLᵀ ω_WL)` |', lambda R, p, l, w: (R.T @ l, R.T @ w)),
        ("inertial", '| `"inertial"` | `(ṗ_WL − ω_WL × p_WL, ω_WL)` |', lambda R, p, l, w: (l - np.cross(w, p), w)),
    ],
)
def test_the_three_representations(walker, state, representation, row, twist):
    says(row)
    q, v = state
    v_in = v.copy()  # the same motion, its base part in the representation
    X = walker.pose(q, "trunk")
    v_in[:6] = np.concatenate(twist(X[:3, :3], X[:3, 3], v[:3], v[3:6]))
    X, V = walker.pose(q, "foot"), walker.velocity(q, v, "foot")
    wanted = np.concatenate(twist(X[:3, :3], X[:3, 3], V[:3], V[3:]))
    assert_allclose(walker.velocity(q, v_in, "foot", representation=representation), wanted, atol=1e-12)
    assert_allclose(walker.jacobian(q, "foot", representation=representation) @ v_in, wanted, atol=1e-12)
    assert_allclose(
        walker.kinetic_energy(q, v_in, representation=representation), walker.kinetic_energy(q, v), rtol=1e-12
    )


def test_mixed_is_the_default(walker, state):
    q, v = state
    assert_allclose(walker.velocity(q, v, "foot"), walker.velocity(q, v, "foot", "mixed"), atol=0)
    assert_allclose(walker.mass_matrix(q), walker.mass_matrix(q, "mixed"), atol=0)


def test_a_representation_is_an_argument_never_a_mode(walker, state):
    says("`representation=` is an argument, never a mode.")
    before = walker.mass_matrix(state[0])
    walker.mass_matrix(state[0], "body")
    assert_allclose(walker.mass_matrix(state[0]), before, atol=0)


@pytest.mark.parametrize(
    ("ours", "theirs"), [("mixed", "LOCAL_WORLD_ALIGNED"), ("body", "LOCAL"), ("inertial", "WORLD")]
)
def test_names_of_pinocchio(ours, theirs):
    says(f'| `"{ours}"` | `{theirs}` |')
    pin = pytest.importorskip("pinocchio")
    robot = load("arm6")
    model = pin.buildModelFromXML(write_urdf(robot.model))
    q = np.random.default_rng(6).normal(size=6)
    data = model.createData()
    pin.computeJointJacobians(model, data, q)
    pin.updateFramePlacements(model, data)
    J = pin.getFrameJacobian(model, data, model.getFrameId("tool"), getattr(pin.ReferenceFrame, theirs))
    assert_allclose(robot.jacobian(q, "tool", ours), J, atol=1e-12)


# Dynamics


@pytest.mark.parametrize("representation", REPRESENTATIONS)
def test_the_equations_of_motion(walker, state, representation):
    says("M(q) a + C(q, v) v + g(q) = tau + Σ J_Fᵀ F")
    says("`bias_force(q, v)` is `C v + g`.")
    q, v = state
    a, wrench = np.random.default_rng(7).normal(size=walker.nv), np.arange(1.0, 7)
    options = dict(representation=representation)
    M, C, g = walker.mass_matrix(q, **options), walker.coriolis_matrix(q, v, **options), walker.gravity(q, **options)
    tau = M @ a + C @ v + g - walker.jacobian(q, "foot", **options).T @ wrench
    assert_allclose(walker.inverse_dynamics(q, v, a, {"foot": wrench}, **options), tau, atol=1e-10)
    assert_allclose(walker.forward_dynamics(q, v, tau, {"foot": wrench}, **options), a, atol=1e-9)
    assert_allclose(walker.bias_force(q, v, **options), C @ v + g, atol=1e-11)


def test_gravity_is_what_holds_the_robot(walker, state):
    says("`gravity(q)` is `g`, the gradient of the potential energy: what a motor must supply to hold still")
    q = state[0]
    steps = np.eye(walker.nv)
    slope = [rate(walker.potential_energy, walker, q, step) for step in steps]
    assert_allclose(walker.gravity(q), slope, atol=1e-7)
    assert_allclose(walker.gravity(q)[:3], [0, 0, 9.80665 * walker.mass], atol=1e-11)
    still = np.zeros(walker.nv)
    assert_allclose(walker.forward_dynamics(q, still, walker.gravity(q)), still, atol=1e-12)


@pytest.mark.parametrize("representation", REPRESENTATIONS)
def test_mass_rate_less_twice_coriolis_is_skew(walker, state, representation):
    says("`coriolis_matrix(q, v)` is the factorisation for which `Ṁ − 2C` is skew")
    q, v = state
    mixed = rate_variables(walker, q, v, representation)
    M_dot = rate(lambda q: walker.mass_matrix(q, representation), walker, q, mixed)
    N = M_dot - 2 * walker.coriolis_matrix(q, v, representation)
    assert_allclose(N, -N.T, atol=1e-6)


def rate_variables(robot: eq.Robot, q, v, representation: str) -> np.ndarray:
    """The mixed velocity of the motion whose velocity in the representation is v."""
    X = robot.pose(q, "trunk")
    R, p, base = X[:3, :3], X[:3, 3], v[:6]
    if representation == "body":
        base = np.concatenate([R @ v[:3], R @ v[3:6]])
    elif representation == "inertial":
        base = np.concatenate([v[:3] + np.cross(v[3:6], p), v[3:6]])
    return np.concatenate([base, v[6:]])


def points_of(link) -> list[tuple[float, np.ndarray]]:
    """Six point masses with the mass, centre and inertia of a link."""
    inertia = link.inertia
    moments, axes = np.linalg.eigh(inertia.matrix)
    reach = np.sqrt(3 / inertia.mass * (moments.sum() / 2 - moments))
    return [(inertia.mass / 6, inertia.com + sign * reach[k] * axes[:, k]) for k in range(3) for sign in (1, -1)]


def test_coriolis_is_the_integral_over_the_mass(walker, state):
    says("`C = ∫ Jᵀ J̇ dm` over the mass of the robot, with J the Jacobian of each mass point")
    points = [(m, link.name, p) for link in walker.links.values() for m, p in points_of(link)]

    def jacobians(robot, q):
        """Rows of √m J for all points: the velocity of a point at p is that of the link's origin + ω × R p."""
        rows = []
        for m, link, p in points:
            J, arm = robot.jacobian(q, link), robot.pose(q, link)[:3, :3] @ casadi.DM(p)
            rows.append(np.sqrt(m) * (J[:3, :] - casadi.skew(arm) @ J[3:, :]))
        return casadi.vertcat(*rows)

    kernel = eq.compile(jacobians, walker)
    q, v = state
    J, J_dot = kernel(q), rate(kernel, walker, q, v)
    assert_allclose(walker.mass_matrix(q), J.T @ J, atol=1e-11)
    assert_allclose(walker.coriolis_matrix(q, v), J.T @ J_dot, atol=1e-6)


def test_coriolis_of_a_fixed_base_is_christoffels():
    says("In the coordinates of a fixed-base robot these are the Christoffel symbols.")
    robot = load("planar_chain")
    q, v = np.random.default_rng(8).normal(size=(2, 3))
    slopes = np.stack([rate(robot.mass_matrix, robot, q, step) for step in np.eye(3)], axis=-1)  # dM_ij/dq_k
    christoffel = 0.5 * (slopes + slopes.transpose(0, 2, 1) - slopes.transpose(2, 1, 0))
    assert_allclose(robot.coriolis_matrix(q, v), christoffel @ v, atol=1e-8)


def test_momentum_is_linear_then_angular_about_the_centre_of_mass(walker, state):
    says(
        "`momentum(q, v)` is `(linear, angular about the centre of mass)` in world axes; `momentum_matrix(q) @ "
        "v` gives it."
    )
    q, v = state
    com, com_rate = walker.com(q), rate(walker.com, walker, q, v)
    linear, angular = np.zeros(3), np.zeros(3)
    for link in walker.links.values():
        X, V = walker.pose(q, link.name), walker.velocity(q, v, link.name)
        for m, p in points_of(link):
            arm = X[:3, :3] @ p
            speed = V[:3] + np.cross(V[3:], arm)
            linear += m * speed
            angular += m * np.cross(X[:3, 3] + arm - com, speed)
    assert_allclose(walker.momentum(q, v), [*linear, *angular], atol=1e-11)
    assert_allclose(walker.momentum_matrix(q) @ v, walker.momentum(q, v), atol=1e-11)
    assert_allclose(walker.momentum(q, v)[:3], walker.mass * com_rate, atol=1e-7)


def test_what_acts_inside_a_joint_enters_when_asked():
    says("Rotor armature, damping and friction are data. They enter the equations when asked:")
    says("`robot.with_armature()`, `robot.joint_friction(v)`")
    builder = eq.RobotBuilder("geared", floating=False).link("post").link("rod", **PART)
    builder.joint("turn", "revolute", "post", "rod", armature=0.7, damping=0.4, friction=0.3)
    plain = eq.RobotBuilder("plain", floating=False).link("post").link("rod", **PART)
    plain = plain.joint("turn", "revolute", "post", "rod").build()
    robot, q, v = builder.build(), np.array([0.2]), np.array([-2.0])
    assert_allclose(robot.inverse_dynamics(q, v, v), plain.inverse_dynamics(q, v, v), atol=0)
    assert_allclose(robot.with_armature().mass_matrix(q), plain.mass_matrix(q) + 0.7, rtol=1e-14)
    assert_allclose(robot.joint_friction(v), [0.4 * -2 - 0.3])


# Other libraries


def test_the_table_of_other_libraries(crate):
    says("| Equipoise | wxyz | `(ṗ, ω)` in W | file |")
    says("| Pinocchio | xyzw | `(R_WBᵀ ṗ, R_WBᵀ ω)` | its own traversal of the tree |")
    pin = pytest.importorskip("pinocchio")
    model = pin.buildModelFromXML(write_urdf(crate.model), pin.JointModelFreeFlyer())
    q, v = crate.random_state(np.random.default_rng(9))
    q_pin, v_pin = eq.convert.pinocchio(crate, model).to_peer(q, v)
    R = crate.pose(q, "crate")[:3, :3]
    assert_allclose(q_pin, [*q[:3], *q[4:7], q[3]], atol=1e-15)
    assert_allclose(v_pin, [*(R.T @ v[:3]), *(R.T @ v[3:])], atol=1e-14)


def test_the_row_of_mujoco(crate):
    says("| MuJoCo | wxyz | `(ṗ in W, ω in B)` | that of the file |")
    mujoco = pytest.importorskip("mujoco")
    text = '<mujoco><worldbody><body name="crate"><freejoint name="base"/><geom size="1"/></body></worldbody></mujoco>'
    q, v = crate.random_state(np.random.default_rng(10))
    q_mj, v_mj = eq.convert.mujoco(crate, mujoco.MjModel.from_xml_string(text)).to_peer(q, v)
    R = crate.pose(q, "crate")[:3, :3]
    assert_allclose(q_mj, q, atol=1e-15)
    assert_allclose(v_mj, [*v[:3], *(R.T @ v[3:])], atol=1e-14)
