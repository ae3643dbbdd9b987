"""The whole-body program in charts [BK12, Eqs. (36)–(38)]: bounds, soles, problems without solution; and in the
controller."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import null_space
from support import load

import equipoise as eq
from equipoise.control.closed_form.chart_programs import FORMS, WholeBodyProblem, chart_program
from equipoise.control.closed_form.motions import com_motion

pytestmark = pytest.mark.paper("B5")
SOLE = ((0.12, 0.04), (0.12, -0.04), (-0.08, -0.04), (-0.08, 0.04))
CENTRE = (0.02, 0.0, -0.05)


@pytest.fixture
def problem():
    robot = load("quadruped")
    q, v = robot.standing(), np.zeros(robot.nv)
    contacts = [eq.PointContact(foot, friction=0.6) for foot in robot.frames if foot.endswith("_foot")]
    return WholeBodyProblem(robot, q, v, [(com_motion(robot, q, v), np.array([0.5, 0.2, 1.0]), 1.0)], contacts, 50.0)


@pytest.mark.parametrize("form", FORMS)
def test_torque_bounds_need_not_be_symmetric(problem, form):
    free = chart_program(problem, form).solve()
    most, least = free["u"].max(), free["u"].min()
    bounded = replace(problem, torque_limits=0.9 * most, torque_lower=0.8 * least)
    answer = chart_program(bounded, form).solve()
    assert answer.status.name == "OPTIMAL"
    assert answer["u"].max() == pytest.approx(0.9 * most, rel=1e-6)
    assert answer["u"].min() == pytest.approx(0.8 * least, rel=1e-6)


@pytest.mark.parametrize("form", FORMS)
def test_a_problem_without_solution_is_answered_by_its_status(problem, form):
    answer = chart_program(replace(problem, torque_limits=0.05), form).solve()
    assert answer.status.name == "INFEASIBLE"
    assert_allclose(answer["u"], np.nan)


@pytest.fixture(scope="module")
def swaying():
    """A quadruped that sways on its feet, and the items of its controllers."""
    robot, rng = load("quadruped"), np.random.default_rng(5)
    q = robot.standing()
    contacts = [eq.PointContact(foot, friction=0.6) for foot in robot.frames if foot.endswith("_foot")]
    rows = np.concatenate([robot.jacobian(q, contact.frame)[:3] for contact in contacts])
    v = null_space(rows) @ rng.normal(size=robot.nv - len(rows)) * 0.1
    tasks = [eq.CoMTask(robot.com(q) + np.array([0.02, 0.0, -0.03]), weight=10.0), eq.PostureTask(weight=0.03)]
    return robot, q, v, (tasks, contacts, [eq.TorqueLimits(), eq.JointLimits()])


def test_a_chart_of_a_users_own_serves_the_controller(swaying):
    """Nine numbers with nine constraints, three of which repeat others, in plain NumPy: the same answer as without a
    chart."""
    robot, q, v, items = swaying
    chart = eq.charts.Chart(lambda R: R.reshape(3, 3), 9, lambda R: R.reshape(3, 3).T @ R.reshape(3, 3) - np.eye(3))
    plain = eq.WholeBodyController(robot, *items)(0.0, q, v)
    controller = eq.WholeBodyController(robot, *items, chart=chart)
    answer = controller(0.0, q, v)
    assert answer.status.name == plain.status.name == "OPTIMAL"
    # weights of 1e-12 on torques are all that differs
    assert_allclose(answer.acceleration, plain.acceleration, atol=1e-6)
    assert_allclose(answer.torque, plain.torque, atol=1e-3)
    tau = robot.inverse_dynamics(q, v, answer.acceleration, wrenches=answer.forces)
    assert_allclose(tau, answer.torque, atol=1e-7)
    assert controller(0.0, q, np.full(robot.nv, np.nan)).status.name == "NOT_FINITE"


def test_contacts_come_and_go_in_a_chart(swaying):
    robot, q, v, (tasks, contacts, limits) = swaying
    controller = eq.WholeBodyController(robot, tasks, contacts, limits, chart=eq.charts.UnitQuaternion)
    controller(0.0, q, v)
    three = [contact.label for contact in contacts[:3]]
    controller.set_contacts(three)
    one = controller(0.001, q, v)
    assert set(one.forces) == set(three) and one.status.ok
    assert_allclose(robot.inverse_dynamics(q, v, one.acceleration, wrenches=one.forces), one.torque, atol=1e-7)
    assert "equations of motion" not in one.relaxed


def test_the_charts_own_accelerations_stay_on_it(swaying):
    """Of a unit quaternion θ with |θ̇| = |ω| / 2: θᵀθ̈ = −|θ̇|², which no joint feels and only θ̈ itself tells."""
    robot, q, v, items = swaying
    answer = eq.WholeBodyController(robot, *items, chart=eq.charts.UnitQuaternion)(0.0, q, v)
    assert np.abs(v[3:6]).max() > 0.01
    assert_allclose(q[3:7] @ answer.x[3:7], -v[3:6] @ v[3:6] / 4, rtol=1e-6)


def test_where_a_chart_is_singular_there_is_a_fallback(swaying):
    robot, q, v, items = swaying
    controller = eq.WholeBodyController(robot, *items, chart=eq.charts.RollPitchYaw)
    assert controller(0.0, q, v).status.ok
    upright = q.copy()
    upright[3:7] = np.sqrt(0.5), 0.0, np.sqrt(0.5), 0.0  # pitched by 90°
    answer = controller(0.001, upright, v)
    assert np.isfinite(answer.torque).all()
    assert answer.status.fallback or answer.residuals.worst < 1e-6


def test_a_chart_needs_torques_and_a_base_that_floats():
    with pytest.raises(ValueError, match="base of a floating robot"):
        eq.WholeBodyController(load("arm7"), [eq.PostureTask()], chart=eq.charts.UnitQuaternion)
    with pytest.raises(ValueError, match="level='velocity'"):
        eq.WholeBodyController(load("quadruped"), [eq.PostureTask()], level="velocity", chart=eq.charts.UnitQuaternion)


@pytest.mark.parametrize("form", FORMS)
def test_soles_may_be_flat_contacts(form):
    """On both soles: six forces each, which make the motion; the soles do not accelerate."""
    robot, rng = load("human"), np.random.default_rng(5)
    q = robot.standing()
    contacts = [eq.FlatContact(foot, corners=SOLE, centre=CENTRE, friction=0.6) for foot in ("left_foot", "right_foot")]
    rows = np.concatenate([robot.jacobian(q, contact.frame) for contact in contacts])
    v = null_space(rows) @ rng.normal(size=robot.nv - len(rows)) * 0.1
    wanted = np.array([0.3, 0.1, 0.5])
    made = WholeBodyProblem(robot, q, v, [(com_motion(robot, q, v), wanted, 1.0)], contacts, 300.0)
    answer = chart_program(made, form).solve()
    assert answer.status.name == "OPTIMAL"
    X = [robot.pose(q, contact.frame) for contact in contacts]
    wrenches = {
        c.frame: c.wrench_map(Y) @ answer["f"][6 * k : 6 * k + 6]
        for k, (c, Y) in enumerate(zip(contacts, X, strict=True))
    }
    tau = robot.inverse_dynamics(q, v, answer["a"], wrenches=wrenches)
    assert_allclose(tau, np.concatenate([np.zeros(6), answer["u"]]), atol=1e-6)
    h = 1e-4
    for contact in contacts:  # a point of the sole does not accelerate, by differences along the motion
        s = np.append(np.asarray(contact.centre, dtype=float), 1.0)
        way = [
            (robot.pose(robot.integrate(q, v * t + answer["a"] * t * t / 2, 1.0), contact.frame) @ s)[:3]
            for t in (-h, 0, h)
        ]
        assert_allclose((way[0] - 2 * way[1] + way[2]) / h**2, 0.0, atol=1e-5)
