"""Walks that a robot is tried with: a course of commands, pushes while it trots, estimates only."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from equipoise.simulate.conditions import Push
from equipoise.simulate.estimated import driven, on_estimates
from equipoise.simulate.loop import simulate
from equipoise.simulate.run import Run
from equipoise.simulate.walk_trials import (
    DELAY,
    EXACT,
    FORWARD,
    NOISE,
    TURN,
    Leg,
    commanded_walk,
    varied_plant,
    walked_leg,
)
from equipoise.walking.walking import Walking

from .self_contact import SelfContact, SelfContacts

PUSHED = 0.1  # s
ASIDE = 0.05  # of √(g h)
LOOKS = 10  # steps from one posture that is looked at for contacts of the robot with itself to the next


@dataclass(frozen=True, eq=False)
class WalkTrial:
    """One course walked.

    Attributes:
        effort: largest torque commanded, as a part of its limit.
        excess: rad or m, largest excess over a joint's position limit; negative: never reached.
        touch: the deepest contact of the robot with itself; None where there was none, or it was not looked for.
    """

    seed: int
    legs: tuple[Leg, ...]
    run: Run
    effort: float
    excess: float
    touch: SelfContact | None = None

    @property
    def good(self) -> bool:
        return (
            self.run.outcome == "completed"
            and all(leg.good for leg in self.legs)
            and self.effort <= 1 + 1e-6
            and self.excess <= 0
            and self.touch is None
        )


def course(walker: Walking) -> list[tuple[float, tuple[float, float, float]]]:
    """30 s of changing commands: (start, command)."""
    speed = walker.body.gains.speed
    ahead, aside = FORWARD * speed, ASIDE * speed
    return [
        (0.5, (ahead, 0.0, 0.0)), (6.0, (0.0, aside, 0.0)), (12.0, (0.0, 0.0, TURN)), (16.5, (0.0, 0.0, 0.0)),
        (19.0, (ahead, 0.0, -TURN / 2)), (24.0, (0.0, -aside, 0.0)), (30.0, (0.0, 0.0, 0.0)),
    ]  # fmt: skip


def walk_course(walker: Walking, seed: int, duration: float = 30.0, pushes: tuple[Push, ...] = ()) -> WalkTrial:
    """Walk the course on a plant drawn from a seed, with noise and delay."""
    walker.forget_commands()
    parts, pace = course(walker), FORWARD * walker.body.gains.speed
    for start, command in parts:
        walker.command(*command, at=start)
    plant = varied_plant(walker, seed)
    run = simulate(
        walker.robot, walker, plant, duration, q0=walker.q0, seed=seed, noise=NOISE, delay=DELAY, pushes=pushes
    )  # fmt: skip
    ends = [start for start, _ in parts[1:]]
    legs = [
        replace(walked_leg(run, start, end, asked, walker.body.front), drift=(EXACT * pace, EXACT * pace, EXACT * TURN))
        for (start, asked), end in zip(parts, ends, strict=False)
        if run.t[-1] >= end - 0.1
    ]
    touch = SelfContacts(walker.robot, walker.q0).deepest(run.q[::LOOKS])
    return WalkTrial(seed, tuple(legs), run, _effort(run), _excess(run), touch)


def pushed_trot(walker: Walking, seed: int, speed: float = 0.5, push: float = 0.2, duration: float = 10.0) -> WalkTrial:
    """Walk straight at a speed (m/s) and be pushed at the trunk every two seconds, from sides and at times drawn from
    the seed.

    Args:
        push: impulse of each push, of m √(g h), within 0.1 s. The last two seconds are without.
    """
    walker.forget_commands()
    walker.command(speed, at=0.3)
    rng = np.random.default_rng(seed)
    force = push * walker.robot.mass * walker.body.gains.speed / PUSHED
    pushes = []
    for start in np.arange(2.0, duration - 2.0, 2.0):
        side, late = rng.uniform(0, 2 * np.pi), rng.uniform(0, 0.5)
        along = (force * np.cos(side), force * np.sin(side), 0.0)
        pushes.append(Push(walker.body.frames["torso"], along, float(start) + late, PUSHED))
    run = simulate(
        walker.robot, walker, varied_plant(walker, seed), duration, q0=walker.q0, seed=seed, noise=NOISE, delay=DELAY,
        pushes=pushes,
    )  # fmt: skip
    leg = walked_leg(run, 0.3, float(run.t[-1]), (speed, 0.0, 0.0), walker.body.front)
    return WalkTrial(seed, (leg,), run, _effort(run), _excess(run))


def estimated_walk(
    walker: Walking, seed: int, metres: float = 5.0, forces: bool = False
) -> tuple[Run, tuple[str, ...]]:
    """Walks straight on a plant drawn from a seed, on estimates only.

    Args:
        forces: whether the soles measure their forces; else touch is known by the torques of the joints.

    Returns:
        The run, and what was not done as commanded, in words: that it ended early, or its velocity. Its line is not
        judged: no sensor knows the heading.
    """
    walker.forget_commands()
    speed = FORWARD * walker.body.gains.speed
    walker.command(speed, at=0.5)
    run = simulate(
        walker.robot,
        driven(walker.robot, walker),
        varied_plant(walker, seed),
        metres / speed + 2.0,
        q0=walker.q0,
        seed=seed,
        delay=DELAY,
        **on_estimates(walker.robot, walker.contacts, forces=forces),
    )
    if run.outcome != "completed":
        return run, (run.outcome,)
    return run, commanded_walk(walker, run, 0.5, (speed, 0.0, 0.0), pushed=True).complaints


def _effort(run: Run) -> float:
    most = np.asarray(run.robot.limits.effort)
    limited = np.isfinite(most) & (most > 0)
    return float((np.abs(run.torque[:, limited]) / most[limited]).max())


def _excess(run: Run) -> float:
    limits = run.robot.limits
    q = run.q[:, 7:]
    over = np.maximum(q - limits.upper[7:], limits.lower[7:] - q)
    return float(np.nanmax(over))
