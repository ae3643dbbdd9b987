"""`Stances` with a walker that catches: a push that soles cannot hold ends in steps, and in words."""

from __future__ import annotations

import functools
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import equipoise as eq
from equipoise.control.stances.events import EventKind, Outcome, Reason

PUSH = 600.0, 0.3, 0.1  # N forward at the torso; from, and for, s: 0.23 √(g h) of the human's mass


@functools.cache
def walker() -> eq.Walking:
    return eq.Walking(eq.load("human"))


def stances(catch, ways=("left foot", "right foot"), **options):
    """Both feet, the left one alone, both again."""
    both = list(ways)
    sequence = [eq.Stance(both, name="both"), eq.Stance(both[:1], name="one"), eq.Stance(both, name="end")]
    return eq.Stances(walker().robot, sequence, walker().body, catch=catch, **options)


def run(machine, duration, pushes=()):
    return eq.simulate(machine.robot, machine, q0=machine.q0, duration=duration, pushes=pushes)


@pytest.mark.parametrize("catch", [False, True])
def test_a_push_that_soles_cannot_hold_ends_in_steps_and_in_words(catch):
    machine = stances(walker() if catch else None)
    force, start, duration = PUSH
    push = eq.Push(walker().body.frames["torso"], (force, 0.0, 0.0), start, duration)
    done = run(machine, 4.0 if catch else 1.2, [push])
    assert done.outcome == ("completed" if catch else "fell")
    if not catch:
        return
    assert machine.outcome is Outcome.STOPPED and machine.done
    told = [(event.kind, event.reason) for event in machine.log]
    assert told == [(EventKind.ENDED, Reason.STEPS), (EventKind.STANDS, None)]
    assert machine.log[1].t - machine.log[0].t > 1.3  # it has stepped, and stood for a second
    assert [text for _, text in done.events if "it steps" in text]  # and the run has it
    feet = [machine.robot.pose(done.q[-1], walker().body.frames[name])[0, 3] for name in ("left foot", "right foot")]
    assert min(feet) > 0.05  # it stands elsewhere
    assert np.abs(done.v[-1]).max() < 0.1
    q0 = machine.q0
    machine.reset()
    assert machine.outcome is Outcome.RUNNING and not machine.log
    solution = machine(0.0, q0, np.zeros(machine.robot.nv))
    assert solution.status.ok and not machine._catching.acts


def test_without_a_push_nothing_is_different():
    """The walker only looks on, also where a foot is lifted and set down again: torques are the same, bit for bit."""
    runs = [run(stances(catch), 2.5) for catch in (None, walker())]
    assert runs[0].outcome == "completed"
    assert_array_equal(runs[0].torque, runs[1].torque)


def test_a_walker_with_other_feet_or_joints_is_refused():
    body = walker().body
    hands = [eq.Stance(["left foot"])]
    foot = [eq.PointContact(body.frames["left foot"], name="left foot")]
    with pytest.raises(eq.EquipoiseError, match="lack right foot"):
        eq.Stances(walker().robot, hands, foot, catch=walker())
    other = SimpleNamespace(robot=eq.load("arm6"))
    with pytest.raises(eq.EquipoiseError, match="other joints"):
        stances(other)


def test_feet_that_stand_elsewhere_than_the_last_time_are_looked_at_anew():
    """Back on both feet after a while in which it did not watch, no jump of the capture point is taken for a push."""
    catching = stances(walker())._catching
    robot, q = walker().robot, walker().q0.copy()
    feet, v = frozenset(("left foot", "right foot")), np.zeros(robot.nv)
    assert not catching.begins(0.0, q, v, feet)
    assert not catching.begins(0.1, q, v, frozenset(("left foot",)))
    q[0] += 0.3
    assert not catching.begins(0.2, q, v, feet)
    v[0] = 2.0  # √(g h) is 3
    assert any(catching.begins(0.201 + 1e-3 * k, q, v, feet) for k in range(20))


def test_what_is_no_state_time_or_wrench_is_answered_while_it_steps():
    """In the steps too nothing raises: the walker's own fallback, finite, and it goes on with the next good state."""
    machine = stances(walker())
    q, v = machine.q0.copy(), np.zeros(machine.robot.nv)
    v[0] = 2.0
    for k in range(30):
        machine.observe({})
        machine(1e-3 * k, q, v)
    assert machine._catching.acts
    machine.observe(None)
    bad = np.full_like(v, np.nan)
    for t, state in ((0.03, (q, bad)), (np.nan, (q, v)), ("now", (q, v)), (0.03, (None, v)), (0.03, (q[:3], v))):
        solution = machine(t, *state)
        assert solution.status.fallback and np.isfinite(solution.torque).all()
    assert not machine(0.031, q, v).status.fallback
