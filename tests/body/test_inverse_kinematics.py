"""`eq.solve_ik`: targets that can be reached are reached, limits hold, and what cannot be reached is said with its
reason."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import equipoise as eq
from equipoise.body.inverse_kinematics import _IKProblem
from equipoise.body.least_squares import _step

ARM = eq.load("arm7")
TIP = list(ARM.frames)[-1]


def within_limits(robot, q) -> bool:
    singles = [j for j in robot.joints.values() if j.mimic is None and j.type.nq == 1]
    return all(
        (q[..., j.q] >= j.limits.lower - 1e-12).all() and (q[..., j.q] <= j.limits.upper + 1e-12).all() for j in singles
    )


def test_a_pose_that_was_somewhere_is_reached_again():
    q, _ = ARM.random_state(np.random.default_rng(1))
    found = eq.solve_ik(ARM, {TIP: ARM.pose(q, TIP)}, ARM.neutral())
    assert found and found.reason == "converged"
    assert_allclose(ARM.pose(found.q, TIP), ARM.pose(q, TIP), atol=1e-6)
    assert found.residuals[TIP].shape == (2,) and found.residuals[TIP].max() <= 1e-6
    assert within_limits(ARM, found.q)
    assert "converged" in repr(found)


def test_a_batch_is_solved_at_once_and_each_as_alone():
    rng = np.random.default_rng(2)
    Q = np.array([ARM.random_state(rng)[0] for _ in range(60)])
    X = ARM.pose(Q, TIP)
    found = eq.solve_ik(ARM, {TIP: X}, ARM.neutral())
    assert found.converged.shape == (60,) and found.converged.mean() >= 0.95
    good = found.converged
    assert_allclose(ARM.pose(found.q[good], TIP), X[good], atol=2e-6)
    assert within_limits(ARM, found.q)
    first = int(np.flatnonzero(good)[0])
    alone = eq.solve_ik(ARM, {TIP: X[first]}, ARM.neutral())
    assert alone.converged


def test_roles_of_the_body_and_the_centre_of_mass_are_targets():
    human = eq.load("human")
    q0 = human.standing()
    feet = {foot: human.pose(q0, foot) for foot in ("left_foot", "right_foot")}
    body = eq.Body.of(human)
    hand = body.robot.pose(q0, body.frames["left hand"])[:3, 3] + (0.1, 0.0, 0.2)
    com = human.com(q0) * (1, 1, np.nan)
    found = eq.solve_ik(human, {"left hand": hand, "com": com, **feet}, q0)
    assert found, found.reason
    assert_allclose(body.robot.pose(found.q, body.frames["left hand"])[:3, 3], hand, atol=1e-6)
    assert_allclose(human.com(found.q)[:2], com[:2], atol=1e-6)
    for foot, X in feet.items():
        assert_allclose(human.pose(found.q, foot), X, atol=2e-6)


def test_what_cannot_be_reached_is_said_with_its_reason():
    found = eq.solve_ik(ARM, {TIP: (9.0, 0.0, 0.0)}, ARM.neutral(), attempts=2)
    assert not found
    assert found.reason.startswith(f"{TIP!r} is missed by")
    reach = np.linalg.norm(ARM.pose(found.q, TIP)[:3, 3])
    assert_allclose(found.residuals[TIP][0], np.linalg.norm(ARM.pose(found.q, TIP)[:3, 3] - (9, 0, 0)))
    assert reach > 0.8  # stretched towards it
    many = eq.solve_ik(
        ARM, {TIP: np.array([[9.0, 0, 0], ARM.pose(ARM.neutral(), TIP)[:3, 3]])}, ARM.neutral(), attempts=2
    )
    assert_array_equal(many.converged, [False, True])
    assert "1 of 2 did not converge" in many.reason


def test_joints_at_their_ends_stay_only_where_they_are_pushed_out():
    limits = np.array([[j.limits.lower, j.limits.upper] for j in ARM.joints.values()])
    for end, out in ((0, -1.0), (1, 1.0)):
        q = limits[:, end]
        problem = _IKProblem.of(ARM, {TIP: ARM.pose(q, TIP)}, q, (), True)
        J = ARM.jacobian(q, TIP)
        for k in range(ARM.nv):
            for way in (out, -out):
                r = -way * J[:, k]  # the joint alone, moved this way, would meet it
                step = _step(q[None], r[None], J[None], np.array([1e-9]), problem.bounds, problem.at)[0]
                assert (step[k] == 0.0) == (way == out), (end, k, way)


def test_a_free_coordinate_has_no_rows():
    q, _ = ARM.random_state(np.random.default_rng(4))
    place = ARM.pose(q, TIP)[:3, 3] + np.array([0.1, np.nan, 0.0])
    r, J = _IKProblem.of(ARM, {TIP: place}, q, (), True).rows(q[None])
    assert_allclose(r[0], [-0.1, 0.0, 0.0], atol=1e-12)
    assert not J[0, 1].any() and J[0, 0].any() and J[0, 2].any()


def test_more_attempts_never_end_farther_away():
    Q = np.array([ARM.random_state(np.random.default_rng(k))[0] for k in range(8)])
    X = ARM.pose(Q, TIP)
    X[:, :3, 3] *= 1.3
    few, many = (eq.solve_ik(ARM, {TIP: X}, ARM.neutral(), attempts=n, iterations=25) for n in (1, 3))
    costs = [(found.residuals[TIP] ** 2).sum(axis=-1) for found in (few, many)]
    assert (costs[1] <= costs[0] + 1e-9).all()


def test_locked_joints_and_a_fixed_base_stay():
    human = eq.load("human")
    q0 = human.standing()
    hand = human.pose(q0, "left_hand")[:3, 3] + (0.15, 0.0, 0.1)
    found = eq.solve_ik(human, {"left_hand": hand}, q0, base=False, locked=["left_elbow"])
    assert found, found.reason
    assert_array_equal(found.q[:7], q0[:7])
    assert_array_equal(found.q[human.joints["left_elbow"].q], q0[human.joints["left_elbow"].q])
    assert found.q.flags.writeable is False


@pytest.mark.parametrize(
    "call, error, words",
    [
        (lambda: eq.solve_ik(ARM, {}), eq.ShapeError, "at least one target"),
        (lambda: eq.solve_ik(ARM, {"tipp": np.eye(4)}), eq.UnknownNameError, "'tipp'"),
        (lambda: eq.solve_ik(ARM, {TIP: np.zeros(5)}), eq.ShapeError, "a pose, .* or a place"),
        (lambda: eq.solve_ik(ARM, {TIP: 2 * np.eye(4)}), eq.StateError, "not a rigid motion"),
        (lambda: eq.solve_ik(ARM, {TIP: np.diag([1.0, 1, -1, 1])}), eq.StateError, "not a rigid motion"),
        (lambda: eq.solve_ik(ARM, {TIP: [np.inf, 0, 0]}), eq.StateError, "finite"),
        (lambda: eq.solve_ik(ARM, {TIP: [np.nan] * 3}), eq.StateError, "finite"),
        (lambda: eq.solve_ik(ARM, {TIP: np.eye(4)}, np.zeros(3)), eq.ShapeError, "q0 is finite and of shape"),
        (lambda: eq.solve_ik(ARM, {TIP: np.eye(4)}, locked=["elbow_9"]), eq.UnknownNameError, "joint"),
    ],
)
def test_bad_requests_teach(call, error, words):
    with pytest.raises(error, match=words):
        call()


@pytest.mark.parametrize("end", ["lower", "upper"])
def test_joints_leave_the_ends_of_their_range(end):
    """A start at all limits of one side is no trap: joints that are pulled inside move, from the first try on."""
    limits = np.array([getattr(joint.limits, end) for joint in ARM.joints.values()])
    q0 = np.where(np.isfinite(limits), limits, 0.0)
    target = ARM.pose(0.9 * q0, TIP)
    found = eq.solve_ik(ARM, {TIP: target}, q0, attempts=1, iterations=300)
    assert found, found.reason
    assert np.abs(found.q - q0).max() > 0.05 and within_limits(ARM, found.q)


def test_locked_joints_stay_even_beyond_their_limits():
    """What may not move is not brought into its range either."""
    name, joint = next((name, joint) for name, joint in ARM.joints.items() if np.isfinite(joint.limits.upper))
    q0 = ARM.neutral()
    q0[joint.q] = joint.limits.upper + 0.3
    found = eq.solve_ik(ARM, {TIP: ARM.pose(q0, TIP)[:3, 3] + (0.0, 0.0, 0.02)}, q0, locked=[name], attempts=1)
    assert found.q[joint.q][0] == joint.limits.upper + 0.3
