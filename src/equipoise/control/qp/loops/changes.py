"""A working set that changes row by row: an orthogonal basis J of the unknowns in the sense of H, Jᵀ H J = 1.

The first q rows of `J` (which are columns of the matrix of the same name in the literature [GI83]) belong to the q rows
of the working set W, with the triangular C: normals N = H J C; the others span what W leaves free. Entering and leaving
cost of the order of n² each. `bring` is the step of the dual method: it makes one more row hold and lets others go
whose multipliers would get the wrong sign.

[GI83] Goldfarb, Idnani: A Numerically Stable Dual Method for Solving Strictly Convex Quadratic Programs, Math. Prog.
27, 1983.
"""

from __future__ import annotations

from typing import Any

from ....machine.loops import Function, Number
from .rows import violation_tolerance
from .workspace import Code, Counters, Scope, Setting

INFINITY = float("inf")
SMALL = 1e-10  # a change of a multiplier, by the largest of them, that counts as zero


def empty(scope: Scope, dimension: Number) -> None:
    """Nothing in the working set, and this many rows of J."""
    f = scope.f
    f["count"][Counters.SIZE], f["count"][Counters.DIMENSION] = 0, dimension
    with f.loop(0, scope.m) as i:
        f["inside"][i] = 0


def coordinates(scope: Scope, row: Any, factor: Any) -> None:
    """d = factor · Jᵀ row."""
    f = scope.f
    with f.loop(0, f["count"][Counters.DIMENSION]) as k:
        f["d"][k] = f.dot(scope.row("J", k), row, 0, scope.n) * factor


def back_substitute(scope: Scope, to: Any, count: Number) -> None:
    """to ← C⁻¹ to for its first `count` entries."""
    f = scope.f
    with f.loop(0, count, down=True) as k:
        column = scope.row("C", k)
        value = to[k] / column[k]
        f.add(to, -value, column, 0, k)
        to[k] = value


def write_enter(module: Any) -> Function:
    """`enter`: the row with coordinates d becomes the last of the working set."""
    scope = Scope(module, "enter", "which", "equality")
    f, n = scope.f, scope.n
    q = f["count"][Counters.SIZE]
    square, step = f.variable(0.0), f["step"]
    with f.loop(q, f["count"][Counters.DIMENSION]) as k:
        square.value = square.value + f["d"][k] * f["d"][k]
    length, head = f.sqrt(square.value), f["d"][q]
    end = f.choose(head > 0.0, -length, length)
    beta = f.number(1.0) / (square.value + f.abs(head) * length)
    f["d"][q] = head - end
    f.fill(step, 0.0, 0, scope.wide)
    with f.loop(q, f["count"][Counters.DIMENSION]) as k:
        f.add(step, f["d"][k], scope.row("J", k), 0, n)
    with f.loop(q, f["count"][Counters.DIMENSION]) as k:
        f.add(scope.row("J", k), -(beta * f["d"][k]), step, 0, n)
    column = scope.row("C", q)
    f.fill(column, 0.0, 0, scope.wide)
    with f.loop(0, q) as k:
        column[k] = f["d"][k]
    column[q] = end
    f["W"][q], f["equal"][q] = f["which"], f["equality"]
    with f.when(f["which"] >= 0):
        f["inside"][f["which"]] = 1
    f["count"][Counters.SIZE] = q + 1
    f.finish(Code.DONE)
    return scope.f


def write_leave(module: Any) -> Function:
    """`leave`: member `at` of the working set goes; rotations make C triangular again."""
    scope = Scope(module, "leave", "at")
    f, n = scope.f, scope.n
    last = f["count"][Counters.SIZE] - 1
    f["inside"][f["W"][f["at"]]] = 0
    with f.loop(f["at"], last) as k:
        f.copy(scope.row("C", k), scope.row("C", k + 1), 0, n)
        f["W"][k], f["equal"][k] = f["W"][k + 1], f["equal"][k + 1]
        f["u"][k], f["sign"][k] = f["u"][k + 1], f["sign"][k + 1]
    with f.loop(f["at"], last) as k:
        a, b = scope.row("C", k)[k], scope.row("C", k)[k + 1]
        length = f.sqrt(a * a + b * b)
        c, s = a / length, b / length
        with f.loop(k, last) as j:
            column = scope.row("C", j)
            upper, lower = column[k], column[k + 1]
            column[k] = c * upper + s * lower
            column[k + 1] = c * lower - s * upper
        f.copy(f["step"], scope.row("J", k), 0, n)
        f.scale(scope.row("J", k), c, 0, n)
        f.add(scope.row("J", k), s, scope.row("J", k + 1), 0, n)
        f.scale(scope.row("J", k + 1), c, 0, n)
        f.add(scope.row("J", k + 1), -s, f["step"], 0, n)
    f["count"][Counters.SIZE] = last
    f.finish(Code.DONE)
    return scope.f


