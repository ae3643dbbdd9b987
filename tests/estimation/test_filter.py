"""The filter's laws, and its kernel against dense matrices."""

from types import SimpleNamespace

import dense_filter
import numpy as np
import pytest
import support
from numpy.testing import assert_allclose
from scipy.linalg import expm
from scipy.spatial.transform import Rotation

import equipoise as eq
from equipoise.estimation.belief import Belief, BeliefLayout

NOISE = eq.FilterNoise(0.01, 0.002, 0.1, 0.003, 0.05, 0.02, 0.004, 0.06)
FEET = ("left_foot", "right_foot")


@pytest.fixture(scope="module")
def robot():
    """The human with its IMU on a link that moves against the base, oblique and off its origin."""
    human = support.load("human")
    X = np.eye(4)
    X[:3, :3], X[:3, 3] = Rotation.from_rotvec([0.3, -0.8, 0.4]).as_matrix(), [0.05, -0.02, 0.11]
    return human.with_frame("imu", "head", X)


@pytest.fixture(scope="module")
def estimator(robot):
    return eq.Estimator(robot, "imu", FEET, noise=NOISE)


def a_belief(rng, k=2, soles=0):
    n = 15 + 3 * k + 3 * soles
    root = rng.normal(size=(n, n)) * 0.3
    vectors = rng.normal(size=(2 + k, 3))
    R = Rotation.random(random_state=int(rng.integers(1000))).as_matrix()
    return Belief.of(R, vectors[0], vectors[1], vectors[2:], *rng.normal(size=(2, 3)) * 0.1, root @ root.T)


def readings(robot, rng):
    q, v = robot.random_state(rng)
    return rng.normal(size=3), rng.normal(size=3) * 3 + [0, 0, 9.8], q[7:], v[6:]


def matrix(belief):
    return dense_filter.group(belief.orientation, belief.velocity, belief.position, *belief.contact_positions)


def kinematics(robot, joints, frame):
    """(h, J) of a contact in the IMU's axes by finite differences of poses."""

    def h(x):
        q = robot.neutral()
        q[7:] = x
        X = robot.pose(q, "imu")
        return X[:3, :3].T @ (robot.pose(q, frame)[:3, 3] - X[:3, 3])

    step = 1e-6
    J = np.array([(h(joints + step * e) - h(joints - step * e)) / (2 * step) for e in np.eye(len(joints))]).T
    return h(joints), J


@pytest.mark.paper("X5")
@pytest.mark.parametrize("held", [(1, 1), (1, 0), (0, 1), (0, 0)])
def test_a_step_is_that_of_dense_matrices(robot, estimator, rng, held):
    belief, dt = a_belief(rng), 0.01
    w, a, joints, rates = readings(robot, rng)
    X, bg, ba, P = matrix(belief), belief.gyroscope_bias, belief.accelerometer_bias, belief.covariance
    g = np.array(robot.model.gravity)
    X, P = dense_filter.predict(X, bg, ba, P, w, a, NOISE, g, dt)
    seen = [kinematics(robot, joints, frame) for frame in FEET]
    total = 0.0
    squares = np.zeros(2)
    for i, (h, J) in enumerate(seen):
        if held[i]:
            X, bg, ba, P, squares[i], likelihood = dense_filter.correct(X, bg, ba, P, i, h, J, NOISE)
            total += likelihood
    for i, (h, J) in enumerate(seen):
        if not held[i]:
            X, P = dense_filter.place(X, P, i, h, J, NOISE)
    result = estimator.step(belief, dt, w, a, joints, rates, np.array(held, dtype=float))
    assert_allclose(matrix(result.belief), X, atol=2e-9)  # J is by finite differences
    assert_allclose(result.belief.covariance, P, atol=2e-9)
    assert_allclose(
        np.concatenate([result.belief.gyroscope_bias, result.belief.accelerometer_bias]), [*bg, *ba], atol=2e-9
    )
    assert_allclose(result.squares, squares, rtol=1e-6, atol=1e-12)
    assert_allclose(result.likelihood, total, rtol=1e-7, atol=1e-9)


