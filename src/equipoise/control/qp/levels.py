"""Strict priorities: each level is a least-squares problem within the optima of the levels before it.

    level k:   minimise |R_k x − r_k|²   over the x that are feasible and optimal for levels 0 … k−1

The contacts' rows E x = e and the levels passed are never seen again: x = x̄ + Z u with Z an orthonormal basis of what they
leave free, so each level is a smaller quadratic program with its own warm start [EMW14; ETH19, slides 38–39]. Directions that
no level determines are settled at the end by the controller's named regularisation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np
from scipy.linalg.lapack import dgeqp3, dorgqr, dposv, dpotrf, dpotrs, dtrtrs

from .active_set import ActiveSetSolver, Answer
from .active_set_loops import TOLERANCE
from .program import ACCURATE, Residuals, Status

Array = np.ndarray
RANK = 1e-9  # of the longest row: shorter ones, after those before them, count as none
SETTLING = 1e-4  # of the last level's own size: weight of the proximal steps that settle it
STEPS, CONVERGED = 10, 1e-12  # of them, and by how little the last one changes the level
PROXIMAL = 1e-7  # keeps directions that a level leaves free where they are; what it changes is taken away again


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
        """The lexicographic optimum, `regular` (weights of squares of x) as one more level; residuals are the worst of all."""
        x, Z = _particular(E, e, len(regular))
        if self._free:
            answer = _without_inequalities(levels, x, Z, E, e, A, lower, upper, regular)
            if answer.solved:
                return answer
        answer = self._within([*levels, _regularisation(regular)], x, Z, E, e, A, lower, upper)
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
    ) -> Answer:
        """Level after level, each with all rows of A."""
        multipliers, guesses, worst = np.zeros(len(A)), 0, 0.0
        lengths = np.linalg.norm(A, axis=1)
        for k, level in enumerate(levels):
            if not Z.shape[1]:
                break
            low, high, AZ = lower - A @ x, upper - A @ x, A @ Z
            if k:  # the level before ended within the bounds, but for rounding
                low, high = np.minimum(low, 0.0), np.maximum(high, 0.0)
            moves = np.linalg.norm(AZ, axis=1) > RANK * lengths
            low[~moves & (low <= 0)], high[~moves & (high >= 0)], AZ[~moves] = -np.inf, np.inf, 0.0
            answer, step, Z_left = self._step(k, level, x, Z, AZ, low, high)
            if not answer.solved:
                return answer._replace(x=x)
            guesses, worst = max(guesses, answer.guesses), max(worst, answer.residuals.worst)
            multipliers = np.where(answer.multipliers != 0, answer.multipliers, multipliers)  # rows that push at any level
            x, Z = x + step, Z_left
        return _answer(x, E, e, A, lower, upper, multipliers, worst, guesses)

    def _step(self, k: int, level: Level, x: Array, Z: Array, AZ: Array, low: Array, high: Array) -> tuple[Answer, Array, Array]:
        """One level: its answer, the step of x, and what the level leaves free.

        In coordinates u = V (p / S, s) of the level's singular values its cost is ½|p − p_to|², however badly its rows are
        scaled, and s, which it leaves free, is kept where it is by a hair; a second turn around the first result and orthogonal
        factors of the rows that push take away what the hair did.
        """
        rows, target = _rows(level, x, Z)
        U, S, Vt = np.linalg.svd(rows)
        rank, d = int((RANK * _longest(level) < S).sum()), Z.shape[1]
        T = Vt.T / np.concatenate((S[:rank], np.ones(d - rank)))
        weights = np.concatenate((np.ones(rank), np.full(d - rank, PROXIMAL)))
        pulls = np.concatenate((U[:, :rank].T @ target, np.zeros(d - rank)))
        key = (k, d, len(AZ))
        if key not in self._solvers:
            self._solvers[key] = ActiveSetSolver(d, 0, 0, len(AZ))
        none, AT = np.zeros((0, d)), AZ @ T
        for _ in range(1 if rank == d else 2):
            answer = self._solvers[key].solve(none, none[:, 0], weights, pulls, none, none[:, 0], AT, low, high)
            if not answer.solved:
                break
            pulls[rank:] = PROXIMAL * answer.x[rank:]
        u = T @ answer.x
        if answer.solved:
            u = _polished(u, rows, target, AZ, low, high, answer.multipliers)
        return answer, Z @ u, Z @ Vt[rank:].T


def _polished(u: Array, rows: Array, target: Array, AZ: Array, low: Array, high: Array, multipliers: Array) -> Array:
    """u with the rows that push exactly at their bounds, and the level's least squares along them; as it was if that leaves
    other bounds."""
    pushing = np.flatnonzero(multipliers)
    W, bound = AZ[pushing], np.where(multipliers[pushing] > 0, high[pushing], low[pushing])
    step, N = _particular(W, bound - W @ u, len(u))
    better = u + step + N @ np.linalg.lstsq(rows @ N, target - rows @ (u + step), rcond=RANK)[0]
    values = AZ @ better
    beyond = np.maximum(values - high, low - values) / np.maximum(np.abs(values), 1.0)
    return better if beyond.max(initial=0.0) <= TOLERANCE else u


def _longest(level: Level) -> float:
    """Length of a level's longest row, before those above it took away what they decide."""
    own = 0.0 if level.own is None else float(level.own[1].max(initial=0.0))
    return max(own, sqrt(np.einsum("ij,ij->i", level.R, level.R).max(initial=0.0)), 1e-300)


