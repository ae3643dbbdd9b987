"""Random starts against obstacles that stand, move and breathe: is a distance ever below zero, at a sample or in
between?

Points in space have exact motions between samples (`equipoise.papers.qo21_points`), so that what is measured is the
theory and nothing else. Arms hold joint accelerations, and their distances bend as they will. The commands pull into
the obstacle all the time. Last, an arm with a `WholeBodyController`, its limits and a `KeepOut`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from equipoise.control.safety.vfi import Gains, admits, chain_rates, rigid_variation, second_order_bound
from equipoise.papers.qo21_points import (
    BETWEEN,
    PASSES,
    PULL,
    RESERVE,
    SCENES,
    WILD,
    Oscillation,
    SafetyOutcome,
    dot,
    outcome_of,
    points,
    random_approach,
    random_gains,
    unit_vectors,
)

Array = np.ndarray
STEPS = (1e-3, 2e-3, 5e-3, 1e-2)  # s


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


# --- arms -------------------------------------------------------------------------------------------------------------

TOOL, BALL = 0.05, 0.15  # m, radii
REACH = 1.3  # m, longest distance of the tool of the built-in arms from their axes


def arms(name: str, moving: bool, dt: float, starts: int = 2500, duration: float = 0.5, seed: int = 0) -> SafetyOutcome:
    """The tool of an arm and a ball; joint accelerations are held during a step."""
    from equipoise.geometry.distances import distance
    from equipoise.geometry.primitives import Sphere
    from equipoise.robot import load

    robot, rng = load(name), np.random.default_rng((seed, moving))
    gains, braking = random_gains(rng, starts, dt)
    q = rng.uniform(0.9 * robot.limits.lower, 0.9 * robot.limits.upper, (starts, robot.nv))
    v = rng.uniform(-0.5, 0.5, q.shape)
    x = 10 ** rng.uniform(-4, -0.5, starts)
    centre = robot.pose(q, "tool")[:, :3, 3] + (TOOL + BALL + x)[:, None] * unit_vectors(rng, starts)
    ball = Oscillation.random(rng, centre, 0.1 if moving else 0.0)
    measure = distance(Sphere((0, 0, 0), TOOL, "tool"), Sphere((0, 0, 0), BALL)).on(robot)

    def look(q: Array, v: Array, t: float) -> Any:
        world = np.zeros((starts, 3, 4))
        world[:, :, :3] = np.stack(ball.at(t), axis=1)
        world[:, 0, 3] = BALL
        return measure(q, v, world)

    now = look(q, v, 0.0)
    wanted = random_approach(rng, now.value, gains, braking)
    v = v + ((wanted - now.rate(v)) / dot(now.J, now.J))[:, None] * now.J
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
    return outcome_of(robot.name, moving, dt, good, worst, steps, demand)


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
    """As the command of points; the size of an acceleration is the sum over the joints."""
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
        push = np.maximum(least - drift - dot(now.J, wish), 0.0) / np.maximum(dot(now.J, now.J), 1e-12)
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
        from equipoise.geometry.primitives import Sphere

        return Sphere(self.at(t), BALL, velocity=(*self.velocity, 0, 0, 0))


def controlled(
    name: str, moving: bool, dt: float, starts: int = 10, duration: float = 0.5, seed: int = 0
) -> SafetyOutcome:
    """An arm whose controller sends its tool through a ball. σ is that of docs/safety.md for the speeds and
    accelerations that the limits allow."""
    from equipoise.control.constraints import JointLimits, KeepOut
    from equipoise.control.controller.controller import WholeBodyController
    from equipoise.control.tasks import FrameTask, PostureTask
    from equipoise.geometry.primitives import Sphere
    from equipoise.robot import load

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
        ball.start = robot.pose(q, "tool")[:3, 3] + rng.uniform(0.3, 0.5) * unit_vectors(rng, 1)[0]
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
