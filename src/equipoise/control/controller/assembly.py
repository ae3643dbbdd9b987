"""One fused kernel per controller: from (q, v, parameters) to the quadratic program of this step.

Unknowns x by level: velocities v; accelerations a; joint accelerations and contact forces (ȧ_j, λ). At torque level two
equations of motion are used up before the solver sees the problem. The base rows give the base acceleration (M_bb is always
invertible), the joint rows the torques:

    a_b = M_bb⁻¹ (Σ N_bᵀ λ − h_b − M_bj a_j),      τ = M_jb a_b + M_jj a_j + h_j − Σ J_jᵀ N λ,

so a = B x + b and τ = T x + t. What is left is  ½|R x − r|² + ½ Σ d (x − x_to)²  subject to  E x = e (contacts hold) and
lower ≤ A x ≤ upper (torques, friction, limits, barriers). Rows of A that are the same in all steps are written by the kernel
as constants: the solver gets one array.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ...machine.program import Program
from ..constraints import BarrierConstraint, JointLimits, MomentumLimits
from ..contacts import Contact
from ..safety.limits import acceleration_interval, velocity_bounds
from ..safety.piecewise import symbols as piecewise_symbols
from ..safety.vfi import second_order_bound
from ..tasks import ForceTask, PostureTask, Task, TorqueTask

if TYPE_CHECKING:
    from ...equations.symbols import SX
    from ...robot import Robot
    from .scene import Scene

Array = np.ndarray
ANCHOR = 12  # rotation and place of a contact's frame
CONTACT_SETTINGS = 4  # stiffness, damping, least and largest normal force


@dataclass
class Layout:
    """Where everything is: numbers among the parameters, unknowns, rows and their names."""

    level: str
    nv: int
    joints: int  # actuated velocities, the last of v
    floating: bool
    dt: float
    parameters: dict[Any, slice] = field(default_factory=dict)
    size: int = 0  # of the parameters
    forces: dict[str, slice] = field(default_factory=dict)  # of each contact, in x
    contact_rows: dict[str, slice] = field(default_factory=dict)  # in E
    hard_rows: list[str] = field(default_factory=list)  # names of rows of E behind those of the contacts
    hard_slices: dict[str, slice] = field(default_factory=dict)  # of each hard task, among those rows
    rows: list[str] = field(default_factory=list)  # names of the rows of A
    row_slices: dict[str, slice] = field(default_factory=dict)  # of each item, in A
    task_rows: dict[str, slice] = field(default_factory=dict)  # in R
    diagonal_tasks: list[str] = field(default_factory=list)
    error_slices: dict[str, slice] = field(default_factory=dict)
    margin_slices: dict[str, slice] = field(default_factory=dict)

    @property
    def first(self) -> int:
        """Where joints begin in v."""
        return self.nv - self.joints

    @property
    def unknowns(self) -> int:
        if self.level != "torque":
            return self.nv
        return self.joints + sum(s.stop - s.start for s in self.forces.values())

    def reserve(self, key: Any, count: int) -> slice:
        place = slice(self.size, self.size + count)
        self.parameters[key] = place
        self.size += count
        return place


@dataclass(frozen=True)
class Items:
    """What a controller was given."""

    tasks: tuple[Task, ...]
    contacts: tuple[Contact, ...]
    constraints: tuple[Any, ...]

    @property
    def motions(self) -> tuple[Task, ...]:
        """Tasks that speak of motion and get rows of their own."""
        return tuple(t for t in self.tasks if not isinstance(t, ForceTask | TorqueTask) and t not in self.postures)

    @property
    def postures(self) -> tuple[PostureTask, ...]:
        """Postures that are sums of squares of unknowns: those of the last priority. Others are rows like any task."""
        soft = tuple(t for t in self.tasks if isinstance(t, PostureTask) and not t.hard)
        return tuple(t for t in soft if t.priority == max(other.priority for other in soft))

    @property
    def barriers(self) -> tuple[BarrierConstraint, ...]:
        return tuple(c for c in self.constraints if isinstance(c, BarrierConstraint))

    def of(self, kind: type) -> list[Any]:
        return [c for c in self.constraints if isinstance(c, kind)]


def laid_out(robot: Robot, items: Items, level: str, dt: float) -> Layout:
    """Reserve a place for every number."""
    first = 6 if robot.floating else 0
    layout = Layout(level, robot.nv, robot.nv - first, robot.floating, dt)
    start = layout.joints
    for contact in items.contacts:
        layout.reserve(("anchor", contact.label), ANCHOR)
        layout.reserve(("contact", contact.label), len(contact.numbers()) + CONTACT_SETTINGS)
        if level == "torque":
            layout.forces[contact.label] = slice(start, start + contact.size)
            start += contact.size
        rows = sum(s.stop - s.start for s in layout.contact_rows.values())
        layout.contact_rows[contact.label] = slice(rows, rows + contact.size)
    for task in (*items.motions, *items.postures):
        here = (None if task.here(robot, robot.neutral()) is None else task.here(robot, robot.neutral()), None, None)
        layout.reserve(("settings", task.label), len(task.settings(robot, level)))
        layout.reserve(("reference", task.label), len(task.reference(robot, here)))
    for constraint in items.barriers:
        layout.reserve(("barrier", constraint.label), len(constraint.numbers(robot, 0.0)))
    if level == "torque":
        layout.reserve("torque limits", layout.joints)
    return layout


@dataclass
class _Rows:
    """Rows of A as they are collected."""

    A: list[Any] = field(default_factory=list)
    lower: list[Any] = field(default_factory=list)
    upper: list[Any] = field(default_factory=list)

    def add(self, layout: Layout, key: str, names: Sequence[str], A: Any, lower: Any, upper: Any) -> None:
        start = len(layout.rows)
        layout.rows.extend(names)
        layout.row_slices[key] = slice(start, len(layout.rows))
        self.A.append(A)
        self.lower.append(lower)
        self.upper.append(upper)


class Assembly:
    """Writes the program of one controller on symbols."""

    def __init__(self, robot: Robot, items: Items, layout: Layout) -> None:
        from ...equations.symbols import SX
        from .scene import Scene

        self.robot, self.items, self.layout = robot, items, layout
        self.scene: Scene = Scene(robot)
        self.p: SX = SX.sym("p", max(layout.size, 1))
        self.contacts = [c.terms(self.scene, self._p(("anchor", c.label)), self._p(("contact", c.label))) for c in items.contacts]
        self.B, self.b, self.T, self.t = self._dynamics()
        self.hard: list[tuple[SX, SX]] = []  # rows of tasks that must hold

    def _p(self, key: Any) -> SX:
        return self.p[self.layout.parameters[key]]

    # --- equations of motion ------------------------------------------------------------------------------------------

    def _dynamics(self) -> tuple[SX, SX, SX, SX]:
        """(B, b, T, t) with a = B x + b, or v = x, and τ = T x + t."""
        from ...equations.symbols import SX, beside, solve_positive_definite, stack, zeros

        layout, scene = self.layout, self.scene
        nv, n, first = layout.nv, layout.joints, layout.first
        if layout.level != "torque":
            return SX.eye(nv), zeros(nv), zeros(0, nv), zeros(0)
        M, h = scene.mass_matrix, scene.bias_force
        push = beside(
            zeros(nv, 0), *(scene.jacobian(c.frame).T @ t.N for c, t in zip(self.items.contacts, self.contacts, strict=True))
        )
        eye = beside(SX.eye(n), zeros(n, push.shape[1]))
        if not layout.floating:
            return eye, zeros(n), beside(M, -push), h
        solved = solve_positive_definite(M[:first, :first], beside(-M[:first, first:], push[:first, :], -h[:first]))
        B_b, b_b = solved[:, :-1], solved[:, -1]
        T = M[first:, :first] @ B_b + beside(M[first:, first:], -push[first:, :])
        return stack(B_b, eye), stack(b_b, zeros(n)), T, h[first:] + M[first:, :first] @ b_b

    def _on_x(self, J: SX, drift: SX) -> tuple[SX, SX]:
        """J a + drift, or J v, as (rows, constant) of x."""
        return J @ self.B, (J @ self.b + drift if self.layout.level != "velocity" else 0 * drift)

    def _momentum_rate(self) -> tuple[SX, SX]:
        """Rate of momentum about the centre of mass from the contact forces: (rows, constant) of x."""
        from ...equations.symbols import beside, constant, cross, stack, zeros

        blocks = [zeros(6, self.layout.joints)]
        for contact, terms in zip(self.items.contacts, self.contacts, strict=True):
            _, place = self.scene.pose(contact.frame)
            arm = place - self.scene.com
            blocks.append(stack(terms.N[:3, :], terms.N[3:, :] + cross(arm, terms.N[:3, :])))
        weight = self.robot.mass * np.asarray(self.robot.model.gravity)
        return beside(*blocks), stack(constant(weight), zeros(3))

    # --- rows ---------------------------------------------------------------------------------------------------------

    def tasks(self) -> tuple[SX, SX, SX]:
        """(R, r, errors) of all tasks of motion, force and torque."""
        from ...equations.symbols import stack, zeros

        layout, n = self.layout, self.layout.unknowns
        R, r, errors = [zeros(0, n)], [zeros(0, 1)], [zeros(0, 1)]
        for task in self.items.motions:
            terms = task.terms(self.scene, self._p(("reference", task.label)))
            k = task.rows(self.robot)
            settings = self._p(("settings", task.label))
            if terms.share is not None and layout.level == "torque" and layout.floating:
                rows, rest = self._momentum_rate()
                rows, rest = terms.share @ rows, terms.share @ rest
            else:
                rows, rest = self._on_x(terms.J, terms.drift)
            wanted = _wanted(layout.level, terms, settings) - rest
            self._add_task(R, r, task, settings[:k], rows, wanted)
            layout.error_slices[task.label] = _next(errors, terms.error)
        self._force_tasks(R, r)
        return stack(*R), stack(*r), stack(*errors)

    def _add_task(self, R: list[SX], r: list[SX], task: Task, root_weight: SX, rows: SX, wanted: SX) -> None:
        """Rows of the cost; or, of a hard task, of the equalities."""
        import casadi

        layout, k = self.layout, rows.shape[0]
        if task.hard:
            self.hard.append((rows, wanted))
            layout.hard_slices[task.label] = slice(len(layout.hard_rows), len(layout.hard_rows) + k)
            layout.hard_rows += [f"{task.label} task"] * k
            return
        start = sum(block.shape[0] for block in R)
        layout.task_rows[task.label] = slice(start, start + k)
        R.append(casadi.diag(root_weight) @ rows)
        r.append(root_weight * wanted)

    def _force_tasks(self, R: list[SX], r: list[SX]) -> None:
        """Tasks on forces and torques: their numbers are constants of the kernel."""
        from ...equations.symbols import SX, constant

        n = self.layout.unknowns
        for task in self.items.tasks:
            if isinstance(task, ForceTask):
                at = self.layout.forces[task.contact]
                rows, wanted = SX.eye(n)[at, :], constant(task.wanted(at.stop - at.start))
            elif isinstance(task, TorqueTask):
                rows, wanted = self.T, constant(task.wanted(self.layout.joints)) - self.t
            else:
                continue
            roots = constant(np.sqrt(task._column("weight", task.weight, rows.shape[0])))
            self._add_task(R, r, task, roots, rows, wanted)

    def postures(self) -> tuple[SX, SX]:
        """(weights, weights · wanted) of the unknowns themselves; postures are sums of squares of single unknowns."""
        from ...equations.symbols import stack, zeros

        layout = self.layout
        weights, pulls = zeros(layout.joints), zeros(layout.joints)
        for task in self.items.postures:
            terms = task.terms(self.scene, self._p(("reference", task.label)))
            settings, k = self._p(("settings", task.label)), layout.joints
            weight = settings[:k] ** 2
            weights += weight
            pulls += weight * _wanted(layout.level, terms, settings)
            layout.diagonal_tasks.append(task.label)
        before = zeros(0 if layout.level == "torque" else layout.first)
        after = zeros(layout.unknowns - layout.joints) if layout.level == "torque" else zeros(0)
        return stack(before, weights, after), stack(before, pulls, after)

    def contact_rows(self) -> tuple[SX, SX]:
        """(E, e): contacts do not move, and slip is undone."""
        from ...equations.symbols import stack, zeros

        E, e = [zeros(0, self.layout.unknowns)], [zeros(0, 1)]
        for contact, terms in zip(self.items.contacts, self.contacts, strict=True):
            stiffness, damping = self._contact_settings(contact)[:2]
            J = terms.S.T @ self.scene.jacobian(contact.frame)
            if self.layout.level == "velocity":
                E.append(J)
                e.append(damping / 2 * terms.error)  # the rate whose square the stiffness is, for the usual damping
                continue
            V, drift = self.scene.twist(contact.frame), self.scene.drift(contact.frame)
            rows, rest = self._on_x(J, terms.S.T @ drift + terms.S_dot_V)
            E.append(rows)
            e.append(stiffness * terms.error - damping * (terms.S.T @ V) - rest)
        return stack(*E, *(rows for rows, _ in self.hard)), stack(*e, *(wanted for _, wanted in self.hard))

    def slips(self) -> SX:
        """Largest entry of each contact's slip."""
        import casadi

        from ...equations.symbols import stack, zeros

        return stack(zeros(0, 1), *(casadi.mmax(casadi.fabs(terms.error)) for terms in self.contacts))

    def _contact_settings(self, contact: Contact) -> list[SX]:
        numbers = self._p(("contact", contact.label))
        return [numbers[-k] for k in (4, 3, 2, 1)]

    def inequalities(self) -> tuple[SX, SX, SX, SX, SX]:
        """(A, lower, upper, d and ḋ of the barriers)."""
        from ...equations.symbols import stack, zeros

        rows = _Rows()
        if self.layout.level == "torque":
            self._torque_rows(rows)
            self._friction_rows(rows)
        for limits in self.items.of(JointLimits):
            self._joint_rows(rows, limits)
        for limits in self.items.of(MomentumLimits):
            self._momentum_rows(rows, limits)
        none = zeros(0, 1)
        margins, rates = [none], [none]
        for constraint in self.items.barriers:
            self._barrier_rows(rows, margins, rates, constraint)
        bounds = stack(none, *rows.lower), stack(none, *rows.upper)
        return stack(zeros(0, self.layout.unknowns), *rows.A), *bounds, stack(*margins), stack(*rates)

    def _torque_rows(self, rows: _Rows) -> None:
        largest = self._p("torque limits")
        names = [f"torque limit of {name}" for name in _rate_names(self.robot)]
        rows.add(self.layout, "torque", names, self.T, -largest - self.t, largest - self.t)

    def _friction_rows(self, rows: _Rows) -> None:
        from ...equations.symbols import SX, constant, stack

        eye = SX.eye(self.layout.unknowns)
        for contact in self.items.contacts:
            at = self.layout.forces[contact.label]
            least, most = self._contact_settings(contact)[2:]
            G = constant(contact.cone)
            k = G.shape[0]
            names = [*contact.cone_names, f"{contact.label} normal force"]
            low = stack(constant(np.full(k, -np.inf)), least)
            A = stack(G, constant(contact.normal_force[None])) @ eye[at, :]
            rows.add(self.layout, f"contact {contact.label}", names, A, low, stack(SX(k, 1), most))

    def _joint_rows(self, rows: _Rows, limits: JointLimits) -> None:
        from ...equations.symbols import SX, constant, zeros

        layout, m = self.layout, piecewise_symbols()
        lower, upper, velocity, acceleration = map(constant, limits.limits(self.robot, layout.dt))
        first = layout.first
        place = _positions(self.robot, self.scene.q, zeros(self.robot.nv))[first:]
        v = self.scene.v[first:]
        if layout.level == "velocity":
            low, high = velocity_bounds(place, lower, upper, velocity, layout.dt, m=m)
        else:
            low, high = acceleration_interval(place, v, lower, upper, velocity, acceleration, layout.dt, m=m)
        start = 0 if layout.level == "torque" else first
        A = SX.eye(layout.unknowns)[start : start + layout.joints, :]
        rows.add(layout, limits.label, [f"{limits.label} of {name}" for name in _rate_names(self.robot)], A, low, high)

    def _momentum_rows(self, rows: _Rows, limits: MomentumLimits) -> None:
        """Momentum after the step: A v at velocity level, A v + dt (A a + Ȧ v) else. From outside it comes back at a rate."""
        from ...equations.symbols import constant

        scene, dt, m = self.scene, self.layout.dt, piecewise_symbols()
        at = [k for k in range(6) if np.isfinite(limits.largest()[k])]
        matrix, bound = scene.momentum_matrix[at, :], constant(limits.largest()[at])
        A, rest = self._on_x(matrix, scene.momentum_drift[at, :])
        names = [f"{limits.label} ({'xyz'[k % 3]}, {'linear' if k < 3 else 'angular'})" for k in at]
        now = matrix @ scene.v
        back = max(0.0, 1 - limits.rate * dt) * now
        low, high = m.smaller(-bound, back), m.larger(bound, back)
        if self.layout.level == "velocity":
            rows.add(self.layout, limits.label, names, A, low, high)
        else:
            rows.add(self.layout, limits.label, names, dt * A, low - now - dt * rest, high - now - dt * rest)

    def _barrier_rows(self, rows: _Rows, margins: list[SX], rates: list[SX], constraint: BarrierConstraint) -> None:
        from ...equations.symbols import constant

        layout, g = self.layout, constraint.gains
        barrier = constraint.barrier(self.scene, self._p(("barrier", constraint.label)))
        A, rest = self._on_x(barrier.J, barrier.drift)
        if layout.level == "velocity":
            low = -g.slow * barrier.d + constraint.jump * layout.dt / 2 - barrier.residual
        else:
            bound = second_order_bound(
                barrier.d, barrier.rate, g, layout.dt, variation=constraint.variation, jump=constraint.jump,
                braking=constraint.braking, m=piecewise_symbols(),
            )  # fmt: skip
            low = bound - rest
        names = constraint.row_names(self.robot)
        if len(names) != barrier.d.shape[0]:
            names = [constraint.label] * barrier.d.shape[0]
        rows.add(layout, constraint.label, names, A, low, constant(np.full(len(names), np.inf)))
        layout.margin_slices[constraint.label] = _next(margins, barrier.d)
        rates.append(barrier.rate)

    # --- all together ---------------------------------------------------------------------------------------------------

    def outputs(self) -> dict[str, SX]:
        R, r, errors = self.tasks()
        weights, pulls = self.postures()
        E, e = self.contact_rows()
        A, lower, upper, margins, rates = self.inequalities()
        made = {"R": R, "r": r, "weights": weights, "pulls": pulls, "E": E, "e": e, "A": A, "lower": lower, "upper": upper}
        first = self.layout.first if self.layout.level == "torque" else 0
        made |= {"B": self.B[:first, :], "b": self.b[:first], "errors": errors, "margins": margins, "rates": rates}
        return made | {"t": self.t, "slips": self.slips()}

    def program(self) -> Program:
        """Everything that has entries, traced."""
        from ...machine.trace import trace

        outputs = {name: value for name, value in self.outputs().items() if value.shape[0] and value.shape[1]}
        shapes = {name: (value.shape[0],) for name, value in outputs.items() if name not in ("R", "E", "A", "B")}
        inputs, quaternions = {"q": self.scene.q, "v": self.scene.v, "p": self.p}, self.robot.tree.quaternions
        return trace(f"control {self.robot.name}", inputs, outputs, shapes=shapes, quaternions=[(0, k) for k in quaternions])


