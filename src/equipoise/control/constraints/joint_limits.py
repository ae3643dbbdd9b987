"""Joints within their limits of position, velocity and acceleration, viable together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..at_rest import AtRest
from ..controller.context import Context
from ..item import NamedNumbers, Parameters, Setting, TaskError, at_first
from ..safety import limits
from ..safety.piecewise import symbols as piecewise_symbols
from .constraint import BoundedRows, Constraint, Start

if TYPE_CHECKING:
    from ...robot import Robot
    from ..controller.scene import Scene

Array = np.ndarray
SETTINGS = ("acceleration", "position", "velocity", "margin", "most")
FAR = 1e6  # stands for a limit of position or velocity that is not there


@dataclass(frozen=True, eq=False)
class JointLimits(Constraint):
    """Joints within their limits of position, velocity and acceleration, viable together: a joint that nears its end
    can always still brake [docs/safety.md].

    Args:
        acceleration: what each joint can count on for braking, rad/s² or m/s²; one number or one per joint rate.
        position: True for the robot's own limits, False for none, or (lower, upper), one each per joint rate.
        velocity: the same; or one number per joint rate.
        margin: kept from the ends, rad or m.
        most: largest acceleration where no end is near, one number or one per joint rate, where that is more than what
            joints count on for braking.

    Examples:
        >>> import numpy as np
        >>> import equipoise as eq
        >>> arm = eq.load("arm6")
        >>> q, v = np.full(6, 0.4), np.zeros(6)
        >>> far, limits = eq.PostureTask(q + 5.0, gain=50.0), eq.JointLimits(acceleration=20.0)
        >>> controller = eq.WholeBodyController(arm, [far], constraints=[limits], level="acceleration")
        >>> bool((abs(controller(0.0, q, v).acceleration) <= 20.0 + 1e-6).all())
        True
    """

    acceleration: Setting = 100.0
    position: Setting = True
    velocity: Setting = True
    margin: Setting = 0.0
    most: Setting | None = None

    @property
    def label(self) -> str:
        return self.name or "joint limit"

    @property
    def _given(self) -> tuple[Any, ...]:
        return tuple(getattr(self, name) for name in SETTINGS)

    def row_names(self, context: Context) -> list[str]:
        return [f"{self.label} of {context.rate_names[k]}" for k in context.joint_rates]

    def parameters(self, context: Context) -> Mapping[str, Parameters]:
        shapes = dict.fromkeys(("lower", "upper", "velocity", "acceleration", "most"), (len(context.joint_rates),))
        return {"limits": Parameters(SETTINGS, shapes, lambda *values: self._limits(context, *values))}

    def check(self, robot: Robot) -> None:
        if not any(map(callable, self._given)):
            self._limits(Context(robot), *self._given)

    def at_rest(self, robot: Robot) -> AtRest:
        context = Context(robot)
        ends = self._limits(context, *self._given)[:2]
        lower, upper = np.full(robot.nv, -np.inf), np.full(robot.nv, np.inf)
        lower[context.joint_rates], upper[context.joint_rates] = ends
        return AtRest(positions=(lower, upper))

    def tightened(self, margin: float) -> JointLimits:
        return replace(self, margin=float(at_first(self.margin)) + margin)

    def _limits(
        self, context: Context, acceleration: Any, position: Any, velocity: Any, margin: Any, most: Any
    ) -> tuple[Array, Array, Array, Array, Array]:
        robot, at, dt = context.robot, context.joint_rates, context.dt
        n = len(at)
        A = self._accelerations("acceleration", acceleration, n)
        free = A if most is None else self._accelerations("most", most, n)
        lower, upper = self._ends(robot, at, position)
        lower, upper = np.clip(lower + margin, -FAR, FAR), np.clip(upper - margin, -FAR, FAR)
        if not (lower < upper).all():
            k = int(np.flatnonzero(~(lower < upper))[0])
            raise TaskError(
                f"{self.label}: a margin of {margin} leaves {context.rate_names[at[k]]!r} no room: its range would be "
                f"{lower[k]:.6g} to {upper[k]:.6g}"
            )
        V = self._speeds(robot, at, velocity)
        # Without ends of position there is nothing to brake for: within a step the velocity may turn from one limit to
        # the other.
        room = 2 * V / dt if position is False else np.minimum(V / dt, (upper - lower) / dt**2)
        A = np.minimum(A, room)
        return lower, upper, V, A, np.maximum(A, np.minimum(free, room))

    def _accelerations(self, what: str, given: Any, n: int) -> Array:
        try:
            numbers = np.asarray(given, dtype=float)
        except (TypeError, ValueError):
            numbers = np.array(np.nan)
        if numbers.shape not in ((), (n,)) or not (np.isfinite(numbers).all() and (numbers > 0).all()):
            raise TaskError(f"{self.label}: {what} must be positive and finite, one number or {n}; got {given!r}")
        return numbers

    def _speeds(self, robot: Robot, at: Array, velocity: Any) -> Array:
        if isinstance(velocity, bool | np.bool_):
            V = robot.limits.velocity[at] if velocity else np.full(len(at), FAR)
        else:
            V = np.broadcast_to(np.asarray(velocity, dtype=float), (len(at),))
        if not (V > 0).all():
            raise TaskError(f"{self.label}: limits of velocity must be positive; got {velocity!r}")
        return np.minimum(V, FAR)

    def _ends(self, robot: Robot, at: Array, position: Any) -> tuple[Array, Array]:
        if not isinstance(position, bool | np.bool_):
            lower, upper = (np.broadcast_to(np.asarray(end, dtype=float), (len(at),)) for end in position)
            return lower, upper
        lower, upper = np.full(robot.nv, -FAR), np.full(robot.nv, FAR)
        if position:
            for joint in robot.joints.values():
                if joint.mimic is None and joint.type.nq == 1:
                    lower[joint.v], upper[joint.v] = robot.limits.lower[joint.q], robot.limits.upper[joint.q]
        return lower[at], upper[at]

    def rows(self, scene: Scene, numbers: NamedNumbers) -> BoundedRows:
        """Bounds of accelerations, or of velocities; a joint without a single position has none of those ends."""
        from ...equations.symbols import SX, zeros

        context, m = scene.context, piecewise_symbols()
        at = context.joint_rates.tolist()
        place = joint_positions(scene.robot, scene.q, zeros(scene.robot.nv))[at]
        if context.level == "velocity":
            low, high = limits.velocity_bounds(place, numbers.lower, numbers.upper, numbers.velocity, context.dt, m=m)
        else:
            given = numbers.lower, numbers.upper, numbers.velocity, numbers.acceleration
            low, high = limits.acceleration_interval(place, scene.v[at], *given, context.dt, m=m, most=numbers.most)
        return BoundedRows(scene.motion(SX.eye(scene.robot.nv)[at, :], zeros(len(at))), low, high)

    def start_report(self, start: Start) -> Iterator[str]:
        context, at = start.context, start.context.joint_rates
        q, v = joint_positions(context.robot, start.q, np.zeros(context.robot.nv))[at], start.v[at]
        lower, upper, velocity, acceleration = (
            start.numbers[k] for k in ("lower", "upper", "velocity", "acceleration")
        )
        outside = np.maximum(lower - q, q - upper)
        good = limits.viable(q, v, lower, upper, velocity, acceleration, limits.VIABLE)
        if context.level == "velocity":
            good = outside <= limits.VIABLE
        for k in np.flatnonzero(~good):
            name = start.names[k]
            if outside[k] > 0:
                yield f"{name}: it starts {outside[k]:.4g} outside and is brought back"
            elif abs(v[k]) > velocity[k]:
                yield f"{name}: it starts at {abs(v[k]):.4g}, faster than its limit of {velocity[k]:.4g}"
            else:
                yield f"{name}: at {v[k]:.4g} it cannot stop before its end by {acceleration[k]:.4g}"


def joint_positions(robot: Robot, q: Any, place: Any) -> Any:
    """Joint positions in the places of their rates; `place` stays as it is where a joint has no single position."""
    for joint in robot.joints.values():
        if joint.mimic is None and joint.type.nq == 1:
            place[joint.v] = q[joint.q]
    return place
