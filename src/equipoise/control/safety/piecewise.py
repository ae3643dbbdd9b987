"""The few functions that bounds are made of, for numbers and for symbols: each bound is written once, without
branches."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np


class Piecewise(Protocol):
    """Elementwise; NaN stays NaN."""

    def smaller(self, a: Any, b: Any) -> Any: ...
    def larger(self, a: Any, b: Any) -> Any: ...
    def sqrt(self, x: Any) -> Any: ...
    def ceil(self, x: Any) -> Any: ...


class _Numbers:
    smaller = np.minimum
    larger = np.maximum
    sqrt = np.sqrt
    ceil = np.ceil


NUMBERS: Piecewise = _Numbers()


def symbols() -> Piecewise:
    """The same on CasADi symbols, for compiled kernels."""
    import casadi

    class _Symbols:
        smaller = staticmethod(casadi.fmin)
        larger = staticmethod(casadi.fmax)
        sqrt = staticmethod(casadi.sqrt)
        ceil = staticmethod(casadi.ceil)

    return _Symbols()
