"""The loops of `active_set` as machine code: from rows of tasks and constraints to x and its certificate in one call.

Everything is row by row in memory. U is the upper factor of H = Uᵀ U; V has one row per unknown and one column per row of
(f, E, active rows of A), so that V = U⁻ᵀ Cᵀ and the products VᵀV run along contiguous rows.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from ...machine import cpu
from ...machine.cache import key
from ...machine.loops import Function, Number, Row, optimised_object, padded
from ...machine.store import shared_cache

SOLVED, NOT_FOUND, NOT_CONVEX = 0, 1, 2
DEPENDENT = 1e-11  # a pivot this much smaller than the row's own square belongs to a row that the others already hold
TOLERANCE = 1e-9  # violation of a row, by 1 + |value|, that counts as none
SIZES = ("n", "n_R", "n_E", "n_A", "guesses")
ARRAYS = ("R", "r", "weights", "pulls", "E", "e", "A", "lower", "upper")
RESULTS = ("x", "multipliers_E", "multipliers", "values", "info")
SCRATCH = ("H", "f", "V", "S", "rhs", "squares", "g")
ARGUMENTS: dict[str, str] = {
    **dict.fromkeys(SIZES, "integer"),
    **dict.fromkeys(ARRAYS, "array"),
    "sides": "array",
    **dict.fromkeys(RESULTS, "array"),
    **dict.fromkeys(SCRATCH, "array"),
    "work": "indices",
}
INFO = ("stationarity", "primal", "complementarity", "guesses", "active")
VERSION = 1


def scratch_sizes(n: int, n_E: int, n_A: int) -> dict[str, int]:
    """Numbers that each scratch array must hold."""
    columns = padded(1 + n_E + min(n_A, n))
    wide = padded(n)
    sizes = {"H": n * wide, "f": wide, "V": n * columns, "S": columns * columns, "rhs": columns, "squares": columns, "g": wide}
    return sizes | {"work": n_A + 1}


@cache
def compiled() -> Any:
    """The function; its arguments are sizes, then addresses in the order of `ARGUMENTS`."""
    import ctypes
    from pathlib import Path

    from ...machine import loops

    texts = [Path(__file__).read_bytes(), Path(str(loops.__file__)).read_bytes()]
    name = key("loops", VERSION, cpu.fingerprint(), *texts)
    code = cpu.LoadedCode(shared_cache().get(name, _object))
    types = [ctypes.c_int64 if kind == "integer" else ctypes.c_void_p for kind in ARGUMENTS.values()]
    return code.function("solve", *types, release_lock=False)


def _object() -> bytes:
    from llvmlite import ir

    module = ir.Module("active_set")
    _write(Function(module, "solve", ARGUMENTS))
    return optimised_object(module)


def _write(f: Function) -> None:
    n = f["n"]
    wide = _padded(f, n)
    _cost(f, wide)
    _upper_factor(f, f["H"], n, wide)
    count = f.variable(0)
    with f.loop(0, f["guesses"]) as k:
        count.value = _gather(f)
        columns = _padded(f, count.value)
        _forward(f, wide, columns)
        _multipliers(f, count.value, columns)
        _unknowns(f, wide, columns)
        wrong = _checked(f, wide, count.value, k)
        with f.when(wrong.equals(0)):
            _certify(f, wide, count.value)
            f["info"][3] = _real(f, k + 1)
            f["info"][4] = _real(f, count.value - f["n_E"] - 1)
            f.answer(SOLVED)
    f.finish(NOT_FOUND)


def _padded(f: Function, n: Number) -> Number:
    return f._block(n + 7)


def _real(f: Function, i: Number) -> Number:
    return Number(f, f.b.sitofp(i.v, f.real))


def _cost(f: Function, wide: Number) -> None:
    """H = RᵀR + weights (upper part) and f = −Rᵀr − pulls."""
    n, H, R, cost = f["n"], f["H"], f["R"], f["f"]
    f.fill(cost, 0.0, 0, wide)
    with f.loop(0, n) as i:
        f.fill(H.at(i * wide), 0.0, 0, wide)
        H[i * wide + i] = f["weights"][i]
        cost[i] = -f["pulls"][i]
    with f.loop(0, f["n_R"]) as k:
        row = R.at(k * n)
        f.add(cost, -f["r"][k], row, 0, n)
        with f.loop(0, n) as i:
            f.add(H.at(i * wide), row[i], row, i, n)
    with f.loop(0, n) as i, f.loop(n, wide) as j:  # what lies behind a row is no part of it
        H[i * wide + j] = 0.0
    with f.loop(n, wide) as j:
        cost[j] = 0.0


def _upper_factor(f: Function, M: Row, n: Number, wide: Number) -> None:
    """M = Uᵀ U in place, row after row; returns from the function where a pivot is not positive."""
    with f.loop(0, n) as k:
        row = M.at(k * wide)
        pivot = row[k]
        with f.when(~(pivot > 0.0)):  # NaN is not either
            f.answer(NOT_CONVEX)
        f.scale(row, f.number(1.0) / f.sqrt(pivot), k, n)
        with f.loop(k + 1, n) as i:
            f.add(M.at(i * wide), -row[i], row, i, n)


def _gather(f: Function) -> Number:
    """Columns of V: f, rows of E, active rows of A; how many there are."""
    n, V, count = f["n"], f["V"], f.variable(f["n_E"] + 1)
    with f.loop(0, f["n_A"]) as i:
        active = f["sides"][i] > 0.5
        active = active | (f["sides"][i] < -0.5)
        with f.when(active & (count.value < f["n_E"] + 1 + n)):
            f["work"][count.value - f["n_E"] - 1] = i
            count.value = count.value + 1
    columns = _padded(f, count.value)
    with f.loop(0, n) as k:
        f.fill(V.at(k * columns), 0.0, 0, columns)
        V[k * columns] = f["f"][k]
    with f.loop(0, f["n_E"]) as c:
        _transpose(f, f["E"].at(c * n), V.at(c + 1), columns)
    with f.loop(f["n_E"] + 1, count.value) as c:
        _transpose(f, f["A"].at(f["work"][c - f["n_E"] - 1] * n), V.at(c), columns)
    return count.value


def _transpose(f: Function, row: Row, column: Row, stride: Number) -> None:
    with f.loop(0, f["n"]) as k:
        column[k * stride] = row[k]


def _forward(f: Function, wide: Number, columns: Number) -> None:
    """V = U⁻ᵀ Cᵀ, all columns together."""
    n, U, V = f["n"], f["H"], f["V"]
    with f.loop(0, n) as k:
        row = V.at(k * columns)
        f.scale(row, f.number(1.0) / U[k * wide + k], 0, columns)
        with f.loop(k + 1, n) as j:
            f.add(V.at(j * columns), -U[k * wide + j], row, 0, columns)


def _multipliers(f: Function, count: Number, columns: Number) -> None:
    """λ with VᵀV λ = −(c + Vᵀ y), y the first column. Rows that others already hold get λ = 0."""
    n, V, S, rhs = f["n"], f["V"], f["S"], f["rhs"]
    with f.loop(0, count) as i:
        f.fill(S.at(i * columns), 0.0, 0, columns)
    with f.loop(0, n) as k:
        row = V.at(k * columns)
        with f.loop(0, count) as i:
            f.add(S.at(i * columns), row[i], row, i, columns)
    f.fill(rhs, 0.0, 0, columns)
    with f.loop(1, count) as i:
        rhs[i] = -(S[i] + _bound(f, i))
        f["squares"][i] = S[i * columns + i]
    with f.loop(1, count) as k:  # Uᵀ U = S without its first row, and the forward solve in the same pass
        row = S.at(k * columns)
        keep = row[k] > f["squares"][k] * DEPENDENT
        inverse = f.choose(keep, f.number(1.0) / f.sqrt(f.choose(keep, row[k], 1.0)), 0.0)
        f.scale(row, inverse, k, columns)
        rhs[k] = rhs[k] * inverse
        with f.loop(k + 1, count) as i:
            f.add(S.at(i * columns), -row[i], row, i, columns)
            rhs[i] = rhs[i] - row[i] * rhs[k]
    with f.loop(1, count, down=True) as k:
        total = f.variable(rhs[k])
        with f.loop(k + 1, count) as i:
            total.value = total.value - S[k * columns + i] * rhs[i]
        pivot = S[k * columns + k]
        rhs[k] = f.choose(pivot > 0.0, total.value / f.choose(pivot > 0.0, pivot, 1.0), 0.0)
    rhs[0] = 1.0


def _bound(f: Function, column: Number) -> Number:
    """The right-hand side of a column's row: e, or the bound on the side that is active."""
    n_E = f["n_E"]
    value = f.variable(0.0)
    with f.when(column <= n_E):
        value.value = f["e"][column - 1]
    with f.when(column > n_E):
        i = f["work"][column - n_E - 1]
        value.value = f.choose(f["sides"][i] > 0.0, f["upper"][i], f["lower"][i])
    return value.value


