"""State machine of the walk: standing, shifting and stepping, with the stance foot and the centre of pressure.

    stand ── a command ──► shift ── ξ is near the stance foot ──► step ◄──┐ touchdown, and more to go
      │ ▲                                                          │ └────┘
      │ └──────────────── touchdown, no command, ξ between ◄───────┘
      └── ξ leaves the soles ──► step, with the foot on the other side

A step begins at the touchdown of its stance foot. During the load transfer both feet carry; then the other foot
swings.
"""

from __future__ import annotations

from math import expm1, hypot
from typing import ClassVar

import numpy as np

from ..balance.support import support_polygon
from .footing import EARLY, Footing
from .gait import UNHURRIED, Command, Gait, Place
from .pendulum import after_shift, before, within
from .preview import STAIR, Preview
from .state import SHIFT, STAND, STEP, Seen, State, wrapped
from .step_plan import Flight, StepPlan, StepPlanner
from .swing import Swing
from .whole_body import MIDDLE, WholeBody

Array = np.ndarray
USED = 0.85  # fraction of the sole for the centre of pressure without a recent push; on edges of treads soles tip
STILL = 1.5  # ω; gain of the capture point in standing
SOON = 0.2  # 1/ω; how far ahead the capture point is extrapolated
WATCH = 0.05  # 1/ω; time constant of the filter of its rate
PATIENCE = 2.0  # 1/ω; longest weight shift before the first step
QUIET = 0.1  # × the width (and × width ω): largest offset (and speed) of a robot at rest
REST = 1.0  # 1/ω; time at rest before displaced feet are brought together
TOGETHER = 0.15  # × the width: feet displaced by more are brought together
STOPPING = 0.6  # fraction of the soles in whose hull the capture point must be for standing
LAST = 0.01  # s; shortest time to the next event that is planned for
SHOVE = 0.35  # × √(g h): a rate of ξ that differs more from the pendulum's is a push
AHEAD = 0.14  # 1/ω; expected remaining duration of a push
LATE = 0.1  # 1/ω; time that is added for a foot that has not found the ground in time
SOFTLY = 2.0  # ω; rate at which the centre of mass adapts to another height of the ground
RISING = 0.1  # × √(g h): largest speed of this adaptation
FOLLOW = 10.0  # ω; rate at which the centre of mass follows a late foot down
DROP = 2.0  # × the depth of a late foot below its goal: drop of the centre of mass
# m; a late foot that stays this far above its reference is on the ground, if forces are not measured
STOPPED = 3e-3
SLOWLY = 3.0  # m/s²; acceleration downwards of a foot that misses the ground after a push
CLOSING = 0.15  # 1/ω; so long before touchdown place and time of a step are frozen, unless a push is detected
STAYS = 1e-6  # × the largest acceleration of a foot: almost no freedom, for a frozen step
CALM = 0.9  # 1/ω; shortest step without a recent push
HURRY = 6.0  # 1/ω; time after a push in which steps are hurried
# × the usual weight of the pelvis's orientation after a push, since tilted hips bring feet down late and tilted
PELVIS = 4.0
CLIMB = 1.5  # × the usual duration, for a step to a tread
SHIFT_RATE = 0.2  # fraction of the last step's error that updates the shift of the capture point
FARTHEST_SHIFT = 0.1  # fraction of the height: largest error of a step that is used
PACE = 0.3  # fraction of the last step's duration in the running mean


