"""Stances reached by a hop, call by call: where they go on, what they are told meanwhile, and calls that are none.

A robot whose state never changes goes through all phases of a hop, as these end by time where no force is measured.
"""

from __future__ import annotations

import functools

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import equipoise as eq
from equipoise.control.stances.events import EventKind, Reason
from equipoise.control.stances.stance import StepKind

FEET = ("left foot", "right foot")
TICK = 4e-3  # s between two calls
AHEAD = np.array([0.12, -0.03, 0.0])  # m, that a hop carries the robot
MODES = ["stand", "crouch", "thrust", "flight", "landing", "stand"]


@functools.cache
def walker() -> eq.Walking:
    return eq.Walking(eq.load("human"))


@pytest.fixture
def hop():
    """Both feet, a hop, and another at once."""
    hops = [eq.Stance(FEET, flight=flight, hold=0.0, name=f"after {flight} s") for flight in (0.2, 0.3)]
    return eq.Stances(walker().robot, [eq.Stance(FEET, name="both"), *hops], walker().body, catch=walker())


def moved(machine, by) -> np.ndarray:
    q = machine.q0.copy()
    q[:3] += by
    return q


def called_until_it_landed(machine, meanwhile=lambda t, q, v: None, t=0.0):
    """Calls from t (s) on, to the end of a hop that lands `AHEAD`; `meanwhile` is called before each of them. Answers
    the last time, and the modes of the walker on the way."""
    modes, v = [], np.zeros(machine.robot.nv)
    for _ in range(2000):
        q = moved(machine, AHEAD if walker().mode in ("flight", "landing") or "landing" in modes else 0.0)
        meanwhile(t, q, v)
        solution = machine(t, q, v)
        assert np.isfinite(solution.torque).all()
        modes += [walker().mode] if modes[-1:] != [walker().mode] else []
        if not machine._catching.hops:
            return t, modes
        t += TICK
    raise AssertionError(f"it still hops after {t:.3g} s: {modes}")


def test_the_stances_go_on_where_the_feet_landed(hop):
    """Contacts, references and all that comes are where the hop ended; forces and the walker's watch settle anew."""
    t, modes = called_until_it_landed(hop)
    q, v, robot = moved(hop, AHEAD), np.zeros(hop.robot.nv), hop.robot
    assert modes == MODES
    assert_allclose(hop._track.offset, AHEAD, atol=1e-12)
    assert_allclose([hop._anchors[foot] for foot in FEET], [hop._track.pose(q, foot) for foot in FEET], atol=1e-12)
    assert_allclose(hop._track.now.com_at(t)[0], robot.com(q), atol=1e-12)
    assert hop._forces.quiet_until > t and not hop._catching._watches
    solution = hop(t + TICK, q, v)
    assert solution.status.ok and set(solution.forces) == set(FEET)
    assert not [event for event in solution.events if "slipped" in str(event)]
    for foot in FEET:  # anchored where it is, it is at rest; anchored where it was, springs would move it
        assert_allclose(robot.jacobian(q, walker().body.frames[foot]) @ solution.acceleration, 0.0, atol=1e-4)
    end = hop._track.now.start + hop._track.now.T
    assert_allclose(hop._track.now.com_at(end)[0], robot.com(hop.plan[1].q) + AHEAD, atol=1e-9)
    assert [event.kind for event in hop.log] == [EventKind.HOPPED]


def test_a_hop_leads_to_its_stance_and_shifts_no_contact(hop):
    for k in (1, 2):
        step = hop.plan[k].way[0]
        assert step.kind is StepKind.HOP and step.stance == k
        assert step.contacts == frozenset(FEET) and step.changed == frozenset()


def test_calls_that_are_none_do_not_stop_a_hop(hop):
    """In the calls before a hop begins, before each of its phases, and before it hands over."""
    seen = []

    def spoilt(t, q, v):
        nothing = np.full_like(q, np.nan)
        calls = [(t, nothing, v), (t, q, np.full_like(v, np.inf)), (t, None, v), (t, 2 * q, v), (np.nan, q, v)]
        rests = hop._catching.hops and t - hop._catching._since >= 1.0
        near = walker().mode != "stand" and t % (10 * TICK) < TICK
        if not seen or walker().mode != seen[-1] or rests or near or walker().mode == "landing":
            for call in calls:
                assert np.isfinite(hop(*call).torque).all()
                assert not seen or hop._catching.hops  # what is no state hands nothing over
        seen.append(walker().mode)

    _, modes = called_until_it_landed(hop, spoilt)
    assert modes == MODES and hop._catching.flew


def test_what_the_walker_was_told_before_is_forgotten(hop):
    """It does the hop of the stance, from a stand, and no other."""
    walker().command(0.4, 0.0, 0.0).hop(0.5)
    walker().machine.state.mode = "step"
    hop(0.0, hop.q0, np.zeros(hop.robot.nv))
    assert walker().mode == "stand" and walker()._command.still and walker()._hops == [(-np.inf, 0.2)]
    assert hop.plan[1].way[0].q is hop.plan[0].q  # in the posture it has


def test_the_second_of_two_hops_is_its_own(hop, monkeypatch):
    """Another flight, for another time; that the first one flew does not count."""
    t, _ = called_until_it_landed(hop)
    q, v, told = moved(hop, AHEAD), np.zeros(hop.robot.nv), []
    monkeypatch.setattr(walker(), "hop", lambda seconds: told.append((seconds, walker().mode)))
    hop(t + TICK, q, v)  # it watches again
    walker().machine.state.mode = "step"
    for _ in range(800):
        t += TICK
        hop(t + TICK, q, v)
        if hop.log[-1].kind is EventKind.GOING_BACK:
            break
    assert told == [(0.3, "stand")] and hop.log[-1].reason is Reason.NO_FLIGHT and hop.stance == "after 0.2 s"
    assert [event.kind for event in hop.log] == [EventKind.HOPPED, EventKind.REACHED, EventKind.GOING_BACK]


def test_a_hop_that_was_cut_off_is_not_gone_on_with(hop):
    """Started anew in the air, the walk is the same as at first."""
    q, v = hop.q0, np.zeros(hop.robot.nv)
    hop.reset()
    first = [hop(TICK * k, q, v).torque for k in range(5)]
    for k in range(5, 2000):
        hop(TICK * k, q, v)
        if walker().mode == "flight":
            break
    hop.reset()
    assert walker().mode == "stand" and hop.progress == 0.0
    assert_array_equal([hop(TICK * k, q, v).torque for k in range(5)], first)


@pytest.mark.parametrize("flight", [1e9, 1e200, 1e308])
def test_a_flight_that_nobody_can_do_ends_on_the_ground(flight):
    """It raises nowhere, whatever the speed that it would take; finite torques, and within their limits."""
    machine = eq.Stances(
        walker().robot, [eq.Stance(FEET), eq.Stance(FEET, flight=flight)], walker().body, catch=walker()
    )
    q, v, most = machine.q0, np.zeros(machine.robot.nv), np.asarray(machine.robot.limits.effort)
    for k in range(1500):
        machine.observe({foot: np.array([0.0, 0.0, 300.0, 0.0, 0.0, 0.0]) for foot in FEET})
        torque = machine(2 * TICK * k, q, v).torque
        assert (np.abs(torque) <= most * (1 + 1e-9)).all()
        if machine.log and machine.log[-1].kind is EventKind.GOING_BACK:
            return
    raise AssertionError([event.text for event in machine.log])
