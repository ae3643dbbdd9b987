"""The way of a foot: smooth whatever becomes of its goal, and down with its landing speed."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_allclose

from equipoise.walking.swing import Swing, quintic

DT = 1e-3


def flown(goals, ends, start=(0.0, 0.1, 0.0, 0.0), clearance=0.06, landing=0.1):
    """States of a swing whose goal and end are functions of time, at every millisecond."""
    swing = Swing(np.array(start), 0.0, ends(0.0), clearance, landing)
    states, t = [swing.state.copy()], 0.0
    while t < ends(t) - 1e-9:
        t += DT
        states.append(swing.advance(t, goals(t), ends(t)).copy())
    return np.array(states)


def test_a_quintic_meets_both_of_its_ends():
    x, v, a = quintic(0.1, 0.2, -0.3, 0.5, -0.1, 0.7, 0.0)
    assert_allclose([x, v, a], [0.1, 0.2, -0.3], atol=1e-12)
    assert_allclose(quintic(0.1, 0.2, -0.3, 0.5, -0.1, 0.7, 0.7), [0.5, -0.1, 0.0], atol=1e-12)


def test_a_swing_ends_at_its_goal_with_the_landing_speed():
    goal = np.array([0.3, 0.15, 0.0, 0.2])
    states = flown(lambda t: goal, lambda t: 0.4)
    assert_allclose(states[-1, 0], goal, atol=2e-4)  # the last millisecond goes on with the landing speed
    assert_allclose(states[-1, 1, 2], -0.1, atol=2 * 8.0 * DT)  # the last two steps may already sink, by 8 m/s²
    assert states[:, 0, 2].max() > 0.95 * 0.06
    assert states[:, 0, 2].max() < 1.1 * 0.06


def test_rates_are_derivatives_and_nothing_jumps_when_goal_and_time_change():
    """The goal moves by 10 cm and the end by 60 ms in the middle: places and rates stay continuous."""
    states = flown(lambda t: np.array([0.3 if t < 0.2 else 0.4, 0.1, 0.0, 0.0]), lambda t: 0.4 if t < 0.15 else 0.34)
    places, rates = states[:, 0], states[:, 1]
    assert_allclose((places[1:] - places[:-1]) / DT, (rates[1:] + rates[:-1]) / 2, atol=2e-2)
    assert np.abs(np.diff(rates, axis=0)).max() < 80.0 * DT  # m/s²; a jump of the rate would be one of 1000


def test_a_late_foot_goes_on_down_faster_and_faster():
    """5 cm below where the ground should be after 0.1 s: 0.1 t + 8 t² / 2; at its landing speed it would take 0.5 s."""
    swing = Swing(np.zeros(4), 0.0, 0.3, 0.05, 0.1)
    goal = np.array([0.1, 0.0, 0.0, 0.0])
    heights = [float(swing.advance(1e-3 * k, goal, 0.3)[0, 2]) for k in range(1, 500)]
    assert -0.06 < heights[int(0.3 / DT) + 100] < -0.04
    assert_allclose(np.diff(heights[-100:], n=2) / DT**2, -swing.sinking, atol=1e-6)


def test_the_ground_may_be_higher_than_the_start():
    states = flown(lambda t: np.array([0.2, 0.0, 0.1, 0.0]), lambda t: 0.4)
    assert_allclose(states[-1, 0, 2], 0.1, atol=5e-3)
    assert states[:, 0, 2].max() > 0.1 + 0.9 * 0.06


def test_time_that_goes_back_changes_nothing():
    swing, goal = Swing(np.zeros(4), 0.0, 0.4, 0.05, 0.1), np.array([0.3, 0.1, 0.0, 0.2])
    state = swing.advance(0.2, goal, 0.4).copy()
    assert_allclose(swing.advance(0.1, goal, 0.4), state, atol=0)
    assert swing.now == 0.2


def test_a_foot_that_is_nearly_down_keeps_its_goal():
    swing, goal = Swing(np.zeros(4), 0.0, 0.4, 0.05, 0.1), np.array([0.3, 0.1, 0.0, 0.2])
    for t in np.arange(0.01, 0.385, 0.01):
        swing.advance(t, goal, 0.4)
    swing.advance(0.39, goal + 0.1, 0.45 - 0.06)
    assert_allclose(swing.goal, goal, atol=0)
    assert_allclose(swing.state[0, :2], goal[:2], atol=2e-3)