def _unknowns(f: Function, wide: Number, columns: Number) -> None:
    """x = −U⁻¹ (y + V λ)."""
    n, U, V, x = f["n"], f["H"], f["V"], f["x"]
    f.fill(x, 0.0, 0, wide)
    with f.loop(0, n, down=True) as k:
        y = f.dot(V.at(k * columns), f["rhs"], 0, columns)
        x[k] = -(y + f.dot(U.at(k * wide), x, k, n)) / U[k * wide + k]


def _checked(f: Function, wide: Number, count: Number, guess: Number) -> Number:
    """Values of all rows of A; rows that are violated or pull change sides. How many rows were wrong."""
    wrong, n_E = f.variable(0), f["n_E"]
    with f.loop(0, f["n_A"]) as i:
        f["values"][i] = f.dot(f["A"].at(i * f["n"]), f["x"], 0, f["n"])
        f["multipliers"][i] = 0.0
    one_by_one = guess >= f["guesses"] / 2
    dropped = f.variable(0)
    with f.loop(n_E + 1, count) as c:
        i = f["work"][c - n_E - 1]
        f["multipliers"][i] = f["rhs"][c]
        with f.when((f["rhs"][c] * f["sides"][i] < 0.0) & (~one_by_one | dropped.value.equals(0))):
            f["sides"][i] = 0.0
            f["multipliers"][i] = 0.0
            dropped.value = dropped.value + 1
    wrong.value = dropped.value
    _enter(f, wrong, one_by_one, dropped)
    return wrong.value


