"""Limits of joints that are viable together: exact, never contradictory, and kept between samples."""

from __future__ import annotations

import casadi
import numpy as np
import pytest
import support
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from equipoise.control.safety import piecewise
from equipoise.control.safety.limits import (
    JointBounds,
    LimitError,
    acceleration_bounds,
    acceleration_interval,
    braking_capability,
    require_compatible,
    velocity_bounds,
    viable,
)

pytestmark = pytest.mark.paper("Q4")
Array = np.ndarray
STEPS = (1e-3, 2e-3, 5e-3, 1e-2)


@st.composite
def situations(draw):
    """Limits that a step admits, and a viable state, often on an edge."""
    dt = draw(st.sampled_from(STEPS))
    A = draw(st.floats(0.5, 200.0))
    V = draw(st.floats(1.0, 20.0)) * A * dt
    R = draw(st.one_of(st.floats(1.0, 5.0), st.floats(1.0, 1e4))) * A * dt**2
    q = R * draw(st.one_of(st.floats(0, 1), st.floats(0, 1e-3), st.floats(0.999, 1)))
    most, least = min(V, np.sqrt(2 * A * (R - q))), -min(V, np.sqrt(2 * A * q))
    part = draw(st.one_of(st.just(0.0), st.just(1.0), st.floats(0, 1)))
    return dt, A, V, R, q, least + part * (most - least)


def extremes(q: float, v: float, a: float, dt: float) -> tuple[float, float]:
    """Least and largest position within a step."""
    times = [0.0, dt] + ([-v / a] if a != 0 and 0 < -v / a < dt else [])
    places = [q + v * s + a * s * s / 2 for s in times]
    return min(places), max(places)


@settings(max_examples=500, deadline=None)
@given(situations(), st.floats(0, 1))
def test_viable_states_stay_viable_within_the_step_and_after(situation, part):
    dt, A, V, R, q, v = situation
    require_compatible(0.0, R, V, A, dt)
    bounds = acceleration_bounds(q, v, 0.0, R, V, A, dt)
    low, high = bounds.lower[0], bounds.upper[0]
    assert -A <= low <= high + 1e-9 * A and high <= A and bounds.viable[0]
    for a in (low, high, low + part * (high - low)):
        least, most = extremes(q, v, a, dt)
        assert least >= -2e-12 * (1 + R) and most <= R + 2e-12 * (1 + R)  # HAIR and rounding
        # rounding of room, 1e-16 R, is a velocity of √(2 A 1e-16 R)
        assert viable(q + v * dt + a * dt**2 / 2, v + a * dt, 0.0, R, V, A, 1e-9 + np.sqrt(2e-15 * A * (1 + R)))


@settings(max_examples=300, deadline=None)
@given(situations())
def test_a_little_more_cannot_be_taken_back(situation):
    """Above the upper bound, and below A, a limit is passed whatever comes after: braking by A is the best there is."""
    dt, A, V, R, q, v = situation
    high = acceleration_bounds(q, v, 0.0, R, V, A, dt).upper[0]
    more = high + 1e-6 * A
    if more > A:
        return
    after, speed = q + v * dt + more * dt**2 / 2, v + more * dt
    peak = max(extremes(q, v, more, dt)[1], after + max(speed, 0.0) ** 2 / (2 * A))
    assert speed > V or peak > R


