"""The way of a swinging foot: smooth to the second derivative, to a place and a time that may change at any moment.

Level and in yaw it is a polynomial of fifth degree from where the foot's reference is, with its rate and acceleration,
to rest at the goal. In height it rises to a clearance at mid-swing and comes down with a landing speed; where the
ground is missing it goes on down, faster and faster.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

Array = np.ndarray
LEVEL = [0, 1, 3]  # x, y and yaw
QUINTIC = 5.77  # largest acceleration of a quintic from rest to rest, in distance / time²
LEAST = 0.03  # s: a foot that is so near to its landing is not sent elsewhere


def quintic(
    x: float, v: float, a: float, goal: float, speed: float, seconds: float, at: float
) -> tuple[float, float, float]:
    """(place, rate, acceleration) after `at` seconds on the polynomial of fifth degree from (x, v, a) to (goal, speed,
    0)."""
    T, s = seconds, at
    d = goal - x
    c3 = (20 * d - (8 * speed + 12 * v) * T - 3 * a * T * T) / (2 * T**3)
    c4 = (-30 * d + (14 * speed + 16 * v) * T + 3 * a * T * T) / (2 * T**4)
    c5 = (12 * d - 6 * (speed + v) * T - a * T * T) / (2 * T**5)
    place = x + s * (v + s * (a / 2 + s * (c3 + s * (c4 + s * c5))))
    rate = v + s * (a + s * (3 * c3 + s * (4 * c4 + s * 5 * c5)))
    return place, rate, a + s * (6 * c3 + s * (12 * c4 + s * 20 * c5))


@dataclass
class Swing:
    """A foot in the air.

    Args:
        start: (4,) x, y, z (m) and yaw (rad) where it left the ground.
        begin: s, when it did.
        end: s, when it should touch.
        clearance: m, above the higher of start and goal.
        landing: m/s, with which it comes down. sinking: m/s², by which it is faster where the ground is missing.

    Attributes:
        state: (3, 4) place, rate and acceleration of x, y, z, yaw at `now`. goal: (4,) where it goes.
        late: whether the ground was missing where it should be.
        over: m, height it goes to over what it met, until a time, `until`, s. free: m, below which it does not go
            forward.
    """

    start: Array
    begin: float
    end: float
    clearance: float
    landing: float
    sinking: float = 8.0
    late: bool = field(init=False, default=False)
    over: float = field(init=False, default=-np.inf)
    free: float = field(init=False, default=-np.inf)
    until: float = field(init=False, default=-np.inf)
    state: Array = field(init=False)
    now: float = field(init=False)
    goal: Array = field(init=False)

    def __post_init__(self) -> None:
        self.state = np.zeros((3, 4))
        self.state[0] = self.start
        self.now, self.goal = self.begin, self.start

    def lift_over(self, place: Array, seconds: float) -> None:
        """The foot met something on its way: straight up from a place (3,) m, for so long, then on.

        Below half of its clearance above that place it does not go forward.
        """
        self.state[0, :3], self.state[1:, :3] = place, 0.0
        self.over, self.free = float(place[2]) + self.clearance, float(place[2]) + self.clearance / 2
        self.until = self.now + seconds

    def lower(self, place: Array) -> None:
        """The foot met something and has no time to go over it: straight down from a place (3,) m."""
        self.state[0, :3], self.state[1:, :3] = place, 0.0
        self.free, self.late = np.inf, True

    def advance(self, t: float, goal: Array, end: float) -> Array:
        """The reference at t on the way to a goal (4,) at time `end`: state (3, 4). Times do not go back."""
        dt = t - self.now
        if dt <= 0.0:
            return self.state
        if end - self.now > LEAST or self.late:
            self.goal, self.end = goal, end
        left = self.end - self.now
        self.late = self.late or left <= dt
        if left > dt:
            if self.state[0, 2] >= self.free:
                self.free = -np.inf
            for k in LEVEL if self.free == -np.inf else LEVEL[2:]:
                x, v, a = self.state[:, k].tolist()
                self.state[:, k] = quintic(x, v, a, float(self.goal[k]), 0.0, left, dt)
        else:
            self.state[1:, LEVEL] = 0.0
        if self.late:
            self._go_on_down(dt)
        else:
            self._height(dt, left, float(self.goal[2]))
        self.now = t
        return self.state

    def _height(self, dt: float, left: float, ground: float) -> None:
        """Up to the top at mid-swing, then down to the ground with the landing speed."""
        x, v, a = self.state[:, 2].tolist()
        top = max(max(float(self.start[2]), ground) + self.clearance, self.over)
        rising = max(left - 0.5 * (self.end - self.begin), self.until - self.now)
        if rising > LEAST:
            self.state[:, 2] = quintic(x, v, a, top, 0.0, rising, dt)
        else:
            self.state[:, 2] = quintic(x, v, a, ground, -self.landing, left, dt)

    def _go_on_down(self, dt: float) -> None:
        """No ground where it should be: the foot keeps its place and goes on down, faster and faster: it is late
        already."""
        speed = max(-float(self.state[1, 2]), self.landing) + dt * self.sinking
        self.state[:, 2] = self.state[0, 2] - dt * speed, -speed, -self.sinking
