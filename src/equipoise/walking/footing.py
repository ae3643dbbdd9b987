"""Detects the ground under the feet: contact, the part of a sole that carries, the slope, and differences from
expectation.

A swing foot may touch the ground earlier or later than expected, or hit an obstacle. After touchdown a foot is first
trusted under its ankle only, so that the load turns it flat whichever part of the sole touched. Once the centre of
pressure is measured inside the sole, the whole sole is trusted. A sole across an edge is trusted where it is
measured to carry. The slope is the median over the last soles that settled, limited to the slope by which the feet's
positions rise.
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
TOUCHED = 0.03  # × the weight: normal force at which a foot has touched
EARLY = 0.5  # fraction of the swing; normal forces before it are remains of lift-off
# × the normal force: a larger horizontal force exceeds the friction of any sole, even on slopes, so an obstacle is in
# the way
SIDEWAYS = 2.0
FAST = 0.15  # × √(g h): a swing foot that moves faster does not land
LIFT = 0.4  # 1/ω; duration of the rise over an obstacle
ROOM = 0.6  # 1/ω; shortest remaining swing in which a foot is sent over an obstacle
BACK = 0.02  # fraction of the height: how far a foot withdraws from an obstacle
OFTEN = 2  # contacts with the ground per swing after which the foot still continues its swing
SETTLING = 0.4  # 1/ω; time after which a sole is trusted without a measurement
ROLLS = 2.5  # ω; a foot that rotates faster is rolling
STILL = 0.05  # 1/ω; how long a rolling foot must be still before it is trusted again
INNER = 0.8  # fraction of the sole that counts as its inside
SURPRISE = 0.025  # fraction of the height: a touchdown that much higher or lower than expected is a surprise
TIPPED = 6.0  # 1/ω; how long after a push soles may tip, if their forces are not measured
UNEVEN = 0.05  # slope: difference between a settled sole and the estimate that makes the ground uneven
JOLT = 0.3  # 1/ω; how long an unexpected or hard touchdown shakes the body
HARD = 3.0  # × the weight: a larger total force is a hard touchdown
WARY = 12.0  # 1/ω; how long uneven ground is remembered
SLOWER = 0.7  # × the commanded speed on uneven ground
HIGHER = 1.7  # × the usual clearance on uneven ground
STEEP = 0.3  # largest slope that is accepted
TURNING = 3.0  # ω; bandwidth of the filter of the slope
SOLES = 3  # number of soles whose median is the slope
LEVEL = 0.03  # slope; smaller values count as level, because soles deform by as much
# A sole across an edge is tilted although the ground is level, and the next foot would be held too high above it. So
# the positions of the last feet must rise with the slope of their soles.
FOOTHOLDS = 4  # number of positions
SPREAD = 0.1  # × the height: regularisation, the spread of positions at which the fitted slope is halved
ASKEW = 0.75  # × the largest roll of the ankle: a sole tilted sideways by more stands across an edge
FELT = 0.05  # 1/ω; time constant of the filter of the centre of pressure of such a sole


class Footing:
    """Feet of a walker on unknown ground.

    Args:
        gait: gait of the body. whole_body: controller of the robot. soles: (4, 2) corners of each foot's sole, left
            first, m.
    """

    def __init__(self, gait: Gait, whole_body: WholeBody, soles: Sequence[Array]) -> None:
        self.gait, self.whole_body, self.soles = gait, whole_body, soles
        self._inner = [(INNER * np.abs(sole).max(axis=0)).tolist() for sole in soles]

    def wary(self, s: State, t: float) -> bool:
        """Returns whether the ground was uneven recently."""
        return t - s.uneven < WARY / self.gait.rate

    def cautious(self, s: State, t: float, command: Command) -> Command:
        """Returns the command, slower on uneven ground."""
        return (
            replace(command, forward=SLOWER * command.forward, left=SLOWER * command.left)
            if self.wary(s, t)
            else command
        )

    def clearance(self, s: State, t: float) -> float:
        """Returns the clearance of a swing foot, m; larger on uneven ground."""
        return self.gait.clearance * (HIGHER if self.wary(s, t) else 1.0)

    def _surprised(self, s: State, t: float) -> None:
        """Records that the ground differs from expectation, unless a recent push explains it."""
        if t - s.pushed > TIPPED / self.gait.rate:
            s.uneven = t

    def jolted(self, s: State, seen: Seen) -> bool:
        """Returns whether a foot has just touched down unexpectedly or hard; such a jolt must not count as a push."""
        loads = [float(wrench[2]) for wrench in seen.forces.values()]
        if sum(loads) > HARD * self.whole_body.weight:
            s.jolt = seen.t
        late = JOLT / self.gait.rate
        return s.mode == STEP and (seen.t - s.jolt < late or (self.wary(s, seen.t) and seen.t - s.since < late))

    def feel(self, s: State, seen: Seen, dt: float) -> None:
        """Updates the trust in the landed sole and the slope of the ground, before any decision of the call."""
        self._carries(s, seen, dt)
        self._settle(s, seen)
        if s.swing is not None and self._lies(s, seen):
            normal = seen.poses[s.stance][:3, 2]
            s.tilt = np.clip(-normal[:2] / max(float(normal[2]), 0.5), -STEEP, STEEP)
        if s.tilts:
            s.slope = s.slope + min(TURNING * dt * self.gait.rate, 1.0) * (s.sloped - s.slope)

    def _carries(self, s: State, seen: Seen, dt: float) -> None:
        """Estimates where a sole across an edge carries, since the centre of pressure can be only there."""
        X, wrench = seen.poses[s.stance], seen.forces.get(self.whole_body.feet[s.stance])
        askew = abs(float(X[2, 1]) - float(s.slope @ X[:2, 1])) > ASKEW * self.whole_body.rolls[s.stance]
        if s.mode != STEP or not askew or wrench is None:
            s.felt = None
        elif wrench[2] > TOUCHED * self.whole_body.weight:
            most, last = EDGEWISE * np.abs(self.soles[s.stance]).max(axis=0), np.zeros(2) if s.felt is None else s.felt
            at = np.clip(pressed_at(X, wrench), -most, most)
            s.felt = last + min(dt * self.gait.rate / FELT, 1.0) * (at - last)

    def _lies(self, s: State, seen: Seen) -> bool:
        """Returns whether the stance foot lies flat: its centre of pressure is inside the sole or, without measured
        forces, no recent push has tipped it.
        """
        wrench = seen.forces.get(self.whole_body.feet[s.stance])
        return seen.t - s.pushed > TIPPED / self.gait.rate if wrench is None else self._inside(seen, s.stance, wrench)

    def note(self, s: State, seen: Seen) -> None:
        """Updates the slope, at the end of a step, from the stance foot while it was flat and from the rise of the
        feet.
        """
        if s.tilt is None:
            return
        if np.abs(s.tilt - s.slope).max() > UNEVEN:
            self._surprised(s, seen.t)
        s.tilts, s.tilt = [*([np.zeros(2)] * SOLES + s.tilts)[1 - SOLES :], s.tilt], None
        s.footholds = [*s.footholds[1 - FOOTHOLDS :], seen.poses[s.stance][:3, 3].copy()]
        soles, rises = np.sort(s.tilts, axis=0)[SOLES // 2], self._rises(s.footholds)  # median of the soles
        found = np.where(soles * rises > 0, np.sign(soles) * np.minimum(np.abs(soles), np.abs(rises)), 0.0)
        s.sloped = np.where(np.abs(found) > LEVEL, found, 0.0)

    def _rises(self, footholds: Sequence[Array]) -> Array:
        """Returns the slope, (2,), of the plane fitted to some positions of feet; nearly level if they are all close
        together.
        """
        places = np.array(footholds) - np.mean(footholds, axis=0)
        level, apart = places[:, :2], (SPREAD * self.gait.height) ** 2
        return np.asarray(np.linalg.solve(level.T @ level + apart * np.eye(2), level.T @ places[:, 2]))

    # --- a foot that swings -------------------------------------------------------------------------------------------

    def met(self, s: State, seen: Seen, foot: int, wrench: Array) -> bool:
        """Returns whether the swing foot has landed, by its wrench (6,); a foot that hits an obstacle is sent over
        it.
        """
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
        """Sends the foot over an obstacle if there is time, otherwise down in front of it."""
        assert s.swing is not None
        s.bumps += 1
        if s.end - seen.t > ROOM / self.gait.rate:
            s.swing.lift_over(place, LIFT / self.gait.rate)
        else:
            s.swing.lower(place)

    def least_left(self, s: State, t: float) -> float:
        """Returns the shortest remaining time of the swing, s, if it has to pass an obstacle."""
        return 0.0 if s.swing is None else max(s.swing.until + LIFT / self.gait.rate - t, 0.0)

    # --- a foot that has landed ---------------------------------------------------------------------------------------

    def _settle(self, s: State, seen: Seen) -> None:
        """Trusts the whole sole once the centre of pressure is measured inside it, or after a waiting time. A rolling
        sole is trusted only where it carries, until it is still.
        """
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
        """Returns whether a loaded foot rotates about an edge or a line of its sole."""
        loaded = float(wrench[2]) > TOUCHED * self.whole_body.weight
        return loaded and hypot(*(seen.poses[foot][:3, :2].T @ seen.spins[foot])) > ROLLS * self.gait.rate

    def _inside(self, seen: Seen, foot: int, wrench: Array) -> bool:
        """Returns whether a foot is loaded, with its centre of pressure inside the sole and not on its edge."""
        if not wrench[2] > TOUCHED * self.whole_body.weight:
            return False
        (x, y), (most_x, most_y) = pressed_at(seen.poses[foot], wrench), self._inner[foot]
        return bool(abs(x) < most_x and abs(y) < most_y)
