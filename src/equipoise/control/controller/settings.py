"""The user's settings of all items, and the numbers that follow from them: constants once, functions of time in every
step.

Outside of the loop a setting that cannot be used raises. In the loop nothing does: the last good numbers stay, and an
event tells.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

import numpy as np

from ...algebra import quaternions
from ...algebra.rigid import pose
from ...errors import unknown_name
from ..events import ControlEvent, ControlEventKind
from ..item import Item, Numbers, Parameters, TaskError
from .context import Context
from .layout import Layout

Array = np.ndarray


def varies(value: object) -> bool:
    """Whether a setting changes with time: a function of it, or a thing that moves."""
    return callable(value) or bool(getattr(value, "moves", False))


def value_at(value: object, t: float) -> Any:
    """A setting at time t."""
    if callable(value):
        return value(t)
    return getattr(value, "at")(t) if getattr(value, "moves", False) else value  # noqa: B009 (of anything that moves)


class Settings:
    """Values of settings by item, and the vector p of parameters that kernels read."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.p: Array = np.zeros(layout.size)
        self._items: dict[str, Item] = {item.label: item for item in layout.items.all}
        self._values: dict[str, dict[str, object]] = {label: {} for label in self._items}
        for (label, _), (group, _) in layout.groups.items():
            for name in group.settings:
                self._values[label][name] = getattr(self._items[label], name, None)
        self._varying: list[tuple[Item, Parameters, slice, list[Any], list[int]]] = []
        for label in self._items:
            self._write(label, self._values[label], None, first=True)
        self._find_varying()

    def live_in(self, p: Array) -> None:
        """From now on the parameters are there."""
        p[:] = self.p
        self.p = p

    # --- outside of the loop ------------------------------------------------------------------------------------------

    def has(self, label: str, name: str) -> bool:
        """Whether an item has a setting of this name."""
        return name in self._values[label]

    def check(self, label: str, changes: Mapping[str, object]) -> None:
        """Raise unless an item of that label has settings of these names."""
        if label not in self._items:
            raise unknown_name("task, contact or constraint", label, self._items)
        for name in changes:
            if name not in self._values[label]:
                raise unknown_name(f"setting of {label!r}", name, self._values[label])

    def set(self, label: str, changes: Mapping[str, object], q: Array | None) -> None:
        """Change settings of one item; all of them or, if one cannot be used, none.

        Args:
            changes: values by name; a target or anchor of None is where the robot is.
            q: where the robot is; None if that is not known yet.
        """
        self.check(label, changes)
        values = {**self._values[label], **changes}
        self._write(label, values, q, changed=tuple(changes))
        self._values[label] = values
        self._find_varying()

    def place(self, q: Array) -> None:
        """Give targets and anchors of None the place where the robot is."""
        for label, item in self._items.items():
            if item.placed is not None and self._values[label][item.placed] is None:
                self._place(item, q)

    def place_again(self, label: str, q: Array) -> None:
        """The target or anchor of one item is where the robot is now."""
        item = self._items[label]
        if item.placed is not None:
            self._place(item, q)

    def _place(self, item: Item, q: Array) -> None:
        for group, place in self._groups(item.label):
            if item.placed in group.settings:
                here = item.here(self.layout.context.robot, q)
                values = [here if s == item.placed else self._values[item.label][s] for s in group.settings]
                self.p[place] = group.flat(item.label, values)

    def _write(
        self,
        label: str,
        values: Mapping[str, Any],
        q: Array | None,
        changed: Collection[str] | None = None,
        first: bool = False,
    ) -> None:
        """Numbers of the groups that follow from what changed; nothing is written where one cannot be used."""
        item, made = self._items[label], []
        for group, place in self._groups(label):
            if changed is not None and not any(name in changed for name in group.settings):
                continue
            given = [values[s] for s in group.settings]
            unplaced = item.placed in group.settings and values[item.placed] is None
            if unplaced and q is not None:
                given = [
                    item.here(self.layout.context.robot, q) if s == item.placed else values[s] for s in group.settings
                ]
            elif unplaced or (item.placed in group.settings and callable(values[item.placed])):
                continue  # known when the robot's place, or the time, is
            if any(varies(value) for value in given):
                if not first:
                    continue
                given = [value_at(value, 0.0) for value in given]
            made.append((place, group.flat(label, given)))
        for place, numbers in made:
            self.p[place] = numbers

    def _groups(self, label: str) -> Iterator[tuple[Parameters, slice]]:
        return (entry for (owner, _), entry in self.layout.groups.items() if owner == label)

    def _find_varying(self) -> None:
        self._varying = []
        for (label, _), (group, place) in self.layout.groups.items():
            given = [self._values[label][s] for s in group.settings]
            moving = [k for k, value in enumerate(given) if varies(value)]
            if moving:
                self._varying.append((self._items[label], group, place, given, moving))

    # --- in the loop --------------------------------------------------------------------------------------------------

    def refresh(self, t: float) -> tuple[ControlEvent, ...]:
        """Numbers that follow from functions of time; those that cannot be used are refused, and the last ones stay."""
        events: tuple[ControlEvent, ...] = ()
        for item, group, place, given, moving in self._varying:
            values = given.copy()
            try:
                for k in moving:
                    values[k] = value_at(given[k], t)
                self.p[place] = _numbers_of(item, group, values)
            except Exception as error:  # a user's function may raise anything
                reason = str(error) or type(error).__name__
                events += (ControlEvent(ControlEventKind.SETTING_REFUSED, item.label, reason.rstrip(".")),)
        return events

    def numbers(self, label: str) -> dict[str, Array]:
        """An item's parameters by name: views of p, which always show the present values."""
        made: dict[str, Array] = {}
        for group, place in self._groups(label):
            start = place.start
            for name, shape in group.shapes.items():
                size = int(np.prod(shape))
                made[name] = self.p[start : start + size].reshape(shape)
                start += size
        return made

    def feed_back(self, torque: Array | None) -> None:
        """The torques of the motors that were commanded; None for none."""
        place, known = self.layout.feedback
        self.p[known] = 0.0 if torque is None else 1.0
        if torque is not None:
            self.p[place] = torque

    def describe_base(self, q: Array) -> None:
        """The chart's parameters of the base's pose at q, if the controller has a chart."""
        chart = self.layout.context.chart
        if chart is not None:
            self.p[self.layout.theta] = chart.parameters(pose(quaternions.rotation(q[3:7].tolist()), q[:3]))

    @property
    def previous_torque(self) -> Array | None:
        """Torques of the motors in the last step, N m; None before the first."""
        place, known = self.layout.feedback
        return self.p[place].copy() if self.p[known] else None

    @property
    def state(self) -> tuple[dict[str, dict[str, object]], Array]:
        """All values and numbers, to be restored elsewhere."""
        return {label: dict(values) for label, values in self._values.items()}, self.p.copy()

    def restore(self, state: tuple[dict[str, dict[str, object]], Array]) -> None:
        """Take over what `state` gave; raises, with nothing changed, where that is of other items."""
        values, p = state
        there, here = ([(label, *given) for label, given in each.items()] for each in (values, self._values))
        if there != here or p.shape != self.p.shape:
            items = f"{', '.join(self._values)}; got those of {', '.join(values)}"
            raise TaskError(f"wanted settings of the same items with the same sizes, in their order: {items}")
        self._values = {label: dict(given) for label, given in values.items()}
        self.p[:] = p
        self._find_varying()

    def constant(self, label: str, name: str) -> Any:
        """The value of a setting, as it was given."""
        return self._values[label][name]


