"""Prioritised least squares over accelerations, forces and torques: laws of priority, then SciPy and quadratic
programs."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
from closed_loop import oscillator, simulate
from numpy.testing import assert_allclose
from support import load

import equipoise as eq
from equipoise.balance import contact_jacobian, support_dynamics
from equipoise.control.closed_form.hierarchy import WholeBody, prioritised_least_squares, stacked
from equipoise.control.closed_form.motions import com_motion, frame_motion
from equipoise.control.qp import ActiveSetSolver, DaqpSolver, QuadraticProgram, Rows

pytestmark = pytest.mark.paper("H6")
FEET = ("front_left_foot", "front_right_foot", "hind_left_foot", "hind_right_foot")


def random_levels(rng: np.random.Generator, n: int = 9) -> list[Rows]:
    """Four levels; the second repeats and contradicts the first, the third is rank deficient."""
    A_1, A_3 = rng.normal(size=(3, n)), rng.normal(size=(3, 1)) @ rng.normal(size=(1, n))
    A_2 = np.vstack([A_1[:1] + A_1[1:2], rng.normal(size=(2, n))])
    return [Rows.equal(A, rng.normal(size=len(A))) for A in (A_1, A_2, A_3, rng.normal(size=(2, n)))]


def standing(rng: np.random.Generator, feet=FEET, v_scale: float = 0.3):
    """A quadruped whose feet stand while its trunk moves."""
    robot = load("quadruped")
    q = robot.standing()
    J = contact_jacobian(robot, q, feet)
    v = v_scale * scipy.linalg.null_space(J) @ rng.normal(size=robot.nv - np.linalg.matrix_rank(J))
    return robot, q, v, support_dynamics(robot, q, v, feet)


# --- the recursion ----------------------------------------------------------------------------------------------------


def test_one_level_is_the_shortest_least_squares_solution(rng):
    level = random_levels(rng)[2]
    x, *_ = scipy.linalg.lstsq(level.A, level.lower)
    assert_allclose(prioritised_least_squares([level]), x, rtol=0, atol=1e-12)


def test_no_level_disturbs_one_above(rng):
    levels = random_levels(rng)
    whole = prioritised_least_squares(levels)
    for k in range(1, len(levels)):
        above = prioritised_least_squares(levels[:k])
        for level in levels[:k]:
            assert_allclose(level.A @ whole, level.A @ above, rtol=0, atol=1e-12)
    assert np.linalg.norm(levels[1].distance(whole)) > 0.1  # it does contradict the first


def test_damping_of_a_level_does_not_reach_those_above(rng):
    levels = random_levels(rng)
    above = prioritised_least_squares(levels[:1], damping=0.5)
    whole = prioritised_least_squares(levels, damping=0.5)
    assert_allclose(levels[0].A @ whole, levels[0].A @ above, rtol=0, atol=1e-12)
    assert np.linalg.norm(levels[0].distance(whole)) > 0.01  # damped


def by_programs(solver, levels):
    """The levels of a quadratic program whose cost is the length of x."""
    n = levels[0].A.shape[1]
    return solver.solve(QuadraticProgram(np.eye(n), np.zeros(n), levels=tuple(levels)))


@pytest.mark.parametrize("solver", [ActiveSetSolver, DaqpSolver])
@pytest.mark.parametrize("seed", range(5))
def test_quadratic_programs_give_the_same(solver, seed):
    levels = random_levels(np.random.default_rng(seed))
    answer = by_programs(solver(), levels)
    assert answer.solved
    assert_allclose(prioritised_least_squares(levels), answer.x, rtol=0, atol=1e-9)


def test_what_cannot_be_a_level_is_refused(rng):
    A = rng.normal(size=(2, 4))
    with pytest.raises(eq.ShapeError, match="at least one level"):
        prioritised_least_squares([])
    with pytest.raises(eq.ShapeError, match="level 2 has inequalities.*QuadraticProgram"):
        prioritised_least_squares([Rows.equal(A, [0, 0]), Rows(A, [0, 0], [0, 1])])
    with pytest.raises(eq.ShapeError, match="level 2 has 3 unknowns, wanted 4"):
        prioritised_least_squares([Rows.equal(A, [0, 0]), Rows.equal(A[:, :3], [0, 0])])
    with pytest.raises(eq.StateError, match="level 1 holds NaN"):
        prioritised_least_squares([Rows.equal(A, [0, np.nan])])


# --- a quadruped on its feet ------------------------------------------------------------------------------------------


def behaviour(robot, q, v, support, rng):
    """(whole body, levels): equation of motion and contacts, centre of mass, the trunk, forces of a foot, torques."""
    body = WholeBody(support)
    levels = [
        [body.equation_of_motion(), body.contacts()],
        body.motion(com_motion(robot, q, v), rng.normal(size=3)),
        body.motion(frame_motion(robot, q, v, "trunk", turning=True), rng.normal(size=6)),
        body.force([15.0, 80.0], which=[0, 2]),
        body.torque(),
    ]
    return body, levels


def test_a_solution_moves_the_robot_as_it_says(rng):
    robot, q, v, support = standing(rng)
    body, levels = behaviour(robot, q, v, support, rng)
    found = body.solve(levels)
    assert_allclose(support.acceleration(found.torque), found.acceleration, rtol=0, atol=1e-9)
    wrench = found.torque @ support.S + support.jacobian.T @ found.force
    assert_allclose(robot.inverse_dynamics(q, v, found.acceleration), wrench, rtol=0, atol=1e-9)
    for k in (0, 1, 3):  # four feet hold six motions of the base: the centre of mass and the forces get what they want
        assert_allclose(found.residuals[k], 0, rtol=0, atol=1e-9)
    assert_allclose(found.force[[0, 2]], [15, 80], rtol=0, atol=1e-9)
    # the origin of the trunk cannot go elsewhere than the centre of mass
    assert np.abs(found.residuals[2]).max() > 0.01


@pytest.mark.parametrize("solver", [ActiveSetSolver, DaqpSolver])
def test_a_robot_gets_the_same_from_quadratic_programs(solver, rng):
    robot, q, v, support = standing(rng)
    body, levels = behaviour(robot, q, v, support, rng)
    found = body.solve(levels)
    x = np.concatenate([found.acceleration, found.force, found.torque])
    answer = by_programs(solver(), [level if isinstance(level, Rows) else stacked(level) for level in levels])
    assert_allclose(x, answer.x, rtol=0, atol=1e-6 * np.abs(x).max())


def test_the_order_of_levels_matters(rng):
    robot, q, v, support = standing(rng)
    body, levels = behaviour(robot, q, v, support, rng)
    turned = body.solve([levels[0], levels[2], levels[1], *levels[3:]])
    assert_allclose(turned.residuals[1], 0, rtol=0, atol=1e-9)
    assert np.abs(turned.residuals[2]).max() > 0.01


def test_torques_are_the_least_where_nothing_else_is_asked(rng):
    """Without forces asked for, the last level decides internal forces: no other torques with that motion are
    smaller."""
    robot, q, v, support = standing(rng)
    body = WholeBody(support)
    motion = frame_motion(robot, q, v, "trunk", turning=True)
    top = [body.equation_of_motion(), body.contacts()]
    found = body.solve([top, body.motion(motion, rng.normal(size=6)), body.torque()])
    assert_allclose(support.inverse_dynamics(found.acceleration).torque, found.torque, rtol=0, atol=1e-8)


def test_any_number_of_levels(rng):
    """Every row a level of its own: the joints fall in line one after the other."""
    robot, q, v, support = standing(rng)
    body, target = WholeBody(support), rng.normal(size=robot.nv)
    posture = body.posture(target)
    single = [posture.where(np.arange(robot.nv) == k) for k in range(robot.nv)]
    found = body.solve([[body.equation_of_motion(), body.contacts()], *single])
    met = [k for k in range(robot.nv) if abs(found.acceleration[k] - target[k]) < 1e-9]
    assert len(met) == 6  # as many as the feet leave
    assert met[0] == 0  # the first has the first say
    residual = (
        robot.inverse_dynamics(q, v, found.acceleration) - found.torque @ support.S - support.jacobian.T @ found.force
    )
    assert_allclose(residual, 0, rtol=0, atol=1e-9)


def test_the_centre_of_mass_follows_the_law_it_is_given(rng):
    """A quarter of a second on four feet; the trunk turns as it likes below."""
    robot, q, v, _ = standing(rng)
    goal, k_p, k_v = robot.com(q) + np.array([0.02, -0.01, 0.015]), 64.0, 20.0

    def acceleration(t, q, v):
        support = support_dynamics(robot, q, v, FEET, consistency=1e-4)  # what integration lets the feet drift
        body, com = WholeBody(support), com_motion(robot, q, v)
        wanted = -k_p * (robot.com(q) - goal) - k_v * com.J @ v
        levels = [
            [body.equation_of_motion(), body.contacts()],
            body.motion(com, wanted),
            body.posture(-5 * v),
            body.torque(),
        ]
        return support.acceleration(body.solve(levels).torque)

    e, e_dot = robot.com(q) - goal, robot.com_jacobian(q) @ v
    t, states, _ = simulate(robot, q, v, acceleration, 5e-3, 50)
    errors = np.array([robot.com(q) - goal for q in states])
    assert_allclose(errors, oscillator(e, e_dot, k_p, k_v, t), rtol=0, atol=1e-7)
    feet = np.array([robot.pose(q, FEET[0])[:3, 3] for q in states])
    assert np.abs(feet - feet[0]).max() < 1e-6


def test_rows_that_do_not_fit_are_refused(rng):
    _, _, _, support = standing(rng)
    body = WholeBody(support)
    with pytest.raises(eq.ShapeError, match="force: wanted 2 targets"):
        body.force([1.0], which=[0, 1])
    with pytest.raises(eq.ShapeError, match="one state"):
        robot = load("quadruped")
        q, v = robot.standing()[None], np.zeros((1, robot.nv))
        WholeBody(support_dynamics(robot, q, v, FEET))