def write_bring(module: Any, enter: Function, leave: Function) -> Function:
    """`bring`: row `of` to bound[of], upwards or downwards. DONE, CONFLICT where nothing can, or LIMIT.

    An equality that the working set implies is left out where it agrees.
    """
    scope = Scope(module, "bring", "which", "equality")
    f, n, i = scope.f, scope.n, scope.f["which"]
    row, up = scope.row("M", i), f.variable(0.0)
    value = f.dot(row, f["x"], 0, n)
    sign = f.choose(value < f["bound"][i], 1.0, -1.0)
    with f.loop(0, f["limit"]):
        f["count"][Counters.CHANGES] = f["count"][Counters.CHANGES] + 1
        with f.when(f["count"][Counters.CHANGES] > f["limit"]):
            f.answer(Code.LIMIT)
        coordinates(scope, row, sign)
        q, short = f["count"][Counters.SIZE], (f.dot(row, f["x"], 0, n) - f["bound"][i]) * sign
        free = free_part(scope, q)
        depends = ~(free > 0.0)
        close = f.abs(short) <= violation_tolerance(scope, i, f["bound"][i], scope.length(f["x"]))
        with f.when(depends & close):
            f.answer(Code.DONE)
        f.copy(f["q"], f["d"], 0, n)
        back_substitute(scope, f["q"], q)
        at, most = _blocking(scope, q)
        whole = f.choose(depends, INFINITY, f.larger(-short, 0.0) / f.choose(depends, 1.0, free))
        t = f.choose(most < whole, most, whole)
        with f.unless(t < INFINITY):
            f.answer(Code.CONFLICT)
        _move(scope, q, t, depends)
        up.value = up.value + t
        with f.when(whole <= most):
            f["u"][q], f["sign"][q] = up.value, sign
            f.call(enter, which=i, equality=f["equality"])
            f.answer(Code.DONE)
        f.call(leave, at=at)
    f.finish(Code.LIMIT)
    return scope.f


def free_part(scope: Scope, q: Number) -> Number:
    """The square of what the working set leaves of d; zero if that is rounding."""
    f = scope.f
    free, whole = f.variable(0.0), f.variable(0.0)
    with f.loop(0, q) as k:
        whole.value = whole.value + f["d"][k] * f["d"][k]
    with f.loop(q, f["count"][Counters.DIMENSION]) as k:
        free.value = free.value + f["d"][k] * f["d"][k]
    return f.choose(
        free.value > (whole.value + free.value) * f["settings"][Setting.ENTER] * f["settings"][Setting.ENTER],
        free.value,
        0.0,
    )


def _blocking(scope: Scope, q: Number) -> tuple[Number, Number]:
    """The inequality whose multiplier falls to zero first, and after which step."""
    f = scope.f
    at, most, largest = f.variable(-1), f.variable(INFINITY), f.variable(0.0)
    with f.loop(0, q) as k:
        largest.value = f.larger(largest.value, f.abs(f["q"][k]))
    with f.loop(0, q) as k, f.when(f["equal"][k].equals(0) & (f["q"][k] > largest.value * SMALL)):
        step = f["u"][k] / f["q"][k]
        with f.when(step < most.value):
            at.value, most.value = k, step
    return at.value, most.value


def _move(scope: Scope, q: Number, t: Number, depends: Number) -> None:
    """x along the free part of d, and multipliers against it."""
    f = scope.f
    with f.unless(depends), f.loop(q, f["count"][Counters.DIMENSION]) as k:
        f.add(f["x"], t * f["d"][k], scope.row("J", k), 0, scope.n)
    with f.loop(0, q) as k:
        f["u"][k] = f["u"][k] - t * f["q"][k]
