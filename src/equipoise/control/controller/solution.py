"""What a controller answers, with its proof and its reasons."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ...algebra.arrays import length
from .. import qp
from ..qp import Residuals

if TYPE_CHECKING:
    from .snapshot import Snapshot

Array = np.ndarray


class ControlStatus(Enum):
    """How one step of control ended."""

    OPTIMAL = "optimal"
    RELAXED = "relaxed: some constraints gave way"
    INACCURATE = "solved, but the residuals are larger than they should be"
    NOT_FINITE = "held: the state is not finite"
    NOT_UNIT = "held: a quaternion of the state is not of unit length"
    FAILED = "held: nothing satisfies what never gives way"

    @property
    def ok(self) -> bool:
        """Whether all constraints hold."""
        return self is ControlStatus.OPTIMAL

    @property
    def held(self) -> bool:
        """Whether the torques are those of the fallback, a damped hold."""
        return self in (ControlStatus.NOT_FINITE, ControlStatus.NOT_UNIT, ControlStatus.FAILED)


@dataclass(frozen=True, eq=False)
class Program:
    """The quadratic program of one step: ½ xᵀ H x + fᵀ x subject to E x = e, lower ≤ A x ≤ upper."""

    H: Array
    f: Array
    E: Array
    e: Array
    A: Array
    lower: Array
    upper: Array
    names: tuple[str, ...]  # of the rows of E, then of A

    @property
    def finite(self) -> bool:
        """Whether every number is, but for bounds, which may be infinite."""
        numbers = (self.H, self.f, self.E, self.e, self.A)
        return all(np.isfinite(x).all() for x in numbers) and not np.isnan([self.lower, self.upper]).any()

    @cached_property
    def stated(self) -> qp.QuadraticProgram:
        """The same as one set of rows."""
        rows, lower, upper = (
            np.vstack((self.E, self.A)),
            np.concatenate((self.e, self.lower)),
            np.concatenate((self.e, self.upper)),
        )
        return qp.QuadraticProgram(self.H, self.f, rows, lower, upper, names=self.names)


@dataclass(frozen=True, eq=False)
class Solution:
    """One step of control. Arrays are as long as v; the base part of `torque` is zero."""

    t: float
    status: ControlStatus
    torque: Array  # N m
    acceleration: Array
    velocity: Array  # the command at velocity level, else the velocity that was measured
    residuals: Residuals  # of the quadratic program as stated; where constraints gave way, of the one with widened bounds
    x: Array  # its unknowns
    multipliers: Array  # of its rows A
    relaxed: Mapping[str, float]  # by how much constraints gave way
    events: tuple[str, ...]  # what happened in this step beside solving
    _seen: Snapshot = field(repr=False)

    @property
    def program(self) -> Program:
        """The quadratic program of this step."""
        return self._seen.program

    @cached_property
    def forces(self) -> dict[str, Array]:
        """Wrench (force, torque) on the robot at each contact's frame, world axes."""
        return self._seen.forces(self.x)

    @cached_property
    def task_errors(self) -> dict[str, float]:
        """Length of each task's error."""
        return {name: length(error) for name, error in self._seen.errors.items()} if self.saw_state else {}

    @property
    def saw_state(self) -> bool:
        """Whether the state was one that a robot can have."""
        return self.status not in (ControlStatus.NOT_FINITE, ControlStatus.NOT_UNIT)

    @cached_property
    def margins(self) -> dict[str, float]:
        """Least distance of each barrier from its limit; negative outside."""
        return {name: float(d.min()) for name, d in self._seen.margins.items()} if self.saw_state else {}

    @cached_property
    def active(self) -> tuple[str, ...]:
        """Names of the rows that push."""
        if not self.multipliers.size:
            return ()
        n_E = len(self.program.E)
        names = (self.program.names[n_E + k] for k in np.flatnonzero(self.multipliers))
        return tuple(dict.fromkeys(names))

    @cached_property
    def conflict(self) -> tuple[str, ...]:
        """The smallest set of rows that could not hold together; empty where all did."""
        if self.status not in (ControlStatus.RELAXED, ControlStatus.FAILED):
            return ()
        return tuple(qp.conflict(self.program.stated))

    @property
    def _reason(self) -> str:
        if self.status is ControlStatus.NOT_FINITE:
            return "q or v holds NaN or infinity."
        if self.status is ControlStatus.NOT_UNIT:
            return "Quaternions (w, x, y, z) must have length 1."
        if not self.program.finite:
            return "Some number of the quadratic program is not finite."
        return "What never gives way cannot hold." if self.conflict else "The solver found no answer."

    def explain(self) -> str:
        """In words: how it ended, what limits it, what gave way, and why."""
        lines = [f"t = {self.t:.3f} s: {self.status.value}."]
        if self.status.held:
            lines.append(f"{self._reason} The joints are held at their last torques with damping.")
        if self.relaxed:
            amounts = ", ".join(f"{name} by {amount:.3g}" for name, amount in self.relaxed.items())
            lines.append(f"Gave way: {amounts}.")
        if self.conflict:
            lines.append(f"Cannot hold together: {' × '.join(self.conflict)}.")
        if self.active:
            lines.append(f"At their limits: {', '.join(self.active)}.")
        outside = {} if self.status.held else {name: d for name, d in self.margins.items() if d < 0}
        if outside:
            lines.append("Outside and coming back: " + ", ".join(f"{name} by {-d:.3g}" for name, d in outside.items()) + ".")
        lines.extend(f"{event[:1].upper()}{event[1:]}." for event in self.events)
        if not np.isnan(self.residuals.worst):
            lines.append(f"Largest KKT residual: {self.residuals.worst:.1e}.")
        return "\n".join(lines)


COUNTED = ("at_limits", "contact_lost", "target_refused")  # beside the statuses: steps, contacts, targets


def counted() -> dict[str, int]:
    """A count for each status, and for the rest of what is counted, at zero."""
    return {status.name.lower(): 0 for status in ControlStatus} | dict.fromkeys(COUNTED, 0)
