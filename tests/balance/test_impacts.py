"""Impacts: velocities, impulses and energy of contacts that close; Pinocchio's word on the same."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import support
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import equipoise as eq
from equipoise import convert
from equipoise.balance.contacts import contact_jacobian
from equipoise.balance.impacts import impact, resolve_impact
from equipoise.errors import ConstraintError
from equipoise.model.urdf_writer import write_urdf

Array = np.ndarray
FEET = ("front_left_foot", "front_right_foot", "hind_left_foot", "hind_right_foot")
seeds = st.integers(0, 10**6)
some = settings(max_examples=20, deadline=None)


def quadruped() -> eq.Robot:
    return support.load("quadruped")


@pytest.mark.paper("H5")
@given(seeds, st.integers(1, 4), st.floats(0, 1))
@some
def test_laws_of_an_impact(seed, count, e):
    """M Δv = Jᵀ p, J v⁺ = −e J v⁻, and no energy is gained."""
    robot, feet = quadruped(), FEET[:count]
    q, v = robot.random_state(np.random.default_rng(seed))
    hit = impact(robot, q, v, feet, restitution=e)
    M, J = robot.mass_matrix(q), contact_jacobian(robot, q, feet)
    assert_allclose(M @ hit.change, J.T @ hit.impulse, atol=1e-9)
    assert_allclose(J @ hit.after, -e * J @ v, atol=1e-9)
    assert hit.energy_loss > -1e-9
    assert_allclose(hit.energy_loss, robot.kinetic_energy(q, v) - robot.kinetic_energy(q, hit.after), atol=1e-9)
    assert_allclose(hit.energy_loss_at_contacts, hit.energy_loss, atol=1e-9)


@pytest.mark.paper("H5")
@given(seeds, st.integers(1, 4))
@some
def test_formulas_of_the_slide(seed, count):
    """[ETH19, slide 26]: Λ_c, v⁺ = N_c v⁻ and the energy both ways; the slide's impulse is that by the robot."""
    robot, feet = quadruped(), FEET[:count]
    q, v = robot.random_state(np.random.default_rng(seed))
    hit = impact(robot, q, v, feet)
    M, J = robot.mass_matrix(q), contact_jacobian(robot, q, feet)
    inertia = np.linalg.inv(J @ np.linalg.solve(M, J.T))
    N = np.eye(robot.nv) - np.linalg.solve(M, J.T) @ inertia @ J
    scale = np.abs(inertia).max()
    assert_allclose(hit.contact_inertia, inertia, atol=1e-9 * scale)
    assert_allclose(hit.impulse, -inertia @ J @ v, atol=1e-9 * scale)
    assert_allclose(hit.after, N @ v, atol=1e-9)
    assert_allclose(hit.energy_loss, hit.change @ M @ hit.change / 2, atol=1e-9)
    assert_allclose(hit.energy_loss_at_contacts, (J @ v) @ inertia @ (J @ v) / 2, atol=1e-9)


@pytest.mark.paper("H5")
def test_a_rebound_keeps_what_it_should(rng):
    """The loss is (1 − e²) of that without rebound; none in full rebound."""
    robot = quadruped()
    q, v = robot.random_state(rng)
    stuck = impact(robot, q, v, FEET[:3]).energy_loss
    assert stuck > 0.1
    for e in (0.0, 0.3, 1.0):
        assert_allclose(impact(robot, q, v, FEET[:3], restitution=e).energy_loss, (1 - e**2) * stuck, atol=1e-9)


@pytest.mark.paper("H5")
def test_a_point_mass_bounces_off_the_floor():
    builder = eq.RobotBuilder("puck")
    builder.link("puck", mass=2.0, inertia=(0.1, 0.2, 0.3))
    puck = builder.build()
    v = np.array([0.5, 0.2, -3.0, 0.0, 0.0, 0.0])
    hit = impact(puck, puck.neutral(), v, ["puck"], axes="z", restitution=0.5)
    assert_allclose(hit.after, [0.5, 0.2, 1.5, 0, 0, 0], atol=1e-12)
    assert_allclose(hit.impulse, [2.0 * 4.5], atol=1e-12)  # up: on the robot
    assert_allclose(hit.energy_loss, 2.0 / 2 * (9 - 2.25), atol=1e-12)


@pytest.mark.paper("H5")
def test_a_rod_that_is_caught_at_one_end():
    """Struck at the end, a free uniform rod of length 2l that falls flat turns about it with ω = 3v/4l and loses a
    quarter."""
    builder = eq.RobotBuilder("rod")
    l, speed = 0.5, 2.0
    builder.link("rod", mass=1.0, inertia=(1e-6, l**2 / 3, l**2 / 3)).frame("end", "rod", position=(l, 0, 0))
    rod = builder.build()
    hit = impact(rod, rod.neutral(), np.array([0, 0, -speed, 0, 0, 0]), ["end"])
    assert_allclose(hit.after[3:], [0, -3 * speed / (4 * l), 0], atol=1e-12)
    assert_allclose(hit.energy_loss, speed**2 / 2 / 4, atol=1e-12)


