"""The covariance is what the errors are: many sensors, many starts, one motion."""

from dataclasses import replace

import numpy as np
import pytest
from many_filters import nees, squat, stand, walk

import equipoise as eq

MOTIONS = {"stands": (stand, 2.5), "squats": (squat, 2.5), "walks": (walk, 2.5)}  # and for how long, s


def interval(count: int) -> tuple[float, float]:
    """Where the mean of `count` chi-squares of nine degrees lies, 95 times of 100."""
    half = 1.96 * np.sqrt(2 * 9 / count)
    return 9 - half, 9 + half


@pytest.mark.paper("X5")
def test_a_standing_human_is_consistent():
    """From when its contacts have settled."""
    with eq.limit_threads(1):
        found = nees(squat("human", 0.4), eq.Sensors.realistic(), 60, 100)[1:]
    low, high = interval(60)
    assert low < found.mean() < high


@pytest.mark.slow
@pytest.mark.paper("X5")
@pytest.mark.parametrize("name", ["human", "g1"])
@pytest.mark.parametrize("what", MOTIONS)
def test_filters_are_consistent(what, name):
    """100 seeds, one set of numbers for all; averaged over the motion, which makes the interval of one time a wide one,
    and never far off: soles of a walk creep in jerks."""
    motion, seconds = MOTIONS[what]
    with eq.limit_threads(1):
        found = nees(motion(name, seconds), eq.Sensors.realistic(), 100, 50)
    low, high = interval(100)
    print(f"NEES of 100 seeds: {name} {what} {found.mean():.2f}, {low:.2f} to {high:.2f} if consistent;", end=" ")
    print(f"at single times {found.mean(axis=1).min():.1f} to {found.mean(axis=1).max():.1f}")
    assert low < found.mean() < high
    assert (found.mean(axis=1) > 6).all()
    assert (found.mean(axis=1) < 15).all()


@pytest.mark.paper("X5")
def test_a_filter_that_trusts_too_much_is_found_out():
    """Half the noise of the sensors in the filter: the test can fail."""
    motion, sensors = squat("human", 0.15), eq.Sensors.realistic()
    louder = replace(sensors, imu=replace(sensors.imu, gyroscope_noise=4e-3, accelerometer_noise=8e-2))
    with eq.limit_threads(1):
        found = nees(motion, louder, 30, 50, filter_sensors=sensors)
    assert found[-1].mean() > 2 * interval(30)[1]
