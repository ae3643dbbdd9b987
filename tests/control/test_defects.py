"""Answers that were wrong and called right: each once, so that none comes back."""

from __future__ import annotations

import copy
import pickle
import threading

import numpy as np
import pytest
from bodies import FEET, standing, tripod
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import linprog
from scipy.spatial import ConvexHull
from support import load

import equipoise as eq
from equipoise.control.controller.solution import ControlStatus
from equipoise.control.events import ControlEventKind
from equipoise.control.item import TaskError
from equipoise.simulate.plant import PlantState

HOME = np.array([0.2, 0.6, -0.3, -1.2, 0.4, 0.8, 0.1])
SOLE = ((0.16, 0.05), (0.16, -0.05), (-0.08, -0.05), (-0.08, 0.05))


def human_feet():
    return [eq.FlatContact(f"{side}_foot", corners=SOLE, friction=0.6) for side in ("left", "right")]


def feasible(program, without=()) -> bool:
    """Whether the rows of a program can hold together, those of some names left out, by HiGHS."""
    keep = np.array([name not in without for name in program.names])
    A, lower, upper = program.A[keep], program.lower[keep], program.upper[keep]
    low, high = np.isfinite(lower), np.isfinite(upper)
    rows, bounds = np.vstack((A[high], -A[low])), np.concatenate((upper[high], -lower[low]))
    answer = linprog(np.zeros(A.shape[1]), A_ub=rows, b_ub=bounds + 1e-9, bounds=(None, None), method="highs")
    return answer.status == 0


# --- 1: strict priorities and NaN -------------------------------------------------------------------------------------


def test_strict_priorities_are_finite_at_every_state(rng):
    robot = load("arm7")
    controller = eq.WholeBodyController(robot, [eq.FrameTask("tool")], (), [eq.TorqueLimits()], priorities="strict")
    states = [(np.full(7, 0.05), np.full(7, 0.05)), *(robot.random_state(rng) for _ in range(60))]
    for q, v in states:
        solution = controller(0.0, q, v)
        assert np.isfinite(solution.torque).all() and solution.status in (ControlStatus.OPTIMAL, ControlStatus.RELAXED)
        assert solution.residuals.worst <= 1e-6
        assert (np.abs(solution.torque) <= robot.limits.effort * (1 + 1e-9)).all()


def test_a_program_that_is_not_finite_is_answered_by_the_fallback():
    """NaN passes no comparison between kernel and command: a half turn between two hands has no middle."""
    robot, q = load("bimanual"), load("bimanual").neutral()
    frames = [name for name in robot.frames if "tool" in name or "hand" in name][:2]
    huge = np.full(robot.nv, 1e200)
    controller = eq.WholeBodyController(
        robot, [eq.AbsoluteTask(*frames), eq.PostureTask()], constraints=[eq.TorqueLimits()]
    )
    assert np.isfinite(controller(0.0, q, np.zeros(robot.nv)).torque).all()
    solution = controller(0.1, q, huge)
    assert solution.status.fallback and np.isfinite(solution.torque).all()
    assert (np.abs(solution.torque) <= robot.limits.effort * (1 + 1e-9)).all() and solution.explain()


# --- 2: FAILED and RELAXED are true -----------------------------------------------------------------------------------


def test_a_hard_task_that_cannot_hold_is_relaxed_and_not_called_a_failure(rng):
    """A standing human, a hard centre of mass 0.2 m ahead: all other rows can hold (a linear program agrees)."""
    robot = load("human")
    tasks = [eq.CoMTask(hard=True), eq.PostureTask()]
    controller = eq.WholeBodyController(robot, tasks, human_feet(), [eq.TorqueLimits(), eq.JointLimits()])
    q = robot.standing()
    controller(0.0, q, np.zeros(robot.nv))
    for k in range(8):
        shift = rng.uniform(-0.3, 0.3, 3) * [1, 0.5, 0.2] + [0.2, 0, 0]
        controller.set_target("centre of mass", robot.com(q) + shift)
        v = 0.02 * rng.normal(size=robot.nv)
        solution = controller(0.001 * k, q, v)
        whole = feasible(solution.program)
        rest = feasible(solution.program, without=("centre of mass task",))
        assert rest
        wanted = ControlStatus.OPTIMAL if whole else ControlStatus.RELAXED
        assert solution.status is wanted
        if not whole:
            assert set(solution.relaxed) == {"centre of mass task"} and "centre of mass task" in solution.conflict
            assert "never relaxed" not in solution.explain()


