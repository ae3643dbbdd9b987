"""How long one step of control takes, whatever its status: a standing human whose hard centre-of-mass task often cannot
hold.

Time is that of the thread on the processor, so that other programs on the machine do not count. As in any loop of
Python that has to keep time, what was made before it is frozen: else the garbage collector looks at all of it now and
then, for milliseconds.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from dataclasses import dataclass
from time import thread_time_ns

import numpy as np

from ..control.constraints import JointLimits, TorqueLimits
from ..control.contacts import FlatContact
from ..control.controller.controller import WholeBodyController
from ..control.tasks import CoMTask, FrameTask, MomentumTask, PostureTask, Task

Array = np.ndarray
STEPS = 200_000
STATES = 2_000  # along a random walk; repeated, with other targets
SOLE = ((0.16, 0.05), (0.16, -0.05), (-0.08, -0.05), (-0.08, 0.05))
FAR = 0.25  # m: a target of the centre of mass that cannot be had


@dataclass(frozen=True)
class Latency:
    """Times of the steps that ended in one status, ms."""

    problem: str
    status: str
    steps: int
    share: float
    median: float
    p99: float
    p999: float
    most: float


def run(robot: str = "human", steps: int = STEPS, seed: int = 0) -> Iterator[Latency]:
    """Weighted with a hard centre of mass, then three strict levels with limits active; a row for each status."""
    yield from _measured("hard centre of mass", robot, steps, seed, strict=False)
    yield from _measured("three strict levels", robot, steps // 4, seed, strict=True)


def _measured(problem: str, robot: str, steps: int, seed: int, strict: bool) -> Iterator[Latency]:
    from ..robot import load

    made, rng = load(robot), np.random.default_rng(seed)
    q0 = np.asarray(made.standing())
    controller = _controller(made, strict)
    walk = _walk(made, q0, rng)
    controller(0.0, q0, np.zeros(made.nv))
    com, times, statuses = made.com(q0), np.empty(steps), []
    gc.collect()
    gc.freeze()
    for k in range(steps):
        if k % 50 == 0:  # a new target every 50 ms; some too far, some far off to the side
            far = rng.random() < (0.15 if not strict else 0.5)
            shift = rng.normal(size=3) * [0.02, 0.02, 0.01] + (FAR * _aside(rng) if far else 0.0)
            controller.set_target("centre of mass", com + shift)
        q, v = walk[k % STATES]
        start = thread_time_ns()
        solution = controller(1e-3 * k, q, v)
        times[k] = 1e-6 * (thread_time_ns() - start)
        statuses.append(solution.status.name.lower() + (", limits active" if solution.active else "") * strict)
    gc.unfreeze()
    names = np.array(statuses)
    for name in sorted(set(statuses)):
        of = times[names == name]
        share = len(of) / steps
        median, p99, p999 = np.percentile(of, (50, 99, 99.9)).tolist()
        yield Latency(problem, name, len(of), share, median, p99, p999, float(of.max()))


def _controller(robot: object, strict: bool) -> WholeBodyController:
    feet = [FlatContact(f"{side}_foot", corners=SOLE, friction=0.6, name=f"{side} sole") for side in ("left", "right")]
    tasks: list[Task] = [CoMTask(hard=not strict), MomentumTask(weight=0.1), PostureTask(priority=2)]
    if strict:
        tasks.append(FrameTask("right_hand", priority=1, axes="position", gain=5.0))
    limits = [TorqueLimits(scale=0.6 if strict else 1.0), JointLimits()]
    priorities = "strict" if strict else "weighted"
    return WholeBodyController(robot, tasks, feet, limits, priorities=priorities, slip_limit=np.inf)  # type: ignore[arg-type]


def _aside(rng: np.random.Generator) -> Array:
    angle = rng.uniform(0, 2 * np.pi)
    return np.array([np.cos(angle), np.sin(angle), 0.0])


def _walk(robot: object, q0: Array, rng: np.random.Generator) -> list[tuple[Array, Array]]:
    """States near q0, each a millisecond from the one before."""
    nv = robot.nv  # type: ignore[attr-defined]
    away, v, states = np.zeros(nv), np.zeros(nv), []
    for _ in range(STATES):
        v = 0.98 * v + 0.02 * rng.normal(scale=0.3, size=nv) - 0.02 * away
        away = away + 1e-3 * v
        states.append((robot.integrate(q0, away, 1.0), v.copy()))  # type: ignore[attr-defined]
    return states
