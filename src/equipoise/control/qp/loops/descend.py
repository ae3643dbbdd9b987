"""The primal method: one level of least squares, by steps that stay within the rows that hold.

A level is a class of constraints that cannot hold (the violations of its rows are minimised), a level of the cost, or
the regularisation. From a point at which the rows above hold, every step is the shortest that minimises the level in
what the working set leaves free, cut where a row would be violated (with the tolerance that lets the steepest row of a
corner block [H73]); that row enters. A row whose multiplier has the wrong sign leaves. At the end, rows whose
multipliers push are fixed.

[H73] Harris: Pivot Selection Methods of the Devex LP Code, Math. Prog. 5, 1973.
"""

from __future__ import annotations

from typing import Any

from ....machine.loops import Function, Number, Variable
from .changes import back_substitute, coordinates
from .rows import turned_back, violation_tolerance
from .workspace import NOISE, RANK, TOLERANCE, WRONG, Code, Counters, Info, Scope, Setting

SLACK = 0.25  # of a row's tolerance, by which a step may violate it: less than what counts later
COSTLY = 8  # rows of a level that cost as much as another change
FLAT = 1e-7  # slope of a row along a step, by their lengths, that counts as zero


class Level:
    """What the parts of `descend` share. Level numbers: classes, then levels of the cost, then the regularisation."""

    def __init__(self, scope: Scope) -> None:
        f = scope.f
        self.scope, self.f, self.k = scope, f, f["level"]
        self.is_class = self.k <= f["classes"]
        self.number = self.k - f["classes"] - 1  # of the level of the cost
        self.has_diagonal = self.number.equals(f["diagonal"])
        self.is_rest = self.number.equals(f["levels"])


def write(module: Any, factor: Function, fit: Function, enter: Function, leave: Function) -> Function:
    """`descend`: x to the minimum of a level; DONE or LIMIT."""
    scope = Scope(module, "descend", "level")
    level, f = Level(scope), scope.f
    many, blocked = _begin(level), f.variable(-1)
    with f.loop(0, f["limit"]):
        q, total = f["count"][Counters.SIZE], _gather(level)
        f["count"][Counters.CHANGES] = f["count"][Counters.CHANGES] + 1 + total / COSTLY
        with f.when(f["count"][Counters.CHANGES] > f["limit"]):
            f.answer(Code.LIMIT)
        f.fill(f["y"], 0.0, 0, scope.wide)
        c = f.call(factor, t0=0, t1=total, total=total, c0=q, rank=Setting.LEVEL)
        f.call(fit, t0=0, t1=total, c0=q, c1=c)
        _direction(level, q, c)
        share = _blocking(level, many, blocked)
        f.add(f["x"], share, f["step"], 0, scope.n)
        f.add(f["value"], share, f["slope"], 0, scope.m)
        with f.when(blocked.value >= 0):
            _block(level, blocked.value, enter)
        with f.when(blocked.value < 0):
            changed = f.variable(_released(level, total))
            with f.when(changed.value.equals(0)):
                at = _wrong(level, q, total)
                with f.when(at >= 0):
                    f.call(leave, at=at)
                with f.when(at < 0):
                    _fix(level, total, enter)
                    f.answer(Code.DONE)
    f.finish(Code.LIMIT)
    return scope.f


def _begin(level: Level) -> Number:
    """Rows of the class that are violated now count. How many rows may be met on the way, which `ahead` lists."""
    f, scope = level.f, level.scope
    length, many = scope.length(f["x"]), f.variable(0)
    scope.rows_times(f["value"], f["x"])
    with f.loop(0, scope.m) as i, f.when((f["cls"][i] <= level.k) & f["fixed"][i].equals(0)):
        with f.when(f["cls"][i].equals(level.k)):
            _count(level, i, length)
        with f.unless(f["low"][i].equals(f["high"][i])):
            f["ahead"][many.value] = i
            many.value = many.value + 1
    return many.value


