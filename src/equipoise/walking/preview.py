"""Previews the next steps, prescribed or from the command, and measures how far the walk lags behind its command."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp

import numpy as np

from .footsteps import Footstep, before_high, climbs
from .gait import Command, Gait, Place, next_place
from .state import Seen, State
from .step_plan import Wish

Array = np.ndarray
PREVIEW = 5  # number of steps planned ahead
LAG = 0.25  # fraction of the commanded speed: largest correction for lag
CATCH_UP = 0.35  # fraction of the missing speed that each step adds to the correction
SHRINKS = 0.95  # fraction of the shortfall one step before; a smaller shortfall is already closing
FIRM = 300.0  # × the usual weight of a step's place, for a step to a tread
STAIR = 0.3  # fraction of the clearance: a larger change of height makes a step one to a tread
HIGH = 0.1  # fraction of the height; higher treads are climbed with the weight over one foot


class Preview:
    """Previews the steps ahead, from a state of the walk.

    Args:
        gait: gait of the body. climbs: whether a `Climber` takes steps to another height.
    """

    def __init__(self, gait: Gait, climbs: bool) -> None:
        self.gait, self.climbs = gait, climbs

    def wish(self, s: State, seen: Seen, command: Command, seconds: float, whole: float) -> Wish:
        """Returns the next step by the command, with ξ at its end from a preview of steps that ends at rest.

        Args:
            seconds: until the load transfer. whole: s, of this step from touchdown to touchdown.
        """
        stance = seen.place(s.stance)
        places = self.places(s, seen, command, max(whole - seconds, 0.0))
        s.goal_yaw = places[1].yaw
        back, xi = stance.R.T, self._capture_point(places, s.period)
        firm = FIRM if self.rises(s, seen) or s.tidies else 1.0
        return Wish(back @ (places[1].xy - stance.xy), seconds, back @ (xi - places[1].xy), firm)

    def _capture_point(self, places: Sequence[Place], period: float) -> Array:
        """Returns ξ at the touchdown on the second of some places, (2,) m, for which the walk ends at rest between the
        last two; it applies `pendulum.before` from step to step.
        """
        fade, (almost, last) = exp(-self.gait.rate * period), places[-2:]
        x, y = (last.x + almost.x) / 2, (last.y + almost.y) / 2
        for place in reversed(places[1:-1]):
            x, y = place.x + (x - place.x) * fade, place.y + (y - place.y) * fade
        return np.array([x, y])

    def places(self, s: State, seen: Seen, command: Command, since: float) -> list[Place]:
        """Returns the stance foot and the places after it, prescribed or from the command, `since` seconds into the
        step.
        """
        swing, stance = 1 - s.stance, seen.place(s.stance)
        if given := self.given(s, seen, swing):
            s.goal_height = given[0].height
            return [stance, *(step.place for step in given)]
        s.goal_height = None
        fast = Command(command.forward + float(s.lag[0]), command.left + float(s.lag[1]), command.turn)
        places, foot, heading = [stance], swing, s.heading - command.turn * since
        for _ in range(1 if command.still and not s.goes_on else PREVIEW):
            places.append(next_place(places[-1], foot, fast, self.gait, heading, s.pace * s.period))
            foot, heading = 1 - foot, places[-1].yaw
        return places

    def given(self, s: State, seen: Seen, foot: int) -> list[Footstep]:
        """Returns the prescribed steps from one of `foot` on, up to the first that must be climbed."""
        queue, least = s.queue[:PREVIEW], HIGH * self.gait.height if self.climbs else np.inf
        if not queue or queue[0].foot != foot:
            return []
        return before_high(queue, float(seen.poses[1 - foot][2, 3]), least)

    def rises(self, s: State, seen: Seen) -> bool:
        """Returns whether the prescribed step goes to another height; such a step is slower and exactly at its
        place.
        """
        foot = 1 - s.stance
        if not s.queue or s.queue[0].foot != foot:
            return False
        start = float(seen.poses[foot][2, 3] if s.swing is None else s.swing.start[2])
        return climbs(s.queue[0], (start, float(seen.poses[s.stance][2, 3])), STAIR * self.gait.clearance)

    def high(self, step: Footstep, heights: Sequence[float]) -> bool:
        """Returns whether a `Climber` must take the step, from feet at some heights, m."""
        return self.climbs and climbs(step, heights, HIGH * self.gait.height)

    def measure(self, s: State, seen: Seen, command: Command) -> None:
        """Measures, from one stride to the next, how far the walk lags behind the commanded speed.

        A shortfall that is already closing is not integrated; otherwise the walk would overshoot its speed after
        each start.
        """
        asked = np.array([command.forward, command.left])
        s.trail = [*s.trail[-3:], (seen.t, seen.com[:2].copy())]
        # While the command changes, the measured speed does not tell its effect
        if command.still or not np.array_equal(asked, s.asked):
            s.trail, s.lag, s.asked = s.trail[-1:], np.zeros(2), asked
        if len(s.trail) < 4:
            return
        before, now = (asked - self._speed(s, command, k) for k in (0, 1))
        missing = np.where(np.abs(now) < SHRINKS * np.abs(before), 0.0, now)
        most = LAG * np.hypot(*asked)
        s.lag = np.clip(s.lag + CATCH_UP * missing, -most, most)

    def _speed(self, s: State, command: Command, k: int) -> Array:
        """Returns the speed forward and left, (2,) m/s, of the stride that ended two touchdowns after the k-th of the
        trail.
        """
        (start, old), (end, new) = s.trail[k], s.trail[k + 2]
        turn = s.heading - command.turn * (s.trail[-1][0] - (start + end) / 2)
        return Place(0.0, 0.0, turn).R.T @ (new - old) / (end - start)
