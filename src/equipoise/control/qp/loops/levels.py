"""Least squares level after level: what the rows of one level leave free is for the next.

Unknowns are turned, x = Q y, by one reflection for each row that decides something: level after level the rows become
lower triangular, row by row, the longest first, and a row of which the reflections before leave nothing decides
nothing. Within a level, pivot rows L and the other rows N = F L are solved together,

    minimise |z − b₁|² + |F z − b₂|²  over  z = L y:      (1 + F Fᵀ) ν = b₂ − F b₁,   z = b₁ + Fᵀ ν,

which is as well conditioned as F is small [PW70], and gives ν = 0 where the rows agree.

[PW70] Peters, Wilkinson: The Least Squares Problem and Pseudo-Inverses, Computer Journal 13, 1970.
"""

from __future__ import annotations

from typing import Any

from ....machine.loops import ArrayView, Function, Number
from .workspace import Code, Counters, Scope

ROUNDING = 1e-15  # of a diagonal entry
ILL = 1e-10  # of a diagonal entry: what is left of fewer digits


def write_factor(module: Any) -> Function:
    """`factor`: turns coordinates from c0 on so that rows t0 … t1 − 1 of T become triangular; the next coordinate.

    All rows up to `total` that are no pivots take part in the reflections. What is left of a row counts if it is longer
    than settings[rank] of the row.
    """
    scope = Scope(module, "factor", "t0", "t1", "total", "c0", "rank")
    f, n = scope.f, scope.n
    with f.loop(f["t0"], f["t1"]) as t:
        f["left"][t] = f["square"][t]
        with f.loop(0, f["c0"]) as j:
            f["left"][t] = f["left"][t] - scope.row("T", t)[j] * scope.row("T", t)[j]
    c = f.variable(f["c0"])
    tolerance = f["settings"][f["rank"]] * f["settings"][f["rank"]]
    with f.loop(0, f["t1"] - f["t0"]):
        best = _longest(scope)
        with f.when((best < 0) | (c.value >= n)):
            f.leave()
        square = _take(scope, best, c.value)
        decides = square > f["square"][best] * tolerance
        with f.unless(decides):
            f["left"][best] = 0.0
        with f.when(decides):
            _reflect(scope, best, c.value, square)
            c.value = c.value + 1
    f.finish(c.value)
    return scope.f


def _longest(scope: Scope) -> Number:
    """The row of the level of which most is left; −1 if there is none."""
    f = scope.f
    best, most = f.variable(-1), f.variable(0.0)
    with f.loop(f["t0"], f["t1"]) as t, f.when(f["pivoted"][t].equals(0) & (f["left"][t] > most.value)):
        best.value, most.value = t, f["left"][t]
    return best.value


def _take(scope: Scope, t: Number, c: Number) -> Number:
    """Row t from coordinate c on, as the next mirror; the square of its length."""
    f, row, mirror = scope.f, scope.row("T", t), scope.row("mirror", c)
    f.fill(mirror, 0.0, 0, scope.wide)
    with f.loop(c, scope.n) as j:
        mirror[j] = row[j]
    return f.dot(mirror, mirror, c, scope.n)


def _reflect(scope: Scope, t: Number, c: Number, square: Number) -> None:
    f, row, mirror = scope.f, scope.row("T", t), scope.row("mirror", c)
    length, head = f.sqrt(square), mirror[c]
    end = f.choose(head > 0.0, -length, length)
    mirror[c] = head - end
    f["beta"][c] = f.number(1.0) / (square + f.abs(head) * length)
    with f.loop(c, scope.n) as j:
        row[j] = 0.0
    row[c] = end
    f["pivoted"][t], f["pivot"][c] = 1, t
    with f.loop(f["t0"], f["total"]) as k, f.when(f["pivoted"][k].equals(0)):
        other = scope.row("T", k)
        f.add(other, -(f.dot(other, mirror, c, scope.n) * f["beta"][c]), mirror, c, scope.n)
        f["left"][k] = f["left"][k] - other[c] * other[c]


