"""The linear inverted pendulum and its capture point (divergent component of motion, DCM).

A centre of mass c at height h above its support, whose contact force passes through the centre of pressure p, obeys
c̈ = ω² (c − p) with ω = √(g / h). Its capture point ξ = c + ċ / ω obeys a first-order equation of its own:

    ξ̇ = ω (ξ − p),        ċ = ω (ξ − c)    [EOA15]

With p constant, ξ diverges from it as e^(ωt). All positions are horizontal, (2,) m.
"""

from __future__ import annotations

from math import exp

import numpy as np

Array = np.ndarray


def divergent(com: Array, velocity: Array, rate: float) -> Array:
    """Returns ξ = c + ċ / ω of a centre of mass (m) and its velocity (m/s), horizontal components only, (2,) m."""
    return com[:2] + velocity[:2] / rate


def after(xi: Array, pressure: Array, rate: float, seconds: float) -> Array:
    """Returns ξ after some seconds with the centre of pressure at rest: p + (ξ − p) e^(ωt) [EOA15]."""
    return pressure + (xi - pressure) * exp(rate * seconds)


def before(xi: Array, pressure: Array, rate: float, seconds: float) -> Array:
    """Returns ξ some seconds earlier, the inverse of `after`; plans run backwards from their end with it [EOA15]."""
    return pressure + (xi - pressure) * exp(-rate * seconds)


def after_shift(xi: Array, start: Array, end: Array, rate: float, seconds: float) -> Array:
    """Returns ξ after the centre of pressure moved from `start` to `end` at constant speed, as in a load transfer.

    With p(t) = p₀ + m t the solution of ξ̇ = ω (ξ − p) is p(t) + m/ω + (ξ₀ − p₀ − m/ω) e^(ωt).
    """
    if seconds <= 0.0:
        return xi
    lead = (end - start) / (seconds * rate)
    return end + lead + (xi - start - lead) * exp(rate * seconds)


def within(normals: Array, offsets: Array, middle: Array, point: Array) -> Array:
    """Returns the point, or the place where the line from `middle` to it leaves the polygon normals · x ≤ offsets."""
    room, along = offsets - normals @ middle, normals @ (point - middle)
    out = along > 1e-12
    part = float(np.min(room[out] / along[out], initial=1.0))
    return np.asarray(middle + max(part, 0.0) * (point - middle))
