"""Kinetic Jacobian, gravity torques, motion of closed chains [EB98, Sec. 4, Sec. 5.1.1]."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from support import load, random_states, traced

import equipoise as eq
from equipoise.algebra import rigid
from equipoise.balance.chains import equivalent_chain
from equipoise.balance.com_dynamics import (
    augmented_bodies,
    gravity_torques,
    kinetic_jacobian,
    null_space_rows,
    projected_dynamics,
    reduced_dynamics,
)
from equipoise.balance.loops import closure, loop_constraints
from equipoise.errors import ConstraintError
from equipoise.model.types import Mimic
from equipoise.model.urdf_writer import write_urdf

ROBOTS = ("planar_chain", "arm7", "bimanual", "quadruped", "human", "cart_pendulum", "holonomic_arm")
METHODS = (projected_dynamics, reduced_dynamics)
INERTIA = np.array([[0.3, 0.02, -0.03], [0.02, 0.4, 0.05], [-0.03, 0.05, 0.5]])


def menagerie(gravity=(0.5, -0.3, -9.0)) -> eq.Robot:
    """A joint of every type, a follower, oblique axes, a heavy root that does not move, gravity aslant."""
    builder = eq.RobotBuilder("menagerie", floating=False, gravity=gravity).link(
        "root", mass=4.0, com=(0.1, 0, 0.2), inertia=INERTIA
    )
    place = dict(position=(0.2, -0.1, 0.3), rpy=(0.4, -0.3, 0.8), child_position=(0.1, 0.2, 0.0))
    kinds = dict(
        turn="revolute",
        slide="prismatic",
        roll="ball",
        glide="planar",
        fly="floating",
        spin="continuous",
        follow="revolute",
    )
    parents = dict(turn="root", slide="turn", roll="slide", glide="root", fly="glide", spin="fly", follow="roll")
    for k, (name, kind) in enumerate(kinds.items()):
        builder.link(name, mass=1.0 + 0.2 * k, com=(0.1 * k - 0.3, 0.2, -0.1), inertia=INERTIA)
        mimic = Mimic("spin", -1.7, 0.3) if name == "follow" else None
        builder.joint(name, kind, parents[name], name, axis=(1, 2, -2), mimic=mimic, **place)
    return builder.build()


# --- augmented bodies ------------------------------------------------------------------------------------------------


@pytest.mark.paper("E4")
@pytest.mark.parametrize("name", ROBOTS)
def test_the_kinetic_jacobian_is_that_of_the_centre_of_mass(name, rng):
    robot = load(name)
    q, _ = random_states(robot, rng, 4)
    assert_allclose(kinetic_jacobian(robot, q), traced(robot, "com_jacobian", q), rtol=0, atol=1e-14)


@pytest.mark.paper("E4")
def test_the_kinetic_jacobian_with_every_type_of_joint(rng):
    robot = menagerie()
    q, _ = random_states(robot, rng, 4)
    assert_allclose(kinetic_jacobian(robot, q), traced(robot, "com_jacobian", q), rtol=0, atol=1e-14)
    assert_allclose(kinetic_jacobian(robot, q[0]), kinetic_jacobian(robot, q)[0], rtol=1e-12)


@pytest.mark.paper("E4")
def test_augmented_bodies_of_three_equal_links():
    """[EB98, Fig. 9]: stretched out, a joint carries 3, 2, 1 links, whose common centres are in their middle."""
    robot = eq.load("planar_chain", lengths=[1.0, 1.0, 1.0], masses=[1.0, 1.0, 1.0])
    bodies = augmented_bodies(robot, np.zeros(3))
    assert bodies.names == ("joint_1", "joint_2", "joint_3")
    assert_allclose(bodies.mass, [3, 2, 1], rtol=1e-12)
    assert_allclose(bodies.pivot[:, 0], [0, 1, 2], rtol=1e-12)
    assert_allclose(bodies.centre[:, 0], [1.5, 2.0, 2.5], rtol=1e-12)
    contributions = np.array([3 * 1.5, 2 * 1.0, 1 * 0.5]) / 3
    assert_allclose(kinetic_jacobian(robot, np.zeros(3))[2], contributions, rtol=1e-12)


@pytest.mark.paper("E4")
def test_the_augmented_body_of_the_base_is_the_whole_robot(rng):
    robot = load("human")
    q, _ = random_states(robot, rng, 2)
    bodies = augmented_bodies(robot, q)
    assert bodies.mass[0] == pytest.approx(robot.mass)
    assert_allclose(bodies.centre[:, 0], traced(robot, "com", q), rtol=0, atol=1e-13)


def test_bad_configurations_are_refused():
    robot = load("planar_chain")
    with pytest.raises(eq.ShapeError, match=r"q of 'planar_chain' has 3 numbers, got an array of shape \(2,\)"):
        kinetic_jacobian(robot, np.zeros(2))
    with pytest.raises(eq.StateError, match="NaN or infinity"):
        gravity_torques(robot, np.array([0.0, np.nan, 0.0]))


# --- gravity ---------------------------------------------------------------------------------------------------------


@pytest.mark.paper("E5")
@pytest.mark.parametrize("name", ROBOTS)
def test_gravity_torques_come_from_the_kinetic_jacobian(name, rng):
    robot = load(name)
    q, _ = random_states(robot, rng, 4)
    assert_allclose(gravity_torques(robot, q), traced(robot, "gravity", q), rtol=0, atol=1e-14 * 9.81 * robot.mass)


@pytest.mark.paper("E5")
def test_gravity_may_be_aslant(rng):
    robot = menagerie()
    q, _ = random_states(robot, rng, 4)
    assert_allclose(gravity_torques(robot, q), traced(robot, "gravity", q), rtol=0, atol=1e-12)


@pytest.mark.paper("E5")
@pytest.mark.parametrize("name", ["arm7", "human"])
def test_gravity_torques_come_from_the_equivalent_chain(name, rng):
    """G = M g J_3ᵀ with the third row of the Jacobian of the chain's end point [EB98, Eq. (50)]; q' is q here."""
    robot = load(name)
    q, _ = random_states(robot, rng, 3)
    J = traced(equivalent_chain(robot).robot, "jacobian", q, frames="com")
    assert_allclose(robot.mass * 9.80665 * J[:, 2], traced(robot, "gravity", q), rtol=0, atol=1e-11)


@pytest.mark.paper("E5")
@pytest.mark.parametrize("name", ["arm7", "quadruped", "human"])
def test_gravity_torques_are_those_of_pinocchio(name, rng):
    pin = pytest.importorskip("pinocchio")
    robot = load(name)
    links = {key: replace(link, visuals=(), collisions=()) for key, link in robot.model.links.items()}
    root = (pin.JointModelFreeFlyer(),) if robot.floating else ()
    model = pin.buildModelFromXML(write_urdf(replace(robot.model, links=links)), *root)
    model.gravity.linear = np.array(robot.model.gravity)
    for q in random_states(robot, rng, 3)[0]:
        theirs = pin.computeGeneralizedGravity(model, model.createData(), eq.convert.pinocchio(robot, model).to_peer(q))
        T = eq.convert.pinocchio(robot, model).velocity_map(q)
        assert_allclose(gravity_torques(robot, q), T.T @ theirs, rtol=0, atol=1e-11)


# --- constrained dynamics --------------------------------------------------------------------------------------------


def random_system(rng: np.random.Generator, n: int, m: int, repeated: int = 0, batch: tuple[int, ...] = ()):
    """(M, h, J, J̇v, tau), well conditioned, with `repeated` rows of J that are sums of the others, and agree with
    them."""
    turn, mix = np.linalg.qr(rng.normal(size=(2, *batch, n, n)))[0], rng.normal(size=(repeated, m))
    M = turn[0] * rng.uniform(0.5, 5.0, n) @ np.swapaxes(turn[0], -1, -2)
    J, s = rng.uniform(0.5, 2.0, (m, 1)) * turn[1][..., :m, :], rng.normal(size=(*batch, m))
    h, tau = rng.normal(size=(2, *batch, n))
    return M, h, np.concatenate([J, mix @ J], axis=-2), np.concatenate([s, s @ mix.T], axis=-1), tau


def kkt(M, h, J, s, tau) -> tuple[np.ndarray, np.ndarray]:
    """(a, λ) of least norm from M a − Jᵀ λ = tau − h, J a = −s, all at once."""
    K = np.block([[M, -J.T], [J, np.zeros((len(J), len(J)))]])
    x = np.linalg.lstsq(K, np.concatenate([tau - h, -s]), rcond=1e-11)[0]
    return x[: len(M)], x[len(M) :]


@pytest.mark.paper("E6")
@settings(max_examples=40, deadline=None)
@given(st.integers(1, 8), st.integers(0, 8), st.integers(0, 3), st.integers(0, 2**32 - 1))
def test_projector_reduction_and_kkt_give_one_motion(n, m, repeated, seed):
    system = random_system(np.random.default_rng(seed), n, min(m, n), repeated if m else 0)
    a, multipliers = kkt(*system)
    for method in METHODS:
        motion = method(*system)
        assert_allclose(motion.acceleration, a, rtol=0, atol=1e-11)
        assert_allclose(motion.multipliers, multipliers, rtol=0, atol=1e-11)
        assert motion.residual < 1e-11


@pytest.mark.paper("E6")
def test_batches_are_the_states_one_by_one(rng):
    system = random_system(rng, 6, 3, 1, batch=(2, 4))
    for method in METHODS:
        motion = method(*system)
        assert motion.acceleration.shape == (2, 4, 6)
        one = method(*(x[1, 2] for x in system))
        assert_allclose(motion.acceleration[1, 2], one.acceleration, rtol=1e-10)
        assert_allclose(motion.multipliers[1, 2], one.multipliers, rtol=1e-10)


@pytest.mark.paper("E6")
def test_the_rows_of_R_span_what_the_constraints_leave(rng):
    *_, J, _, _ = random_system(rng, 7, 3, 2)
    R = null_space_rows(J)
    assert R.shape == (4, 7)
    assert np.linalg.matrix_rank(R) == 4
    assert_allclose(J @ R.T, 0, rtol=0, atol=1e-13)
    identity = [column for column in R.T if np.count_nonzero(column) == 1 and column.max() == 1.0]
    assert len(identity) == 4


@pytest.mark.paper("E6")
def test_without_constraints_the_motion_is_free(rng):
    M, h, J, s, tau = random_system(rng, 5, 0)
    for method in METHODS:
        assert_allclose(method(M, h, J, s, tau).acceleration, np.linalg.solve(M, tau - h), rtol=0, atol=1e-12)


@pytest.mark.paper("E6")
def test_reduction_needs_inertia_only_where_the_robot_may_move(rng):
    M, J, s = np.diag([0.0, 1.0, 2.0]), np.array([[1.0, 0.5, 0.0]]), np.array([0.3])
    motion = reduced_dynamics(M, np.zeros(3), J, s, np.array([0.0, 1.0, 1.0]))
    assert_allclose(motion.acceleration, [-0.8, 1.0, 0.5], rtol=1e-12)
    assert motion.residual < 1e-14
    with pytest.raises(eq.StateError, match="M must be positive definite.*reduced_dynamics"):
        projected_dynamics(M, np.zeros(3), J, s)


@pytest.mark.paper("E6")
@pytest.mark.parametrize("method", METHODS)
def test_constraints_that_contradict_each_other_are_refused(method, rng):
    M, h, J, s, tau = random_system(rng, 6, 2, 1)
    s[2] += 1.0
    with pytest.raises(ConstraintError, match="contradict each other.* 3 rows of rank 2"):
        method(M, h, J, s, tau)


@pytest.mark.parametrize("method", METHODS)
def test_bad_arrays_are_refused(method, rng):
    M, h, J, s, tau = random_system(rng, 6, 2)
    with pytest.raises(eq.ShapeError, match=r"Jdot_v has shape \(3,\), wanted \(…, 2\)"):
        method(M, h, J, np.zeros(3), tau)
    with pytest.raises(eq.ShapeError, match=r"J has shape \(2, 5\), wanted \(…, 2, 6\)"):
        method(M, h, J[:, :5], s, tau)
    with pytest.raises(eq.StateError, match="h holds NaN"):
        method(M, np.full(6, np.nan), J, s, tau)


# --- a four-bar linkage ----------------------------------------------------------------------------------------------

CRANK, COUPLER, ROCKER, GROUND = 0.5, 1.0, 0.8, 1.1  # m


def linkage() -> eq.Robot:
    """A chain of three links whose end, "tool", is to stay at (GROUND, 0, 0), frame "anchor": a four-bar linkage."""
    robot = eq.load("planar_chain", lengths=[CRANK, COUPLER, ROCKER], masses=[1.0, 2.0, 1.5])
    return robot.with_frame("anchor", "base_link", rigid.pose(p=(GROUND, 0, 0)))


def closed(crank: float) -> np.ndarray:
    """Joint angles with the loop closed: coupler and rocker meet where two circles do."""
    pin = CRANK * np.array([np.cos(crank), np.sin(crank)])
    gap = np.array([GROUND, 0.0]) - pin
    d = np.hypot(*gap)
    coupler = np.arctan2(gap[1], gap[0]) + np.arccos((COUPLER**2 + d**2 - ROCKER**2) / (2 * COUPLER * d))
    rest = gap - COUPLER * np.array([np.cos(coupler), np.sin(coupler)])
    rocker = np.arctan2(rest[1], rest[0])
    return np.array([crank, coupler - crank, rocker - coupler])


def moving_linkage(crank: float, speed: float = 1.7):
    """(robot, q, v, J, J̇v): the loop stays closed; the middle row of J is zero, as nothing leaves the plane."""
    robot, q = linkage(), closed(crank)
    J = robot.jacobian(q, "tool")[:3]
    v = speed * null_space_rows(J)[0]
    return robot, q, v, J, robot.bias_acceleration(q, v, "tool")[:3]


@pytest.mark.paper("E6")
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("crank", [0.3, 1.2, 2.5])
def test_a_four_bar_linkage_moves_as_in_pinocchio(method, crank):
    pin = pytest.importorskip("pinocchio", minversion="4")
    robot, q, v, J, s = moving_linkage(crank)
    tau = np.array([0.3, -0.2, 0.5])
    ours = method(robot.mass_matrix(q), robot.bias_force(q, v), J, s, tau)
    model = pin.buildModelFromXML(write_urdf(robot.model))
    model.gravity.linear = np.array(robot.model.gravity)
    data, joint = model.createData(), model.getJointId("joint_3")
    ends = [pin.SE3(np.eye(3), np.array([x, 0.0, 0.0])) for x in (ROCKER, GROUND)]
    models, datas = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    models.append(pin.RigidConstraintModel(pin.ContactType.CONTACT_3D, model, joint, ends[0], 0, ends[1], pin.LOCAL))
    datas.append(models[0].createData())
    pin.initConstraintDynamics(model, data, models, datas)
    state = eq.convert.pinocchio(robot, model).to_peer(q, v)
    theirs = pin.constraintDynamics(model, data, *state, tau, models, datas, pin.ProximalSettings(1e-14, 1e-8, 100))
    assert_allclose(ours.acceleration, theirs, rtol=1e-10)
    assert_allclose(ours.multipliers, robot.pose(q, "tool")[:3, :3] @ data.lambda_c, rtol=0, atol=1e-9)


@pytest.mark.paper("E6")
@pytest.mark.parametrize("method", METHODS)
def test_what_closes_the_loop_does_no_work(method):
    robot, q, v, J, s = moving_linkage(1.2)
    motion = method(robot.mass_matrix(q), robot.bias_force(q, v), J, s)
    assert abs(motion.multipliers @ J @ v) < 1e-13
    assert abs(motion.multipliers[1]) < 1e-13  # across the plane: least norm gives no force
    assert np.abs(motion.multipliers).max() > 1.0


@pytest.mark.paper("E6")
def test_a_loop_described_by_its_frames_moves_alike():
    robot, q, v, J, s = moving_linkage(0.7)
    loop = loop_constraints(robot, q, v, loops=[closure(robot, "connect", "tool", "anchor")])
    M, h = robot.mass_matrix(q), robot.bias_force(q, v)
    direct, by_frames = projected_dynamics(M, h, J, s), reduced_dynamics(M, h, loop.J, loop.bias)
    assert_allclose(loop.violation, 0, rtol=0, atol=1e-15)
    assert_allclose(by_frames.acceleration, direct.acceleration, rtol=1e-11)


@pytest.mark.paper("E6")
def test_a_swinging_linkage_keeps_its_energy_and_stays_closed():
    """Half a second with the classic Runge–Kutta steps of 1 ms, nothing corrected."""
    robot, q, v, *_ = moving_linkage(1.2)

    def slope(q, v):
        J, s = robot.jacobian(q, "tool")[:3], robot.bias_acceleration(q, v, "tool")[:3]
        return v, reduced_dynamics(robot.mass_matrix(q), robot.bias_force(q, v), J, s).acceleration

    energy, dt = robot.kinetic_energy(q, v) + robot.potential_energy(q), 1e-3
    for _ in range(500):
        k1 = slope(q, v)
        k2 = slope(q + dt / 2 * k1[0], v + dt / 2 * k1[1])
        k3 = slope(q + dt / 2 * k2[0], v + dt / 2 * k2[1])
        k4 = slope(q + dt * k3[0], v + dt * k3[1])
        q, v = (x + dt / 6 * (a + 2 * b + 2 * c + d) for x, a, b, c, d in zip((q, v), k1, k2, k3, k4, strict=True))
    assert robot.kinetic_energy(q, v) + robot.potential_energy(q) == pytest.approx(energy, abs=1e-8)
    assert_allclose(robot.pose(q, "tool")[:3, 3], [GROUND, 0, 0], rtol=0, atol=1e-8)
