"""What attacks on the running controller found, and lines that could be broken without anybody noticing."""

from __future__ import annotations

import copy
import pickle
import sys
import types

import numpy as np
import pytest
from bodies import FEET, standing, tripod
from numpy.testing import assert_allclose
from support import load

import equipoise as eq
from equipoise.control.controller import controller as controller_module
from equipoise.control.controller.solution import ControlStatus
from equipoise.control.events import ControlEventKind
from equipoise.control.item import TaskError
from equipoise.control.qp import compiled

HOME = np.array([0.2, 0.6, -0.3, -1.2, 0.4, 0.8, 0.1])
REST = np.zeros(7)
SPOILT = np.full(7, np.nan)


def on_feet():
    return [eq.PointContact(foot) for foot in FEET]


def on_tripod(**options):
    return eq.WholeBodyController(
        tripod(), [eq.CoMTask(), eq.PostureTask(weight=0.1)], on_feet(), [eq.TorqueLimits(limits=25.0)], **options
    )


# --- the bound of the iterations --------------------------------------------------------------------------------------


def test_at_the_bound_of_iterations_the_best_point_so_far_is_used_and_said_so(monkeypatch, rng):
    """Six changes of the working set are too few after a jump: what is never relaxed holds all the same."""
    robot, q = tripod(), standing(tripod())
    whole = on_tripod()
    monkeypatch.setattr(compiled, "CHANGES", (6, 0))
    monkeypatch.setattr(controller_module, "GUESSES", 0)
    short = on_tripod()
    never = np.concatenate(short.layout.classes) == 0
    seen = []
    for k in range(12):
        target, v = robot.com(q) + rng.normal(scale=0.3, size=3), 0.1 * rng.normal(size=robot.nv)
        for controller in (whole, short):
            controller.set_target("centre of mass", target)
        one, other = short(1e-3 * k, q, v), whole(1e-3 * k, q, v)
        seen.append(one.status)
        assert other.status is not ControlStatus.INACCURATE
        if one.status is not ControlStatus.INACCURATE:
            continue
        assert not one.status.ok and not one.status.fallback and "residuals" in one.explain()
        assert not one.residuals.worst <= 1e-6  # no certificate
        value, program = one.program.A[never] @ one.x, one.program
        beyond = np.maximum(value - program.upper[never], program.lower[never] - value)
        assert (beyond <= 1e-7 * np.maximum(1.0, np.abs(value))).all() and never.sum() >= 21
        # The command is that of the point, not the fallback's.
        assert_allclose(one.acceleration[6:], one.x[:9], rtol=0, atol=1e-12)
        torque = one.step.data["T"] @ one.x + one.step.data["t"]
        assert_allclose(one.torque[6:], torque, rtol=0, atol=1e-9 * (1 + np.abs(torque).max()))
    assert short.counts["inaccurate"] == seen.count(ControlStatus.INACCURATE) >= 4
    assert short.counts["optimal"] == seen.count(ControlStatus.OPTIMAL) and whole.counts["inaccurate"] == 0


# --- obstacles at velocity level --------------------------------------------------------------------------------------


@pytest.mark.parametrize("given", [lambda ball: ball, lambda ball: ball.at], ids=["primitive", "function"])
@pytest.mark.parametrize("kind", [eq.KeepOut, eq.KeepIn])
def test_velocities_count_with_the_motion_of_the_obstacle(kind, given):
    """d after a step is (1 − η dt) d where the row is active, with d measured here: ḋ = J v + ζ ≥ −η d.

    The step's own error is of second order, |d̈| dt²/2; without ζ it would be 0.2 dt, a hundred times more.
    """
    robot, dt, speed, eta = load("arm7"), 1e-3, 0.2, 5.0
    away = kind is eq.KeepOut  # a ball that comes, or a ball that goes and is not to be left
    start = robot.pose(HOME, "tool")[:3, 3] + [0.2 if away else -0.06, 0, 0]
    ball = eq.Sphere(start, 0.05, velocity=(-speed, 0, 0))
    safe = 0.05 if away else 0.02
    item = kind(
        eq.Sphere((0, 0, 0), 0.05, "tool"), given(ball), safe=safe, name="it", gains=eq.Gains.of_rates(eta, 20.0)
    )
    controller = eq.WholeBodyController(robot, [eq.PostureTask(HOME)], constraints=[item], level="velocity", dt=dt)

    def clearance(q, t):
        gap = np.linalg.norm(robot.pose(q, "tool")[:3, 3] - (start - [speed * t, 0, 0])) - 0.1
        return gap - safe if away else safe - gap

    q, active = HOME.copy(), 0
    for k in range(450):
        solution, d = controller(k * dt, q, REST), clearance(q, k * dt)
        assert solution.margins["it"] == pytest.approx(d, abs=1e-12)
        q = q + solution.velocity * dt
        after = clearance(q, (k + 1) * dt)
        assert after >= (1 - eta * dt) * d - 2e-6
        if "it" in solution.active:
            active += 1
            assert after == pytest.approx((1 - eta * dt) * d, abs=2e-6)
    assert active > 100 and d > -1e-5


