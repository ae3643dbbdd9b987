"""Multipliers of a working set, level by level, and which rows have to leave it or to enter.

At level k the deviations of its rows are balanced by rows of the levels above: Σ off_t row_t + Σ λ_p row_p = 0, one λ for each
pivot. A row of A holds rightly if the first of its numbers that is not zero (its own deviation, then its λ of each level below)
has the sign of its side: then it must hold, whatever the levels below say. If it is the other sign, its level would be better
off without it. The residual of every level's balance, over x and from the rows as they were given, is the certificate.
"""

from __future__ import annotations

from typing import Any

from ....machine.loops import Function, Number
from .rows import turned, violation_tolerance
from .workspace import TOLERANCE, Scope

BY_COST, BY_CLASS = 1, 2  # which kind of level a row is decided by
ROUNDING = 1e-11  # deviation of a row of the cost, by its terms, that counts as none


def write(module: Any) -> Function:
    """`signs`: changes sides; how many rows were wrong. info[0] is the largest residual of the levels."""
    scope = Scope(module, "signs")
    f = scope.f
    with f.loop(0, scope.m) as i:
        found = (f["count"][6] > 0) & (f["fixed"][i] > 0)  # by `search`
        f["decided"][i] = f.choose(found, BY_CLASS, 0)
        f["push"][i] = f.choose(found & (f["strict"] > 0), f["prior"][i], 0.0)
    length, wrong = scope.length(f["x"]), f.variable(0)
    _drop_repeated(scope, length)
    f["info"][0] = 0.0
    strict = f["strict"] > 0
    steps = f["classes"] + 1 + f.choose(strict, f["levels"], 0)
    with f.loop(0, steps + 1) as k, f.when(wrong.value.equals(0) & _matters(scope, k, steps, length)):
        size = _gradient(scope, k, steps, length)
        with f.when(k <= f["classes"]):
            _own(scope, k, wrong, length)
        _balance(scope, k, size, wrong, k.equals(steps))
    _enter(scope, wrong, length)
    f.finish(wrong.value)
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
        f["balance"][i] = f["balance"][i] + factor * f.sqrt(f["weights"][i])


def _own(scope: Scope, k: Number, wrong: Any, length: Number) -> None:
    """Signs of the deviations of the level's own rows."""
    f = scope.f
    with f.loop(f["first"][k], f["first"][k + 1]) as t:
        i = f["of"][t]
        with f.when(~f["low"][i].equals(f["high"][i]) & ~f["side"][i].equals(0.0)):
            tolerance = violation_tolerance(scope, i, f["aim"][t], length)
            _judge(scope, i, f["off"][t], tolerance, wrong, f.number(BY_CLASS))


def _judge(scope: Scope, i: Number, number: Number, tolerance: Number, wrong: Any, by: Number) -> None:
    f = scope.f
    outward = number * f["side"][i]
    with f.when(f["decided"][i].equals(0) & (outward < -tolerance)):
        f["side"][i] = 0.0
        wrong.value = wrong.value + 1
    with f.when(f["decided"][i].equals(0) & (outward > tolerance)):
        f["decided"][i] = by
        f["push"][i] = number


def _balance(scope: Scope, k: Number, size: Number, wrong: Any, last: Number) -> None:
    """λ of the pivots above, their signs, and what they leave of the gradient."""
    f = scope.f
    weighted_end, by = last & (f["strict"] <= 0), f.choose(k <= f["classes"], BY_CLASS, BY_COST)
    fine = f.choose(last, TOLERANCE, f["settings"][1])
    with f.loop(0, f["begin"][k], down=True) as c:
        t = f["pivot"][c]
        row, i = scope.row("T", t), f["of"][t]
        factor = -f["gradient"][c] / row[c]
        f.add(f["gradient"], factor, row, 0, c)
        add_row(scope, t, factor)
        with f.when(i >= 0):
            inequality = ~f["low"][i].equals(f["high"][i]) & ~f["side"][i].equals(0.0)
            with f.when(inequality):
                _judge(scope, i, factor, size * fine / f["norm"][i], wrong, by)
            with f.when(weighted_end):
                f["push"][i] = factor
    largest, scale = f.variable(0.0), f.larger(size, 1.0)
    f["info"][6] = scale
    with f.loop(0, scope.n) as j:
        largest.value = f.larger(largest.value, f.abs(f["balance"][j]))
    f["info"][0] = f.larger(f["info"][0], largest.value / scale)


def _enter(scope: Scope, wrong: Any, length: Number) -> None:
    """Rows beyond a bound get a side. Rows that just left had the other sign: they are inside."""
    f = scope.f
    with f.loop(scope.n_E, scope.m) as i, f.when(f["side"][i].equals(0.0)):
        value = f["value"][i]
        over, under = value - f["high"][i], f["low"][i] - value
        excess = f.choose(over > under, over, under)
        with f.when(excess > violation_tolerance(scope, i, value, length)):
            f["side"][i] = f.choose(over > under, 1.0, -1.0)
            wrong.value = wrong.value + 1
