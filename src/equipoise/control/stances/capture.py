"""Whether a robot can still stop on the contacts it has: the capture point, its margin, and how fast weight may be
shifted.

Seen as a point mass at height h above its support, a robot whose centre of mass c moves with ċ comes to rest above the
capture point ξ = c + ċ √(h/g). While ξ is inside the support polygon, ankles can stop it there; outside, only a step
can. By the same model an acceleration a of the centre of mass moves the centre of pressure by −a h/g, which must stay
within the soles as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import inf, sqrt
from typing import TYPE_CHECKING

import numpy as np

from ...algebra.arrays import length
from ...balance.support import SupportPolygon, support_polygon
from ..contacts import Contact
from .places import touching_points
from .references import SHARPEST

if TYPE_CHECKING:
    from ...robot import Robot

Array = np.ndarray
# least vertical part of a normal: on steeper surfaces contacts hold in ways that this model does not know
UPRIGHT = 0.7
ROOM = 0.8  # part of the room around the centre of mass that the centre of pressure may use
LEAST_ROOM = 0.01  # m
LOWEST = 0.05  # m, of a centre of mass above its support


@dataclass(frozen=True, eq=False)
class Support:
    """Level contacts that carry.

    Args:
        polygon: hull of their points, seen from above.
        height: of their middle, m.
        g: of gravity, m/s².
    """

    polygon: SupportPolygon
    height: float
    g: float

    def margin(self, com: Array, velocity: Array) -> float:
        """How far the capture point is inside, m; negative outside.

        Args:
            com: centre of mass, (3,) m.
            velocity: of it, (3,) m/s.
        """
        outward, offsets = self._edges
        return float((offsets - outward @ (com[:2] + velocity[:2] * sqrt(self._height_of(com) / self.g))).min())

    @cached_property
    def _edges(self) -> tuple[Array, Array]:
        """Outward normals (n, 2) and offsets (n,) of the polygon's edges."""
        return self.polygon.rows

    def shortest_time(self, com: Array, com_to: Array) -> float:
        """Time (s) in which ankles can bring the centre of mass from one place to another with minimum jerk; 0 where
        the model does not tell. The centre of pressure goes behind the one to start it and ahead of the other to stop
        it."""
        way = (com_to - com)[:2]
        distance = length(way)
        if distance < 1e-6 or not min(self.polygon.margin(com), self.polygon.margin(com_to)) > 0:
            return 0.0
        room = max(ROOM * min(self._room(com, -way), self._room(com_to, way)), LEAST_ROOM)
        return sqrt(SHARPEST * distance * self._height_of(com_to) / (self.g * room))

    def _room(self, point: Array, direction: Array) -> float:
        """From a point inside to the edge along a direction, m."""
        outward, _ = self._edges
        towards = outward @ direction / length(direction)
        ahead = towards > 1e-9
        return float((self.polygon.margins(point)[ahead] / towards[ahead]).min(initial=inf))

    def _height_of(self, com: Array) -> float:
        return max(float(com[2]) - self.height, LOWEST)


def support_of(robot: Robot, contacts: Mapping[str, Contact], poses: Iterable[tuple[str, Array]]) -> Support | None:
    """What carries the robot with contacts' frames at given poses; None where some surface is not level, or nothing
    carries."""
    placed = [(contacts[name], X) for name, X in poses]
    if not placed or any(contact.normal_at(X)[2] < UPRIGHT for contact, X in placed):
        return None
    points = np.concatenate([touching_points(contact, X) for contact, X in placed])
    return Support(support_polygon(points), float(points[:, 2].mean()), float(np.linalg.norm(robot.model.gravity)))
