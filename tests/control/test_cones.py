"""Cones and joint limits from the angle between lines: invariance in closed loop, geometry, the ends of Lemma 4.2."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from support import load

import equipoise as eq
from equipoise.control.closed_form.cones import SafeAngle, cone_acceleration_rows, cone_velocity_rows, joint_limit_angle
from equipoise.control.closed_form.motions import frame_motion
from equipoise.control.closed_form.task_space import acceleration_program, velocity_program
from equipoise.control.qp import DaqpSolver, Status
from equipoise.control.safety.vfi import GainError, Gains
from equipoise.geometry.distances import angle, distances_kernel

pytestmark = pytest.mark.paper("Q5")
UP = eq.Line((0, 0, 0), (0, 0, 1))


def tilt_of(robot: eq.Robot, q: np.ndarray, axis=(0, 0, 1)) -> float:
    return float(np.arccos(np.clip(robot.pose(q, "tool")[:3, 2] @ axis, -1, 1)))


def upright(rng: np.random.Generator):
    """An arm with its tool's z pointing up within a quarter of a radian, and away from it."""
    robot = load("arm7")
    q = robot.random_state(rng)[0]
    values = angle(eq.Line((0, 0, 0), (0, 0, 1), "tool"), UP).on(robot)
    for _ in range(200):  # gradient descent on f itself
        now = values(q, np.zeros(7))
        q = q - 0.3 * now.J * now.value / max(now.J @ now.J, 1e-9)
        if now.value < 0.03:
            break
    assert tilt_of(robot, q) < 0.25
    return robot, q, values


# --- the inequality itself --------------------------------------------------------------------------------------------


def test_the_chord_of_a_safe_angle_that_moves():
    """f(φ) = 2 − 2 cos φ along φ(t) = 0.7 + 0.3 t − 0.2 t²."""
    h, path = 1e-4, lambda t: 2 - 2 * np.cos(0.7 + 0.3 * t - 0.2 * t * t)
    f, rate, acceleration = SafeAngle(0.7, 0.3, -0.4).chord
    assert f == pytest.approx(path(0))
    assert rate == pytest.approx((path(h) - path(-h)) / (2 * h), abs=1e-8)
    assert acceleration == pytest.approx((path(h) - 2 * path(0) + path(-h)) / h**2, abs=1e-6)


def test_rows_say_what_the_inequalities_say(rng):
    """J v ≤ bound is f̃' ≤ −η f̃ and J a ≤ bound is f̃'' ≤ −η₁ f̃' − η₂ f̃, with a line that turns and a cone that
    opens."""
    robot = load("arm7")
    q, v = robot.random_state(rng)
    a, V, V_dot = rng.normal(size=7), rng.normal(size=6), rng.normal(size=6)
    turning = eq.Line((0, 0, 0), (0.3, 0.1, 1), None, V, V_dot)
    now = angle(eq.Line((0, 0, 0), (0, 0, 1), "tool"), turning).on(robot)(q, v)
    safe = SafeAngle(0.8, 0.2, -0.5)
    f, f_rate, f_acceleration = safe.chord
    error, rate = now.value - f, now.rate(v) - f_rate
    first, second = cone_velocity_rows(now, safe, 3.0), cone_acceleration_rows(now, v, safe, Gains(7.0, 10.0))
    assert first.upper[0] - first.A[0] @ v == pytest.approx(-3.0 * error - rate, abs=1e-12)
    acceleration = now.acceleration(a) - f_acceleration
    assert second.upper[0] - second.A[0] @ a == pytest.approx(-7 * rate - 10 * error - acceleration, abs=1e-11)
    assert first.lower[0] == -np.inf


# --- closed loops -----------------------------------------------------------------------------------------------------


def test_velocities_keep_the_cup_upright(rng):
    """The hand's goal would tip the cup; with the cone the angle stays below φ_safe, without it it does not."""
    robot, q0, values = upright(rng)
    safe, eta, dt, goal = SafeAngle(0.3), 5.0, 2e-3, robot.pose(q0, "tool")[:3, 3] + [0.35, 0.25, -0.35]
    worst = {}
    for coned in (True, False):
        q, tilts = q0, []
        for _ in range(500):
            rows = cone_velocity_rows(values(q, np.zeros(7)), safe, eta) if coned else None
            error = robot.pose(q, "tool")[:3, 3] - goal
            v = DaqpSolver().solve(velocity_program(robot.jacobian(q, "tool")[:3], error, 3.0, 0.05, rows)).x
            q = robot.integrate(q, v, dt)
            tilts.append(tilt_of(robot, q))
        worst[coned] = max(tilts)
    assert worst[False] > 0.35
    assert worst[True] < 0.3 + 1e-4  # steps of 2 ms


