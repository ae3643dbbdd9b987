"""Cones and joint limits from the angle between two lines, without singularity [QO21, Sec. 4.2–4.3].

Instead of the angle φ, which has no derivative at 0 and π, f = 2 − 2 cos φ is kept below f(φ_safe). f grows with φ on
[0, π], so the cone is the same. [QO21, Lemma 4.2] says no more than that: its slope 2 sin φ is zero at both ends. At 0,
in the middle of the cone, that is harmless. At π, straight opposite, no velocity changes f to first order, and the rows
below cannot be met.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...algebra import rigid
from ...errors import ModelError, ShapeError, unknown_name
from ...geometry.distances import Distance, DistanceValues, angle
from ...geometry.primitives import Line
from ..qp import Rows
from ..safety.vfi import Clearance, GainError, Gains, continuous_bound, first_order_bound

if TYPE_CHECKING:
    from ...robot import Robot

Array = np.ndarray


class SafeAngle(NamedTuple):
    """φ_safe in (0, π] with its two derivatives: a cone may open and close."""

    angle: float
    rate: float = 0.0
    acceleration: float = 0.0

    @property
    def chord(self) -> tuple[float, float, float]:
        """f(φ_safe), and its two time derivatives."""
        cos, sin = np.cos(self.angle), np.sin(self.angle)
        return 2 - 2 * cos, 2 * sin * self.rate, 2 * cos * self.rate**2 + 2 * sin * self.acceleration


def cone_velocity_rows(now: DistanceValues, safe: SafeAngle, eta: float, name: str = "cone") -> Rows:
    """J v ≤ −(η f̃ + ζ_safe) with f̃ = f − f(φ_safe): f̃' ≤ −η f̃ [QO21, Eq. (4.31), (4.33)]; (4.31) lacks a dot.

    From inside, f̃(t) ≤ f̃(0) exp(−η t) < 0: the cone is never left. From outside it is entered like exp(−η t).

    Args:
        now: of `angle(a, b)` at the state, one angle.
        eta: 1/s, > 0: how fast the border may be approached.
    """
    if not (np.isfinite(eta) and eta > 0):
        raise GainError(f"eta is a positive finite number, got {eta!r}")
    inside = _inside(now, np.zeros(now.J.shape[-1]), safe)
    return _at_most(-inside.J, inside.residual - first_order_bound(inside.value, eta), name)


def cone_acceleration_rows(now: DistanceValues, v: Array, safe: SafeAngle, gains: Gains, name: str = "cone") -> Rows:
    """J a ≤ −(β + β_res): f̃'' ≤ −η₁ f̃' − η₂ f̃ [QO21, Eq. (4.32), (4.34)].

    β = (η₁ J + J̇) v + η₂ f̃ and β_res = ζ̇_safe + η₁ ζ_safe. From a start that the gains admit the cone is never left
    [QO21, Lemma 4.1], in continuous time; the constraint `Cone` of a controller has the margin that a step needs.

    Args:
        now: of `angle(a, b)` at the state, one angle.
        gains: η₁ and η₂, as `Gains(eta_1, eta_2)`.
    """
    inside = _inside(now, v, safe)
    return _at_most(-inside.J, inside.drift - continuous_bound(inside.value, inside.rate, gains), name)


def joint_limit_angle(robot: Robot, joint: str) -> tuple[Distance, SafeAngle]:
    """(angle, φ_safe) that keep a revolute joint within its limits [QO21, Sec. 4.3, Fig. 4.5–4.6].

    A line across the axis stands on the parent in the middle of the range, another on the child; their angle is |q −
    q_mid|.

    Raises:
        ModelError: the joint does not turn, has no limits, a range of more than 2π, or is one of several in one place.
    """
    if joint not in robot.joints:
        raise unknown_name("joint", joint, robot.joints)
    j = robot.joints[joint]
    axis, half = getattr(j.type, "axis", None), (j.limits.upper - j.limits.lower) / 2
    if axis is None or np.any(j.type.slide()) or not 0 < half <= np.pi:
        raise ModelError(
            f"joint {joint!r} ({j.type.name}, limits {j.limits.lower:g} to {j.limits.upper:g}) has no line-to-line "
            "angle: wanted a revolute joint with a range of 2π at most"
        )
    for link in (j.parent, j.child):
        if link is not None and link not in robot.frames:
            raise ModelError(
                f"joint {joint!r} turns {link!r}, which only stands between two joints: no line can be put on it"
            )
    across = rigid.rotation_to(np.asarray(axis, dtype=float))[:, 0]
    middle = (j.limits.lower + j.limits.upper) / 2
    turned = rigid.rotation_about(np.asarray(axis, dtype=float), middle) @ across
    parent = Line((0, 0, 0), tuple(j.origin[:3, :3] @ turned), j.parent)
    child = Line((0, 0, 0), tuple(j.tail[:3, :3].T @ across), j.child)
    return angle(child, parent), SafeAngle(half)


def _inside(now: DistanceValues, v: Array, safe: SafeAngle) -> Clearance:
    """−f̃ and its derivatives: what is left to the border of the cone."""
    if not 0 < safe.angle <= np.pi:
        raise ShapeError(f"a safe angle lies in (0, π], got {safe.angle!r}")
    return Clearance.of(now, v, *safe.chord, inside=True)


def _at_most(J: Array, bound: Array, name: str) -> Rows:
    return Rows(J[None], np.array([-np.inf]), np.array([float(bound)]), (name,))
