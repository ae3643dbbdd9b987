"""A hop: crouch, push-off with both feet, ballistic flight, and landing.

In the push-off the centre of mass rises from a crouch of depth d to the speed ż = v, under the force per mass

    z̈ + g = g (1 − u) + P sin π u,      u = t / T,

which starts at the weight and ends at zero, at take-off. Integration gives v = T (2 P/π − g/2) and d = T² (P/π − g/6),
so that

    g T²/6 + v T − 2 d = 0,             P = π (d/T² + g/6).

In the air only gravity moves the centre of mass, and the angular momentum about it is that of take-off. Straightening
hips and knees gives the body spin (4 N m s on JVRC-1, 9 on Talos). So during the push-off zero angular momentum has a
larger weight than the trunk's orientation, and the trunk turns against the legs. It leans forward in the crouch, so
that knees and ankles bend less. The feet rise with the body, so that knees stay bent, and move to the capture point at
touchdown. The robot lands lower than it took off, so the flight is longer than v = g t/2 gives.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import cos, hypot, pi, sin, sqrt

import numpy as np

from .gait import Gait, Place
from .machine import Machine
from .state import Seen
from .swing import quintic
from .whole_body import WholeBody

Array = np.ndarray
CROUCH, THRUST, FLIGHT, LANDING = "crouch", "thrust", "flight", "landing"
DEPTH = 0.2  # × the standing height: depth of the crouch
TOP = 0.96  # × the standing height: height at take-off
SETTLE = 0.3  # 1/ω; rest in the crouch
DOWN = 3.0  # 1/ω; duration of the way down into the crouch
UP = 4.0  # 1/ω; duration of the rise after landing
FIRM = 1.6  # ω; bandwidth of the horizontal feedback of the centre of mass
LEAN = 0.3  # rad; lean of the trunk in the crouch
CALM = 3e4  # × the usual weight of the angular momentum about the centre of mass, during push-off
LAND = 0.93  # × the height: length of the legs in the air, to land with bent knees
SHORTEST = 0.1  # 1/ω; shortest flight
BRIEFEST = 1e-6  # s; shortest thrust
LIGHT = 0.03  # × the weight: a smaller force is no contact
LATE = 0.6  # fraction of the thrust or flight; contact forces before it belong to the previous phase
PATIENCE = 0.3  # 1/ω; how late a take-off or landing may be
CLEARANCE = 0.03  # fraction of the height: clearance under the feet


@dataclass(frozen=True)
class Thrust:
    """Push-off from a crouch to the speed `speed` (m/s) at take-off, over `depth` (m), under gravity (m/s²)."""

    depth: float
    speed: float
    gravity: float

    @property
    def seconds(self) -> float:
        """Duration T of the push-off, s."""
        # The root is written as a quotient, because a difference would lose all digits at extreme speeds
        v, d = self.speed, self.depth
        return max(4 * d / (hypot(v, sqrt(4 * self.gravity * d / 3)) + v), BRIEFEST)

    def at(self, t: float) -> tuple[float, float, float]:
        """Returns (height above the crouch, rate, acceleration) after t seconds."""
        T, g = self.seconds, self.gravity
        u, P = min(max(t / T, 0.0), 1.0), pi * (self.depth / T**2 + g / 6)
        height = T * T * (P / pi * (u - sin(pi * u) / pi) - g * u**3 / 6)
        return height, T * (P / pi * (1 - cos(pi * u)) - g * u * u / 2), P * sin(pi * u) - g * u


@dataclass
class HopState:
    """State of a hop: everything that changes from call to call.

    Attributes:
        seconds: commanded time in the air. phase: crouch, thrust, flight or landing; since: s, its start.
        com: (3,) m, and velocity: (3,) m/s, of the centre of mass at the start of the phase. ground: m.
        middle: (2,) m, midpoint of the feet at the start.
        feet: places of the feet at take-off. lands: s, planned touchdown. on: feet that have touched down again.
    """

    seconds: float
    phase: str
    since: float
    com: Array
    velocity: Array
    ground: float
    middle: Array
    feet: list[Place] = field(default_factory=list)
    lands: float = 0.0
    on: tuple[int, ...] = ()


class Hopper:
    """Hops of a robot with two flat feet; commands a `WholeBody` until the walking machine continues.

    Attributes:
        state: of the present hop, or None.
    """

    def __init__(self, gait: Gait, whole_body: WholeBody, machine: Machine) -> None:
        self.gait, self.whole_body, self.machine = gait, whole_body, machine
        self.gravity = gait.rate**2 * whole_body.body.height
        self.state: HopState | None = None

    def begin(self, seen: Seen, seconds: float) -> None:
        """Starts a hop from standing."""
        ground, middle = min(float(X[2, 3]) for X in seen.poses), (seen.place(0).xy + seen.place(1).xy) / 2
        self.state = HopState(seconds, CROUCH, seen.t, seen.com, seen.velocity, ground, middle)

    def decide(self, seen: Seen, dt: float) -> list[str]:
        """Runs one call of a hop; returns events to log."""
        s = self.state
        assert s is not None
        act = {CROUCH: self._crouch, THRUST: self._thrust, FLIGHT: self._fly, LANDING: self._land}[s.phase]
        return act(s, seen, dt)

    def _next(self, s: HopState, seen: Seen, phase: str) -> None:
        s.phase, s.since, s.com, s.velocity = phase, seen.t, seen.com.copy(), seen.velocity.copy()

    # --- on the ground ------------------------------------------------------------------------------------------------

    @property
    def _top(self) -> float:
        return TOP * self.whole_body.body.height

    @property
    def _depth(self) -> float:
        return DEPTH * self.whole_body.body.height

    def _crouch(self, s: HopState, seen: Seen, dt: float) -> list[str]:
        down, t = DOWN / self.gait.rate, seen.t - s.since
        if self.machine.leaves(seen, dt):
            self.state = None
            return ["the soles cannot hold it: no hop"]
        goal = np.append(s.middle, s.ground + self._top - self._depth)
        if t > down + SETTLE / self.gait.rate:
            self._next(s, seen, THRUST)
            self.whole_body.calm(CALM)
            return self._thrust(s, seen, dt)
        ends = zip(s.com.tolist(), goal.tolist(), strict=True)
        self._steer(s, seen, np.array([quintic(x, 0.0, 0.0, to, 0.0, down, min(t, down)) for x, to in ends]).T)
        return []

    def _thrust(self, s: HopState, seen: Seen, dt: float) -> list[str]:
        up = Thrust(self._depth, self.gravity * s.seconds / 2, self.gravity)
        T, t, path = up.seconds, seen.t - s.since, np.zeros((3, 3))
        path[0, :2], path[:, 2] = s.middle, up.at(t)
        path[0, 2] += s.ground + self._top - self._depth
        off = t >= LATE * T and self._load(seen) < LIGHT * self.whole_body.weight
        if t >= T + PATIENCE / self.gait.rate:
            self.state = None
            self.whole_body.calm(1.0)
            return ["does not get off the ground: it stands"]
        self._steer(s, seen, path)
        return self._take_off(s, seen) if off or (t >= T and not seen.forces) else []

    def _load(self, seen: Seen) -> float:
        """Returns the load on the feet (N) from their normal forces; infinite if forces are not measured."""
        forces = [seen.forces[role][2] for role in self.whole_body.feet if role in seen.forces]
        return float(sum(forces)) if forces else np.inf

    def _lean(self, s: HopState, seen: Seen, height: float) -> None:
        """Leans the trunk forward in proportion to the crouch, so that knees and ankles bend less."""
        low = (s.ground + self._top - height) / self._depth
        self.whole_body.set_heading(seen.heading, 0.0, LEAN * min(max(low, 0.0), 1.0))

    def _steer(self, s: HopState, seen: Seen, path: Array) -> None:
        """Tracks a path of the centre of mass: position, rate, acceleration, (3, 3)."""
        rate = FIRM * self.gait.rate
        self._lean(s, seen, float(path[0, 2]))
        off, slow = seen.com[:2] - path[0, :2], seen.velocity[:2] - path[1, :2]
        self.whole_body.set_com_path(path[:, 2], path[2, :2] - rate**2 * off - 2 * rate * slow)

    # --- in the air ---------------------------------------------------------------------------------------------------

    def _take_off(self, s: HopState, seen: Seen) -> list[str]:
        self._next(s, seen, FLIGHT)
        s.feet, s.on = [seen.place(0), seen.place(1)], ()
        rise, drop = float(seen.velocity[2]), float(seen.com[2]) - s.ground - LAND * self.whole_body.body.height
        s.lands = seen.t + (rise + sqrt(max(rise * rise + 2 * self.gravity * drop, 0.0))) / self.gravity
        s.lands = max(s.lands, seen.t + SHORTEST / self.gait.rate)
        self.whole_body.fly()
        self.whole_body.calm(1.0)
        return ["takes off"]

    def _fly(self, s: HopState, seen: Seen, dt: float) -> list[str]:
        whole, left = s.lands - s.since, max(s.lands - seen.t, 0.0)
        middle = (s.feet[0].xy + s.feet[1].xy) / 2
        there = seen.xi + seen.velocity[:2] * left  # capture point at touchdown
        for foot, place in enumerate(s.feet):
            if foot not in s.on:
                way = self._arc(s, place, place.xy + there - middle, min(seen.t - s.since, whole), whole)
                self.whole_body.set_swing(foot, way, np.zeros(2))
        self.whole_body.set_com_path(np.array([seen.com[2], seen.velocity[2], -self.gravity]), np.zeros(2))
        return self._touch(s, seen) if seen.t - s.since > LATE * whole else []

    def _arc(self, s: HopState, place: Place, goal: Array, t: float, whole: float) -> Array:
        """Returns position, rate and acceleration, (3, 4), of x, y, z and yaw of a foot in the air: to a goal (2,), up
        and down again.
        """
        h, half, state = self.whole_body.body.height, whole / 2, np.zeros((3, 4))
        apex = float(s.com[2]) + float(s.velocity[2]) ** 2 / (2 * self.gravity)
        top = max(s.ground + CLEARANCE * h, apex - LAND * h)  # legs stay bent at the apex
        for k, (start, to) in enumerate(zip(place.xy.tolist(), goal.tolist(), strict=True)):
            state[:, k] = quintic(start, 0.0, 0.0, to, 0.0, whole, t)
        rises = t < half
        ends = (s.ground, top) if rises else (top, s.ground)
        state[:, 2] = quintic(ends[0], 0.0, 0.0, ends[1], 0.0, half, t if rises else t - half)
        state[0, 3] = place.yaw
        return state

    def _touch(self, s: HopState, seen: Seen) -> list[str]:
        """Makes feet that have touched down contacts. The flight ends when both have, or when one waits too long for
        the other.
        """
        for foot, role in enumerate(self.whole_body.feet):
            wrench = seen.forces.get(role)
            down = seen.t >= s.lands if wrench is None else float(wrench[2]) > LIGHT * self.whole_body.weight
            if down and foot not in s.on:
                s.on = (*s.on, foot)
                self.whole_body.alight(s.on)
        late = seen.t > s.lands + PATIENCE / self.gait.rate
        if len(s.on) < 2 and not late:
            return []
        self.whole_body.alight((0, 1))
        self.machine.state = self.machine.state.anew()
        self._next(s, seen, LANDING)
        return ["lands"]

    # --- on the ground again ------------------------------------------------------------------------------------------

    def _land(self, s: HopState, seen: Seen, dt: float) -> list[str]:
        """Absorbs the rest of the fall, then rises; if the soles cannot hold the robot, stepping continues from
        here.
        """
        leaves = self.machine.leaves(seen, dt)
        p, rate = self.machine.state.pressure, self.gait.rate
        fall, low = max(-float(s.velocity[2]), 0.1 * rate * self.gait.height), float(s.com[2]) - self._depth * 2 / 3
        soft, rise, t = 2 * (float(s.com[2]) - low) / fall, UP / rate, seen.t - s.since
        if leaves or t > soft + rise:
            self.state = None
            return ["stands" if not leaves else "cannot stand where it landed"]
        if t < soft:
            height = quintic(float(s.com[2]), -fall, 0.0, low, 0.0, soft, t)
        else:
            height = quintic(low, 0.0, 0.0, s.ground + self.gait.height, 0.0, rise, t - soft)
        stiff = max(height[2] + self.gravity, 0.0) / max(float(seen.com[2]) - s.ground, 0.1 * self.gait.height)
        self._lean(s, seen, height[0])
        self.whole_body.set_com_path(np.array(height), stiff * (seen.com[:2] - p))
        return []
