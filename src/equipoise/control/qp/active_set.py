"""The compiled solver for programs that are stated as data."""

from __future__ import annotations

import numpy as np

from .compiled import CompiledSolver
from .program import QuadraticProgram, Result, Status, failure, ill_posed

Array = np.ndarray
RANK_TOLERANCE = 1e-9  # equalities are taken as they are


class ActiveSetSolver:
    """Solves with the compiled solver. H must be positive definite.

    Memory, and the working set, stay while programs have the same structure: sizes, classes, and which rows are
    equalities.
    """

    def __init__(self) -> None:
        self._structure: tuple[bytes, ...] = ()
        self._solver: CompiledSolver

    def forget(self) -> None:
        """Drop the working set: the next solve starts cold."""
        self._structure = ()

    def solve(self, problem: QuadraticProgram) -> Result:
        """The minimiser with its certificate, warm-started from the last problem if that had the same structure."""
        if ill_posed(problem):
            return failure(problem, Status.NOT_FINITE)
        try:
            factor = np.linalg.cholesky(problem.H)
        except np.linalg.LinAlgError:
            return failure(problem, Status.NOT_CONVEX)
        rows, lower, upper, classes = _stacked(problem)
        equal = lower == upper
        self._prepare(problem, equal, classes)
        data, levels = self._solver.data, problem.levels
        cost = -np.linalg.solve(factor, problem.f)
        data["R"][:] = np.vstack((*(level.A for level in levels), factor.T))
        data["r"][:] = np.concatenate((*(level.lower for level in levels), cost))
        data["E"][:], data["e"][:] = rows[equal], lower[equal]
        data["A"][:], data["lower"][:], data["upper"][:] = rows[~equal], lower[~equal], upper[~equal]
        return _read(problem, equal, self._solver.solve())

    def _prepare(self, problem: QuadraticProgram, equal: Array, classes: Array) -> None:
        """A solver for this structure, if the last one had another."""
        n, levels = len(problem.f), (*(len(level.A) for level in problem.levels), len(problem.f))
        structure = (np.array([n, *levels]).tobytes(), equal.tobytes(), classes.tobytes())
        if structure == self._structure:
            return
        self._structure = structure
        self._solver = CompiledSolver(
            n,
            levels,
            n_E=int(equal.sum()),
            n_A=int((~equal).sum()),
            classes_E=classes[equal],
            classes_A=classes[~equal],
            regularisation=1e-12 * max(float(problem.H.trace()), 1e-300) / n,
            strict=len(levels) > 1,
            rank_tolerance=RANK_TOLERANCE,
        )


def _stacked(problem: QuadraticProgram) -> tuple[Array, Array, Array, Array]:
    """(rows, lower, upper, classes) of the bounds, if there are any, above the rows."""
    if not problem.bounded:
        return problem.A, problem.lower, problem.upper, problem.classes
    n = len(problem.f)
    return np.vstack((np.eye(n), problem.A)), *problem.limits, np.concatenate((np.zeros(n, np.int64), problem.classes))


def _read(problem: QuadraticProgram, equal: Array, found: Result) -> Result:
    """The same result in the order of the problem's rows."""
    order = np.concatenate((np.flatnonzero(equal), np.flatnonzero(~equal)))
    skipped = len(problem.f) if problem.bounded else 0
    multipliers, excess, values = (np.empty(len(order)) for _ in range(3))
    multipliers[order], excess[order], values[order] = found.multipliers, found.excess, found.values
    bounds = multipliers[:skipped] if skipped else np.zeros(len(problem.f))
    return Result(
        found.status, found.x, multipliers[skipped:], bounds, excess[skipped:], values[skipped:], found.residuals,
        found.iterations, found.dependent,
    )  # fmt: skip
