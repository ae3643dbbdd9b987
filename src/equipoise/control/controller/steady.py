"""Reports tasks whose steady-state error is caused by competing weights; the solver calls such a step optimal."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

import numpy as np

from ..events import ControlEvent, ControlEventKind
from ..tasks.task import Task
from .step import ControlStep

LOOK = 0.1  # s between two looks
LOOKS = 6  # looks that must agree
STILL = 0.03  # × error: the largest change over these looks
OFF = 5e-3  # m, rad: smaller errors are not reported
REFUSED = 0.7  # × commanded acceleration: the least part that the task must lack
AGAIN = 0.3  # × error: the least change after which the task is reported again


class SteadyWatch:
    """Compares the errors of tasks every `LOOK` seconds.

    Tasks that only decide what others leave open, such as the posture, are expected to be outweighed.
    """

    def __init__(self, tasks: Iterable[Task]) -> None:
        self._watched = [task.label for task in tasks if not task.fills_in]
        self._next = -np.inf
        self._seen: dict[str, deque[float]] = {}
        self._told: dict[str, float] = {}

    def look(self, t: float, step: ControlStep) -> tuple[ControlEvent, ...]:
        """Returns an event for each task that lacks most of what it asks for and whose error stays constant.

        Args:
            step: solved, with no constraint active.
        """
        if t < self._next:
            return ()
        self._next = t + LOOK
        events = []
        for label in self._watched:
            if (error := step.errors.get(label)) is None:
                continue
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
