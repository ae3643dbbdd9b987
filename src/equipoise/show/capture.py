"""Where a robot that steps is about to fall, and where it holds against that: capture point and centre of pressure of a
run.

With the centre of mass c at height h, all contact forces F and their moment M about the world's origin, on the ground z
= 0:

    ξ = c + ċ / ω,      ω = √(g / h)              [PCDG06]
    p_x = −M_y / F_z,   p_y = M_x / F_z
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..model.types import Array

if TYPE_CHECKING:
    from ..simulate.run import Run

PRESSED = 0.05  # of the weight: below, there is no centre of pressure to speak of


def capture_point(run: Run) -> Array:
    """(N, 2) m, with the height of the centre of mass at the start above the ground."""
    gravity = float(np.linalg.norm(run.robot.model.gravity))
    rate = np.sqrt(gravity / max(float(run.com[0, 2]), 1e-3))
    return np.asarray(run.com[:, :2] + np.gradient(run.com[:, :2], run.t, axis=0) / rate)


def pressure(run: Run) -> Array:
    """(N, 2) m, of the measured forces; NaN where hardly any are felt."""
    F, M = np.zeros((len(run.t), 3)), np.zeros((len(run.t), 3))
    for name, wrench in run.measured.items():
        if name in run.contacts:
            place = run.robot.pose(np.ascontiguousarray(run.q), run.contacts[name].frame)[:, :3, 3]
            felt = np.nan_to_num(wrench)
            F += felt[:, :3]
            M += felt[:, 3:] + np.cross(place, felt[:, :3])
    weight = run.robot.mass * float(np.linalg.norm(run.robot.model.gravity))
    pressed = np.where(F[:, 2] > PRESSED * weight, F[:, 2], np.nan)
    return np.stack([-M[:, 1], M[:, 0]], axis=1) / pressed[:, None]


def lines(run: Run) -> dict[str, Array]:
    """Both as curves by name, (N,) m."""
    if not run.robot.floating or len(run.t) < 2 or not run.measured:
        return {}
    parts = {"capture point": capture_point(run), "centre of pressure": pressure(run)}
    return {f"{what}, {axis}": place[:, k] for k, axis in enumerate("xy") for what, place in parts.items()}
