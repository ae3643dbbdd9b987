"""Solves Coulomb friction and unilateral contact as one problem in the impulses at the contact points.

    u = G p + c,    0 ≤ u_n ⊥ p_n ≥ 0,    |p_t| ≤ μ p_n,    p_t against u_t, and at the edge of the cone where u_t ≠ 0

With de Saxcé's change of variables this becomes one complementarity problem of the friction cone K and its dual K*:
p ∈ K, u + μ|u_t| n ∈ K*, p · (u + μ|u_t| n) = 0. It is solved by ADMM with a single eigendecomposition for all
iterations;
the residual certifies the solution.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

Array = np.ndarray
ITERATIONS = 1000
TOLERANCE = 1e-9  # × largest approach speed
EVERY = 10  # iterations between two checks of the residual


@dataclass(frozen=True, eq=False)
class ConeSolution:
    """Impulses p, (k, 3) as (normal, tangent, tangent), velocities u = G p + c, and the residual.

    `residual` is |p − proj_K(p − (u + μ|u_t| n)/g)| · g with g = tr G / k; a velocity in m/s, zero for an exact
    solution.
    """

    impulse: Array
    velocity: Array
    residual: float
    iterations: int
    converged: bool


def project(p: Array, mu: Array) -> Array:
    """Returns the nearest points of the cones |p_t| ≤ μ p_n, (k, 3)."""
    n, size = p[:, 0], np.hypot(p[:, 1], p[:, 2])
    edge = np.maximum(0.0, (n + mu * size) / (1 + mu * mu))
    inside, below = size <= mu * n, mu * size <= -n
    normal = np.where(inside, n, np.where(below, 0.0, edge))
    scale = np.where(inside, 1.0, np.where(below, 0.0, mu * edge / np.where(size > 0, size, 1.0)))
    return np.stack([normal, scale * p[:, 1], scale * p[:, 2]], axis=1)


def residual(G: Array, c: Array, mu: Array, p: Array) -> tuple[float, Array]:
    """Returns (residual, u) of impulses p."""
    u = (G @ p.ravel()).reshape(-1, 3) + c
    g = float(np.trace(G)) / len(G)
    moved = p - _corrected(u, mu) / g
    return float(np.abs(p - project(moved, mu)).max() * g), u


def _corrected(u: Array, mu: Array) -> Array:
    """Returns u + μ|u_t| n."""
    result = u.copy()
    result[:, 0] += mu * np.hypot(u[:, 1], u[:, 2])
    return result


def solve_cones(
    G: Array,
    c: Array,
    mu: Array,
    start: Array | None = None,
    *,
    tolerance: float = TOLERANCE,
    iterations: int = ITERATIONS,
) -> ConeSolution:
    """Solves for the impulses, given G (3k, 3k), positive semi-definite, and the velocities c (k, 3) without impulses.

    Args:
        mu: friction coefficient of each point, (k,).
        start: initial guess of the impulses, such as those of the previous step.
        tolerance: limit of the residual, relative to the largest |c|.
    """
    size = max(float(np.abs(c).max(initial=0.0)), 1e-9)
    values, Q = np.linalg.eigh(G)
    values = np.maximum(values, 0.0)
    p, value, u = _best_start(G, c, mu, values, Q, start)
    y = -_corrected(u, mu)
    rho = _first_weight(values)
    count = 0
    while value > tolerance * size and count < iterations:
        z_old = p
        for _ in range(EVERY):
            s = mu * np.hypot(y[:, 1], y[:, 2])  # at convergence the tangential part of −y equals u_t
            right = rho * p - y - c
            right[:, 0] -= s
            x = (Q @ ((right.ravel() @ Q) / (values + rho))).reshape(-1, 3)
            z_old, p = p, project(x + y / rho, mu)
            y = y + rho * (x - p)
        count += EVERY
        rho = _balanced(rho, float(np.abs(x - p).max()), float(np.abs(p - z_old).max()), values)
        value, u = residual(G, c, mu, p)
    return ConeSolution(p, u, value, count, value <= tolerance * size)


def _best_start(
    G: Array, c: Array, mu: Array, values: Array, Q: Array, start: Array | None
) -> tuple[Array, float, Array]:
    """Returns (p, residual, u) of the better initial guess.

    The guesses are the impulses that stop every point, which often solve the problem, and those of the previous
    step."""
    counting = values > 1e-12 * values[-1]
    stop = -(Q @ (np.where(counting, 1 / np.where(counting, values, 1.0), 0.0) * (c.ravel() @ Q))).reshape(-1, 3)
    tried = [project(stop, mu)] if start is None else [project(stop, mu), project(start, mu)]
    found = [(p, *residual(G, c, mu, p)) for p in tried]
    return min(found, key=lambda item: item[1])


def _first_weight(values: Array) -> float:
    """Returns the geometric mean of the smallest and largest non-negligible eigenvalues."""
    top = float(values[-1])
    counting = values[values > 1e-9 * top]
    return float(np.sqrt(counting[0] * top)) if top > 0 else 1.0


def _balanced(rho: float, primal: float, dual: float, values: Array) -> float:
    """Adapts the penalty ρ: larger if the primal residual dominates, smaller if the dual one does."""
    if primal > 5 * dual:
        rho *= 3.0
    elif dual > 5 * primal:
        rho /= 3.0
    return float(np.clip(rho, 1e-6 * values[-1], 10 * values[-1] + 1e-300))
