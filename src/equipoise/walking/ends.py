"""Legs that keep off the ends of their joints' ranges, softly: a push back that grows as the end comes nearer.

A hard limit on the leg that carries could only hold by stopping the whole body. The push back is a task of the legs' joints, with
weights that are zero off the ends.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..control.controller.context import Context
from ..control.controller.controller import WholeBodyController
from ..control.item import Numbers
from ..control.tasks import PostureTask
from ..robot import Robot

Array = np.ndarray
NEAR = 0.12  # rad, or this part of the range: where the push back begins
PART = 0.15
MARGIN = 0.02  # rad: where it is largest


class SoftEnds:
    """The task and its numbers.

    Args:
        robot: which. joints: names of the legs' joints. gain: 1/s. weight: at the ends, per (rad/s²)².
    """

    def __init__(self, robot: Robot, joints: Sequence[str], gain: float, weight: float) -> None:
        motors = Context(robot).motors
        n, rows = len(motors), {int(v): k for k, v in enumerate(motors)}
        single = [robot.joints[name] for name in joints if robot.joints[name].limits.lower < robot.joints[name].limits.upper]
        self._at = np.array([joint.q.start for joint in single])
        self._rows = np.array([rows[joint.v.start] for joint in single])
        low, high = (np.array([getattr(joint.limits, end) for joint in single]) for end in ("lower", "upper"))
        self._near = np.minimum(NEAR, PART * (high - low))
        self._low, self._high = low + MARGIN + self._near, high - MARGIN - self._near
        self._target = np.zeros(robot.nq + 2 * n)
        self._gains = np.concatenate([np.zeros(n), np.full(n, gain**2), np.full(n, 2 * gain)])
        self._most = np.sqrt(weight)
        self.task = PostureTask(lambda t: Numbers(self._target), name="ends of the legs", weight=0.0)

    def begin(self, controller: WholeBodyController) -> None:
        """Let a controller that has the task read its numbers."""
        controller.set(self.task.label, weight=lambda t: Numbers(self._gains))

    def see(self, q: Array) -> None:
        """The numbers for a configuration."""
        x = q[self._at]
        back = np.minimum(np.maximum(x, self._low), self._high)
        self._target[: len(q)] = q
        self._target[self._at] = back
        self._gains[self._rows] = self._most * np.minimum(np.abs(x - back) / self._near, 2.0)
