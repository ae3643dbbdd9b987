"""Strict priorities: level after level, each within the minimisers of those before it [EMW14]."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import daqp
import numpy as np

from ...errors import ShapeError, unknown_name
from .program import ACCURATE, FEASIBLE, PRIMAL_TOLERANCE, QuadraticProgram, Rows, Status, require_shape
from .solver import EQUALITY, FLAGS, ITERATION_LIMIT, Solver

Array = np.ndarray
RANK_TOLERANCE = 1e-9  # singular values below this part of a level's longest row count as zero
SOFTNESS = 1e-8
METHODS = ("cascade", "daqp")


def stacked(parts: Sequence[Rows], n: int) -> Rows:
    """All rows of several sets, in order."""
    A = np.vstack([np.zeros((0, n)), *(p.A for p in parts)])
    lower, upper = (np.concatenate([np.zeros(0), *(getattr(p, side) for p in parts)]) for side in ("lower", "upper"))
    return Rows(A, lower, upper, tuple(name for p in parts for name in p.names))


@dataclass(frozen=True, eq=False)
class LevelsResult:
    """The lexicographic minimiser. `optimality[k]` certifies level k: see `level_optimality`."""

    status: Status
    x: Array
    distances: tuple[Array, ...]  # per level, A x minus the nearest allowed value
    violation: float = np.nan  # of the constraints, scaled
    optimality: tuple[float, ...] = ()  # per level, and of `rest` as the last
    iterations: int = 0

    @property
    def solved(self) -> bool:
        return self.status is Status.OPTIMAL


def solve_levels(
    levels: Sequence[Rows],
    constraints: Rows | None = None,
    *,
    method: Literal["cascade", "daqp"] = "cascade",
    rest: Array | None = None,
    softness: float = SOFTNESS,
) -> LevelsResult:
    """Minimise the distance from level 1, then that from level 2 among the minimisers, and so on [EMW14].

    Nothing is regularised except what is named here. Directions that no level decides go to the point nearest to `rest`: it is
    one more level, the last.

    Args:
        levels: first is most important.
        constraints: hold always; all levels give way to them.
        method: "cascade", one QP per level in the null space of those above, exact up to rounding; or "daqp", DAQP's own
            hierarchy, in which a level k is the limit of the penalty ‖distance‖² / softness.
        rest: shape (n,); zeros if left out.
        softness: of method "daqp" only, the first of four tried, each ten times the one before, until the certificate holds.
    """
    if not levels:
        raise ShapeError("at least one level is wanted, got none.")
    n = levels[0].A.shape[1]
    top = constraints or Rows(np.zeros((0, n)), np.zeros(0), np.zeros(0))
    aim = np.zeros(n) if rest is None else np.asarray(rest, dtype=np.float64)
    for part in (top, *levels):
        require_shape("A", part.A, (len(part.A), n))
    require_shape("rest", aim, (n,))
    if method not in METHODS:
        raise unknown_name("method", method, METHODS)
    if not np.isfinite(aim).all() or any(_rows_ill_posed(p) for p in (top, *levels)):
        return LevelsResult(Status.NOT_FINITE, np.full(n, np.nan), ())
    if any((p.lower > p.upper).any() for p in (top, *levels)):
        return LevelsResult(Status.INFEASIBLE, np.full(n, np.nan), ())
    every = (*levels, Rows.equal(np.eye(n), aim))
    if method == "daqp":
        status, x, iterations = _hierarchy(every, top, aim, softness)
    else:
        status, x, iterations = _cascade(every, top)
        if status is Status.OPTIMAL:  # proximal steps may have left a level by a hair
            x = _nearest_to_optimal([_polished(x, every, top), x], every, top)[0]
    return _certified_levels(status, x, iterations, every, top)


def _rows_ill_posed(rows: Rows) -> bool:
    return not (np.isfinite(rows.A).all() and (rows.lower < np.inf).all() and (rows.upper > -np.inf).all())


def _certified_levels(status: Status, x: Array, iterations: int, levels: Sequence[Rows], top: Rows) -> LevelsResult:
    if not np.isfinite(x).all():
        return LevelsResult(status, x, (), iterations=iterations)
    violation = _scaled_distance(top, x)
    optimality = level_optimality(x, levels, top)
    if status is Status.OPTIMAL and max(violation, *optimality) > ACCURATE:
        status = Status.INACCURATE
    return LevelsResult(status, x, tuple(level.distance(x) for level in levels[:-1]), violation, optimality, iterations)


def _scaled_distance(rows: Rows, x: Array) -> float:
    return float((np.abs(rows.distance(x)) / np.maximum(1.0, np.abs(rows.A @ x))).max(initial=0.0))


def level_optimality(x: Array, levels: Sequence[Rows], constraints: Rows) -> tuple[float, ...]:
    """For each level, how far x is from satisfying its optimality condition; zero for the lexicographic minimiser.

    Level k is optimal below levels 1 … k−1 if the gradient of its squared distance is balanced by rows above it: by rows that
    are fixed (equalities, and inequalities that could not be met, whose distance is decided) with any multiplier, and by rows
    that touch their bound with a multiplier of the right sign. The best such multipliers come from nonnegative least squares.
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


def _cascade(levels: Sequence[Rows], top: Rows) -> tuple[Status, Array, int]:
    """One QP per level, in what the levels above leave free: x = x₀ + Z y, and inequalities already met stay met."""
    n = levels[0].A.shape[1]
    equal = top.lower == top.upper
    kept, x, Z, iterations = top.where(~equal), np.zeros(n), np.eye(n), 0
    if equal.any():
        x, Z = _least_squares_step(top.where(equal), x, Z)
        if _scaled_distance(top.where(equal), x) > FEASIBLE:
            return Status.INFEASIBLE, np.full(n, np.nan), 0
    for level in levels:
        status, x, Z, steps = _level_step(level, kept, x, Z)
        iterations += steps
        if status is not Status.OPTIMAL:
            return status, x, iterations
        fixed = _activity(level, x)[0]
        Z = Z @ _projected_null_space(level.A[fixed & (level.lower != level.upper)], Z)
        kept = _including(stacked((kept, level.where(~fixed)), n), x)
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


