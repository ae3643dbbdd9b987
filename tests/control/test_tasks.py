"""Tasks: error, Jacobian and drift along a motion, by differences and by independent formulas; targets; bad input."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from bodies import FEET, monopod, numbers_of, slope, standing, tripod, written
from numpy.testing import assert_allclose
from scipy.spatial.transform import Rotation

import equipoise as eq
from equipoise.control.controller.context import Context
from equipoise.control.item import TaskError
from equipoise.control.tasks import Task, Terms
from equipoise.control.tasks.references import moment

CORNERS = tuple((foot, (0.01 * k, 0.02, -0.01)) for k, foot in enumerate(FEET))
TASKS: dict[str, Task] = {
    "frame": eq.FrameTask("shank_0"),
    "some axes": eq.FrameTask("shank_1", axes="z rx ry"),
    "centre of mass": eq.CoMTask(),
    "centre of mass, two axes": eq.CoMTask(axes="x y"),
    "posture": eq.PostureTask(),
    "momentum": eq.MomentumTask(axes="pose"),
    "angular momentum": eq.MomentumTask(),
    "relative": eq.RelativeTask("foot_0", "foot_1"),
    "absolute": eq.AbsoluteTask("foot_0", "foot_2"),
    "plane": eq.PlaneTask("thigh_2", normal=(0.3, -0.5, 1.0), offset=0.1, point=(0.05, 0.1, -0.2)),
    "area": eq.SupportAreaTask(CORNERS),
}


def terms_of(task: Task, robot: eq.Robot):
    """The task's terms as a function of (q, v, target)."""

    def write(scene, reference):
        terms = task.terms(scene, reference)
        return {name: getattr(terms, name) for name in ("error", "J", "rate", "drift", "rate_to", "acceleration_to")}

    at = written(robot, task, write)
    return lambda q, v, *target: at(q, v, target=target if len(target) > 1 else target[0])


@pytest.fixture(params=TASKS.values(), ids=TASKS.keys())
def task(request) -> Task:
    return request.param


def test_rates_and_drifts_are_derivatives_along_the_motion(task, rng):
    """With v constant q(s) = integrate(q, v s) exactly, and the drift is the derivative of J v."""
    robot = tripod()
    q, v = robot.random_state(rng)
    terms, here = terms_of(task, robot), task.here(robot, q)
    now = terms(q, v, here)
    assert now["J"].shape == (task.rows(Context(robot)), robot.nv)
    assert_allclose(now["rate"], now["J"] @ v, rtol=0, atol=1e-12)
    drift = slope(lambda s: terms(robot.integrate(q, v, s), v, here)["rate"])
    assert_allclose(now["drift"], drift, rtol=0, atol=1e-8 * (1 + np.abs(drift).max()))
    if not isinstance(task, eq.MomentumTask):
        assert_allclose(now["error"], 0, rtol=0, atol=1e-9)  # `here` is where the robot is
        rate = -slope(lambda s: terms(robot.integrate(q, v, s), v, here)["error"])
        assert_allclose(now["rate"], rate, rtol=0, atol=1e-8 * (1 + np.abs(rate).max()))
    assert np.abs(now["rate"]).max() > 1e-3


@pytest.mark.paper("E9")
def test_the_ellipse_is_the_penalty_of_the_paper(rng):
    """½ y² = ½ V^τ [EB98, Eq. (80)], its slope J₁ᵀ-times (82); rates and drifts along a motion of mass and centre."""
    robot = tripod()
    q, v = robot.random_state(rng)
    W, centre, rate, acceleration = np.array([[1.0, 0.3], [0.3, 2.0]]), *rng.normal(size=(3, 3)) * 0.2
    task = eq.control.CoMEllipseTask(radius=0.7, shape=W, exponent=6)
    terms = terms_of(task, robot)
    now = terms(q, v, centre, rate, acceleration)
    safe = eq.control.SafeEllipse(0.7, W, 1.0, 6.0)
    e, J = robot.com(q)[:2] - centre[:2], robot.com_jacobian(q)[:2]
    assert_allclose(now["error"] ** 2, safe.level(e) ** 6, rtol=1e-10)
    assert_allclose(
        -now["error"] @ now["J"], safe.error(e, J, np.zeros(1), np.zeros((1, robot.nv))), rtol=1e-9, atol=1e-9
    )

    def at(s):
        there = terms(
            robot.integrate(q, v, s),
            v,
            centre + rate * s + acceleration * s * s / 2,
            rate + acceleration * s,
            acceleration,
        )
        return there["error"], there["rate"] - there["rate_to"]

    scale = 1 + np.abs(now["drift"]).max()
    assert_allclose(now["rate"] - now["rate_to"], -slope(lambda s: at(s)[0]), rtol=0, atol=1e-7 * scale)
    assert_allclose(now["drift"] - now["acceleration_to"], slope(lambda s: at(s)[1]), rtol=0, atol=1e-7 * scale)


