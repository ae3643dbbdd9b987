"""References of tasks: a target with its rate and acceleration, as users give it and as numbers that rows read.

A target is a value, a tuple (value, rate) or (value, rate, acceleration), or a function of time that returns one of
these; None means the place where the robot is when the controller is first called.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Any, Protocol

import numpy as np

from ..item import Shape, TaskError

Array = np.ndarray
WORDS = ("target", "rate", "acceleration")


class Reference(Protocol):
    """How the target of a task becomes numbers."""

    @property
    def shapes(self) -> Mapping[str, Shape]:
        """Names and shapes of the numbers."""
        ...

    def numbers(self, target: object) -> Sequence[Array]:
        """The numbers of a target; raises `TaskError` where it is none."""
        ...


def moment(value: object, scalar: bool = False) -> tuple[Any, Any, Any]:
    """(target, rate, acceleration) of what was given as a target; None where not given.

    A tuple is such a list, unless it starts with a number and the target is more than one: then it is the target
    itself.
    """
    parts: tuple[Any, ...] = (value,)
    if isinstance(value, tuple) and 1 <= len(value) <= 3 and (scalar or np.ndim(value[0]) > 0):
        parts = value
    a, b, c = parts + (None,) * (3 - len(parts))
    return a, b, c


@dataclass(frozen=True)
class VectorReference:
    """A vector: `value`, `rate` and `acceleration`, n numbers each."""

    label: str
    n: int
    scalar: bool = False  # whether a target is one number
    spread: bool = False  # whether one number stands for all

    @property
    def shapes(self) -> Mapping[str, Shape]:
        return {"value": (self.n,), "rate": (self.n,), "acceleration": (self.n,)}

    def numbers(self, target: object) -> Sequence[Array]:
        values = moment(target, self.scalar)
        require_target(self.label, values[0])
        return [flat(self.label, word, x, self.n, self.spread) for word, x in zip(WORDS, values, strict=True)]


@dataclass(frozen=True)
class PoseReference:
    """A pose in the world: `pose` 4×4, its `twist` (linear, angular; world axes) and the twist's rate,
    `acceleration`."""

    label: str
    place: bool = False  # whether three numbers, a place, will do
    shapes: Mapping[str, Shape] = field(default_factory=lambda: {"pose": (4, 4), "twist": (6,), "acceleration": (6,)})

    def numbers(self, target: object) -> Sequence[Array]:
        given, *rates = moment(target)
        require_target(self.label, given)
        X = np.asarray(given, dtype=float)
        if self.place and X.shape == (3,):
            X = np.block([[np.eye(3), X[:, None]], [np.zeros(3), 1.0]])
            rates = [np.append(x, np.zeros(3)) if np.shape(x) == (3,) else x for x in rates]
        if X.shape != (4, 4) or not is_pose(X.tolist()):
            wanted = "a pose (4×4) or a place (3 numbers)" if self.place else "a pose (4×4)"
            raise TaskError(f"{self.label}: the target must be {wanted}; got {given!r}")
        return X, flat(self.label, "rate", rates[0], 6), flat(self.label, "acceleration", rates[1], 6)


@dataclass(frozen=True)
class PostureReference:
    """A configuration: `configuration` (nq numbers), `rate` and `acceleration` of n of its velocities."""

    label: str
    nq: int
    nv: int
    velocities: tuple[int, ...]  # which velocities

    @property
    def shapes(self) -> Mapping[str, Shape]:
        n = len(self.velocities)
        return {"configuration": (self.nq,), "rate": (n,), "acceleration": (n,)}

    def numbers(self, target: object) -> Sequence[Array]:
        q, *rates = moment(target)
        require_target(self.label, q)
        at = list(self.velocities)
        chosen = [np.asarray(x)[at] if x is not None and np.shape(x) == (self.nv,) else x for x in rates]
        columns = [flat(self.label, word, x, len(at)) for word, x in zip(WORDS[1:], chosen, strict=True)]
        return [flat(self.label, "target", q, self.nq), *columns]


@dataclass(frozen=True)
class NoReference:
    """Of a task that has no target."""

    shapes: Mapping[str, Shape] = field(default_factory=dict)

    def numbers(self, target: object) -> Sequence[Array]:
        return []


def require_target(label: str, target: object) -> None:
    """Raise if there is no target: only rates may be left out."""
    if target is None:
        raise TaskError(f"{label}: a target is wanted, got None")


def flat(label: str, what: str, value: Any, n: int, spread: bool = False) -> Array:
    """n numbers; zeros for None; one number n times where `spread`."""
    if value is None:
        return np.zeros(n)
    array = np.asarray(value, dtype=float).reshape(-1)
    if spread and array.size == 1:
        return np.full(n, array[0])
    if array.size != n:
        raise TaskError(f"{label}: {what} must have {n} numbers, got {array.size}")
    return array


def is_pose(rows: list[list[float]]) -> bool:
    """Whether a 4×4 matrix is a rigid motion, within 1e-6: `algebra.rigid.is_pose` on plain numbers, for control
    loops."""
    (a, b, c, x), (d, e, f, y), (g, h, i, z), last = rows
    units = (a * a + b * b + c * c - 1, d * d + e * e + f * f - 1, g * g + h * h + i * i - 1)
    across = (a * d + b * e + c * f, a * g + b * h + c * i, d * g + e * h + f * i)
    straight = all(-1e-6 <= number <= 1e-6 for number in (*units, *across))  # false for NaN
    right = a * (e * i - f * h) + b * (f * g - d * i) + c * (d * h - e * g) > 0
    return straight and right and last == [0, 0, 0, 1] and isfinite(x + y + z)
