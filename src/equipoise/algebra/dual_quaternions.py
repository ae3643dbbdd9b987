"""Dual quaternions, as in [QO21, App. A]: one number for a rotation, a pose, a twist or a wrench.

    h = P + ε D,   ε² = 0,   P and D quaternions (w, x, y, z)

Quaternions are the dual quaternions with D = 0, so formulas read as they are printed: `r + 0.5 * E * p * r` is the pose
with rotation r and origin p. A `DualQuaternion` may hold a whole batch: its numbers are an array (…, 8), primary part
first.

The functions under "components" work on eight floats, arrays or symbols alike; the class and `equations` share them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import factorial
from typing import Any, Literal

import numpy as np

from ..errors import ShapeError, StateError, unknown_name
from . import quaternions
from .quaternions import NUMBERS, Arithmetic

Array = np.ndarray
UNIT_TOLERANCE = 1e-6  # how far from 1 the norm of a pose may be

C4 = np.diag([1.0, -1.0, -1.0, -1.0])  # vec4(h*) = C4 vec4(h) [QO21, Eq. (A.7)]
C8 = np.diag([1.0, -1.0, -1.0, -1.0] * 2)  # vec8(h*) = C8 vec8(h) [QO21, Eq. (A.18)]
IMAGINARY = np.delete(np.eye(8), (0, 4), axis=0)  # Ī with vec6 = Ī vec8 [QO21, Sec. 5.2.1]


# --- components ------------------------------------------------------------------------------------------------------


def multiply(a: Sequence[Any], b: Sequence[Any]) -> tuple[Any, ...]:
    """Product of two dual quaternions of eight components: (P + εD)(P' + εD') = PP' + ε(PD' + DP')."""
    primary, left, right = (quaternions.product(*pair) for pair in ((a[:4], b[:4]), (a[:4], b[4:]), (a[4:], b[:4])))
    return *primary, *(x + y for x, y in zip(left, right, strict=True))


def conjugate(a: Sequence[Any]) -> tuple[Any, ...]:
    """P* + ε D* [QO21, Eq. (A.16)]."""
    return *quaternions.conjugate(a[:4]), *quaternions.conjugate(a[4:])


def left_matrix(a: Sequence[Any], m: Arithmetic = NUMBERS) -> Any:
    """Hamilton operator H⁺ with vec(ab) = H⁺(a) vec(b) [QO21, Eqs. (A.5), (A.17)]: 4×4 for quaternions, else 8×8."""
    return m.matrix(
        _of_both_parts(a, lambda w, x, y, z: [[w, -x, -y, -z], [x, w, -z, y], [y, z, w, -x], [z, -y, x, w]])
    )


def right_matrix(b: Sequence[Any], m: Arithmetic = NUMBERS) -> Any:
    """Hamilton operator H⁻ with vec(ab) = H⁻(b) vec(a) [QO21, Eqs. (A.5), (A.17)]."""
    return m.matrix(
        _of_both_parts(b, lambda w, x, y, z: [[w, -x, -y, -z], [x, w, z, -y], [y, -z, w, x], [z, y, -x, w]])
    )


def _of_both_parts(a: Sequence[Any], rows_of: Callable[..., list[list[Any]]]) -> list[list[Any]]:
    """Rows of a Hamilton operator: those of a quaternion, or [[P, 0], [D, P]]."""
    primary = rows_of(*a[:4])
    if len(a) == 4:
        return primary
    dual = rows_of(*a[4:])
    return [*(row + [0.0] * 4 for row in primary), *(d + p for d, p in zip(dual, primary, strict=True))]


