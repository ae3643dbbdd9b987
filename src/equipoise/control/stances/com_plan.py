"""A plan of the centre of mass over contacts that come and go at given times: its phases, and what is known of it.

`com_program` says how it is found.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...balance.contact_wrenches import ContactWrenches

Array = np.ndarray
NOTHING = 1e-6  # s: less is no phase


@dataclass(frozen=True, eq=False)
class Phase:
    """Contacts that carry for some time.

    Args:
        name: for people. seconds: how long.
        wrenches: that its contacts can give.
        rest: (3,) m, centre of mass of a posture at rest on them.
        ground: m, height of what it stands on.
    """

    name: str
    seconds: float
    wrenches: ContactWrenches
    rest: Array
    ground: float


@dataclass(frozen=True, eq=False)
class CoMPlan:
    """Where the centre of mass should be; at rest after its end.

    Attributes:
        phases: that it was made for. g: m/s².
        times: (N,) s, of knots, from the beginning. of: (N − 1,) index of the phase of each interval.
        com, velocity, acceleration: (N, 3) there.
        reason: why there is no such motion; empty where it is good.
        rounds: of cutting planes. cuts: rows of the cones that came in.
    """

    phases: tuple[Phase, ...]
    g: float
    times: Array
    of: Array
    com: Array
    velocity: Array
    acceleration: Array
    reason: str = ""
    rounds: int = 0
    cuts: int = 0

    @property
    def converged(self) -> bool:
        """Whether it obeys all it should."""
        return not self.reason

    @property
    def seconds(self) -> float:
        """How long it takes."""
        return float(self.times[-1])

    def at(self, t: float) -> Array:
        """Place, velocity and acceleration of the centre of mass, (3, 3), t seconds after the beginning."""
        t = min(max(t, 0.0), self.seconds)
        k = min(int(np.searchsorted(self.times, t, side="right")) - 1, len(self.times) - 2)
        s, h = t - self.times[k], self.times[k + 1] - self.times[k]
        c, v, a = self.com[k], self.velocity[k], self.acceleration[k]
        jerk = (self.acceleration[k + 1] - a) / h
        return np.array([c + s * (v + s * (a / 2 + s * jerk / 6)), v + s * (a + s * jerk / 2), a + s * jerk])

    def phase_at(self, t: float) -> Phase:
        """In which phase it is then."""
        k = int(np.searchsorted(self.times, min(max(t, 0.0), self.seconds), side="right")) - 1
        return self.phases[self.of[min(k, len(self.of) - 1)]]

    def rate(self, t: float) -> float:
        """ω, 1/s."""
        motion = self.at(t)
        return float(np.sqrt((self.g + motion[2, 2]) / (motion[0, 2] - self.phase_at(t).ground)))

    def pressure(self, t: float) -> Array:
        """p with c̈ = ω² (c − p), (2,) m."""
        c, _, a = self.at(t)[:, :2]
        return c - a / self.rate(t) ** 2

    def capture_point(self, t: float) -> Array:
        """ξ = c + ċ / ω, (2,) m."""
        c, v, _ = self.at(t)[:, :2]
        return c + v / self.rate(t)

    def left_from(self, t: float) -> tuple[Phase, ...]:
        """The phases from then on, the first with what is left of it."""
        left, begin = [], 0.0
        for phase in self.phases:
            end = begin + phase.seconds
            if end - t > NOTHING:
                left.append(replace(phase, seconds=end - max(t, begin)))
            begin = end
        return tuple(left)


@dataclass(frozen=True, eq=False)
class Course:
    """A plan under way.

    Args:
        motion: the plan as it was made before anything moved; its clock is that of the steps.
        start: s, when that clock was at zero.
        plan: in force, and `since` when (s); another one after a push, or a contact that was made late.
        offset: (3,) m, by which slips moved all places.
    """

    motion: CoMPlan
    start: float
    plan: CoMPlan
    since: float
    offset: Array

    def at(self, t: float) -> Array:
        """Place, velocity and acceleration of the centre of mass at time t, (3, 3)."""
        motion = self.plan.at(t - self.since)
        motion[0] += self.offset
        return motion
