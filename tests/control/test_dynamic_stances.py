"""Dynamic motions between stances: the plan of the centre of mass obeys its laws, can be stopped from anywhere, is
refused in words where times are impossible, and is followed in MuJoCo."""

from __future__ import annotations

from dataclasses import replace

import human_contacts as hc
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import linprog

import equipoise as eq
from equipoise.algebra.rigid import rotation_about
from equipoise.balance.contact_wrenches import contact_wrenches
from equipoise.control.stances.com_plan import Course, Phase
from equipoise.control.stances.com_program import CLOSE, CoMProgram, plan_com, replan_com
from equipoise.control.stances.dynamic import DynamicMotions, motions_of
from equipoise.control.stances.events import EventKind
from equipoise.control.stances.knots import knots_of
from equipoise.control.stances.route import Route
from equipoise.control.stances.stance import Planned, StanceError, Step, StepKind
from equipoise.control.stances.watch import Displacement
from equipoise.simulate.scenario import load_scenario
from equipoise.simulate.scenarios import prepare, run_built, verdict

G = 9.80665
UP = np.array([0.0, 0.0, 1.0])
SOLE = np.array([[0.11, 0.05, 0.0], [0.11, -0.05, 0.0], [-0.09, -0.05, 0.0], [-0.09, 0.05, 0.0]])
PALM = SOLE / 3
WALL = rotation_about(np.array([0.0, 1.0, 0.0]), -np.pi / 2)  # its normal is −x
ANGLES = np.pi / 4 + np.pi / 2 * np.arange(4)
LEVEL = np.eye(3)
USED = 0.8  # part of soles and of friction that plans are given here


def touching(place, corners=SOLE, R=LEVEL, part=USED):
    """(points, edges) of a flat contact, of which a part may be used."""
    ring = 0.7 * part * np.column_stack([np.cos(ANGLES), np.sin(ANGLES)])
    return part * corners @ R.T + place, np.tile(np.column_stack([ring, np.ones(4)]) @ R.T, (4, 1, 1))


# a walk: the right foot goes 0.3 m ahead onto a tread of 4 cm, a hand to the wall, the left foot follows
PLACES = {
    "left": ((0.0, 0.1, 0.0), SOLE, LEVEL),
    "right": ((0.0, -0.1, 0.0), SOLE, LEVEL),
    "right ahead": ((0.3, -0.1, 0.04), SOLE, LEVEL),
    "left ahead": ((0.3, 0.1, 0.04), SOLE, LEVEL),
    "hand": ((0.75, 0.2, 1.2), PALM, WALL),
}
WALK = [  # contacts, seconds, where the centre of mass rests
    (("left", "right"), 0.5, (0.0, 0.08, 0.95)),
    (("left",), 0.8, (0.01, 0.09, 0.95)),
    (("left", "right ahead"), 0.3, (0.15, -0.05, 0.96)),
    (("left", "right ahead", "hand"), 0.4, (0.28, -0.08, 0.98)),
    (("right ahead", "hand"), 0.8, (0.29, -0.06, 0.99)),
    (("right ahead", "left ahead", "hand"), 0.8, (0.3, 0.0, 0.99)),
]
START = np.array([[0.0, 0.0, 0.95], [0.0, 0.0, 0.0]])


def contacts_of(names, part=USED):
    made = [touching(np.array(PLACES[name][0]), *PLACES[name][1:], part=part) for name in names]
    return tuple(np.concatenate(x) for x in zip(*made, strict=True))


def phases_of(walk=WALK, part=USED, times=1.0):
    made = []
    for names, seconds, rest in walk:
        points = contacts_of(names, part)[0]
        planned, whole = (
            contact_wrenches(*contacts_of(names, part), np.full(len(points), 3.0), np.array(rest))
            for part in (part, 1.0)
        )
        ground = float(points[:, 2].min())
        made.append(Phase(" and ".join(names), times * seconds, planned, whole, np.array(rest), ground))
    return made