def write_solve(module: Any) -> Function:
    """`fit`: coordinates c0 … c1 − 1 of y from the rows t0 … t1 − 1, whose deviations come into `off`."""
    scope = Scope(module, "fit", "t0", "t1", "c0", "c1")
    f, c0, c1 = scope.f, scope.f["c0"], scope.f["c1"]
    f.fill(f["b"], 0.0, 0, scope.wide)
    count = f.variable(0)
    with f.loop(f["t0"], f["t1"]) as t:
        f["off"][t] = f["aim"][t] - f.dot(scope.row("T", t), f["y"], 0, scope.n)
        with f.when(f["pivoted"][t].equals(0)):
            f["spare"][count.value] = t
            count.value = count.value + 1
    with f.loop(c0, c1) as k:
        f["b"][k] = f["off"][f["pivot"][k]]
        f["off"][f["pivot"][k]] = 0.0
    with f.when(count.value > 0):
        _disagreements(scope, count.value)
    f.fill(f["own"], 0.0, 0, scope.wide)
    with f.loop(c0, c1) as k:
        row = scope.row("T", f["pivot"][k])
        f["own"][k] = (f["b"][k] - f.dot(row, f["own"], c0, scope.n)) / row[k]
    with f.loop(c0, c1) as k:
        f["y"][k] = f["own"][k]
    f.finish(Code.DONE)
    return scope.f


def _disagreements(scope: Scope, count: Number) -> None:
    """What the other rows say against the pivots is shared among all of them."""
    f, c0, c1 = scope.f, scope.f["c0"], scope.f["c1"]
    stride = f.padded(count)
    with f.loop(0, count) as a:
        t = f["spare"][a]
        row = scope.row("F", a)
        _multiples(scope, scope.row("T", t), row)
        f["delta"][a] = f["off"][t] - f.dot(row, f["b"], c0, c1)
        with f.loop(0, a + 1) as k:
            f["small"][k * stride + a] = f.dot(row, scope.row("F", k), c0, c1)
        f["small"][a * stride + a] = f["small"][a * stride + a] + 1.0
    with f.loop(count, stride) as a:
        f["delta"][a] = 0.0
    cholesky_solve(scope, f["small"], f["delta"], 0, count, stride)
    with f.loop(0, count) as a:
        f["off"][f["spare"][a]] = -f["delta"][a]
        with f.loop(c0, c1) as k:
            share = scope.row("F", a)[k] * f["delta"][a]
            f["b"][k] = f["b"][k] + share
            f["off"][f["pivot"][k]] = f["off"][f["pivot"][k]] + share


def _multiples(scope: Scope, row: ArrayView, to: ArrayView) -> None:
    """F of one row: row = F L over the coordinates of the level."""
    f, c0, c1 = scope.f, scope.f["c0"], scope.f["c1"]
    f.fill(to, 0.0, 0, scope.wide)
    with f.loop(c0, c1) as k:
        to[k] = row[k]
    with f.loop(c0, c1, down=True) as k:
        pivot = scope.row("T", f["pivot"][k])
        factor = to[k] / pivot[k]
        f.add(to, -factor, pivot, c0, k)
        to[k] = factor
    with f.loop(f.block(c0), c0) as k:
        to[k] = 0.0


def cholesky_solve(
    scope: Scope, matrix: ArrayView, vector: ArrayView, start: Any, stop: Number, stride: Number
) -> None:
    """vector ← matrix⁻¹ vector for rows and columns from start on; the upper part of the matrix becomes its factor.

    What rounding leaves of a pivot decides nothing.
    """
    f = scope.f
    with f.loop(start, stop) as k:
        f["left"][k] = matrix[k * stride + k]
    with f.loop(start, stop) as k:
        row = matrix.at(k * stride)
        with f.loop(stop, stride) as j:
            row[j] = 0.0
        pivot, whole = row[k], f["left"][k]
        with f.unless(pivot > whole * ILL):
            f["count"][Counters.ILL] = 1
        inverse = f.choose(pivot > whole * ROUNDING, f.number(1.0) / f.sqrt(pivot), 0.0)
        f.scale(row, inverse, k, stop)
        vector[k] = vector[k] * inverse
        with f.loop(k + 1, stop) as i:
            f.add(matrix.at(i * stride), -row[i], row, i, stop)
            vector[i] = vector[i] - row[i] * vector[k]
    with f.loop(start, stop, down=True) as k:
        total = f.variable(vector[k])
        with f.loop(k + 1, stop) as i:
            total.value = total.value - matrix[k * stride + i] * vector[i]
        pivot = matrix[k * stride + k]
        vector[k] = f.choose(pivot > 0.0, total.value / pivot, 0.0)