@pytest.mark.paper("X5")
def test_the_prior_is_one_of_the_invariant_error(rng):
    """Independent errors of turn, velocity and position, as ξ of X̄ X⁻¹ in finite differences; a contact is placed from
    the position and errs with it."""
    X = matrix(a_belief(rng))
    prior, step = eq.Prior(0.3, 0.2, 0.1, 0.01, 0.02), 1e-6
    P = prior.covariance(X[:3, 3], X[:3, 4], 2)
    columns = []
    for e in np.eye(9) * step:
        Y = dense_filter.group(Rotation.from_rotvec(e[:3]).as_matrix() @ X[:3, :3], X[:3, 3] + e[3:6], X[:3, 4] + e[6:])
        columns.append(dense_filter.log(Y @ np.linalg.inv(X[:5, :5])) / step)
    J = np.array(columns).T
    assert_allclose(P[:9, :9], J @ np.diag(np.repeat([0.3, 0.2, 0.1], 3) ** 2) @ J.T, atol=1e-5)
    for i in (9, 12):
        assert_allclose(P[i : i + 3, :9], P[6:9, :9])
        assert_allclose(P[i : i + 3, i : i + 3], P[6:9, 6:9])


def test_logarithms_of_many_are_those_of_each(rng):
    xi = rng.normal(size=(5, 9)) * np.repeat([0.5, 1.0], [3, 6])  # turns of less than half a one
    xi[0, :3] = 0.0
    X = np.array([expm(dense_filter.algebra(each)) for each in xi])
    found = dense_filter.logs(X[:, :3, :3], X[:, :3, 3], X[:, :3, 4])
    assert_allclose(found, xi, atol=1e-12)
    assert_allclose(found[1], dense_filter.log(X[1]), atol=1e-12)


CORNERS = np.array([[x, y, -0.05] for x in (-0.05, 0.15) for y in (-0.04, 0.04)])
ARM = np.hypot(0.1, 0.04)


@pytest.fixture(scope="module")
def soles(robot):
    """Feet with corners, whose mean is the contact point."""
    feet = [SimpleNamespace(frame=frame, points=CORNERS) for frame in FEET]
    return eq.Estimator(robot, "imu", feet, noise=NOISE)


def leant(belief, leans):
    numbers = belief.numbers.copy()
    for i, lean in enumerate(leans):
        numbers[..., belief.layout.lean(i)] = lean
    return Belief(numbers, belief.contacts)


@pytest.mark.paper("X5")
def test_held_points_creep_by_the_speed_of_the_robot_and_of_their_corners(robot, soles, rng):
    """Density², of each contact its own: contact² + creep² v² + rocking² (speed of the corners)², this without what the
    gyroscope's bias may be."""
    belief, leans, dt = a_belief(rng, soles=2), rng.normal(size=(2, 6)), 0.01
    bias = belief.covariance[-6:-3, -6:-3].trace()
    rates = np.square(leans[:, :3] - leans[:, 3:]).sum(axis=1) / 0.05**2
    assert (rates > bias).all()
    told = dict(gyroscope=0.01, accelerometer=0.1, encoder=0.0, kinematics=1e9)  # a foot seen so badly corrects nothing
    noise = eq.FilterNoise(contact=0.05, creep=0.06, rocking=0.3, **told)
    v = np.linalg.norm(belief.velocity)
    for i in range(2):
        density = np.sqrt(0.05**2 + (0.06 * v) ** 2 + (0.3 * ARM) ** 2 * (rates[i] - bias))
        plain = eq.FilterNoise(contact=density, **told)
        inputs = dt, *readings(robot, rng), np.ones(2)
        P, Q = (soles.step(leant(belief, leans), *inputs, n.numbers).belief.covariance for n in (noise, plain))
        own = slice(9 + 3 * i, 12 + 3 * i)
        assert_allclose(P[own, own], Q[own, own], rtol=1e-9)
        other = slice(12 - 3 * i, 15 - 3 * i)
        assert np.abs(P[other, other] - Q[other, other]).max() > 1e-3  # that one rocks otherwise


