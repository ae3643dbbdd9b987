"""Points and obstacles that stand, move and breathe, from random starts: is a distance ever below zero, at a sample or
in between?

Points have exact motions between samples, so that what is measured is the theory and nothing else. The commands pull
into the obstacle all the time.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..control.safety.vfi import (
    Gains,
    admits,
    approach_speed,
    continuous_bound,
    rigid_variation,
    second_order_bound,
)

Array = np.ndarray
SCENES = ("plane", "sphere", "capsule")
BETWEEN = 10  # looks within a step
RESERVE = 1.3  # accelerations are assumed this much larger than the last estimate of them
# of the fastest approach: starts on the edge of the theory stay on its inner side in spite of rounding
ONLY_JUST = 1e-9
PASSES = 6  # of the margin and the acceleration it asks for, which depend on each other
ENTERED = 1e-6  # m: less is rounding
WILD = 1e4  # m/s² or rad/s²: beyond it nothing is admitted
DRAG = 4.0  # 1/s: speeds stay near 2 m/s
PULL = 8.0  # m/s² or rad/s², of the command


@dataclass(frozen=True)
class SafetyOutcome:
    """What became of many starts."""

    scene: str
    moving: bool
    step: float  # s
    starts: int
    admitted: int  # starts for which every assumption of the theorem held all the time
    looks: int  # at the distance, at and between samples
    worst: float  # m, least clearance of those admitted
    demand: float  # largest part of what the theorem allows to be asked for that was asked for

    @property
    def good(self) -> bool:
        """Whether nothing was entered, some starts counted, and no more was asked for than the theorem allows."""
        return self.admitted > 0 and self.worst >= -ENTERED and self.demand <= 1 + ENTERED


# --- worlds -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Oscillation:
    """x₀ + a sin(ω t + φ) of many obstacles, with the derivatives."""

    centre: Array
    amplitude: Array
    omega: Array
    phase: Array

    @classmethod
    def random(cls, rng: np.random.Generator, centre: Array, size: float) -> Oscillation:
        shape = (len(centre), 1)
        omega, phase = rng.uniform(0.5, 4.0, shape), rng.uniform(0, 2 * np.pi, shape)
        amplitude = size * rng.uniform(-1, 1, centre.shape)
        return cls(centre - amplitude * np.sin(phase), amplitude, omega, phase)  # starts at `centre`

    def at(self, t: float) -> tuple[Array, Array, Array]:
        angle, a, w = self.omega * t + self.phase, self.amplitude, self.omega
        return self.centre + a * np.sin(angle), a * w * np.cos(angle), -a * w**2 * np.sin(angle)

    @property
    def jerk(self) -> Array:
        """Bound of the third derivative's length."""
        return np.linalg.norm(self.amplitude * self.omega**3, axis=-1)


@dataclass(frozen=True)
class ClearanceRates:
    """A clearance x of many points: x, ẋ = n·(v − ċ) − ḋ_safe and ẍ = n·a + drift."""

    x: Array
    n: Array
    rate: Array
    drift: Array
    relative: Array  # velocity
    away: Array  # acceleration of the obstacle
    to_end: Array  # m along the axis to where the side of a capsule becomes its end