# --- nothing raises, and every command is finite ----------------------------------------------------------------------


def test_times_beyond_all_numbers_are_told():
    controller = eq.WholeBodyController(load("arm7"), [eq.PostureTask()], constraints=[eq.TorqueLimits()])
    good = controller(0.0, HOME, REST)
    solution = controller(10**400, HOME, REST)
    assert solution.status is ControlStatus.BAD_STATE and np.isnan(solution.t) and controller.counts["errors"] == 0
    assert_allclose(solution.torque, good.torque)


def hinge():
    builder = eq.RobotBuilder("hinge", floating=False)
    builder.link("base", mass=1.0, inertia=(0.1, 0.1, 0.1))
    builder.link("tip", mass=1.0, com=(0, 0, 0.2), inertia=(0.1, 0.1, 0.05))
    builder.joint("hinge", "revolute", "base", "tip", axis=(0, 1, 0))  # without limits
    return builder.build()


@pytest.mark.parametrize("level", ["torque", "acceleration"])
def test_the_fallback_is_finite_at_any_rate(level):
    controller = eq.WholeBodyController(hinge(), [eq.PostureTask()], level=level)
    controller(0.0, np.zeros(1), np.zeros(1))
    for v in (1e308, -1e308, np.inf, np.nan):
        solution = controller(0.1, np.zeros(1), np.array([v]))
        assert solution.status is ControlStatus.NOT_FINITE
        assert np.isfinite(solution.torque).all() and np.isfinite(solution.acceleration).all()


def test_torques_that_are_not_finite_do_not_leave():
    """Rates whose squares are numbers and whose centrifugal forces are not: the program is finite, the torques are
    not."""
    robot = load("arm7")
    controller = eq.WholeBodyController(robot, [eq.PostureTask(gain=0.0)])
    good = controller(0.0, HOME, REST)
    with np.errstate(all="ignore"):
        solution = controller(0.1, HOME, np.full(7, 4e153))
    assert solution.saw_state and solution.status is ControlStatus.NOT_FINITE
    assert np.isfinite(solution.torque).all() and (np.abs(solution.torque) <= robot.limits.effort).all()
    assert_allclose(controller(0.2, SPOILT, REST).torque, good.torque)  # and the last good ones are remembered


# --- the fallback and the last torques --------------------------------------------------------------------------------


@pytest.mark.parametrize("first", ["limits", "rate"])
def test_the_fallback_keeps_the_limits_whatever_the_rate_says(first):
    """Limits that shrink under a torque that may only change slowly: what is never relaxed has the last word."""
    limits, rate = eq.TorqueLimits(), eq.TorqueRate(500.0)
    order = [limits, rate] if first == "limits" else [rate, limits]
    controller = eq.WholeBodyController(load("arm7"), [eq.PostureTask()], constraints=order)
    assert np.abs(controller(0.0, HOME, REST).torque).max() > 10
    controller.set("torque limit", limits=2.0)
    assert np.abs(controller(0.001, SPOILT, REST).torque).max() == pytest.approx(2.0)