def test_errors_of_frames_are_rotation_vectors(rng):
    robot = tripod()
    q, v = robot.random_state(rng)
    terms = terms_of(eq.FrameTask("shank_0"), robot)
    X = robot.pose(q, "shank_0")
    for angle in (1e-9, 1e-4, 0.5, 2.0, 3.1):
        turn = Rotation.from_rotvec(angle * np.array([0.6, 0.0, -0.8]))
        goal = X.copy()
        goal[:3, :3], goal[:3, 3] = turn.as_matrix() @ X[:3, :3], X[:3, 3] + [0.1, 0.2, -0.3]
        twist, rate = rng.normal(size=6), rng.normal(size=6)
        now = terms(q, v, goal, twist, rate)
        # eps / sin of 3.1 is 5e-15
        assert_allclose(now["error"], [0.1, 0.2, -0.3, *turn.as_rotvec()], rtol=0, atol=1e-9)
        assert_allclose(now["rate_to"], twist)
        assert_allclose(now["acceleration_to"], rate)


def test_a_half_turn_is_an_error_like_any_other(rng):
    """Exactly half a turn about any axis: the error is π long, along the axis."""
    robot = tripod()
    q, v = robot.random_state(rng)
    terms, X = terms_of(eq.FrameTask("trunk", axes="orientation"), robot), robot.pose(q, "trunk")
    for axis in (*np.eye(3), *(a / np.linalg.norm(a) for a in rng.normal(size=(5, 3)))):
        goal = X.copy()
        goal[:3, :3] = (2 * np.outer(axis, axis) - np.eye(3)) @ X[:3, :3]
        error = terms(q, v, goal)["error"]
        assert_allclose(np.abs(error @ axis), np.pi, rtol=1e-6)
        assert_allclose(np.cross(error, axis), 0, rtol=0, atol=1e-6)


def test_quantities_are_those_of_the_robot(rng):
    robot = tripod()
    q, v = robot.random_state(rng)
    com = terms_of(TASKS["centre of mass"], robot)(q, v, robot.com(q) + np.array([0.1, -0.2, 0.3]))
    assert_allclose(com["error"], [0.1, -0.2, 0.3], rtol=0, atol=1e-12)
    assert_allclose(com["drift"], robot.com_bias(q, v), rtol=0, atol=1e-10)
    momentum = terms_of(TASKS["momentum"], robot)(q, v, np.zeros(6))
    assert_allclose(momentum["rate"], robot.momentum(q, v), rtol=0, atol=1e-10)
    q_to = robot.random_state(rng)[0]
    posture = terms_of(TASKS["posture"], robot)(q, v, q_to)
    assert_allclose(posture["error"], robot.difference(q, q_to)[6:], rtol=0, atol=1e-12)
    plane = TASKS["plane"]
    n = np.array(plane.normal) / np.linalg.norm(plane.normal)
    X = robot.pose(q, plane.frame)
    height = n @ (X[:3, :3] @ plane.point + X[:3, 3]) - plane.offset
    assert_allclose(terms_of(plane, robot)(q, v, 0.25)["error"], 0.25 - height, rtol=0, atol=1e-12)


