"""[QO21, App. A] Dual quaternions against 4×4 matrices: row Q1."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.linalg import expm

from ..algebra import dual_quaternions as dq
from .reference import axial, cross_matrix, rate, turned
from .rows import Figure, agree

Array = np.ndarray


def algebra() -> Iterator[Figure]:
    rng = np.random.default_rng(0)
    turns, places = rng.normal(size=(2, 2, 3))
    x, y = (
        dq.pose(dq.rotation(w / np.linalg.norm(w), np.linalg.norm(w)), p) for w, p in zip(turns, places, strict=True)
    )
    X, Y = (_pose(w, p) for w, p in zip(turns, places, strict=True))
    yield agree("x as a matrix, against SciPy's rotation", x.matrix, X, 1e-12)
    yield agree("x y as matrices", (x * y).matrix, X @ Y, 1e-12)
    yield agree("x* is the inverse", x.conj.matrix, np.linalg.inv(X), 1e-12)
    yield agree("from a matrix and back", dq.from_matrix(X).matrix, X, 1e-12)
    a, b = (dq.DQ(h) for h in rng.normal(size=(2, 8)))
    wanted = _product(a.vec8, b.vec8)
    yield agree("any product, part by part [Eq. (A.16)]", (a * b).vec8, wanted, 1e-12)
    yield agree("vec₈(a b) = H⁺(a) vec₈ b [Eq. (A.17)]", dq.hamiplus8(a) @ b.vec8, wanted, 1e-12)
    yield agree("vec₈(a b) = H⁻(b) vec₈ a", dq.haminus8(b) @ a.vec8, wanted, 1e-12)
    yield agree("vec₈ a* = C₈ vec₈ a [Eq. (A.18)]", a.conj.vec8, a.vec8 * [1, -1, -1, -1, 1, -1, -1, -1], 1e-15)
    yield agree("a a⁻¹ = 1, for any a", (a * a.inv).vec8, np.eye(8)[0], 1e-11)
    yield agree("‖a‖² = a* a [Def. A.17]", (a.norm * a.norm).vec8, (a.conj * a).vec8, 1e-12)
    yield from _vectors(rng)
    yield from _exponentials(x, X, turns[0], places[0])
    yield from _twists(rng, X)


def _pose(turn: Array, p: Array) -> Array:
    X = np.eye(4)
    X[:3, :3], X[:3, 3] = turned(turn), p
    return X


def _product(a: Array, b: Array) -> Array:
    """(P + εD)(P' + εD'), quaternions as a number and a vector."""

    def times(p: Array, q: Array) -> Array:
        return np.concatenate([[p[0] * q[0] - p[1:] @ q[1:]], p[0] * q[1:] + q[0] * p[1:] + np.cross(p[1:], q[1:])])

    return np.concatenate([times(a[:4], b[:4]), times(a[:4], b[4:]) + times(a[4:], b[:4])])


def _vectors(rng: np.random.Generator) -> Iterator[Figure]:
    (u, u_d), (w, w_d) = rng.normal(size=(2, 2, 3))
    a, b = dq.pure(np.concatenate([u, u_d])), dq.pure(np.concatenate([w, w_d]))
    cross = np.concatenate([np.cross(u, w), np.cross(u, w_d) + np.cross(u_d, w)])
    yield agree("cross product of dual vectors [Eq. (A.8)]", dq.cross(a, b).vec6, cross, 1e-12)
    dot = dq.dot(a, b).vec8
    yield agree("dot product of dual vectors [Eq. (A.9)]", dot[[0, 4]], [u @ w, u @ w_d + u_d @ w], 1e-12)
    yield agree(
        "a × b as a matrix [Eq. (A.10)]", (dq.cross_matrix4(dq.pure(u)) @ dq.pure(w).vec4)[1:], np.cross(u, w), 1e-12
    )
    V, F = np.concatenate([u, u_d]), np.concatenate([w, w_d])
    power = dq.dot(dq.wrench(F), dq.twist(V)).D.vec4[0]
    yield agree("power of a wrench on a twist: f·v + τ·ω [Eq. (5.18)]", power, F @ V, 1e-12)


def _exponentials(x: dq.DQ, X: Array, turn: Array, p: Array) -> Iterator[Figure]:
    yield agree("log x = ½ φ n + ½ ε p [Def. A.21]", dq.log(x).vec6, np.concatenate([turn, p]) / 2, 1e-12)
    yield agree("exp(log x) = x [Def. A.22]", dq.exp(dq.log(x)).matrix, X, 1e-12)
    yield agree(
        "x^λ: λ of the turn, λ of the way [Def. A.23]", dq.power(x, 0.3).matrix, _pose(0.3 * turn, 0.3 * p), 1e-12
    )
    g = dq.screw_log(x)
    twist = np.zeros((4, 4))
    twist[:3, :3], twist[:3, 3] = 2 * cross_matrix(g.P.vec3), 2 * g.D.vec3
    yield agree("screw: the matrix exponential of its twist is x", expm(twist), X, 1e-11)
    half = dq.screw_power(x, 0.5).matrix
    yield agree("half a screw twice", half @ half, X, 1e-12)


def _twists(rng: np.random.Generator, X: Array) -> Iterator[Figure]:
    """A frame that moves: its twist from ẋ against that from Ẋ, in both sets of axes."""
    V = rng.normal(size=6)

    def moving(t: float) -> Array:
        return X @ expm(t * np.block([[cross_matrix(V[3:]), V[:3, None]], [np.zeros((1, 4))]]))

    x, x_dot, X_dot = dq.from_matrix(X), dq.DQ(rate(lambda t: dq.from_matrix(moving(t)).vec8)), rate(moving)
    spins = {"body": np.linalg.inv(X) @ X_dot, "outer": X_dot @ np.linalg.inv(X)}
    for axes, S in spins.items():
        wanted = np.concatenate([S[:3, 3], axial(S[:3, :3])])
        found = dq.twist_of(x, x_dot, axes)  # type: ignore[arg-type]
        yield agree(f"twist from ẋ, {axes} axes [Eq. (A.19)]", dq.twist_array(found), wanted, 1e-9)
        back = dq.derivative(x, dq.twist(wanted), axes)  # type: ignore[arg-type]
        yield agree(f"ẋ from the twist, {axes} axes [Eq. (A.13)]", back.vec8, x_dot.vec8, 1e-9)
    moved = dq.twist_array(dq.Ad(x, dq.twist(V)))
    outer = np.concatenate([spins["outer"][:3, 3], axial(spins["outer"][:3, :3])])
    yield agree("Ad(x) of the body's twist is the outer one [Eq. (A.20)]", moved, outer, 1e-9)
    yield agree("the same by its 6×6 matrix", dq.adjoint(x) @ dq.twist(V).vec6, dq.twist(outer).vec6, 1e-9)