def _count(level: Level, i: Number, length: Number) -> None:
    """On which side a row of the class is violated, if it is; equalities always count."""
    f, scope = level.f, level.scope
    value = f["value"][i]
    over, under = value - f["high"][i], f["low"][i] - value
    beyond = f.larger(over, under) > violation_tolerance(scope, i, value, length)
    side = f.choose(over > under, 1.0, -1.0)
    f["soft"][i] = f.choose(f["low"][i].equals(f["high"][i]), 1.0, f.choose(beyond, side, 0.0))


def _gather(level: Level) -> Number:
    """Rows of T: those of the level over the coordinates that are free, and what they lack; how many."""
    f, scope = level.f, level.scope
    total = f.variable(0)
    with f.when(level.is_class), f.loop(0, scope.m) as i, f.when(_counts(level, i)):
        aim = f.choose(f["soft"][i] > 0.0, f["high"][i], f["low"][i])
        _row(level, total, scope.row("M", i), aim, i, f["norm"][i])
    with f.unless(level.is_class):
        start = f.variable(0)
        with f.when((level.number > 0) & ~level.is_rest):
            start.value = f["ends"][level.number - 1]
        with f.unless(level.is_rest), f.loop(start.value, f["ends"][level.number]) as j:
            at = f["order"][j]
            _row(level, total, f["R"].at(at * scope.n), f["r"][at], -1 - at, f["norm_R"][at])
        with f.when(level.has_diagonal), f.loop(0, scope.n) as i, f.when(f["weights"][i] > 0.0):
            _unit(level, total, i, f["weights"][i], f["pulls"][i])
        with f.when(level.is_rest), f.loop(0, scope.n) as i:
            _unit(level, total, i, f["regularisation"][i], f.number(0.0))
    return total.value


def _counts(level: Level, i: Number) -> Number:
    """Whether a row of the constraints is one of the level that is violated."""
    f = level.f
    return f["cls"][i].equals(level.k) & f["fixed"][i].equals(0) & ~f["soft"][i].equals(0.0)


def _row(level: Level, total: Variable, row: Any, aim: Number, of: Any, norm: Number) -> None:
    f, scope, t = level.f, level.scope, total.value
    to = scope.row("T", t)
    f.fill(to, 0.0, 0, scope.wide)
    with f.loop(f["count"][Counters.SIZE], scope.n) as k:
        to[k] = f.dot(scope.row("J", k), row, 0, scope.n)
    f["aim"][t] = aim - f.dot(f["x"], row, 0, scope.n)
    f["of"][t], f["pivoted"][t], f["square"][t] = of, 0, norm * norm
    total.value = t + 1


def _unit(level: Level, total: Variable, i: Number, weight: Number, pull: Number) -> None:
    """√weight x_i, which wants to be pull / √weight."""
    f, scope, t = level.f, level.scope, total.value
    to, root = scope.row("T", t), f.sqrt(weight)
    f.fill(to, 0.0, 0, scope.wide)
    with f.loop(f["count"][Counters.SIZE], scope.n) as k:
        to[k] = scope.row("J", k)[i] * root
    f["aim"][t] = pull / root - root * f["x"][i]
    f["of"][t], f["pivoted"][t], f["square"][t] = -1 - f["n_R"] - i, 0, weight
    total.value = t + 1


def _direction(level: Level, q: Number, c: Number) -> None:
    f, scope = level.f, level.scope
    f.copy(f["own"], f["y"], 0, scope.n)
    turned_back(scope, f["own"], q, c)
    f.fill(f["step"], 0.0, 0, scope.wide)
    with f.loop(q, scope.n) as k:
        f.add(f["step"], f["own"][k], scope.row("J", k), 0, scope.n)


