"""Trajectory of a swing foot, smooth to the second derivative, towards a place and time that may change at any moment.

Horizontal position and yaw follow a quintic polynomial from the reference's present position, rate and acceleration
to rest at the goal. The height rises to a clearance at mid-swing and comes down with a landing speed. If there is no
ground at the expected height, the foot continues downwards with increasing speed.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

Array = np.ndarray
LEVEL = [0, 1, 3]  # columns of x, y and yaw
QUINTIC = 5.77  # largest acceleration of a quintic from rest to rest, in distance / time²
LEAST = 0.03  # s; a foot this close to its landing gets no new goal


def quintic(
    x: float, v: float, a: float, goal: float, speed: float, seconds: float, at: float
) -> tuple[float, float, float]:
    """Returns (position, rate, acceleration) after `at` seconds on the quintic polynomial from (x, v, a) to (goal,
    speed, 0).
    """
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
    """A swing foot and its reference.

    Args:
        start: (4,) x, y, z (m) and yaw (rad) at lift-off.
        begin: s, time of lift-off.
        end: s, time of the planned touchdown.
        clearance: m, above the higher of start and goal.
        landing: m/s, speed of descent at touchdown. sinking: m/s², acceleration downwards while the ground is
            missing.

    Attributes:
        state: (3, 4) position, rate and acceleration of x, y, z, yaw at `now`. goal: (4,) target.
        late: whether there was no ground at the expected height.
        over: m, height to which it rises to pass an obstacle, until the time `until`, s. free: m, height below
            which it does not move forward.
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
        """Rises straight up from a place, (3,) m, for some seconds after the foot hit an obstacle, then continues.

        Below half of its clearance above that place the foot does not move forward.
        """
        self.state[0, :3], self.state[1:, :3] = place, 0.0
        self.over, self.free = float(place[2]) + self.clearance, float(place[2]) + self.clearance / 2
        self.until = self.now + seconds

    def lower(self, place: Array) -> None:
        """Goes straight down from a place, (3,) m, after the foot hit an obstacle and has no time to pass it."""
        self.state[0, :3], self.state[1:, :3] = place, 0.0
        self.free, self.late = np.inf, True

    def advance(self, t: float, goal: Array, end: float) -> Array:
        """Returns the reference at t towards a goal (4,) at time `end` as a state (3, 4). Time must not decrease."""
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
        """Advances the height: up to the top at mid-swing, then down to the ground with the landing speed."""
        x, v, a = self.state[:, 2].tolist()
        top = max(max(float(self.start[2]), ground) + self.clearance, self.over)
        rising = max(left - 0.5 * (self.end - self.begin), self.until - self.now)
        if rising > LEAST:
            self.state[:, 2] = quintic(x, v, a, top, 0.0, rising, dt)
        else:
            self.state[:, 2] = quintic(x, v, a, ground, -self.landing, left, dt)

    def _go_on_down(self, dt: float) -> None:
        """Advances a late foot: it keeps its horizontal place and accelerates downwards, since the ground is lower than
        expected.
        """
        speed = max(-float(self.state[1, 2]), self.landing) + dt * self.sinking
        self.state[:, 2] = self.state[0, 2] - dt * speed, -speed, -self.sinking
