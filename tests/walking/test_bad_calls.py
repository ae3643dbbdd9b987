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


@pytest.mark.parametrize("back", [0.4, 1e6])
def test_a_time_that_goes_back_does_not_stop_a_walk(back):
    """In the middle of a step, for good: nothing raises, it is told once, and the torques are those of a clock that
    stood still for that call."""
    walker, wrong = made("walk").forget_commands().command(0.3), 400
    plant = varied_plant(walker, 1)
    runs = []
    for jump in (0.0, back):
        walker.reset()
        state = plant.reset(walker.q0, np.full(walker.robot.nv, 1e-3))
        runs.append([])
        for k in range(wrong + 80):
            t = 1e-3 * k if k < wrong else 1e-3 * (k - 1) - jump
            solution = walker(t, state.q, state.v)
            assert solution.status.ok and np.isfinite(solution.torque).all()
            runs[-1].append(solution.torque)
            state = plant.step(solution.torque, 1e-3)
        assert walker.mode == "step"
        told = [text for _, text in walker.log if "time went back" in text]
        assert told == ([f"time went back by {jump:.3g} s; the walk goes on as if it had not"] if jump else [])
    kept = walker.snapshot()
    first = walker(t + 1e-3, state.q, state.v).torque
    walker(t + 0.05, state.q, state.v)
    walker.restore(kept)  # its clock too
    np.testing.assert_allclose(walker(t + 1e-3, state.q, state.v).torque, first, atol=1e-4)  # N m; the solver is cold
    walker.forget_commands()
    np.testing.assert_allclose(runs[1], runs[0], atol=1e-6)  # N m; times are rounded, 1e-10 s


def test_steps_count_on_no_more_friction_than_is_there():
    contacts = eq.Standing(eq.load("human"), steps=True, friction=0.3).walker.contacts
    assert {contact.friction for contact in contacts} == {0.3}
    assert {contact.friction for contact in made("steps").walker.contacts} == {0.45}