def test_accelerations_keep_the_cup_upright_while_the_axis_turns(rng):
    robot, q, _ = upright(rng)
    safe, dt, goal = SafeAngle(0.35), 2e-3, robot.pose(q, "tool")[:3, 3] + [0.2, 0.2, -0.2]
    turn, solver, v, tilts, pressed = np.array([0.15, 0, 0]), DaqpSolver(), np.zeros(7), [], 0
    kernel = angle(eq.Line((0, 0, 0), (0, 0, 1), "tool"), UP).on(robot)
    for k in range(500):
        t = k * dt
        axis = np.array([0, -np.sin(0.15 * t), np.cos(0.15 * t)])
        now = kernel(q, v, [eq.Line((0, 0, 0), tuple(axis), None, np.array([0, 0, 0, *turn]))])
        rows = cone_acceleration_rows(now, v, safe, Gains(12.0, 36.0))
        motion = frame_motion(robot, q, v, "tool")
        wanted = -16 * (robot.pose(q, "tool")[:3, 3] - goal) - 9 * motion.J @ v
        found = solver.solve(acceleration_program(motion, wanted, 0.05, rows))
        assert found.solved
        pressed += found.active
        v = v + dt * found.x
        q = robot.integrate(q, v, dt)
        tilts.append(tilt_of(robot, q, axis))
    assert max(tilts) < 0.35 + 1e-3
    assert pressed > 20  # it was in the way


def test_from_outside_the_cone_is_entered_like_an_exponential(rng):
    robot, q, values = upright(rng)
    safe, eta, dt, solver = SafeAngle(0.05), 4.0, 1e-3, DaqpSolver()
    first = values(q, np.zeros(7)).value - safe.chord[0]
    assert first > 0
    for _ in range(250):
        rows = cone_velocity_rows(values(q, np.zeros(7)), safe, eta)
        v = solver.solve(velocity_program(np.zeros((1, 7)), [0.0], 1.0, 1.0, rows)).x  # the shortest that obeys
        q = robot.integrate(q, v, dt)
    left = values(q, np.zeros(7)).value - safe.chord[0]
    assert left == pytest.approx(first * np.exp(-eta * 0.25), rel=2e-2)


# --- joint limits -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["arm7", "quadruped", "bimanual"])
def test_joint_limits_are_angles_between_lines(name, rng):
    """f = 2 − 2 cos(q − q_mid) and J = 2 sin(q − q_mid) in the joint's own column, zero elsewhere; any pose of the
    base."""
    robot = load(name)
    joints = [
        j
        for j in list(robot.joints.values())[:8]
        if np.isfinite(j.limits.upper) and j.limits.upper - j.limits.lower < 6.28
    ]
    pairs = [joint_limit_angle(robot, j.name) for j in joints]
    q, v = robot.random_state(rng)
    now = distances_kernel(robot, [pair[0] for pair in pairs])(q, v)
    for k, (j, (_, safe)) in enumerate(zip(joints, pairs, strict=True)):
        away = q[j.q][0] - (j.limits.lower + j.limits.upper) / 2
        assert now.value[k] == pytest.approx(2 - 2 * np.cos(away), abs=1e-12)
        row = np.zeros(robot.nv)
        row[j.v] = 2 * np.sin(away)
        assert_allclose(now.J[k], row, rtol=0, atol=1e-12)
        assert safe.angle == pytest.approx((j.limits.upper - j.limits.lower) / 2)
    assert len(joints) >= 5


