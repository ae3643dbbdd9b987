"""What may happen to a machine over contacts, and how it may end: kinds are enums, texts are made of them where people
read."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum, StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..controller.solution import Solution


class Outcome(StrEnum):
    """How a sequence of stances, or a strategy, stands or ended."""

    RUNNING = "running"
    COMPLETED = "completed"
    RETURNED = "returned"  # to the last stance that was reached
    STOPPED = "stopped"  # before its end, and the robot stands
    FAILED = "failed"

    @property
    def ended(self) -> bool:
        """Whether it is over, for better or worse."""
        return self is not Outcome.RUNNING


class Reason(Enum):
    """Why a motion was given up or ended."""

    NOT_REACHED = "the posture was not reached in time"
    NOT_TOUCHED = "{names} did not touch"
    KEEPS_SLIPPING = "{names} keeps slipping"
    CONTACT_LOST = "{names} is lost"
    PUSHED = "it was pushed too far"
    STEPS = "the soles cannot hold it, it steps"
    NO_TORQUES = "no torques satisfy the constraints"
    NO_CONTACT = "the contact cannot be made"
    NO_FLIGHT = "it did not get off the ground"
    NO_ATTEMPT = "no attempt fulfilled the task"
    FALLING = "the capture point is outside of the support"
    UNSTEADY = "the robot does not come to rest"


class EventKind(Enum):
    """What happened; the value is its text, with the numbers of the event in braces."""

    RELEASED = "force vanished: {names} let go"
    LOADED = "{names} carry"
    TOUCHED = "contact made: {names}"
    HOPPED = "hopped: {names} left the ground and carry again"
    REACHED = "centre of mass arrived: {stance!r} reached"
    COMPLETED = "completed"
    RETURNED = "returned to {stance!r}"
    LATE = "time-out: the centre of mass is {distance:.3g} m from its reference"
    NOTHING_TOUCHED = "time-out: {names} found nothing to touch"
    GOING_BACK = "{reason}: going back to {stance!r}"
    SLIPPED = "contact lost: {names} slipped by {distance:.3g} m and turned by {angle:.2g} rad"
    HELD_HERE = "{names} is held where it is now"
    UNLOADED = "contact lost: {names} carries nothing"
    SEARCHING = "{names} looks for the ground again"
    PUSHED = "pushed: the capture point has a margin of {distance:.3g} m within the support"
    MOVED = "pushed: the centre of mass is {distance:.3g} m from its reference"
    ENDED = "motion ended: {reason}"
    NO_PLAN = "no dynamic motion to {stance!r}: {note}; it goes there from rest to rest"
    RESTS = "the dynamic motion is given up: it goes on from rest to rest"
    REPLANNED = "new plan of the centre of mass: {note}"
    STANDS = "the robot stands"
    FAILED = "failed: {reason}"
    ELSEWHERE = "{names} is {distance:.3g} m from where the first stance has it"
    UNEVEN = "{names} is {distance:.3g} m above the plane of the other contacts"
    BEGUN = "{stance}"
    ATTEMPTED = "{stance}: {note}, error {distance:.3g}"
    TIME = "{note}"
    AREA = "the support has {distance:.3g} m²"


ENDINGS = {  # what is told when a motion has ended, and the robot stands
    Outcome.COMPLETED: EventKind.COMPLETED,
    Outcome.RETURNED: EventKind.RETURNED,
    Outcome.STOPPED: EventKind.STANDS,
}


@dataclass(frozen=True)
class Event:
    """Something that happened at time t.

    Args:
        kind: what.
        t: s.
        names: contacts it is about.
        stance: or attempt it is about.
        distance: m (m² of an area).
        angle: rad.
        reason: why.
        note: more, in words.
    """

    kind: EventKind
    t: float
    names: tuple[str, ...] = ()
    stance: str = ""
    distance: float = 0.0
    angle: float = 0.0
    reason: Reason | None = None
    note: str = ""

    def __str__(self) -> str:
        return self.text

    @property
    def text(self) -> str:
        """For people."""
        names = ", ".join(self.names)
        reason = "" if self.reason is None else self.reason.value.format(names=names)
        return self.kind.value.format(
            names=names, stance=self.stance, distance=self.distance, angle=self.angle, reason=reason, note=self.note
        )


class EventLog(list[Event]):
    """Events in their order, and which of them were told already."""

    def __init__(self) -> None:
        super().__init__()
        self._told = 0

    def tell(self, kind: EventKind, t: float, *names: str, **fields: Any) -> None:
        """Something happened at time t (s); `fields` as of `Event`."""
        self.append(Event(kind, float(t), names, **fields))

    def tell_note(self, kind: EventKind, t: float, note: str) -> None:
        """The same of something in words, where there are any."""
        if note:
            self.tell(kind, t, note=note)

    def told_by(self, solution: Solution) -> Solution:
        """A solution that tells what is new as well."""
        new = tuple(self[self._told :])
        self._told = len(self)
        return replace(solution, events=(*solution.events, *new)) if new else solution
