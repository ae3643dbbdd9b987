"""The attempts of the multi-contact strategy, and its report [QO21, Fig. 4.13]."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

Array = np.ndarray


class Kind(StrEnum):
    """The four attempts, in their order."""

    TRY = "try"
    CONTACT = "make contact and try"
    ENLARGE = "enlarge the support and try"
    SLIDE = "slide and try"


class MachineState(StrEnum):
    """What the machine does now."""

    TRY = "try"
    APPROACH = "contact"
    AGAIN = "try again"
    GROW = "area"
    SLIDE = "slide and try"

    @property
    def tries(self) -> bool:
        """Whether the main task counts."""
        return self in (MachineState.TRY, MachineState.AGAIN, MachineState.SLIDE)

    @property
    def touches(self) -> bool:
        """Whether the hand is in contact."""
        return self in (MachineState.AGAIN, MachineState.GROW, MachineState.SLIDE)


@dataclass(frozen=True)
class Attempt:
    """One of the four: how it went."""

    name: Kind
    success: bool
    error: float  # of the task at its best
    seconds: float
    area: float  # m² of the support at its end
    reason: str


@dataclass(frozen=True)
class Report:
    """What came of a multi-contact task."""

    success: bool
    step: int  # 1 to 4: which attempt fulfilled the task; 0 if none
    attempts: tuple[Attempt, ...]
    q: Array
    t: Array  # (N,) of `run`
    path: Array  # (N, nq)

    def __str__(self) -> str:
        lines = [f"{'task done' if self.success else 'task failed'} after {len(self.attempts)} of 4 attempts"]
        lines += [
            f"  {a.name}: {a.reason} (error {a.error:.3g}, support {a.area:.3g} m², {a.seconds:.1f} s)"
            for a in self.attempts
        ]
        return "\n".join(lines)
