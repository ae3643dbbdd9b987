"""Obstacles that move by themselves: the differential equation they obey, and the same obstacles as functions of
time."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import support
from numpy.testing import assert_allclose
from scipy.integrate import solve_ivp

import equipoise as eq
from equipoise.algebra import rigid
from equipoise.geometry.distances import angle, distances_kernel
from equipoise.geometry.motion import MOST_STEPS, displacement, rotation_after
from equipoise.geometry.primitives import GeometryError, Primitive, at_time

STILL = np.zeros(3)
# (velocity, acceleration): each kind of motion. The last two turn about an axis that itself turns.
MOTIONS = {
    "linear": ((0.3, -0.2, 0.5), None),
    "accelerating": ((0.3, -0.2, 0.5), (-0.4, 0.1, 0.8)),
    "from rest": (None, (0.2, 0.5, -0.3, 0.4, 0.0, 0.2)),
    "turning": ((0.1, 0.0, -0.2, 0.7, -1.1, 0.4), None),
    "turning faster": ((0.1, 0.0, -0.2, 0.0, 0.0, 0.9), (0.0, 0.3, 0.0, 0.0, 0.0, 0.6)),
    "tumbling": ((0.1, 0.2, -0.2, 0.7, -1.1, 0.4), (0.3, 0.1, 0.2, -0.8, 0.5, 1.3)),
    "tumbling fast": ((0.0, 0.0, 0.0, 7.0, -11.0, 4.0), (0.0, 0.0, 0.0, -8.0, 5.0, 13.0)),
}
BODIES = {
    "Point": lambda **m: eq.Point((0.4, 0.1, 0.6), **m),
    "Sphere": lambda **m: eq.Sphere((0.4, 0.1, 0.6), 0.1, **m),
    "Line": lambda **m: eq.Line((0.4, 0.3, 0.6), (1, 2, 0.5), **m),
    "Segment": lambda **m: eq.Segment((0.5, 0.1, 0.6), (0.9, -0.4, 1.0), **m),
    "Capsule": lambda **m: eq.Capsule((0.5, 0.1, 0.6), (0.9, -0.4, 1.0), 0.04, **m),
    "Plane": lambda **m: eq.Plane((0.3, -0.2, 1.0), 0.4, **m),
    "hinged Plane": lambda **m: eq.Plane((0.0, 0.0, 1.0), 0.4, point=(0.3, -0.5, 0.4), **m),
}


@pytest.fixture(params=MOTIONS)
def motion(request):
    velocity, acceleration = MOTIONS[request.param]
    return {"velocity": velocity, "acceleration": acceleration}


@pytest.fixture(params=BODIES)
def body(request, motion):
    return BODIES[request.param](**motion)


def by_integration(body: Primitive, t: float) -> tuple[np.ndarray, np.ndarray]:
    """(R, p) of the body at time t from its differential equation, by SciPy."""
    v, a = (np.pad(x, (0, 6 - len(x))) if x is not None else np.zeros(6) for x in (body.velocity, body.acceleration))

    def rate(s, y):
        return np.concatenate([v[:3] + a[:3] * s, (rigid.skew(v[3:] + a[3:] * s) @ y[3:].reshape(3, 3)).ravel()])

    start = np.concatenate([STILL, np.eye(3).ravel()])
    y = solve_ivp(rate, (0, t), start, method="DOP853", rtol=1e-13, atol=1e-14).y[:, -1]
    return y[3:].reshape(3, 3), y[:3]


@pytest.mark.parametrize("t", [0.01, 0.7, 2.0, -0.6])
def test_a_body_obeys_its_differential_equation(body, t):
    R, p = by_integration(body, t)
    now, r = body.at(t), body.points[0]
    for x, x_t in zip(body.points, now.points, strict=True):
        assert_allclose(x_t, r + p + R @ (x - r), atol=2e-10)
    for u, u_t in zip(body.directions, now.directions, strict=True):
        assert_allclose(u_t, R @ u, atol=2e-10)


def test_size_stays_for_ever(body):
    now = body.at(50.0)
    assert type(now) is type(body) and now.thickness == body.thickness
    arms, arms_now = (np.subtract(x.points, x.points[0]) for x in (body, now))
    assert_allclose(np.linalg.norm(arms_now, axis=1), np.linalg.norm(arms, axis=1), rtol=1e-12)


def test_derivatives_are_those_of_the_place(body):
    """`motion` at a later time is the place with its slopes there."""
    t, h = 0.8, 1e-3

    def place(s):
        return body.at(t + s).parameters

    now, rate, second = body.at(t).motion
    assert_allclose(now, place(0.0), atol=0)
    first = (8 * (place(h) - place(-h)) - (place(2 * h) - place(-2 * h))) / (12 * h)
    assert_allclose(first, rate, atol=1e-8 * (1 + np.abs(second).max() ** 2))
    assert_allclose((place(h) - 2 * now + place(-h)) / h**2, second, atol=1e-4 * (1 + np.abs(second).max() ** 1.5))


def test_times_add_up(body):
    there, twice = body.at(1.1), body.at(0.4).at(0.7)
    assert_allclose(twice.parameters, there.parameters, atol=1e-9)
    assert_allclose(twice.motion, there.motion, atol=1e-8 * np.abs(there.motion).max())
    assert_allclose(there.at(-1.1).parameters, body.parameters, atol=1e-9)


def test_distances_are_those_of_the_same_obstacle_as_a_function_of_time(body, rng):
    """Value, residual and its rate of a moving body against slopes of what the body at rest measures at each time."""
    robot = support.load("arm6")
    other = eq.Point((0.02, 0.01, 0.05), "tool")
    ds = [eq.distance(other, body)] + ([angle(eq.Line((0, 0, 0), (0, 1, 1), "tool"), body)] if body.directions else [])
    kernel = distances_kernel(robot, ds)
    q, v = robot.random_state(rng)
    t, h = 0.3, 2e-4

    def measured(s, twist=v):
        shown = kernel.motion([at_time(lambda time: replace(body.at(time), velocity=None, acceleration=None), s)])
        return kernel.kernel.program.evaluate(q, twist, *shown)

    now = kernel.kernel.program.evaluate(q, v, *kernel.motion([body.at(t)]))
    value, J, residual, *_ = now
    assert_allclose(value, measured(t)[0], rtol=1e-13, atol=1e-13)
    assert_allclose(J, measured(t)[1], rtol=1e-12, atol=1e-12)
    values = [measured(t + k * h)[0] for k in (-2, -1, 0, 1, 2)]
    slope = (8 * (values[3] - values[1]) - (values[4] - values[0])) / (12 * h)
    assert_allclose(residual, slope, rtol=1e-6, atol=1e-7)
    # With the robot at rest, d̈ is that of the world alone.
    resting = kernel.kernel.program.evaluate(q, np.zeros(robot.nv), *kernel.motion([body.at(t)]))
    bend = (-values[4] + 16 * values[3] - 30 * values[2] + 16 * values[1] - values[0]) / (12 * h * h)
    assert_allclose(resting[4], bend, rtol=1e-5, atol=1e-5 * (1 + np.abs(bend).max()))


def test_a_door_turns_about_its_hinge():
    door = eq.Plane((0, 1, 0), 0.0, velocity=(0, 0, 0, 0, 0, np.pi / 2), point=(1.0, 0.0, 0.0))
    open_ = door.at(1.0)
    assert_allclose(open_.normal, (-1, 0, 0), atol=1e-15)
    assert_allclose(open_.offset, -1.0, atol=1e-15)  # the plane x = 1
    assert_allclose(open_.point, (1, 0, 0), atol=1e-15)


def test_the_reference_point_of_a_plane_is_on_it():
    with pytest.raises(GeometryError, match=r"0\.1 m above"):
        eq.Plane((0, 0, 1), 0.2, point=(0, 0, 0.3))


def test_what_does_not_move_is_returned_as_it_is():
    on_frame = eq.Point((0, 0, 0), "tool")
    still = eq.Sphere((0, 0, 0), 0.1, velocity=(0, 0, 0))
    assert on_frame.at(3.0) is on_frame and still.at(3.0) is still and not still.moves
    assert eq.Sphere((0, 0, 0), 0.1, acceleration=(0, 0, 1)).moves
    ball = eq.Sphere((0, 0, 0), 0.1)
    assert at_time(lambda t: ball, 1.0) is ball and at_time(ball, 1.0) is ball


def test_rotations_stay_rotations_and_steps_are_bounded():
    w, alpha = np.array([300.0, -200.0, 100.0]), np.array([0.0, 40.0, 900.0])
    R = rotation_after(w, alpha, 1000.0)  # some 70 million turns: no place can be told, but a rotation it is
    assert MOST_STEPS == 1 << 16
    assert_allclose(R @ R.T, np.eye(3), atol=1e-9)
    assert_allclose(np.linalg.det(R), 1.0, atol=1e-9)


@pytest.mark.parametrize("t", [20.0, -15.0])
def test_a_long_tumble_is_as_exact(t):
    body = eq.Line((0, 0, 0), (0, 0, 1), velocity=(0, 0, 0, 3, 0, 0), acceleration=(0, 0, 0, 0, 0.5, 0))
    assert_allclose(body.at(t).direction, by_integration(body, t)[0][:, 2], atol=1e-8)


def test_displacement_gives_the_twist_at_its_end():
    v, a = np.arange(6.0), np.array([1.0, 0, 0, 0, 0, 2.0])
    assert_allclose(displacement(v, a, 0.5)[2], v + 0.5 * a)


@pytest.mark.parametrize("level", ["velocity", "acceleration"])
def test_a_controller_sees_a_thrown_ball_as_the_same_ball_given_as_a_function_of_time(level):
    robot = support.load("arm6")
    q = robot.standing()
    tool, v, a = robot.pose(q, "tool")[:3, 3], np.array([-0.1, 0.05, -0.2]), np.array([-0.6, 0.2, -0.3])
    p = tool + np.array([0.25, -0.05, 0.15])
    thrown = eq.Sphere(p, 0.08, velocity=v, acceleration=a)
    written = lambda t: eq.Sphere(p + v * t + a * (t * t / 2), 0.08, velocity=v + a * t, acceleration=a)  # noqa: E731
    hand, found = eq.Sphere((0, 0, 0), 0.05, "tool"), []
    for ball in (thrown, written):
        away = eq.KeepOut(hand, ball, name="ball")
        controller = eq.WholeBodyController(robot, [eq.PostureTask(q)], constraints=[away], level=level)
        found.append([getattr(controller(t, q, np.full(robot.nv, 0.1)), level) for t in (0.0, 0.25, 0.5)])
    assert_allclose(found[0], found[1], atol=1e-9)
    assert np.abs(found[0][2] - found[0][0]).max() > 1e-3  # the ball matters