@settings(max_examples=200, deadline=None)
@given(situations())
def test_the_lower_bound_mirrors_the_upper(situation):
    dt, A, V, R, q, v = situation
    bounds, mirrored = acceleration_bounds(q, v, 0.0, R, V, A, dt), acceleration_bounds(-q, -v, -R, 0.0, V, A, dt)
    assert_allclose(bounds.lower, -mirrored.upper, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("dt", STEPS)
def test_joints_that_are_pushed_about_never_pass_a_limit(dt, rng):
    """10,000 joints, 2,500 at each step: random and constant pushes, positions exact between samples."""
    n = 2500
    A, R = rng.uniform(1, 100, n), rng.uniform(0.2, 6, n)
    V = np.maximum(rng.uniform(0.1, 10, n), A * dt)
    q = rng.uniform(0, R)
    v = rng.uniform(-np.minimum(V, np.sqrt(2 * A * q)), np.minimum(V, np.sqrt(2 * A * (R - q))))
    bounds, push = JointBounds.of(0.0, R, V, A, dt), np.sign(rng.normal(size=n)) * A
    crossed = 0
    for k in range(400):
        now = bounds(q, v)
        assert now.viable.all()
        assert (now.lower <= now.upper + 1e-9 * A).all()
        if k % 100 == 99:
            push = -push
        a = np.clip(np.where(rng.random(n) < 0.1, A * rng.uniform(-1, 1, n), push), now.lower, now.upper)
        turn = np.clip(np.where(a != 0, -v / np.where(a != 0, a, 1.0), 0.0), 0.0, dt)
        for s in (turn, dt):
            place = q + v * s + a * s * s / 2
            assert place.min() >= -1e-10 and (place - R).max() <= 1e-10
        q, v = q + v * dt + a * dt**2 / 2, v + a * dt
        assert (np.abs(v) <= V + 1e-9).all()
        crossed += int(((q < 1e-3) | (q > R - 1e-3)).sum())
    assert crossed > n  # many did come to a limit


def test_states_that_are_not_viable_brake_or_come_back_as_hard_as_they_may():
    limits = (-1.0, 1.0, 2.0, 10.0, 1e-3)
    too_fast = acceleration_bounds(0.99, 1.9, *limits)
    assert not too_fast.viable[0] and too_fast.lower[0] == too_fast.upper[0] == -10
    speeding = acceleration_bounds(0.0, -3.0, *limits)
    assert not speeding.viable[0] and speeding.lower[0] == speeding.upper[0] == 10
    outside = acceleration_bounds(1.1, 0.0, *limits)
    assert not outside.viable[0] and outside.upper[0] == -10
    leaving = acceleration_bounds(-1.1, -0.5, *limits)
    assert not leaving.viable[0] and leaving.lower[0] == 10


@pytest.mark.parametrize("q", [1.3, -1.3])
def test_from_outside_a_joint_comes_back_and_stays(q):
    bounds, v, push = JointBounds.of(-1.0, 1.0, 2.0, 10.0, 1e-3), 0.0, np.sign(q) * 10
    for _ in range(1000):
        now = bounds(np.array([q]), np.array([v]))
        a = float(np.clip(push, now.lower[0], now.upper[0]))
        q, v = q + v * 1e-3 + a * 5e-7, v + a * 1e-3
    assert now.viable[0] and abs(q) <= 1 + 1e-9


def test_a_joint_that_is_pressed_against_its_end_rests_there():
    bounds, q, v = JointBounds.of(-1.0, 1.0, 2.0, 10.0, 1e-3), np.array([0.0]), np.array([0.0])
    for k in range(2000):
        a = bounds(q, v).upper
        assert k < 1000 or abs(a[0]) < 1e-3  # rounding must not make it brake in full, again and again
        q, v = q + v * 1e-3 + a * 5e-7, v + a * 1e-3
    assert abs(q[0] - 1) < 1e-9 and abs(v[0]) < 1e-6


def test_limits_hold_under_accelerations_that_are_larger_than_those_they_brake_with(rng):
    n, dt, A, most = 300, 2e-3, 10.0, 200.0
    q, v, ends = rng.uniform(-0.9, 0.9, n), rng.uniform(-0.2, 0.2, n), (-1.0, 1.0, 2.0)
    most_used = 0.0
    for k in range(600):
        low, high = acceleration_interval(q, v, *ends, A, dt, most=most)
        assert (low <= high + 1e-9 * A).all() and low.min() >= -most and high.max() <= most
        a = np.clip(most * np.where(rng.random(n) < 0.1, rng.uniform(-1, 1, n), (-1) ** (k // 100)), low, high)
        most_used = max(most_used, float(np.abs(a).max()))
        q, v = q + v * dt + a * dt**2 / 2, v + a * dt
        assert np.abs(q).max() <= 1 + 1e-10 and np.abs(v).max() <= 2 + 1e-9
        assert viable(q, v, *ends, A, 1e-9).all()
    assert most_used > 0.9 * most


def test_the_way_down_is_bounded_as_the_way_up(rng):
    """Also where the joint may be accelerated by more than it brakes with, and in states that are not viable."""
    n, A, dt, most = 2000, 10.0, 2e-3, 200.0
    q, v, lower, upper = rng.uniform(-1.2, 1.2, n), rng.uniform(-3.0, 3.0, n), -1.0, 0.7
    low, high = acceleration_interval(q, v, lower, upper, 2.0, A, dt, most=most)
    down, up = acceleration_interval(-q, -v, -upper, -lower, 2.0, A, dt, most=most)
    assert_allclose((down, up), (-high, -low), rtol=1e-12)
    assert (high >= -A).all() and (low <= A).all()  # what brakes or brings back is what it counts on
    for end in (high, -low):
        assert (end == most).any() and (end == -A).any()


def test_joints_without_limits_are_free():
    with np.errstate(all="raise"):
        bounds = acceleration_bounds(0.3, 5.0, -np.inf, np.inf, np.inf, 10.0, 1e-3)
        rates = velocity_bounds(0.3, -np.inf, np.inf, 7.0, 1e-2, previous=6.95, acceleration=10.0)
    assert bounds.viable[0] and (bounds.lower[0], bounds.upper[0]) == (-10, 10)
    assert_allclose(rates, (6.85, 7.0))


def test_symbols_and_arrays_give_the_same(rng):
    n, dt = 200, 2e-3
    lower, upper = -rng.uniform(0.1, 2, n), rng.uniform(0.1, 2, n)
    V, A = rng.uniform(0.5, 4, n), rng.uniform(5, 50, n)
    q, v = rng.uniform(1.1 * lower, 1.1 * upper), 1.2 * rng.uniform(-V, V)  # some not viable
    now = JointBounds.of(lower, upper, V, A, dt)(q, v)
    assert 0.2 < now.viable.mean() < 0.95 and (now.lower <= now.upper).all()
    assert_allclose(acceleration_interval(q, v, lower, upper, V, A, dt), (now.lower, now.upper), rtol=1e-12)
    x, w = casadi.SX.sym("q", n), casadi.SX.sym("v", n)
    low, high = acceleration_interval(x, w, lower, upper, V, A, dt, piecewise.symbols())
    for symbolic, number in zip(
        casadi.Function("bounds", [x, w], [low, high])(q, v), (now.lower, now.upper), strict=True
    ):
        assert_allclose(symbolic.full().ravel(), number, rtol=1e-11, atol=1e-9)
    batch = JointBounds.of(lower, upper, V, A, dt)(np.stack([q, q]), np.stack([v, v]))
    assert_allclose(batch.upper, np.stack([now.upper, now.upper]))


def test_errors_teach():
    with pytest.raises(LimitError, match=r"joint 1: an acceleration of 300 held for 0.01 s.*Count on at most 200"):
        require_compatible([-1, -1], [1, 1], 2.0, [10, 300], 0.01)
    with pytest.raises(LimitError, match="lower < upper"):
        JointBounds.of(1.0, -1.0, 1.0, 1.0, 1e-3)
    with pytest.raises(LimitError, match="both `previous` and `acceleration`"):
        velocity_bounds(0.0, -1.0, 1.0, 1.0, 1e-3, previous=0.0)


# --- velocity level ---------------------------------------------------------------------------------------------------


def stopping_way(v: float, A: float, dt: float) -> float:
    """How far a joint gets that slows down by A dt in every step: by counting."""
    way = 0.0
    while v > 0:
        way += v * dt
        v -= A * dt
    return way


@settings(deadline=None)
@given(st.sampled_from(STEPS), st.floats(0.5, 100.0), st.floats(1e-6, 3.0))
def test_the_fastest_velocity_just_fills_the_room(dt, A, room):
    v = 0.0
    for _ in range(100_000):  # faster and faster, without moving, until the room ahead is what limits it
        before, v = v, float(velocity_bounds(0.0, -1.0, room, np.inf, dt, previous=v, acceleration=A)[1])
        if v <= before + 0.5 * A * dt:
            break
    assert_allclose(stopping_way(v, A, dt), room, rtol=1e-9)


@pytest.mark.parametrize("dt", STEPS)
def test_velocities_keep_the_limits(dt, rng):
    n = 2500
    A, R, V = rng.uniform(1, 100, n), rng.uniform(0.01, 6, n), rng.uniform(0.1, 10, n)
    q, v, push = rng.uniform(0, R), np.zeros(n), np.sign(rng.normal(size=n)) * 100
    for k in range(300):
        low, high = velocity_bounds(q, 0.0, R, V, dt, previous=v, acceleration=A)
        assert (low <= high + 1e-9).all()
        if k % 70 == 69:
            push = -push
        new = np.clip(push, low, high)
        assert (np.abs(new - v) <= A * dt + 1e-9).all() and (np.abs(new) <= V + 1e-12).all()
        q, v = q + dt * new, new
        assert q.min() >= -1e-10 and (q - R).max() <= 1e-10


def test_velocities_without_acceleration_limit_and_from_outside():
    low, high = velocity_bounds(np.array([0.0, 0.999, 1.2]), -1.0, 1.0, 2.0, 1e-2)
    assert_allclose(high, [2.0, 0.1, -2.0], rtol=1e-9)
    assert_allclose(low, [-2.0, -2.0, -2.0])


# --- what torques can do ----------------------------------------------------------------------------------------------


def test_every_acceleration_of_the_box_is_within_the_torques(rng):
    robot = support.load("arm7")
    q, v = support.random_states(robot, rng, 40)
    v = 0.2 * v
    M, bias, effort = robot.mass_matrix(q), robot.bias_force(q, v), robot.limits.effort
    A = braking_capability(M, bias, effort, shape=np.array([1, 1, 1, 1, 2, 2, 2]))
    assert_allclose(A / A[0], [1, 1, 1, 1, 2, 2, 2])
    corners = np.array(np.meshgrid(*[[-1, 1]] * 7)).reshape(7, -1).T * A
    torque = np.einsum("bij,cj->bci", M, corners) + bias[:, None]
    assert np.max(np.abs(torque) / effort) <= 1 + 1e-12
    assert_allclose(np.max(np.abs(torque) / effort), 1.0, rtol=1e-9)  # and no larger box would do


def test_a_robot_that_cannot_hold_itself_is_told_so():
    robot = support.load("arm7")
    q = np.array([0, np.pi / 2, 0, 0, 0, 0, 0])
    M, bias = robot.mass_matrix(q), robot.gravity(q)
    with pytest.raises(LimitError, match=r"joint 1: gravity and velocities alone"):
        braking_capability(M, bias, np.full(7, 1.0))
    with pytest.raises(LimitError, match="no joint has a limit of effort"):
        braking_capability(M, bias, np.full(7, np.inf))
