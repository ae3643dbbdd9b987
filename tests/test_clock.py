"""A clock that passes over wrong stamps and follows one that was set."""

import numpy as np
import pytest

from equipoise.clock import LARGEST_STEP, Clock

DT = 1e-3


def steps(clock, stamps):
    """Own time after each call."""
    told = []
    for t in stamps:
        clock.called(t)
        told.append(clock.now)
    return np.array(told)


def test_good_stamps_are_taken_as_they_are(rng):
    t = np.cumsum(rng.uniform(0.2, 3.0, size=200)) * DT
    for clock in (Clock(DT), Clock()):
        assert (steps(clock, t) == t).all() and clock.doubted == 0 and clock.reports == ()


@pytest.mark.parametrize("period", [DT, None])
@pytest.mark.parametrize("off", [10.0, -10.0, 0.5, -0.5, 1e12])
@pytest.mark.parametrize("at", [1, 50])
def test_one_wrong_stamp_costs_nothing(period, off, at):
    clock, told = Clock(period), []
    for k in range(100):
        before = clock.now
        step = clock.called(k * DT + (off if k == at else 0.0))
        assert 0 <= step <= 2 * DT + 1e-12
        assert k == 0 or clock.now - before == pytest.approx(step, abs=1e-12)
        told += clock.reports
    assert clock.now == pytest.approx(99 * DT, abs=1e-12) and clock.ahead == 0.0
    assert clock.doubted == 1 and len(told) == 1 and "passed over" in told[0]


@pytest.mark.parametrize("jump", [100.0, -100.0, 0.05])
def test_a_clock_that_was_set_is_followed(jump):
    clock, told = Clock(DT), []
    for k in range(100):
        clock.called(k * DT + (jump if k >= 50 else 0.0))
        told += clock.reports
    assert clock.now == pytest.approx(99 * DT, abs=1e-9) or jump == 0.05
    assert clock.stamp == pytest.approx(99 * DT + jump) and clock.ahead == pytest.approx(jump, abs=2 * DT)
    assert [("passed over" in text, "jumped" in text) for text in told] == [(True, False), (False, True)]


def test_own_time_never_goes_back_and_never_jumps(rng):
    """Whatever the stamps are."""
    clock, before = Clock(DT), 0.0
    clock.called(0.0)
    for t in rng.choice([1e200, -1e5, 0.3, 0.301, 1e18, 2.0, 2.0001, np.nan], size=2000):
        step = clock.called(t)
        assert 0 <= clock.now - before <= LARGEST_STEP * DT * (1 + 1e-9) and (step >= 0 or np.isnan(t))
        before = clock.now


def test_nanoseconds_since_1970_are_counted_by_calls():
    """Given for seconds: each call is one period, and it is said once."""
    clock, told, start = Clock(DT), [], 1_700_000_000_000_000_000
    for k in range(100):
        clock.called(start + k * 1_000_000)
        told += clock.reports
    assert clock.now == pytest.approx(99 * DT) and len(told) == 1


@pytest.mark.parametrize("t", ["0.5", None, np.nan, np.inf, 10**400, [1.0], np.zeros(2), 1j])
def test_what_is_no_time_changes_nothing(t):
    clock = Clock(DT)
    clock.called(0.25)
    assert np.isnan(clock.called(t)) and clock.now == 0.25
    assert clock.called(0.251) == pytest.approx(DT)
    fresh = Clock()
    assert np.isnan(fresh.called(t)) and fresh.called(7.0) == 0.0


def test_periods_are_learned_and_change():
    """From a kilohertz to 20 Hz: after three steps alike the slower calls are followed."""
    clock = Clock()
    t = np.concatenate([np.arange(100) * 1e-3, 0.1 + np.arange(1, 100) * 0.05])
    now = steps(clock, t)
    assert clock.period == pytest.approx(0.05, rel=1e-3) and clock.doubted <= 3
    assert np.diff(now[110:]) == pytest.approx(0.05)
    clock.reset(3.0)
    assert clock.called(3.002) == pytest.approx(0.002)
