"""Symbols: CasADi scalars in sparse matrices. Structural zeros cost nothing, here and in the compiled code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import missing_casadi

try:
    import casadi
except ImportError:
    raise missing_casadi() from None

from .factors import factorised

SX = casadi.SX


class _SymbolArithmetic:
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


SYMBOLS: Any = _SymbolArithmetic()


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
    """x with A x = b; as sparse as the tree where A is a mass matrix."""
    return factorised(A).solve(b)
