"""A quadratic program that changes little from step to step: guess its active set, solve, prove it.

    minimise  ½|R x − r|² + ½ Σ w x² − pullsᵀ x   subject to   E x = e,   lower ≤ A x ≤ upper,      w > 0

In a control loop the rows that push now are nearly always those that pushed a millisecond ago. So the last active set W is
tried first: with Uᵀ U = H = RᵀR + diag w and C the rows of E and W, everything follows from one triangular solve,

    V = U⁻ᵀ Cᵀ,   y = U⁻ᵀ f,   Vᵀ V λ = −(c + Vᵀ y),   x = −U⁻¹ (y + V λ),

and x is the minimiser if no other row is violated and no multiplier pulls. Where that fails, rows that pull leave W and rows
that are violated enter it (a semi-smooth Newton step [HIK02]), a few times; then DAQP, which always ends, solves the problem
from the start. Whoever found x, the residuals are those of the problem as stated. The loops are machine code
(`active_set_loops`), and what the kernels write is what they read: nothing is copied on the way.

[HIK02] Hintermüller, Ito, Kunisch: The Primal-Dual Active Set Strategy as a Semismooth Newton Method, SIAM J. Optim. 13, 2002.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from . import active_set_loops as loops
from .program import ACCURATE, QuadraticProgram, Residuals, Status
from .solver import Solver

Array = np.ndarray
GUESSES = 10  # active sets tried before DAQP is asked
PADDING = 16  # numbers behind each array that may be read, not used


class Answer(NamedTuple):
    """A point with its certificate; x is NaN where there is none."""

    status: Status
    x: Array
    multipliers_E: Array
    multipliers: Array  # of A, positive at upper bounds
    values: Array  # A x
    residuals: Residuals
    guesses: int  # active sets tried; 1 where the last one still held
    pushing: int  # rows of A that are active
    iterations: int = 0  # of DAQP, if it was asked

    @property
    def solved(self) -> bool:
        return self.status is Status.OPTIMAL


class ActiveSetSolver:
    """Memory for problems of one size, and the active set from one to the next.

    Args:
        n, n_R, n_E, n_A: how many unknowns, and rows of R, E and A.
    """

    def __init__(self, n: int, n_R: int, n_E: int, n_A: int, guesses: int = GUESSES) -> None:
        self.n, self.n_R, self.n_E, self.n_A = n, n_R, n_E, n_A
        shapes = {"R": (n_R, n), "r": (n_R,), "weights": (n,), "pulls": (n,), "E": (n_E, n), "e": (n_E,)}
        shapes |= {"A": (n_A, n), "lower": (n_A,), "upper": (n_A,), "sides": (n_A,)}
        results = {"x": (n,), "multipliers_E": (n_E,), "multipliers": (n_A,), "values": (n_A,), "info": (8,)}
        scratch = {name: (size,) for name, size in loops.scratch_sizes(n, n_E, n_A).items()}
        self._memory = {
            name: np.zeros(int(np.prod(shape)) + PADDING, np.int64 if name == "work" else float)
            for name, shape in (shapes | results | scratch).items()
        }
        self.data = {name: self._memory[name][: int(np.prod(s))].reshape(s) for name, s in (shapes | results).items()}
        addresses = [self._memory[name].ctypes.data for name in list(loops.ARGUMENTS)[len(loops.SIZES) :]]
        self._run = partial(loops.compiled(), n, n_R, n_E, n_A, guesses, *addresses)

    def forget(self) -> None:
        """Start the next problem without a guess."""
        self.data["sides"][:] = 0.0

    def solve(
        self, R: Array, r: Array, weights: Array, pulls: Array, E: Array, e: Array, A: Array, lower: Array, upper: Array
    ) -> Answer:
        """Solve a problem that is somewhere else in memory."""
        for name, value in zip(loops.ARRAYS, (R, r, weights, pulls, E, e, A, lower, upper), strict=True):
            self.data[name][...] = value
        return self.solve_in_place()

    def solve_in_place(self) -> Answer:
        """Solve the problem that `data` holds. The arrays of the answer are overwritten by the next one."""
        if self._run() != loops.SOLVED:
            return self._by_daqp()
        data = self.data
        stationarity, primal, gap, guesses, pushing = data["info"][:5].tolist()
        residuals = Residuals(stationarity, primal, 0.0, gap)
        if not residuals.worst <= ACCURATE:  # NaN is not either
            return self._by_daqp()
        found = (data["x"], data["multipliers_E"], data["multipliers"], data["values"])
        return Answer(Status.OPTIMAL, *found, residuals, int(guesses), int(pushing))

    def _by_daqp(self) -> Answer:
        d = self.data
        H = d["R"].T @ d["R"]
        H.flat[:: self.n + 1] += d["weights"]
        lower, upper = np.concatenate((d["e"], d["lower"])), np.concatenate((d["e"], d["upper"]))
        problem = QuadraticProgram(H, -(d["r"] @ d["R"]) - d["pulls"], np.vstack((d["E"], d["A"])), lower, upper)
        result = Solver().solve(problem)
        lam = result.multipliers[self.n_E :]
        d["sides"][:] = np.sign(np.nan_to_num(lam))
        found = (result.x, result.multipliers[: self.n_E], lam, d["A"] @ result.x)
        return Answer(result.status, *found, result.residuals, 0, int(np.count_nonzero(lam)), result.iterations)
