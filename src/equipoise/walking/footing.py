"""What feet tell of the ground: whether they are on it, on how much of their soles, how it slopes, and whether it is as
expected.

A foot that swings may meet the ground, sooner or later than expected, or something in its way. A foot that has touched
is first trusted under its ankle only: whatever part of the sole touches, the load turns it flat. When the centre of
pressure is felt inside of the sole it carries as a whole; one that stands across an edge carries where it is felt to.
The slope is the median of the soles that settled last, as far as the places of the feet rise with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import hypot

import numpy as np

from .gait import Command, Gait
from .sole import pressed_at
from .state import STEP, Seen, State
from .whole_body import EDGEWISE, WholeBody

Array = np.ndarray
TOUCHED = 0.03  # of the weight: a force with which a foot has touched
EARLY = 0.5  # of the swing: a normal force before this part of it is the start's
SIDEWAYS = 2.0  # of the normal force: more than soles get by friction, even on slopes; something is in the way
FAST = 0.15  # of √(g h): a foot that swings faster does not land
LIFT, ROOM = 0.4, 0.6  # 1/ω: how long a foot goes up over what it met, and what must be left of its swing for that
BACK = 0.02  # of the height, that it withdraws from it
OFTEN = 2  # times in a swing that a foot which touches the ground goes on
SETTLING = 0.4  # 1/ω, after which a sole is trusted whatever is felt
ROLLS, STILL = 2.5, 0.05  # ω: a foot that turns faster rolls; 1/ω: how long it lies still before it is trusted again
INNER = 0.8  # of the sole, in which pressure is inside of it
SURPRISE = 0.025  # of the height: feet that touch so much higher or lower than they were expected to
TIPPED = 6.0  # 1/ω: how long after a push soles may tip, where their forces are not measured
UNEVEN = 0.05  # of slope: soles that settle so much off the slope felt so far
JOLT, HARD = 0.3, 3.0  # 1/ω: how long such a touchdown shakes the body; of the weight: a force that does so too
WARY = 12.0  # 1/ω: how long uneven ground is remembered
SLOWER, HIGHER = 0.7, 1.7  # speed and clearance, of the usual, on such ground
STEEP, TURNING = 0.3, 3.0  # largest slope that is believed; ω: how fast it is taken on
SOLES, LEVEL = 3, 0.03  # whose median is the slope; less is level: soles yield a little
# places of feet that must rise as their soles are tilted; of the height, how far apart they say as much as not. A sole
# across an edge is tilted where the ground is not: the next foot would be held as high above it as the slope says
FOOTHOLDS, SPREAD = 4, 0.1
# of what ankles roll: a sole that is tilted so far to its side stands across an edge, and carries where it is felt to;
# 1/ω: filter of where that is
ASKEW, FELT = 0.75, 0.05


class Footing:
    """Feet of a walker on ground that it does not know.

    Args:
        gait: numbers of the gait. whole_body: that walks. soles: (4, 2) corners of each foot's sole, left first, m.
    """

    def __init__(self, gait: Gait, whole_body: WholeBody, soles: Sequence[Array]) -> None:
        self.gait, self.whole_body, self.soles = gait, whole_body, soles
        self._inner = [(INNER * np.abs(sole).max(axis=0)).tolist() for sole in soles]

    def wary(self, s: State, t: float) -> bool:
        """Whether the ground was uneven a short while ago."""
        return t - s.uneven < WARY / self.gait.rate

    def cautious(self, s: State, t: float, command: Command) -> Command:
        """The command; slower where the ground is uneven."""
        return (
            replace(command, forward=SLOWER * command.forward, left=SLOWER * command.left)
            if self.wary(s, t)
            else command
        )

    def clearance(self, s: State, t: float) -> float:
        """m, under a swinging foot; more where the ground is uneven."""
        return self.gait.clearance * (HIGHER if self.wary(s, t) else 1.0)

    def _surprised(self, s: State, t: float) -> None:
        """The ground is not as expected; feet of a robot that catches itself from a push say nothing."""
        if t - s.pushed > TIPPED / self.gait.rate:
            s.uneven = t

    def jolted(self, s: State, seen: Seen) -> bool:
        """Whether a foot has just touched where the ground was not expected, or hard: its jolt is no push."""
        loads = [float(wrench[2]) for wrench in seen.forces.values()]
        if sum(loads) > HARD * self.whole_body.weight:
            s.jolt = seen.t
        late = JOLT / self.gait.rate
        return s.mode == STEP and (seen.t - s.jolt < late or (self.wary(s, seen.t) and seen.t - s.since < late))

    def feel(self, s: State, seen: Seen, dt: float) -> None:
        """The sole that has landed, and the slope of the ground; before anything is decided."""
        self._carries(s, seen, dt)
        self._settle(s, seen)
        if s.swing is not None and self._lies(s, seen):
            normal = seen.poses[s.stance][:3, 2]
            s.tilt = np.clip(-normal[:2] / max(float(normal[2]), 0.5), -STEEP, STEEP)
        if s.tilts:
            s.slope = s.slope + min(TURNING * dt * self.gait.rate, 1.0) * (s.sloped - s.slope)

    def _carries(self, s: State, seen: Seen, dt: float) -> None:
        """Where a sole that stands across an edge carries: there, and nowhere else, pressure can be."""
        X, wrench = seen.poses[s.stance], seen.forces.get(self.whole_body.feet[s.stance])
        askew = abs(float(X[2, 1]) - float(s.slope @ X[:2, 1])) > ASKEW * self.whole_body.rolls[s.stance]
        if s.mode != STEP or not askew or wrench is None:
            s.felt = None
        elif wrench[2] > TOUCHED * self.whole_body.weight:
            most, last = EDGEWISE * np.abs(self.soles[s.stance]).max(axis=0), np.zeros(2) if s.felt is None else s.felt
            at = np.clip(pressed_at(X, wrench), -most, most)
            s.felt = last + min(dt * self.gait.rate / FELT, 1.0) * (at - last)

    def _lies(self, s: State, seen: Seen) -> bool:
        """Whether the stance foot lies on the ground: its pressure is inside of it, or nothing has pushed it over."""
        wrench = seen.forces.get(self.whole_body.feet[s.stance])
        return seen.t - s.pushed > TIPPED / self.gait.rate if wrench is None else self._inside(seen, s.stance, wrench)

    def note(self, s: State, seen: Seen) -> None:
        """The stance foot as it lay in this step tells the slope, where feet have risen along it; for when the step
        ends."""
        if s.tilt is None:
            return
        if np.abs(s.tilt - s.slope).max() > UNEVEN:
            self._surprised(s, seen.t)
        s.tilts, s.tilt = [*([np.zeros(2)] * SOLES + s.tilts)[1 - SOLES :], s.tilt], None
        s.footholds = [*s.footholds[1 - FOOTHOLDS :], seen.poses[s.stance][:3, 3].copy()]
        soles, rises = np.sort(s.tilts, axis=0)[SOLES // 2], self._rises(s.footholds)  # the median of the soles
        found = np.where(soles * rises > 0, np.sign(soles) * np.minimum(np.abs(soles), np.abs(rises)), 0.0)
        s.sloped = np.where(np.abs(found) > LEVEL, found, 0.0)

    def _rises(self, footholds: Sequence[Array]) -> Array:
        """(2,) slope of the plane nearest to some places of feet; next to level where they are all in one place."""
        places = np.array(footholds) - np.mean(footholds, axis=0)
        level, apart = places[:, :2], (SPREAD * self.gait.height) ** 2
        return np.asarray(np.linalg.solve(level.T @ level + apart * np.eye(2), level.T @ places[:, 2]))

    # --- a foot that swings -------------------------------------------------------------------------------------------

    def met(self, s: State, seen: Seen, foot: int, wrench: Array) -> bool:
        """Whether the swinging foot is on the ground, by its force (6,); one that meets something on its way goes over
        it."""
        swing, weight, rate = s.swing, self.whole_body.weight, self.gait.rate
        assert swing is not None
        aside = float(np.hypot(wrench[0], wrench[1]))
        blocked = not swing.late and aside > max(TOUCHED * weight, SIDEWAYS * float(wrench[2]))
        down = float(wrench[2]) > TOUCHED * weight and seen.t - swing.begin > EARLY * (swing.end - swing.begin)
        if not (blocked or down):
            return False
        fast = not swing.late and float(np.hypot(*swing.state[1, :2])) > FAST * rate * self.gait.height
        if blocked or (fast and s.bumps < OFTEN):
            self._surprised(s, seen.t)
            if seen.t > swing.until - LIFT / 2 / rate:
                back = BACK * self.gait.height * wrench[:2] / aside if blocked else np.zeros(2)
                self._avoid(s, seen, seen.poses[foot][:3, 3] + np.append(back, 0.0))
            return False
        if abs(float(seen.poses[foot][2, 3] - swing.goal[2])) > SURPRISE * self.gait.height:
            self._surprised(s, seen.t)
        s.settling = seen.t
        return True

    def _avoid(self, s: State, seen: Seen, place: Array) -> None:
        """Up and over it where there is time, else down before it."""
        assert s.swing is not None
        s.bumps += 1
        if s.end - seen.t > ROOM / self.gait.rate:
            s.swing.lift_over(place, LIFT / self.gait.rate)
        else:
            s.swing.lower(place)

    def least_left(self, s: State, t: float) -> float:
        """s, that the swing still takes at least, where it has something to go over."""
        return 0.0 if s.swing is None else max(s.swing.until + LIFT / self.gait.rate - t, 0.0)

    # --- a foot that has landed ---------------------------------------------------------------------------------------

    def _settle(self, s: State, seen: Seen) -> None:
        """The whole sole is trusted once pressure is felt inside of it, or has been waited for long enough; a sole that
        rolls is trusted where it is felt to carry, until it lies still."""
        foot = s.stance if s.mode == STEP else s.landed
        wrench = seen.forces.get(self.whole_body.feet[foot])
        if wrench is None:
            return
        if s.felt is not None:
            s.settling, s.rolling = seen.t, False
            self.whole_body.doubt(foot, s.felt)
            return
        rolls = self._rolls(seen, foot, wrench)
        if s.settling is None and rolls:
            s.settling, s.rolling = seen.t, True
        if s.settling is None:
            return
        if s.rolling and rolls:
            s.settling = seen.t
            self.whole_body.doubt(foot, pressed_at(seen.poses[foot], wrench))
        waited = seen.t - s.settling > (STILL if s.rolling else SETTLING) / self.gait.rate
        if waited or not (s.rolling or rolls or not self._inside(seen, foot, wrench)):
            s.settling, s.rolling = None, False
            self.whole_body.trust(foot)

    def _rolls(self, seen: Seen, foot: int, wrench: Array) -> bool:
        """Whether a foot that carries turns about an edge or a line of its sole."""
        loaded = float(wrench[2]) > TOUCHED * self.whole_body.weight
        return loaded and hypot(*(seen.poses[foot][:3, :2].T @ seen.spins[foot])) > ROLLS * self.gait.rate

    def _inside(self, seen: Seen, foot: int, wrench: Array) -> bool:
        """Whether a foot carries something, and not on the edge of its sole."""
        if not wrench[2] > TOUCHED * self.whole_body.weight:
            return False
        (x, y), (most_x, most_y) = pressed_at(seen.poses[foot], wrench), self._inner[foot]
        return bool(abs(x) < most_x and abs(y) < most_y)
