"""A standing controller that steps when necessary: `eq.Standing` combined with a walker.

As long as the centre of pressure can hold the capture point within the soles, it is the standing controller of
`control`. When it cannot, a `Walking` controller of the same body takes over, makes one or more steps, and comes to
rest; then the standing controller continues at the new place.
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
REST = 3.0  # 1/ω; the walker stands for so long before the standing controller continues


class Standing(StandingController):
    """A controller that stands, squats, sways, reaches and looks; call it with (t, q, v), it returns a `Solution`.

    Args:
        robot: from `eq.load`. Fingers are locked: simulate the attribute `robot` of this object.
        body: its `Body`, or the path of its profile; None finds it.
        dt: s, control period.
        friction: coefficient of friction of the ground that the controller assumes.
        constraints: additional constraints, beside torque and joint limits.
        steps: whether it steps when a push exceeds what its soles can hold; this requires two flat feet.

    Attributes:
        robot, body, q0: robot and body as controlled, and its initial configuration.
        walker: controller that makes the steps, or None.
        stepping: whether it is stepping at present.

    Examples:
        >>> import equipoise as eq
        >>> standing = eq.Standing(eq.load("human")).squat(0.1)  # 0.1 m down
        >>> run = eq.simulate(standing.robot, standing, q0=standing.q0, duration=1.5)
        >>> run.outcome, bool(run.com[0, 2] - run.com[-1, 2] > 0.05)
        ('completed', True)
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
        """Resets to standing."""
        super().reset()
        self.stepping = False
        if self.walker is not None:
            self.walker.reset()

    def observe(self, wrenches: Mapping[str, Array]) -> None:
        """Sets the measured contact forces, if the plant has them."""
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
