"""Where the next steps should go: the steps that were given, or those of the command; and how far the walk lags."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp

import numpy as np

from .footsteps import Footstep, before_high, climbs
from .gait import Command, Gait, Place, next_place
from .state import Seen, State
from .step_plan import Wish

Array = np.ndarray
PREVIEW = 5  # steps
LAG, CATCH_UP = 0.25, 0.35  # of the speed asked for, at most; of what is missing, in each step
SHRINKS = 0.95  # of the shortfall one step before: a shortfall below this is already closing
FIRM, STAIR = 300.0, 0.3  # weight of the place of a step to a tread, of the usual; of the clearance, that makes it one
HIGH = 0.1  # of the height: higher treads are climbed with the weight over one foot


class Preview:
    """Steps ahead, from a state of the walk.

    Args:
        gait: of the body. climbs: whether steps to another height are left to a `Climber`.
    """

    def __init__(self, gait: Gait, climbs: bool) -> None:
        self.gait, self.climbs = gait, climbs

    def wish(self, s: State, seen: Seen, command: Command, seconds: float, whole: float) -> Wish:
        """The step by the command, and ξ when it ends, from a preview of steps that ends at rest.

        Args:
            seconds: until weight changes feet. whole: s, of this step from touchdown to touchdown.
        """
        stance = seen.place(s.stance)
        places = self.places(s, seen, command, max(whole - seconds, 0.0))
        s.goal_yaw = places[1].yaw
        back, xi = stance.R.T, self._capture_point(places, s.period)
        firm = FIRM if self.rises(s, seen) or s.tidies else 1.0
        return Wish(back @ (places[1].xy - stance.xy), seconds, back @ (xi - places[1].xy), firm)

    def _capture_point(self, places: Sequence[Place], period: float) -> Array:
        """ξ when the second of some places is stepped on, so that it ends at rest between the last two: (2,) m, by
        `pendulum.before` from step to step."""
        fade, (almost, last) = exp(-self.gait.rate * period), places[-2:]
        x, y = (last.x + almost.x) / 2, (last.y + almost.y) / 2
        for place in reversed(places[1:-1]):
            x, y = place.x + (x - place.x) * fade, place.y + (y - place.y) * fade
        return np.array([x, y])

    def places(self, s: State, seen: Seen, command: Command, since: float) -> list[Place]:
        """The stance foot and the places after it, those that were given or those of the command, `since` s into the
        step."""
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
        """Steps that were given for a foot and those after it, up to the first that must be climbed."""
        queue, least = s.queue[:PREVIEW], HIGH * self.gait.height if self.climbs else np.inf
        if not queue or queue[0].foot != foot:
            return []
        return before_high(queue, float(seen.poses[1 - foot][2, 3]), least)

    def rises(self, s: State, seen: Seen) -> bool:
        """Whether the step that is given goes to another height: it is taken slower, and just where it was given."""
        foot = 1 - s.stance
        if not s.queue or s.queue[0].foot != foot:
            return False
        start = float(seen.poses[foot][2, 3] if s.swing is None else s.swing.start[2])
        return climbs(s.queue[0], (start, float(seen.poses[s.stance][2, 3])), STAIR * self.gait.clearance)

    def high(self, step: Footstep, heights: Sequence[float]) -> bool:
        """Whether a step is one for the `Climber`, from feet at some heights, m."""
        return self.climbs and climbs(step, heights, HIGH * self.gait.height)

    def measure(self, s: State, seen: Seen, command: Command) -> None:
        """How far the walk lags behind what was asked for, from one stride to the next.

        A shortfall that is already closing is not integrated: a walk would overshoot its speed after each start.
        """
        asked = np.array([command.forward, command.left])
        s.trail = [*s.trail[-3:], (seen.t, seen.com[:2].copy())]
        if command.still or not np.array_equal(asked, s.asked):  # while it changes, what came of it says little
            s.trail, s.lag, s.asked = s.trail[-1:], np.zeros(2), asked
        if len(s.trail) < 4:
            return
        before, now = (asked - self._speed(s, command, k) for k in (0, 1))
        missing = np.where(np.abs(now) < SHRINKS * np.abs(before), 0.0, now)
        most = LAG * np.hypot(*asked)
        s.lag = np.clip(s.lag + CATCH_UP * missing, -most, most)

    def _speed(self, s: State, command: Command, k: int) -> Array:
        """(2,) m/s forward and left, of a stride of the trail that ended two touchdowns after the k-th."""
        (start, old), (end, new) = s.trail[k], s.trail[k + 2]
        turn = s.heading - command.turn * (s.trail[-1][0] - (start + end) / 2)
        return Place(0.0, 0.0, turn).R.T @ (new - old) / (end - start)
