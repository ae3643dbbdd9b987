"""Tasks as quadratic programs: convergence as designed, bounds that shrink, two levels, torques."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
from closed_loop import oscillator, simulate
from numpy.testing import assert_allclose
from support import load

import equipoise as eq
from equipoise.control.closed_form.motions import frame_motion
from equipoise.control.closed_form.task_space import (
    acceleration_program,
    error_acceleration,
    joint_torque,
    resting_program,
    shrinking_bounds,
    velocity_program,
)
from equipoise.control.qp import DaqpSolver, Rows, active_names

pytestmark = pytest.mark.paper("Q3")
K_P, K_D = 36.0, 13.0  # k_d² > 4 k_p


def start(rng: np.random.Generator):
    robot = load("arm7")
    q, v = robot.random_state(rng)
    return robot, q, 0.3 * v, robot.pose(q, "tool")[:3, 3] + [0.03, -0.04, 0.05]


def test_velocities_are_damped_least_squares_without_constraints(rng):
    robot, q, _, goal = start(rng)
    J, error = robot.jacobian(q, "tool")[:3], robot.pose(q, "tool")[:3, 3] - goal
    found = DaqpSolver().solve(velocity_program(J, error, 5.0, 0.1))
    x, *_ = scipy.linalg.lstsq(np.vstack([J, 0.1 * np.eye(7)]), np.concatenate([-5.0 * error, np.zeros(7)]))
    assert found.solved
    assert_allclose(found.x, x, rtol=0, atol=1e-10)


def test_the_error_falls_exponentially(rng):
    """Euler steps with λ → 0 multiply it by 1 − η dt each, up to the curvature of the robot's motion."""
    robot, q, _, goal = start(rng)
    eta, dt = 4.0, 1e-3
    first = robot.pose(q, "tool")[:3, 3] - goal
    for _ in range(250):
        program = velocity_program(robot.jacobian(q, "tool")[:3], robot.pose(q, "tool")[:3, 3] - goal, eta, 1e-5)
        q = robot.integrate(q, DaqpSolver().solve(program).x, dt)
    assert_allclose(
        robot.pose(q, "tool")[:3, 3] - goal, np.exp(-eta * 0.25) * first, rtol=0, atol=3e-3 * np.linalg.norm(first)
    )


def test_a_moving_goal_is_followed_with_its_velocity(rng):
    robot, q, _, _ = start(rng)
    J, moving = robot.jacobian(q, "tool")[:3], np.array([0.1, -0.2, 0.05])
    found = DaqpSolver().solve(velocity_program(J, np.zeros(3), 4.0, 1e-6, feedforward=moving))
    assert_allclose(J @ found.x, moving, rtol=0, atol=1e-9)


def test_constraints_come_before_the_task(rng):
    robot, q, _, goal = start(rng)
    J, error = robot.jacobian(q, "tool")[:3], robot.pose(q, "tool")[:3, 3] - goal
    free = DaqpSolver().solve(velocity_program(J, error, 5.0, 0.01)).x
    k = int(np.argmax(free))
    limit = Rows(np.eye(7)[[k]], [-np.inf], [0.5 * free[k]], ("slow",))
    program = velocity_program(J, error, 5.0, 0.01, limit)
    found = DaqpSolver().solve(program)
    assert found.x[k] == pytest.approx(0.5 * free[k], rel=1e-9)
    assert active_names(program, found) == ("slow",)


def test_accelerations_and_torques_give_the_error_its_dynamics(rng):
    """ẍ = −k_p x̃ − k_d ẋ, as an acceleration and through the torques of Eq. (3.7): the robot moves as it was told."""
    robot, q, v, goal = start(rng)

    def acceleration(t, q, v):
        motion = frame_motion(robot, q, v, "tool")
        wanted = error_acceleration(robot.pose(q, "tool")[:3, 3] - goal, motion.J @ v, K_P, K_D)
        a = DaqpSolver().solve(acceleration_program(motion, wanted, 1e-6)).x
        return robot.forward_dynamics(q, v, joint_torque(robot, q, v, a))

    e, e_dot = robot.pose(q, "tool")[:3, 3] - goal, robot.velocity(q, v, "tool")[:3]
    t, qs, _ = simulate(robot, q, v, acceleration, 4e-3, 75)
    assert_allclose(robot.pose(qs, "tool")[:, :3, 3] - goal, oscillator(e, e_dot, K_P, K_D, t), rtol=0, atol=1e-7)