# --- 3 and 4: users' functions ----------------------------------------------------------------------------------------


def bad(value):
    if isinstance(value, type) and issubclass(value, BaseException):
        raise value("a user's own trouble")
    return value


BAD = [
    ValueError,
    ZeroDivisionError,
    KeyError,
    "there",
    [[1.0], [2.0, 3.0]],
    None,
    object(),
    np.full(3, np.nan),
    np.zeros(7),
]


@pytest.mark.parametrize("value", BAD, ids=lambda x: getattr(x, "__name__", str(type(x).__name__)))
def test_a_target_refused_at_the_first_call_is_where_the_robot_is(value):
    robot, q = load("human"), load("human").standing()
    tasks = [eq.CoMTask(lambda t: bad(value)), eq.PostureTask()]
    controller = eq.WholeBodyController(robot, tasks, human_feet(), [eq.TorqueLimits()])
    solution = controller(0.0, q, np.zeros(robot.nv))
    assert solution.status.ok and [e.kind for e in solution.events] == [ControlEventKind.SETTING_REFUSED]
    assert solution.task_errors["centre of mass"] < 1e-9
    assert np.abs(robot.com_jacobian(q) @ solution.acceleration).max() < 0.05  # the regularisation's
    assert controller.counts["target_refused"] == 1 and controller.counts["errors"] == 0


@pytest.mark.parametrize(
    "value", [*BAD, eq.Plane((0, 0, 1.0)), eq.Sphere((0, 0, 0), 0.1, "tool")], ids=lambda x: type(x).__name__
)
def test_an_obstacle_that_cannot_be_is_refused_and_the_last_one_stays(value):
    robot, now = load("arm7"), {"ball": eq.Sphere((0.5, 0.5, 0.5), 0.1)}
    keep = eq.KeepOut(eq.Sphere((0, 0, 0), 0.05, "tool"), lambda t: bad(now["ball"]), name="ball")
    controller = eq.WholeBodyController(robot, [eq.PostureTask()], constraints=[keep], level="acceleration")
    good = controller(0.0, HOME, np.zeros(7))
    now["ball"] = value
    solution = controller(0.1, HOME, np.zeros(7))
    assert [e.kind for e in solution.events] == [ControlEventKind.SETTING_REFUSED]
    assert solution.margins == good.margins


def test_a_function_that_calls_its_own_controller_is_answered(rng):
    robot = load("arm7")
    inner = []

    def target(t):
        inner.append(controller(t, HOME, np.zeros(7)))
        return robot.pose(HOME, "tool")

    controller = eq.WholeBodyController(robot, [eq.FrameTask("tool", target)], constraints=[eq.TorqueLimits()])
    outer = controller(0.0, HOME, np.zeros(7))
    assert outer.status.ok and inner[0].status.fallback and inner[0].events[0].kind is ControlEventKind.BUSY


# --- 5: everything can be read after every status ---------------------------------------------------------------------


def test_every_field_can_be_read_after_every_status():
    robot, q = tripod(), standing(tripod())
    feet = [eq.PointContact(foot) for foot in FEET]
    keep = eq.KeepOut(eq.Point((0, 0, 0), "trunk"), eq.Plane((0, 0, 1.0)))
    controller = eq.WholeBodyController(
        robot, [eq.CoMTask(hard=True), eq.PostureTask()], feet, [eq.TorqueLimits(), keep]
    )
    v, twisted = np.zeros(robot.nv), q * np.r_[np.ones(3), 1.2 * np.ones(4), np.ones(robot.nq - 7)]
    still = controller(0.0, q, v)
    controller.set_target("centre of mass", np.array([9.0, 0, 0]))
    solutions = [
        still,
        controller(0.1, q, v),
        controller(0.2, np.full(robot.nq, np.nan), v),
        controller(0.3, twisted, v),
    ]
    solutions += [controller(0.4, q[1:], v), controller(0.5, q, np.full(robot.nv, 1e300))]
    assert len({s.status for s in solutions}) >= 5
    for s in solutions:
        parts = (
            s.forces,
            s.task_errors,
            s.margins,
            s.active,
            s.relaxed,
            s.conflict,
            s.explain(),
            s.x,
            s.multipliers,
            repr(s),
        )
        assert all(part is not None for part in parts)
        assert np.isfinite(s.torque).all() and np.isfinite(s.acceleration).all() and np.isfinite(s.velocity).all()


