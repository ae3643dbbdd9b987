"""Where a controller wants frames: targets of its frame tasks, axis by axis, and of controllers within controllers."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import equipoise as eq
from equipoise.control.controller.frame_targets import frame_targets

ROBOT = eq.load("arm6")
TOOL = list(ROBOT.frames)[-1]
Q = np.array([0.3, -0.4, 0.5, 0.2, -0.6, 0.1])
WANTED = np.array([[0.0, -1.0, 0.0, 0.4], [1.0, 0.0, 0.0, 0.5], [0.0, 0.0, 1.0, 0.6], [0.0, 0.0, 0.0, 1.0]])


def holder(*tasks, weight=1.0):
    """A controller as far as its targets go."""
    numbers = {"pose": WANTED, "root_weight": np.full(6, weight)}
    settings = SimpleNamespace(numbers=lambda label: numbers)
    return SimpleNamespace(items=SimpleNamespace(tasks=tasks), settings=settings)


def test_a_pose_is_the_target_itself_and_free_axes_stay_where_they_are():
    here = ROBOT.pose(Q, TOOL)
    assert frame_targets(holder(eq.FrameTask(TOOL)), ROBOT, Q)[TOOL] == pytest.approx(WANTED)
    place = frame_targets(holder(eq.FrameTask(TOOL, axes="position")), ROBOT, Q)[TOOL]
    assert place[:3, 3] == pytest.approx(WANTED[:3, 3]) and place[:3, :3] == pytest.approx(here[:3, :3])
    turn = frame_targets(holder(eq.FrameTask(TOOL, axes="orientation")), ROBOT, Q)[TOOL]
    assert turn[:3, :3] == pytest.approx(WANTED[:3, :3]) and turn[:3, 3] == pytest.approx(here[:3, 3])
    level = frame_targets(holder(eq.FrameTask(TOOL, axes="x y")), ROBOT, Q)[TOOL]
    assert level[:3, 3] == pytest.approx([0.4, 0.5, here[2, 3]])


def test_tasks_without_weight_or_frame_have_none():
    assert frame_targets(holder(eq.FrameTask(TOOL), weight=0.0), ROBOT, Q) == {}
    assert frame_targets(holder(eq.CoMTask(), eq.PostureTask()), ROBOT, Q) == {}
    assert frame_targets(lambda t, q, v: None, ROBOT, Q) == {}
    inner = SimpleNamespace(controller=holder(eq.FrameTask(TOOL)))
    assert frame_targets(inner, ROBOT, Q).keys() == {TOOL}


def test_a_controller_tells_its_own_targets_after_a_call():
    controller = eq.WholeBodyController(ROBOT, [eq.FrameTask(TOOL, WANTED), eq.PostureTask()])
    controller(0.0, Q, np.zeros(6))
    assert frame_targets(controller, ROBOT, Q)[TOOL] == pytest.approx(WANTED)