def test_bounds_shrink_to_a_robot_that_stops():
    v = np.array([0.4, -0.7, 0.0])
    lower, upper = shrinking_bounds(v, np.array([0.3, 0.4]), 8.0)
    assert_allclose(lower, 8.0 * (-0.5 - v), rtol=1e-14)
    assert_allclose(upper, 8.0 * (0.5 - v), rtol=1e-14)
    assert (lower <= upper).all()
    lower, upper = shrinking_bounds(v, np.zeros(2), 8.0)
    assert_allclose(lower, -8.0 * v)
    assert_allclose(upper, -8.0 * v)
    lower, upper = shrinking_bounds(v, np.array([0.3, 0.4]), 8.0, size=lambda e: 3 * np.abs(e).max())
    assert_allclose(upper - lower, 2 * 8.0 * 1.2)


@pytest.mark.parametrize("law", ["no bounds", "shrinking bounds", "two levels"])
def test_what_the_task_does_not_see_comes_to_rest(law, rng):
    """[QO21, footnote of Sec. 3.1]: minimal accelerations alone let null motions go on for ever; both remedies stop
    them."""
    robot, q, v, goal = start(rng)
    v = v + 0.8 * scipy.linalg.null_space(robot.jacobian(q, "tool")[:3])[:, 0]
    dt = 2e-3
    for _ in range(750):
        motion = frame_motion(robot, q, v, "tool")
        wanted = error_acceleration(robot.pose(q, "tool")[:3, 3] - goal, motion.J @ v, K_P, K_D)
        bounds = shrinking_bounds(v, motion.J @ v, 10.0) if law == "shrinking bounds" else None
        a = DaqpSolver().solve(acceleration_program(motion, wanted, 1e-3, bounds=bounds)).x
        if law == "two levels":
            a = DaqpSolver().solve(resting_program(motion.J, a, v, 10.0)).x
        v = v + dt * a
        q = robot.integrate(q, v, dt)
    rest = np.linalg.norm(v)
    error = np.linalg.norm(robot.pose(q, "tool")[:3, 3] - goal)
    assert rest > 0.1 if law == "no bounds" else rest < 0.02
    # the bounds may stop the robot a little before its goal
    assert error < (1e-3 if law != "shrinking bounds" else 2e-2)


def test_the_second_level_does_not_disturb_the_first(rng):
    robot, q, v, goal = start(rng)
    motion = frame_motion(robot, q, v, "tool")
    limit = Rows(np.eye(7)[[1, 3]], [-0.5, -0.5], [0.5, 0.5], ("a", "b"))
    wanted = error_acceleration(robot.pose(q, "tool")[:3, 3] - goal, motion.J @ v, K_P, K_D)
    first = DaqpSolver().solve(acceleration_program(motion, wanted, 1e-3, limit))
    second = DaqpSolver().solve(resting_program(motion.J, first.x, v, 5.0, limit))
    assert second.solved
    assert_allclose(motion.J @ second.x, motion.J @ first.x, rtol=0, atol=1e-9)
    assert (np.abs(second.x[[1, 3]]) <= 0.5 + 1e-9).all()
    assert np.linalg.norm(second.x + 5 * v) < np.linalg.norm(first.x + 5 * v)
    repeated = resting_program(np.vstack([motion.J, motion.J[:1]]), first.x, v, 5.0, limit)
    assert_allclose(DaqpSolver().solve(repeated).x, second.x, rtol=0, atol=1e-8)


def test_bounds_and_constraints_may_conflict_where_levels_do_not(rng):
    """Shrunk bounds leave −k v only; a constraint that forbids it makes (3.3) infeasible, and (3.5)–(3.6) not."""
    robot, q, v, _ = start(rng)
    motion = frame_motion(robot, q, v, "tool")
    must = Rows(np.eye(7)[[0]], [-10.0 * v[0] + 1.0], [np.inf], ("must",))
    bounds = shrinking_bounds(v, np.zeros(3), 10.0)
    assert not DaqpSolver().solve(acceleration_program(motion, np.zeros(3), 1e-3, must, bounds=bounds)).solved
    first = DaqpSolver().solve(acceleration_program(motion, np.zeros(3), 1e-3, must))
    assert first.solved and DaqpSolver().solve(resting_program(motion.J, first.x, v, 10.0, must)).solved


def test_bad_arguments_are_refused(rng):
    robot, q, *_ = start(rng)
    J = robot.jacobian(q, "tool")[:3]
    with pytest.raises(eq.ShapeError, match="gain is a positive finite number, got -1"):
        velocity_program(J, np.zeros(3), -1, 0.1)
    with pytest.raises(eq.ShapeError, match="damping is zero or more, got -0.1"):
        velocity_program(J, np.zeros(3), 1.0, -0.1)
    with pytest.raises(eq.ShapeError, match="3 rows wants as many targets"):
        velocity_program(J, np.zeros(2), 1.0, 0.1)
    quadruped = load("quadruped")
    with pytest.raises(eq.ShapeError, match="base of 'quadruped' has no motor"):
        joint_torque(quadruped, *quadruped.random_state(rng), np.zeros(18))
