"""Many quadratic programs of one size at once, on NumPy or CuPy arrays.

Each program

    minimise  ½ xᵀ H x + fᵀ x   subject to   E x = e,   lower ≤ A x ≤ upper

is stated in unknowns in which the cost is ½|z|² + cᵀz, where an orthonormal basis of the equalities tells what they
decide from what they leave. Where the minimiser under the equalities alone satisfies all rows, nothing is left to do.
The others are brought near their optimum together by the predictor-corrector interior-point method [Meh92], with
multipliers held near their last values [FO12]; whoever is done leaves the batch. From there the dual active-set method
[GI83] goes on to the optimum itself, each time with the active rows in the basis.

No matrix is multiplied by its own transpose in what decides the digits: rows of condition κ cost κ of them, not κ², and
refinement against the program as stated takes those back. Every answer says how well it solves that program.

[Meh92] Mehrotra: On the Implementation of a Primal-Dual Interior Point Method, SIAM J. Optim. 2, 1992.
[GI83] Goldfarb, Idnani: A Numerically Stable Dual Method for Solving Strictly Convex Quadratic Programs, Math. Prog.
27, 1983.
[FO12] Friedlander, Orban: A Primal-Dual Regularized Interior-Point Method for Convex Quadratic Programs,
       Math. Program. Comput. 4, 2012.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...errors import ShapeError

Array = Any
DEPENDENT = 1e-9  # of a row's length: one of which the rows before it leave less says nothing new
REPEATS = 3  # solutions of a program with all rows held; each takes a millionth of the error of the one before
ITERATIONS = 30  # of the interior-point method
ROUNDS = 30  # sets of active rows that are tried after the interior-point method's own
NEARNESS = 1e-8  # weight of the multipliers' distance from their last values
CONVERGED = 1e-8  # largest residual of the reduced program that ends the iterations
CENTRE = 1e-11  # least product of slack and multiplier aimed at
LEAVING = 0.1  # part of the batch that is done before it leaves: making the batch smaller has its price
BACK = 0.995  # part of the way to the nearest wall
LARGEST = 1e12  # multipliers of programs without a solution grow for ever
SMALLEST = 1e-300  # multiplier of a row that joins
ACCURATE = 1e-9  # largest relative residual of the program as stated that is called solved
TOUCHING = 1e-10  # violation of a row, by max(1, |bound|), with which it need not be held


class Programs(NamedTuple):
    """Quadratic programs of one size."""

    H: Array  # (B, n, n)
    f: Array
    E: Array  # (B, k, n)
    e: Array
    A: Array  # (B, m, n)
    lower: Array
    upper: Array

    def at(self, rows: Array) -> Programs:
        return Programs(*(array[rows] for array in self))


class Answers(NamedTuple):
    """What was found for each program, and how well it solves it as stated."""

    x: Array  # (B, n)
    mu: Array  # (B, k), multipliers of E
    lam: Array  # (B, m), of A, positive at upper bounds
    primal: Array  # (B,) see `certificate`
    dual: Array
    gap: Array
    solved: Array  # (B,) whether all three are within the tolerance

    def at(self, rows: Array) -> Answers:
        return Answers(*(array[rows] for array in self))

    @property
    def worst(self) -> Array:
        """(B,) the largest residual; infinite where one is no number."""
        worst = library(self.x).stack([self.primal, self.dual, self.gap]).max(axis=0)
        return library(self.x).where(worst >= 0, worst, np.inf)


class Held(NamedTuple):
    """Programs with some rows held at their bounds."""

    x: Array
    mu: Array
    lam: Array  # zero of rows that are not held, and of those that say nothing new
    ray: Array  # change of the multipliers that changes nothing, outward for a fresh row that is not new


class Iterate(NamedTuple):
    """Where the interior-point method is; two planes, of upper and of lower bounds, are (B, 2, m)."""

    G: Array
    b: Array  # bounds, in units of the largest violation at w = 0
    on: Array  # which are finite
    w: Array
    s: Array  # slacks
    lam: Array

    def at(self, rows: Array) -> Iterate:
        return Iterate(*(array[rows] for array in self))


def solve_batch(programs: Programs, tolerance: float = ACCURATE) -> Answers:
    """Each program's solution with its residuals; `solved` says which are within the tolerance."""
    xp, p = library(programs.H), programs
    scale = 1 / xp.sqrt(xp.diagonal(p.H, axis1=1, axis2=2))  # unknowns in units in which each costs the same
    factor = xp.linalg.cholesky(scale[:, :, None] * p.H * scale[:, None, :])
    back = scale[:, :, None] * turned(xp.linalg.inv(factor))  # x = back z
    nothing = xp.zeros_like(p.lower)
    answer = judged(p, *_held(xp, p, back, nothing, nothing > 0)[:3], tolerance)
    left = xp.flatnonzero((xp.abs(_beyond(xp, p, answer.x)) > TOUCHING).any(axis=1))
    if len(left):
        some, few = p.at(left), back[left]
        push = _near(xp, some, few, answer.x[left])
        better = _settled(xp, some, few, answer.at(left), push, tolerance)
        for into, found in zip(answer, better, strict=True):
            into[left] = found
    return answer


