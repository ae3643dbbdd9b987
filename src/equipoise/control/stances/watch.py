"""What may go wrong with contacts: they slip, they carry nothing."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np

from .contact_forces import ContactForces
from .places import moved
from .tracking import Tracker

Array = np.ndarray
TURNS = 5.0  # rad per m: how much a contact may turn beside how far it may slip
NEAR = 0.01  # m, of a contact that is where it should be


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
        """The first contact that slipped from its anchor, or carries nothing for a while; those that are loaded or unloaded now
        need not carry."""
        for name, X in sorted(anchors.items()):
            distance, angle = moved(self.track.contacts[name], X, self.track.pose(q, name))
            if not (distance <= self.slip_limit and angle <= TURNS * self.slip_limit):
                return Trouble(name, True, distance, angle)
            if name not in shifting and self.forces.vanished(t, name, X):
                return Trouble(name, False, distance, angle)
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
