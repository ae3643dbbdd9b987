"""The whole-body controller: tasks, contacts and constraints, one quadratic program per step.

    controller = eq.WholeBodyController(robot, tasks, contacts, constraints)
    solution = controller(t, q, v)          # .torque .acceleration .forces .status .explain()

Nothing raises in the loop: a step that cannot be solved as stated lets constraints give way in the order of their ranks, and
what cannot be solved at all holds the joints with damping. Every step is counted by its status.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from ...algebra.arrays import finite
from ...errors import EquipoiseError, ShapeError, unknown_name
from ...machine.target import NOT_UNIT, QUATERNION_TOLERANCE
from .. import qp
from ..constraints import LEVELS, SelfCollision, TorqueLimits, check_level
from ..contacts import Contact
from ..qp import CompiledSolver, Result, Status
from ..tasks import ForceTask, Numbers, Task, TaskError, TorqueTask, moment
from .assembly import Items
from .kept import assembled
from .near_rows import near_rows
from .snapshot import Snapshot
from .solution import ControlStatus, Solution, counted
from .starts import start_report

if TYPE_CHECKING:
    from ...robot import Robot

Array = np.ndarray
PRIORITIES = ("weighted", "strict")
CONTROL_STATUS = {
    Status.OPTIMAL: ControlStatus.OPTIMAL,
    Status.RELAXED: ControlStatus.RELAXED,
    Status.INACCURATE: ControlStatus.INACCURATE,
    Status.ITERATION_LIMIT: ControlStatus.INACCURATE,
}


class WholeBodyController:
    """Called with (t, q, v), answers a `Solution`.

    Args:
        tasks: what to do; priorities are those of the tasks.
        contacts: where the robot touches. All are in force until `set_contacts` says otherwise.
        constraints: what must hold.
        level: "torque", "acceleration" or "velocity": which quantity is commanded.
        priorities: "weighted" (all tasks in one sum of squares) or "strict" (each priority exactly, within those before it).
        dt: s, the step at which it will be called; barriers and limits are proven for it.
        force_weight: of the squares of the unknown contact forces, 1/N²; makes them unique.
        motion_weight: of the squares of the unknown accelerations or velocities, for those that no task determines.
        hold_damping: of the fallback, N m s per rad, beside the last good torques; at acceleration level 1/s, all alone.
        slip_limit: m or rad; a contact that slipped farther is lost: it is taken out, and said so.

    Attributes:
        counts: how many steps ended in each status, were at limits, and how many contacts were lost and targets refused.
        start_report: what cannot be promised from where the robot was at the first call, one sentence each.
    """

    def __init__(
        self,
        robot: Robot,
        tasks: Sequence[Task],
        contacts: Sequence[Contact] = (),
        constraints: Sequence[Any] = (),
        level: str = "torque",
        priorities: str = "weighted",
        *,
        dt: float = 1e-3,
        force_weight: float = 1e-6,
        motion_weight: float = 1e-6,
        hold_damping: float = 5.0,
        slip_limit: float = 0.05,
    ) -> None:
        if level not in LEVELS:
            raise unknown_name("level", level, LEVELS)
        if priorities not in PRIORITIES:
            raise unknown_name("kind of priorities", priorities, PRIORITIES)
        if not (isfinite(dt) and dt > 0):
            raise TaskError(f"the step dt must be positive, got {dt!r}")
        self.robot, self.level, self.priorities, self.dt = robot, level, priorities, dt
        self.hold_damping, self.slip_limit = hold_damping, slip_limit
        self.items = Items(tuple(tasks), tuple(contacts), tuple(constraints))
        self._check()
        self.layout, self._kernel = assembled(robot, self.items, level, dt)
        self._sizes = {output.name: output.shape for output in self._kernel.program.outputs}
        self._near = near_rows(robot, self.items.constraints, self.layout)
        self._regular = self._regularisation(motion_weight, force_weight)
        self._rows = self._row_names()
        self._allocate()
        self._targets = {task.label: getattr(task, "target", None) for task in (*self.items.motions, *self.items.postures)}
        self._fill_settings()
        self.counts = counted()
        self.reset()

    # --- before the loop ------------------------------------------------------------------------------------------------

    def _check(self) -> None:
        for item in (*self.items.tasks, *self.items.constraints):
            check_level(item, self.level)
        named = [item.label for item in (*self.items.tasks, *self.items.contacts, *self.items.constraints)]
        twice = sorted({name for name in named if named.count(name) > 1})
        if twice:
            raise TaskError(f"two items are called {twice[0]!r}; give each a name of its own (name=…)")
        for item in (*self.items.tasks, *self.items.contacts, *self.items.constraints):
            item.check(self.robot)
        contacts = {contact.label: contact for contact in self.items.contacts}
        for task in self.items.tasks:
            if isinstance(task, ForceTask):
                if task.contact not in contacts:
                    raise unknown_name("contact", task.contact, contacts)
                task.wanted(contacts[task.contact].size)
            elif isinstance(task, TorqueTask):
                task.wanted(self.robot.nv - (6 if self.robot.floating else 0))
            else:
                task.check_target(self.robot, getattr(task, "target", None))
        for constraint in (*self.items.barriers, *self.items.of(SelfCollision)):
            constraint.gains.require_step(self.dt)

    def _regularisation(self, motion_weight: float, force_weight: float) -> Array:
        if not (motion_weight > 0 and force_weight > 0):
            raise TaskError("motion_weight and force_weight must be positive: they make the answer unique")
        weights = np.full(self.layout.unknowns, float(motion_weight))
        for place in self.layout.forces.values():
            weights[place] = force_weight
        return weights

    @property
    def regularisation(self) -> Array:
        """Weights of the squares of the unknowns that no task asked for: nothing else is hidden in the cost."""
        return self._regular.copy()

    def _row_names(self) -> tuple[str, ...]:
        names = []
        for contact in self.items.contacts:
            names += [f"{contact.label} holds"] * contact.size
        return (*names, *self.layout.hard_rows, *self.layout.rows)

    def _in_order(self) -> tuple[list[list[int]], int]:
        """Of each priority its rows of R, and the number of the one with the postures."""
        levels: list[list[int]] = []
        diagonal = -1
        for rank in sorted({task.priority for task in self.items.tasks if not task.hard}):
            labels = [task.label for task in self.items.tasks if task.priority == rank and not task.hard]
            if any(label in self.layout.diagonal_tasks for label in labels):
                diagonal = len(levels)
            levels.append([k for label in labels for k in _range(self.layout.task_rows.get(label))])
        levels = levels or [[]]
        return levels, diagonal if diagonal >= 0 else len(levels) - 1

    def _classes(self) -> tuple[list[int], list[int]]:
        """Relaxation classes of the rows of E and A: contacts that should hold last, by rank before them, hard tasks first."""
        ranks = sorted({c.rank for c in self.items.constraints if c.rank > 0})
        of_rank = {rank: 2 + k for k, rank in enumerate(ranks)}
        contacts = sum(contact.size for contact in self.items.contacts)
        E = [1] * contacts + [2 + len(ranks)] * len(self.layout.hard_rows)
        A = [0] * len(self.layout.rows)
        for constraint in self.items.constraints:
            for k in _range(self.layout.row_slices.get(constraint.label)):
                A[k] = of_rank.get(constraint.rank, 0)
        for extra in self._near:
            A += [of_rank.get(extra.constraint.rank, 0)] * extra.count
        return E, A

    def _fill_settings(self) -> None:
        for task in (*self.items.motions, *self.items.postures):
            self._p[self.layout.parameters["settings", task.label]] = task.settings(self.robot, self.level)
        for contact in self.items.contacts:
            most = contact.max_force
            settings = [*contact.numbers(), contact.stiffness, contact.damping, contact.min_force, most]
            self._p[self.layout.parameters["contact", contact.label]] = settings
        for constraint in self.items.barriers:
            self._p[self.layout.parameters["barrier", constraint.label]] = constraint.numbers(self.robot, 0.0)
        if self.level == "torque":
            limits = self.items.of(TorqueLimits)
            largest = np.min([c.largest(self.robot) for c in limits], axis=0) if limits else np.inf
            self._p[self.layout.parameters["torque limits"]] = largest

    def _allocate(self) -> None:
        """Memory, once: the kernel writes where the solver reads."""
        rows = {name: self._sizes.get(name, (0,))[0] for name in ("R", "E", "A")}
        near = sum(extra.count for extra in self._near)
        strict = self.priorities == "strict"
        levels, diagonal = self._in_order() if strict else ([rows["R"]], 0)
        classes_E, classes_A = self._classes()
        self._solver = CompiledSolver(
            self.layout.unknowns, levels, diagonal=diagonal, n_E=rows["E"], n_A=rows["A"] + near, strict=strict,
            classes_E=classes_E, classes_A=classes_A, regularisation=self._regular,
        )  # fmt: skip
        self._q, self._v = np.zeros(self.robot.nq), np.zeros(self.robot.nv)
        self._p = np.zeros(max(self.layout.size, 1))
        shared = self._solver.data
        self._data = {
            name: shared[name][: shape[0]] if name in shared else np.zeros(shape) for name, shape in self._sizes.items()
        }
        self._evaluate = self._kernel.bound((self._q, self._v, self._p), list(self._data.values()))

    def reset(self) -> None:
        """Forget where the robot was: targets of None and contacts are taken anew at the next call; counts stay."""
        self._started = False
        self.start_report: tuple[str, ...] = ()
        self._anchor_next: set[str] = set()
        self._functions: list[tuple[Task, Any, slice]] = []
        self._contacts = {contact.label for contact in self.items.contacts}
        self._select()
        self._last_torque = np.zeros(self.robot.nv)
        self._moving = [c for c in self.items.barriers if c.moving]

    def _forget(self) -> None:
        self._solver.forget()
        for extra in self._near:
            extra.forget()

    @property
    def contacts(self) -> tuple[Contact, ...]:
        """All contacts it knows, in force or not."""
        return self.items.contacts

    # --- while it runs --------------------------------------------------------------------------------------------------

    def set_target(self, name: str, target: Any) -> None:
        """Give a task another target from now on; None for where it is."""
        tasks = {task.label: task for task in (*self.items.motions, *self.items.postures)}
        if name not in tasks:
            raise unknown_name("task", name, tasks)
        tasks[name].check_target(self.robot, target)
        self._targets[name] = target
        if self._started:
            self._place_target(tasks[name], target, None)

    def set_contacts(self, names: Sequence[str], q: Array | None = None) -> None:
        """Which contacts are in force from now on; new ones are anchored at q, or where they are at the next call."""
        known = {contact.label: contact for contact in self.items.contacts}
        for name in names:
            if name not in known:
                raise unknown_name("contact", name, known)
        new = set(names) - self._contacts
        self._contacts = set(names)
        self._select()
        if q is None:
            self._anchor_next |= new
            return
        for name in new:
            self._anchor(known[name], q)
        self._anchor_next -= new

    def set_force_bounds(self, contact: str, least: float, most: float) -> None:
        """Bounds of a contact's normal force from now on, N: how load is shifted smoothly."""
        key = ("contact", contact)
        if key not in self.layout.parameters:
            raise unknown_name("contact", contact, [c.label for c in self.items.contacts])
        if not least <= most:
            raise TaskError(f"{contact}: the least normal force, {least!r}, must not exceed the largest, {most!r}")
        place = self.layout.parameters[key]
        self._p[place.stop - 2 : place.stop] = least, most

    def set_weight(self, name: str, weight: Any) -> None:
        """Give a task another weight from now on."""
        tasks = {task.label: task for task in (*self.items.motions, *self.items.postures)}
        if name not in tasks:
            raise unknown_name("task", name, tasks)
        n = tasks[name].rows(self.robot)
        start = self.layout.parameters["settings", name].start
        self._p[start : start + n] = np.sqrt(tasks[name]._column("weight", weight, n))

    def _select(self) -> None:
        """Unknowns, rows of E and rows of A that are left when some contacts are not in force."""
        self._columns: tuple[Array, Array, Array] | None = None
        if self._contacts != {contact.label for contact in self.items.contacts}:
            layout = self.layout
            x, E, A = (np.ones(n, bool) for n in (layout.unknowns, self._solver.n_E, self._solver.n_A))
            for contact in self.items.contacts:
                if contact.label not in self._contacts:
                    E[layout.contact_rows[contact.label]] = False
                    E[self._hard_rows_on(contact)] = False
                    if self.level == "torque":
                        x[layout.forces[contact.label]] = False
                        A[layout.row_slices[f"contact {contact.label}"]] = False
            self._columns = x.nonzero()[0], E.nonzero()[0], A.nonzero()[0]
        self._solver.select(*(self._columns or (None, None, None)))
        self._forget()

    def _hard_rows_on(self, contact: Contact) -> list[int]:
        """Rows of E that ask for forces of a contact, which has none when it is not in force."""
        tasks = [t.label for t in self.items.tasks if isinstance(t, ForceTask) and t.contact == contact.label]
        before = len(self._rows) - len(self.layout.rows) - len(self.layout.hard_rows)
        return [before + k for label in tasks for k in _range(self.layout.hard_slices.get(label))]

    def _start(self) -> None:
        q = self._q
        for task in (*self.items.motions, *self.items.postures):
            self._place_target(task, self._targets[task.label], q)
        for contact in self.items.contacts:
            self._anchor(contact, q)
        self._anchor_next = set()
        self._started = True

    def _place_target(self, task: Task, target: Any, q: Array | None) -> None:
        """Constant targets are written once; functions of time are kept for every step."""
        self._functions = [entry for entry in self._functions if entry[0] is not task]
        if callable(target):
            self._functions.append((task, target, self.layout.parameters["reference", task.label]))
            return
        if target is None:
            target = task.here(self.robot, q if q is not None else self._q)
        values = moment(target, task.scalar)
        self._p[self.layout.parameters["reference", task.label]] = task.reference(self.robot, values)

    def _anchor(self, contact: Contact, q: Array) -> None:
        X = self.robot.pose(q, contact.frame)
        self._p[self.layout.parameters["anchor", contact.label]] = np.concatenate([X[:3, :3].ravel(), X[:3, 3]])

    # --- the loop ---------------------------------------------------------------------------------------------------------

    def __call__(self, t: float, q: Array, v: Array) -> Solution:
        """One step of control at time t (s) in state (q, v)."""
        self._read_state(q, v)
        if not finite(self._q, self._v):
            return self._held(t, ControlStatus.NOT_FINITE)
        first = not self._started
        if first:
            if not self._has_unit_quaternions():
                return self._held(t, ControlStatus.NOT_UNIT)
            self._start()
        events = self._read_time(t)
        if self._evaluate() & NOT_UNIT:
            return self._held(t, ControlStatus.NOT_UNIT, events)
        if first:
            self.start_report = start_report(self)
            events += self.start_report
        events += self._lost_contacts()
        answer = self._solved()
        if not answer.usable:
            return self._held(t, ControlStatus.FAILED, events)
        return self._solution(t, answer, events)

    def _has_unit_quaternions(self) -> bool:
        squares = [self._q[k : k + 4] @ self._q[k : k + 4] for k in self.robot.tree.quaternions]
        return all(abs(square - 1) < QUATERNION_TOLERANCE for square in squares)

    def _lost_contacts(self) -> tuple[str, ...]:
        """Contacts that slipped too far are taken out."""
        slips = self._data.get("slips")
        if slips is None or not slips.max() > self.slip_limit:
            return ()
        slipped = [c.label for c, slip in zip(self.items.contacts, slips.tolist(), strict=True) if slip > self.slip_limit]
        lost = [name for name in slipped if name in self._contacts]
        if lost:
            self.counts["contact_lost"] += len(lost)
            self.set_contacts([name for name in self._contacts if name not in lost])
        return tuple(f"contact {name} lost: it slipped more than {self.slip_limit:g}" for name in lost)

    def _solved(self) -> Result:
        end = len(self.layout.rows)
        for extra in self._near:
            extra.write(self._solver.data, self._solver.sides, end, self._q, self._v, self._data.get("B"), self._data.get("b"))
            end += extra.count
        answer = self._solver.solve()
        for extra in reversed(self._near):
            extra.keep_sides(self._solver.sides[end - extra.count : end])
            end -= extra.count
        return answer

    def _read_state(self, q: Array, v: Array) -> None:
        q, v = np.asarray(q), np.asarray(v)
        if q.shape != self._q.shape or v.shape != self._v.shape:
            raise ShapeError(f"wanted q of shape {self._q.shape} and v of {self._v.shape}, got {q.shape} and {v.shape}")
        self._q[:] = q
        self._v[:] = v

    def _read_time(self, t: float) -> tuple[str, ...]:
        events: tuple[str, ...] = ()
        for task, function, place in self._functions:
            events += self._refreshed(place, task.label, partial(self._wanted, task, function, t))
        for constraint in self._moving:
            place = self.layout.parameters["barrier", constraint.label]
            events += self._refreshed(place, constraint.label, partial(constraint.numbers, self.robot, t))
        if self._anchor_next:
            for contact in self.items.contacts:
                if contact.label in self._anchor_next:
                    self._anchor(contact, self._q)
            self._anchor_next = set()
        return events

    def _wanted(self, task: Task, function: Any, t: float) -> Array:
        value = function(t)
        return value.numbers if type(value) is Numbers else task.reference(self.robot, moment(value, task.scalar))

    def _refreshed(self, place: slice, label: str, numbers: Callable[[], Array]) -> tuple[str, ...]:
        """Numbers that change with time; those that cannot be used are refused, and the last ones stay."""
        try:
            new = numbers()
            if finite(new):
                self._p[place] = new
                return ()
            reason = "it is not finite"
        except EquipoiseError as error:
            reason = str(error)
        self.counts["target_refused"] += 1
        return (f"target of {label} refused, the last one stays: {reason.rstrip('.')}",)

    # --- answers ----------------------------------------------------------------------------------------------------------

    def _solution(self, t: float, answer: Result, events: tuple[str, ...]) -> Solution:
        status, x = CONTROL_STATUS[answer.status], answer.x
        self.counts[status.name.lower()] += 1
        multipliers = answer.multipliers[answer.equalities :]
        if multipliers.any():
            self.counts["at_limits"] += 1
        torque, a, command = self._commands(x)
        self._last_torque = torque
        seen = Snapshot(self, frozenset(self._contacts))
        relaxed = {} if status is ControlStatus.OPTIMAL else self._relaxed(answer)
        if self._columns is not None:
            multipliers = multipliers[self._columns[2]]
        return Solution(t, status, torque, a, command, answer.residuals, x, multipliers, relaxed, events, seen)

    def _relaxed(self, answer: Result) -> dict[str, float]:
        """The largest excess of the rows of each name."""
        amounts: dict[str, float] = {}
        beyond = np.flatnonzero(answer.excess)
        names = self._all_names() if len(beyond) else ()
        for k in beyond:
            amounts[names[k]] = max(amounts.get(names[k], 0.0), abs(float(answer.excess[k])))
        return amounts

    def _all_names(self) -> list[str]:
        names = list(self._rows)
        for extra in self._near:
            indices: list[int] = [] if extra.near is None else extra.near.indices.tolist()
            names += [extra.names[k] for k in indices]
            names += [extra.constraint.label] * (extra.count - len(indices))
        return names

    def _commands(self, x: Array) -> tuple[Array, Array, Array]:
        """(torque, acceleration, velocity)."""
        layout, torque, data = self.layout, np.zeros(self.robot.nv), self._data
        if self.level == "velocity":
            return torque, (x - self._v) / self.dt, x
        if self.level == "acceleration":
            return torque, x, self._v.copy()
        n, first = layout.joints, layout.first
        torque[first:] = data["A"][:n] @ x + data["t"]  # torque rows are the first
        a = np.empty(self.robot.nv)
        a[first:] = x[:n]
        if first:
            a[:first] = data["B"] @ x + data["b"]
        return torque, a, self._v.copy()

    def _held(self, t: float, status: ControlStatus, events: tuple[str, ...] = ()) -> Solution:
        """The fallback: the last good torques and damping, within the torque limits; or slowing down; or standing still."""
        self.counts[status.name.lower()] += 1
        self._forget()
        first, nv = self.layout.first, self.robot.nv
        torque, a, v = np.zeros(nv), np.zeros(nv), np.zeros(nv)
        rates = np.where(np.isfinite(self._v), self._v, 0.0)
        if self.level == "torque":
            largest = self._p[self.layout.parameters["torque limits"]]
            torque[first:] = np.clip(self._last_torque[first:] - self.hold_damping * rates[first:], -largest, largest)
        elif self.level == "acceleration":
            a = -self.hold_damping * rates
        seen = Snapshot(self, frozenset(self._contacts))
        return Solution(t, status, torque, a, v, qp.UNKNOWN, np.zeros(self.layout.unknowns), np.zeros(0), {}, events, seen)


def _range(place: slice | None) -> range:
    return range(0) if place is None else range(place.start, place.stop)
