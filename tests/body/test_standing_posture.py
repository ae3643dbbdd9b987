"""Standing postures: flat soles, balance, limits, bent knees, free arms."""

from __future__ import annotations

from dataclasses import replace

import legged
import numpy as np
import pytest
from numpy.testing import assert_allclose

import equipoise as eq
from equipoise.body.anatomy import anatomy_of
from equipoise.body.facing import knee_of
from equipoise.body.hulls import overlap
from equipoise.body.posture import _PostureProblem
from equipoise.model.skeleton import Skeleton

# Robots whose soles are known from shapes; the others stand on what was guessed.
SHAPED = legged.marked(name for name in legged.ALL if name not in ("simple_humanoid", "hrp4c"))


def test_a_posture_of_the_description_draws_ten_times_as_hard_as_zero():
    robot = legged.robot("human")
    free, given = (_PostureProblem.of(anatomy_of(Skeleton(robot)), (), x) for x in ({}, {"left_knee": 0.3}))
    assert given.given and not free.given
    q = robot.random_state(np.random.default_rng(0))[0]
    pulls, slopes = replace(given, rest=free.rest)._near_rest(q)
    assert np.abs(pulls).max() > 0
    assert_allclose(pulls, 10 * free._near_rest(q)[0], rtol=1e-12)
    assert_allclose(slopes, 10 * free._near_rest(q)[1], rtol=1e-12)


