"""Decoupling control: each output is a linear oscillator of its own, on a fixed base, in closed chains and on
contacts."""

from __future__ import annotations

import numpy as np
import pytest
from closed_loop import oscillator, simulate
from numpy.testing import assert_allclose
from support import load
from test_hierarchy import FEET, standing

import equipoise as eq
from equipoise.balance import contact_bias, contact_jacobian, gravity_torques, projected_dynamics
from equipoise.balance.support_dynamics import selection
from equipoise.control.closed_form.decoupling import output_dynamics, slow_output_dynamics
from equipoise.control.closed_form.motions import Motion, com_motion, frame_motion

pytestmark = pytest.mark.paper("E7")
K_P, K_V = np.array([30.0, 40.0, 50.0]), np.array([12.0, 14.0, 15.0])


def test_the_equations_of_the_paper_with_their_signs(rng):
    """[EB98, Eq. (68), (71)–(74)] against a direct solution; the printed signs of s and K₁ s would fail here."""
    n, p = 7, 3
    X = rng.normal(size=(n, n))
    M, N, C, s = X @ X.T + n * np.eye(n), rng.normal(size=n), rng.normal(size=(p, n)), rng.normal(size=p)
    J, f, e_ddot = rng.normal(size=(n - p, n)), rng.normal(size=n - p), rng.normal(size=n - p)
    B = rng.normal(size=(n, 5))
    out = output_dynamics(M, N, J, f, C=C, s=s, B=B)
    a = np.linalg.solve(np.vstack([C, J]), np.concatenate([-s, e_ddot - f]))  # C a = −s, J a = ë − f
    assert_allclose(out.acceleration(e_ddot), a, rtol=0, atol=1e-11)
    u = out.actuation(e_ddot)
    Gamma = out.torque(u)
    motion = projected_dynamics(M, N, C, s, B @ Gamma)
    assert_allclose(motion.acceleration, a, rtol=0, atol=1e-10)
    assert_allclose(J @ motion.acceleration + f, e_ddot, rtol=0, atol=1e-10)
    # of all torques with that u, the one nearest to what is preferred
    wish = rng.normal(size=5)
    near = out.torque(u, preferred=wish)
    assert_allclose(out.RB @ near, u, rtol=0, atol=1e-9)
    assert np.linalg.norm(near - wish) < np.linalg.norm(Gamma - wish)
    assert np.linalg.norm(Gamma) < np.linalg.norm(near)


def test_an_arm_decouples(rng):
    """Seven outputs of seven joints: tool position with the rest of the joints; each with gains of its own."""
    robot = load("arm7")
    q, v = robot.random_state(rng)
    v *= 0.3
    k_p, k_v = np.array([*K_P, 20, 25, 30, 35.0]), np.array([*K_V, 10, 11, 12, 13.0])
    goal, rest = robot.pose(q, "tool")[:3, 3] + 0.03, q[[0, 2, 4, 6]] + 0.1

    def outputs(q, v):
        motion = frame_motion(robot, q, v, "tool").above(Motion(np.eye(7)[[0, 2, 4, 6]], np.zeros(4)))
        return np.concatenate([robot.pose(q, "tool")[:3, 3] - goal, q[[0, 2, 4, 6]] - rest]), motion

    def acceleration(t, q, v):
        e, (J, f) = outputs(q, v)
        out = output_dynamics(robot.mass_matrix(q), robot.bias_force(q, v), J, f)
        return robot.forward_dynamics(q, v, out.torque(out.control(e, J @ v, k_p, k_v)))

    (e, motion), (t, qs, _) = outputs(q, v), simulate(robot, q, v, acceleration, 4e-3, 100)
    found = np.array([outputs(q, v)[0] for q in qs])
    for k in range(7):
        wanted = oscillator(e[k : k + 1], motion.J[k : k + 1] @ v, k_p[k], k_v[k], t)
        assert_allclose(found[:, k : k + 1], wanted, rtol=0, atol=1e-7)


def four_bar() -> eq.Robot:
    return eq.load("planar_chain", lengths=[0.5, 1.0, 0.8], masses=[1.0, 2.0, 1.5])


def test_a_closed_chain_decouples_with_one_motor():
    """A four-bar linkage: one freedom, one output (the height of the centre of mass), one motor at the crank."""
    robot = four_bar()
    q = np.array([1.0, 0.6, -1.9])
    anchor = robot.pose(q, "tool")[:3, 3]  # the loop is closed where the end is now
    B, rows = np.eye(3)[:, :1], [0, 2]
    k_p, k_v, goal = 40.0, 14.0, robot.com(q)[2] - 0.05

    def acceleration(t, q, v):
        C, s = robot.jacobian(q, "tool")[rows], robot.bias_acceleration(q, v, "tool")[rows]
        com = com_motion(robot, q, v, "z")
        out = output_dynamics(robot.mass_matrix(q), robot.bias_force(q, v), *com, C=C, s=s, B=B)
        Gamma = out.torque(out.control(robot.com(q)[2:] - goal, com.J @ v, k_p, k_v))
        return projected_dynamics(robot.mass_matrix(q), robot.bias_force(q, v), C, s, B @ Gamma).acceleration

    e = robot.com(q)[2:] - goal
    t, qs, _ = simulate(robot, q, np.zeros(3), acceleration, 4e-3, 125)
    assert_allclose(robot.com(qs)[:, 2:] - goal, oscillator(e, 0 * e, k_p, k_v, t), rtol=0, atol=1e-8)
    assert np.abs(robot.pose(qs, "tool")[:, :3, 3] - anchor).max() < 1e-7  # nobody controls it: the constraint holds it


