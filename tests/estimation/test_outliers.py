"""One wrong sample or time stamp: within a second the estimate is that of the same run without it."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import equipoise as eq
from equipoise.simulate.estimated import on_estimates
from equipoise.simulate.replay import replay

WRONG_AT, AFTER = 500, 1000  # rows: where the sample is wrong, and how much later the estimate is right again
NAMES = ("gyroscope", "accelerometer", "joints", "joint_rates", "torques")


@functools.cache
def swaying():
    """(run of a human that sways on both feet on estimates, a fresh estimator)."""
    standing = eq.Standing(eq.load("human")).sway(0.01, 0.03, at=0.0, seconds=0.6).sway(0.0, -0.02, at=0.7, seconds=0.6)
    options = on_estimates(standing.robot, list(standing.contacts))
    run = eq.simulate(standing.robot, standing, q0=standing.q0, duration=1.55, **options)
    assert run.outcome == "completed"
    return run, options["estimator"]


def estimated(wrong=None, value=0.0, component=0, off=0.0, at=WRONG_AT):
    """(q `AFTER` rows later, estimator) of the run's readings with one number replaced, or one stamp that is off."""
    run, estimator = swaying()
    estimator.reset(run.q[0], run.v[0], t=0.0)
    for k, t in enumerate(run.t):
        readings = {name: run.readings[name][k].copy() for name in NAMES}
        if k == at and wrong is not None:
            readings[wrong][component] = value
        q, v = estimator(float(t) + (off if k == at else 0.0), *readings.values())
        if k == at + AFTER:
            break
    assert np.isfinite(q).all() and np.isfinite(v).all()
    return q, estimator


@functools.cache
def undisturbed():
    """(rows, nq) of the same readings as they are."""
    run, estimator = swaying()
    estimator.reset(run.q[0], run.v[0], t=0.0)
    rows = zip(run.t, *(run.readings[name] for name in NAMES), strict=True)
    told = np.array([estimator(float(t), *readings)[0] for t, *readings in rows])
    assert estimator.rejected == 0
    return told


def distance(q, at=WRONG_AT):
    """(m, degrees) of the base from the undisturbed estimate."""
    right = undisturbed()[at + AFTER]
    turn = Rotation.from_quat(np.roll(q[3:7], -1)) * Rotation.from_quat(np.roll(right[3:7], -1)).inv()
    return np.linalg.norm(q[:3] - right[:3]), np.degrees(np.linalg.norm(turn.as_rotvec()))


# what a sensor says once, and whether it is within its range
OUTLIERS = [
    *(("accelerometer", value) for value in (500.0, -170.0, 60.0, 1e10)),
    *(("gyroscope", value) for value in (1000.0, -17.0, 2.0, 1e10)),
    *(("joints", value) for value in (1.5, 0.05, -1e10)),
    *(("joint_rates", value) for value in (50.0, -1e10)),
    *(("torques", value) for value in (500.0, 1e10)),
]


@pytest.mark.paper("X5")
@pytest.mark.parametrize(("name", "value"), OUTLIERS)
def test_one_outlier_is_forgotten(name, value):
    metres, degrees = distance(estimated(name, value, component=int(value) % 3)[0])
    assert metres < 0.01 and degrees < 1.0


@pytest.mark.paper("X5")
@pytest.mark.parametrize("at", [16, 30])
def test_a_turn_that_may_be_one_teaches_no_bias(at):
    """Shortly after the start the bias is uncertain, and the outlier is too small to be held."""
    metres, degrees = distance(estimated("gyroscope", 2.9, component=1, at=at)[0], at)
    assert metres < 0.004 and degrees < 0.3


@pytest.mark.paper("X5")
@pytest.mark.parametrize("name", ["accelerometer", "gyroscope", "joint_rates"])
def test_what_no_sensor_can_say_is_counted(name):
    q, estimator = estimated(name, 1e10)
    assert estimator.counts["sensors"] == 1 and estimator.rejected == 1
    assert distance(q)[0] < 1e-3


