"""Hops: the way up is a motion of a mass that only pushes, flight obeys gravity, and the robot stands again."""

from __future__ import annotations

import functools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from snapshots import torques_after_restore

import equipoise as eq
from equipoise.walking.hop import LAND, Thrust

G = 9.81


@functools.cache
def walker() -> eq.Walking:
    return eq.Walking(eq.load("human"))


@functools.cache
def hopped() -> eq.Run:
    walker().forget_commands().reset()
    walker().hop(0.3, at=0.1)
    return eq.simulate(walker().robot, walker(), q0=walker().q0, duration=3.2)


@given(st.floats(0.02, 0.5), st.floats(0.2, 4.0))
def test_the_way_up_ends_at_its_speed_and_height_without_force_and_never_pulls(depth, speed):
    up = Thrust(depth, speed, G)
    assert_allclose(up.at(0.0), (0.0, 0.0, 0.0), atol=1e-12)
    assert_allclose(up.at(up.seconds), (depth, speed, -G), rtol=1e-9)
    t = np.linspace(0.0, up.seconds, 2001)
    height, rate, acceleration = np.array([up.at(x) for x in t]).T
    middle = (t[1:] + t[:-1]) / 2
    by_differences = np.array([up.at(x)[1:] for x in middle]).T
    scale = speed / up.seconds  # errors of differences are of second order in the step
    assert_allclose(np.diff(height) / np.diff(t), by_differences[0], atol=1e-5 * speed)
    assert_allclose(np.diff(rate) / np.diff(t), by_differences[1], atol=1e-4 * (scale + G))
    assert (acceleration > -G - 1e-9).all()


def test_a_human_hops_and_stands():
    run, robot, body = hopped(), walker().robot, walker().body
    assert run.outcome == "completed"
    assert [text for _, text in walker().log] == ["takes off", "lands", "stands"]
    force = sum(np.nan_to_num(wrench[:, 2]) for wrench in run.measured.values())
    assert 200 < np.count_nonzero(force[:3000] < 1.0) < 400  # ms without any contact
    assert (np.abs(run.torque) <= np.asarray(robot.limits.effort) * (1 + 1e-9)).all()
    assert np.abs(run.v[-1]).max() < 0.3
    assert abs(robot.com(run.q[-1])[2] - walker().gait.height) < 0.03 * body.height
    assert robot.com(run.q).T[2].max() > 1.02 * body.height


def test_flight_keeps_momentum_and_energy_of_the_centre_of_mass():
    """Between take-off and landing gravity alone acts: v̇ = g, the level velocity and the momentum about the centre
    of mass stay, whatever the legs do. The plant's steps of 1 ms are of first order, joints turn at 10 rad/s: 1 %."""
    run, robot = hopped(), walker().robot
    force = sum(np.nan_to_num(wrench[:, 2]) for wrench in run.measured.values())
    air = np.flatnonzero(force[:3000] < 1e-9)[5:-5]
    momentum = np.array([robot.momentum(q, v) for q, v in zip(run.q[air], run.v[air], strict=True)])
    t = run.t[air] - run.t[air[0]]
    velocity = momentum[:, :3] / robot.mass
    assert_allclose(velocity[:, 2] - velocity[0, 2], -G * t, atol=1e-2 * G * t[-1])
    assert_allclose(velocity[:, :2], velocity[:1, :2].repeat(len(air), axis=0), atol=1e-2 * G * t[-1])
    legs = 0.01 * robot.mass * walker().body.gains.speed * walker().body.height  # what swinging legs exchange, and more
    assert_allclose(momentum[:, 3:], momentum[:1, 3:].repeat(len(air), axis=0), atol=0.1 * legs)
    height = robot.com(run.q[air])[:, 2]
    energy = G * height + velocity[:, 2] ** 2 / 2
    assert_allclose(energy, energy[0], atol=0.05 * velocity[0, 2] ** 2 / 2)