# --- the class -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class DualQuaternion:
    """A dual quaternion, or a batch of them, with `*`, `+`, `-` among them and with real numbers (or arrays of the
    batch).

    Args:
        vec8: the coefficients [QO21, Def. A.18], (…, 8); read-only.
    """

    vec8: Array

    __array_ufunc__ = None  # NumPy leaves `array * x` to __rmul__

    def __post_init__(self) -> None:
        object.__setattr__(self, "vec8", _numbers("DualQuaternion", self.vec8, 8))

    # arithmetic

    def __mul__(self, other: Any) -> DualQuaternion:
        if isinstance(other, DualQuaternion):
            return _of(multiply(self._components, other._components))
        return DualQuaternion(self.vec8 * np.asarray(other)[..., None])

    def __rmul__(self, number: Any) -> DualQuaternion:
        return self * number

    def __truediv__(self, number: Any) -> DualQuaternion:
        return DualQuaternion(self.vec8 / np.asarray(number)[..., None])

    def __add__(self, other: Any) -> DualQuaternion:
        return DualQuaternion(self.vec8 + _coerced(other).vec8)

    def __radd__(self, number: Any) -> DualQuaternion:
        return self + number

    def __sub__(self, other: Any) -> DualQuaternion:
        return DualQuaternion(self.vec8 - _coerced(other).vec8)

    def __rsub__(self, number: Any) -> DualQuaternion:
        return -self + number

    def __neg__(self) -> DualQuaternion:
        return DualQuaternion(-self.vec8)

    # parts

    @property
    def P(self) -> DualQuaternion:
        """Primary part [QO21, Def. A.15]."""
        return quaternion(self.vec8[..., :4])

    @property
    def D(self) -> DualQuaternion:
        """Dual part, as a quaternion: x = x.P + E * x.D."""
        return quaternion(self.vec8[..., 4:])

    @property
    def re(self) -> DualQuaternion:
        """Real part [QO21, Def. A.1]: a real number, or a dual one."""
        return DualQuaternion(self.vec8 * np.array([1, 0, 0, 0] * 2, self.vec8.dtype))

    @property
    def im(self) -> DualQuaternion:
        """Imaginary part [QO21, Def. A.1]."""
        return DualQuaternion(self.vec8 * np.array([0, 1, 1, 1] * 2, self.vec8.dtype))

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
    def conj(self) -> DualQuaternion:
        """P* + ε D* [QO21, Eqs. (A.2), (A.16)]; of a pose, the inverse."""
        return _of(conjugate(self._components))

    @property
    def norm(self) -> DualQuaternion:
        """√(h* h) [QO21, Eq. (A.3), Def. A.17]: a dual number, |P| + ε ⟨P, D⟩ / |P|."""
        P, D = self._halves
        length = np.linalg.norm(P, axis=-1)
        return _dual_number(length, np.sum(P * D, axis=-1) / np.where(length == 0, 1, length))

    @property
    def inv(self) -> DualQuaternion:
        """h⁻¹ = h* / ‖h‖², for any h whose primary part is not zero."""
        square = (self.conj * self).vec8
        a, b = square[..., 0], square[..., 4]
        if np.any(a == 0):
            raise StateError("a dual quaternion with primary part 0 has no inverse")
        return _dual_number(1 / a, -b / (a * a)) * self.conj

    @property
    def normalised(self) -> DualQuaternion:
        """The unit dual quaternion h / ‖h‖: what rounding took from a pose is given back."""
        return self.norm.inv * self

    @property
    def translation(self) -> DualQuaternion:
        """Origin p of the pose r + ½ ε p r, a pure quaternion: p = 2 D P*."""
        _require_unit(self)
        return (2 * self.D * self.P.conj).im

    @property
    def matrix(self) -> Array:
        """The pose as 4×4 matrices, (…, 4, 4)."""
        X = np.zeros((*self.shape, 4, 4), self.vec8.dtype)
        X[..., :3, :3] = quaternions.rotation(self._components[:4])
        X[..., :3, 3] = self.translation.vec3
        X[..., 3, 3] = 1
        return X

    # batches

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the batch: () for a single one."""
        return self.vec8.shape[:-1]

    def __getitem__(self, index: Any) -> DualQuaternion:
        index = index if isinstance(index, tuple) else (index,)
        return DualQuaternion(self.vec8[(*index, slice(None))])

    @property
    def _components(self) -> tuple[Array, ...]:
        return tuple(np.moveaxis(self.vec8, -1, 0))

    def __repr__(self) -> str:
        if self.shape:
            return f"<DualQuaternion: batch of shape {self.shape}>"
        P, D = (
            " ".join(f"{x:+.6g}{unit}" for x, unit in zip(h, ("", "i", "j", "k"), strict=True)) for h in self._halves
        )
        return f"<DualQuaternion {P} + ε({D})>"

    @property
    def _halves(self) -> tuple[Array, Array]:
        return self.vec8[..., :4], self.vec8[..., 4:]


def _of(components: Sequence[Any]) -> DualQuaternion:
    return DualQuaternion(NUMBERS.vector(components))


def _dual_number(a: Array, b: Array) -> DualQuaternion:
    zero = np.zeros_like(a)
    return _of((a, zero, zero, zero, b, zero, zero, zero))


def _coerced(other: Any) -> DualQuaternion:
    """Real numbers among dual quaternions."""
    if isinstance(other, DualQuaternion):
        return other
    number = np.asarray(other)
    return _dual_number(number, np.zeros_like(number))


def _numbers(name: str, values: Any, *sizes: int) -> Array:
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


def _require_unit(x: DualQuaternion) -> None:
    norm = x.norm.vec8
    off = np.abs(norm[..., 0] - 1), np.abs(norm[..., 4]) / (1 + np.linalg.norm(x.vec8[..., 4:], axis=-1))
    if any(np.any(error > UNIT_TOLERANCE) for error in off):
        raise StateError(
            f"only unit dual quaternions are poses; this one has a norm up to {np.max(off):.2g} from 1. "
            "x.normalised is the nearest pose; twists and wrenches have none."
        )


# --- making them -----------------------------------------------------------------------------------------------------


def quaternion(h: Any) -> DualQuaternion:
    """The quaternion with coefficients (w, x, y, z), (…, 4)."""
    h = _numbers("quaternion", h, 4)
    return DualQuaternion(np.concatenate([h, np.zeros_like(h)], axis=-1))


def pure(v: Any) -> DualQuaternion:
    """The pure quaternion of a vector (…, 3), or the pure dual quaternion of (primary, dual) (…, 6)."""
    v = _numbers("pure", v, 3, 6)
    vec8 = np.zeros((*v.shape[:-1], 8), v.dtype)
    vec8[..., 1:4] = v[..., :3]
    if v.shape[-1] == 6:
        vec8[..., 5:] = v[..., 3:]
    return DualQuaternion(vec8)


i: DualQuaternion
j: DualQuaternion
k: DualQuaternion
i, j, k = (quaternion(unit) for unit in np.eye(4)[1:])  # the imaginary units [QO21, Eq. (A.1)]
E = DualQuaternion(np.eye(8)[4])  # the dual unit ε [QO21, Eq. (A.15)]


def rotation(axis: Any, angle: Any) -> DualQuaternion:
    """cos(φ/2) + n sin(φ/2): turn by φ = `angle` about the unit vector n = `axis` [QO21, Def. A.12]."""
    half = np.asarray(angle, dtype=float) / 2
    return np.cos(half) + np.sin(half) * pure(axis)


def translation(p: Any) -> DualQuaternion:
    """1 + ½ ε p: shift by the vector p (…, 3), without turning."""
    return 1 + 0.5 * E * pure(p)


def pose(r: DualQuaternion, p: Any) -> DualQuaternion:
    """r + ½ ε p r: the frame that stands at p (…, 3), turned by r."""
    return translation(p) * r


def from_matrix(X: Any) -> DualQuaternion:
    """The pose of 4×4 matrices (…, 4, 4); of the two that differ in sign, the one with w ≥ 0."""
    X = np.asarray(X, dtype=float)
    if X.shape[-2:] != (4, 4):
        raise ShapeError(f"from_matrix: wanted shape (…, 4, 4), got {X.shape}")
    return pose(quaternion(quaternions.from_rotation(X[..., :3, :3])), X[..., :3, 3])


def twist(V: Any) -> DualQuaternion:
    """ω + ε v of a twist V = (v, ω), (…, 6): Equipoise writes the linear part first [QO21, Eqs. (A.20), (A.24)].

    V in the "inertial" representation gives the twist in the axes of the world, V in "body" the one in those of the
    frame.
    """
    V = _numbers("twist", V, 6)
    return pure(np.concatenate([V[..., 3:], V[..., :3]], axis=-1))


def twist_array(xi: DualQuaternion) -> Array:
    """V = (v, ω) of a twist ω + ε v, (…, 6)."""
    return np.concatenate([xi.D.vec3, xi.P.vec3], axis=-1)


def wrench(F: Any) -> DualQuaternion:
    """f + ε τ of a wrench F = (f, τ), (…, 6) [QO21, Eq. (5.18)]. Its power on a twist ξ is `dot(ζ, ξ).D`."""
    return pure(_numbers("wrench", F, 6))


# --- products and matrices -------------------------------------------------------------------------------------------


def cross(a: DualQuaternion, b: DualQuaternion) -> DualQuaternion:
    """(ab − ba)/2 of pure (dual) quaternions [QO21, Eq. (A.8)]."""
    return (a * b - b * a) / 2


def dot(a: DualQuaternion, b: DualQuaternion) -> DualQuaternion:
    """−(ab + ba)/2 of pure (dual) quaternions: a real (dual) number [QO21, Eq. (A.9)]."""
    return -(a * b + b * a) / 2


def Ad(x: DualQuaternion, y: DualQuaternion) -> DualQuaternion:
    """x y x* [QO21, Eq. (A.11)]: y seen from where x is the pose of y's frame.

    Of a rotation and a vector, the rotated vector; of a pose and a twist or wrench, the twist or wrench in the outer
    frame, ξᵃ = Ad(x) ξᵇ and ζᵃ = Ad(x) ζᵇ. Rates of twists go the same way, ξ̇ᵃ = Ad(x) ξ̇ᵇ, though x moves [QO21, Eq.
    (A.25), where the dot over x is a misprint].
    """
    return x * y * x.conj


def adjoint(x: DualQuaternion) -> Array:
    """6×6 with vec6(Ad(x) y) = adjoint(x) vec6(y)."""
    return IMAGINARY @ hamiplus8(x) @ haminus8(x.conj) @ IMAGINARY.T


def hamiplus4(h: DualQuaternion) -> Array:
    """H⁺₄ with vec4(ab) = H⁺₄(a) vec4(b) [QO21, Eqs. (A.5), (A.6)], (…, 4, 4)."""
    return left_matrix(h._components[:4])


def haminus4(h: DualQuaternion) -> Array:
    """H⁻₄ with vec4(ab) = H⁻₄(b) vec4(a) [QO21, Eqs. (A.5), (A.6)], (…, 4, 4)."""
    return right_matrix(h._components[:4])


def hamiplus8(h: DualQuaternion) -> Array:
    """H⁺₈ with vec8(xy) = H⁺₈(x) vec8(y) [QO21, Eq. (A.17)], (…, 8, 8)."""
    return left_matrix(h._components)


def haminus8(h: DualQuaternion) -> Array:
    """H⁻₈ with vec8(xy) = H⁻₈(y) vec8(x) [QO21, Eq. (A.17)], (…, 8, 8)."""
    return right_matrix(h._components)


def cross_matrix4(a: DualQuaternion) -> Array:
    """S with vec4(a × b) = S(a) vec4(b) [QO21, Eq. (A.10)], (…, 4, 4)."""
    return (hamiplus4(a) - haminus4(a)) / 2


# --- motion ----------------------------------------------------------------------------------------------------------

Axes = Literal["outer", "body"]  # of the frame that looks on, or of the one that moves


def derivative(x: DualQuaternion, xi: DualQuaternion, axes: Axes = "outer") -> DualQuaternion:
    """ẋ = ½ ξᵃ x = ½ x ξᵇ [QO21, Eqs. (A.13), (A.19)], the twist in the axes of the outer frame a or of the moving
    b."""
    return 0.5 * (xi * x if _outer(axes) else x * xi)


def twist_of(x: DualQuaternion, x_dot: DualQuaternion, axes: Axes = "outer") -> DualQuaternion:
    """The twist of a pose that changes at rate ẋ: ξᵃ = 2 ẋ x*, ξᵇ = 2 x* ẋ [QO21, Eq. (A.19)]."""
    return 2 * (x_dot * x.conj if _outer(axes) else x.conj * x_dot)


def _outer(axes: str) -> bool:
    if axes not in ("outer", "body"):
        raise unknown_name("set of axes", axes, ("outer", "body"))
    return axes == "outer"


# --- exponential and logarithm ---------------------------------------------------------------------------------------


def exp(g: DualQuaternion) -> DualQuaternion:
    """The pose whose `log` is the pure g [QO21, Def. A.22]: turn by 2 P(g), origin at 2 D(g), each by itself."""
    r = _turn(g)
    return r + E * g.D * r


def log(x: DualQuaternion) -> DualQuaternion:
    """½ φ n + ½ ε p of a pose [QO21, Def. A.21], the shorter way round: |φ| ≤ π.

    exp(log(x)) is x where Re P(x) ≥ 0, else −x, which is the same pose.
    """
    return _half_turn(x) + 0.5 * E * x.translation


def power(x: DualQuaternion, exponent: Any) -> DualQuaternion:
    """exp(λ log x) [QO21, Def. A.23]: λ of the turn, λ of the way, in a straight line.

    It leads from 1 to x, but it is no power in the sense of products: x^½ x^½ is not x where x turns and moves. That is
    `screw_power`.
    """
    return exp(log(x) * exponent)


def screw_exp(g: DualQuaternion) -> DualQuaternion:
    """Σ gⁿ/n! of a pure g: after unit time at constant twist 2g. The exponential of the group of poses.

    With θ = |a| + ε ⟨a, b⟩/|a| the length of g = a + ε b, it is cos θ + g sin θ / θ.
    """
    a, b = g.P.vec3, g.D.vec3
    along = np.sum(a * b, axis=-1, keepdims=True)
    sinc, slope = _sinc(np.sum(a * a, axis=-1, keepdims=True))
    dual = np.concatenate([-sinc * along, sinc * b + slope * along * a], axis=-1)
    return _turn(g) + E * quaternion(dual)


def screw_log(x: DualQuaternion) -> DualQuaternion:
    """The pure g with screw_exp(g) = ±x, the shorter way round: the constant twist 2g leads from 1 to x in unit
    time."""
    half = _half_turn(x)
    a, D = half.vec3, np.where(x.vec8[..., :1] < 0, -x.D.vec4, x.D.vec4)
    sinc, slope = _sinc(np.sum(a * a, axis=-1, keepdims=True))  # sinc ≥ 2/π, since |a| ≤ π/2
    along = -D[..., :1] / sinc
    return half + E * pure((D[..., 1:] - slope * along * a) / sinc)


def screw_power(x: DualQuaternion, exponent: Any) -> DualQuaternion:
    """The pose after a part λ of the screw motion that leads from 1 to x: xᵃ xᵇ = xᵃ⁺ᵇ."""
    return screw_exp(screw_log(x) * exponent)


def _turn(g: DualQuaternion) -> DualQuaternion:
    """Rotation by 2 P(g)."""
    return quaternion(NUMBERS.vector(quaternions.exp(tuple(np.moveaxis(2 * g.vec3, -1, 0)))))


def _half_turn(x: DualQuaternion) -> DualQuaternion:
    """½ φ n, with |φ| ≤ π."""
    _require_unit(x)
    return 0.5 * pure(NUMBERS.vector(quaternions.log(x._components[:4])))


def _sinc(s: Array) -> tuple[Array, Array]:
    """sin θ/θ, and its slope (cos θ − sin θ/θ)/θ², at s = θ². Series where the differences would lose digits."""
    small = s < 0.25
    theta = np.sqrt(np.where(small, 1, s))
    sinc, terms = np.sin(theta) / theta, range(9)
    series = np.polynomial.polynomial.polyval(s, [(-1) ** n / factorial(2 * n + 1) for n in terms])
    slopes = np.polynomial.polynomial.polyval(s, [(-1) ** (n + 1) * (2 * n + 2) / factorial(2 * n + 3) for n in terms])
    return np.where(small, series, sinc), np.where(small, slopes, (np.cos(theta) - sinc) / (theta * theta))