@pytest.mark.paper("X5")
def test_leans_follow_the_soles_and_corrections_are_no_motion(robot, soles, rng):
    """Smoothed quickly and slowly where a contact is held and was seen before, else as it is now."""
    dt = 0.01
    for held, known in ((1, 1), (1, 0), (0, 1)):
        belief, lean = a_belief(rng, soles=2), rng.normal(size=6)
        w, a, joints, rates = readings(robot, rng)
        before = leant(belief, np.tile(known * lean, (2, 1)))
        blind = eq.FilterNoise(encoder=0.0, kinematics=1e9).numbers
        ahead, after = (soles.step(before, dt, w, a, joints, rates, held * np.ones(2), n).belief for n in (blind, None))
        q = robot.neutral()
        q[7:] = joints
        for i, frame in enumerate(FEET):
            R_IC = robot.pose(q, "imu")[:3, :3].T @ robot.pose(q, frame)[:3, :3]
            predicted, now = ((b.orientation @ R_IC).T @ [0, 0, 1] for b in (ahead, after))
            told = np.concatenate([
                old + (predicted - old) * dt / (tau + dt) + now - predicted
                for old, tau in ((lean[:3], 0.01), (lean[3:], 0.05))
            ])  # fmt: skip
            expected = told if held and known else np.tile(now, 2)
            assert_allclose(after.numbers[after.layout.lean(i)], expected, atol=1e-9)
            assert np.linalg.norm(now - predicted) >= 0.01 * held


@pytest.mark.paper("X5")
def test_a_flat_sole_carries_its_orientation(robot):
    """One foot stands, the gyroscope is off by 0.01 rad/s: about a point the heading drifts, on a sole it cannot."""
    q, rates, turns = robot.standing(), np.zeros(robot.nv - 6), []
    felt = robot.pose(q, "imu")[:3, :3].T @ [0.0, 0.0, 9.80665]
    off = robot.pose(q, "imu")[:3, :3].T @ [0.0, 0.0, 0.01]
    for foot in (SimpleNamespace(frame=FEET[0], points=CORNERS), FEET[0]):
        estimator = eq.Estimator(robot, "imu", [foot], noise=eq.Sensors.realistic().filter_noise())
        estimator.reset(q, t=0.0)
        for k in range(1, 1000):
            told, _ = estimator(k * 2e-3, off, felt, q[7:], rates)
        turns.append(np.degrees(2 * abs(told[6] * q[3] - told[3] * q[6])))
        assert estimator.rejected == 0
    assert turns[0] < 0.02 and turns[1] > 1.0


@pytest.mark.paper("X5")
def test_soles_are_linear_measurements_of_the_turn(robot, soles, rng):
    """H ξ = (ξ_d − ξ_p, ψ − φ) with the noise of all joints at once: covariance and innovation by dense matrices."""
    belief, dt = a_belief(rng, soles=2), 1e-9
    numbers = belief.numbers.copy()
    kept = Rotation.from_rotvec([0.3, -0.5, 0.8])
    numbers[belief.layout.sole(0)] = np.roll(kept.as_quat(), 1)
    belief = Belief(numbers, 2)
    w, a, joints, rates = readings(robot, rng)
    P, n = belief.covariance, len(belief.covariance)
    q = robot.neutral()
    q[7:] = joints
    X_I, X_C = robot.pose(q, "imu"), robot.pose(q, FEET[0])
    middle = (X_C @ [*CORNERS.mean(axis=0), 1.0])[:3]
    turn = belief.orientation @ X_I[:3, :3].T  # of the base
    J_I, J_C = robot.jacobian(q, "imu")[:, 6:], robot.jacobian(q, FEET[0])[:, 6:]
    spin = J_C[3:] - J_I[3:]
    moves = J_C[:3] + np.cross(J_C[3:].T, middle - X_C[:3, 3]).T
    moves -= J_I[:3] + np.cross(J_I[3:].T, middle - X_I[:3, 3]).T
    J = np.vstack([turn @ moves, turn @ spin])
    N = NOISE.encoder**2 * J @ J.T + np.diag(np.repeat([NOISE.kinematics, NOISE.kinematics / ARM], 3) ** 2)
    H = np.zeros((6, n))
    H[:3, 6:9], H[:3, 9:12], H[3:, :3], H[3:, 15:18] = -np.eye(3), np.eye(3), -np.eye(3), np.eye(3)
    seen = Rotation.from_matrix(turn @ X_C[:3, :3])
    place = belief.position + turn @ (middle - X_I[:3, 3]) - belief.contact_positions[0]
    off = np.concatenate([place, (seen * kept.inv()).as_rotvec()])
    S = H @ P @ H.T + N
    K = P @ H.T @ np.linalg.inv(S)
    A = np.eye(n) - K @ H
    after = A @ P @ A.T + K @ N @ K.T
    said = soles.step(belief, dt, w, a, joints, rates, np.array([1.0, 0.0]))
    assert_allclose(said.squares[0], off @ np.linalg.solve(S, off), rtol=1e-5)
    same = np.r_[0:12, 15:18, 21:27]  # all but the other foot, which is placed anew
    assert_allclose(said.belief.covariance[np.ix_(same, same)], after[np.ix_(same, same)], rtol=1e-5, atol=1e-6)
    moved = Rotation.from_quat(np.roll(said.belief.numbers[said.belief.layout.sole(0)], -1))
    assert_allclose((moved * kept.inv()).as_rotvec(), (K @ off)[15:18], atol=1e-6)