def certificate(p: Programs, x: Array, mu: Array, lam: Array) -> tuple[Array, Array, Array]:
    """(primal, dual, gap): how well x and its multipliers solve each program as stated, whoever found them.

    They are those of `qp.kkt_residuals`, but the gradient is measured by its own terms however small they are, and once
    more in units in which every unknown costs the same: weights of forces are small, and so would be their errors.
    """
    xp = library(x)
    Ax, Hx, push = times(p.A, x), times(p.H, x), turned_times(p.E, mu) + turned_times(p.A, lam)
    nearest = xp.clip(Ax, p.lower, p.upper)
    off = xp.concatenate(
        [(times(p.E, x) - p.e) / xp.maximum(1, xp.abs(p.e)), (Ax - nearest) / xp.maximum(1, xp.abs(nearest))], 1
    )
    scale = 1 / xp.sqrt(xp.diagonal(p.H, axis1=1, axis2=2))
    terms = xp.maximum(xp.maximum(xp.abs(Hx), xp.abs(p.f)), xp.abs(push))
    g = xp.abs(Hx + p.f + push)
    tiny = np.finfo(float).tiny
    dual = xp.maximum(*((g * s).max(axis=1) / xp.maximum((terms * s).max(axis=1), tiny) for s in (1.0, scale)))
    bound = xp.where(lam > 0, p.upper, p.lower)
    gap = xp.abs(lam * xp.where(lam == 0, 0.0, Ax - bound)).max(axis=1)
    size = xp.maximum(1, xp.maximum(xp.abs((x * Hx).sum(axis=1)), xp.abs((x * p.f).sum(axis=1))))
    return xp.abs(off).max(axis=1), dual, gap / size


def _basis(xp: Any, C: Array) -> tuple[Array, Array, Array]:
    """(Q, T⁻¹, which rows are new): C = T Q, rows of Q orthonormal, or zero where those before leave nothing of C's.

    Rows of C have length one; T is lower triangular, with rows of the identity where Q has none.
    """
    Q, T, new = xp.zeros_like(C), xp.zeros((len(C), C.shape[1], C.shape[1])), xp.zeros(C.shape[:2], dtype=bool)
    for j in range(C.shape[1]):
        row = C[:, j]
        for _ in range(2 if j else 0):  # twice is enough
            shares = times(Q[:, :j], row)
            row = row - turned_times(Q[:, :j], shares)
            T[:, j, :j] += shares
        rest = xp.sqrt((row * row).sum(axis=1))
        is_new = new[:, j] = rest > DEPENDENT
        T[:, j, j] = xp.where(is_new, rest, 1.0)
        Q[:, j] = xp.where(is_new[:, None], row / T[:, j, j, None], 0.0)
        T[:, j, :j] *= is_new[:, None]
    return Q, xp.linalg.inv(T) if T.size else T, new