def test_arrays_given_out_are_the_users_own():
    robot = load("arm7")
    controller = eq.WholeBodyController(robot, [eq.PostureTask(HOME + 0.1)], constraints=[eq.TorqueLimits()])
    first = controller(0.0, HOME, np.zeros(7))
    kept = first.torque.copy()
    first.torque[:], first.acceleration[:], first.x[:] = 0.0, 0.0, 0.0
    assert_allclose(controller(0.1, HOME, np.zeros(7)).torque, kept)
    assert_allclose(controller(0.2, np.full(7, np.nan), np.zeros(7)).torque, kept)  # the fallback's memory is its own


def test_a_plant_whose_quaternion_drifts_does_not_end_a_simulation():
    robot = load("quadruped")

    class Drifting:
        def reset(self, q, v):
            self.q, self.v = q.copy(), v.copy()

        def step(self, torque, dt, wrenches=None):
            self.q[3:7] *= 1.001
            return PlantState(self.q.copy(), self.v.copy(), 0.0)

    controller = eq.WholeBodyController(robot, [eq.PostureTask()], constraints=[eq.TorqueLimits()])
    run = eq.simulate(robot, controller, plant=Drifting(), q0=robot.standing(), duration=0.02, dt=1e-3, fall=None)
    assert run.outcome == "completed" and any("drift" in text for _, text in run.events)
    assert_allclose(np.linalg.norm(run.q[:, 3:7], axis=1), 1.0, atol=1e-9)


# --- 6: obstacles that move -------------------------------------------------------------------------------------------

MOTION = {"velocity": (0.3, -0.2, 0.1, 0.4, -0.3, 0.5), "acceleration": (0.2, 0.5, -0.4, -0.2, 0.6, 0.3)}
MOVING = {
    "point": eq.Point((0.6, 0.2, 0.5), **MOTION),
    "sphere": eq.Sphere((0.6, 0.2, 0.5), 0.1, **MOTION),
    "segment": eq.Segment((0.6, 0.2, 0.5), (0.8, -0.2, 0.4), **MOTION),
    "capsule": eq.Capsule((0.6, 0.2, 0.5), (0.8, -0.2, 0.4), 0.1, **MOTION),
    "line": eq.Line((0.9, 0.2, 0.5), (0.1, 1.0, 0.2), **MOTION),
    "plane": eq.Plane((0.2, 0.1, 1.0), -0.5, **MOTION),
}


@pytest.mark.paper("Q4")
@pytest.mark.parametrize("level", ["velocity", "acceleration", "torque"])
@pytest.mark.parametrize("obstacle", MOVING.values(), ids=MOVING.keys())
def test_an_obstacle_that_moves_is_the_same_given_as_a_function_of_time(obstacle, level, rng):
    """Rows, bounds and margins at several times: the world's own motion is in them."""
    robot = load("arm7")
    tool = (
        eq.Sphere((0, 0, 0), 0.05, "tool")
        if obstacle.thickness or obstacle.core == "plane"
        else eq.Point((0, 0, 0), "tool")
    )
    made = [
        eq.WholeBodyController(
            robot, [eq.PostureTask()], constraints=[eq.KeepOut(tool, b, safe=0.02, name="it")], level=level
        )
        for b in (obstacle, obstacle.at)
    ]
    q, v = robot.random_state(rng)
    margins = []
    for t in (0.0, 0.4, 0.9):
        one, other = (controller(t, q, v) for controller in made)
        at = list(one.program.names).index("it")
        assert_allclose(one.program.A[at], other.program.A[at], rtol=0, atol=1e-10)
        assert_allclose(one.program.lower[at], other.program.lower[at], rtol=1e-9)
        margins.append(one.margins["it"])
        assert one.margins["it"] == pytest.approx(other.margins["it"], abs=1e-12)
    assert np.ptp(margins) > 1e-3


@pytest.mark.paper("Q5")
def test_a_cone_turns_its_axis(rng):
    robot, q = load("arm7"), HOME
    line = eq.Line((0, 0, 0), (0, 0, 1.0), "tool")
    axis = eq.Line((0, 0, 0), robot.pose(q, "tool")[:3, 2], velocity=(0, 0, 0, 0.5, 0, 0.2))
    cone = eq.Cone(line, axis, angle=0.3, name="cup")
    controller = eq.WholeBodyController(robot, [eq.PostureTask()], constraints=[cone], level="acceleration")
    for t in (0.0, 0.3, 1.0, 2.0):
        cosine = float(axis.at(t).direction @ robot.pose(q, "tool")[:3, 2])
        margin = controller(t, q, np.zeros(7)).margins["cup"]
        assert margin == pytest.approx(2 * cosine - 2 * np.cos(0.3), abs=1e-12)
    assert margin < 0


