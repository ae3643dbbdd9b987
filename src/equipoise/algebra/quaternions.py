"""Quaternions (w, x, y, z) as tuples of components.

A component may be a float, an array (then the function works on a whole batch) or a symbol: `m` is the arithmetic to
use, `NUMBERS` below or `equations.symbols.SYMBOLS`. Each formula is thus written once for data and for machine code.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

SMALL_ANGLE_SQUARED = 1e-8  # below, the series to second order is exact to 1e-16


class Arithmetic(Protocol):
    """The few functions in which numbers and symbols differ."""

    def cos(self, x: Any) -> Any:
        """Cosine of an angle, rad."""
        ...

    def sin(self, x: Any) -> Any:
        """Sine of an angle, rad."""
        ...

    def sqrt(self, x: Any) -> Any:
        """Square root."""
        ...

    def atan2(self, y: Any, x: Any) -> Any:
        """Angle of the point (x, y), rad."""
        ...

    def where(self, condition: Any, yes: Any, no: Any) -> Any:
        """`yes` where the condition holds, else `no`."""
        ...

    def matrix(self, rows: Sequence[Sequence[Any]]) -> Any:
        """A matrix from its rows."""
        ...

    def vector(self, entries: Sequence[Any]) -> Any:
        """A vector from its entries."""
        ...


class _NumpyArithmetic:
    cos = staticmethod(np.cos)
    sin = staticmethod(np.sin)
    sqrt = staticmethod(np.sqrt)
    atan2 = staticmethod(np.arctan2)
    where = staticmethod(np.where)

    @classmethod
    def matrix(cls, rows: Sequence[Sequence[Any]]) -> np.ndarray:
        flat = cls.vector([entry for row in rows for entry in row])
        return flat.reshape(*flat.shape[:-1], len(rows), len(rows[0]))

    @staticmethod
    def vector(entries: Sequence[Any]) -> np.ndarray:
        return np.stack(np.broadcast_arrays(*entries), axis=-1)


NUMBERS: Arithmetic = _NumpyArithmetic()


def product(a: Sequence[Any], b: Sequence[Any]) -> tuple[Any, Any, Any, Any]:
    """Hamilton product a b."""
    aw, ax, ay, az = a
    bw, bx, by, bz = b
    return (
        aw * bw - ax * bx - ay * by - az * bz,
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
    )


def conjugate(a: Sequence[Any]) -> tuple[Any, Any, Any, Any]:
    """Inverse of a unit quaternion."""
    w, x, y, z = a
    return w, -x, -y, -z


def rotation(a: Sequence[Any], m: Arithmetic = NUMBERS) -> Any:
    """Rotation matrix of a quaternion; its length drops out, so rounding in the length does no harm."""
    w, x, y, z = a
    s = 2 / (w * w + x * x + y * y + z * z)
    return m.matrix(
        [
            [1 - s * (y * y + z * z), s * (x * y - w * z), s * (x * z + w * y)],
            [s * (x * y + w * z), 1 - s * (x * x + z * z), s * (y * z - w * x)],
            [s * (x * z - w * y), s * (y * z + w * x), 1 - s * (x * x + y * y)],
        ]
    )


def exp(w: Sequence[Any], m: Arithmetic = NUMBERS) -> tuple[Any, Any, Any, Any]:
    """Unit quaternion of the rotation vector w (angle |w| about w)."""
    x, y, z = w
    s = x * x + y * y + z * z
    small = s < SMALL_ANGLE_SQUARED
    angle = m.sqrt(m.where(small, 1.0, s))
    scale = m.where(small, 0.5 - s / 48, m.sin(angle / 2) / angle)
    return m.where(small, 1 - s / 8, m.cos(angle / 2)), scale * x, scale * y, scale * z


def log(a: Sequence[Any], m: Arithmetic = NUMBERS) -> tuple[Any, Any, Any]:
    """Rotation vector of a unit quaternion, of length at most π: the shorter way round."""
    w, x, y, z = a
    flip = m.where(w < 0, -1.0, 1.0)
    w, x, y, z = flip * w, flip * x, flip * y, flip * z
    s = x * x + y * y + z * z
    small = s < SMALL_ANGLE_SQUARED
    length = m.sqrt(m.where(small, 1.0, s))
    w_safe = m.where(small, w, 1.0)
    scale = m.where(small, 2 / w_safe * (1 - s / (3 * w_safe * w_safe)), 2 * m.atan2(length, w) / length)
    return scale * x, scale * y, scale * z


def normalised(a: Sequence[Any], m: Arithmetic = NUMBERS) -> tuple[Any, Any, Any, Any]:
    """The same rotation with unit length."""
    w, x, y, z = a
    s = 1 / m.sqrt(w * w + x * x + y * y + z * z)
    return s * w, s * x, s * y, s * z


def from_rotation(R: np.ndarray) -> np.ndarray:
    """Unit quaternion (…, 4) of rotation matrices (…, 3, 3), with w ≥ 0.

    The row of 4 q qᵀ with the largest diagonal entry is the quaternion times its largest component: no cancellation.
    """
    R = np.asarray(R, dtype=float)
    d = np.diagonal(R, axis1=-2, axis2=-1)
    trace = d.sum(axis=-1)
    outer = np.empty((*R.shape[:-2], 4, 4))
    outer[..., 0, 0] = 1 + trace
    for i, (j, k) in enumerate(((2, 1), (0, 2), (1, 0))):
        outer[..., i + 1, i + 1] = 1 + 2 * d[..., i] - trace
        outer[..., 0, i + 1] = outer[..., i + 1, 0] = R[..., j, k] - R[..., k, j]
        a, b = (i + 1) % 3, (i + 2) % 3
        outer[..., a + 1, b + 1] = outer[..., b + 1, a + 1] = R[..., a, b] + R[..., b, a]
    best = np.argmax(np.diagonal(outer, axis1=-2, axis2=-1), axis=-1)
    q = np.take_along_axis(outer, best[..., None, None], axis=-2)[..., 0, :]
    q = q / np.linalg.norm(q, axis=-1, keepdims=True)
    return np.where(q[..., :1] < 0, -q, q)
