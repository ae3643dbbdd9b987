"""Charts of SO(3): J_ω from ρ alone, constraints, and one motion in all of them [BK12]."""

from __future__ import annotations

import casadi
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import equipoise as eq
from equipoise.algebra import quaternions
from equipoise.algebra.rigid import skew


def rotation_vector(theta):
    """A chart no one wrote for us: R = exp(θ^), by Rodrigues' formula; the tiny number keeps the root smooth at
    zero."""
    angle = casadi.sqrt(casadi.sumsqr(theta) + 1e-24)
    K = casadi.skew(theta / angle)
    return casadi.SX.eye(3) + casadi.sin(angle) * K + (1 - casadi.cos(angle)) * K @ K


def two_vectors(theta):
    """Six parameters: the first two columns of R."""
    x, y = theta[:3], theta[3:]
    return casadi.horzcat(x, y, casadi.cross(x, y))


def two_vectors_constraint(theta):
    x, y = theta[:3], theta[3:]
    return casadi.vertcat(x.T @ x - 1, y.T @ y - 1, x.T @ y)


CHARTS = {
    "RollPitchYaw": eq.charts.RollPitchYaw(),
    "UnitQuaternion": eq.charts.UnitQuaternion(),
    "RotationMatrix": eq.charts.RotationMatrix(),
    "DualQuaternion": eq.charts.DualQuaternion(),
    "rotation vector": eq.charts.Chart(rotation_vector, 3, name="rotation vector"),
    "two vectors": eq.charts.Chart(two_vectors, 6, two_vectors_constraint, name="two vectors"),
}
unit_quaternions = st.tuples(*[st.floats(-1, 1)] * 4).filter(lambda q: np.linalg.norm(q) > 0.1)


def random_pose(rng):
    X = np.eye(4)
    turn = rng.normal(size=4)
    X[:3, :3], X[:3, 3] = quaternions.rotation(tuple(turn / np.linalg.norm(turn))), rng.normal(size=3)
    return X


@pytest.mark.paper("B1")
@pytest.mark.parametrize("name", list(CHARTS))
def test_parameters_lead_back_to_the_pose_and_satisfy_the_constraint(name, rng):
    chart = CHARTS[name]
    for _ in range(10):
        X = random_pose(rng)
        point = chart.at(chart.parameters(X))
        assert_allclose(point.X, X if chart.whole_pose else X[:3, :3], atol=1e-12)
        assert_allclose(point.C, 0, atol=1e-12)


@pytest.mark.paper("B1")
@pytest.mark.parametrize("name", list(CHARTS))
def test_angular_velocity_from_rho_alone(name, rng):
    """Ṙ = ω^ R with ω = J θ̇ [BK12, Eq. (3)], and J̇ is its derivative."""
    chart = CHARTS[name]
    X = random_pose(rng)
    theta = chart.parameters(X)
    V = rng.normal(size=6 if chart.whole_pose else 3)
    rate = chart.rates(theta, V)
    point = chart.at(theta, rate)
    assert_allclose(point.J @ rate, V, atol=1e-11)
    R_dot = (point.dX @ rate).reshape(point.X.shape)[:3, :3]
    assert_allclose(R_dot, skew(V[-3:]) @ X[:3, :3], atol=1e-11)
    if chart.whole_pose:
        assert_allclose((point.dX @ rate).reshape(4, 4)[:3, 3], V[:3], atol=1e-11)
    assert_allclose(point.C_theta @ rate, 0, atol=1e-11)
    assert_allclose(point.J_base @ rate, X[:3, :3].T @ V[-3:], atol=1e-11)
    h = 1e-6
    near = [chart.at(theta + s * h * rate) for s in (1, -1)]
    assert_allclose(point.J_dot, (near[0].J - near[1].J) / (2 * h), atol=1e-7 * max(1, np.abs(point.J_dot).max()))
    base_rate = (near[0].J_base - near[1].J_base) / (2 * h)
    assert_allclose(point.J_base_dot, base_rate, atol=1e-7 * max(1, np.abs(base_rate).max()))
    bias = (near[0].C_theta - near[1].C_theta) @ rate / (2 * h)
    assert_allclose(point.C_bias, bias, atol=1e-6)


