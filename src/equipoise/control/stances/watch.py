"""What may go wrong: contacts slip or carry nothing, the robot is pushed."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np

from .anchors import Anchors
from .contact_forces import ContactForces
from .events import EventKind
from .places import is_beyond, moved
from .tracking import Tracker

Array = np.ndarray
TURNS = 5.0  # rad per m: how much a contact may turn beside how far it may slip
NEAR = 0.01  # m, of a contact that is where it should be
FALLING = 0.03  # m outside of the support: ankles cannot bring a capture point back from there
UNPLANNED = 0.01  # m, by which a capture point is nearer to the edge than its reference where it was pushed
TOO_FAR = 4.0  # times the limit of a centre of mass off its reference


@dataclass(frozen=True)
class Trouble:
    """A contact that is not what it should be."""

    contact: str
    slipped: bool  # else it carries nothing
    distance: float  # m
    angle: float  # rad


@dataclass(frozen=True, eq=False)
class ContactWatch:
    """Looks at contacts in each step.

    Args:
        slip_limit: m, and five times that in rad; a frame may turn on a contact that pivots.
    """

    track: Tracker
    forces: ContactForces
    slip_limit: float

    def trouble(self, t: float, q: Array, anchors: Mapping[str, Array], shifting: Collection[str]) -> Trouble | None:
        """The first contact that slipped from its anchor, or carries nothing for a while; those that are loaded or
        unloaded now need not carry."""
        for name, X in sorted(anchors.items()):
            contact, Y = self.track.contacts[name], self.track.pose(q, name)
            slipped = is_beyond(contact, X, Y, self.slip_limit, TURNS * self.slip_limit)
            if slipped or (name not in shifting and self.forces.vanished(t, name, X)):
                return Trouble(name, slipped, *moved(contact, X, Y))
        return None

    def touches(self, q: Array, name: str) -> bool:
        """Whether a tracked contact touches: by measured force, or by place where nothing is measured."""
        to = self.track.targets[name]
        if self.forces.measured is not None:
            return self.forces.seen(name, to) > self.forces.light / 4
        there = to.copy()
        there[:3, 3] += self.track.offset
        distance, angle = moved(self.track.contacts[name], there, self.track.pose(q, name))
        return distance < NEAR and angle < TURNS * NEAR


@dataclass(frozen=True)
class Displacement:
    """The robot is not where it should be."""

    kind: EventKind
    distance: float  # m
    too_far: bool  # for contacts to stop it


class BalanceWatch:
    """Looks at the capture point in each step; where contacts are not level and that does not tell, at the centre of
    mass.

    Args:
        anchors: the contacts in force.
        capture_margin: m inside the support, nearer to the edge of which the capture point should not come.
        off_limit: m, of the centre of mass from its reference where the capture point does not tell.
    """

    def __init__(self, anchors: Anchors, capture_margin: float, off_limit: float) -> None:
        self.anchors, self.capture_margin, self.off_limit = anchors, capture_margin, off_limit
        self.reset()

    def reset(self) -> None:
        """Nothing has happened."""
        self._near_edge = False

    def push(self, t: float, q: Array, margin: float) -> Displacement | None:
        """A push that is new, or too far.

        Args:
            margin: of the capture point, m.
        """
        if self.anchors.support is None:
            off = self.anchors.track.com_error(t, q)
            return (
                None
                if off <= self.off_limit
                else Displacement(EventKind.MOVED, off, not off <= TOO_FAR * self.off_limit)
            )
        if margin > self.capture_margin + UNPLANNED:  # as nearly always: what is planned need not be known
            self._near_edge = False
            return None
        low = min(self.capture_margin, self.anchors.planned_margin(t) - UNPLANNED)
        falls = not margin > min(low, 0.0) - FALLING
        new = not margin > low and not self._near_edge
        self._near_edge = not margin > low + (UNPLANNED if self._near_edge else 0.0)
        return Displacement(EventKind.PUSHED, margin, falls) if falls or new else None
