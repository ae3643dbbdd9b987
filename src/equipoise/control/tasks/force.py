"""The force of a contact to a value."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ...errors import unknown_name
from ..item import NamedNumbers, Setting, Target
from .references import Reference, VectorReference
from .task import DirectTerms, Task

if TYPE_CHECKING:
    from ...robot import Robot
    from ..controller.context import Context
    from ..controller.scene import Scene

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class ForceTask(Task):
    """The unknown forces of a contact to a value; torque level only.

    Args:
        contact: its name.
        target: N and N m, in the contact's axes, on the robot; one number per unknown force of the contact, or one for
            all.

    Examples:
        >>> import numpy as np
        >>> import equipoise as eq
        >>> robot = eq.load("quadruped")
        >>> feet = [eq.PointContact(name) for name in robot.frames if name.endswith("_foot")]
        >>> light = eq.ForceTask(feet[0].label, target=0.0, weight=1.0)  # no load on the first foot
        >>> tasks = [light, eq.CoMTask(), eq.PostureTask()]
        >>> controller = eq.WholeBodyController(robot, tasks, feet)
        >>> solution = controller(0.0, robot.standing(), np.zeros(robot.nv))
        >>> bool(solution.forces[feet[0].label][2] < 0.5 * solution.forces[feet[1].label][2])
        True
    """

    contact: str
    target: Target = 0.0
    weight: Setting = field(default=1e-4, kw_only=True)
    levels: ClassVar[tuple[str, ...]] = ("torque",)
    has_error: ClassVar[bool] = False

    @property
    def label(self) -> str:
        return self.name or f"force of {self.contact}"

    @property
    def needs_contact(self) -> str:
        return self.contact

    def reference(self, context: Context) -> Reference:
        if self.contact not in context.contacts:
            raise unknown_name("contact", self.contact, context.contacts)
        return VectorReference(self.label, context.contacts[self.contact].size, spread=True)

    def structure(self, context: Context) -> object:
        return [super().structure(context), list(context.contacts).index(self.contact)]

    def here(self, robot: Robot, q: Array) -> float:
        return 0.0

    def terms(self, scene: Scene, reference: NamedNumbers) -> DirectTerms:
        got = scene.force(self.contact)
        return DirectTerms(got, reference.value)
