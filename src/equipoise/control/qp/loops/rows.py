"""All rows of the constraints in one place, and equalities that depend on each other."""

from __future__ import annotations

from typing import Any

from ....machine.loops import ArrayView, Function, Number
from .guess import DEPENDENT
from .workspace import LAST, TOLERANCE, Code, Counters, Scope, Setting

INFINITY = float("inf")


def write(module: Any, level: Function) -> Function:
    """`prepare`: rows M with low ≤ M x ≤ high, their lengths and classes; DONE, NOT_FINITE or NOT_CONVEX."""
    scope = Scope(module, "prepare")
    f = scope.f
    wrong = f.variable(0.0)  # NaN as soon as a number is not finite
    _equalities(scope, wrong)
    _inequalities(scope, wrong)
    with f.loop(0, f["n_R"]) as k:
        copy_row(scope, f["own"], f["R"].at(k * scope.n))
        f["norm_R"][k] = scope.length(f["own"])
        wrong.value = wrong.value + (f["norm_R"][k] + f["r"][k]) * 0.0
    with f.loop(0, scope.n) as i:
        diagonal = f["weights"][i] + f["regularisation"][i]
        wrong.value = wrong.value + (diagonal + f["pulls"][i]) * 0.0
        with f.when((f["regularisation"][i] <= 0.0) | (f["weights"][i] < 0.0)):
            f.answer(Code.NOT_CONVEX)
    with f.unless(wrong.value.equals(0.0)):
        f.answer(Code.NOT_FINITE)
    _truncate(scope, level)
    _transpose(scope)
    square = f["settings"][Setting.REPEATED] * f["settings"][Setting.REPEATED]
    f["settings"][Setting.GUESS] = f.choose(
        f["count"][Counters.DEPENDENT] > 0, square, DEPENDENT
    )  # guesses see rows in the sense of the cost
    f.finish(Code.DONE)
    return scope.f


def copy_row(scope: Scope, to: ArrayView, row: ArrayView) -> None:
    """A row of n numbers, with zeros behind."""
    f = scope.f
    f.copy(to, row, 0, scope.n)
    with f.loop(scope.n, scope.wide) as j:
        to[j] = 0.0


def _equalities(scope: Scope, wrong: Any) -> None:
    f = scope.f
    with f.loop(0, scope.n_E) as i:
        row = scope.row("M", i)
        copy_row(scope, row, f["E"].at(i * scope.n))
        f["low"][i] = f["e"][i]
        f["high"][i] = f["e"][i]
        f["norm"][i] = scope.length(row)
        f["cls"][i] = f["classes_E"][i]
        f["loose"][i] = 0.0
        f["side"][i] = 1.0
        wrong.value = wrong.value + (f["norm"][i] + f["e"][i]) * 0.0


def _inequalities(scope: Scope, wrong: Any) -> None:
    """Rows whose bounds cross aim at the middle between them."""
    f = scope.f
    with f.loop(0, f["n_A"]) as k:
        i = scope.n_E + k
        row, low, high = scope.row("M", i), f["lower"][k], f["upper"][k]
        copy_row(scope, row, f["A"].at(k * scope.n))
        with f.unless((low < INFINITY) & (high > -INFINITY)):  # NaN is not either
            f.answer(Code.NOT_FINITE)
        middle = (low + high) * 0.5
        f["low"][i] = f.choose(low > high, middle, low)
        f["high"][i] = f.choose(low > high, middle, high)
        f["norm"][i] = scope.length(row)
        f["cls"][i] = f["classes_A"][k]
        f["loose"][i] = 0.0
        side = f["sides"][k]
        bounded = ((side > 0.0) & (high < INFINITY)) | ((side < 0.0) & (low > -INFINITY))
        f["side"][i] = f.choose(f["low"][i].equals(f["high"][i]), 1.0, f.choose(bounded, side, 0.0))
        wrong.value = wrong.value + f["norm"][i] * 0.0


