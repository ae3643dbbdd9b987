"""Barriers along a motion by differences, joint and torque limits in the controller, starts outside of the limits."""

from __future__ import annotations

import numpy as np
import pytest
from bodies import FEET, monopod, slope, standing, tripod, written
from numpy.testing import assert_allclose
from support import load

import equipoise as eq
from bench import safety
from equipoise.control.constraints import BarrierConstraint
from equipoise.control.controller.context import Context
from equipoise.control.item import TaskError
from equipoise.papers import qo21_control

POLYGON = ((0.3, -0.3), (0.3, 0.3), (-0.3, 0.3), (-0.3, -0.3))


def circling(t: float):
    """A sphere on a circle, with its velocity and acceleration."""
    c, s = np.cos(2 * t), np.sin(2 * t)
    motion = {"velocity": (-0.6 * s, 0.6 * c, 0, 0, 0, 0), "acceleration": (-1.2 * c, -1.2 * s, 0, 0, 0, 0)}
    return eq.Sphere((0.3 * c + 0.5, 0.3 * s, 1.5), 0.1, **motion)


BARRIERS: dict[str, BarrierConstraint] = {
    "sphere away from sphere": eq.KeepOut(
        eq.Sphere((0.1, 0, 0), 0.05, "shank_0"), eq.Sphere((1.0, 1, 1), 0.2), safe=0.02
    ),
    "sphere away from a moving one": eq.KeepOut(
        eq.Sphere((0.1, 0, 0), 0.05, "shank_0"),
        eq.Sphere((1.0, 1, 1), 0.2, velocity=(0.3, -0.2, 0.1, 0, 0, 0)),
        name="moving",
    ),
    "sphere away from a circling one": eq.KeepOut(eq.Sphere((0.1, 0, 0), 0.05, "shank_1"), circling, safe=0.1),
    "plane": eq.KeepOut(eq.Point((0, 0, -0.3), "shank_2"), eq.Plane((0.1, 0, 1.0), -2.0), safe=0.05),
    "inside a sphere": eq.KeepIn(eq.Point((0, 0.1, 0), "trunk"), eq.Point((0, 0, 0)), safe=3.0),
    "capsules of the robot": eq.KeepOut(
        eq.Capsule((0, 0, 0), (0, 0, -0.3), 0.04, "shank_0"), eq.Capsule((0, 0, 0), (0, 0, -0.3), 0.04, "shank_1")
    ),
    "cone": eq.Cone(eq.Line((0, 0, 0), (0.1, 0, 1.0), "trunk"), eq.Line((0, 0, 0), (0, 0, 1.0)), angle=0.4),
    "cone of the middle": eq.control.AbsoluteCone(
        "trunk", "shank_1", axis=(0.1, 0.3, 2.0), direction=(0.2, 0, 1.0), angle=lambda t: (0.4 + t * t, 2 * t, 2.0)
    ),
    "support": eq.CoMInSupport(POLYGON, margin=0.02),
    "ellipse": eq.control.CoMInEllipse((0.1, -0.2), radius=2.0, shape=((1.0, 0.3), (0.3, 2.0))),
    "moving ellipse": eq.control.CoMInEllipse(
        lambda t: (np.array([0.1 + t, t * t]), np.array([1.0, 2 * t]), np.array([0.0, 2.0])),
        radius=2.0,
        name="moving ellipse",
    ),
    "joint cones": eq.control.JointCones(margin=0.1),
}


@pytest.mark.paper("Q4")
@pytest.mark.parametrize("constraint", BARRIERS.values(), ids=BARRIERS.keys())
def test_rates_and_drifts_of_barriers_along_a_motion(constraint, rng):
    """d, ḋ = J v + ζ and d̈ = J a + drift, with the world moving too."""
    robot = tripod()
    q, v = robot.random_state(rng)

    def write(scene, numbers):
        barrier, rows = constraint.barrier(scene, numbers), constraint.rows(scene, numbers)
        return {name: getattr(barrier, name) for name in ("d", "J", "residual", "drift")} | {"rate": rows.rate}

    at, t = written(robot, constraint, write, "acceleration"), 0.3

    def along(s):
        return at(robot.integrate(q, v, s), v, t + s)

    now = along(0.0)
    assert_allclose(now["rate"], now["J"] @ v + now["residual"], rtol=0, atol=1e-12)
    rate, drift = slope(lambda s: along(s)["d"]), slope(lambda s: along(s)["rate"])
    assert_allclose(now["rate"], rate, rtol=0, atol=1e-8 * (1 + np.abs(rate).max()))
    assert_allclose(now["drift"], drift, rtol=0, atol=1e-8 * (1 + np.abs(drift).max()))
    assert np.abs(rate).max() > 1e-4


