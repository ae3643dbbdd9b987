"""Strict priorities: each level is a least-squares problem within the optima of the levels before it.

    level k:   minimise |R_k x − r_k|²   over the x that are feasible and optimal for levels 0 … k−1

The contacts' rows E x = e and the levels passed are never seen again: x = x̄ + Z u with Z an orthonormal basis of what they
leave free, so each level is a smaller quadratic program with its own warm start [EMW14; ETH19, slides 38–39]. Directions that
no level determines are settled at the end by the controller's named regularisation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dgeqp3, dorgqr, dposv, dtrtrs

from .active_set import ActiveSetSolver, Answer
from .qp import ACCURATE, Residuals, Status

Array = np.ndarray
RANK = 1e-9  # of the longest row: shorter ones, after those before them, count as none
PROXIMAL = 1e-9  # of a level's largest row, squared: keeps directions that it leaves free where they are


@dataclass(frozen=True, eq=False)
class Level:
    """Rows R x ≈ r; `own` are rows of single unknowns (a posture): their columns, square roots of weights, and targets."""

    R: Array
    r: Array
    own: tuple[Array, Array, Array] | None = None


class LevelSolver:
    """Keeps the active set of each level from step to step.

    While no row of A is active, the levels are solved without A; if the result satisfies A, it is the optimum with A too.
    """

    def __init__(self) -> None:
        self._solvers: dict[tuple[int, ...], ActiveSetSolver] = {}
        self._free = True  # whether no row was active in the last step

    def forget(self) -> None:
        self._free = True
        for solver in self._solvers.values():
            solver.forget()

    def solve(self, levels: Sequence[Level], E: Array, e: Array, A: Array, lower: Array, upper: Array, regular: Array) -> Answer:
        """The lexicographic optimum; the residuals are the worst of all levels."""
        x, Z = _particular(E, e, len(regular))
        if self._free:
            answer = _without_inequalities(levels, x, Z, E, e, A, lower, upper, regular)
            if answer.solved:
                return answer
        answer = self._within(levels, x, Z, E, e, A, lower, upper, regular)
        self._free = not answer.multipliers.any()
        return answer

    def _within(
        self,
        levels: Sequence[Level],
        x: Array,
        Z: Array,
        E: Array,
        e: Array,
        A: Array,
        lower: Array,
        upper: Array,
        regular: Array,
    ) -> Answer:
        """Level after level, each with all rows of A."""
        multipliers, guesses, worst = np.zeros(len(A)), 0, 0.0
        AZ, Ax = A @ Z, A @ x
        for k, level in enumerate(levels):
            last = k == len(levels) - 1
            if not Z.shape[1]:
                break
            rows, target = _rows(level, x, Z)
            answer = self._step(k, rows, target, AZ, lower - Ax, upper - Ax, _settling(rows, x, Z, regular, last))
            if not answer.solved:
                return answer._replace(x=x)
            guesses, worst = max(guesses, answer.guesses), max(worst, answer.residuals.worst)
            multipliers = np.where(answer.multipliers != 0, answer.multipliers, multipliers)  # rows that push at any level
            x = x + Z @ answer.x
            if not last:
                Q, _, _, rank = _factored(rows.T)
                Z, AZ = Z @ Q[:, rank:], AZ @ Q[:, rank:]
                Ax = A @ x
        return _answer(x, E, e, A, lower, upper, multipliers, worst, guesses)

    def _step(
        self, k: int, rows: Array, target: Array, AZ: Array, lower: Array, upper: Array, settling: tuple[Array, ...]
    ) -> Answer:
        """One level over u."""
        extra, extra_target, weights = settling
        R, r = np.vstack((rows, extra)), np.concatenate((target, extra_target))
        m, n = AZ.shape
        key = (k, n, len(R), m)
        if key not in self._solvers:
            self._solvers[key] = ActiveSetSolver(n, len(R), 0, m)
        none = np.zeros((0, n))
        return self._solvers[key].solve(R, r, weights, np.zeros(n), none, none[:, 0], AZ, lower, upper)


def _without_inequalities(
    levels: Sequence[Level], x: Array, Z: Array, E: Array, e: Array, A: Array, lower: Array, upper: Array, regular: Array
) -> Answer:
    """Level after level by orthogonal factors alone [ETH19, slide 39]; not solved where a row of A is violated."""
    worst = 0.0
    for k, level in enumerate(levels):
        if not Z.shape[1]:
            break
        rows, target = _rows(level, x, Z)
        if k == len(levels) - 1:
            roots = np.sqrt(regular)
            rows, target = np.concatenate((rows, roots[:, None] * Z)), np.concatenate((target, -roots * x))
            u = dposv(rows.T @ rows, target @ rows, lower=1)[1]
        else:
            Q, R, order, rank = _factored(rows.T)
            u = Q[:, :rank] @ _least_squares(R, rank, target[order])
        gradient = np.abs((rows @ u - target) @ rows).max(initial=0.0)
        worst = max(worst, float(gradient) / max(1.0, float(np.abs(target @ rows).max(initial=0.0))))
        x = x + Z @ u
        if k < len(levels) - 1:
            Z = Z @ Q[:, rank:]
    return _answer(x, E, e, A, lower, upper, np.zeros(len(A)), worst, 1)


def _least_squares(R: Array, rank: int, target: Array) -> Array:
    """y that minimises |Rᵀ y − target| with R (rank, k) on and above the diagonal."""
    if rank == len(target):
        return dtrtrs(R[:rank, :rank], target, trans=1)[0]
    return np.linalg.lstsq(np.triu(R[:rank]).T, target, rcond=None)[0]


def _answer(
    x: Array, E: Array, e: Array, A: Array, lower: Array, upper: Array, multipliers: Array, worst: float, guesses: int
) -> Answer:
    values = A @ x
    holds = (np.abs(E @ x - e) / np.maximum(np.abs(e), 1.0)).max(initial=0.0)
    beyond = (np.maximum(values - upper, lower - values) / np.maximum(np.abs(values), 1.0)).max(initial=0.0)
    residuals = Residuals(worst, float(max(holds, beyond)), 0.0, 0.0)
    status = Status.OPTIMAL if residuals.worst <= ACCURATE else Status.INFEASIBLE
    return Answer(status, x, np.zeros(len(e)), multipliers, values, residuals, guesses, int(np.count_nonzero(multipliers)))


def _rows(level: Level, x: Array, Z: Array) -> tuple[Array, Array]:
    """The level over u: rows and what they should still become."""
    rows, target = level.R @ Z, level.r - level.R @ x
    if level.own is None:
        return rows, target
    columns, roots, wanted = level.own
    return np.vstack((rows, roots[:, None] * Z[columns])), np.concatenate((target, roots * (wanted - x[columns])))


def _settling(rows: Array, x: Array, Z: Array, regular: Array, last: bool) -> tuple[Array, Array, Array]:
    """(rows, targets, weights of u): regularisation at the last level, and a hair everywhere, so that u is unique."""
    n = Z.shape[1]
    largest = float(np.einsum("ij,ij->i", rows, rows).max(initial=1e-12))
    if not last:
        return np.zeros((0, n)), np.zeros(0), np.full(n, PROXIMAL * largest)
    roots = np.sqrt(regular)
    return roots[:, None] * Z, -roots * x, np.full(n, 1e-15 * largest)


def _particular(E: Array, e: Array, n: int) -> tuple[Array, Array]:
    """The shortest x with E x = e, and a basis of what E leaves free."""
    if not len(E):
        return np.zeros(n), np.eye(n)
    Q, R, order, rank = _factored(E.T)
    y = np.zeros(n)
    y[:rank] = dtrtrs(R[:rank, :rank], e[order[:rank]], trans=1)[0]  # reads what lies on and above the diagonal alone
    return Q @ y, Q[:, rank:]


def _factored(M: Array) -> tuple[Array, Array, Array, int]:
    """(Q full, R on and above the diagonal, order of the columns, rank) of M with pivoting."""
    m, k = M.shape
    if not k:
        return np.eye(m), np.zeros((0, 0)), np.zeros(0, int), 0
    QR, order, tau, _, _ = dgeqp3(M)
    sizes = np.abs(QR.diagonal()).tolist()  # falling, by the pivoting
    rank = sum(size > RANK * sizes[0] for size in sizes)
    full, r = np.zeros((m, m), order="F"), min(m, k)
    full[:, :r] = QR[:, :r]
    Q, _, _ = dorgqr(full, tau[:r], overwrite_a=1)
    return Q, QR, order - 1, rank
