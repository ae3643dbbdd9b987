"""Multipliers of a working set, level by level, and the row that has to leave it.

At level k the deviations of its rows are balanced by rows of the levels above: Σ off_t row_t + Σ λ_p row_p = 0, one λ
for each pivot. A row of A holds rightly if the first of its numbers that is not zero (its own deviation, then its λ of
each level below) has the sign of its side: then it must hold, whatever the levels below say. If it is the other sign,
its level would be better off without it. The residual of every level's balance, over x and from the rows as they were
given, is the certificate.
"""

from __future__ import annotations

from typing import Any

from ....machine.loops import Function, Number
from .exact import diagonal_of, steps_of
from .rows import turned, violation_tolerance
from .workspace import NOISE, TOLERANCE, WRONG, Counters, Info, Scope

BY_COST, BY_CLASS = 1, 2  # which kind of level a row is decided by
ROUNDING = 1e-11  # deviation of a row of the cost, by its terms, that counts as none


class Worst:
    """The row that is most wrong so far."""

    def __init__(self, f: Function) -> None:
        self.at, self.most = f.variable(-1), f.variable(0.0)


def write(module: Any) -> Function:
    """`signs`: one more than the row of A that is most wrong at the first level that has one; 0 if all are right.

    info[STATIONARITY] is the largest residual of the levels. Rows that others repeat lose their sides.
    """
    scope = Scope(module, "signs")
    f = scope.f
    with f.loop(0, scope.m) as i:
        found = (f["count"][Counters.FOUND] > 0) & (f["fixed"][i] > 0)  # by `search`
        f["decided"][i] = f.choose(found, BY_CLASS, 0)
        f["push"][i] = f.choose(found & (f["strict"] > 0), f["prior"][i], 0.0)
    length, wrong = scope.length(f["x"]), Worst(f)
    _drop_repeated(scope, length)
    f["info"][Info.STATIONARITY] = 0.0
    steps = steps_of(scope)
    with f.loop(0, steps + 1) as k, f.when((wrong.at.value < 0) & _matters(scope, k, steps, length)):
        size = _gradient(scope, k, steps, length)
        with f.when(k <= f["classes"]):
            _own(scope, k, wrong, length)
        _balance(scope, k, size, wrong, k.equals(steps))
    f.finish(wrong.at.value + 1)
    return scope.f


def _drop_repeated(scope: Scope, length: Number) -> None:
    """Rows of A that others repeat and that agree with them need not be in the working set."""
    f = scope.f
    with f.loop(0, f["first"][f["classes"] + 1]) as t:
        i = f["of"][t]
        close = f.abs(f["off"][t]) <= violation_tolerance(scope, i, f["aim"][t], length)
        free = ~f["low"][i].equals(f["high"][i]) & f["decided"][i].equals(0)
        with f.when(f["pivoted"][t].equals(0) & close & free):
            f["side"][i] = 0.0


def _matters(scope: Scope, k: Number, steps: Number, length: Number) -> Number:
    """Whether a level is not met; the tail never is."""
    f = scope.f
    found = f.variable(f.choose(k.equals(steps), 1, 0))
    with f.when(k < steps), f.loop(f["first"][k], f["first"][k + 1]) as t:
        row = f.choose(k <= f["classes"], f["of"][t], 0)
        reach = f.abs(f["aim"][t]) + f.sqrt(f["square"][t]) * length
        own = violation_tolerance(scope, row, f["aim"][t], length)
        with f.unless(f.abs(f["off"][t]) <= f.choose(k <= f["classes"], own, reach * ROUNDING)):
            found.value = 1
    return found.value > 0


