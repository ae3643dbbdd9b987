"""What a controller answers, with its proof and its reasons."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property

import numpy as np

from ...algebra.arrays import length
from ...model.html import html_table
from .. import qp
from ..qp import QuadraticProgram, Residuals
from .joint_command import Gain, JointCommand, joint_command
from .step import ControlStep

Array = np.ndarray


class ControlStatus(Enum):
    """How one step of control ended."""

    OPTIMAL = "optimal"
    RELAXED = "relaxed"
    OVERLAPPING = "overlapping"
    INACCURATE = "inaccurate"
    NOT_FINITE = "not finite"
    NOT_UNIT = "not of unit length"
    BAD_STATE = "bad state"
    FAILED = "failed"

    @classmethod
    def of(cls, found: qp.Status) -> ControlStatus:
        """What the solver's status means for a step."""
        return _STATUSES.get(found, cls.FAILED)

    @property
    def ok(self) -> bool:
        """Whether all constraints hold."""
        return self is ControlStatus.OPTIMAL

    @property
    def fallback(self) -> bool:
        """Whether the command is that of the fallback: the last torques with damping."""
        return self not in _SOLVED

    @property
    def text(self) -> str:
        """In words."""
        return _TEXTS[self]


_SOLVED = ControlStatus.OPTIMAL, ControlStatus.RELAXED, ControlStatus.OVERLAPPING, ControlStatus.INACCURATE
_TEXTS = {
    ControlStatus.OPTIMAL: "optimal",
    ControlStatus.RELAXED: "relaxed: not all constraints can hold",
    ControlStatus.OVERLAPPING: "solved, but parts of the robot are inside each other now or in this step",
    ControlStatus.INACCURATE: "solved, but the residuals are larger than they should be",
    ControlStatus.NOT_FINITE: "fallback: the state, or a number of the quadratic program, is not finite",
    ControlStatus.NOT_UNIT: "fallback: a quaternion of the state is not of unit length",
    ControlStatus.BAD_STATE: "fallback: the state is not one of this robot",
    ControlStatus.FAILED: "fallback: what is never relaxed cannot hold, or nothing was found",
}
_STATUSES = {
    qp.Status.OPTIMAL: ControlStatus.OPTIMAL,
    qp.Status.RELAXED: ControlStatus.RELAXED,
    qp.Status.ITERATION_LIMIT: ControlStatus.INACCURATE,
    qp.Status.INACCURATE: ControlStatus.INACCURATE,
    qp.Status.NOT_FINITE: ControlStatus.NOT_FINITE,
}
# beside the statuses: steps, contacts, targets, errors
COUNTED = ("at_limits", "contact_lost", "target_refused", "errors")


def counted() -> dict[str, int]:
    """A count for each status, and for the rest of what is counted, at zero."""
    return {status.name.lower(): 0 for status in ControlStatus} | dict.fromkeys(COUNTED, 0)


