"""The dual method: the point nearest to a start, in the sense of H, at which all rows hold, class after class."""

from __future__ import annotations

from typing import Any

from ....machine.loops import Function, Number
from .changes import coordinates, empty, free_part
from .rows import violation_tolerance
from .workspace import Code, Counters, Scope

BELOW = 1e-6  # of the regularisation, where it comes after the last level: all but nothing next to it
LIKELY, MINIMISED = 1, 2  # hints: what was violated in the last program, and what has been minimised in this one


def write_pin(module: Any, enter: Function) -> Function:
    """`pin`: from nothing, rows that are fixed and equalities of the classes before `below`. They hold at x."""
    scope = Scope(module, "pin", "below")
    f = scope.f
    with f.loop(0, scope.n) as i:
        f.fill(scope.row("J", i), 0.0, 0, scope.wide)
        scope.row("J", i)[i] = 1.0
    empty(scope, scope.n)
    with f.loop(0, scope.m) as i:
        equality = (f["cls"][i] < f["below"]) & f["low"][i].equals(f["high"][i]) & f["fixed"][i].equals(0)
        with f.when(equality):
            f["bound"][i] = f["high"][i]
        with f.when(equality | (f["fixed"][i] > 0)):
            q = f["count"][Counters.SIZE]
            coordinates(scope, scope.row("M", i), 1.0)
            with f.when(free_part(scope, q) > 0.0):
                f["u"][q], f["sign"][q] = 0.0, 1.0
                f.call(enter, which=i, equality=1)
    f.finish(Code.DONE)
    return scope.f


def write_hold(module: Any, bring: Function) -> Function:
    """`hold`: rows of class after class from `first_class` on. CONFLICT where one cannot hold: count[CLASS].

    A class that could not hold in the last program is taken for one that cannot: whoever minimises its violations will
    see. After each class that does hold, x is kept. Beyond the last class, all rows but equalities are looked at once
    more.
    """
    scope = Scope(module, "hold", "first_class")
    f = scope.f
    first = f.choose(f["first_class"] < f["classes"], f["first_class"], f["classes"])
    with f.loop(first, f["classes"] + 1) as c:
        f["count"][Counters.CLASS] = c
        with f.when(f["hints"][c].equals(LIKELY)):
            f.answer(Code.CONFLICT)
        with f.when(c >= f["first_class"]), f.loop(0, scope.m) as i:
            mine = f["cls"][i].equals(c) & f["low"][i].equals(f["high"][i]) & f["fixed"][i].equals(0)
            with f.when(mine):
                f["bound"][i] = f["high"][i]
                _checked(scope, f.call(bring, which=i, equality=1))
        with f.loop(0, f["limit"]):
            worst = _worst(scope, c)
            with f.when(worst < 0):
                f.leave()
            value = f["value"][worst]
            f["bound"][worst] = f.choose(value > f["high"][worst], f["high"][worst], f["low"][worst])
            _checked(scope, f.call(bring, which=worst, equality=0))
        with f.when(f["first_class"] <= f["classes"]):
            f.copy(f["kept"], f["x"], 0, scope.n)
    f.finish(Code.DONE)
    return scope.f


def _checked(scope: Scope, code: Number) -> None:
    with scope.f.unless(code.equals(Code.DONE)):
        scope.f.answer(code)


def _worst(scope: Scope, c: Number) -> Number:
    """The row of classes up to c that is violated most, in the first class that has one; −1 if none."""
    f, length = scope.f, scope.length(scope.f["x"])
    scope.rows_times(f["value"], f["x"])
    worst, most, first = f.variable(-1), f.variable(0.0), f.variable(c)
    with f.loop(scope.n_E, scope.m) as i:
        here = (f["cls"][i] <= first.value) & f["inside"][i].equals(0) & f["fixed"][i].equals(0)
        with f.when(here):
            value = f["value"][i]
            excess = f.larger(value - f["high"][i], f["low"][i] - value)
            better = (excess > most.value * f["norm"][i]) | (f["cls"][i] < first.value)
            with f.when(better & (excess > violation_tolerance(scope, i, value, length))):
                worst.value, most.value, first.value = i, excess / f.larger(f["norm"][i], 1e-300), f["cls"][i]
    return worst.value


def write_reduce(module: Any) -> Function:
    """`reduce`: the basis of what equalities leave free in the sense of the last level, and its minimiser there.

    With Z the free rows of J: Z H Zᵀ = Uᵀ U, J ← U⁻ᵀ Z.
    """
    scope = Scope(module, "reduce")
    f, n, row = scope.f, scope.n, scope.row
    q = f["count"][Counters.SIZE]
    d = n - q
    with f.loop(0, d) as k:
        f.copy(row("Z", k), row("J", q + k), 0, n)
    _cost_along(scope, d)
    with f.loop(0, d) as k:  # U in place, and U⁻ᵀ on Z and on the right-hand side in the same pass
        pivot = row("F", k)[k]
        inverse = f.choose(pivot > 0.0, f.number(1.0) / f.sqrt(pivot), 0.0)
        f.scale(row("F", k), inverse, k, d)
        f.scale(row("Z", k), inverse, 0, n)
        f["b"][k] = f["b"][k] * inverse
        with f.loop(k + 1, d) as j:
            factor = -row("F", k)[j]
            f.add(row("F", j), factor, row("F", k), j, d)
            f.add(row("Z", j), factor, row("Z", k), 0, n)
            f["b"][j] = f["b"][j] + factor * f["b"][k]
    with f.loop(0, d) as k:
        f.add(f["x"], f["b"][k], row("Z", k), 0, n)
        f.copy(row("J", k), row("Z", k), 0, n)
    empty(scope, d)
    f.finish(Code.DONE)
    return scope.f


def _cost_along(scope: Scope, d: Number) -> None:
    """F = Z H Zᵀ (upper part) and b = −Z (H x + f), of the last level and the regularisation."""
    f, n, row = scope.f, scope.n, scope.row
    f.fill(f["own"], 0.0, 0, scope.wide)
    last = f["levels"] - 1
    with f.loop(0, n) as i:
        share = f.choose(last.equals(f["diagonal"]), 1.0, 0.0)
        rest = f.choose(f["strict"] > 0, BELOW, 1.0)
        f["D"][i] = f["weights"][i] * share + f["regularisation"][i] * rest
        f["own"][i] = f["pulls"][i] * share - f["D"][i] * f["x"][i]
    with f.loop(0, d) as j:
        f["b"][j] = f.dot(row("Z", j), f["own"], 0, n)
        f.fill(row("F", j), 0.0, 0, scope.wide)
    with f.loop(0, d) as j:
        with f.loop(0, n) as i:
            f["own"][i] = f["D"][i] * row("Z", j)[i]
        with f.loop(0, j + 1) as k:
            row("F", k)[j] = f.dot(f["own"], row("Z", k), 0, n)
    start = f.variable(0)
    with f.when(last > 0):
        start.value = f["ends"][last - 1]
    with f.loop(start.value, f["ends"][last]) as k:
        t = f["order"][k]
        task = f["R"].at(t * n)
        lacks = f["r"][t] - f.dot(f["x"], task, 0, n)
        f.fill(f["own"], 0.0, 0, scope.wide)
        with f.loop(0, d) as j:
            f["own"][j] = f.dot(row("Z", j), task, 0, n)
        f.add(f["b"], lacks, f["own"], 0, d)
        with f.loop(0, d) as j:
            f.add(row("F", j), f["own"][j], f["own"], j, d)
