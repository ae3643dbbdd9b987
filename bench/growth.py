"""How the cost of inverse dynamics grows with the number of joints."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from time import perf_counter

from equipoise.bench.peers import our_batch, random_states
from equipoise.bench.quiet_timing import benchmark
from equipoise.machine import cpu
from equipoise.machine.kernel import object_code
from equipoise.machine.store import traced
from equipoise.machine.threads import limit_threads
from equipoise.robot import load

BATCH = 1024


@dataclass(frozen=True)
class Size:
    """Inverse dynamics of a snake of n joints."""

    n: int
    instructions: int
    compile_seconds: float  # trace and code for batches, from nothing
    nanoseconds_per_joint: float  # batch, one core


def growth(sizes: Sequence[int] = (10, 25, 50, 100, 150, 200), *, rounds: int = 40) -> Iterator[Size]:
    """One row for each size."""
    for n in sizes:
        robot = load("snake", n=n)
        begin = perf_counter()
        program = traced(robot.tree, "inverse_dynamics", (), "mixed")
        object_code(program, cpu.target_for("float64", batch=True))
        seconds = perf_counter() - begin
        block = our_batch(robot, random_states(robot, BATCH), "inverse_dynamics")
        with limit_threads(1):
            timing = benchmark({"equipoise": (block, BATCH)}, rounds=rounds).timings["equipoise"]
        yield Size(n, len(program), seconds, 1e9 * timing.median / n)
