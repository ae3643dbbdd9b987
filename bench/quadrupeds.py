"""Quadrupeds that trot slowly on estimates: velocity and drift of each command, over plants drawn from seeds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from equipoise.robot import load
from equipoise.simulate.estimated import driven, on_estimates
from equipoise.simulate.loop import simulate
from equipoise.simulate.walk_trials import DELAY, Leg, commanded_walk, varied_plant
from equipoise.walking.walking import Walking

ROBOTS = (
    "quadruped", "a1", "anymal_b", "anymal_c", "b1", "go1", "go2", "hyq", "laikago", "solo8", "solo12",
)  # fmt: skip
SPEEDS = 0.1, 0.2, 0.3  # m/s
SEEDS = 5
START = 0.5  # s, standing before the command
SECONDS = 8.0  # the mean velocity is taken over whole strides of the last six


@dataclass(frozen=True)
class QuadrupedRow:
    """One command on one robot.

    Attributes:
        slowest, fastest: mean velocity ahead over the commanded one, of all seeds.
        drift: largest part of its path by which a walk left its line.
        failed: seeds that fell, or whose velocity or line was not as commanded.
    """

    robot: str
    speed: float
    seeds: tuple[int, ...]
    slowest: float
    fastest: float
    drift: float
    failed: tuple[int, ...]

    @property
    def good(self) -> bool:
        """Whether every seed walked as commanded."""
        return not self.failed and bool(self.seeds)


def run(robots: Sequence[str], seeds: Sequence[int]) -> Iterator[QuadrupedRow]:
    """Yields a row for each robot and command."""
    for name in robots:
        walker = Walking(load(name))
        for speed in SPEEDS:
            legs = {seed: trial(walker, speed, seed) for seed in seeds}
            yield tally(name, speed, legs)


def trial(walker: Walking, speed: float, seed: int) -> Leg | None:
    """Returns what came of a walk straight ahead, as `equipoise walk --estimated` judges it; None for a fall."""
    walker.forget_commands()
    walker.command(speed, at=START)
    run = simulate(
        walker.robot, driven(walker.robot, walker), varied_plant(walker, seed), SECONDS, q0=walker.q0, seed=seed,
        delay=DELAY, **on_estimates(walker.robot, walker.contacts),
    )  # fmt: skip
    return commanded_walk(walker, run, START, (speed, 0.0, 0.0)) if run.outcome == "completed" else None


def tally(robot: str, speed: float, legs: dict[int, Leg | None]) -> QuadrupedRow:
    """Counts the walks of one command. A command that the gait cuts is judged as it was given."""
    walked = [leg for leg in legs.values() if leg is not None]
    ratios = [leg.came[0] / speed for leg in walked] or [float("nan")]
    failed = tuple(seed for seed, leg in legs.items() if leg is None or not leg.good)
    drift = max((leg.line for leg in walked), default=float("nan"))
    return QuadrupedRow(robot, speed, tuple(legs), min(ratios), max(ratios), drift, failed)
