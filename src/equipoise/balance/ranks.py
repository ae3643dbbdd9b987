"""Ranks of contact Jacobians, with a scale that says what is rounding."""

from __future__ import annotations

import numpy as np

Array = np.ndarray
RANK_TOLERANCE = 1e-8  # of the largest singular value


def range_and_kernel(J: Array, tolerance: float, scale: float = 0.0) -> tuple[Array, Array]:
    """Orthonormal bases of the range of Jᵀ and of the kernel of J, as columns; `scale` is that of what J is a part
    of."""
    _, s, V_T = np.linalg.svd(J)
    rank = int(np.sum(s > tolerance * max(s.max(initial=0.0), scale)))
    return V_T[:rank].T, V_T[rank:].T


def largest(J: Array) -> float:
    """Largest singular value: next to it, a part of J that ought to be zero is known to be rounding."""
    return float(np.linalg.norm(J, 2)) if J.size else 0.0