@pytest.mark.paper("H5")
def test_redundant_contacts_share_the_impulse(rng):
    """Four corners of a rigid foot: twelve rows of rank six; velocity as with the foot as a whole, impulse of least
    norm."""
    robot = support.load("human")
    q, v = robot.random_state(rng)
    corners = [f"left_foot_corner_{k}" for k in range(4)]
    hit, whole = impact(robot, q, v, corners), impact(robot, q, v, ["left_foot"], "frame")
    assert (hit.rank, whole.rank) == (6, 6)
    assert_allclose(hit.after, whole.after, atol=1e-8)
    assert_allclose(hit.energy_loss, whole.energy_loss, rtol=1e-8)
    assert_allclose(hit.energy_loss_at_contacts, hit.energy_loss, rtol=1e-8)
    J = contact_jacobian(robot, q, corners)
    kernel = np.linalg.svd(J.T)[2][6:]
    assert_allclose(kernel @ hit.impulse, 0, atol=1e-8 * np.abs(hit.impulse).max())


@pytest.mark.paper("H5")
def test_rows_may_rebound_differently(rng):
    """The normal rebounds, friction holds the rest; and what one restitution for each row can do wrong is visible."""
    robot = quadruped()
    q, v = robot.random_state(rng)
    e = np.array([0.0, 0.0, 0.6])
    hit = impact(robot, q, v, FEET[:1], restitution=e)
    J = contact_jacobian(robot, q, FEET[:1])
    assert_allclose(J @ hit.after, -e * (J @ v), atol=1e-10)
    assert_allclose(hit.energy_loss_at_contacts, hit.energy_loss, atol=1e-9)


def test_redundant_rows_that_rebound_differently_contradict_each_other(rng):
    robot = quadruped()
    q, v = robot.random_state(rng)
    spot = ("trunk", (0.1, 0.0, 0.0))
    with pytest.raises(ConstraintError, match="contradict"):
        impact(robot, q, v, [spot, spot], restitution=np.array([0.0] * 3 + [1.0] * 3))


def test_batches_are_the_same_one_by_one(rng):
    robot = quadruped()
    q, v = support.random_states(robot, rng, 3)
    together = impact(robot, q, v, FEET[:2], restitution=0.2)
    for k in range(3):
        one = impact(robot, q[k], v[k], FEET[:2], restitution=0.2)
        assert_allclose(together.after[k], one.after, atol=1e-10)
        assert_allclose(together.impulse[k], one.impulse, atol=1e-9)
        assert_allclose(together.energy_loss[k], one.energy_loss, atol=1e-9)


def test_no_contact_no_impact(rng):
    robot = quadruped()
    q, v = robot.random_state(rng)
    hit = impact(robot, q, v, [])
    assert_allclose(hit.after, v)
    assert hit.energy_loss == 0


@pytest.mark.parametrize("e", [-0.1, 1.5, np.nan])
def test_restitution_outside_its_range_is_refused(e):
    with pytest.raises(eq.StateError, match="between 0 .* and 1"):
        resolve_impact(np.eye(2), np.eye(2), np.ones(2), restitution=e)


@pytest.mark.paper("H5")
@pytest.mark.parametrize(("count", "e"), [(1, 0.0), (2, 0.4), (4, 0.0), (4, 1.0)])
def test_impacts_are_those_of_pinocchio(count, e, rng):
    """Pinocchio is given its own Jacobians of the feet."""
    pin = pytest.importorskip("pinocchio")
    robot, feet = quadruped(), FEET[:count]
    bare = {name: replace(link, visuals=(), collisions=()) for name, link in robot.model.links.items()}
    model = pin.buildModelFromXML(write_urdf(replace(robot.model, links=bare)), pin.JointModelFreeFlyer())
    converter = convert.pinocchio(robot, model)
    for _ in range(3):
        q, v = robot.random_state(rng)
        q_pin, v_pin = converter.to_peer(q, v)
        data = model.createData()
        frames = [model.getFrameId(foot) for foot in feet]
        J = np.vstack([pin.computeFrameJacobian(model, data, q_pin, f, pin.LOCAL_WORLD_ALIGNED)[:3] for f in frames])
        data = model.createData()
        after = pin.impulseDynamics(model, data, q_pin, v_pin, J, e, 0.0)
        hit = impact(robot, q, v, feet, restitution=e)
        assert support.relative_error(converter.to_peer(q, hit.after)[1], after) < 1e-9
        assert support.relative_error(hit.impulse, np.array(data.impulse_c)) < 1e-9
