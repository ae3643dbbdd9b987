"""The dynamics of a task: its inertia against Pinocchio, its law in closed loop, its null space."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from closed_loop import oscillator, simulate
from numpy.testing import assert_allclose
from support import load, random_states
from test_hierarchy import FEET, standing

import equipoise as eq
from equipoise.balance import support_dynamics
from equipoise.control.closed_form.motions import Motion, com_motion, frame_motion
from equipoise.control.closed_form.operational_space import operational_dynamics, task_inverse_dynamics
from equipoise.model.urdf_writer import write_urdf

pytestmark = pytest.mark.paper("H6")


def test_on_a_fixed_base_the_inertia_is_that_of_pinocchio(rng):
    """Λ⁻¹ = J M⁻¹ Jᵀ with their M⁻¹ by the articulated-body recursion, and their J."""
    pin = pytest.importorskip("pinocchio")
    robot = load("arm7")
    links = {key: replace(link, visuals=(), collisions=()) for key, link in robot.model.links.items()}
    model = pin.buildModelFromXML(write_urdf(replace(robot.model, links=links)))
    data, frame = model.createData(), model.getFrameId("tool")
    for q, v in zip(*random_states(robot, rng, 3), strict=True):
        there = eq.convert.pinocchio(robot, model).to_peer(q)
        M_inverse = np.array(pin.computeMinverse(model, data, there))
        M_inverse = np.triu(M_inverse) + np.triu(M_inverse, 1).T
        J = pin.computeFrameJacobian(model, data, there, frame, pin.LOCAL_WORLD_ALIGNED)
        T = eq.convert.pinocchio(robot, model).velocity_map(q)
        space = operational_dynamics(robot, q, v, frame_motion(robot, q, v, "tool", turning=True))
        assert_allclose(
            np.linalg.inv(space.inertia), J @ M_inverse @ J.T, rtol=0, atol=1e-8 * np.abs(space.mobility).max()
        )
        assert_allclose(space.jacobian, J @ T, rtol=0, atol=1e-8)


def test_energy_of_the_task_is_that_of_the_motion_it_drives(rng):
    """The inertia a force feels: ½ ẇᵀ Λ ẇ is the least kinetic energy with that task velocity."""
    robot = load("arm7")
    q, v = robot.random_state(rng)
    motion = frame_motion(robot, q, v, "tool")
    space = operational_dynamics(robot, q, v, motion)
    w = rng.normal(size=3)
    least = np.linalg.solve(robot.mass_matrix(q), motion.J.T @ space.inertia @ w)
    assert_allclose(motion.J @ least, w, rtol=0, atol=1e-10)
    assert robot.kinetic_energy(q, least) == pytest.approx(0.5 * w @ space.inertia @ w, rel=1e-10)


@pytest.mark.parametrize("feet", [FEET, FEET[:3], FEET[1:3]])
def test_on_contacts_the_task_gets_its_acceleration(feet, rng):
    robot, q, v, support = standing(rng, feet)
    motion, wanted = frame_motion(robot, q, v, "trunk"), rng.normal(size=3)
    space = operational_dynamics(robot, q, v, motion, support)
    tau = space.torque(wanted, free=rng.normal(size=12))
    assert_allclose(motion.J @ support.acceleration(tau) + motion.bias, wanted, rtol=0, atol=1e-8)
    assert_allclose(space.inertia, space.inertia.T, rtol=0, atol=1e-9 * np.abs(space.inertia).max())
    free = space.torque_projector @ rng.normal(size=12)
    rest = support.acceleration(np.zeros(12))
    assert_allclose(motion.J @ (support.acceleration(free) - rest), 0, rtol=0, atol=1e-9)
    assert np.abs(support.acceleration(free) - rest).max() > 0.1


def test_gravity_and_velocity_parts_are_apart(rng):
    robot = load("arm7")
    q, v = robot.random_state(rng)
    still = operational_dynamics(robot, q, 0 * v, frame_motion(robot, q, 0 * v, "tool"))
    moving = operational_dynamics(robot, q, v, frame_motion(robot, q, v, "tool"))
    assert_allclose(still.velocity_force, 0, rtol=0, atol=1e-10)
    assert_allclose(still.gravity_force, moving.gravity_force, rtol=0, atol=1e-10)
    assert np.abs(moving.velocity_force).max() > 0.01
    # at rest, p alone keeps the task from accelerating
    tau = still.torque(np.zeros(3))
    a = robot.forward_dynamics(q, 0 * v, tau)
    assert_allclose(robot.jacobian(q, "tool")[:3] @ a, 0, rtol=0, atol=1e-9)


def test_inverse_dynamics_takes_the_shortest_acceleration(rng):
    robot = load("arm7")
    q, v = robot.random_state(rng)
    motion, wanted = frame_motion(robot, q, v, "tool"), rng.normal(size=3)
    a = np.linalg.pinv(motion.J) @ (wanted - motion.bias)
    found = task_inverse_dynamics(robot, q, v, motion, wanted)
    assert_allclose(found.torque, robot.inverse_dynamics(q, v, a), rtol=0, atol=1e-9)
    assert_allclose(found.acceleration, a, rtol=0, atol=1e-8)


def test_inverse_dynamics_on_contacts(rng):
    robot, q, v, support = standing(rng)
    motion, wanted = com_motion(robot, q, v), rng.normal(size=3)
    found = task_inverse_dynamics(robot, q, v, motion, wanted, support)
    assert found.residual < 1e-9
    assert_allclose(motion.J @ found.acceleration + motion.bias, wanted, rtol=0, atol=1e-8)
    assert_allclose(support.jacobian @ found.acceleration, support.constrained.b, rtol=0, atol=1e-8)


@pytest.mark.parametrize("law", ["inverse dynamics", "operational space"])
def test_the_tool_follows_the_law_it_is_given(law, rng):
    """ẅ = −k_p w − k_v ẇ to the accuracy of integration, whatever the free torques do."""
    robot = load("arm7")
    q, v = robot.random_state(rng)
    v *= 0.3
    goal, k_p, k_v = robot.pose(q, "tool")[:3, 3] + [0.03, -0.04, 0.05], 36.0, 13.0

    def acceleration(t, q, v):
        motion = frame_motion(robot, q, v, "tool")
        wanted = -k_p * (robot.pose(q, "tool")[:3, 3] - goal) - k_v * motion.J @ v
        if law == "inverse dynamics":
            return robot.forward_dynamics(q, v, task_inverse_dynamics(robot, q, v, motion, wanted).torque)
        tau = operational_dynamics(robot, q, v, motion).torque(wanted, free=robot.inverse_dynamics(q, v, -2 * v))
        return robot.forward_dynamics(q, v, tau)

    e, e_dot = robot.pose(q, "tool")[:3, 3] - goal, robot.velocity(q, v, "tool")[:3]
    t, states, _ = simulate(robot, q, v, acceleration, 4e-3, 100)
    errors = robot.pose(states, "tool")[:, :3, 3] - goal
    assert_allclose(errors, oscillator(e, e_dot, k_p, k_v, t), rtol=0, atol=1e-7)


def test_a_humans_hand_on_two_feet(rng):
    robot = load("human")
    q, v = robot.standing(), np.zeros(robot.nv)
    support = support_dynamics(robot, q, v, ["left_foot", "right_foot"], kind="frame")
    motion = frame_motion(robot, q, v, "left_hand")
    space = operational_dynamics(robot, q, v, motion, support)
    tau, wanted = space.torque([0.3, -0.2, 0.5]), [0.3, -0.2, 0.5]
    assert_allclose(motion.J @ support.acceleration(tau) + motion.bias, wanted, rtol=0, atol=1e-7)


def test_damping_bounds_the_inertia_at_a_singularity():
    robot = load("planar_chain")
    q, v = np.zeros(3), np.array([0.1, 0.2, -0.3])  # stretched out: no joint moves the tool along x
    motion = frame_motion(robot, q, v, "tool", "xz")
    damped = operational_dynamics(robot, q, v, motion, damping=1e-2)
    assert np.linalg.norm(damped.inertia, 2) <= 1 / (2 * 1e-2)
    plain = operational_dynamics(robot, q, v, motion)
    assert_allclose(plain.inertia[0], 0, rtol=0, atol=1e-9)  # counts as a direction without motion


def test_batches_are_their_members(rng):
    robot = load("arm7")
    q, v = random_states(robot, rng, 3)
    space = operational_dynamics(robot, q, v, frame_motion(robot, q, v, "tool"))
    one = operational_dynamics(robot, q[1], v[1], frame_motion(robot, q[1], v[1], "tool"))
    wanted = one.torque(np.ones(3))  # entries that cancel to zero differ by rounding, which instructions decide
    assert_allclose(space.torque(np.ones((3, 3)))[1], wanted, rtol=1e-9, atol=1e-12 * np.abs(wanted).max())


def test_bad_tasks_are_refused(rng):
    robot = load("arm7")
    q, v = robot.random_state(rng)
    with pytest.raises(eq.ShapeError, match="3 columns, wanted 7"):
        operational_dynamics(robot, q, v, Motion(np.eye(3), np.zeros(3)))
    with pytest.raises(eq.ShapeError, match="some of 'xyz'"):
        frame_motion(robot, q, v, "tool", "xw")
