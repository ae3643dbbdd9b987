"""Positive definite matrices of symbols, factorised with their zeros kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import casadi

SX = casadi.SX


@dataclass(frozen=True)
class Factors:
    """A positive definite matrix as A = Lᵀ D L, L with ones on its diagonal.

    In that order the factor of a mass matrix is as sparse as the tree: leaves go first and fill nothing in. One division for
    each pivot: the rest multiplies.
    """

    rows: list[dict[int, SX]]  # of L, left of the diagonal
    pivots: list[SX]  # 1 / D

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
            shortcuts = [self.rows[k]]
            groups: dict[int, list[int]] = {}
            for c in range(b.shape[1]):
                groups.setdefault(self._shortest(shortcuts, k, lambda p, c=c: c in filled[p]), []).append(c)  # type: ignore[misc]
            for level, columns in groups.items():
                for i, factor in shortcuts[level].items():
                    x[k][:, columns] -= factor * x[i][:, columns]
        return casadi.vertcat(*x)

    def inverse(self) -> SX:
        """A⁻¹, one half computed: L A⁻¹ = D⁻¹ L⁻ᵀ, whose right side has no entries left of its diagonal."""
        n = len(self.pivots)
        X, y = SX(n, n), self._columns_of_inverse()
        for k in range(n):
            shortcuts = [self.rows[k]]
            for c in range(k + 1):
                entry = self.pivots[k] if c == k else SX(1, 1)
                for i, factor in shortcuts[self._shortest(shortcuts, k, lambda p, c=c: p in y[c])].items():  # type: ignore[misc]
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

    def _shortcut(self, row: dict[int, SX]) -> dict[int, SX]:
        """A row of L with its last unknown expressed by those before.

        x_k = y_k / D_k − Σ L_ki x_i. Where y_p is zero for the last p of the row, x_p itself is such a sum, and the row can do
        without it: parts of a robot feel a push on other branches only through what they have in common.
        """
        last = max(row)
        shorter = {i: factor for i, factor in row.items() if i != last}
        for i, factor in self.rows[last].items():
            shorter[i] = shorter.get(i, 0) - row[last] * factor
        return shorter

    def _shortest(self, shortcuts: list[dict[int, SX]], k: int, filled: Callable[[int], bool]) -> int:
        """Which of the shortcuts of row k, made as needed, serves a column whose right side is `filled` in some rows."""
        level = 0
        if not filled(k):
            while shortcuts[level] and not filled(max(shortcuts[level])):
                level += 1
                if level == len(shortcuts):
                    shortcuts.append(self._shortcut(shortcuts[-1]))
        return level


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
