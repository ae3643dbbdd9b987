"""Joint torques to a value."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ..item import NamedNumbers, Setting, Target
from .references import Reference, VectorReference
from .task import DirectTerms, Task

if TYPE_CHECKING:
    from ...robot import Robot
    from ..controller.context import Context
    from ..controller.scene import Scene

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class TorqueTask(Task):
    """Torques of the motors to a value; torque level only.

    Args:
        target: N m or N, one number per motor, or one for all.

    Examples:
        >>> import numpy as np
        >>> import equipoise as eq
        >>> arm = eq.load("arm6")
        >>> q, v = np.full(6, 0.4), np.zeros(6)
        >>> controller = eq.WholeBodyController(arm, [eq.TorqueTask(arm.gravity(q))])
        >>> bool(np.allclose(controller(0.0, q, v).torque, arm.gravity(q), atol=1e-3))
        True
    """

    target: Target = 0.0
    weight: Setting = field(default=1e-5, kw_only=True)
    levels: ClassVar[tuple[str, ...]] = ("torque",)
    has_error: ClassVar[bool] = False

    @property
    def label(self) -> str:
        return self.name or "torques"

    def reference(self, context: Context) -> Reference:
        return VectorReference(self.label, len(context.motors), spread=True)

    def here(self, robot: Robot, q: Array) -> float:
        return 0.0

    def terms(self, scene: Scene, reference: NamedNumbers) -> DirectTerms:
        return DirectTerms(scene.torque, reference.value)
