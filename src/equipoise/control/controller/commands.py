"""From the unknowns of a step to the command that leaves, and what is commanded where there is no answer."""

from __future__ import annotations

import numpy as np

from ..constraints.constraint import Constraint
from .layout import Layout
from .settings import Settings

Array = np.ndarray


class Commands:
    """Torques, accelerations and velocities of a controller; remembers what was commanded.

    Args:
        layout: of the controller.
        settings: of the controller: bounds of torques follow from them.
        hold_damping: of the fallback, N m s per rad; at acceleration level 1/s.
    """

    def __init__(self, layout: Layout, settings: Settings, hold_damping: float) -> None:
        self.layout, self.settings, self.hold_damping = layout, settings, hold_damping
        bounding = [c for c in layout.items.constraints if type(c).torque_bounds is not Constraint.torque_bounds]
        bounding.sort(key=lambda c: -c.rank)  # what is never relaxed has the last word
        self._bounding = [(c, settings.numbers(c.label)) for c in bounding]
        self._feeds_back = any(c.reads_last_torque for c in layout.items.constraints)
        self.forget()

    def forget(self) -> None:
        """As if nothing had been commanded yet."""
        self.last_good = np.zeros(self.layout.context.robot.nv)  # torques
        self.previous: Array | None = None  # torques of the motors in the last step
        self.settings.feed_back(None)

    def restore(self, last_good: Array) -> None:
        """Take over what was commanded elsewhere."""
        self.last_good, self.previous = last_good.copy(), self.settings.previous_torque

    def read_motion(self, block: Array) -> None:
        """Where the kernel writes T, B, t and b, side by side: torques T x + t, accelerations without motors B x +
        b."""
        n = self.layout.unknowns
        rows = len(block) // (n + 1)
        self._map, self._offset = block[: rows * n].reshape(rows, n), block[rows * n :]

    def of(self, x: Array, v: Array, at_limits: bool) -> tuple[Array, Array, Array, float]:
        """(torque, acceleration, velocity) of an answer, and the sum of their squares: finite if all of them are.

        Args:
            x: unknowns.
            v: measured.
            at_limits: whether constraints are active; torques at a limit are then within it to the last digit.
        """
        context, nv = self.layout.context, len(v)
        block = np.zeros(3 * nv)
        torque, a, velocity = block[:nv], block[nv : 2 * nv], block[2 * nv :]
        if context.level == "velocity":
            velocity[:] = x
            a[:] = (x - v) / context.dt
        elif context.level == "acceleration":
            a[:], velocity[:] = x, v
        else:
            velocity[:] = v
            found, motors = self._map.dot(x), len(context.motors)
            found += self._offset
            tau = found[:motors]
            torque[context.motor_places] = self._bounded(tau, v, relaxable=True) if at_limits else tau
            a[context.motor_places], a[context.passive_places] = x[context.motor_unknowns], found[motors:]
        return torque, a, velocity, float(block.dot(block))

    def fallback(self, v: Array) -> tuple[Array, Array, Array]:
        """The last good torques and damping, within all limits; or slowing down; or standing still. Always finite."""
        context = self.layout.context
        nv, at = context.robot.nv, context.motor_places
        torque, a, still = np.zeros(nv), np.zeros(nv), np.zeros(nv)
        with np.errstate(over="ignore", invalid="ignore"):
            damping = self.hold_damping * v
        damping[~np.isfinite(damping)] = 0.0  # of rates that are none, or whose damping is beyond all numbers
        if context.level == "torque":
            effort = context.robot.limits.effort[at]
            rates = np.where(np.isfinite(v), v, 0.0)
            wanted = self._bounded(self.last_good[at] - damping[at], rates, relaxable=False)
            torque[at] = np.minimum(np.maximum(wanted, -effort), effort)
        elif context.level == "acceleration":
            a = -damping
        return torque, a, still

    def sent(self, torque: Array) -> None:
        """Remember the command that leaves."""
        if self._feeds_back:
            self.previous = torque[self.layout.context.motor_places].copy()
            self.settings.feed_back(self.previous)

    def _bounded(self, torque: Array, v: Array, relaxable: bool) -> Array:
        """Torques of the motors within the bounds that constraints set; `relaxable`: only within those never
        relaxed."""
        rates = v[self.layout.context.motor_places]
        for constraint, numbers in self._bounding:
            if relaxable and constraint.rank > 0:
                continue
            bounds = constraint.torque_bounds(numbers, self.previous, rates)
            if bounds is not None:
                torque = np.minimum(np.maximum(torque, bounds[0]), bounds[1])
        return torque
