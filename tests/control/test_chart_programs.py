"""The whole-body program in charts [BK12, Eqs. (36)–(38)]: bounds that are not symmetric, and problems without solution."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from support import load

import equipoise as eq
from equipoise.control.closed_form.chart_programs import FORMS, WholeBodyProblem, chart_program
from equipoise.control.closed_form.motions import com_motion

pytestmark = pytest.mark.paper("B5")


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