def _numbers_of(item: Item, group: Parameters, values: list[Any]) -> Array:
    """Numbers of a group that can be used, (size,); raises where they cannot."""
    if type(values[0]) is not Numbers:
        return group.flat(item.label, values)
    new = values[0].numbers
    if new.shape != (group.size,) or not group.usable(new):
        raise TaskError("it is not finite, or of the wrong size")
    return np.asarray(new)


def require_settings(item: Item, context: Context) -> None:
    """Raise if a setting of an item that is a constant cannot be used."""
    for group in item.parameters(context).values():
        values = [getattr(item, name, None) for name in group.settings]
        unknown = item.placed in group.settings and values[group.settings.index(item.placed)] is None
        if not unknown and not any(varies(value) for value in values):
            group.flat(item.label, values)


def require_positive(**numbers: float) -> None:
    """Raise unless all are positive and finite."""
    for name, value in numbers.items():
        if not (isinstance(value, int | float) and np.isfinite(value) and value > 0):
            raise TaskError(f"{name} must be positive and finite, got {value!r}")


def numbers_like(known: Array, given: Any) -> Array:
    """What was given as an array like the known one; raises ValueError where it is none."""
    if type(given) is np.ndarray and given.dtype is known.dtype and given.shape == known.shape:  # nearly always
        return given
    array = np.asarray(given)
    if array.shape != known.shape or array.dtype.kind not in "fiu":
        raise ValueError(f"wanted numbers of shape {known.shape}, got shape {array.shape} of {array.dtype}")
    return array