@pytest.fixture(scope="module")
def plan():
    made = plan_com(phases_of(), START, G)
    assert made.converged, made.reason
    return made


def elsewhere(plan, t, place=(0.0, 0.0, 0.0), velocity=(0.0, 0.0, 0.0)):
    """Place and velocity by so much off those of the plan."""
    return plan.at(t)[:2] + np.array([place, velocity])


def looks(plan, rng):
    """Times at, between, and on both sides of all knots, with the index of their phase."""
    for k, (a, b) in enumerate(zip(plan.times, plan.times[1:], strict=False)):
        for t in (a, b, rng.uniform(a, b)):
            yield float(t), int(plan.of[k])


# --- laws -------------------------------------------------------------------------------------------------------------


def test_rates_are_those_of_the_motion(plan, rng):
    h = 1e-5
    for t in rng.uniform(0.01, plan.seconds - 0.01, 20):
        before, here, after = (plan.at(t + k * h) for k in (-1, 0, 1))
        # jerks of up to 30 m/s³ change at knots: 30 h for rates of accelerations, less below
        assert_allclose(here[1:], (after - before)[:2] / (2 * h), atol=1e-3)
        assert_allclose(here[1], (after - before)[0] / (2 * h), atol=1e-7)
    for t in plan.times[1:]:
        assert_allclose(plan.at(t - 1e-9), plan.at(t), atol=1e-6)  # no jump from piece to piece


def test_rows_of_the_program_are_slopes_of_the_wrenches(rng):
    """Far from any plan, where yaw counts: each row is the tangent of what it says, and the motion is the plan's."""
    program = CoMProgram(tuple(phases_of()), START, np.array([WALK[-1][2], np.zeros(3), np.zeros(3)]), G, True)
    u, way, h = (*rng.normal(size=(2, 2 * len(program.knots.times))), 1e-6)
    cuts = [(int(look), int(rng.integers(len(program.phases[i].wrenches.h)))) for look, i in enumerate(program.look_of)]
    slopes, bounds = program.rows(cuts, u)

    def excess(u):
        at_look = {look: rows for _, looks, found in program.excess(u) for look, rows in zip(looks, found, strict=True)}
        return np.array([at_look[look][row] for look, row in cuts])

    assert_allclose(slopes @ way, (excess(u + h * way) - excess(u - h * way)) / (2 * h), atol=1e-6)
    assert_allclose(bounds - slopes @ u, -excess(u) - CLOSE, atol=1e-9)
    plan, (c, f) = program.plan(u), program.motion(u)
    for t, place, force in zip(program.at, c, f, strict=True):
        assert_allclose(plan.at(t)[0], place, atol=1e-9)
        assert_allclose(plan.at(t)[2] / G + UP, force, atol=1e-9)


def test_it_begins_and_ends_at_rest(plan):
    assert_allclose(plan.at(0.0), [START[0], np.zeros(3), np.zeros(3)], atol=1e-9)
    assert_allclose(plan.at(plan.seconds), [WALK[-1][2], np.zeros(3), np.zeros(3)], atol=1e-6)
    assert_allclose(plan.at(plan.seconds + 1.0), plan.at(plan.seconds))


def test_it_is_a_pendulum_about_its_pressure(rng):
    """At one height: c̈ = ω² (c − p) and ξ̇ = ω (ξ − p), ω² = g / h."""
    level = [(names, seconds, (*rest[:2], 0.95)) for names, seconds, rest in WALK[:2]]
    plan = plan_com(phases_of([*level, (("left", "right"), 0.8, (0.0, 0.0, 0.95))]), START, G)
    assert plan.converged
    h = 1e-6
    for t in rng.uniform(0.01, plan.seconds - 0.01, 20):
        c, _, a = plan.at(t)[:, :2]
        p, xi = plan.pressure(t), plan.capture_point(t)
        assert plan.rate(t) == pytest.approx(np.sqrt(G / 0.95), rel=1e-9)
        assert_allclose(a, G / 0.95 * (c - p), atol=1e-9)
        moved = (plan.capture_point(t + h) - plan.capture_point(t - h)) / (2 * h)
        assert_allclose(moved, plan.rate(t) * (xi - p), atol=1e-5)


