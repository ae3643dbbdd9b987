"""What is known of a walk over stances, before it begins, on the way, and after."""

from __future__ import annotations

import numpy as np

from .anchors import Anchors
from .events import EventLog, Outcome
from .route import Route
from .stance import Planned

Array = np.ndarray


class Progress:
    """How far a walk is. `plan`: its stances with their postures. `outcome`: how it stands or ended."""

    plan: list[Planned]
    outcome: Outcome
    log: EventLog
    fallbacks: int  # motions without a dynamic plan, or whose plan was given up
    _route: Route
    _anchors: Anchors

    @property
    def q0(self) -> Array:
        """The posture of the first stance: where to start."""
        return self.plan[0].q

    @property
    def steps(self) -> int:
        """How many steps the whole way has."""
        return self._route.steps

    @property
    def progress(self) -> float:
        """Part of the way that is done, 0 to 1."""
        return 1.0 if self.outcome is Outcome.COMPLETED else self._route.progress

    @property
    def done(self) -> bool:
        """Whether it is over, for better or worse; the robot then is held where it is."""
        return self.outcome.ended

    @property
    def stance(self) -> str:
        """Name of the last stance that was reached."""
        return self._route.stance.name

    @property
    def in_force(self) -> frozenset[str]:
        """Contacts in force now."""
        return frozenset(self._anchors)
