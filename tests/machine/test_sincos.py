"""Our own sine and cosine against the C library's, through compiled kernels of every width."""

from __future__ import annotations

import math

import casadi
import numpy as np
import pytest
from numpy.testing import assert_array_equal

import equipoise as eq
from equipoise.machine import cpu
from equipoise.machine.kernel import Kernel, object_code

NATIVE_BYTES = cpu.vector_bytes()
WIDTHS = [size for size in (16, 32, 64) if size <= NATIVE_BYTES]  # bytes of a vector register
FAR = [1e5, 1e6, 2.0**20, np.nextafter(2.0**20, 2e6), 1e15, 1e22, 1e300]


def sine_and_cosine(robot, x):
    return {"sine": casadi.sin(x), "cosine": casadi.cos(x)}


@pytest.fixture(scope="module")
def robot():
    return eq.load("planar_chain")


@pytest.fixture(scope="module")
def sincos(robot):
    """One angle per state."""
    return eq.compile(sine_and_cosine, robot, x=1)


def library(x) -> tuple[np.ndarray, np.ndarray]:
    """The C library's own; NumPy has another sine."""
    values = np.asarray(x, dtype=np.float64).tolist()
    return np.fromiter(map(math.sin, values), float), np.fromiter(map(math.cos, values), float)


def ulps(got, wanted) -> np.ndarray:
    """Distance in units of the last place of what is wanted."""
    return np.abs(got.astype(float) - wanted.astype(float)) / np.spacing(np.abs(wanted)).astype(float)


def structured() -> np.ndarray:
    """Multiples of π/4 up to 1e4 with their neighbours, tiny angles, and the ends of the range."""
    turns = np.arange(-12732, 12733) * (np.pi / 4)
    neighbours = [np.nextafter(turns, np.inf), np.nextafter(turns, -np.inf), turns * (1 + 1e-15), turns + 1e-9]
    tiny = np.concatenate([2.0 ** -np.arange(0, 1075), 5e-324 * np.arange(1, 50), [0.0]])
    ends = 1e4 * (1 - np.arange(1000) * 2.0**-53)
    return np.concatenate([turns, *neighbours, tiny, -tiny, ends, -ends])


@pytest.mark.parametrize(
    "angles",
    [
        pytest.param(lambda rng: rng.uniform(-1e4, 1e4, 1_000_000), id="all"),
        pytest.param(lambda rng: rng.uniform(-2 * np.pi, 2 * np.pi, 1_000_000), id="two turns"),
        pytest.param(lambda rng: rng.choice([-1, 1], 200_000) * 10.0 ** rng.uniform(-320, 4, 200_000), id="every size"),
        pytest.param(lambda rng: structured(), id="structured"),
    ],
)
def test_within_two_units_of_the_last_place(sincos, angles):
    x = angles(np.random.default_rng(0))
    for got, wanted in zip(sincos(x[:, None]), library(x), strict=True):
        assert ulps(got, wanted).max() <= 2


def test_single_states_have_the_bits_of_batches(sincos):
    x = np.concatenate([np.random.default_rng(1).uniform(-1e4, 1e4, 2000), structured()[::100], FAR])
    together = sincos(x[:, None])
    alone = np.array([sincos(angle) for angle in x[:, None]]).T
    assert_array_equal(alone, together)


@pytest.mark.parametrize("register", WIDTHS)
def test_every_width_gives_the_same_bits(sincos, monkeypatch, register):
    monkeypatch.setattr(cpu, "vector_bytes", lambda: register)
    narrow = Kernel(sincos.program, object_code, strict=False)
    x = np.concatenate([np.random.default_rng(2).uniform(-1e4, 1e4, 20_001), structured()[::10]])
    assert_array_equal(narrow(x[:, None]), sincos(x[:, None]))
    assert_array_equal(narrow(x[:1]), sincos(x[:1]))
    assert narrow.code("float64", batch=True).target.width == register // 8


def test_angles_gathered_from_one_state_have_the_bits_of_each_alone(robot, sincos):
    many = eq.compile(sine_and_cosine, robot, x=11)
    x = np.random.default_rng(3).uniform(-100, 100, 11)
    assert_array_equal(many(x), sincos(x[:, None]))


@pytest.mark.parametrize("sign", [1, -1])
def test_far_angles_are_those_of_the_library(sincos, sign):
    x = sign * np.array(FAR)
    for got, wanted in zip(sincos(x[:, None]), library(x), strict=True):
        assert ulps(got, wanted).max() <= 2
        assert_array_equal(got[np.abs(x) > 2.0**20], wanted[np.abs(x) > 2.0**20])


def test_between_1e4_and_the_far_angles(sincos):
    x = np.random.default_rng(4).uniform(1e4, 2.0**20, 200_000)
    for got, wanted in zip(sincos(x[:, None]), library(x), strict=True):
        assert ulps(got, wanted).max() <= 2


@pytest.mark.parametrize("bad", [np.inf, -np.inf, np.nan])
def test_no_angle_no_sine(sincos, bad):
    assert np.isnan(sincos(np.array([bad]))).all()
    assert np.isnan(sincos(np.full((9, 1), bad))).all()
    assert np.isnan(sincos(np.full((9, 1), bad, dtype=np.float32))).all()


def test_zero(sincos):
    for zero in (0.0, -0.0):
        assert sincos(np.array([zero])) == (0.0, 1.0)


@pytest.mark.parametrize("bad", [np.inf, np.nan, 1e300, 1e15])
def test_a_bad_lane_leaves_the_bits_of_the_others(robot, sincos, bad):
    many = eq.compile(sine_and_cosine, robot, x=16)
    x = np.random.default_rng(5).uniform(-10, 10, 16)
    wanted = np.array(sincos(x[:, None]))
    for lane in range(16):
        spoilt = np.where(np.arange(16) == lane, bad, x)
        for got in map(np.array, (sincos(spoilt[:, None]), many(spoilt))):
            assert_array_equal(np.delete(got, lane, axis=1), np.delete(wanted, lane, axis=1))
            assert np.isnan(got[:, lane]).all() == (not np.isfinite(bad))


def test_float32_within_one_unit_of_its_last_place(robot, sincos):
    rng = np.random.default_rng(6)
    x = np.concatenate([rng.uniform(-1e4, 1e4, 300_000), structured()[::3], [1e5, 1e6, 1e7, 1e30]]).astype(np.float32)
    for got, wanted in zip(sincos(x[:, None]), library(x), strict=True):
        assert got.dtype == np.float32
        assert ulps(got, wanted.astype(np.float32)).max() <= 1
    alone = np.array([sincos(angle) for angle in x[:500, None]]).T
    assert alone.dtype == np.float32
    assert_array_equal(alone, np.array(sincos(x[:500, None])))
