"""The solver of the control loop: programs in memory that a kernel writes, solved by machine code in bounded time.

    level 0 … L − 1:   R x ≈ r;   one of them also:  ½ Σ weights x² − pullsᵀ x;   then  ½ Σ regularisation x²
    subject to         E x = e,   lower ≤ A x ≤ upper,   each row with a relaxation class

`loops.main` tells how it is solved. What the kernel writes is what the machine code reads; nothing is allocated from
step to step but the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np

from ...errors import ShapeError
from .loops import main
from .loops.workspace import ARRAYS, NUMBERS, RANKS, RESULTS, SIZES, Code, Counters, Setting, sizes
from .program import UNKNOWN, Residuals, Result, Status, read_only, relaxation_classes

Array = np.ndarray
GUESSES = 3  # active sets tried before working sets are
CHANGES = 100, 10  # of the working set in a search from the start: in all, and for each unknown
RANK_TOLERANCE = 1e-4  # of an equality's length: what is left of one that others repeat to this part
ROUNDING = 1e-9  # the same of equalities that are not of class 1
PADDING = 32  # numbers behind each array that may be touched, not used
STATUS: dict[int, Status] = {
    Code.DONE: Status.OPTIMAL,
    Code.RELAXED: Status.RELAXED,
    Code.INACCURATE: Status.INACCURATE,
    Code.INFEASIBLE: Status.INFEASIBLE,
    Code.LIMIT: Status.ITERATION_LIMIT,
    Code.NOT_FOUND: Status.FAILED,
    Code.NOT_CONVEX: Status.NOT_CONVEX,
    Code.NOT_FINITE: Status.NOT_FINITE,
}
PROVEN = Status.OPTIMAL, Status.RELAXED
USABLE = tuple(map(int, (Code.DONE, Code.RELAXED, Code.INACCURATE, Code.LIMIT)))
ROWS_OF_A = SIZES.index("n_A")  # place in the tables of arguments
KINDS = ("multipliers", "excess", "values")  # of results that rows have


class CompiledSolver:
    """Memory for programs of one structure, and the working set from one to the next.

    Args:
        n: how many unknowns.
        levels: of each level of the cost its rows of R, most important first: their numbers, or how many come next.
        diagonal: the level that weights and pulls belong to; the last if left out.
        n_E, n_A: rows of E and of A.
        classes_E, classes_A: relaxation class of each row: 0, never, if left out; 1 is relaxed last.
        regularisation: weights of the squares of the unknowns, shape (n,) or a number; positive.
        strict: whether each level is optimal within those before it and the regularisation comes last. If not, there is
            one level, and the regularisation is part of it.
        rank_tolerance: equalities of class 1, such as contacts, that others repeat but for this part of their length
            repeat them exactly; of other equalities, rounding is all that does not count.
        iteration_limit: changes of the working set; at the limit the answer is the best point so far.
        guesses: active sets that are tried by the fast way, which takes programs without strict priorities that are
            feasible.

    Attributes:
        data: R r weights pulls E e A lower upper, arrays to write into.
        sides: of all rows of A, −1 or 1 if they are in the working set at their lower or upper bound, else 0; the next
            solve starts from them.
        rows_in_use: how many rows of A the next solve reads; those behind them bind nothing and cost nothing.
    """

    def __init__(
        self,
        n: int,
        levels: Sequence[int | Sequence[int]],
        *,
        diagonal: int | None = None,
        n_E: int = 0,
        n_A: int = 0,
        classes_E: Any = None,
        classes_A: Any = None,
        regularisation: Any = 1e-6,
        strict: bool = False,
        rank_tolerance: float = RANK_TOLERANCE,
        iteration_limit: int | None = None,
        guesses: int = GUESSES,
    ) -> None:
        if n < 1 or not levels or (len(levels) > 1 and not strict):
            raise ShapeError(
                f"wanted n ≥ 1 and one level, or several with strict=True; got n = {n} and {len(levels)} levels."
            )
        self.n, self.n_E, self.n_A, self.strict = n, n_E, n_A, strict
        self.rows_in_use = n_A
        self.levels = _row_numbers(levels)
        self.n_R = sum(map(len, self.levels))
        self._classes = [relaxation_classes(*x) for x in (("classes_E", classes_E, n_E), ("classes_A", classes_A, n_A))]
        limit = CHANGES[0] + CHANGES[1] * n if iteration_limit is None else iteration_limit
        self._highest = max(int(classes.max(initial=0)) for classes in self._classes)
        place = len(levels) - 1 if diagonal is None else diagonal
        self._structure = (len(levels), place, self._highest, int(strict), guesses, limit)
        self._allocate(np.broadcast_to(np.asarray(regularisation, dtype=float), (n,)), rank_tolerance)
        self.select()

    def __reduce__(self) -> tuple[Any, ...]:
        """By what it was made from, and the numbers; it starts cold."""
        _, place, _, _, guesses, limit = self._structure
        options = {
            "diagonal": place, "n_E": self.n_E, "n_A": self.n_A, "classes_E": self._classes[0],
            "classes_A": self._classes[1], "regularisation": self.data["regularisation"], "strict": self.strict,
            "rank_tolerance": float(self._memory["settings"][0]), "iteration_limit": limit, "guesses": guesses,
        }  # fmt: skip
        return _made_again, ((self.n, self.levels), options, self.data, self._selected)

    def _allocate(self, regularisation: Array, rank_tolerance: float) -> None:
        if not (regularisation > 0).all():
            raise ShapeError("the regularisation must be positive: it settles what no level decides.")
        made = sizes(self.n, self.n_R, self.n_E, self.n_A, len(self.levels), self._highest)
        ends = np.cumsum([0, *(made[name][1] for name in RESULTS)]).tolist()
        self._at = dict(zip(RESULTS, map(slice, ends, ends[1:]), strict=False))
        start = self._at["info"].start
        self._info = slice(start, start + 6)
        self._views = [
            self._at["x"],
            *(slice(self._at[f"{kind}_E"].start, self._at[f"{kind}_A"].stop) for kind in KINDS),
        ]
        self._results = np.zeros(ends[-1] + PADDING)  # side by side, so that one copy is enough
        self._no_bounds = read_only(np.zeros(self.n))
        kinds = {"array": np.float64, "indices": np.int64}
        self._memory = {name: np.zeros(count + PADDING, kinds[kind]) for name, (kind, count) in made.items()}
        self._memory |= {name: self._results[at.start :] for name, at in self._at.items()}
        self._changes = self._memory["count"][Counters.CHANGES : Counters.CHANGES + 1]
        self._given = {name: np.zeros(made[name][1] + PADDING) for name in (*NUMBERS, "sides")}
        shapes = {"R": (self.n_R, self.n), "E": (self.n_E, self.n), "A": (self.n_A, self.n)}
        self.data = {name: self._given[name][: made[name][1]].reshape(shapes.get(name, -1)) for name in NUMBERS}
        self.sides = self._given["sides"][: self.n_A]
        self.data["regularisation"][:] = regularisation
        self._memory["ends"][: len(self.levels)] = np.cumsum([len(level) for level in self.levels])
        self._memory["order"][: self.n_R] = np.concatenate(self.levels)
        self._memory["settings"][: 1 + len(RANKS)] = rank_tolerance, *RANKS
        self._memory["settings"][Setting.ROUNDING] = ROUNDING

    def select(self, x: Array | None = None, E: Array | None = None, A: Array | None = None) -> None:
        """Which unknowns, rows of E and rows of A there are from now on, by their numbers; None for all.

        The other unknowns are zero in the answer, and so is whatever belongs to the other rows.
        """
        wholes = (self.n, self.n_E, self.n_A)
        chosen = [
            np.arange(k) if at is None else np.array(at, np.int64) for k, at in zip(wholes, (x, E, A), strict=True)
        ]
        for k, at, name in zip(wholes, chosen, ("unknowns", "rows of E", "rows of A"), strict=True):
            if at.ndim != 1 or (at < 0).any() or (at >= k).any() or (np.diff(at) <= 0).any():
                raise ShapeError(f"{name} are selected by growing numbers from 0 to {k - 1}, got {at}.")
        counts = [len(at) for at in chosen]
        if not counts[0]:
            raise ShapeError("at least one unknown is wanted.")
        self._selected = None if counts == list(wholes) else chosen
        of = {"x": chosen[0], "info": np.arange(8)} | {f"{name}_E": chosen[1] for name in KINDS}
        places = [of.get(name, chosen[2]) for name in RESULTS]
        starts = [self._at[name].start for name in RESULTS]
        self._there = np.concatenate([start + at for start, at in zip(starts, places, strict=True)])
        self._here = np.concatenate([start + np.arange(len(at)) for start, at in zip(starts, places, strict=True)])
        m, (n, n_E, n_A) = self._memory, counts
        m["classes_E"][:n_E], m["classes_A"][:n_A] = self._classes[0][chosen[1]], self._classes[1][chosen[2]]
        self._start_cold()
        solve, collect = main.compiled()
        numbers = m if self._selected else m | self._given
        self._run = _bound(solve, (n, self.n_R, n_E, n_A, *self._structure), (numbers[name] for name in ARRAYS))
        arrays = [*chosen, *(self._given[name] for name in NUMBERS), *(m[name] for name in NUMBERS)]
        self._gather = _bound(collect, (n, self.n_R, n_E, n_A, self.n), arrays)

    def forget(self) -> None:
        """Drop the working set: the next solve starts cold."""
        self.sides[:] = 0.0
        self._start_cold()

    def _start_cold(self) -> None:
        settings, self._cold = self._memory["settings"], not self.sides.any()
        self._memory["count"][:], self._memory["hints"][:], self._results[:] = 0, 0, 0.0
        settings[Setting.GUESS] = settings[Setting.REPEATED] ** 2

    def solve(self) -> Result:
        """The answer to the program that `data` holds. It has its own arrays.

        Where a warm start ends without proof, the program is solved once more from nothing: what was left of the last
        one may be far from this one. Such a step takes at most twice the changes of the working set.
        """
        cold, self._cold = self._cold, False
        answer = self._solve()
        if cold or answer.status in PROVEN:
            return answer
        self.forget()
        again, self._cold = self._solve(), False
        changes = answer.iterations + again.iterations
        return (again if again.usable or not answer.usable else answer)._replace(iterations=changes)

    def _solve(self) -> Result:
        """The answer from the working set as it is."""
        self._use_rows()
        if self._selected is None:
            return self._answer(self._run(), self._results.copy())
        A = self._selected[2]
        self._gather()
        sides = self._memory["sides"]
        sides[: len(A)] = self.sides[A]
        code = self._run()
        self.sides[:] = 0.0
        self.sides[A] = sides[: len(A)]
        return self._answer(code, self._spread())

    def _use_rows(self) -> None:
        """Tell the machine code how many rows of A there are; results of those behind are zero."""
        used = self.rows_in_use if self._selected is None else int(self._selected[2].searchsorted(self.rows_in_use))
        if self._run.table[ROWS_OF_A] != used:  # type: ignore[attr-defined]
            self._run.table[ROWS_OF_A] = self._gather.table[ROWS_OF_A] = used  # type: ignore[attr-defined]
            for kind in KINDS:
                self._memory[f"{kind}_A"][used : self.n_A] = 0.0

    def nothing(self) -> Result:
        """An answer in which every number is zero, for a program that was not solved."""
        m = self.n_E + self.n_A
        x, rows = np.zeros(self.n), np.zeros(m)
        return Result(Status.FAILED, x, rows, self._no_bounds, rows, rows, UNKNOWN, equalities=self.n_E)

    def _spread(self) -> Array:
        """Results of the selected unknowns and rows in the places they have among all."""
        block = np.zeros_like(self._results)
        block[self._there] = self._results[self._here]
        return block

    def _answer(self, code: int, block: Array) -> Result:
        x, multipliers, excess, values = self._views
        stationarity, primal, gap, tries, _, dependent = block[self._info].tolist()
        residuals = Residuals(stationarity, primal, 0.0, gap)
        # a point that is no number, of a cost that is singular but for rounding
        if code in USABLE and not primal < np.inf:
            code = Code.NOT_FOUND
        if code not in USABLE:
            block[:], residuals = np.nan, UNKNOWN
        return Result(
            STATUS[code], block[x], block[multipliers], self._no_bounds, block[excess], block[values], residuals,
            int(tries) + int(self._changes[0]), int(dependent), self.n_E,
        )  # fmt: skip


def _row_numbers(levels: Sequence[int | Sequence[int]]) -> list[Array]:
    """Rows of R of each level; every row must be in one of them."""
    numbers, start = [], 0
    for level in levels:
        made = np.arange(start, start + level) if isinstance(level, int) else np.array(level, np.int64).reshape(-1)
        numbers.append(made)
        start += len(made)
    if sorted(np.concatenate(numbers).tolist()) != list(range(start)):
        raise ShapeError(f"every row of R belongs to one level, got {[level.tolist() for level in numbers]}.")
    return numbers


def _made_again(
    arguments: tuple[Any, ...], options: dict[str, Any], data: dict[str, Array], selected: list[Array] | None
) -> CompiledSolver:
    made = CompiledSolver(*arguments, **options)
    for name, numbers in data.items():
        made.data[name][:] = numbers
    if selected is not None:
        made.select(*selected)
    return made


def _bound(function: Any, numbers: Iterable[int], arrays: Iterable[Array]) -> Callable[[], int]:
    """The function with its table of arguments, which the caller keeps alive together with the arrays."""
    table = np.array([*numbers, *(array.ctypes.data for array in arrays)], np.int64)
    bound = partial(function, table.ctypes.data)
    bound.table = table  # type: ignore[attr-defined]
    return bound
