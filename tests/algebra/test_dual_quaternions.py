"""Dual quaternions: the laws of [QO21, App. A], and poses, twists and wrenches against 4×4 matrices, SciPy and
Pinocchio."""

from __future__ import annotations

import casadi
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.spatial.transform import Rotation

from equipoise.algebra import dual_quaternions as dq
from equipoise.algebra import rigid
from equipoise.equations.symbols import SYMBOLS
from equipoise.errors import ShapeError, StateError, UnknownNameError

pytestmark = pytest.mark.paper("Q1")
ROUNDING = dict(rtol=0, atol=1e-13)


def random(rng, *shape):
    """Any dual quaternions."""
    return dq.DQ(rng.normal(size=(*shape, 8)))


def random_pose(rng, *shape):
    turn = dq.quaternion(rng.normal(size=(*shape, 4)))
    return dq.pose(turn.normalised, rng.normal(size=(*shape, 3)))


def same(a, b, **tolerance):
    assert_allclose(a.vec8, b.vec8, **(ROUNDING | tolerance))


def same_pose(a, b, **tolerance):
    assert_allclose(a.matrix, b.matrix, **(ROUNDING | tolerance))


# --- the algebra -----------------------------------------------------------------------------------------------------


def test_the_units_multiply_as_hamilton_and_clifford_said():
    """[QO21, Eqs. (A.1), (A.15)]"""
    for square in (dq.i * dq.i, dq.j * dq.j, dq.k * dq.k, dq.i * dq.j * dq.k):
        same(square, dq.quaternion([-1, 0, 0, 0]))
    same(dq.E * dq.E, 0 * dq.E)
    same(dq.E * dq.i, dq.i * dq.E)


def test_products_are_associative_and_distributive(rng):
    a, b, c = (random(rng, 20) for _ in range(3))
    same((a * b) * c, a * (b * c))
    same(a * (b + c), a * b + a * c)
    same((a - b) * c, a * c - b * c)
    same(2 * a - 1, a + a - 1)
    same(1 - a, -(a - 1))


def test_parts_make_the_whole(rng):
    x = random(rng, 5)
    same(x.P + dq.E * x.D, x)
    same(x.re + x.im, x)
    same(dq.pure(x.im.vec6), x.im)
    same(dq.pure(x.P.vec3), x.P.im)


def test_conjugation_turns_products_round(rng):
    a, b = random(rng, 20), random(rng, 20)
    same((a * b).conj, b.conj * a.conj)
    same((a.conj + a) / 2, a.re)


def test_the_norm_of_a_product_is_the_product_of_the_norms(rng):
    """Norms are dual numbers [QO21, Def. A.17]."""
    a, b = random(rng, 20), random(rng, 20)
    same((a * b).norm, a.norm * b.norm, atol=1e-12)
    same(a.norm * a.norm, a.conj * a)
    same(a.norm * a.norm, a * a.conj)
    assert_allclose(a.P.norm.vec8[..., 0], np.linalg.norm(a.vec4, axis=-1))


def test_inverse_and_unit(rng):
    a, x = random(rng, 20), random_pose(rng, 20)
    one = 1 + 0 * a
    same(a * a.inv, one, atol=1e-12)
    same(a.inv * a, one, atol=1e-12)
    same(x.inv, x.conj)
    same(a.normalised.norm, one)
    same(a.norm * a.normalised, a)


@pytest.mark.parametrize("places", [0, 4], ids=["primary part", "dual part"])
def test_only_unit_dual_quaternions_are_poses(places, rng):
    """P P* = 1 and P D* + D P* = 0: an error of either part, in one of a batch, is refused; rounding is not."""
    x = random_pose(rng, 5)
    along = np.zeros((5, 8))
    along[:, places : places + 4] = x.vec8[:, :4]  # what changes the norm, or its dual part
    same(dq.DQ(x.vec8 + 1e-12 * along).translation, x.translation, atol=1e-9)
    wrong = x.vec8.copy()
    wrong[2] += 1e-3 * along[2]
    for read in (lambda h: h.translation, lambda h: h.matrix, dq.screw_log):
        with pytest.raises(StateError, match="only unit dual quaternions are poses"):
            read(dq.DQ(wrong))


