"""The centre of mass to a place in the world."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...errors import unknown_name
from ..item import NamedNumbers, Parameters, Setting, Target
from .references import Reference, VectorReference
from .task import AXES, KINDS, Task, Terms

if TYPE_CHECKING:
    from ...robot import Robot
    from ..controller.context import Context
    from ..controller.scene import Scene

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class CoMTask(Task):
    """The centre of mass to a place in the world.

    Args:
        target: m, 3 numbers.
        axes: "position", or names such as "x y", which leaves the height alone.
        offset: m, 3 numbers: by how much the centre of mass is off where the model has it, as measured forces tell.

    Examples:
        >>> import numpy as np
        >>> import equipoise as eq
        >>> arm = eq.load("arm6")
        >>> q, v = np.full(6, 0.4), np.zeros(6)
        >>> task = eq.CoMTask(arm.com(q) + [0.0, 0.01, 0.0], axes="x y")  # the height is free
        >>> controller = eq.WholeBodyController(arm, [task, eq.PostureTask()], level="velocity")
        >>> bool((arm.com_jacobian(q) @ controller(0.0, q, v).velocity)[1] > 0)
        True
    """

    target: Target = None
    axes: str = "position"
    offset: Setting = (0.0, 0.0, 0.0)

    def check(self, robot: Robot) -> None:
        super().check(robot)
        for axis in KINDS.get(self.axes, self.axes).split():
            if axis not in "xyz":
                raise unknown_name("axis of the centre of mass", axis, ["position", "x", "y", "z"])

    @property
    def label(self) -> str:
        return self.name or "centre of mass"

    @property
    def _at(self) -> list[int]:
        return [AXES[axis] for axis in KINDS.get(self.axes, self.axes).split()]

    def rows(self, context: Context) -> int:
        return len(self._at)

    def here(self, robot: Robot, q: Array) -> Array:
        return robot.com(q)

    def reference(self, context: Context) -> Reference:
        return VectorReference(self.label, 3)

    def parameters(self, context: Context) -> Mapping[str, Parameters]:
        return {
            **super().parameters(context),
            "offset": Parameters(("offset",), {"offset": (3,)}, lambda offset: [offset]),
        }

    def terms(self, scene: Scene, reference: NamedNumbers) -> Terms:
        from ...equations.symbols import beside, constant, zeros

        J, at = scene.com_jacobian, self._at
        share = beside(constant(np.eye(3) / scene.robot.mass), zeros(3, 3))
        error = reference.value - scene.com - reference.offset
        parts = error, J, J @ scene.v, scene.com_drift, reference.rate, reference.acceleration, share
        return Terms(*(part[at, :] for part in parts))
