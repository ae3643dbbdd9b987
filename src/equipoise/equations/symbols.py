"""Symbols: CasADi scalars in sparse matrices. Structural zeros cost nothing, here and in the compiled code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import casadi
import numpy as np

SX = casadi.SX


class _Symbols:
    """The arithmetic of `algebra.quaternions`, on symbols."""

    cos = staticmethod(casadi.cos)
    sin = staticmethod(casadi.sin)
    sqrt = staticmethod(casadi.sqrt)
    atan2 = staticmethod(casadi.atan2)
    where = staticmethod(casadi.if_else)

    @staticmethod
    def matrix(rows: Sequence[Sequence[Any]]) -> SX:
        M = SX(len(rows), len(rows[0]))
        for i, row in enumerate(rows):
            for j, entry in enumerate(row):
                if not _is_zero(entry):
                    M[i, j] = entry
        return M

    @classmethod
    def vector(cls, entries: Sequence[Any]) -> SX:
        return cls.matrix([[entry] for entry in entries])


SYMBOLS: Any = _Symbols()


def _is_zero(entry: Any) -> bool:
    return entry.is_zero() if isinstance(entry, SX) else entry == 0


def constant(array: Any) -> SX:
    """Numbers as symbols, with their zeros structural."""
    return casadi.sparsify(SX(casadi.DM(np.asarray(array, dtype=float))))


def zeros(rows: int, columns: int = 1) -> SX:
    """Structural zeros."""
    return SX(rows, columns)


def cross(a: SX, b: SX) -> SX:
    """a × b; b may have several columns."""
    return skew(a) @ b


def skew(a: SX) -> SX:
    """The matrix a^ with a^ b = a × b."""
    x, y, z = a[0], a[1], a[2]
    return SYMBOLS.matrix([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def stack(*parts: SX) -> SX:
    """Parts on top of each other."""
    return casadi.vertcat(*parts)


def beside(*parts: SX) -> SX:
    """Parts side by side."""
    return casadi.horzcat(*parts)


def solve_positive_definite(A: SX, b: SX) -> SX:
    """x with A x = b by A = Lᵀ D L, eliminating from the last unknown to the first.

    In that order the factor of a mass matrix is as sparse as the tree: leaves go first and fill nothing in. One division for
    each pivot: the rest multiplies.
    """
    n = A.shape[0]
    x = [b[i, :] for i in range(n)]
    work = {(i, j): A[i, j] for i in range(n) for j in range(i + 1) if not A[i, j].is_zero()}
    factors: list[dict[int, SX]] = [{} for _ in range(n)]
    inverse = [SX(0)] * n
    for k in reversed(range(n)):
        inverse[k] = 1 / work[k, k]
        factors[k] = {i: work[k, i] * inverse[k] for i in range(k) if (k, i) in work}
        for i, factor in factors[k].items():
            x[i] = x[i] - factor * x[k]
            for j in factors[k]:
                if j <= i:
                    work[i, j] = work.get((i, j), 0) - factor * work[k, j]
    for k in range(n):
        x[k] = x[k] * inverse[k]
        for i, factor in factors[k].items():
            x[k] = x[k] - factor * x[i]
    return stack(*x)
