"""Where everything is: numbers among the parameters, unknowns, and rows with their names. Known before anything is
traced."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ..constraints.constraint import Constraint
from ..contacts.contact import Contact
from ..item import Item, Parameters, TaskError
from ..tasks.task import Task
from .context import Context

if TYPE_CHECKING:
    from ...robot import Robot

Array = np.ndarray
NEVER_RELAXED, RELAXED_LAST = 0, 1
EQUATIONS = ("equations of motion", "constraint of the chart")
IN_ONE_STEP = "motion in one step"  # label of the rows that bound it


@dataclass(frozen=True)
class Items:
    """What a controller was given."""

    tasks: tuple[Task, ...]
    contacts: tuple[Contact, ...]
    constraints: tuple[Constraint, ...]

    @property
    def all(self) -> tuple[Item, ...]:
        return (*self.contacts, *self.tasks, *self.constraints)

    def require(self, robot: Robot, level: str) -> None:
        """Raise unless each is what it should be, has a label of its own, and fits the robot and the level."""
        kinds = {Task: self.tasks, Contact: self.contacts, Constraint: self.constraints}
        for wanted, items in kinds.items():
            for given in items:
                if not isinstance(given, wanted):
                    raise TaskError(f"wanted a {wanted.__name__}, got {given!r}")
        labels = [item.label for item in self.all]
        twice = sorted({label for label in labels if labels.count(label) > 1})
        if twice:
            raise TaskError(f"two items are called {twice[0]!r}; give each a name of its own (name=…)")
        for item in self.all:
            item.require_level(level)
            item.check(robot)


@dataclass(frozen=True, eq=False)
class Layout:
    """Places and names of a controller.

    Unknowns by level: velocities; accelerations; accelerations of the motors, then contact forces (with a chart:
    accelerations of its coordinates, torques, contact forces). Rows of E: contacts hold, then hard tasks, then
    equations of motion where they are rows. Rows of A: cones and normal forces of contacts, constraints, the reserve of
    rows made outside, then bounds of the motion in one step if there are barriers. Rows of R: tasks in the order of
    their priorities. The parameters of items are behind each other, then come the chart's; `feedback` is behind all:
    torques of the last step, and whether there was one.
    """

    context: Context
    items: Items
    strict: bool
    reserves: Mapping[str, int] = field(default_factory=dict)  # rows made outside, by constraint

    def __reduce__(self) -> tuple[object, ...]:
        """By what it was made from; the rest is worked out again."""
        return Layout, (self.context, self.items, self.strict, dict(self.reserves))

    @property
    def identity(self) -> object:
        """Everything that is traced, which names its kernel in the cache."""
        context, items = self.context, self.items
        robot, chart, labels = context.robot, context.chart, [task.label for task in items.tasks]
        return [
            (robot.tree, robot.model.gravity, robot.mass, context.motors, context.mechanism),
            (context.level, context.dt, self.strict, None if chart is None else chart.identity),
            [(type(item), item.structure(context)) for item in items.all],
            [labels.index(task.label) for task in self.soft],
            [k for k, constraint in enumerate(items.constraints) if constraint.label in self.reserves],
        ]

    @cached_property
    def groups(self) -> dict[tuple[str, str], tuple[Parameters, slice]]:
        """Parameters of each item by label and group, and their place."""
        made: dict[tuple[str, str], tuple[Parameters, slice]] = {}
        start = 0
        for item in self.items.all:
            for name, group in item.parameters(self.context).items():
                made[item.label, name] = group, slice(start, start + group.size)
                start += group.size
        return made

    @cached_property
    def size(self) -> int:
        """Of the parameters, feedback included."""
        return self.theta.stop + len(self.context.motors) + 1

    @cached_property
    def theta(self) -> slice:
        """Place of the chart's parameters; empty where there is no chart."""
        start = sum(group.size for group, _ in self.groups.values())
        return slice(start, start + (0 if self.context.chart is None else self.context.chart.dimension))

    @property
    def feedback(self) -> tuple[slice, int]:
        """Places of the last torques, and of whether there were any."""
        return slice(self.size - 1 - len(self.context.motors), self.size - 1), self.size - 1

    # --- unknowns -----------------------------------------------------------------------------------------------------

    @property
    def unknowns(self) -> int:
        return self.context.unknowns

    @cached_property
    def forces(self) -> dict[str, slice]:
        """Of each contact, in x; none but at torque level."""
        if self.context.level != "torque":
            return {}
        return _behind(((c.label, c.size) for c in self.items.contacts), self.context.first_force)

    # --- cost ---------------------------------------------------------------------------------------------------------

    @cached_property
    def priorities(self) -> list[int]:
        """Of the cost's levels; one level where priorities are weights."""
        found = sorted({task.priority for task in self.items.tasks if not task.hard})
        return (found or [0]) if self.strict else [0]

    def diagonal(self, task: Task) -> bool:
        """Whether a task is a sum of squares of unknowns: rows that select unknowns, in the last level."""
        chosen = task.selects(self.context)
        if chosen is None or task.hard or (self.strict and task.priority != self.priorities[-1]):
            return False
        return self.context.level != "torque" or bool(np.isin(chosen, self.context.motors).all())

    @cached_property
    def soft(self) -> tuple[Task, ...]:
        """Tasks with rows of R, in the order of their priorities."""
        rows = [task for task in self.items.tasks if not task.hard and not self.diagonal(task)]
        return tuple(sorted(rows, key=lambda task: task.priority)) if self.strict else tuple(rows)

    @cached_property
    def task_rows(self) -> dict[str, slice]:
        """In R."""
        return _behind((task.label, task.rows(self.context)) for task in self.soft)

    @property
    def level_sizes(self) -> tuple[int, ...]:
        """Rows of R of each level."""
        if not self.strict:
            return (_end(self.task_rows),)
        sizes = [(t.priority, t.rows(self.context)) for t in self.soft]
        return tuple(sum(n for priority, n in sizes if priority == level) for level in self.priorities)

    # --- rows ---------------------------------------------------------------------------------------------------------

    @cached_property
    def hard(self) -> tuple[Task, ...]:
        """Tasks that are equalities."""
        return tuple(task for task in self.items.tasks if task.hard)

    @cached_property
    def equality_rows(self) -> dict[str, slice]:
        """In E, of contacts and hard tasks; behind them equations of motion where these are rows."""
        contacts = ((c.label, c.size) for c in self.items.contacts)
        tasks = ((t.label, t.rows(self.context)) for t in self.hard)
        return _behind([*contacts, *tasks, *zip(EQUATIONS, self.context.equation_rows, strict=True)])

    @cached_property
    def inequality_rows(self) -> dict[str, slice]:
        """In A, of contacts (torque level only) and constraints; those made outside last."""
        torque = self.context.level == "torque"
        contacts = [(c.label, len(c.cone) + 1) for c in self.items.contacts] if torque else []
        rows = [
            (c.label, len(c.row_names(self.context))) for c in self.items.constraints if c.label not in self.reserves
        ]
        return _behind([*contacts, *rows, *self.reserves.items(), (IN_ONE_STEP, 2 * len(self.bounded))])

    @cached_property
    def bounded(self) -> Array:
        """Unknowns that move the robot, if there are barriers: what they promise holds for short steps only."""
        context = self.context
        if not any(c.has_margins or c.label in self.reserves for c in self.items.constraints):
            return np.zeros(0, np.intp)
        return np.arange(self.unknowns)[context.motor_unknowns if context.level == "torque" else slice(None)]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Of the rows of E, then of those of A."""
        made = [f"{c.label} holds" for c in self.items.contacts for _ in range(c.size)]
        made += [f"{t.label} task" for t in self.hard for _ in range(t.rows(self.context))]
        made += [name for name, n in zip(EQUATIONS, self.context.equation_rows, strict=True) for _ in range(n)]
        if self.context.level == "torque":
            for contact in self.items.contacts:
                made += [*contact.cone_names, f"{contact.label} normal force"]
        for constraint in self.items.constraints:
            made += [] if constraint.label in self.reserves else constraint.row_names(self.context)
        made += [label for label, count in self.reserves.items() for _ in range(count)]
        moved = self.context.motors if self.context.level == "torque" else np.arange(self.context.robot.nv)
        bounds = [f"{IN_ONE_STEP} of {self.context.rate_names[k] or 'base'}" for k in moved[: len(self.bounded)]]
        return (*made, *bounds, *bounds)

    @cached_property
    def classes(self) -> tuple[Array, Array]:
        """Relaxation class of each row of E and of A: 0 never, 1 last, the largest first.

        Hard tasks are relaxed first, then constraints by their rank, contacts that should hold and bounds of the motion
        in one step last; cones and what has rank 0 never.
        """
        ranks = sorted({c.rank for c in self.items.constraints if c.rank > 0})
        of_rank = {rank: RELAXED_LAST + 1 + k for k, rank in enumerate(ranks)} | {0: NEVER_RELAXED}
        tasks = RELAXED_LAST + 1 + len(ranks)
        E = np.full(_end(self.equality_rows), tasks, dtype=np.int64)
        E[: sum(c.size for c in self.items.contacts)] = RELAXED_LAST
        E[len(E) - sum(self.context.equation_rows) :] = NEVER_RELAXED
        A = np.full(_end(self.inequality_rows), NEVER_RELAXED, dtype=np.int64)
        for c in self.items.constraints:
            A[self.inequality_rows[c.label]] = of_rank[max(c.rank, 0)]
        A[self.inequality_rows[IN_ONE_STEP]] = RELAXED_LAST
        return E, A

    @cached_property
    def errors(self) -> dict[str, slice]:
        """Of tasks, among the kernel's errors."""
        return _behind((t.label, t.rows(self.context)) for t in self.items.tasks if t.has_error)

    @cached_property
    def margins(self) -> dict[str, slice]:
        """Of constraints, among the kernel's margins."""
        return _behind((c.label, len(c.row_names(self.context))) for c in self.items.constraints if c.has_margins)

    @cached_property
    def wrench_maps(self) -> dict[str, slice]:
        """Columns of each contact among the kernel's wrench maps."""
        return _behind((c.label, c.size) for c in self.items.contacts)


def _behind(sizes: Sequence[tuple[str, int]] | Iterator[tuple[str, int]] | Any, start: int = 0) -> dict[str, slice]:
    """Places one behind the other."""
    places = {}
    for label, size in sizes:
        places[label] = slice(start, start + size)
        start += size
    return places


def _end(places: Mapping[str, slice]) -> int:
    return max((place.stop for place in places.values()), default=0)
