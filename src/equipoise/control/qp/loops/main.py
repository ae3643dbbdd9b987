"""The solver: one function of machine code from the numbers of a program to its answer.

1. Without strict priorities, and if the last program was feasible: `guess` the active set from the last one.
2. `settle`: the lexicographic optimum for the last working set (`exact`), whose rows come and go by their `signs`.
3. `search`, from where that came to and, if need be, from nothing; then `settle` proves what was found.

Each working set that is found is solved and proven by `exact` and `signs`, whoever found it.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from ....machine import cpu
from ....machine.cached import cached
from ....machine.loops import Function, Number, optimised_object
from . import changes, descend, exact, gather, guess, hold, levels, rows, search, settle, signs
from .workspace import ACCURATE, Code, Counters, Info, Scope

# working sets that are looked at after the last one, and after one searched from nothing or from it
WARM, PROVE = 2, (6, 2)
INFINITY = float("inf")


@cache
def compiled() -> tuple[Any, Any]:
    """`solve` and `gather`; each takes the address of a table of its arguments, in the order of `ARGUMENTS`.

    One argument is converted faster than a hundred.
    """
    import ctypes

    code = cpu.LoadedCode(cached(_object, on=cpu.fingerprint()))
    solve, collect = (
        code.function(f"{name}_with", ctypes.c_void_p, release_lock=False) for name in ("solve", "gather")
    )
    return solve, collect


def _object() -> bytes:
    from llvmlite import ir

    module = ir.Module("active_set")
    factor, fit = levels.write_factor(module), levels.write_solve(module)
    guessed, prepare = guess.write(module), rows.write(module, factor)
    at, judge = exact.write(module, factor, fit), signs.write(module)
    enter, leave = changes.write_enter(module), changes.write_leave(module)
    bring = changes.write_bring(module, enter, leave)
    pin, held, reduce = hold.write_pin(module, enter), hold.write_hold(module, bring), hold.write_reduce(module)
    down = descend.write(module, factor, fit, enter, leave)
    settled = settle.write(module, at, judge)
    found = search.write(module, search.Tools(enter, leave, pin, held, reduce, down))
    finish = _finish(module)
    for function in (_solve(module, guessed, prepare, settled, found, finish), gather.write(module)):
        entry = Function(module, f"{function.function.name}_with", {"table": "indices"})
        entry.finish(entry.call_with(function, entry["table"]))
    return optimised_object(module)


def _solve(
    module: Any, guessed: Function, prepare: Function, settled: Function, found: Function, finish: Function
) -> Function:
    """`solve`: count[RELAXED] tells whether the last program was feasible."""
    scope = Scope(module, "solve")
    f = scope.f
    f["info"][Info.TRIES], f["info"][Info.DEPENDENT], f["count"][Counters.CHANGES] = 0.0, 0.0, 0
    likely = (f["strict"] <= 0) & f["count"][Counters.RELAXED].equals(0)
    far = f.variable(0)  # whether guesses say that the last working set is of no use
    with f.when(likely):
        far.value = f.choose(_guess(scope, guessed).equals(Code.FAR), 1, 0)
    left_out = f.variable(f["info"][Info.DEPENDENT])
    code = f.variable(f.call(prepare))
    with f.unless(code.value.equals(Code.DONE)):
        f.answer(code.value)
    # Guesses left equalities out that depend on each other only in the sense of the cost.
    with f.when(likely & (left_out.value > 0.0) & f["count"][Counters.DEPENDENT].equals(0)):
        _guess(scope, guessed)
    f["count"][Counters.FOUND], f["count"][Counters.CAREFUL], f["info"][Info.SEARCHED] = 0, 0, 0.0
    code.value, f["count"][Counters.INSIDE] = Code.NOT_FOUND, 0
    with f.when(far.value.equals(0)):
        code.value = f.call(settled, tries=WARM)
    with f.when(code.value.equals(Code.DONE) & search.violated(scope)):  # only a search proves that class 0 cannot hold
        code.value, f["count"][Counters.INSIDE] = Code.NOT_FOUND, 0
    for warm in (1, 0):
        with f.when(~code.value.equals(Code.DONE) & (f["count"][Counters.INSIDE] >= warm)):
            f["count"][Counters.FOUND] = 0
            code.value = f.call(found, warm=warm)
            f["count"][Counters.FOUND] = 1
            with f.when(code.value.equals(Code.DONE)):
                code.value = f.call(settled, tries=PROVE[warm])
            with f.when(code.value.equals(Code.INFEASIBLE)):
                f.answer(f.call(finish, code=code.value))
    with f.unless(code.value.equals(Code.DONE)):
        _give_up(scope)
    f.finish(f.call(finish, code=code.value))
    return f


def _guess(scope: Scope, guessed: Function) -> Number:
    """The fast way, if it succeeds; else why not, and sides as they were. All rows hold then, as in the last
    program."""
    f = scope.f
    f.copy(f["value"], f["sides"], 0, f["n_A"])
    code = f.call(guessed)
    with f.when(code.equals(Code.DONE)):
        worst = f.larger(
            f["info"][Info.STATIONARITY], f.larger(f["info"][Info.PRIMAL], f["info"][Info.COMPLEMENTARITY])
        )
        with f.when(worst <= ACCURATE):  # NaN is not
            f.answer(Code.DONE)
    f.copy(f["sides"], f["value"], 0, f["n_A"])
    return code


def _give_up(scope: Scope) -> None:
    """The last point at which the classes held, without multipliers."""
    f = scope.f
    f.copy(f["x"], f["kept"], 0, scope.n)
    with f.loop(0, scope.m) as i:
        f["push"][i], f["side"][i] = 0.0, 0.0
    f["info"][Info.STATIONARITY] = INFINITY


def _finish(module: Any) -> Function:
    """`finish`: what the caller reads, and the final word."""
    scope = Scope(module, "finish", "code")
    f, n_E = scope.f, scope.n_E
    length, worst = scope.length(f["x"]), f.variable(0.0)
    f["info"][Info.SIZE] = _size_of_cost(scope)
    first = f.variable(f["classes"] + 1)  # class that is violated
    f["info"][Info.PRIMAL], f["info"][Info.COMPLEMENTARITY], f["info"][Info.ACTIVE] = 0.0, 0.0, 0.0
    with f.loop(0, f["classes"] + 1) as c:
        f["hints"][c] = 0
    scope.rows_times(f["value"], f["x"])
    with f.loop(0, scope.m) as i:
        value = f["value"][i]
        with f.when(i < n_E):
            f["multipliers_E"][i], f["values_E"][i] = f["push"][i], value
            _excess(scope, i, value, f["e"][i], f["e"][i], length, first, "excess_E", i)
        with f.when(i >= n_E):
            k = i - n_E
            f["multipliers_A"][k] = f["push"][i]
            f["sides"][k], f["values_A"][k] = f["side"][i], value
            f["info"][Info.ACTIVE] = f["info"][Info.ACTIVE] + f.choose(f["push"][i].equals(0.0), 0.0, 1.0)
            _excess(scope, i, value, f["lower"][k], f["upper"][k], length, first, "excess_A", k)
    f["info"][Info.DEPENDENT] = f.as_real(f["count"][Counters.DEPENDENT])
    f["count"][Counters.RELAXED] = f.choose(first.value > f["classes"], 0, 1)
    f["info"][Info.STATIONARITY] = f.larger(f["info"][Info.STATIONARITY], f["info"][Info.SEARCHED])
    worst.value = f.larger(
        f["info"][Info.STATIONARITY], f.larger(f["info"][Info.PRIMAL], f["info"][Info.COMPLEMENTARITY])
    )
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


def _size_of_cost(scope: Scope) -> Number:
    """xᵀ H x of the tail and the levels, or one."""
    f, size = scope.f, scope.f.variable(1.0)
    with f.loop(0, scope.n) as i:
        size.value = size.value + f["D"][i] * f["x"][i] * f["x"][i]
    with f.loop(0, f["n_R"]) as k:
        value = f.dot(f["x"], f["R"].at(k * scope.n), 0, scope.n)
        size.value = size.value + value * value
    return size.value


def _excess(
    scope: Scope,
    i: Number,
    value: Number,
    low: Number,
    high: Number,
    length: Number,
    first: Any,
    name: str,
    place: Number,
) -> None:
    """How far a row is beyond its bounds; its part in the residuals where that is nothing."""
    f = scope.f
    over, under = value - high, low - value
    beyond = f.choose(over > under, over, under)
    near = search.unreported(scope, i, value, length)
    f[name][place] = 0.0
    with f.when(beyond > near):
        f[name][place] = f.choose(over > under, over, -under)
        first.value = f.choose(f["cls"][i] < first.value, f["cls"][i], first.value)
        f["hints"][f["cls"][i]] = hold.LIKELY
    with f.unless(beyond > near):  # NaN comes here
        part = f.choose(f["loose"][i] > 0.0, 0.0, f.larger(beyond, 0.0) / f.larger(f.abs(value), 1.0))
        f["info"][Info.PRIMAL] = f.larger(f["info"][Info.PRIMAL], part)
        gap = f.choose(f["side"][i] > 0.0, high - value, value - low) * f["push"][i]
        free = f["push"][i].equals(0.0) | f["decided"][i].equals(signs.BY_CLASS)
        f["info"][Info.COMPLEMENTARITY] = f.larger(
            f["info"][Info.COMPLEMENTARITY], f.choose(free, 0.0, f.abs(gap) / f["info"][Info.SIZE])
        )