def _held(xp: Any, p: Programs, back: Array, push: Array, fresh: Array) -> Held:
    """The minimiser with some rows of A held at a bound, and no others: at the upper one where `push` is positive, at
    the lower one where it is negative. Of rows that depend on each other those with the larger push count, and the one
    that is fresh last."""
    k, count = p.e.shape[1], int((push != 0).sum(axis=1).max()) if push.size else 0
    at = xp.argsort(-xp.where(fresh, SMALLEST, xp.abs(push)), axis=1)[:, :count]
    side = xp.take_along_axis(push, at, 1)
    bound = xp.where(side > 0, xp.take_along_axis(p.upper, at, 1), xp.take_along_axis(p.lower, at, 1))
    rows = xp.where((side != 0)[:, :, None], xp.take_along_axis(p.A, at[:, :, None], 1), 0.0)
    C, d = xp.concatenate([p.E, rows], axis=1), xp.concatenate([p.e, xp.where(side != 0, bound, 0.0)], axis=1)
    unit, length = _unit(xp, C @ back)
    Q, inverse, new = _basis(xp, unit)
    x, m = xp.zeros_like(p.f), xp.zeros_like(d)
    for _ in range(REPEATS):
        g = turned_times(back, times(p.H, x) + p.f + turned_times(C, m))
        lacks = times(inverse, xp.where(new, (d - times(C, x)) / length, 0.0)) + times(Q, g)
        x = x + times(back, turned_times(Q, lacks) - g)
        m = m - turned_times(inverse, lacks) / length
    last = xp.concatenate([xp.zeros_like(p.e), xp.where(xp.take_along_axis(fresh, at, 1), xp.sign(side), 0.0)], axis=1)
    last = xp.where(new, 0.0, last)
    ray = (last - turned_times(inverse, times(Q, turned_times(unit, last)))) / length
    made, which = [xp.zeros_like(push) for _ in range(2)], xp.arange(len(push))[:, None]
    for into, found in zip(made, (m, ray), strict=True):
        into[which, at] = found[:, k:]
    return Held(x, m[:, :k], *made)


def judged(p: Programs, x: Array, mu: Array, lam: Array, tolerance: float) -> Answers:
    """An answer with its residuals."""
    primal, dual, gap = certificate(p, x, mu, lam)
    solved = (primal <= tolerance) & (dual <= tolerance) & (gap <= tolerance)  # NaN is not
    return Answers(x, mu, lam, primal, dual, gap, solved)


def _beyond(xp: Any, p: Programs, x: Array) -> Array:
    """By how much each row of A is above its upper bound, or, negative, below its lower one; by max(1, |bound|)."""
    value = times(p.A, x)
    nearest = xp.clip(value, p.lower, p.upper)
    return (value - nearest) / xp.maximum(1, xp.abs(nearest))


def _settled(xp: Any, p: Programs, back: Array, best: Answers, push: Array, tolerance: float) -> Answers:
    """The optimum from multipliers near its own, by the dual active-set method [GI83] with each set solved anew; the
    best of what was tried."""
    alive, fresh = xp.arange(len(push)), xp.zeros(push.shape, dtype=bool)
    for _ in range(ROUNDS):
        some = p.at(alive)
        held = _held(xp, some, back[alive], push, fresh)
        pulls = (held.lam * push < 0) & (some.lower < some.upper)
        found = judged(some, held.x, held.mu, xp.where(pulls, 0.0, held.lam), tolerance)
        rows = xp.flatnonzero(found.worst < best.at(alive).worst)
        for into, new in zip(best, found, strict=True):
            into[alive[rows]] = new[rows]
        push, fresh, changed = _exchanged(xp, some, held, push, fresh)
        stay = xp.flatnonzero(~found.solved & changed)
        alive, push, fresh = alive[stay], push[stay], fresh[stay]
        if not len(alive):
            break
    return best


