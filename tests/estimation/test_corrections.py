"""What measurements correct: contacts that slip, a centre of mass that is not where the model has it."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import equipoise as eq
from equipoise.estimation.com_offset import CoMOffset
from equipoise.estimation.settling import Settling

FEET = ("front_left_foot", "front_right_foot", "hind_left_foot", "hind_right_foot")
G = 9.80665


@pytest.fixture(scope="module")
def dog():
    return eq.load("quadruped")


def slid(robot, slip_speed, contacts=(1, 1, 1, 1)):
    """(how far the estimate of a base at rest goes off, estimator, when which contacts slipped) with one foot that
    slides at
    0.4 m/s for 0.1 s while all are said to stand."""
    estimator = eq.Estimator(robot, "trunk", FEET, settings=eq.TouchSettings(slip_speed=slip_speed))
    q = robot.standing()
    estimator.reset(q, np.zeros(robot.nv), t=0.0)
    rates = np.linalg.pinv(robot.jacobian(q, FEET[0])[:3, 6:]) @ np.array([0.4, 0.0, 0.0])
    joints, off, told = q[7:].copy(), 0.0, []
    for k in range(1, 250):
        slides = 0.05 if 100 <= k < 200 else 0.0
        joints = joints + 20 * slides * rates * 1e-3
        said, _ = estimator(k * 1e-3, np.zeros(3), np.array([0, 0, G]), joints, 20 * slides * rates, contacts=contacts)
        off = max(off, float(np.linalg.norm(said[:3] - q[:3])))
        told.append(estimator.slipping)
    return off, estimator, told


@pytest.mark.paper("X5")
def test_a_contact_that_slips_is_dropped_from_the_filter(dog):
    off, estimator, told = slid(dog, 0.1)
    trusting, _, never = slid(dog, 1e9)
    assert not any(never)
    assert trusting > 5e-3  # four centimetres of slip pull the base by a good part of that
    assert off < 0.05 * trusting
    assert not any(told[:98]) and told[110] == (FEET[0],) and told[198] == (FEET[0],)
    assert estimator.slipping == () and all(estimator.touching.values())  # it rests again, and stood all the time


def test_the_last_contact_is_not_dropped(dog):
    """One that slips is better than none: without any, nothing bounds the velocity."""
    _, estimator, told = slid(dog, 0.1, contacts=(1, 0, 0, 0))
    assert told[150] == (FEET[0],)
    _, flying, _ = slid(dog, 0.1, contacts=(0, 0, 0, 0))
    spread, free = (e.belief.covariance[3:6, 3:6].trace() for e in (estimator, flying))
    assert spread < 0.7 * free


def spread(robot, unsettled, shock_at, lost_at=None):
    """Variance of the velocity of a robot at rest over time, with a shock or a foot that is lifted for an instant."""
    noise = eq.Sensors.realistic().filter_noise(unsettled=unsettled)
    estimator, q, said = eq.Estimator(robot, "trunk", FEET, noise=noise), robot.standing(), []
    estimator.reset(q, np.zeros(robot.nv), t=0.0)
    for k in range(1, 500):
        felt = np.array([0, 0, G + (8.0 if k == shock_at else 0.0)])
        stand = (1, 1, 1, 0 if k == lost_at else 1)
        estimator(k * 1e-3, np.zeros(3), felt, q[7:], np.zeros(robot.nv - 6), contacts=stand)
        said.append(estimator.belief.covariance[3:6, 3:6].trace())
    return np.array(said)


@pytest.mark.paper("X5")
@pytest.mark.parametrize("event", [(300, None), (None, 300)], ids=["shock", "lift"])
def test_contacts_creep_more_until_they_settle(dog, event):
    """For a tenth of a second after a shock or a lift; without that noise, neither matters."""
    told = spread(dog, 1e-3, *event) / spread(dog, 1e-3, None)
    plain = spread(dog, 0.0, *event) / spread(dog, 0.0, None)
    assert_allclose(told[:298], 1, rtol=1e-9)
    assert told[310] < told[350] < told[396] and told[396] > 4 and told[498] < 1.1
    assert_allclose(plain[330:], 1, rtol=0.05)


def test_settling_counts_what_is_not_finite_as_a_shock():
    settling, held, felt = Settling(), np.ones(2, dtype=bool), np.array([0.0, 0.0, G])
    assert [settling(0.06, felt, held) for _ in range(4)] == [True, True, False, False]
    assert settling(np.nan, felt, held) is False  # no time has passed
    assert settling(0.06, np.array([np.nan, 0, G]), held)
    assert settling(0.06, felt, held)  # the step back is one, too
    assert [settling(0.06, felt, held) for _ in range(2)] == [True, False]
    settling.reset()
    assert settling(0.06, felt, held)


def test_noise_of_an_accelerometer_is_no_shock(rng):
    """A loud one errs by 1.3 m/s² in samples of 1 ms: differences beyond the least shock, most of the time."""
    loud, deaf, held = Settling(0.04), Settling(), np.ones(2, dtype=bool)
    felt = rng.normal(size=(400, 3)) * 0.04 / np.sqrt(1e-3) + [0, 0, G]
    said = np.array([[s(1e-3, a, held) for s in (loud, deaf)] for a in felt])
    assert not said[110:, 0].any() and said[:, 1].all()
    assert loud(1e-3, felt[-1] + [0, 0, 40.0], held)


def carried(robot, q, v, a, wrenches_at):
    """Wrenches at four feet that make the robot move so: the whole wrench split in equal parts."""
    M, h = robot.mass_matrix(q), robot.bias_force(q, v)
    J = np.vstack([robot.jacobian(q, foot) for foot in wrenches_at])
    wrench = np.linalg.pinv(J[:, :6].T) @ (M @ a + h)[:6]
    return {foot: wrench[6 * i : 6 * i + 6] for i, foot in enumerate(wrenches_at)}


@pytest.mark.paper("X6")
def test_forces_tell_where_the_centre_of_mass_is(dog, rng):
    """A payload that the model does not know, on a robot that moves: the offset is the difference of the two centres of
    mass."""
    heavy = dog.with_payload("trunk", 2.0, (0.25, 0.05, 0.1))
    offset, q = CoMOffset(dog, settling=0.2), dog.standing()
    axis = rng.normal(size=dog.nv)
    for k in range(1000):
        t, w = k * 1e-3, 2 * np.pi * 2.5
        v, a = 0.05 * np.cos(w * t) * axis, -0.05 * w * np.sin(w * t) * axis
        here = dog.integrate(q, 0.05 / w * np.sin(w * t) * axis)
        said = offset(t, here, v, carried(heavy, here, v, a, FEET), {foot: foot for foot in FEET})
    assert_allclose(said[:2], (heavy.com(here) - dog.com(here))[:2], atol=1e-3)
    assert said[2] == 0.0
    exact = CoMOffset(dog)
    for k in range(10):
        said = exact(k * 1e-3, q, 0 * v, carried(dog, q, 0 * v, 0 * a, FEET), {foot: foot for foot in FEET})
    assert_allclose(said, 0, atol=1e-9)


def test_what_forces_cannot_tell_is_passed_over(dog):
    offset, q, v = CoMOffset(dog), dog.standing(), np.full(dog.nv, 0.1)
    frames = {foot: foot for foot in FEET}
    for wrenches in ({}, {FEET[0]: np.full(6, np.nan)}, {FEET[0]: np.array([0, 0, 1.0, 5, 5, 5])}):
        assert_allclose(offset(0.1, q, v, wrenches, frames), 0)
    with pytest.raises(eq.StateError, match="settling"):
        CoMOffset(dog, settling=0.0)


def lean(robot, heavy, forces):
    """How far the true centre of mass ends from its target, level, on estimates, m."""
    standing = eq.Standing(robot)
    sensors = eq.Sensors.realistic(forces=forces)
    prior = eq.Prior(1e-3, 1e-3, 1e-3, sensors.imu.gyroscope_bias, sensors.imu.accelerometer_bias)
    feet = list(standing.contacts)
    estimator = eq.Estimator(standing.robot, standing.robot.base_link, feet, noise=sensors.filter_noise(), prior=prior)
    run = eq.simulate(
        heavy(standing.robot), standing, q0=standing.q0, duration=1.6, estimator=estimator, sensors=sensors
    )
    assert run.outcome == "completed"
    return float(np.linalg.norm(run.com[-1, :2] - standing.robot.com(standing.q0)[:2]))


@pytest.mark.paper("X6")
def test_a_wrong_mass_model_no_longer_leans(dog):
    def heavy(robot):
        return robot.with_payload("trunk", 2.0, (0.25, 0.05, 0.1))

    assert lean(dog, heavy, forces=False) > 0.015  # the centres of mass are 19 mm apart
    assert lean(dog, heavy, forces=True) < 0.004