def test_contacts_give_what_it_asks_for_at_and_between_knots(plan, rng):
    """Forces in the pyramids with Σ f = m (c̈ − g) and no moment about c, found by a linear program that knows nothing
    of facets, linear yaws or knots."""
    moved = 0.0
    for t, i in looks(plan, rng):
        points, edges = contacts_of(WALK[i][0])
        c, _, a = plan.at(t)
        force = a / G + UP
        rays = np.concatenate([edges, np.cross((points - c)[:, None], edges)], axis=2).reshape(-1, 6).T
        found = linprog(np.ones(rays.shape[1]), A_eq=rays, b_eq=[*force, 0, 0, 0], bounds=(0, None))
        assert found.status == 0, (t, WALK[i][0])
        moved = max(moved, float(np.abs(a[:2]).max()))
    assert moved > 0.5  # m/s²: it is no quasi-static motion


def test_it_goes_where_a_motion_at_rest_could_not(plan):
    """While one foot carries, the centre of mass is outside of its sole: c is no static equilibrium, ξ moves on."""
    sole = 0.8 * SOLE + PLACES["left"][0]
    times = plan.times[:-1][plan.of == 1]
    outside = [t for t in times if plan.at(t)[0, 1] < sole[:, 1].min() or plan.at(t)[0, 0] > sole[:, 0].max()]
    assert len(outside) > len(times) / 4


# --- capturability ----------------------------------------------------------------------------------------------------


def test_from_every_knot_a_stop_exists_in_the_phases_left(plan):
    """The plan's own rest is one; and with whole soles, 1 cm of ξ to any side can still be stopped."""
    whole = phases_of(part=1.0)
    for t in plan.times[1:-6:7]:
        left = plan.phases_between(t, plan.seconds)
        left = [replace(w, seconds=phase.seconds) for w, phase in zip(whole[-len(left) :], left, strict=True)]
        for way in ((0, 0), (1, 0), (-1, 0), (0, 1), (0, -1)):
            stop = plan_com(
                left, elsewhere(plan, t, velocity=0.01 * plan.rate(t) * np.array([*way, 0.0])), G, from_rest=False
            )
            assert stop.converged, (t, way, stop.reason)
            assert_allclose(stop.at(stop.seconds)[1:], 0.0, atol=1e-6)
            assert stop.seconds == pytest.approx(plan.seconds - t)


def test_a_push_that_no_contact_can_stop_is_not_planned(plan):
    here = elsewhere(plan, 1.0, velocity=(0.0, 1.0, 0.0))
    assert not plan_com(plan.phases_between(1.0, plan.seconds), here, G, from_rest=False).converged


@pytest.mark.parametrize(
    "phases",
    [phases_of(times=0.1), phases_of([(WALK[0][0], 0.1, WALK[0][2]), (WALK[1][0], 3.0, WALK[1][2]), *WALK[2:]])],
    ids=["all too short", "no time to go over the foot"],
)
def test_impossible_times_are_refused_in_words(phases):
    refused = plan_com(phases, START, G)
    assert not refused.converged
    assert refused.reason.startswith("contacts would have to give more than they can, in '")
    assert any(f"{phase.name!r} ({phase.seconds:.2f} s)" in refused.reason for phase in refused.phases)


# --- other plans on the way -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("t", [0.2, 0.9, 1.4, 2.2])
def test_another_plan_from_elsewhere_leads_back(plan, t):
    here = elsewhere(plan, t, (0.01, -0.005, 0.004), (0.02, 0.02, 0.0))
    found = replan_com(plan, t, here)
    assert found.converged
    assert_allclose(found.at(0.0)[:2], here, atol=1e-9)
    assert found.seconds == pytest.approx(plan.seconds - t)
    for later in np.linspace(1.5, found.seconds, 7) if found.seconds > 1.5 else [found.seconds]:
        assert_allclose(found.at(later), plan.at(t + later), atol=1e-6)
        assert found.phase_at(later - 0.01).name == plan.phase_at(t + later - 0.01).name
    assert len(found.of) == len(found.times) - 1 and max(found.of) == len(found.phases) - 1
    assert sum(phase.seconds for phase in found.phases) == pytest.approx(found.seconds)