@dataclass(frozen=True)
class World:
    """Planes with normal e, spheres, or capsules with half axis e, around centres that move; a safe distance that
    breathes."""

    scene: str
    e: Array
    radius: Array
    place: Oscillation
    safe: Oscillation

    def offset(self, p: Array, c: Array) -> Array:
        """From the core to the point."""
        r = p - c
        if self.scene == "plane":
            return dot(r, self.e)[:, None] * self.e
        if self.scene == "capsule":
            along = np.clip(dot(r, self.e) / dot(self.e, self.e), -1, 1)
            return r - along[:, None] * self.e
        return r

    def clearance(self, p: Array, t: float) -> Array:
        r = self.offset(p, self.place.at(t)[0])
        length = dot(r, self.e) if self.scene == "plane" else np.linalg.norm(r, axis=-1) - self.radius
        return length - self.safe.at(t)[0][:, 0]

    def seen(self, p: Array, v: Array, t: float) -> ClearanceRates:
        (c, c_rate, c_second), (_, s_rate, s_second) = self.place.at(t), self.safe.at(t)
        r, w = self.offset(p, c), v - c_rate
        length = np.linalg.norm(r, axis=-1)
        n = self.e if self.scene == "plane" else r / length[:, None]
        across = w - dot(w, n)[:, None] * n
        if self.scene == "capsule":
            side = np.abs(dot(p - c, self.e)) < dot(self.e, self.e)
            across = np.where(
                side[:, None], across - (dot(across, self.e) / dot(self.e, self.e))[:, None] * self.e, across
            )
        to_end = np.abs(np.abs(dot(p - c, self.e)) / np.linalg.norm(self.e, axis=-1) - np.linalg.norm(self.e, axis=-1))
        bend = 0.0 if self.scene == "plane" else dot(across, across) / length
        rate = dot(n, w) - s_rate[:, 0]
        return ClearanceRates(
            self.clearance(p, t), n, rate, bend - dot(n, c_second) - s_second[:, 0], w, c_second, to_end
        )

    @property
    def core(self) -> Array | float:
        """Least distance from the core while x ≥ 0."""
        return np.inf if self.scene == "plane" else self.radius


def dot(a: Array, b: Array) -> Array:
    return np.einsum("...i,...i->...", a, b)


def unit_vectors(rng: np.random.Generator, count: int) -> Array:
    x = rng.normal(size=(count, 3))
    return x / np.linalg.norm(x, axis=1, keepdims=True)


# --- gains and starts -------------------------------------------------------------------------------------------------


def random_gains(rng: np.random.Generator, count: int, dt: float) -> tuple[Gains, Array]:
    """Gains up to the fastest that the step admits, and braking that half of the rows limit."""
    slow = rng.uniform(1.0, 8.0, count)
    fast = np.minimum(slow * 10 ** rng.uniform(0, 1.3, count), 1 / dt)
    braking = np.where(rng.random(count) < 0.5, np.inf, rng.uniform(2, 20, count))
    return Gains.of_rates(slow, fast), braking


def random_approach(rng: np.random.Generator, x: Array, gains: Gains, braking: Array) -> Array:
    """Rates that the theory admits, a third of them only just."""
    part = np.where(rng.random(x.size) < 1 / 3, ONLY_JUST - 1, rng.uniform(-1, 1, x.size))
    return np.maximum(part * approach_speed(x, gains.fast, braking), -3.0)


# --- points -----------------------------------------------------------------------------------------------------------


def points(
    scene: str,
    moving: bool,
    dt: float,
    starts: int = 2500,
    duration: float = 1.0,
    *,
    naive: bool = False,
    seed: int = 0,
) -> SafetyOutcome:
    """Points that are accelerated at will, each against an obstacle of its own; `naive` takes the bound of continuous
    time."""
    rng = np.random.default_rng((seed, SCENES.index(scene), moving))
    gains, braking = random_gains(rng, starts, dt)
    swing = 0.2 if moving else 0.0
    e = unit_vectors(rng, starts) * (rng.uniform(0.1, 0.5, (starts, 1)) if scene == "capsule" else 1.0)
    safe = Oscillation.random(rng, np.full((starts, 1), 0.05), 0.04 if moving else 0.0)
    world = World(
        scene, e, rng.uniform(0.1, 0.5, starts), Oscillation.random(rng, rng.normal(size=(starts, 3)), swing), safe
    )
    p, v = _start(rng, world, gains, braking)
    return _simulated(world, p, v, rng, gains, braking, dt, duration, moving, naive)


