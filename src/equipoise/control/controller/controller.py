"""The whole-body controller: tasks, contacts and constraints, one quadratic program per step.

    controller = eq.WholeBodyController(robot, tasks, contacts, constraints)
    solution = controller(t, q, v)          # .torque .acceleration .forces .status .explain()

Nothing raises in the loop: a step that cannot be solved as stated relaxes constraints in the order of their ranks, and what
cannot be solved at all is answered by a fallback. Every step is counted by its status.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from ...algebra.arrays import finite
from ...errors import unknown_name
from ...machine.target import NOT_UNIT, QUATERNION_TOLERANCE
from ..constraints.constraint import Constraint, Start
from ..constraints.outside import OutsideRows, Seen
from ..contacts.contact import Contact
from ..events import ControlEvent, ControlEventKind
from ..item import LEVELS, Setting, Target, TaskError
from ..qp import UNKNOWN, CompiledSolver, Result, Status
from ..tasks.task import Task
from .context import Context
from .kernels import kernel_for
from .layout import Items, Layout
from .settings import Settings, require_distinct
from .solution import ControlStatus, Solution, counted
from .step import Selection, Step, Structure

if TYPE_CHECKING:
    from ...robot import Robot

Array = np.ndarray
PRIORITIES = ("weighted", "strict")
DEPENDENT = 1e-5  # singular value of contact rows of unit length below which they depend on each other
SEEN = ("errors", "margins", "wrench_maps", "asked")  # what a step keeps of the kernel's results


class WholeBodyController:
    """Called with (t, q, v), answers a `Solution`. Calls from several threads wait for each other.

    Args:
        robot: which.
        tasks: what to do; priorities are those of the tasks.
        contacts: where the robot touches. All are in force until `set_contacts` says otherwise.
        constraints: what must hold.
        level: "torque", "acceleration" or "velocity": which quantity is commanded.
        priorities: "weighted" (all tasks in one sum of squares) or "strict" (each priority exactly, within those before it).
        dt: s, the step at which it will be called; barriers and limits are proven for it.
        force_weight: of the squares of the unknown contact forces, 1/N²; makes them unique.
        motion_weight: of the squares of the unknown accelerations or velocities, for those that no task determines.
        hold_damping: of the fallback, N m s per rad, beside the last good torques; at acceleration level 1/s, all alone.
        slip_limit: m or rad; a contact that slipped farther is lost: it is taken out, and an event tells.

    Attributes:
        counts: how many steps ended in each status, were at limits, and how many contacts were lost and targets refused.
        start_report: what cannot be promised from where the robot was at the first call, one sentence each.
    """

    def __init__(
        self,
        robot: Robot,
        tasks: Sequence[Task],
        contacts: Sequence[Contact] = (),
        constraints: Sequence[Constraint] = (),
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
        _require_positive(dt=dt, force_weight=force_weight, motion_weight=motion_weight)
        if not (isfinite(hold_damping) and hold_damping >= 0 and slip_limit > 0):
            raise TaskError(f"wanted hold_damping ≥ 0, finite, and slip_limit > 0; got {hold_damping!r} and {slip_limit!r}")
        self._options = {"dt": dt, "force_weight": force_weight, "motion_weight": motion_weight}
        self._options |= {"hold_damping": hold_damping, "slip_limit": slip_limit}
        self.robot, self.level, self.priorities, self.dt = robot, level, priorities, dt
        self.hold_damping, self.slip_limit = hold_damping, slip_limit
        self.items = Items(tuple(tasks), tuple(contacts), tuple(constraints))
        self._require_items()
        self._build(force_weight, motion_weight)
        self.counts = counted()
        self.reset()

    # --- before the loop ------------------------------------------------------------------------------------------------

    def _require_items(self) -> None:
        for items, wanted in (
            (self.items.tasks, Task),
            (self.items.contacts, Contact),
            (self.items.constraints, Constraint),
        ):
            for given in items:
                if not isinstance(given, wanted):
                    raise TaskError(f"wanted a {wanted.__name__}, got {given!r}")
        require_distinct([item.label for item in self.items.all])
        for item in self.items.all:
            item.require_level(self.level)
            item.check(self.robot)

    def _build(self, force_weight: float, motion_weight: float) -> None:
        """Memory, once: the kernel writes where the solver reads."""
        context = Context(self.robot, self.level, self.dt, {c.label: c for c in self.items.contacts})
        made = [(c.label, c.outside(context)) for c in self.items.constraints]
        self._outside: dict[str, OutsideRows] = {label: rows for label, rows in made if rows is not None}
        reserves = {label: rows.count for label, rows in self._outside.items()}
        layout = self.layout = Layout(context, self.items, self.priorities == "strict", reserves)
        self.settings = Settings(layout)
        bounding = [c for c in self.items.constraints if type(c).torque_bounds is not Constraint.torque_bounds]
        self._bounding = [(c, self.settings.numbers(c.label)) for c in bounding]
        kernel = kernel_for(layout)
        regular = np.full(layout.unknowns, float(motion_weight))
        for place in layout.forces.values():
            regular[place] = force_weight
        names = {label: rows.names for label, rows in self._outside.items()}
        margins = {label: rows.largest_margin for label, rows in self._outside.items()}
        self._structure = Structure(layout, kernel, regular, names, margins)
        classes_E, classes_A = layout.classes
        self._solver = CompiledSolver(
            layout.unknowns,
            layout.level_sizes,
            n_E=len(classes_E),
            n_A=len(classes_A),
            classes_E=classes_E,
            classes_A=classes_A,
            regularisation=regular,
            strict=layout.strict,
        )
        self._q, self._v = np.zeros(self.robot.nq), np.zeros(self.robot.nv)
        self._data = {
            output.name: self._solver.data[output.name][: output.shape[0]]
            if output.name in self._solver.data
            else np.zeros(output.shape)
            for output in kernel.program.outputs
        }
        self._evaluate: Callable[[], int] = kernel.bound((self._q, self._v, self.settings.p), list(self._data.values()))
        self._lock, self._inside = threading.RLock(), False

    def reset(self) -> None:
        """Forget where the robot was: targets of None and contacts are taken anew at the next call; counts stay."""
        self._started = False
        self.start_report: tuple[str, ...] = ()
        self._anchor_next: set[str] = set()
        self._contacts = tuple(contact.label for contact in self.items.contacts)
        self._selection: Selection | None = None
        self._solver.select(None, None, None)
        self._solver.forget()
        self._last_torque = np.zeros(self.robot.nv)
        self._previous: Array | None = None  # torques of the motors in the last step
        self.settings.feed_back(None)
        self.step: Step | None = None

    @property
    def contacts(self) -> tuple[Contact, ...]:
        """All contacts it knows, in force or not."""
        return self.items.contacts

    @property
    def in_force(self) -> frozenset[str]:
        """Labels of the contacts in force."""
        return frozenset(self._contacts)

    @property
    def regularisation(self) -> Array:
        """Weights of the squares of the unknowns that no task asked for: nothing else is hidden in the cost."""
        return self._structure.regularisation.copy()

    def __reduce__(self) -> tuple[Any, ...]:
        arguments = self.robot, self.items.tasks, self.items.contacts, self.items.constraints, self.level, self.priorities
        state = {"contacts": self._contacts, "started": self._started, "counts": dict(self.counts)}
        state |= {"settings": self.settings.state, "last_torque": self._last_torque, "start_report": self.start_report}
        return _restored, (arguments, self._options, state)

    # --- while it runs --------------------------------------------------------------------------------------------------

    def set(self, name: str, **settings: object) -> None:
        """Change settings of a task, contact or constraint from now on; nothing is compiled.

        Args:
            name: its label.
            settings: values by name; each may be a function of time. A target of None is where the robot is.

        Raises:
            UnknownNameError: there is no such item or setting.
            TaskError: a value cannot be used; then nothing is changed.
        """
        with self._lock:
            self.settings.set(name, settings, self._q if self._started else None)

    def set_target(self, name: str, target: Target) -> None:
        """Give a task another target from now on; None for where it is."""
        self.set(name, target=target)

    def set_weight(self, name: str, weight: Setting) -> None:
        """Give a task another weight from now on."""
        self.set(name, weight=weight)

    def set_force_bounds(self, contact: str, least: float, most: float) -> None:
        """Bounds of a contact's normal force from now on, N: how load is shifted smoothly."""
        self.set(contact, min_force=least, max_force=most)

    def set_contacts(self, names: Sequence[str], q: Array | None = None) -> None:
        """Which contacts are in force from now on; new ones are anchored at q, or where they are at the next call."""
        known = {contact.label: contact for contact in self.items.contacts}
        for name in names:
            if name not in known:
                raise unknown_name("contact", name, known)
        with self._lock:
            new = set(names) - set(self._contacts)
            self._contacts = tuple(label for label in known if label in set(names))
            self._select()
            if q is None:
                self._anchor_next |= new
                return
            for name in new:
                self.settings.place_again(name, q)
            self._anchor_next -= new

    def _select(self) -> None:
        """Unknowns, rows of E and rows of A that are left when some contacts are not in force."""
        layout, self._selection = self.layout, None
        if len(self._contacts) < len(self.items.contacts):
            E, A = layout.classes
            x, E, A = (np.ones(n, bool) for n in (layout.unknowns, len(E), len(A)))
            for contact in self.items.contacts:
                if contact.label not in self._contacts:
                    E[layout.equality_rows[contact.label]] = False
                    for task in layout.hard:
                        if task.needs_contact == contact.label:
                            E[layout.equality_rows[task.label]] = False
                    if self.level == "torque":
                        x[layout.forces[contact.label]] = False
                        A[layout.inequality_rows[contact.label]] = False
            self._selection = Selection(x.nonzero()[0], E.nonzero()[0], A.nonzero()[0])
        s = self._selection
        self._solver.select(*(None, None, None) if s is None else (s.x, s.E, s.A))
        self._solver.forget()

    # --- the loop ---------------------------------------------------------------------------------------------------------

    def __call__(self, t: float, q: Array, v: Array) -> Solution:
        """One step of control at time t (s) in state (q, v)."""
        with self._lock:
            if self._inside:
                return self._fallback(t, ControlStatus.FAILED, (ControlEvent(ControlEventKind.BUSY, detail=_BUSY),))
            self._inside = True
            try:
                return self._control(t, q, v)
            except Exception as error:  # nothing raises in the loop: an error of our own is an event, and is counted
                self.counts["errors"] += 1
                event = ControlEvent(ControlEventKind.ERROR, detail=f"{type(error).__name__}: {error}")
                return self._fallback(t, ControlStatus.FAILED, (event,))
            finally:
                self._inside = False

    def _control(self, t: float, q: Array, v: Array) -> Solution:
        problem = self._read_state(t, q, v)
        if problem is not None:
            return self._fallback(t, *problem, saw_state=False)
        first = not self._started
        if first:
            self._start()
        events = self.settings.refresh(t)
        self.counts["target_refused"] += len(events)
        if self._anchor_next:
            for label in self._anchor_next:
                self.settings.place_again(label, self._q)
            self._anchor_next = set()
        if self._evaluate() & NOT_UNIT:
            return self._fallback(t, ControlStatus.NOT_UNIT, events, saw_state=False)
        outside = self._see_outside()
        if first:
            events += self._report_start(outside)
        events += self._lost_contacts()
        return self._answered(t, self._solver.solve(), outside, events)

    def _read_state(self, t: float, q: Array, v: Array) -> tuple[ControlStatus, tuple[ControlEvent, ...]] | None:
        """Copy the state; what is wrong with it, if anything."""
        try:
            self._q[:], self._v[:] = self._checked(q, self._q), self._checked(v, self._v)
            good_time = isfinite(t)
        except (TypeError, ValueError) as error:
            self._v[:] = 0.0
            return ControlStatus.BAD_STATE, (ControlEvent(ControlEventKind.BAD_STATE, detail=str(error)),)
        if not good_time or not finite(self._q, self._v):
            return ControlStatus.NOT_FINITE, ()
        for k in self.robot.tree.quaternions if not self._started else ():
            if not abs(self._q[k : k + 4] @ self._q[k : k + 4] - 1) < QUATERNION_TOLERANCE:
                return ControlStatus.NOT_UNIT, ()
        return None

    def _checked(self, given: Any, like: Array) -> Array:
        array = np.asarray(given)
        if array.shape != like.shape or array.dtype.kind not in "fiu":
            raise ValueError(f"wanted numbers of shape {like.shape}, got shape {array.shape} of {array.dtype}")
        return array

    def _start(self) -> None:
        self.settings.place(self._q)
        for label, item in ((item.label, item) for item in self.items.all):
            if item.placed is not None and callable(self.settings.constant(label, item.placed)):
                self.settings.place_again(label, self._q)  # where the robot is, should the first value be refused
        self._anchor_next = set()
        self._started = True

    def _see_outside(self) -> dict[str, Seen]:
        """Rows that are made outside of the kernel, written behind those of the kernel."""
        seen: dict[str, Seen] = {}
        data = self._solver.data
        for label, rows in self._outside.items():
            now = seen[label] = rows.see(self._q, self._v, self.settings.numbers(label), *self._accelerations())
            at, k = self.layout.inequality_rows[label], len(now.keys)
            middle = at.start + k
            data["A"][at.start : middle], data["A"][middle : at.stop] = now.A, 0.0
            data["lower"][at.start : middle], data["lower"][middle : at.stop] = now.lower, -np.inf
            data["upper"][at] = np.inf
        return seen

    def _accelerations(self) -> tuple[Array, Array]:
        """(B, b) with a = B x + b, of all velocities; torque level."""
        n, nv = self.layout.unknowns, self.robot.nv
        B, b = np.zeros((nv, n)), np.zeros(nv)
        if self.level == "torque":
            motors, passive = self.layout.context.motors, self.layout.context.passive
            B[motors, np.arange(len(motors))] = 1.0
            if len(passive):
                B[passive], b[passive] = self._data["B"], self._data["b"]
        return B, b

    def _report_start(self, outside: dict[str, Seen]) -> tuple[ControlEvent, ...]:
        """What cannot be promised from here: barriers by the exact condition of Lemma 4.1, joints by viability."""
        layout, lines = self.layout, []
        for c in self.items.constraints:
            if c.label in outside:
                seen, names = outside[c.label], self._outside[c.label].names
                start = ([names[k] for k in seen.keys], seen.margins, seen.rates)
            else:
                at = layout.margins.get(c.label, slice(0, 0))
                none = np.zeros(0)
                margins, rates = self._data.get("margins", none)[at], self._data.get("rates", none)[at]
                start = (c.row_names(layout.context), margins, rates)
            numbers = self.settings.numbers(c.label)
            lines += [(c.label, line) for line in c.start_report(Start(layout.context, self._q, self._v, *start, numbers))]
        lines += [(label, line) for label, line in self._dependent_contacts()]
        self.start_report = tuple(line for _, line in lines)
        return tuple(ControlEvent(ControlEventKind.START, label, line) for label, line in lines)

    def _dependent_contacts(self) -> Iterator[tuple[str, str]]:
        """Contacts whose rows follow from those of the contacts before them, as with ankles that cannot roll."""
        rows, before = np.zeros((0, self.layout.unknowns)), 0
        for label in self._contacts:
            rows = np.vstack((rows, self._data["E"][self.layout.equality_rows[label]]))
            sizes = np.linalg.svd(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-300), compute_uv=False)
            missing = int(np.sum(sizes < DEPENDENT))
            if missing > before:
                line = f"{missing - before} of the rows of contact {label} depend on other contacts: they cannot move apart there"
                yield label, line
            before = missing

    def _lost_contacts(self) -> tuple[ControlEvent, ...]:
        """Contacts that slipped too far are taken out."""
        slips = self._data.get("slips")
        if slips is None or not slips.max() > self.slip_limit:
            return ()
        slipped = [c.label for c, slip in zip(self.items.contacts, slips.tolist(), strict=True) if slip > self.slip_limit]
        lost = [name for name in slipped if name in self._contacts]
        if lost:
            self.counts["contact_lost"] += len(lost)
            self.set_contacts([name for name in self._contacts if name not in lost])
        detail = f"it slipped more than {self.slip_limit:g}"
        return tuple(ControlEvent(ControlEventKind.CONTACT_LOST, name, detail) for name in lost)

    # --- answers ----------------------------------------------------------------------------------------------------------

    def _answered(self, t: float, answer: Result, outside: dict[str, Seen], events: tuple[ControlEvent, ...]) -> Solution:
        status = _STATUSES.get(answer.status, ControlStatus.FAILED)
        if status.fallback:
            return self._fallback(t, status, events, outside=outside)
        torque, a, command = self._commands(answer.x)
        if not finite(torque, a) or not finite(command):
            return self._fallback(t, ControlStatus.NOT_FINITE, events, outside=outside)
        self.counts[status.name.lower()] += 1
        if self._solver.sides.any():
            self.counts["at_limits"] += 1
        self._last_torque = torque.copy()
        step = self.step = self._step_of(answer.x, outside, answer)  # before this step's torques become the last ones
        self._sent(torque)
        return Solution(t, status, torque, a, command, answer.residuals, events, step)

    def _sent(self, torque: Array) -> None:
        """Remember the command that leaves."""
        if self.level == "torque":
            self._previous = torque[self.layout.context.motor_places].copy()
            self.settings.feed_back(self._previous)

    def _step_of(self, x: Array, outside: dict[str, Seen], answer: Result | None, saw_state: bool = True) -> Step:
        n_E, n_A = (len(classes) for classes in self.layout.classes)
        if answer is None:
            found = np.zeros(n_E), np.zeros(n_A), np.zeros(n_E), np.zeros(n_A), np.zeros(n_A)
        else:
            rows = answer.multipliers[:n_E], answer.multipliers[n_E:], answer.excess[:n_E], answer.excess[n_E:]
            found = *rows, self._solver.sides.copy()
        seen = {name: self._data[name].copy() for name in SEEN if name in self._data}
        state = self._q.copy(), self._v.copy(), self.settings.p.copy()
        return Step(self._structure, *state, self._contacts, self._selection, outside, x, *found, seen, saw_state)

    def _commands(self, x: Array) -> tuple[Array, Array, Array]:
        """(torque, acceleration, velocity)."""
        torque, data = np.zeros(self.robot.nv), self._data
        if self.level == "velocity":
            return torque, (x - self._v) / self.dt, x.copy()
        if self.level == "acceleration":
            return torque, x.copy(), self._v.copy()
        context, a = self.layout.context, np.empty(self.robot.nv)
        torque[context.motor_places] = self._within_bounds(data["T"] @ x + data["t"], relaxable=True)
        a[context.motor_places] = x[: len(context.motors)]
        if "B" in data:
            a[context.passive_places] = data["B"] @ x + data["b"]
        return torque, a, self._v.copy()

    def _within_bounds(self, torque: Array, relaxable: bool) -> Array:
        """Torques of the motors within the bounds that constraints set; `relaxable`: only within those that are never relaxed."""
        for constraint, numbers in self._bounding:
            if relaxable and constraint.rank > 0:
                continue
            bounds = constraint.torque_bounds(numbers, self._previous)
            if bounds is not None:
                torque = np.minimum(np.maximum(torque, bounds[0]), bounds[1])
        return torque

    def _fallback(
        self,
        t: float,
        status: ControlStatus,
        events: tuple[ControlEvent, ...] = (),
        saw_state: bool = True,
        outside: dict[str, Seen] | None = None,
    ) -> Solution:
        """The last good torques and damping, within the torque limits; or slowing down; or standing still. Always finite."""
        self.counts[status.name.lower()] += 1
        self._solver.forget()
        nv, motors = self.robot.nv, self.layout.context.motors
        torque, a, v = np.zeros(nv), np.zeros(nv), np.zeros(nv)
        rates = np.where(np.isfinite(self._v), self._v, 0.0)
        if self.level == "torque":
            effort = self.robot.limits.effort[motors]
            wanted = self._last_torque[motors] - self.hold_damping * rates[motors]
            torque[motors] = self._within_bounds(np.minimum(np.maximum(wanted, -effort), effort), relaxable=False)
        elif self.level == "acceleration":
            a = -self.hold_damping * rates
        step = self.step = self._step_of(np.zeros(self.layout.unknowns), outside or {}, None, saw_state)
        self._sent(torque)
        t = float(t) if isinstance(t, int | float | np.number) else float("nan")
        return Solution(t, status, torque.copy(), a, v, UNKNOWN, events, step)


_BUSY = "the controller was called from inside of its own call, by a function of time; it answers with its fallback"
_STATUSES = {
    Status.OPTIMAL: ControlStatus.OPTIMAL,
    Status.RELAXED: ControlStatus.RELAXED,
    Status.ITERATION_LIMIT: ControlStatus.INACCURATE,
    Status.INACCURATE: ControlStatus.INACCURATE,
    Status.NOT_FINITE: ControlStatus.NOT_FINITE,
}


def _require_positive(**numbers: float) -> None:
    for name, value in numbers.items():
        if not (isinstance(value, int | float) and isfinite(value) and value > 0):
            raise TaskError(f"{name} must be positive and finite, got {value!r}")


def _restored(arguments: tuple[Any, ...], options: dict[str, Any], state: dict[str, Any]) -> WholeBodyController:
    """A controller from its arguments, in the state it was in."""
    made = WholeBodyController(*arguments, **options)
    made.set_contacts(state["contacts"])
    made.settings.restore(state["settings"])
    made._started, made._anchor_next = state["started"], set()
    made._last_torque, made.start_report = state["last_torque"].copy(), state["start_report"]
    made._previous = made.settings.previous_torque
    made.counts.update(state["counts"])
    return made
