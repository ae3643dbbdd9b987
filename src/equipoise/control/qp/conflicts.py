"""When nothing fits: which rows contradict each other [GR90]."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from .daqp_solver import DaqpSolver
from .program import FEASIBLE, QuadraticProgram, Solver, Status, ill_posed

Array = np.ndarray


def groups_of(problem: QuadraticProgram) -> dict[str, Array]:
    """For every name, which entries of the stack of bounds and rows it has; only names that limit something."""
    lower, upper = problem.limits
    limits = (lower > -np.inf) | (upper < np.inf)
    groups: dict[str, list[int]] = {}
    for k, name in enumerate(problem.bound_names + problem.names):
        if limits[k]:
            groups.setdefault(name, []).append(k)
    return {name: np.array(indices) for name, indices in groups.items()}


def only(problem: QuadraticProgram, chosen: Iterable[Array]) -> QuadraticProgram:
    """The shortest x that satisfies some of the rows; the others are there, without bounds, so that sizes stay."""
    n = problem.f.size
    mask = np.zeros(n + len(problem.A), dtype=bool)
    for indices in chosen:
        mask[indices] = True
    lower, upper = np.where(mask, problem.limits[0], -np.inf), np.where(mask, problem.limits[1], np.inf)
    plain = replace(problem, H=np.eye(n), f=np.zeros(n), classes=np.zeros_like(problem.classes), levels=())
    return replace(plain, lower=lower[n:], upper=upper[n:], x_lower=lower[:n], x_upper=upper[:n])


def feasible(solver: Solver, problem: QuadraticProgram) -> bool:
    result = solver.solve(problem)
    return result.status is not Status.INFEASIBLE and bool(result.residuals.primal <= FEASIBLE)


def conflict(problem: QuadraticProgram) -> list[str]:
    """Names of rows that cannot hold together although they could if any one of them were dropped; empty if all can.

    A vertex of the polyhedron of Farkas multipliers is an irreducible inconsistent set [GR90]; a deletion filter over
    its names then makes sure of it for rows that share a name, and in finite precision.
    """
    if ill_posed(problem):
        return []
    groups, solver = groups_of(problem), DaqpSolver()
    if feasible(solver, only(problem, groups.values())):
        return []
    support = _farkas_support(problem)
    suspects = [name for name, indices in groups.items() if support[indices].any()]
    if feasible(solver, only(problem, (groups[name] for name in suspects))):
        suspects = list(groups)  # the linear program could not tell; try every row
    for name in tuple(suspects):
        others = [other for other in suspects if other != name]
        if not feasible(solver, only(problem, (groups[other] for other in others))):
            suspects = others
    return suspects


def _farkas_support(problem: QuadraticProgram) -> Array:
    """Which bounds and rows have a part in one proof of infeasibility: y ≥ 0, Mᵀ(y_u − y_l) = 0, uᵀ y_u − lᵀ y_l =
    −1."""
    from scipy.optimize import linprog

    M = np.vstack((np.eye(problem.f.size), problem.A))
    length = np.maximum(np.linalg.norm(M, axis=1), 1e-300)
    lower, upper = (limit / length for limit in problem.limits)
    has_upper, has_lower = np.flatnonzero(np.isfinite(upper)), np.flatnonzero(np.isfinite(lower))
    M = M / length[:, None]
    bounds = np.concatenate((upper[has_upper], -lower[has_lower]))
    equations = np.vstack((np.hstack((M[has_upper].T, -M[has_lower].T)), bounds))
    right = np.append(np.zeros(problem.f.size), -1.0)
    answer = linprog(np.ones(bounds.size), A_eq=equations, b_eq=right, method="highs-ds")
    support = np.zeros(len(M), dtype=bool)
    if answer.x is not None:
        pushing = answer.x > 1e-9 * answer.x.max(initial=0.0)
        support[np.concatenate((has_upper, has_lower))[pushing]] = True
    return support