@pytest.mark.parametrize("name", legged.marked(["human", "g1", "go2", "tiago", "cassie_mjcf", "arm7"]))
def test_the_skeleton_moves_as_the_kernels_say(name, rng):
    """Poses, Jacobians and the centre of mass on plain arrays against the compiled ones, mimic and ball joints
    included."""
    robot = legged.robot(name)
    skeleton = Skeleton(robot)
    q, v = robot.random_state(rng)
    motion = skeleton.at(q)
    for link in list(robot.links)[:: max(1, len(robot.links) // 4)]:
        body, X = robot.place(link)
        pose, J = robot.pose(q, link), robot.jacobian(q, link)
        x, J_x = skeleton.points(motion, [body], X[None, :3, 3])
        assert_allclose(x[0], pose[:3, 3], atol=1e-12)
        assert_allclose(motion.R[body] @ X[:3, :3], pose[:3, :3], atol=1e-12)
        assert_allclose(J_x[0], J[:3], atol=1e-12)
        assert_allclose(skeleton.turning(motion, body), J[3:], atol=1e-12)
    if robot.tree.fixed_mass == 0:
        c, J_c = skeleton.centre_of_mass(motion)
        assert_allclose(c, robot.com(q), atol=1e-12)
        assert_allclose(J_c, robot.com_jacobian(q), atol=1e-12)
    assert_allclose(skeleton.integrate(q, 0.1 * v), robot.integrate(q, v, 0.1), atol=1e-12)


@pytest.mark.parametrize("name", SHAPED)
def test_soles_are_flat_on_the_ground_and_the_centre_of_mass_is_over_their_middle(name):
    body = legged.body(name)
    robot, q = body.robot, body.standing
    skeleton = Skeleton(robot)
    motion = skeleton.at(q)
    middles = []
    for role, part in body.feet.items():
        i, X = robot.place(body.frames[role])
        R, p = motion.R[i] @ X[:3, :3], motion.p[i] + motion.R[i] @ X[:3, 3]
        middles.append(p[:2])
        assert np.abs((part.points @ R.T + p)[:, 2]).max() < 3e-3, role
        if part.contact == "flat":
            assert R[2, 2] > np.cos(0.01) and R[0, 0] > 0.9  # level, toes ahead
    c, _ = skeleton.centre_of_mass(motion)
    assert np.linalg.norm(c[:2] - np.mean(middles, axis=0)) < 0.012
    assert_allclose(np.mean(middles, axis=0), 0.0, atol=1e-6)


@pytest.mark.parametrize("name", SHAPED)
def test_joints_are_within_limits_and_the_torso_is_upright(name):
    body = legged.body(name)
    q, limits = body.standing, body.robot.limits
    lower, upper = np.minimum(limits.lower, limits.upper), np.maximum(limits.lower, limits.upper)
    at = [joint.q.start for joint in body.robot.joints.values() if joint.mimic is None and joint.type.nq == 1]
    assert (q[at] >= lower[at] - 1e-6).all() and (q[at] <= upper[at] + 1e-6).all()
    i, X = body.robot.place(body.frames["torso"])
    R = Skeleton(body.robot).at(q).R[i] @ X[:3, :3]
    assert R[2, 2] > np.cos(0.15) and R[0, 0] > np.cos(0.15)


@pytest.mark.parametrize(
    "name", legged.marked(["human", "g1", "talos_full", "jvrc1", "romeo", "icub", "thormang3", "g1_mjcf"])
)
def test_knees_are_bent_forward_and_off_their_limits(name):
    body = legged.body(name)
    anatomy = anatomy_of(Skeleton(legged.robot(name)))
    motion = Skeleton(body.robot).at(body.standing)
    for _, leg in anatomy.feet:
        knee = leg.chain[knee_of(leg, np.array([0.0, 1.0, 0.0]))]
        hip, ankle = motion.p[leg.chain[0]], motion.p[leg.end]
        middle = (hip + ankle) / 2
        assert motion.p[knee][0] > middle[0] + 0.03 * leg.reach
        joint = body.robot.joints[anatomy.skeleton.joint(knee)]
        position = body.standing[joint.q.start]
        assert joint.limits.lower + 0.1 < position < joint.limits.upper - 0.1


@pytest.mark.parametrize("name", legged.marked(["human", "g1", "talos_full", "jvrc1", "icub", "poppy"]))
def test_hands_hang_beside_the_body_lower_than_the_shoulders(name):
    body = legged.body(name)
    q = body.standing
    motion = Skeleton(body.robot).at(q)
    for role, part in body.hands.items():
        i, X = body.robot.place(body.frames[role])
        hand = motion.p[i] + motion.R[i] @ X[:3, 3]
        j = next(k for k, b in enumerate(body.robot.tree.bodies) if b.name == part.joints[0])
        assert hand[2] < motion.p[j][2] - 0.1
        assert (hand[1] > 0) == role.startswith("left")
    assert not [finding for finding in body.findings if finding.what == "self-collision"] or name == "icub"


def test_no_foot_is_below_the_ground_when_one_leg_is_bent():
    """Whatever the joints, the lowest point of the soles is at height zero."""
    from equipoise.body.grounding import grounded

    body = legged.body("human")
    q = body.standing.copy()
    q[body.robot.joints["left_knee"].q] += 0.6
    moved = grounded(body.robot, q, body.feet, body.up, body.front)
    heights = [
        body.robot.pose(moved, role)[2, 3] + (part.points @ body.robot.pose(moved, role)[:3, :3].T)[:, 2]
        for role, part in body.feet.items()
    ]
    assert_allclose(np.min(heights), 0.0, atol=1e-9)
    assert np.max(heights) > 0.05
    assert_allclose(moved[7:], q[7:], atol=0)


def test_hulls_that_overlap_and_hulls_that_do_not(rng):
    """Two balls as points with radii, and two clouds: the answer is that of the distance."""
    for gap in (-0.05, -0.01, 0.01, 0.05):
        direction = rng.normal(size=3)
        direction /= np.linalg.norm(direction)
        one, other = np.zeros((1, 3)), (0.3 + gap) * direction[None]
        assert overlap((one, np.array([0.1])), (other, np.array([0.2]))) == (gap < 0)
        assert overlap((one, np.array([0.1])), (other, np.array([0.2])), margin=0.02) == (gap < 0.02)
    corners = np.stack(np.meshgrid([-1, 1], [-1, 1], [-1, 1]), axis=-1).reshape(-1, 3) * 0.1
    for gap in (-0.02, 0.02):
        shifted = corners + np.array([0.2 + gap, 0.05, -0.03])
        assert overlap((corners, np.zeros(8)), (shifted, np.zeros(8))) == (gap < 0)


@pytest.mark.parametrize("effort", [0.0, 1e-3, 12.0, 16.0])
def test_a_waist_that_carries_little_has_a_standing_posture(effort):
    """Whether its torques are near their limits changes on the way to the posture."""
    robot = legged.robot("jvrc1")
    body = eq.Body.of(robot.with_limits(["WAIST_Y", "WAIST_P", "WAIST_R"], effort=effort), search=False)
    (standing,) = (finding for finding in body.findings if finding.what == "standing")
    assert standing.confidence > 0.5
