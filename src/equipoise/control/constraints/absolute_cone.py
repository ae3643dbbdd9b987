"""What two hands carry stays within an angle of a direction."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..item import NamedNumbers, Parameters, Setting, TaskError
from ..tasks.absolute import half_way_symbols
from .barrier import Barrier, BarrierConstraint
from .cone import chord_of

if TYPE_CHECKING:
    from ...robot import Robot
    from ..controller.context import Context
    from ..controller.scene import Scene

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class AbsoluteCone(BarrierConstraint):
    """An axis of the pose half way between two frames stays within an angle of a direction [QO21, Sec. 6.1.3].

    Like `Cone`, on the absolute pose of the cooperative dual task space: it holds whatever the hands do to each other.

    Args:
        frame, other: the two frames, as of `AbsoluteTask`.
        axis: of the pose half way, in its own axes, (3,); any length.
        direction: in the world, (3,); any length.
        angle: largest, rad, between 0 and π; a number, or a function of time that returns it, or (angle, rate,
            acceleration).
    """

    frame: str
    other: str
    axis: Setting = (0.0, 0.0, 1.0)
    direction: Setting = (0.0, 0.0, 1.0)
    angle: Setting = 0.1

    @property
    def label(self) -> str:
        return self.name or f"cone of the middle of {self.frame} and {self.other}"

    def check(self, robot: Robot) -> None:
        robot.place(self.frame)
        robot.place(self.other)

    def parameters(self, context: Context) -> Mapping[str, Parameters]:
        chord = dict.fromkeys(("chord", "chord_rate", "chord_acceleration"), ())
        return {
            **super().parameters(context),
            "angle": Parameters(("angle",), chord, lambda given: chord_of(self.label, given)),
            "axes": Parameters(("axis", "direction"), {"axis": (3,), "direction": (3,)}, self._units),
        }

    def _units(self, *given: Any) -> list[Array]:
        axes = [np.asarray(x, dtype=float) for x in given]
        if any(x.shape != (3,) or not np.linalg.norm(x) > 0 for x in axes):
            raise TaskError(f"{self.label}: axis and direction are three numbers each, not all zero; got {given!r}")
        return [x / np.linalg.norm(x) for x in axes]

    def barrier(self, scene: Scene, numbers: NamedNumbers) -> Barrier:
        """f(φ_safe) − f with f = |R u − n|² = 2 − 2 cos φ [QO21, Eq. (4.29)]."""
        R = half_way_symbols(scene.pose(self.frame)[:3, :3], scene.pose(self.other)[:3, :3])
        along = R @ numbers.axis - numbers.direction
        value = along.T @ along
        J, drift = scene.rows_of(value)
        return Barrier(numbers.chord - value, -J, numbers.chord_rate, numbers.chord_acceleration - drift)
