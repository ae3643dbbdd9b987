"""Which parameters the runs get: all of a grid, or random draws that a seed fixes."""

from __future__ import annotations

import hashlib
import itertools
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ..errors import EquipoiseError

Array = np.ndarray
Value = bool | int | float | str
Row = dict[str, Value]  # the parameters, or the results, of one run
RESERVED = ("run", "wall_time", "failure")  # columns that every table has


class StudyError(EquipoiseError):
    """A study that cannot be: parameters that are none, a folder of another study, workers that cannot be reached."""


# --- distributions ----------------------------------------------------------------------------------------------------


class Distribution(Protocol):
    """What a parameter is drawn from. Your own needs this one method."""

    def quantile(self, u: Array) -> Sequence[Value]:
        """Values for even random numbers u in (0, 1)."""


@dataclass(frozen=True)
class Uniform:
    """Even between `low` and `high`."""

    low: float
    high: float

    def __post_init__(self) -> None:
        _require_range(self, self.low, self.high)

    def quantile(self, u: Array) -> Array:
        return self.low + (self.high - self.low) * u


@dataclass(frozen=True)
class LogUniform:
    """Even in its logarithm between `low` and `high`, both positive."""

    low: float
    high: float

    def __post_init__(self) -> None:
        _require_range(self, self.low, self.high)
        if not self.low > 0:
            raise StudyError(f"{self}: a logarithm needs positive bounds")

    def quantile(self, u: Array) -> Array:
        return self.low * (self.high / self.low) ** u


@dataclass(frozen=True)
class Normal:
    """Gaussian with a mean and a standard deviation."""

    mean: float
    deviation: float

    def __post_init__(self) -> None:
        if not (math.isfinite(self.mean) and 0 < self.deviation < math.inf):
            raise StudyError(f"{self}: wanted a finite mean and a positive deviation")

    def quantile(self, u: Array) -> Array:
        from scipy.special import ndtri

        return self.mean + self.deviation * ndtri(u)


@dataclass(frozen=True)
class Integers:
    """Whole numbers from `low` up to, not including, `high`; seeds of the runs, say."""

    low: int
    high: int

    def __post_init__(self) -> None:
        _require_range(self, self.low, self.high)

    def quantile(self, u: Array) -> list[int]:
        return [self.low + int((self.high - self.low) * x) for x in u.tolist()]


@dataclass(frozen=True)
class Choice:
    """One of some values, each as likely."""

    values: Sequence[Value]

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", tuple(self.values))
        if not self.values:
            raise StudyError("Choice: wanted one value or more, got none")

    def quantile(self, u: Array) -> list[Value]:
        return [self.values[int(len(self.values) * x)] for x in u.tolist()]


def _require_range(which: Any, low: float, high: float) -> None:
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise StudyError(f"{which}: wanted finite bounds, low below high")


# --- sets of runs -----------------------------------------------------------------------------------------------------


class Grid:
    """Every combination of values, the last parameter changing fastest: `Grid(friction=[0.3, 0.8], mass=[20, 30,
    40])`."""

    values: dict[str, list[Value]]

    def __init__(self, values: Mapping[str, Sequence[Value]] | None = None, /, **named: Sequence[Value]) -> None:
        self.values = {name: _values(name, given) for name, given in {**(values or {}), **named}.items()}
        if not self.values:
            raise StudyError("Grid: wanted one parameter or more, such as Grid(friction=[0.3, 0.8])")

    def __len__(self) -> int:
        return math.prod(len(values) for values in self.values.values())

    def __iter__(self) -> Iterator[Row]:
        for combination in itertools.product(*self.values.values()):
            yield dict(zip(self.values, combination, strict=True))