@pytest.mark.paper("X5")
def test_large_errors_obey_their_linear_equation_whatever_the_motion(robot, estimator, rng):
    """ξ̇ = A ξ holds exactly for errors of any size, here 2 rad, metres and metres per second.

    [HGEG20, log-linear property of the error].
    """
    xi = rng.normal(size=15)
    xi[:3] *= 2 / np.linalg.norm(xi[:3])
    zero = np.zeros((2, 3))
    X = dense_filter.group(np.eye(3), *rng.normal(size=(4, 3)))
    Y = expm(dense_filter.algebra(xi)) @ X
    both = [Belief.of(Z[:3, :3], Z[:3, 3], Z[:3, 4], Z[:3, 5:].T, *zero, np.eye(21)) for Z in (X, Y)]
    belief, T = Belief(np.array([b.numbers for b in both]), 2), 0.0
    none = np.array([0, 0, 0, 0, 0, 0, 1e9, 0, 0, 0])  # a foot that is seen this badly corrects nothing
    for _ in range(100):
        w, a, joints, rates = readings(robot, rng)
        belief = estimator.step(belief, 0.02, w, a, joints, rates, np.ones(2), none).belief
        T += 0.02
    A = np.zeros((15, 15))
    A[3:6, 0:3], A[6:9, 3:6] = dense_filter.hat(np.array(robot.model.gravity)), np.eye(3)
    X, Y = (matrix(Belief(numbers, 2)) for numbers in belief.numbers)
    assert_allclose(Y @ np.linalg.inv(X), expm(dense_filter.algebra(expm(A * T) @ xi)), atol=1e-9)


def test_covariance_stays_symmetric_and_positive(robot, estimator, rng):
    belief = a_belief(rng)
    for k in range(300):
        w, a, joints, rates = readings(robot, rng)
        belief = estimator.step(belief, 1e-3, w, a, joints, rates, np.array([k % 3 > 0, k % 5 > 0], dtype=float)).belief
    assert np.linalg.eigvalsh(belief.covariance).min() > 0
    assert_allclose(np.linalg.norm(belief.numbers[:4]), 1, rtol=1e-14)


def test_the_base_follows_from_the_imu(robot, estimator, rng):
    w, a, joints, rates = readings(robot, rng)
    result = estimator.step(a_belief(rng), 0.01, w, a, joints, rates, np.ones(2))
    belief, X = result.belief, robot.pose(result.q, "imu")
    assert_allclose(X[:3, :3], belief.orientation, atol=1e-12)
    assert_allclose(X[:3, 3], belief.position, atol=1e-12)
    V = robot.velocity(result.q, result.v, "imu")
    assert_allclose(V[:3], belief.velocity, atol=1e-12)
    assert_allclose(V[3:], belief.orientation @ (w - belief.gyroscope_bias), atol=1e-12)
    assert_allclose(result.q[7:], joints)
    assert_allclose(result.v[6:], rates)


