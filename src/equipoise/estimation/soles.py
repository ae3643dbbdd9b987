"""Geometry of contacts: contact point and corners."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .frames import Contacts, Place, contact_points, place_of

if TYPE_CHECKING:
    from ..robot import Robot

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class Sole:
    """A contact point with the points around it at which a force may act.

    Attributes:
        place: body and pose of the contact point.
        corners: (k, 3) m, relative to the contact point in the frame's axes; a vertical force may act at each.
        flat: whether the contact can transmit torques.
    """

    place: Place
    corners: Array
    flat: bool

    @property
    def carries_turn(self) -> bool:
        """Whether the corners span a plane, so that a sole in stance keeps its orientation."""
        return int(np.linalg.matrix_rank(self.corners - self.corners[0], tol=1e-3)) >= 2  # m

    @property
    def arm(self) -> float:
        """Distance from the contact point to the farthest corner, m."""
        return float(np.linalg.norm(self.corners, axis=1).max())


def soles_of(robot: Robot, contacts: Contacts) -> dict[str, Sole]:
    """Returns the sole of each contact: the corners at its points, and its middle if it has several."""
    items = list(contacts.values() if isinstance(contacts, Mapping) else contacts)
    result = {}
    for item, (name, (frame, middle)) in zip(items, contact_points(robot, contacts).items(), strict=True):
        points = None if isinstance(item, str) else getattr(item, "points", None)
        corners = np.zeros((1, 3)) if points is None else np.atleast_2d(points) - middle
        if len(corners) > 1:
            corners = np.vstack([corners, np.zeros((1, 3))])  # adds the middle
        result[name] = Sole(place_of(robot, frame, middle), corners, points is None or len(corners) > 1)
    return result
