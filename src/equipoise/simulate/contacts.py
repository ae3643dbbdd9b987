"""Contacts of a robot: named frames with points that can touch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ShapeError, StateError, unknown_name
from ..model.types import frozen

if TYPE_CHECKING:
    from ..robot import Robot

Array = np.ndarray
# frames, pairs (frame, points), or objects with `frame` and `points`; with or without names
Contacts = Mapping[str, object] | Sequence[object]
FRICTION = 0.8  # default friction coefficient


@dataclass(frozen=True, eq=False)
class ContactInfo:
    """A contact as used by plants: points of one frame and their friction.

    Attributes:
        frame: frame of the robot.
        points: points that can touch, in the frame's axes, (k, 3) m.
        friction: coefficient of Coulomb friction.
    """

    frame: str
    points: Array
    friction: float = FRICTION

    def __post_init__(self) -> None:
        points = np.atleast_2d(np.asarray(self.points, dtype=float))
        if points.ndim != 2 or points.shape[1] != 3 or not len(points) or not np.isfinite(points).all():
            raise ShapeError(f"contact on {self.frame!r}: points have shape (k, 3) and are finite, got {self.points!r}")
        if not 0 <= self.friction < np.inf:
            raise StateError(f"contact on {self.frame!r}: friction is a number from 0 on, got {self.friction!r}")
        object.__setattr__(self, "points", frozen(points))
        object.__setattr__(self, "friction", float(self.friction))


def contacts_of(robot: Robot, given: Any, friction: float | None = None) -> dict[str, ContactInfo]:
    """Returns contacts by name from the forms that users may write.

    Args:
        given: a mapping from names, or a sequence, of: a frame name (its origin touches), (frame, points), or an object
            with
            `frame`, `points` and optionally `name` and `friction`, such as a contact of a controller.
        friction: replaces the friction of all contacts.
    """
    items = given.items() if isinstance(given, Mapping) else ((None, item) for item in given or ())
    result: dict[str, ContactInfo] = {}
    for name, item in items:
        frame, points, mu = _parts(item)
        if frame not in robot.frames:
            raise unknown_name("frame", frame, robot.frames)
        own = str(name or getattr(item, "name", None) or frame)
        if own in result:
            raise ShapeError(f"two contacts are named {own!r}; give a mapping from different names")
        result[own] = ContactInfo(frame, points, mu if friction is None else friction)
    return result


def _parts(item: Any) -> tuple[str, Any, float]:
    if isinstance(item, str):
        return item, np.zeros((1, 3)), FRICTION
    if hasattr(item, "frame"):
        points = getattr(item, "points", None)
        mu = getattr(item, "friction", None)
        return item.frame, np.zeros((1, 3)) if points is None else points, FRICTION if mu is None else float(mu)
    frame, points = item
    return frame, points, FRICTION


class ContactPoints:
    """All contact points of a robot, stacked, with their kinematics.

    Attributes:
        frames: frames with points, without repetition.
        parts: contact → rows of its points.
        friction: friction coefficient of each point, (count,).
        names: contact name of each point, (count,).
    """

    def __init__(self, robot: Robot, contacts: Mapping[str, ContactInfo]) -> None:
        counts = [len(info.points) for info in contacts.values()]
        bounds = np.cumsum([0, *counts])
        self.robot, self.contacts, self.count = robot, contacts, int(bounds[-1])
        self.frames = list(dict.fromkeys(info.frame for info in contacts.values()))
        self.parts = {name: slice(a, b) for name, a, b in zip(contacts, bounds[:-1], bounds[1:], strict=True)}
        self.friction = np.repeat([info.friction for info in contacts.values()], counts).astype(float)
        self.names = np.repeat(np.array(list(contacts), dtype=object), counts)
        self._frame = np.repeat([self.frames.index(info.frame) for info in contacts.values()], counts).astype(int)
        self._local = np.concatenate([np.zeros((0, 3)), *(info.points for info in contacts.values())])[:, :, None]

    def arms(self, q: Array) -> tuple[Array, Array]:
        """Returns (points relative to their frame's origin in world axes, points in the world), each (count, 3)."""
        if not self.count:
            return np.zeros((0, 3)), np.zeros((0, 3))
        X = np.array([self.robot.pose(q, frame) for frame in self.frames])[self._frame]
        arms = (X[:, :3, :3] @ self._local)[:, :, 0]
        return arms, arms + X[:, :3, 3]

    def jacobian(self, q: Array, arms: Array) -> Array:
        """Returns J, (count, 3, nv); the velocities of the points are J v."""
        if not self.count:
            return np.zeros((0, 3, self.robot.nv))
        J = np.array([self.robot.jacobian(q, frame) for frame in self.frames])[self._frame]
        return J[:, :3] - _skew(arms) @ J[:, 3:]

    def bias(self, q: Array, v: Array, arms: Array) -> Array:
        """Returns J̇ v of the points, (count, 3)."""
        bias = np.array([self.robot.bias_acceleration(q, v, frame) for frame in self.frames])[self._frame]
        w = np.array([self.robot.velocity(q, v, frame) for frame in self.frames])[self._frame, 3:]
        return bias[:, :3] + cross(bias[:, 3:], arms) + cross(w, cross(w, arms))

    def wrenches(self, forces: Array, arms: Array) -> dict[str, Array]:
        """Returns the wrench of each contact at its frame's origin, world axes, from forces at the points, (count,
        3)."""
        wrenches = np.concatenate([forces, cross(arms, forces)], axis=1)
        return {name: wrenches[rows].sum(0) for name, rows in self.parts.items()}


def cross(a: Array, b: Array) -> Array:
    """Returns a × b row by row; about ten times faster than numpy.cross for few rows."""
    turned = np.empty(a.shape)
    x, y, z = a.T
    u, v, w = b.T
    turned[:, 0] = y * w - z * v
    turned[:, 1] = z * u - x * w
    turned[:, 2] = x * v - y * u
    return turned


def _skew(w: Array) -> Array:
    """Returns the cross-product matrices of rows, (k, 3, 3)."""
    S = np.zeros((len(w), 3, 3))
    S[:, 2, 1], S[:, 0, 2], S[:, 1, 0] = w[:, 0], w[:, 1], w[:, 2]
    return S - S.transpose(0, 2, 1)


def axes_of(normals: Array) -> Array:
    """Returns contact axes, (k, 3, 3): rows normal, first and second tangent, right-handed; z, x, y on level ground."""
    x = np.where(np.abs(normals[:, :1]) < 0.9, [[1.0, 0.0, 0.0]], [[0.0, 1.0, 0.0]])
    axes = np.empty((len(normals), 3, 3))
    first = x - np.sum(x * normals, axis=1, keepdims=True) * normals
    first /= np.sqrt(np.sum(first * first, axis=1, keepdims=True))
    axes[:, 0], axes[:, 1], axes[:, 2] = normals, first, cross(normals, first)
    return axes
