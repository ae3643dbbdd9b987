"""Poses, twists and wrenches as dual quaternions: making them, their products and matrices, rates of poses."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from ...errors import ShapeError, unknown_name
from .. import quaternions
from .components import IMAGINARY, left_matrix, right_matrix
from .number import DQ, E, pure, quaternion, real_array

Array = np.ndarray
Axes = Literal["outer", "body"]  # of the frame that looks on, or of the one that moves


def rotation(axis: Any, angle: Any) -> DQ:
    """cos(φ/2) + n sin(φ/2): turn by φ = `angle` about the unit vector n = `axis` [QO21, Def. A.12]."""
    half = np.asarray(angle, dtype=float) / 2
    return np.cos(half) + np.sin(half) * pure(axis)


def translation(p: Any) -> DQ:
    """1 + ½ ε p: shift by the vector p (…, 3), without turning."""
    return 1 + 0.5 * E * pure(p)


def pose(r: DQ, p: Any) -> DQ:
    """r + ½ ε p r: the frame that stands at p (…, 3), turned by r."""
    return translation(p) * r


def from_matrix(X: Any) -> DQ:
    """The pose of 4×4 matrices (…, 4, 4); of the two that differ in sign, the one with w ≥ 0."""
    X = np.asarray(X, dtype=float)
    if X.shape[-2:] != (4, 4):
        raise ShapeError(f"from_matrix: wanted shape (…, 4, 4), got {X.shape}")
    return pose(quaternion(quaternions.from_rotation(X[..., :3, :3])), X[..., :3, 3])


def twist(V: Any) -> DQ:
    """ω + ε v of a twist V = (v, ω), (…, 6): Equipoise writes the linear part first [QO21, Eqs. (A.20), (A.24)].

    V in the "inertial" representation gives the twist in the axes of the world, V in "body" the one in those of the
    frame.
    """
    V = real_array("twist", V, 6)
    return pure(np.concatenate([V[..., 3:], V[..., :3]], axis=-1))


def twist_array(xi: DQ) -> Array:
    """V = (v, ω) of a twist ω + ε v, (…, 6)."""
    return np.concatenate([xi.D.vec3, xi.P.vec3], axis=-1)


def wrench(F: Any) -> DQ:
    """f + ε τ of a wrench F = (f, τ), (…, 6) [QO21, Eq. (5.18)]. Its power on a twist ξ is `dot(ζ, ξ).D`."""
    return pure(real_array("wrench", F, 6))


# --- products and matrices --------------------------------------------------------------------------------------------


def cross(a: DQ, b: DQ) -> DQ:
    """(ab − ba)/2 of pure (dual) quaternions [QO21, Eq. (A.8)]."""
    return (a * b - b * a) / 2


def dot(a: DQ, b: DQ) -> DQ:
    """−(ab + ba)/2 of pure (dual) quaternions: a real (dual) number [QO21, Eq. (A.9)]."""
    return -(a * b + b * a) / 2


def Ad(x: DQ, y: DQ) -> DQ:
    """x y x* [QO21, Eq. (A.11)]: y seen from where x is the pose of y's frame.

    Of a rotation and a vector, the rotated vector; of a pose and a twist or wrench, the twist or wrench in the outer
    frame, ξᵃ = Ad(x) ξᵇ and ζᵃ = Ad(x) ζᵇ. Rates of twists go the same way, ξ̇ᵃ = Ad(x) ξ̇ᵇ, though x moves [QO21, Eq.
    (A.25), where the dot over x is a misprint].
    """
    return x * y * x.conj


def adjoint(x: DQ) -> Array:
    """6×6 with vec6(Ad(x) y) = adjoint(x) vec6(y)."""
    return IMAGINARY @ hamiplus8(x) @ haminus8(x.conj) @ IMAGINARY.T


def hamiplus4(h: DQ) -> Array:
    """H⁺₄ with vec4(ab) = H⁺₄(a) vec4(b) [QO21, Eqs. (A.5), (A.6)], (…, 4, 4)."""
    return left_matrix(h.components[:4])


def haminus4(h: DQ) -> Array:
    """H⁻₄ with vec4(ab) = H⁻₄(b) vec4(a) [QO21, Eqs. (A.5), (A.6)], (…, 4, 4)."""
    return right_matrix(h.components[:4])


def hamiplus8(h: DQ) -> Array:
    """H⁺₈ with vec8(xy) = H⁺₈(x) vec8(y) [QO21, Eq. (A.17)], (…, 8, 8)."""
    return left_matrix(h.components)


def haminus8(h: DQ) -> Array:
    """H⁻₈ with vec8(xy) = H⁻₈(y) vec8(x) [QO21, Eq. (A.17)], (…, 8, 8)."""
    return right_matrix(h.components)


def cross_matrix4(a: DQ) -> Array:
    """S with vec4(a × b) = S(a) vec4(b) [QO21, Eq. (A.10)], (…, 4, 4)."""
    return (hamiplus4(a) - haminus4(a)) / 2


# --- rates ------------------------------------------------------------------------------------------------------------


def derivative(x: DQ, xi: DQ, axes: Axes = "outer") -> DQ:
    """ẋ = ½ ξᵃ x = ½ x ξᵇ [QO21, Eqs. (A.13), (A.19)], the twist in the axes of the outer frame a or of the moving
    b."""
    return 0.5 * (xi * x if _outer(axes) else x * xi)


def twist_of(x: DQ, x_dot: DQ, axes: Axes = "outer") -> DQ:
    """The twist of a pose that changes at rate ẋ: ξᵃ = 2 ẋ x*, ξᵇ = 2 x* ẋ [QO21, Eq. (A.19)]."""
    return 2 * (x_dot * x.conj if _outer(axes) else x.conj * x_dot)


def _outer(axes: str) -> bool:
    if axes not in ("outer", "body"):
        raise unknown_name("set of axes", axes, ("outer", "body"))
    return axes == "outer"
