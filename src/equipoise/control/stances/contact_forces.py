"""Forces at contacts: what is measured, what is commanded, and the bounds by which load is shifted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ..contacts import Contact
from ..controller.controller import WholeBodyController
from .stance import Step, StepKind

if TYPE_CHECKING:
    from ...robot import Robot
    from ..controller.solution import Solution

Array = np.ndarray
CARRIES = 0.02  # of the weight: less is no load
LOST = 0.05  # of the weight: a contact that should carry more and carries none is lost
PATIENCE = 0.05  # s, that a force must be away, or a solver without answer, to count
DAMPING = 20.0  # N m s
FULL = 0.999  # a part of the load from which on bounds are those of the contact


class ContactForces:
    """Normal forces of the contacts of one machine.

    Args:
        weight: of the robot, N.
    """

    def __init__(self, controller: WholeBodyController, contacts: Mapping[str, Contact], weight: float) -> None:
        self.controller, self.contacts, self.weight = controller, contacts, weight
        self.reset()

    def reset(self) -> None:
        """Nothing measured, nothing commanded; bounds are those of the contacts."""
        self.measured: Mapping[str, Array] | None = None
        self.last: Solution | None = None
        self.quiet_until = 0.0  # s: until then forces settle after a change of contacts
        self._away: dict[str, float] = {}  # since when a force is missing
        self._loads: dict[str, float] = {}  # commanded where unloading began
        for name in self.contacts:
            self.allow(name)

    @property
    def light(self) -> float:
        """A force that is no load, N."""
        return CARRIES * self.weight

    def settle(self, t: float) -> None:
        """Contacts have changed: forces are watched again after a while."""
        self._away = {}
        self.quiet_until = t + PATIENCE

    def commanded(self, name: str, X: Array | None) -> float:
        """Normal force that the last step of control asked for, with the contact's frame at X, N."""
        return 0.0 if self.last is None else self._normal(name, self.last.forces.get(name), X)

    def seen(self, name: str, X: Array | None) -> float:
        """Measured normal force, N."""
        return 0.0 if self.measured is None else self._normal(name, self.measured.get(name), X)

    def _normal(self, name: str, wrench: Array | None, X: Array | None) -> float:
        return 0.0 if X is None or wrench is None else float(self.contacts[name].normal_at(X) @ wrench[:3])

    def vanished(self, t: float, name: str, X: Array) -> bool:
        """Whether a contact that should carry has carried nothing for a while."""
        if self.measured is None or self.last is None or t < self.quiet_until:
            return False
        if self.seen(name, X) > LOST / 50 * self.weight or self.commanded(name, X) < LOST * self.weight:
            self._away.pop(name, None)
            return False
        return t - self._away.setdefault(name, t) >= PATIENCE

    # --- bounds -------------------------------------------------------------------------------------------------------

    def allow(self, name: str) -> None:
        """A contact may carry what it can."""
        self.controller.set_force_bounds(name, *self.contacts[name].force_bounds)

    def remember(self, name: str, X: Array | None) -> None:
        """The load of a contact now, from which unloading begins."""
        self._loads[name] = max(self.commanded(name, X), self.light)

    def load(self, name: str, part: float) -> None:
        """The largest normal force: from none (part 0) to whatever the contact bears (1)."""
        if part >= 1.0:
            self.allow(name)
        else:
            self._limit(name, part, 2 * self.weight)

    def unload(self, name: str, part: float) -> None:
        """The largest normal force: from the load it had (part 0) to none (1)."""
        self._limit(name, min(1.0 - part, FULL), self._loads[name])

    def shift(self, step: Step, part: float) -> None:
        """Bounds of normal forces while load goes to or from contacts: at the begin of the step (part 0) to its end
        (1)."""
        for name in sorted(step.changed):
            if step.kind is StepKind.LOAD:
                self.load(name, part)
            elif step.kind is StepKind.UNLOAD:
                self.unload(name, part)

    def _limit(self, name: str, part: float, of: float) -> None:
        least, most = self.contacts[name].force_bounds
        largest = part * min(of, most)
        self.controller.set_force_bounds(name, min(least, largest), largest)


def damped(robot: Robot, solution: Solution, v: Array) -> Solution:
    """The solution of a robot that nothing carries: joints are slowed down and no more."""
    first = 6 if robot.floating else 0
    torque = np.zeros(robot.nv)
    rates = np.where(np.isfinite(v), v, 0.0)[first:]
    effort = robot.limits.effort[first:]
    torque[first:] = np.clip(-DAMPING * rates, -effort, effort)
    return replace(solution, torque=torque)
