"""States, times and forces that are none: in the loop nothing raises, and every command is finite."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import equipoise as eq
from equipoise.simulate.walk_trials import varied_plant


@functools.cache
def made(kind):
    if kind == "trot":
        return eq.Walking(eq.load("quadruped"))
    robot = eq.load("human")
    return eq.Walking(robot, resistance=True) if kind == "walk" else eq.Standing(robot, steps=kind == "steps")


def bad_states(robot, q, v):
    long = np.r_[np.ones(3), 1.001 * np.ones(4), np.ones(robot.nq - 7)]
    yield from ((np.full(robot.nq, np.nan), v), (q, np.full(robot.nv, np.nan)), (q, np.full(robot.nv, 1e300)))
    yield from (
        (q[1:], v),
        ("here", v),
        ([[1.0], [2.0, 3.0]], v),
        (None, None),
        (q * long, v),
        (np.zeros(robot.nq, int), v),
    )


@pytest.mark.parametrize("kind", ["walk", "trot", "stand", "steps"])
@pytest.mark.parametrize("moving", [False, True])
def test_what_is_no_state_gets_a_finite_command(kind, moving):
    controller = made(kind)
    controller.reset()
    robot, q, v = controller.robot, np.array(controller.q0), np.zeros(controller.robot.nv)
    v[:2] = (1.2, 0.3) if moving else (0.01, 0.0)  # a push that makes it step, or none
    controller(0.0, q, v)
    for k, state in enumerate(bad_states(robot, q, v)):
        solution = controller(0.001 * (k + 1), *state)
        assert solution.status.fallback or solution.status.ok or solution.status.name == "RELAXED"
        assert np.isfinite(solution.torque).all()
    for t in (np.nan, "now", None):
        assert np.isfinite(controller(t, q, v).torque).all()
    assert np.isfinite(controller(0.1, q.tolist(), v.tolist()).torque).all()


@pytest.mark.parametrize("wrench", [np.full(6, np.nan), "much", np.zeros(3), [1.0, 2.0], None])
def test_what_is_no_wrench_is_not_felt(wrench):
    walker = made("walk")
    walker.reset()
    walker.observe({"left foot": wrench, "right foot": np.array([0.0, 0.0, 100.0, 0.0, 0.0, 0.0])})
    assert list(walker.snapshot().forces) == ["right foot"]
    walker.observe(None)
    assert walker.snapshot().forces == {}


@pytest.mark.parametrize("wrenches", [[1.0], "much", 5])
def test_what_is_no_mapping_of_wrenches_is_not_felt(wrenches):
    walker = made("walk")
    walker.observe(wrenches)
    assert walker.snapshot().forces == {}


# s, by which stamps are off from the 400th call on; and for how many calls
STAMPS = [(10.0, 1), (-100.0, 1), (0.3, 1), (-0.4, 99), (1e6, 99)]


def test_wrong_stamps_do_not_disturb_a_walk():
    """In the middle of a step, in one call or for good: nothing raises, it is reported, and the torques are those of
    right stamps."""
    walker, wrong = made("walk").forget_commands().command(0.3), 400
    plant = varied_plant(walker, 1)
    walker.reset()
    state = plant.reset(walker.q0, np.full(walker.robot.nv, 1e-3))
    for k in range(wrong):
        state = plant.step(walker(1e-3 * k, state.q, state.v).torque, 1e-3)
    at_once, start, right = walker.snapshot(), state, []
    states = []
    for k in range(wrong, wrong + 80):
        states.append(state)
        right.append(walker(1e-3 * k, state.q, state.v).torque)
        state = plant.step(right[-1], 1e-3)
    assert walker.mode == "step"
    for off, calls in STAMPS:
        walker.restore(at_once)
        walker.log.clear()
        for k, state in enumerate(states):
            solution = walker(1e-3 * (wrong + k) + (off if k < calls else 0.0), state.q, state.v)
            assert solution.status.ok and np.isfinite(solution.torque).all()
            np.testing.assert_allclose(solution.torque, right[k], atol=1e-3)  # N m; the solver was cold at first
        told = [text for _, text in walker.log if "time stamp" in text]
        assert [("passed over" in text, "jumped" in text) for text in told] == [(True, False), (False, True)][
            : min(calls, 2)
        ]
    assert start is states[0]
    t, state = 1e-3 * (wrong + len(states) - 1) + STAMPS[-1][0], states[-1]
    kept = walker.snapshot()
    first = walker(t + 1e-3, state.q, state.v).torque
    walker(t + 0.05, state.q, state.v)
    walker.restore(kept)  # its clock too
    np.testing.assert_allclose(walker(t + 1e-3, state.q, state.v).torque, first, atol=1e-4)  # N m; the solver is cold
    walker.forget_commands()


@pytest.mark.parametrize("kind", ["walk", "trot", "stand", "steps"])
def test_commands_of_the_future_do_not_begin_by_one_wrong_stamp(kind):
    """A stamp 100 s ahead; after a clock that was set, a command's time is that of the clock."""
    controller = made(kind)
    controller.reset()
    q, v = np.array(controller.q0), np.full(controller.robot.nv, 1e-4)
    stands = kind in ("stand", "steps")
    controller.squat(0.03, at=50.0) if stands else controller.command(0.1, at=50.0)
    for k in range(40):
        controller(1e-3 * k + (100.0 if k in (10, 20) else 0.0), q, v)
    assert not any("moves" in text or "starts" in text for _, text in controller.log)
    assert sum("passed over" in text for _, text in controller.log) == 2
    for k in range(40, 60):
        controller(100 + 1e-3 * k, q, v)
    assert any("jumped" in text for _, text in controller.log)
    assert any("moves" in text or "starts" in text for _, text in controller.log)
    if not stands:
        controller.forget_commands()


@pytest.mark.parametrize("kind", ["walk", "trot", "stand", "steps"])
@pytest.mark.parametrize("stamps", [lambda k: 1.7e18 + 1e6 * k, lambda k: 1e200, lambda k: 10**400, lambda k: f"{k}"])
def test_clocks_of_another_kind_raise_nothing(kind, stamps):
    """Nanoseconds since 1970, times beyond all clocks, texts; while it is shoved."""
    controller = made(kind)
    controller.reset()
    q, v = np.array(controller.q0), np.zeros(controller.robot.nv)
    v[:2] = 1.2, 0.3
    before = controller.controller.counts["errors"]
    for k in range(30):
        assert np.isfinite(controller(stamps(k), q, v).torque).all()
    assert controller.controller.counts["errors"] == before


def test_an_error_inside_is_a_fallback_and_is_counted(monkeypatch):
    walker = made("walk")
    walker.reset()
    q, v, counts = walker.q0, np.zeros(walker.robot.nv), walker.controller.counts
    monkeypatch.setattr(walker.machine, "decide", lambda *_: 1 / 0)
    before = counts["errors"]
    solution = walker(0.0, q, v)
    assert solution.status.fallback and np.isfinite(solution.torque).all() and counts["errors"] == before + 1
    assert any("ZeroDivisionError" in str(event) for event in solution.events)


def test_steps_count_on_no_more_friction_than_is_there():
    contacts = eq.Standing(eq.load("human"), steps=True, friction=0.3).walker.contacts
    assert {contact.friction for contact in contacts} == {0.3}
    assert {contact.friction for contact in made("steps").walker.contacts} == {0.45}
