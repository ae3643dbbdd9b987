"""`eq.solve_ik`: targets that can be reached are reached, limits hold, and what cannot be reached is said with its
reason."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import equipoise as eq
from equipoise.algebra import rigid
from equipoise.body.inverse_kinematics import _IKProblem
from equipoise.body.least_squares import _step
from equipoise.geometry.capsules import collision_capsules
from equipoise.model.urdf_writer import write_urdf

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


# --- what comes before what -------------------------------------------------------------------------------------------


def human_reaching(**options):
    """The human with its feet where they stand and a hand wanted 1.5 m too far, by the frames' names and by roles."""
    human = eq.load("human")
    q0 = human.standing()
    body = eq.Body.of(human)
    feet = {foot: body.robot.pose(q0, body.frames[foot]) for foot in ("left foot", "right foot")}
    if not options.pop("roles", True):
        feet = {body.frames[foot]: X for foot, X in feet.items()}
        human = body.robot
    return feet, eq.solve_ik(human, {**feet, "left hand": (2.0, 0.3, 1.2)}, q0, attempts=2, **options), body


def poses_of_pinocchio(robot, q):
    """Link → its pose by Pinocchio, which reads the robot from the URDF that we write of it."""
    pin = pytest.importorskip("pinocchio")
    model = pin.buildModelFromXML(write_urdf(robot.model), pin.JointModelFreeFlyer())
    theirs = pin.neutral(model)
    theirs[:7] = q[[0, 1, 2, 4, 5, 6, 3]]
    for name, joint in robot.joints.items():
        if joint.type.nq == 1:
            theirs[model.joints[model.getJointId(name)].idx_q] = q[joint.q][0]
    data = model.createData()
    pin.framesForwardKinematics(model, data, theirs)
    return {frame.name: place.homogeneous for frame, place in zip(model.frames, data.oMf, strict=True)}


@pytest.mark.parametrize("options", [{}, {"roles": False, "priorities": {"left hand": 1}}])
def test_a_hand_that_cannot_be_reached_does_not_pull_the_feet(options):
    feet, found, body = human_reaching(**options)
    assert not found and found.reason.startswith("'left hand' is missed by")
    assert all(found.residuals[foot].max() <= 1e-6 for foot in feet)
    for foot, X in feet.items():
        assert_allclose(body.robot.pose(found.q, body.frames.get(foot, foot)), X, atol=1e-6)
    theirs = poses_of_pinocchio(eq.load("human"), found.q)
    for foot in ("left foot", "right foot"):
        part = body.feet[foot]
        X = feet.get(foot, feet.get(body.frames[foot]))
        assert_allclose(theirs[part.link] @ part.X, X, atol=1e-6)
    stretched = found.residuals["left hand"][0]
    _, pulled, _ = human_reaching(roles=False, priorities={})
    assert max(pulled.residuals[body.frames[foot]].max() for foot in ("left foot", "right foot")) > 1e-2
    assert pulled.residuals["left hand"][0] < stretched < 1.5  # it stretches out as far as the feet allow


def test_of_two_targets_that_exclude_each_other_the_heavier_is_nearer():
    """One frame wanted at two places: it ends on the line between them, divided by the squares of the weights."""
    robot = ARM.with_frame("same", TIP, np.eye(4))
    q0 = ARM.random_state(np.random.default_rng(3))[0]
    a = ARM.pose(q0, TIP)[:3, 3]
    b = a + np.array([0.0, 0.0, -0.05])
    for weight, part in ((1.0, 0.5), (3.0, 0.1)):
        found = eq.solve_ik(robot, {TIP: a, "same": b}, q0, weights={TIP: weight}, attempts=1)
        assert_allclose(ARM.pose(found.q, TIP)[:3, 3], a + part * (b - a), atol=1e-4)
    first = eq.solve_ik(robot, {TIP: a, "same": b}, q0, priorities={"same": 0, TIP: 1}, attempts=1)
    assert first.residuals["same"].max() < 1e-6 and first.residuals[TIP][0] == pytest.approx(0.05, abs=1e-6)


def test_three_priorities_are_met_in_their_order():
    robot = ARM.with_frame("same", TIP, np.eye(4)).with_frame("again", TIP, np.eye(4))
    q0 = ARM.random_state(np.random.default_rng(3))[0]
    places = {name: ARM.pose(q0, TIP)[:3, 3] + np.array(by) for name, by in
              ((TIP, (0, 0, -0.05)), ("same", (0, 0.05, np.nan)), ("again", (0.05, np.nan, np.nan)))}  # fmt: skip
    places["same"][0] = np.nan
    places[TIP][:2] = np.nan
    every = eq.solve_ik(robot, places, q0, priorities={TIP: 0, "same": 1, "again": 2}, attempts=1)
    assert every  # each asks for a coordinate of its own, so all are met
    places["again"][2] = places[TIP][2] + 0.1
    found = eq.solve_ik(robot, places, q0, priorities={TIP: 0, "same": 1, "again": 2}, attempts=1)
    assert not found and found.residuals[TIP].max() < 1e-6 and found.residuals["same"].max() < 1e-6
    assert found.residuals["again"][0] == pytest.approx(0.1, abs=1e-4)


# --- what may not be entered ------------------------------------------------------------------------------------------


