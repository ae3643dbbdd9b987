"""Targets of tasks as smooth functions of time: from waypoint to waypoint at rest, without jerk at the ends."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..control.stances.references import PoseTrajectory, minimum_jerk
from ..model.shapes import placement
from .scenario import Waypoint, Where

if TYPE_CHECKING:
    from ..robot import Robot

Array = np.ndarray
Target = Callable[[float], tuple[Any, Any, Any]]


def pose_at(where: Where | Waypoint, X: Array, scale: float = 1.0) -> Array:
    """The pose that a place of a file means for a frame that starts at X; lengths are scaled."""
    Y = np.array(X)
    if where.at is not None:
        at = scale * np.asarray(where.at)
        Y[:3, 3] = np.where(np.isnan(at), X[:3, 3], at)
    elif where.by is not None:
        Y[:3, 3] += scale * np.asarray(where.by)
    if where.rpy is not None:
        Y[:3, :3] = placement("rpy", (0, 0, 0), where.rpy)[:3, :3]
    elif where.turn is not None:
        Y[:3, :3] = placement("turn", (0, 0, 0), where.turn)[:3, :3] @ X[:3, :3]
    return Y


@dataclass(frozen=True, eq=False)
class Legs:
    """Times and values of waypoints, the start first."""

    times: tuple[float, ...]
    values: tuple[Any, ...]

    @classmethod
    def of(cls, path: Sequence[Waypoint], start: Any, value: Callable[[Waypoint], Any]) -> Legs:
        times, values = [0.0], [start]
        for point in path:
            if point.t < times[-1] or (point.t == times[-1] and len(times) > 1):
                point.place.fail(
                    f"waypoints follow each other in time: t = {point.t:g} does not come after {times[-1]:g}"
                )
            if point.t == 0.0:
                values[0] = value(point)
            else:
                times.append(point.t)
                values.append(value(point))
        return cls(tuple(times), tuple(values))

    def at(self, t: float) -> tuple[float, float, Any, Any]:
        """(begin, length, from, to) of the leg that t is in."""
        k = min(max(int(np.searchsorted(self.times, t, side="right")), 1), len(self.times) - 1)
        if len(self.times) == 1:
            return 0.0, 1.0, self.values[0], self.values[0]
        return self.times[k - 1], self.times[k] - self.times[k - 1], self.values[k - 1], self.values[k]


def numbers_path(path: Sequence[Waypoint], start: Any, value: Callable[[Waypoint], Any]) -> Target:
    """Target of places or single numbers."""
    legs = Legs.of(path, start, value)

    def target(t: float) -> tuple[Any, Any, Any]:
        begin, T, a, b = legs.at(t)
        s, ds, dds = minimum_jerk((t - begin) / T)
        return a + s * (b - a), ds / T * (b - a), dds / T**2 * (b - a)

    return target


def pose_path(path: Sequence[Waypoint], X: Array, scale: float) -> Target:
    """Target of poses."""
    legs = Legs.of(path, X, lambda point: pose_at(point, X, scale))
    ways = [PoseTrajectory(a, b, np.zeros(3)) for a, b in zip(legs.values[:-1], legs.values[1:], strict=True)]

    def target(t: float) -> tuple[Any, Any, Any]:
        begin, T, a, b = legs.at(t)
        way = ways[legs.times.index(begin)] if ways else PoseTrajectory(a, b, np.zeros(3))
        return way.at(t, begin, T)

    return target


def posture_path(
    robot: Robot, path: Sequence[Waypoint], q0: Array, known: Callable[[Waypoint], dict[str, float]]
) -> Target:
    """Target of postures; joints that a waypoint does not name are as at the start."""

    def value(point: Waypoint) -> Array:
        q = q0.copy()
        for name, position in known(point).items():
            q[robot.joints[name].q] = position
        return q

    legs = Legs.of(path, q0, value)

    def target(t: float) -> tuple[Any, Any, Any]:
        begin, T, a, b = legs.at(t)
        s, ds, dds = minimum_jerk((t - begin) / T)
        way = robot.difference(a, b)
        return robot.integrate(a, s * way), ds / T * way, dds / T**2 * way

    return target