def _gradient(scope: Scope, k: Number, steps: Number, length: Number) -> Number:
    """Σ off_t row_t of level k over y (`gradient`) and over x (`balance`); the size of its terms."""
    f, n = scope.f, scope.n
    size = f.variable(0.0)
    f.fill(f["gradient"], 0.0, 0, scope.wide)
    f.fill(f["balance"], 0.0, 0, scope.wide)
    with f.when(k.equals(steps)):
        with f.loop(0, n) as i:
            f["balance"][i] = f["D"][i] * f["x"][i] - f["pull"][i]
            size.value = f.larger(size.value, f.abs(f["D"][i] * f["x"][i]))
            size.value = f.larger(size.value, f.abs(f["pull"][i]))
        f.copy(f["gradient"], f["balance"], 0, n)
        turned(scope, f["gradient"], f["begin"][k])
    last = f.choose(k.equals(steps), f["first"][f["classes"] + 1 + f["levels"]], f["first"][k + 1])
    with f.loop(f["first"][k], last) as t:
        f.add(f["gradient"], f["off"][t], scope.row("T", t), 0, n)
        add_row(scope, t, f["off"][t])
        norm = f.sqrt(f["square"][t])
        reach = (f.abs(f["aim"][t]) + norm * length) * 1e-3  # of which rounding is a part
        size.value = f.larger(size.value, (f.abs(f["off"][t]) + reach) * norm)
    return size.value


def add_row(scope: Scope, t: Number, factor: Number) -> None:
    """balance += factor · row t as it was given."""
    f, of, n = scope.f, scope.f["of"][t], scope.n
    with f.when(of >= 0):
        f.add(f["balance"], factor, scope.row("M", of), 0, n)
    with f.when((of < 0) & (of >= -f["n_R"])):
        f.add(f["balance"], factor, f["R"].at((-1 - of) * n), 0, n)
    with f.when(of < -f["n_R"]):
        i = -1 - f["n_R"] - of
        f["balance"][i] = f["balance"][i] + factor * f.sqrt(diagonal_of(scope, i))


def _own(scope: Scope, k: Number, wrong: Worst, length: Number) -> None:
    """Signs of the deviations of the level's own rows."""
    f = scope.f
    with f.loop(f["first"][k], f["first"][k + 1]) as t:
        i = f["of"][t]
        with f.when(~f["low"][i].equals(f["high"][i]) & ~f["side"][i].equals(0.0)):
            tolerance = violation_tolerance(scope, i, f["aim"][t], length)
            _judge(scope, i, f["off"][t], tolerance, tolerance, wrong, f.number(BY_CLASS))


def _judge(scope: Scope, i: Number, number: Number, none: Number, most: Number, wrong: Worst, by: Number) -> None:
    """A row that nobody above decided: it leaves if its number has the wrong sign by more than `most`.

    Else it is decided if there is more than `none` of it. A row whose influence is all but nothing is better kept:
    without it, its level would go very far for that nothing.
    """
    f = scope.f
    outward, free = number * f["side"][i], f["decided"][i].equals(0)
    size = -(outward * f["norm"][i])
    with f.when(free & (outward < -most) & (size > wrong.most.value)):
        wrong.at.value, wrong.most.value = i, size
    with f.when(free & (outward >= -most) & (f.abs(outward) > none)):
        f["decided"][i] = by
        f["push"][i] = number


def _balance(scope: Scope, k: Number, size: Number, wrong: Worst, last: Number) -> None:
    """λ of the pivots above, their signs, and what they leave of the gradient."""
    f = scope.f
    is_class = k <= f["classes"]
    summed, by = ~is_class & (f["strict"] <= 0), f.choose(is_class, BY_CLASS, BY_COST)
    coarse = f.choose(last | summed, TOLERANCE, WRONG)
    with f.loop(0, f["begin"][k], down=True) as c:
        t = f["pivot"][c]
        row, i = scope.row("T", t), f["of"][t]
        factor = -f["gradient"][c] / row[c]
        f.add(f["gradient"], factor, row, 0, c)
        add_row(scope, t, factor)
        with f.when(i >= 0):
            inequality = ~f["low"][i].equals(f["high"][i]) & ~f["side"][i].equals(0.0)
            with f.when(inequality):
                unit = size / f["norm"][i]
                _judge(scope, i, factor, unit * NOISE, unit * coarse, wrong, by)
            with f.when(summed & (size > 0.0)):
                f["push"][i] = factor
    largest, scale = f.variable(0.0), f.larger(size, 1.0)
    with f.loop(0, scope.n) as j:
        largest.value = f.larger(largest.value, f.abs(f["balance"][j]))
    f["info"][Info.STATIONARITY] = f.larger(f["info"][Info.STATIONARITY], largest.value / scale)