def test_after_a_push_contacts_give_all_they_can(plan):
    """At a push too large for plans, there is one by whole soles."""
    for speed in np.arange(0.3, 0.7, 0.04):
        here = elsewhere(plan, 1.0, velocity=(0.0, speed, 0.0))
        if not plan_com(plan.phases_between(1.0, plan.seconds), here, G, from_rest=False).converged:
            break
    found = replan_com(plan, 1.0, here)
    assert 0.3 < speed < 0.6 and found.converged
    assert_allclose(found.at(found.seconds), plan.at(plan.seconds), atol=1e-6)


def test_where_it_cannot_lead_back_it_says_so(plan):
    found = replan_com(plan, 1.0, elsewhere(plan, 1.0, velocity=(0.0, 1.0, 0.0)))
    assert not found.converged and "more than they can" in found.reason


def test_a_course_is_a_plan_at_its_time_and_place(plan):
    course = Course(plan, 2.0, plan, 2.5, np.array([0.1, 0.0, 0.0]))
    assert_allclose(course.at(3.0)[0], plan.at(0.5)[0] + [0.1, 0.0, 0.0])
    assert_allclose(course.at(3.0)[1:], plan.at(0.5)[1:])


def test_knots_are_where_phases_meet():
    knots = knots_of([0.5, 0.03, 0.8])
    assert {0.0, 0.5, 0.53, 1.33} <= set(np.round(knots.times, 12))
    assert (np.diff(knots.times) < 0.081).all() and list(np.unique(knots.of)) == [0, 1, 2]
    a = np.sin(3 * knots.times)
    h, at = 1e-5, np.array([0.1, 0.51, 0.9])
    assert_allclose((knots.places(at + h) - knots.places(at - h)) @ a / (2 * h), knots.velocities(at) @ a, atol=1e-8)
    assert_allclose(
        (knots.velocities(at + h) - knots.velocities(at - h)) @ a / (2 * h), knots.accelerations(at) @ a, atol=1e-8
    )


# --- stances ----------------------------------------------------------------------------------------------------------

BOTH = ["left_foot", "right_foot"]
FAST = {"speed": (0.3, 0.6, 2.0), "load_time": 0.15}


@pytest.fixture(scope="module")
def human():
    return eq.load("human")


def step_ahead(human, seconds=None, sunk=0.0, dynamic=True):
    """Both feet; the right one 0.15 m ahead, without a rest; the left one beside it."""
    X, Y = (human.pose(human.standing(), name) for name in BOTH[::-1])
    X[:3, 3] += [0.15, 0.0, sunk]
    Y[:3, 3] += [0.15, 0.0, 0.0]
    stances = [
        eq.Stance(BOTH, name="both feet"),
        eq.Stance(BOTH, places={"right_foot": X}, name="right ahead", hold=0.0, seconds=seconds),
        eq.Stance(BOTH, places={"left_foot": Y}, name="both ahead", hold=0.0),
    ]
    return eq.Stances(human, stances, [hc.flat(human, name) for name in BOTH], dynamic=dynamic, **FAST)


@pytest.fixture(scope="module")
def walks(human):
    return {dynamic: step_ahead(human, dynamic=dynamic) for dynamic in (False, True)}


