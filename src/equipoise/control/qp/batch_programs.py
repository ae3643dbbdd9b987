"""Many quadratic programs of one size at once, on NumPy or CuPy arrays.

Each program

    minimise  ½ xᵀ H x + fᵀ x   subject to   E x = e,   lower ≤ A x ≤ upper

is reduced first. With H = L Lᵀ, Π the projector on the null space of E L⁻ᵀ and x₀ the minimiser under the equalities
alone, x = x₀ + N w, N = L⁻ᵀ Π, leaves the shortest w with lower − A x₀ ≤ A N w ≤ upper − A x₀. Where w = 0 is one of
those, x₀ is the answer and nothing is left to do. The others are solved together by the predictor-corrector
interior-point method [Meh92], with multipliers held near their last values [FO12], which keeps every matrix invertible;
whoever is done leaves the batch. At the end the rows that push are held exactly, where that helps.

[Meh92] Mehrotra: On the Implementation of a Primal-Dual Interior Point Method, SIAM J. Optim. 2, 1992.
[FO12] Friedlander, Orban: A Primal-Dual Regularized Interior-Point Method for Convex Quadratic Programs,
       Math. Program. Comput. 4, 2012.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...errors import ShapeError

Array = Any
DEPENDENT = 1e-9  # added to the Gram matrix of equalities of length one: rows that say the same are no harm
REPEATS = 4  # each takes the errors of what was added to a thousandth, or less
NEARNESS = 1e-8  # weight of the multipliers' distance from their last values
HOLD = 1e-6  # softness of rows that are held, made up for by repetition
CONVERGED = 1e-8  # largest residual of the reduced program that ends the iterations, before the certificate
CENTRE = 1e-11  # least product of slack and multiplier aimed at
LEAVING = 0.1  # part of the batch that is done before it leaves: making the batch smaller has its price
BACK = 0.995  # part of the way to the nearest wall
LARGEST = 1e12  # multipliers of programs without a solution grow for ever


class Programs(NamedTuple):
    """Quadratic programs of one size."""

    H: Array  # (B, n, n)
    f: Array
    E: Array  # (B, k, n)
    e: Array
    A: Array  # (B, m, n)
    lower: Array
    upper: Array


class Reduced(NamedTuple):
    """What is left without equalities: the shortest w with below ≤ G w ≤ above, rows of length one."""

    G: Array
    below: Array
    above: Array
    length: Array  # of the rows before
    scale: Array  # of the unknowns
    inverse: Array  # L⁻¹ of the scaled H
    Pi: Array
    z: Array  # Lᵀ x₀
    V: Array  # E L⁻ᵀ, rows of length one
    gram: Array  # (V Vᵀ)⁻¹
    length_E: Array


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


def solve_batch(programs: Programs, iterations: int = 30) -> tuple[Array, Array, Array]:
    """(x, multipliers of E, multipliers of A) of each program."""
    xp = library(programs.H)
    r = _reduced(xp, programs)
    w, lam = xp.zeros_like(r.z), xp.zeros_like(r.below)
    hard = xp.flatnonzero(((r.below > 0) | (r.above < 0)).any(axis=1))  # elsewhere w = 0
    if len(hard):
        w[hard], lam[hard] = _shortest(xp, r.G[hard], r.below[hard], r.above[hard], iterations)
    x, lam = r.scale * turned_times(r.inverse, r.z + times(r.Pi, w)), lam / r.length
    p = programs
    mu, g = xp.zeros_like(p.e), times(p.H, x) + p.f + turned_times(p.A, lam)
    for _ in range(REPEATS):
        mu = mu - times(r.gram, times(r.V, times(r.inverse, r.scale * (g + turned_times(p.E, mu))))) / r.length_E
    return x, mu, lam


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


def _reduced(xp: Any, p: Programs) -> Reduced:
    """Without equalities, in unknowns in which the cost is ½|w|²."""
    scale = 1 / xp.sqrt(xp.diagonal(p.H, axis1=1, axis2=2))  # unknowns in units in which each costs the same
    n, k = p.H.shape[1], p.E.shape[1]
    inverse = xp.linalg.inv(xp.linalg.cholesky(scale[:, :, None] * p.H * scale[:, None, :]))
    back = scale[:, :, None] * turned(inverse)  # x = back z
    V, length_E = _unit(xp, p.E @ back)
    e = p.e / length_E
    gram = xp.linalg.inv(V @ turned(V) + DEPENDENT * xp.eye(k)) if k else xp.zeros((len(V), 0, 0))
    Pi = xp.eye(n) - turned(V) @ gram @ V
    Pi = Pi @ Pi
    Pi = Pi @ Pi  # a projector to rounding, in spite of what was added to the Gram matrix
    z = -times(Pi, turned_times(back, p.f))
    for _ in range(REPEATS):
        z = z - turned_times(V, times(gram, times(V, z) - e))
    rows = p.A @ back
    G, length = _unit(xp, rows @ Pi)
    value = times(rows, z)
    return Reduced(
        G, (p.lower - value) / length, (p.upper - value) / length, length, scale, inverse, Pi, z, V, gram, length_E
    )


def _unit(xp: Any, rows: Array) -> tuple[Array, Array]:
    """Rows of length one, and how long they were; those that are nothing but rounding stay short."""
    length = xp.sqrt((rows * rows).sum(axis=2))
    length = xp.maximum(length, 1e-9 * length.max(axis=1, keepdims=True)) if length.shape[1] else length
    length = xp.where(length == 0, 1.0, length)
    return rows / length[..., None], length


def _shortest(xp: Any, G: Array, below: Array, above: Array, iterations: int) -> tuple[Array, Array]:
    """(w, multipliers): the shortest w with below ≤ G w ≤ above, of each program; the last one tried where none was
    found.

    Upper and lower bounds are two planes of one array: ± G w + s = b with s > 0, and λ > 0 where there is a bound.
    """
    b = xp.stack([above, -below], axis=1)
    on = xp.isfinite(b)
    unit = xp.where(on, -b, 0.0).max(axis=(1, 2))  # by how much w = 0 is outside
    b = xp.where(on, b, 0.0) / unit[:, None, None]
    s = xp.where(on, xp.maximum(b, 1.0), 1.0)
    now = Iterate(G, b, on, xp.zeros((len(G), G.shape[2])), s, xp.where(on, 1 / s, 0.0))
    end, alive = Iterate(G, b, on, *(xp.empty_like(x) for x in now[3:])), xp.arange(len(G))
    for k in range(iterations + 1):
        rows, gradient, worst = _errors(xp, now)
        done = (worst < CONVERGED) | (k == iterations)
        if int(done.sum()) >= max(1.0, LEAVING * len(alive)):
            some, stay = xp.flatnonzero(done), xp.flatnonzero(~done)
            for into, found in zip(end[3:], now[3:], strict=True):
                into[alive[some]] = found[some]
            now, alive, rows, gradient = now.at(stay), alive[stay], rows[stay], gradient[stay]
        if not len(alive):
            break
        now = _step(xp, now, rows, gradient)
    w, lam = _polished(xp, end)
    return unit[:, None] * w, unit[:, None] * (lam[:, 0] - lam[:, 1])


def _polished(xp: Any, now: Iterate) -> tuple[Array, Array]:
    """(w, λ) where the rows with λ > s are held exactly and the others let go, if that is nearer to optimal.

    By the method of multipliers, in steps from what is there: all numbers are small, and so is rounding.
    """
    G, b, on, w, s, lam = now
    held = on & (lam > s)
    stiff = held.any(axis=1) / HOLD
    aim, push = xp.where(held, b, 0.0), xp.where(held, lam, 0.0)
    aim, push, better = aim[:, 0] - aim[:, 1], push[:, 0] - push[:, 1], w
    K = xp.linalg.inv(xp.eye(G.shape[2]) + (turned(G) * stiff[:, None, :]) @ G)
    for _ in range(REPEATS):
        better = better - times(K, better + turned_times(G, push + stiff * (times(G, better) - aim)))
        push = push + stiff * (times(G, better) - aim)
    pushes = xp.where(held, xp.maximum(_both(xp, push), 0.0), 0.0)
    good = _distance(xp, now, better, pushes) < _distance(xp, now, w, lam)
    return xp.where(good[:, None], better, w), xp.where(good[:, None, None], pushes, lam)


def _distance(xp: Any, now: Iterate, w: Array, lam: Array) -> Array:
    """The largest error of w and λ ≥ 0 among rows, gradient and products of multiplier and distance."""
    room = xp.where(now.on, now.b - _both(xp, times(now.G, w)), 0.0)
    gradient = xp.abs(w + turned_times(now.G, lam[:, 0] - lam[:, 1])).max(axis=1)
    return xp.maximum(gradient, xp.maximum(-room, xp.abs(lam * room)).max(axis=(1, 2)))


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
