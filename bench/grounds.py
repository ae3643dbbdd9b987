"""Walks over grounds that the plan does not know; see `simulate/grounds.py`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from equipoise.simulate.grounds import GROUNDS, walk_on
from equipoise.walking.walking import Walking


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