@dataclass(frozen=True, eq=False)
class Solution:
    """One step of control. Arrays are as long as v, and the caller's own.

    Attributes:
        t: s, when.
        status: how it ended.
        torque: N m; zero where there is no motor.
        acceleration: that the command makes, by the model.
        velocity: the command at velocity level, else the velocity that was measured.
        residuals: of the quadratic program as stated; where constraints were relaxed, of the one with widened bounds.
        events: what happened in this step beside solving; each has a `kind` and prints as a sentence.
        step: what it saw and found, as data.
    """

    t: float
    status: ControlStatus
    torque: Array
    acceleration: Array
    velocity: Array
    residuals: Residuals
    events: tuple[object, ...]
    step: ControlStep = field(repr=False)

    def __repr__(self) -> str:
        largest = np.abs(self.torque).max(initial=0.0)
        relaxed = f", relaxed: {', '.join(self.relaxed)}" if self.relaxed else ""
        return f"<Solution at {self.t:g} s: {self.status.value}, torques up to {largest:.3g} N m{relaxed}>"

    def _repr_html_(self) -> str:
        rows = [(name, " ".join(f"{x:.4g}" for x in wrench)) for name, wrench in self.forces.items()]
        return html_table(repr(self)[1:-1], ("contact", "force (N) and torque (N m), world axes"), rows)

    @property
    def x(self) -> Array:
        """Unknowns of the quadratic program."""
        return self.step.x

    @property
    def multipliers(self) -> Array:
        """Of the rows of A."""
        return self.step.multipliers

    @property
    def relaxed(self) -> dict[str, float]:
        """By how much constraints were relaxed."""
        return self.step.relaxed

    @property
    def program(self) -> QuadraticProgram:
        """The quadratic program of this step."""
        return self.step.program

    @property
    def forces(self) -> dict[str, Array]:
        """Wrench (force, torque; N, N m) on the robot at each contact's frame, world axes."""
        return self.step.forces

    @cached_property
    def task_errors(self) -> dict[str, float]:
        """Length of each task's error."""
        return {name: length(error) for name, error in self.step.errors.items()}

    @property
    def saw_state(self) -> bool:
        """Whether the state was one that a robot can have."""
        return self.step.saw_state

    @cached_property
    def margins(self) -> dict[str, float]:
        """Least distance of each barrier from its limit; negative outside."""
        return {name: float(d.min()) for name, d in self.step.margins.items()}

    @property
    def active(self) -> tuple[str, ...]:
        """Names of the active constraints."""
        return self.step.active

    @cached_property
    def conflict(self) -> tuple[str, ...]:
        """A smallest set of rows that cannot hold together; empty where all can. Worked out when it is asked for."""
        if (
            self.status not in (ControlStatus.RELAXED, ControlStatus.FAILED)
            or not self.saw_state
            or not self.step.finite
        ):
            return ()
        return tuple(qp.conflict(self.program))

    def joint_command(
        self, kp: Gain, kd: Gain, *, previous: JointCommand | None = None, leak: float = 10.0
    ) -> JointCommand:
        """The same command for joint drives: position and velocity targets, the torque as feed-forward, and gains.

        Targets are where the model has the joints in the middle of the step that the command is for. So over the step
        the drives add nothing while the robot moves as the model has it, and resist what the model does not know. Of a
        fallback there is no motion to follow: kp is zero, and drives damp.

        Args:
            kp: N m/rad, one number, one for each joint rate, or numbers by joint.
            kd: N m s/rad, likewise.
            previous: the last command. Targets then go on from its own, and what friction and a wrong model hold back
                adds up, as in a leaky integrator; without it they start from what was measured.
            leak: 1/s at which targets return to what was measured.
        """
        return joint_command(self, kp, kd, previous, leak)

    @property
    def _reason(self) -> str:
        if self.status is ControlStatus.NOT_UNIT:
            return "Quaternions (w, x, y, z) must have length 1."
        if self.status is ControlStatus.BAD_STATE:
            return "q and v must be arrays of numbers of the robot's size, t a number."
        if not self.saw_state:
            return "q or v holds NaN or infinity."
        if not self.step.finite:
            return "Some number of the quadratic program is not finite."
        return "What is never relaxed cannot hold." if self.conflict else "The solver found no answer."

    def explain(self) -> str:
        """In words: how it ended, what limits it, what was relaxed and why, what each task asked for and got."""
        lines = [f"t = {self.t:.3f} s: {self.status.text}."]
        if self.status.fallback:
            lines.append(f"{self._reason} The command is the last torques with damping.")
        if self.relaxed:
            amounts = ", ".join(f"{name} by {amount:.3g}" for name, amount in self.relaxed.items())
            lines.append(f"Relaxed: {amounts}.")
        if self.conflict:
            lines.append(f"Cannot hold together: {' × '.join(self.conflict)}.")
        if self.active:
            lines.append(f"Active constraints: {', '.join(self.active)}.")
        outside = {} if self.status.fallback else {name: d for name, d in self.margins.items() if not d >= 0}
        if outside:
            lines.append(
                "Outside and coming back: " + ", ".join(f"{name} by {-d:.3g}" for name, d in outside.items()) + "."
            )
        if not self.status.fallback and self.step.finite:
            lines += [
                f"Task {name}: {100 * share:.3g} % of the cost; asked for {asked:.3g}, lacks {lacks:.3g}."
                for name, (share, asked, lacks) in self.step.shares.items()
            ]
        lines.extend(f"{text[:1].upper()}{text[1:]}." for text in map(str, self.events))
        if not np.isnan(self.residuals.worst):
            lines.append(f"Largest KKT residual: {self.residuals.worst:.1e}.")
        return "\n".join(lines)
