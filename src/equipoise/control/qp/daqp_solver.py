"""DAQP [ABA22], warm-started, whose answers are certified before anyone sees them."""

from __future__ import annotations

import numpy as np

from .cascade import lexicographic
from .program import (
    ACCURATE,
    FEASIBLE,
    PRIMAL_TOLERANCE,
    QuadraticProgram,
    Result,
    Status,
    excess,
    failure,
    ill_posed,
    kkt_residuals,
)

Array = np.ndarray
# DAQP's `sense` of a row: active and immutable; in the first guess; at its lower bound
EQUALITY, ACTIVE, LOWER = 5, 1, 2
REFINE = 1e-8  # largest residual that is left as it is
ITERATION_LIMIT = 1000
PROXIMAL_WEIGHT = 1e-6
FLAGS = {
    1: Status.OPTIMAL,
    2: Status.OPTIMAL,
    -1: Status.INFEASIBLE,
    -2: Status.CYCLING,
    -3: Status.UNBOUNDED,
    -4: Status.ITERATION_LIMIT,
    -5: Status.NOT_CONVEX,
    -6: Status.INFEASIBLE,
    -7: Status.ITERATION_LIMIT,
}


class DaqpSolver:
    """Solves problem after problem of one size; memory is allocated once and the active set carries over.

    A problem of another size starts afresh, and so does the step after a failure. `solve` never raises for numbers:
    whatever goes wrong is a `Status`.

    Args:
        tolerance: violation of a row, scaled to length one, that counts as none.
        iteration_limit: changes of the active set per solve.
        proximal: weight of the proximal-point steps that DAQP takes where H is singular. They converge to a minimiser
            of the problem as stated, so this is not a regularisation of the answer; zero forbids them.
        refine: residual above which a Newton step on the active set is tried.
    """

    def __init__(
        self,
        *,
        tolerance: float = PRIMAL_TOLERANCE,
        iteration_limit: int = ITERATION_LIMIT,
        proximal: float = PROXIMAL_WEIGHT,
        refine: float = REFINE,
    ) -> None:
        self._refine = refine
        # DAQP reads a negative eps_prox as "only where H is singular".
        self._settings = {"primal_tol": tolerance, "iter_limit": iteration_limit, "eps_prox": -proximal}
        self._size: tuple[int, int, bool] = (0, 0, False)
        self.forget()

    def forget(self) -> None:
        """Drop the active set: the next solve starts cold."""
        self._last: QuadraticProgram | None = None

    def solve(self, problem: QuadraticProgram) -> Result:
        """The minimiser with its certificate, warm-started from the last problem if that had the same size.

        Levels, and rows that have to be relaxed, are solved one quadratic program after the other (`cascade`).
        """
        if ill_posed(problem):
            self.forget()
            return failure(problem, Status.NOT_FINITE)
        if problem.levels:
            return lexicographic(problem, DaqpSolver(refine=0.0)._plain)
        result = self._plain(problem)
        if result.status is Status.INFEASIBLE and problem.classes.any():
            return lexicographic(problem, DaqpSolver(refine=0.0)._plain)
        return result

    def _plain(self, problem: QuadraticProgram) -> Result:
        """All rows hold, and there is one cost."""
        if np.greater(*problem.limits).any():
            self.forget()
            return failure(problem, Status.INFEASIBLE)
        warm = self._last is not None and self._size == (*problem.A.shape, problem.bounded)
        result = self._attempt(problem, warm)
        if not result.solved and warm:  # an active set from another problem may lead astray
            result = self._again(problem, result, careful=False)
        if result.status is Status.INFEASIBLE:  # in near-degenerate problems that may be rounding: ask a second time
            result = self._again(problem, result, careful=True)
            self.forget()
        if not result.solved:
            self.forget()
        return result

    def _again(self, problem: QuadraticProgram, before: Result, careful: bool) -> Result:
        """A cold start; a careful one has well-conditioned proximal steps and the tolerance that counts as feasible."""
        settings = self._settings
        if careful:
            weight = 0.1 * np.abs(problem.H).max()
            self._settings = {**settings, "primal_tol": FEASIBLE, "eps_prox": weight if weight > 0 else 1.0}
        result = self._attempt(problem, warm=False)
        self._settings = settings
        return result._replace(iterations=before.iterations + result.iterations)

    def _attempt(self, problem: QuadraticProgram, warm: bool) -> Result:
        flag = self._update(problem) if warm else self._setup(problem)
        if flag < 0:
            return failure(problem, FLAGS.get(flag, Status.FAILED))
        x, _, flag, info = self._model.solve()
        self._last, self._lam = problem, info["lam"]
        status, iterations = FLAGS.get(flag, Status.FAILED), int(info["iterations"])
        if status is Status.ITERATION_LIMIT and _falls_for_ever(problem, x):
            status = Status.UNBOUNDED
        if status not in (Status.OPTIMAL, Status.ITERATION_LIMIT) or not np.isfinite(x).all():
            return failure(problem, status if status is not Status.OPTIMAL else Status.FAILED, iterations)
        n = x.size if problem.bounded else 0
        result = _certified(problem, status, x, info["lam"][n:], info["lam"][:n] if n else np.zeros(x.size), iterations)
        return (
            _refined(problem, result) if status is Status.OPTIMAL and result.residuals.worst > self._refine else result
        )

    def _setup(self, problem: QuadraticProgram) -> int:
        """Fill the buffers, made anew only for a new size, and begin without an active set."""
        m, n = problem.A.shape
        size = (m, n, problem.bounded)
        if size != self._size:
            total = m + n * problem.bounded
            self._H, self._f, self._A = np.empty((n, n)), np.empty(n), np.empty((m, n))
            self._lower, self._upper, self._sense = np.empty(total), np.empty(total), np.empty(total, np.intc)
            self._size = size
        for buffer, data in ((self._H, problem.H), (self._f, problem.f), (self._A, problem.A)):
            np.copyto(buffer, data)
        self._copy_limits(problem)
        self._equal = self._lower == self._upper
        self._sense[:] = np.where(self._equal, EQUALITY, 0)
        import daqp  # here: a machine with a GPU controls batches without it

        self._model = daqp.Model()
        self._model.settings = self._settings
        flag = self._model.setup(self._H, self._f, self._A, self._upper, self._lower, self._sense)[0]
        # DAQP could not start from all equalities at once; as tight inequalities they come in one by one
        if flag == -6:
            self._sense[:] = 0
            self._equal = np.zeros_like(self._equal)
            flag = self._model.setup(self._H, self._f, self._A, self._upper, self._lower, self._sense)[0]
        return flag

    def _copy_limits(self, problem: QuadraticProgram) -> None:
        """Bounds of the variables above those of the rows, as DAQP wants them; the former only if there are any."""
        skipped = 0 if problem.bounded else problem.f.size
        np.copyto(self._lower, problem.limits[0][skipped:])
        np.copyto(self._upper, problem.limits[1][skipped:])

    def _update(self, problem: QuadraticProgram) -> int:
        """Hand over what changed; the active set stays."""
        last, changes = self._last, {}
        for name, buffer in (("H", self._H), ("f", self._f), ("A", self._A)):
            if getattr(problem, name) is not getattr(last, name):
                np.copyto(buffer, getattr(problem, name))
                changes[name] = buffer
        self._copy_limits(problem)
        changes["blower"], changes["bupper"] = self._lower, self._upper
        equal = self._lower == self._upper
        if (equal != self._equal).any():  # the rows keep their places in the active set where they can
            guess = np.where(self._lam > 0, ACTIVE, np.where(self._lam < 0, ACTIVE | LOWER, 0))
            self._sense[:] = np.where(equal, EQUALITY, guess)
            self._equal = equal
            changes["sense"] = self._sense
        return self._model.update(**changes)