def _blocking(level: Level, many: Number, blocked: Variable) -> Number:
    """How much of the step can be gone, at most all of it; and the row that does not let it go on, or −1."""
    f, scope = level.f, level.scope
    far, reach = scope.length(f["step"]), scope.length(f["x"])
    scope.rows_times(f["slope"], f["step"])
    least, steepest, share = f.variable(1.0), f.variable(0.0), f.variable(1.0)
    with f.loop(0, many) as j:
        i = f["ahead"][j]
        slope, room, slack = _room(level, i, far, reach)
        with f.when((slope > 0.0) & (room + slack < least.value * slope) & _holds(level, i)):
            least.value = (room + slack) / slope
    blocked.value = -1
    with f.when(least.value < 1.0), f.loop(0, many) as j:
        i = f["ahead"][j]
        slope, room, _ = _room(level, i, far, reach)
        nearer = (room <= least.value * slope) & (slope > steepest.value * f["norm"][i])
        with f.when(nearer & _holds(level, i)):
            blocked.value, steepest.value, share.value = i, slope / f["norm"][i], f.larger(room / slope, 0.0)
    return share.value


def _holds(level: Level, i: Number) -> Number:
    """Whether a row must not be violated on the way or, in the level's own class, counts from where it would be."""
    f = level.f
    return f["inside"][i].equals(0) & ((f["cls"][i] < level.k) | f["soft"][i].equals(0.0))


def _room(level: Level, i: Number, far: Number, reach: Number) -> tuple[Number, Number, Number]:
    """How steeply row i nears a bound along the step (zero if it does not), its distance from it, and its tolerance."""
    f, scope = level.f, level.scope
    value, steep = f["value"][i], f.abs(f["slope"][i])
    slope = f.choose(steep > f["norm"][i] * far * FLAT, steep, 0.0)
    room = f.choose(f["slope"][i] > 0.0, f["high"][i] - value, value - f["low"][i])
    return slope, room, violation_tolerance(scope, i, value, reach) * SLACK


def _block(level: Level, i: Number, enter: Function) -> None:
    f, scope = level.f, level.scope
    side = f.choose(f["slope"][i] > 0.0, 1.0, -1.0)
    own = f["cls"][i].equals(level.k)
    with f.when(own):
        f["soft"][i] = side
    with f.unless(own):
        q = f["count"][Counters.SIZE]
        coordinates(scope, scope.row("M", i), -side)
        f["sign"][q] = -side
        f.call(enter, which=i, equality=0)


def _released(level: Level, total: Number) -> Number:
    """Rows of the class that are more than met do not count any longer; how many."""
    f, scope = level.f, level.scope
    count, length = f.variable(0), scope.length(f["x"])
    with f.when(level.is_class), f.loop(0, total) as t:
        i = f["of"][t]
        tolerance = violation_tolerance(scope, i, f["aim"][t], length)
        equal = f["low"][i].equals(f["high"][i])
        with f.when(~equal & (f["off"][t] * f["soft"][i] < -tolerance)):
            _count(level, i, length)  # it may be beyond its other bound
            count.value = count.value + 1
    return count.value


def _wrong(level: Level, q: Number, total: Number) -> Number:
    """The member of the working set whose multiplier is most wrong; −1 if none is. Multipliers come into `q`."""
    f, scope = level.f, level.scope
    f.fill(f["gradient"], 0.0, 0, scope.wide)
    size, length = f.variable(0.0), scope.length(f["x"])
    with f.loop(0, total) as t:
        _add_row(level, t)
        norm = f.sqrt(f["square"][t])
        size.value = f.larger(size.value, (f.abs(f["off"][t]) + norm * length * 1e-3) * norm)
    with f.loop(scope.n, scope.wide) as j:
        f["gradient"][j] = 0.0
    coordinates(scope, f["gradient"], 1.0)
    f["info"][Info.SIZE] = 0.0
    with f.loop(q, scope.n) as k:
        f["info"][Info.SIZE] = f.larger(f["info"][Info.SIZE], f.abs(f["d"][k]) / f.larger(size.value, 1.0))
    f.copy(f["q"], f["d"], 0, scope.n)
    back_substitute(scope, f["q"], q)
    f["b"][0], f["b"][1] = size.value * WRONG, size.value * NOISE
    at, most = f.variable(-1), f.variable(0.0)
    with f.loop(0, q) as k, f.when(f["equal"][k].equals(0)):
        wrong = -(f["q"][k] * f["norm"][f["W"][k]])
        with f.when((wrong > f["b"][0]) & (wrong > most.value)):
            at.value, most.value = k, wrong
    return at.value


