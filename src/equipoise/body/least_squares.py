"""Nearest configurations by damped least squares with bounds, on a robot's manifold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .skeleton import Motion, Skeleton

if TYPE_CHECKING:
    from ..robot import Robot

Array = np.ndarray
Rows = Callable[[Array, Motion], tuple[Array, Array]]  # (q, where everything is) → residuals (m,), Jacobian (m, nv)
ITERATIONS = 80


@dataclass(frozen=True, eq=False)
class Bounds:
    """Joint positions: lower and upper (nv,), and which velocities may be used (nv,)."""

    lower: Array
    upper: Array
    free: Array


def solved(skeleton: Skeleton, q: Array, rows: Rows, bounds: Bounds, iterations: int = ITERATIONS) -> tuple[Array, float]:
    """(q, sum of squares): Levenberg–Marquardt; joints at a bound that are pushed against it are left out of a step."""
    at = positions(skeleton.robot)
    q = clipped(q, at, bounds)
    r, J = rows(q, skeleton.at(q))
    cost, damping = float(r @ r), 1e-4
    for _ in range(iterations):
        g, x = J.T @ r, np.where(at >= 0, q[at], 0.0)
        stuck = (at >= 0) & (((x <= bounds.lower + 1e-9) & (g > 0)) | ((x >= bounds.upper - 1e-9) & (g < 0)))
        free = bounds.free & ~stuck
        H = J[:, free].T @ J[:, free]
        step = np.zeros(len(g))
        step[free] = -np.linalg.solve(H + damping * (np.eye(len(H)) + np.diag(np.diag(H))), g[free])
        step *= min(1.0, 0.5 / max(float(np.abs(step).max(initial=0.0)), 1e-12))
        new = clipped(skeleton.integrate(q, step), at, bounds)
        r_new, J_new = rows(new, skeleton.at(new))
        if float(r_new @ r_new) < cost:
            gain = cost - float(r_new @ r_new)
            q, r, J, cost, damping = new, r_new, J_new, float(r_new @ r_new), max(damping / 5, 1e-9)
            if gain < 1e-12 * (1.0 + cost):
                break
        elif damping > 1e6:
            break
        else:
            damping *= 8
    return q, cost


def positions(robot: Robot) -> Array:
    """(nv,) where the position of each velocity is in q; −1 for the base and joints with several coordinates."""
    at = np.full(robot.nv, -1)
    for joint in robot.joints.values():
        if joint.mimic is None and joint.type.nq == 1:
            at[joint.v] = joint.q.start
    return at


def clipped(q: Array, at: Array, bounds: Bounds) -> Array:
    """q with every joint within its bounds; `at` as `positions` has it."""
    single = at >= 0
    q = q.copy()
    q[at[single]] = np.clip(q[at[single]], bounds.lower[single], bounds.upper[single])
    return q
