"""A point of the robot at a distance from a plane of the world."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..item import NamedNumbers, Parameters, Setting, Target, TaskError
from .references import Reference, VectorReference
from .task import Task, Terms

if TYPE_CHECKING:
    from ...robot import Robot
    from ..controller.context import Context
    from ..controller.scene import Scene

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class PlaneTask(Task):
    """A point of the robot at a distance from a plane of the world: how a hand comes to a table [QO21, Sec. 4.5].

    Args:
        frame: that carries the point.
        normal: of the plane, world axes.
        offset: of the plane along its unit normal, m.
        point: in the frame's axes, m.
        target: distance, m.

    Examples:
        >>> import numpy as np
        >>> import equipoise as eq
        >>> arm = eq.load("arm6")
        >>> q, v = np.full(6, 0.4), np.zeros(6)
        >>> height = eq.PlaneTask("tool", normal=(0, 0, 1), offset=0.2, target=0.1)  # 0.1 m above a table
        >>> controller = eq.WholeBodyController(arm, [height, eq.PostureTask()], level="velocity")
        >>> error = controller(0.0, q, v).task_errors[height.label]
        >>> bool(np.isclose(error, abs(arm.pose(q, "tool")[2, 3] - 0.3)))
        True
    """

    frame: str
    normal: Setting = (0.0, 0.0, 1.0)
    offset: Setting = 0.0
    point: ArrayLike = (0.0, 0.0, 0.0)
    target: Target = 0.0

    def check(self, robot: Robot) -> None:
        super().check(robot)
        robot.place(self.frame)
        if np.shape(self.point) != (3,) or not np.isfinite(np.asarray(self.point, dtype=float)).all():
            raise TaskError(f"{self.label}: a point is three finite numbers; got {self.point!r}")

    @property
    def label(self) -> str:
        return self.name or f"{self.frame} to a plane"

    def rows(self, context: Context) -> int:
        return 1

    def here(self, robot: Robot, q: Array) -> float:
        X = robot.pose(q, self.frame)
        n, offset = self._plane(self.normal, self.offset)
        return float(n @ (X[:3, :3] @ np.asarray(self.point) + X[:3, 3]) - offset)

    def reference(self, context: Context) -> Reference:
        return VectorReference(self.label, 1, scalar=True)

    def parameters(self, context: Context) -> Mapping[str, Parameters]:
        plane = Parameters(("normal", "offset"), {"normal": (3,), "offset": (1,)}, self._plane)
        return {**super().parameters(context), "plane": plane}

    def _plane(self, normal: Any, offset: Any) -> tuple[Array, float]:
        n = np.asarray(normal, dtype=float)
        if n.shape != (3,) or not np.linalg.norm(n) > 1e-9:
            raise TaskError(f"{self.label}: the plane's normal must be three numbers, not all zero; got {normal!r}")
        return n / np.linalg.norm(n), float(offset)

    def terms(self, scene: Scene, reference: NamedNumbers) -> Terms:
        from ...equations.symbols import constant

        n = reference.normal
        place, J, rate, drift = scene.point(self.frame, constant(self.point))
        error = reference.value + reference.offset - n.T @ place
        return Terms(error, n.T @ J, n.T @ rate, n.T @ drift, reference.rate, reference.acceleration)
