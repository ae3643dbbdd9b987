"""A quadratic program that changes little from step to step: guess its active set, solve, prove it.

In a control loop the rows that are active now are nearly always those that were active a millisecond ago. So the last
active set is tried first: with Uᵀ U = H = RᵀR + diag w and C the rows of E and the active ones of A,

    V = U⁻ᵀ Cᵀ,   y = U⁻ᵀ f,   Vᵀ V λ = −(c + Vᵀ y),   x = −U⁻¹ (y + V λ),

and x is the minimiser if no other row is violated and no multiplier has the wrong sign. Where that fails, rows of wrong
sign leave and violated rows enter (a semi-smooth Newton step [HIK02]), a few times. V has one row per unknown and one
column per row of (f, E, active rows of A), so that the products VᵀV run along contiguous rows.

[HIK02] Hintermüller, Ito, Kunisch: The Primal-Dual Active Set Strategy as a Semismooth Newton Method, SIAM J. Optim.
13, 2002.
"""

from __future__ import annotations

from typing import Any

from ....machine.loops import ArrayView, Function, Number
from .workspace import Code, Info, Scope, Setting

INFINITY = float("inf")
DEPENDENT = 1e-11  # a pivot this much smaller than the row's own square belongs to a row that the others already hold
NEAR = 1e-8  # violation of a row, by 1 + |value|, that counts as none: no finer than what the search takes for none
MANY = 6  # rows on a wrong side after which no more is guessed: targets jumped
NOTHING = 1e-10  # of the largest multiplier: one that pulls by less is rounding, and its row stays


def write(module: Any) -> Function:
    """`guess`: DONE with x, multipliers and residuals, or NOT_FOUND, or FAR where many rows are on a wrong side."""
    scope = Scope(module, "guess")
    _write(scope.f)
    return scope.f


def _write(f: Function) -> None:
    n = f["n"]
    wide = f.padded(n)
    cost(f, wide)
    upper_factor(f, f["H"], n, wide)
    count = f.variable(0)
    with f.loop(0, f["guesses"]) as k:
        count.value = _gather(f)
        columns = f.padded(count.value)
        _forward(f, wide, columns)
        _multipliers(f, count.value, columns)
        _unknowns(f, wide, columns)
        wrong = _checked(f, wide, count.value, k)
        with f.when(wrong.equals(0)):
            _certify(f, wide, count.value)
            f["info"][Info.TRIES] = f.as_real(k + 1)
            f["info"][Info.ACTIVE] = f.as_real(count.value - f["n_E"] - 1)
            f.answer(Code.DONE)
        with f.when(wrong > MANY):
            f.answer(Code.FAR)
    f.finish(Code.NOT_FOUND)


def cost(f: Function, wide: Number) -> None:
    """H = RᵀR + weights + regularisation (upper part) and f = −Rᵀr − pulls."""
    n, H, R, cost = f["n"], f["H"], f["R"], f["f"]
    f.fill(cost, 0.0, 0, wide)
    with f.loop(0, n) as i:
        f.fill(H.at(i * wide), 0.0, 0, wide)
        H[i * wide + i] = f["weights"][i] + f["regularisation"][i]
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


def upper_factor(f: Function, M: ArrayView, n: Number, wide: Number) -> None:
    """M = Uᵀ U in place, row after row; returns from the function where a pivot is not positive."""
    with f.loop(0, n) as k:
        row = M.at(k * wide)
        pivot = row[k]
        with f.when(~(pivot > 0.0)):  # NaN is not either
            f.answer(Code.NOT_CONVEX)
        f.scale(row, f.number(1.0) / f.sqrt(pivot), k, n)
        with f.loop(k + 1, n) as i:
            f.add(M.at(i * wide), -row[i], row, i, n)


def _gather(f: Function) -> Number:
    """Columns of V: f, rows of E, active rows of A; how many there are."""
    n, V, count = f["n"], f["V"], f.variable(f["n_E"] + 1)
    with f.loop(0, f["n_A"]) as i:
        active = (f["sides"][i] > 0.5) & (f["upper"][i] < INFINITY)
        active = active | ((f["sides"][i] < -0.5) & (f["lower"][i] > -INFINITY))
        f["sides"][i] = f.choose(active, f["sides"][i], 0.0)
        with f.when(active & (count.value < f["n_E"] + 1 + n)):
            f["work"][count.value - f["n_E"] - 1] = i
            count.value = count.value + 1
    columns = f.padded(count.value)
    with f.loop(0, n) as k:
        f.fill(V.at(k * columns), 0.0, 0, columns)
        V[k * columns] = f["f"][k]
    with f.loop(0, f["n_E"]) as c:
        _transpose(f, f["E"].at(c * n), V.at(c + 1), columns)
    with f.loop(f["n_E"] + 1, count.value) as c:
        _transpose(f, f["A"].at(f["work"][c - f["n_E"] - 1] * n), V.at(c), columns)
    return count.value