def test_a_batch_is_many_single_steps(robot, estimator, rng):
    beliefs = [a_belief(rng) for _ in range(19)]
    inputs = [readings(robot, rng) for _ in beliefs]
    held = rng.integers(0, 2, size=(19, 2)).astype(float)
    columns = [np.array(column) for column in zip(*inputs, strict=True)]
    dt = rng.uniform(1e-3, 1e-2, size=19)
    many = estimator.step(Belief(np.array([b.numbers for b in beliefs]), 2), dt, *columns, held)
    for i, belief in enumerate(beliefs):
        one = estimator.step(belief, dt[i], *inputs[i], held[i])
        assert_allclose(many.belief.numbers[i], one.belief.numbers, atol=1e-12)
        assert_allclose(many.v[i], one.v, atol=1e-12)


def test_a_contact_that_was_lost_is_placed_anew(robot, rng):
    """The first step of a contact only places it; the second corrects."""
    unwatched = eq.TouchSettings(slip_speed=np.inf)  # at random rates no foot stands still
    estimator = eq.Estimator(robot, "imu", FEET, noise=NOISE, settings=unwatched)
    w, a, joints, rates = readings(robot, rng)
    q, v = robot.random_state(rng)
    estimator.reset(q, v, t=0.0)
    for k, flags in enumerate([(1, 0), (1, 1), (1, 1), (0, 1), (1, 1)]):
        q_now, _ = estimator(0.01 * (k + 1), w, a, joints, rates, contacts=flags)
        squares = estimator.squares
        assert (squares["left_foot"] > 0) == (k in (1, 2))
        assert (squares["right_foot"] > 0) == (k in (2, 3, 4))
        for i, frame in enumerate(FEET):
            gap = np.linalg.norm(estimator.belief.contact_positions[i] - robot.pose(q_now, frame)[:3, 3])
            assert (gap < 1e-12) == (squares[frame] == 0)
    assert estimator.touching == {"left_foot": True, "right_foot": True}


def test_without_a_start_it_stands_as_gravity_says(robot, rng):
    estimator = eq.Estimator(robot, "imu", FEET)
    q, _ = robot.random_state(rng)
    turn = Rotation.from_rotvec([0.4, -0.3, 0.0]).as_matrix()
    q[3:7] = np.roll(Rotation.from_matrix(turn).as_quat(), 1)
    felt = robot.pose(q, "imu")[:3, :3].T @ [0, 0, 9.80665]
    said, v = estimator(0.0, np.zeros(3), felt, q[7:], np.zeros(robot.nv - 6))
    assert_allclose(robot.pose(said, "imu")[2, :3], robot.pose(q, "imu")[2, :3], atol=1e-12)
    assert_allclose(min(estimator.contact_points(said)[:, 2]), 0, atol=1e-12)
    assert_allclose(v, 0, atol=1e-12)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_not_finite_is_passed_over(robot, rng, bad):
    estimator = eq.Estimator(robot, "imu", FEET)
    w, a, joints, rates = readings(robot, rng)
    first = estimator(0.0, w, a, joints, rates)
    for part in range(4):
        spoiled = [x.copy() for x in (w, a, joints, rates)]
        spoiled[part][1] = bad
        said = estimator(0.01, *spoiled)
        assert_allclose(np.concatenate(said), np.concatenate(first))
    assert estimator.counts == {"not numbers": 4, "sensors": 0, "time": 0, "contacts": 0, "states": 0}
    for wrong in ("much", None, np.zeros(2), [[1.0], [2.0, 3.0]]):
        for part in range(4):
            spoiled = [w, a, joints, rates]
            spoiled[part] = wrong
            assert_allclose(np.concatenate(estimator(0.01, *spoiled)), np.concatenate(first))
    for t in ("0.02", None, bad, 10**400):
        assert_allclose(np.concatenate(estimator(t, w, a, joints, rates)), np.concatenate(first))
    assert estimator.rejected == estimator.counts["not numbers"] == 24
    after, _ = estimator(0.02, w, a, joints, rates)
    assert np.isfinite(after).all()
    assert estimator.rejected == 24