class Machine:
    """Phases of a walk; commands a `WholeBody`.

    Args:
        gait: gait of the body. whole_body: controller of the robot. soles: (4, 2) corners of each foot's sole, left
            first, m.
    """

    climbs: ClassVar[bool] = True  # whether a `Climber` takes steps to another height
    # × the usual weight of the trunk's orientation while walking without a push, since nearly straight legs would tilt
    # it
    firm: ClassVar[float] = 4.0
    # × the usual weight of trunk and centre of mass after a push, since the reaction of a leg that is thrown to its
    # place would accelerate the body
    caught: ClassVar[float] = 2.0
    unhurried: ClassVar[float] = UNHURRIED
    learns: ClassVar[bool] = False  # whether the step plan uses the mean error of the pendulum in previous steps

    def __init__(self, gait: Gait, whole_body: WholeBody, soles: list[Array]) -> None:
        self.gait, self.whole_body, self.soles = gait, whole_body, soles
        self.planners = [StepPlanner(gait, side, soles[1 - k]) for k, side in enumerate((1.0, -1.0))]
        self.preview = Preview(gait, self.climbs)
        self.footing = Footing(gait, whole_body, soles)
        self.state = State()

    def decide(self, seen: Seen, command: Command, dt: float) -> list[str]:
        """Runs one call: commands centre of pressure, torso and swing foot; returns events to log."""
        s = self.state
        moved = not s.command.still
        command = s.command = self.gait.towards(s.command, self.footing.cautious(s, seen.t, command), dt)
        # A foot beyond mid-swing cannot be redirected to where the robot could stop, so the next step does that.
        if moved and command.still:
            s.goes_on = s.swing is not None and s.end - seen.t < s.period / 2
        s.period = self.gait.period_of(command) * (CLIMB if self.preview.rises(s, seen) else 1.0)
        self._watch(seen, dt)
        self.footing.feel(s, seen, dt)
        if s.mode != STAND:
            s.heading += command.turn * dt
        act = {STAND: self._standing, SHIFT: self._shifting, STEP: self._stepping}[s.mode]
        said = act(seen, command)
        self._rise(seen, dt)
        self._face(seen)
        return said

    def _rise(self, seen: Seen, dt: float) -> None:
        """Commands the height of the centre of mass above the ground, and its acceleration by the centre of pressure:
        c̈ = ω² (c − p).
        """
        s, rate = self.state, self.gait.rate
        heights = [float(X[2, 3]) for X in seen.poses]
        ground = heights[s.stance] if s.mode == STEP else sum(heights) / 2
        quick = SOFTLY
        if s.swing is not None and self._late(seen.t):
            ground, quick = ground - DROP * max(float(s.swing.goal[2] - s.swing.state[0, 2]), 0.0), FOLLOW
        if s.ground is None:
            s.ground = ground
        most = dt * rate * self.gait.height * (RISING if quick == SOFTLY else np.inf)
        s.ground += min(max(min(quick * dt * rate, 1.0) * (ground - s.ground), -most), most)
        height = self.gait.height - self.gait.drop(s.command)
        self.whole_body.set_com(s.ground + height, rate**2 * (seen.com[:2] - s.pressure))

    def _face(self, seen: Seen) -> None:
        """Turns the torso to the mean yaw of the feet."""
        s = self.state
        yaws, rate = [seen.place(0).yaw, seen.place(1).yaw], 0.0
        if s.swing is not None:
            yaws[1 - s.stance], rate = float(s.swing.state[0, 3]), float(s.swing.state[1, 3]) / 2
        self.whole_body.set_heading(yaws[0] + wrapped(yaws[1] - yaws[0]) / 2, rate)

    # --- both feet ----------------------------------------------------------------------------------------------------

    def _standing(self, seen: Seen, command: Command) -> list[str]:
        """Drives the capture point to the middle by the centre of pressure; starts a step if it cannot, or on
        command.
        """
        s, middle = self.state, self._hold(seen)
        if self._leaves(seen):
            return self._catch(seen)
        if self.preview.given(s, seen, s.queue[0].foot if s.queue else 0):
            s.mode, s.since, s.stance = SHIFT, seen.t, 1 - s.queue[0].foot
            return ["starts to walk"]
        if command.still:
            return self._tidied(seen, middle)
        aside = command.left or command.turn
        s.mode, s.since, s.stance = SHIFT, seen.t, 0 if aside < 0 else 1
        return ["starts to walk"]

    def _hold(self, seen: Seen) -> Array:
        """Commands the centre of pressure that drives the capture point to the midpoint of the feet; returns the
        midpoint, (2,) m.
        """
        s, places = self.state, (seen.place(0), seen.place(1))
        if s.hull is None:
            points = [sole @ place.R.T + place.xy for sole, place in zip(self.soles, places, strict=True)]
            s.hull = support_polygon(np.concatenate(points)).rows
            s.heading = seen.heading
        middle = (places[0].xy + places[1].xy) / 2
        s.pressure = within(*s.hull, middle, seen.xi + STILL * (seen.xi - middle))
        return np.asarray(middle)

    def _tidied(self, seen: Seen, middle: Array) -> list[str]:
        """Starts a step that brings displaced feet together once the robot is at rest."""
        s, width = self.state, self.gait.width
        if (
            np.abs(seen.xi - middle).max() > QUIET * width
            or np.abs(seen.velocity).max() > QUIET * width * self.gait.rate
        ):
            s.since = seen.t
        if seen.t - s.since < REST / self.gait.rate or np.abs(self._apart(seen)).max() < TOGETHER * width:
            return []
        s.mode, s.since, s.tidies = SHIFT, seen.t, True
        return ["brings its feet together"]

    def _apart(self, seen: Seen) -> Array:
        """Returns the offset, (2,) m, of the left foot from its nominal place beside the right one."""
        a, b = seen.place(0), seen.place(1)
        return b.R.T @ (a.xy - b.xy) - np.array([0.0, self.gait.width])

    def leaves(self, seen: Seen, dt: float) -> bool:
        """Returns the result of `_leaves` for a robot that another controller holds in standing."""
        self._watch(seen, dt)
        self._hold(seen)
        return self._leaves(seen)

    def _leaves(self, seen: Seen) -> bool:
        """Returns whether the centre of pressure cannot turn the capture point back, now or shortly."""
        assert self.state.hull is not None
        normals, offsets = self.state.hull
        return float((offsets - normals @ self._soon(seen)).min()) < 0.0

    def _soon(self, seen: Seen) -> Array:
        """Returns the capture point a moment ahead, extrapolated with its rate."""
        return np.asarray(seen.xi + SOON / self.gait.rate * self.state.drift)

    def _shoved(self, seen: Seen) -> Array:
        """Returns the capture point after the present push has gone on a little longer."""
        return np.asarray(seen.xi + AHEAD / self.gait.rate * self._push * self.state.shove)

    @property
    def _push(self) -> float:
        """Confidence that the robot is being pushed: 0 while ξ's unexplained rate is within that of touchdowns, 1 from
        twice that on.
        """
        least = SHOVE * self.gait.rate * self.gait.height
        return min(max(hypot(*self.state.shove) / least - 1.0, 0.0), 1.0)

    def _watch(self, seen: Seen, dt: float) -> None:
        """Filters the capture point's rate and detects pushes; sets the stiffness of arms and trunk accordingly."""
        s = self.state
        if s.last is not None:
            part, rate = min(dt * self.gait.rate / WATCH, 1.0), (seen.xi - s.last) / dt
            s.drift = s.drift + part * (rate - s.drift)
            s.predicted = s.predicted + dt * self.gait.rate * (s.predicted - s.pressure)
            s.shove = s.shove + part * (rate - self.gait.rate * (s.last - s.pressure) - s.shove)
            if self.footing.jolted(s, seen):
                s.shove = np.zeros(2)
            s.pushed = seen.t if self._push > 0.0 else s.pushed
        braced = self._hurried(seen.t)
        firm = s.mode != STAND and not braced
        if (braced, firm) != (s.braced, s.firm):
            s.braced, s.firm = braced, firm
            self.whole_body.brace(braced)
            caught = self.caught if braced else 1.0
            self.whole_body.stiffen(self.firm if firm else caught, PELVIS if braced else 1.0, caught)
        s.last = seen.xi

    def _catch(self, seen: Seen) -> list[str]:
        """Starts a step at once. The foot towards which the body falls is the stance foot; the other one swings."""
        s, (left, right) = self.state, (seen.place(0).xy, seen.place(1).xy)
        falls = float((self._soon(seen) - (left + right) / 2) @ (left - right))
        self._begin(seen, 0 if falls > 0 else 1)
        s.transfer, s.tidies = 0.0, False
        return [f"the capture point leaves the soles: a step with the {self.whole_body.steppers[1 - s.stance]}"]

    def _shifting(self, seen: Seen, command: Command) -> list[str]:
        """Moves the centre of pressure under the future swing foot until the capture point is near the future stance
        foot.
        """
        s, gait = self.state, self.gait
        stance, side = seen.place(s.stance), 1.0 if s.stance == 1 else -1.0
        period = min(s.period, gait.period)  # for a longer period ξ would have to stop over the stance foot
        wish = self.preview.wish(s, seen, command, period, period)
        start = before(wish.place + wish.offset, np.zeros(2), gait.rate, period - gait.transfer / 2)
        assert s.hull is not None
        s.pressure = within(*s.hull, stance.xy, seen.place(1 - s.stance).xy)
        if self._leaves(seen):
            return self._catch(seen)
        inward = side * float((stance.R.T @ (seen.xi - stance.xy))[1])
        if inward <= side * float(start[1]) or seen.t - s.since > PATIENCE / gait.rate:
            self._begin(seen, s.stance)
        return []

    # --- a step -------------------------------------------------------------------------------------------------------

    def _begin(self, seen: Seen, stance: int) -> None:
        """Starts the load transfer to a foot; the other one will swing."""
        s = self.state
        s.mode, s.stance, s.since, s.swing, s.plan, s.hull = STEP, stance, seen.t, None, None, None
        s.origin, s.steps, s.felt, s.goes_on, s.predicted = s.pressure, s.steps + 1, None, False, seen.xi
        s.transfer = self.gait.hurried if self._hurried(seen.t) else self.gait.transfer

    def _planned(self, seen: Seen, command: Command) -> StepPlan | None:
        """Returns the plan for the rest of the step, or None."""
        s, gait, stance = self.state, self.gait, seen.place(self.state.stance)
        since = seen.t - s.since
        wait, ahead = s.transfer - since, self._shoved(seen) + _axes(s.heading) @ s.shift
        if wait > 0.0:  # until the load transfer is complete
            to = stance.xy if s.plan is None else stance.xy + stance.R @ s.plan.pressure
            ahead = after_shift(ahead, s.pressure, to, gait.rate, wait)
        half, now = s.transfer / 2, max(since, s.transfer)
        left = max(s.period - now, LAST) + half
        wish = self.preview.wish(s, seen, command, left, s.period)
        foot = self._flight(seen, stance, left - half if s.plan is None else s.end - max(seen.t, s.since + s.transfer))
        least = max(LATE / gait.rate if self._late(seen.t) else LAST, self.footing.least_left(s, seen.t))
        shortest, used = (gait.shortest, 1.0) if s.braced else (max(gait.shortest, CALM / gait.rate), USED)
        used = used if s.felt is None else MIDDLE
        soonest = max(shortest - now, least)
        latest = max(foot.seconds, soonest) if self._lands(seen.t) else max(gait.longest - now, 2 * least)
        times = soonest + half, latest + half
        return self.planners[1 - s.stance].plan(stance.R.T @ (ahead - stance.xy), wish, *times, foot, used, s.felt)

    def _lands(self, t: float) -> bool:
        """Returns whether the swing foot is about to land as planned, so that no plan may redirect it."""
        s = self.state
        return s.swing is not None and not (s.braced or s.swing.late) and s.end - t < CLOSING / self.gait.rate

    def _hurried(self, t: float) -> bool:
        """Returns whether a push was detected recently."""
        return t - self.state.pushed < HURRY / self.gait.rate

    def _late(self, t: float) -> bool:
        """Returns whether the swing foot misses the ground, so that it continues down and the body follows. Not while
        the robot recovers from a push.
        """
        return self.state.swing is not None and self.state.swing.late and not self._hurried(t)

    def _flight(self, seen: Seen, stance: Place, seconds: float) -> Flight:
        """Returns the reference of the present or future swing foot."""
        s, back = self.state, stance.R.T
        times = seconds, s.transfer / 2, 1.0 if s.braced else self.unhurried
        if s.swing is None:
            return Flight(back @ (seen.place(1 - s.stance).xy - stance.xy), np.zeros(2), *times)
        if self._lands(seen.t):
            return Flight(back @ (s.swing.goal[:2] - stance.xy), np.zeros(2), *times[:2], STAYS)
        return Flight(back @ (s.swing.state[0, :2] - stance.xy), back @ s.swing.state[1, :2], *times)

    def _stepping(self, seen: Seen, command: Command) -> list[str]:
        s = self.state
        since, plan = seen.t - s.since, self._planned(seen, command)
        if plan is not None:
            s.plan, s.end = plan, max(seen.t, s.since + s.transfer) + plan.seconds - s.transfer / 2
        stance = seen.place(s.stance)
        target = stance.xy if s.plan is None else stance.xy + stance.R @ s.plan.pressure
        if since < s.transfer:
            part = since / s.transfer
            s.pressure = (1 - part) * s.origin + part * target
            self.whole_body.share(s.stance, part, sudden=s.steps == 1)
            return []
        s.pressure = target
        if s.swing is None:
            s.swing = self._lifted(seen)
        if self.touched(seen):
            return self._touch_down(seen, command)
        self._follow(seen, stance)
        return []

    def _lifted(self, seen: Seen) -> Swing:
        s, foot = self.state, 1 - self.state.stance
        self.whole_body.lift(foot)
        place, z = seen.place(foot), float(seen.poses[foot][2, 3])
        start, clearance = np.array([place.x, place.y, z, place.yaw]), self.footing.clearance(s, seen.t)
        swing = Swing(start, seen.t, s.end, clearance, self.gait.landing)
        swing.sinking = SLOWLY if self._hurried(seen.t) else swing.sinking
        if s.goal_height is not None and s.goal_height - z > STAIR * swing.clearance:
            swing.free = s.goal_height + STAIR * swing.clearance  # first up along the riser
        return swing

    def _follow(self, seen: Seen, stance: Place) -> None:
        """Advances the reference of the swing foot towards the planned place."""
        s = self.state
        if s.swing is None or s.plan is None:
            return
        if (lands := self._lands(seen.t)) or (s.swing.late and self._hurried(seen.t)):
            end = s.end if lands else seen.t
            self.whole_body.set_swing(1 - s.stance, s.swing.advance(seen.t, s.swing.goal, end), s.slope)
            return
        x, y = stance.R @ s.plan.place + stance.xy
        yaw = float(s.swing.start[3]) + wrapped(s.goal_yaw - float(s.swing.start[3]))
        level = float(seen.poses[s.stance][2, 3] + s.slope @ (np.array([x, y]) - stance.xy))
        goal = np.array([x, y, level if s.goal_height is None else s.goal_height, yaw])
        self.whole_body.set_swing(1 - s.stance, s.swing.advance(seen.t, goal, s.end), s.slope)

    def touched(self, seen: Seen) -> bool:
        """Returns whether the swing foot has touched down, by its force, or by its position if forces are not
        measured.
        """
        s, foot = self.state, 1 - self.state.stance
        if s.swing is None:
            return False
        wrench = seen.forces.get(self.whole_body.feet[foot])
        if wrench is not None:
            return self.footing.met(s, seen, foot, wrench)
        if seen.t - s.swing.begin < EARLY * (s.swing.end - s.swing.begin):
            return False
        z = float(seen.poses[foot][2, 3])
        return z - float(s.swing.goal[2]) < 1e-3 or (s.swing.late and z - float(s.swing.state[0, 2]) > STOPPED)

    def _touch_down(self, seen: Seen, command: Command) -> list[str]:
        """Handles a touchdown: stands if that is commanded and possible, otherwise starts the next step."""
        s, landed = self.state, 1 - self.state.stance
        self.footing.note(s, seen)
        if s.felt is not None or s.rolling:
            self.whole_body.trust(s.stance)
            s.felt, s.rolling = None, False
        self.whole_body.land(landed)
        if s.settling is not None:
            self.whole_body.doubt(landed)
        s.swing, s.bumps, s.landed, s.tidies = None, 0, landed, False
        took = min(max(seen.t - s.since, self.gait.shortest), self.gait.longest)
        s.pace += PACE * (took / s.period - s.pace)
        self._learn(seen, took)
        self.preview.measure(s, seen, command)
        if s.queue and s.queue[0].foot == landed:
            s.heading = s.queue.pop(0).place.yaw
        if command.still and not self.preview.given(s, seen, 1 - landed) and self._can_stand(seen):
            s.mode, s.hull, s.plan, s.steps, s.since = STAND, None, None, 0, seen.t
            return ["stands"]
        self._begin(seen, landed)
        self.whole_body.share(landed, 0.0)
        return []

    def _learn(self, seen: Seen, took: float) -> None:
        """Estimates the part of this step's motion that the pendulum does not explain, for the next steps.

        Delayed drives, joint friction and errors of the mass distribution act like a centre of pressure displaced
        from the planned one: ξ̇ = ω (ξ + d − p). After a step of T = `took`, ξ differs from the prediction by d
        (e^(ωT) − 1).
        """
        s, most = self.state, FARTHEST_SHIFT * self.gait.height
        if self.learns and not self._hurried(seen.t):
            off = (seen.xi - s.predicted) / expm1(self.gait.rate * took)
            s.shift = s.shift + SHIFT_RATE * (np.clip(_axes(s.heading).T @ off, -most, most) - s.shift)

    def _can_stand(self, seen: Seen) -> bool:
        """Returns whether the centre of pressure alone can bring the capture point to rest between the feet."""
        places = seen.place(0), seen.place(1)
        points = np.concatenate([STOPPING * sole @ p.R.T + p.xy for sole, p in zip(self.soles, places, strict=True)])
        return float(support_polygon(points).margin(seen.xi)) > 0


def _axes(heading: float) -> Array:
    """Returns the rotation (2, 2) from forward and left of a walk to the world's axes."""
    return Place(0.0, 0.0, heading).R
