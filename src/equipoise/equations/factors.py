"""Positive definite matrices of symbols, factorised with their zeros kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import casadi

SX = casadi.SX


@dataclass(frozen=True)
class Factors:
    """A positive definite matrix as A = Lᵀ D L, L with ones on its diagonal.

    In that order the factor of a mass matrix is as sparse as the tree: leaves go first and fill nothing in. One
    division for each pivot: the rest multiplies.
    """

    rows: list[dict[int, SX]]  # of L, left of the diagonal
    pivots: list[SX]  # 1 / D
    shortcuts: dict[tuple[int, int], dict[int, SX]] = field(default_factory=dict)  # (row, level), made as needed

    def solve(self, b: SX) -> SX:
        """x with A x = b; b may have several columns, whose structural zeros save work."""
        y = [b[i, :] for i in range(len(self.pivots))]
        for k in reversed(range(len(y))):
            for i, factor in self.rows[k].items():
                y[i] = y[i] - factor * y[k]
        filled = [set(row.sparsity().get_col()) for row in y]
        x: list[SX] = []
        for k, row in enumerate(y):
            x.append(row * self.pivots[k])
            groups: dict[int, list[int]] = {}
            for c in range(b.shape[1]):
                groups.setdefault(self._shortest(k, lambda p, c=c: c in filled[p]), []).append(c)  # type: ignore[misc]
            for level, columns in groups.items():
                for i, factor in self._row(k, level).items():
                    x[k][:, columns] -= factor * x[i][:, columns]
        return casadi.vertcat(*x)

    def inverse(self) -> SX:
        """A⁻¹, one half computed: L A⁻¹ = D⁻¹ L⁻ᵀ, whose right side has no entries left of its diagonal."""
        n = len(self.pivots)
        X, y = SX(n, n), self._columns_of_inverse()
        for k in range(n):
            for c in range(k + 1):
                entry = self.pivots[k] if c == k else SX(1, 1)
                for i, factor in self._row(k, self._shortest(k, lambda p, c=c: p in y[c])).items():  # type: ignore[misc]
                    entry = entry - factor * X[i, c]
                X[k, c] = X[c, k] = entry
        return X

    def _columns_of_inverse(self) -> list[set[int]]:
        """Rows in which each column of L⁻ᵀ has entries."""
        filled: list[set[int]] = []
        for row in self.rows:
            k = len(filled)
            filled.append({k}.union(*(filled[i] for i in row)))
        return filled

    def _row(self, k: int, level: int) -> dict[int, SX]:
        """Row k of L with its last unknown expressed by those before, `level` times.

        x_k = y_k / D_k − Σ L_ki x_i. Where y_p is zero for the last p of the row, x_p itself is such a sum, and the row
        can do without it: parts of a robot feel a push on other branches only through what they have in common.
        """
        if level == 0:
            return self.rows[k]
        if (k, level) not in self.shortcuts:
            row = self._row(k, level - 1)
            last = max(row)
            shorter = {i: factor for i, factor in row.items() if i != last}
            for i, factor in self.rows[last].items():
                shorter[i] = shorter.get(i, 0) - row[last] * factor
            self.shortcuts[k, level] = shorter
        return self.shortcuts[k, level]

    def _shortest(self, k: int, filled: Callable[[int], bool]) -> int:
        """Which shortcut of row k serves a column whose right side is `filled` in some rows."""
        level = 0
        if not filled(k):
            while (row := self._row(k, level)) and not filled(max(row)):
                level += 1
        return level

    def flat(self) -> SX:
        """All numbers a solution needs, in the order in which `like` takes them."""
        rows = [*self.rows, *self.shortcuts.values()]
        return casadi.vertcat(*self.pivots, *(factor for row in rows for factor in row.values()))

    def like(self, numbers: SX) -> Factors:
        """Factors of the same zeros and shortcuts, of other numbers."""
        order = iter(range(numbers.shape[0]))
        pivots = [numbers[next(order)] for _ in self.pivots]
        rows = [{i: numbers[next(order)] for i in row} for row in self.rows]
        shortcuts = {place: {i: numbers[next(order)] for i in row} for place, row in self.shortcuts.items()}
        return Factors(rows, pivots, shortcuts)


def factorised(A: SX) -> Factors:
    """The factors of a positive definite matrix, eliminating from the last unknown to the first."""
    n = A.shape[0]
    work = {(i, j): A[i, j] for i in range(n) for j in range(i + 1) if not A[i, j].is_zero()}
    rows: list[dict[int, SX]] = [{} for _ in range(n)]
    pivots = [SX(0)] * n
    for k in reversed(range(n)):
        pivots[k] = 1 / work[k, k]
        rows[k] = {i: work[k, i] * pivots[k] for i in range(k) if (k, i) in work}
        for i, factor in rows[k].items():
            for j in rows[k]:
                if j <= i:
                    work[i, j] = work.get((i, j), 0) - factor * work[k, j]
    return Factors(rows, pivots)


@dataclass(frozen=True)
class ColumnSolutions:
    """Solutions for several right sides, in two stages: numbers of one state, then the same arithmetic for many
    columns."""

    whole: SX  # all solutions on top of each other, and `done`
    row: SX  # what all columns share, then the right sides: by group of columns, row and matrix
    done: SX  # a matrix that needs no second stage
    groups: list[tuple[SX, SX, SX]]  # symbols for what is shared, symbols for a column of the right side, its solution
    matrices: int  # that are solved


def solved_columns(factors: Factors, right: list[SX], done: SX, lanes: int) -> ColumnSolutions:
    """x with A x = b for all columns of the matrices `right`, `lanes` neighbours at a time.

    Rows of a group are left out where they are zero in all its columns, in all matrices.
    """
    whole = casadi.vertcat(*(factors.solve(b) for b in right), done)
    n, width = right[0].shape
    right = [casadi.sparsify(casadi.horzcat(b, SX(n, -width % lanes))) for b in right]
    starts = range(0, width, lanes)
    filled = [[r for r in range(n) if any(b[r, c : c + lanes].nnz() for b in right)] for c in starts]
    for rows in filled:
        factors.solve(_column(n, rows, SX.ones(len(rows))))  # finds the shortcuts that these columns can take
    values = factors.flat()
    symbols, columns = SX.sym("shared", values.shape[0]), [SX.sym("column", len(rows)) for rows in filled]
    alike = factors.like(symbols)
    solutions = [alike.solve(_column(n, rows, column)) for rows, column in zip(filled, columns, strict=True)]
    taken = {symbol.element_hash() for symbol in casadi.symvar(casadi.vertcat(*solutions))}
    kept = [k for k in range(values.shape[0]) if symbols[k].element_hash() in taken]
    spare = -len(kept) % lanes  # right sides begin on a whole vector
    shared, symbols = casadi.vertcat(values[kept], SX(spare, 1)), casadi.vertcat(symbols[kept], SX.sym("spare", spare))
    sides = [b[r, c : c + lanes].T for c, rows in zip(starts, filled, strict=True) for r in rows for b in right]
    groups = [(symbols, column, solution) for column, solution in zip(columns, solutions, strict=True)]
    return ColumnSolutions(whole, casadi.vertcat(shared, *sides), done, groups, len(right))


def _column(n: int, rows: list[int], values: SX) -> SX:
    """A column of n with entries in some rows only."""
    result = SX(n, 1)
    result[rows] = values
    return result
