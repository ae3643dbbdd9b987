"""Drag and lift: power, terminal speed, and the force where it acts [ETH19, slide 17]."""

from __future__ import annotations

import numpy as np
import pytest
import support
from numpy.testing import assert_allclose

import equipoise as eq
from equipoise.balance import Aerodynamic
from equipoise.simulate.plant import make_plant

pytestmark = pytest.mark.paper("H4")


@pytest.fixture
def state(rng):
    robot = support.load("quadruped")
    return robot, *robot.random_state(rng)


def test_drag_takes_power_and_lift_takes_none(state):
    """Against the velocity through the air, at a point off the frame's origin."""
    robot, q, v = state
    wind, point = np.array([1.0, -2.0, 0.5]), (0.1, 0.2, -0.3)
    X, V = robot.pose(q, "front_left_shank"), robot.velocity(q, v, "front_left_shank")
    u = V[:3] + np.cross(V[3:], X[:3, :3] @ point) - wind
    shared = dict(point=point, wind=wind)
    drag = Aerodynamic("front_left_shank", 0.02, drag=1.1, **shared).force(robot, q, v)
    lift = Aerodynamic("front_left_shank", 0.02, lift=0.7, **shared).force(robot, q, v)
    assert_allclose(drag, -0.5 * 1.2 * 0.02 * 1.1 * np.linalg.norm(u) * u, rtol=1e-12)
    assert abs(lift @ u) < 1e-12 * np.linalg.norm(lift) * np.linalg.norm(u)
    assert np.linalg.norm(lift) == pytest.approx(0.5 * 1.2 * 0.02 * 0.7 * (u @ u), rel=1e-12)
    assert lift @ X[:3, 2] > 0  # towards `up`


def test_the_wrench_and_the_generalised_force_are_one(state):
    robot, q, v = state
    wing = Aerodynamic("hind_left_thigh", 0.05, drag=0.4, lift=1.3, point=(0.1, 0.0, 0.2), up=(0, 1, 0))
    direct = robot.forward_dynamics(q, v, wing.generalised_force(robot, q, v))
    pushed = robot.forward_dynamics(q, v, np.zeros(robot.nv), wrenches={"hind_left_thigh": wing.wrench(robot, q, v)})
    assert_allclose(direct, pushed, atol=1e-10 * np.abs(pushed).max())


def test_a_falling_ball_reaches_its_terminal_speed():
    """½ ρ A c_D v² = m g."""
    ball = eq.RobotBuilder("ball").link("ball", mass=0.3, inertia=(0.01,) * 3).build()
    element = Aerodynamic("ball", 0.05, drag=0.5, density=1.2)
    plant = make_plant("ideal", ball)
    state = plant.reset(ball.neutral(), np.zeros(6))
    for _ in range(1500):
        state = plant.step(np.zeros(6), 1e-2, {"ball": element.wrench(ball, state.q, state.v)})
    assert state.v[2] == pytest.approx(-np.sqrt(2 * 0.3 * 9.80665 / (1.2 * 0.05 * 0.5)), rel=1e-6)


def test_at_rest_in_still_air_there_is_no_force_and_no_warning(state):
    robot, q, _ = state
    with np.errstate(all="raise"):
        assert_allclose(Aerodynamic("trunk", 1.0, drag=1.0, lift=1.0).wrench(robot, q, np.zeros(robot.nv)), 0.0)


@pytest.mark.parametrize(
    "wrong", [dict(area=-1.0), dict(area=np.nan), dict(area=1.0, drag=-0.1), dict(area=1.0, wind=(1, 2))]
)
def test_what_is_no_force_element_is_refused(wrong):
    with pytest.raises(eq.ShapeError, match="aerodynamic force"):
        Aerodynamic("trunk", **wrong)