def test_hamilton_operators_are_products(rng):
    """vec(xy) = H⁺(x) vec(y) = H⁻(y) vec(x) [QO21, Eqs. (A.6), (A.17)]."""
    x, y = random(rng, 20), random(rng, 20)
    for plus, minus, vec in ((dq.hamiplus4, dq.haminus4, "vec4"), (dq.hamiplus8, dq.haminus8, "vec8")):
        product = getattr(x * y, vec)
        assert_allclose(np.einsum("nij,nj->ni", plus(x), getattr(y, vec)), product, **ROUNDING)
        assert_allclose(np.einsum("nij,nj->ni", minus(y), getattr(x, vec)), product, **ROUNDING)


def test_conjugating_matrices(rng):
    """[QO21, Eqs. (A.7), (A.18)]"""
    x = random(rng)
    assert_allclose(dq.C4 @ x.vec4, x.conj.vec4)
    assert_allclose(dq.C8 @ x.vec8, x.conj.vec8)


def test_cross_and_dot_are_those_of_vectors(rng):
    """[QO21, Eqs. (A.8)–(A.10), (A.12)]"""
    u, w = rng.normal(size=(2, 20, 3))
    a, b = dq.pure(u), dq.pure(w)
    same(dq.cross(a, b), dq.pure(np.cross(u, w)))
    same(dq.dot(a, b), np.sum(u * w, axis=-1) * (1 + 0 * dq.E))
    assert_allclose(np.einsum("nij,nj->ni", dq.cross_matrix4(a), b.vec4), dq.cross(a, b).vec4, **ROUNDING)
    same(b * a.conj + a * b.conj, 2 * dq.dot(b, a))


def test_components_are_the_same_on_symbols(rng):
    """What the class computes on arrays, `equations` computes on symbols by the same functions."""
    x, y = casadi.SX.sym("x", 8), casadi.SX.sym("y", 8)
    xs, ys = casadi.vertsplit(x), casadi.vertsplit(y)
    outputs = [casadi.vertcat(*dq.multiply(xs, ys)), dq.left_matrix(xs, SYMBOLS), dq.right_matrix(xs[:4], SYMBOLS)]
    a, b = random(rng), random(rng)
    product, plus, minus = casadi.Function("f", [x, y], outputs)(a.vec8, b.vec8)
    assert_allclose(product.toarray()[:, 0], (a * b).vec8)
    assert_allclose(plus.toarray(), dq.hamiplus8(a))
    assert_allclose(minus.toarray(), dq.haminus4(a))


# --- rotations and poses ---------------------------------------------------------------------------------------------


def test_rotations_are_those_of_scipy(rng):
    axis = rng.normal(size=(20, 3))
    axis /= np.linalg.norm(axis, axis=-1, keepdims=True)
    angle, points = rng.uniform(-6, 6, 20), rng.normal(size=(20, 3))
    ours, theirs = dq.rotation(axis, angle), Rotation.from_rotvec(axis * angle[:, None])
    assert_allclose(ours.matrix[:, :3, :3], theirs.as_matrix(), **ROUNDING)
    assert_allclose(dq.Ad(ours, dq.pure(points)).vec3, theirs.apply(points), **ROUNDING)


def test_poses_multiply_as_matrices(rng):
    x, y = random_pose(rng, 20), random_pose(rng, 20)
    assert_allclose((x * y).matrix, x.matrix @ y.matrix, **ROUNDING)
    assert_allclose(x.conj.matrix, rigid.inverse(x.matrix), **ROUNDING)
    same(dq.pose(x.P, x.translation.vec3), x)
    same(x.P + 0.5 * dq.E * x.translation * x.P, x)
    same(dq.translation([1, 2, 3]).translation, dq.pure([1, 2, 3]))


def test_matrices_become_poses_and_come_back(rng):
    x = random_pose(rng, 200)
    half_turns = dq.rotation(np.eye(3), np.pi)  # where the trace of the rotation is −1
    for poses in (x, half_turns, x * dq.rotation([1, 0, 0], np.pi)):
        back = dq.from_matrix(poses.matrix)
        same_pose(back, poses)
        assert np.all(back.vec8[..., 0] >= 0)