def test_contacts_come_and_go_at_the_times_of_the_plan(walks):
    """One motion through the stance in the middle; a phase for each step that takes time, with what carries then."""
    steps = [step for stance in walks[True].plan for step in stance.way]
    motions = {id(step.timing.motion) for step in steps}
    assert len(motions) == 1 and walks[True].fallbacks == 0
    plan = steps[0].timing.motion
    clock = 0.0
    for step in steps:
        assert step.timing.begins == pytest.approx(clock)
        clock = step.timing.ends
        if step.timing.seconds > 0:
            name = plan.phase_at((step.timing.begins + step.timing.ends) / 2).name
            alone = step.contacts - (step.changed if step.kind.shifts_load else set())
            assert name == f"{step.kind.name.lower()} on {', '.join(sorted(alone))}"
    assert clock == pytest.approx(plan.seconds)
    assert [step.timing.passes for step in steps] == [True] * (len(steps) - 1) + [False]
    assert all(step.timing is None for stance in walks[False].plan for step in stance.way)


def test_motions_go_from_rest_to_rest():
    """Stances with a hold or a centre of mass of their own are rests, and so is the last."""
    plan = [Planned("start", frozenset(), np.zeros(1), (), ())]
    for hold, rests in ((0.0, False), (0.2, False), (0.0, False), (0.0, True), (0.0, False)):
        way = Step(StepKind.MOVE, np.zeros(1), frozenset(), frozenset(), len(plan), True, hold=hold)
        plan.append(Planned("", frozenset(), np.zeros(1), (way,), (), rests))
    assert motions_of(plan) == [(1, 2), (3, 4), (5, 5)]
    assert motions_of(plan[:1]) == []


def test_the_option_makes_a_run_shorter(human, walks):
    """In MuJoCo; it goes through the stance in the middle without a rest, and stands in the end."""
    walk = walks[True]
    assert walk.seconds < 0.8 * walks[False].seconds
    run = eq.simulate(human, walk, q0=walk.q0, duration=walk.seconds + 0.5, plant="mujoco")
    assert walk.outcome == "completed" and run.outcome == "completed" and walk.fallbacks == 0
    done = next(event.t for event in walk.log if event.kind is EventKind.COMPLETED)
    assert done < walk.seconds + 0.2 < walks[False].seconds
    passed = next(event.t for event in walk.log if event.kind is EventKind.REACHED)
    k = int(np.searchsorted(run.t, passed))
    assert np.linalg.norm(human.com_jacobian(run.q[k]) @ run.v[k]) > 0.05
    for name in BOTH:
        there = human.pose(human.standing(), name)[:3, 3] + [0.15, 0.0, 0.0]
        assert np.linalg.norm(human.pose(run.q[-1], name)[:3, 3] - there) < 0.02


@pytest.mark.parametrize(
    ("seconds", "why"),
    [
        (0.3, "the way to stance 1 has 0.30 s, and needs more than "),
        (1.1, "contacts would have to give more than they can"),
        (70.0, "it takes 71.4 s, and a plan 60 s at most; rest in between (hold)"),
    ],
)
def test_impossible_times_of_a_stance_are_told_and_gone_from_rest_to_rest(human, seconds, why):
    walk = step_ahead(human, seconds=seconds)
    assert walk.fallbacks == 1
    assert all(step.timing is None for stance in walk.plan for step in stance.way)
    walk(0.0, walk.q0, np.zeros(human.nv))
    told = [event for event in walk.log if event.kind is EventKind.NO_PLAN]
    assert len(told) == 1 and told[0].stance == "both ahead"
    assert told[0].text.startswith(f"no dynamic motion to 'both ahead': {why}")


def test_a_stance_takes_the_time_it_is_given(human):
    walk = step_ahead(human, seconds=1.6)
    ends = [stance.way[-1].timing.ends for stance in walk.plan[1:]]
    assert ends[0] == pytest.approx(1.6) and walk.fallbacks == 0


def test_without_its_plan_a_motion_goes_from_rest_to_rest(walks):
    route = Route(walks[True].plan)
    route.step = route.queue.pop(0)
    assert route.drop_times()
    assert route.step.timing is None and all(step.timing is None for step in route.queue)
    assert not route.drop_times()


