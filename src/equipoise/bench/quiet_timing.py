"""Timing on machines that change their speed.

A shared machine runs the same code nearly twice as slowly for stretches of 20 to 100 ms. So every timed block stands
between two short probes of fixed work, contenders take turns, and only blocks between two fast probes count. Whether a
block counts is decided by its probes alone, never by its own time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from time import perf_counter

import numpy as np

FAST = 1.10  # a probe counts as fast if it takes at most this many times the quickest tenth of all probes
SETTLE = 60  # probes in which a core that wide vector code has slowed down comes back to its clock
ENOUGH = 7  # clean rounds below which a figure is not to be trusted


def probe(clock: Callable[[], float] = perf_counter) -> float:
    """Seconds for a fixed bit of work, some 20 µs."""
    start = clock()
    sum(range(1500))
    return clock() - start


@dataclass(frozen=True)
class Timing:
    """Seconds per unit of work of one contender, clean rounds only."""

    name: str
    median: float
    low: float  # lower and upper quartile
    high: float


@dataclass(frozen=True)
class TimedComparison:
    """All contenders of one benchmark. Ratios are formed within a round, then their median is taken."""

    timings: dict[str, Timing]
    ratios: dict[str, tuple[float, float, float]]  # ours / other: median, quartiles
    clean: int
    rounds: int

    @property
    def trustworthy(self) -> bool:
        return self.clean >= ENOUGH


def benchmark(
    contenders: Mapping[str, tuple[Callable[[], object], int]],
    *,
    rounds: int = 60,
    settle: int = 1,
    clock: Callable[[], float] = perf_counter,
) -> TimedComparison:
    """Time contenders in turns. The first is ours.

    Args:
        contenders: name → (block of work, units of work in it). A block should take one to five milliseconds.
        rounds: how often each takes its turn.
        settle: probes after a block, of which the quickest counts. Wide vector code slows its core down for a
            millisecond, or fifty probes: not the machine's doing, and not to be at the cost of the next contender.
        clock: s; `time.thread_time` for work on one thread leaves out what other processes take of the core.
    """
    for block, _ in contenders.values():
        block()
    seconds = np.empty((rounds, len(contenders)))
    before, after = np.empty_like(seconds), np.empty_like(seconds)
    for turn in range(rounds):
        for k, (block, units) in enumerate(contenders.values()):
            before[turn, k] = probe(clock)
            start = clock()
            block()
            seconds[turn, k] = (clock() - start) / units
            after[turn, k] = min(probe(clock) for _ in range(settle))
    limit = FAST * np.quantile(np.concatenate([before, after]), 0.1)
    clean = (before <= limit) & (after <= limit)
    return _summary(list(contenders), seconds, clean)


def _summary(names: list[str], seconds: np.ndarray, clean: np.ndarray) -> TimedComparison:
    timings, ratios, counts = {}, {}, []
    for k, name in enumerate(names):
        kept = seconds[clean[:, k], k] if clean[:, k].any() else seconds[:, k]
        low, median, high = np.quantile(kept, [0.25, 0.5, 0.75])
        timings[name] = Timing(name, float(median), float(low), float(high))
        if k:
            both = clean[:, 0] & clean[:, k]
            counts.append(int(both.sum()))
            pairs = seconds[both] if both.any() else seconds
            low, median, high = np.quantile(pairs[:, 0] / pairs[:, k], [0.25, 0.5, 0.75])
            ratios[name] = float(median), float(low), float(high)
    return TimedComparison(timings, ratios, min(counts, default=int(clean[:, 0].sum())), len(seconds))
