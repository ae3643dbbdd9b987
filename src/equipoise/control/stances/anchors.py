"""The contacts in force: where each was made, and what they support together."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from .capture import Support, support_of
from .contact_forces import ContactForces
from .tracking import Tracker

Array = np.ndarray


class Anchors(dict[str, Array]):
    """Poses (4×4) of the frames of contacts in force where the contacts were made, by name; the controller is told of
    changes."""

    def __init__(self, track: Tracker, forces: ContactForces) -> None:
        super().__init__()
        self.track, self.forces = track, forces
        self.support: Support | None = None

    def start(self, names: Iterable[str], q: Array) -> None:
        """These contacts, made at q, with all the load they can bear."""
        self.clear()
        self.update({name: self.track.pose(q, name) for name in sorted(names)})
        self.track.controller.set_contacts(list(self))
        self._changed()

    def put(self, t: float, q: Array, names: Iterable[str]) -> None:
        """These contacts from time t on; new ones are made at q without load."""
        wanted = sorted(names)
        self.track.controller.set_contacts(wanted, q)
        for name in set(self) - set(wanted):
            del self[name]
        for name in wanted:
            if name not in self:
                self.forces.load(name, 0.0)
                self[name] = self.track.pose(q, name)
        self._changed()
        self.forces.settle(t)

    def renew(self, q: Array, name: str) -> None:
        """A contact that slipped is made anew where it is at q; what comes moves with the middle of all contacts."""
        shift = (self.track.pose(q, name) - self[name])[:3, 3]
        self.track.offset = self.track.offset + shift / len(self)
        self.track.controller.set_contacts(sorted(set(self) - {name}), q)
        self.track.controller.set_contacts(sorted(self), q)
        self[name] = self.track.pose(q, name)
        self._changed()

    def _changed(self) -> None:
        self.support = support_of(self.track.robot, self.track.contacts, self.items())

    def margin(self, q: Array, v: Array) -> float:
        """How far the capture point is inside the support, m; infinite where the model does not tell."""
        if self.support is None:
            return np.inf
        robot = self.track.robot
        return self.support.margin(robot.com(q), robot.com_jacobian(q) @ v)

    def planned_margin(self, t: float) -> float:
        """The same of the references."""
        if self.support is None:
            return np.inf
        com, velocity, _ = self.track.now.com_at(t)
        return self.support.margin(com, velocity)

    def without_contact(self, names: Iterable[str]) -> set[str]:
        """Those of tracked frames that no contact in force holds."""
        touching = {self.track.frames[name] for name in self}
        return {name for name in names if self.track.frames[name] not in touching}

    def unloaded(self, name: str) -> bool:
        """Whether a contact bears no load, as far as one can tell."""
        return self.forces.measured is None or abs(self.seen(name)) < self.forces.light

    def place(self, name: str) -> Array | None:
        """Where a contact was made, or where its frame goes, 4×4."""
        return self.get(name, self.track.targets.get(name))

    def seen(self, name: str) -> float:
        """Measured normal force of a contact, N."""
        return self.forces.seen(name, self.place(name))