def test_plans_leave_a_reserve_of_soles(walks, human):
    """At rest on one foot with the centre of mass above 0.6 of its sole is planned, above 0.8 is not."""
    swing = next(step for step in walks[True].plan[1].way if step.kind is StepKind.MOVE and step.changed)
    contact, X = hc.flat(human, "left_foot"), human.pose(swing.q, "left_foot")
    corners = contact.points @ X[:3, :3].T + X[:3, 3]
    phase = swing.timing.motion.phase_at((swing.timing.begins + swing.timing.ends) / 2)
    for part, planned in ((0.6, True), (0.8, False)):
        for corner in corners:
            c = corners.mean(axis=0) + part * (corner - corners.mean(axis=0))
            w = np.concatenate([UP, np.cross(c - phase.wrenches.origin, UP)])
            assert (phase.wrenches.excess(w).max() <= 0) == planned


def test_plans_ask_a_contact_for_no_more_than_it_bears(human):
    """A sole that bears 0.6 of the weight, given in N: 0.59 of the weight above its middle is within, 0.61 is not."""
    corners, weight = hc.flat(human, "left_foot").points[:, :2], human.mass * np.linalg.norm(human.model.gravity)
    sole = eq.FlatContact("left_foot", corners=corners, friction=0.7, max_force=0.6 * weight)
    motions, q = DynamicMotions(human, {"left_foot": sole}, lambda step, q: 0.0, 0.1), human.standing()
    X = human.pose(q, "left_foot")
    found = motions._wrenches(q, ["left_foot"], X[:3, :3] @ sole.points.mean(axis=0) + X[:3, 3], 1.0, 1.0)
    for part, within in ((0.59, True), (0.61, False)):
        assert (found.excess(np.array([0.0, 0.0, part, 0.0, 0.0, 0.0])).max() <= 0) == within


@pytest.fixture
def under_way(walks):
    """The tracker of a walk that has just begun, and its steps."""
    walk = walks[True]
    walk.reset()
    walk(0.0, walk.q0, np.zeros(walk.robot.nv))
    yield walk._track, [step for stance in walk.plan for step in stance.way]
    walk.reset()


def test_a_contact_made_late_moves_the_clock(under_way):
    """What comes is later by as much; the references go on from where they are."""
    track, steps = under_way
    k, load = next((k, step) for k, step in enumerate(steps) if step.kind is StepKind.LOAD)
    t = track.course.start + load.timing.begins + 0.06
    before, later = track.now.com_at(t), track.course.start + steps[k + 2].timing.ends + 0.06
    assert "followed" in track.made(t, load)
    assert_allclose(track.now.com_at(t)[:2], before[:2], atol=1e-9)
    assert track.ends_at(steps[k + 2], t) == pytest.approx(later)
    assert_allclose(track.now.com_at(later + 1.5), track.course.motion.at(later + 1.5 - 0.06), atol=1e-6)
    assert track.ends_at(load, t) == pytest.approx(t + load.timing.seconds)
    assert track.made(track.course.start + load.timing.begins, load) == ""  # in time
    assert track.ends_at(load, early := t - 0.3) == pytest.approx(early + load.timing.seconds)  # before its time


def test_a_push_is_planned_from_where_the_robot_is(under_way):
    track, steps = under_way
    t, ends = 0.4, track.ends_at(steps[-1], 0.4)
    here = track.now.com_at(t)[:2] + np.array([[0.01, 0.0, 0.0], [0.0, 0.02, 0.0]])
    track.offset = np.array([0.03, 0.0, 0.0])  # of an earlier slip
    track.follow(t, track.now.posture_at(t), steps[0])
    assert "followed" in track.replan(t, here)
    assert_allclose(track.now.com_at(t)[:2], here, atol=1e-9)
    assert track.ends_at(steps[-1], t) == pytest.approx(ends)
    assert_allclose(track.now.com_at(ends)[0], track.course.motion.at(ends)[0] + track.offset, atol=1e-6)
    last = ends - 0.01
    track.follow(last, track.now.posture_at(last), steps[-1])
    assert_allclose(track.now.T, 0.1)  # postures do not jump where little time is left
    track.follow(t, track.now.posture_at(t), steps[0])
    now, passed = track.now, next(step for step in steps if step.timing.seconds == 0)
    track.follow(t, track.now.posture_at(t), passed)
    assert track.now is now  # a stance that is passed has no references of its own
    hopeless = here + np.array([[0.0, 0.0, 0.0], [0.0, 2.0, 0.0]])
    assert "there is none from here, contacts would have to" in track.replan(t, hopeless)
    assert_allclose(track.now.com_at(t)[:2], here, atol=1e-9)  # it keeps the one it has