def _transpose(f: Function, row: ArrayView, column: ArrayView, stride: Number) -> None:
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
    left_out = f.variable(0.0)  # equalities
    with f.loop(1, count) as k:  # Uᵀ U = S without its first row, and the forward solve in the same pass
        row = S.at(k * columns)
        smallest = f.choose(k <= f["n_E"], f["settings"][Setting.GUESS], DEPENDENT)
        keep = row[k] > f["squares"][k] * smallest
        left_out.value = left_out.value + f.choose(keep | (k > f["n_E"]), 0.0, 1.0)
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
    rhs[0], f["info"][Info.DEPENDENT] = 1.0, left_out.value


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
        f["values_A"][i] = f.dot(f["A"].at(i * f["n"]), f["x"], 0, f["n"])
        f["multipliers_A"][i] = 0.0
    one_by_one = guess >= f["guesses"] / 2
    dropped, largest = f.variable(0), f.variable(0.0)
    with f.loop(1, count) as c:
        largest.value = f.larger(largest.value, f.abs(f["rhs"][c]))
    nothing = largest.value * -NOTHING
    with f.loop(n_E + 1, count) as c:
        i = f["work"][c - n_E - 1]
        f["multipliers_A"][i] = f["rhs"][c]
        with f.when((f["rhs"][c] * f["sides"][i] < nothing) & (~one_by_one | dropped.value.equals(0))):
            f["sides"][i] = 0.0
            f["multipliers_A"][i] = 0.0
            dropped.value = dropped.value + 1
    wrong.value = dropped.value
    _enter(f, wrong, one_by_one, dropped)
    return wrong.value


def _enter(f: Function, wrong: Any, one_by_one: Number, dropped: Any) -> None:
    """Rows beyond a bound become active: all of them, or, later on, the worst if none was dropped."""
    worst, place, side_of_worst = f.variable(0.0), f.variable(-1), f.variable(0.0)
    with f.loop(0, f["n_A"]) as i:
        value = f["values_A"][i]
        tolerance = (f.abs(value) + 1.0) * NEAR
        over, under = value - f["upper"][i], f["lower"][i] - value
        excess = f.choose(over > under, over, under)
        free = f["sides"][i].equals(0.0) & f["multipliers_A"][i].equals(0.0)
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
        g[i] = (f["weights"][i] + f["regularisation"][i]) * x[i] - f["pulls"][i]
        size.value = f.larger(size.value, f.abs(f["f"][i]))
    with f.loop(0, f["n_R"]) as k:
        row = f["R"].at(k * n)
        f.add(g, f.dot(row, x, 0, n) - f["r"][k], row, 0, n)
    with f.loop(0, n_E) as c:
        row = f["E"].at(c * n)
        f["multipliers_E"][c] = f["rhs"][c + 1]
        f.add(g, f["rhs"][c + 1], row, 0, n)
        f["values_E"][c] = f.dot(row, x, 0, n)
        off = f.abs(f["values_E"][c] - f["e"][c])
        primal.value = f.larger(primal.value, off / f.larger(f.abs(f["e"][c]), 1.0))
    with f.loop(n_E + 1, count) as c:
        i = f["work"][c - n_E - 1]
        f.add(g, f["rhs"][c], f["A"].at(i * n), 0, n)
        off = f.abs(f["values_A"][i] - f.choose(f["sides"][i] > 0.0, f["upper"][i], f["lower"][i]))
        primal.value = f.larger(primal.value, off / f.larger(f.abs(f["values_A"][i]), 1.0))
        gap.value = f.larger(gap.value, f.abs(off * f["rhs"][c]))
    worst = f.variable(0.0)
    with f.loop(0, n) as i:
        worst.value = f.larger(worst.value, f.abs(g[i]))
    with f.loop(0, f["n_A"]) as i:
        value = f["values_A"][i]
        excess = f.larger(value - f["upper"][i], f["lower"][i] - value)
        primal.value = f.larger(primal.value, excess / f.larger(f.abs(value), 1.0))
    f["info"][Info.STATIONARITY] = worst.value / size.value
    f["info"][Info.PRIMAL] = primal.value
    f["info"][Info.COMPLEMENTARITY] = gap.value / size.value
