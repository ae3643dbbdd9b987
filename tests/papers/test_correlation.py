"""The coefficient of multiple correlation: its laws, and its formula written out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from equipoise.papers.qo21_models import multiple_correlation

pytestmark = pytest.mark.paper("Q11")


def by_sums(Y: np.ndarray) -> float:
    """[FCC10] term by term: G = 1 gait cycle, P protocols, F frames."""
    P, F = Y.shape
    grand = sum(Y[p, f] for p in range(P) for f in range(F)) / (P * F)
    within = total = 0.0
    for f in range(F):
        mean = sum(Y[p, f] for p in range(P)) / P
        for p in range(P):
            within += (Y[p, f] - mean) ** 2 / (F * (P - 1))
            total += (Y[p, f] - grand) ** 2 / (P * F - 1)
    return float(np.sqrt(1 - within / total))


@pytest.mark.parametrize("protocols", [2, 3, 5])
def test_it_is_the_published_formula(rng, protocols):
    wave = np.sin(np.linspace(0, 7, 60))
    Y = wave + 0.3 * rng.normal(size=(protocols, 60))
    assert_allclose(multiple_correlation(Y), by_sums(Y), rtol=1e-12)


def test_identical_waveforms_have_one(rng):
    wave = rng.normal(size=200)
    assert multiple_correlation([wave, wave]) == 1.0
    assert multiple_correlation([wave, wave, wave]) == 1.0


def test_independent_waveforms_have_nearly_none(rng):
    """For P independent waveforms 1 − within/total is 0 on average, with a spread of order 1/√F; the root of what is
    left."""
    values = [multiple_correlation(rng.normal(size=(2, 20_000))) for _ in range(20)]
    assert max(values) < 4 * 20_000**-0.25


def test_opposite_waveforms_have_none(rng):
    wave = rng.normal(size=100)
    assert multiple_correlation([wave, -wave]) == 0.0


@given(st.floats(0.1, 1e3), st.floats(-100.0, 100.0))
def test_scale_and_offset_common_to_all_do_not_matter(scale, offset):
    rng = np.random.default_rng(3)
    Y = np.sin(np.linspace(0, 9, 80)) + 0.2 * rng.normal(size=(2, 80))
    assert_allclose(multiple_correlation(scale * Y + offset), multiple_correlation(Y), rtol=1e-6)


def test_an_offset_of_one_waveform_counts(rng):
    """Unlike Pearson's: two curves of one shape at different heights are not alike."""
    wave = np.sin(np.linspace(0, 7, 300))
    alike, apart = multiple_correlation([wave, wave + 0.01]), multiple_correlation([wave, wave + 1.0])
    assert 0.9999 < alike < 1.0
    assert apart < 0.8
