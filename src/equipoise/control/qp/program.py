"""A quadratic program as data, what came of it, the residuals that prove it, and what solves it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property, lru_cache
from math import isfinite, isnan
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from ...errors import ShapeError

Array = np.ndarray
ACCURATE = 1e-6  # largest scaled KKT residual that may call itself optimal
FEASIBLE = 1e-7  # largest scaled violation of a row that still counts as none
PRIMAL_TOLERANCE = 1e-9  # DAQP's own, on rows scaled to length one


class Status(Enum):
    """How a solve ended, in words."""

    OPTIMAL = "optimal"
    RELAXED = "relaxed: rows that may be violated are, as little as possible"
    INACCURATE = "solved, but the residuals are larger than they should be"
    INFEASIBLE = "infeasible: no x satisfies the rows that are never relaxed"
    UNBOUNDED = "unbounded: the cost falls for ever along some direction"
    ITERATION_LIMIT = "iteration limit reached: the best point so far"
    CYCLING = "no progress: the active set repeats itself"
    NOT_CONVEX = "not convex: H has a negative eigenvalue"
    NOT_FINITE = "ill-posed: NaN or infinity in the data"
    FAILED = "the solver failed"


def read_only(values: ArrayLike) -> Array:
    """A read-only float64 array: the same object if it is already one of ours, so that equal data can be known by
    identity."""
    if (
        isinstance(values, np.ndarray)
        and values.dtype == np.float64
        and values.flags.owndata
        and not values.flags.writeable
    ):
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

    Rows of class 0, and bounds, hold. If not all rows can, the violations of class 1 are minimised in the sense of
    least squares, then within their minimum those of class 2, and so on. Then come the levels, each within the
    minimisers of those before it, and the cost last: one lexicographic problem.

    Arrays are copied and read-only. `dataclasses.replace` keeps those that do not change, and a `DaqpSolver` then skips
    them.

    Args:
        H: symmetric and positive semidefinite, shape (n, n).
        f: linear cost, shape (n,).
        A: rows, shape (m, n); none if left out.
        lower, upper: bounds of the rows, shape (m,); ±inf where there is none.
        x_lower, x_upper: bounds of the variables, shape (n,).
        names: one per row; rows that share a name are one thing to `conflict`.
        bound_names: one per variable, for its bounds.
        classes: relaxation class of each row, shape (m,); 0, never relaxed, if left out.
        levels: equalities that are to be met as well as possible before the cost, most important first; see
            `Rows.equal`.
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
    classes: Array = None  # type: ignore[assignment]
    levels: tuple[Rows, ...] = ()

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
        object.__setattr__(self, "classes", relaxation_classes("classes", self.classes, m))
        object.__setattr__(self, "levels", tuple(self.levels))
        for level in self.levels:
            require_shape("A of a level", level.A, (len(level.A), n))
            if not np.array_equal(level.lower, level.upper, equal_nan=True):
                raise ShapeError(
                    "a level is a set of equalities (Rows.equal); inequalities are rows with a relaxation class."
                )

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


def relaxation_classes(name: str, classes: ArrayLike, count: int) -> Array:
    """Classes of rows as read-only integers; all zero if there are none."""
    made = np.zeros(count, np.int64) if classes is None else np.array(classes, dtype=np.int64)
    require_shape(name, made, (count,))
    if (made < 0).any():
        raise ShapeError(f"{name} must be 0 (never relaxed), 1 (relaxed last), 2, …; got {int(made.min())}.")
    made.flags.writeable = False
    return made


def row_names(names: Sequence[str], count: int, word: str) -> tuple[str, ...]:
    if not names:
        return _default_names(count, word)
    if len(names) != count:
        raise ShapeError(f"{count} {word} names are wanted, one each, got {len(names)}.")
    return names if isinstance(names, tuple) else tuple(names)


@lru_cache(64)
def _default_names(count: int, word: str) -> tuple[str, ...]:
    return tuple(f"{word}[{k}]" for k in range(count))


class Residuals(NamedTuple):
    """By how much the conditions of Karush, Kuhn and Tucker fail; zero for an exact solution. Each is scaled by its own
    terms."""

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


class Result(NamedTuple):
    """What came of one problem: the point, its multipliers, how it ended, and the residuals that prove it.

    Residuals are those of the problem as stated or, where rows are relaxed, of the one whose bounds are moved to the
    values reached. With strict levels they are the worst of all levels, and `multipliers` are those of the first level
    that a row limits. `x` is NaN where there is none to give (see `usable`); its arrays belong to whoever gets them.
    """

    status: Status
    x: Array
    multipliers: Array  # of the rows, shape (m,), positive at upper bounds
    bound_multipliers: Array  # of the bounds, shape (n,)
    excess: Array  # of the rows, shape (m,): how far beyond a bound, positive above; zero where the row holds
    values: Array  # of the rows, shape (m,): A x
    residuals: Residuals
    iterations: int = 0  # changes of the working set, or working sets that were tried
    dependent: int = 0  # equalities that repeat others and were taken for exact repetitions
    equalities: int = 0  # rows that come first and are equalities, where the solver keeps them apart

    @property
    def solved(self) -> bool:
        """Whether all rows hold and the residuals say that this is the minimum."""
        return self.status is Status.OPTIMAL

    @property
    def usable(self) -> bool:
        """Whether x is finite and satisfies what is never relaxed."""
        return self.status in (Status.OPTIMAL, Status.RELAXED, Status.INACCURATE, Status.ITERATION_LIMIT)

    @property
    def active(self) -> int:
        """How many rows that are not equalities push."""
        return int(np.count_nonzero(self.multipliers[self.equalities :]))


class Solver(Protocol):
    """Solves problem after problem. Numbers never raise: whatever goes wrong is a `Status`."""

    def solve(self, problem: QuadraticProgram) -> Result:
        """The minimiser with its certificate, warm-started from the last problem if that had the same size."""
        ...

    def forget(self) -> None:
        """Drop the working set: the next solve starts cold."""
        ...


def active_names(problem: QuadraticProgram, result: Result) -> tuple[str, ...]:
    """Names of the bounds and rows that push, and of all equalities; bounds first."""
    bounds = (result.bound_multipliers != 0) | (problem.x_lower == problem.x_upper)
    rows = (result.multipliers != 0) | (problem.lower == problem.upper)
    names = [problem.bound_names[k] for k in np.flatnonzero(bounds)] + [problem.names[k] for k in np.flatnonzero(rows)]
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
    """The largest multiplier that pushes where there is no bound, by the largest of all, and the largest |λ ×
    distance|."""
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
    """Whether a number is NaN, or infinite where only a bound may be. Sums are enough: they keep every NaN and
    infinity."""
    with np.errstate(invalid="ignore", over="ignore"):
        costs = p.H.sum() + p.f.sum() + p.A.sum() + sum(level.A.sum() + level.lower.sum() for level in p.levels)
        lower, upper = p.limits[0].sum(), p.limits[1].sum()
    return not (isfinite(costs) and lower < np.inf and upper > -np.inf)


def failure(problem: QuadraticProgram, status: Status, iterations: int = 0) -> Result:
    m, n = problem.A.shape
    rows, unknowns = np.full(m, np.nan), np.full(n, np.nan)
    return Result(status, unknowns, rows, unknowns.copy(), rows.copy(), rows.copy(), UNKNOWN, iterations)


def excess(problem: QuadraticProgram, x: Array) -> Array:
    """By how much each row is beyond its bounds, shape (m,); zero where that is less than FEASIBLE."""
    value = problem.A @ x
    over, under = value - problem.upper, problem.lower - value
    beyond = np.where(over > under, over, -under)
    return np.where(np.maximum(over, under) > FEASIBLE * np.maximum(1.0, np.abs(value)), beyond, 0.0)


@dataclass(frozen=True, eq=False)
class Rows:
    """lower ≤ A x ≤ upper: as a constraint it holds; as a level, the distance of A x from [lower, upper] is
    minimised."""

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
    def equal(cls, A: ArrayLike, b: ArrayLike, names: tuple[str, ...] = ()) -> Rows:
        """A x = b; as a level, ‖A x − b‖² is minimised."""
        return cls(np.asarray(A, dtype=float), (value := np.asarray(b, dtype=float)), value, names)

    def distance(self, x: Array) -> Array:
        """A x minus the nearest allowed value, row by row."""
        value = self.A @ x
        return value - np.minimum(np.maximum(value, self.lower), self.upper)

    def where(self, chosen: Array) -> Rows:
        """Only some of the rows."""
        names = tuple(name for name, wanted in zip(self.names, chosen, strict=True) if wanted)
        return Rows(self.A[chosen], self.lower[chosen], self.upper[chosen], names)
