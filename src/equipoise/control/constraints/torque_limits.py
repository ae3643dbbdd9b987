"""Torques of the motors within their limits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..at_rest import AtRest
from ..controller.context import Context
from ..item import NamedNumbers, Parameters, Setting, TaskError, at_first
from .constraint import BoundedRows, Constraint

if TYPE_CHECKING:
    from ...equations.symbols import SX
    from ...robot import Robot
    from ..controller.scene import Scene

Array = np.ndarray


SLOWEST = 1e-9  # rad/s below which power bounds no torque


@dataclass(frozen=True, eq=False)
class TorqueLimits(Constraint):
    """Torques of the motors within the limits of the description, or within given ones; less at speed, if asked.

    A motor that drives has its full torque up to `corner_speed`; from there it falls in a straight line to nothing at
    `no_load_speed`. A motor that brakes has all of it. `power` bounds both.

    Args:
        scale: factor on the limits.
        limits: N m or N, one number or one per motor; the description's if not given.
        no_load_speed: rad/s or m/s, one number or one per motor; infinite where torque does not fall.
        corner_speed: likewise, below `no_load_speed`.
        power: W, likewise.

    Examples:
        >>> import numpy as np
        >>> import equipoise as eq
        >>> arm = eq.load("arm6")
        >>> q, v = np.full(6, 0.4), np.zeros(6)
        >>> hold = eq.PostureTask(q + 1.0, gain=100.0)  # asks for far too much
        >>> controller = eq.WholeBodyController(arm, [hold], constraints=[eq.TorqueLimits(scale=0.5)])
        >>> bool((abs(controller(0.0, q, v).torque) <= 0.5 * arm.limits.effort + 1e-6).all())
        True
    """

    scale: Setting = 1.0
    limits: Setting | None = None
    no_load_speed: Setting = np.inf
    corner_speed: Setting = 0.0
    power: Setting = np.inf
    rank: int = field(default=0, kw_only=True)
    levels: ClassVar[tuple[str, ...]] = ("torque",)

    @property
    def label(self) -> str:
        return self.name or "torque limit"

    def row_names(self, context: Context) -> list[str]:
        return [f"{self.label} of {context.rate_names[k]}" for k in context.motors]

    def parameters(self, context: Context) -> Mapping[str, Parameters]:
        n = len(context.motors)
        limits = Parameters(
            ("scale", "limits"), {"largest": (n,)}, lambda *x: [self._largest(context, *x)], unbounded=True
        )
        shapes = {"stall": (n,), "slope": (n,), "power": (n,), "falls": ()}
        given = ("no_load_speed", "corner_speed", "power")
        curve = Parameters(given, shapes, lambda *x: self._curve(context, *x), unbounded=True)
        return {"limits": limits, "curve": curve}

    def _largest(self, context: Context, scale: Any, limits: Any) -> Array:
        n = len(context.motors)
        given = context.robot.limits.effort[context.motors] if limits is None else np.asarray(limits, dtype=float)
        if given.shape not in ((), (n,)) or not (given >= 0).all() or not (np.ndim(scale) == 0 and 0 < scale < np.inf):
            raise TaskError(f"{self.label}: limits must be one number or {n}, not negative, and scale positive")
        return np.broadcast_to(scale * given, (n,))

    def _curve(self, context: Context, no_load: Any, corner: Any, power: Any) -> tuple[Array, Array, Array, float]:
        """Numbers of the curve, and whether there is one: 1 or 0."""
        (stall, slope), most = self._line(context, no_load, corner), self._power(context, power)
        return stall, slope, most, float(slope.any() or np.isfinite(most).any())

    def _line(self, context: Context, no_load: Any, corner: Any) -> tuple[Array, Array]:
        """(stall, slope): the part of the torque that is left at a speed ω is stall − slope ω, between 0 and 1."""
        n = len(context.motors)
        top, full = np.asarray(no_load, dtype=float), np.asarray(corner, dtype=float)
        good = top.shape in ((), (n,)) and full.shape in ((), (n,)) and bool((full >= 0).all() and (full < top).all())
        if not good:
            raise TaskError(f"{self.label}: speeds are one number or {n}, 0 ≤ corner_speed < no_load_speed")
        top, full = np.broadcast_to(top, (n,)), np.broadcast_to(full, (n,))
        falls = np.isfinite(top)
        slope = np.divide(1.0, top - full, out=np.zeros(n), where=falls)
        return np.where(falls, np.where(falls, top, 0.0) * slope, 1.0), slope

    def _power(self, context: Context, power: Any) -> Array:
        n, given = len(context.motors), np.asarray(power, dtype=float)
        if given.shape not in ((), (n,)) or not (given > 0).all():
            raise TaskError(f"{self.label}: power is one number or {n}, positive")
        return np.broadcast_to(given, (n,))

    def at_rest(self, robot: Robot) -> AtRest:
        context = Context(robot)
        effort = np.full(robot.nv, np.inf)
        effort[context.motors] = self._largest(
            context, at_first(self.scale), None if self.limits is None else at_first(self.limits)
        )
        return AtRest(effort=effort)

    def rows(self, scene: Scene, numbers: NamedNumbers) -> BoundedRows:
        import casadi

        speed = scene.v[scene.context.motors.tolist()]
        by_power = numbers.power / casadi.fmax(casadi.fabs(speed), SLOWEST)

        def most(towards: SX) -> SX:
            left = casadi.fmin(casadi.fmax(numbers.stall - numbers.slope * towards, 0.0), 1.0)
            unbounded = numbers.largest == np.inf  # and stays so at rest, where 0 times it would be no number
            return casadi.fmin(casadi.if_else(unbounded, numbers.largest, numbers.largest * left), by_power)

        return BoundedRows(scene.torque, -most(-speed), most(speed))

    def torque_bounds(self, numbers: Mapping[str, Array], previous: Array | None, rates: Array) -> tuple[Array, Array]:
        if not numbers["falls"].item():
            return -numbers["largest"], numbers["largest"]
        by_power = numbers["power"] / np.maximum(np.abs(rates), SLOWEST)

        def most(towards: Array) -> Array:
            left = np.clip(numbers["stall"] - numbers["slope"] * towards, 0.0, 1.0)
            falls = np.isfinite(numbers["largest"])
            limit = np.where(falls, np.where(falls, numbers["largest"], 0.0) * left, np.inf)
            return np.minimum(limit, by_power)

        return -most(-rates), most(rates)