@pytest.mark.paper("B3")
@pytest.mark.parametrize(
    ("name", "count", "rows"), [("RollPitchYaw", 3, 0), ("UnitQuaternion", 4, 1), ("RotationMatrix", 9, 6)]
)
def test_dimensions_of_the_tables(name, count, rows, rng):
    """[BK12, Tables I and II]; the six rows of the rotation matrix are independent."""
    chart = CHARTS[name]
    point = chart.at(chart.parameters(random_pose(rng)))
    assert (chart.dimension, len(point.C)) == (count, rows)
    assert np.linalg.matrix_rank(point.C_theta.reshape(rows, count)) == rows if rows else True


@pytest.fixture(scope="module")
def state():
    robot = eq.load("quadruped")
    rng = np.random.default_rng(11)
    q, v = robot.random_state(rng)
    return robot, robot.equations_of_motion(q, v), rng.normal(size=robot.nv)


@pytest.mark.paper("B3")
@pytest.mark.parametrize("base", [None, "hind_left_foot", eq.Compound(eq.COM)], ids=str)
@pytest.mark.parametrize("name", list(CHARTS))
def test_one_motion_in_every_chart(state, name, base):
    """Forward and inverse dynamics agree with the kernels to 1e-9 of the acceleration."""
    robot, eom, tau = state
    form = eom.in_base(base)
    chart, force = form.in_chart(CHARTS[name]), form.force_from(eom, tau)
    y_dotdot = chart.acceleration(force)
    a = robot.forward_dynamics(eom.origin.q, eom.v, tau)
    assert_allclose(eom.acceleration_from(form, chart.body_acceleration(y_dotdot)), a, atol=1e-9 * np.abs(a).max())
    assert_allclose(chart.inverse_dynamics(y_dotdot), force, atol=1e-9 * np.abs(force).max())
    assert_allclose(chart.T @ chart.y_dot, form.v, atol=1e-12)
    assert_allclose(chart.C_y @ y_dotdot, -chart.C_bias, atol=1e-9)
    assert_allclose(chart.y_dot @ chart.M @ chart.y_dot / 2, eom.kinetic_energy, rtol=1e-12)


@pytest.mark.paper("B3")
@pytest.mark.parametrize("name", list(CHARTS))
def test_multiplier_and_projected_form(state, name):
    """[BK12, Eqs. (32)–(35)]: A takes the multiplier out; a force along the constraint is answered by the multiplier
    alone."""
    _, eom, tau = state
    chart = eom.in_chart(CHARTS[name])
    y_dotdot, A = chart.acceleration(tau), chart.projector
    rest = chart.M @ y_dotdot + chart.N @ chart.y_dot + chart.g - chart.force(tau)
    assert_allclose(rest, chart.C_y.T @ chart.multiplier(tau), atol=1e-9)
    assert_allclose(A @ rest, 0, atol=1e-9)
    assert_allclose(A @ A, A, atol=1e-12)
    assert_allclose(A @ chart.C_y.T, 0, atol=1e-12)


@pytest.mark.paper("B3")
@pytest.mark.parametrize("name", list(CHARTS))
def test_the_multiplier_answers_a_force_off_the_constraint_and_is_zero_else(state, name, rng):
    """[BK12, Eq. (33)]: M ÿ + N ẏ + g = φ + C_yᵀ λ, so φ = Tᵀ tau + C_yᵀ s is answered by λ = −s, without any
    motion."""
    _, eom, tau = state
    chart = eom.in_chart(CHARTS[name])
    scale = np.abs(chart.force(tau)).max()
    assert_allclose(chart.multiplier(tau), 0, atol=1e-11 * scale)
    push = rng.normal(size=len(chart.C_y))
    y_dotdot, multiplier = chart.motion(chart.force(tau) + chart.C_y.T @ push)
    assert_allclose(multiplier, -push, atol=1e-11 * scale)
    assert_allclose(y_dotdot, chart.acceleration(tau), rtol=1e-9, atol=1e-9)


