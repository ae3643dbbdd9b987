"""How a benchmark speaks with a peer in another process: one JSON object a line, both ways.

    {"scene": …}                        →  {"ready": {"peer": …, "variables": …}}
    {"do": "time", "first": i, "count": n}  →  {"ns": […], "taken": […], "probes": [before, after]}
    {"do": "solve", "state": i}         →  {"solution": {"torque": […], …}}
    {"do": "quit"}                      →  the peer ends

Whatever fails comes back as {"error": text}. Peers have none of our dependencies: this file needs the standard library
and `quiet_timing`, which needs NumPy.
"""

from __future__ import annotations

import gc
import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from time import perf_counter_ns
from typing import Any

from equipoise.bench.quiet_timing import probe

try:
    import resource
except ImportError:  # not on Windows
    resource = None  # type: ignore[assignment]

WARM_UP = 3  # cycles before the clock starts: caches were another contender's


@dataclass(frozen=True, eq=False)
class Contender:
    """A controller that is ready to run.

    Args:
        cycle: one control cycle, (q, v) → torques or velocities, in the contender's own convention.
        states: arguments of `cycle`, converted beforehand.
        solution: the whole solution at a state, by its number, in our convention, as lists of numbers.
        facts: name, version, sizes.
    """

    cycle: Callable[..., Any]
    states: list[tuple[Any, ...]]
    solution: Callable[[int], dict[str, Any]]
    facts: dict[str, Any] = field(default_factory=dict)


def time_cycles(contender: Contender, first: int, count: int) -> dict[str, list[float]]:
    """Nanoseconds of each of `count` cycles on consecutive states, between two speed probes in seconds.

    `taken` tells for each cycle how often the system gave the core to another process meanwhile. Garbage is not
    collected in that time, here as in the peers: that would measure the size of the process.
    """
    cycle, total = contender.cycle, len(contender.states)
    rows = [contender.states[(first + k) % total] for k in range(-WARM_UP, count)]
    gc.disable()
    try:
        for row in rows[:WARM_UP]:
            cycle(*row)
        took: list[float] = []
        switches: list[float] = [core_losses()]
        before = probe()
        for row in rows[WARM_UP:]:
            start = perf_counter_ns()
            cycle(*row)
            took.append(perf_counter_ns() - start)
            switches.append(core_losses())
        after = probe()
    finally:
        gc.enable()
    taken = [later - earlier for earlier, later in pairwise(switches)]
    return {"ns": took, "taken": taken, "probes": [before, after]}


def core_losses() -> int:
    """How often this process had to leave its core against its will so far; 0 where the system does not tell."""
    return 0 if resource is None else resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw


def serve(build: Callable[[dict[str, Any]], Contender]) -> None:
    """Answer requests on standard input until it ends. Whatever libraries print goes to standard error."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    contender: Contender | None = None
    for line in sys.stdin:
        request = json.loads(line)
        if request.get("do") == "quit":
            return
        try:
            if "scene" in request:
                contender = build(request["scene"])
            answer = _answer(contender, request)
        except Exception as error:  # the benchmark must hear of it, whatever it is
            answer = {"error": f"{type(error).__name__}: {error}"}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def _answer(contender: Contender | None, request: dict[str, Any]) -> dict[str, Any]:
    if contender is None:
        return {"error": "no scene yet: send {'scene': …} first"}
    if "scene" in request:
        return {"ready": contender.facts}
    if request.get("do") == "time":
        return time_cycles(contender, request["first"], request["count"])
    if request.get("do") == "solve":
        return {"solution": contender.solution(request["state"])}
    return {"error": f"unknown request {request.get('do')!r}; there are time, solve and quit"}
