"""From nothing, or from a point and its working set, to the working set of the optimum.

Class after class is made to hold by the dual method (`hold`); the violations of one that cannot are minimised by the
primal method (`descend`), and what that decides is fixed. Then the levels of the cost but the last, by the primal
method; the last one and the regularisation by the dual method, in what is left.
"""

from __future__ import annotations

from typing import Any

from ....machine.loops import Function, Number
from .changes import coordinates, free_part
from .hold import MINIMISED
from .rows import violation_tolerance
from .workspace import FEASIBLE, Code, Counters, Scope


class Tools:
    """The functions that a search calls."""

    def __init__(
        self, enter: Function, leave: Function, pin: Function, hold: Function, reduce: Function, down: Function
    ):
        self.enter, self.leave, self.pin, self.hold, self.reduce, self.down = enter, leave, pin, hold, reduce, down


def write(module: Any, tools: Tools) -> Function:
    """`search`: sides of the optimum, if `warm` from `point` and the sides as they are, which violate nothing else.

    DONE, INFEASIBLE, LIMIT, or CONFLICT where numbers do not allow it.
    """
    scope = Scope(module, "search", "warm")
    f, n, after, warm = scope.f, scope.n, scope.f["classes"] + 1, scope.f["warm"] > 0
    with f.loop(0, scope.m) as i:
        f["fixed"][i], f["soft"][i], f["prior"][i] = 0, 0.0, 0.0
    code = f.variable(0)
    _begin(scope, tools, warm, code)
    with f.loop(0, after):
        with f.unless(code.value.equals(Code.CONFLICT)):
            f.leave()
        c = f["count"][Counters.CLASS]
        f.copy(f["x"], f["kept"], 0, n)
        f.call(tools.pin, below=c)
        with f.when(warm):
            _take_up(scope, tools, c)
        code.value = f.call(tools.down, level=c)
        f["hints"][c] = MINIMISED
        with f.when(c.equals(0) & violated(scope)):
            f.answer(Code.INFEASIBLE)
        with f.when(code.value.equals(Code.DONE)):
            f.copy(f["kept"], f["x"], 0, n)
            f.call(tools.pin, below=c + 1)
            code.value = f.call(tools.hold, first_class=c + 1)
            with f.when(c >= f["classes"]):
                code.value = _only_rounding(scope, code.value)
    with f.loop(0, f["levels"] - 1) as k, f.when(code.value.equals(Code.DONE)):
        code.value = f.call(tools.down, level=after + k)
        f.copy(f["kept"], f["x"], 0, n)
    with f.when(code.value.equals(Code.DONE)):
        with f.loop(0, f["count"][Counters.SIZE], down=True) as k, f.when(f["equal"][k].equals(0)):
            f.call(tools.leave, at=k)
        f.call(tools.reduce)
        code.value = _only_rounding(scope, f.call(tools.hold, first_class=after))
    _sides(scope)
    f.finish(code.value)
    return scope.f


def _only_rounding(scope: Scope, code: Number) -> Number:
    """All rows held before: a conflict now is none, and whoever proves the working set will see."""
    f = scope.f
    return f.choose(code.equals(Code.CONFLICT), Code.DONE, code)


def _begin(scope: Scope, tools: Tools, warm: Number, code: Any) -> None:
    """Where to start: a point at which the classes before count[CLASS] hold, and CONFLICT; or DONE where all do."""
    f, n, after = scope.f, scope.n, scope.f["classes"] + 1
    with f.when(warm):
        f.copy(f["x"], f["point"], 0, n)
        f.copy(f["kept"], f["point"], 0, n)
        f["count"][Counters.CLASS] = _first_violated(scope)
        code.value = f.choose(f["count"][Counters.CLASS] < after, Code.CONFLICT, Code.DONE)
        with f.when(code.value.equals(Code.DONE)):
            f.call(tools.pin, below=after)
            _take_up(scope, tools, after)
    with f.unless(warm):
        f.fill(f["x"], 0.0, 0, scope.wide)
        f.copy(f["kept"], f["x"], 0, n)
        f.call(tools.pin, below=0)
        code.value = f.call(tools.hold, first_class=0)


def _take_up(scope: Scope, tools: Tools, below: Number) -> None:
    """Rows of A with a side, of the classes before `below`, enter the working set if they are at their bounds."""
    f, length = scope.f, scope.length(scope.f["x"])
    scope.rows_times(f["value"], f["x"])
    with f.loop(scope.n_E, scope.m) as i:
        free = f["fixed"][i].equals(0) & ~f["low"][i].equals(f["high"][i]) & ~f["side"][i].equals(0.0)
        gap = f["value"][i] - f.choose(f["side"][i] > 0.0, f["high"][i], f["low"][i])
        tight = f.abs(gap) <= violation_tolerance(scope, i, f["value"][i], length)
        with f.when(free & tight & (f["cls"][i] < below) & (f["count"][Counters.SIZE] < scope.n)):
            q = f["count"][Counters.SIZE]
            coordinates(scope, scope.row("M", i), -f["side"][i])
            with f.when(free_part(scope, q) > 0.0):
                f["u"][q], f["sign"][q] = 0.0, -f["side"][i]
                f.call(tools.enter, which=i, equality=0)


def _first_violated(scope: Scope) -> Number:
    """The first class of which x violates a row; one more than the last if none."""
    f, length = scope.f, scope.length(scope.f["x"])
    first = f.variable(f["classes"] + 1)
    scope.rows_times(f["value"], f["x"])
    with f.loop(0, scope.m) as i, f.when(f["cls"][i] < first.value):
        value = f["value"][i]
        beyond = f.larger(value - f["high"][i], f["low"][i] - value)
        with f.unless(beyond <= unreported(scope, i, value, length)):
            first.value = f["cls"][i]
    return first.value


def violated(scope: Scope) -> Number:
    """Whether x violates a row of class 0."""
    return _first_violated(scope).equals(0)


def unreported(scope: Scope, i: Number, value: Number, length: Number) -> Number:
    """Violation of row i that is not reported."""
    f = scope.f
    return f.larger(f.abs(value), 1.0) * FEASIBLE + violation_tolerance(scope, i, value, length)


def _sides(scope: Scope) -> None:
    f = scope.f
    with f.loop(scope.n_E, scope.m) as i, f.unless(f["low"][i].equals(f["high"][i])):
        f["side"][i] = f.choose(f["fixed"][i] > 0, f["soft"][i], 0.0)
    with f.loop(0, f["count"][Counters.SIZE]) as k, f.when((f["W"][k] >= scope.n_E) & f["equal"][k].equals(0)):
        i = f["W"][k]
        f["side"][i] = f.choose(f["low"][i].equals(f["high"][i]), 1.0, -f["sign"][k])
