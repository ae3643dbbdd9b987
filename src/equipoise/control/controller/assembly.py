"""One fused kernel per controller: from (q, v, parameters) to the quadratic program of this step.

    minimise  ½|R x − r|² + ½ Σ weights x² − pullsᵀ x   subject to  E x = e (contacts, hard tasks),  lower ≤ A x ≤ upper

What x is and how accelerations and torques follow from it says `Scene`. Rows of A that are the same in all steps are
written by the kernel as constants: the solver gets one array.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..item import Item, NamedNumbers, Parameters, TaskError
from ..tasks.task import DirectTerms, Task, Terms
from .layout import Layout

if TYPE_CHECKING:
    from ...equations.symbols import SX
    from ...machine.program import Program
    from ..constraints.constraint import BoundedRows


def named_numbers(groups: Iterable[tuple[Parameters, slice]], p: SX) -> NamedNumbers:
    """An item's parameters on symbols, as attributes of one object; `groups` with their places in p."""
    import casadi

    made = {}
    for group, place in groups:
        start = place.start
        for name, shape in group.shapes.items():
            size = int(np.prod(shape))
            entries = p[start : start + size]
            made[name] = casadi.reshape(entries, shape[1], shape[0]).T if len(shape) == 2 else entries
            start += size
    return NamedNumbers(**made)


