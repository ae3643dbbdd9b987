"""The solver: one function of machine code from the numbers of a program to its answer.

1. Without strict priorities, and if the last program was feasible: `guess` the active set from the last one.
2. `settle`: the lexicographic optimum for the last working set (`exact`), mended by `signs`, a few times.
3. `search` from the start: the dual method makes class after class hold (`hold`); a class that cannot is minimised by the primal
   method (`descend`); then the cost, by the dual method if it is one sum, else level by level. Then `settle` again.

Each working set that is found is solved and proven by `exact` and `signs`, whoever found it.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from ....machine import cpu
from ....machine.cache import key
from ....machine.loops import Function, Number, optimised_object
from ....machine.store import shared_cache
from . import changes, descend, exact, gather, guess, hold, levels, rows, signs
from .rows import violation_tolerance
from .workspace import ACCURATE, FEASIBLE, Code, Scope

TRIES = 5  # working sets that `settle` looks at
FEW = 6  # rows that may be wrong in one of them
VERSION = 2
INFINITY = float("inf")


@cache
def compiled() -> tuple[Any, Any]:
    """`solve` and `gather`; each takes the address of a table of its arguments: sizes, then addresses, as in `ARGUMENTS`.

    One argument is converted faster than a hundred.
    """
    import ctypes
    from pathlib import Path

    from ....machine import loops

    texts = [path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py"))]
    name = key("loops", VERSION, cpu.fingerprint(), *texts, Path(str(loops.__file__)).read_bytes())
    code = cpu.LoadedCode(shared_cache().get(name, _object))
    solve, collect = (code.function(f"{name}_with", ctypes.c_void_p, release_lock=False) for name in ("solve", "gather"))
    return solve, collect


def _object() -> bytes:
    from llvmlite import ir

    module = ir.Module("active_set")
    factor, fit = levels.write_factor(module), levels.write_solve(module)
    guessed, prepare = guess.write(module), rows.write(module, factor)
    at, judge = exact.write(module, factor, fit), signs.write(module)
    enter, leave = changes.write_enter(module), changes.write_leave(module)
    bring = changes.write_bring(module, enter, leave)
    pin, held, reduce = hold.write_pin(module, bring), hold.write_hold(module, bring), hold.write_reduce(module)
    down = descend.write(module, factor, fit, enter, leave)
    settle = _settle(module, at, judge)
    search = _search(module, pin, held, reduce, down)
    finish = _finish(module)
    for function in (_solve(module, guessed, prepare, settle, search, finish), gather.write(module)):
        entry = Function(module, f"{function.function.name}_with", {"table": "indices"})
        entry.finish(entry.call_with(function, entry["table"]))
    return optimised_object(module)


def _solve(module: Any, guessed: Function, prepare: Function, settle: Function, search: Function, finish: Function) -> Function:
    """`solve`: count[5] tells whether the last program was feasible."""
    scope = Scope(module, "solve")
    f = scope.f
    f["info"][3], f["info"][5], f["count"][1] = 0.0, 0.0, 0
    with f.when((f["strict"] <= 0) & f["count"][5].equals(0)):
        with f.loop(0, f["n_A"]) as i:
            f["value"][i] = f["sides"][i]
        with f.when(f.call(guessed).equals(Code.DONE)):
            worst = f.larger(f["info"][0], f.larger(f["info"][1], f["info"][2]))
            with f.when(worst <= ACCURATE):  # NaN is not
                _nothing_beyond(scope)
                f.answer(Code.DONE)
        with f.loop(0, f["n_A"]) as i:
            f["sides"][i] = f["value"][i]
    code = f.variable(f.call(prepare))
    with f.unless(code.value.equals(Code.DONE)):
        f.answer(code.value)
    f["count"][6], f["info"][7] = 0, 0.0
    code.value = f.call(settle)
    with f.unless(code.value.equals(Code.DONE)):
        code.value = f.call(search)
        f["count"][6] = 1
        with f.when(code.value.equals(Code.DONE)):
            code.value = f.call(settle)
        with f.unless(code.value.equals(Code.DONE)):
            _give_up(scope)
    f.finish(f.call(finish, code=code.value))
    return f


def _nothing_beyond(scope: Scope) -> None:
    f = scope.f
    with f.loop(0, f["n_E"]) as i:
        f["excess_E"][i] = 0.0
    with f.loop(0, f["n_A"]) as i:
        f["excess_A"][i] = 0.0


def _give_up(scope: Scope) -> None:
    """The last point at which the classes held, without multipliers."""
    f = scope.f
    f.copy(f["x"], f["kept"], 0, scope.n)
    with f.loop(0, scope.m) as i:
        f["push"][i], f["side"][i] = 0.0, 0.0
    f["info"][0] = INFINITY


def _settle(module: Any, at: Function, judge: Function) -> Function:
    """`settle`: DONE where a working set holds its signs; NOT_FOUND after a few."""
    scope = Scope(module, "settle")
    f = scope.f
    with f.loop(0, TRIES):
        f["info"][3] = f["info"][3] + 1.0
        f.call(at)
        wrong = f.call(judge)
        with f.when(wrong.equals(0)):
            f.answer(f.choose(f["info"][0] < INFINITY, Code.DONE, Code.NOT_FOUND))  # NaN is not
        with f.when((wrong > FEW) & f["count"][6].equals(0)):
            f.answer(Code.NOT_FOUND)
    f.finish(Code.NOT_FOUND)
    return scope.f


def _search(module: Any, pin: Function, held: Function, reduce: Function, down: Function) -> Function:
    """`search`: sides of the optimum from nothing; DONE, LIMIT, or CONFLICT where numbers do not allow it."""
    scope = Scope(module, "search")
    f, n, after = scope.f, scope.n, scope.f["classes"] + 1
    with f.loop(0, scope.m) as i:
        f["fixed"][i], f["soft"][i], f["prior"][i] = 0, 0.0, 0.0
    f.fill(f["x"], 0.0, 0, scope.wide)
    f.fill(f["kept"], 0.0, 0, scope.wide)
    code = f.variable(0)
    with f.loop(0, after + 1):
        f.call(pin, below=0)
        code.value = f.call(held, first_class=0)
        with f.unless(code.value.equals(Code.CONFLICT)):
            f.leave()
        f.copy(f["x"], f["kept"], 0, n)
        f.call(pin, below=f["count"][2])
        code.value = f.call(down, level=f["count"][2])
        with f.unless(code.value.equals(Code.DONE)):
            f.leave()
        with f.when(f["count"][2].equals(0) & _violated(scope)):
            f.answer(Code.INFEASIBLE)
    with f.unless(code.value.equals(Code.DONE)):
        f.answer(code.value)
    with f.when(f["strict"] <= 0):
        f.call(pin, below=after)
        f.call(reduce)
        code.value = f.call(held, first_class=after)
    with f.when(f["strict"] > 0), f.loop(0, f["levels"] + 1) as k, f.when(code.value.equals(Code.DONE)):
        code.value = f.call(down, level=after + k)
        f.copy(f["kept"], f["x"], 0, n)
    _sides(scope)
    f.finish(code.value)
    return scope.f


def _violated(scope: Scope) -> Number:
    """Whether x violates a row of class 0."""
    f, found, length = scope.f, scope.f.variable(0), scope.length(scope.f["x"])
    with f.loop(0, scope.m) as i, f.when(f["cls"][i].equals(0)):
        value = f.dot(scope.row("M", i), f["x"], 0, scope.n)
        beyond = f.larger(value - f["high"][i], f["low"][i] - value)
        with f.unless(beyond <= _near(scope, i, value, length)):
            found.value = 1
    return found.value > 0


def _near(scope: Scope, i: Number, value: Number, length: Number) -> Number:
    """Violation that is not reported."""
    f = scope.f
    return f.larger(f.abs(value), 1.0) * FEASIBLE + violation_tolerance(scope, i, value, length)


def _sides(scope: Scope) -> None:
    f = scope.f
    with f.loop(scope.n_E, scope.m) as i, f.unless(f["low"][i].equals(f["high"][i])):
        f["side"][i] = f.choose(f["fixed"][i] > 0, f["soft"][i], 0.0)
    with f.loop(0, f["count"][0]) as k, f.when((f["W"][k] >= scope.n_E) & f["equal"][k].equals(0)):
        i = f["W"][k]
        f["side"][i] = f.choose(f["low"][i].equals(f["high"][i]), 1.0, -f["sign"][k])


def _finish(module: Any) -> Function:
    """`finish`: what the caller reads, and the final word."""
    scope = Scope(module, "finish", "code")
    f, n_E = scope.f, scope.n_E
    length, worst = scope.length(f["x"]), f.variable(0.0)
    first = f.variable(f["classes"] + 1)  # class that is violated
    f["info"][1], f["info"][2], f["info"][4] = 0.0, 0.0, 0.0
    with f.loop(0, scope.m) as i:
        value = f.dot(scope.row("M", i), f["x"], 0, scope.n)
        with f.when(i < n_E):
            f["multipliers_E"][i], f["values_E"][i] = f["push"][i], value
            _excess(scope, i, value, f["e"][i], f["e"][i], length, first, "excess_E", i)
        with f.when(i >= n_E):
            k = i - n_E
            f["multipliers_A"][k] = f["push"][i]
            f["sides"][k], f["values_A"][k] = f["side"][i], value
            f["info"][4] = f["info"][4] + f.choose(f["push"][i].equals(0.0), 0.0, 1.0)
            _excess(scope, i, value, f["lower"][k], f["upper"][k], length, first, "excess_A", k)
    f["info"][5] = f.as_real(f["count"][4])
    f["count"][5] = f.choose(first.value > f["classes"], 0, 1)
    f["info"][0] = f.larger(f["info"][0], f["info"][7])
    worst.value = f.larger(f["info"][0], f.larger(f["info"][1], f["info"][2]))
    with f.when(f["code"].equals(Code.INFEASIBLE)):
        f.answer(Code.INFEASIBLE)
    with f.unless(length < INFINITY):
        f.answer(Code.NOT_FOUND)
    with f.when(first.value.equals(0)):
        f.answer(f.choose(f["code"].equals(Code.DONE), Code.INFEASIBLE, Code.NOT_FOUND))
    with f.unless(f["code"].equals(Code.DONE)):
        f.answer(Code.LIMIT)
    with f.unless(worst.value <= ACCURATE):  # NaN is not
        f.answer(Code.INACCURATE)
    f.finish(f.choose(first.value > f["classes"], Code.DONE, Code.RELAXED))
    return scope.f


def _excess(
    scope: Scope, i: Number, value: Number, low: Number, high: Number, length: Number, first: Any, name: str, place: Number
) -> None:
    """How far a row is beyond its bounds; its part in the residuals where that is nothing."""
    f = scope.f
    over, under = value - high, low - value
    beyond = f.choose(over > under, over, under)
    near = _near(scope, i, value, length)
    f[name][place] = 0.0
    with f.when(beyond > near):
        f[name][place] = f.choose(over > under, over, -under)
        first.value = f.choose(f["cls"][i] < first.value, f["cls"][i], first.value)
    with f.unless(beyond > near):  # NaN comes here
        part = f.choose(f["loose"][i] > 0.0, 0.0, f.larger(beyond, 0.0) / f.larger(f.abs(value), 1.0))
        f["info"][1] = f.larger(f["info"][1], part)
        gap = f.choose(f["side"][i] > 0.0, high - value, value - low) * f["push"][i]
        free = f["push"][i].equals(0.0) | f["decided"][i].equals(signs.BY_CLASS)
        f["info"][2] = f.larger(f["info"][2], f.choose(free, 0.0, f.abs(gap) / f["info"][6]))
