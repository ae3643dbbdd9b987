"""Where contacts are, and how far they have moved: a frame may turn on a contact that pivots, and has not moved
then."""

from __future__ import annotations

from math import cos

import numpy as np

from ...algebra.arrays import length
from ..contacts import Contact
from .references import turn

Array = np.ndarray


def touching_points(contact: Contact, X: Array) -> Array:
    """Its points in the world with the frame at pose X, (n, 3) m."""
    return contact.points @ X[:3, :3].T + X[:3, 3]


def middle(contact: Contact, X: Array) -> Array:
    """The middle of its points in the world with the frame at pose X, (3,) m."""
    points = contact.points
    return X[:3, :3] @ (points[0] if len(points) == 1 else points.mean(0)) + X[:3, 3]


def moved(contact: Contact, X: Array, Y: Array) -> tuple[float, float]:
    """How far (m) and by how much (rad) it is elsewhere with the frame at Y than with the frame at X."""
    if contact.pivots:
        return length(middle(contact, Y) - middle(contact, X)), 0.0
    return length(Y[:3, 3] - X[:3, 3]), length(turn(X, Y))


def is_beyond(contact: Contact, X: Array, Y: Array, distance: float, angle: float) -> bool:
    """Whether it has moved by more than a distance (m) or turned by more than an angle (rad): what `moved` says, but
    quick.

    A turn by θ has |ΔR|² = 4 (1 − cos θ).
    """
    if contact.pivots:
        return not length(middle(contact, Y) - middle(contact, X)) <= distance
    change = (Y - X)[:3]
    place, axes = change[:, 3], change[:, :3].ravel()
    return not (place @ place <= distance**2 and axes @ axes <= 4 * (1 - cos(angle)))
