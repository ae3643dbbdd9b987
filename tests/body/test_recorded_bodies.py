"""Recorded bodies: what is found of robots that people know, with reasons, confidence and the posture they stand in.

Robots whose posture is searched for seconds are in the slow tests of anatomy.
"""

from __future__ import annotations

from typing import Any

import legged
import numpy as np
import pytest
import records
from test_anatomy import LONG

import equipoise as eq

STANDING = [name for name in (*legged.NAMED, *legged.FILES) if name not in LONG]


def described(body: eq.Body) -> dict[str, Any]:
    profile = body.profile
    found = {"kind": body.kind, "up": body.up, "front": body.front, "fingers": body.fingers, "wheels": profile.wheels}
    found |= {"touching": [list(pair) for pair in profile.touching], "groups": body.groups, "frames": body.frames}
    for role, part in body.parts.items():
        found[role] = part
    found["findings"] = [[f.what, f.value, f.reason, float(f.confidence)] for f in body.findings]
    return found


@pytest.mark.parametrize("name", STANDING)
def test_recorded_bodies(name):
    body = legged.body(name)
    sizes = {"height": body.height, "leg length": body.leg_length, "gains": body.gains}
    joints = {joint: float(q) for joint, q in body.profile.standing.items()}
    found = described(body) | {"sizes": sizes, "standing": joints, "base": body.standing[:7]}
    records.check(f"body_{name}", found, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("name", legged.FOOTLESS)
def test_recorded_bodies_without_feet(name):
    records.check(f"body_{name}", described(legged.body(name)), rtol=1e-4, atol=1e-4)


def test_recorded_bodies_of_other_sizes():
    found = {}
    for height, mass in ((1.5, 48.0), (1.9, 100.0)):
        body = eq.Body.of(eq.load("human", height=height, mass=mass), search=False)
        found[f"{height:g} m"] = {
            "gains": body.gains,
            "height": body.height,
            "stands": np.round(body.standing, 4).tolist(),
        }
    records.check("body_other_sizes", found, rtol=1e-3, atol=1e-3)
