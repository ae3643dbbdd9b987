"""What happened in a step beside solving: kinds are data, texts are made from them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class ControlEventKind(Enum):
    """What an event of a controller is about."""

    START = "start"  # something cannot be promised from where the robot starts
    SETTING_REFUSED = "setting refused"  # a function of time gave what cannot be used
    CONTACT_LOST = "contact lost"
    OUTWEIGHED = "outweighed"  # a task stands still off its target, held by other tasks' weights
    OVERLAPPING = "overlapping"  # parts of the robot are inside each other now or in this step
    BAD_STATE = "bad state"
    BUSY = "busy"  # called again from inside of a call
    ERROR = "error"  # an error of our own, caught


@dataclass(frozen=True)
class ControlEvent:
    """One event.

    Args:
        kind: what it is about.
        item: label of the task, contact or constraint; empty for the controller itself.
        detail: in words.
    """

    kind: ControlEventKind
    item: str = ""
    detail: str = ""

    def __str__(self) -> str:
        if self.kind is ControlEventKind.SETTING_REFUSED:
            return f"target of {self.item} refused, the last one stays: {self.detail}"
        if self.kind is ControlEventKind.CONTACT_LOST:
            return f"contact {self.item} lost: {self.detail}"
        return self.detail