def test_it_takes_off_without_spin_and_lands_with_bent_knees():
    """Spin: 1 % of m h √(g h), what legs of a walk exchange; hips that straighten alone gave ten times that."""
    run, robot, body = hopped(), walker().robot, walker().body
    force = sum(np.nan_to_num(wrench[:, 2]) for wrench in run.measured.values())
    air = np.flatnonzero(force[:3000] < 1.0)
    spin = robot.momentum(run.q[air[3]], run.v[air[3]])[3:]
    assert np.abs(spin).max() < 0.01 * robot.mass * body.gains.speed * body.height
    knees = [robot.joints[f"{side}_knee"].q.start for side in ("left", "right")]
    assert np.abs(run.q[np.ix_(air, knees)]).min() > 0.15
    assert abs(robot.com(run.q[air[-1]])[2] - LAND * body.height) < 0.04 * body.height


def test_the_body_stands_as_ever_after_a_hop():
    """Weights that the push needs are given back, and the trunk is upright."""
    run, w = hopped(), walker()
    torso = [w.robot.pose(run.q[k], w.body.frames["torso"])[0, 2] for k in (0, -1)]
    assert abs(torso[1] - torso[0]) < 0.1
    weight = w.whole_body.controller.settings.state[0]["momentum"]["weight"]
    assert weight == pytest.approx(w.body.gains.spin_weight)


def test_a_snapshot_in_the_air_goes_on_as_the_hop_did():
    run = hopped()
    force = sum(np.nan_to_num(wrench[:, 2]) for wrench in run.measured.values())
    k = int(np.flatnonzero(force[:3000] < 1.0).mean())
    walker().forget_commands().reset()
    walker().hop(0.3, at=0.1)
    for i in range(k):
        walker().observe({name: wrench[max(i - 1, 0)] for name, wrench in run.measured.items()})
        walker()(run.t[i], run.q[i], run.v[i])
    assert walker().mode == "flight"
    first, again = torques_after_restore(walker(), run, range(k, k + 20))
    assert walker().mode == "flight"
    assert_allclose(again, first, rtol=1e-9, atol=1e-6)


def test_a_push_in_the_crouch_is_answered_by_a_step():
    walker().forget_commands().reset()
    walker().hop(0.3, at=0.1)
    push = eq.Push(walker().body.frames["torso"], (600.0, 0.0, 0.0), 0.3, 0.1)
    run = eq.simulate(walker().robot, walker(), q0=walker().q0, duration=1.2, pushes=[push])
    assert run.outcome == "completed"
    assert walker().log[0][1] == "the soles cannot hold it: no hop"


@pytest.mark.parametrize("seconds", [0.0, -0.1, np.nan, np.inf])
def test_a_hop_that_is_none_is_refused(seconds):
    with pytest.raises(eq.EquipoiseError, match="a hop is a time in the air"):
        walker().hop(seconds)


def test_four_feet_do_not_hop():
    with pytest.raises(eq.EquipoiseError, match="two flat feet"):
        eq.Walking(eq.load("quadruped")).hop()


def test_a_hop_at_no_time_is_refused():
    walker().forget_commands().reset()
    with pytest.raises(eq.EquipoiseError, match="a hop is a time in the air, s, and when"):
        walker().hop(0.3, at=np.nan)
    assert not walker()._hops


def test_in_the_air_feet_go_to_where_the_capture_point_will_be(monkeypatch):
    walker().forget_commands().reset()
    hopper, ways = walker().hopper, {}
    velocity = np.array([0.4, -0.3, 1.5])
    seen = walker()._see(0.0, walker().q0, np.zeros(walker().robot.nv))
    xi = seen.com[:2] + velocity[:2] / walker().gait.rate + [0.02, -0.01]  # as a body that spins has it
    seen = replace(seen, velocity=velocity, xi=xi)
    hopper.begin(seen, 0.3)
    state = hopper.state
    hopper._take_off(state, seen)
    half = state.lands / 2
    monkeypatch.setattr(walker().whole_body, "set_swing", lambda foot, way, *_: ways.update({foot: way}))
    hopper._fly(state, replace(seen, t=half), walker().dt)
    middle = (state.feet[0].xy + state.feet[1].xy) / 2
    goes = xi + velocity[:2] * half - middle
    apex = seen.com[2] + velocity[2] ** 2 / (2 * hopper.gravity)
    for foot, place in enumerate(state.feet):  # half of the way at half of the time, as high as the body is then
        assert_allclose(ways[foot][0, 2], apex - LAND * walker().body.height, atol=1e-9)
        assert_allclose(ways[foot][0, :2], place.xy + goes / 2, atol=1e-9)
    walker().forget_commands().reset()