@pytest.mark.paper("E9")
def test_an_ellipse_is_left_where_its_form_says(rng):
    """d = 0 on the border, by the definition of the ellipse."""
    robot = tripod()
    q, v = robot.random_state(rng)
    W, centre = np.array([[1.0, 0.3], [0.3, 2.0]]), np.array([0.1, -0.2])
    rho = np.sqrt((robot.com(q)[:2] - centre) @ W @ (robot.com(q)[:2] - centre))
    for radius, sign in ((rho, 0), (0.9 * rho, -1), (1.1 * rho, 1)):
        ellipse = eq.control.CoMInEllipse(centre, radius=radius, shape=W)
        d = written(robot, ellipse, lambda scene, numbers, e=ellipse: {"d": e.barrier(scene, numbers).d})(q, v)["d"]
        assert np.sign(np.round(d, 12)) == sign


@pytest.mark.paper("Q5")
def test_joint_cones_are_the_angles_between_lines():
    """Beside `joint_limit_angle`, which measures two lines in space; both ends of the range are on the border."""
    robot = load("arm7")
    cones = eq.control.JointCones()
    names = [name.removeprefix("joint cone of ") for name in cones.row_names(Context(robot, "velocity"))]
    at = written(robot, cones, lambda scene, numbers: {"d": cones.barrier(scene, numbers).d}, "velocity")
    q, _ = robot.random_state(np.random.default_rng(2))
    for k, name in enumerate(names):
        measured, safe = eq.control.joint_limit_angle(robot, name)
        wanted = safe.chord[0] - measured.on(robot)(q, np.zeros(7)).value
        assert_allclose(at(q, np.zeros(7))["d"][k], wanted, rtol=0, atol=1e-12)
        for end in (robot.joints[name].limits.lower, robot.joints[name].limits.upper):
            there = q.copy()
            there[robot.joints[name].q] = end
            assert_allclose(at(there, np.zeros(7))["d"][k], 0.0, rtol=0, atol=1e-12)


@pytest.mark.paper("Q3")
def test_resting_bounds_close_with_the_frame(rng):
    """k (∓g − q̇) [QO21, Eq. (3.4)], g from the frame's own velocity; beside `shrinking_bounds`."""
    robot = load("arm7")
    q, v = robot.random_state(rng)
    target = rng.normal(size=6)
    bounds = eq.control.RestingBounds("tool", rate=4.0, axes="x y rz", velocity=target)

    def write(scene, numbers):
        rows = bounds.rows(scene, numbers)
        return {"lower": rows.lower, "upper": rows.upper, "A": rows.rows.matrix}

    now = written(robot, bounds, write, "acceleration")(q, v)
    off = (robot.velocity(q, v, "tool") - target)[[0, 1, 5]]
    lower, upper = eq.control.shrinking_bounds(v, off, 4.0)
    assert_allclose(now["lower"], lower, rtol=0, atol=1e-12)
    assert_allclose(now["upper"], upper, rtol=0, atol=1e-12)
    assert_allclose(now["A"], np.eye(7))
    with pytest.raises(TaskError, match="level='acceleration'"):
        eq.WholeBodyController(robot, [eq.PostureTask()], constraints=[bounds], level="velocity")


