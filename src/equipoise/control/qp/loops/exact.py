"""The lexicographic optimum for a given working set: classes of constraints, levels of the cost, what is left.

Rows of E and the rows of A with a side (their bound on that side is the aim) are least squares in the order of their
classes. The levels of the cost follow. After a search, what it found of violations and of levels but the last is the
aim instead. What no level decides minimises the tail: with strict priorities the regularisation alone, else the only
level and the regularisation in one sum, which is positive definite.
"""

from __future__ import annotations

from typing import Any

from ....machine.loops import Function, Number
from .levels import cholesky_solve
from .rows import copy_row, turned_back
from .workspace import Code, Counters, Scope, Setting


def by_rows(scope: Scope) -> Number:
    """Whether the levels of the cost are rows: with strict priorities, and where their sum is too badly conditioned."""
    f = scope.f
    return (f["strict"] > 0) | (f["count"][Counters.CAREFUL] > 0)


def steps_of(scope: Scope) -> Number:
    """How many levels are rows: classes of constraints and, if so, of the cost."""
    f = scope.f
    return f["classes"] + 1 + f.choose(by_rows(scope), f["levels"], 0)


def diagonal_of(scope: Scope, i: Number) -> Number:
    """Weight of the square of an unknown: the regularisation is part of it if all levels are one sum."""
    f = scope.f
    return f["weights"][i] + f.choose(f["strict"] > 0, 0.0, f["regularisation"][i])


def write(module: Any, factor: Function, fit: Function) -> Function:
    """`exact`: x for the sides as they are, deviations of all rows of T, values of all rows."""
    scope = Scope(module, "exact")
    f = scope.f
    total = _gather(scope)
    f.fill(f["y"], 0.0, 0, scope.wide)
    c = f.variable(0)
    steps = steps_of(scope)
    with f.loop(0, steps) as k:
        t0, t1 = f["first"][k], f["first"][k + 1]
        f["begin"][k] = c.value
        with f.when(t1 > t0):
            c0 = c.value
            c.value = f.call(factor, t0=t0, t1=t1, total=total, c0=c0, rank=Setting.LEVEL)
            f.call(fit, t0=t0, t1=t1, c0=c0, c1=c.value)
    f["begin"][steps] = c.value
    f.copy(f["x"], f["y"], 0, scope.n)
    turned_back(scope, f["x"], 0, c.value)
    _tail(scope, f["first"][steps], total, c.value)
    scope.rows_times(f["value"], f["x"])
    f.finish(Code.DONE)
    return scope.f


def _gather(scope: Scope) -> Number:
    """Rows of T: classes of constraints, then levels of the cost; how many there are."""
    f, total = scope.f, scope.f.variable(0)
    with f.loop(0, f["classes"] + 1) as c:
        f["first"][c] = total.value
        with f.loop(0, scope.m) as i, f.when(f["cls"][i].equals(c) & ~f["side"][i].equals(0.0)):
            t = total.value
            f.copy(scope.row("T", t), scope.row("M", i), 0, scope.n)
            aim = f.choose(f["side"][i] > 0.0, f["high"][i], f["low"][i])
            f["aim"][t] = f.choose((f["count"][Counters.FOUND] > 0) & (f["fixed"][i] > 0), f["bound"][i], aim)
            _enter(scope, t, i, f["norm"][i] * f["norm"][i])
            total.value = t + 1
    k = f.variable(0)
    with f.loop(0, f["levels"]) as level:
        f["first"][f["classes"] + 1 + level] = total.value
        with f.loop(k.value, f["ends"][level]) as j:
            t = total.value
            row = scope.row("T", t)
            at = f["order"][j]
            copy_row(scope, row, f["R"].at(at * scope.n))
            reached = f.dot(f["kept"], f["R"].at(at * scope.n), 0, scope.n)
            f["aim"][t] = f.choose(_found(scope, level), reached, f["r"][at])
            _enter(scope, t, -1 - at, f["norm_R"][at] * f["norm_R"][at])
            total.value = t + 1
        k.value = f["ends"][level]
        with f.when(by_rows(scope) & level.equals(f["diagonal"])):
            _diagonal(scope, total)
    f["first"][f["classes"] + 1 + f["levels"]] = total.value
    return total.value