def _exchanged(xp: Any, p: Programs, held: Held, push: Array, fresh: Array) -> tuple[Array, Array, Array]:
    """(multipliers, which row is fresh, of which programs the set changed): multipliers go towards those of the held
    rows until one of them changes its sign, whose row leaves; where none does, the row that is violated most joins."""
    stuck = (held.ray != 0).any(axis=1, keepdims=True)  # the fresh row depends on the others: only if one leaves
    aim = xp.where(stuck, push + LARGEST * held.ray, held.lam)
    pulls = (aim * push < 0) & (p.lower < p.upper)
    parts = xp.where(pulls, push / xp.where(pulls, push - aim, 1.0), 1.0)
    part, leaves = parts.min(axis=1, keepdims=True), pulls.any(axis=1, keepdims=True)
    push = xp.where(pulls & (parts <= part), 0.0, push + part * (aim - push))
    beyond = xp.where(push == 0, _beyond(xp, p, held.x), 0.0)
    most = xp.abs(beyond).max(axis=1, keepdims=True)
    joins = ~leaves & ~stuck & (most > TOUCHING) & (xp.abs(beyond) == most)
    push = xp.where(joins, SMALLEST * xp.sign(beyond), push)
    return push, joins | (fresh & leaves & (push != 0)), joins.any(axis=1) | leaves[:, 0]


def _near(xp: Any, p: Programs, back: Array, x: Array) -> Array:
    """Multipliers of A near those of the optimum, zero of rows that are not near their bounds; from x, which solves the
    program without rows of A."""
    rows, Q = p.A @ back, _basis(xp, _unit(xp, p.E @ back)[0])[0]
    whole = _unit(xp, rows)[1]
    for _ in range(2):
        rows = rows - (rows @ turned(Q)) @ Q
    G, length = _unit(xp, rows, DEPENDENT * whole)
    value = times(p.A, x)
    return _shortest(xp, G, (p.lower - value) / length, (p.upper - value) / length) / length


def _unit(xp: Any, rows: Array, least: Any = 0.0) -> tuple[Array, Array]:
    """Rows of length one, and how long they were; those shorter than `least`, which are rounding, stay short."""
    length = xp.maximum(xp.sqrt((rows * rows).sum(axis=2)), least)
    length = xp.where(length == 0, 1.0, length)
    return rows / length[..., None], length


def _shortest(xp: Any, G: Array, below: Array, above: Array) -> Array:
    """Multipliers of the shortest w with below ≤ G w ≤ above, of each program, where they are larger than the slacks;
    the last ones tried where there is no such w.

    Upper and lower bounds are two planes of one array: ± G w + s = b with s > 0, and λ > 0 where there is a bound.
    """
    b = xp.stack([above, -below], axis=1)
    on = xp.isfinite(b)
    unit = xp.where(on, -b, 0.0).max(axis=(1, 2))  # by how much w = 0 is outside
    b = xp.where(on, b, 0.0) / unit[:, None, None]
    s = xp.where(on, xp.maximum(b, 1.0), 1.0)
    now = Iterate(G, b, on, xp.zeros((len(G), G.shape[2])), s, xp.where(on, 1 / s, 0.0))
    end, alive = Iterate(G, b, on, *(xp.empty_like(x) for x in now[3:])), xp.arange(len(G))
    for k in range(ITERATIONS + 1):
        rows, gradient, worst = _errors(xp, now)
        done = (worst < CONVERGED) | (k == ITERATIONS)
        if int(done.sum()) >= max(1.0, LEAVING * len(alive)):
            some, stay = xp.flatnonzero(done), xp.flatnonzero(~done)
            for into, found in zip(end[3:], now[3:], strict=True):
                into[alive[some]] = found[some]
            now, alive, rows, gradient = now.at(stay), alive[stay], rows[stay], gradient[stay]
        if not len(alive):
            break
        now = _step(xp, now, rows, gradient)
    lam = xp.where(on & (end.lam > end.s), end.lam, 0.0)
    return unit[:, None] * (lam[:, 0] - lam[:, 1])