def test_the_lines_of_a_joint_that_stands_askew(rng):
    """Placements turned on both sides, an oblique axis, a middle that is not zero."""
    builder = (
        eq.RobotBuilder("askew")
        .link("body", mass=1.0, inertia=(0.1, 0.1, 0.1))
        .link("arm", mass=1.0, inertia=(0.1, 0.1, 0.1))
    )
    turned = dict(
        position=(0.1, 0.2, 0.3), rpy=(0.4, -0.3, 0.8), child_rpy=(-0.7, 0.5, 0.2), child_position=(0.1, 0, 0)
    )
    robot = builder.joint("hinge", "revolute", "body", "arm", axis=(1, 2, -2), lower=-0.4, upper=1.8, **turned).build()
    measured, safe = joint_limit_angle(robot, "hinge")
    q, v = robot.random_state(rng)
    assert measured.on(robot)(q, v).value == pytest.approx(2 - 2 * np.cos(q[7] - 0.7), abs=1e-12)
    assert safe.angle == pytest.approx(1.1)


def test_a_joint_stops_at_its_limit():
    robot = load("arm7")
    name = next(n for n, j in robot.joints.items() if np.isfinite(j.limits.upper) and j.limits.upper < 2.5)
    joint = robot.joints[name]
    measured, safe = joint_limit_angle(robot, name)
    values, q, v, dt = measured.on(robot), robot.standing(), np.zeros(7), 2e-3
    push = np.zeros(7)
    push[joint.v] = 5.0
    reached = []
    for _ in range(900):
        rows = cone_acceleration_rows(values(q, v), v, safe, Gains(20.0, 90.0))
        a = DaqpSolver().solve(velocity_program(np.eye(7), -push, 1.0, 0.0, rows)).x  # nearest to the push
        v = v + dt * a
        q = robot.integrate(q, v, dt)
        reached.append(q[joint.q][0])
    assert max(reached) < joint.limits.upper + 1e-3
    assert reached[-1] > joint.limits.upper - 0.02


def test_joints_without_such_an_angle_are_refused():
    with pytest.raises(eq.ModelError, match="no line-to-line angle.*revolute joint"):
        joint_limit_angle(load("cart_pendulum"), next(iter(load("cart_pendulum").joints)))
    with pytest.raises(eq.ModelError, match="limits -inf to inf"):
        joint_limit_angle(load("planar_chain"), "joint_1")
    with pytest.raises(eq.UnknownNameError, match="no joint named 'knee'"):
        joint_limit_angle(load("planar_chain"), "knee")
    with pytest.raises(eq.ModelError, match="only stands between two joints"):
        joint_limit_angle(load("human"), "left_hip_roll")


# --- the ends ---------------------------------------------------------------------------------------------------------


def test_the_slope_is_zero_at_both_ends_of_the_range():
    """[QO21, Lemma 4.2] is about values: at 0 the row asks nothing; at π no velocity can satisfy it, and the solver
    says so."""
    robot = load("planar_chain")
    q, v = np.zeros(3), np.array([0.3, -0.2, 0.5])
    along, against = (eq.Line((0, 0, 0), (sign, 0, 0)) for sign in (1, -1))
    tool = eq.Line((0, 0, 0), (1, 0, 0), "tool")
    for line, status in ((along, Status.OPTIMAL), (against, Status.INFEASIBLE)):
        now = angle(tool, line).on(robot)(q, v)
        assert_allclose(now.J, 0, rtol=0, atol=1e-15)
        program = velocity_program(np.eye(3), -v, 1.0, 0.0, cone_velocity_rows(now, SafeAngle(1.0), 2.0))
        assert DaqpSolver().solve(program).status is status
    now = angle(tool, against).on(robot)(q, v)
    whole = cone_velocity_rows(now, SafeAngle(np.pi), 2.0)
    assert whole.upper[0] >= -1e-15  # a cone of π is all of space: it never asks for anything


@pytest.mark.parametrize("bad", [0.0, -0.1, 3.2, np.nan])
def test_impossible_cones_are_refused(bad):
    robot = load("planar_chain")
    now = angle(eq.Line((0, 0, 0), (1, 0, 0), "tool"), UP).on(robot)(np.zeros(3), np.zeros(3))
    with pytest.raises(eq.ShapeError, match=r"lies in \(0, π\]"):
        cone_velocity_rows(now, SafeAngle(bad), 1.0)
    with pytest.raises(eq.ShapeError, match=r"lies in \(0, π\]"):
        cone_acceleration_rows(now, np.zeros(3), SafeAngle(bad), Gains(4.0, 3.0))
    with pytest.raises(GainError, match="eta is a positive finite number"):
        cone_velocity_rows(now, SafeAngle(1.0), -abs(bad))
