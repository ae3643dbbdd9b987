"""Looks up frames and contact points by name for the estimators."""

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
    """A contact for estimators: it has a `frame`, and optionally a `name` and `points` in that frame."""

    @property
    def frame(self) -> str: ...


Contacts = Sequence[str | Framed] | Mapping[str, str | Framed]


def contact_points(robot: Robot, contacts: Contacts) -> dict[str, tuple[str, Array]]:
    """Returns for each contact its frame and the contact point in it: the mean of its points, or the frame's origin."""
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
    """Returns body and pose of a frame that moves with the robot; raises ModelError for world-fixed frames."""
    if frame is None or frame not in robot.frames:
        raise unknown_name("frame", frame, robot.frames)
    place = robot.place(frame)
    if place[0] < 0:
        raise ModelError(
            f"frame {frame!r} is fixed to the world; sensors and contacts need a frame that moves with the robot"
        )
    return place


def place_of(robot: Robot, frame: str, point: Array) -> Place:
    """Returns body and pose of a point given in a frame."""
    body, X = on_the_robot(robot, frame)
    return body, X @ rigid.pose(p=point)


def vertical(gravity: ArrayLike) -> Array:
    """Returns the unit vector opposite to gravity, (3,); zero if gravity is zero."""
    g = np.asarray(gravity, dtype=float)
    return -g / max(float(np.linalg.norm(g)), 1e-12)