@pytest.mark.paper("X5")
@pytest.mark.parametrize("off", [9.5, -0.4, 100.0, 1e12])
def test_one_wrong_stamp_changes_nothing(off):
    """Before, all samples were dropped until the clock had caught up."""
    q, estimator = estimated(off=off)
    assert estimator.counts["time"] == 1
    metres, degrees = distance(q)
    assert metres < 1e-5 and degrees < 1e-3


@pytest.mark.paper("X5")
@pytest.mark.parametrize(("name", "value"), [*(("accelerometer", x) for x in (500.0, 30.0, 1e10)), ("joints", 0.7)])
@pytest.mark.parametrize("at", [0, 1, 2])
def test_the_first_sample_may_be_wrong(at, name, value):
    """Where nothing is known before: it says which way is up, and how high the robot stands."""
    run, estimator = swaying()
    told = []
    for wrong in (False, True):
        estimator.reset()
        for k, t in enumerate(run.t[: at + AFTER]):
            readings = {name: run.readings[name][k].copy() for name in NAMES}
            if wrong and k == at:
                readings[name][0 if name == "accelerometer" else 25] += value
            q, _ = estimator(float(t), *readings.values())
        told.append(q)
    turn = Rotation.from_quat(np.roll(told[0][3:7], -1)) * Rotation.from_quat(np.roll(told[1][3:7], -1)).inv()
    assert np.linalg.norm(told[0][:3] - told[1][:3]) < 0.01 and np.degrees(turn.magnitude()) < 1.0


def test_a_text_for_a_time_poisons_nothing():
    run, estimator = swaying()
    estimator.reset(run.q[0], run.v[0])
    for k, t in enumerate(["now", *run.t[:50]]):
        readings = [run.readings[name][max(k - 1, 0)] for name in NAMES]
        q, _ = estimator(t, *readings)
    assert estimator.counts["not numbers"] == 1
    assert np.linalg.norm(q[:3] - run.q[49, :3]) < 2e-3


@pytest.mark.paper("X5")
@pytest.mark.parametrize("times", [1.0, 4.0, 30.0])
def test_a_state_that_is_wrong_is_found_out_by_its_contacts(times):
    """The velocity is moved by 0.6 m/s or more, hundreds of its deviations: the belief becomes uncertain again."""
    run, estimator = swaying()
    estimator.reset(run.q[0], run.v[0], t=0.0)
    for k, t in enumerate(run.t[:1500]):
        if k == WRONG_AT:
            assert estimator.counts["states"] == 0
            estimator._in["belief"][estimator.belief.layout.velocity] += times * np.array([0.5, -0.3, 0.2])
        _, v = estimator(float(t), *(run.readings[name][k] for name in NAMES))
        if k > WRONG_AT + 300:
            assert np.linalg.norm(v[:3] - run.v[k, :3]) < 0.15
    assert estimator.counts["states"] > 0
    assert replay(run, estimator).position_error[-1] < 5e-3  # and undisturbed


@pytest.mark.paper("X5")
@pytest.mark.parametrize("count", [8, pytest.param(300, marks=pytest.mark.slow)])
def test_outliers_at_random_moments_are_forgotten(count):
    """Of any kind and size, or a stamp that is off; a second later all is as without it."""
    rng, far = np.random.default_rng(2026), []
    for _ in range(count):
        at, component, kind = int(rng.integers(1, WRONG_AT)), int(rng.integers(3)), rng.choice([*NAMES, "stamp"])
        size = rng.choice([-1.0, 1.0]) * 10.0 ** rng.uniform(-2.0, 8.0)
        bad = float(rng.choice([size, size, size, size, np.nan, np.inf]))
        wrong = {"off": bad} if kind == "stamp" else {"wrong": kind, "value": bad, "component": component}
        metres, degrees = distance(estimated(**wrong, at=at)[0], at)
        if not (metres < 0.01 and degrees < 1.0):
            far.append(f"{kind} {bad:.3g} in row {at}: {1e3 * metres:.1f} mm, {degrees:.2f}°")
    assert not far, f"{len(far)} of {count}: " + "; ".join(far)
