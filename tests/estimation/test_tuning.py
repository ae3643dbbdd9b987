"""The noise of a filter from a log."""

import numpy as np
import pytest

import equipoise as eq
from equipoise.estimation.tuning import FilterLog, log_likelihood, tune_noise

FEET = ("front_left_foot", "front_right_foot", "hind_left_foot", "hind_right_foot")
G, DT = 9.80665, 1e-3


@pytest.fixture(scope="module")
def standing():
    """(estimator, log, start) of a quadruped at rest with encoders of 2 mrad, told of 20."""
    robot, rng, rows = eq.load("quadruped"), np.random.default_rng(3), 300
    q, told = robot.standing(), eq.FilterNoise(1e-3, 1e-5, 1e-2, 1e-5, 1e-4, 2e-2, 0.0)
    estimator = eq.Estimator(robot, "trunk", FEET, noise=told)
    readings = FilterLog(
        t=np.arange(rows) * DT,
        gyroscope=1e-3 / np.sqrt(DT) * rng.normal(size=(rows, 3)),
        accelerometer=np.array([0, 0, G]) + 1e-2 / np.sqrt(DT) * rng.normal(size=(rows, 3)),
        joints=q[7:] + 2e-3 * rng.normal(size=(rows, robot.nq - 7)),
        joint_rates=np.zeros((rows, robot.nv - 6)),
        standing=np.ones((rows, 4)),
    )
    return estimator, readings, estimator.initial(q, np.zeros(robot.nv))


@pytest.mark.paper("X5")
def test_the_likeliest_noise_is_that_of_the_sensors(standing):
    """3,588 innovations of three numbers each tell a deviation to a percent or two."""
    estimator, readings, start = standing
    found = tune_noise(estimator, readings, start, ["encoder"])
    assert abs(found.noise.encoder / 2e-3 - 1) < 0.05
    assert found.noise.gyroscope == estimator.noise.gyroscope
    assert found.likelihood > found.before + 1000
    assert abs(found.squares - 3) < 0.2  # told 20 mrad it was 0.03


def test_the_likelihood_is_that_of_one_filter_after_the_other(standing):
    estimator, readings, start = standing
    noises = np.array([estimator.noise.numbers, eq.FilterNoise().numbers])
    together, squares = log_likelihood(estimator, readings, noises, start)
    for k in range(2):
        alone, own = log_likelihood(estimator, readings, noises[k : k + 1], start)
        np.testing.assert_allclose([alone[0], own[0]], [together[k], squares[k]], rtol=1e-9)
    belief, total = start, 0.0
    for k in range(1, 50):
        rows = readings.gyroscope[k], readings.accelerometer[k], readings.joints[k], readings.joint_rates[k]
        said = estimator.step(belief, DT, *rows, readings.held(k).astype(float), noises[0])
        belief, total = said.belief, total + said.likelihood
    short = FilterLog(*(getattr(readings, name)[:50] for name in FilterLog.__dataclass_fields__))
    np.testing.assert_allclose(log_likelihood(estimator, short, noises[:1], start)[0], total, rtol=1e-9)


def test_contacts_are_held_from_the_second_row_on_that_they_stand(standing):
    _, readings, _ = standing
    flags = np.ones((300, 4))
    flags[10, 2] = 0
    log = FilterLog(
        readings.t, readings.gyroscope, readings.accelerometer, readings.joints, readings.joint_rates, flags
    )
    assert log.held(9).all() and log.held(12).all()
    assert log.held(10).tolist() == log.held(11).tolist() == [True, True, False, True]


def test_noise_that_breaks_a_filter_is_the_least_likely(standing):
    estimator, readings, start = standing
    short = FilterLog(*(getattr(readings, name)[:5] for name in FilterLog.__dataclass_fields__))
    own = estimator.noise.numbers
    likely, _ = log_likelihood(estimator, short, np.array([own, np.full(len(own), np.nan)]), start)
    assert np.isfinite(likely[0]) and likely[1] == -np.inf


def test_errors_teach(standing):
    estimator, readings, start = standing
    with pytest.raises(eq.UnknownNameError, match="encoder"):
        tune_noise(estimator, readings, start, ["encoders"])
    with pytest.raises(eq.StateError, match="draws"):
        tune_noise(estimator, readings, start, draws=2)
    parts = [getattr(readings, name) for name in FilterLog.__dataclass_fields__]
    with pytest.raises(eq.ShapeError, match="joints"):
        FilterLog(*parts[:3], parts[3][:5], *parts[4:])
    with pytest.raises(eq.ShapeError, match="later"):
        FilterLog(np.zeros(300), *parts[1:])
