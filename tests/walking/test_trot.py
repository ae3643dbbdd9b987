"""Quadrupeds trot: virtual feet, the reach of two groups of legs, swings of a group, and short runs in MuJoCo."""

from __future__ import annotations

import functools
import warnings
from dataclasses import replace
from math import exp

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from snapshots import require_same_after_restore

import equipoise as eq
from bench.walk_trials import pushed_trot, walk_course
from equipoise.algebra.rigid import rotation_from_rpy
from equipoise.model.skeleton import Skeleton
from equipoise.simulate.conditions import Push
from equipoise.simulate.estimated import driven, on_estimates
from equipoise.simulate.walk_trials import DELAY, NOISE, mean_velocity, varied_plant
from equipoise.walking.gait import Command, Place, next_place
from equipoise.walking.leg_reach import reach_of_groups
from equipoise.walking.machine import LAST
from equipoise.walking.many_feet import LINE, hull_of, virtual_foot
from equipoise.walking.state import STEP
from equipoise.walking.step_plan import Flight, StepPlanner, Wish, capturable

numbers = st.floats(-1, 1)


@functools.cache
def made(name: str) -> eq.Walking:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return eq.Walking(eq.load(name))


@pytest.fixture
def quadruped():
    walker = made("quadruped")
    walker.forget_commands().reset()
    return walker


