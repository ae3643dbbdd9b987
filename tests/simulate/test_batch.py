"""Many simulations in one kernel: each is what it would be alone, and obeys the law of the ground."""

import numpy as np
import pytest

import equipoise as eq
from equipoise.simulate.batch import BatchSimulation

CORNERS = np.array([[x, y, -0.1] for x in (-0.1, 0.1) for y in (-0.1, 0.1)])


@pytest.fixture(scope="module")
def crate():
    return eq.RobotBuilder("crate").link("crate", mass=2.0, inertia=(0.03, 0.04, 0.05)).build()


@pytest.fixture(scope="module")
def batch(crate):
    return BatchSimulation(crate, {"crate": CORNERS})


def rest(count, height=0.1):
    q = np.tile([0.0, 0.0, height, 1.0, 0.0, 0.0, 0.0], (count, 1))
    return q, np.zeros((count, 6))


def run(batch, q, v, steps, parameters):
    tau = np.zeros_like(v)
    for _ in range(steps):
        q, v = batch.step(q, v, tau, parameters)
    return q, v


def test_depth_at_rest_is_that_of_the_law(batch):
    """m g = 4 k x^1.5, whatever the mass."""
    mass = np.array([0.5, 1.0, 3.0])
    q, v = rest(3, 0.0999)
    q, v = run(batch, q, v, 4000, batch.parameters(3, mass=mass))
    depth = (2.0 * mass * 9.80665 / (4 * 2e6)) ** (2 / 3)
    np.testing.assert_allclose(0.1 - q[:, 2], depth, rtol=1e-6)
    assert np.abs(v).max() < 1e-6


def test_free_fall_needs_no_ground(batch):
    q, v = rest(5, 2.0)
    v[:, :3] = np.random.default_rng(0).normal(size=(5, 3))
    v[:, 3:] = [0.1, 0.2, 0.3]
    before = v.copy()
    q, v = run(batch, q, v, 100, batch.parameters(5, mass=np.linspace(0.5, 2, 5)))
    np.testing.assert_allclose(v[:, 2] - before[:, 2], -9.80665 * 0.1, rtol=1e-9)


def test_friction_decides_how_far_a_crate_slides(batch):
    """v² / (2 μ g), less what the slope below the slip speed changes."""
    mu, speed = np.array([0.2, 0.4, 0.8]), 0.8
    q, v = rest(3, 0.0999)
    parameters = batch.parameters(3, friction=mu)
    q, v = run(batch, q, v, 1000, parameters)
    start = q[:, 0].copy()
    v[:, 0] = speed
    q, v = run(batch, q, v, 1000, parameters)
    np.testing.assert_allclose(q[:, 0] - start, speed**2 / (2 * mu * 9.80665), rtol=0.05)


def test_a_push_accelerates_by_force_over_mass(batch):
    q, v = rest(2, 3.0)
    _, v = run(batch, q, v, 10, batch.parameters(2, mass=[1.0, 2.0], push=(4.0, 0.0, 0.0)))
    np.testing.assert_allclose(v[:, 0], [0.02, 0.01], rtol=1e-9)


def test_every_simulation_is_what_it_would_be_alone(crate):
    robot = eq.load("quadruped")
    feet = {name: np.zeros((1, 3)) for name in robot.frames if name.endswith("_foot")}
    batch = BatchSimulation(robot, feet)
    rng = np.random.default_rng(1)
    q = np.stack([robot.integrate(robot.standing(), 0.02 * rng.normal(size=robot.nv)) for _ in range(9)])
    v, tau = 0.1 * rng.normal(size=(2, 9, robot.nv))
    p = batch.parameters(
        9, mass=rng.uniform(0.8, 1.2, 9), friction=rng.uniform(0.3, 1.0, 9), push=rng.normal(size=(9, 3))
    )
    together = batch.step(q, v, tau, p)
    for k in range(9):
        for all_of, one in zip(together, batch.step(q[k], v[k], tau[k], p[k]), strict=True):
            np.testing.assert_allclose(all_of[k], one, rtol=1e-12, atol=1e-13)


def test_one_step_is_forward_dynamics_with_the_ground_as_wrenches(crate):
    """Semi-implicit Euler by hand, contact forces from point velocities."""
    robot = eq.load("quadruped")
    feet = [name for name in robot.frames if name.endswith("_foot")]
    batch = BatchSimulation(robot, {name: np.zeros((1, 3)) for name in feet}, dt=1e-3)
    rng = np.random.default_rng(2)
    q, v = robot.integrate(robot.standing(), 0.03 * rng.normal(size=robot.nv)), rng.normal(size=robot.nv)
    tau = rng.normal(size=robot.nv)
    wrenches = {}
    for foot in feet:
        place, rate = robot.pose(q, foot)[:3, 3], robot.velocity(q, v, foot)[:3]
        depth = max(0.0, -place[2])
        normal = max(0.0, 2e6 * depth**1.5 * (1 - rate[2]))
        slide = -0.8 * normal * rate[:2] / np.sqrt(rate[:2] @ rate[:2] + 0.02**2)
        wrenches[foot] = np.array([*slide, normal, 0, 0, 0])
    assert any(w[2] > 0 for w in wrenches.values())
    after = v + 1e-3 * robot.forward_dynamics(q, v, tau, wrenches)
    q_next, v_next = batch.step(q, v, tau)
    np.testing.assert_allclose(v_next, after, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(q_next, robot.integrate(q, after, 1e-3), rtol=1e-10, atol=1e-12)


def test_bad_input_is_named(crate):
    with pytest.raises(eq.ShapeError, match=r"\(n, 3\)"):
        BatchSimulation(crate, {"crate": [[0.0, 1.0]]})
    with pytest.raises(eq.UnknownNameError, match="crat"):
        BatchSimulation(crate, {"crat": CORNERS})
    with pytest.raises(eq.StateError, match="positive"):
        BatchSimulation(crate, {"crate": CORNERS}, dt=0.0)
    with pytest.raises(eq.StateError, match="mass factors"):
        BatchSimulation(crate, {"crate": CORNERS}).parameters(2, mass=[1.0, 0.0])


def test_frames_are_known_by_their_place(crate):
    """Robots that differ only in where a frame is have one tree: the ground must still meet the points where they
    are."""
    lifted, q, v = [], *rest(1, 0.11)
    for height in (0.0, -0.05):
        X = np.eye(4)
        X[2, 3] = height
        robot = crate.with_frame("sole", "crate", X).with_frame("hand", "crate", X)
        batch = BatchSimulation(robot, {"sole": CORNERS}, pushed="hand")
        push = batch.parameters(1, push=(50.0, 0.0, 0.0))
        lifted.append(batch.step(q, v, np.zeros((1, 6)), push)[1][0])
    assert lifted[0][2] < 0 < lifted[1][2]  # the lower points are in the ground, the others fall
    assert abs(lifted[0][4]) < 1e-9  # a push at the centre does not turn, one below it does
    assert lifted[1][4] < -0.01


def test_points_are_finite(crate):
    with pytest.raises(eq.StateError, match="points of 'crate'"):
        BatchSimulation(crate, {"crate": [[0.0, np.nan, 0.0]]})
    with pytest.raises(eq.ShapeError, match="points of 'crate'"):
        BatchSimulation(crate, {"crate": np.zeros((2, 2, 3))})
