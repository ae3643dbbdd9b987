"""The class of dual quaternions, and the numbers that are made of coefficients alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import ShapeError, StateError
from .. import quaternions
from ..quaternions import NUMBERS
from .components import conjugate, multiply

Array = np.ndarray
UNIT_TOLERANCE = 1e-6  # how far from 1 the norm of a pose may be


@dataclass(frozen=True, eq=False, repr=False)
class DQ:
    """A dual quaternion, or a batch of them, with `*`, `+`, `-` among them and with real numbers (or arrays of the
    batch).

    Args:
        vec8: the coefficients [QO21, Def. A.18], (…, 8); read-only.
    """

    vec8: Array

    __array_ufunc__ = None  # NumPy leaves `array * x` to __rmul__

    def __post_init__(self) -> None:
        object.__setattr__(self, "vec8", real_array("DQ", self.vec8, 8))

    # arithmetic

    def __mul__(self, other: Any) -> DQ:
        if isinstance(other, DQ):
            return _of(multiply(self.components, other.components))
        return DQ(self.vec8 * np.asarray(other)[..., None])

    def __rmul__(self, number: Any) -> DQ:
        return self * number

    def __truediv__(self, number: Any) -> DQ:
        return DQ(self.vec8 / np.asarray(number)[..., None])

    def __add__(self, other: Any) -> DQ:
        return DQ(self.vec8 + _coerced(other).vec8)

    def __radd__(self, number: Any) -> DQ:
        return self + number

    def __sub__(self, other: Any) -> DQ:
        return DQ(self.vec8 - _coerced(other).vec8)

    def __rsub__(self, number: Any) -> DQ:
        return -self + number

    def __neg__(self) -> DQ:
        return DQ(-self.vec8)

    # parts

    @property
    def P(self) -> DQ:
        """Primary part [QO21, Def. A.15]."""
        return quaternion(self.vec8[..., :4])

    @property
    def D(self) -> DQ:
        """Dual part, as a quaternion: x = x.P + E * x.D."""
        return quaternion(self.vec8[..., 4:])

    @property
    def re(self) -> DQ:
        """Real part [QO21, Def. A.1]: a real number, or a dual one."""
        return DQ(self.vec8 * np.array([1, 0, 0, 0] * 2, self.vec8.dtype))

    @property
    def im(self) -> DQ:
        """Imaginary part [QO21, Def. A.1]."""
        return DQ(self.vec8 * np.array([0, 1, 1, 1] * 2, self.vec8.dtype))

    @property
    def vec4(self) -> Array:
        """Coefficients of a quaternion [QO21, Eq. (A.4)], (…, 4)."""
        return self.vec8[..., :4]

    @property
    def vec3(self) -> Array:
        """Coefficients of a pure quaternion [QO21, Eq. (5.4)], (…, 3)."""
        return self.vec8[..., 1:4]

    @property
    def vec6(self) -> Array:
        """Coefficients of a pure dual quaternion [QO21, Sec. 5.2.1], (…, 6): primary first, so a twist is (ω, v)
        here."""
        return self.vec8[..., [1, 2, 3, 5, 6, 7]]

    # what belongs to it

    @property
    def conj(self) -> DQ:
        """P* + ε D* [QO21, Eqs. (A.2), (A.16)]; of a pose, the inverse."""
        return _of(conjugate(self.components))

    @property
    def norm(self) -> DQ:
        """√(h* h) [QO21, Eq. (A.3), Def. A.17]: a dual number, |P| + ε ⟨P, D⟩ / |P|."""
        P, D = self._halves
        length = np.linalg.norm(P, axis=-1)
        return _dual_number(length, np.sum(P * D, axis=-1) / np.where(length == 0, 1, length))

    @property
    def inv(self) -> DQ:
        """h⁻¹ = h* / ‖h‖², for any h whose primary part is not zero."""
        square = (self.conj * self).vec8
        a, b = square[..., 0], square[..., 4]
        if np.any(a == 0):
            raise StateError("a dual quaternion with primary part 0 has no inverse")
        return _dual_number(1 / a, -b / (a * a)) * self.conj

    @property
    def normalised(self) -> DQ:
        """The unit dual quaternion h / ‖h‖: what rounding took from a pose is given back."""
        return self.norm.inv * self

    @property
    def translation(self) -> DQ:
        """Origin p of the pose r + ½ ε p r, a pure quaternion: p = 2 D P*."""
        require_unit(self)
        return (2 * self.D * self.P.conj).im

    @property
    def matrix(self) -> Array:
        """The pose as 4×4 matrices, (…, 4, 4)."""
        X = np.zeros((*self.shape, 4, 4), self.vec8.dtype)
        X[..., :3, :3] = quaternions.rotation(self.components[:4])
        X[..., :3, 3] = self.translation.vec3
        X[..., 3, 3] = 1
        return X

    # batches

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the batch: () for a single one."""
        return self.vec8.shape[:-1]

    def __getitem__(self, index: Any) -> DQ:
        index = index if isinstance(index, tuple) else (index,)
        return DQ(self.vec8[(*index, slice(None))])

    @property
    def components(self) -> tuple[Array, ...]:
        return tuple(np.moveaxis(self.vec8, -1, 0))

    def __repr__(self) -> str:
        if self.shape:
            return f"<DQ: batch of shape {self.shape}>"
        P, D = (
            " ".join(f"{x:+.6g}{unit}" for x, unit in zip(h, ("", "i", "j", "k"), strict=True)) for h in self._halves
        )
        return f"<DQ {P} + ε({D})>"

    @property
    def _halves(self) -> tuple[Array, Array]:
        return self.vec8[..., :4], self.vec8[..., 4:]