@pytest.mark.paper("B3")
def test_the_projector_of_the_unit_quaternion_is_the_papers(state):
    """[BK12, Eq. (34)]: A = 1 − Sᵀ S q qᵀ on the quaternion."""
    _, eom, _ = state
    chart = eom.in_chart(eq.charts.UnitQuaternion)
    expected = np.eye(len(chart.y_dot))
    expected[3:7, 3:7] -= np.outer(chart.theta, chart.theta)
    assert_allclose(chart.projector, expected, atol=1e-12)


@pytest.mark.paper("B2")
@pytest.mark.parametrize("name", list(CHARTS))
def test_jacobians_with_respect_to_the_charts_coordinates(state, name):
    """[BK12, Eqs. (14), (17)]: the same velocity and acceleration of a point, from ẏ and ÿ."""
    robot, eom, tau = state
    q, v = eom.origin.q, eom.v
    chart = eom.in_chart(CHARTS[name])
    J, J_dot = robot.jacobian(q, "front_right_foot"), robot.jacobian_rate(q, v, "front_right_foot")
    y_dotdot = chart.acceleration(tau)
    assert_allclose(chart.jacobian(J) @ chart.y_dot, J @ v, atol=1e-11)
    acceleration = chart.jacobian(J) @ y_dotdot + chart.jacobian_rate(J, J_dot) @ chart.y_dot
    expected = J @ robot.forward_dynamics(q, v, tau) + robot.bias_acceleration(q, v, "front_right_foot")
    assert_allclose(acceleration, expected, atol=1e-9 * np.abs(expected).max())


@pytest.mark.paper("B1")
@settings(max_examples=40, deadline=None, derandomize=True)
@given(unit_quaternions)
def test_quaternion_chart_on_any_orientation(quaternion):
    q = np.array(quaternion) / np.linalg.norm(quaternion)
    R = quaternions.rotation(tuple(q))
    chart = CHARTS["UnitQuaternion"]
    assert_allclose(chart.at(chart.parameters(R)).X, R, atol=1e-13)
    w = np.array([0.3, -0.4, 0.5])
    assert_allclose(chart.at(q).J @ chart.rates(q, w), w, atol=1e-12)


@pytest.mark.paper("B7")
@pytest.mark.parametrize("name", [n for n in CHARTS if n != "DualQuaternion"])
def test_ball_joints_use_the_same_charts(name, rng):
    builder = eq.RobotBuilder("ball", floating=True)
    builder.link("body", mass=3.0, com=(0, 0.1, 0), inertia=(0.1, 0.2, 0.15)).link(
        "arm", mass=1.0, com=(0, 0, 0.3), inertia=(0.02, 0.03, 0.01)
    )
    builder.joint("shoulder", "ball", "body", "arm", position=(0.1, 0.2, 0.3))
    robot = builder.build()
    q, v = robot.random_state(rng)
    tau = rng.normal(size=robot.nv)
    chart = robot.equations_of_motion(q, v).in_chart(CHARTS[name], joint="shoulder")
    a = robot.forward_dynamics(q, v, tau)
    assert_allclose(chart.T @ chart.y_dot, v, atol=1e-11)
    assert_allclose(chart.body_acceleration(chart.acceleration(tau)), a, atol=1e-9 * np.abs(a).max())


def test_near_a_singularity_the_error_says_so_and_names_a_way_out(state):
    robot, eom, _ = state
    q = np.array(eom.origin.q)
    q[3:7] = [np.cos(np.pi / 4), 0, np.sin(np.pi / 4), 0]  # pitch 90°
    with pytest.raises(eq.StateError, match="RollPitchYaw is singular.*UnitQuaternion"):
        robot.equations_of_motion(q, eom.v).in_chart(eq.charts.RollPitchYaw)
    robot.equations_of_motion(q, eom.v).in_chart(eq.charts.UnitQuaternion)


