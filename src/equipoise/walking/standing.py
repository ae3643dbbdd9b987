"""Standing that steps when it must: `eq.Standing` with a walker beside it.

While pressure under the soles can hold the capture point, it is the standing controller of `control`. When it no longer
can, a `Walking` of the same body takes over, steps once or several times, and comes to rest; then the standing goes on
from there: its posture and its commands, with the places of the body moved to where the feet are now.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..body.body import Body
from ..control.body_contacts import FRICTION
from ..control.constraints import Constraint
from ..control.controller.solution import Solution
from ..control.standing import StandingController
from .state import STAND
from .walking import FRICTION as UNKNOWN_GROUND
from .walking import Walking

if TYPE_CHECKING:
    from ..robot import Robot

Array = np.ndarray
REST = 3.0  # 1/ω, for which the walker has stood before the standing goes on


class Standing(StandingController):
    """`control.standing.StandingController`, that also steps.

    Args:
        steps: whether it steps when it is pushed farther than its soles can hold; it then needs two flat feet. All
            other arguments are those of the standing controller.

    Attributes:
        walker: what steps; None where it does not.
        stepping: whether it is stepping now.
    """

    def __init__(
        self,
        robot: Robot,
        body: Body | str | Path | None = None,
        *,
        dt: float = 1e-3,
        friction: float = FRICTION,
        constraints: Sequence[Constraint] = (),
        steps: bool = False,
    ) -> None:
        self.walker: Walking | None = None
        self.stepping, self._since = False, 0.0
        super().__init__(robot, body, dt=dt, friction=friction, constraints=constraints)
        if steps:
            cautious = min(friction, UNKNOWN_GROUND)
            self.walker = Walking(self.robot, self.body, dt=dt, friction=cautious, constraints=constraints)

    def reset(self) -> None:
        """Start anew, standing."""
        super().reset()
        self.stepping = False
        if self.walker is not None:
            self.walker.reset()

    def observe(self, wrenches: Mapping[str, Array]) -> None:
        """Measured contact forces, if the plant has them."""
        if self.walker is not None:
            self.walker.observe(wrenches)

    def _control(self, t: float, q: Array, v: Array, usable: bool) -> Solution:
        walker = self.walker
        if walker is not None and usable and not self.stepping and walker.leaves(t, q, v):
            self.stepping, self._since = True, t
        if walker is None or not self.stepping:
            return super()._control(t, q, v, usable)
        solution = walker(t, q, v)
        if not usable:
            return solution
        self.log += [(t, text) for text in (*self._clock.reports, *solution.events) if isinstance(text, str)]
        if walker.mode != STAND:
            self._since = t
        if t - self._since < REST / walker.gait.rate:
            return solution
        self.stepping = False
        self.move_home(t, q)
        walker.reset()
        said = "stands where its steps have brought it, and goes on"
        self.log.append((t, said))
        return replace(solution, events=(*solution.events, said))
