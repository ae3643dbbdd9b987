"""Control on estimates only, over seeds: realistic sensors and motors, no sensor at the feet, no true state."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isfinite

import numpy as np

from equipoise.simulate.run import Run
from equipoise.simulate.scenario_build import Built
from equipoise.simulate.scenarios import prepare, run_built
from equipoise.walking.walking import Walking

from .walk_trials import estimated_walk

SEEDS, ENOUGH = 20, 0.95  # and the part of them that must succeed
SCENARIOS = ("table_reach", "push_recovery", "step")  # the first is the demo
METRES = 5.0
SHORTEST = 0.9  # part of a walk that must have been walked
DRIFT = 0.03  # of the way: largest error of the base's position at its end


@dataclass(frozen=True)
class EstimatedTrial:
    """One seed: whether it succeeded, and m between the base and where it is believed to be in the end, and walked."""

    good: bool
    off: float
    way: float

    @classmethod
    def of(cls, run: Run, metres: float = 0.0, complaints: tuple[str, ...] = ()) -> EstimatedTrial:
        """Success: the run was completed, came `metres` far but for a tenth, knows where it is, and nobody
        complains."""
        error, way = run.estimates["q"][-1, :3] - run.q[-1, :3], run.q[-1, :2] - run.q[0, :2]
        off, far = float(np.linalg.norm(error)), float(np.linalg.norm(way))
        good = run.outcome == "completed" and far >= SHORTEST * metres and isfinite(off) and not complaints
        return cls(good, off, far)


@dataclass(frozen=True)
class EstimatedTally:
    """What came of some seeds of one task.

    Attributes:
        failed: seeds that fell or missed the goal.
        off: m, largest distance between the base and where it is believed to be, in the end of those that succeeded.
        drift: the same of a walk, as a part of the way.
    """

    task: str
    robot: str
    seeds: int
    failed: tuple[int, ...]
    off: float
    drift: float | None

    @property
    def good(self) -> bool:
        """Whether 95 % of the seeds succeed, and walks end where they are believed to."""
        enough = self.seeds - len(self.failed) >= ENOUGH * self.seeds
        return enough and (self.drift is None or self.drift <= DRIFT)


def run(robots: Sequence[str], seeds: int = SEEDS) -> Iterator[EstimatedTally]:
    """The shipped scenarios on their own robots, and walks straight ahead of the robots that are named."""
    from equipoise.robot import load

    for name in SCENARIOS:
        built = prepare(name)
        yield tally(name, built.robot.name, [scenario_trial(built, seed) for seed in range(seeds)])
    for robot in robots:
        walker = Walking(load(robot))
        yield tally("walk", robot, [walk_trial(walker, seed) for seed in range(seeds)], walk=True)


def scenario_trial(built: Built, seed: int) -> EstimatedTrial:
    """A scenario; it succeeds where its goals are reached."""
    return EstimatedTrial.of(run_built(built, seed=seed, estimated=True))


def walk_trial(walker: Walking, seed: int, metres: float = METRES) -> EstimatedTrial:
    """A walk straight ahead on a plant drawn from the seed; it succeeds at the speed that was commanded."""
    run, complaints = estimated_walk(walker, seed, metres)
    return EstimatedTrial.of(run, metres, complaints)


def tally(task: str, robot: str, trials: Sequence[EstimatedTrial], *, walk: bool = False) -> EstimatedTally:
    """Trials of seeds from 0 on, counted."""
    failed = tuple(seed for seed, trial in enumerate(trials) if not trial.good)
    good = [trial for trial in trials if trial.good]
    off = max((trial.off for trial in good), default=np.inf)
    drift = max((trial.off / trial.way for trial in good), default=np.inf) if walk else None
    return EstimatedTally(task, robot, len(trials), failed, off, drift)
