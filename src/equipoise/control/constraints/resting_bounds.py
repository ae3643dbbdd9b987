"""Bounds of accelerations that close as a task comes to rest, so that the whole robot does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..item import NamedNumbers, Parameters, Setting, TaskError
from ..tasks.task import axes_of
from .constraint import BoundedRows, Constraint

if TYPE_CHECKING:
    from ...robot import Robot
    from ..controller.context import Context
    from ..controller.scene import Scene

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class RestingBounds(Constraint):
    """k (−g − q̇) ≤ q̈ ≤ k (g − q̇) for every joint, g the length of a frame's velocity error [QO21, Eq. (3.4)].

    When the frame stands they leave q̈ = −k q̇ alone: the robot stops like exp(−k t), what the task does not see
    included.

    Args:
        frame: of the task.
        rate: k, 1/s, below 1/dt.
        axes: of the task, as of `FrameTask`.
        velocity: of the task's target, mixed, (6,); zero if it stands.
    """

    frame: str
    rate: Setting = 5.0
    axes: str = "pose"
    velocity: Setting = (0.0,) * 6
    levels: ClassVar[tuple[str, ...]] = ("acceleration", "torque")

    @property
    def label(self) -> str:
        return self.name or f"rest with {self.frame}"

    def check(self, robot: Robot) -> None:
        robot.place(self.frame)
        axes_of(self.label, self.axes)

    def row_names(self, context: Context) -> list[str]:
        return [f"{self.label}: {context.rate_names[k]}" for k in context.joint_rates]

    def parameters(self, context: Context) -> Mapping[str, Parameters]:
        def numbers(rate: Any, velocity: Any) -> tuple[float, Array]:
            if not 0 < float(rate) < 1 / context.dt:
                raise TaskError(f"{self.label}: rate lies between 0 and 1/dt = {1 / context.dt:g} 1/s; got {rate!r}")
            return float(rate), np.asarray(velocity, dtype=float)

        return {"law": Parameters(("rate", "velocity"), {"rate": (), "velocity": (6,)}, numbers)}

    def rows(self, scene: Scene, numbers: NamedNumbers) -> BoundedRows:
        from ...equations.symbols import SX, SYMBOLS, zeros

        at = scene.context.joint_rates.tolist()
        off = (scene.twist(self.frame) - numbers.velocity)[axes_of(self.label, self.axes)]
        g, v, k = SYMBOLS.sqrt(off.T @ off), scene.v[at], numbers.rate
        return BoundedRows(scene.motion(SX.eye(scene.robot.nv)[at, :], zeros(len(at))), k * (-g - v), k * (g - v))
