"""The six-joint arm on a platform that drives: freely, or on two wheels that do not slip sideways [QO21, Sec.
6.3.2]."""

from __future__ import annotations

from math import pi

import numpy as np

from ..builder import ModelBuilder
from ..shapes import box, cylinder
from ..types import Array, Model, Shape
from .arms import SIX, SIX_READY, add_arm, add_torso

WHEEL_RADIUS = 0.1  # m, of both platforms
WHEEL_TRACK = 0.5  # m between the two wheels of the differential drive
CASTER_RADIUS = 0.05


def holonomic_arm() -> Model:
    """Nine velocities: a platform that drives and turns freely in the plane (x, y, angle), and `arm6` on it.

    The planar joint is named "platform"; z = 0 is the ground. Frame "tool".
    """
    wheels = [_rolling(WHEEL_RADIUS, x, y) for x in (0.25, -0.25) for y in (0.25, -0.25)]
    return _on_platform("holonomic_arm", wheels)


def nonholonomic_arm() -> Model:
    """The same arm on a differential drive: nine coordinates, of whose nine velocities eight are independent.

    The tree has the planar joint "platform" with its three velocities; it cannot express that wheels do not slip
    sideways. That is the constraint of `rolling_constraint`, which leaves the eight: forward speed, turning speed, six
    joints. The wheels, `WHEEL_RADIUS` and `WHEEL_TRACK`, turn about the y axis of the platform through its origin.
    """
    wheels = [_rolling(WHEEL_RADIUS, 0.0, y) for y in (WHEEL_TRACK / 2, -WHEEL_TRACK / 2)]
    casters = [_rolling(CASTER_RADIUS, x, 0.0) for x in (0.25, -0.25)]
    return _on_platform("nonholonomic_arm", wheels + casters)


def nonholonomic_bimanual() -> Model:
    """Two seven-joint arms on a differential drive [QO21, Fig. 6.11]: seventeen coordinates, sixteen free velocities.

    Frames "left_tool" and "right_tool"; the first three coordinates are those of `nonholonomic_arm`, and so is the
    constraint.
    """
    builder = ModelBuilder("nonholonomic_bimanual", floating=False)
    wheels = [_rolling(WHEEL_RADIUS, 0.0, y) for y in (WHEEL_TRACK / 2, -WHEEL_TRACK / 2)]
    builder.link("platform_link", mass=60.0, shapes=[box(0.7, 0.45, 0.25, position=(0.0, 0.0, 0.225)), *wheels])
    builder.joint("platform", "planar", "world", "platform_link", actuated=True)
    add_torso(builder, "platform_link", height=0.35, turning=False)
    return builder.model()


def rolling_constraint(q: Array) -> Array:
    """The row A(q) with A v = 0 of wheels that do not slip sideways.

        A = [−sin φ   cos φ   0   0 … 0]                            [QO21, Eq. (5.48)]

    Args:
        q: configurations of `nonholonomic_arm`, shape (…, 9).

    Returns:
        shape (…, 1, 9).
    """
    q = np.asarray(q, dtype=float)
    A = np.zeros((*q.shape[:-1], 1, q.shape[-1]))
    A[..., 0, 0], A[..., 0, 1] = -np.sin(q[..., 2]), np.cos(q[..., 2])
    return A


def rolling_constraint_bias(q: Array, v: Array) -> Array:
    """Ȧ v of the same row, shape (…, 1): with A a + Ȧ v = 0 the constraint goes on holding."""
    q, v = np.asarray(q, dtype=float), np.asarray(v, dtype=float)
    c, s = np.cos(q[..., 2]), np.sin(q[..., 2])
    return (-v[..., 2] * (c * v[..., 0] + s * v[..., 1]))[..., None]


def _rolling(radius: float, x: float, y: float) -> Shape:
    return cylinder(radius, 0.04, position=(x, y, radius), rpy=(pi / 2, 0.0, 0.0))


def _on_platform(name: str, wheels: list[Shape]) -> Model:
    builder = ModelBuilder(name, floating=False)
    deck = box(0.7, 0.45, 0.25, position=(0.0, 0.0, 0.225))
    builder.link("platform_link", mass=45.0, shapes=[deck, *wheels])
    builder.joint("platform", "planar", "world", "platform_link", actuated=True)
    add_arm(builder, "platform_link", SIX, position=(0.15, 0.0, 0.35))
    builder.standing({f"joint_{i}": angle for i, angle in enumerate(SIX_READY, start=1)})
    return builder.model()