def _regularisation(regular: Array) -> Level:
    """Squares of the unknowns as the level after the last."""
    n = len(regular)
    return Level(np.zeros((0, n)), np.zeros(0), (np.arange(n), np.sqrt(regular), np.zeros(n)))


def _without_inequalities(
    levels: Sequence[Level], x: Array, Z: Array, E: Array, e: Array, A: Array, lower: Array, upper: Array, regular: Array
) -> Answer:
    """Level after level by orthogonal factors alone [ETH19, slide 39]; not solved where a row of A is violated."""
    worst = 0.0
    for k, level in enumerate(levels):
        if not Z.shape[1]:
            break
        rows, target = _rows(level, x, Z)
        last = k == len(levels) - 1
        if last:
            u = _settled(rows, target, x, Z, regular, RANK * _longest(level))
        else:
            Q, R, order, rank = _factored(rows.T, _longest(level))
            u = Q[:, :rank] @ _least_squares(R, rank, target[order])
        gradient = np.abs((rows @ u - target) @ rows).max(initial=0.0)
        worst = max(worst, float(gradient) / max(1.0, float(np.abs(target @ rows).max(initial=0.0))))
        x = x + Z @ u
        if not last:
            Z = Z @ Q[:, rank:]
    return _answer(x, E, e, A, lower, upper, np.zeros(len(A)), worst, 1)


def _settled(rows: Array, target: Array, x: Array, Z: Array, regular: Array, nothing: float) -> Array:
    """The last level, and the regularisation W of what it leaves free, without looking for what that is.

    Proximal steps u ← u + (RᵀR + W)⁻¹ Rᵀ (r − R u) from the minimiser of the regularisation alone keep u where R does not
    decide, in the sense of W, and converge by the factor W / (RᵀR + W) where it does; how large W is does not matter, so it
    is made small. NaN, which nobody takes for an answer, where they do not converge.
    """
    H = rows.T @ rows
    size, same = H.trace(), (regular == regular[0]).all()
    if same:  # then W is a number, for Z is orthonormal
        u = -(x @ Z)
        H.flat[:: len(H) + 1] += SETTLING * size / len(H)
    else:
        W = Z.T @ (regular[:, None] * Z)
        u = dposv(W, -(regular * x) @ Z)[1]
        H += W * (SETTLING * size / W.trace())
    if size <= nothing**2:
        return u
    factor, _ = dpotrf(H, overwrite_a=1)
    left, enough = target - rows @ u, CONVERGED * max(1.0, abs(target).max(initial=0.0))
    for _ in range(STEPS):
        step, _ = dpotrs(factor, left @ rows)
        change = rows @ step
        u, left = u + step, left - change
        if abs(change).max(initial=0.0) <= enough:
            return u
    return np.full(len(u), np.nan)


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


def _particular(E: Array, e: Array, n: int) -> tuple[Array, Array]:
    """The shortest x with E x = e, and a basis of what E leaves free."""
    if not len(E):
        return np.zeros(n), np.eye(n)
    Q, R, order, rank = _factored(E.T)
    y = np.zeros(n)
    y[:rank] = dtrtrs(R[:rank, :rank], e[order[:rank]], trans=1)[0]  # reads what lies on and above the diagonal alone
    return Q @ y, Q[:, rank:]


def _factored(M: Array, longest: float = 0.0) -> tuple[Array, Array, Array, int]:
    """(Q full, R on and above the diagonal, order of the columns, rank) of M with pivoting; `longest` is what ranks go by."""
    m, k = M.shape
    if not k:
        return np.eye(m), np.zeros((0, 0)), np.zeros(0, int), 0
    QR, order, tau, _, _ = dgeqp3(M)
    sizes = np.abs(QR.diagonal()).tolist()  # falling, by the pivoting
    rank = sum(size > RANK * max(longest, sizes[0]) for size in sizes)
    full, r = np.zeros((m, m), order="F"), min(m, k)
    full[:, :r] = QR[:, :r]
    Q, _, _ = dorgqr(full, tau[:r], overwrite_a=1)
    return Q, QR, order - 1, rank
