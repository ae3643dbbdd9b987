"""One step of control as data: what it saw, what it found. Everything else about the step can be made from it, at any
time."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...machine.kernel import Kernel
from ..constraints.outside import NearbyRows
from ..qp.program import FEASIBLE, QuadraticProgram, Result
from .layout import IN_ONE_STEP, Layout

Array = np.ndarray
DECIDED = 1e-12  # weight of squares of accelerations of the base, and of torques, where these are unknowns


class Memory:
    """Arrays by name that lie side by side, so that a step keeps all of them with one copy."""

    block: Array
    shapes: dict[str, tuple[int, ...]]
    places: dict[str, slice]
    arrays: dict[str, Array]

    def __init__(self, shapes: Mapping[str, tuple[int, ...]]) -> None:
        ends = np.cumsum([0, *(int(np.prod(shape)) for shape in shapes.values())]).tolist()
        self.block = np.zeros(ends[-1])
        self.shapes = dict(shapes)
        self.places = dict(zip(shapes, map(slice, ends, ends[1:]), strict=False))
        self.arrays = {name: self.read(self.block, name) for name in shapes}

    def read(self, block: Array, name: str) -> Array:
        """An array of this memory, or of a copy of its block."""
        return block[self.places[name]].reshape(self.shapes[name])


@dataclass(frozen=True, eq=False)
class Structure:
    """What all steps of a controller share: places and names, the kernel, the regularisation."""

    layout: Layout
    kernel: Kernel
    memory: Memory  # of what steps keep: q, v, p, and of the kernel errors, margins, wrench maps, what tasks ask for
    regularisation: Array  # of the squares of the unknowns, (n,)
    outside_names: Mapping[str, tuple[str, ...]]  # of rows made outside, by constraint and key

    @cached_property
    def outputs(self) -> tuple[str, ...]:
        return tuple(output.name for output in self.kernel.program.outputs)


def regularisation(layout: Layout, motion_weight: float, force_weight: float) -> Array:
    """Weights of the squares of the unknowns, (n,). What the equations of motion decide needs none, but for the
    solver."""
    weights = np.full(layout.unknowns, DECIDED if layout.context.chart is not None else motion_weight)
    weights[layout.context.motor_unknowns if layout.context.level == "torque" else slice(None)] = motion_weight
    for place in layout.forces.values():
        weights[place] = force_weight
    return weights


@dataclass(frozen=True, eq=False)
class Selection:
    """Unknowns, rows of E and rows of A in force."""

    x: Array
    E: Array
    A: Array

    @classmethod
    def of(cls, layout: Layout, contacts: Collection[str]) -> Selection | None:
        """What is left with only some contacts in force; None where all are."""
        missing = [contact.label for contact in layout.items.contacts if contact.label not in contacts]
        if not missing:
            return None
        x, E, A = (np.ones(n, bool) for n in (layout.unknowns, *map(len, layout.classes)))
        for label in (*missing, *(task.label for task in layout.hard if task.needs_contact in missing)):
            E[layout.equality_rows[label]] = False
        for label in missing if layout.forces else ():
            x[layout.forces[label]], A[layout.inequality_rows[label]] = False, False
        return cls(x.nonzero()[0], E.nonzero()[0], A.nonzero()[0])


@dataclass(frozen=True, eq=False)
class ControlStep:
    """State, parameters and contacts of one step, and what the solver found."""

    structure: Structure
    memory: Array  # a copy of its block
    contacts: tuple[str, ...]  # in force
    selection: Selection | None  # None where all is in force
    outside: Mapping[str, NearbyRows]
    answer: Result
    sides: Array  # of A, −1 or 1 for rows of the last working set
    saw_state: bool = True

    def _read(self, name: str) -> Array:
        return self.structure.memory.read(self.memory, name)

    @property
    def q(self) -> Array:
        """Configuration, (nq,)."""
        return self._read("q")

    @property
    def v(self) -> Array:
        """Velocity, (nv,)."""
        return self._read("v")

    @property
    def p(self) -> Array:
        """Parameters of the kernel."""
        return self._read("p")

    @property
    def x(self) -> Array:
        """Unknowns, (n,)."""
        return self.answer.x

    @property
    def multipliers_E(self) -> Array:
        """Of the equalities."""
        return self.answer.multipliers[: self.answer.equalities]

    @property
    def multipliers(self) -> Array:
        """Of the rows of A, positive at upper bounds."""
        return self.answer.multipliers[self.answer.equalities :][: self._rows_of_A]

    @property
    def _rows_of_A(self) -> int:
        """How many rows A has: bounds of the motion in one step are the last, where they were needed."""
        bounds = self.structure.layout.inequality_rows[IN_ONE_STEP]
        return bounds.stop if IN_ONE_STEP in self.outside else bounds.start

    # --- the quadratic program ---------------------------------------------------------------------------------------

    @cached_property
    def data(self) -> dict[str, Array]:
        """Arrays of the program with everything in force: R r weights pulls E e A lower upper, and B b T t."""
        layout = self.structure.layout
        n = layout.unknowns
        made = dict(zip(self.structure.outputs, self.structure.kernel(self.q, self.v, self.p), strict=True))
        for name in ("R", "E", "A"):
            made.setdefault(name, np.zeros((0, n)))
        for name in ("r", "e", "lower", "upper"):
            made.setdefault(name, np.zeros(0))
        for name in ("weights", "pulls"):
            made.setdefault(name, np.zeros(n))
        bounds = {IN_ONE_STEP: 2 * len(layout.bounded)} if IN_ONE_STEP in self.outside else {}
        for label, count in {**layout.reserves, **bounds}.items():
            rows = self.outside.get(label)
            k = 0 if rows is None else len(rows.keys)
            A, lower = np.zeros((count, n)), np.full(count, -np.inf)
            if rows is not None:
                A[:k], lower[:k] = rows.A, rows.lower
            made["A"], made["lower"] = np.vstack((made["A"], A)), np.concatenate((made["lower"], lower))
            made["upper"] = np.concatenate((made["upper"], np.full(count, np.inf)))
        return made

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Of the rows of E, then of those of A, with everything in force."""
        layout = self.structure.layout
        made = list(layout.names)
        n_E = len(layout.classes[0])
        for label in layout.reserves:
            rows = self.outside.get(label)
            for k, key in enumerate([] if rows is None else rows.keys.tolist()):
                made[n_E + layout.inequality_rows[label].start + k] = self.structure.outside_names[label][key]
        return tuple(made[: n_E + self._rows_of_A])

    @cached_property
    def program(self) -> QuadraticProgram:
        """The quadratic program of this step, of what is in force; equalities are rows with lower = upper."""
        d, n_E = self.data, len(self.structure.layout.classes[0])
        x, E, A = self._in_force
        R = d["R"][:, x]
        H = R.T @ R + np.diag(d["weights"][x] + self.structure.regularisation[x])
        f = -(d["r"] @ R) - d["pulls"][x]
        rows = np.vstack((d["E"][np.ix_(E, x)], d["A"][np.ix_(A, x)]))
        lower, upper = np.concatenate((d["e"][E], d["lower"][A])), np.concatenate((d["e"][E], d["upper"][A]))
        names = tuple(self.names[k] for k in (*E, *(n_E + A)))
        return QuadraticProgram(H, f, rows, lower, upper, names=names)

    @property
    def _in_force(self) -> tuple[Array, Array, Array]:
        A = np.arange(self._rows_of_A)
        if self.selection is not None:
            return self.selection.x, self.selection.E, self.selection.A[: self.selection.A.searchsorted(len(A))]
        return np.arange(len(self.x)), np.arange(len(self.structure.layout.classes[0])), A

    @cached_property
    def finite(self) -> bool:
        """Whether every number of the program is, but for bounds, which may be infinite."""
        d = self.data
        numbers = all(np.isfinite(d[name]).all() for name in ("R", "r", "weights", "pulls", "E", "e", "A"))
        return numbers and not (np.isnan(d["lower"]).any() or np.isnan(d["upper"]).any())

    # --- what was found -----------------------------------------------------------------------------------------------

    @cached_property
    def forces(self) -> dict[str, Array]:
        """Wrench (force, torque) on the robot at each contact's frame, world axes."""
        layout = self.structure.layout
        if "wrench_maps" not in self.structure.memory.shapes:
            return {}
        maps = self._read("wrench_maps")
        return {
            c: maps[:, layout.wrench_maps[c]] @ self.x[layout.forces[c]] for c in self.contacts if c in layout.forces
        }

    @cached_property
    def errors(self) -> dict[str, Array]:
        """Of each task."""
        places = self.structure.layout.errors if self.saw_state else {}
        return {label: self._read("errors")[at] for label, at in places.items()}

    @cached_property
    def margins(self) -> dict[str, Array]:
        """Of barriers their d; of pairs of the robot's own parts, all of them, the distance beyond the safe one."""
        if not self.saw_state:
            return {}
        made = {label: self._read("margins")[at] for label, at in self.structure.layout.margins.items()}
        return made | {label: rows.margins for label, rows in self.outside.items() if len(rows.margins)}

    @cached_property
    def active(self) -> tuple[str, ...]:
        """Names of the active constraints."""
        n_E = len(self.multipliers_E)
        active = np.flatnonzero((self.multipliers != 0) | (self.sides[: self._rows_of_A] != 0))
        return tuple(dict.fromkeys(self.names[n_E + k] for k in active))

    @cached_property
    def relaxed(self) -> dict[str, float]:
        """By how much rows are violated, by name: the largest of each."""
        amounts: dict[str, float] = {}
        excess = np.abs(self.answer.excess)
        for k in np.flatnonzero(excess > FEASIBLE):
            amounts[self.names[k]] = max(amounts.get(self.names[k], 0.0), float(excess[k]))
        return amounts

    @cached_property
    def shares(self) -> dict[str, tuple[float, float, float]]:
        """Of each task of the cost: (its part of the cost, 0 to 1; what it asked for; what it lacks), lengths in its
        own unit."""
        d, layout = self.data, self.structure.layout
        costs: dict[str, tuple[float, float, float]] = {}
        for task in layout.soft:
            at = layout.task_rows[task.label]
            lacks, asked = d["R"][at] @ self.x - d["r"][at], self._read("asked")[at]
            costs[task.label] = float(lacks @ lacks) / 2, _norm(asked), _length(lacks, self._roots(task.label))
        selecting = [task.label for task in layout.items.tasks if layout.diagonal(task)]
        if selecting:
            costs[" and ".join(selecting)] = self._diagonal_cost()
        total = sum(cost for cost, _, _ in costs.values())
        return {k: (cost / total if total > 0 else 0.0, asked, lacks) for k, (cost, asked, lacks) in costs.items()}

    def _roots(self, label: str) -> Array:
        _, place = self.structure.layout.groups[label, "gains"]
        return self.p[place][: (place.stop - place.start) // 3]

    def _diagonal_cost(self) -> tuple[float, float, float]:
        """Of tasks that select unknowns, together: squares of unknowns, each with its weight."""
        weights, pulls = self.data["weights"], self.data["pulls"]
        used = np.flatnonzero(weights > 0)
        wanted = pulls[used] / weights[used]
        lacks = self.x[used] - wanted
        return float(weights[used] @ lacks**2) / 2, _norm(wanted), _norm(lacks)


def _length(x: Array, roots: Array) -> float:
    """Length of rows without their weights."""
    used = roots > 0
    return _norm(x[used] / roots[used])


def _norm(x: Array) -> float:
    return float(np.sqrt(x @ x))
