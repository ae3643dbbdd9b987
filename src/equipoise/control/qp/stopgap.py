"""Temporary: the interface of the compiled solver on the old code."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .active_set import ActiveSetSolver
from .conflicts import relaxed
from .levels import Level, LevelSolver
from .program import UNKNOWN, QuadraticProgram, Residuals, Status

Array = np.ndarray


class Answer(NamedTuple):
    status: Status
    x: Array
    multipliers_E: Array
    multipliers: Array
    residuals: Residuals
    excess_E: Array
    excess: Array
    active: int
    relaxed: bool = False


class CompiledSolver:
    def __init__(self, n, levels, n_E, n_A, classes_E, classes_A, regularisation, strict=False):
        self.strict = strict
        self.n, self.levels, self.n_E, self.n_A = n, tuple(levels), n_E, n_A
        self.n_R = sum(levels)
        self.classes_E, self.classes_A, self.regular = classes_E, classes_A, regularisation
        shapes = {
            "R": (self.n_R, n),
            "r": (self.n_R,),
            "weights": (n,),
            "pulls": (n,),
            "E": (n_E, n),
            "e": (n_E,),
            "A": (n_A, n),
            "lower": (n_A,),
            "upper": (n_A,),
        }
        self.data = {k: np.zeros(s) for k, s in shapes.items()}
        self.guess = np.zeros(n_A)
        self.select(None, None, None)

    def forget(self):
        self.solver.forget()
        self.in_levels.forget()

    def select(self, x, E, A):
        self.x = np.arange(self.n) if x is None else np.asarray(x)
        self.E = np.arange(self.n_E) if E is None else np.asarray(E)
        self.A = np.arange(self.n_A) if A is None else np.asarray(A)
        self.solver = ActiveSetSolver(len(self.x), self.n_R, len(self.E), len(self.A))
        self.in_levels = LevelSolver()

    def solve(self):
        d, x, E, A = self.data, self.x, self.E, self.A
        parts = dict(
            R=d["R"][:, x],
            r=d["r"],
            weights=d["weights"][x] + self.regular[x],
            pulls=d["pulls"][x],
            E=d["E"][np.ix_(E, x)],
            e=d["e"][E],
            A=d["A"][np.ix_(A, x)],
            lower=d["lower"][A],
            upper=d["upper"][A],
        )
        if not all(np.isfinite(parts[k]).all() for k in ("R", "r", "weights", "pulls", "E", "e", "A")):
            return self._none(Status.NOT_FINITE)
        if np.isnan(parts["lower"]).any() or np.isnan(parts["upper"]).any():
            return self._none(Status.NOT_FINITE)
        if not self.strict:
            answer = self.solver.solve(**parts)
            ok = answer.solved
            if ok:
                return self._full(answer.x, answer.multipliers_E, answer.multipliers, answer.residuals)
        else:
            answer = self._strict(parts["E"], parts["e"], parts["A"], parts["lower"], parts["upper"])
            if answer.solved and np.isfinite(answer.x).all():
                return self._full(answer.x, np.zeros(len(E)), answer.multipliers, answer.residuals)
        return self._relaxed(parts)

    def _strict(self, E, e, A, lower, upper):
        d, x = self.data, self.x
        levels, start = [], 0
        for k, size in enumerate(self.levels):
            own = None
            if k == len(self.levels) - 1:
                w = d["weights"][x]
                used = np.flatnonzero(w > 0)
                own = used, np.sqrt(w[used]), d["pulls"][x][used] / w[used]
            levels.append(Level(d["R"][start : start + size][:, x], d["r"][start : start + size], own))
            start += size
        return LevelSolver().solve(levels, E, e, A, lower, upper, self.regular[x])

    def _relaxed(self, p):
        H = p["R"].T @ p["R"] + np.diag(p["weights"])
        f = -(p["r"] @ p["R"]) - p["pulls"]
        classes = np.concatenate([self.classes_E[self.E], self.classes_A[self.A]])
        names = tuple(f"{c}" for c in classes)
        order = [{str(c)} for c in sorted(set(classes.tolist()) - {0}, reverse=True)]
        n_E = len(self.E)
        rows = np.vstack((p["E"], p["A"]))
        lower, upper = np.concatenate((p["e"], p["lower"])), np.concatenate((p["e"], p["upper"]))
        found = relaxed(QuadraticProgram(H, f, rows, lower, upper, names=names), order)
        result = found.result
        if not (np.isfinite(result.x).all() and result.residuals.worst <= 1e-3):
            return self._none(Status.INFEASIBLE)
        x, residuals, lam = result.x, result.residuals, result.multipliers
        w = result.problem
        if self.strict:
            eq = w.lower == w.upper
            ans = self._strict(w.A[eq], w.lower[eq], w.A[~eq], w.lower[~eq], w.upper[~eq])
            if ans.solved and np.isfinite(ans.x).all():
                x, residuals = ans.x, ans.residuals
                lam = np.zeros(len(eq))
                lam[~eq] = ans.multipliers
        value = rows @ x
        excess = np.where(value > upper, value - upper, np.where(value < lower, value - lower, 0.0))
        answer = self._full(x, lam[:n_E], lam[n_E:], residuals)
        eE, eA = np.zeros(self.n_E), np.zeros(self.n_A)
        eE[self.E], eA[self.A] = excess[:n_E], excess[n_E:]
        return answer._replace(
            excess_E=eE, excess=eA, relaxed=bool(found.amounts), status=Status.OPTIMAL if result.solved else Status.INACCURATE
        )

    def _full(self, x, mu, lam, residuals):
        full, m, l = np.zeros(self.n), np.zeros(self.n_E), np.zeros(self.n_A)
        full[self.x], m[self.E], l[self.A] = x, mu, lam
        return Answer(Status.OPTIMAL, full, m, l, residuals, np.zeros(self.n_E), np.zeros(self.n_A), int(np.count_nonzero(lam)))

    def _none(self, status):
        return Answer(
            status, np.zeros(self.n), np.zeros(self.n_E), np.zeros(self.n_A), UNKNOWN, np.zeros(self.n_E), np.zeros(self.n_A), 0
        )
