"""A robot that stands on one frame [TPN17, Lemma 5]."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import equipoise as eq


@pytest.fixture(scope="module")
def standing():
    robot = eq.load("quadruped")
    rng = np.random.default_rng(3)
    q, v = robot.random_state(rng)
    return robot, robot.equations_of_motion(q, v), rng.normal(size=robot.nv - 6)


FRAME = "front_left_shank"


@pytest.mark.paper("T6")
def test_the_frame_does_not_move(standing):
    """Free-floating dynamics under the holding wrench give the same joint accelerations and none of the frame."""
    robot, eom, tau = standing
    fixed = eom.fixed_at(FRAME)
    q, v = fixed.free.origin.q, fixed.free.origin.v
    assert_allclose(robot.velocity(q, v, FRAME), 0, atol=1e-12)
    assert_allclose(v[6:], eom.v[6:])
    force = np.concatenate([np.zeros(6), tau])
    a = robot.forward_dynamics(q, v, force, wrenches={FRAME: fixed.wrench(tau)})
    expected = fixed.acceleration(tau)
    assert_allclose(a[6:], expected, atol=1e-9 * np.abs(expected).max())
    frame = robot.jacobian(q, FRAME) @ a + robot.bias_acceleration(q, v, FRAME)
    assert_allclose(frame, 0, atol=1e-9 * np.abs(a).max())


@pytest.mark.paper("T6")
def test_the_wrench_is_equation_48(standing):
    """With J M⁻¹ Jᵀ (the paper's Corollary 1 speaks of J M Jᵀ) and C ν at the velocity at which the frame is at
    rest."""
    robot, eom, tau = standing
    fixed = eom.fixed_at(FRAME)
    F = fixed.free
    J = np.hstack([np.eye(6), np.zeros((6, robot.nv - 6))])
    M_inverse = np.linalg.inv(F.M)
    rest = F.bias_force - np.concatenate([np.zeros(6), tau])
    wrench = np.linalg.solve(J @ M_inverse @ J.T, J @ M_inverse @ rest)
    assert_allclose(fixed.wrench(tau), wrench, rtol=1e-9, atol=1e-9)
    assert_allclose(J @ F.M @ J.T, F.M[:6, :6])


@pytest.mark.paper("T6")
def test_equal_to_the_robot_built_on_that_link():
    """Oracle without change of variables: a chain described from its tip, with the tip fixed."""
    forward = eq.RobotBuilder("chain", floating=True)
    backward = eq.RobotBuilder("chain", floating=False)
    for builder, order in ((forward, "abc"), (backward, "cba")):
        for name in order:
            builder.link(name, mass=1.0 + ord(name) / 100, com=(0.1, 0.05, 0.2), inertia=(0.02, 0.03, 0.04))
    forward.joint("one", "revolute", "a", "b", axis=(0, 1, 0)).joint("two", "revolute", "b", "c", axis=(1, 0, 0))
    backward.joint("two", "revolute", "c", "b", axis=(-1, 0, 0)).joint("one", "revolute", "b", "a", axis=(0, -1, 0))
    f, b = forward.build(), backward.build()
    rng = np.random.default_rng(0)
    s, rate, tau = rng.normal(size=(3, 2))
    q = f.neutral()
    q[7:] = s
    X = np.linalg.inv(f.pose(q, "c"))  # place the base so that c stands at the origin
    from equipoise.algebra.quaternions import from_rotation

    q[:3], q[3:7] = X[:3, 3], from_rotation(X[:3, :3])
    v = rng.normal(size=8)
    v[6:] = rate
    fixed = f.equations_of_motion(q, v).fixed_at("c")
    swap = [1, 0]
    assert_allclose(fixed.M[np.ix_(swap, swap)], b.mass_matrix(s[swap]), atol=1e-12)
    assert_allclose(fixed.C[np.ix_(swap, swap)], b.coriolis_matrix(s[swap], rate[swap]), atol=1e-12)
    assert_allclose(fixed.g[swap], b.gravity(s[swap]), atol=1e-11)
    assert_allclose(fixed.acceleration(tau)[swap], b.forward_dynamics(s[swap], rate[swap], tau[swap]), atol=1e-9)


@pytest.mark.paper("T6")
def test_jacobians_of_the_joints_alone(standing):
    """[TPN17, Eq. (47e), with its right-hand side mended]: J of another frame times joint rates is its velocity."""
    robot, eom, _ = standing
    fixed = eom.fixed_at(FRAME)
    q, v = fixed.free.origin.q, fixed.free.origin.v
    J = fixed.jacobian(robot.jacobian(q, "hind_right_foot"))
    assert J.shape == (6, robot.nv - 6)
    assert_allclose(J @ fixed.v, robot.velocity(q, v, "hind_right_foot"), atol=1e-12)


@pytest.mark.paper("T6")
def test_another_contact_pushes_too(standing):
    robot, eom, tau = standing
    fixed = eom.fixed_at(FRAME)
    q, v = fixed.free.origin.q, fixed.free.origin.v
    push = np.array([3.0, -4.0, 20.0, 0, 0, 0])
    external = fixed.free.force_from(eom, robot.jacobian(q, "hind_right_foot").T @ push)
    wrenches = {FRAME: fixed.wrench(tau, external), "hind_right_foot": push}
    a = robot.forward_dynamics(q, v, np.concatenate([np.zeros(6), tau]), wrenches=wrenches)
    expected = fixed.acceleration(tau, external)
    assert_allclose(a[6:], expected, atol=1e-9 * np.abs(expected).max())


@pytest.mark.paper("T6")
def test_switching_the_support(standing):
    robot, eom, _ = standing
    one = eom.fixed_at(FRAME)
    two = one.switch("hind_right_shank")
    there_and_back = two.switch(FRAME)
    assert_allclose(there_and_back.M, one.M, atol=1e-12)
    assert_allclose(there_and_back.C, one.C, atol=1e-12)
    assert np.abs(two.M - one.M).max() > 1e-3
    assert_allclose(robot.velocity(two.free.origin.q, two.free.origin.v, "hind_right_shank"), 0, atol=1e-12)
