"""Contacts of a robot: what they hold [ETH19, slides 6–7].

A contact is a frame, or a point of a frame written (frame, point), or `RigidContact`: any place of any body.
Slides are counted by their headings, the title being the first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from ..algebra import rigid
from ..algebra.arrays import times
from ..errors import ShapeError, unknown_name
from .coordinates import Angular, base_turn

if TYPE_CHECKING:
    from ..robot import Robot

Array = np.ndarray
Kind = Literal["point", "frame"]
AXES = "xyz"


@dataclass(frozen=True)
class RigidContact:
    """One contact with a kind and axes of its own, where those of the call will not do.

    Args:
        frame: what touches.
        point: of the frame, m, in its axes.
        kind: "point" holds positions only, "frame" the orientation too; None: as the call says.
        axes: directions in which positions are held: some of "xyz", or rows (k, 3) in world axes, such as the normal of
            a slope; None: as the call says.
    """

    frame: str
    point: Sequence[float] = (0.0, 0.0, 0.0)
    kind: Kind | None = None
    axes: str | Sequence[Sequence[float]] | None = None


Axes = str | Sequence[Sequence[float]]  # some of "xyz", or directions in world axes
# a frame, a point in the axes of a frame, or one with its own kind
Contact = str | tuple[str, Sequence[float]] | RigidContact


# --- points [ETH19, slide 6] ------------------------------------------------------------------------------------------


def point_jacobian(
    robot: Robot, q: Array, frame: str, point: Sequence[float] = (0.0, 0.0, 0.0), angular: Angular = "world"
) -> Array:
    """J with ṙ = J v of a point fixed to a frame, (…, 3, nv) [ETH19, slide 6].

    Beneath a floating base its blocks are 1, −(r − p_B)^ and the part of the joints. The slide has the angular velocity
    in axes of the base, and so R_WB behind its second block: that is angular="body".

    Args:
        point: m, in the axes of the frame.
        angular: axes of the base's angular velocity, "world" or "body".
    """
    J = _contact_jacobian(robot, q, frame, point)[..., :3, :]
    return J if angular == "world" else J @ base_turn(robot, q, angular)


def point_bias(robot: Robot, q: Array, v: Array, frame: str, point: Sequence[float] = (0.0, 0.0, 0.0)) -> Array:
    """J̇v of the same point, (…, 3): its acceleration when a = 0."""
    return _contact_bias(robot, q, v, frame, point)[..., :3]


def _contact_jacobian(robot: Robot, q: Array, frame: str, point: Sequence[float]) -> Array:
    """Mixed Jacobian of the frame moved to a point of it, (…, 6, nv): velocities there are ṗ + ω × arm."""
    J = robot.jacobian(q, frame)
    if any(point):
        J[..., :3, :] -= rigid.skew(_arm(robot, q, frame, point)) @ J[..., 3:, :]
    return J


def _contact_bias(robot: Robot, q: Array, v: Array, frame: str, point: Sequence[float]) -> Array:
    """J̇v of the same, (…, 6): with what ω̇ does at a = 0, and the pull ω × (ω × arm) towards the axis."""
    bias = robot.bias_acceleration(q, v, frame)
    if any(point):
        arm, w = _arm(robot, q, frame, point), robot.velocity(q, v, frame)[..., 3:]
        bias[..., :3] += np.cross(bias[..., 3:], arm) + np.cross(w, np.cross(w, arm))
    return bias


def _arm(robot: Robot, q: Array, frame: str, point: Sequence[float]) -> Array:
    """The point from the frame's origin, in world axes."""
    place = np.asarray(point, dtype=float)
    if place.shape != (3,) or not np.isfinite(place).all():
        raise ShapeError(f"a point of frame {frame!r} is three finite numbers in metres, got {point!r}")
    return times(robot.pose(q, frame)[..., :3, :3], place)


# --- the stacked contact Jacobian [ETH19, slide 7] --------------------------------------------------------------------


def contact_jacobian(
    robot: Robot, q: Array, contacts: Sequence[Contact], kind: Kind = "point", axes: Axes = AXES
) -> Array:
    """J_c, contact above contact, (…, rows, nv): J_c v = 0 says that no contact moves [ETH19, slide 7].

    Args:
        contacts: frames, points of frames, or `RigidContact` with a kind and axes of its own.
        kind: "point" holds positions only; "frame" the orientation too.
        axes: world directions in which positions are held; "z" alone is a floor without friction.
    """
    q = np.asarray(q, dtype=float)
    blocks = []
    for contact in contacts:
        frame, point = parts(contact)
        blocks.append(_held_rows(contact, kind, axes) @ _contact_jacobian(robot, q, frame, point))
    return np.concatenate([np.zeros((*q.shape[:-1], 0, robot.nv)), *blocks], axis=-2)


def contact_bias(
    robot: Robot, q: Array, v: Array, contacts: Sequence[Contact], kind: Kind = "point", axes: Axes = AXES
) -> Array:
    """J̇_c v, (…, rows): J_c a = −J̇_c v says that no contact accelerates."""
    q, v = np.asarray(q, dtype=float), np.asarray(v, dtype=float)
    blocks = []
    for contact in contacts:
        frame, point = parts(contact)
        blocks.append(times(_held_rows(contact, kind, axes), _contact_bias(robot, q, v, frame, point)))
    batch = np.broadcast_shapes(q.shape[:-1], v.shape[:-1])
    return np.concatenate([np.zeros((*batch, 0)), *blocks], axis=-1)


def parts(contact: Contact) -> tuple[str, Sequence[float]]:
    if isinstance(contact, RigidContact):
        return contact.frame, contact.point
    return (contact, (0.0, 0.0, 0.0)) if isinstance(contact, str) else (contact[0], contact[1])


def _held_rows(contact: Contact, kind: str, axes: Axes) -> Array:
    """Combinations of the six rows of a mixed Jacobian that a contact holds, (k, 6)."""
    if isinstance(contact, RigidContact):
        kind, axes = contact.kind or kind, axes if contact.axes is None else contact.axes
    if kind not in ("point", "frame"):
        raise unknown_name("kind of contact", kind, ("point", "frame"))
    directions = _directions(axes)
    turning = np.eye(6)[3:] if kind == "frame" else np.zeros((0, 6))
    return np.concatenate([np.hstack([directions, np.zeros_like(directions)]), turning])


def _directions(axes: Axes) -> Array:
    """Unit rows, (k, 3)."""
    if isinstance(axes, str):
        if not axes or not set(axes) <= set(AXES):
            raise ShapeError(f"axes names world directions in which contacts hold, some of 'xyz', got {axes!r}")
        return np.eye(3)[[AXES.index(axis) for axis in AXES if axis in axes]]
    rows = np.asarray(axes, dtype=float)
    if (
        rows.ndim != 2
        or rows.shape[1] != 3
        or not np.all((np.linalg.norm(rows, axis=1) > 0) & np.isfinite(rows).all(axis=1))
    ):
        raise ShapeError(f"axes are some of 'xyz' or rows of three numbers, directions in the world; got {axes!r}")
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def place(robot: Robot, q: Array, contact: Contact) -> Array:
    frame, point = parts(contact)
    return robot.pose(q, frame)[:3, 3] + _arm(robot, q, frame, point)
