"""Reports contacts that a controller relies on but that do not touch at the start, before the robot falls."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ContactWarning
from .contacts import ContactInfo
from .world import Solid, gaps

if TYPE_CHECKING:
    from ..robot import Robot

Array = np.ndarray
TOUCHING = 5e-3  # m; points within this distance count as touching; feet sink into soft ground by less


def report_contacts_off_ground(robot: Robot, controller: Any, plant: Any, q: Array) -> list[str]:
    """Returns one sentence, also issued as a warning, for each active contact of the controller that does not touch
    at q."""
    in_force: frozenset[str] = getattr(controller, "in_force", frozenset())
    reports = list(_reports(robot, getattr(plant, "contacts", {}), in_force, getattr(plant, "world", ()), q))
    for text in reports:
        warnings.warn(text, ContactWarning, stacklevel=3)
    return reports


def _reports(
    robot: Robot, contacts: Mapping[str, ContactInfo], in_force: frozenset[str], world: Sequence[Solid], q: Array
) -> Iterator[str]:
    for name in sorted(set(contacts) & set(in_force)):
        contact = contacts[name]
        X = robot.pose(q, contact.frame)
        distance = float(gaps(world, contact.points @ X[:3, :3].T + X[:3, 3], 0.0).distance.min()) if world else 0.0
        if not abs(distance) <= TOUCHING:
            where = "above the ground" if distance > 0 else "inside the ground"
            yield (
                f"contact {name!r} is in force, and its nearest point is {abs(distance):.3g} m {where}. Start where it "
                "touches "
                f"(q0), or give the points that touch in the axes of {contact.frame!r}: point=, or corners= and centre="
            )