def walked(walker, duration, seed=0, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plant = varied_plant(walker, seed)
        return eq.simulate(
            walker.robot, walker, plant, duration, q0=walker.q0, seed=seed, noise=NOISE, delay=DELAY, **options
        )


# --- virtual feet -----------------------------------------------------------------------------------------------------


@given(st.lists(numbers, min_size=4, max_size=4), st.sampled_from([2, 3]))
@settings(max_examples=40, deadline=None)
def test_a_virtual_foot_moves_as_its_feet_do(x, count):
    """Feet that are moved as one rigid body give that motion back."""
    spread = np.array([[0.3, 0.2, 0.0], [-0.3, -0.2, 0.0], [0.1, -0.4, 0.0]])[:count]
    spread = spread - spread.mean(axis=0)
    R, p = rotation_from_rpy(0.0, 0.0, 3.1 * x[0]), np.array(x[1:])
    X = virtual_foot(spread @ R.T + p, spread)
    assert_allclose(X[:3, :3], R, atol=1e-12)
    assert_allclose(X[:3, 3], p, atol=1e-12)


def test_two_feet_carry_on_the_line_between_them():
    feet = np.array([[0.3, 0.2], [-0.3, -0.2]])
    strip = hull_of(feet)
    area = 0.5 * np.sum(strip[:, 0] * np.roll(strip[:, 1], -1) - strip[:, 1] * np.roll(strip[:, 0], -1))
    assert_allclose(area, LINE * np.linalg.norm(feet[0] - feet[1]), rtol=1e-9)  # positive: counter-clockwise
    across = np.array([-0.2, 0.3]) / np.hypot(0.2, 0.3)
    assert_allclose(np.abs(strip @ across), LINE / 2, atol=1e-12)


def test_diagonal_legs_step_together(quadruped):
    legs = quadruped.whole_body
    assert legs.steppers == ("left front foot and right hind foot", "right front foot and left hind foot")
    for X in legs.soles(quadruped.q0):  # the quadruped is symmetric: both stand around the same middle
        assert_allclose(X, np.eye(4), atol=1e-3)  # m; postures are found by least squares


# --- reach and plan ---------------------------------------------------------------------------------------------------


def test_the_reach_of_two_groups_is_that_of_the_legs():
    """Each leg takes half of a step, and gets no farther than its length allows from where its foot stands."""
    body = eq.Body.of(eq.load("quadruped")).still()
    skeleton = Skeleton(body.robot)
    motion = skeleton.at(body.standing)
    places = np.array([body.robot.pose(body.standing, body.frames[role])[:3, 3] for role in body.feet])
    reach = reach_of_groups(body, places)
    knee = body.robot.joints["front_left_knee"]
    chain = [k for k in range(skeleton.count) if skeleton.joint(k) in ("front_left_hip_pitch", knee.name)]
    hip, below = motion.p[chain]
    straight = np.linalg.norm(below - hip) + np.linalg.norm(places[0] - below)
    farthest = 2 * (np.sqrt(straight**2 - hip[2] ** 2) + abs(places[0][0] - hip[0]))
    free = reach_of_groups(body, 10 * places)  # as if neighbouring feet were far away
    assert 0.5 * farthest < free.ahead < farthest
    assert reach.behind == reach.ahead and reach.nearest == -reach.widest
    assert (reach.offsets > 0).all()  # where it stands is well inside
    assert reach.ahead <= 0.6 * 0.561 and reach.widest <= 0.6 * 0.401  # feet never come to stand on each other
    assert_allclose(np.sort(reach.offsets), np.sort(reach_of_groups(body, places[::-1]).offsets))


def test_groups_can_be_caught_the_same_way_on_both_sides(quadruped):
    """Without a width the bounds of the offset are L / (σ − 1) in both directions, for both groups."""
    g = quadruped.gait
    sigma = exp(g.rate * g.shortest)
    for side in (1.0, -1.0):
        lower, upper = capturable(g, side)
        assert_allclose(upper, np.array([g.reach.ahead, g.reach.widest]) / (sigma - 1), rtol=1e-12)
        assert_allclose(lower, -upper, rtol=1e-12)


@pytest.mark.parametrize("pushed", [-np.inf, 0.0])
def test_a_trot_holds_trunk_and_centre_of_mass_as_a_stand_does(quadruped, monkeypatch, pushed):
    """Also after a push: the weights are a biped's to change."""
    s, legs, weights = quadruped.machine.state, quadruped.whole_body, {}
    monkeypatch.setattr(legs.controller, "set_weight", lambda name, weight: weights.update({name: weight}))
    legs.stiffen(1.0)
    usual = weights.copy()
    weights.clear()
    s.mode, s.pushed = STEP, pushed
    quadruped.machine._watch(quadruped._see(0.0, quadruped.q0, np.full(quadruped.robot.nv, 0.01)), 1e-3)
    assert set(weights) == {"torso", "centre of mass"} and weights == usual


def test_across_the_line_only_the_step_catches_and_along_it_pressure_helps(quadruped):
    g = quadruped.gait
    strip = quadruped.whole_body.corners()[0]
    made_plan = StepPlanner(g, -1.0, strip)
    along = (strip[1] - strip[0]) / np.linalg.norm(strip[1] - strip[0])
    across = np.array([-along[1], along[0]])
    wish, still = Wish(np.zeros(2), g.period, np.zeros(2)), Flight(np.zeros(2), np.zeros(2), g.period, 0.0)
    push = 0.04 * g.height
    plans = [made_plan.plan(push * way, wish, g.shortest, g.longest, still) for way in (along, across)]
    assert float(plans[0].pressure @ along) > push  # beyond ξ: it comes back
    assert abs(float(plans[1].pressure @ across)) <= LINE / 2 + 1e-6
    assert float(plans[1].place @ across) > 2 * abs(float(plans[0].place @ along))
    for plan in plans:
        assert plan.excess < 1e-9


@pytest.mark.parametrize("command", [Command(0.0, 0.2, 0.0), Command(0.3, -0.1, 0.0)])
def test_groups_step_as_far_as_the_command_goes(quadruped, command):
    place, g = Place(0.0, 0.0, 0.0), quadruped.gait
    for k in range(3):  # each step, of either group
        place = next_place(place, k % 2, command, g, 0.0, g.period)
        assert_allclose(place.xy, (k + 1) * g.period * np.array([command.forward, command.left]), atol=1e-12)


# --- feet of a group --------------------------------------------------------------------------------------------------


def test_swings_of_a_group_are_consistent_in_place_rate_and_acceleration(quadruped):
    """The references of the feet, differentiated, are their rates; a foot that stood elsewhere ends where it
    belongs."""
    legs, dt = quadruped.whole_body, quadruped.dt
    q = quadruped.q0
    legs.soles(q)
    legs.places = legs.places + np.array([[0.02, 0.0, 0.0], [0.0] * 3, [0.0] * 3, [0.0, 0.01, 0.0]])
    X = virtual_foot(legs.places[list(legs.groups[0])], legs.spreads[0])
    start = np.array([*X[:3, 3], np.arctan2(X[1, 0], X[0, 0])])
    legs.lift(0)
    foot, states = legs.groups[0][0], []
    for k in range(1200):
        t = k * dt
        state = np.zeros((3, 4))
        state[0] = start + np.array([0.3 * t, 0.1 * t**2, 0.05 * t, 0.5 * t + 0.4 * t**2])
        state[1] = 0.3, 0.2 * t, 0.05, 0.5 + 0.8 * t
        state[2] = 0.0, 0.2, 0.0, 0.8
        legs.set_swing(0, state, np.zeros(2))
        states.append(legs.swing[foot].copy())
        if k == 0:
            assert_allclose(states[0][[3, 7, 11]], legs.places[foot], atol=1e-12)  # from where it stood
    place, rate, acceleration = (np.array(states)[:, at] for at in ([3, 7, 11], [16, 17, 18], [22, 23, 24]))
    # Differences of first order: dt times half of the next derivative, at most some 10 m/s² and 100 m/s³.
    assert_allclose(np.diff(place, axis=0) / dt, rate[:-1], atol=0.01)
    assert_allclose(np.diff(rate, axis=0) / dt, acceleration[:-1], atol=0.1)
    assert_allclose(place[-1], state[0, :3] + rotation_from_rpy(0.0, 0.0, state[0, 3]) @ legs.spreads[0][0], atol=1e-4)
    legs.land(0)


def test_a_foot_that_touches_first_carries_while_the_other_goes_on(quadruped):
    legs = quadruped.whole_body
    quadruped(0.0, quadruped.q0, np.zeros(quadruped.robot.nv))
    legs.lift(0)
    first, second = (legs.feet[k] for k in legs.groups[0])
    felt = {role: np.zeros(6) for role in legs.feet}
    assert not legs.touched(0, felt, 0.03) and first not in legs.controller.in_force
    felt[first] = np.array([0.0, 0.0, 0.1 * legs.weight, 0.0, 0.0, 0.0])
    assert not legs.touched(0, felt, 0.03)
    assert first in legs.controller.in_force and second not in legs.controller.in_force
    felt[second] = felt[first]
    assert legs.touched(0, felt, 0.03)
    legs.places = legs.places + np.array([0.0, 0.0, 0.02]) * np.isin(np.arange(4), legs.groups[0])[:, None]
    legs.lift(0)
    assert not legs.touched(0, {}, 0.03)  # where forces are not measured, heights tell
    legs.soles(quadruped.q0)
    assert legs.touched(0, {}, 0.03)


# --- runs -------------------------------------------------------------------------------------------------------------


def test_a_quadruped_trots_and_takes_a_push(quadruped):
    """0.5 m/s with noise, delay, wrong masses, drawn friction and a push from the side; diagonal pairs carry in
    turn."""
    quadruped.command(0.5, at=0.1)
    before = dict(quadruped.whole_body.controller.counts)
    impulse = 0.2 * quadruped.robot.mass * quadruped.body.gains.speed
    push = eq.Push(quadruped.body.frames["torso"], (0.0, impulse / 0.1, 0.0), 2.0, 0.1)
    run = walked(quadruped, 4.0, pushes=[push])
    assert run.outcome == "completed"
    ahead, _, turn = mean_velocity(run, 1.2, 4.0)
    assert abs(ahead - 0.5) < 0.15 * 0.5 and abs(turn) < 0.1
    assert np.abs(mean_velocity(run, 3.4, 4.0)[1]) < 0.15  # the push gave it 0.4 m/s to the left
    assert float(2 * np.hypot(*run.q[:, 4:6].T).max()) < 0.2  # rad, that the trunk leans
    counts = quadruped.whole_body.controller.counts
    assert counts["errors"] == before["errors"] and counts["failed"] == before["failed"]
    assert quadruped.machine.state.steps >= 10


def test_a_quadruped_goes_aside_turns_and_stands(quadruped):
    quadruped.command(0.0, 0.12, 0.0, at=0.1).command(0.0, 0.0, 0.5, at=2.0).command(at=3.5)
    run = walked(quadruped, 5.5, seed=1)
    assert run.outcome == "completed" and quadruped.mode == "stand"
    ahead, left, _ = mean_velocity(run, 1.0, 2.0)
    assert abs(left - 0.12) < 0.15 * 0.12 + 0.01 and abs(ahead) < 0.03
    assert abs(mean_velocity(run, 2.7, 3.4)[2] - 0.5) < 0.15 * 0.5
    assert max(quadruped.whole_body.astray()) < 0.12 * quadruped.gait.height
    assert np.abs(run.v[-1]).max() < 0.1
    assert not any("centre of mass stays" in text for _, text in run.events)


def test_feet_that_stand_elsewhere_are_seen(quadruped):
    legs, far = quadruped.whole_body, 0.3 * quadruped.gait.height
    legs.soles(quadruped.q0)
    assert max(legs.astray()) < 1e-3
    off = np.zeros((4, 3))
    off[list(legs.groups[1]), 0] = far
    legs.places = legs.places + off
    assert_allclose(legs.astray(), far / 2, rtol=0.05)  # each group is half of it from the middle of all


@pytest.mark.parametrize("moving", [False, True])
def test_a_quadruped_brings_its_feet_back_once_it_is_at_rest(quadruped, monkeypatch, moving):
    """The group that is farther off swings, and not before the body was still for 1/ω."""
    v = np.zeros(quadruped.robot.nv)
    v[2] = 0.1 * quadruped.body.gains.speed * moving  # upwards, so that the capture point stays where it is
    monkeypatch.setattr(quadruped.whole_body, "astray", lambda: [0.0, 0.2 * quadruped.gait.height])
    last = int(1000 / quadruped.gait.rate)
    for k in range(last):
        quadruped(1e-3 * k, quadruped.q0, v)
    assert quadruped.mode == "stand"
    for k in range(last, last + 20):
        quadruped(1e-3 * k, quadruped.q0, v)
    assert quadruped.mode == ("stand" if moving else "step")
    if not moving:
        assert quadruped.machine.state.stance == 0 and quadruped.log[0][1] == "brings its feet back"


def test_a_snapshot_goes_on_as_the_trot_did(quadruped):
    quadruped.command(0.3)
    require_same_after_restore(quadruped, steps=460, at=400, again=50)


def test_way_points_are_trotted_through(quadruped):
    quadruped.go_to((0.4, 0.1, 0.3))
    steps = list(quadruped.machine.state.queue)
    assert_allclose([steps[-1].place.x, steps[-1].place.y, steps[-1].place.yaw], [0.4, 0.1, 0.3], atol=1e-12)
    assert [step.foot for step in steps[:4]] == [0, 1, 0, 1]
    assert len(steps) == 6  # five for the way and its turn (2.98² + 1.19² = 3.2², and 0.3 / 0.25), one to end together


@pytest.mark.slow
@pytest.mark.parametrize("name", ["quadruped", "go2", "anymal_c", "solo12", "a1"])
def test_quadrupeds_trot_and_take_pushes(name):
    trial = pushed_trot(made(name), 0)
    assert trial.good, (trial.run.outcome, trial.legs, trial.effort, trial.excess)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["quadruped", "go2"])