def test_a_quadruped_on_four_feet_decouples(rng):
    """Twelve rows of contacts that nobody controls, six outputs, twelve motors: more torques than outputs, as in Eq.
    (75)."""
    robot, q, v, _ = standing(rng)
    marked = robot.with_frame(
        "nose", "trunk", np.block([[np.eye(3), np.array([[0.3], [0], [0]])], [np.zeros((1, 3)), 1]])
    )
    goal = np.array(
        [
            *robot.com(q) + np.array([0.01, -0.02, 0.02]),
            *marked.pose(q, "nose")[1:3, 3],
            robot.pose(q, "front_left_thigh")[2, 3],
        ]
    )
    B = selection(robot).T

    def outputs(q, v):
        e = np.array([*robot.com(q), *marked.pose(q, "nose")[1:3, 3], robot.pose(q, "front_left_thigh")[2, 3]]) - goal
        parts = [frame_motion(marked, q, v, "nose", "yz"), frame_motion(robot, q, v, "front_left_thigh", "z")]
        return e, com_motion(robot, q, v).above(parts[0]).above(parts[1])

    def acceleration(t, q, v):
        M, N = robot.mass_matrix(q), robot.bias_force(q, v)
        C, s = contact_jacobian(robot, q, FEET), contact_bias(robot, q, v, FEET)
        e, (J, f) = outputs(q, v)
        out = output_dynamics(M, N, J, f, C=C, s=s, B=B)
        Gamma = out.torque(out.control(e, J @ v, 40.0, 14.0))
        return projected_dynamics(M, N, C, s, B @ Gamma).acceleration

    e, motion = outputs(q, v)
    t, qs, vs = simulate(robot, q, v, acceleration, 4e-3, 60)
    found = np.array([outputs(q, v)[0] for q, v in zip(qs, vs, strict=True)])
    assert_allclose(found, oscillator(e, motion.J @ v, 40.0, 14.0, t), rtol=0, atol=1e-7)


def test_slow_motion_leaves_velocities_out():
    """[EB98, Eq. (84)] with the matrices that (73) gives: at rest it is the full law; with ∂²e/∂t² the goal may
    accelerate."""
    robot = four_bar()
    q, v, e_tt = np.array([0.4, 0.9, -0.7]), np.array([0.3, -0.5, 0.7]), np.array([-0.4])
    C, s = robot.jacobian(q, "tool")[[0, 2]], robot.bias_acceleration(q, v, "tool")[[0, 2]]
    com = com_motion(robot, q, v, "z")
    M = robot.mass_matrix(q)
    slow = slow_output_dynamics(M, gravity_torques(robot, q), com.J, e_tt, C=C)
    rest = output_dynamics(M, robot.bias_force(q, 0 * v), com.J, e_tt, C=C, s=0 * s)
    assert_allclose(slow.f, rest.f, rtol=0, atol=1e-12)
    full = output_dynamics(M, robot.bias_force(q, v), com.J, com.bias + e_tt, C=C, s=s)
    assert np.abs(full.f - slow.f).max() > 1e-2  # what the simplification drops
    a = slow.acceleration(np.zeros(1))
    assert_allclose(com.J @ a, -e_tt, rtol=0, atol=1e-12)


def test_wrong_numbers_of_outputs_and_dependent_ones_are_refused():
    robot = four_bar()
    q, v = np.array([0.4, 0.9, -0.7]), np.array([0.3, -0.5, 0.7])
    M, N = robot.mass_matrix(q), robot.bias_force(q, v)
    tool = frame_motion(robot, q, v, "tool", "xz")
    with pytest.raises(eq.ConstraintError, match="leave 1 freedoms, so 1 outputs are wanted, got 2"):
        output_dynamics(M, N, *tool, C=tool.J, s=tool.bias)
    with pytest.raises(eq.ConstraintError, match="not independent"):
        output_dynamics(M, N, tool.J[:1], tool.bias[:1], C=tool.J, s=tool.bias)
    com = com_motion(robot, q, v, "z")
    out = output_dynamics(M, N, *com, C=tool.J, s=tool.bias, B=np.zeros((3, 1)))
    with pytest.raises(eq.ConstraintError, match="no actuator torques"):
        out.torque(out.actuation([1.0]))
    with pytest.raises(eq.ShapeError, match="one row per entry"):
        output_dynamics(M, N, com.J, np.zeros(2), C=tool.J, s=tool.bias)
