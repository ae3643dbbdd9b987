"""Cassie's recorded walk: the filter against the ground truth, and beside a plain error-state filter."""

import functools

import cassie_log
import dense_filter
import numpy as np
import pytest
from cassie_log import DT, FIRST, cassie, drift, log, ours, plain, tilt_errors, velocity_errors
from scipy.spatial.transform import Rotation

import equipoise as eq
from equipoise.estimation.belief import Belief

pytestmark = cassie_log.needed
STEPS, SECOND = 19000, 2000


@functools.cache
def both():
    path, belief = ours(STEPS)
    return path, plain(STEPS), belief


def rms(x):
    return float(np.sqrt(np.mean(np.square(x))))


def scores(path):
    """(velocity m/s, tilt °, drift %) after one second."""
    speed = rms(np.linalg.norm(velocity_errors(path)[SECOND:], axis=1))
    return speed, rms(tilt_errors(path)[SECOND:]), drift(path, SECOND)


def test_the_encoders_are_in_the_order_of_the_legs():
    """Feet that stand do not move: less than 9 mm over each stance, most of it slip; with hips mixed up, they would."""
    assert creep(range(14)) < 9e-3
    assert creep([1, 0, 2, 3, 4, 5, 6, 8, 7, *range(9, 14)]) > 2e-2
    assert creep([*range(7, 14), *range(7)]) > 2e-2


def creep(order):
    """How far standing toes move, m, if the encoders come in that order."""
    data, robot = log(), cassie()
    rows = np.arange(FIRST, 20000, 10)
    q = data.q(rows)
    legs = [robot.joints[side + name].q.start for side in ("Left", "Right") for name in cassie_log.LEG]
    q[:, legs] = q[:, [legs[i] for i in order]]
    most = 0.0
    for side, toe in enumerate(cassie_log.TOES):
        place, stands = robot.pose(q, toe)[:, :3, 3], data.contact[rows, side]
        begins = np.flatnonzero(np.diff(stands.astype(int)) == 1)
        stances = [np.arange(b + 8, b + 60) for b in begins if b + 60 < len(rows) and stands[b + 1 : b + 60].all()]
        assert len(stances) >= 10
        most = max(most, *(np.ptp(place[stance], axis=0).max() for stance in stances))
    return most


@pytest.mark.paper("X5")
def test_walking_is_followed():
    speed, tilt, way = scores(both()[0])
    assert speed < 0.01  # measured 0.0058; the bar is 0.05
    assert tilt < 0.15  # measured 0.082; the bar is 0.5
    assert way < 0.5  # measured 0.22; the bar is 2


@pytest.mark.paper("X5")
def test_the_plain_filter_is_not_better():
    """From a true start the two agree to a percent: the errors are then small, and both are linear in them."""
    own, other = scores(both()[0]), scores(both()[1])
    assert all(a <= 1.01 * b for a, b in zip(own, other, strict=True)), (own, other)


@pytest.mark.paper("X5")
def test_the_covariance_is_that_of_the_errors():
    """NEES of turn, velocity and position over four seconds, from starts drawn from the prior: 9 if consistent.

    The recorded settings give 11 after half a second and 3 after four: of the right size, and cautious in the end. From
    a start at the very truth it is 0.03, because position, heading and biases then have no error to show. One log is
    one draw of what sensors do, hence the wide bounds.
    """
    found = nees_from_drawn_starts(24, 8000, 1000)
    assert 3 < found.mean() < 13  # measured 6
    assert found.min() > 1 and found.max() < 20


def nees_from_drawn_starts(count, steps, every):
    """Means over `count` starts, one for each `every` steps."""
    data, robot, rng = log(), cassie(), np.random.default_rng(0)
    estimator = eq.Estimator(robot, "imu", cassie_log.TOES, noise=cassie_log.NOISE, prior=cassie_log.PRIOR)
    truth, starts, means = dense_filter.group(data.R[FIRST], data.v[FIRST], data.p[FIRST]), [], []
    for _ in range(count):
        P = cassie_log.PRIOR.covariance(data.v[FIRST], data.p[FIRST], 2)
        Y = dense_filter.expm(dense_filter.algebra(np.linalg.cholesky(P[:9, :9]) @ rng.normal(size=9))) @ truth
        P = cassie_log.PRIOR.covariance(Y[:3, 3], Y[:3, 4], 2)
        starts.append(Belief.of(Y[:3, :3], Y[:3, 3], Y[:3, 4], np.zeros((2, 3)), np.zeros(3), np.zeros(3), P).numbers)
    belief = Belief(np.array(starts), 2)
    for k in range(FIRST + 1, FIRST + 1 + steps):
        held = (data.contact[k] & data.contact[k - 1]).astype(float)
        rows = data.gyroscope[k], data.accelerometer[k], data.joints[k], np.zeros(robot.nv - 6), held
        told = [np.broadcast_to(row, (count, len(row))) for row in rows]
        belief = estimator.step(belief, np.full(count, DT), *told).belief
        if (k - FIRST) % every == 0:
            inverse, P = (
                np.linalg.inv(dense_filter.group(data.R[k], data.v[k], data.p[k])),
                belief.covariance[:, :9, :9],
            )
            parts = zip(belief.orientation, belief.velocity, belief.position, strict=True)
            xi = np.array([dense_filter.log(dense_filter.group(*part) @ inverse) for part in parts])
            means.append(np.einsum("ki,ki->k", xi, np.linalg.solve(P, xi[:, :, None])[:, :, 0]).mean())
    return np.array(means)


@pytest.mark.paper("X5")
@pytest.mark.parametrize("axis", [(1, 0, 0), (0, 1, 0), (-0.6, 0.8, 0)])
def test_it_converges_from_a_wrong_start_within_a_second(axis):
    """30° of wrong tilt and 1 m/s of wrong velocity; the plain filter takes longer."""
    turn = Rotation.from_rotvec(np.radians(30) * np.array(axis)).as_matrix()
    wrong = dict(turn=turn, shove=np.array([0.8, -0.6, 0.0]), prior=eq.Prior(0.5, 1.0, 0.01, 0.01, 0.1))
    own = settled(ours(2 * SECOND, **wrong)[0])
    assert own < 0.6  # measured 0.18 to 0.35
    assert settled(plain(2 * SECOND, **wrong)) > own


def settled(path) -> float:
    """Seconds until velocity stays within 0.1 m/s and tilt within 2°."""
    bad = (np.linalg.norm(velocity_errors(path), axis=1) > 0.1) | (tilt_errors(path) > 2)
    assert not np.isnan(path.v).any()
    return (np.flatnonzero(bad).max(initial=-1) + 1) * DT
