"""How long a walker takes: the plan of a step, and the whole step of control, while it walks in MuJoCo.

Time is that of the thread on the processor, so that other programs on the machine do not count.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from time import thread_time_ns
from typing import Any

import numpy as np

from equipoise.simulate.loop import simulate
from equipoise.walking.walking import Walking

SECONDS = 8.0
FORWARD = 0.15  # of √(g h)


@dataclass(frozen=True)
class CallTimes:
    """ms of one thing, over all calls."""

    robot: str
    what: str
    steps: int
    median: float
    p99: float
    p999: float
    most: float
    real_time: float | None = None


class Timed:
    """A function that notes how long it took, ms."""

    def __init__(self, function: Any) -> None:
        self.function, self.times = function, list[float]()

    def __call__(self, *arguments: Any) -> Any:
        start = thread_time_ns()
        result = self.function(*arguments)
        self.times.append(1e-6 * (thread_time_ns() - start))
        return result


def run(robots: Sequence[str], seconds: float = SECONDS) -> Iterator[CallTimes]:
    """Two rows for each robot: the plan, and the step of control that contains it."""
    from equipoise.robot import load

    for name in robots:
        walker = Walking(load(name))
        walker.command(FORWARD * walker.body.gains.speed)
        plan = Timed(walker.machine.decide)
        walker.machine.decide = plan  # type: ignore[assignment,method-assign]
        whole = Timed(walker)
        whole.contacts, whole.observe, whole.reset = walker.contacts, walker.observe, walker.reset  # type: ignore[attr-defined]
        begin = thread_time_ns()
        simulate(walker.robot, whole, q0=walker.q0, duration=seconds)
        took = 1e-9 * (thread_time_ns() - begin)
        for what, times in (("plan", plan.times), ("control step", whole.times)):
            median, p99, p999 = np.percentile(times, (50, 99, 99.9)).tolist()
            real = seconds / took if what == "control step" else None
            yield CallTimes(name, what, len(times), median, p99, p999, max(times), real)