def _certified(p: QuadraticProgram, status: Status, x: Array, lam: Array, mu: Array, iterations: int) -> Result:
    """A result that is called optimal only if its residuals say so."""
    residuals = kkt_residuals(p, x, lam, mu)
    if status is Status.OPTIMAL and not residuals.worst <= ACCURATE:
        status = Status.INACCURATE
    return Result(status, x, lam, mu, excess(p, x), p.A @ x, residuals, iterations)


def _refined(p: QuadraticProgram, result: Result) -> Result:
    """One Newton step on the active set, kept if it helps: proximal steps end with an error that one linear solve
    removes."""
    lam = np.concatenate((result.bound_multipliers, result.multipliers))
    lower, upper = p.limits
    active = np.flatnonzero((lam != 0) | (lower == upper))
    W = np.vstack((np.eye(p.f.size), p.A))[active]
    target = np.where(lam > 0, upper, lower)[active]
    if not np.isfinite(target).all():
        return result
    n, k = p.f.size, len(active)
    K = np.block([[p.H, W.T], [W, np.zeros((k, k))]])
    right = np.concatenate((-p.f - p.H @ result.x, target - W @ result.x))
    for solve in (np.linalg.solve, _shortest):
        try:
            step = solve(K, right)
        except np.linalg.LinAlgError:
            continue
        lam = np.zeros(n + len(p.A))
        lam[active] = step[n:]
        better = _certified(p, Status.OPTIMAL, result.x + step[:n], lam[n:], lam[:n], result.iterations)
        if better.residuals.worst < result.residuals.worst:
            return better
    return result


def _shortest(K: Array, right: Array) -> Array:
    return np.linalg.lstsq(K, right, rcond=None)[0]


def _falls_for_ever(p: QuadraticProgram, x: Array) -> bool:
    """Whether x lies far out along a direction that no row limits and along which the cost falls without end."""
    length = np.abs(x).max()
    if not np.isfinite(length) or length < 1e3:
        return False
    d, close = x / length, 1e-6
    flat = np.abs(p.H @ d).max() <= close * max(1.0, np.abs(p.H).max())
    along = np.concatenate((d, p.A @ d)) / np.concatenate(
        (np.ones(d.size), np.maximum(np.linalg.norm(p.A, axis=1), 1e-300))
    )
    lower, upper = p.limits
    free = (np.isinf(upper) | (along <= close)) & (np.isinf(lower) | (along >= -close))
    return bool(flat and free.all() and p.f @ d < -close * np.abs(p.f).max())
