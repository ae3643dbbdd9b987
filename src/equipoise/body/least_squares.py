"""Nearest configurations by damped least squares with bounds, on a robot's manifold; one problem or thousands at once.

    minimise  ‖r(q)‖²     subject to  lower ≤ q ≤ upper

by Levenberg and Marquardt's steps. Joints at a bound that are pushed against it are left out of a step. The first rows
may be one-sided: they cost something where they are positive, and a step looks where it would make them so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from ..model.skeleton import BodyPoses, Skeleton

if TYPE_CHECKING:
    from ..model.described import Described

Array = np.ndarray
Rows = Callable[[Array, BodyPoses], tuple[Array, Array]]  # (q, where everything is) → residuals (m,), Jacobian (m, nv)
BatchedRows = Callable[[Array], tuple[Array, Array]]  # q (N, nq) → residuals (N, m), Jacobians (N, m, nv)
ITERATIONS = 80
FARTHEST = 0.5  # rad or m: of any coordinate in one step, as far as first order is trusted
FIRST_DAMPING, LEAST_DAMPING, MOST_DAMPING = 1e-4, 1e-10, 1e8
LOOKS = 4  # at one-sided rows that a step would make positive
SETTLED = 1e-12  # of the cost, or of one: a step that gains less is the last


@dataclass(frozen=True, eq=False)
class PositionBounds:
    """Joint positions: lower and upper (nv,), and which velocities may be used (nv,)."""

    lower: Array
    upper: Array
    free: Array

    @classmethod
    def of(cls, robot: Described, free: Array, part: float = 0.0, most: float = 0.0) -> PositionBounds:
        """The limits of a robot's joints, drawn in by a part of their range, by no more than `most` (rad or m)."""
        lower, upper = np.full(robot.nv, -np.inf), np.full(robot.nv, np.inf)
        for joint in robot.joints.values():
            low, high = joint.limits.lower, joint.limits.upper
            if joint.mimic is None and joint.type.nq == 1 and low <= high:
                inside = min(part * (high - low), most) if np.isfinite(high - low) else 0.0
                lower[joint.v], upper[joint.v] = low + inside, high - inside
        return cls(lower, upper, free)

    def clipped(self, q: Array, at: Array, *, every: bool = True) -> Array:
        """q (…, nq) with the joints within their bounds, all or those that may move; `at` as `positions` has it."""
        single = (at >= 0) & (self.free | every)
        q = q.copy()
        q[..., at[single]] = np.clip(q[..., at[single]], self.lower[single], self.upper[single])
        return q


@dataclass(frozen=True, eq=False)
class Descended:
    """How far a descent is: (N, …) for N problems.

    Attributes:
        q: (N, nq). cost: (N,), sum of squares.
        gain: (N,), by which the last step lowered it; 0 where it was not taken.
        damping: (N,), of the next step.
    """

    q: Array
    cost: Array
    gain: Array
    damping: Array


def descent(
    q: Array,
    rows: BatchedRows,
    integrate: Callable[[Array, Array], Array],
    bounds: PositionBounds,
    at: Array,
    one_sided: int = 0,
    relative: bool = True,
) -> Iterator[Descended]:
    """Where steps lead from q (N, nq), one after the other and without end; a step that does not help is damped more.

    Args:
        integrate: (q, step) → q on the manifold.
        at: as `positions` has it.
        one_sided: number of rows, the first ones, that count where they are positive.
        relative: whether a coordinate is damped by what it does to the rows. Rows of very different weights want an
            even damping: else the heavy ones keep the light ones from moving.
    """
    r, J = rows(q)
    cost, damping = cost_of(r, one_sided), np.full(len(q), FIRST_DAMPING)
    while True:
        new = bounds.clipped(integrate(q, _step(q, r, J, damping, bounds, at, one_sided, relative)), at, every=False)
        r_new, J_new = rows(new)
        cost_new = cost_of(r_new, one_sided)
        better = cost_new < cost
        gain = np.where(better, cost - cost_new, 0.0)
        q, r, J = (np.where(_like(better, x), y, x) for x, y in ((q, new), (r, r_new), (J, J_new)))
        cost = np.where(better, cost_new, cost)
        damping = np.clip(np.where(better, damping / 5, damping * 8), LEAST_DAMPING, MOST_DAMPING)
        yield Descended(q, cost, gain, damping)


