"""The whole-body controller: tasks, contacts and constraints, one quadratic program per step.

    controller = eq.WholeBodyController(robot, tasks, contacts, constraints)
    solution = controller(t, q, v)          # .torque .acceleration .forces .status .explain()

Nothing raises in the loop: a step that cannot be solved as stated lets constraints give way in the order of their ranks, and
what cannot be solved at all holds the joints with damping. Every step is counted by its status.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ShapeError, unknown_name
from . import qp
from .active_set import ActiveSetSolver, Answer
from .assembly import Items, assembled
from .constraints import TorqueLimits, check_level
from .contacts import Contact
from .levels import Level, LevelSolver
from .near_rows import near_rows
from .solution import ControlStatus, Program, Solution, counted
from .tasks import ForceTask, Task, TaskError, moment

if TYPE_CHECKING:
    from ..robot import Robot

Array = np.ndarray
PRIORITIES = ("weighted", "strict")


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
        hold_damping: of the fallback, N m s per rad; the joints then also keep the last good torques.
        slip_limit: m or rad; a contact that slipped farther is lost: it is taken out, and said so.
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
        self._levels = self._in_order() if priorities == "strict" else []
        self._in_levels = LevelSolver()
        self._regular = self._regularisation(motion_weight, force_weight)
        self._rows = self._row_names()
        self._allocate()
        self._solver.data["weights"][:] = self._regular  # stays so where no posture writes weights
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
        for task in self.items.tasks:
            if isinstance(task, ForceTask) and task.contact not in [c.label for c in self.items.contacts]:
                raise unknown_name("contact", task.contact, [c.label for c in self.items.contacts])
        for constraint in self.items.barriers:
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

    def _in_order(self) -> list[tuple[Any, bool]]:
        """Of each priority: which rows of R, and whether postures are among its tasks."""
        levels = []
        for rank in sorted({task.priority for task in self.items.tasks if not task.hard}):
            labels = [task.label for task in self.items.tasks if task.priority == rank and not task.hard]
            places = [self.layout.task_rows[label] for label in labels if label in self.layout.task_rows]
            at = np.concatenate([np.zeros(0, int), *(np.arange(place.start, place.stop) for place in places)])
            together = len(at) > 0 and at[-1] - at[0] == len(at) - 1  # then no copy is needed
            rows = slice(int(at[0]), int(at[-1]) + 1) if together else at
            levels.append((rows, any(label in self.layout.diagonal_tasks for label in labels)))
        return levels

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
        self._solver = ActiveSetSolver(self.layout.unknowns, rows["R"], rows["E"], rows["A"] + near)
        self._few = self._solver  # the same while all contacts are in force
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
        self._anchor_next: set[str] = set()
        self._functions: list[tuple[Task, Any, slice]] = []
        self._few = self._solver
        self._forget()
        self._contacts = {contact.label for contact in self.items.contacts}
        self._columns: tuple[Array, Array, Array] | None = None
        self._last_torque = np.zeros(self.robot.nv)
        self._moving = [c for c in self.items.barriers if c.moving]

    def _forget(self) -> None:
        self._solver.forget()
        self._few.forget()
        self._in_levels.forget()
        for extra in self._near:
            extra.forget()

    # --- while it runs --------------------------------------------------------------------------------------------------

    def set_target(self, name: str, target: Any) -> None:
        """Give a task another target from now on."""
        tasks = {task.label: task for task in (*self.items.motions, *self.items.postures)}
        if name not in tasks:
            raise unknown_name("task", name, tasks)
        if not callable(target):
            tasks[name].reference(self.robot, moment(target, 0.0))
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
        self._anchor_next = new if q is None else set()
        if q is not None:
            for name in new:
                self._anchor(known[name], q)

    def set_force_bounds(self, contact: str, least: float, most: float) -> None:
        """Bounds of a contact's normal force from now on, N: how load is shifted smoothly."""
        key = ("contact", contact)
        if key not in self.layout.parameters:
            raise unknown_name("contact", contact, [c.label for c in self.items.contacts])
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
        self._columns = None
        self._few = self._solver
        if self._contacts != {contact.label for contact in self.items.contacts}:
            layout = self.layout
            x, E, A = (np.ones(n, bool) for n in (layout.unknowns, self._solver.n_E, self._solver.n_A))
            for contact in self.items.contacts:
                if contact.label not in self._contacts:
                    E[layout.contact_rows[contact.label]] = False
                    if self.level == "torque":
                        x[layout.forces[contact.label]] = False
                        A[layout.row_slices[f"contact {contact.label}"]] = False
            self._columns = x.nonzero()[0], E.nonzero()[0], A.nonzero()[0]
            self._few = ActiveSetSolver(len(self._columns[0]), self._solver.n_R, len(self._columns[1]), len(self._columns[2]))
        self._forget()

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
        self._p[self.layout.parameters["reference", task.label]] = task.reference(self.robot, moment(target, 0.0))

    def _anchor(self, contact: Contact, q: Array) -> None:
        X = self.robot.pose(q, contact.frame)
        self._p[self.layout.parameters["anchor", contact.label]] = np.concatenate([X[:3, :3].ravel(), X[:3, 3]])

    # --- the loop ---------------------------------------------------------------------------------------------------------

    def __call__(self, t: float, q: Array, v: Array) -> Solution:
        """One step of control at time t (s) in state (q, v)."""
        self._read_state(q, v)
        if not isfinite(self._q.sum() + self._v.sum()):
            return self._held(t, ControlStatus.NOT_FINITE, None)
        if not self._started:
            self._start()
        self._read_time(t)
        self._evaluate()
        events = self._lost_contacts()
        answer = self._solved()
        if not answer.solved:
            return self._rescued(t, events)
        return self._solution(t, answer, ControlStatus.OPTIMAL, events=events)

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

    def _solved(self) -> Answer:
        self._finish_data()
        if self.priorities == "strict":
            d = self._few.data
            rows = (d["E"], d["e"], d["A"], d["lower"], d["upper"])
            return self._in_levels.solve(
                self._strict(), *rows, self._regular if self._columns is None else self._regular[self._columns[0]]
            )
        return self._few.solve_in_place()

    def _read_state(self, q: Array, v: Array) -> None:
        q, v = np.asarray(q), np.asarray(v)
        if q.shape != self._q.shape or v.shape != self._v.shape:
            raise ShapeError(f"wanted q of shape {self._q.shape} and v of {self._v.shape}, got {q.shape} and {v.shape}")
        self._q[:] = q
        self._v[:] = v

    def _read_time(self, t: float) -> None:
        for task, function, place in self._functions:
            self._p[place] = task.reference(self.robot, moment(function, t))
        for constraint in self._moving:
            self._p[self.layout.parameters["barrier", constraint.label]] = constraint.numbers(self.robot, t)
        if self._anchor_next:
            for contact in self.items.contacts:
                if contact.label in self._anchor_next:
                    self._anchor(contact, self._q)
            self._anchor_next = set()

    def _finish_data(self) -> None:
        """What the kernel leaves to be done: regularisation, and the smaller problem where some contacts are not in force."""
        full = self._solver.data
        if "weights" in self._sizes:
            full["weights"] += self._regular
        first = len(self.layout.rows)
        for extra in self._near:
            extra.write(full, first, self._q, self._v, self._data.get("B"), self._data.get("b"))
            first += extra.count
        if self._columns is None:
            return
        x, E, A = self._columns
        few = self._few.data
        few["R"][...], few["r"][...] = full["R"][:, x], full["r"]
        few["weights"][...], few["pulls"][...] = full["weights"][x], full["pulls"][x]
        few["E"][...], few["e"][...] = full["E"][np.ix_(E, x)], full["e"][E]
        few["A"][...], few["lower"][...], few["upper"][...] = full["A"][np.ix_(A, x)], full["lower"][A], full["upper"][A]
        if self._near:
            kept = sum(extra.count for extra in self._near)
            few["sides"][-kept:] = full["sides"][-kept:]

    def _program(self) -> Program:
        """The quadratic program of this step."""
        seen = Snapshot(self, self._q.copy(), self._v.copy(), self._p.copy(), self._columns, frozenset(self._contacts), None)
        return self._program_of(seen)

    def _program_of(self, seen: Snapshot) -> Program:
        """The quadratic program of any step."""
        d, n = {name: np.array(array) for name, array in seen.data.items()}, self.layout.unknowns
        none = np.zeros((0, n))
        for name in ("R", "E", "A"):
            d.setdefault(name, none)
        for name in ("r", "e", "lower", "upper"):
            d.setdefault(name, none[:, 0])
        d["weights"] = d.get("weights", 0.0) + self._regular
        d.setdefault("pulls", np.zeros(n))
        names = list(self._rows)
        for extra in self._near:
            near = extra.pairs(seen.q, seen.v)
            rows, lower = extra.rows(near, d.get("B"), d.get("b"))
            free = extra.count - len(rows)
            d["A"] = np.vstack((d["A"], rows, np.zeros((free, n))))
            d["lower"] = np.concatenate((d["lower"], lower, np.full(free, -np.inf)))
            d["upper"] = np.concatenate((d["upper"], np.full(extra.count, np.inf)))
            names += [extra.names[k] for k in near.indices] + [extra.constraint.label] * free
        if seen.columns is not None:
            x, E, A = seen.columns
            d |= {
                "R": d["R"][:, x],
                "weights": d["weights"][x],
                "pulls": d["pulls"][x],
                "E": d["E"][np.ix_(E, x)],
                "e": d["e"][E],
            }
            d |= {"A": d["A"][np.ix_(A, x)], "lower": d["lower"][A], "upper": d["upper"][A]}
            names = [names[k] for k in E] + [names[self._solver.n_E + k] for k in A]
        H = d["R"].T @ d["R"]
        H.flat[:: len(H) + 1] += d["weights"]
        return Program(H, -(d["r"] @ d["R"]) - d["pulls"], d["E"], d["e"], d["A"], d["lower"], d["upper"], tuple(names))

    def _strict(self) -> list[Level]:
        """Rows of each priority; postures are rows of single unknowns."""
        R, r = self._few.data["R"], self._few.data["r"]
        return [Level(R[at], r[at], self._posture_rows() if posture else None) for at, posture in self._levels]

    def _posture_rows(self) -> tuple[Array, Array, Array]:
        d, n = self._few.data, self.layout.joints
        start = 0 if self.level == "torque" else self.layout.first
        columns = np.arange(start, start + n)
        weights = d["weights"][columns] - self._regular[columns]
        used = weights > 0
        return columns[used], np.sqrt(weights[used]), d["pulls"][columns][used] / weights[used]

    # --- answers ----------------------------------------------------------------------------------------------------------

    def _solution(
        self, t: float, answer: Answer, status: ControlStatus, program: Program | None = None,
        relaxed: dict[str, float] | None = None, events: tuple[str, ...] = (),
    ) -> Solution:  # fmt: skip
        self.counts[status.name.lower()] += 1
        x = self._full(answer.x)
        torque, a, command = self._commands(x)
        self._last_torque = torque
        seen = Snapshot(self, self._q.copy(), self._v.copy(), self._p.copy(), self._columns, frozenset(self._contacts), program)
        multipliers = answer.multipliers.copy()
        return Solution(t, status, torque, a, command, answer.residuals, x, multipliers, relaxed or {}, events, seen)

    def _full(self, x: Array) -> Array:
        if self._columns is None:
            return x.copy()
        full = np.zeros(self.layout.unknowns)
        full[self._columns[0]] = x
        return full

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

    def _rescued(self, t: float, events: tuple[str, ...]) -> Solution:
        """Nothing satisfies all: constraints give way by rank, then contacts; then the joints are held."""
        program = self._program()
        relaxation = qp.relaxed(program.stated, self._giving_way(program.names))
        result = relaxation.result
        if not np.isfinite(result.x).all() or result.status not in (qp.Status.OPTIMAL, qp.Status.INACCURATE):
            return self._held(t, ControlStatus.FAILED, program)
        n_E = len(program.E)
        multipliers = result.multipliers[:n_E], result.multipliers[n_E:]
        answer = Answer(result.status, result.x, *multipliers, program.A @ result.x, result.residuals, 0)
        return self._solution(t, answer, ControlStatus.RELAXED, program, dict(relaxation.amounts), events)

    def _giving_way(self, names: Sequence[str]) -> list[set[str]]:
        """Names of rows in the order in which they give way: highest rank first, contacts that should hold last."""
        present, classes = set(names), []
        soft = [c for c in self.items.constraints if c.rank > 0]
        for rank in sorted({c.rank for c in soft}, reverse=True):
            of_rank = [c for c in soft if c.rank == rank]
            rows = {self.layout.rows[k] for c in of_rank for k in _range(self.layout.row_slices.get(c.label))}
            near = {
                name for extra in self._near if extra.constraint in of_rank for name in (*extra.names, extra.constraint.label)
            }
            classes.append((rows | near) & present)
        classes.insert(0, set(self.layout.hard_rows) & present)
        classes.append({name for name in present if name.endswith(" holds")})
        return [c for c in classes if c]

    def _held(self, t: float, status: ControlStatus, program: Program | None) -> Solution:
        """The fallback: the last good torques and damping, within the torque limits."""
        self.counts[status.name.lower()] += 1
        self._forget()
        first, nv = self.layout.first, self.robot.nv
        torque, zero, v = np.zeros(nv), np.zeros(nv), self._v
        if self.level == "torque":
            rates = np.where(np.isfinite(v[first:]), v[first:], 0.0)
            largest = self._p[self.layout.parameters["torque limits"]]
            torque[first:] = np.clip(self._last_torque[first:] - self.hold_damping * rates, -largest, largest)
        seen = Snapshot(self, self._q.copy(), v.copy(), self._p.copy(), self._columns, frozenset(self._contacts), program)
        return Solution(t, status, torque, zero, zero, qp.UNKNOWN, np.zeros(self.layout.unknowns), np.zeros(0), {}, (), seen)


class Snapshot:
    """What one step saw, from which everything else about it can be made again when somebody asks."""

    def __init__(
        self, controller: WholeBodyController, q: Array, v: Array, p: Array, columns: Any, contacts: frozenset[str],
        program: Program | None,
    ) -> None:  # fmt: skip
        self.controller, self.q, self.v, self.p, self.columns, self.contacts = controller, q, v, p, columns, contacts
        self._program = program

    @cached_property
    def data(self) -> dict[str, Array]:
        """What the kernel gave."""
        c = self.controller
        return dict(zip(c._sizes, c._kernel(self.q, self.v, self.p), strict=True))

    @cached_property
    def program(self) -> Program:
        """The quadratic program."""
        return self._program or self.controller._program_of(self)

    def parts(self, name: str, places: Mapping[str, slice]) -> dict[str, Array]:
        return {key: self.data[name][at] for key, at in places.items()} if name in self.data else {}

    @property
    def errors(self) -> dict[str, Array]:
        return self.parts("errors", self.controller.layout.error_slices)

    @property
    def margins(self) -> dict[str, Array]:
        return self.parts("margins", self.controller.layout.margin_slices)

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


def _range(place: slice | None) -> range:
    return range(0) if place is None else range(place.start, place.stop)
