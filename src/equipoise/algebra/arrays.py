"""Linear algebra on batches."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray


def times(matrix: Array, vector: Any) -> Array:
    """Matrix times vector; leading dimensions are batches."""
    return (matrix @ np.asarray(vector)[..., None])[..., 0]