def solved(
    skeleton: Skeleton, q: Array, rows: Rows, bounds: PositionBounds, iterations: int = ITERATIONS
) -> tuple[Array, float]:
    """(q, sum of squares): where the descent of one problem settles."""
    at = positions(skeleton.robot)

    def one(q: Array) -> tuple[Array, Array]:
        r, J = rows(q[0], skeleton.at(q[0]))
        return r[None], J[None]

    def integrate(q: Array, step: Array) -> Array:
        return skeleton.integrate(q[0], step[0])[None]

    start = bounds.clipped(q, at)[None]
    now = Descended(start, np.full(1, np.inf), np.zeros(1), np.zeros(1))
    for now in islice(descent(start, one, integrate, bounds, at), iterations):
        if 0 < now.gain[0] < SETTLED * (1.0 + now.cost[0]) or now.damping[0] >= MOST_DAMPING:
            break
    return now.q[0], float(now.cost[0])


def cost_of(r: Array, one_sided: int) -> Array:
    """Sum of squares (N,) of residuals (N, m), of the first ones where they are positive."""
    return np.where((np.arange(r.shape[1]) >= one_sided) | ~(r < 0), r * r, 0.0).sum(1)


def _step(
    q: Array,
    r: Array,
    J: Array,
    damping: Array,
    bounds: PositionBounds,
    at: Array,
    one_sided: int = 0,
    relative: bool = True,
) -> Array:
    """(N, nv): of all problems, with the one-sided rows that are positive or that the step would make so."""
    counts = (np.arange(r.shape[1]) >= one_sided) | ~(r < 0)
    for _ in range(LOOKS if one_sided else 1):
        now = np.where(counts, r, 0.0), np.where(counts[:, :, None], J, 0.0)
        step = _two_sided_step(q, *now, damping, bounds, at, relative)
        more = (r + np.einsum("nmi,ni->nm", J, step) > 0) & ~counts
        if not more.any():
            break
        counts |= more
    return step


def _two_sided_step(
    q: Array, r: Array, J: Array, damping: Array, bounds: PositionBounds, at: Array, relative: bool
) -> Array:
    """(N, nv): joints that may not move, or only out of their range, stay."""
    g = np.einsum("nmi,nm->ni", J, r)
    x = np.where(at >= 0, q[:, at], 0.0)
    stuck = (at >= 0) & (((x <= bounds.lower + 1e-9) & (g > 0)) | ((x >= bounds.upper - 1e-9) & (g < 0)))
    moves = bounds.free & ~stuck
    J = np.where(moves[:, None, :], J, 0.0)
    H = np.swapaxes(J, 1, 2) @ J
    i = np.arange(H.shape[1])
    H[:, i, i] += damping[:, None] * (1.0 + (H[:, i, i] if relative else 0.0))
    step = -np.linalg.solve(H, np.where(moves, g, 0.0)[:, :, None])[:, :, 0]
    return step * np.minimum(1.0, FARTHEST / np.maximum(np.abs(step).max(axis=1, initial=0.0), 1e-12))[:, None]


def positions(robot: Described) -> Array:
    """(nv,) where the position of each velocity is in q; −1 for the base and joints with several coordinates."""
    at = np.full(robot.nv, -1)
    for joint in robot.joints.values():
        if joint.mimic is None and joint.type.nq == 1:
            at[joint.v] = joint.q.start
    return at


def _like(chosen: Array, x: Array) -> Array:
    return chosen.reshape(-1, *(1,) * (x.ndim - 1))