def test_barriers_measure_what_they_say(rng):
    robot = tripod()
    q, _ = robot.random_state(rng)
    controller = eq.WholeBodyController(robot, [eq.PostureTask()], constraints=[*BARRIERS.values()], level="velocity")
    margins = controller(0.3, q, np.zeros(robot.nv)).margins
    where = (robot.pose(q, "shank_0") @ [0.1, 0, 0, 1])[:3]
    assert margins[BARRIERS["sphere away from sphere"].label] == pytest.approx(
        np.linalg.norm(where - 1) - 0.27, abs=1e-12
    )
    moved = np.array([1.0, 1, 1]) + 0.3 * np.array([0.3, -0.2, 0.1])
    assert margins[BARRIERS["sphere away from a moving one"].label] == pytest.approx(
        np.linalg.norm(where - moved) - 0.25, abs=1e-12
    )
    place = (robot.pose(q, "trunk") @ [0, 0.1, 0, 1])[:3]
    inside = margins[BARRIERS["inside a sphere"].label]
    assert inside == pytest.approx(9.0 - place @ place, abs=1e-12)  # squared, as distances of points are
    middle = eq.AbsoluteTask("trunk", "shank_1").here(robot, q)[:3, :3] @ np.array([0.1, 0.3, 2.0])
    cosine = middle @ [0.2, 0, 1.0] / (np.linalg.norm(middle) * np.hypot(0.2, 1.0))
    chord = 2 * cosine - 2 * np.cos(0.4 + 0.3**2)  # (2 − 2 cos φ_safe) − (2 − 2 cos φ)
    assert margins[BARRIERS["cone of the middle"].label] == pytest.approx(chord, abs=1e-12)
    c = robot.com(q)[:2]
    assert margins["centre of mass in support"] == pytest.approx(np.min(0.28 - np.abs(c)), abs=1e-12)


@pytest.mark.parametrize(
    ("constraint", "words"),
    [
        (eq.KeepOut(eq.Point((0, 0, 0), "fot"), eq.Plane((0, 0, 1.0), 0.0)), "foot"),
        (eq.control.CoMInEllipse((0, 0), shape=((1, 0), (0, -1))), "positive definite"),
        (eq.control.JointCones(["kne"]), "knee"),
        (eq.control.AbsoluteCone("fot", "foot"), "foot"),
        (eq.control.AbsoluteCone("foot", "hand", angle=0.0), "between 0 and"),
        (eq.control.AbsoluteCone("foot", "hand", axis=(0, 0, 0)), "not all zero"),
        (eq.control.JointCones(margin=4.0), "leave every joint a range"),
        (eq.control.RestingBounds("fot"), "foot"),
        (eq.KeepOut(eq.Point((0, 0, 0), "foot"), eq.Plane((0, 0, 1.0), 0.0), safe=np.nan), "safe must be finite"),
        (eq.KeepOut(eq.Point((0, 0, 0), "foot"), eq.Point((0, 0, 1.0)), safe=-0.1), "not negative"),
        (eq.Cone(eq.Line((0, 0, 0), (0, 0, 1.0), "foot"), eq.Line((0, 0, 0), (0, 0, 1.0)), angle=4.0), "between 0 and"),
        (eq.CoMInSupport(((0, 0), (1, 0))), "three or more corners"),
        (eq.CoMInSupport(POLYGON[::-1]), "counter-clockwise"),
        (eq.TorqueLimits(limits=(1.0, 2.0)), "one number or 8"),
        (eq.JointLimits(acceleration=-1.0), "acceleration must be positive"),
        (eq.JointLimits(most=np.nan), "most must be positive"),
        (eq.JointLimits(acceleration=np.inf), "acceleration must be positive"),
        (eq.JointLimits(most="much"), "most must be positive and finite, one number or 8; got 'much'"),
        (eq.JointLimits(margin=3.0), "no room"),
        (eq.MomentumLimits(linear=-1.0), "must be positive"),
        (
            eq.KeepOut(eq.Point((0, 0, 0), "foot"), eq.Plane((0, 0, 1.0), 0.0), gains=eq.Gains.of_rates(5.0, 2000.0)),
            "too fast",
        ),
    ],
)
def test_bad_constraints_are_refused_with_the_reason(constraint, words):
    with pytest.raises(eq.EquipoiseError) as caught:
        eq.WholeBodyController(monopod(), [eq.PostureTask()], constraints=[constraint])
    assert words in str(caught.value)


def test_constraints_on_torques_need_the_torque_level():
    with pytest.raises(TaskError, match="level='torque'"):
        eq.WholeBodyController(monopod(), [eq.PostureTask()], constraints=[eq.TorqueLimits()], level="velocity")
    with pytest.raises(eq.EquipoiseError, match="acceleration"):
        eq.WholeBodyController(monopod(), [], level="torqe")


# --- limits in the controller -----------------------------------------------------------------------------------------


