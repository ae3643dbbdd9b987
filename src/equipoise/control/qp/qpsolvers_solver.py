"""Any solver of the package `qpsolvers`, behind the same interface and under the same certificate."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ...errors import MissingPackageError, missing_package, unknown_name
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
PROXIMAL, PROXIMAL_STEPS = 1e-5, 20  # weight of proximal steps, by the largest entry of H, and how many


class QpsolversSolver:
    """Solves with a solver of `qpsolvers`, by its name there; it needs the extra `qpsolvers`.

    Solvers tell only whether they found a solution. One that none is found for is called infeasible if another program
    says so: the point that violates the rows least violates them.

    Args:
        name: of the solver, one of `qpsolvers.available_solvers`; the first of them if left out.
        options: for that solver, by name.
    """

    def __init__(self, name: str | None = None, **options: object) -> None:
        try:
            import qpsolvers
        except ImportError:
            raise missing_package("qpsolvers", "qpsolvers", "QpsolversSolver") from None
        known = qpsolvers.available_solvers
        if not known:
            hint = "Install one: pip install 'qpsolvers[piqp]'"
            raise MissingPackageError(f"qpsolvers is installed, but no solver for it. {hint}")
        if name is not None and name not in known:
            raise unknown_name("solver of qpsolvers", name, known)
        self.name = name or known[0]
        self._options: dict[str, Any] = options  # qpsolvers types its own keywords

    def forget(self) -> None:
        """Nothing is kept between problems."""

    def solve(self, problem: QuadraticProgram) -> Result:
        """The minimiser with its certificate."""
        if ill_posed(problem):
            return failure(problem, Status.NOT_FINITE)
        if problem.levels:
            return lexicographic(problem, self._plain)
        result = self._plain(problem)
        if result.status is Status.INFEASIBLE and problem.classes.any():
            return lexicographic(problem, self._plain)
        return result

    def _plain(self, problem: QuadraticProgram) -> Result:
        """All rows hold, and there is one cost."""
        if np.greater(*problem.limits).any():
            return failure(problem, Status.INFEASIBLE)
        found = self._found(problem) if _positive_definite(problem.H) else self._proximal(problem)
        if found is not None:
            return found
        return failure(problem, Status.FAILED if self._feasible(problem) else Status.INFEASIBLE)

    def _found(self, p: QuadraticProgram) -> Result | None:
        import qpsolvers

        equal = p.lower == p.upper
        above, below = ~equal & np.isfinite(p.upper), ~equal & np.isfinite(p.lower)
        G, h = np.vstack((p.A[above], -p.A[below])), np.concatenate((p.upper[above], -p.lower[below]))
        statement = qpsolvers.Problem(
            np.array(p.H), np.array(p.f), G if len(G) else None, h if len(G) else None,
            p.A[equal] if equal.any() else None, p.lower[equal] if equal.any() else None,
            np.array(p.x_lower) if p.bounded else None, np.array(p.x_upper) if p.bounded else None,
        )  # fmt: skip
        try:
            solution = qpsolvers.solve_problem(statement, self.name, **self._options)
        except Exception:  # solvers raise what they like where a program is not for them
            return None
        if not solution.found or solution.x is None or not np.isfinite(solution.x).all():
            return None
        lam = np.zeros(len(p.A))
        lam[equal] = 0.0 if solution.y is None or not equal.any() else solution.y
        z = np.zeros(len(h)) if solution.z is None else solution.z
        lam[above] += z[: above.sum()]
        lam[below] -= z[above.sum() :]
        mu = np.zeros(len(p.f)) if solution.z_box is None or not solution.z_box.size else solution.z_box
        residuals = kkt_residuals(p, solution.x, lam, mu)
        status = Status.OPTIMAL if residuals.worst <= ACCURATE else Status.INACCURATE
        return Result(status, solution.x, lam, mu, excess(p, solution.x), p.A @ solution.x, residuals)

    def _proximal(self, p: QuadraticProgram) -> Result | None:
        """For solvers that want a strictly convex cost: proximal steps, which converge to a minimiser as stated."""
        weight, x, best = PROXIMAL * max(float(np.abs(p.H).max()), 1e-3), np.zeros(len(p.f)), None
        for _ in range(PROXIMAL_STEPS):
            found = self._found(replace(p, H=p.H + weight * np.eye(len(x)), f=p.f - weight * x))
            if found is None:
                return best
            residuals = kkt_residuals(p, found.x, found.multipliers, found.bound_multipliers)
            status = Status.OPTIMAL if residuals.worst <= ACCURATE else Status.INACCURATE
            x, best = found.x, found._replace(status=status, residuals=residuals)
            if residuals.worst <= PRIMAL_TOLERANCE:
                break
        return best

    def _feasible(self, p: QuadraticProgram) -> bool:
        """Whether the smallest violation of all rows together is none, by a program that always has a solution."""
        m, n = p.A.shape
        soft = QuadraticProgram(
            np.diag(np.concatenate((np.full(n, 1e-9), np.ones(m)))),
            np.zeros(n + m),
            np.hstack((p.A, np.eye(m))),
            p.lower,
            p.upper,
            np.concatenate((p.x_lower, np.full(m, -np.inf))),
            np.concatenate((p.x_upper, np.full(m, np.inf))),
        )
        found = self._found(soft)
        return found is not None and bool(np.abs(found.x[n:]).max(initial=0.0) <= 10 * FEASIBLE)


def _positive_definite(H: Array) -> bool:
    values = np.linalg.eigvalsh(H)
    return bool(values[0] > 1e-9 * values[-1])
