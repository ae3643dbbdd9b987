"""Trot: a robot with four or more feet walks as a biped does, on the virtual feet of two groups of legs.

The step plan is the biped's (`step_plan`), with pressure on the line between two feet. Across that line the capture
point is governed by the place and time of the next group alone; along it by pressure too.
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
TURNING = 2.5, 2.0  # rad, that the joints of a leg turn at their largest rates in the usual step, and in the shortest
CALM = 0.05  # of √(g h): how slow a body at rest is
ASTRAY = 0.12  # of the height: how far from home feet may stand at rest


def trotting(body: Body, dt: float, friction: float, constraints: Sequence[Constraint] = ()) -> TrotMachine:
    """What makes a body with an even number of feet, four or more, trot."""
    legs = ManyFeet(body, dt, friction, constraints)
    return TrotMachine(trot_gait(body, legs.places), legs)


def trot_gait(body: Body, places: Array) -> Gait:
    """Times and lengths of a trot, as multiples of 1/ω and h; feet stand at `places`, (n, 3) m."""
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
    """Phases of a trot: those of a walk, but that no weight needs to be shifted before the first step."""

    whole_body: ManyFeet
    climbs: ClassVar[bool] = False
    firm: ClassVar[float] = 1.0
    caught: ClassVar[float] = 1.0
    unhurried: ClassVar[float] = 1.0
    learns: ClassVar[bool] = True

    def __init__(self, gait: Gait, whole_body: ManyFeet) -> None:
        super().__init__(gait, whole_body, whole_body.corners())

    def _shifting(self, seen: Seen, command: Command) -> list[str]:
        """Both groups stand around the same middle: a step can begin at once."""
        self._begin(seen, self.state.stance)
        return []

    def _tidied(self, seen: Seen, middle: Array) -> list[str]:
        """Feet that came to stand elsewhere than they should are brought there once the robot is at rest."""
        s, far = self.state, self.whole_body.astray()
        if np.abs(seen.velocity).max() > CALM * self.gait.rate * self.gait.height:
            s.since = seen.t
        if seen.t - s.since < REST / self.gait.rate or max(far) < ASTRAY * self.gait.height:
            return []
        s.mode, s.since, s.stance = SHIFT, seen.t, int(np.argmin(far))
        return ["brings its feet back"]

    def touched(self, seen: Seen) -> bool:
        """Whether all feet of the swinging group are down; one that is carries while the others go on."""
        s = self.state
        if s.swing is None or seen.t - s.swing.begin < EARLY * (s.swing.end - s.swing.begin):
            return False
        return self.whole_body.touched(1 - s.stance, seen.forces, TOUCHED)