def test_torques_of_the_fallback_are_the_last_ones_of_the_next_step():
    """Three steps without a state, then a good one: each changes by no more than the rate from the one before."""
    controller = eq.WholeBodyController(
        load("arm7"), [eq.PostureTask(HOME)], constraints=[eq.TorqueLimits(), eq.TorqueRate(500.0)], hold_damping=100.0
    )
    last = first = controller(0.0, HOME, REST).torque
    for k in range(3):
        solution = controller(0.001 * k, SPOILT, np.full(7, 9.0))
        assert_allclose(solution.torque, last - 0.5, rtol=0, atol=1e-9)
        last = solution.torque
    back = controller(0.004, HOME, REST)
    assert (np.abs(back.torque - last) <= 0.5 * (1 + 1e-9)).all() and np.abs(back.torque - first).max() > 0.9


def test_the_fallback_remembers_its_own_torques():
    controller = eq.WholeBodyController(load("arm7"), [eq.PostureTask(HOME)], constraints=[eq.TorqueLimits()])
    solution = controller(0.0, HOME, REST)
    kept = solution.torque.copy()
    solution.torque[:] = 0.0
    held = controller(0.1, SPOILT, REST)
    assert_allclose(held.torque, kept)
    held.torque[:] = 0.0
    assert_allclose(controller(0.2, SPOILT, REST).torque, kept)


# --- contacts that come and go ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))], ids=["deepcopy", "pickle"])
def test_copies_know_which_contacts_are_still_to_be_made(copied):
    """A copy between `set_contacts` and the next step: its contacts are made where the robot is, as the original's."""
    robot, q = tripod(), standing(tripod())
    controller, v = on_tripod(), np.zeros(robot.nv)
    controller(0.0, q, v)
    controller.set_contacts(FEET[:1])
    controller(0.1, q, v)
    controller.set_contacts(FEET)
    moved = q.copy()
    moved[0] += 0.04
    other = copied(controller)
    for each in (controller, other):
        each.set_contacts(FEET[1:])  # the first one was anchored before the robot moved
        solution = each(0.2, moved, v)
        assert not solution.events and set(solution.forces) == set(FEET[1:])
        slips = robot.jacobian(moved, FEET[1])[:3] @ solution.acceleration
        assert np.abs(slips).max() < 1e-6  # 4 m/s² if it were anchored where it was


def test_contacts_that_cannot_be_made_are_not():
    robot, q = tripod(), standing(tripod())
    controller = on_tripod()
    controller(0.0, q, np.zeros(robot.nv))
    controller.set_contacts(FEET[:2])
    with pytest.raises(eq.EquipoiseError):
        controller.set_contacts(FEET, q=np.full(robot.nq, np.nan))
    assert controller.in_force == set(FEET[:2])
    assert set(controller(0.1, q, np.zeros(robot.nv)).forces) == set(FEET[:2])


# --- settings that are functions, and that grow -----------------------------------------------------------------------


@pytest.mark.parametrize("settings", [{"braking": lambda t: 2.0}, {"gains": lambda t: eq.Gains.of_rates(5.0, 20.0)}])
def test_the_start_is_reported_with_settings_that_are_functions(settings):
    """The numbers of the first step are what counts: the same sentences as with constants."""
    robot = load("arm7")
    place = robot.pose(HOME, "tool")[:3, 3] + [0.2, 0, 0]
    rush = np.linalg.pinv(robot.jacobian(HOME, "tool")) @ [3.0, 0, 0, 0, 0, 0]
    reports = []
    for given in (settings, {name: value(0.0) for name, value in settings.items()}):
        keep = eq.KeepOut(eq.Sphere((0, 0, 0), 0.05, "tool"), eq.Sphere(place, 0.1), name="ball", **given)
        controller = eq.WholeBodyController(robot, [eq.PostureTask()], constraints=[keep], level="acceleration")
        solution = controller(0.0, HOME, rush)
        assert [event.kind for event in solution.events] == [ControlEventKind.START]
        reports.append(controller.start_report)
        assert copy.copy(controller).start_report == controller.start_report
    assert reports[0] == reports[1] and "approaches at 3" in reports[0][0]


