"""Recorded walks, trots and hops: what a change of a gain, a time or a bound in the walker does to them.

A trot on four points is the same on every processor but for rounding. Flat soles amplify rounding from the first
touchdown on; their walks are short, and compared coarsely.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import records

import equipoise as eq
from equipoise.simulate.conditions import Push

EVERY = 0.1  # s, between recorded samples


@functools.cache
def walker(name: str) -> eq.Walking:
    return eq.Walking(eq.load(name))


def followed(name: str, ask: Callable[[eq.Walking], Any], seconds: float, **options: Any) -> dict[str, Any]:
    """Returns the phases with their times, the log, and states at regular times. The walker is a new one: what it did
    before changes torques by rounding, which a landing magnifies."""
    asked = eq.Walking(eq.load(name))
    ask(asked)
    run = eq.simulate(asked.robot, asked, q0=asked.q0, duration=seconds, **options)
    rows = slice(0, None, round(EVERY * (len(run.t) - 1) / run.t[-1]))
    return {
        "outcome": run.outcome,
        "phases": [[round(t, 6), phase] for t, phase in run.phases],
        "events": [text for _, text in run.events],
        "base": np.round(run.q[rows, :7], 9).tolist(),
        "joints": run.q[rows, 7:],
        "torques": run.torque[rows],
    }


@pytest.mark.parametrize("name", ["human", "quadruped"])
def test_recorded_gaits(name):
    """Sizes, times and speeds that follow from the robot."""
    asked = walker(name)
    whole = asked.whole_body
    records.check(
        f"walking_gait_{name}",
        {
            "gait": asked.gait,
            "stands": asked.q0,
            "weight": whole.weight,
            "rolls": whole.rolls,
            "items": whole.controller.items,
        },
        rtol=1e-5,
        atol=1e-6,
    )


TROTS: dict[str, tuple[Callable[[eq.Walking], Any], float, list[Push]]] = {
    "aside, turning, to a stop": (lambda w: w.command(0.1, 0.15, -0.4, at=0.1).command(at=0.9), 1.6, []),
    "pushed": (lambda w: w.command(0.25, at=0.1), 1.3, [Push("trunk", (20.0, 90.0, 0.0), 0.6, 0.1)]),
    "through way points": (lambda w: w.go_to((0.1, 0.1, 0.2)), 1.2, []),
    "nothing asked": (lambda w: w, 0.5, [Push("trunk", (0.0, 160.0, 0.0), 0.1, 0.1)]),
}


@pytest.mark.parametrize("name", TROTS)
def test_recorded_trots(name):
    ask, seconds, pushes = TROTS[name]
    records.check(
        f"walking_trot_{list(TROTS).index(name)}", followed("quadruped", ask, seconds, pushes=pushes), rtol=1e-5
    )


WALKS: dict[str, tuple[Callable[[eq.Walking], Any], float]] = {
    "forward": (lambda w: w.command(0.4, 0.0, 0.0, at=0.05), 1.1),
    "back, aside and turning": (lambda w: w.command(-0.15, 0.1, 0.3), 1.0),
    "hop": (lambda w: w.hop(0.2), 1.8),
}


@pytest.mark.parametrize("name", WALKS)
def test_recorded_walks(name):
    ask, seconds = WALKS[name]
    found = followed("human", ask, seconds)
    found.pop("torques")
    records.check(f"walking_human_{list(WALKS).index(name)}", found, rtol=2e-3, atol=5e-4)
