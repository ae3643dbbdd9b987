"""Ellipses on the ground in which a centre of mass is safe [EB98, Eqs. (80)–(81)]."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..item import Parameters, TaskError

Array = np.ndarray


def ellipse_parameters(label: str) -> Parameters:
    """ρ and W as parameters `radius` and `shape`, from settings of the same names."""

    def numbers(radius: Any, shape: Any) -> tuple[float, Array]:
        rho, W = float(radius), np.asarray(shape, dtype=float)
        if not (rho > 0 and W.shape == (2, 2) and np.allclose(W, W.T) and np.linalg.eigvalsh(W).min() > 0):
            raise TaskError(
                f"{label}: an ellipse has radius > 0 and a shape (2, 2), symmetric and positive definite; "
                f"got {radius!r} and {shape!r}"
            )
        return rho, W

    return Parameters(("radius", "shape"), {"radius": (), "shape": (2, 2)}, numbers)
