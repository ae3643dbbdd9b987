"""The optimum from a working set that is nearly right.

Rows that its optimum violates enter, until there is a point that violates none. From there on it is the primal method:
the row that is most wrong leaves, and the way to the new optimum ends where it would violate a row, which enters. Every
step is exact, and costs a whole factorisation.
"""

from __future__ import annotations

from typing import Any

from ....machine.loops import Function, Number, Variable
from .rows import violation_tolerance
from .workspace import Code, Counters, Info, Scope

FEW = 8  # rows that may enter at once
SLACK = 0.25  # of a row's tolerance, by which a step may violate it
INFINITY = float("inf")


def write(module: Any, exact: Function, signs: Function) -> Function:
    """`settle`: DONE where a working set holds its signs, NOT_FOUND after `tries`."""
    scope = Scope(module, "settle", "tries")
    f, n = scope.f, scope.n
    inside = f.variable(0)  # whether `point` violates no row that is not in the working set; count[INSIDE] for others
    f["count"][Counters.INSIDE] = 0
    with f.loop(0, f["tries"]):
        f["info"][Info.TRIES] = f["info"][Info.TRIES] + 1.0
        f["count"][Counters.ILL] = 0
        f.call(exact)
        with f.when((f["count"][Counters.ILL] > 0) & (f["strict"] <= 0) & f["count"][Counters.CAREFUL].equals(0)):
            f["count"][Counters.CAREFUL] = 1
            f.call(exact)
        with f.when(inside.value.equals(0)):
            entered = _enter(scope)
            with f.when(entered.equals(0)):
                inside.value, f["count"][Counters.INSIDE] = 1, 1
                f.copy(f["point"], f["x"], 0, n)
            with f.when((entered > FEW) & f["count"][Counters.FOUND].equals(0)):
                f.answer(Code.NOT_FOUND)
        with f.when(inside.value > 0):
            share, row = f.variable(1.0), f.variable(-1)
            _ahead(scope, share, row)
            with f.loop(0, n) as i:
                f["point"][i] = f["point"][i] + (f["x"][i] - f["point"][i]) * share.value
            with f.when(row.value >= 0):
                f["side"][row.value] = f.choose(f["value"][row.value] > f["high"][row.value], 1.0, -1.0)
            with f.when(row.value < 0):
                worst = f.call(signs)
                with f.when(worst.equals(0)):
                    f.answer(f.choose(f["info"][Info.STATIONARITY] < INFINITY, Code.DONE, Code.NOT_FOUND))  # NaN is not
                f["side"][worst - 1] = 0.0
    f.finish(Code.NOT_FOUND)
    return scope.f


def _enter(scope: Scope) -> Number:
    """Rows that x violates get a side; how many."""
    f, count, length = scope.f, scope.f.variable(0), scope.length(scope.f["x"])
    with f.loop(scope.n_E, scope.m) as i, f.when(f["side"][i].equals(0.0)):
        value = f["value"][i]
        over, under = value - f["high"][i], f["low"][i] - value
        with f.when(f.larger(over, under) > violation_tolerance(scope, i, value, length)):
            f["side"][i] = f.choose(over > under, 1.0, -1.0)
            count.value = count.value + 1
    return count.value


def _ahead(scope: Scope, share: Variable, row: Variable) -> None:
    """How much of the way from `point` to x can be gone, and the row that ends it: of a corner the steepest."""
    f, length = scope.f, scope.length(scope.f["x"])
    least, steepest = f.variable(1.0), f.variable(0.0)
    for search in (True, False):
        with f.loop(scope.n_E, scope.m) as i, f.when(f["side"][i].equals(0.0)):
            value = f["value"][i]
            excess = f.larger(value - f["high"][i], f["low"][i] - value)
            tolerance = violation_tolerance(scope, i, value, length)
            with f.when(excess > tolerance):
                way = f.abs(value - f.dot(scope.row("M", i), f["point"], 0, scope.n))
                part = (way - excess) / way
                if search:
                    relaxed = part + tolerance * SLACK / way
                    least.value = f.choose(relaxed < least.value, relaxed, least.value)
                else:
                    steep = way / f["norm"][i]
                    with f.when((part <= least.value) & (steep > steepest.value)):
                        row.value, steepest.value, share.value = i, steep, f.larger(part, 0.0)
