"""High treads: how long legs are, where arms go, which steps are climbed, and that robots get up."""

from __future__ import annotations

import functools
import warnings

import numpy as np
import pytest
import test_grounds
from numpy.testing import assert_allclose
from snapshots import torques_after_restore

import equipoise as eq
from bench.courses import stairs
from equipoise.simulate.walk_trials import DELAY, NOISE, varied_plant
from equipoise.walking.arms import arms_ahead
from equipoise.walking.climb import MOST, TOES
from equipoise.walking.footsteps import Footstep, before_high, beside
from equipoise.walking.gait import Place
from equipoise.walking.legs import LegStretch

RISE, TREAD = 0.15, 0.28  # m; a sole has 1 cm to spare at each end


@functools.cache
def walker() -> eq.Walking:
    return eq.Walking(eq.load("human"))


def steps(rise: float) -> list[Footstep]:
    """Both feet on a tread."""
    return [Footstep(foot, beside(Place(0.31, 0.0, 0.0), foot, walker().gait.width), rise) for foot in (0, 1)]


@functools.cache
def climbed() -> eq.Run:
    walker().forget_commands().reset()
    walker().follow(steps(RISE))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plant = varied_plant(walker(), 0, obstacles=stairs(steps(RISE), TREAD))
        return eq.simulate(walker().robot, walker(), plant, 7.0, q0=walker().q0, noise=NOISE, delay=DELAY)


# --- legs and arms ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("role", ["left foot", "right foot"])
def test_a_leg_that_is_raised_by_its_room_is_stretched(role):
    """hip and ankle apart by the level way and the height: (part · length)² = |level|² + (z + room)²."""
    leg, robot = LegStretch.of(walker().body, role), walker().robot
    rng = np.random.default_rng(0)
    for _ in range(5):
        q, by = walker().q0.copy(), rng.uniform(-0.1, 0.1, 2)
        q[7:] += rng.uniform(-0.1, 0.1, robot.nq - 7)
        off = robot.pose(q, leg.hip)[:3, 3] - robot.pose(q, leg.ankle)[:3, 3]
        raised = off + np.array([*by, leg.room(q, by, 0.97)])
        assert_allclose(np.linalg.norm(raised), 0.97 * leg.length, rtol=1e-12)


def test_no_posture_stretches_a_leg_farther_than_its_length():
    leg, robot = LegStretch.of(walker().body, "left foot"), walker().robot
    rng = np.random.default_rng(1)
    far = []
    for _ in range(200):
        q, _ = robot.random_state(rng)
        for joint in robot.joints.values():
            if joint.type.nq == 1 and joint.limits.lower < joint.limits.upper:
                q[joint.q] = rng.uniform(joint.limits.lower, joint.limits.upper)
        far.append(np.linalg.norm(robot.pose(q, leg.hip)[:3, 3] - robot.pose(q, leg.ankle)[:3, 3]))
    assert max(far) <= 1.03 * leg.length  # found joint by joint, from a foot that lies flat: its link turns too
    assert max(far) > 0.9 * leg.length


def test_arms_ahead_bring_the_centre_of_mass_forward_within_their_limits():
    body, robot = walker().body, walker().robot
    q = arms_ahead(body)
    arms = [robot.joints[name].q.start for part in body.hands.values() for name in part.joints]
    assert set(np.flatnonzero(q != body.standing)) <= set(arms)
    assert robot.com(q)[0] > robot.com(body.standing)[0] + 0.01
    assert (q[7:] <= robot.limits.upper[7:] + 1e-12).all() and (q[7:] >= robot.limits.lower[7:] - 1e-12).all()


# --- which steps ------------------------------------------------------------------------------------------------------


def test_walked_are_the_steps_before_the_first_high_one():
    flat, low, high = (Footstep(0, Place(0.1, 0.1, 0.0), height) for height in (None, 0.05, 0.2))
    assert before_high([flat, low, flat, high, low], 0.0, 0.1) == [flat, low, flat]
    assert before_high([low, Footstep(1, low.place, 0.14), flat], 0.0, 0.1) == [low, Footstep(1, low.place, 0.14), flat]
    assert before_high([high], 0.0, 0.1) == [] == before_high([low], 0.2, 0.1)


def test_low_treads_are_walked_and_four_feet_never_climb():
    walker().forget_commands().reset()
    seen = walker()._see(0.0, walker().q0, np.zeros(walker().robot.nv))
    for rise, due in ((0.05, False), (RISE, True)):
        walker().follow(steps(rise))
        assert walker().climber.due(seen) is due
        assert len(walker().machine.preview.given(walker().machine.state, seen, 0)) == (0 if due else 2)
    walker().forget_commands()
    trotter = eq.Walking(eq.load("quadruped"))
    trotter.follow(steps(RISE))
    assert not trotter.climber.due(trotter._see(0.0, trotter.q0, np.zeros(trotter.robot.nv)))


# --- the climb --------------------------------------------------------------------------------------------------------


def test_a_human_climbs_a_high_tread():
    run, robot = climbed(), walker().robot
    assert run.outcome == "completed" and walker().mode == "stand" and walker().machine.state.queue == []
    assert walker().log[-1][1] == "stands on another height"
    heights = [X[2, 3] for X in walker().whole_body.soles(run.q[-1])]
    assert np.abs(np.array(heights) - RISE).max() < 5e-3
    assert abs(robot.com(run.q[-1])[2] - RISE - walker().gait.height) < 0.03 * walker().gait.height
    assert (np.abs(run.torque) <= np.asarray(robot.limits.effort) * (1 + 1e-9)).all()


def test_it_leans_and_stands_on_its_toes_where_it_is_low_and_is_upright_again_in_the_end():
    run, body = climbed(), walker().body
    forward = np.array([walker().robot.pose(q, body.frames["torso"])[0, 2] for q in run.q[::50]])
    assert forward.max() > 0.5 * np.sin(MOST) and abs(forward[-1] - forward[0]) < 0.1
    single = [k for k in range(len(run.t)) if run.measured["right foot"][k, 2] == 0.0 and run.q[k, 2] > run.q[0, 2]]
    half = float(walker().machine.soles[0][:, 0].max())
    ahead = walker().robot.com(run.q[single[0]])[0] - walker().whole_body.soles(run.q[single[0]])[0][0, 3]
    assert 0.2 * TOES * half < ahead < half  # on the first foot, and within it


def test_a_snapshot_on_the_way_up_goes_on_as_the_climb_did():
    run = climbed()
    k = int(np.argmax(run.t > 2.0))
    walker().forget_commands().reset()
    walker().follow(steps(RISE))
    for i in range(k):
        walker().observe({name: wrench[max(i - 1, 0)] for name, wrench in run.measured.items()})
        walker()(run.t[i], run.q[i], run.v[i])
    mode = walker().mode
    assert mode in ("shift", "climb") and walker().climber.state is not None
    first, again = torques_after_restore(walker(), run, range(k, k + 20))
    assert walker().mode == mode
    assert_allclose(again, first, atol=1.0)  # N m: soles are anchored anew; a step that begins again takes tens
    walker().forget_commands().reset()


@pytest.mark.slow
@pytest.mark.parametrize("name, rise", [("jvrc1", 0.185), ("talos", 0.15)])
def test_robots_climb_high_stairs(name, rise):
    run = test_grounds.climbed(test_grounds.made(name), rise, 2, 15.0)
    assert run.outcome == "completed" and test_grounds.made(name).mode == "stand"
    assert min(X[2, 3] for X in test_grounds.made(name).whole_body.soles(run.q[-1])) > 2 * rise - 5e-3