def test_charts_that_cannot_be_teach(state):
    _, eom, _ = state
    with pytest.raises(eq.ModelError, match="at least three"):
        eq.charts.Chart(rotation_vector, 2)
    with pytest.raises(eq.ModelError, match="3×3"):
        eq.charts.Chart(lambda t: t, 3, name="column").at(np.zeros(3))
    flat = eq.charts.Chart(lambda t: casadi.SX.eye(3), 3, name="flat")
    with pytest.raises(eq.StateError, match="flat"):
        eom.in_chart(flat)
    with pytest.raises(eq.ModelError, match="no frame"):
        eom.centroidal().in_chart(eq.charts.UnitQuaternion)
    with pytest.raises(eq.ModelError, match="ball joint"):
        eom.in_chart(eq.charts.UnitQuaternion, joint="front_left_knee")
    with pytest.raises(eq.UnknownNameError, match="front_left_knee"):
        eom.in_chart(eq.charts.UnitQuaternion, joint="front_left_kne")
    with pytest.raises(eq.ShapeError, match="4 parameters"):
        CHARTS["UnitQuaternion"].at(np.zeros(3))


# --- what a user may write --------------------------------------------------------------------------------------------


def plain_cayley(theta):
    """Plain NumPy, no symbols in sight."""
    x, y, z = theta
    K = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + 2 / (1 + theta @ theta) * (K + K @ K)


def nine_rows(theta):
    """All of Rᵀ R = 1, as [BK12, Table II] prints it: three rows say what others say."""
    R = theta.reshape(3, 3)
    return R.T @ R - np.eye(3)


PLAIN = eq.charts.Chart(plain_cayley, 3, name="plain Cayley")
NINE = eq.charts.Chart(lambda theta: theta.reshape(3, 3), 9, nine_rows, name="nine rows")


@pytest.mark.paper("B1")
@pytest.mark.parametrize("chart", [PLAIN, NINE], ids=lambda chart: chart.name)
def test_a_chart_written_in_plain_numpy(chart, state, rng):
    robot, eom, tau = state
    X = random_pose(rng)
    theta, w = chart.parameters(X), rng.normal(size=3)
    assert_allclose(chart.at(theta).X, X[:3, :3], atol=1e-12)
    assert_allclose(chart.at(theta).J @ chart.rates(theta, w), w, atol=1e-11)
    form = eom.in_chart(chart)
    a = robot.forward_dynamics(eom.origin.q, eom.v, tau)
    assert_allclose(form.body_acceleration(form.acceleration(tau)), a, atol=1e-9 * np.abs(a).max())


@pytest.mark.paper("B3")
def test_redundant_constraints_are_solved_by_rank(state):
    """Nine constraints give the motion, the projector and the multiplier of six."""
    _, eom, tau = state
    nine, six = eom.in_chart(NINE), eom.in_chart(eq.charts.RotationMatrix)
    assert (nine.C_y.shape[0], six.C_y.shape[0]) == (9, 6)
    assert_allclose(nine.acceleration(tau), six.acceleration(tau), atol=1e-9 * np.abs(six.acceleration(tau)).max())
    assert_allclose(nine.projector, six.projector, atol=1e-12)
    rest = nine.M @ nine.acceleration(tau) + nine.N @ nine.y_dot + nine.g - nine.force(tau)
    assert_allclose(rest, nine.C_y.T @ nine.multiplier(tau), atol=1e-9)
    assert_allclose(nine.C_y @ nine.acceleration(tau), -nine.C_bias, atol=1e-9)


