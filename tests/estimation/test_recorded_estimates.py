"""Recorded estimates: what filter, gates, clock and contact detection make of the same disturbed readings."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import records
import support

import equipoise as eq
from equipoise.control.contacts import FlatContact
from equipoise.estimation.noise import FilterNoise, Prior

FEET = ["front_left_foot", "front_right_foot", "hind_left_foot", "hind_right_foot"]
DT, ROWS = 2e-3, 240
SAMPLED = 40  # rows between recorded states


def quadruped(**options: Any) -> eq.Estimator:
    return eq.Estimator(support.load("quadruped"), "trunk", FEET, **options)


def biped(**options: Any) -> eq.Estimator:
    robot, corners = support.load("human"), [(0.1, 0.04), (-0.1, 0.04), (-0.1, -0.04), (0.1, -0.04)]
    soles = [FlatContact(foot, corners=corners) for foot in ("left_foot", "right_foot")]
    return eq.Estimator(robot, "pelvis", soles, **options)


def readings(robot: eq.Robot) -> dict[str, np.ndarray]:
    """Sways about the standing posture, with smooth errors that are the same everywhere; (ROWS, …) each."""
    t, n = DT * np.arange(ROWS), robot.nv - 6
    k = np.arange(n)
    phase, rate = np.outer(t, 3.0 + 0.4 * k) + 0.7 * k, 3.0 + 0.4 * k
    joints = robot.standing()[7:] + 0.03 * np.sin(phase)
    errors = np.sin(np.outer(np.arange(ROWS), [1.7, 2.3, 2.9]) + np.arange(3.0))
    tilt = 0.05 * np.sin(4 * t)
    weight = np.stack([-9.8 * np.sin(tilt), 0.3 * np.cos(5 * t), 9.8 * np.cos(tilt)], axis=1)
    turn = np.stack([0.02 * np.cos(t), 0.2 * np.cos(4 * t), 0.1 * np.sin(3 * t)], axis=1)
    load = robot.gravity(robot.standing())[6:]
    return {
        "gyroscope": turn + 0.01 * errors,
        "accelerometer": weight + 0.1 * errors[:, ::-1],
        "joints": joints,
        "joint_rates": 0.03 * rate * np.cos(phase),
        "torques": load + 6.0 * np.sin(phase[:, ::-1] / 3),
    }


def estimated(
    estimator: eq.Estimator, *, spoilt: bool = False, kicked: float = 0.0, known: bool = True, **how: str
) -> dict[str, Any]:
    """States at some rows, the belief in the end, and what was rejected.

    Args:
        estimator: is called row by row.
        spoilt: whether some samples and stamps are wrong.
        kicked: rad, by which the first leg is elsewhere from row 100 on.
        known: whether it is told where it starts.
        how: `contacts`, `forces` or `torques`, by which contacts are known.
    """
    robot, given = estimator.robot, readings(estimator.robot)
    if known:
        q = robot.standing()
        q[:3] += [0.3, -0.2, 0.1]
        estimator.reset(q, 0.01 * np.sin(np.arange(robot.nv)), t=0.0)
    if spoilt:
        given["gyroscope"][60], given["accelerometer"][90, 1], given["joints"][120, 2] = 900.0, -700.0, np.nan
        given["joint_rates"][130, 0], given["accelerometer"][135:139] = 80.0, 60.0
    given["joints"][100:, :3] += kicked * np.minimum(np.arange(ROWS - 100) / 10, 1.0)[:, None]
    states, loaded = [], []
    for k in range(ROWS):
        t = DT * (k + 1) + (0.05 if spoilt and k == 150 else -0.03 if spoilt and k == 170 else 0.0)
        swinging = k // 60 % len(estimator.contacts)
        options: dict[str, Any] = {}
        if "contacts" in how:
            options["contacts"] = [i != swinging or k % 60 < 20 for i in range(len(estimator.contacts))]
        if "forces" in how:
            wrench = np.array([3.0, 1.0, 100.0, 0.5, 0.2, 0.1])
            options["forces"] = {name: wrench * (i != swinging) for i, name in enumerate(estimator.contacts)}
        torques = given["torques"][k] if "torques" in how else None
        sample = [given[name][k] for name in ("gyroscope", "accelerometer", "joints", "joint_rates")]
        q, v = estimator(t, *sample, torques, **options)
        if k % SAMPLED == SAMPLED - 1:
            states.append(np.concatenate([q[:7], v[:6]]))
            loaded.append("".join("x" if on else "." for on in estimator.touching.values()))
    found = {
        "states": [row.tolist() for row in states],
        "loaded": loaded,
        "slipping": estimator.slipping,
        "belief": estimator.belief.numbers,
        "squares": list(estimator.squares.values()),
        "counts": estimator.counts,
    }
    return found | ({"wrenches": estimator.wrenches} if "torques" in how else {})


CASES = {
    "quadruped, all stand": lambda: estimated(quadruped()),
    "quadruped, told contacts": lambda: estimated(quadruped(), contacts="told"),
    "quadruped, forces": lambda: estimated(quadruped(), forces="told"),
    "quadruped, torques": lambda: estimated(quadruped(), torques="told"),
    "quadruped, torques, a push": lambda: estimated(quadruped(watch="trunk"), torques="told", contacts="told"),
    "quadruped, spoilt": lambda: estimated(quadruped(), spoilt=True, contacts="told"),
    "quadruped, unknown start": lambda: estimated(quadruped(), known=False),
    "quadruped, other noise": lambda: estimated(
        quadruped(
            noise=FilterNoise(0.01, 0.002, 0.2, 0.01, 0.1, 0.005, 0.002, 0.1, 0.2, 0.5, 1e-3, 30.0, 200.0),
            prior=Prior(*(0.7 * x for x in vars(Prior()).values())),
        ),
        contacts="told",
    ),
    "quadruped, kicked": lambda: estimated(quadruped(), kicked=0.5),
    "quadruped, all legs elsewhere": lambda: estimated(
        quadruped(noise=FilterNoise(encoder=1e-4, contact=1e-4)), kicked=2.0
    ),
    "biped, all stand": lambda: estimated(biped()),
    "biped, told contacts": lambda: estimated(biped(), contacts="told"),
    "biped, spoilt": lambda: estimated(biped(), spoilt=True, forces="told"),
    "biped, torques": lambda: estimated(biped(), torques="told"),
}


@pytest.mark.parametrize("case", CASES)
def test_recorded_estimates(case):
    records.check(f"estimate_{list(CASES).index(case)}", CASES[case](), rtol=1e-4, atol=1e-5)
