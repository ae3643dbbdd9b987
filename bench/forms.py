"""What it costs to look at the equations of motion from another base, once M, C and g are there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from equipoise.bench.peers import loop
from equipoise.bench.quiet_timing import benchmark
from equipoise.forms.bases import COM, Base, Compound
from equipoise.robot import load

CALLS = 100


@dataclass(frozen=True)
class FormTiming:
    """Microseconds for one change of form of a robot's equations, and for computing M, C and g themselves."""

    robot: str
    form: str
    microseconds: float
    low: float  # quartiles
    high: float
    terms: float  # M, C and g by their kernels


def changes(robots: Sequence[str] = ("g1",), *, rounds: int = 60) -> Iterator[FormTiming]:
    """One row for each kind of base: the last link of the robot, E[F], G[B], G, and another representation."""
    for name in robots:
        robot = load(name)
        q, v = robot.random_state(np.random.default_rng(0))
        eom = robot.equations_of_motion(q, v)
        tip, root = list(robot.links)[-1], str(robot.base_link)
        bases: dict[str, Base] = {f"base {tip}": tip, "E[F]": Compound(tip, root), "G[B]": Compound(COM), "G": COM}
        works = {label: (loop(eom.in_base, [(base,)] * CALLS), CALLS) for label, base in bases.items()}
        works["body representation"] = loop(eom.in_representation, [("body",)] * CALLS), CALLS
        terms = benchmark({"terms": (loop(robot.equations_of_motion, [(q, v)] * CALLS), CALLS)}, rounds=rounds).timings[
            "terms"
        ]
        for label, (block, units) in works.items():
            timing = benchmark({label: (block, units)}, rounds=rounds).timings[label]
            yield FormTiming(name, label, 1e6 * timing.median, 1e6 * timing.low, 1e6 * timing.high, 1e6 * terms.median)
