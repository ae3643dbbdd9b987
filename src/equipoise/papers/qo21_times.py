"""[QO21, Sec. 6.1.3 and Fig. 6.21]: computation times beside ours, in processor time of the thread.

The thesis's are of an i7 4712HQ: a step of the cup's constrained program needs 5.2 ms (s.d. 1 ms) for 15 constraint
Jacobians and 191 µs (47 µs) for the solver, in Python. Fig. 6.21 compares its algorithm with the Newton–Euler algorithm
of the Robotics Toolbox, both in Python, for 7 joints; its bars have no numbers in the text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from time import thread_time_ns
from typing import Any

import numpy as np

from ..forms import principles
from .pictures import sheet
from .qo21_cup import STEP, CupScene
from .qo21_models import seven_joints
from .rows import Figure

Array = np.ndarray
THESIS = 5.2 + 0.191  # ms, of Jacobians and solver
TRIALS = 1000


@dataclass(frozen=True)
class Times:
    """Of many calls, ms."""

    mean: float
    deviation: float

    def __str__(self) -> str:
        return f"{self.mean:.3g} ({self.deviation:.2g})"


def timed(call: Callable[[int], object], trials: int) -> Times:
    """Mean and standard deviation of the processor time of call(0), call(1), …; the first ten do not count."""
    spent = []
    for k in range(trials + 10):
        begin = thread_time_ns()
        call(k % trials)
        spent.append(1e-6 * (thread_time_ns() - begin))
    return Times(float(np.mean(spent[10:])), float(np.std(spent[10:])))


@cache
def cup_step(trials: int = TRIALS) -> Times:
    """A step of CQP for the cup by velocities: 15 constraints, their Jacobians and the solver together."""
    scene = CupScene()
    controller, dt = scene.controller("velocity", True), STEP["velocity"]
    q, v = scene.q0, np.zeros(scene.robot.nv)
    states = []
    for k in range(trials):
        states.append((k * dt, q, v))
        v = controller(k * dt, q, v).velocity
        q = scene.robot.integrate(q, v, dt)
    return timed(lambda k: controller(*states[k]), trials)


@cache
def inverse_dynamics_times(trials: int = TRIALS) -> dict[str, Times]:
    """Torques of 7 joints: the Toolbox, Alg. 5.1 as compiled here, our recursive kernel, and the latter in one
    batch."""
    rng = np.random.default_rng(0)
    robot, peer = seven_joints(rng)
    states = rng.uniform(-np.pi, np.pi, (trials, 3, 7))
    batch = np.ascontiguousarray(np.moveaxis(states, 1, 0))

    def gauss(k: int) -> Array:
        q, v, a = states[k]
        return principles.inverse_dynamics(robot, q, v, a, "gauss-dual-quaternion")

    whole = timed(lambda k: robot.inverse_dynamics(*batch), 20)
    return {
        "Toolbox (RTNE)": timed(lambda k: peer.rne(*states[k]), trials),
        "Alg. 5.1 (DQGP), compiled": timed(gauss, trials),
        "recursive kernel": timed(lambda k: robot.inverse_dynamics(*states[k]), trials),
        "recursive kernel, in a batch": Times(whole.mean / trials, whole.deviation / trials),
    }


def time_figures() -> Iterator[Figure]:
    """Of row Q11: within the thesis's times, whatever the machine."""
    step = cup_step()
    what = "cup by velocities: ms for a step of CQP, mean (s.d.) [Sec. 6.1.3]"
    yield Figure(what, f"< {THESIS:.1f}", str(step), step.mean < THESIS, f"{THESIS:.1f} (1)")
    every = inverse_dynamics_times()
    toolbox = every.pop("Toolbox (RTNE)")
    for name, times in every.items():
        yield Figure(
            f"torques of 7 joints, {name}: ms, mean (s.d.) [Fig. 6.21]",
            f"≤ {toolbox} (Toolbox)",
            str(times),
            times.mean <= toolbox.mean,
        )


def time_picture() -> Any:
    """[QO21, Fig. 6.21] on a logarithmic axis: compiled code is orders of magnitude away."""
    every = inverse_dynamics_times()
    picture, (axes,) = sheet("[QO21, Fig. 6.21] ms for the torques of 7 joints, mean", [""], size=(6.0, 2.6))
    axes.barh(list(every), [times.mean for times in every.values()], color="#748ffc")
    axes.set_xscale("log")
    axes.set_xlabel("ms of processor time")
    for k, times in enumerate(every.values()):
        axes.annotate(str(times), (times.mean, k), textcoords="offset points", xytext=(4, -3), fontsize=7)
    return picture
