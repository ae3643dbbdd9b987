"""Trot: a robot with four or more feet walks like a biped on the virtual feet of two groups of legs.

The step plan is the biped's (`step_plan`), with the centre of pressure on the line between two feet. Across that
line only the place and time of the next group control the capture point; along it the centre of pressure does too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from ..body.body import Body
from ..control.constraints import Constraint
from .footing import EARLY, TOUCHED
from .gait import Command, Gait, slowest_joint
from .leg_reach import reach_of_groups
from .machine import REST, SHIFT, Machine, Seen
from .many_feet import ManyFeet
from .swing import QUINTIC

Array = np.ndarray
TURNING = 2.5, 2.0  # rad, travel of a leg's joints at their largest rates in the usual step and in the shortest one
CALM = 0.05  # fraction of √(g h): a slower body is at rest
ASTRAY = 0.12  # fraction of the height: feet farther than this from home are brought back at rest


def trotting(body: Body, dt: float, friction: float, constraints: Sequence[Constraint] = ()) -> TrotMachine:
    """Creates the machine by which a body with an even number of feet, four or more, trots."""
    legs = ManyFeet(body, dt, friction, constraints)
    return TrotMachine(trot_gait(body, legs.places), legs)


def trot_gait(body: Body, places: Array) -> Gait:
    """Returns times and lengths of a trot, scaled by 1/ω and h, for feet that stand at `places`, (n, 3) m."""
    rate, height, slowest = body.gains.rate, body.height, slowest_joint(body)
    period, shortest, transfer = (
        max(1.4 / rate, TURNING[0] / slowest),
        max(0.9 / rate, TURNING[1] / slowest),
        0.15 / rate,
    )
    reach = reach_of_groups(body, places)
    far = np.array([reach.ahead + reach.behind, reach.widest - reach.nearest])
    return Gait(
        rate=rate, height=height, width=0.0, period=period, shortest=shortest, longest=period + 0.8 / rate,
        transfer=transfer, hurried=transfer, clearance=0.1 * height, landing=0.05 * body.gains.speed,
        push_off=QUINTIC * far / (shortest - transfer) ** 2, reach=reach,
    )  # fmt: skip


class TrotMachine(Machine):
    """Phases of a trot. They are those of a walk, except that no weight needs to be shifted before the first step."""

    whole_body: ManyFeet
    climbs: ClassVar[bool] = False
    firm: ClassVar[float] = 1.0
    caught: ClassVar[float] = 1.0
    unhurried: ClassVar[float] = 1.0
    learns: ClassVar[bool] = True

    def __init__(self, gait: Gait, whole_body: ManyFeet) -> None:
        super().__init__(gait, whole_body, whole_body.corners())

    def _shifting(self, seen: Seen, command: Command) -> list[str]:
        """Starts a step at once, since both groups of feet stand around the same midpoint."""
        self._begin(seen, self.state.stance)
        return []

    def _tidied(self, seen: Seen, middle: Array) -> list[str]:
        """Starts a step that brings displaced feet back to their places once the robot is at rest."""
        s, far = self.state, self.whole_body.astray()
        if np.abs(seen.velocity).max() > CALM * self.gait.rate * self.gait.height:
            s.since = seen.t
        if seen.t - s.since < REST / self.gait.rate or max(far) < ASTRAY * self.gait.height:
            return []
        s.mode, s.since, s.stance = SHIFT, seen.t, int(np.argmin(far))
        return ["brings its feet back"]

    def touched(self, seen: Seen) -> bool:
        """Returns whether all feet of the swinging group have touched down. A foot that has touched carries weight
        while the others are still in swing.
        """
        s = self.state
        if s.swing is None or seen.t - s.swing.begin < EARLY * (s.swing.end - s.swing.begin):
            return False
        return self.whole_body.touched(1 - s.stance, seen.forces, TOUCHED)
