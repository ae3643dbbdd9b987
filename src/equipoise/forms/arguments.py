"""Arguments of a robot's methods as kernels take them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..errors import ShapeError

Array = np.ndarray


def seconds(q: Array, v: Array, dt: float | Array) -> Array:
    """dt as a kernel takes it: one number for each state, float32 among float32."""
    if np.ndim(dt) > 0:
        return np.asarray(dt)[..., None]
    single = getattr(q, "dtype", None) == np.float32 and getattr(v, "dtype", None) == np.float32
    return np.array([dt], dtype=np.float32 if single else np.float64)


def six_each(wrenches: Mapping[str, Array]) -> list[Array]:
    """Wrenches on frames, (…, 6) each, as kernels take them."""
    for frame, wrench in wrenches.items():
        if np.shape(wrench)[-1:] != (6,):
            raise ShapeError(
                f"the wrench on {frame!r} must have shape (…, 6): force, then torque; got {np.shape(wrench)}"
            )
    return list(wrenches.values())
