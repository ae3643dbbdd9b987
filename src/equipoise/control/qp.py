"""Quadratic programs: one statement, one solver that certifies its answers, strict priorities, and reasons when nothing fits.

    minimise  ½ xᵀ H x + fᵀ x   subject to   lower ≤ A x ≤ upper,   x_lower ≤ x ≤ x_upper

Every row has a name; an equality is a row with lower = upper. The work is done by DAQP [ABA22], a dual active-set method whose
workspace and active set a `Solver` keeps from one control step to the next. What DAQP answers is never believed: each `Result`
carries the KKT residuals of the problem as it was stated. Multipliers λ, μ obey H x + f + Aᵀ λ + μ = 0, positive at upper bounds.

[ABA22] Arnström, Bemporad, Axehill: A Dual Active-Set Solver for Embedded Quadratic Programming Using Recursive LDLᵀ Updates,
    IEEE Trans. Automatic Control 67(8), 2022.
[EMW14] Escande, Mansard, Wieber: Hierarchical Quadratic Programming, Int. J. Robotics Research 33(7), 2014.
[GR90] Gleeson, Ryan: Identifying Minimally Infeasible Subsystems of Inequalities, ORSA J. Computing 2(1), 1990.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property, lru_cache
from math import isfinite, isnan
from typing import Any, Literal

import daqp
import numpy as np

from ..errors import ShapeError, unknown_name

Array = np.ndarray
EQUALITY, ACTIVE, LOWER = 5, 1, 2  # DAQP's `sense` of a row: active and immutable; in the first guess; at its lower bound
ACCURATE = 1e-6  # largest scaled KKT residual that may call itself optimal
REFINE = 1e-8  # largest residual that is left as it is
FEASIBLE = 1e-7  # largest scaled violation of a row that still counts as none
PRIMAL_TOLERANCE = 1e-9  # DAQP's own, on rows scaled to length one
ITERATION_LIMIT = 1000
PROXIMAL_WEIGHT = 1e-6
RANK_TOLERANCE = 1e-9  # singular values below this part of a level's longest row count as zero
SOFTNESS = 1e-8
METHODS = ("cascade", "daqp")


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


FLAGS = {
    1: Status.OPTIMAL,
    2: Status.OPTIMAL,
    -1: Status.INFEASIBLE,
    -2: Status.CYCLING,
    -3: Status.UNBOUNDED,
    -4: Status.ITERATION_LIMIT,
    -5: Status.NOT_CONVEX,
    -6: Status.INFEASIBLE,
    -7: Status.ITERATION_LIMIT,
}


def _read_only(values: Any) -> Array:
    """A read-only float64 array: the same object if it is already one of ours, so that equal data can be known by identity."""
    if isinstance(values, np.ndarray) and values.dtype == np.float64 and values.flags.owndata and not values.flags.writeable:
        return values
    array = np.array(values, dtype=np.float64, order="C")
    array.flags.writeable = False
    return array


@lru_cache(64)
def _unlimited(size: int, value: float) -> Array:
    return _read_only(np.full(size, value))


def _require(name: str, array: Array, shape: tuple[int, ...]) -> None:
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
        f = _read_only(self.f)
        n = f.size
        if n == 0 or f.ndim != 1:
            raise ShapeError(f"f must have shape (n,) with n ≥ 1, got {f.shape}.")
        H, A = _read_only(self.H), _read_only(np.zeros((0, n)) if self.A is None else self.A)
        m = len(A)
        arrays = {
            "H": (H, (n, n)),
            "f": (f, (n,)),
            "A": (A, (m, n)),
            "lower": (_unlimited(m, -np.inf) if self.lower is None else _read_only(self.lower), (m,)),
            "upper": (_unlimited(m, np.inf) if self.upper is None else _read_only(self.upper), (m,)),
            "x_lower": (_unlimited(n, -np.inf) if self.x_lower is None else _read_only(self.x_lower), (n,)),
            "x_upper": (_unlimited(n, np.inf) if self.x_upper is None else _read_only(self.x_upper), (n,)),
        }
        for name, (array, shape) in arrays.items():
            _require(name, array, shape)
            object.__setattr__(self, name, array)
        object.__setattr__(self, "names", _names(self.names, m, "row"))
        object.__setattr__(self, "bound_names", _names(self.bound_names, n, "x"))

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


def _names(names: Sequence[str], count: int, word: str) -> tuple[str, ...]:
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


def _ill_posed(p: QuadraticProgram) -> bool:
    """Whether a number is NaN, or infinite where only a bound may be. Sums are enough: they keep every NaN and infinity."""
    with np.errstate(invalid="ignore", over="ignore"):
        costs = p.H.sum() + p.f.sum() + p.A.sum()
        lower, upper = p.limits[0].sum(), p.limits[1].sum()
    return not (isfinite(costs) and lower < np.inf and upper > -np.inf)


def _failure(problem: QuadraticProgram, status: Status, iterations: int = 0) -> Result:
    m, n = problem.A.shape
    return Result(problem, status, np.full(n, np.nan), np.full(m, np.nan), np.full(n, np.nan), UNKNOWN, iterations)


class Solver:
    """Solves problem after problem of one size; memory is allocated once and the active set carries over.

    A problem of another size starts afresh, and so does the step after a failure. `solve` never raises for numbers: whatever
    goes wrong is a `Status`.

    Args:
        tolerance: violation of a row, scaled to length one, that counts as none.
        iteration_limit: changes of the active set per solve.
        proximal: weight of the proximal-point steps that DAQP takes where H is singular. They converge to a minimiser of the
            problem as stated, so this is not a regularisation of the answer; zero forbids them.
        refine: residual above which a Newton step on the active set is tried.
    """

    def __init__(
        self,
        *,
        tolerance: float = PRIMAL_TOLERANCE,
        iteration_limit: int = ITERATION_LIMIT,
        proximal: float = PROXIMAL_WEIGHT,
        refine: float = REFINE,
    ) -> None:
        self._refine = refine
        # DAQP reads a negative eps_prox as "only where H is singular".
        self._settings = {"primal_tol": tolerance, "iter_limit": iteration_limit, "eps_prox": -proximal}
        self._size: tuple[int, int, bool] = (0, 0, False)
        self.forget()

    def forget(self) -> None:
        """Drop the active set: the next solve starts cold."""
        self._last: QuadraticProgram | None = None

    def solve(self, problem: QuadraticProgram) -> Result:
        """The minimiser with its certificate, warm-started from the last problem if that had the same size."""
        if _ill_posed(problem):
            self.forget()
            return _failure(problem, Status.NOT_FINITE)
        if np.greater(*problem.limits).any():
            self.forget()
            return _failure(problem, Status.INFEASIBLE)
        warm = self._last is not None and self._size == (*problem.A.shape, problem.bounded)
        result = self._attempt(problem, warm)
        if not result.solved and warm:  # an active set from another problem may lead astray
            result = self._again(problem, result, careful=False)
        if result.status is Status.INFEASIBLE:  # in near-degenerate problems that may be rounding: ask a second time
            result = self._again(problem, result, careful=True)
            self.forget()
        if not result.solved:
            self.forget()
        return result

    def _again(self, problem: QuadraticProgram, before: Result, careful: bool) -> Result:
        """A cold start; a careful one has well-conditioned proximal steps and the tolerance that counts as feasible."""
        settings = self._settings
        if careful:
            weight = 0.1 * np.abs(problem.H).max()
            self._settings = {**settings, "primal_tol": FEASIBLE, "eps_prox": weight if weight > 0 else 1.0}
        result = self._attempt(problem, warm=False)
        self._settings = settings
        return replace(result, iterations=before.iterations + result.iterations)

    def _attempt(self, problem: QuadraticProgram, warm: bool) -> Result:
        flag = self._update(problem) if warm else self._setup(problem)
        if flag < 0:
            return _failure(problem, FLAGS.get(flag, Status.FAILED))
        x, _, flag, info = self._model.solve()
        self._last, self._lam = problem, info["lam"]
        status, iterations = FLAGS.get(flag, Status.FAILED), int(info["iterations"])
        if status is Status.ITERATION_LIMIT and _falls_for_ever(problem, x):
            status = Status.UNBOUNDED
        if status not in (Status.OPTIMAL, Status.ITERATION_LIMIT) or not np.isfinite(x).all():
            return _failure(problem, status if status is not Status.OPTIMAL else Status.FAILED, iterations)
        n = x.size if problem.bounded else 0
        result = _certified(problem, status, x, info["lam"][n:], info["lam"][:n] if n else np.zeros(x.size), iterations)
        return _refined(result) if status is Status.OPTIMAL and result.residuals.worst > self._refine else result

    def _setup(self, problem: QuadraticProgram) -> int:
        """Fill the buffers, made anew only for a new size, and begin without an active set."""
        m, n = problem.A.shape
        size = (m, n, problem.bounded)
        if size != self._size:
            total = m + n * problem.bounded
            self._H, self._f, self._A = np.empty((n, n)), np.empty(n), np.empty((m, n))
            self._lower, self._upper, self._sense = np.empty(total), np.empty(total), np.empty(total, np.intc)
            self._size = size
        for buffer, data in ((self._H, problem.H), (self._f, problem.f), (self._A, problem.A)):
            np.copyto(buffer, data)
        self._copy_limits(problem)
        self._equal = self._lower == self._upper
        self._sense[:] = np.where(self._equal, EQUALITY, 0)
        self._model = daqp.Model()
        self._model.settings = self._settings
        flag = self._model.setup(self._H, self._f, self._A, self._upper, self._lower, self._sense)[0]
        if flag == -6:  # DAQP could not start from all equalities at once; as tight inequalities they come in one by one
            self._sense[:] = 0
            self._equal = np.zeros_like(self._equal)
            flag = self._model.setup(self._H, self._f, self._A, self._upper, self._lower, self._sense)[0]
        return flag

    def _copy_limits(self, problem: QuadraticProgram) -> None:
        """Bounds of the variables above those of the rows, as DAQP wants them; the former only if there are any."""
        skipped = 0 if problem.bounded else problem.f.size
        np.copyto(self._lower, problem.limits[0][skipped:])
        np.copyto(self._upper, problem.limits[1][skipped:])

    def _update(self, problem: QuadraticProgram) -> int:
        """Hand over what changed; the active set stays."""
        last, changes = self._last, {}
        for name, buffer in (("H", self._H), ("f", self._f), ("A", self._A)):
            if getattr(problem, name) is not getattr(last, name):
                np.copyto(buffer, getattr(problem, name))
                changes[name] = buffer
        self._copy_limits(problem)
        changes["blower"], changes["bupper"] = self._lower, self._upper
        equal = self._lower == self._upper
        if (equal != self._equal).any():  # the rows keep their places in the active set where they can
            guess = np.where(self._lam > 0, ACTIVE, np.where(self._lam < 0, ACTIVE | LOWER, 0))
            self._sense[:] = np.where(equal, EQUALITY, guess)
            self._equal = equal
            changes["sense"] = self._sense
        return self._model.update(**changes)


def _certified(p: QuadraticProgram, status: Status, x: Array, lam: Array, mu: Array, iterations: int) -> Result:
    """A result that is called optimal only if its residuals say so."""
    residuals = kkt_residuals(p, x, lam, mu)
    if status is Status.OPTIMAL and not residuals.worst <= ACCURATE:
        status = Status.INACCURATE
    return Result(p, status, x, lam, mu, residuals, iterations)


def _refined(result: Result) -> Result:
    """One Newton step on the active set, kept if it helps: proximal steps end with an error that one linear solve removes."""
    p, lam = result.problem, np.concatenate((result.bound_multipliers, result.multipliers))
    lower, upper = p.limits
    active = np.flatnonzero((lam != 0) | (lower == upper))
    W = np.vstack((np.eye(p.f.size), p.A))[active]
    target = np.where(lam > 0, upper, lower)[active]
    if not np.isfinite(target).all():
        return result
    n, k = p.f.size, len(active)
    K = np.block([[p.H, W.T], [W, np.zeros((k, k))]])
    right = np.concatenate((-p.f - p.H @ result.x, target - W @ result.x))
    for solve in (np.linalg.solve, _shortest):
        try:
            step = solve(K, right)
        except np.linalg.LinAlgError:
            continue
        lam = np.zeros(n + len(p.A))
        lam[active] = step[n:]
        better = _certified(p, Status.OPTIMAL, result.x + step[:n], lam[n:], lam[:n], result.iterations)
        if better.residuals.worst < result.residuals.worst:
            return better
    return result


def _shortest(K: Array, right: Array) -> Array:
    return np.linalg.lstsq(K, right, rcond=None)[0]


def _falls_for_ever(p: QuadraticProgram, x: Array) -> bool:
    """Whether x lies far out along a direction that no row limits and along which the cost falls without end."""
    length = np.abs(x).max()
    if not np.isfinite(length) or length < 1e3:
        return False
    d, close = x / length, 1e-6
    flat = np.abs(p.H @ d).max() <= close * max(1.0, np.abs(p.H).max())
    along = np.concatenate((d, p.A @ d)) / np.concatenate((np.ones(d.size), np.maximum(np.linalg.norm(p.A, axis=1), 1e-300)))
    lower, upper = p.limits
    free = (np.isinf(upper) | (along <= close)) & (np.isinf(lower) | (along >= -close))
    return bool(flat and free.all() and p.f @ d < -close * np.abs(p.f).max())


# --- strict priorities --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Rows:
    """lower ≤ A x ≤ upper: as a constraint it holds; as a level, the distance of A x from [lower, upper] is minimised."""

    A: Array
    lower: Array
    upper: Array
    names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("A", "lower", "upper"):
            object.__setattr__(self, name, _read_only(getattr(self, name)))
        if self.A.ndim != 2:
            raise ShapeError(f"A must have shape (m, n), got {self.A.shape}.")
        _require("lower", self.lower, (len(self.A),))
        _require("upper", self.upper, (len(self.A),))
        object.__setattr__(self, "names", _names(self.names, len(self.A), "row"))

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


def _stack(parts: Sequence[Rows], n: int) -> Rows:
    """All rows of several sets, in order."""
    A = np.vstack([np.zeros((0, n)), *(p.A for p in parts)])
    lower, upper = (np.concatenate([np.zeros(0), *(getattr(p, side) for p in parts)]) for side in ("lower", "upper"))
    return Rows(A, lower, upper, tuple(name for p in parts for name in p.names))


@dataclass(frozen=True, eq=False)
class LevelsResult:
    """The lexicographic minimiser. `optimality[k]` certifies level k: see `level_optimality`."""

    status: Status
    x: Array
    distances: tuple[Array, ...]  # per level, A x minus the nearest allowed value
    violation: float = np.nan  # of the constraints, scaled
    optimality: tuple[float, ...] = ()  # per level, and of `rest` as the last
    iterations: int = 0

    @property
    def solved(self) -> bool:
        return self.status is Status.OPTIMAL


def solve_levels(
    levels: Sequence[Rows],
    constraints: Rows | None = None,
    *,
    method: Literal["cascade", "daqp"] = "cascade",
    rest: Array | None = None,
    softness: float = SOFTNESS,
) -> LevelsResult:
    """Minimise the distance from level 1, then that from level 2 among the minimisers, and so on [EMW14].

    Nothing is regularised except what is named here. Directions that no level decides go to the point nearest to `rest`: it is
    one more level, the last.

    Args:
        levels: first is most important.
        constraints: hold always; all levels give way to them.
        method: "cascade", one QP per level in the null space of those above, exact up to rounding; or "daqp", DAQP's own
            hierarchy, in which a level k is the limit of the penalty ‖distance‖² / softness.
        rest: shape (n,); zeros if left out.
        softness: of method "daqp" only, the first of four tried, each ten times the one before, until the certificate holds.
    """
    if not levels:
        raise ShapeError("at least one level is wanted, got none.")
    n = levels[0].A.shape[1]
    top = constraints or Rows(np.zeros((0, n)), np.zeros(0), np.zeros(0))
    aim = np.zeros(n) if rest is None else np.asarray(rest, dtype=np.float64)
    for part in (top, *levels):
        _require("A", part.A, (len(part.A), n))
    _require("rest", aim, (n,))
    if method not in METHODS:
        raise unknown_name("method", method, METHODS)
    if not np.isfinite(aim).all() or any(_rows_ill_posed(p) for p in (top, *levels)):
        return LevelsResult(Status.NOT_FINITE, np.full(n, np.nan), ())
    if any((p.lower > p.upper).any() for p in (top, *levels)):
        return LevelsResult(Status.INFEASIBLE, np.full(n, np.nan), ())
    every = (*levels, Rows.equal(np.eye(n), aim))
    if method == "daqp":
        status, x, iterations = _hierarchy(every, top, aim, softness)
    else:
        status, x, iterations = _cascade(every, top)
        if status is Status.OPTIMAL:  # proximal steps may have left a level by a hair
            x = _nearest_to_optimal([_polished(x, every, top), x], every, top)[0]
    return _certified_levels(status, x, iterations, every, top)


def _rows_ill_posed(rows: Rows) -> bool:
    return not (np.isfinite(rows.A).all() and (rows.lower < np.inf).all() and (rows.upper > -np.inf).all())


def _certified_levels(status: Status, x: Array, iterations: int, levels: Sequence[Rows], top: Rows) -> LevelsResult:
    if not np.isfinite(x).all():
        return LevelsResult(status, x, (), iterations=iterations)
    violation = _scaled_distance(top, x)
    optimality = level_optimality(x, levels, top)
    if status is Status.OPTIMAL and max(violation, *optimality) > ACCURATE:
        status = Status.INACCURATE
    return LevelsResult(status, x, tuple(level.distance(x) for level in levels[:-1]), violation, optimality, iterations)


def _scaled_distance(rows: Rows, x: Array) -> float:
    return float((np.abs(rows.distance(x)) / np.maximum(1.0, np.abs(rows.A @ x))).max(initial=0.0))


def level_optimality(x: Array, levels: Sequence[Rows], constraints: Rows) -> tuple[float, ...]:
    """For each level, how far x is from satisfying its optimality condition; zero for the lexicographic minimiser.

    Level k is optimal below levels 1 … k−1 if the gradient of its squared distance is balanced by rows above it: by rows that
    are fixed (equalities, and inequalities that could not be met, whose distance is decided) with any multiplier, and by rows
    that touch their bound with a multiplier of the right sign. The best such multipliers come from nonnegative least squares.
    """
    optimality, Z, touching = [], np.eye(x.size), np.zeros((0, x.size))
    for above, level in zip((constraints, *levels), levels, strict=False):
        fixed, more = _fixed_and_touching(above, x)
        Z, touching = Z @ _projected_null_space(fixed, Z), np.vstack((touching, more))
        distance = level.distance(x)
        scale = max(1.0, np.abs(level.A).max(initial=0.0) * np.linalg.norm(distance))
        optimality.append(float(_unbalanced(Z.T @ (distance @ level.A), touching @ Z) / scale))
    return tuple(optimality)


def _unbalanced(gradient: Array, pushes: Array) -> float:
    """What is left of a gradient after the best nonnegative combination of pushes against it."""
    missing = float(np.linalg.norm(gradient))
    if missing <= PRIMAL_TOLERANCE or not len(pushes):
        return missing
    from scipy.optimize import nnls

    return float(nnls(pushes.T, -gradient)[1])


def _fixed_and_touching(rows: Rows, x: Array) -> tuple[Array, Array]:
    """Rows that no lower level may move either way, and rows, pointing outward, that none may move further out."""
    fixed, at_lower, at_upper = _activity(rows, x)
    return rows.A[fixed], np.vstack((-rows.A[at_lower], rows.A[at_upper]))


def _activity(rows: Rows, x: Array) -> tuple[Array, Array, Array]:
    """Which rows are fixed at x (equal or violated), and which touch their lower or upper bound from inside."""
    value = rows.A @ x
    close = FEASIBLE * np.maximum(1.0, np.abs(value))
    fixed = (np.abs(rows.distance(x)) > close) | (rows.lower == rows.upper)
    return fixed, ~fixed & (value <= rows.lower + close), ~fixed & (value >= rows.upper - close)


def _cascade(levels: Sequence[Rows], top: Rows) -> tuple[Status, Array, int]:
    """One QP per level, in what the levels above leave free: x = x₀ + Z y, and inequalities already met stay met."""
    n = levels[0].A.shape[1]
    equal = top.lower == top.upper
    kept, x, Z, iterations = top.where(~equal), np.zeros(n), np.eye(n), 0
    if equal.any():
        x, Z = _least_squares_step(top.where(equal), x, Z)
        if _scaled_distance(top.where(equal), x) > FEASIBLE:
            return Status.INFEASIBLE, np.full(n, np.nan), 0
    for level in levels:
        status, x, Z, steps = _level_step(level, kept, x, Z)
        iterations += steps
        if status is not Status.OPTIMAL:
            return status, x, iterations
        fixed = _activity(level, x)[0]
        Z = Z @ _projected_null_space(level.A[fixed & (level.lower != level.upper)], Z)
        kept = _including(_stack((kept, level.where(~fixed)), n), x)
    return Status.OPTIMAL, x, iterations


def _including(rows: Rows, x: Array) -> Rows:
    """The rows with bounds moved by rounding, so that x satisfies them exactly."""
    value = rows.A @ x
    return Rows(rows.A, np.minimum(rows.lower, value), np.maximum(rows.upper, value), rows.names)


def _projected_svd(A: Array, Z: Array) -> tuple[Array, Array, Array, int]:
    """SVD of A Z with its rank, judged against the rows of A: what Z leaves of a row may be rounding only."""
    if not A.shape[0] or not Z.shape[1]:
        return np.zeros((len(A), 0)), np.zeros(0), np.eye(Z.shape[1]), 0
    U, S, Vt = np.linalg.svd(A @ Z)
    return U, S, Vt, int((RANK_TOLERANCE * np.linalg.norm(A, axis=1).max() < S).sum())


def _projected_null_space(A: Array, Z: Array) -> Array:
    _, _, Vt, rank = _projected_svd(A, Z)
    return Vt[rank:].T


def _least_squares_step(rows: Rows, x: Array, Z: Array) -> tuple[Array, Array]:
    """The point of x + range(Z) nearest to A x = lower, and the directions that are left."""
    U, S, Vt, rank = _projected_svd(rows.A, Z)
    y = Vt[:rank].T @ (U[:, :rank].T @ (rows.lower - rows.A @ x) / S[:rank])
    return x + Z @ y, Z @ Vt[rank:].T


def _level_step(level: Rows, kept: Rows, x: Array, Z: Array) -> tuple[Status, Array, Array, int]:
    """Minimise the distance from one level over x + range(Z), subject to rows kept from above; what Z its equalities leave.

    In coordinates y = V (p / S, q) of the SVD of A Z the cost is ½‖p − p₀‖² + ½‖w‖², w the violation of inequality rows: the
    Hessian is the identity where the level decides and zero where it does not, however badly A is scaled.
    """
    equal = level.lower == level.upper
    target, soft = level.where(equal), level.where(~equal)
    U, S, Vt, rank = _projected_svd(target.A, Z)
    d, s = Z.shape[1], len(soft.A)
    T = Z @ Vt.T / np.concatenate((S[:rank], np.ones(d - rank)))
    left, p0 = Z @ Vt[rank:].T, U[:, :rank].T @ (target.lower - target.A @ x)
    best = x + T[:, :rank] @ p0
    if max(_scaled_distance(kept, best), _scaled_distance(soft, best)) <= PRIMAL_TOLERANCE:
        return Status.OPTIMAL, best, left, 0
    # A row that Z leaves no motion is rounding now; DAQP would scale that to length one.
    moves = np.linalg.norm(kept.A @ Z, axis=1) > RANK_TOLERANCE * np.linalg.norm(kept.A, axis=1)
    if _scaled_distance(kept.where(~moves), x) > FEASIBLE:
        return Status.INFEASIBLE, np.full(x.size, np.nan), Z, 0
    if d == 0:
        return Status.OPTIMAL, x, Z, 0
    kept = kept.where(moves)
    H = np.diag(np.concatenate((np.ones(rank), np.zeros(d - rank), np.ones(s))))
    both = _stack((kept, soft), x.size)
    slack = np.vstack((np.zeros((len(kept.A), s)), np.eye(s)))
    A, offset = np.hstack((both.A @ T, slack)), both.A @ x
    program = QuadraticProgram(H, np.concatenate((-p0, np.zeros(d - rank + s))), A, both.lower - offset, both.upper - offset)
    result = Solver(refine=0.0).solve(program)  # errors of a level are inherited by all below
    return result.status, x + T @ result.x[:d], left, result.iterations


def _hierarchy(levels: Sequence[Rows], top: Rows, aim: Array, softness: float) -> tuple[Status, Array, int]:
    """DAQP's own hierarchy finds which rows touch; least squares down those rows then removes the penalty's error.

    Where rows of several levels depend on each other DAQP may take rounding for a level that cannot be improved and stop early;
    the certificate shows it, and a softer penalty often helps. The polishing makes the answer the same for all.
    """
    answer, iterations = (Status.INFEASIBLE, np.full(aim.size, np.nan)), 0
    for factor in (1.0, 10.0, 100.0, 1000.0):
        status, x, steps = _penalised(levels, top, aim, factor * softness)
        iterations += steps
        if status is not Status.OPTIMAL:
            return status, x, iterations
        point, error = _nearest_to_optimal([_polished(x, levels, top), x], levels, top)
        if error == np.inf:
            continue
        answer = (Status.OPTIMAL, point)
        if error <= ACCURATE:
            break
    return (*answer, iterations)


def _nearest_to_optimal(points: Sequence[Array], levels: Sequence[Rows], top: Rows) -> tuple[Array, float]:
    """Of some points that one with the best certificate, and its error; infinite where none satisfies the constraints."""
    errors = [
        max(level_optimality(point, levels, top)) if _scaled_distance(top, point) <= FEASIBLE else np.inf for point in points
    ]
    best = int(np.argmin(errors))
    return (points[best], errors[best]) if errors[best] < np.inf else (points[-1], np.inf)


def _penalised(levels: Sequence[Rows], top: Rows, aim: Array, softness: float) -> tuple[Status, Array, int]:
    """DAQP's hierarchy: rows up to the first break point are hard, those up to each next one are a level.

    DAQP scales rows to length one, so without weights of its own it would minimise ‖(A x − b) / ‖row‖‖ in a level.
    """
    n, parts = aim.size, [part for part in levels[:-1] if len(part.A)]  # the last, `rest`, is DAQP's cost
    rows = _stack((top, *parts), n)
    sense = np.zeros(len(rows.A), np.intc)
    sense[: len(top.A)] = np.where(top.lower == top.upper, EQUALITY, 0)
    breaks = np.cumsum([len(top.A), *(len(part.A) for part in parts)]).astype(np.intc)
    model = daqp.Model()
    model.settings = {"iter_limit": ITERATION_LIMIT, "rho_soft": softness, "primal_tol": softness}
    A, lower, upper = rows.A.copy(), rows.lower.copy(), rows.upper.copy()
    flag = model.setup(np.eye(n), -aim, A, upper, lower, sense, breaks)[0]
    if flag < 0:
        return FLAGS.get(flag, Status.FAILED), np.full(n, np.nan), 0
    weights = np.full(len(A), softness)
    model.soft_weights(weights, weights)
    x, _, flag, info = model.solve()
    if flag < 0 or not np.isfinite(x).all():
        return FLAGS.get(flag, Status.FAILED), np.full(n, np.nan), int(info["iterations"])
    return Status.OPTIMAL, x, int(info["iterations"])


def _polished(x: Array, levels: Sequence[Rows], top: Rows) -> Array:
    """Least squares, level by level, with the rows that touch at x held at the bounds they touch."""
    point, Z = np.zeros(x.size), np.eye(x.size)
    for k, rows in enumerate((top, *levels)):
        fixed, at_lower, at_upper = _activity(rows, x)
        nearest = np.minimum(np.maximum(rows.A @ x, rows.lower), rows.upper)
        held = at_lower | at_upper
        # The top holds all at once; in a level, a row that is met has no say until the level is decided.
        for chosen in (fixed | held,) if k == 0 else (fixed, held):
            point, Z = _least_squares_step(Rows.equal(rows.A[chosen], nearest[chosen]), point, Z)
    return point


# --- when nothing fits --------------------------------------------------------------------------------------------------------


def _groups(problem: QuadraticProgram) -> dict[str, Array]:
    """For every name, which entries of the stack of bounds and rows it has; only names that limit something."""
    lower, upper = problem.limits
    limits = (lower > -np.inf) | (upper < np.inf)
    groups: dict[str, list[int]] = {}
    for k, name in enumerate(problem.bound_names + problem.names):
        if limits[k]:
            groups.setdefault(name, []).append(k)
    return {name: np.array(indices) for name, indices in groups.items()}


def _only(problem: QuadraticProgram, kept: Iterable[Array]) -> QuadraticProgram:
    """The shortest x that satisfies some of the rows; the others are there, without bounds, so that sizes stay."""
    n = problem.f.size
    mask = np.zeros(n + len(problem.A), dtype=bool)
    for indices in kept:
        mask[indices] = True
    lower, upper = np.where(mask, problem.limits[0], -np.inf), np.where(mask, problem.limits[1], np.inf)
    return replace(problem, H=np.eye(n), f=np.zeros(n), lower=lower[n:], upper=upper[n:], x_lower=lower[:n], x_upper=upper[:n])


def _feasible(solver: Solver, problem: QuadraticProgram) -> bool:
    result = solver.solve(problem)
    return result.status is not Status.INFEASIBLE and bool(result.residuals.primal <= FEASIBLE)


def conflict(problem: QuadraticProgram) -> list[str]:
    """Names of rows that cannot hold together although they could if any one of them were dropped; empty if all can.

    A vertex of the polyhedron of Farkas multipliers is an irreducible inconsistent set [GR90]; a deletion filter over its names
    then makes sure of it for rows that share a name, and in finite precision.
    """
    if _ill_posed(problem):
        return []
    groups, solver = _groups(problem), Solver()
    if _feasible(solver, _only(problem, groups.values())):
        return []
    support = _farkas_support(problem)
    suspects = [name for name, indices in groups.items() if support[indices].any()]
    if _feasible(solver, _only(problem, (groups[name] for name in suspects))):
        suspects = list(groups)  # the linear program could not tell; try every row
    for name in tuple(suspects):
        others = [other for other in suspects if other != name]
        if not _feasible(solver, _only(problem, (groups[other] for other in others))):
            suspects = others
    return suspects


def _farkas_support(problem: QuadraticProgram) -> Array:
    """Which bounds and rows have a part in one proof of infeasibility: y ≥ 0, Mᵀ(y_u − y_l) = 0, uᵀ y_u − lᵀ y_l = −1."""
    from scipy.optimize import linprog

    M = np.vstack((np.eye(problem.f.size), problem.A))
    length = np.maximum(np.linalg.norm(M, axis=1), 1e-300)
    lower, upper = (limit / length for limit in problem.limits)
    has_upper, has_lower = np.flatnonzero(np.isfinite(upper)), np.flatnonzero(np.isfinite(lower))
    M = M / length[:, None]
    bounds = np.concatenate((upper[has_upper], -lower[has_lower]))
    equations = np.vstack((np.hstack((M[has_upper].T, -M[has_lower].T)), bounds))
    right = np.append(np.zeros(problem.f.size), -1.0)
    answer = linprog(np.ones(bounds.size), A_eq=equations, b_eq=right, method="highs-ds")
    support = np.zeros(len(M), dtype=bool)
    if answer.x is not None:
        pushing = answer.x > 1e-9 * answer.x.max(initial=0.0)
        support[np.concatenate((has_upper, has_lower))[pushing]] = True
    return support


@dataclass(frozen=True, eq=False)
class Relaxation:
    """What had to give: the result of the problem that was solved instead, and by how much each named row is exceeded."""

    result: Result
    amounts: dict[str, float] = field(default_factory=dict)  # name → largest excess of its rows, in their own units
    classes: int = 0  # how many classes of the order were softened


def relaxed(problem: QuadraticProgram, order: Sequence[Collection[str]]) -> Relaxation:
    """Solve after softening classes of rows, in the stated order, until the rest is feasible.

    Among the softened classes the last one, which was given up most reluctantly, is violated least (in the sense of least
    squares), then the one before it, and so on: strict levels. The cost is minimised last, within bounds widened by no more
    than these violations. Rows in no class never give way.

    Args:
        order: classes of names; the first gives way first.
    """
    groups, solver = _groups(problem), Solver()
    known = set(problem.bound_names + problem.names)
    for name in (name for members in order for name in members):
        if name not in known:
            raise unknown_name("row", name, sorted(known))
    for count in range(len(order) + 1):
        soft = {name for members in order[:count] for name in members}
        if _feasible(solver, _only(problem, (at for name, at in groups.items() if name not in soft))):
            break
    else:
        return Relaxation(Solver().solve(problem), classes=len(order))
    if count == 0:
        return Relaxation(Solver().solve(problem))
    chosen = [np.concatenate([[], *(groups[k] for k in members if k in groups)]).astype(int) for members in order[:count]]
    hard = np.concatenate([[], *(at for name, at in groups.items() if name not in soft)]).astype(int)
    everything = _both(problem)
    answer = solve_levels([_take(everything, c) for c in reversed(chosen)], _take(everything, hard))
    if not np.isfinite(answer.x).all():
        return Relaxation(_failure(problem, answer.status, answer.iterations), classes=count)
    widened = _widened(problem, everything.A @ answer.x, np.concatenate(chosen))
    return Relaxation(Solver().solve(widened), _amounts(problem, widened), count)


def _both(problem: QuadraticProgram) -> Rows:
    """Bounds of the variables and rows as one set; a row whose bounds contradict each other aims at their middle."""
    lower, upper = problem.limits
    crossed = lower > upper
    middle = 0.5 * (np.where(crossed, lower, 0.0) + np.where(crossed, upper, 0.0))
    A = np.vstack((np.eye(problem.f.size), problem.A))
    return Rows(A, np.where(crossed, middle, lower), np.where(crossed, middle, upper), problem.bound_names + problem.names)


def _take(rows: Rows, indices: Array) -> Rows:
    return Rows(rows.A[indices], rows.lower[indices], rows.upper[indices], tuple(rows.names[k] for k in indices))


def _widened(problem: QuadraticProgram, value: Array, soft: Array) -> QuadraticProgram:
    """The problem with the bounds of soft rows moved out to the values they have, and a hair further for rounding."""
    lower, upper = problem.limits
    hair = PRIMAL_TOLERANCE * np.maximum(1.0, np.abs(value))
    below, above = np.zeros(value.size, dtype=bool), np.zeros(value.size, dtype=bool)
    below[soft] = value[soft] < lower[soft]
    above[soft] = value[soft] > upper[soft]
    lower, upper = np.where(below, value - hair, lower), np.where(above, value + hair, upper)
    n = problem.f.size
    return replace(problem, lower=lower[n:], upper=upper[n:], x_lower=lower[:n], x_upper=upper[:n])


def _amounts(problem: QuadraticProgram, widened: QuadraticProgram) -> dict[str, float]:
    """By how much each name's bounds were moved, where it is more than rounding."""
    amounts: dict[str, float] = {}
    for name, indices in _groups(problem).items():
        moved = 0.0
        for before, after, sign in zip(problem.limits, widened.limits, (1.0, -1.0), strict=True):
            changed = indices[before[indices] != after[indices]]
            moved = max(moved, float((sign * (before[changed] - after[changed])).max(initial=0.0)))
        if moved > FEASIBLE:
            amounts[name] = moved
    return amounts
