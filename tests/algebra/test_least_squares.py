"""Pseudo-inverses and projectors: the conditions that define them, and SciPy."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
from numpy.testing import assert_allclose

from equipoise.algebra.least_squares import largest_singular_value, null_space_projector, pseudo_inverse


def of_rank(rng: np.random.Generator, m: int, n: int, rank: int) -> np.ndarray:
    return rng.normal(size=(m, rank)) @ rng.normal(size=(rank, n))


@pytest.mark.parametrize(("m", "n", "rank"), [(3, 5, 3), (5, 3, 3), (4, 6, 2), (3, 3, 0), (0, 4, 0)])
def test_the_conditions_of_penrose(m, n, rank, rng):
    A = of_rank(rng, m, n, rank)
    X = pseudo_inverse(A)
    for product, wanted in ((A @ X @ A, A), (X @ A @ X, X), ((A @ X).T, A @ X), ((X @ A).T, X @ A)):
        assert_allclose(product, wanted, rtol=0, atol=1e-12)


def test_damping_weighs_length_against_error(rng):
    """‖A x − b‖² + λ² ‖x‖² is ‖(A; λ 1) x − (b; 0)‖², which SciPy minimises."""
    A, b, damping = of_rank(rng, 4, 6, 2), rng.normal(size=4), 0.3
    x, *_ = scipy.linalg.lstsq(np.vstack([A, damping * np.eye(6)]), np.concatenate([b, np.zeros(6)]))
    assert_allclose(pseudo_inverse(A, damping) @ b, x, rtol=0, atol=1e-12)
    tiny = pseudo_inverse(np.diag([1.0, 1e-9, 0.0]), damping)
    assert np.linalg.norm(tiny, 2) <= 1 / (2 * damping) + 1e-15


def test_a_projector_sees_nothing_of_A_and_keeps_the_rest(rng):
    A = of_rank(rng, 4, 6, 2)
    N = null_space_projector(A)
    assert_allclose(A @ N, 0, rtol=0, atol=1e-13)
    assert_allclose(N @ N, N, rtol=0, atol=1e-14)
    assert_allclose(N, N.T, rtol=0, atol=1e-16)
    assert np.trace(N) == pytest.approx(4)
    kernel = scipy.linalg.null_space(A)
    assert_allclose(N, kernel @ kernel.T, rtol=0, atol=1e-12)


def test_rank_is_judged_against_what_was_projected():
    """1e-12 is a small number next to one, and a number like any other next to nothing."""
    A = np.array([[1e-12, 0.0]])
    assert_allclose(pseudo_inverse(A) @ A, [[1, 0], [0, 0]], atol=1e-12)
    assert_allclose(pseudo_inverse(A, scale=1.0), 0)
    assert_allclose(null_space_projector(A, scale=1.0), np.eye(2))


def test_batches_are_their_members(rng):
    A = rng.normal(size=(2, 3, 4, 6))
    scale = largest_singular_value(A)
    assert scale.shape == (2, 3)
    assert_allclose(pseudo_inverse(A, 0.1, scale=scale)[1, 2], pseudo_inverse(A[1, 2], 0.1), rtol=1e-12)
    assert_allclose(null_space_projector(A, scale=scale)[1, 2], null_space_projector(A[1, 2]), rtol=0, atol=1e-14)
    assert largest_singular_value(np.zeros((0, 3))) == 0
