"""What one step of control saw, from which everything else about it can be made again when somebody asks."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from .solution import Program

if TYPE_CHECKING:
    from .controller import WholeBodyController

Array = np.ndarray


class Snapshot:
    """State, parameters and contacts of one step."""

    def __init__(self, controller: WholeBodyController, contacts: frozenset[str], program: Program | None = None) -> None:
        c = self.controller = controller
        self.q, self.v, self.p, self.columns = c._q.copy(), c._v.copy(), c._p.copy(), c._columns
        self.contacts, self._program = contacts, program
        # Looked at in every step that is recorded: kept, so that the kernel need not run again for them.
        self._kept = {name: c._data[name].copy() for name in ("errors", "margins") if name in c._data}

    @cached_property
    def data(self) -> dict[str, Array]:
        """What the kernel gave."""
        c = self.controller
        return dict(zip(c._sizes, c._kernel(self.q, self.v, self.p), strict=True))

    @cached_property
    def program(self) -> Program:
        """The quadratic program."""
        return self._program or self._assembled()

    def _assembled(self) -> Program:
        d, names = self._rows_of_all()
        if self.columns is not None:
            x, E, A = self.columns
            n_E = len(d["E"])
            names = [names[k] for k in E] + [names[n_E + k] for k in A]
            d |= {"R": d["R"][:, x], "weights": d["weights"][x], "pulls": d["pulls"][x], "E": d["E"][np.ix_(E, x)]}
            d |= {"e": d["e"][E], "A": d["A"][np.ix_(A, x)], "lower": d["lower"][A], "upper": d["upper"][A]}
        H = d["R"].T @ d["R"]
        H.flat[:: len(H) + 1] += d["weights"]
        return Program(H, -(d["r"] @ d["R"]) - d["pulls"], d["E"], d["e"], d["A"], d["lower"], d["upper"], tuple(names))

    def _rows_of_all(self) -> tuple[dict[str, Array], list[str]]:
        """Arrays with every contact in force, and the names of the rows of E and A."""
        c = self.controller
        d, n = {name: np.array(array) for name, array in self.data.items()}, c.layout.unknowns
        for name in ("R", "E", "A"):
            d.setdefault(name, np.zeros((0, n)))
        for name in ("r", "e", "lower", "upper"):
            d.setdefault(name, np.zeros(0))
        d["weights"] = d["weights"] + c._regular
        names = list(c._rows)
        for extra in c._near:
            near = extra.pairs(self.q, self.v)
            rows, lower = extra.rows(near, d.get("B"), d.get("b"))
            free = extra.count - len(rows)
            d["A"] = np.vstack((d["A"], rows, np.zeros((free, n))))
            d["lower"] = np.concatenate((d["lower"], lower, np.full(free, -np.inf)))
            d["upper"] = np.concatenate((d["upper"], np.full(extra.count, np.inf)))
            names += [extra.names[k] for k in near.indices] + [extra.constraint.label] * free
        return d, names

    def parts(self, name: str, places: Mapping[str, slice]) -> dict[str, Array]:
        return {key: self._kept[name][at] for key, at in places.items()} if name in self._kept else {}

    @property
    def errors(self) -> dict[str, Array]:
        return self.parts("errors", self.controller.layout.error_slices)

    @property
    def margins(self) -> dict[str, Array]:
        """Of barriers their d; of pairs that are near each other the distance beyond the safe one, or the range if none is."""
        made = self.parts("margins", self.controller.layout.margin_slices)
        for extra in self.controller._near:
            near = extra.pairs(self.q, self.v).value - extra.constraint.safe
            made[extra.constraint.label] = near if len(near) else np.array([extra.constraint.range])
        return made

    def forces(self, x: Array) -> dict[str, Array]:
        """Wrenches at the contacts' frames, world axes."""
        c = self.controller
        if c.level != "torque":
            return {}
        return {
            contact.label: contact.wrench(c.robot, self.q, x[c.layout.forces[contact.label]])
            for contact in c.items.contacts
            if contact.label in self.contacts
        }
