"""A plan of the centre of mass over contacts that come and go at given times: its phases, and what is known of it.

`com_program` says how it is found.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from ...balance.contact_wrenches import ContactWrenches
from ...model.types import frozen

Array = np.ndarray
NOTHING = 1e-6  # s: less is no phase


@dataclass(frozen=True, eq=False)
class Phase:
    """Contacts that carry for some time.

    Args:
        name: for people. seconds: how long.
        wrenches: that its contacts can give, less a reserve. whole: without that.
        rest: (3,) m, centre of mass of a posture at rest on them.
        ground: m, height of what it stands on.
    """

    name: str
    seconds: float
    wrenches: ContactWrenches
    whole: ContactWrenches
    rest: Array
    ground: float

    @property
    def without_reserve(self) -> Phase:
        """The same, where contacts give all they can."""
        return replace(self, wrenches=self.whole)


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

    def __post_init__(self) -> None:
        for name in ("times", "com", "velocity", "acceleration"):
            object.__setattr__(self, name, frozen(getattr(self, name)))
        self.of.flags.writeable = False

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

    @property
    def ends(self) -> Array:
        """s, of all phases."""
        return np.cumsum([phase.seconds for phase in self.phases])

    def phases_between(self, begin: float, end: float) -> tuple[Phase, ...]:
        """The phases from one time to another, the first and the last with what is left of them."""
        times = [0.0, *self.ends]
        spans = [min(b, end) - max(a, begin) for a, b in pairwise(times)]
        found = zip(self.phases, spans, strict=True)
        return tuple(replace(phase, seconds=float(span)) for phase, span in found if span > NOTHING)

    def after(self, head: CoMPlan, end: float) -> CoMPlan:
        """Another plan, which ends where this one is at `end` (s), one of its knots, and what follows here."""
        k = int(np.argmin(np.abs(self.times - end)))
        phases = self.phases_between(float(self.times[k]), self.seconds)
        later = self.times[k + 1 :] - self.times[k] + head.seconds
        first = int(self.of[k]) if len(later) else 0
        parts = ((getattr(head, name), getattr(self, name)[k + 1 :]) for name in ("com", "velocity", "acceleration"))
        com, velocity, acceleration = (np.concatenate(pair) for pair in parts)
        of = np.concatenate([head.of, self.of[k:] - first + len(head.phases)])
        times = np.concatenate([head.times, later])
        return CoMPlan((*head.phases, *phases), self.g, times, of, com, velocity, acceleration)


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