def _enter(f: Function, wrong: Any, one_by_one: Number, dropped: Any) -> None:
    """Rows beyond a bound become active: all of them, or, later on, the worst if none was dropped."""
    worst, place, side_of_worst = f.variable(0.0), f.variable(-1), f.variable(0.0)
    with f.loop(0, f["n_A"]) as i:
        value = f["values"][i]
        tolerance = (f.abs(value) + 1.0) * TOLERANCE
        over, under = value - f["upper"][i], f["lower"][i] - value
        excess = f.choose(over > under, over, under)
        free = f["sides"][i].equals(0.0) & f["multipliers"][i].equals(0.0)
        side = f.choose(over > under, 1.0, -1.0)
        with f.when(free & (excess > tolerance)):
            with f.when(~one_by_one):
                f["sides"][i] = side
                wrong.value = wrong.value + 1
            with f.when(one_by_one & (excess > worst.value)):
                worst.value, place.value, side_of_worst.value = excess, i, side
    with f.when((place.value >= 0) & dropped.value.equals(0)):
        f["sides"][place.value] = side_of_worst.value
        wrong.value = wrong.value + 1
    with f.when((place.value >= 0) & (dropped.value > 0)):
        wrong.value = wrong.value + 1


def _certify(f: Function, wide: Number, count: Number) -> None:
    """Residuals of the problem as it was given: stationarity from R, not from the factor."""
    n, g, x, n_E = f["n"], f["g"], f["x"], f["n_E"]
    size, primal, gap = f.variable(1.0), f.variable(0.0), f.variable(0.0)
    f.fill(g, 0.0, 0, wide)
    with f.loop(0, n) as i:
        g[i] = f["weights"][i] * x[i] - f["pulls"][i]
        size.value = f.larger(size.value, f.abs(f["f"][i]))
    with f.loop(0, f["n_R"]) as k:
        row = f["R"].at(k * n)
        f.add(g, f.dot(row, x, 0, n) - f["r"][k], row, 0, n)
    with f.loop(0, n_E) as c:
        row = f["E"].at(c * n)
        f["multipliers_E"][c] = f["rhs"][c + 1]
        f.add(g, f["rhs"][c + 1], row, 0, n)
        off = f.abs(f.dot(row, x, 0, n) - f["e"][c])
        primal.value = f.larger(primal.value, off / f.larger(f.abs(f["e"][c]), 1.0))
    with f.loop(n_E + 1, count) as c:
        i = f["work"][c - n_E - 1]
        f.add(g, f["rhs"][c], f["A"].at(i * n), 0, n)
        off = f.abs(f["values"][i] - f.choose(f["sides"][i] > 0.0, f["upper"][i], f["lower"][i]))
        primal.value = f.larger(primal.value, off / f.larger(f.abs(f["values"][i]), 1.0))
        gap.value = f.larger(gap.value, f.abs(off * f["rhs"][c]))
    worst = f.variable(0.0)
    with f.loop(0, n) as i:
        worst.value = f.larger(worst.value, f.abs(g[i]))
    with f.loop(0, f["n_A"]) as i:
        value = f["values"][i]
        excess = f.larger(value - f["upper"][i], f["lower"][i] - value)
        primal.value = f.larger(primal.value, excess / f.larger(f.abs(value), 1.0))
    f["info"][0] = worst.value / size.value
    f["info"][1] = primal.value
    f["info"][2] = gap.value / size.value