def test_links_stay_out_of_each_other_on_request():
    """A hand wanted inside the trunk: without the request it goes there, with it it stays outside, and says so."""
    robot = eq.load("human")
    q0, body = robot.standing(), eq.Body.of(robot)
    pairs = body.collision_pairs()
    inside = robot.com(q0)
    free, kept = (
        eq.solve_ik(robot, {"left hand": inside}, q0, base=False, self_collision=asked, attempts=2)
        for asked in (False, True)
    )
    assert free and deepest(robot, free.q, pairs) > 0.02 and not free.penetration
    assert deepest(robot, kept.q, pairs) < 1e-5 and kept.penetration <= 1e-6
    assert not kept and kept.reason.startswith("'left hand' is missed by")
    started = eq.solve_ik(robot, {"left hand": robot.pose(q0, "left_hand")[:3, 3]}, free.q, self_collision=True)
    assert deepest(robot, started.q, pairs) < 1e-5  # even from within


def deepest(robot, q, pairs):
    """m, of all pairs, by Coal's capsules on Pinocchio's poses."""
    coal = pytest.importorskip("coal")
    poses, depth = poses_of_pinocchio(robot, q), 0.0
    for pair in pairs:
        placed = []
        for capsule in pair:
            X, (a, b) = poses[capsule.frame], (capsule.points[0], capsule.points[-1])
            R = rigid.rotation_to((b - a) / np.linalg.norm(b - a)) if (b != a).any() else np.eye(3)
            placed.append(coal.Capsule(capsule.thickness, float(np.linalg.norm(b - a))))
            placed.append(coal.Transform3s(X[:3, :3] @ R, X[:3, :3] @ ((a + b) / 2) + X[:3, 3]))
        depth = max(depth, -coal.distance(*placed, coal.DistanceRequest(), coal.DistanceResult()))
    return depth


def test_no_link_enters_the_floor_on_request():
    """A hand wanted below the ground ends on it, at any height of the floor."""
    robot, capsules = eq.load("human"), collision_capsules(eq.load("human"))
    q0 = robot.standing()
    hand = robot.pose(q0, "left_hand")[:3, 3] * (1, 1, 0) + (0.3, 0.1, -0.3)

    def lowest(q):
        poses = poses_of_pinocchio(robot, q)
        return {k: min((poses[k][:3, :3] @ p + poses[k][:3, 3])[2] - c.thickness for c in cs for p in c.points)
                for k, cs in capsules.items()}  # fmt: skip

    free = eq.solve_ik(robot, {"left hand": hand}, q0, attempts=1)
    assert free and min(lowest(free.q).values()) < -0.2
    for height in (0.0, 0.25):
        raised = q0 + np.array([0, 0, height, *np.zeros(robot.nq - 3)])
        kept = eq.solve_ik(robot, {"left hand": hand + np.array([0, 0, height])}, raised, floor=height, attempts=1)
        rest, found = lowest(q0), lowest(kept.q)
        assert all(found[link] - height > min(rest[link], 0.0) - 1e-5 for link in capsules)
        assert not kept and "'left hand' is missed" in kept.reason
        assert found["left_hand"] - height < 0.02


def test_each_problem_of_a_batch_has_its_reason():
    q = ARM.random_state(np.random.default_rng(1))[0]
    places = np.stack([ARM.pose(q, TIP)[:3, 3], (9.0, 0.0, 0.0), (0.0, 0.0, 7.0)]).reshape(3, 1, 3)
    found = eq.solve_ik(ARM, {TIP: places}, ARM.neutral(), attempts=1)
    assert found.reasons.shape == found.converged.shape == (3, 1)
    assert found.reasons[0, 0] == "converged"
    for k in (1, 2):
        assert f"missed by {found.residuals[TIP][k, 0, 0]:.3g} m" in found.reasons[k, 0]
    assert found.reason == f"2 of 3 did not converge; the worst, number 1: {found.reasons[1, 0]}"


def test_the_tolerance_is_one_for_metres_and_one_for_radians():
    q = ARM.random_state(np.random.default_rng(1))[0]
    X, off = ARM.pose(q, TIP), ARM.pose(q, TIP)
    off[:3, :3] = X[:3, :3] @ rigid.rotation_from_rpy(0.01, 0.0, 0.0)
    for tolerance, good in (((1e-6, 0.02), True), ((0.02, 1e-6), False), (0.02, True), (1e-6, False)):
        found = eq.solve_ik(ARM, {TIP: off}, q, locked=list(ARM.joints), tolerance=tolerance, attempts=1)
        assert bool(found) == good, tolerance


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
        (lambda: eq.solve_ik(ARM, {TIP: np.eye(4)}, weights={"hand": 1.0}), eq.UnknownNameError, "target"),
        (lambda: eq.solve_ik(ARM, {TIP: np.eye(4)}, priorities={"hand": 1}), eq.UnknownNameError, "target"),
        (lambda: eq.solve_ik(ARM, {TIP: np.eye(4)}, weights={TIP: np.nan}), eq.StateError, "weight .* positive"),
        (lambda: eq.solve_ik(ARM, {TIP: np.eye(4)}, tolerance=0.0), eq.StateError, "tolerance is a positive"),
        (lambda: eq.solve_ik(ARM, {TIP: np.eye(4)}, tolerance=(1e-3, np.nan)), eq.StateError, "tolerance"),
        (lambda: eq.solve_ik(ARM, {TIP: np.eye(4)}, tolerance=(1, 2, 3)), eq.StateError, "tolerance"),
        (lambda: eq.solve_ik(ARM, {TIP: np.eye(4)}, floor=np.nan), eq.StateError, "floor is a height"),
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