def _of(components: Sequence[Any]) -> DQ:
    return DQ(NUMBERS.vector(components))


def _dual_number(a: Array, b: Array) -> DQ:
    zero = np.zeros_like(a)
    return _of((a, zero, zero, zero, b, zero, zero, zero))


def _coerced(other: Any) -> DQ:
    """Real numbers among dual quaternions."""
    if isinstance(other, DQ):
        return other
    number = np.asarray(other)
    return _dual_number(number, np.zeros_like(number))


def real_array(name: str, values: Any, *sizes: int) -> Array:
    """A read-only array of reals whose last dimension is one of the sizes."""
    array = np.array(values)
    if array.dtype.kind not in "fiub":
        raise ShapeError(f"{name}: wanted real numbers, got {array.dtype}")
    if array.ndim == 0 or array.shape[-1] not in sizes:
        wanted = " or ".join(f"(…, {size})" for size in sizes)
        raise ShapeError(f"{name}: wanted shape {wanted}, got {array.shape}")
    array = array if array.dtype.kind == "f" else array.astype(float)
    array.flags.writeable = False
    return array


def require_unit(x: DQ) -> None:
    norm = x.norm.vec8
    off = np.abs(norm[..., 0] - 1), np.abs(norm[..., 4]) / (1 + np.linalg.norm(x.vec8[..., 4:], axis=-1))
    if any(np.any(error > UNIT_TOLERANCE) for error in off):
        raise StateError(
            f"only unit dual quaternions are poses; this one has a norm up to {np.max(off):.2g} from 1. "
            "x.normalised is the nearest pose; twists and wrenches have none."
        )


def quaternion(h: Any) -> DQ:
    """The quaternion with coefficients (w, x, y, z), (…, 4)."""
    h = real_array("quaternion", h, 4)
    return DQ(np.concatenate([h, np.zeros_like(h)], axis=-1))


def pure(v: Any) -> DQ:
    """The pure quaternion of a vector (…, 3), or the pure dual quaternion of (primary, dual) (…, 6)."""
    v = real_array("pure", v, 3, 6)
    vec8 = np.zeros((*v.shape[:-1], 8), v.dtype)
    vec8[..., 1:4] = v[..., :3]
    if v.shape[-1] == 6:
        vec8[..., 5:] = v[..., 3:]
    return DQ(vec8)


i: DQ
j: DQ
k: DQ
i, j, k = (quaternion(unit) for unit in np.eye(4)[1:])  # the imaginary units [QO21, Eq. (A.1)]
E = DQ(np.eye(8)[4])  # the dual unit ε [QO21, Eq. (A.15)]