def test_quadrupeds_follow_changing_commands(name):
    trial = walk_course(made(name), 0)
    assert trial.good, [(leg.asked, leg.came) for leg in trial.legs]


# --- what the pendulum does not explain -------------------------------------------------------------------------------


def test_a_steady_force_neither_slows_a_trot_nor_pushes_it_aside(quadruped):
    """A force F on a pendulum of mass m is a pressure F / (m ω²) away: steps learn that shift and count on it."""
    force = np.array([-12.0, 8.0, 0.0])  # N, against and across the way
    wind = Push(quadruped.body.frames["torso"], tuple(force), 0.5, 10.0)
    quadruped.command(0.2, at=0.1)
    run = walked(quadruped, 4.0, pushes=[wind])
    forward, left, _ = mean_velocity(run, 2.0, 4.0)
    assert run.outcome == "completed" and forward == pytest.approx(0.2, rel=0.15) and abs(left) < 0.15 * 0.2
    expected = force[:2] / (quadruped.robot.mass * quadruped.gait.rate**2)
    assert_allclose(quadruped.machine.state.shift, expected, atol=0.15 * np.linalg.norm(expected))


def test_a_trot_on_estimates_is_as_fast_as_commanded(quadruped):
    """Drives, friction and feet that are felt by the joints' torques alone cost no speed."""
    quadruped.command(0.1, at=0.3)
    options = on_estimates(quadruped.robot, quadruped.contacts)
    run = eq.simulate(
        quadruped.robot, driven(quadruped.robot, quadruped), varied_plant(quadruped, 7), 4.5, q0=quadruped.q0, seed=7,
        delay=DELAY, **options,
    )  # fmt: skip
    forward, left, _ = mean_velocity(run, 2.0, 4.5)
    assert run.outcome == "completed" and forward == pytest.approx(0.1, rel=0.15) and abs(left) < 0.05 * forward


