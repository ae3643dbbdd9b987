"""Walks over grounds that the plan does not know: uneven, sloped, with a step, soft. All start level, where the robot
stands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import cos, radians, sin

import numpy as np

from equipoise.simulate.loop import simulate
from equipoise.simulate.mujoco_plant import MujocoPlant
from equipoise.simulate.run import Run
from equipoise.simulate.soft import SoftPlant
from equipoise.simulate.walk_trials import DELAY, FORWARD, FRICTION, NOISE, varied_plant
from equipoise.simulate.world import Box
from equipoise.walking.walking import Walking

GROUNDS = ("uneven", "slope", "step", "soft")
ROUGH, TILE = 0.03, 0.4  # m: heights of tiles are within ± this, and their edges
TILT, RISE = radians(10.0), 0.05  # of the slope; m, of the step
LEVEL = 0.6  # m ahead of the start, where the ground begins to be something else
DEEP, WIDE, FAR = 0.5, 3.0, 8.0  # m: of boxes that make the ground
# m, by which boxes go on below their higher neighbours: in a crack between two a point of a sole finds no ground
UNDER = 0.05
SECONDS = 6.0


@dataclass(frozen=True, eq=False)
class GroundTrial:
    """A walk on a ground. good: it completed, and got past where the level part ends."""

    ground: str
    seed: int
    run: Run
    went: float  # m, forward

    @property
    def good(self) -> bool:
        return self.run.outcome == "completed" and self.went > LEVEL + 0.5


def boxes(ground: str, seed: int) -> tuple[Box, ...]:
    """What the ground is made of. Even seeds go up, odd ones down."""
    rng, up = np.random.default_rng(seed + 20_000), 1.0 if seed % 2 == 0 else -1.0
    if ground == "uneven":
        return _tiles(rng)
    low, high = (0.0, UNDER) if up > 0 else (-UNDER, 0.0)  # where the second begins, and the first ends, from LEVEL on
    start = _slab(-2.0, LEVEL + high)
    if ground == "step":
        return start, _slab(LEVEL + low, LEVEL + FAR, up * RISE)
    if ground == "slope":
        along = np.array([cos(TILT), 0.0, up * sin(TILT)])
        middle = along * (FAR + low) / 2 - np.array([-up * sin(TILT), 0.0, cos(TILT)]) * DEEP / 2
        return start, Box((FAR - low, WIDE, DEEP), (LEVEL + middle[0], 0.0, middle[2]), (0.0, -up * TILT, 0.0))
    return (_slab(-2.0, LEVEL + FAR),)


def _slab(start: float, end: float, top: float = 0.0) -> Box:
    """Level ground between two x, m."""
    return Box((end - start, WIDE, DEEP), ((start + end) / 2, 0.0, top - DEEP / 2))


def _tiles(rng: np.random.Generator) -> tuple[Box, ...]:
    """Square tiles of drawn heights; level under the robot's start."""
    made = [_slab(-1.0, LEVEL)]
    for i in range(int(FAR / TILE)):
        for j in range(-2, 3):
            top = float(rng.uniform(-ROUGH, ROUGH))
            made.append(Box((TILE + UNDER, TILE + UNDER, DEEP), (LEVEL + (i + 0.5) * TILE, j * TILE, top - DEEP / 2)))
    return tuple(made)


def walk_on(walker: Walking, ground: str, seed: int, seconds: float = SECONDS) -> GroundTrial:
    """0.15 √(g h) forward over a ground that the plan does not know, with noise and delay; all else is drawn from the
    seed.

    Soft ground is our own plant of springs, on which link masses are not varied.
    """
    walker.forget_commands()
    walker.command(FORWARD * walker.body.gains.speed, at=0.3)
    if ground == "soft":
        friction = float(np.random.default_rng(seed + 10_000).uniform(*FRICTION))
        plant: SoftPlant | MujocoPlant = SoftPlant(walker.robot, walker.contacts, friction=friction)
    else:
        plant = varied_plant(walker, seed, ground=None, obstacles=boxes(ground, seed))
    run = simulate(walker.robot, walker, plant, seconds, q0=walker.q0, seed=seed, noise=NOISE, delay=DELAY)
    return GroundTrial(ground, seed, run, float(run.q[-1, 0] - run.q[0, 0]))


@dataclass(frozen=True)
class GroundRow:
    """How a walk over a ground ended."""

    robot: str
    ground: str
    seed: int
    outcome: str
    seconds: float
    went: float  # m, forward
    good: bool


def run(robots: Sequence[str], seeds: int = 2) -> Iterator[GroundRow]:
    """Every ground with seeds from 0 on; even seeds go up, odd ones down."""
    from equipoise.robot import load

    for name in robots:
        walker = Walking(load(name))
        for ground in GROUNDS:
            for seed in range(seeds):
                trial = walk_on(walker, ground, seed)
                yield GroundRow(name, ground, seed, trial.run.outcome, float(trial.run.t[-1]), trial.went, trial.good)