def pulled(robot, q_to, level, constraints, q, v, dt=1e-3, steps=600, **options):
    """Runs an arm after its posture in an exact world; yields (q, v, solution)."""
    task = eq.PostureTask(q_to, weight=1.0, gain=20.0)
    controller = eq.WholeBodyController(robot, [task], constraints=constraints, level=level, dt=dt, **options)
    for k in range(steps):
        solution = controller(k * dt, q, v)
        yield q, v, solution
        if level == "velocity":
            q, v = q + solution.velocity * dt, solution.velocity
        else:
            q, v = q + v * dt + solution.acceleration * dt**2 / 2, v + solution.acceleration * dt


@pytest.mark.parametrize("level", ["velocity", "acceleration", "torque"])
def test_joints_pulled_beyond_their_limits_stop_there(level):
    robot = load("arm7")
    limits = eq.JointLimits(acceleration=20.0, velocity=1.0)
    q_to = robot.limits.upper + 0.5
    run = list(pulled(robot, q_to, level, [limits], robot.limits.upper - 0.3, np.zeros(7)))
    for q, v, _ in run:
        assert (q <= robot.limits.upper + 1e-9).all()
        assert (np.abs(v) <= 1 + 1e-9).all()
    q, _, solution = run[-1]
    assert (q > robot.limits.upper - 1e-3).all()  # they do get there
    assert any("joint limit of" in name for name in solution.active)


@pytest.mark.parametrize("level", ["velocity", "acceleration", "torque"])
def test_starting_outside_a_limit_is_recovered_from(level):
    robot = load("arm7")
    start = robot.limits.upper + np.array([0.2, 0, 0, -0.5, 0, 0, -0.3])
    run = list(
        pulled(robot, start, level, [eq.JointLimits(acceleration=50.0)], start.copy(), np.full(7, -0.1), steps=500)
    )
    assert all(solution.status.ok for _, _, solution in run)
    assert any("starts 0.2 outside" in str(event) for event in run[0][2].events)
    assert not run[1][2].events
    assert (run[-1][0] <= robot.limits.upper + 1e-6).all()


def test_torques_stay_within_their_limits(rng):
    robot = load("arm7")
    largest = np.full(7, 15.0)
    controller = eq.WholeBodyController(
        robot, [eq.PostureTask(robot.random_state(rng)[0], weight=1.0)], constraints=[eq.TorqueLimits(limits=largest)]
    )
    for _ in range(20):
        q, v = robot.random_state(rng)
        solution = controller(0.0, q, v)
        assert (np.abs(solution.torque) <= 15 + 1e-6).all()
    assert any(name.startswith("torque limit of") for name in solution.active)


def test_momentum_is_bounded_after_the_step_and_comes_back_from_outside(rng):
    robot, dt = tripod(), 1e-3
    q, v = robot.random_state(rng)
    h = robot.momentum(q, v)
    tasks = [eq.MomentumTask(20 * h, axes="pose", gain=100.0), eq.PostureTask()]

    def after(bound):
        limits = eq.MomentumLimits(linear=np.abs(bound[:3]), angular=np.abs(bound[3:]))
        controller = eq.WholeBodyController(robot, tasks, constraints=[limits], level="acceleration", dt=dt)
        solution = controller(0.0, q, v)
        rate = robot.momentum_matrix(q) @ solution.acceleration + robot.momentum_bias(q, v)
        return h + dt * rate, solution

    now, solution = after(1.05 * h)
    assert_allclose(now, 1.05 * h, rtol=1e-6)
    assert len(solution.active) == 6
    now, _ = after(0.5 * h)
    assert_allclose(now, 0.99 * h, rtol=1e-6)  # outside: back at 10 per second, not at once


@pytest.mark.paper("Q5")
def test_a_cup_stays_upright_within_its_cone():
    robot, dt = load("arm7"), 2e-3
    q = np.array([0.2, 0.6, -0.3, -1.2, 0.4, 0.8, 0.1])
    up = robot.pose(q, "tool")[:3, :3].T @ [0, 0, 1.0]
    cone = eq.Cone(eq.Line((0, 0, 0), up, "tool"), eq.Line((0, 0, 0), (0, 0, 1.0)), angle=0.2, name="cup")
    goal = robot.pose(q, "tool")[:3, 3] + np.array([0.3, 0.3, -0.2])
    tool = eq.FrameTask("tool", goal, axes="position", gain=6.0)
    controller = eq.WholeBodyController(robot, [tool, eq.PostureTask(q + 1.0)], constraints=[cone], dt=dt)
    v, seen = np.zeros(7), []
    for k in range(600):
        solution = controller(k * dt, q, v)
        q, v = q + v * dt + solution.acceleration * dt**2 / 2, v + solution.acceleration * dt
        seen.append(np.arccos(robot.pose(q, "tool")[:3, :3] @ up @ [0, 0, 1.0]))
    assert max(seen) <= 0.2 + 1e-6
    assert max(seen) > 0.15  # it was needed