def test_the_middle_of_two_frames_is_half_of_the_turn_from_either(rng):
    """One rotation takes the first to the middle and the middle to the second."""
    robot = tripod()
    q, v = robot.random_state(rng)
    task = TASKS["absolute"]
    middle, a, b = task.here(robot, q), robot.pose(q, task.frame), robot.pose(q, task.other)
    turn = middle[:3, :3] @ a[:3, :3].T
    assert_allclose(turn @ middle[:3, :3], b[:3, :3], rtol=0, atol=1e-12)
    assert_allclose(middle[:3, 3], (a[:3, 3] + b[:3, 3]) / 2, rtol=0, atol=1e-12)
    assert_allclose(terms_of(task, robot)(q, v, middle)["error"], 0, rtol=0, atol=1e-10)


def test_the_relative_pose_does_not_feel_the_base(rng):
    robot = tripod()
    q, v = robot.random_state(rng)
    task = TASKS["relative"]
    terms = terms_of(task, robot)
    target = task.here(robot, robot.random_state(rng)[0])
    now = terms(q, v, target)
    assert_allclose(now["J"][:, :6], 0, rtol=0, atol=1e-12)
    X_a = robot.pose(q, task.seen_from)
    place = X_a[:3, :3].T @ (robot.pose(q, task.frame)[:3, 3] - X_a[:3, 3])
    assert_allclose(X_a[:3, :3].T @ now["error"][:3], target[:3, 3] - place, rtol=0, atol=1e-12)


def test_a_moving_relative_target_is_followed_exactly(rng):
    """If y = y_to all along, J a + J̇ v = ÿ_to: the target's rates are in axes that turn with the frame that looks."""
    robot = tripod()
    q, v = robot.random_state(rng)
    a = rng.normal(size=robot.nv)
    task = TASKS["relative"]

    def seen(s):  # along q(s) with velocity v + a s, to second order
        X = task.here(robot, robot.integrate(q, v * s + a * s**2 / 2, 1.0))
        return X[:3, 3], X[:3, :3]

    place = [slope(lambda s: seen(s)[0], 1e-3), (seen(1e-4)[0] - 2 * seen(0.0)[0] + seen(-1e-4)[0]) / 1e-8]
    R = seen(0.0)[1]

    def spin(s):
        return Rotation.from_matrix(seen(s)[1] @ R.T).as_rotvec()

    turn = [slope(spin, 1e-3), (spin(1e-4) + spin(-1e-4)) / 1e-8]
    now = terms_of(task, robot)(q, v, task.here(robot, q), np.append(place[0], turn[0]), np.append(place[1], turn[1]))
    assert_allclose(now["rate_to"], now["rate"], rtol=0, atol=1e-7)
    assert_allclose(now["acceleration_to"], now["J"] @ a + now["drift"], rtol=0, atol=1e-5)  # second differences


def test_shares_of_momentum_give_what_the_jacobian_gives(rng):
    """Where the rate of momentum is known from forces, J a + J̇ v follows from it [Newton, Euler]."""
    robot = tripod()
    q, v = robot.random_state(rng)
    a = rng.normal(size=robot.nv)
    rate = robot.momentum_matrix(q) @ a + robot.momentum_bias(q, v)
    for task in (TASKS["centre of mass, two axes"], TASKS["momentum"], TASKS["angular momentum"]):
        now = written(robot, task, lambda scene, reference, task=task: _shared(task.terms(scene, reference)))(
            q, v, target=task.here(robot, q)
        )
        assert_allclose(now["share"] @ rate, now["J"] @ a + now["drift"], rtol=0, atol=1e-10)


def _shared(terms: Terms):
    return {"share": terms.share, "J": terms.J, "drift": terms.drift}


# --- targets and settings ---------------------------------------------------------------------------------------------


def test_a_target_is_numbers_or_a_function_with_up_to_three_values():
    x = np.arange(3.0)
    assert moment(x)[1:] == (None, None)
    assert_allclose(moment((x, 2 * x))[1], 2 * x)
    assert moment((x, x, 0.5))[2] == 0.5
    assert moment((0.1, 0.2, 0.3)) == ((0.1, 0.2, 0.3), None, None)  # a place, not a number with its rates
    assert moment((0.1, 0.2), scalar=True) == (0.1, 0.2, None)


