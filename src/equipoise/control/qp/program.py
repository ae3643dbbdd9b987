"""A quadratic program as data, what came of it, and the residuals that prove it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property, lru_cache
from math import isfinite, isnan
from typing import Any

import numpy as np

from ...errors import ShapeError

Array = np.ndarray
ACCURATE = 1e-6  # largest scaled KKT residual that may call itself optimal
FEASIBLE = 1e-7  # largest scaled violation of a row that still counts as none
PRIMAL_TOLERANCE = 1e-9  # DAQP's own, on rows scaled to length one


class Status(Enum):
    """How a solve ended, in words."""

    OPTIMAL = "optimal"
    INACCURATE = "solved, but the residuals are larger than they should be"
    INFEASIBLE = "infeasible: no x satisfies all rows"
    UNBOUNDED = "unbounded: the cost falls for ever along some direction"
    ITERATION_LIMIT = "iteration limit reached"
    CYCLING = "no progress: the active set repeats itself"
    NOT_CONVEX = "not convex: H has a negative eigenvalue"
    NOT_FINITE = "ill-posed: NaN or infinity in the data"
    FAILED = "the solver failed"


def read_only(values: Any) -> Array:
    """A read-only float64 array: the same object if it is already one of ours, so that equal data can be known by identity."""
    if isinstance(values, np.ndarray) and values.dtype == np.float64 and values.flags.owndata and not values.flags.writeable:
        return values
    array = np.array(values, dtype=np.float64, order="C")
    array.flags.writeable = False
    return array


@lru_cache(64)
def _unlimited(size: int, value: float) -> Array:
    return read_only(np.full(size, value))


def require_shape(name: str, array: Array, shape: tuple[int, ...]) -> None:
    if array.shape != shape:
        raise ShapeError(f"{name} must have shape {shape}, got {array.shape}.")


@dataclass(frozen=True, eq=False)
class QuadraticProgram:
    """minimise ½ xᵀ H x + fᵀ x subject to lower ≤ A x ≤ upper and x_lower ≤ x ≤ x_upper.

    Arrays are copied and read-only. `dataclasses.replace` keeps those that do not change, and a `Solver` then skips them.

    Args:
        H: symmetric and positive semidefinite, shape (n, n).
        f: linear cost, shape (n,).
        A: rows, shape (m, n); none if left out.
        lower, upper: bounds of the rows, shape (m,); ±inf where there is none.
        x_lower, x_upper: bounds of the variables, shape (n,).
        names: one per row; rows that share a name are one thing to `conflict` and `relaxed`.
        bound_names: one per variable, for its bounds.
    """

    H: Array
    f: Array
    A: Array = None  # type: ignore[assignment]
    lower: Array = None  # type: ignore[assignment]
    upper: Array = None  # type: ignore[assignment]
    x_lower: Array = None  # type: ignore[assignment]
    x_upper: Array = None  # type: ignore[assignment]
    names: tuple[str, ...] = ()
    bound_names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        f = read_only(self.f)
        n = f.size
        if n == 0 or f.ndim != 1:
            raise ShapeError(f"f must have shape (n,) with n ≥ 1, got {f.shape}.")
        H, A = read_only(self.H), read_only(np.zeros((0, n)) if self.A is None else self.A)
        m = len(A)
        arrays = {
            "H": (H, (n, n)),
            "f": (f, (n,)),
            "A": (A, (m, n)),
            "lower": (_unlimited(m, -np.inf) if self.lower is None else read_only(self.lower), (m,)),
            "upper": (_unlimited(m, np.inf) if self.upper is None else read_only(self.upper), (m,)),
            "x_lower": (_unlimited(n, -np.inf) if self.x_lower is None else read_only(self.x_lower), (n,)),
            "x_upper": (_unlimited(n, np.inf) if self.x_upper is None else read_only(self.x_upper), (n,)),
        }
        for name, (array, shape) in arrays.items():
            require_shape(name, array, shape)
            object.__setattr__(self, name, array)
        object.__setattr__(self, "names", row_names(self.names, m, "row"))
        object.__setattr__(self, "bound_names", row_names(self.bound_names, n, "x"))

    @cached_property
    def limits(self) -> tuple[Array, Array]:
        """Lower and upper bounds of the stack (x, A x), each of shape (n + m,)."""
        return np.concatenate((self.x_lower, self.lower)), np.concatenate((self.x_upper, self.upper))

    @cached_property
    def bounded(self) -> bool:
        """Whether any variable has a bound of its own."""
        return bool(np.isfinite(self.x_lower).any() or np.isfinite(self.x_upper).any())

    def objective(self, x: Array) -> float:
        """½ xᵀ H x + fᵀ x."""
        return float(0.5 * x @ self.H @ x + self.f @ x)


def row_names(names: Sequence[str], count: int, word: str) -> tuple[str, ...]:
    if not names:
        return _default_names(count, word)
    if len(names) != count:
        raise ShapeError(f"{count} {word} names are wanted, one each, got {len(names)}.")
    return names if isinstance(names, tuple) else tuple(names)


@lru_cache(64)
def _default_names(count: int, word: str) -> tuple[str, ...]:
    return tuple(f"{word}[{k}]" for k in range(count))


@dataclass(frozen=True)
class Residuals:
    """By how much the conditions of Karush, Kuhn and Tucker fail; zero for an exact solution. Each is scaled by its own terms."""

    stationarity: float  # H x + f + Aᵀ λ + μ, by the largest of its terms
    primal: float  # rows and bounds, each by max(1, |bound|)
    dual: float  # multipliers that push where there is no bound, by the largest multiplier
    complementarity: float  # multiplier times distance from the bound, by the size of the cost

    @property
    def worst(self) -> float:
        """The largest; NaN if any is, which `max` alone would hide."""
        total = self.stationarity + self.primal + self.dual + self.complementarity
        return total if isnan(total) else max(self.stationarity, self.primal, self.dual, self.complementarity)


UNKNOWN = Residuals(np.nan, np.nan, np.nan, np.nan)


@dataclass(frozen=True, eq=False)
class Result:
    """What came of one problem: the point, its multipliers, how it ended, and the residuals that prove it.

    `x` is NaN where there is none to give (infeasible, not finite, not convex). `iterations` counts changes of the active set.
    """

    problem: QuadraticProgram
    status: Status
    x: Array
    multipliers: Array  # of the rows, shape (m,)
    bound_multipliers: Array  # of the bounds, shape (n,)
    residuals: Residuals = UNKNOWN
    iterations: int = 0

    @property
    def solved(self) -> bool:
        return self.status is Status.OPTIMAL

    @property
    def objective(self) -> float:
        return self.problem.objective(self.x)

    @cached_property
    def active(self) -> tuple[str, ...]:
        """Names of the bounds and rows that push, and of all equalities; bounds first."""
        p = self.problem
        bounds = (self.bound_multipliers != 0) | (p.x_lower == p.x_upper)
        rows = (self.multipliers != 0) | (p.lower == p.upper)
        names = [p.bound_names[k] for k in np.flatnonzero(bounds)] + [p.names[k] for k in np.flatnonzero(rows)]
        return tuple(dict.fromkeys(names))


def kkt_residuals(problem: QuadraticProgram, x: Array, multipliers: Array, bound_multipliers: Array) -> Residuals:
    """The certificate: how well x and its multipliers solve the problem as stated, whoever found them."""
    p = problem
    Hx, push = p.H @ x, multipliers @ p.A + bound_multipliers
    terms = np.concatenate((Hx, p.f, push))
    stationarity = np.abs(Hx + p.f + push).max() / max(1.0, np.abs(terms).max())
    value, (lower, upper) = np.concatenate((x, p.A @ x)), p.limits
    nearest = np.minimum(np.maximum(value, lower), upper)
    primal = (np.abs(value - nearest) / np.maximum(1.0, np.abs(nearest))).max()
    dual, gap = _pushes(np.concatenate((bound_multipliers, multipliers)), value, lower, upper)
    size = max(1.0, abs(float(x @ Hx)), abs(float(p.f @ x)))
    return Residuals(float(stationarity), float(primal), dual, gap / size)


def _pushes(lam: Array, value: Array, lower: Array, upper: Array) -> tuple[float, float]:
    """The largest multiplier that pushes where there is no bound, by the largest of all, and the largest |λ × distance|."""
    pushing = lam.nonzero()[0]
    if not pushing.size:
        return 0.0, 0.0
    lam = lam[pushing]
    bound = np.where(lam > 0, upper[pushing], lower[pushing])
    gaps = np.abs(lam * (value[pushing] - bound))
    if isfinite(gap := float(gaps.max())):
        return 0.0, gap
    missing = np.isinf(bound)
    return float(np.abs(lam[missing]).max(initial=0.0) / np.abs(lam).max()), float(gaps[~missing].max(initial=0.0))


def ill_posed(p: QuadraticProgram) -> bool:
    """Whether a number is NaN, or infinite where only a bound may be. Sums are enough: they keep every NaN and infinity."""
    with np.errstate(invalid="ignore", over="ignore"):
        costs = p.H.sum() + p.f.sum() + p.A.sum()
        lower, upper = p.limits[0].sum(), p.limits[1].sum()
    return not (isfinite(costs) and lower < np.inf and upper > -np.inf)


def failure(problem: QuadraticProgram, status: Status, iterations: int = 0) -> Result:
    m, n = problem.A.shape
    return Result(problem, status, np.full(n, np.nan), np.full(m, np.nan), np.full(n, np.nan), UNKNOWN, iterations)


@dataclass(frozen=True, eq=False)
class Rows:
    """lower ≤ A x ≤ upper: as a constraint it holds; as a level, the distance of A x from [lower, upper] is minimised."""

    A: Array
    lower: Array
    upper: Array
    names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("A", "lower", "upper"):
            object.__setattr__(self, name, read_only(getattr(self, name)))
        if self.A.ndim != 2:
            raise ShapeError(f"A must have shape (m, n), got {self.A.shape}.")
        require_shape("lower", self.lower, (len(self.A),))
        require_shape("upper", self.upper, (len(self.A),))
        object.__setattr__(self, "names", row_names(self.names, len(self.A), "row"))

    @classmethod
    def equal(cls, A: Any, b: Any, names: tuple[str, ...] = ()) -> Rows:
        """A x = b; as a level, ‖A x − b‖² is minimised."""
        return cls(A, b, b, names)

    def distance(self, x: Array) -> Array:
        """A x minus the nearest allowed value, row by row."""
        value = self.A @ x
        return value - np.minimum(np.maximum(value, self.lower), self.upper)

    def where(self, chosen: Array) -> Rows:
        """Only some of the rows."""
        names = tuple(name for name, kept in zip(self.names, chosen, strict=True) if kept)
        return Rows(self.A[chosen], self.lower[chosen], self.upper[chosen], names)
