"""The linear inverted pendulum by its divergent component of motion.

A centre of mass c at height h above its support, whose force goes through the centre of pressure p, obeys c̈ = ω² (c −
p) with ω = √(g / h). Its divergent component ξ = c + ċ / ω, the capture point, does so alone:

    ξ̇ = ω (ξ − p),        ċ = ω (ξ − c)    [EOA15]

While p stays where it is, ξ leaves it as e^(ωt). All places are level, (2,) m.
"""

from __future__ import annotations

from math import exp

import numpy as np

Array = np.ndarray


def divergent(com: Array, velocity: Array, rate: float) -> Array:
    """ξ = c + ċ / ω of a centre of mass (m) and its velocity (m/s), level parts only, (2,) m."""
    return com[:2] + velocity[:2] / rate


def after(xi: Array, pressure: Array, rate: float, seconds: float) -> Array:
    """ξ after some time with the centre of pressure at rest: p + (ξ − p) e^(ωt) [EOA15]."""
    return pressure + (xi - pressure) * exp(rate * seconds)


def before(xi: Array, pressure: Array, rate: float, seconds: float) -> Array:
    """ξ so much earlier: the inverse of `after`, by which plans run backwards from their end [EOA15]."""
    return pressure + (xi - pressure) * exp(-rate * seconds)


def after_shift(xi: Array, start: Array, end: Array, rate: float, seconds: float) -> Array:
    """ξ after the centre of pressure went from one place to another at constant speed: the weight goes from foot to
    foot.

    With p(t) = p₀ + m t the solution of ξ̇ = ω (ξ − p) is p(t) + m/ω + (ξ₀ − p₀ − m/ω) e^(ωt).
    """
    if seconds <= 0.0:
        return xi
    lead = (end - start) / (seconds * rate)
    return end + lead + (xi - start - lead) * exp(rate * seconds)


def within(normals: Array, offsets: Array, middle: Array, point: Array) -> Array:
    """The point, or where the line from the middle to it leaves the polygon normals · x ≤ offsets."""
    room, along = offsets - normals @ middle, normals @ (point - middle)
    out = along > 1e-12
    part = float(np.min(room[out] / along[out], initial=1.0))
    return np.asarray(middle + max(part, 0.0) * (point - middle))
