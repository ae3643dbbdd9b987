"""Standing that steps when it must, and goes on where its steps have brought it."""

from __future__ import annotations

import functools
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose

import equipoise as eq
from equipoise.algebra.rigid import rotation_from_rpy
from equipoise.control.controller.frame_targets import frame_targets

COM = "centre of mass"


@functools.cache
def made(steps: bool) -> eq.Standing:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return eq.Standing(eq.load("human"), steps=steps)


def test_a_home_that_moved_is_the_old_one_where_the_feet_are():
    """Moved by (0.3, −0.1) and turned by 0.5 rad, a squat of 5 cm stays one; a reset brings the old place back."""
    standing = made(False)
    standing.reset()
    home = standing.reference(COM, 0.0)
    standing.squat(0.05, at=0.0, seconds=0.1)
    standing.sway(0.02, 0.01, at=5.0, seconds=0.1)
    standing(0.0, standing.q0, np.full(standing.robot.nv, 0.01))
    turn, by = rotation_from_rpy(0.0, 0.0, 0.5), np.array([0.3, -0.1, 0.0])
    q = standing.q0.copy()
    q[:3], q[3:7] = turn @ q[:3] + by, [np.cos(0.25), 0.0, 0.0, np.sin(0.25)]
    assert_allclose(standing.q0[3:7], [1.0, 0.0, 0.0, 0.0], atol=1e-12)  # so that the product above is this
    standing.move_home(0.2, q)
    assert_allclose(standing.reference(COM, 0.2), standing.robot.com(q), atol=1e-12)
    assert_allclose(standing.reference(COM, 9.0), turn @ home + by - [0.0, 0.0, 0.05], atol=1e-9)
    assert np.isfinite(standing(0.2, q, np.zeros(standing.robot.nv)).torque).all()
    standing._clock.reset(5.0)
    standing(5.0, q, np.zeros(standing.robot.nv))  # what was asked for before, and begins now, is seen from there too
    assert_allclose(standing.reference(COM, 9.0), turn @ (home + np.array([0.02, 0.01, -0.05])) + by, atol=1e-9)
    standing.reset()
    assert_allclose(standing.reference(COM, 9.0), home, atol=1e-12)


def turned(q, yaw, by):
    """A configuration, upright and straight ahead, turned about the origin's z and moved."""
    q = q.copy()
    q[:3] = rotation_from_rpy(0.0, 0.0, yaw) @ q[:3] + by
    q[3:7] = np.cos(yaw / 2), 0.0, 0.0, np.sin(yaw / 2)
    return q


def test_what_waits_while_the_home_moves_is_as_if_asked_for_afterwards():
    """From one place beside the origin to another: of the centre of mass, a hand, and the head."""
    standing, found = made(False), []
    first, second = turned(standing.q0, 0.5, (0.3, -0.1, 0.0)), turned(standing.q0, -0.4, (0.1, 0.6, 0.0))
    for early in (True, False):
        standing.reset()
        standing.move_home(0.0, first)
        if not early:
            standing.move_home(0.5, second)
        standing.squat(0.05, at=1.0, seconds=0.1).look(0.3, 0.1, at=1.0, seconds=0.1)
        standing.sway(0.02, 0.01, at=1.0, seconds=0.1)
        standing.reach("left hand", by=(0.05, 0.02, 0.1), at=1.0, seconds=0.1)
        standing.reach("right hand", (0.4, 0.5, 1.1), at=1.0, seconds=0.1)
        if early:
            standing.move_home(0.5, second)
        standing(1.0, second, np.full(standing.robot.nv, 0.01))
        found.append([standing.reference(name, 9.0) for name in (COM, "left hand", "head orientation", "right hand")])
    for before, after in zip(*found, strict=True):
        assert_allclose(before, after, atol=1e-9)
    assert_allclose(found[0][2], [0.3, 0.1], atol=1e-12)
    assert_allclose(found[0][3], [0.4, 0.5, 1.1], atol=1e-12)  # a place in the world stays there
    ahead = standing.robot.pose(second, standing.body.frames["left foot"])[:2, :2] @ [0.02, 0.01]
    assert_allclose(found[0][0][:2] - standing.robot.com(second)[:2], ahead, atol=1e-3)
    standing.reset()


def test_a_robot_that_was_turned_looks_where_it_would_have_looked():
    """Left and up are those of the robot: the gaze after a quarter turn is the old one, turned."""
    standing, gazes = made(False), []
    frame, quarter = standing.body.frames["head"], np.pi / 2
    for yaw in (0.0, quarter):
        q = turned(standing.q0, yaw, (0.0, 0.0, 0.0))
        standing.reset()
        standing.move_home(0.0, q)
        standing.look(0.2, 0.3, at=0.0, seconds=0.1)
        for t in (0.0, 1.0):
            standing._clock.reset(t)
            standing(t, q, np.full(standing.robot.nv, 0.01))
        gazes.append(frame_targets(standing, standing.robot, q)[frame][:3, :3])
    standing.reset()
    assert_allclose(gazes[1], rotation_from_rpy(0.0, 0.0, quarter) @ gazes[0], atol=1e-9)
    assert np.linalg.norm(gazes[0] - standing.robot.pose(standing.q0, frame)[:3, :3]) > 0.3  # it does look elsewhere


def test_a_push_beyond_the_soles_makes_it_step():
    """The state after a push of 0.6 m/s: standing alone holds on, standing that steps lifts a foot at once."""
    standing, walker = made(True), made(True).walker
    assert walker is not None
    v = np.zeros(standing.robot.nv)
    standing.reset()
    for k in range(20):  # at rest nothing happens
        standing(1e-3 * k, standing.q0, v)
    assert not standing.stepping
    v[0] = 0.6
    for k in range(20, 80):
        solution = standing(1e-3 * k, standing.q0, v)
    assert standing.stepping and walker.mode == "step" and np.isfinite(solution.torque).all()
    assert any("a step with" in text for _, text in standing.log)
    bad = standing(0.08, standing.q0, np.full(standing.robot.nv, np.nan))
    assert np.isfinite(bad.torque).all()


@pytest.mark.slow
def test_it_steps_comes_to_rest_and_goes_on_with_its_squat():
    standing = made(True)
    standing.reset()
    standing.squat(0.05, at=2.6, seconds=0.6)
    push = eq.Push(standing.body.frames["torso"], (0.6 * standing.robot.mass / 0.1, 0.0, 0.0), 0.2, 0.1)
    run = eq.simulate(standing.robot, standing, q0=standing.q0, duration=6.0, pushes=[push])
    said = [text for _, text in standing.log]
    assert run.outcome == "completed" and not standing.stepping
    assert any("a step with" in text for text in said) and any("goes on" in text for text in said)
    low, high = standing.robot.com(run.q[-1])[2], standing.robot.com(run.q[0])[2]
    assert_allclose(high - low, 0.05, atol=0.01)
