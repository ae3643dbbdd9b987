"""Exponential, logarithm and powers: of turn and way each by itself, as the thesis has them, and of screws."""

from __future__ import annotations

from math import factorial
from typing import Any

import numpy as np

from .. import quaternions
from ..quaternions import NUMBERS
from .number import DQ, E, pure, quaternion, require_unit

Array = np.ndarray


def exp(g: DQ) -> DQ:
    """The pose whose `log` is the pure g [QO21, Def. A.22]: turn by 2 P(g), origin at 2 D(g), each by itself."""
    r = _turn(g)
    return r + E * g.D * r


def log(x: DQ) -> DQ:
    """½ φ n + ½ ε p of a pose [QO21, Def. A.21], the shorter way round: |φ| ≤ π.

    exp(log(x)) is x where Re P(x) ≥ 0, else −x, which is the same pose.
    """
    return _half_turn(x) + 0.5 * E * x.translation


def power(x: DQ, exponent: Any) -> DQ:
    """exp(λ log x) [QO21, Def. A.23]: λ of the turn, λ of the way, in a straight line.

    It leads from 1 to x, but it is no power in the sense of products: x^½ x^½ is not x where x turns and moves. That is
    `screw_power`.
    """
    return exp(log(x) * exponent)


def screw_exp(g: DQ) -> DQ:
    """Σ gⁿ/n! of a pure g: after unit time at constant twist 2g. The exponential of the group of poses.

    With θ = |a| + ε ⟨a, b⟩/|a| the length of g = a + ε b, it is cos θ + g sin θ / θ.
    """
    a, b = g.P.vec3, g.D.vec3
    along = np.sum(a * b, axis=-1, keepdims=True)
    sinc, slope = _sinc(np.sum(a * a, axis=-1, keepdims=True))
    dual = np.concatenate([-sinc * along, sinc * b + slope * along * a], axis=-1)
    return _turn(g) + E * quaternion(dual)


def screw_log(x: DQ) -> DQ:
    """The pure g with screw_exp(g) = ±x, the shorter way round: the constant twist 2g leads from 1 to x in unit
    time."""
    half = _half_turn(x)
    a, D = half.vec3, np.where(x.vec8[..., :1] < 0, -x.D.vec4, x.D.vec4)
    sinc, slope = _sinc(np.sum(a * a, axis=-1, keepdims=True))  # sinc ≥ 2/π, since |a| ≤ π/2
    along = -D[..., :1] / sinc
    return half + E * pure((D[..., 1:] - slope * along * a) / sinc)


def screw_power(x: DQ, exponent: Any) -> DQ:
    """The pose after a part λ of the screw motion that leads from 1 to x: xᵃ xᵇ = xᵃ⁺ᵇ."""
    return screw_exp(screw_log(x) * exponent)


def _turn(g: DQ) -> DQ:
    """Rotation by 2 P(g)."""
    return quaternion(NUMBERS.vector(quaternions.exp(tuple(np.moveaxis(2 * g.vec3, -1, 0)))))


def _half_turn(x: DQ) -> DQ:
    """½ φ n, with |φ| ≤ π."""
    require_unit(x)
    return 0.5 * pure(NUMBERS.vector(quaternions.log(x.components[:4])))


def _sinc(s: Array) -> tuple[Array, Array]:
    """sin θ/θ, and its slope (cos θ − sin θ/θ)/θ², at s = θ². Series where the differences would lose digits."""
    small = s < 0.25
    theta = np.sqrt(np.where(small, 1, s))
    sinc, terms = np.sin(theta) / theta, range(9)
    series = np.polynomial.polynomial.polyval(s, [(-1) ** n / factorial(2 * n + 1) for n in terms])
    slopes = np.polynomial.polynomial.polyval(s, [(-1) ** (n + 1) * (2 * n + 2) / factorial(2 * n + 3) for n in terms])
    return np.where(small, series, sinc), np.where(small, slopes, (np.cos(theta) - sinc) / (theta * theta))
