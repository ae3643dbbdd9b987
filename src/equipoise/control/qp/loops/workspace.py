"""The memory that all functions of the solver share, by name, and how they are written.

Rows of E and A are one set of m = n_E + n_A rows here, E first: M with low ≤ M x ≤ high. Every matrix has rows of
`wide` numbers, a multiple of the lanes, with zeros behind the n that count.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any

from ....machine.loops import TALL, ArrayView, Function, Number, padded

RANK = 1e-9  # of a row's length: what others leave of it counts as nothing
LAST = 1  # class of the rows that are relaxed last
RANKS = (1e-8, 1e-7)  # the same for rows of a level, and for rows that enter a working set one by one
TOLERANCE = 1e-9  # violation, by 1 + |value| and by the lengths of row and unknowns, that counts as none
NOISE = 1e-11  # multiplier of a row, by the size of its level, that is told from none
WRONG = 1e-6  # multiplier of the wrong sign, by the size of its level, with which a row has to leave
FEASIBLE = 1e-7  # violation of a row, by max(1, |value|), that is not reported
ACCURATE = 1e-6  # largest residual that may call itself optimal

SIZES = ("n", "n_R", "n_E", "n_A", "levels", "diagonal", "classes", "strict", "guesses", "limit")
NUMBERS = ("R", "r", "weights", "pulls", "regularisation", "E", "e", "A", "lower", "upper")
# In the order in which they lie in memory: only x is written in whole blocks.
RESULTS = ("multipliers_E", "multipliers_A", "excess_E", "excess_A", "values_E", "values_A", "info", "x")


class Code(IntEnum):
    """What a function of the machine code answers."""

    DONE = 0
    NOT_FOUND = 1
    NOT_CONVEX = 2
    NOT_FINITE = 3
    CONFLICT = 4
    LIMIT = 5
    INACCURATE = 6
    RELAXED = 7
    INFEASIBLE = 8
    FAR = 9  # from the last program: targets jumped


class Info(IntEnum):
    """Places in `info`."""

    STATIONARITY = 0
    PRIMAL = 1
    COMPLEMENTARITY = 2
    TRIES = 3  # working sets that were solved
    ACTIVE = 4
    DEPENDENT = 5  # rows of E
    SIZE = 6  # by which complementarity is divided; of a level, what its gradient leaves
    SEARCHED = 7  # residual of the levels that a search minimised


class Setting(IntEnum):
    """Places in `settings`: parts of a row's length of which less counts as nothing."""

    REPEATED = 0  # of rows of E that are relaxed last, as contacts are, and that others repeat
    LEVEL = 1  # of rows of a level
    ENTER = 2  # of rows that enter a working set one by one
    GUESS = 3  # of rows of E among guesses, squared, in the sense of the cost
    ROUNDING = 4  # of all other rows of E that others repeat


class Counters(IntEnum):
    """Places in `count`."""

    SIZE = 0  # rows in the working set that changes one by one
    CHANGES = 1  # of it, so far
    CLASS = 2  # that could not hold
    INSIDE = 3  # whether `point` violates no row that has no side
    DEPENDENT = 4  # rows of E
    RELAXED = 5  # whether the last program was
    FOUND = 6  # whether what is to be proven was found by a search
    DIMENSION = 7  # rows of J
    CAREFUL = 8  # whether a cost in one sum is solved by its rows
    ILL = 9  # whether a Cholesky factor lost most of its digits


def sizes(n: int, n_R: int, n_E: int, n_A: int, levels: int, classes: int) -> dict[str, tuple[str, int]]:
    """Of every array its kind and how many numbers it must hold."""
    wide, m = padded(n), n_E + n_A
    rows, columns = m + n_R + n, padded(1 + n_E + min(n_A, n))
    steps = classes + levels + 4
    real = {
        # the program and its answer
        "R": n_R * n, "r": n_R, "weights": n, "pulls": n, "regularisation": n, "E": n_E * n, "e": n_E,
        "A": n_A * n, "lower": n_A, "upper": n_A, "sides": n_A, "settings": 8, "x": n, "info": 8,
        "multipliers_E": n_E, "excess_E": n_E, "values_E": n_E, "multipliers_A": n_A, "excess_A": n_A, "values_A": n_A,
        # guesses
        "H": n * wide, "f": wide, "V": n * columns, "S": columns**2, "rhs": columns, "squares": columns, "g": wide,
        # all rows of the constraints
        "M": m * wide, "columns": n * padded(m, TALL), "low": m, "high": m, "norm": m, "loose": m, "value": m,
        "side": m, "push": m, "bound": m, "norm_R": n_R,
        # levels
        "T": rows * wide, "aim": rows, "square": rows, "left": rows, "off": rows, "F": rows * wide, "mirror": n * wide,
        "beta": wide, "y": wide, "own": wide, "b": wide, "Z": n * wide, "D": wide, "pull": wide,
        "small": padded(rows) ** 2, "delta": padded(rows), "gradient": wide, "balance": wide,
        # a working set that changes row by row
        "J": n * wide, "C": n * wide, "u": wide, "sign": n, "d": wide, "q": wide, "step": wide, "kept": wide,
        "soft": m, "prior": m, "slope": m, "point": wide,
    }  # fmt: skip
    integers = {
        "ends": levels, "order": n_R, "classes_E": n_E, "classes_A": n_A, "work": n_A + 1, "cls": m,
        "of": rows, "pivoted": rows, "spare": rows, "first": steps, "begin": steps, "pivot": n, "decided": m,
        "hints": steps, "W": n, "equal": n, "inside": m, "fixed": m, "ahead": m, "count": 16,
    }  # fmt: skip
    return {name: ("array", k) for name, k in real.items()} | {name: ("indices", k) for name, k in integers.items()}


ARRAYS = tuple(name for name in sizes(1, 1, 1, 1, 1, 0))
ARGUMENTS: dict[str, str] = dict.fromkeys(SIZES, "integer") | {
    name: kind for name, (kind, _) in sizes(1, 1, 1, 1, 1, 0).items()
}


class Scope:
    """A function of the solver under construction, with the sizes that all of them use."""

    def __init__(self, module: Any, name: str, *extra: str) -> None:
        self.f = f = Function(module, name, ARGUMENTS | dict.fromkeys(extra, "integer"))
        self.n, self.n_E, self.m = f["n"], f["n_E"], f["n_E"] + f["n_A"]
        self.wide, self.tall = f.padded(self.n), f.tall(self.m)

    def row(self, name: str, i: Any) -> ArrayView:
        """Row i of a matrix of the workspace."""
        f = self.f
        row: ArrayView = f[name].at(f.number(i) * self.wide)
        return row

    def rows_times(self, to: ArrayView, vector: ArrayView) -> None:
        """to = M vector."""
        self.f.times(to, self.f["columns"], vector, self.n, self.m)

    def length(self, vector: ArrayView) -> Number:
        return self.f.sqrt(self.f.dot(vector, vector, 0, self.n))