def _errors(xp: Any, now: Iterate) -> tuple[Array, Array, Array]:
    """Residuals of the rows, of the gradient, and the largest of them and of all products s λ."""
    rows = xp.where(now.on, _both(xp, times(now.G, now.w)) + now.s - now.b, 0.0)
    gradient = now.w + turned_times(now.G, now.lam[:, 0] - now.lam[:, 1])
    largest = xp.maximum(xp.abs(rows).max(axis=(1, 2)), xp.abs(gradient).max(axis=1))
    return rows, gradient, xp.maximum(largest, (now.s * now.lam).max(axis=(1, 2)))


def _step(xp: Any, now: Iterate, rows: Array, gradient: Array) -> Iterate:
    """One predictor and one corrector, with one inverse."""
    G, b, on, w, s, lam = now
    soft = s + NEARNESS * lam
    weights = xp.where(on, lam / soft, 0.0).sum(axis=1)
    K = xp.linalg.inv(xp.eye(G.shape[2]) + (turned(G) * weights[:, None, :]) @ G)

    def direction(products: Array) -> tuple[Array, Array, Array]:
        """Towards s λ = products, with all other residuals zero."""
        change = products - s * lam
        push = xp.where(on, (lam * rows + change) / soft, 0.0)
        dw = -times(K, gradient + turned_times(G, push[:, 0] - push[:, 1]))
        move = rows + _both(xp, times(G, dw))
        dlam = xp.where(on, (lam * move + change) / soft, 0.0)
        return dw, xp.where(on, NEARNESS * dlam - move, 0.0), dlam

    count = on.sum(axis=(1, 2))
    mean = (s * lam).sum(axis=(1, 2)) / count
    _, ds, dlam = direction(xp.zeros_like(s))
    to_s, to_lam = _room(xp, s, ds)[:, None, None], _room(xp, lam, dlam)[:, None, None]
    reached = ((s + to_s * ds) * (lam + to_lam * dlam)).sum(axis=(1, 2)) / count
    aim = xp.maximum((reached / mean) ** 3 * mean, CENTRE)
    dw, ds, dlam = direction(xp.where(on, aim[:, None, None] - ds * dlam, 0.0))
    a = BACK * xp.minimum(_room(xp, s, ds), _room(xp, lam, dlam))
    lam = xp.minimum(lam + a[:, None, None] * dlam, LARGEST)
    return Iterate(G, b, on, w + a[:, None] * dw, s + a[:, None, None] * ds, lam)


def _room(xp: Any, x: Array, dx: Array) -> Array:
    """How far one can go before one of x is zero, one at most."""
    falls = dx < 0
    return xp.minimum(1.0, xp.where(falls, -x / xp.where(falls, dx, -1.0), np.inf).min(axis=(1, 2)))


def _both(xp: Any, x: Array) -> Array:
    """x for the upper bounds, −x for the lower ones."""
    return xp.stack([x, -x], axis=1)


def finite_ones(xp: Any, p: Programs) -> Array:
    """Which programs are numbers throughout; bounds may be infinite, on their own side."""
    sums = [array.sum(axis=tuple(range(1, array.ndim))) for array in (p.H, p.f, p.E, p.e, p.A)]
    return xp.isfinite(sum(sums)) & (p.lower < np.inf).all(axis=1) & (p.upper > -np.inf).all(axis=1)


def replaced(xp: Any, p: Programs, bad: Array) -> Programs:
    """Others in place of the bad ones, so that the rest can be solved together with them."""
    made = Programs(*(array.copy() for array in p))
    for array in made:
        array[bad] = 0.0
    made.H[bad] = xp.eye(p.H.shape[1])
    return made


def library(x: Array) -> Any:
    """NumPy, or CuPy for its arrays."""
    if isinstance(x, np.ndarray):
        return np
    try:
        import cupy
    except ImportError:
        raise ShapeError(f"BatchedController takes NumPy or CuPy arrays, got {type(x).__name__}") from None
    return cupy


def turned(M: Array) -> Array:
    return M.swapaxes(1, 2)


def turned_times(M: Array, y: Array) -> Array:
    """Mᵀ y for each of a batch, without turning M in memory."""
    return (y[:, None, :] @ M)[:, 0]


def times(M: Array, x: Array) -> Array:
    """M x for each of a batch."""
    return (M @ x[..., None])[..., 0]
