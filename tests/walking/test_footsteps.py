"""Steps through way points: where their midpoints lie, which foot begins, and how they end."""

from __future__ import annotations

import numpy as np
import pytest
import records
from numpy.testing import assert_allclose

from equipoise.walking.footsteps import Footstep, before_high, beside, climbs, through
from equipoise.walking.gait import Gait, Place
from equipoise.walking.reach import Reach

WIDTH = 0.2
SQUARE = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
ROUTES = {
    "ahead": [(1.0, 0.0, 0.0)],
    "back": [(-0.7, 0.0, 0.0)],
    "to the left": [(0.0, 0.5, 0.0)],
    "to the right": [(0.0, -0.3, 0.0)],
    "turning left": [(0.0, 0.0, 1.2)],
    "turning right": [(0.0, 0.0, -2.0)],
    "over the back": [(0.0, 0.0, 3.0), (0.0, 0.0, -3.0)],
    "all at once": [(0.9, -0.4, 0.8), (1.1, 0.7, -0.5), (1.1, 0.7, -0.5)],
    "nowhere": [],
}


def gait() -> Gait:
    reach = Reach(SQUARE, np.array([0.4, 0.4, 0.5, -0.1]), 0.4, 0.4, 0.1, 0.5)
    return Gait(3.5, 0.8, WIDTH, 0.5, 0.25, 0.9, 0.06, 0.02, 0.05, 0.1, np.full(2, 40.0), reach)


def middles(steps: list[Footstep]) -> np.ndarray:
    """(x, y, yaw) between the feet, as each step places it."""
    found = [step.place.at(0.0, (-0.5 if step.foot == 0 else 0.5) * WIDTH, 0.0) for step in steps]
    return np.array([(*place.xy, place.yaw) for place in found])


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("start", [Place(0.0, 0.0, 0.0), Place(-0.3, 0.2, 2.5)])
def test_steps_go_straight_and_turn_evenly_from_one_way_point_to_the_next(route, start):
    points, limits = ROUTES[route], gait().reach
    steps = through(start, points, gait())
    assert [step.foot for step in steps] == [(steps[0].foot + k) % 2 for k in range(len(steps))]
    if not points:
        assert steps == []
        return
    at, done, here = middles(steps), 0, np.array([*start.xy, start.yaw])
    assert_allclose(at[-1], at[-2], atol=1e-12)  # in the end the other foot comes beside
    for x, y, yaw in points:
        turn = np.angle(np.exp(1j * (yaw - here[2])))
        goal = np.array([x, y, here[2] + turn])
        (count,) = [k for k in range(1, len(at) - done) if np.allclose(at[done + k - 1], goal, atol=1e-9)][:1]
        assert_allclose(
            at[done : done + count], here + np.outer(np.arange(1, count + 1) / count, goal - here), atol=1e-9
        )
        stride = (goal - here) / count
        assert np.hypot(*stride[:2]) < max(limits.ahead, limits.widest) and abs(stride[2]) < 0.5
        here, done = goal, done + count
    assert done == len(steps) - 1


@pytest.mark.parametrize(
    ("route", "foot"), [("to the left", 0), ("to the right", 1), ("turning right", 1), ("ahead", 0)]
)
def test_the_foot_on_the_side_of_the_way_begins(route, foot):
    for yaw in (0.0, 2.0):
        c, s = np.cos(yaw), np.sin(yaw)
        turned = [(c * x - s * y, s * x + c * y, yaw + angle) for x, y, angle in ROUTES[route]]
        assert through(Place(0.0, 0.0, yaw), turned, gait())[0].foot == foot


def test_feet_stand_beside_the_midpoint():
    left, right = (beside(Place(1.0, 2.0, np.pi / 2), foot, 0.3) for foot in (0, 1))
    assert_allclose([left.xy, right.xy], [[0.85, 2.0], [1.15, 2.0]], atol=1e-12)
    assert left.yaw == right.yaw == np.pi / 2


def test_a_step_climbs_from_the_foot_that_is_farthest_from_its_height():
    up, level = Footstep(0, Place(0.0, 0.0, 0.0), 0.1), Footstep(0, Place(0.0, 0.0, 0.0))
    assert climbs(up, [0.1, 0.0], 0.05) and climbs(up, [0.1, 0.2], 0.05) and not climbs(up, [0.1, 0.0], 0.1)
    assert not climbs(level, [5.0], 0.0)


def test_steps_before_a_high_one_are_counted_from_the_ground_they_reach():
    rows = [Footstep(k % 2, Place(0.1 * k, 0.0, 0.0), h) for k, h in enumerate([0.02, None, 0.05, 0.2, 0.2])]
    assert before_high(rows, 0.0, 0.04) == rows[:3]
    assert before_high(rows, -0.03, 0.04) == []
    assert before_high(rows, 0.0, 1.0) == rows


def test_recorded_steps_through_way_points():
    found = {name: middles(through(Place(0.0, 0.0, 0.0), points, gait())) for name, points in ROUTES.items()}
    records.check("walking_way_points", {name: np.round(at, 9).tolist() for name, at in found.items()})
