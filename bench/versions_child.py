"""One checkout's side of `bench/versions.py`: run with the path of that checkout's package, public names only.

Reads lines `CASE COUNT` and answers each with JSON: nanoseconds of COUNT calls, and a speed probe before and after.
"""

from __future__ import annotations

import gc
import json
import os
import sys
from collections.abc import Callable
from itertools import count, cycle
from time import perf_counter, perf_counter_ns

import numpy as np

import equipoise as eq

BATCH = 1024
STATES = 64
WARM_UP = 3  # calls before the clock starts: the caches were the other checkout's


def dynamics(name: str, quantity: str, batch: int) -> Callable[[], object]:
    """Calls one quantity of a robot at random states."""
    robot, rng = eq.load(name), np.random.default_rng(0)
    states = [robot.random_state(rng) for _ in range(max(batch, STATES))]
    q, v = (np.array(part) for part in zip(*states, strict=True))
    method, wants = getattr(robot, quantity), {"mass_matrix": 1, "bias_force": 2}.get(quantity, 3)
    given = [q, v, rng.normal(size=v.shape)][:wants]
    if batch:
        return lambda: method(*given)
    rows = cycle(list(zip(*given, strict=True)))
    return lambda: method(*next(rows))


def standing(name: str) -> Callable[[], object]:
    """One control step of a robot near its standing posture."""
    made, rng = eq.Standing(eq.load(name)), np.random.default_rng(0)
    robot, q0, contacts = made.robot, made.q0, list(made.contacts)  # its robot has frames in the middle of its soles
    states = cycle([near(robot, q0, rng) for _ in range(STATES)])
    tasks = [eq.CoMTask(gain=5.0), eq.PostureTask(weight=0.1)]
    controller = eq.WholeBodyController(robot, tasks, contacts, [eq.TorqueLimits(), eq.JointLimits()])
    controller(0.0, q0, np.zeros(robot.nv))
    return lambda: controller(0.0, *next(states))


def near(robot: eq.Robot, q0: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """A state within 0.02 rad, m of a posture, with velocities of 0.05."""
    return robot.integrate(q0, rng.normal(size=robot.nv), 0.02), 0.05 * rng.normal(size=robot.nv)


def walking(name: str) -> Callable[[], object]:
    """One control step of a walker that stands: states of the posture it starts from, and time that goes on."""
    walker = eq.Walking(eq.load(name))
    walker.reset()
    rng, steps = np.random.default_rng(0), count()
    robot, q0 = walker.robot, walker.q0
    states = cycle([(q0, 1e-3 * rng.normal(size=robot.nv)) for _ in range(STATES)])
    return lambda: walker(1e-3 * next(steps), *next(states))


CASES: dict[str, Callable[[], Callable[[], object]]] = {
    **{
        f"{quantity} {name}{' batch' if batch else ''}": (lambda n=name, x=quantity, b=batch: dynamics(n, x, b))  # type: ignore[misc]
        for name in ("talos", "g1")
        for quantity in ("mass_matrix", "inverse_dynamics", "forward_dynamics")
        for batch in (0, BATCH)
    },
    **{f"control {name}": (lambda n=name: standing(n)) for name in ("human", "g1", "talos", "jvrc1")},  # type: ignore[misc]
    **{f"walking step {name}": (lambda n=name: walking(n)) for name in ("human", "g1")},  # type: ignore[misc]
}


def probe() -> float:
    """Seconds for a fixed bit of work, some 20 µs."""
    start = perf_counter()
    sum(range(1500))
    return perf_counter() - start


def timed(call: Callable[[], object], calls: int) -> dict[str, list[float]]:
    """Nanoseconds of each call, between two probes; garbage is not collected meanwhile."""
    gc.disable()
    try:
        for _ in range(WARM_UP):
            call()
        before, took = probe(), []
        for _ in range(calls):
            start = perf_counter_ns()
            call()
            took.append(perf_counter_ns() - start)
        after = min(probe() for _ in range(60))  # wide vector code slows its core down for some 50 probes
    finally:
        gc.enable()
    return {"ns": took, "probes": [before, after]}


def main() -> None:
    """Answers requests until standard input ends; what libraries print goes to standard error."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    made: dict[str, Callable[[], object]] = {}
    for line in sys.stdin:
        case, calls = line.rsplit(" ", 1)
        if case not in made:
            made[case] = CASES[case]()
        answers.write(json.dumps(timed(made[case], int(calls))) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
