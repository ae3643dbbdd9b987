"""Equality couplings of joints: what locking one side does to the other, and who carries those that move."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import support
from numpy.testing import assert_allclose

import equipoise as eq
from equipoise.model.types import Frame, LoopClosure

CHAIN = """
<mujoco><worldbody><body name="trunk"><freejoint/><geom size="0.1"/>
  <body name="crank" pos="0 0 1"><joint name="crank" axis="0 1 0" range="-90 90"/><geom size="0.1"/></body>
  <body name="rack" pos="0 1 1"><joint name="rack" type="slide" axis="0 1 0" range="-1 1"/><geom size="0.1"/></body>
  <body name="pinion" pos="0 2 1"><joint name="pinion" axis="0 1 0" range="-90 90"/><geom size="0.1"/></body>
  <body name="free" pos="0 3 1"><joint name="free" axis="0 1 0" range="-90 90"/><geom size="0.1"/></body>
</body></worldbody><equality>
  <joint name="teeth" joint1="rack" joint2="pinion" polycoef="0.1 0.5 0.25 0 0"/>
  <joint name="belt" joint1="pinion" joint2="crank" polycoef="0 2 0 0 0"/>
</equality></mujoco>
"""
CRANK = 0.15  # rad
PINION = 2 * CRANK
RACK = 0.1 + 0.5 * PINION + 0.25 * PINION**2


@pytest.mark.parametrize(("locked", "at"), [("crank", CRANK), ("pinion", PINION), ("rack", RACK)])
def test_a_locked_side_locks_the_other_and_the_coupling_disappears(locked, at):
    whole = eq.load(CHAIN)
    robot = whole.with_locked({locked: at})
    assert list(robot.joints) == ["free"] and not robot.model.loops
    q = whole.neutral()
    for name, x in (("crank", CRANK), ("pinion", PINION), ("rack", RACK)):
        q[whole.joints[name].q] = x
    for link in ("crank", "rack", "pinion"):
        assert_allclose(robot.pose(robot.neutral(), link), whole.pose(q, link), atol=1e-9)


def test_couplings_of_joints_that_move_stay():
    robot = eq.load(CHAIN, locked=["free"])
    assert list(robot.model.loops) == ["teeth", "belt"] and list(robot.joints) == ["crank", "rack", "pinion"]


def test_a_position_that_the_other_side_cannot_follow_is_refused():
    with pytest.raises(eq.ModelError, match="'rack' cannot be locked at -0.9: 'teeth' couples it to 'pinion'"):
        eq.load(CHAIN).with_locked({"rack": -0.9})


def test_a_loop_between_frames_disappears_with_the_last_joint_in_it():
    whole = eq.load(CHAIN)
    rod = LoopClosure("rod", "connect", Frame("a", "crank"), Frame("b", "free"))
    robot = eq.Robot.from_model(replace(whole.model, loops={"rod": rod}))
    assert list(robot.with_locked(["crank"]).model.loops) == ["rod"]
    assert not robot.with_locked(["crank", "free"]).model.loops


def coupled(name, a, b, polynomial):
    robot = support.load(name)
    loop = LoopClosure("loop0", "joint", joint_a=a, joint_b=b, polynomial=polynomial)
    return eq.Robot.from_model(replace(robot.model, loops={"loop0": loop}))


def test_a_humanoid_with_coupled_fingers_stands():
    """Its fingers are locked, with both sides of the coupling."""
    robot = coupled("g1_with_hands", "left_hand_index_1_joint", "left_hand_index_0_joint", (0.0, 1.0))
    body = eq.Body.of(robot, search=False).still()
    assert not body.robot.model.loops
    assert "left_hand_index_1_joint" not in body.robot.joints


def test_coupled_joints_that_move_stand_and_accelerate_together():
    """Ankles whose rods couple pitch to the knee, as a four-bar does."""
    slope, offset = -0.5, 0.02
    robot = coupled("g1", "left_ankle_pitch_joint", "left_knee_joint", (offset, slope))
    standing = eq.Standing(robot, eq.Body.of(robot, search=False))
    knee, ankle = (standing.robot.joints[f"left_{name}_joint"] for name in ("knee", "ankle_pitch"))
    assert_allclose(standing.q0[ankle.q], offset + slope * standing.q0[knee.q], atol=1e-3)
    v = 0.05 * np.random.default_rng(3).normal(size=standing.robot.nv)
    v[ankle.v] = slope * v[knee.v]
    solution = standing(0.0, standing.q0, v)
    assert solution.status.ok
    assert_allclose(solution.acceleration[ankle.v], slope * solution.acceleration[knee.v], atol=0.5)
