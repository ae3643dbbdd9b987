"""Rigid bodies that move by themselves: where a twist, constant or changing linearly, has carried them after a time.

The reference point of a body has velocity v₀ + a t and the body turns with ω(t) = ω₀ + α t, all in world axes. The
point goes along p₀ + v₀ t + ½ a t². The rotation solves Ṙ = [ω]ₓ R. About one axis that is exp([ω₀ t + ½ α t²]ₓ); where
ω₀ and α are not parallel no such formula exists, and R is a product of exponentials of the Magnus series to sixth
order: always a rotation, whatever the step.
"""

from __future__ import annotations

import math

import numpy as np

from ..algebra import quaternions

Array = np.ndarray
STEP = 0.2  # rad that one exponential turns at most: the next term of the series is below 1e-10 there
MOST_STEPS = 1 << 16  # a body that has turned farther is a fan: its place is bounded in time rather than in accuracy


def displacement(velocity: Array, acceleration: Array, t: float) -> tuple[Array, Array, Array]:
    """What carries a body from time 0 to t: a point x of it goes to r + p + R (x − r), r its reference point at time 0.

    Args:
        velocity: twist at time 0, (6,): m/s of the reference point, rad/s; world axes.
        acceleration: time derivative of the twist, (6,), constant.
        t: s; may be negative.

    Returns:
        R (3, 3), p (3,) m, and the twist at time t, (6,).
    """
    shift = velocity[:3] * t + acceleration[:3] * (t * t / 2)
    return rotation_after(velocity[3:], acceleration[3:], t), shift, velocity + acceleration * t


def rotation_after(w: Array, alpha: Array, t: float) -> Array:
    """R(t), (3, 3), with Ṙ = [w + alpha t]ₓ R and R(0) = I; w in rad/s, alpha in rad/s², t in s."""
    bend = np.cross(w, alpha)
    if not np.any(np.abs(bend) > 1e-15 * (w @ w + alpha @ alpha)):  # one axis
        return quaternions.rotation(quaternions.exp(tuple(w * t + alpha * (t * t / 2))))
    fastest = max(float(np.linalg.norm(w)), float(np.linalg.norm(w + alpha * t)))
    steps = math.ceil(min(max(1.0, abs(t) * fastest / STEP), MOST_STEPS))
    h = t / steps
    middle = w + alpha * (h * (np.arange(steps) + 0.5))[:, None]
    return quaternions.rotation(_chained(quaternions.exp(tuple(_magnus(middle, alpha, h).T))))


def _magnus(w: Array, alpha: Array, h: float) -> Array:
    """Rotation vectors over steps of h with the rates w, (n, 3), in their middle: the Magnus series to sixth order.

    With α₁ = h w and α₂ = h² alpha it is α₁ + 1/240 (−20 α₁ + C₁) × (α₂ + C₂), C₁ = α₁ × α₂ and C₂ = −1/60 α₁ × C₁, the
    scheme of Blanes, Casas and Ros for a rate that is linear in time.
    """
    first, second = h * w, np.broadcast_to(h * h * alpha, w.shape)
    C_1 = np.cross(first, second)
    C_2 = -np.cross(first, C_1) / 60
    return first + np.cross(C_1 - 20 * first, second + C_2) / 240


def _chained(turns: tuple[Array, ...]) -> tuple[Array, ...]:
    """The product … q₂ q₁ q₀ of n quaternions, given as four arrays (n,), in log₂ n passes."""
    while len(turns[0]) > 1:
        odd = tuple(x[-1:] for x in turns) if len(turns[0]) % 2 else None
        even = len(turns[0]) // 2 * 2
        turns = quaternions.product([x[1:even:2] for x in turns], [x[0:even:2] for x in turns])
        if odd is not None:
            turns = tuple(np.append(x, last) for x, last in zip(turns, odd, strict=True))
    return tuple(x[0] for x in turns)
