"""The second computation that the rows are held against: laws of its own, and Pinocchio."""

from __future__ import annotations

import ast
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import support
from numpy.testing import assert_allclose

from equipoise import convert
from equipoise.model.urdf_writer import write_urdf
from equipoise.papers import reference
from equipoise.papers.reference import ReferenceState, axial, path, rate, second_rate

pin = pytest.importorskip("pinocchio")

ROBOTS = ["quadruped", "human", "arm7", "cart_pendulum", "nonholonomic_arm", "bimanual"]


@pytest.mark.parametrize("name", ROBOTS)
def test_velocities_and_accelerations_are_derivatives_of_poses(name, rng):
    robot = support.load(name)
    q, v = robot.random_state(rng)
    a = rng.normal(size=robot.nv)
    at, now = path(robot, q, v, a), ReferenceState(robot, q, v)
    for frame in list(robot.frames)[::5]:
        motion = now.frame(frame, (0.1, -0.2, 0.3))
        J, bias = motion.J, motion.A
        turning = rate(lambda t, frame=frame: ReferenceState(robot, at(t)).frame(frame).R)
        assert_allclose(motion.V, J @ v, atol=1e-12)
        assert_allclose(axial(turning @ motion.R.T), J[3:] @ v, atol=1e-9)
        assert_allclose(
            rate(lambda t, f=frame: ReferenceState(robot, at(t)).frame(f, (0.1, -0.2, 0.3)).p), J[:3] @ v, atol=1e-9
        )
        place = second_rate(lambda t, f=frame: ReferenceState(robot, at(t)).frame(f, (0.1, -0.2, 0.3)).p)
        assert_allclose(place, J[:3] @ a + bias[:3], atol=1e-6)


@pytest.mark.parametrize("name", ROBOTS)
def test_power_is_the_rate_of_energy(name, rng):
    robot = support.load(name)
    q, v = robot.random_state(rng)
    a = rng.normal(size=robot.nv)
    at, now = path(robot, q, v, a), ReferenceState(robot, q, v)

    def energy(t):
        there = ReferenceState(robot, at(t), v + t * a)
        return there.kinetic_energy + there.potential_energy

    assert_allclose(rate(energy), now.force(a) @ v, rtol=1e-7, atol=1e-7)
    assert_allclose(now.force(a), now.M @ a + now.h, rtol=1e-10, atol=1e-10)
    assert_allclose(v @ now.M @ v / 2, now.kinetic_energy, rtol=1e-12)


@pytest.mark.parametrize("name", ["human", "quadruped", "arm7"])
def test_against_pinocchio(name, rng):
    """Through a URDF: mass matrix and bias force; v_pin = T v, so M = Tᵀ M_pin T."""
    robot = support.load(name)
    links = {key: replace(link, visuals=(), collisions=()) for key, link in robot.model.links.items()}
    root = (pin.JointModelFreeFlyer(),) if robot.floating else ()
    model = pin.buildModelFromXML(write_urdf(replace(robot.model, links=links)), *root)
    model.gravity.linear = np.array(robot.model.gravity)
    data = model.createData()
    q, v = robot.random_state(rng)
    a, now = rng.normal(size=robot.nv), ReferenceState(robot, q, v)
    there = convert.pinocchio(robot, model).to_peer(q, v)
    T = convert.pinocchio(robot, model).velocity_map(q)
    force = pin.rnea(model, data, *there, convert.pinocchio(robot, model).acceleration_to_peer(q, v, a))
    assert_allclose(now.force(a), T.T @ force, rtol=1e-9, atol=1e-9)
    assert_allclose(now.M, T.T @ pin.crba(model, data, there[0], pin.Convention.WORLD) @ T, rtol=1e-9, atol=1e-9)


def test_it_shares_no_code_with_what_it_judges():
    """At run time the module imports NumPy and SciPy, and nothing of the package."""
    tree = ast.parse(Path(reference.__file__).read_text())
    guarded = [
        node for node in ast.walk(tree) if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
    ]
    for node in guarded:
        node.body = [ast.Pass()]
    imported = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.level > 0}
    assert guarded
    assert imported == set()
