"""States, times and forces that are none: in the loop nothing raises, and every command is finite."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import equipoise as eq


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


def test_steps_count_on_no_more_friction_than_is_there():
    contacts = eq.Standing(eq.load("human"), steps=True, friction=0.3).walker.contacts
    assert {contact.friction for contact in contacts} == {0.3}
    assert {contact.friction for contact in made("steps").walker.contacts} == {0.45}