def _rough(foot):
    return eq.PointContact(foot, friction=2.0)


def test_the_centre_of_mass_stays_over_its_polygon():
    robot, q, dt = tripod(), standing(tripod()), 2e-3
    v, com = np.zeros(robot.nv), robot.com(standing(tripod()))
    square = com[:2] + 0.03 * np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]])
    tasks, contacts = (
        [eq.CoMTask(com + np.array([0.1, 0.05, 0.0]), gain=8.0), eq.PostureTask()],
        [_rough(foot) for foot in FEET],
    )
    controller = eq.WholeBodyController(robot, tasks, contacts, [eq.CoMInSupport(square), eq.TorqueLimits()], dt=dt)
    for k in range(500):
        solution = controller(k * dt, q, v)
        q = robot.integrate(q, v + solution.acceleration * dt / 2, dt)
        v = v + solution.acceleration * dt
        assert np.abs(robot.com(q)[:2] - com[:2]).max() <= 0.03 + 1e-6
    assert robot.com(q)[0] - com[0] > 0.028


# --- safety with the whole controller ---------------------------------------------------------------------------------


@pytest.mark.paper("Q4")
@pytest.mark.parametrize("moving", [False, True], ids=["static", "moving"])
@pytest.mark.parametrize("dt", [1e-3, 2e-3, 5e-3, 1e-2])
def test_admitted_starts_never_enter_an_obstacle(dt, moving):
    """An arm pulled through a sphere, static or flying; looked at ten times within every step [docs/safety.md, Theorem
    2]."""
    outcome = safety.controlled("arm7", moving, dt, starts=2, duration=0.7)
    assert outcome.good and outcome.admitted == 2
    if dt == 1e-3 and not moving:
        assert outcome.worst < 0.1  # it comes near; at longer steps the margin for what may happen within one is wide


@pytest.mark.paper("Q4")
def test_active_barriers_ask_for_what_the_theorems_say():
    """Variation, jump, drift, and all that moves are in the row, at each level."""
    figures = list(qo21_control.barrier_figures())
    assert len(figures) == 9 and all(figure.good for figure in figures), figures


@pytest.mark.slow
@pytest.mark.paper("Q4")
@pytest.mark.parametrize("moving", [False, True], ids=["static", "moving"])
@pytest.mark.parametrize(("dt", "starts"), [(1e-3, 400), (2e-3, 800), (5e-3, 1800), (1e-2, 2000)])
def test_admitted_starts_never_enter_an_obstacle_many(dt, starts, moving):
    """Ten thousand starts in all, with the whole controller in the loop."""
    outcome = safety.controlled("arm7", moving, dt, starts, duration=0.4)
    assert outcome.good and outcome.admitted == starts


# --- rows as they are stated ------------------------------------------------------------------------------------------


def rows_of(solution, name):
    """(lower, upper) of the rows of that name."""
    at = [k for k, row in enumerate(solution.program.names) if row.startswith(name)]
    return solution.program.lower[at], solution.program.upper[at]


def test_the_rate_of_torques_bounds_both_ways():
    robot = load("arm7")
    limits = [eq.TorqueLimits(), eq.TorqueRate(500.0)]
    controller = eq.WholeBodyController(robot, [eq.PostureTask()], constraints=limits)
    q, v = np.full(7, 0.2), np.full(7, 0.1)
    assert np.isinf(rows_of(controller(0.0, q, v), "torque rate")).all()  # the first step is free
    lower, upper = rows_of(controller(0.001, q, v), "torque rate")
    assert_allclose(upper - lower, 2 * 500.0 * 1e-3, rtol=1e-9)