def _wanted(level: str, terms: Any, settings: SX) -> SX:
    """The velocity or acceleration that the task asks for."""
    k = terms.error.shape[0]
    on_error, damping = settings[k : 2 * k], settings[2 * k : 3 * k]
    if level == "velocity":
        return terms.rate_to + on_error * terms.error
    return terms.acceleration_to + damping * (terms.rate_to - terms.rate) + on_error * terms.error


def _next(parts: list[Any], part: Any) -> slice:
    start = sum(p.shape[0] for p in parts)
    parts.append(part)
    return slice(start, start + part.shape[0])


def _positions(robot: Robot, q: Any, place: Any) -> Any:
    """Joint positions in the places of their rates; `place` stays as it is where a joint has no single position."""
    for joint in robot.joints.values():
        if joint.mimic is None and joint.type.nq == 1:
            place[joint.v] = q[joint.q]
    return place


def _positions_at(robot: Robot, q: Array) -> Array:
    """The same of numbers."""
    return _positions(robot, q, np.zeros(robot.nv))


def _rate_names(robot: Robot) -> list[str]:
    """The joint of each actuated velocity, in order."""
    first = 6 if robot.floating else 0
    names = [""] * robot.nv
    for joint in robot.joints.values():
        if joint.mimic is None:
            for k in range(joint.v.start, joint.v.stop):
                names[k] = joint.name
    return names[first:]
