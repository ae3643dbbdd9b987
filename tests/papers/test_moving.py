"""Numbers that move, and commands held against their statements: both against differences and a solver of SciPy."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import lsq_linear, minimize

from equipoise import load
from equipoise.geometry.primitives import Capsule
from equipoise.papers import moving, qo21_contacts, qo21_control
from equipoise.papers.commanded import Asked, Kept, Statement, barrier, unbalanced
from equipoise.papers.reference import ReferenceState, path, rate, second_rate

MADE = {
    "distance": lambda now: (
        moving.point(now, "left_hand") - moving.point(now, "right_foot", (0.1, 0.0, 0.2))
    ).length(),
    "angle": lambda now: moving.direction(now, "left_hand", (0.6, 0, 0.8)).dot(
        moving.direction(now, "head", (0, 1, 0))
    ),
    "mass": moving.com,
    "cosines": lambda now: (lambda x: x.mapped(np.cos, -np.sin(x.x), -np.cos(x.x)))(moving.joints(now, slice(6, 9))),
    "rotated": lambda now: 0.5 * moving.point(now, "head").rotated(np.arange(6.0).reshape(2, 3))[1:],
    "stacked": lambda now: moving.stacked(moving.com(now)[:2], moving.point(now, "right_hand") - moving.com(now)),
}


@pytest.mark.parametrize("name", MADE)
def test_derivatives_are_those_along_a_motion(name):
    robot, rng = load("human"), np.random.default_rng(3)
    q, v = robot.random_state(rng)
    a = rng.normal(size=robot.nv)
    at, x = path(robot, q, v, a), MADE[name](ReferenceState(robot, q, v))

    def along(t):
        return MADE[name](ReferenceState(robot, at(t))).x

    assert_allclose(x.rate, rate(along), atol=1e-8)
    assert_allclose(x.J @ v, x.rate, atol=1e-10)
    assert_allclose(x.under(a, True), second_rate(along), atol=1e-5)
    assert_allclose(x.under(a, False), x.J @ a + x.rate)


@pytest.mark.parametrize("seed", range(20))
def test_the_gap_of_two_segments_is_the_least_of_all_their_points(seed):
    a, b = np.random.default_rng(seed).normal(size=(2, 2, 3))
    best = lsq_linear(np.column_stack([a[1] - a[0], b[0] - b[1]]), b[0] - a[0], bounds=(0, 1), tol=1e-14)
    size, s, t = moving.gap(a, b)
    assert_allclose(size, np.sqrt(2 * best.cost), atol=1e-9)
    assert_allclose(np.linalg.norm(a[0] + s * (a[1] - a[0]) - b[0] - t * (b[1] - b[0])), size)


def test_the_distance_of_capsules_moves_as_differences_say():
    robot = load("human")
    q, v = robot.random_state(np.random.default_rng(5))
    arm, leg = (
        Capsule((0, 0, 0), (0, 0, -0.25), 0.04, "left_forearm"),
        Capsule((0, 0, 0), (0, 0, -0.4), 0.06, "right_shank"),
    )
    at, now = path(robot, q, v), moving.between(ReferenceState(robot, q, v), arm, leg)
    assert_allclose(now.x, moving.gap_of(ReferenceState(robot, q), arm, leg))
    assert_allclose(now.rate, rate(lambda t: moving.gap_of(ReferenceState(robot, at(t)), arm, leg), 1e-4), atol=1e-7)
    assert not np.isfinite(now.drift)


def _problem(seed):
    """A task of two numbers and three constraints on four unknowns, some of them active."""
    rng = np.random.default_rng(seed)
    J, G = rng.normal(size=(2, 4)), rng.normal(size=(3, 4))
    wanted, least = rng.normal(size=2), rng.normal(size=3)
    zero = np.zeros
    asked = Asked(moving.Moving(zero(2), J, zero(2), zero(2)), wanted, 2.0)
    kept = Kept(moving.Moving(zero(3), G, zero(3), zero(3)), least)
    cost = lambda x: np.sum((J @ x - wanted) ** 2) + 0.05 * x @ x  # noqa: E731
    found = minimize(
        cost, np.zeros(4), method="SLSQP", constraints={"type": "ineq", "fun": lambda x: G @ x - least},
        options={"ftol": 1e-16, "maxiter": 500},
    )  # fmt: skip
    return asked, kept, found.x


@pytest.mark.parametrize("seed", range(8))
def test_an_optimum_of_scipy_is_as_stated_and_others_are_not(seed):
    asked, kept, x = _problem(seed)
    right = Statement(near=1e-5)
    right.look(x, False, [asked], [kept], motion_weight=0.1)
    assert right.beyond < 1e-6
    assert right.left < 1e-5
    wrong = Statement(near=1e-5)
    wrong.look(x, False, [asked._replace(wanted=1.05 * asked.wanted)], [kept], motion_weight=0.1)
    wrong.look(x, False, [asked], [kept._replace(least=kept.least + 0.05)], motion_weight=0.1)
    assert max(wrong.left, wrong.beyond) > 1e-3


def test_what_is_no_number_is_not_good():
    asked, kept, x = _problem(0)
    stated = Statement()
    stated.look(x, False, [asked], [kept._replace(least=np.full(3, np.nan))])
    stated.look(x, False, [asked], [])
    (figure,) = stated.figures("a command", active=None)
    assert not figure.good


def test_rows_push_one_way_only():
    row = np.array([[1.0, 2.0, 0.0]])
    assert unbalanced(3 * row[0], row) < 1e-12
    assert_allclose(unbalanced(-3 * row[0], row), 3 * np.sqrt(5))
    assert_allclose(unbalanced(row[0], row[:0]), np.sqrt(5))


def test_a_barrier_asks_for_what_its_continuous_law_does_when_steps_vanish():
    d = moving.Moving(np.array([0.2]), np.eye(1), np.array([-0.3]), np.zeros(1))
    assert_allclose(barrier(d, 2.0, 7.0, 0.0, True).least, -9.0 * -0.3 - 14.0 * 0.2)
    assert_allclose(barrier(d, 2.0, 7.0, 0.0, False).least, -2.0 * 0.2)


@pytest.mark.paper("Q4")
def test_an_active_barrier_asks_for_its_law_at_every_level():
    """Sampling margins, drift of robot and obstacle, and safe distances that move, all of them not zero."""
    assert [figure for figure in qo21_control.barrier_figures() if not figure.good] == []


@pytest.mark.paper("Q8")
def test_each_task_of_the_strategy_does_what_its_law_says():
    assert [figure for figure in qo21_contacts.tasks_of_the_strategy() if not figure.good] == []