def test_heights_of_contacts_are_above_the_lowest_that_stands(robot, rng):
    estimator = eq.Estimator(robot, "imu", FEET)
    q, _ = robot.random_state(rng)
    estimator.reset(q)
    assert estimator._heights() is None
    z = estimator.contact_points(q)[:, 2]
    for standing in (z == z.max(), z < np.inf):
        estimator._touching[:] = standing
        assert_allclose(estimator._heights(), z - z[standing].min(), atol=1e-12)


def test_wrenches_are_at_the_frames_of_contacts(robot, rng):
    """A force at a point of the foot turns about the frame's origin: M = τ + r × f."""
    point, foot = np.array([0.1, -0.05, 0.02]), FEET[0]
    estimator = eq.Estimator(robot, "imu", {"foot": SimpleNamespace(frame=foot, points=[point])})
    q, _ = robot.random_state(rng)
    estimator.reset(q)
    said = rng.normal(size=6)
    estimator.touch = SimpleNamespace(smoothed={"foot": said}, touching={"foot": True})
    arm = robot.pose(q, foot)[:3, :3] @ point
    assert_allclose(estimator.wrenches["foot"], [*said[:3], *(said[3:] + np.cross(arm, said[:3]))], atol=1e-12)
    estimator.touch = SimpleNamespace(smoothed={"foot": said}, touching={"foot": False})
    assert not estimator.wrenches["foot"].any()


def test_a_bad_first_sample_starts_nothing(robot, rng):
    estimator = eq.Estimator(robot, "imu", FEET)
    w, a, joints, rates = readings(robot, rng)
    q, _ = estimator(0.0, w, np.full(3, np.nan), joints, rates)
    assert_allclose(q, robot.neutral())
    estimator(0.1, w, a, joints, rates)
    assert estimator.rejected == 1


def test_errors_teach(robot):
    with pytest.raises(eq.UnknownNameError, match="imu"):
        eq.Estimator(robot, "imu_on_the_moon", FEET)
    with pytest.raises(eq.UnknownNameError, match="left_foot"):
        eq.Estimator(robot, "imu", ["left_fot"])
    with pytest.raises(eq.ModelError, match="fixed base"):
        eq.Estimator(support.load("arm7"), "link1", [])
    with pytest.raises(eq.StateError, match="gyroscope"):
        eq.FilterNoise(gyroscope=np.nan)
    with pytest.raises(eq.StateError, match="known exactly"):
        eq.FilterNoise(encoder=0.0)
    with pytest.raises(eq.ShapeError, match="two contacts"):
        eq.Estimator(robot, "imu", ["left_foot", "left_foot"])
    estimator = eq.Estimator(robot, "imu", FEET)
    args = 0.0, np.zeros(3), np.array([0, 0, 9.8]), np.zeros(robot.nq - 7), np.zeros(robot.nv - 6)
    with pytest.raises(eq.UnknownNameError, match="right_foot"):
        estimator(*args, contacts={"tail": True})
    with pytest.raises(eq.ShapeError, match="one number for each"):
        estimator(*args, contacts=[True])
    with pytest.raises(eq.ShapeError, match="belief"):
        Belief(np.zeros(7), 2)
    assert BeliefLayout(2).size == 16 + 6 + 21 * 22 // 2 + 2 * 6


def test_a_robot_without_contacts_dead_reckons(robot, rng):
    estimator = eq.Estimator(robot, "imu", [])
    w, a, joints, rates = readings(robot, rng)
    q, v = robot.random_state(rng)
    estimator.reset(q, v, t=0.0)
    q1, _ = estimator(0.01, w, a, joints, rates)
    assert np.isfinite(q1).all()
    assert estimator.rejected == 0