def test_effort_limits_that_are_placeholders_cost_no_speed(quadruped):
    """Noise of torques and dry friction are shares of true limits; shares of 1000 N m would stop the robot."""
    robot = quadruped.robot
    stated = eq.Walking(robot.with_limits(list(robot.joints), effort=1000.0))
    forward = []
    for walker in (quadruped, stated):
        walker.command(0.2, at=0.2)
        run = eq.simulate(
            walker.robot, driven(walker.robot, walker), varied_plant(walker, 7), 2.5, q0=walker.q0, seed=7,
            delay=DELAY, **on_estimates(walker.robot, walker.contacts),
        )  # fmt: skip
        assert run.outcome == "completed"
        forward.append(mean_velocity(run, 1.5, 2.5)[0])
    assert forward[1] == pytest.approx(0.2, rel=0.15) and forward[1] == pytest.approx(forward[0], rel=0.15)


def test_a_swing_that_lasts_longer_than_any_step_lands_at_once(quadruped):
    """In time, a plan that gains by it lands late; after the longest step it lands within the nearest future."""
    quadruped.command(0.2)
    run = walked(quadruped, 0.7)
    machine, gait = quadruped.machine, quadruped.gait
    assert machine.state.mode == STEP and machine.state.swing is not None
    lasts = {}
    for since in (0.5 * gait.period, gait.longest + 0.05):
        seen = quadruped._see(machine.state.since + since, run.q[-1], run.v[-1])
        machine.state.end = seen.t + 1.0  # it would be in the air for long
        ahead = replace(seen, xi=seen.place(machine.state.stance).xy + np.array([0.05, 0.0]))
        lasts[since] = machine._planned(ahead, Command(1.0)).seconds - gait.transfer / 2
    in_time, too_late = lasts.values()
    assert 0.1 < in_time <= gait.longest - 0.5 * gait.period + 1e-9 and too_late <= 2 * LAST + 1e-9
