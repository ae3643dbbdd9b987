"""The lexicographic problem one quadratic program after the other, each in the null space of those before it [EMW14].

This is how solvers of plain quadratic programs do levels and relaxation, and what the compiled solver is tested
against: it is exact up to rounding, in Python, and without warm start.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from .program import (
    ACCURATE,
    FEASIBLE,
    PRIMAL_TOLERANCE,
    QuadraticProgram,
    Residuals,
    Result,
    Rows,
    Status,
    excess,
    failure,
)

Array = np.ndarray
Plain = Callable[[QuadraticProgram], Result]  # solves programs without levels whose rows all hold
RANK_TOLERANCE = 1e-9  # singular values below this part of a level's longest row count as zero


def lexicographic(problem: QuadraticProgram, plain: Plain) -> Result:
    """Classes of rows, then levels, then the cost.

    Args:
        problem: finite.
        plain: what solves each of the quadratic programs.
    """
    n = problem.f.size
    rows = _crossed_apart(Rows(problem.A, problem.lower, problem.upper))
    bounds = Rows(np.eye(n), problem.x_lower, problem.x_upper)
    top = stacked((bounds, rows.where(problem.classes == 0)), n)
    if (top.lower > top.upper).any():
        return failure(problem, Status.INFEASIBLE)
    classes = [rows.where(problem.classes == k) for k in range(1, int(problem.classes.max(initial=0)) + 1)]
    answer = solve_cascade([*classes, *problem.levels, _as_rows(problem.H, problem.f)], top, plain)
    if not np.isfinite(answer.x).all():
        return failure(problem, answer.status, answer.iterations)
    beyond = excess(problem, answer.x)
    if not problem.levels:
        return _with_multipliers(problem, beyond, answer, plain)
    status = Status.RELAXED if answer.status is Status.OPTIMAL and beyond.any() else answer.status
    residuals = Residuals(max(answer.optimality), answer.violation, 0.0, 0.0)
    rows_zero = np.zeros(len(problem.A))
    return Result(status, answer.x, rows_zero, np.zeros(n), beyond, problem.A @ answer.x, residuals, answer.iterations)


def _with_multipliers(problem: QuadraticProgram, beyond: Array, answer: CascadeResult, plain: Plain) -> Result:
    """The same with bounds moved to the values reached is a plain program, which has multipliers."""
    value = problem.A @ answer.x
    hair = PRIMAL_TOLERANCE * np.maximum(1.0, np.abs(value))
    soft = problem.classes > 0
    lower = np.where(soft & (value < problem.lower), value - hair, problem.lower)
    upper = np.where(soft & (value > problem.upper), value + hair, problem.upper)
    result = plain(replace(problem, lower=np.minimum(lower, upper), upper=np.maximum(lower, upper)))
    residuals = Residuals(max(answer.optimality), answer.violation, 0.0, 0.0)
    status = Status.RELAXED if answer.status is Status.OPTIMAL and beyond.any() else answer.status
    steps = answer.iterations + result.iterations
    return result._replace(
        status=status, x=answer.x, excess=beyond, values=value, residuals=residuals, iterations=steps
    )


def _crossed_apart(rows: Rows) -> Rows:
    """A row whose bounds contradict each other aims at their middle; class 0 never comes here with one."""
    crossed = rows.lower > rows.upper
    middle = 0.5 * (np.where(crossed, rows.lower, 0.0) + np.where(crossed, rows.upper, 0.0))
    return Rows(rows.A, np.where(crossed, middle, rows.lower), np.where(crossed, middle, rows.upper), rows.names)


def _as_rows(H: Array, f: Array) -> Rows:
    """½ xᵀ H x + fᵀ x as ½|R x − r|²; directions that neither decides go to zero."""
    values, vectors = np.linalg.eigh(H)
    nonzero = values > RANK_TOLERANCE**2 * max(float(values.max()), 1e-300)
    R = np.sqrt(values[nonzero])[:, None] * vectors[:, nonzero].T
    rest = vectors[:, ~nonzero].T
    r = -(vectors[:, nonzero].T @ f) / np.sqrt(values[nonzero])
    return Rows.equal(np.vstack((R, rest)), np.concatenate((r, np.zeros(len(rest)))))


def stacked(parts: Sequence[Rows], n: int) -> Rows:
    """All rows of several sets, in order."""
    A = np.vstack([np.zeros((0, n)), *(p.A for p in parts)])
    lower, upper = (np.concatenate([np.zeros(0), *(getattr(p, side) for p in parts)]) for side in ("lower", "upper"))
    return Rows(A, lower, upper, tuple(name for p in parts for name in p.names))


@dataclass(frozen=True, eq=False)
class CascadeResult:
    """The lexicographic minimiser. `optimality[k]` certifies level k: see `level_optimality`."""

    status: Status
    x: Array
    violation: float = np.nan  # of the constraints, scaled
    optimality: tuple[float, ...] = ()  # per level
    iterations: int = 0


def solve_cascade(levels: Sequence[Rows], top: Rows, plain: Plain) -> CascadeResult:
    """Minimise the distance from level 1, then that from level 2 among the minimisers, and so on; `top` holds.

    The last level decides everything that those before it do not.
    """
    status, x, iterations = _cascade(levels, top, plain)
    if status is not Status.OPTIMAL:
        return CascadeResult(status, np.full(levels[0].A.shape[1], np.nan), iterations=iterations)
    # proximal steps may have left a level by a hair
    x = _nearest_to_optimal([_polished(x, levels, top), x], levels, top)[0]
    violation, optimality = _scaled_distance(top, x), level_optimality(x, levels, top)
    good = max(violation, *optimality) <= ACCURATE
    return CascadeResult(Status.OPTIMAL if good else Status.INACCURATE, x, violation, optimality, iterations)


def _scaled_distance(rows: Rows, x: Array) -> float:
    return float((np.abs(rows.distance(x)) / np.maximum(1.0, np.abs(rows.A @ x))).max(initial=0.0))


def level_optimality(x: Array, levels: Sequence[Rows], constraints: Rows) -> tuple[float, ...]:
    """For each level, how far x is from satisfying its optimality condition; zero for the lexicographic minimiser.

    Level k is optimal below levels 1 … k−1 if the gradient of its squared distance is balanced by rows above it: by
    rows that are fixed (equalities, and inequalities that could not be met, whose distance is decided) with any
    multiplier, and by rows that touch their bound with a multiplier of the right sign. The best such multipliers come
    from nonnegative least squares.
    """
    optimality, Z, touching = [], np.eye(x.size), np.zeros((0, x.size))
    for above, level in zip((constraints, *levels), levels, strict=False):
        fixed, more = _fixed_and_touching(above, x)
        Z, touching = Z @ _projected_null_space(fixed, Z), np.vstack((touching, more))
        distance = level.distance(x)
        scale = max(1.0, np.abs(level.A).max(initial=0.0) * np.linalg.norm(distance))
        optimality.append(float(_unbalanced(Z.T @ (distance @ level.A), touching @ Z) / scale))
    return tuple(optimality)


def _unbalanced(gradient: Array, pushes: Array) -> float:
    """What is left of a gradient after the best nonnegative combination of pushes against it."""
    missing = float(np.linalg.norm(gradient))
    if missing <= PRIMAL_TOLERANCE or not len(pushes):
        return missing
    from scipy.optimize import nnls

    return float(nnls(pushes.T, -gradient)[1])


def _fixed_and_touching(rows: Rows, x: Array) -> tuple[Array, Array]:
    """Rows that no lower level may move either way, and rows, pointing outward, that none may move further out."""
    fixed, at_lower, at_upper = _activity(rows, x)
    return rows.A[fixed], np.vstack((-rows.A[at_lower], rows.A[at_upper]))


def _activity(rows: Rows, x: Array) -> tuple[Array, Array, Array]:
    """Which rows are fixed at x (equal or violated), and which touch their lower or upper bound from inside."""
    value = rows.A @ x
    close = FEASIBLE * np.maximum(1.0, np.abs(value))
    fixed = (np.abs(rows.distance(x)) > close) | (rows.lower == rows.upper)
    return fixed, ~fixed & (value <= rows.lower + close), ~fixed & (value >= rows.upper - close)


def _cascade(levels: Sequence[Rows], top: Rows, plain: Plain) -> tuple[Status, Array, int]:
    """One QP per level, in what the levels above leave free: x = x₀ + Z y, and inequalities already met stay met."""
    n = levels[0].A.shape[1]
    equal = top.lower == top.upper
    higher, x, Z, iterations = top.where(~equal), np.zeros(n), np.eye(n), 0
    if equal.any():
        x, Z = _least_squares_step(top.where(equal), x, Z)
        if _scaled_distance(top.where(equal), x) > FEASIBLE:
            return Status.INFEASIBLE, np.full(n, np.nan), 0
    for level in levels:
        status, x, Z, steps = _level_step(level, higher, x, Z, plain)
        iterations += steps
        if status is not Status.OPTIMAL:
            return status, x, iterations
        fixed = _activity(level, x)[0]
        Z = Z @ _projected_null_space(level.A[fixed & (level.lower != level.upper)], Z)
        higher = _including(stacked((higher, level.where(~fixed)), n), x)
    return Status.OPTIMAL, x, iterations


def _including(rows: Rows, x: Array) -> Rows:
    """The rows with bounds moved by rounding, so that x satisfies them exactly."""
    value = rows.A @ x
    return Rows(rows.A, np.minimum(rows.lower, value), np.maximum(rows.upper, value), rows.names)


def _projected_svd(A: Array, Z: Array) -> tuple[Array, Array, Array, int]:
    """SVD of A Z with its rank, judged against the rows of A: what Z leaves of a row may be rounding only."""
    if not A.shape[0] or not Z.shape[1]:
        return np.zeros((len(A), 0)), np.zeros(0), np.eye(Z.shape[1]), 0
    U, S, Vt = np.linalg.svd(A @ Z)
    return U, S, Vt, int((RANK_TOLERANCE * np.linalg.norm(A, axis=1).max() < S).sum())


def _projected_null_space(A: Array, Z: Array) -> Array:
    _, _, Vt, rank = _projected_svd(A, Z)
    return Vt[rank:].T


def _least_squares_step(rows: Rows, x: Array, Z: Array) -> tuple[Array, Array]:
    """The point of x + range(Z) nearest to A x = lower, and the directions that are left."""
    U, S, Vt, rank = _projected_svd(rows.A, Z)
    y = Vt[:rank].T @ (U[:, :rank].T @ (rows.lower - rows.A @ x) / S[:rank])
    return x + Z @ y, Z @ Vt[rank:].T


def _level_step(level: Rows, higher: Rows, x: Array, Z: Array, plain: Plain) -> tuple[Status, Array, Array, int]:
    """Minimise the distance from one level over x + range(Z), within rows of the levels above; what Z its equalities
    leave.

    In coordinates y = V (p / S, q) of the SVD of A Z the cost is ½‖p − p₀‖² + ½‖w‖², w the violation of inequality
    rows: the Hessian is the identity where the level decides and zero where it does not, however badly A is scaled.
    """
    equal = level.lower == level.upper
    target, soft = level.where(equal), level.where(~equal)
    U, S, Vt, rank = _projected_svd(target.A, Z)
    d, s = Z.shape[1], len(soft.A)
    T = Z @ Vt.T / np.concatenate((S[:rank], np.ones(d - rank)))
    left, p0 = Z @ Vt[rank:].T, U[:, :rank].T @ (target.lower - target.A @ x)
    best = x + T[:, :rank] @ p0
    if max(_scaled_distance(higher, best), _scaled_distance(soft, best)) <= PRIMAL_TOLERANCE:
        return Status.OPTIMAL, best, left, 0
    # A row that Z leaves no motion is rounding now; solvers would scale that to length one.
    moves = np.linalg.norm(higher.A @ Z, axis=1) > RANK_TOLERANCE * np.linalg.norm(higher.A, axis=1)
    if _scaled_distance(higher.where(~moves), x) > FEASIBLE:
        return Status.INFEASIBLE, np.full(x.size, np.nan), Z, 0
    if d == 0:
        return Status.OPTIMAL, x, Z, 0
    higher = higher.where(moves)
    H = np.diag(np.concatenate((np.ones(rank), np.zeros(d - rank), np.ones(s))))
    both = stacked((higher, soft), x.size)
    slack = np.vstack((np.zeros((len(higher.A), s)), np.eye(s)))
    A, offset = np.hstack((both.A @ T, slack)), both.A @ x
    program = QuadraticProgram(
        H, np.concatenate((-p0, np.zeros(d - rank + s))), A, both.lower - offset, both.upper - offset
    )
    result = plain(program)
    return result.status, x + T @ result.x[:d], left, result.iterations


def _nearest_to_optimal(points: Sequence[Array], levels: Sequence[Rows], top: Rows) -> tuple[Array, float]:
    """The point with the best certificate, and its error; infinite where none satisfies the constraints."""
    errors = [
        max(level_optimality(point, levels, top)) if _scaled_distance(top, point) <= FEASIBLE else np.inf
        for point in points
    ]
    best = int(np.argmin(errors))
    return (points[best], errors[best]) if errors[best] < np.inf else (points[-1], np.inf)


def _polished(x: Array, levels: Sequence[Rows], top: Rows) -> Array:
    """Least squares, level by level, with the rows that touch at x held at the bounds they touch."""
    point, Z = np.zeros(x.size), np.eye(x.size)
    for k, rows in enumerate((top, *levels)):
        fixed, at_lower, at_upper = _activity(rows, x)
        nearest = np.minimum(np.maximum(rows.A @ x, rows.lower), rows.upper)
        held = at_lower | at_upper
        # The top holds all at once; in a level, a row that is met has no say until the level is decided.
        for chosen in (fixed | held,) if k == 0 else (fixed, held):
            point, Z = _least_squares_step(Rows.equal(rows.A[chosen], nearest[chosen]), point, Z)
    return point
