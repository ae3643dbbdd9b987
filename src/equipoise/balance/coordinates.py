"""Generalised coordinates and velocities, and what leads from one to the other [ETH19, slide 5]."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from ..algebra import quaternions
from ..errors import ShapeError, unknown_name
from ..model.joints import Ball, Floating, Planar
from ..model.joints.axis import AxisJoint
from ..model.types import Joint

if TYPE_CHECKING:
    from ..robot import Robot

Array = np.ndarray
Angular = Literal["world", "body"]


def coordinate_rates(robot: Robot, q: Array, angular: Angular = "world") -> Array:
    """E with q̇ = E v, (…, nq, nv): generalised velocities are no derivatives where q holds quaternions.

    It is the inverse of E_fb [ETH19, slide 5], there u = E_fb q̇; on unit quaternions `velocity_from_rates` is E_fb
    itself.

    Args:
        q: configurations, (…, nq).
        angular: axes of the base's angular velocity: "world" as everywhere here, "body" as on the slide.
    """
    q = np.asarray(q, dtype=float)
    if q.shape[-1:] != (robot.nq,):
        raise ShapeError(f"q has shape {q.shape}, wanted (…, {robot.nq})")
    E = np.zeros((*q.shape[:-1], robot.nq, robot.nv))
    for joint in robot.model.joints.values():
        if joint.moving and joint.mimic is None:
            E[..., joint.q, joint.v] = _joint_rates(joint, q[..., joint.q])
    return E @ base_turn(robot, q, angular)


def velocity_from_rates(robot: Robot, q: Array, angular: Angular = "world") -> Array:
    """E_fb with v = E_fb q̇, (…, nv, nq), for rates that keep quaternions at unit length [ETH19, slide 5]."""
    return np.linalg.pinv(coordinate_rates(robot, q, angular))


def base_turn(robot: Robot, q: Array, angular: Angular = "body") -> Array:
    """T with v = T u, (…, nv, nv): u has the base's angular velocity in body axes, the slide's velocity [ETH19, slide
    5].

    M, g and Jacobians in u are Tᵀ M T, Tᵀ g and J T. With angular="world" it is the identity.
    """
    q = np.asarray(q, dtype=float)
    if angular not in ("world", "body"):
        raise unknown_name("axes of the angular velocity", angular, ("world", "body"))
    T = np.zeros((*q.shape[:-1], robot.nv, robot.nv))
    T[...] = np.eye(robot.nv)
    if robot.floating and angular == "body":
        T[..., 3:6, 3:6] = quaternions.rotation(tuple(np.moveaxis(q[..., 3:7], -1, 0)))
    return T


def _joint_rates(joint: Joint, q: Array) -> Array:
    integrate = type(joint.type).integrate
    if integrate in (AxisJoint.integrate, Planar.integrate):
        return np.eye(joint.type.nq)
    if integrate is Floating.integrate:
        E = np.zeros((*q.shape[:-1], 7, 6))
        E[..., :3, :3] = np.eye(3)
        E[..., 3:, 3:] = _quaternion_rates(q[..., 3:], left=True)
        return E
    if integrate is Ball.integrate:
        return _quaternion_rates(q, left=False)
    return _numeric_rates(joint, q)


def _quaternion_rates(q: Array, *, left: bool) -> Array:
    """Columns ½ e_i q, for angular velocity in the parent's axes, or ½ q e_i, in the child's."""
    turn = tuple(np.moveaxis(q, -1, 0))
    units = [(0.0, *axis) for axis in np.eye(3)]
    columns = [quaternions.product(e, turn) if left else quaternions.product(turn, e) for e in units]
    return 0.5 * np.stack([np.stack(np.broadcast_arrays(*column), axis=-1) for column in columns], axis=-1)


def _numeric_rates(joint: Joint, q: Array) -> Array:
    """Of a joint type that is a user's own: by differences of fourth order, good to 1e-12."""
    s, h = np.moveaxis(q, -1, 0), 1e-3

    def moved(i: int, step: float) -> Array:
        return np.stack(joint.type.integrate(s, step * np.eye(joint.type.nv)[i], quaternions.NUMBERS), axis=-1)

    def column(i: int) -> Array:
        return (8 * (moved(i, h) - moved(i, -h)) - (moved(i, 2 * h) - moved(i, -2 * h))) / (12 * h)

    return np.stack([column(i) for i in range(joint.type.nv)], axis=-1)
