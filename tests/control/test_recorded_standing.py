"""Recorded standing: the controller that a body gets, and short motions with it on an ideal plant."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import records

import equipoise as eq

MOTIONS: dict[str, Callable[[eq.Standing], Any]] = {
    "squat": lambda s: s.squat(0.05, at=0.1, seconds=0.4),
    "sway": lambda s: s.sway(0.02, -0.03, at=0.05, seconds=0.5).stand(at=0.6, seconds=0.3),
    "look": lambda s: s.look(0.4, -0.2, at=0.0, seconds=0.3),
    "reach": lambda s: s.reach("left hand", by=(0.1, 0.05, 0.2), at=0.1, seconds=0.5),
    "nothing": lambda s: s,
}
CAN = {"human": list(MOTIONS), "quadruped": ["squat", "sway", "nothing"]}


@functools.cache
def standing(name: str) -> eq.Standing:
    return eq.Standing(eq.load(name))


@pytest.mark.parametrize("name", CAN)
def test_recorded_controllers_of_standing_bodies(name):
    made = standing(name)
    found = {"tasks": made.tasks, "contacts": made.contacts, "dt": made.dt, "q0": np.round(made.q0, 5).tolist()}
    records.check(f"standing_items_{name}", found, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize(("name", "motion"), [(name, motion) for name, motions in CAN.items() for motion in motions])
def test_recorded_motions_of_standing_bodies(name, motion):
    made = standing(name)
    made.reset()
    MOTIONS[motion](made.stand())
    push = eq.Push(made.body.frames["torso"], (3.0, -5.0, 0.0), 0.3, 0.1)
    run = eq.simulate(made.robot, made, "ideal", 0.8, q0=made.q0, pushes=[push] if motion == "nothing" else [])
    rows = slice(0, None, len(run.t) // 8)
    found = {
        "outcome": run.outcome,
        "statuses": sorted(set(run.statuses)),
        "base": np.round(run.q[rows, :7], 6).tolist(),
        "joints": run.q[rows, 7:],
        "torques": run.torque[rows],
        "events": [text for _, text in run.events],
    }
    records.check(f"standing_{name}_{motion}", found, rtol=1e-3, atol=1e-4)