@pytest.mark.parametrize("dynamic", [False, True])
def test_a_push_replans_a_dynamic_motion_and_no_other(walks, dynamic):
    walk = walks[dynamic]
    walk.reset()
    walk(0.0, walk.q0, np.zeros(walk.robot.nv))
    walk._pushed(
        0.4, walk._track.now.posture_at(0.4), np.zeros(walk.robot.nv), Displacement(EventKind.PUSHED, 0.01, False)
    )
    assert [event.kind for event in walk.log] == [EventKind.PUSHED] + [EventKind.REPLANNED] * dynamic
    walk.reset()


@pytest.mark.slow
def test_ground_that_comes_late_moves_the_plan(human):
    """The foot finds the ground 2 cm lower than planned: the plan waits for it."""
    walk = step_ahead(human, sunk=0.02)
    eq.simulate(human, walk, q0=walk.q0, duration=walk.seconds + 1.5, plant="mujoco")
    assert any(event.kind is EventKind.REPLANNED and "followed" in event.text for event in walk.log)
    assert walk.outcome == "completed"


def test_scenarios_have_the_option():
    assert load_scenario("walk", {"control.dynamic": True}).control.dynamic is True


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "robot", "least"),
    [("walk", "human", 5.0), ("walk", "jvrc1", 5.0), ("one_hand", "human", 1.5), ("table_reach", "jvrc1", 2.0)],
)
def test_shipped_scenarios_are_completed_sooner(name, robot, least):
    """Five seeds of noise and pushes each, `least` seconds sooner than from rest to rest is planned."""
    usual = prepare(name, robot=robot).controller.seconds
    built = prepare(name, robot=robot, overrides={"control.dynamic": True})
    for seed in range(5):
        run = run_built(built, seed=seed)
        assert verdict(run).reached, (seed, verdict(run).reasons)
        done = next(t for t, text in run.events if text == "completed")
        assert done < usual - least and built.controller.fallbacks == 0


# --- through the air --------------------------------------------------------------------------------------------------

FEET = ("left foot", "right foot")
HOP = eq.Stance(FEET, flight=0.25, name="hopped")


@pytest.fixture(scope="module")
def walker(human):
    return eq.Walking(human)


@pytest.fixture
def hop(walker):
    """Both feet, a hop, one foot alone."""
    stances = [eq.Stance(FEET, name="both"), HOP, eq.Stance(FEET[:1], name="on the left", hold=0.0)]
    return eq.Stances(walker.robot, stances, walker.body, catch=walker, dynamic=True)


def test_a_stance_is_reached_through_the_air(hop):
    """Nothing touches for 0.2 s; then gravity alone moves the centre of mass and the spin about it stays; and what
    comes after is planned, and done where the feet landed."""
    run = eq.simulate(hop.robot, hop, q0=hop.q0, duration=hop.seconds + 1.0, plant="mujoco")
    assert hop.outcome == run.outcome == "completed" and hop.fallbacks == 0
    load = sum(np.linalg.norm(wrench[:, :3], axis=1) for wrench in run.measured.values())
    off = np.flatnonzero(load < 1e-6)
    air = max(np.split(off, np.flatnonzero(np.diff(off) > 1) + 1), key=len)
    assert 0.2 < 1e-3 * len(air) < 0.35
    momenta = np.array([hop.robot.momentum(run.q[k], run.v[k]) for k in air[2:-2]])
    speeds, t = momenta[:, :3] / hop.robot.mass, run.t[air[2:-2]] - run.t[air[2]]
    assert_allclose(speeds - speeds[0], np.outer(t, [0.0, 0.0, -G]), atol=1e-2)  # m/s, of which MuJoCo loses 0.004
    assert_allclose(momenta[:, 3:], np.broadcast_to(momenta[0, 3:], (len(t), 3)), atol=0.05)  # N m s, of 4 at take-off
    told = [event.kind for event in hop.log if event.kind in (EventKind.HOPPED, EventKind.REACHED, EventKind.RELEASED)]
    assert told == [EventKind.HOPPED, EventKind.REACHED, EventKind.RELEASED, EventKind.REACHED]