@pytest.mark.parametrize("late", [False, True], ids=["set outside", "a function of time"])
def test_a_safe_distance_does_not_ask_for_the_obstacle(late):
    """A function that gives an obstacle is asked once in a step, at its time; what it does is no reason to refuse
    `safe`."""
    robot, asked = load("arm7"), []

    def ball(t):
        asked.append(t)
        return eq.Sphere((0.5, 0.5, 0.5), 0.1) if len(asked) < count else 1 / 0

    count = np.inf
    keep = eq.KeepOut(eq.Sphere((0, 0, 0), 0.05, "tool"), ball, safe=lambda t: 0.1 + t, name="ball")
    controller = eq.WholeBodyController(robot, [eq.PostureTask()], constraints=[keep], level="acceleration")
    first = controller(0.0, HOME, REST)
    count = 0
    asked.clear()
    if not late:
        controller.set("ball", safe=0.3)
    solution = controller(0.2, HOME, REST)
    assert asked == [0.2] and [event.kind for event in solution.events] == [ControlEventKind.SETTING_REFUSED]
    assert solution.margins["ball"] == pytest.approx(first.margins["ball"] - 0.2, abs=1e-12)


def test_braking_with_nothing_is_refused():
    with pytest.raises(TaskError, match="braking positive"):
        keep = eq.KeepOut(eq.Sphere((0, 0, 0), 0.05, "tool"), eq.Sphere((0.5, 0.5, 0.5), 0.1), braking=0.0)
        eq.WholeBodyController(load("arm7"), [eq.PostureTask()], constraints=[keep], level="acceleration")


def test_a_safe_distance_of_pairs_that_grew_is_that_of_a_controller_built_with_it():
    """Rows of `safe` set while it runs are those of a controller built with it."""
    robot, q = tripod(), standing(tripod())
    feet = [eq.Sphere((0, 0, 0), 0.02, foot) for foot in FEET]
    pairs = [(feet[0], feet[1]), (feet[0], feet[2]), (feet[1], feet[2])]
    v, made = 0.1 * np.arange(robot.nv), []
    for safe in (0.01, 0.5):
        items = [eq.PostureTask()], (), [eq.SelfCollision(pairs, safe=safe)]
        made.append(eq.WholeBodyController(robot, *items, level="acceleration"))
    assert made[0](0.0, q, v).margins["self-collision"] > 0
    made[0].set("self-collision", safe=0.5)
    one, other = (controller(0.1, q, v) for controller in made)
    assert one.margins == other.margins and one.margins["self-collision"] < 0
    assert list(one.step.outside["self-collision"].keys) == [0, 1, 2]
    assert_allclose(one.program.lower, other.program.lower)
    assert_allclose(one.acceleration, other.acceleration, rtol=0, atol=1e-6 * np.abs(other.acceleration).max())


# --- items of a user in the cache -------------------------------------------------------------------------------------

OWN = """
from dataclasses import dataclass
import equipoise as eq
from equipoise.control.tasks.references import VectorReference
from equipoise.control.tasks.task import Terms

FACTOR = {factor}

@dataclass(frozen=True, eq=False)
class Mine(eq.Task):
    target: object = 0.0
    @property
    def label(self):
        return "mine"
    def reference(self, context):
        return VectorReference(self.label, 1, scalar=True)
    def terms(self, scene, reference):
        J, drift = scene.rows_of(FACTOR * scene.q[0])
        e = reference.value - FACTOR * scene.q[0]
        return Terms(e, J, J @ scene.v, drift, reference.rate, reference.acceleration)
"""


def test_a_constant_that_a_users_task_reads_is_not_answered_from_the_cache(monkeypatch):
    """An edited number of the user's module: the kernel of the old one must not be found."""
    robot, q = hinge(), np.array([0.1])
    for factor in (2.0, 3.0):
        module = types.ModuleType("a_users_own")
        monkeypatch.setitem(sys.modules, module.__name__, module)
        exec(OWN.format(factor=factor), vars(module))
        controller = eq.WholeBodyController(robot, [module.Mine()], level="velocity")
        assert controller(0.0, q, np.zeros(1)).task_errors["mine"] == pytest.approx(0.1 * factor)
