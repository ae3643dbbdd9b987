"""The pose of one frame as another sees it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..item import NamedNumbers, Target
from .references import PoseReference, Reference
from .task import Task, Terms

if TYPE_CHECKING:
    from ...robot import Robot
    from ..controller.context import Context
    from ..controller.scene import Scene

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class RelativeTask(Task):
    """The pose of one frame as another sees it: two hands on one object [QO21, Sec. 6.1.3].

    Args:
        frame: which frame.
        seen_from: the other one.
        target: pose of `frame` in `seen_from`, 4×4; its rates are in the axes of `seen_from`.

    Examples:
        >>> import numpy as np
        >>> import equipoise as eq
        >>> robot = eq.load("bimanual")
        >>> together = eq.RelativeTask("left_tool", "right_tool")  # keep the hands as they are to each other
        >>> controller = eq.WholeBodyController(robot, [together, eq.PostureTask()], level="velocity")
        >>> controller(0.0, robot.standing(), np.zeros(robot.nv)).status.ok
        True
    """

    frame: str
    seen_from: str
    target: Target = None

    def check(self, robot: Robot) -> None:
        super().check(robot)
        robot.place(self.frame)
        robot.place(self.seen_from)

    @property
    def label(self) -> str:
        return self.name or f"{self.frame} seen from {self.seen_from}"

    def rows(self, context: Context) -> int:
        return 6

    def here(self, robot: Robot, q: Array) -> Array:
        return np.linalg.inv(robot.pose(q, self.seen_from)) @ robot.pose(q, self.frame)

    def reference(self, context: Context) -> Reference:
        return PoseReference(self.label)

    def terms(self, scene: Scene, reference: NamedNumbers) -> Terms:
        """Twist of b less that of a carried to b; the drift keeps the terms that products of both turning rates
        bring."""
        from ...equations.symbols import beside, constant, cross, skew, stack, zeros
        from ..controller.scene import pose_error

        X_a, X_b = scene.pose(self.seen_from), scene.pose(self.frame)
        V_a, V_b = scene.twist(self.seen_from), scene.twist(self.frame)
        R_a, r, w = X_a[:3, :3], X_b[:3, 3] - X_a[:3, 3], V_a[3:6]
        carry = stack(beside(constant(np.eye(3)), -skew(r)), beside(zeros(3, 3), constant(np.eye(3))))
        J = scene.jacobian(self.frame) - carry @ scene.jacobian(self.seen_from)
        drift = (
            scene.drift(self.frame) - carry @ scene.drift(self.seen_from) - stack(cross(w, V_b[:3] - V_a[:3]), zeros(3))
        )
        turn = stack(R_a @ reference.twist[:3], R_a @ reference.twist[3:])
        spin = stack(cross(w, turn[:3]), cross(w, turn[3:]))  # the target's rate is given in axes that turn with a
        acceleration_to = stack(R_a @ reference.acceleration[:3], R_a @ reference.acceleration[3:]) + spin
        return Terms(pose_error(X_a @ reference.pose, X_b), J, J @ scene.v, drift, turn, acceleration_to)