def _found(scope: Scope, level: Number) -> Number:
    """Whether `search` found what a level of the cost can reach: the values at the point that it kept."""
    f = scope.f
    return (f["count"][Counters.FOUND] > 0) & (level < f["levels"] - 1)


def _enter(scope: Scope, t: Number, of: Number, square: Number) -> None:
    f = scope.f
    f["of"][t], f["pivoted"][t], f["square"][t] = of, 0, square


def _diagonal(scope: Scope, total: Any) -> None:
    """Weights of single unknowns as rows of their level."""
    f = scope.f
    with f.loop(0, scope.n) as i, f.when(diagonal_of(scope, i) > 0.0):
        t, root = total.value, f.sqrt(diagonal_of(scope, i))
        f.fill(scope.row("T", t), 0.0, 0, scope.wide)
        scope.row("T", t)[i] = root
        f["aim"][t] = f.choose(_found(scope, f["diagonal"]), f["kept"][i] * root, f["pulls"][i] / root)
        _enter(scope, t, -1 - f["n_R"] - i, diagonal_of(scope, i))
        total.value = t + 1


def _tail(scope: Scope, t0: Number, t1: Number, c: Number) -> None:
    """Coordinates from c on: minimise ½ Σ D x² − pullᵀ x + ½|rows − aims|²."""
    f, n = scope.f, scope.n
    rows, strict = by_rows(scope), f["strict"] > 0
    with f.loop(0, n) as i:
        rest = f.choose(strict, f["regularisation"][i], 0.0)
        f["D"][i] = f.choose(rows, rest, diagonal_of(scope, i))
        f["pull"][i] = f.choose(rows, 0.0, f["pulls"][i])
    f.fill(f["b"], 0.0, 0, scope.wide)
    with f.loop(c, n) as j:
        f.fill(scope.row("F", j), 0.0, 0, scope.wide)
    with f.loop(t0, t1) as t:  # no rows with strict priorities
        row = scope.row("T", t)
        f["off"][t] = f["aim"][t] - f.dot(row, f["y"], 0, n)
        f.add(f["b"], f["off"][t], row, 0, n)
        with f.loop(c, n) as j:
            f.add(scope.row("F", j), row[j], row, j, n)
    _free_directions(scope, c)
    cholesky_solve(scope, f["F"], f["b"], c, n, scope.wide)
    with f.loop(c, n) as j:
        f["y"][j] = f["b"][j]
        f.add(f["x"], f["b"][j], scope.row("Z", j), 0, n)
    with f.loop(t0, t1) as t:
        f["off"][t] = f.dot(scope.row("T", t), f["y"], 0, n) - f["aim"][t]


def _free_directions(scope: Scope, c: Number) -> None:
    """Z: the coordinates from c on as directions of x; their part of the tail's matrix and right-hand side."""
    f, n, Z = scope.f, scope.n, scope.row
    with f.loop(0, n) as i:
        f["own"][i] = f["pull"][i] - f["D"][i] * f["x"][i]
    with f.loop(n, scope.wide) as i:
        f["own"][i] = 0.0
    with f.loop(c, n) as j:
        f.fill(Z("Z", j), 0.0, 0, scope.wide)
        Z("Z", j)[j] = 1.0
        turned_back(scope, Z("Z", j), 0, c)
        f["b"][j] = f["b"][j] + f.dot(Z("Z", j), f["own"], 0, n)
    with f.loop(c, n) as j:
        with f.loop(0, scope.wide) as i:
            f["gradient"][i] = f["D"][i] * Z("Z", j)[i]
        with f.loop(c, j + 1) as k:
            Z("F", k)[j] = Z("F", k)[j] + f.dot(f["gradient"], Z("Z", k), 0, n)