@pytest.mark.paper("B3")
@pytest.mark.parametrize("chart", [*CHARTS.values(), PLAIN, NINE], ids=lambda chart: chart.name)
def test_a_batch_is_its_states(chart, rng):
    robot = eq.load("quadruped")
    q, v = map(np.array, zip(*(robot.random_state(rng) for _ in range(6)), strict=True))
    q, v, tau = q.reshape(2, 3, -1), v.reshape(2, 3, -1), rng.normal(size=(2, 3, robot.nv))
    together = robot.equations_of_motion(q, v).in_chart(chart)
    assert together.theta.shape == (2, 3, chart.dimension)
    for k in np.ndindex(2, 3):
        one = robot.equations_of_motion(q[k], v[k]).in_chart(chart)
        for name in ("theta", "y_dot", "T", "T_dot", "M", "N", "g", "C_y", "C_bias", "projector"):
            assert_allclose(getattr(together, name)[k], getattr(one, name), atol=1e-9, err_msg=name)
        y_dotdot = one.acceleration(tau[k])
        scale = np.abs(y_dotdot).max()
        assert_allclose(together.acceleration(tau)[k], y_dotdot, atol=1e-9 * scale)
        back = together.inverse_dynamics(together.acceleration(tau))[k]
        assert_allclose(back, tau[k], atol=1e-8 * max(1.0, scale))


@pytest.mark.paper("B7")
def test_charts_of_base_ball_joint_and_free_object_at_once(rng):
    builder = eq.RobotBuilder("thrower", floating=True)
    builder.link("body", mass=3.0, com=(0, 0.1, 0), inertia=(0.1, 0.2, 0.15))
    builder.link("arm", mass=1.0, com=(0, 0, 0.3), inertia=(0.02, 0.03, 0.01))
    builder.link("stone", mass=0.5, com=(0.01, 0, 0), inertia=(0.001, 0.002, 0.0015))
    builder.joint("shoulder", "ball", "body", "arm", position=(0.1, 0.2, 0.3))
    builder.joint("free", "floating", None, "stone")
    robot = builder.build()
    q, v = robot.random_state(rng)
    tau, eom = rng.normal(size=robot.nv), robot.equations_of_motion(q, v)
    charts = {"free": eq.charts.DualQuaternion, None: eq.charts.UnitQuaternion, "shoulder": eq.charts.RollPitchYaw()}
    form = eom.in_chart(charts)
    assert form.M.shape == (robot.nv + 2 + 1, robot.nv + 2 + 1)
    a = robot.forward_dynamics(q, v, tau)
    assert_allclose(form.T @ form.y_dot, v, atol=1e-11)
    assert_allclose(form.body_acceleration(form.acceleration(tau)), a, atol=1e-9 * np.abs(a).max())
    assert_allclose(form.y_dot @ form.M @ form.y_dot / 2, eom.kinetic_energy, rtol=1e-12)


def test_a_built_in_chart_is_traced_once(state):
    _, eom, _ = state
    assert eom.in_chart(eq.charts.UnitQuaternion).chart is eom.in_chart(eq.charts.UnitQuaternion).chart


def branching(theta):
    return np.eye(3) if theta[0] > 0 else -np.eye(3)


def from_math(theta):
    import math

    c, s = math.cos(theta[0]), math.sin(theta[0])
    return np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])


@pytest.mark.parametrize("rho", [branching, from_math], ids=lambda rho: rho.__name__)
def test_a_function_that_cannot_be_traced_is_refused(rho):
    with pytest.raises(eq.ModelError, match=r"mine: .*(NumPy|branch)"):
        eq.charts.Chart(rho, 3, name="mine").at(np.array([0.1, 0.2, 0.3]))


def test_a_chart_without_the_constraint_it_needs_is_refused():
    chart = eq.charts.Chart(lambda theta: theta.reshape(3, 3), 9, name="no rows")
    with pytest.raises(
        eq.ModelError, match=r"no rows has 9 parameters for 3 freedoms: it needs a constraint of 6 rows"
    ):
        chart.rates(np.eye(3).ravel(), np.ones(3))


def test_charts_go_with_rotations_only():
    robot = eq.load("quadruped")
    eom = robot.equations_of_motion(robot.standing(), np.zeros(robot.nv))
    joint = next(name for name, made in robot.joints.items() if made.type.name == "revolute")
    with pytest.raises(eq.ModelError, match="ball joint or a free object"):
        eom.in_chart(eq.charts.UnitQuaternion, joint=joint)
    with pytest.raises(eq.ModelError, match="needs a chart"):
        eom.in_chart({})