def test_adjoint_moves_twists_and_wrenches_as_pinocchio(rng):
    """ξᵃ = Ad(x) ξᵇ and ζᵃ = Ad(x) ζᵇ; what differs is where each keeps its linear part."""
    pin = pytest.importorskip("pinocchio")
    for x in random_pose(rng, 5):
        X, V, F = pin.SE3(x.matrix), rng.normal(size=6), rng.normal(size=6)
        xi, zeta = dq.Ad(x, dq.twist(V)), dq.Ad(x, dq.wrench(F))
        assert_allclose(dq.twist_array(xi), X.action @ V, **ROUNDING)
        assert_allclose(zeta.vec6, X.dualAction @ F, **ROUNDING)
        assert_allclose(dq.adjoint(x) @ dq.twist(V).vec6, xi.vec6, **ROUNDING)
        assert_allclose(dq.dot(zeta, xi).D.vec4[0], F @ V, **ROUNDING)  # power is the same from every frame


# --- motion ----------------------------------------------------------------------------------------------------------


def moving(rng):
    """A frame on a smooth way: pose, mixed velocity (ṗ, ω) and their derivatives at time t."""
    w, c, d = rng.normal(size=(3, 3))
    spin = np.linalg.norm(w)

    def at(t):
        r = dq.rotation(w / spin, spin * np.sin(t))
        return dq.pose(r, c * np.cos(t) + d * t**2), -c * np.sin(t) + 2 * d * t, w * np.cos(t)

    return at


def difference(f, t, h=1e-5):
    return (f(t + h) - f(t - h)) / (2 * h)


def test_poses_move_by_half_their_twist(rng):
    """[QO21, Eqs. (A.13), (A.19), (A.20), (A.24)]"""
    at, t = moving(rng), 0.4
    x, p_dot, w = at(t)
    x_dot = difference(lambda s: at(s)[0], t)
    outer = dq.pure(w) + dq.E * (dq.pure(p_dot) + dq.cross(x.translation, dq.pure(w)))
    body = dq.Ad(x.P.conj, dq.pure(w)) + dq.E * dq.Ad(x.P.conj, dq.pure(p_dot))
    same(dq.derivative(x, outer), x_dot, atol=1e-9)
    same(dq.derivative(x, body, "body"), x_dot, atol=1e-9)
    same(dq.twist_of(x, dq.derivative(x, outer)), outer)
    same(dq.twist_of(x, dq.derivative(x, outer), "body"), body)
    same(dq.Ad(x.conj, outer), body)  # [QO21, Eq. (A.21)]


def test_rates_of_twists_change_frame_as_twists_do(rng):
    """[QO21, Eqs. (A.25), (A.27)], with the pose not dotted and the last product in frame b."""
    at, t = moving(rng), 0.4

    def twists(s):
        x, p_dot, w = at(s)
        body = dq.Ad(x.P.conj, dq.pure(w) + dq.E * dq.pure(p_dot))
        return x, dq.Ad(x, body), body

    x, _, body = twists(t)
    outer_rate, body_rate = (difference(lambda s, n=n: twists(s)[n], t) for n in (1, 2))
    same(dq.Ad(x.conj, outer_rate), body_rate, atol=1e-9)
    w_dot, p_ddot = (dq.pure(difference(lambda s, n=n: at(s)[n], t)) for n in (2, 1))
    turned_back = dq.Ad(x.P.conj, w_dot + dq.E * p_ddot)
    same(body_rate, turned_back + dq.E * dq.cross(body.D, body.P), atol=1e-9)


# --- exponential and logarithm ---------------------------------------------------------------------------------------

directions = st.tuples(*[st.floats(-1, 1)] * 3).filter(lambda u: np.linalg.norm(u) > 0.1)
lengths = st.floats(-3, 3)
small = st.integers(-300, -1).map(lambda k: 10.0**k)
angles = st.one_of(st.just(0.0), small, st.floats(0, np.pi), small.map(lambda e: np.pi - e), st.just(np.pi))


@given(directions, angles, st.tuples(lengths, lengths, lengths))
@settings(max_examples=150, deadline=None)
def test_exponentials_undo_logarithms(direction, angle, p):
    """Everywhere, and near the identity and near half turns above all."""
    x = dq.pose(dq.rotation(direction / np.linalg.norm(direction), angle), p)
    for exp, log in ((dq.exp, dq.log), (dq.screw_exp, dq.screw_log)):
        for pose in (x, -x):
            same_pose(exp(log(pose)), x)
        assert np.linalg.norm(log(x).vec3) <= np.pi / 2 + 1e-15