def test_gains_set_stiffness_and_damping_unless_they_are_given():
    robot = monopod()
    gains = numbers_of(robot, eq.CoMTask(gain=4.0, weight=(1.0, 4.0, 9.0)), "gains")
    assert_allclose(gains, [1, 2, 3, 16, 16, 16, 8, 8, 8])
    assert_allclose(numbers_of(robot, eq.CoMTask(gain=4.0), "gains", "velocity")[3:6], 4)
    given = eq.CoMTask(stiffness=50.0, damping=3.0)
    assert_allclose(numbers_of(robot, given, "gains", "acceleration")[3:], [50] * 3 + [3] * 3)


def test_a_weight_per_error_does_not_depend_on_the_gain():
    """A task that lacks w · stiffness of acceleration is as dear as one that lacks w of its error."""
    robot = monopod()
    for gain in (1.0, 5.0, 20.0):
        root = numbers_of(robot, eq.CoMTask(gain=gain, weight=4.0, per="error"), "gains")[:3]
        assert_allclose(root * gain**2, 2.0)
        root = numbers_of(robot, eq.CoMTask(gain=gain, weight=4.0, per="error"), "gains", "velocity")[:3]
        assert_allclose(root * gain, 2.0)


@pytest.mark.parametrize(
    ("task", "words"),
    [
        (eq.FrameTask("fot"), "no frame named 'fot'"),
        (eq.FrameTask("foot", axes="x w"), "axis"),
        (eq.FrameTask("foot", target=(0.0, 0.0, 1.0)), "must be a pose"),  # a place says nothing of the orientation
        (eq.FrameTask("foot", target=2 * np.eye(4)), "must be a pose"),
        (eq.FrameTask("foot", target=(0.0, 0.0), axes="position"), "a place"),
        (eq.CoMTask((0.0, 1.0)), "must have 3 numbers, got 2"),
        (eq.CoMTask(axes="x rz"), "axis of the centre of mass"),
        (eq.CoMTask(weight=-1.0), "not be negative"),
        (eq.CoMTask(weight=(1.0, 2.0)), "one number or 3"),
        (eq.CoMTask(gain=np.nan), "finite"),
        (eq.PostureTask(np.zeros(3)), "must have 15 numbers"),
        (eq.PlaneTask("foot", normal=(0, 0, 0)), "normal"),
        (eq.SupportAreaTask((("foot", (0, 0, 0)),)), "three corners"),
        (eq.RelativeTask("foot", "hnd"), "hand"),
        (eq.ForceTask("sole", target=(1.0, 2.0)), "must have 6 numbers"),
        (eq.ForceTask("hand"), "contact"),
        (eq.TorqueTask((1.0, 2.0)), "must have 8 numbers"),
        (eq.CoMTask(per="second"), "'acceleration' or 'error'"),
    ],
)
def test_bad_tasks_are_refused_with_the_reason(task, words):
    with pytest.raises(eq.EquipoiseError) as caught:
        eq.WholeBodyController(monopod(), [task], [eq.FlatContact("foot", name="sole")])
    assert words in str(caught.value)


def test_a_weight_per_something_unknown_is_refused_by_every_task(task):
    with pytest.raises(TaskError, match="a weight is per 'acceleration' or 'error'; got 'mass'"):
        replace(task, per="mass").check(tripod())


def test_names_must_be_told_apart():
    with pytest.raises(TaskError, match="two items are called 'foot'"):
        eq.WholeBodyController(monopod(), [eq.FrameTask("foot")], [eq.FlatContact("foot")])


def test_places_may_have_rates_of_three_numbers():
    robot = monopod()
    task = eq.FrameTask("hand", axes="position")
    pose, twist, rate = task.reference(Context(robot)).numbers((np.array([0.1, 0.2, 0.3]), (1.0, 2.0, 3.0)))
    assert_allclose([*pose[:3, 3], *twist, *rate], [0.1, 0.2, 0.3, 1, 2, 3, *np.zeros(9)])
    assert task.here(robot, standing(robot)).shape == (4, 4)
