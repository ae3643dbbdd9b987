"""Robots that walk 30 s of changing commands, on plants drawn from seeds; see `walk_trials.py`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from equipoise.walking.walking import Walking

from .walk_trials import WalkTrial, walk_course

SEEDS, ENOUGH = 20, 0.95  # and the part of them that must be in order


@dataclass(frozen=True)
class CommandsTally:
    """What came of some seeds of one robot.

    Attributes:
        completed: seeds in which it did not fall. failed: those in which something was not in order.
        off: largest error of a mean velocity, as a part of what was asked for.
        effort: largest, of its limit. excess: rad, largest beyond a joint's limit.
        touch: m, deepest contact of the robot with itself; 0 where there was none.
    """

    robot: str
    seeds: int
    completed: int
    failed: tuple[int, ...]
    off: float
    effort: float
    excess: float
    touch: float

    @property
    def good(self) -> bool:
        """Whether 95 % of the seeds are in order."""
        return self.seeds > 0 and self.seeds - len(self.failed) >= ENOUGH * self.seeds


def run(robots: Sequence[str], seeds: int = SEEDS) -> Iterator[CommandsTally]:
    """A row for each robot."""
    from equipoise.robot import load

    for name in robots:
        walker = Walking(load(name))
        yield tally(name, [walk_course(walker, seed) for seed in range(seeds)])


def tally(robot: str, trials: Sequence[WalkTrial]) -> CommandsTally:
    """What came of some trials."""
    legs = [leg for trial in trials for leg in trial.legs]
    off = [abs(c / a - 1) for leg in legs for a, c in zip(leg.asked, leg.came, strict=True) if a]
    depths = [0.0 if trial.touch is None else trial.touch.depth for trial in trials]
    efforts, excesses = [trial.effort for trial in trials], [trial.excess for trial in trials]
    return CommandsTally(
        robot,
        len(trials),
        sum(trial.run.outcome == "completed" for trial in trials),
        tuple(trial.seed for trial in trials if not trial.good),
        *(float(np.max(numbers)) if numbers else float("nan") for numbers in (off, efforts, excesses, depths)),
    )