def _truncate(scope: Scope, level: Function) -> None:
    """Rows of E that others repeat but for a part of their length lose what is left: they repeat them exactly.

    The part is settings[REPEATED] of rows that are relaxed last, as contacts are, and settings[ROUNDING] of all others.

    What such a row asks for beyond the others could only be had by unknowns that are 1 / settings[REPEATED] times
    larger.
    """
    f, n_E = scope.f, scope.n_E
    f["count"][Counters.DEPENDENT] = 0
    total = f.variable(0)
    with f.loop(0, f["classes"] + 1) as c:
        f["first"][c] = total.value
        with f.loop(0, n_E) as i, f.when(f["cls"][i].equals(c)):
            t = total.value
            f.copy(scope.row("T", t), scope.row("M", i), 0, scope.n)
            f["square"][t] = f["norm"][i] * f["norm"][i]
            f["pivoted"][t] = 0
            f["of"][t] = i
            total.value = t + 1
    f["first"][f["classes"] + 1] = total.value
    found = f.variable(0)
    with f.loop(0, f["classes"] + 1) as c:
        t0, t1 = f["first"][c], f["first"][c + 1]
        found.value = f.call(
            level,
            t0=t0,
            t1=t1,
            total=n_E,
            c0=found.value,
            rank=f.choose(c.equals(LAST), Setting.REPEATED, Setting.ROUNDING),
        )
        with f.loop(t0, t1) as t, f.when(f["pivoted"][t].equals(0)):
            _repeat(scope, t, found.value)


def _repeat(scope: Scope, t: Number, rank: Number) -> None:
    """Leave of a row what the first `rank` coordinates say."""
    f, row, i = scope.f, scope.row("T", t), scope.f["of"][t]
    f["count"][Counters.DEPENDENT] = f["count"][Counters.DEPENDENT] + 1
    with f.loop(rank, scope.n) as j:
        row[j] = 0.0
    turned_back(scope, row, 0, rank)
    f.copy(scope.row("M", i), row, 0, scope.n)
    _loosen(f, scope.n_E, f["cls"][i])


def _transpose(scope: Scope) -> None:
    f = scope.f
    with f.loop(0, scope.n) as j:
        f.fill(f["columns"].at(j * scope.tall), 0.0, 0, scope.tall)
    with f.loop(0, scope.m) as i:
        row, column = scope.row("M", i), f["columns"].at(i)
        with f.loop(0, scope.n) as j:
            column[j * scope.tall] = row[j]


def _loosen(f: Function, n_E: Number, cls: Number) -> None:
    """Rows of a class that holds a dependent row share what it cannot have."""
    with f.loop(0, n_E) as k, f.when(f["cls"][k].equals(cls)):
        f["loose"][k] = f.choose(cls.equals(LAST), f["settings"][Setting.REPEATED], f["settings"][Setting.ROUNDING])


def turned_back(scope: Scope, vector: ArrayView, start: Any, stop: Any) -> None:
    """The vector through reflections start … stop − 1, last first: from coordinates y to unknowns x."""
    f = scope.f
    with f.loop(start, stop, down=True) as k:
        mirror = scope.row("mirror", k)
        f.add(vector, -(f.dot(vector, mirror, k, scope.n) * f["beta"][k]), mirror, k, scope.n)


def turned(scope: Scope, vector: ArrayView, count: Any) -> None:
    """The vector through the first `count` reflections: from gradients over x to gradients over y."""
    f = scope.f
    with f.loop(0, count) as k:
        mirror = scope.row("mirror", k)
        f.add(vector, -(f.dot(vector, mirror, k, scope.n) * f["beta"][k]), mirror, k, scope.n)


def violation_tolerance(scope: Scope, i: Number, value: Number, length: Number) -> Number:
    """Violation of row i that counts as none where it has this value and the unknowns this length."""
    f = scope.f
    size = f.abs(value) + 1.0
    return (size + f["norm"][i] * length * 0.4) * TOLERANCE + size * f["loose"][i]
