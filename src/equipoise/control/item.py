"""What tasks, contacts and constraints share: a name, named parameters, and what of them is structure.

Structure is compiled, every number is a parameter. An item declares its parameters in groups. A group says which of the
item's fields it follows from, which shapes it has, and how values become numbers. Those fields are *settings*: each may
be changed while a controller runs (`controller.set`), and each may be a function of time. All other fields are
structure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ..algebra.arrays import finite
from ..errors import EquipoiseError, unknown_name

if TYPE_CHECKING:
    from ..equations.symbols import SX
    from ..robot import Robot
    from .controller.context import Context

Array = np.ndarray
Shape = tuple[int, ...]
Setting = ArrayLike | Callable[[float], object]  # numbers, or a function of time that returns them
NumberSetting = float | Callable[[float], float]  # one number, or a function of time that returns it
# a value, with its rates, or a function of time
Target = ArrayLike | tuple[object, ...] | Callable[[float], object] | None
Points = Sequence[Sequence[float]] | np.ndarray  # (n, 2) or (n, 3)
LEVELS = ("velocity", "acceleration", "torque")


class TaskError(EquipoiseError, ValueError):
    """A task, contact or constraint that cannot be: a wrong size, a negative weight, a target of the wrong kind."""


@dataclass(frozen=True)
class Parameters:
    """A group of numbers that follow together from some settings of an item.

    Args:
        settings: names of the fields that the numbers follow from.
        shapes: shape of each number, by the name under which the item's rows read it.
        numbers: called with the values of the settings, in order; gives the numbers, in the order of `shapes`.
        unbounded: whether a number may be infinite, which then means that there is no bound.
    """

    settings: tuple[str, ...]
    shapes: Mapping[str, Shape]
    numbers: Callable[..., Sequence[ArrayLike]]
    unbounded: bool = False

    @cached_property
    def size(self) -> int:
        """How many numbers in all."""
        return sum(prod(shape) for shape in self.shapes.values())

    def usable(self, numbers: Array) -> bool:
        """Whether all are numbers, and finite where they must be."""
        return not np.isnan(numbers).any() if self.unbounded else finite(numbers)

    def flat(self, label: str, values: Sequence[object]) -> Array:
        """All numbers of the group, shape (size,); raises `TaskError` where they cannot be used.

        Args:
            label: of the item, for the error.
            values: of the settings, in order.
        """
        made = np.empty(self.size)
        start = 0
        given = self.numbers(*values)
        for (name, shape), number in zip(self.shapes.items(), given, strict=True):
            array = np.asarray(number, dtype=float)
            if array.shape != shape and array.size != prod(shape):
                raise TaskError(f"{label}: {name} must have shape {shape}; got {array.shape}")
            made[start : start + array.size] = array.reshape(-1)
            start += array.size
        if not self.usable(made):
            raise TaskError(f"{label}: {' and '.join(self.settings)} must be finite numbers; got {_short(values)}")
        return made


class Numbers:
    """What a function of time may return instead of a setting: the very numbers of its group, as `Parameters.flat`
    makes them.

    They are used as they are; for those who make thousands of them per second and know that they are right.
    """

    __slots__ = ("numbers",)

    def __init__(self, numbers: Array) -> None:
        self.numbers = numbers


class NamedNumbers:
    """An item's parameters on symbols, each an attribute: `reference.pose`."""

    def __init__(self, **numbers: SX) -> None:
        self.__dict__.update(numbers)

    def __getattr__(self, name: str) -> SX:
        raise AttributeError(f"no parameter named {name!r} was declared; there are {', '.join(self.__dict__)}")


@dataclass(frozen=True, eq=False, kw_only=True)
class Item:
    """What all items share.

    Args:
        name: under which reports and setters know it; two items of a controller have different ones.
    """

    name: str = ""
    levels: ClassVar[tuple[str, ...]] = LEVELS
    placed: ClassVar[str | None] = None  # the setting that is where the robot is while nobody gives it another value

    @property
    def label(self) -> str:
        """The name, or a description where none was given."""
        return self.name or type(self).__name__

    def check(self, robot: Robot) -> None:
        """Raise if this robot cannot have this item."""

    def here(self, robot: Robot, q: Array) -> object:
        """The value of the setting `placed` with the robot at q."""
        raise NotImplementedError(f"{type(self).__name__} has no here()")

    def parameters(self, context: Context) -> Mapping[str, Parameters]:
        """Groups of parameters, by name."""
        return {}

    def structure(self, context: Context) -> object:
        """Everything that the traced code reads of this item beside its parameters: names its kernel in the cache.
        Frames are named by their place."""
        numbers = {name for group in self.parameters(context).values() for name in group.settings}
        read = [field.name for field in fields(self) if field.name not in numbers and field.name != "name"]
        return [(name, by_place(getattr(self, name), context.robot)) for name in read]

    def require_level(self, level: str) -> None:
        """Raise if this item does not exist at this level."""
        if level not in LEVELS:
            raise unknown_name("level", level, LEVELS)
        if level not in self.levels:
            raise TaskError(
                f"{self.label} needs level={self.levels[0]!r}: forces and torques are no variables at level={level!r}"
            )


def by_place(x: Any, robot: Robot) -> Any:
    """A value with the places of frames instead of their names."""
    if isinstance(x, str):
        return ("frame", *robot.place(x)) if x in robot.frames else x
    if isinstance(x, tuple | list):
        return [by_place(part, robot) for part in x]
    if isinstance(x, Mapping):
        return {str(k): (by_place(k, robot), by_place(part, robot)) for k, part in x.items()}
    if is_dataclass(x) and not isinstance(x, type):
        return type(x), [(field.name, by_place(getattr(x, field.name), robot)) for field in fields(x)]
    return x


def at_first(setting: Setting) -> Any:
    """A setting as a constant: a function of time is asked at t = 0."""
    return setting(0.0) if callable(setting) else setting


def column(label: str, what: str, value: Setting, n: int) -> Array:
    """One number for all rows, or one each, shape (n,): finite and not negative."""
    array = finite_column(label, what, value, n)
    if not (array >= 0).all():
        raise TaskError(f"{label}: {what} must not be negative; got {value!r}")
    return array


def finite_column(label: str, what: str, value: Setting, n: int) -> Array:
    """One number for all rows, or one each, shape (n,): finite."""
    array = np.asarray(at_first(value), dtype=float)
    if array.shape not in ((), (n,)):
        raise TaskError(f"{label}: {what} must be one number or {n}, one per row; got shape {array.shape}")
    if not np.isfinite(array).all():
        raise TaskError(f"{label}: {what} must be finite; got {value!r}")
    return np.broadcast_to(array, (n,))


def _short(values: Sequence[Any]) -> str:
    text = ", ".join(repr(value) for value in values)
    return text if len(text) < 200 else text[:200] + "…"