def test_a_hop_that_does_not_leave_the_ground_goes_back(hop, monkeypatch):
    monkeypatch.setattr(hop._catching.catcher, "hop", lambda seconds: None)
    eq.simulate(hop.robot, hop, q0=hop.q0, duration=4.5, plant="mujoco")
    back = next(event for event in hop.log if event.kind is EventKind.GOING_BACK)
    assert back.text == "it did not get off the ground: going back to 'both'" and hop.outcome == "returned"


def test_a_hop_is_forgotten_where_the_walk_starts_anew(hop):
    q, v = hop.q0, np.zeros(hop.robot.nv)
    hop(0.0, q, v)
    assert hop._catching.hops and hop._catching.catcher._hops  # asked for, not yet begun
    hop.reset()
    assert not hop._catching.hops and not hop._catching.catcher._hops


def test_a_hop_begins_and_ends_at_rest(hop):
    """No motion goes through it, and none has to: what is left of its way has no plan."""
    assert [stance.hops for stance in hop.plan] == [False, True, False] and motions_of(hop.plan) == [(2, 2)]
    through = [hop.plan[0], hop.plan[2], hop.plan[1], hop.plan[2]]  # without a hold before the hop
    assert motions_of(through) == [(1, 1), (3, 3)]
    assert all(step.timing is None for step in hop.plan[1].way)
    assert hop.seconds > 5.25  # it counts


@pytest.mark.parametrize(
    ("stances", "why"),
    [
        ([HOP], "the first stance is where the robot starts"),
        ([eq.Stance(FEET), eq.Stance(FEET, flight=-0.1)], "flight is how long"),
        ([eq.Stance(FEET), eq.Stance(FEET, flight=np.nan)], "flight is how long"),
        ([eq.Stance(FEET), eq.Stance(FEET, flight=np.inf)], "flight is how long"),
        ([eq.Stance(FEET), eq.Stance(FEET[:1], flight=0.2)], "right foot would be elsewhere"),
        ([eq.Stance(FEET), eq.Stance(FEET[:1]), eq.Stance(FEET[:1], flight=0.2)], "with two feet, and those alone"),
    ],
)
def test_a_hop_that_nobody_can_do_is_refused(walker, stances, why):
    with pytest.raises(StanceError, match=why):
        eq.Stances(walker.robot, stances, walker.body, catch=walker)


def test_a_hop_takes_somebody_who_hops(walker):
    with pytest.raises(StanceError, match="takes catch=eq.Walking"):
        eq.Stances(walker.robot, [eq.Stance(FEET), HOP], walker.body)


def test_references_stay_where_the_robot_is(under_way, human):
    """Wherever slips have carried it from its plan."""
    track, _ = under_way
    track.offset, q = np.array([0.1, 0.0, 0.0]), human.standing()
    track.stay(0.4, q)
    assert_allclose(track.now.com_at(0.5)[0], human.com(q), atol=1e-12)


def test_kinds_of_steps_that_shift_load_are_short(walks):
    """Load goes to and from contacts within 0.3 / ω."""
    steps = [step for stance in walks[True].plan for step in stance.way if step.kind.shifts_load]
    assert {step.kind for step in steps} == {StepKind.LOAD, StepKind.UNLOAD}
    assert all(0.05 < step.timing.seconds < 0.11 for step in steps)
