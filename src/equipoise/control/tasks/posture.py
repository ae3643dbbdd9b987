"""Every joint to its position in a configuration."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ..item import NamedNumbers, Setting, Target
from .references import PostureReference, Reference
from .task import Task, Terms

if TYPE_CHECKING:
    from ...robot import Robot
    from ..controller.context import Context
    from ..controller.scene import Scene

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class PostureTask(Task):
    """Every joint with a motor to its position in a configuration q; the base part is not looked at.

    Weights and gains are one number, or one per velocity of those joints. Its J is a selection of velocities, which
    costs the controller next to nothing: it makes every problem well-posed.

    Args:
        target: q, (nq,).

    Examples:
        >>> import numpy as np
        >>> import equipoise as eq
        >>> arm = eq.load("arm6")
        >>> q, v = np.full(6, 0.4), np.zeros(6)
        >>> controller = eq.WholeBodyController(arm, [eq.PostureTask(q + 0.1, gain=2.0)], level="velocity")
        >>> bool(np.allclose(controller(0.0, q, v).velocity, 2.0 * 0.1, atol=1e-3))
        True
    """

    target: Target = None
    weight: Setting = field(default=1e-3, kw_only=True)
    gain: Setting = field(default=5.0, kw_only=True)
    fills_in: ClassVar[bool] = True

    @property
    def label(self) -> str:
        return self.name or "posture"

    def rows(self, context: Context) -> int:
        return len(context.motors)

    def selects(self, context: Context) -> Array:
        return context.motors

    def here(self, robot: Robot, q: Array) -> Array:
        return q

    def reference(self, context: Context) -> Reference:
        robot = context.robot
        return PostureReference(self.label, robot.nq, robot.nv, tuple(context.motors.tolist()))

    def terms(self, scene: Scene, reference: NamedNumbers) -> Terms:
        from ...equations.symbols import zeros

        at = scene.context.motors.tolist()
        J = type(scene.v).eye(scene.robot.nv)[at, :]
        error = scene.difference(reference.configuration)[at]
        return Terms(error, J, scene.v[at], zeros(len(at)), reference.rate, reference.acceleration)