def _level_step(level: Rows, kept: Rows, x: Array, Z: Array) -> tuple[Status, Array, Array, int]:
    """Minimise the distance from one level over x + range(Z), subject to rows kept from above; what Z its equalities leave.

    In coordinates y = V (p / S, q) of the SVD of A Z the cost is ½‖p − p₀‖² + ½‖w‖², w the violation of inequality rows: the
    Hessian is the identity where the level decides and zero where it does not, however badly A is scaled.
    """
    equal = level.lower == level.upper
    target, soft = level.where(equal), level.where(~equal)
    U, S, Vt, rank = _projected_svd(target.A, Z)
    d, s = Z.shape[1], len(soft.A)
    T = Z @ Vt.T / np.concatenate((S[:rank], np.ones(d - rank)))
    left, p0 = Z @ Vt[rank:].T, U[:, :rank].T @ (target.lower - target.A @ x)
    best = x + T[:, :rank] @ p0
    if max(_scaled_distance(kept, best), _scaled_distance(soft, best)) <= PRIMAL_TOLERANCE:
        return Status.OPTIMAL, best, left, 0
    # A row that Z leaves no motion is rounding now; DAQP would scale that to length one.
    moves = np.linalg.norm(kept.A @ Z, axis=1) > RANK_TOLERANCE * np.linalg.norm(kept.A, axis=1)
    if _scaled_distance(kept.where(~moves), x) > FEASIBLE:
        return Status.INFEASIBLE, np.full(x.size, np.nan), Z, 0
    if d == 0:
        return Status.OPTIMAL, x, Z, 0
    kept = kept.where(moves)
    H = np.diag(np.concatenate((np.ones(rank), np.zeros(d - rank), np.ones(s))))
    both = stacked((kept, soft), x.size)
    slack = np.vstack((np.zeros((len(kept.A), s)), np.eye(s)))
    A, offset = np.hstack((both.A @ T, slack)), both.A @ x
    program = QuadraticProgram(H, np.concatenate((-p0, np.zeros(d - rank + s))), A, both.lower - offset, both.upper - offset)
    result = Solver(refine=0.0).solve(program)  # errors of a level are inherited by all below
    return result.status, x + T @ result.x[:d], left, result.iterations


def _hierarchy(levels: Sequence[Rows], top: Rows, aim: Array, softness: float) -> tuple[Status, Array, int]:
    """DAQP's own hierarchy finds which rows touch; least squares down those rows then removes the penalty's error.

    Where rows of several levels depend on each other DAQP may take rounding for a level that cannot be improved and stop early;
    the certificate shows it, and a softer penalty often helps. The polishing makes the answer the same for all.
    """
    answer, iterations = (Status.INFEASIBLE, np.full(aim.size, np.nan)), 0
    for factor in (1.0, 10.0, 100.0, 1000.0):
        status, x, steps = _penalised(levels, top, aim, factor * softness)
        iterations += steps
        if status is not Status.OPTIMAL:
            return status, x, iterations
        point, error = _nearest_to_optimal([_polished(x, levels, top), x], levels, top)
        if error == np.inf:
            continue
        answer = (Status.OPTIMAL, point)
        if error <= ACCURATE:
            break
    return (*answer, iterations)


def _nearest_to_optimal(points: Sequence[Array], levels: Sequence[Rows], top: Rows) -> tuple[Array, float]:
    """Of some points that one with the best certificate, and its error; infinite where none satisfies the constraints."""
    errors = [
        max(level_optimality(point, levels, top)) if _scaled_distance(top, point) <= FEASIBLE else np.inf for point in points
    ]
    best = int(np.argmin(errors))
    return (points[best], errors[best]) if errors[best] < np.inf else (points[-1], np.inf)


def _penalised(levels: Sequence[Rows], top: Rows, aim: Array, softness: float) -> tuple[Status, Array, int]:
    """DAQP's hierarchy: rows up to the first break point are hard, those up to each next one are a level.

    DAQP scales rows to length one, so without weights of its own it would minimise ‖(A x − b) / ‖row‖‖ in a level.
    """
    n, parts = aim.size, [part for part in levels[:-1] if len(part.A)]  # the last, `rest`, is DAQP's cost
    rows = stacked((top, *parts), n)
    sense = np.zeros(len(rows.A), np.intc)
    sense[: len(top.A)] = np.where(top.lower == top.upper, EQUALITY, 0)
    breaks = np.cumsum([len(top.A), *(len(part.A) for part in parts)]).astype(np.intc)
    model = daqp.Model()
    model.settings = {"iter_limit": ITERATION_LIMIT, "rho_soft": softness, "primal_tol": softness}
    A, lower, upper = rows.A.copy(), rows.lower.copy(), rows.upper.copy()
    flag = model.setup(np.eye(n), -aim, A, upper, lower, sense, breaks)[0]
    if flag < 0:
        return FLAGS.get(flag, Status.FAILED), np.full(n, np.nan), 0
    weights = np.full(len(A), softness)
    model.soft_weights(weights, weights)
    x, _, flag, info = model.solve()
    if flag < 0 or not np.isfinite(x).all():
        return FLAGS.get(flag, Status.FAILED), np.full(n, np.nan), int(info["iterations"])
    return Status.OPTIMAL, x, int(info["iterations"])


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