@pytest.mark.parametrize("kind", ["safe", "angle"])
def test_safe_distances_and_angles_may_change_with_their_rates(kind):
    """The rate of the margin is that of the bound: a row that ignores it lets the tool in."""
    robot, dt = load("arm7"), 1e-3
    if kind == "safe":
        ball = eq.Sphere(robot.pose(HOME, "tool")[:3, 3] + [0.4, 0, 0], 0.1)
        item = eq.KeepOut(eq.Sphere((0, 0, 0), 0.05, "tool"), ball, safe=lambda t: (0.2 * t, 0.2, 0.0), name="it")
    else:
        axis = eq.Line((0, 0, 0), robot.pose(HOME, "tool")[:3, 2])
        item = eq.Cone(
            eq.Line((0, 0, 0), (0.3, 0, 1.0), "tool"), axis, angle=lambda t: (0.6 - 0.2 * t, -0.2, 0.0), name="it"
        )
    controller = eq.WholeBodyController(robot, [eq.PostureTask(HOME)], constraints=[item], level="acceleration", dt=dt)
    q, v, least = HOME.copy(), np.zeros(7), np.inf
    for k in range(2000):
        solution = controller(k * dt, q, v)
        least = min(least, solution.margins["it"])
        q, v = q + v * dt + solution.acceleration * dt**2 / 2, v + solution.acceleration * dt
    assert -1e-6 < least < 0.05 and solution.active == ("it",)


def test_a_sphere_that_accelerates_towards_the_tool_is_not_entered():
    """It was by 53 mm here: its velocity was that of the start."""
    robot, dt = load("arm7"), 1e-3
    start = robot.pose(HOME, "tool")[:3, 3] + np.array([0.5, 0.0, 0.0])
    ball = eq.Sphere(start, 0.1, velocity=(0.0, 0, 0), acceleration=(-0.8, 0, 0))
    keep = eq.KeepOut(eq.Sphere((0, 0, 0), 0.05, "tool"), ball, name="ball", gains=eq.Gains.of_rates(20.0, 60.0))
    controller = eq.WholeBodyController(robot, [eq.PostureTask(HOME)], constraints=[keep], level="acceleration", dt=dt)
    q, v, least = HOME.copy(), np.zeros(7), np.inf
    for k in range(1100):
        solution = controller(k * dt, q, v)
        q, v = q + v * dt + solution.acceleration * dt**2 / 2, v + solution.acceleration * dt
        place = start - [0.4 * ((k + 1) * dt) ** 2, 0, 0]
        least = min(least, float(np.linalg.norm(robot.pose(q, "tool")[:3, 3] - place)) - 0.15)
    assert -1e-4 < least < 0.01  # the barrier is at work


# --- 7: a free object has no motors -----------------------------------------------------------------------------------


def parcel_and_arm():
    builder = eq.RobotBuilder("arm and parcel", floating=False)
    builder.link("base", mass=5.0, inertia=(0.1, 0.1, 0.1))
    parent = "base"
    for k, axis in enumerate([(0, 0, 1), (0, 1, 0), (0, 1, 0)]):
        builder.link(f"link_{k}", mass=1.0, com=(0, 0, 0.15), inertia=(0.01, 0.01, 0.005))
        builder.joint(
            f"joint_{k}", "revolute", parent, f"link_{k}", axis=axis, position=(0, 0, 0.3), effort=100.0, velocity=9.0
        )
        parent = f"link_{k}"
    builder.link("parcel", mass=2.0, inertia=(0.02, 0.03, 0.04))
    builder.joint("parcel", "floating", "base", "parcel", position=(1.0, 0, 1.0))
    return builder.build()


@pytest.mark.paper("B7")
def test_a_free_object_falls():
    """1.226 m in half a second, whatever the arm does: it has no motors of its own."""
    robot, dt = parcel_and_arm(), 1e-3
    controller = eq.WholeBodyController(robot, [eq.PostureTask()], constraints=[eq.TorqueLimits()], dt=dt)
    q, v = robot.neutral(), np.zeros(robot.nv)
    place = robot.joints["parcel"].q
    height = robot.pose(q, "parcel")[2, 3]
    for k in range(500):
        solution = controller(k * dt, q, v)
        assert solution.status.ok and not solution.torque[robot.joints["parcel"].v].any()
        a = robot.forward_dynamics(q, v, solution.torque)
        assert_allclose(a, solution.acceleration, rtol=0, atol=1e-8)
        q, v = robot.integrate(q, v + a * dt / 2, dt), v + a * dt
    assert height - robot.pose(q, "parcel")[2, 3] == pytest.approx(0.5 * 9.80665 * 0.25, rel=1e-6)
    assert len(range(*place.indices(robot.nq))) == 7


