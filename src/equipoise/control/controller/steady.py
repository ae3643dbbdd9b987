"""Tasks that stand still off their targets because others weigh more: told, as the solver calls that optimal."""

from __future__ import annotations

from collections import deque

import numpy as np

from ..events import ControlEvent, ControlEventKind
from .step import ControlStep

LOOK = 0.1  # s between two looks
LOOKS = 6  # that must agree
STILL = 0.03  # of the error: by how much it may change in that time
OFF = 5e-3  # m, rad: errors below are not told
REFUSED = 0.7  # of what a task asks for: how much it must lack
AGAIN = 0.3  # of the error: by how much it must change to be told again


class SteadyWatch:
    """Looks at the errors of tasks now and then."""

    def __init__(self) -> None:
        self._next = -np.inf
        self._seen: dict[str, deque[float]] = {}
        self._told: dict[str, float] = {}

    def look(self, t: float, step: ControlStep) -> tuple[ControlEvent, ...]:
        """Events of tasks that lack most of what they ask for and do not move; step is one that was solved without
        limits."""
        if t < self._next:
            return ()
        self._next = t + LOOK
        events = []
        for label, error in step.errors.items():
            size = float(np.linalg.norm(error))
            seen = self._seen.setdefault(label, deque(maxlen=LOOKS))
            seen.append(size)
            if len(seen) == LOOKS and size > OFF and max(seen) - min(seen) < STILL * size and self._is_new(label, size):
                events += self._outweighed(label, size, step)
        return tuple(events)

    def _is_new(self, label: str, size: float) -> bool:
        return abs(self._told.get(label, np.inf) - size) > AGAIN * size

    def _outweighed(self, label: str, size: float, step: ControlStep) -> list[ControlEvent]:
        shares = step.shares
        share, asked, lacks = shares.get(label, (0.0, 0.0, 0.0))
        if not (lacks > REFUSED * asked > 0 and share > 0):
            return []
        self._told[label] = size
        others = max((name for name in shares if name != label), key=lambda name: shares[name][0], default="others")
        detail = (
            f"{label} stays {size:.3g} (m, rad) off its target: it asks for {asked:.3g} and lacks {lacks:.3g}, as "
            f"{others} pulls the other way; give it more weight, or others less"
        )
        return [ControlEvent(ControlEventKind.OUTWEIGHED, label, detail)]
