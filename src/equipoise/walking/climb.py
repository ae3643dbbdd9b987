"""Steps to high treads: quasi-static, with the centre of mass over the stance foot.

A leg that lifts the body by a tread bends its knee by a right angle and more. With the trunk upright and the centre
of pressure in the middle of the sole, this takes more torque than most knees have: 160 N m on JVRC-1, whose knees
have 100. Three measures shorten the knee's lever arm: the centre of pressure towards the toes, a trunk that leans
forward, and arms held out in front, which move the hips back. The trailing leg also lifts in double support, as far
as its length allows. So each step has two phases,

    shift   double support: the centre of mass moves over the future stance foot, and up as far as the legs reach
    climb   single support: the body rises above the foot; the other foot goes up along the riser and onto the tread

and the height still missing above the stance foot determines the lean, the shift to the toes and the arms. The
centre of mass c tracks its path by feedback of the capture point ξ = c + ċ/ω [EOA15]:

    p = c_to − c̈_to/ω² + (1 + k) (ξ − ξ_to),       c̈ = ω² (c − p),        ω² = g / (height above the stance foot).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np

from ..balance.support import support_polygon
from .arms import arms_ahead
from .gait import Gait
from .legs import LegStretch
from .machine import STAIR, Machine
from .pendulum import divergent, within
from .state import Seen, wrapped
from .swing import QUINTIC, Swing, quintic
from .whole_body import WholeBody

Array = np.ndarray
SHIFTING, SWINGING, RESTING = "shift", "climb", "rest"
GAIN = 1.5  # k, gain of the capture point
ROOM = 0.08  # fraction of the height: offset of the centre of pressure that accelerates the centre of mass
SHORTEST = 2.5  # 1/ω; shortest shift
LIFT = 3.4  # 1/ω; duration of a swing
PATIENCE = 3.0  # 1/ω; a shift ends at the latest so long after its planned end
NEAR = 0.35  # × half a sole: a shift ends when ξ is this close to its goal
STRAIGHT = 0.985  # fraction of a leg's length: longest extension in the stance phase
LEAN = 3.0  # rad per height that the body is too low
MOST = 0.45  # rad; largest lean
TOES = 0.5  # × half a sole: how far the centre of pressure is ahead of the middle at the largest lean
RISE = 0.6  # ω; bandwidth of the height of the centre of mass
TURN = 2.0  # ω; bandwidth of the lean of the trunk
ARMS = 0.5  # fraction of the arm posture with the centre of mass farthest forward, at the largest lean
TRUNK = 30.0  # × the usual weight of the trunk's orientation, because its lean reduces the knee torque
UNLOAD = 0.5  # fraction of a shift after which the swing foot is unloaded


@dataclass
class ClimbState:
    """State of a step to another height: everything that changes from call to call.

    Attributes:
        phase: shift, climb, or rest after the last step; since: s, its start; seconds: its duration.
        stance: stance foot, 0 left, 1 right. start: (2,) m, centre of mass at the start of the phase.
        height: m, commanded height of the centre of mass, and rate: m/s. lean: rad.
    """

    phase: str
    since: float
    seconds: float
    stance: int
    start: Array
    height: float
    rate: float = 0.0
    lean: float = 0.0


class Climber:
    """Takes prescribed steps to another height; commands a `WholeBody` until the machine continues.

    Attributes:
        state: of the present step, or None.
    """

    def __init__(self, gait: Gait, whole_body: WholeBody, machine: Machine) -> None:
        self.gait, self.whole_body, self.machine = gait, whole_body, machine
        self.gravity = gait.rate**2 * whole_body.body.height
        self.legs = [LegStretch.of(whole_body.body, role) for role in whole_body.feet] if machine.climbs else []
        self.upright = whole_body.body.standing
        self.ahead = arms_ahead(whole_body.body)
        self.state: ClimbState | None = None

    def due(self, seen: Seen) -> bool:
        """Returns whether the next prescribed step is a high one."""
        queue, heights = self.machine.state.queue, [float(X[2, 3]) for X in seen.poses]
        return bool(queue) and self.machine.preview.high(queue[0], heights)

    def begin(self, seen: Seen) -> None:
        """Starts the step from standing."""
        self.whole_body.stiffen(TRUNK)
        self.state = ClimbState(SHIFTING, seen.t, 0.0, 0, seen.com[:2].copy(), float(seen.com[2]))
        self._shift(seen, self.state)

    def decide(self, seen: Seen, q: Array, dt: float) -> list[str]:
        """Runs one call of a climb; returns events to log."""
        s = self.state
        assert s is not None
        self.machine.footing.feel(self.machine.state, seen, dt)
        act = {SHIFTING: self._shifting, SWINGING: self._swinging, RESTING: self._resting}[s.phase]
        return act(s, seen, q, dt)

    # --- both feet ----------------------------------------------------------------------------------------------------

    def _shift(self, seen: Seen, s: ClimbState) -> None:
        """Starts the load transfer to the foot that does not take the next step."""
        s.stance = 1 - self.machine.state.queue[0].foot
        s.seconds = self._seconds(seen, self._over(seen, s.stance, TOES))
        s.phase, s.since, s.start = SHIFTING, seen.t, seen.com[:2].copy()

    def _seconds(self, seen: Seen, goal: Array) -> float:
        """Returns the duration (s) of the centre of mass's motion to a goal, (2,) m."""
        far, rate = float(np.hypot(*(goal - seen.com[:2]))), self.gait.rate
        return max(SHORTEST / rate, sqrt(QUINTIC * far / (ROOM * self.gait.height)) / rate)

    def _over(self, seen: Seen, stance: int, toes: float) -> Array:
        """Returns a place, (2,) m, ahead of the middle of a sole by the fraction `toes` of half its length."""
        place, half = seen.place(stance), float(np.abs(self.machine.soles[stance][:, 0]).max())
        return np.asarray(place.xy + place.R @ np.array([toes * half, 0.0]))

    def _shifting(self, s: ClimbState, seen: Seen, q: Array, dt: float) -> list[str]:
        t, stance = seen.t - s.since, s.stance
        goal = self._over(seen, stance, self._toes(s, seen))
        top = float(seen.com[2]) + min(leg.room(q, goal - seen.com[:2], STRAIGHT) for leg in self.legs)
        self._rise(s, seen, min(top, self._top(seen, stance)), self._travel(s, seen, goal), dt)
        self.whole_body.share(stance, min(max((t / s.seconds - UNLOAD) / (1 - UNLOAD), 0.0), 1.0), sudden=True)
        near = NEAR * np.abs(self.machine.soles[stance]).max(axis=0)
        there = bool((np.abs(seen.place(stance).R.T @ (seen.xi - goal)) < near).all())
        if t > s.seconds and (there or t > s.seconds + PATIENCE / self.gait.rate):
            self._lift(s, seen)
        return []

    def _resting(self, s: ClimbState, seen: Seen, q: Array, dt: float) -> list[str]:
        """Raises the body upright above the midpoint between the feet; then the machine continues."""
        acceleration = self._travel(s, seen, (seen.place(0).xy + seen.place(1).xy) / 2)
        self._rise(s, seen, self._top(seen, s.stance), acceleration, dt)
        if seen.t - s.since < s.seconds + SHORTEST / self.gait.rate:
            return []
        self.state = None
        self.whole_body.stiffen(1.0)
        self.whole_body.set_posture(self.upright)
        return ["stands on another height"]

    def _travel(self, s: ClimbState, seen: Seen, goal: Array) -> Array:
        """Returns the acceleration, (2,) m/s², of the centre of mass on its path to a goal, (2,) m, in double
        support.
        """
        t, ends = min(seen.t - s.since, s.seconds), zip(s.start.tolist(), goal.tolist(), strict=True)
        path = np.array([quintic(x, 0.0, 0.0, to, 0.0, s.seconds, t) for x, to in ends]).T
        return self._steer(s, seen, path, self._hull(seen, (0, 1)))

    # --- one foot -----------------------------------------------------------------------------------------------------

    def _lift(self, s: ClimbState, seen: Seen) -> None:
        m, foot = self.machine.state, 1 - s.stance
        step, place, z = m.queue[0], seen.place(foot), float(seen.poses[foot][2, 3])
        s.phase, s.since, s.seconds, s.start = SWINGING, seen.t, LIFT / self.gait.rate, seen.com[:2].copy()
        self.whole_body.lift(foot)
        m.stance, m.end, m.bumps = s.stance, seen.t + s.seconds, 0
        start = np.array([place.x, place.y, z, place.yaw])
        m.swing = Swing(start, seen.t, m.end, self.gait.clearance, self.gait.landing)
        assert step.height is not None
        if step.height - z > STAIR * self.gait.clearance:
            m.swing.free = step.height + STAIR * self.gait.clearance  # first up along the riser

    def _swinging(self, s: ClimbState, seen: Seen, q: Array, dt: float) -> list[str]:
        m, foot = self.machine.state, 1 - s.stance
        assert m.swing is not None
        goal = self._over(seen, s.stance, self._toes(s, seen))
        stays = np.array([goal, np.zeros(2), np.zeros(2)])
        acceleration = self._steer(s, seen, stays, self._hull(seen, (s.stance,)))
        self._rise(s, seen, self._top(seen, s.stance), acceleration, dt)
        if self.machine.touched(seen):
            return self._touch_down(s, seen, foot)
        step = m.queue[0]
        yaw = float(m.swing.start[3]) + wrapped(step.place.yaw - float(m.swing.start[3]))
        to = np.array([step.place.x, step.place.y, step.height, yaw])
        self.whole_body.set_swing(foot, m.swing.advance(seen.t, to, m.end), np.zeros(2))
        return []

    def _touch_down(self, s: ClimbState, seen: Seen, foot: int) -> list[str]:
        m = self.machine.state
        self.whole_body.land(foot)
        self.whole_body.doubt(foot)
        m.swing, m.landed, m.settling = None, foot, seen.t
        m.queue.pop(0)
        if self.due(seen):
            self._shift(seen, s)
            return []
        middle = (seen.place(0).xy + seen.place(1).xy) / 2
        s.phase, s.since, s.seconds, s.start = RESTING, seen.t, self._seconds(seen, middle), seen.com[:2].copy()
        return []

    # --- the body -----------------------------------------------------------------------------------------------------

    def _top(self, seen: Seen, stance: int) -> float:
        """Returns the final height (m) of the centre of mass above its stance foot."""
        return float(seen.poses[stance][2, 3]) + self.gait.height

    def _low(self, s: ClimbState, seen: Seen) -> float:
        """Returns how far the body is below its final height, from 0 to 1, where 1 is the largest lean."""
        return min(max(LEAN / MOST * (self._top(seen, s.stance) - s.height) / self.gait.height, 0.0), 1.0)

    def _toes(self, s: ClimbState, seen: Seen) -> float:
        return TOES * self._low(s, seen)

    def _hull(self, seen: Seen, feet: tuple[int, ...]) -> tuple[Array, Array]:
        """Returns the rows of the support polygon of some soles."""
        places = [seen.place(k) for k in feet]
        points = [self.machine.soles[k] @ at.R.T + at.xy for k, at in zip(feet, places, strict=True)]
        return support_polygon(np.concatenate(points)).rows

    def _steer(self, s: ClimbState, seen: Seen, path: Array, hull: tuple[Array, Array]) -> Array:
        """Returns the acceleration, (2,) m/s², by which the centre of mass tracks a path (3, 2), with the centre of
        pressure inside a hull.
        """
        m, height = self.machine.state, float(seen.com[2]) - float(seen.poses[s.stance][2, 3])
        stiff = self.gravity / max(height, 0.5 * self.gait.height)
        rate = sqrt(stiff)
        off = divergent(seen.com, seen.velocity, rate) - path[0] - path[1] / rate
        inside = self._over(seen, s.stance, 0.0)
        m.pressure = within(*hull, inside, path[0] - path[2] / stiff + (1 + GAIN) * off)
        return np.asarray(stiff * (seen.com[:2] - m.pressure))

    def _rise(self, s: ClimbState, seen: Seen, goal: float, acceleration: Array, dt: float) -> None:
        """Advances height, towards a goal (m), and lean by one step; the horizontal acceleration is given, (2,)
        m/s².
        """
        k = RISE * self.gait.rate
        up = k * k * (goal - s.height) - 2 * k * s.rate
        s.rate += dt * up
        s.height += dt * s.rate
        s.lean += min(TURN * dt * self.gait.rate, 1.0) * (MOST * self._low(s, seen) - s.lean)
        self.whole_body.set_com_path(np.array([s.height, s.rate, up]), acceleration)
        self.whole_body.set_posture(self.upright + ARMS * s.lean / MOST * (self.ahead - self.upright))
        self.whole_body.set_heading(seen.heading, 0.0, s.lean)