def test_joints_without_motors_get_no_torque(rng):
    robot = load("arm7").with_passive(["joint_3"])
    controller = eq.WholeBodyController(
        robot, [eq.FrameTask("tool", axes="position"), eq.PostureTask()], (), [eq.TorqueLimits()]
    )
    q, v = robot.random_state(rng)
    solution = controller(0.0, q, v)
    assert solution.torque[robot.joints["joint_3"].v] == 0.0
    assert_allclose(robot.inverse_dynamics(q, v, solution.acceleration), solution.torque, rtol=0, atol=1e-8)
    assert not any("joint_3" in name for name in solution.program.names if name.startswith("torque limit"))


# --- 9: contacts that are not independent -----------------------------------------------------------------------------


def test_contacts_that_depend_on_each_other_stand_quietly():
    """Each foot twice: every row of one repeats the other's."""
    robot, q = load("human"), load("human").standing()
    feet = [*human_feet(), eq.FlatContact("left_foot", name="again", corners=SOLE, friction=0.6)]
    controller = eq.WholeBodyController(robot, [eq.CoMTask(), eq.PostureTask()], feet, [eq.TorqueLimits()])
    for k, v in enumerate((np.zeros(robot.nv), np.full(robot.nv, 1e-3))):
        assert controller(0.001 * k, q, v).status.ok
    assert any("depend" in line for line in controller.start_report)


# --- 10: numbers that cannot be ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options", [{"hold_damping": np.nan}, {"hold_damping": -1.0}, {"dt": np.inf}, {"slip_limit": np.nan}]
)
def test_options_that_are_not_numbers_are_refused(options):
    with pytest.raises(TaskError):
        eq.WholeBodyController(load("arm7"), [eq.PostureTask()], **options)


@pytest.mark.parametrize("target", [np.full(7, np.nan), np.full(7, np.inf)])
def test_constant_targets_that_are_not_finite_are_refused(target):
    with pytest.raises(TaskError, match="finite"):
        eq.WholeBodyController(load("arm7"), [eq.PostureTask(target)])
    controller = eq.WholeBodyController(load("arm7"), [eq.PostureTask()])
    with pytest.raises(TaskError, match="finite"):
        controller.set_target("posture", target)


def test_a_margin_that_leaves_no_room_is_refused_everywhere():
    builder = eq.RobotBuilder("stiff", floating=False)
    builder.link("base", mass=1.0, inertia=(1, 1, 1))
    builder.link("tip", mass=1.0, inertia=(1, 1, 1))
    builder.joint(
        "hinge", "revolute", "base", "tip", axis=(0, 0, 1), lower=-0.001, upper=0.001, effort=1.0, velocity=1.0
    )
    robot = builder.build()
    with pytest.raises(TaskError, match="'hinge' no room"):
        eq.WholeBodyController(robot, [eq.PostureTask()], constraints=[eq.JointLimits(margin=0.05)])
    with pytest.raises(TaskError, match="'hinge' no room"):
        eq.find_posture(robot, {}, {"tip": np.zeros(3)}, constraints=[eq.JointLimits(margin=0.05)])


# --- 11: the area is that of the hull ---------------------------------------------------------------------------------


@pytest.mark.paper("Q7")
def test_the_support_area_is_that_of_the_hull(rng):
    """Corners in any order, points inside, points on one line: SciPy's hull."""
    robot = tripod()
    inner = [(foot, (0.02 * k, 0.01, 0.0)) for k, foot in enumerate(FEET)]
    corners = (*((foot, (0.0, 0.0, 0.0)) for foot in reversed(FEET)), *inner, ("trunk", (0.0, 0.0, 0.0)))
    controller = eq.WholeBodyController(
        robot, [eq.SupportAreaTask(corners, 0.0), eq.PostureTask()], level="acceleration"
    )
    for _ in range(30):
        q, v = robot.random_state(rng)
        points = [(robot.pose(q, frame) @ [*s, 1.0])[:2] for frame, s in corners]
        assert controller(0.0, q, v).task_errors["support area"] == pytest.approx(ConvexHull(points).volume, rel=1e-9)


