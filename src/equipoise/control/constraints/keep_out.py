"""Two primitives stay apart, or together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ...geometry.distances import Distance, distance
from ..at_rest import AtRest
from ..item import NamedNumbers, Parameters, Setting
from .barrier import Barrier, BarrierConstraint, safe_at, safe_at_first, safe_distance
from .obstacles import Obstacle, at_start, described, placed, require_frames, values_along, world_motion

if TYPE_CHECKING:
    from ...robot import Robot
    from ..controller.context import Context
    from ..controller.scene import Scene

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class KeepOut(BarrierConstraint):
    """Two primitives stay farther apart than a safe distance: obstacles, self-collisions, planes not to be crossed.

    Args:
        a: primitive on a frame of the robot or in the world; one of the world may move, or be a function of time.
        b: the other one.
        safe: distance to keep, m; a number, or a function of time that returns it, or (distance, rate, acceleration).
            For squared distances (points and lines) it is squared for you.

    Examples:
        >>> import numpy as np
        >>> import equipoise as eq
        >>> arm = eq.load("arm6")
        >>> q, v = np.full(6, 0.4), np.zeros(6)
        >>> hand, ball = eq.Sphere((0, 0, 0), 0.05, "tool"), eq.Sphere((0.5, 0.5, 0.5), 0.1)
        >>> apart = eq.KeepOut(hand, ball, safe=0.02, name="ball")
        >>> controller = eq.WholeBodyController(arm, [eq.PostureTask()], constraints=[apart], level="acceleration")
        >>> distance = eq.distance(hand, ball).on(arm)(q, v).value
        >>> bool(np.isclose(controller(0.0, q, v).margins["ball"], distance - 0.02))
        True
    """

    a: Obstacle
    b: Obstacle
    safe: Setting = 0.0
    inside: ClassVar[bool] = False

    @property
    def label(self) -> str:
        return self.name or f"{described(self.a)} {'inside' if self.inside else 'away from'} {described(self.b)}"

    @property
    def _measured(self) -> Distance:
        """What is measured, of primitives as they are at first."""
        return distance(at_start(self.a), at_start(self.b))

    def check(self, robot: Robot) -> None:
        require_frames(robot, self._measured.a, self._measured.b)

    def at_rest(self, robot: Robot) -> AtRest:
        d = self._measured
        return AtRest(distance=d, least=safe_at_first(self.label, self.safe, d.squared), inside=self.inside)

    def least_margin(self, robot: Robot, q: Array, t: Array) -> float:
        d = self._measured
        value = values_along(d, robot, q, t, self.a, self.b)
        off = (np.sqrt(value) if d.squared else value) - safe_at(self.label, self.safe, t)
        return float((-off if self.inside else off).min())

    def row_names(self, context: Context) -> list[str]:
        return [self.label]

    def structure(self, context: Context) -> object:
        d = self._measured
        sides = [placed(context.robot, side) for side in (d.a, d.b)]
        return [d.quantity, d.squared, *sides, d.a is d.b, self.inside, self.braking is None]

    def parameters(self, context: Context) -> Mapping[str, Parameters]:
        d = self._measured
        size = sum(p.motion.size for p in d.world)
        world = Parameters(("a", "b"), {"world": (size,)}, lambda a, b: [world_motion(self.label, d, a, b)])
        return {**super().parameters(context), "safe": safe_distance(self.label, d.squared), "world": world}

    def barrier(self, scene: Scene, numbers: NamedNumbers) -> Barrier:
        from ...geometry.rows import on_symbols

        row = on_symbols(scene.robot, self._measured, scene.q, scene.v, numbers.world)
        sign = -1.0 if self.inside else 1.0
        zeta = sign * (row["residual"] - numbers.safe_rate)
        drift = sign * (row["J_dot_v"] + row["residual_rate"] - numbers.safe_acceleration)
        return Barrier(sign * (row["value"] - numbers.safe), sign * row["J"], zeta, drift)


@dataclass(frozen=True, eq=False)
class KeepIn(KeepOut):
    """Two primitives stay nearer than `safe` (m): a hand in a region, a point on one side of a plane.

    Examples:
        >>> import numpy as np
        >>> import equipoise as eq
        >>> arm = eq.load("arm6")
        >>> q, v = np.full(6, 0.4), np.zeros(6)
        >>> tool, place = eq.Point((0, 0, 0), "tool"), eq.Point(tuple(arm.pose(q, "tool")[:3, 3]))
        >>> near = eq.KeepIn(tool, place, safe=0.3)  # within 0.3 m of where it is now
        >>> controller = eq.WholeBodyController(arm, [eq.PostureTask()], constraints=[near], level="acceleration")
        >>> controller(0.0, q, v).status.ok
        True
    """

    inside: ClassVar[bool] = True
