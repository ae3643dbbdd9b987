"""Robots with four feet that trot and are pushed, on plants drawn from seeds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from equipoise.walking.walking import Walking

from .walk_trials import pushed_trot

SEEDS = 20
ENOUGH = 0.95  # of the seeds must be in order


@dataclass(frozen=True)
class TrotTally:
    """What came of some seeds of one robot.

    Attributes:
        completed: seeds in which it did not fall. in_order: those in which speed, efforts and joints were right, too.
        slowest, fastest: m/s, of the mean speeds. effort: largest, of its limit. excess: rad, largest beyond a joint's
            limit.
    """

    robot: str
    seeds: int
    completed: int
    in_order: int
    slowest: float
    fastest: float
    effort: float
    excess: float

    @property
    def good(self) -> bool:
        """Whether 95 % of the seeds are in order."""
        return self.seeds > 0 and self.in_order >= ENOUGH * self.seeds


def run(robots: Sequence[str], seeds: int = SEEDS, speed: float = 0.5, push: float = 0.2) -> Iterator[TrotTally]:
    """A row for each robot: m/s, and pushes in parts of m √(g h)."""
    from equipoise.robot import load

    for name in robots:
        walker = Walking(load(name))
        trials = [pushed_trot(walker, seed, speed, push) for seed in range(seeds)]
        speeds = [trial.legs[0].came[0] for trial in trials]
        yield TrotTally(
            name, seeds, sum(trial.run.outcome == "completed" for trial in trials), sum(trial.good for trial in trials),
            min(speeds), max(speeds), max(trial.effort for trial in trials), max(trial.excess for trial in trials),
        )  # fmt: skip