def test_aligned_and_coincident_corners_count_once():
    robot, q = tripod(), standing(tripod())
    points = [(0, 0), (1, 0), (0.5, 0), (1, 1), (0, 1), (0, 1), (0, 0.5), (0.3, 0.3)]
    corners = tuple(("trunk", (x, y, 0.0)) for x, y in points)
    controller = eq.WholeBodyController(robot, [eq.SupportAreaTask(corners, 0.0), eq.PostureTask()], level="velocity")
    assert controller(0.0, q, np.zeros(robot.nv)).task_errors["support area"] == pytest.approx(1.0, rel=1e-9)


# --- 13: the fallback -------------------------------------------------------------------------------------------------


def test_the_fallback_stays_within_limits():
    robot = load("arm7")
    controller = eq.WholeBodyController(
        robot, [eq.PostureTask()], constraints=[eq.TorqueLimits(limits=2.0)], hold_damping=100.0
    )
    controller(0.0, HOME, np.zeros(7))
    q = HOME.copy()
    q[0] = np.nan
    for v in (np.full(7, 3.0), np.full(7, -3.0)):
        solution = controller(0.1, q, v)
        assert solution.status is ControlStatus.NOT_FINITE
        assert_allclose(solution.torque, -2.0 * np.sign(v))
    free = eq.WholeBodyController(robot, [eq.PostureTask()], hold_damping=1e6)
    free(0.0, HOME, np.zeros(7))
    # the robot's own where none are given
    assert_allclose(np.abs(free(0.1, q, np.full(7, 3.0)).torque), robot.limits.effort)


def test_torques_change_no_faster_than_their_rate(rng):
    robot = load("arm7")
    controller = eq.WholeBodyController(
        robot, [eq.PostureTask(weight=1.0, gain=30.0)], constraints=[eq.TorqueLimits(), eq.TorqueRate(500.0)]
    )
    last = controller(0.0, HOME, np.zeros(7)).torque
    controller.set_target("posture", HOME + 0.5)
    for k in range(30):
        solution = controller(0.001 * k, HOME, np.zeros(7))
        assert (np.abs(solution.torque - last) <= 0.5 * (1 + 1e-9)).all() and solution.status.ok
        last = solution.torque
    assert any(name.startswith("torque rate of") for name in solution.active)
    spoilt = controller(1.0, np.full(7, np.nan), np.full(7, 9.0))
    assert (np.abs(spoilt.torque - last) <= 0.5 * (1 + 1e-9)).all()


# --- 14: threads, pickles, copies -------------------------------------------------------------------------------------


def test_threads_on_one_controller_get_their_own_answers(rng):
    robot, q = load("human"), load("human").standing()
    controller = eq.WholeBodyController(robot, [eq.CoMTask(), eq.PostureTask()], human_feet(), [eq.TorqueLimits()])
    controller(0.0, q, np.zeros(robot.nv))
    states = [
        (robot.integrate(q, 1e-3 * rng.normal(size=robot.nv)), 0.05 * rng.normal(size=robot.nv)) for _ in range(40)
    ]
    wanted = [controller(0.0, *state).torque for state in states]
    wrong = []

    def work(first):
        for k in list(range(first, 40, 2)) * 5:
            torque = controller(0.0, *states[k]).torque
            if not np.allclose(torque, wanted[k], rtol=0, atol=1e-6 * (1 + np.abs(wanted[k]).max())):
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))], ids=["deepcopy", "pickle"])
@pytest.mark.parametrize("priorities", ["weighted", "strict"])
def test_controllers_and_solutions_are_copied(copied, priorities, rng):
    robot = tripod()
    feet = [eq.PointContact(foot) for foot in FEET]
    controller = eq.WholeBodyController(
        robot, [eq.CoMTask(), eq.PostureTask(priority=1)], feet, [eq.TorqueLimits(limits=25.0)], priorities=priorities
    )
    controller.set_weight("centre of mass", 3.0)
    q, v = standing(robot), 0.1 * rng.normal(size=robot.nv)
    solution = controller(0.0, q, v)
    other, same = copied(controller), copied(solution)
    assert_array_equal(same.torque, solution.torque)
    assert (
        same.explain() == solution.explain()
        and same.status is solution.status
        and list(same.forces) == list(solution.forces)
    )
    assert_allclose(
        other(0.0, q, v).torque, controller(0.0, q, v).torque, rtol=0, atol=1e-9 * (1 + np.abs(solution.torque).max())
    )
    assert other.counts["optimal"] == controller.counts["optimal"]