class Assembly:
    """Writes the program of one controller on symbols."""

    def __init__(self, layout: Layout) -> None:
        from ...equations.symbols import SX
        from .scene import Scene

        self.layout, self.context, self.items = layout, layout.context, layout.items
        self.p: SX = SX.sym("p", layout.size)
        previous, known = layout.feedback
        self.scene = Scene(self.context, self.p[previous], self.p[known], self.p[layout.theta])
        self.contacts = {c.label: c.terms(self.scene, self._numbers(c)) for c in self.items.contacts}
        self.scene.touch(self.contacts)
        self._terms: dict[str, Terms | DirectTerms] = {}
        self._asked: dict[str, SX] = {}

    def _numbers(self, item: Item) -> NamedNumbers:
        places = [entry for (label, _), entry in self.layout.groups.items() if label == item.label]
        return named_numbers(places, self.p)

    # --- cost ---------------------------------------------------------------------------------------------------------

    def _rows_of(self, task: Task) -> tuple[SX, SX, NamedNumbers]:
        """(rows over x, right-hand side, gains) of a task."""
        numbers = self._numbers(task)
        terms = self._terms[task.label] = task.terms(self.scene, numbers)
        got, wanted = terms.rows(self.scene, numbers)
        self._asked[task.label] = wanted
        k = task.rows(self.context)
        if got.matrix.shape != (k, self.layout.unknowns) or wanted.shape[0] != k:
            raise TaskError(
                f"{task.label}: rows() says {k} rows, terms() gives {got.matrix.shape[0]} and {wanted.shape[0]}"
            )
        return got.matrix, wanted - got.offset, numbers

    def cost(self) -> dict[str, SX]:
        """R and r of tasks, weights and pulls of those that select unknowns; what tasks ask for, without weights."""
        import casadi

        from ...equations.symbols import stack, zeros

        n = self.layout.unknowns
        R, r, asked = [zeros(0, n)], [zeros(0, 1)], [zeros(0, 1)]
        for task in self.layout.soft:
            rows, wanted, gains = self._rows_of(task)
            asked.append(self._asked[task.label])
            R.append(casadi.diag(gains.root_weight) @ rows)
            r.append(gains.root_weight * wanted)
        weights, pulls = zeros(n), zeros(n)
        for task in self.items.tasks:
            if self.layout.diagonal(task):
                _, wanted, gains = self._rows_of(task)
                at = self._unknowns_of(task)
                weights[at] += gains.root_weight**2
                pulls[at] += gains.root_weight**2 * wanted
        return {"R": stack(*R), "r": stack(*r), "weights": weights, "pulls": pulls, "asked": stack(*asked)}

    def _unknowns_of(self, task: Task) -> list[int]:
        """Which unknowns the rows of a task select."""
        chosen = np.asarray(task.selects(self.context))
        if self.context.level != "torque":
            return chosen.tolist()
        places = np.arange(self.layout.unknowns)[self.context.motor_unknowns]
        return places[np.searchsorted(self.context.motors, chosen)].tolist()

    # --- rows ---------------------------------------------------------------------------------------------------------

    def equalities(self) -> dict[str, SX]:
        """(E, e): contacts do not move, and slip is undone; hard tasks; equations of motion that were not
        eliminated."""
        from ...equations.symbols import stack, zeros

        E, e = [zeros(0, self.layout.unknowns)], [zeros(0, 1)]
        for contact in self.items.contacts:
            terms, numbers = self.contacts[contact.label], self._numbers(contact)
            J, rate, drift = self.scene.contact_motion(contact.frame, terms)
            got = self.scene.motion(J, drift)
            if self.context.level == "velocity":
                # the rate whose square the stiffness is, for the usual damping
                wanted = numbers.damping / 2 * terms.error
            else:
                wanted = numbers.stiffness * terms.error - numbers.damping * rate
            E.append(got.matrix)
            e.append(wanted - got.offset)
        for task in self.layout.hard:
            rows, wanted, _ = self._rows_of(task)
            E.append(rows)
            e.append(wanted)
        equations = self.scene.equations
        return {"E": stack(*E, equations.matrix), "e": stack(*e, -equations.offset)}

    def inequalities(self) -> dict[str, SX]:
        """A with its bounds: cones and normal forces of contacts, then constraints; margins with their rates."""
        from ...equations.symbols import stack, zeros

        A, lower, upper = [zeros(0, self.layout.unknowns)], [zeros(0, 1)], [zeros(0, 1)]
        margins, rates = [zeros(0, 1)], [zeros(0, 1)]
        if self.context.level == "torque":
            for contact in self.items.contacts:
                self._cone(A, lower, upper, contact)
        for constraint in self.items.constraints:
            if constraint.label in self.layout.reserves:
                continue
            bounded = constraint.rows(self.scene, self._numbers(constraint))
            self._require(constraint, bounded, len(constraint.row_names(self.context)))
            A.append(bounded.rows.matrix)
            lower.append(bounded.lower - bounded.rows.offset)
            upper.append(bounded.upper - bounded.rows.offset)
            if constraint.has_margins and bounded.margin is not None and bounded.rate is not None:
                margins.append(bounded.margin)
                rates.append(bounded.rate)
        made = {"A": stack(*A), "lower": stack(*lower), "upper": stack(*upper)}
        return made | {"margins": stack(*margins), "rates": stack(*rates)}

    def _cone(self, A: list[SX], lower: list[SX], upper: list[SX], contact: Any) -> None:
        from ...equations.symbols import constant, stack, zeros

        terms, numbers = self.contacts[contact.label], self._numbers(contact)
        force = self.scene.force(contact.label).matrix
        count = terms.cone.shape[0]
        A.append(stack(terms.cone @ force, force[contact.normal_at_row, :]))
        lower.append(stack(constant(np.full(count, -np.inf)), numbers.min_force))
        upper.append(stack(zeros(count), numbers.max_force))

    def _require(self, item: Item, bounded: BoundedRows, m: int) -> None:
        got = [bounded.rows.matrix.shape[0], bounded.lower.shape[0], bounded.upper.shape[0]]
        if any(k != m for k in got):
            raise TaskError(
                f"{item.label}: row_names() names {m} rows, rows() gives {got[0]} with {got[1]} and {got[2]} bounds"
            )

    # --- all together -------------------------------------------------------------------------------------------------

    def outputs(self) -> dict[str, SX]:
        """What the kernel gives; see the module and `Layout`."""
        import casadi

        from ...equations.symbols import beside, stack, zeros

        made = self.cost() | self.equalities() | self.inequalities()
        terms = [self._terms[t.label] for t in self.items.tasks if t.has_error]
        errors = [term.error for term in terms if isinstance(term, Terms)]
        made["errors"] = stack(zeros(0, 1), *errors)
        made["slips"] = stack(zeros(0, 1), *(casadi.mmax(casadi.fabs(terms.error)) for terms in self.contacts.values()))
        if self.context.level == "torque":
            passive, a, tau = self.context.passive.tolist(), self.scene.acceleration, self.scene.torque
            made |= {"B": a.matrix[passive, :], "b": a.offset[passive], "T": tau.matrix, "t": tau.offset}
            made["wrench_maps"] = beside(zeros(6, 0), *(terms.N for terms in self.contacts.values()))
        return made

    def program(self) -> Program:
        """Everything that has entries, traced."""
        from ...machine.trace import trace

        outputs = {name: value for name, value in self.outputs().items() if value.shape[0] and value.shape[1]}
        matrices = ("R", "E", "A", "B", "T", "wrench_maps")
        shapes = {name: (value.shape[0],) for name, value in outputs.items() if name not in matrices}
        inputs, quaternions = {"q": self.scene.q, "v": self.scene.v, "p": self.p}, self.context.robot.tree.quaternions
        name = f"control {self.context.robot.name}"
        return trace(name, inputs, outputs, shapes=shapes, quaternions=[(0, k) for k in quaternions])