class Draws:
    """Random parameters: `Draws(200, seed=1, friction=Uniform(0.3, 1.0), surface=Choice(["wood", "ice"]))`.

    The same seed gives the same draws everywhere. Each parameter has random numbers of its own, so that another
    parameter, another order or more draws do not change those that were there.

    Args:
        count: how many runs.
        distributions: by parameter; a plain value is the same in every run.
    """

    count: int
    seed: int

    def __init__(
        self,
        count: int,
        distributions: Mapping[str, Distribution | Value] | None = None,
        /,
        *,
        seed: int = 0,
        **named: Distribution | Value,
    ) -> None:
        if count != int(count) or count < 1:
            raise StudyError(f"Draws: the count is a whole number, 1 or more; got {count!r}")
        self.count, self.seed = int(count), int(seed)
        self.distributions: dict[str, Any] = {**(distributions or {}), **named}
        if not self.distributions:
            raise StudyError("Draws: wanted one parameter or more, such as Draws(100, friction=Uniform(0.3, 1.0))")
        self._columns = {name: self._column(name, given) for name, given in self.distributions.items()}

    def _column(self, name: str, given: Any) -> list[Value]:
        if not hasattr(given, "quantile"):
            return [plain(f"parameter {name!r}", given)] * self.count
        stream = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "little")
        u = np.random.default_rng([self.seed, stream]).random(self.count)
        return _values(name, given.quantile(np.maximum(u, 2.0**-54)))  # a normal draw at 0 would be infinite

    def __len__(self) -> int:
        return self.count

    def __iter__(self) -> Iterator[Row]:
        for combination in zip(*self._columns.values(), strict=True):
            yield dict(zip(self._columns, combination, strict=True))


Parameters = Grid | Draws | Mapping[str, Sequence[Value]] | Sequence[Mapping[str, Value]]


def rows_of(parameters: Parameters) -> list[Row]:
    """The parameters of every run, checked. A mapping to lists is a grid; a list of mappings is what it is."""
    given: Any = Grid(parameters) if isinstance(parameters, Mapping) else parameters
    if isinstance(given, str) or not hasattr(given, "__iter__"):
        raise StudyError(f"wanted a Grid, Draws, a mapping of lists or a list of mappings; got {given!r}")
    rows: list[Row] = []
    for k, row in enumerate(given):
        if not isinstance(row, Mapping):
            raise StudyError(f"run {k}: parameters are a mapping from names to values, got {row!r}")
        rows.append({str(name): plain(f"run {k}, parameter {name!r}", value) for name, value in row.items()})
        if rows[0].keys() != rows[k].keys():
            raise StudyError(f"run {k} has the parameters {', '.join(rows[k])}, the first run has {', '.join(rows[0])}")
    if not rows:
        raise StudyError("there are no parameters, so there is nothing to run")
    taken = [name for name in rows[0] if name in RESERVED]
    if taken:
        raise StudyError(
            f"no parameter can be named {taken[0]!r}: tables have a column of that name ({', '.join(RESERVED)})"
        )
    return rows


def plain(what: str, value: Any, *, finite: bool = True) -> Value:
    """The value as a bool, int, float or text; an error names what it belongs to."""
    if isinstance(value, np.generic | np.ndarray) and value.ndim == 0:
        value = value.item()
    if not isinstance(value, bool | int | float | str):
        raise StudyError(f"{what}: wanted a number or a text, got {type(value).__name__} {str(value)[:60]!r}")
    if finite and isinstance(value, float) and not math.isfinite(value):
        raise StudyError(f"{what}: wanted a finite number, got {value!r}")
    return value


def _values(name: str, given: Any) -> list[Value]:
    if isinstance(given, str) or not hasattr(given, "__iter__"):
        raise StudyError(f"parameter {name!r}: wanted a list of values, got {given!r}")
    values = [plain(f"parameter {name!r}", value) for value in given]
    if not values:
        raise StudyError(f"parameter {name!r} has no values")
    return values


def digest(data: Any) -> str:
    """Returns a name for data of JSON, in this order: the parameters of all runs, or one record."""
    return hashlib.sha256(json.dumps(data).encode()).hexdigest()
