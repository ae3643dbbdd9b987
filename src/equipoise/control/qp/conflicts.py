"""When nothing fits: which rows contradict each other [GR90], and by how much they must give way."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ...errors import unknown_name
from .priorities import solve_levels
from .program import FEASIBLE, PRIMAL_TOLERANCE, QuadraticProgram, Result, Rows, Status, failure, ill_posed
from .solver import Solver

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


def only(problem: QuadraticProgram, kept: Iterable[Array]) -> QuadraticProgram:
    """The shortest x that satisfies some of the rows; the others are there, without bounds, so that sizes stay."""
    n = problem.f.size
    mask = np.zeros(n + len(problem.A), dtype=bool)
    for indices in kept:
        mask[indices] = True
    lower, upper = np.where(mask, problem.limits[0], -np.inf), np.where(mask, problem.limits[1], np.inf)
    return replace(problem, H=np.eye(n), f=np.zeros(n), lower=lower[n:], upper=upper[n:], x_lower=lower[:n], x_upper=upper[:n])


def feasible(solver: Solver, problem: QuadraticProgram) -> bool:
    result = solver.solve(problem)
    return result.status is not Status.INFEASIBLE and bool(result.residuals.primal <= FEASIBLE)


def conflict(problem: QuadraticProgram) -> list[str]:
    """Names of rows that cannot hold together although they could if any one of them were dropped; empty if all can.

    A vertex of the polyhedron of Farkas multipliers is an irreducible inconsistent set [GR90]; a deletion filter over its names
    then makes sure of it for rows that share a name, and in finite precision.
    """
    if ill_posed(problem):
        return []
    groups, solver = groups_of(problem), Solver()
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
    """Which bounds and rows have a part in one proof of infeasibility: y ≥ 0, Mᵀ(y_u − y_l) = 0, uᵀ y_u − lᵀ y_l = −1."""
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


@dataclass(frozen=True, eq=False)
class Relaxation:
    """What had to give: the result of the problem that was solved instead, and by how much each named row is exceeded."""

    result: Result
    amounts: dict[str, float] = field(default_factory=dict)  # name → largest excess of its rows, in their own units
    classes: int = 0  # how many classes of the order were softened


def relaxed(problem: QuadraticProgram, order: Sequence[Collection[str]]) -> Relaxation:
    """Solve after softening classes of rows, in the stated order, until the rest is feasible.

    Among the softened classes the last one, which was given up most reluctantly, is violated least (in the sense of least
    squares), then the one before it, and so on: strict levels. The cost is minimised last, within bounds widened by no more
    than these violations. Rows in no class never give way.

    Args:
        order: classes of names; the first gives way first.
    """
    groups, solver = groups_of(problem), Solver()
    known = set(problem.bound_names + problem.names)
    for name in (name for members in order for name in members):
        if name not in known:
            raise unknown_name("row", name, sorted(known))
    for count in range(len(order) + 1):
        soft = {name for members in order[:count] for name in members}
        if feasible(solver, only(problem, (at for name, at in groups.items() if name not in soft))):
            break
    else:
        return Relaxation(Solver().solve(problem), classes=len(order))
    if count == 0:
        return Relaxation(Solver().solve(problem))
    # Rows in their own order: sets of names come in another one in each process, and the last digits would with them.
    of_class = [[at for name, at in groups.items() if name in members] for members in order[:count]]
    chosen = [np.concatenate([[], *places]).astype(int) for places in of_class]
    hard = np.concatenate([[], *(at for name, at in groups.items() if name not in soft)]).astype(int)
    everything = _both(problem)
    answer = solve_levels([_take(everything, c) for c in reversed(chosen)], _take(everything, hard))
    if not np.isfinite(answer.x).all():
        return Relaxation(failure(problem, answer.status, answer.iterations), classes=count)
    widened = _widened(problem, everything.A @ answer.x, np.concatenate(chosen))
    return Relaxation(Solver().solve(widened), _amounts(problem, widened), count)


def _both(problem: QuadraticProgram) -> Rows:
    """Bounds of the variables and rows as one set; a row whose bounds contradict each other aims at their middle."""
    lower, upper = problem.limits
    crossed = lower > upper
    middle = 0.5 * (np.where(crossed, lower, 0.0) + np.where(crossed, upper, 0.0))
    A = np.vstack((np.eye(problem.f.size), problem.A))
    return Rows(A, np.where(crossed, middle, lower), np.where(crossed, middle, upper), problem.bound_names + problem.names)


def _take(rows: Rows, indices: Array) -> Rows:
    return Rows(rows.A[indices], rows.lower[indices], rows.upper[indices], tuple(rows.names[k] for k in indices))


def _widened(problem: QuadraticProgram, value: Array, soft: Array) -> QuadraticProgram:
    """The problem with the bounds of soft rows moved out to the values they have, and a hair further for rounding."""
    lower, upper = problem.limits
    hair = PRIMAL_TOLERANCE * np.maximum(1.0, np.abs(value))
    below, above = np.zeros(value.size, dtype=bool), np.zeros(value.size, dtype=bool)
    below[soft] = value[soft] < lower[soft]
    above[soft] = value[soft] > upper[soft]
    lower, upper = np.where(below, value - hair, lower), np.where(above, value + hair, upper)
    n = problem.f.size
    return replace(problem, lower=lower[n:], upper=upper[n:], x_lower=lower[:n], x_upper=upper[:n])


def _amounts(problem: QuadraticProgram, widened: QuadraticProgram) -> dict[str, float]:
    """By how much each name's bounds were moved, where it is more than rounding."""
    amounts: dict[str, float] = {}
    for name, indices in groups_of(problem).items():
        moved = 0.0
        for before, after, sign in zip(problem.limits, widened.limits, (1.0, -1.0), strict=True):
            changed = indices[before[indices] != after[indices]]
            moved = max(moved, float((sign * (before[changed] - after[changed])).max(initial=0.0)))
        if moved > FEASIBLE:
            amounts[name] = moved
    return amounts
