"""Pseudo-inverses and null spaces, in one place, with every tolerance and damping named. Leading dimensions are
batches."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray
RANK_TOLERANCE = 1e-9  # singular values below this part of the largest count as zero


def pseudo_inverse(A: Array, damping: float = 0.0, *, scale: Any = 0.0, tolerance: float = RANK_TOLERANCE) -> Array:
    """A⁺ = Aᵀ (A Aᵀ + λ² 1)⁻¹, (…, n, m): of all x that bring A x nearest to b, A⁺ b is the shortest.

    Without damping it is the inverse of Moore and Penrose. With damping λ it minimises ‖A x − b‖² + λ² ‖x‖²: singular
    values well above λ are inverted as they are, those below are damped, and nothing is larger than 1/(2λ).

    Args:
        A: (…, m, n).
        damping: λ, in the unit of A's singular values.
        scale: rank is judged against the largest singular value or this, if it is larger: that of what A was projected
            from.
        tolerance: singular values below this part of it count as zero; of no effect with damping.
    """
    U, s, V_T = np.linalg.svd(A, full_matrices=False)
    kept = _counted(s, scale, tolerance) | (damping > 0)
    inverse = np.where(kept, s, 0.0) / np.where(kept & (s > 0), s**2 + damping**2, 1.0)
    return (_transposed(V_T) * inverse[..., None, :]) @ _transposed(U)


def null_space_projector(A: Array, *, scale: Any = 0.0, tolerance: float = RANK_TOLERANCE) -> Array:
    """1 − A⁺A, (…, n, n): the orthogonal projector onto what A does not see.

    It is never damped: what is projected disturbs A x by rounding only, however A⁺ was damped. Arguments as of
    `pseudo_inverse`.
    """
    _, s, V_T = np.linalg.svd(A, full_matrices=False)
    seen = V_T * _counted(s, scale, tolerance)[..., None]
    return np.eye(A.shape[-1]) - _transposed(seen) @ seen


def largest_singular_value(A: Array) -> Any:
    """‖A‖₂, (…); 0 of a matrix without rows."""
    return np.linalg.norm(A, 2, axis=(-2, -1)) if 0 not in A.shape[-2:] else np.zeros(A.shape[:-2])[()]


def _counted(s: Array, scale: Any, tolerance: float) -> Array:
    largest = np.maximum(s.max(axis=-1, keepdims=True, initial=0.0), np.asarray(scale)[..., None])
    return s > tolerance * largest


def _transposed(A: Array) -> Array:
    return np.swapaxes(A, -1, -2)