def _add_row(level: Level, t: Number) -> None:
    """gradient += off_t · row t."""
    f, of, n = level.f, level.f["of"][t], level.scope.n
    with f.when(of >= 0):
        f.add(f["gradient"], f["off"][t], level.scope.row("M", of), 0, n)
    with f.when((of < 0) & (of >= -f["n_R"])):
        f.add(f["gradient"], f["off"][t], f["R"].at((-1 - of) * n), 0, n)
    with f.when(of < -f["n_R"]):
        i = -1 - f["n_R"] - of
        root = f.choose(level.is_rest, f.sqrt(f["regularisation"][i]), f.sqrt(f["weights"][i]))
        f["gradient"][i] = f["gradient"][i] + f["off"][t] * root


def _fix(level: Level, total: Number, enter: Function) -> None:
    """What the level decides stays: rows that push, its own violations, or the values of its rows."""
    f, scope = level.f, level.scope
    f["info"][Info.SEARCHED] = f.larger(f["info"][Info.SEARCHED], f["info"][Info.SIZE])
    missed = _missed(level, total)
    with f.loop(0, f["count"][Counters.SIZE]) as k, f.when(f["equal"][k].equals(0) & missed):
        i = f["W"][k]
        with f.when(f.abs(f["q"][k]) * f["norm"][i] > f["b"][1]):
            f["equal"][k], f["fixed"][i], f["soft"][i] = 1, 1, -f["sign"][k]
            f["bound"][i] = f.choose(f["sign"][k] < 0.0, f["high"][i], f["low"][i])
            f["prior"][i] = -(f["q"][k] * f["sign"][k])
    length = scope.length(f["x"])
    with f.when(level.is_class), f.loop(0, total) as t:
        i = f["of"][t]
        value = f["value"][i]
        met = f.abs(f["off"][t]) <= violation_tolerance(scope, i, value, length)
        with f.unless(met & ~f["low"][i].equals(f["high"][i])):
            f["fixed"][i] = 1
            f["bound"][i], f["prior"][i] = value, f["off"][t]
    with f.unless(level.is_class | level.is_rest), f.loop(0, total) as t, f.when(f["count"][Counters.SIZE] < scope.n):
        _cost_row(level, t, enter)


def _missed(level: Level, total: Number) -> Number:
    """Whether the level is not met: else nothing limits it, and its multipliers are rounding."""
    f, scope = level.f, level.scope
    found, length = f.variable(0), scope.length(f["x"])
    with f.loop(0, total) as t:
        row = f.choose(level.is_class, f["of"][t], 0)
        value = f.choose(level.is_class, f["value"][row], 0.0)
        of_class = violation_tolerance(scope, row, value, length)
        of_cost = (f.abs(f["aim"][t]) + f.sqrt(f["square"][t]) * length) * TOLERANCE
        with f.unless(f.abs(f["off"][t]) <= f.choose(level.is_class, of_class, of_cost)):
            found.value = 1
    return found.value > 0


def _cost_row(level: Level, t: Number, enter: Function) -> None:
    """A row of the cost keeps its value from now on."""
    f, scope, n, of = level.f, level.scope, level.scope.n, level.f["of"][t]
    f.fill(f["gradient"], 0.0, 0, scope.wide)
    with f.when(of >= -f["n_R"]):
        f.copy(f["gradient"], f["R"].at((-1 - of) * n), 0, n)
    with f.when(of < -f["n_R"]):
        f["gradient"][-1 - f["n_R"] - of] = 1.0
    with f.loop(n, scope.wide) as j:
        f["gradient"][j] = 0.0
    coordinates(scope, f["gradient"], 1.0)
    free, whole = f.variable(0.0), f.variable(0.0)
    with f.loop(0, n) as k:
        whole.value = whole.value + f["d"][k] * f["d"][k]
    with f.loop(f["count"][Counters.SIZE], n) as k:
        free.value = free.value + f["d"][k] * f["d"][k]
    with f.when(free.value > whole.value * RANK**2):
        f.call(enter, which=-1, equality=1)
