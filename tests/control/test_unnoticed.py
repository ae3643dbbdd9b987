"""Lines that could be broken without any test noticing: one test for each."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from bodies import FEET, standing, tripod
from numpy.testing import assert_allclose, assert_array_equal
from support import load

import equipoise as eq
from equipoise.control.contacts import cones
from equipoise.control.contacts.cones import facets_of_pyramid
from equipoise.control.controller.context import Context
from equipoise.control.controller.layout import Items, Layout
from equipoise.control.controller.solution import ControlStatus
from equipoise.control.controller.start import dependent_contacts
from equipoise.control.events import ControlEventKind
from equipoise.control.item import Numbers, TaskError
from equipoise.control.qp import ActiveSetSolver, CompiledSolver, QuadraticProgram, Status, compiled
from equipoise.control.qp.loops.workspace import Code
from equipoise.control.safety import vfi
from equipoise.control.safety.limits import acceleration_bounds, acceleration_interval
from equipoise.machine.cached import identity

HOME = np.array([0.2, 0.6, -0.3, -1.2, 0.4, 0.8, 0.1])
REST = np.zeros(7)
SPOILT = np.full(7, np.nan)
GAINS = eq.Gains.of_rates(5.0, 20.0)


def on_tripod(constraints=(), **options):
    feet = [eq.PointContact(foot) for foot in FEET]
    return eq.WholeBodyController(tripod(), [eq.CoMTask(), eq.PostureTask(weight=0.1)], feet, constraints, **options)


# --- statuses ---------------------------------------------------------------------------------------------------------


def test_an_answer_with_large_residuals_is_called_inaccurate(monkeypatch):
    controller = eq.WholeBodyController(load("arm7"), [eq.PostureTask()], constraints=[eq.TorqueLimits()])
    good = controller(0.0, HOME, REST)
    monkeypatch.setitem(compiled.STATUS, Code.DONE, Status.INACCURATE)
    solution = controller(0.1, HOME, REST)
    assert solution.status is ControlStatus.INACCURATE and controller.counts["inaccurate"] == 1
    assert_allclose(solution.torque, good.torque)  # it is used


def test_residuals_decide_what_is_called_optimal():
    """Rows of sizes from 1e-8 to 1e8: what rounding spoils is not called optimal."""
    seen = set()
    for seed in range(300):
        rng = np.random.default_rng(seed)
        n, n_A = 6, int(rng.integers(0, 8))
        solver = CompiledSolver(n, [n], n_A=n_A, n_E=1, regularisation=10.0 ** rng.uniform(-14, -6), guesses=0)
        data, size = solver.data, lambda low, high, *shape, rng=rng: 10.0 ** rng.uniform(low, high, size=shape)
        data["R"][:], data["r"][:] = rng.normal(size=(n, n)) * size(-8, 8, n, 1), rng.normal(size=n) * size(-6, 6, n)
        data["E"][:], data["e"][:] = rng.normal(size=(1, n)), rng.normal(size=1)
        data["A"][:] = rng.normal(size=(n_A, n)) * size(-6, 6, n_A, 1)
        data["lower"][:], data["upper"][:] = -size(-6, 3, n_A), size(-6, 3, n_A)
        answer = solver.solve()
        seen.add(answer.status)
        assert (answer.status is not Status.OPTIMAL) or answer.residuals.worst <= 1e-6
    assert {Status.OPTIMAL, Status.INACCURATE} <= seen


@pytest.mark.parametrize("wish", [-10.0, 0.0, 10.0])
@pytest.mark.parametrize("strict", [False, True])
def test_bounds_that_cross_are_missed_by_the_same_on_both_sides(strict, wish):
    """The middle is the least of both violations, from wherever the cost pulls."""
    solver = CompiledSolver(2, [0], n_A=1, classes_A=[1], regularisation=1e-3, strict=strict)
    solver.data["A"][:], solver.data["lower"][:], solver.data["upper"][:] = [[1.0, 0.0]], 3.0, 1.0
    solver.data["weights"][:], solver.data["pulls"][:] = 1.0, wish
    for _ in range(2):  # cold and warm
        answer = solver.solve()
        assert answer.status is Status.RELAXED
        assert answer.x[0] == pytest.approx(2.0, abs=1e-9)
        assert answer.x[1] == pytest.approx(wish, rel=0.01)


def test_equalities_that_repeat_others_are_counted():
    rows = np.array([[1.0, 0, 0], [0, 1.0, 0], [1.0, 1.0, 0]])
    problem = QuadraticProgram(np.eye(3), np.zeros(3), rows, [1.0, 2.0, 3.0], [1.0, 2.0, 3.0])
    assert ActiveSetSolver().solve(problem).dependent == 1


# --- reset and copies -------------------------------------------------------------------------------------------------


def test_a_reset_forgets_torques_and_contacts():
    limits = [eq.TorqueLimits(), eq.TorqueRate(100.0)]
    controller = eq.WholeBodyController(load("arm7"), [eq.PostureTask(HOME + 0.3, gain=20.0)], constraints=limits)
    first = controller(0.0, HOME, REST)
    controller(0.1, np.zeros(7), REST)
    controller.reset()
    assert not controller(0.2, SPOILT, REST).torque.any()  # nothing was commanded yet
    controller.reset()
    assert_allclose(controller(0.3, HOME, REST).torque, first.torque, rtol=0, atol=1e-9)  # the first step is free
    standing_one = on_tripod()
    standing_one.set_contacts(FEET[:1])
    standing_one.reset()
    assert standing_one.in_force == set(FEET)
    assert set(standing_one(0.0, standing(tripod()), np.zeros(15)).forces) == set(FEET)


def test_copies_have_the_contacts_and_the_last_torques():
    robot, q = tripod(), standing(tripod())
    controller = on_tripod([eq.TorqueLimits()])
    controller(0.0, q, np.zeros(robot.nv))
    controller.set_contacts(FEET[:2])
    last = controller(0.1, q, np.zeros(robot.nv))
    other = copy.deepcopy(controller)
    assert other.in_force == set(FEET[:2])
    assert_allclose(other(0.2, np.full(robot.nq, np.nan), np.zeros(robot.nv)).torque, last.torque)


# --- settings ---------------------------------------------------------------------------------------------------------


def test_a_state_that_is_none_does_not_anchor_new_contacts():
    robot, q = tripod(), standing(tripod())
    controller, v = on_tripod(), np.zeros(robot.nv)
    controller.set_contacts(FEET[:2])
    controller(0.0, q, v)
    controller.set_contacts(FEET)
    twisted, moved = q.copy(), q.copy()
    twisted[3:7] *= 1.2
    moved[0] += 0.02
    solution = controller(0.1, twisted, v)
    assert solution.status is ControlStatus.NOT_UNIT and not solution.events and controller.counts["errors"] == 0
    controller.set_contacts(FEET[2:])
    solution = controller(0.2, moved, v)
    # anchored here: 2 m/s² if not
    assert np.abs(robot.jacobian(moved, FEET[2])[:3] @ solution.acceleration).max() < 1e-6


def test_a_refused_setting_leaves_nothing_behind():
    controller = eq.WholeBodyController(load("arm7"), [eq.PostureTask()])
    with pytest.raises(TaskError):
        controller.set("posture", weight=np.nan)
    controller.set("posture", gain=3.0)  # of the same group: the weight is the old one
    assert controller(0.0, HOME, REST).status.ok


def test_numbers_that_are_none_are_refused_too():
    """Those who give the very numbers of a group are believed but for NaN and for their count."""
    robot, given = load("arm7"), {}
    controller = eq.WholeBodyController(robot, [eq.PostureTask(lambda t: Numbers(given["numbers"]))])
    given["numbers"] = np.concatenate([HOME, np.zeros(14)])
    good = controller(0.0, HOME, REST)
    for bad in (np.full(21, np.nan), np.zeros(20)):
        given["numbers"] = bad
        solution = controller(0.1, HOME, REST)
        assert [event.kind for event in solution.events] == [ControlEventKind.SETTING_REFUSED]
        assert_allclose(solution.torque, good.torque)


# --- names of kernels -------------------------------------------------------------------------------------------------


def test_kernels_are_named_by_step_and_motors():
    robot = load("arm7")
    items = Items((eq.PostureTask(),), (), (eq.MomentumLimits(linear=1.0),))

    def name(robot=robot, dt=1e-3):
        return identity(Layout(Context(robot, "torque", dt), items, strict=False), set())

    assert name() == name()
    assert name() != name(dt=2e-3)
    assert name() != name(robot=robot.with_passive(["joint_3"]))


def test_rates_have_the_names_of_their_joints():
    for robot in (tripod(), load("human")):
        names = Context(robot).rate_names
        assert len(names) == robot.nv
        for joint in robot.joints.values():
            if joint.mimic is None:
                assert set(names[joint.v]) <= {joint.name} and names[joint.v]


# --- contacts ---------------------------------------------------------------------------------------------------------


def test_each_dependent_contact_is_told_once():
    """A foot twice, then another foot: only the repetition is named, whatever the lengths of rows are."""
    robot, q = tripod(), standing(tripod())
    feet = [eq.PointContact(FEET[0]), eq.PointContact(FEET[0], name="again"), eq.PointContact(FEET[1])]
    controller = eq.WholeBodyController(robot, [eq.PostureTask()], feet)
    solution = controller(0.0, q, np.zeros(robot.nv))
    assert [event.item for event in solution.events] == ["again"]
    labels, E = [foot.label for foot in feet], solution.step.data["E"]
    for size in (1e-6, 1.0, 1e6):
        assert [label for label, _ in dependent_contacts(controller.layout, size * E, labels)] == ["again"]


def test_slip_is_undone_at_velocity_level_too():
    """Contacts come back at half of their damping, 10 1/s, which is the rate whose square is their stiffness."""
    robot, q = tripod(), standing(tripod())
    controller = on_tripod(level="velocity")
    controller(0.0, q, np.zeros(robot.nv))
    moved = q.copy()
    moved[:3] += [0.01, -0.005, 0.002]
    solution = controller(0.1, moved, np.zeros(robot.nv))
    for foot in FEET:
        assert_allclose(robot.jacobian(moved, foot)[:3] @ solution.velocity, [-0.1, 0.05, -0.02], rtol=0, atol=1e-9)


def test_sides_of_pyramids_have_unit_length():
    for friction in (0.1, 1.0, 3.0):
        edges = eq.PointContact("foot", friction=friction, edges=8).friction_edges
        assert_allclose(np.linalg.norm(facets_of_pyramid(edges), axis=1), 1.0, rtol=1e-12)


# --- limits -----------------------------------------------------------------------------------------------------------


def test_a_joint_that_comes_back_too_fast_brakes():
    """Outside of one end and too fast for the other one: bounds contradict each other, and it stops."""
    state, limits = (0.0892, -1.45), (0.0, 0.0756, 2.0, 10.0, 1e-3)
    bounds = acceleration_bounds(*state, *limits)
    assert not bounds.viable[0] and bounds.lower[0] == bounds.upper[0] == 10
    assert acceleration_interval(*state, *limits) == (10, 10)


# --- self-collision ---------------------------------------------------------------------------------------------------


def feet_apart(q):
    """Distance of the first two feet, as spheres of 20 mm."""
    a, b = (tripod().pose(q, foot)[:3, 3] for foot in FEET[:2])
    return float(np.linalg.norm(a - b)) - 0.04


def outwards(q):
    """The direction of velocities in which they part fastest."""
    slopes = [feet_apart(tripod().integrate(q, e)) - feet_apart(tripod().integrate(q, -e)) for e in 1e-4 * np.eye(15)]
    return np.array(slopes) / np.linalg.norm(slopes)


def apart(safe):
    pair = tuple(eq.Sphere((0, 0, 0), 0.02, foot) for foot in FEET[:2])
    return eq.SelfCollision([pair], safe=safe, gains=GAINS)


@pytest.mark.parametrize("passive", [(), ("knee_0",)], ids=["motors", "a passive knee"])
@pytest.mark.parametrize("level", ["acceleration", "torque"])
def test_the_rows_of_pairs_have_the_whole_second_derivative(level, passive, rng):
    """Where the row is active, d̈ of the motion that was asked for, J̇ v included, is what the inequality says."""
    robot, q, h = tripod().with_passive(list(passive)), standing(tripod()), 1e-4
    safe = feet_apart(q) - 0.01
    v = 0.2 * rng.normal(size=robot.nv) - 1.5 * outwards(q)
    controller = eq.WholeBodyController(robot, [eq.PostureTask(gain=1.0)], (), [apart(safe)], level=level)
    solution = controller(0.0, q, v)
    assert solution.status.ok and solution.active == ("self-collision of foot_0 and foot_1",)
    a = solution.acceleration
    ahead, here, back = (feet_apart(robot.integrate(q, v * t + a * t * t / 2)) for t in (h, 0.0, -h))
    rate, second = (ahead - back) / (2 * h), (ahead - 2 * here + back) / h**2
    bound = vfi.second_order_bound(here - safe, rate, GAINS, 1e-3)
    assert second == pytest.approx(float(bound), rel=1e-3, abs=1e-3)


def test_pairs_at_velocity_level_keep_the_safe_distance():
    robot, q, dt = tripod(), standing(tripod()), 1e-3
    safe = feet_apart(q) - 0.01
    inwards = robot.integrate(q, -0.5 * outwards(q))
    controller = eq.WholeBodyController(robot, [eq.PostureTask(inwards)], (), [apart(safe)], level="velocity", dt=dt)
    for k in range(50):
        solution, d = controller(k * dt, q, np.zeros(robot.nv)), feet_apart(q) - safe
        assert solution.margins["self-collision"] == pytest.approx(d, abs=1e-12) and solution.active
        q = robot.integrate(q, solution.velocity * dt)
        # the step's own error is of second order
        assert feet_apart(q) - safe == pytest.approx((1 - 5.0 * dt) * d, abs=2e-5)


def test_pairs_that_are_far_again_bind_nothing():
    """A row that asked for a large acceleration and went away."""
    robot, q = tripod(), standing(tripod())
    controller = eq.WholeBodyController(
        robot, [eq.PostureTask(gain=1.0)], (), [apart(feet_apart(q))], level="acceleration"
    )
    v = np.zeros(robot.nv)
    assert controller(0.0, q, -outwards(q)).active
    wide = robot.integrate(q, 0.3 * outwards(q))
    solution = controller(0.1, wide, v)
    assert feet_apart(wide) > feet_apart(q) + 0.01 and not solution.step.outside["self-collision"].keys.size
    assert solution.status.ok and not solution.active


def test_facets_of_a_cone_are_found_once(monkeypatch):
    """A second start takes them from the cache, to the last bit, and needs no hulls."""
    rng = np.random.default_rng(5)
    rays = np.concatenate([np.ones((12, 1)), rng.normal(size=(12, 3))], axis=1)
    first = cones.facets("sole", rays)
    assert (rays @ first.T <= 1e-8).all() and first.flags.writeable
    monkeypatch.setattr("scipy.spatial.ConvexHull", lambda points: pytest.fail("found anew"))
    assert_array_equal(cones.facets("sole", rays), first)
    with pytest.raises(pytest.fail.Exception):
        cones.facets("sole", rays + np.array([0.0, 1e-3, 0.0, 0.0]))
