"""Random starts against obstacles that stand, move and breathe: is a distance ever below zero, at a sample or in
between?

Points in space have exact motions between samples, so that what is measured is the theory and nothing else. Arms hold
joint accelerations, and their distances bend as they will. The commands pull into the obstacle all the time. Last, an
arm with a `WholeBodyController`, its limits and a `KeepOut`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..control.safety.vfi import (
    Gains,
    admits,
    approach_speed,
    chain_rates,
    continuous_bound,
    rigid_variation,
    second_order_bound,
)

Array = np.ndarray
STEPS = (1e-3, 2e-3, 5e-3, 1e-2)  # s
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


def run(
    starts: int = 2500, steps: Sequence[float] = STEPS, duration: float = 1.0, robot: str | None = "arm7"
) -> Iterator[SafetyOutcome]:
    """Every scene, standing and moving, at every step; then an arm, unless `robot` is None."""
    for dt in steps:
        for moving in (False, True):
            for scene in SCENES:
                yield points(scene, moving, dt, starts, duration)
            if robot is not None:
                yield arms(robot, moving, dt, starts, duration / 2)
                yield controlled(robot, moving, dt, max(1, starts // 250), duration / 2)


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
            return _dot(r, self.e)[:, None] * self.e
        if self.scene == "capsule":
            along = np.clip(_dot(r, self.e) / _dot(self.e, self.e), -1, 1)
            return r - along[:, None] * self.e
        return r

    def clearance(self, p: Array, t: float) -> Array:
        r = self.offset(p, self.place.at(t)[0])
        length = _dot(r, self.e) if self.scene == "plane" else np.linalg.norm(r, axis=-1) - self.radius
        return length - self.safe.at(t)[0][:, 0]

    def seen(self, p: Array, v: Array, t: float) -> ClearanceRates:
        (c, c_rate, c_second), (_, s_rate, s_second) = self.place.at(t), self.safe.at(t)
        r, w = self.offset(p, c), v - c_rate
        length = np.linalg.norm(r, axis=-1)
        n = self.e if self.scene == "plane" else r / length[:, None]
        across = w - _dot(w, n)[:, None] * n
        if self.scene == "capsule":
            side = np.abs(_dot(p - c, self.e)) < _dot(self.e, self.e)
            across = np.where(
                side[:, None], across - (_dot(across, self.e) / _dot(self.e, self.e))[:, None] * self.e, across
            )
        to_end = np.abs(np.abs(_dot(p - c, self.e)) / np.linalg.norm(self.e, axis=-1) - np.linalg.norm(self.e, axis=-1))
        bend = 0.0 if self.scene == "plane" else _dot(across, across) / length
        rate = _dot(n, w) - s_rate[:, 0]
        return ClearanceRates(
            self.clearance(p, t), n, rate, bend - _dot(n, c_second) - s_second[:, 0], w, c_second, to_end
        )

    @property
    def core(self) -> Array | float:
        """Least distance from the core while x ≥ 0."""
        return np.inf if self.scene == "plane" else self.radius


def _dot(a: Array, b: Array) -> Array:
    return np.einsum("...i,...i->...", a, b)


def _unit(rng: np.random.Generator, count: int) -> Array:
    x = rng.normal(size=(count, 3))
    return x / np.linalg.norm(x, axis=1, keepdims=True)


# --- gains and starts -------------------------------------------------------------------------------------------------


def random_gains(rng: np.random.Generator, count: int, dt: float) -> tuple[Gains, Array]:
    """Gains up to the fastest that the step admits, and braking that half of the rows limit."""
    slow = rng.uniform(1.0, 8.0, count)
    fast = np.minimum(slow * 10 ** rng.uniform(0, 1.3, count), 1 / dt)
    braking = np.where(rng.random(count) < 0.5, np.inf, rng.uniform(2, 20, count))
    return Gains.of_rates(slow, fast), braking


def _approach(rng: np.random.Generator, x: Array, gains: Gains, braking: Array) -> Array:
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
    e = _unit(rng, starts) * (rng.uniform(0.1, 0.5, (starts, 1)) if scene == "capsule" else 1.0)
    safe = Oscillation.random(rng, np.full((starts, 1), 0.05), 0.04 if moving else 0.0)
    world = World(
        scene, e, rng.uniform(0.1, 0.5, starts), Oscillation.random(rng, rng.normal(size=(starts, 3)), swing), safe
    )
    p, v = _start(rng, world, gains, braking)
    return _simulated(world, p, v, rng, gains, braking, dt, duration, moving, naive)


def _start(rng: np.random.Generator, world: World, gains: Gains, braking: Array) -> tuple[Array, Array]:
    count, c = len(world.e), world.place.at(0.0)[0]
    n = world.e if world.scene == "plane" else _unit(rng, count)
    root = c + (rng.uniform(-1, 1, (count, 1)) * world.e if world.scene == "capsule" else 0.0)
    p = root + n  # then along the true normal to the clearance that is wanted
    x = 10 ** rng.uniform(-4, 0, count)
    for _ in range(3):
        seen = world.seen(p, np.zeros_like(p), 0.0)
        p = p + (x - seen.x)[:, None] * seen.n
    seen = world.seen(p, np.zeros_like(p), 0.0)
    across = 1.5 * rng.random((count, 1)) * _unit(rng, count)
    v = across - _dot(across, seen.n)[:, None] * seen.n
    return p, v + (_approach(rng, seen.x, gains, braking) - seen.rate)[:, None] * seen.n


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
    return _outcome(world.scene, moving, dt, good, worst, steps, demand)


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
        a = wish + np.maximum(least - seen.drift - _dot(seen.n, wish), 0.0)[:, None] * seen.n
        assumed, size = RESERVE * size, np.clip(np.linalg.norm(a, axis=-1), size, WILD)
    return a, np.linalg.norm(a, axis=-1) <= assumed, least / (braking + jump + variation * (dt / 2))


def _outcome(
    scene: str, moving: bool, dt: float, good: Array, worst: Array, steps: int, demand: float
) -> SafetyOutcome:
    least = float(np.min(worst[good], initial=np.inf))
    return SafetyOutcome(scene, moving, dt, good.size, int(good.sum()), steps * BETWEEN * good.size, least, demand)


# --- arms -------------------------------------------------------------------------------------------------------------

TOOL, BALL = 0.05, 0.15  # m, radii
REACH = 1.3  # m, longest distance of the tool of the built-in arms from their axes


def arms(name: str, moving: bool, dt: float, starts: int = 2500, duration: float = 0.5, seed: int = 0) -> SafetyOutcome:
    """The tool of an arm and a ball; joint accelerations are held during a step."""
    from ..geometry.distances import distance
    from ..geometry.primitives import Sphere
    from ..robot import load

    robot, rng = load(name), np.random.default_rng((seed, moving))
    gains, braking = random_gains(rng, starts, dt)
    q = rng.uniform(0.9 * robot.limits.lower, 0.9 * robot.limits.upper, (starts, robot.nv))
    v = rng.uniform(-0.5, 0.5, q.shape)
    x = 10 ** rng.uniform(-4, -0.5, starts)
    centre = robot.pose(q, "tool")[:, :3, 3] + (TOOL + BALL + x)[:, None] * _unit(rng, starts)
    ball = Oscillation.random(rng, centre, 0.1 if moving else 0.0)
    measure = distance(Sphere((0, 0, 0), TOOL, "tool"), Sphere((0, 0, 0), BALL)).on(robot)

    def look(q: Array, v: Array, t: float) -> Any:
        world = np.zeros((starts, 3, 4))
        world[:, :, :3] = np.stack(ball.at(t), axis=1)
        world[:, 0, 3] = BALL
        return measure(q, v, world)

    now = look(q, v, 0.0)
    wanted = _approach(rng, now.value, gains, braking)
    v = v + ((wanted - now.rate(v)) / _dot(now.J, now.J))[:, None] * now.J
    fair = np.abs(v).max(axis=1) <= 3.0  # others start in a singular posture, from which only wild velocities approach
    v = np.where(fair[:, None], v, 0.0)
    return _arms_simulated(robot, look, ball, q, v, rng, gains, braking, dt, duration, moving)


def _arms_simulated(
    robot: Any, look: Callable[..., Any], ball: Oscillation, q: Array, v: Array, rng: np.random.Generator, gains: Gains,
    braking: Array, dt: float, duration: float, moving: bool,
) -> SafetyOutcome:  # fmt: skip
    steps, demand = max(1, round(duration / dt)), 0.0
    now = look(q, v, 0.0)
    good, worst = admits(now.value, now.rate(v), gains, braking), now.value.copy()
    aside = rng.normal(size=q.shape)
    for k in range(steps):
        t = k * dt
        now, twist = look(q, v, t), robot.velocity(q, v, "tool")[:, :3]
        wish = aside - PULL * now.J / np.linalg.norm(now.J, axis=1, keepdims=True) - v
        a, held, asked = _arm_command(robot, now, ball, twist, t, q, v, wish, gains, braking, dt)
        good &= held
        demand = max(demand, float(np.max(asked[good], initial=0.0)))
        a = np.where(good[:, None], a, 0.0)
        for s in np.linspace(dt / BETWEEN, dt, BETWEEN):
            tool = robot.pose(q + s * v + s * s / 2 * a, "tool")[:, :3, 3]
            np.minimum(worst, np.linalg.norm(tool - ball.at(t + s)[0], axis=1) - TOOL - BALL, out=worst)
        q, v = q + dt * v + dt * dt / 2 * a, v + dt * a
    return _outcome(robot.name, moving, dt, good, worst, steps, demand)


def _arm_command(
    robot: Any,
    now: Any,
    ball: Oscillation,
    twist: Array,
    t: float,
    q: Array,
    v: Array,
    wish: Array,
    gains: Gains,
    braking: Array,
    dt: float,
) -> tuple[Array, Array, Array]:
    """As `_command`; the size of an acceleration is the sum over the joints."""
    _, ball_rate, ball_second = ball.at(t)
    J, bias = robot.jacobian(q, "tool")[:, :3], robot.bias_acceleration(q, v, "tool")[:, :3]
    size, a = np.abs(wish).sum(axis=1), wish
    for _ in range(PASSES):
        alpha = RESERVE * size
        omega = np.abs(v).sum(axis=1) + alpha * dt
        jerk = chain_rates(REACH, omega, alpha)[2] + ball.jerk
        A = RESERVE * np.linalg.norm(np.einsum("bij,bj->bi", J, a) + bias - ball_second, axis=1) + jerk * dt
        V = np.linalg.norm(twist - ball_rate, axis=1) + A * dt
        jump, variation = rigid_variation(V, A, jerk, TOOL + BALL)
        x_rate, drift = now.rate(v), now.J_dot_v + now.residual_rate
        least = second_order_bound(now.value, x_rate, gains, dt, variation=variation, jump=jump, braking=braking)
        push = np.maximum(least - drift - _dot(now.J, wish), 0.0) / np.maximum(_dot(now.J, now.J), 1e-12)
        a = wish + push[:, None] * now.J
        size = np.clip(np.abs(a).sum(axis=1), size, WILD)
    real = np.linalg.norm(np.einsum("bij,bj->bi", J, a) + bias - ball_second, axis=1) + jerk * dt
    held = (np.abs(a).sum(axis=1) <= alpha) & (real <= A)
    return a, held, least / (braking + jump + variation * (dt / 2))


# --- the controller ---------------------------------------------------------------------------------------------------

MOST, FASTEST = 4.0, 0.35  # rad/s² and rad/s of every joint
FLIGHT = np.array([0.0, 0.5, 0.0])  # m/s, of a ball that moves


class Flight:
    """A ball that flies straight; where from can be changed."""

    def __init__(self, velocity: Array) -> None:
        self.start, self.velocity = np.full(3, 9.0), velocity

    def at(self, t: Any) -> Array:
        return np.asarray(self.start + np.multiply.outer(t, self.velocity))

    def __call__(self, t: float) -> Any:
        from ..geometry.primitives import Sphere

        return Sphere(self.at(t), BALL, velocity=(*self.velocity, 0, 0, 0))


def controlled(
    name: str, moving: bool, dt: float, starts: int = 10, duration: float = 0.5, seed: int = 0
) -> SafetyOutcome:
    """An arm whose controller sends its tool through a ball. σ is that of docs/safety.md for the speeds and
    accelerations that the limits allow."""
    from ..control.constraints import JointLimits, KeepOut
    from ..control.controller.controller import WholeBodyController
    from ..control.tasks import FrameTask, PostureTask
    from ..geometry.primitives import Sphere
    from ..robot import load

    robot, rng, ball = load(name), np.random.default_rng((seed, moving)), Flight(FLIGHT * moving)
    speed, acceleration, jerk = chain_rates(REACH, robot.nv * FASTEST, robot.nv * MOST)
    _, variation = rigid_variation(speed + np.linalg.norm(ball.velocity), acceleration, jerk, radius=BALL + TOOL)
    keep = KeepOut(Sphere((0, 0, 0), TOOL, "tool"), ball, variation=variation, rank=0)
    limits = JointLimits(acceleration=MOST, velocity=FASTEST, position=False)
    tasks = [FrameTask("tool", axes="position", gain=4.0), PostureTask()]
    controller = WholeBodyController(robot, tasks, constraints=[keep, limits], level="acceleration", dt=dt)
    worst: list[float] = []
    tried, steps = 0, max(1, round(duration / dt))
    while len(worst) < starts and tried < 4 * starts:
        tried += 1
        q, v = rng.uniform(-1.0, 1.0, robot.nv), rng.uniform(-0.2, 0.2, robot.nv)
        ball.start = robot.pose(q, "tool")[:3, 3] + rng.uniform(0.3, 0.5) * _unit(rng, 1)[0]
        controller.reset()
        controller.set_target("tool", lambda t: (ball.at(t), ball.velocity))
        least = _least_clearance(robot, controller, ball, q, v, steps)
        worst += [least] if least < np.inf else []
    looks, least = steps * BETWEEN * len(worst), min(worst, default=np.inf)
    return SafetyOutcome(f"{name}, KeepOut", moving, dt, tried, len(worst), looks, least, 0.0)


def _least_clearance(robot: Any, controller: Any, ball: Flight, q: Array, v: Array, steps: int) -> float:
    """Infinite where the theory does not cover the start, or limits had to be relaxed."""
    dt, least = controller.dt, np.inf
    looks = np.linspace(1 / BETWEEN, 1, BETWEEN) * dt
    for k in range(steps):
        solution = controller(k * dt, q, v)
        if controller.start_report or not solution.status.ok:
            return np.inf
        a = solution.acceleration
        there = robot.pose(q + np.outer(looks, v) + np.outer(looks**2 / 2, a), "tool")[:, :3, 3]
        least = min(least, float(np.linalg.norm(there - ball.at(k * dt + looks), axis=1).min()) - BALL - TOOL)
        q, v = q + v * dt + a * dt**2 / 2, v + a * dt
    return least
