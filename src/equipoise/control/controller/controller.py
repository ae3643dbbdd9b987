"""The whole-body controller: tasks, contacts and constraints, one quadratic program per step.

    controller = eq.WholeBodyController(robot, tasks, contacts, constraints)
    solution = controller(t, q, v)          # .torque .acceleration .forces .status .explain()

Nothing raises in the loop: a step that cannot be solved as stated relaxes constraints in the order of their ranks, and
what cannot be solved at all is answered by a fallback. Every step is counted by its status.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from math import isfinite
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...clock import time_as_number
from ...errors import unknown_name
from ...machine.target import NOT_UNIT, QUATERNION_TOLERANCE
from ...model.html import html_table
from ..constraints.constraint import Constraint
from ..constraints.outside import NearbyRows
from ..contacts.contact import Contact
from ..events import ControlEvent, ControlEventKind
from ..item import LEVELS, Setting, Target, TaskError
from ..qp import UNKNOWN, CompiledSolver, Result
from ..tasks.task import Task
from .commands import Commands
from .context import Context, usable_chart
from .kernels import kernel_for
from .layout import Items, Layout
from .outside import Outside
from .settings import Settings, numbers_like, require_positive
from .solution import ControlStatus, Solution, counted
from .start import dependent_contacts, not_promised
from .steady import SteadyWatch
from .step import ControlStep, Memory, Selection, Structure, regularisation

if TYPE_CHECKING:
    from ...forms.charts import Chart
    from ...robot import Robot

Array = np.ndarray
PRIORITIES = ("weighted", "strict")
SLIPPED = 3  # calls in a row in which a contact is seen too far off before it is lost
GUESSES = 4  # active sets tried before the solver searches from the start
MOTION = ("T", "B", "t", "b")  # torques and accelerations without motors, T x + t and B x + b
KEPT = ("errors", "margins", "wrench_maps", "asked")  # of the kernel's results, by a step


class ControllerState(NamedTuple):
    """What a controller keeps from one step to the next.

    Attributes:
        contacts: labels of those in force. anchor_next: of those that are anchored at the next call.
        started: whether it has been called. q: in the last call. settings: of all items.
        last_torque: N m, the last that was good.
    """

    contacts: tuple[str, ...]
    anchor_next: frozenset[str]
    started: bool
    q: Array
    settings: tuple[dict[str, dict[str, object]], Array]
    last_torque: Array


class WholeBodyController:
    """Called with (t, q, v), answers a `Solution`. Calls from several threads wait for each other.

    Args:
        robot: which.
        tasks: what to do; priorities are those of the tasks.
        contacts: where the robot touches. All are in force until `set_contacts` says otherwise.
        constraints: what must hold.
        level: "torque", "acceleration" or "velocity": which quantity is commanded.
        priorities: "weighted" (all tasks in one sum of squares) or "strict" (each exactly, within those before it).
        dt: s, the step at which it will be called; barriers and limits are proven for it.
        force_weight: of the squares of the unknown contact forces, 1/N²; makes them unique.
        motion_weight: of the squares of the unknown accelerations or velocities, for those that no task determines.
        hold_damping: of the fallback, N m s per rad, beside the last good torques; at acceleration level 1/s, alone.
        slip_limit: m or rad; a contact that is seen farther off in three calls is lost: it is taken out, and an event
            tells.
        chart: of the base's orientation: the program is then [BK12, Eq. (37)], over accelerations of the chart's
            coordinates, torques and forces, the equations of motion as rows. None eliminates base and torques.

    Attributes:
        counts: steps that ended in each status, that were at limits; contacts lost, targets refused.
        start_report: what cannot be promised from where the robot was at the first call, one sentence each.

    Examples:
        >>> import numpy as np
        >>> import equipoise as eq
        >>> robot = eq.load("quadruped")
        >>> feet = [eq.PointContact(name) for name in robot.frames if name.endswith("_foot")]
        >>> tasks = [eq.CoMTask(), eq.FrameTask("trunk", axes="orientation"), eq.PostureTask()]
        >>> controller = eq.WholeBodyController(robot, tasks, feet, [eq.TorqueLimits()])
        >>> solution = controller(0.0, robot.standing(), np.zeros(robot.nv))
        >>> solution.status.ok, solution.torque.shape
        (True, (18,))
        >>> a, forces = solution.acceleration, solution.forces
        >>> tau = robot.inverse_dynamics(robot.standing(), np.zeros(robot.nv), a, wrenches=forces)
        >>> bool(np.allclose(tau, solution.torque, atol=1e-8))  # the equations of motion hold
        True
    """

    robot: Robot
    level: str
    priorities: str
    dt: float
    hold_damping: float
    slip_limit: float
    chart: Chart | None
    items: Items
    layout: Layout
    settings: Settings
    counts: dict[str, int]

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
        chart: Chart | type[Chart] | None = None,
    ) -> None:
        if level not in LEVELS:
            raise unknown_name("level", level, LEVELS)
        if priorities not in PRIORITIES:
            raise unknown_name("kind of priorities", priorities, PRIORITIES)
        require_positive(dt=dt, force_weight=force_weight, motion_weight=motion_weight)
        if not (isfinite(hold_damping) and hold_damping >= 0 and slip_limit > 0):
            given = f"{hold_damping!r} and {slip_limit!r}"
            raise TaskError(f"wanted hold_damping ≥ 0, finite, and slip_limit > 0; got {given}")
        self.chart = usable_chart(robot, level, chart)
        self._options = {"force_weight": force_weight, "motion_weight": motion_weight, "chart": self.chart}
        self._options |= {"dt": dt, "hold_damping": hold_damping, "slip_limit": slip_limit}
        self.robot, self.level, self.priorities, self.dt = robot, level, priorities, dt
        self.hold_damping, self.slip_limit = hold_damping, slip_limit
        self.items = Items(tuple(tasks), tuple(contacts), tuple(constraints))
        self.items.require(robot, level)
        self._build(force_weight, motion_weight)
        self.counts = counted()
        self.reset()

    def __repr__(self) -> str:
        items = self.items
        counts = f"{len(items.tasks)} tasks, {len(items.contacts)} contacts, {len(items.constraints)} constraints"
        return f"<WholeBodyController of {self.robot.name!r}: {counts}; {self.level} level, {self.priorities}>"

    def _repr_html_(self) -> str:
        kinds = {"task": self.items.tasks, "contact": self.items.contacts, "constraint": self.items.constraints}
        rows = [(kind, item.label, type(item).__name__) for kind, items in kinds.items() for item in items]
        return html_table(repr(self)[1:-1], ("", "label", "kind"), rows)

    # --- before the loop ----------------------------------------------------------------------------------------------

    def _build(self, force_weight: float, motion_weight: float) -> None:
        """Memory, once: the kernel writes where the solver reads."""
        context = Context(self.robot, self.level, self.dt, {c.label: c for c in self.items.contacts}, self.chart)
        makers = {c.label: rows for c in self.items.constraints if (rows := c.outside(context)) is not None}
        reserves = {label: len(rows.names) for label, rows in makers.items()}
        self.layout = layout = Layout(context, self.items, self.priorities == "strict", reserves)
        self.settings = Settings(layout)
        kernel = kernel_for(layout)
        own = {output.name: output.shape for output in kernel.program.outputs}
        sizes = {"q": (self.robot.nq,), "v": (self.robot.nv,), "p": self.settings.p.shape}
        memory = Memory(sizes | {name: own[name] for name in KEPT if name in own})
        self.settings.live_in(memory.arrays["p"])
        self._commands = Commands(layout, self.settings, self.hold_damping)
        regular = regularisation(layout, motion_weight, force_weight)
        names = {label: maker.names for label, maker in makers.items()}
        self._structure = Structure(layout, kernel, memory, regular, names)
        of_E, of_A = layout.classes
        self._solver = CompiledSolver(
            layout.unknowns, layout.level_sizes, n_E=len(of_E), n_A=len(of_A), classes_E=of_E, classes_A=of_A,
            regularisation=regular, strict=layout.strict, guesses=GUESSES,
        )  # fmt: skip
        self._outside = Outside(makers, self.settings, self._solver)
        self._far = self._outside.most**2
        self._memory, self._q, self._v = memory.block, memory.arrays["q"], memory.arrays["v"]
        self._state = memory.block[: self.robot.nq + self.robot.nv]
        written = {name: rows[: own[name][0]] for name, rows in self._solver.data.items() if name in own}
        motion = Memory({name: own[name] for name in MOTION if name in own})
        others = {name: np.zeros(shape) for name, shape in own.items() if name not in memory.arrays}
        self._data = {name: (others | motion.arrays | memory.arrays | written)[name] for name in own}
        self._commands.read_motion(motion.block)
        self._evaluate: Callable[[], int] = kernel.bound((self._q, self._v, self.settings.p), list(self._data.values()))
        self._lock, self._inside = threading.RLock(), False

    def reset(self) -> None:
        """Forget where the robot was: targets of None and contacts are taken anew at the next call; counts stay."""
        self._started = False
        self.start_report: tuple[str, ...] = ()
        self._anchor_next: set[str] = set()
        self._slipped: dict[str, int] = {}  # calls in a row in which contacts were seen too far off
        self._contacts = tuple(contact.label for contact in self.items.contacts)
        self._selection: Selection | None = None
        self._solver.select(None, None, None)
        self._solver.forget()
        self._commands.forget()
        self.step: ControlStep | None = None
        self._steady = SteadyWatch(self.items.tasks)

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
        items = self.items.tasks, self.items.contacts, self.items.constraints
        arguments = (self.robot, *items, self.level, self.priorities)
        with self._lock:
            state = self.snapshot(), dict(self.counts), self.start_report
        return _restored, (arguments, self._options, *state)

    def snapshot(self) -> ControllerState:
        """All that a later `restore` needs to go on from here, in this controller or in one of the same items."""
        with self._lock:
            contacts, last = (self._contacts, frozenset(self._anchor_next)), self._commands.last_good.copy()
            return ControllerState(*contacts, self._started, self._q.copy(), self.settings.state, last)

    def restore(self, state: ControllerState) -> None:
        """Go on from a snapshot. The solver starts cold; raises, with nothing changed, where items are others."""
        with self._lock:
            q = numbers_like(self._q, state.q)
            self.settings.restore(state.settings)
            self.set_contacts(state.contacts)
            self._started, self._q[:], self._anchor_next = state.started, q, set(state.anchor_next)
            self._commands.restore(state.last_torque)
            self._slipped = {}
            self.step, self._steady = None, SteadyWatch(self.items.tasks)  # its looks may be of later times

    # --- while it runs ------------------------------------------------------------------------------------------------

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

    def correct_com(self, offset: Array) -> None:
        """Tell all tasks of the centre of mass how far it is off where the model has it, m; see `CoMTask`."""
        for task in self.items.tasks:
            if self.settings.has(task.label, "offset"):
                self.set(task.label, offset=offset)

    def set_contacts(self, names: Sequence[str], q: Array | None = None) -> None:
        """Which contacts are in force from now on; new ones are anchored at q, or where they are at the next call."""
        known = {contact.label: contact for contact in self.items.contacts}
        for name in names:
            if name not in known:
                raise unknown_name("contact", name, known)
        with self._lock:
            new = set(names) - set(self._contacts)
            if q is not None:
                for name in new:  # raises where q cannot be used; then nothing is changed
                    self.settings.place_again(name, q)
            self._anchor_next = self._anchor_next | new if q is None else self._anchor_next - new
            self._contacts = tuple(label for label in known if label in set(names))
            self._select()

    def _select(self) -> None:
        """Unknowns, rows of E and rows of A that are left when some contacts are not in force."""
        self._selection = Selection.of(self.layout, self._contacts)
        s = self._selection
        self._solver.select(*(None, None, None) if s is None else (s.x, s.E, s.A))
        self._solver.forget()

    # --- the loop -----------------------------------------------------------------------------------------------------

    def __call__(self, t: float, q: Array, v: Array) -> Solution:
        """One step of control at time t (s) in state (q, v)."""
        with self._lock:
            if self._inside:
                return self._fallback(t, ControlStatus.FAILED, (ControlEvent(ControlEventKind.BUSY, detail=_BUSY),))
            try:
                self._inside = True
                return self.guarded(t, lambda: self._control(t, q, v))
            finally:
                self._inside = False

    def guarded(self, t: float, answer: Callable[[], Solution]) -> Solution:
        """Returns what a function answers. Nothing raises in the loop: where it does, the answer is the fallback, with
        an event, and `counts["errors"]` counts."""
        try:
            return answer()
        except Exception as error:
            self.counts["errors"] += 1
            event = ControlEvent(ControlEventKind.ERROR, detail=f"{type(error).__name__}: {error}")
            return self._fallback(t, ControlStatus.FAILED, (event,))

    def _control(self, t: float, q: Array, v: Array) -> Solution:
        problem = self._read_state(t, q, v)
        if problem is not None:
            return self._fallback(t, *problem, saw_state=False)
        first = not self._started
        if first:
            self._start()
        self.settings.describe_base(self._q)
        events = self.settings.refresh(t)
        self.counts["target_refused"] += len(events)
        if self._anchor_next:
            for label in self._anchor_next:
                self.settings.place_again(label, self._q)
            self._anchor_next = set()
        if self._evaluate() & NOT_UNIT:
            return self._fallback(t, ControlStatus.NOT_UNIT, events, saw_state=False)
        outside = self._outside.see(self._q, self._v, self._data)
        if first:
            events += self._report_start(outside)
        events += self._lost_contacts()
        return self._answered(t, self._outside.solve(outside), outside, events)

    def _read_state(self, t: float, q: Array, v: Array) -> tuple[ControlStatus, tuple[ControlEvent, ...]] | None:
        """Copy the state; what is wrong with it, if anything."""
        try:
            self._q[:], self._v[:] = numbers_like(self._q, q), numbers_like(self._v, v)
            good_time = isfinite(t)
        except (TypeError, ValueError, OverflowError) as error:  # the last of times that are huge integers
            self._v[:] = 0.0
            return ControlStatus.BAD_STATE, (ControlEvent(ControlEventKind.BAD_STATE, detail=str(error)),)
        # squares beyond all numbers are no state either
        if not good_time or not isfinite(self._state.dot(self._state)):
            return ControlStatus.NOT_FINITE, ()
        for k in self.robot.tree.quaternions if not self._started or self._anchor_next else ():  # else the kernel looks
            if not abs(self._q[k : k + 4] @ self._q[k : k + 4] - 1) < QUATERNION_TOLERANCE:
                return ControlStatus.NOT_UNIT, ()
        return None

    def _start(self) -> None:
        self.settings.place(self._q)
        for item in self.items.all:  # where the robot is, should the first value of a function be refused
            if item.placed is not None and callable(self.settings.constant(item.label, item.placed)):
                self.settings.place_again(item.label, self._q)
        self._anchor_next = set()
        self._started = True

    def _report_start(self, outside: dict[str, NearbyRows]) -> tuple[ControlEvent, ...]:
        """What cannot be promised from here."""
        lines = list(not_promised(self.settings, self._data, (self._q, self._v), outside, self._outside.makers))
        if self._contacts:
            lines += dependent_contacts(self.layout, self._data["E"], self._contacts)
        self.start_report = tuple(line for _, line in lines)
        return tuple(ControlEvent(ControlEventKind.START, label, line) for label, line in lines)

    def _lost_contacts(self) -> tuple[ControlEvent, ...]:
        """Contacts that are seen too far off in several calls are taken out: one sample may be wrong."""
        slips = self._data.get("slips")
        if slips is None or not max(slips.tolist()) > self.slip_limit:
            self._slipped = {}
            return ()
        measured = zip(self.items.contacts, slips.tolist(), strict=True)
        far = [c.label for c, slip in measured if slip > self.slip_limit and c.label in self._contacts]
        self._slipped = {label: self._slipped.get(label, 0) + 1 for label in far}
        lost = [label for label, calls in self._slipped.items() if calls == SLIPPED]
        if lost:
            self.counts["contact_lost"] += len(lost)
            self.set_contacts([name for name in self._contacts if name not in lost])
        detail = f"it slipped more than {self.slip_limit:g}"
        return tuple(ControlEvent(ControlEventKind.CONTACT_LOST, name, detail) for name in lost)

    # --- answers ------------------------------------------------------------------------------------------------------

    def _answered(
        self, t: float, answer: Result, outside: dict[str, NearbyRows], events: tuple[ControlEvent, ...]
    ) -> Solution:
        status = ControlStatus.of(answer.status)
        if status.fallback:
            return self._fallback(t, status, events, outside=outside)
        at_limits = status is not ControlStatus.OPTIMAL or self._solver.sides.dot(self._solver.sides) > 0
        torque, a, command, squares = self._commands.of(answer.x, self._v, at_limits)
        if not isfinite(squares):
            return self._fallback(t, ControlStatus.NOT_FINITE, events, outside=outside)
        if squares > self._far and self._outside.moves_too_far(answer.x):
            return self._answered(t, self._outside.solve_bounded(outside), outside, events)
        if status is ControlStatus.OPTIMAL and self._outside.makers and (inside := self._outside.inside()):
            status = ControlStatus.OVERLAPPING
            events += (ControlEvent(ControlEventKind.OVERLAPPING, detail=inside),)
        self.counts[_KEYS[status]] += 1
        self.counts["at_limits"] += at_limits
        self._commands.last_good = torque.copy()
        step = self.step = self._step_of(answer, outside)  # before this step's torques become the last ones
        self._commands.sent(torque)
        if not at_limits:
            events += self._steady.look(t, step)
        return Solution(t, status, torque, a, command, answer.residuals, events, step)

    def _step_of(self, answer: Result, outside: dict[str, NearbyRows], saw_state: bool = True) -> ControlStep:
        memory, sides = self._memory.copy(), self._solver.sides.copy()
        return ControlStep(self._structure, memory, self._contacts, self._selection, outside, answer, sides, saw_state)

    def _fallback(
        self,
        t: float,
        status: ControlStatus,
        events: tuple[ControlEvent, ...] = (),
        saw_state: bool = True,
        outside: dict[str, NearbyRows] | None = None,
    ) -> Solution:
        """An answer without a solution: see `Commands.fallback`."""
        self.counts[status.name.lower()] += 1
        self._solver.forget()
        torque, a, v = self._commands.fallback(self._v)
        step = self.step = self._step_of(self._solver.nothing(), outside or {}, saw_state)
        self._commands.sent(torque)
        return Solution(time_as_number(t), status, torque.copy(), a, v, UNKNOWN, events, step)


_BUSY = "the controller was called from inside of its own call, by a function of time; it answers with its fallback"
_KEYS = {status: status.name.lower() for status in ControlStatus}  # under which steps are counted


def _restored(
    arguments: tuple[Any, ...],
    options: dict[str, Any],
    state: ControllerState,
    counts: dict[str, int],
    start_report: tuple[str, ...],
) -> WholeBodyController:
    """A controller from its arguments, in the state it was in."""
    made = WholeBodyController(*arguments, **options)
    made.restore(state)
    made.counts, made.start_report = counts, start_report
    return made