@pytest.mark.parametrize("most, free", [(None, 20.0), (300.0, 300.0), (5.0, 20.0), (np.full(7, 300.0), 300.0)])
def test_where_no_end_is_near_joints_are_accelerated_by_more_than_they_brake_with(most, free):
    robot = load("arm7")
    limits = eq.JointLimits(acceleration=20.0, most=most)
    controller = eq.WholeBodyController(robot, [eq.PostureTask()], constraints=[limits])
    middle = (robot.limits.lower + robot.limits.upper) / 2
    lower, upper = rows_of(controller(0.0, middle, np.full(7, 0.01)), "joint limit")
    assert_allclose((lower, upper), (np.full(7, -free), np.full(7, free)))
    speed = np.sqrt(2 * 20.0 * 0.01)  # from which 20 rad/s² stop in 0.01 rad
    lower, upper = rows_of(controller(0.001, robot.limits.upper - 0.01, np.full(7, 1.001 * speed)), "joint limit")
    assert_allclose(upper, -20.0)
    assert_allclose(lower, -free)


def test_a_step_may_stop_a_joint_from_its_largest_rate_and_not_turn_it_round():
    robot, dt = load("arm7"), 1e-3
    limits = eq.JointLimits(acceleration=20.0, velocity=2.0, most=1e9)
    controller = eq.WholeBodyController(robot, [eq.PostureTask()], constraints=[limits], dt=dt)
    middle = (robot.limits.lower + robot.limits.upper) / 2
    for t, way in ((0.0, 1.0), (dt, -1.0)):
        lower, upper = rows_of(controller(t, middle, np.full(7, way * 2.0)), "joint limit")
        assert_allclose(lower if way > 0 else upper, -way * 2.0 / dt, rtol=1e-12)


def test_a_jump_raises_the_bound_of_velocities_by_half_a_step_of_it():
    robot, q = load("arm7"), np.full(7, 0.2)
    bounds = []
    for jump in (0.0, 0.3):
        keep = eq.KeepOut(eq.Point((0, 0, 0), "tool"), eq.Plane((0, 0, 1.0), -1.0), jump=jump, name="it")
        controller = eq.WholeBodyController(robot, [eq.PostureTask()], constraints=[keep], level="velocity", dt=4e-3)
        bounds.append(rows_of(controller(0.0, q, np.zeros(7)), "it")[0][0])
    assert bounds[1] - bounds[0] == pytest.approx(0.3 * 4e-3 / 2, rel=1e-9)


def test_the_chord_of_an_angle_that_changes_has_its_derivatives():
    axis = eq.Line((0, 0, 0), (0, 0, 1.0))
    cone = eq.Cone(eq.Line((0, 0, 0), (0, 0, 1.0), "tool"), axis, angle=0.5)

    def chord(t):
        angle = 0.5 + 0.2 * t + 0.15 * t**2
        return np.array(cone.parameters(Context(load("arm7")))["angle"].flat("", [(angle, 0.2 + 0.3 * t, 0.3)]))

    now = chord(0.1)
    assert_allclose(now[1:], slope(lambda s: chord(0.1 + s))[:2], rtol=1e-8)


def test_starts_from_which_joints_cannot_stop_are_told():
    """Each sentence where it is true, by the room ahead and the way to brake, and none where it is not."""
    robot, A = load("arm7"), 10.0
    end, most = robot.limits.upper[0], robot.limits.velocity[0]
    for room, speed, words in (
        (0.1, 0.99 * np.sqrt(2 * A * 0.1), None),
        (0.1, 1.01 * np.sqrt(2 * A * 0.1), "at 1.428 it cannot stop before its end by 10"),
        (-0.02, 0.0, "it starts 0.02 outside and is brought back"),
        (1.0, 1.1 * most, f"it starts at {1.1 * most:.4g}, faster than its limit of {most:.4g}"),
    ):
        q, v = np.zeros(7), np.zeros(7)
        q[3] = -0.5 * (robot.limits.upper[3] < 0)
        q[0], v[0] = end - room, speed
        limits = eq.JointLimits(acceleration=A)
        of = eq.WholeBodyController(robot, [eq.PostureTask()], constraints=[limits], level="acceleration")
        of(0.0, q, v)
        first = next(iter(robot.joints))
        assert [line for line in of.start_report if first in line] == (
            [] if words is None else [f"joint limit of {first}: {words}"]
        )
