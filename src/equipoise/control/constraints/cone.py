"""A line of the robot stays within an angle of a direction."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...geometry.distances import Distance, angle
from ..item import NamedNumbers, Parameters, Setting, TaskError
from ..tasks.references import moment
from .barrier import Barrier, BarrierConstraint, safe_at
from .obstacles import Obstacle, at_start, described, placed, require_frames, values_along, world_motion

if TYPE_CHECKING:
    from ...robot import Robot
    from ..controller.context import Context
    from ..controller.scene import Scene

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class Cone(BarrierConstraint):
    """A line of the robot stays within an angle of a direction: keeps a cup upright [QO21, Sec. 4.2].

    Args:
        line: on a frame of the robot.
        axis: Line or Plane (its normal) of the world or of another frame; one of the world may turn, or be a function
            of time.
        angle: largest, rad, between 0 and π; a number, or a function of time that returns it, or (angle, rate,
            acceleration).

    Examples:
        >>> import numpy as np
        >>> import equipoise as eq
        >>> arm = eq.load("arm6")
        >>> q, v = np.full(6, 0.4), np.zeros(6)
        >>> upright = eq.Cone(eq.Line((0, 0, 0), (0, 0, 1), "tool"), eq.Line((0, 0, 0), (0, 0, 1)), angle=3.0)
        >>> controller = eq.WholeBodyController(arm, [eq.PostureTask()], constraints=[upright], level="acceleration")
        >>> controller(0.0, q, v).status.ok
        True
    """

    line: Obstacle
    axis: Obstacle
    angle: Setting = 0.1

    @property
    def label(self) -> str:
        return self.name or f"cone of {described(self.line)}"

    @property
    def _measured(self) -> Distance:
        return angle(at_start(self.line), at_start(self.axis))

    def least_margin(self, robot: Robot, q: Array, t: Array) -> float:
        d = angle(at_start(self.line), at_start(self.axis), smooth=False)
        return float((safe_at(self.label, self.angle, t) - values_along(d, robot, q, t, self.line, self.axis)).min())

    def check(self, robot: Robot) -> None:
        for primitive in (self.line, self.axis):
            if not getattr(at_start(primitive), "directions", ()):
                raise TaskError(f"{self.label}: a cone is about Lines (or Planes' normals); got {primitive!r}")
        require_frames(robot, self._measured.a, self._measured.b)

    def structure(self, context: Context) -> object:
        d = self._measured
        return [d.quantity, *(placed(context.robot, side) for side in (d.a, d.b)), d.a is d.b, self.braking is None]

    def parameters(self, context: Context) -> Mapping[str, Parameters]:
        d = self._measured
        names = dict.fromkeys(("chord", "chord_rate", "chord_acceleration"), ())
        chord = Parameters(("angle",), names, lambda given: chord_of(self.label, given))
        size = sum(p.motion.size for p in d.world)
        world = Parameters(("line", "axis"), {"world": (size,)}, lambda a, b: [world_motion(self.label, d, a, b)])
        return {**super().parameters(context), "angle": chord, "world": world}

    def barrier(self, scene: Scene, numbers: NamedNumbers) -> Barrier:
        from ...geometry.rows import on_symbols

        row = on_symbols(scene.robot, self._measured, scene.q, scene.v, numbers.world)
        drift = numbers.chord_acceleration - row["J_dot_v"] - row["residual_rate"]
        return Barrier(numbers.chord - row["value"], -row["J"], numbers.chord_rate - row["residual"], drift)


def chord_of(label: str, given: Any) -> tuple[float, float, float]:
    """f = 2 − 2 cos φ of the largest angle, and its two derivatives [QO21, Eq. (4.29)]."""
    phi, rate, acceleration = (0.0 if x is None else float(x) for x in moment(given, scalar=True))
    if not 0 < phi < np.pi:
        raise TaskError(f"{label}: the angle must lie between 0 and π rad, got {given!r}")
    cos, sin = np.cos(phi), np.sin(phi)
    return 2 - 2 * cos, 2 * sin * rate, 2 * cos * rate**2 + 2 * sin * acceleration