@given(directions, angles, st.tuples(lengths, lengths, lengths))
@settings(max_examples=150, deadline=None)
def test_logarithms_undo_exponentials(direction, angle, v):
    """Up to half turns, to the last digits."""
    half = min(angle, np.pi - 1e-6) / 2
    g = dq.pure([*(half * np.array(direction) / np.linalg.norm(direction)), *v])
    same(dq.log(dq.exp(g)), g)
    same(dq.screw_log(dq.screw_exp(g)), g)


def test_logarithm_is_the_rotation_vector_of_scipy_and_the_translation(rng):
    """[QO21, Def. A.21]"""
    x = random_pose(rng, 50)
    rotvec = Rotation.from_quat(x.vec4, scalar_first=True).as_rotvec()
    assert_allclose(dq.log(x).vec6, np.concatenate([rotvec, x.translation.vec3], axis=-1) / 2, **ROUNDING)


def test_screws_are_the_exponential_and_logarithm_of_pinocchio(rng):
    pin = pytest.importorskip("pinocchio")
    for scale in (1e-9, 1e-4, 1e-2, 0.3, 1.0, 1.7):
        V = scale * rng.normal(size=6)
        x = dq.screw_exp(0.5 * dq.twist(V))
        X = pin.exp6(pin.Motion(V))
        assert_allclose(x.matrix, X.homogeneous, **ROUNDING)
        assert_allclose(dq.twist_array(2 * dq.screw_log(x)), pin.log6(X).vector, rtol=0, atol=1e-12)


def test_the_screw_exponential_is_the_series(rng):
    g = dq.pure(rng.normal(size=(10, 6)))
    series, term = 1 + 0 * g, 1 + 0 * g
    for n in range(1, 40):
        term = term * g / n
        series = series + term
    same(dq.screw_exp(g), series)


def test_powers(rng):
    x = random_pose(rng, 20)
    for power in (dq.power, dq.screw_power):
        same_pose(power(x, 1), x)
        same_pose(power(x, 0), 1 + 0 * x)
    same(dq.power(x, 0.3).translation, 0.3 * x.translation)  # [QO21, Def. A.23]: a straight line
    same_pose(dq.screw_power(x, 0.3) * dq.screw_power(x, 0.7), x)
    assert np.abs((dq.power(x, 0.5) * dq.power(x, 0.5)).matrix - x.matrix).max() > 0.1  # no power of products


# --- batches and bad input -------------------------------------------------------------------------------------------


def test_batches_broadcast_and_are_read_only(rng):
    x, y = random(rng, 4, 1), random(rng, 3)
    product = x * y
    assert product.shape == (4, 3)
    same(product[1, 2], x[1, 0] * y[2])
    same(np.arange(3.0) * y, y * np.arange(3.0))
    assert dq.hamiplus8(product).shape == (4, 3, 8, 8)
    assert len(list(y)) == 3
    with pytest.raises(ValueError, match="read-only"):
        x.vec8[0] = 1
    single = dq.DQ(np.ones(8, np.float32))
    assert (single * single).vec8.dtype == np.float32


def test_they_show_themselves():
    assert repr(dq.translation([2, 0, 0])) == "<DQ +1 +0i +0j +0k + ε(+0 +1i +0j +0k)>"
    assert "(3,)" in repr(dq.pure(np.eye(3)))


def test_bad_input_is_named():
    with pytest.raises(ShapeError, match=r"quaternion: wanted shape \(…, 4\), got \(3,\)"):
        dq.quaternion([1, 2, 3])
    with pytest.raises(ShapeError, match=r"from_matrix: wanted shape \(…, 4, 4\)"):
        dq.from_matrix(np.eye(3))
    with pytest.raises(ShapeError, match="real numbers"):
        dq.pure(["a", "b", "c"])
    with pytest.raises(StateError, match=r"x\.normalised"):
        dq.log(dq.quaternion([2, 0, 0, 0]))
    with pytest.raises(StateError, match="no inverse"):
        _ = dq.E.inv
    with pytest.raises(UnknownNameError, match="outer, body"):
        dq.derivative(dq.i, dq.j, "world")
    assert np.isnan(dq.translation([np.nan, 0, 0]).matrix[0, 3])
