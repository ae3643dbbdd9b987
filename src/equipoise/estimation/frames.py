"""Frames and contact points by name, as estimators want them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import ArrayLike

from ..algebra import rigid
from ..errors import ModelError, ShapeError, unknown_name

if TYPE_CHECKING:
    from ..robot import Robot

Array = np.ndarray
Place = tuple[int, Array]


class Framed(Protocol):
    """A contact as an estimator sees it; it may also have a `name`, and `points` in its frame."""

    @property
    def frame(self) -> str: ...


Contacts = Sequence[str | Framed] | Mapping[str, str | Framed]


def contact_points(robot: Robot, contacts: Contacts) -> dict[str, tuple[str, Array]]:
    """Contact → (frame, point in it): the mean of its points, or the origin of its frame."""
    items = contacts.items() if isinstance(contacts, Mapping) else ((None, item) for item in contacts)
    result: dict[str, tuple[str, Array]] = {}
    for name, item in items:
        frame = item if isinstance(item, str) else getattr(item, "frame", None)
        points = None if isinstance(item, str) else getattr(item, "points", None)
        on_the_robot(robot, frame)
        own = str(name or getattr(item, "name", None) or frame)
        if own in result:
            raise ShapeError(f"two contacts are named {own!r}; give a mapping from different names")
        result[own] = str(frame), np.zeros(3) if points is None else np.atleast_2d(points).mean(axis=0)
    return result


def on_the_robot(robot: Robot, frame: str | None) -> Place:
    """The place of a frame that moves with the robot."""
    if frame is None or frame not in robot.frames:
        raise unknown_name("frame", frame, robot.frames)
    place = robot.place(frame)
    if place[0] < 0:
        raise ModelError(f"frame {frame!r} is fixed to the world, not to the robot: nothing is measured there")
    return place


def place_of(robot: Robot, frame: str, point: Array) -> Place:
    """The place of a point of a frame."""
    body, X = on_the_robot(robot, frame)
    return body, X @ rigid.pose(p=point)


def vertical(gravity: ArrayLike) -> Array:
    """Unit vector against gravity, (3,); zero where there is none."""
    g = np.asarray(gravity, dtype=float)
    return -g / max(float(np.linalg.norm(g)), 1e-12)
