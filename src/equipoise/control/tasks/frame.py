"""A frame of the robot to a pose in the world."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..item import NamedNumbers, Target
from .references import PoseReference, Reference
from .task import Task, Terms, axes_of

if TYPE_CHECKING:
    from ...robot import Robot
    from ..controller.context import Context
    from ..controller.scene import Scene

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class FrameTask(Task):
    """A frame of the robot to a pose in the world, or some axes of it.

    Args:
        frame: which.
        target: pose 4×4, or a place (3 numbers, m) where no axis turns; rates are twists (linear, angular) in world
            axes, those of a place may be 3 numbers too.
        axes: "pose", "position", "orientation", or names such as "x y rz" (world axes).

    Examples:
        >>> import numpy as np
        >>> import equipoise as eq
        >>> arm = eq.load("arm6")
        >>> q, v = np.full(6, 0.4), np.zeros(6)
        >>> task = eq.FrameTask("tool", target=[0.3, 0.1, 0.5], axes="position", gain=5.0)
        >>> controller = eq.WholeBodyController(arm, [task, eq.PostureTask()], level="velocity")
        >>> velocity = controller(0.0, q, v).velocity
        >>> towards = np.array([0.3, 0.1, 0.5]) - arm.pose(q, "tool")[:3, 3]
        >>> bool(arm.jacobian(q, "tool")[:3] @ velocity @ towards > 0)
        True
    """

    frame: str
    target: Target = None
    axes: str = "pose"

    def check(self, robot: Robot) -> None:
        super().check(robot)
        robot.place(self.frame)
        axes_of(self.label, self.axes)

    @property
    def label(self) -> str:
        return self.name or self.frame

    def rows(self, context: Context) -> int:
        return len(axes_of(self.label, self.axes))

    def here(self, robot: Robot, q: Array) -> Array:
        return robot.pose(q, self.frame)

    def frame_target(self, robot: Robot, q: Array, numbers: Mapping[str, Array]) -> tuple[str, Array]:
        here, target = robot.pose(q, self.frame), numbers["pose"].copy()
        axes = axes_of(self.label, self.axes)
        if not any(axis >= 3 for axis in axes):
            target[:3, :3] = here[:3, :3]
        free = [axis for axis in range(3) if axis not in axes]
        target[free, 3] = here[free, 3]
        return self.frame, target

    def reference(self, context: Context) -> Reference:
        return PoseReference(self.label, place=all(axis < 3 for axis in axes_of(self.label, self.axes)))

    def terms(self, scene: Scene, reference: NamedNumbers) -> Terms:
        from ..controller.scene import pose_error

        error = pose_error(reference.pose, scene.pose(self.frame))
        J, V, drift = scene.jacobian(self.frame), scene.twist(self.frame), scene.drift(self.frame)
        at = axes_of(self.label, self.axes)
        parts = error, J, V, drift, reference.twist, reference.acceleration
        return Terms(*(part[at, :] for part in parts))