def _start(rng: np.random.Generator, world: World, gains: Gains, braking: Array) -> tuple[Array, Array]:
    count, c = len(world.e), world.place.at(0.0)[0]
    n = world.e if world.scene == "plane" else unit_vectors(rng, count)
    root = c + (rng.uniform(-1, 1, (count, 1)) * world.e if world.scene == "capsule" else 0.0)
    p = root + n  # then along the true normal to the clearance that is wanted
    x = 10 ** rng.uniform(-4, 0, count)
    for _ in range(3):
        seen = world.seen(p, np.zeros_like(p), 0.0)
        p = p + (x - seen.x)[:, None] * seen.n
    seen = world.seen(p, np.zeros_like(p), 0.0)
    across = 1.5 * rng.random((count, 1)) * unit_vectors(rng, count)
    v = across - dot(across, seen.n)[:, None] * seen.n
    return p, v + (random_approach(rng, seen.x, gains, braking) - seen.rate)[:, None] * seen.n


def _simulated(
    world: World,
    p: Array,
    v: Array,
    rng: np.random.Generator,
    gains: Gains,
    braking: Array,
    dt: float,
    duration: float,
    moving: bool,
    naive: bool,
) -> SafetyOutcome:
    count, steps = len(p), max(1, round(duration / dt))
    seen = world.seen(p, v, 0.0)
    good, worst, demand = admits(seen.x, seen.rate, gains, braking), seen.x.copy(), 0.0
    pull, aside = PULL * rng.random((count, 1)), 3 * rng.normal(size=(count, 3))
    for k in range(steps):
        t = k * dt
        seen = world.seen(p, v, t)
        wish = aside - pull * seen.n - DRAG * v
        a, held, asked = _command(world, seen, wish, gains, braking, dt, naive)
        good &= held
        demand = max(demand, float(np.max(asked[good], initial=0.0)))
        a = np.where(good[:, None], a, 0.0)  # those out of the theory drift, so that numbers stay finite
        for s in np.linspace(dt / BETWEEN, dt, BETWEEN):
            np.minimum(worst, world.clearance(p + s * v + s * s / 2 * a, t + s), out=worst)
        p, v = p + dt * v + dt * dt / 2 * a, v + dt * a
    return outcome_of(world.scene, moving, dt, good, worst, steps, demand)


def _command(
    world: World, seen: ClearanceRates, wish: Array, gains: Gains, braking: Array, dt: float, naive: bool
) -> tuple[Array, Array, Array]:  # fmt: skip
    """The acceleration nearest to the wish, whether its size was as assumed, and how much was asked for."""
    size = np.linalg.norm(wish, axis=-1)
    for _ in range(PASSES):
        A = RESERVE * size + np.linalg.norm(seen.away, axis=-1) + world.place.jerk * dt
        V = np.linalg.norm(seen.relative, axis=-1) + A * dt
        jump, variation = rigid_variation(V, A, world.place.jerk, world.core, ends=world.scene == "capsule")
        jump, variation = np.where(seen.to_end <= V * dt, jump, 0.0), variation + world.safe.jerk
        least = second_order_bound(seen.x, seen.rate, gains, dt, variation=variation, jump=jump, braking=braking)
        if naive:
            least = continuous_bound(seen.x, seen.rate, gains)
        a = wish + np.maximum(least - seen.drift - dot(seen.n, wish), 0.0)[:, None] * seen.n
        assumed, size = RESERVE * size, np.clip(np.linalg.norm(a, axis=-1), size, WILD)
    return a, np.linalg.norm(a, axis=-1) <= assumed, least / (braking + jump + variation * (dt / 2))


def outcome_of(
    scene: str, moving: bool, dt: float, good: Array, worst: Array, steps: int, demand: float
) -> SafetyOutcome:
    least = float(np.min(worst[good], initial=np.inf))
    return SafetyOutcome(scene, moving, dt, good.size, int(good.sum()), steps * BETWEEN * good.size, least, demand)
