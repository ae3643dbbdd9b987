"""Kernels as users call them: any shape, stride, kind, number of threads gives the same numbers, or an error that
teaches."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
import time
import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import casadi
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from support import load, random_states

import equipoise as eq
from equipoise.errors import ShapeError, StateError
from equipoise.machine import kernel as kernel_module
from equipoise.machine import pycall, store
from equipoise.machine.kernel import Kernel

SIZES = [*range(18), 63, 64, 65, 1000]
N = 1000


@pytest.fixture(scope="module")
def quadruped():
    return load("quadruped")


@pytest.fixture(scope="module")
def arm():
    return load("arm6")


@pytest.fixture(scope="module")
def states(quadruped):
    """(q, v) of a thousand states, shapes (1000, 19) and (1000, 18)."""
    return random_states(quadruped, np.random.default_rng(0), N)


@pytest.fixture(scope="module")
def bias(quadruped) -> Kernel:
    """Two inputs, 18 numbers out."""
    return quadruped.kernel("bias_force", None, "mixed")


@pytest.fixture(scope="module")
def wanted(bias, states):
    """Bias force of every state, from one call for each."""
    return np.array([bias(q, v) for q, v in zip(*states, strict=True)])


@pytest.fixture(scope="module")
def batched(bias, states):
    """The same from one call for all."""
    return bias(*states)


def fresh(kernel: Kernel) -> Kernel:
    """The same kernel before its first call."""
    return store.kernel_of(kernel.program, strict=kernel.strict)


def doubled(robot, size: int) -> Kernel:
    """x ↦ 2 x with `size` numbers, so that rows of results start anywhere in a cache line."""
    return eq.compile(lambda robot, x: 2 * x, robot, x=size)


# Batches


def test_a_batch_is_its_states(batched, wanted):
    assert_allclose(batched, wanted, rtol=1e-11, atol=1e-10)


@pytest.mark.parametrize("size", SIZES)
def test_any_number_of_states(bias, states, batched, size):
    q, v = (x[:size] for x in states)
    result = bias(q, v)
    assert result.shape == (size, 18)
    assert_array_equal(result, batched[:size])


@pytest.mark.parametrize("shape", [(1,), (1, 1), (3, 5), (2, 3, 4), (7, 1, 3), (1, 0, 2), (0,), (4, 0)])
def test_any_leading_dimensions(bias, states, batched, shape):
    count = int(np.prod(shape))
    q, v = (x[:count].reshape(*shape, x.shape[-1]) for x in states)
    assert_array_equal(bias(q, v), batched[:count].reshape(*shape, 18))


@pytest.mark.parametrize("shape", [(), (5,), (2, 3)])
@pytest.mark.parametrize(
    ("name", "ending"),
    [("mass_matrix", (18, 18)), ("gravity", (18,)), ("potential_energy", ()), ("com", (3,)), ("com_jacobian", (3, 18))],
)
def test_results_of_every_shape(quadruped, states, name, ending, shape):
    q = states[0][: int(np.prod(shape))].reshape(*shape, 19)
    assert np.shape(getattr(quadruped, name)(q)) == (*shape, *ending)


def test_one_velocity_for_all_configurations_and_the_other_way_round(bias, states):
    q, v = (x[:12] for x in states)
    assert_array_equal(bias(q, v[0]), bias(q, np.tile(v[0], (12, 1))))
    assert_array_equal(bias(q[0], v), bias(np.tile(q[0], (12, 1)), v))
    grid = bias(q[:3, None], v[None, :4])
    assert grid.shape == (3, 4, 18)
    assert_array_equal(grid[2, 3], bias(q[2:3], v[3:4])[0])


def test_several_results_come_as_a_tuple(arm):
    kernel = eq.compile(lambda robot, q: {"a": q[0], "b": q, "M": robot.mass_matrix(q)}, arm)
    q = np.random.default_rng(0).normal(size=(2, 10, 6))
    for x in (q[0, 0], q[0], q):
        a, b, M = kernel(x)
        assert_array_equal(a, x[..., 0])
        assert_array_equal(b, x)
        assert_allclose(M, arm.mass_matrix(x), rtol=1e-13, atol=1e-13)


def test_results_of_no_size(arm):
    kernel = eq.compile(lambda robot, q: {"nothing": q[6:], "first": q[:2]}, arm)
    for shape in ((), (3,), (20,)):
        nothing, first = kernel(np.ones((*shape, 6)))
        assert nothing.shape == (*shape, 0)
        assert_array_equal(first, np.ones((*shape, 2)))


def test_arguments_of_no_size(arm):
    still = arm.with_locked(list(arm.joints))
    assert_allclose(still.pose(np.zeros(0), "tool"), arm.pose(np.zeros(6), "tool"), atol=1e-15)
    assert still.pose(np.zeros((20, 0)), "tool").shape == (20, 4, 4)


# Strides and kinds


LAYOUTS = {
    "every second row": lambda x: np.repeat(x, 2, axis=0)[::2],
    "backwards": lambda x: x[::-1].copy()[::-1],
    "columns backwards": lambda x: x[:, ::-1].copy()[:, ::-1],
    "Fortran order": np.asfortranarray,
    "transposed": lambda x: x.T.copy().T,
    "columns of a wider array": lambda x: np.pad(x, ((0, 0), (3, 4)))[:, 3:-4],
    "every third column": lambda x: np.repeat(x, 3, axis=1)[:, ::3],
    "read-only": lambda x: _read_only(x.copy()),
    "not aligned": lambda x: _misaligned(x),
    "subclass": lambda x: x.view(type("Mine", (np.ndarray,), {})),
    "matrix": lambda x: x.view(np.recarray),
    "big endian": lambda x: x.astype(">f8"),
    "long double": lambda x: x.astype(np.longdouble),
    "lists": lambda x: x.tolist(),
}


def _read_only(x: np.ndarray) -> np.ndarray:
    x.flags.writeable = False
    return x


def _misaligned(x: np.ndarray) -> np.ndarray:
    result = np.frombuffer(b"\0" + x.tobytes(), dtype=x.dtype, offset=1).reshape(x.shape)
    assert not result.flags.aligned
    return result


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("count", [3, 50])
def test_any_layout_of_a_batch(bias, states, batched, layout, count):
    q, v = (LAYOUTS[layout](x[:count]) for x in states)
    result = bias(q, v)
    assert_array_equal(result, batched[:count])
    assert type(result) is np.ndarray


@pytest.mark.parametrize("layout", LAYOUTS)
def test_any_layout_of_a_state(bias, states, wanted, layout):
    q, v = (LAYOUTS[layout](x[4:5]) for x in states)
    result = bias(q[0], v[0])
    assert_array_equal(result, wanted[4])
    assert type(result) is np.ndarray


def test_states_in_the_columns_of_an_array(bias, states, wanted):
    q, v = (np.asfortranarray(x[:9]) for x in states)
    for k in range(9):
        assert not q[k].flags.c_contiguous
        assert_array_equal(bias(q[k], v[k]), wanted[k])


@pytest.mark.parametrize("kind", [int, np.int8, np.uint16, np.int64, bool, np.float16])
def test_whole_numbers_are_numbers(arm, kind):
    q = np.array([1, 0, 1, 1, 0, 1], dtype=kind)
    result = arm.gravity(q)
    assert result.dtype == np.float64
    assert_array_equal(result, arm.gravity(q.astype(float)))
    assert_array_equal(arm.gravity([q] * 9), arm.gravity(np.tile(q.astype(float), (9, 1))))


def test_float32_and_float64_together_are_float64(bias, states):
    q, v = (x[:20] for x in states)
    narrow = v.astype(np.float32)
    assert bias(q, narrow).dtype == np.float64
    assert_array_equal(bias(q, narrow), bias(q, narrow.astype(float)))
    assert_array_equal(bias(q[0], narrow[0]), bias(q[0], narrow[0].astype(float)))


@pytest.mark.parametrize("count", [None, 1, 5, 16, 17, 100])
def test_float32_in_float32_out(quadruped, states, count):
    q, v = (x[0] if count is None else x[:count] for x in states)
    narrow = [x.astype(np.float32) for x in (q, v)]
    for name, scale in (("bias_force", 300.0), ("coriolis_matrix", 30.0)):
        result = getattr(quadruped, name)(*narrow)
        right = getattr(quadruped, name)(*(x.astype(float) for x in narrow))
        assert result.dtype == np.float32
        assert_allclose(result, right, rtol=0, atol=2e-5 * scale)


def test_a_number_is_an_array_of_one(arm):
    kernel = eq.compile(lambda robot, q, s: s * q, arm, s=1)
    q = np.arange(6.0)
    assert_array_equal(kernel(q, 2.0), 2 * q)
    assert_array_equal(kernel(q, np.float64(2)), 2 * q)
    assert_array_equal(kernel(np.tile(q, (9, 1)), 2), np.tile(2 * q, (9, 1)))


# out=


@pytest.mark.parametrize("count", [None, 3, 16, 50])
def test_out_is_filled_and_returned(bias, states, count):
    q, v = (x[0] if count is None else x[:count] for x in states)
    shape = q.shape[:-1]
    spacious = np.full((*shape, 40), 7.0)
    for out in (
        np.empty((*shape, 18)),
        np.empty((*shape, 18), order="F"),
        spacious[..., 2:38:2],
        spacious[..., 37:1:-2],
    ):
        assert bias(q, v, out=out) is out
        assert_array_equal(out, bias(q, v))
    assert_array_equal(spacious[..., [0, 1, 38, 39]], np.full((*shape, 4), 7.0))


def test_out_that_is_not_aligned(quadruped, states):
    q = np.tile(states[0], (4, 1))
    bytes_wanted = len(q) * 18 * 18 * 8
    assert bytes_wanted > kernel_module._STREAM_BYTES
    out = np.zeros(bytes_wanted + 1, np.uint8)[1:].view(np.float64).reshape(-1, 18, 18)
    assert out.flags.c_contiguous
    assert not out.flags.aligned
    assert_array_equal(quadruped.mass_matrix(q, out=out), quadruped.mass_matrix(q))


@pytest.mark.parametrize("count", [None, 5, 20])
def test_out_may_be_an_input(quadruped, states, count):
    q, v = (x[0] if count is None else x[:count] for x in states)
    tau = np.random.default_rng(1).normal(size=v.shape)
    right = quadruped.forward_dynamics(q, v, tau)
    assert_array_equal(quadruped.forward_dynamics(q, v, tau, out=tau), right)
    both = np.zeros((*v.shape[:-1], 30))
    both[..., :18] = v
    right = quadruped.bias_force(q, both[..., :18])
    assert_array_equal(quadruped.bias_force(q, both[..., :18], out=both[..., 6:24]), right)


def test_out_in_float32(bias, states):
    q, v = (x[:20].astype(np.float32) for x in states)
    out = np.empty((20, 18), np.float32)
    assert bias(q, v, out=out) is out
    assert_array_equal(out, bias(q, v))


@pytest.mark.parametrize(
    ("out", "got"),
    [
        (np.empty((5, 17)), r"float64 array of shape \(5, 17\)"),
        (np.empty((18, 5)), r"float64 array of shape \(18, 5\)"),
        (np.empty(18), r"float64 array of shape \(18,\)"),
        (np.empty((5, 18), np.float32), "float32 array"),
        (np.empty((5, 18), int), "int64 array"),
        (np.empty((5, 18), ">f8"), ">f8 array"),
        ([[0.0] * 18] * 5, "list"),
        (_read_only(np.empty((5, 18))), "read-only float64 array"),
    ],
)
def test_out_of_another_shape_or_kind(bias, states, out, got):
    with pytest.raises(
        ShapeError, match=rf"bias_force: out must be a writable float64 array of shape \(5, 18\), got .*{got}"
    ):
        bias(*(x[:5] for x in states), out=out)


def test_out_is_for_one_result(arm):
    kernel = eq.compile(lambda robot, q: {"a": q, "b": -q}, arm)
    with pytest.raises(ShapeError, match="out= is for one result; this kernel has 2"):
        kernel(np.zeros(6), out=np.zeros(6))


# Streaming past the caches


def test_a_large_batch_has_the_bits_of_small_ones(quadruped, states):
    q = np.tile(states[0], (4, 1))
    result = quadruped.mass_matrix(q)
    assert result.nbytes > kernel_module._STREAM_BYTES
    assert_array_equal(result, np.tile(quadruped.mass_matrix(states[0]), (4, 1, 1)))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("size", [31, 32, 33, 39, 47, 63, 64, 65, 77, 100])
def test_rows_of_any_length_from_any_address(arm, monkeypatch, dtype, size):
    monkeypatch.setattr(kernel_module, "_STREAM_BYTES", 0)
    kernel = doubled(arm, size)
    for count in (16, 17, 35):
        x = np.random.default_rng(size).normal(size=(count, size)).astype(dtype)
        for offset in range(0, 17, 1 if count == 17 else 5):
            memory = np.full(count * size + 40, 7.0, dtype)
            out = memory[offset : offset + count * size].reshape(count, size)
            assert_array_equal(kernel(x, out=out), 2 * x)
            assert (memory[:offset] == 7).all()
            assert (memory[offset + count * size :] == 7).all()


# Threads


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_the_number_of_threads_does_not_change_a_bit(quadruped, states, dtype):
    q, v = (np.tile(x, (3, 1))[:2999].astype(dtype) for x in states)
    results = []
    for count in (1, 2, 4):
        with eq.limit_threads(count):
            results.append((quadruped.bias_force(q, v), quadruped.mass_matrix(q)))
    for other in results[1:]:
        assert_array_equal(other[0], results[0][0])
        assert_array_equal(other[1], results[0][1])


def test_the_limit_holds_inside_its_block_only():
    from equipoise.machine.threads import thread_count

    before = thread_count()
    with eq.limit_threads(3):
        assert thread_count() == 3
        with eq.limit_threads(1):
            assert thread_count() == 1
        assert thread_count() == 3
    with pytest.raises(KeyError), eq.limit_threads(7):
        raise KeyError
    assert thread_count() == before


def test_many_threads_on_one_kernel(bias, states, wanted, batched):
    q, v = states

    def work(seed: int) -> bool:
        rng = np.random.default_rng(seed)
        good = True
        for _ in range(60):
            k, first, count = rng.integers(N), rng.integers(N), rng.integers(1, 200)
            good &= bool((bias(q[k], v[k]) == wanted[k]).all())
            some = slice(first, first + count)
            good &= bool((bias(q[some], v[some]) == batched[some]).all())
        return good

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(16)))


def test_many_threads_at_the_first_call(bias, states, wanted):
    q, v = states
    with ThreadPoolExecutor(8) as pool:
        for _ in range(15):
            kernel, start = fresh(bias), threading.Barrier(8)

            def work(k: int, kernel=kernel, start=start) -> bool:
                start.wait()
                return all((kernel(q[n], v[n]) == wanted[n]).all() for n in range(k, 100, 8))

            assert all(pool.map(work, range(8)))


def test_code_is_never_replaced(bias):
    """Another thread may be in it: whoever comes second takes what the first one made."""
    made = []

    def objects(program, target):
        if not made:
            made.append(None)
            made[0] = kernel.code("float64", batch=False)  # as if another thread had been quicker
        return store.cached_object(program, target)

    kernel = Kernel(bias.program, objects)
    assert kernel.code("float64", batch=False) is made[0]
    assert kernel.code("float64", batch=False) is made[0]


def test_other_python_threads_go_on_during_a_batch(arm):
    def long(robot, x):
        for _ in range(1500):
            x = casadi.sin(x + 1)
        return x

    kernel, x = eq.compile(long, arm, x=1), np.zeros((200_000, 1))
    kernel(x[:100])
    longest = 0.0
    with eq.limit_threads(1), ThreadPoolExecutor(1) as pool:
        start = last = time.perf_counter()
        future = pool.submit(kernel, x)
        while not future.done():
            now = time.perf_counter()
            longest, last = max(longest, now - last), now
        duration = time.perf_counter() - start
    assert duration > 0.05
    assert longest < duration / 2


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_has_threads_of_its_own():
    script = """
import os, signal
import numpy as np
import equipoise as eq

robot = eq.load("arm6")
q = np.random.default_rng(0).normal(size=(5000, 6))
with eq.limit_threads(3):
    before = robot.mass_matrix(q)
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        os._exit(0 if (robot.mass_matrix(q) == before).all() else 1)
    _, status = os.waitpid(child, 0)
raise SystemExit(status)
"""
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


# The short way into a kernel


@pytest.fixture
def without_short_way(monkeypatch):
    monkeypatch.setattr(pycall, "available", lambda: False)


def test_the_general_way_gives_the_same_bits(bias, states, wanted, without_short_way):
    kernel = fresh(bias)
    q, v = states
    assert kernel._fast(q[0], v[0]) is None  # the first call only compiles
    assert kernel._fast(q[0], v[0]) is None
    for k in range(50):
        assert_array_equal(kernel(q[k], v[k]), wanted[k])
    with pytest.raises(StateError):
        kernel(np.full(19, np.nan), v[0])


def test_several_results_by_the_general_way(arm, without_short_way):
    kernel = eq.compile(lambda robot, q: {"a": q, "b": -q}, arm)
    a, b = kernel(np.arange(6.0))
    assert_array_equal(a, -b)


@pytest.fixture(scope="module")
def short_way(bias, states):
    """The entry point itself; None where it declines."""
    bias(states[0][0], states[1][0])
    if not pycall.available():
        pytest.skip("this interpreter has no short way")
    return bias._fast


def test_the_short_way_takes_plain_states(short_way, states, wanted):
    result = short_way(states[0][3], states[1][3])
    assert_array_equal(result, wanted[3])
    assert type(result) is np.ndarray
    assert result.flags.owndata
    assert result.flags.writeable


def declined(q: np.ndarray, v: np.ndarray) -> dict[str, tuple]:
    """What the short way leaves to the general one."""
    off = q.copy()
    off[3:7] *= 1.1
    return {
        "too few": (q,),
        "too many": (q, v, v),
        "none": (),
        "lists": (q.tolist(), v.tolist()),
        "nothing": (None, None),
        "text": ("q", "v"),
        "batch": (q[None], v[None]),
        "number": (q, np.array(1.0)),
        "short": (q[:-1], v),
        "long": (q, q),
        "float32": (q.astype(np.float32), v),
        "whole numbers": (q, v.astype(int)),
        "big endian": (q.astype(">f8"), v),
        "stride": (np.repeat(q, 2)[::2], v),
        "backwards": (q, v[::-1]),
        "not aligned": (_misaligned(q), v),
        "subclass": (q.view(np.recarray), v),
        "not finite": (np.where(np.arange(19) == 8, np.inf, q), v),
        "not unit": (off, v),
    }


def test_the_short_way_declines_all_else(short_way, states):
    for what, arrays in declined(states[0][0], states[1][0]).items():
        assert short_way(*arrays) is None, what


def test_no_reference_is_kept_or_lost(short_way, states):
    q, v = states[0][0].copy(), states[1][0].copy()
    cases = [(q, v), *declined(q, v).values()]
    watched = [None, np.ndarray, np.dtype(float), *(x for arrays in cases for x in arrays)]
    before = [sys.getrefcount(x) for x in watched]
    for arrays in cases:
        for _ in range(2000):
            result = short_way(*arrays)
        if result is not None:
            assert sys.getrefcount(result) == 2
        result = None
    after = [sys.getrefcount(x) for x in watched]
    assert np.abs(np.subtract(after, before)).max() < 100


@pytest.mark.parametrize("case", ["plain", "not finite", "several"])
def test_no_memory_is_kept(arm, bias, short_way, states, case):
    q, v = states[0][0], states[1][0]
    call, arrays = short_way, (q, v) if case == "plain" else declined(q, v).get(case, ())
    if case == "several":
        kernel = eq.compile(lambda robot, q: {"a": q, "b": -q}, arm)
        kernel(np.zeros(6))
        call, arrays = kernel, (np.zeros(6),)
    call(*arrays)
    gc.collect()
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        for _ in range(100_000):
            call(*arrays)
        gc.collect()
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert after - before < 50_000


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_the_process_does_not_grow(bias, states):
    def resident() -> int:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * 4096

    q, v = (x[0] for x in states)
    bad = np.full_like(v, np.nan)

    def work() -> None:
        for _ in range(20_000):
            bias(q, v)
        for _ in range(300):
            bias(states[0][:65], states[1][:65])
            with pytest.raises(StateError):
                bias(q, bad)

    work()
    before = resident()
    for _ in range(4):
        work()
    assert resident() - before < 10_000_000


# Errors


def test_wrong_number_of_arrays(bias, states):
    with pytest.raises(ShapeError, match=r"bias_force takes 2 arrays \(q, v\), got 1"):
        bias(states[0])
    with pytest.raises(ShapeError, match="got 3"):
        bias(states[0][0], states[1][0], states[1][0])
    with pytest.raises(ShapeError, match="got 0"):
        bias()


@pytest.mark.parametrize("count", [None, 4])
def test_wrong_length(quadruped, states, count):
    q, v = (x[0] if count is None else x[:count] for x in states)
    with pytest.raises(ShapeError, match=r"mass_matrix: q must have shape \(…, 19\), got \((4, )?18,?\)"):
        quadruped.mass_matrix(v)
    with pytest.raises(ShapeError, match=r"bias_force: v must have shape \(…, 18\), got \(\)"):
        quadruped.bias_force(q, 3.0)
    joints_only = np.zeros_like(v)[..., 6:]
    with pytest.raises(ShapeError, match=r"tau must have shape \(…, 18\), got \((4, )?12,?\).*six zeros before"):
        quadruped.forward_dynamics(q, v, joints_only)


def test_leading_dimensions_that_do_not_go_together(bias, states):
    q, v = states
    with pytest.raises(ShapeError, match=r"leading dimensions do not go together: q \(3, 19\), v \(4, 18\)"):
        bias(q[:3], v[:4])


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_state_that_is_not_finite_is_named(bias, states, bad, dtype):
    q, v = (x[:40].astype(dtype) for x in states)
    for which, name, size in ((0, "q", 19), (1, "v", 18)):
        for place in range(size):
            arrays = [q[0].copy(), v[0].copy()]
            arrays[which][place] = bad
            with pytest.raises(
                StateError, match=rf"bias_force: {name}\[{place}\] is {bad}; every number must be finite"
            ):
                bias(*arrays)
        for row in (0, 7, 8, 15, 16, 38, 39):
            arrays = [q.copy(), v.copy()]
            arrays[which][row, 5] = bad
            with pytest.raises(StateError, match=rf"bias_force: {name}\[{row}, 5\] is {bad}"):
                bias(*arrays)


def test_all_that_is_not_finite_is_counted(bias, states):
    q, v = states[0][:5], states[1][:5].copy()
    v[2, 3] = v[2, 4] = v[4, 0] = np.nan
    with pytest.raises(StateError, match=r"v\[2, 3\] is nan.*\(3 are not\)"):
        bias(q, v)


def test_the_place_is_that_in_the_users_array(bias, states):
    q, v = states[0][:6].reshape(2, 3, 19), states[1][0].copy()
    v[7] = np.inf
    with pytest.raises(StateError, match=r"v\[7\] is inf"):
        bias(q, v)
    q = q.copy()
    q[1, 2, 0] = np.nan
    with pytest.raises(StateError, match=r"q\[1, 2, 0\] is nan"):
        bias(q, states[1][0])


@pytest.mark.parametrize("factor", [1 + 1.2e-6, 1 - 1.2e-6, 1.01, 0.0, 2.0, 1e200])
@pytest.mark.filterwarnings("error")
def test_a_quaternion_of_another_length_is_named(quadruped, states, factor):
    q = states[0][:20].copy()
    q[0, 3:7] *= factor
    with pytest.raises(
        StateError, match=r"mass_matrix: the quaternion q\[3:7\] has length .* instead of 1.*\(w, x, y, z\)"
    ):
        quadruped.mass_matrix(q[0])
    with pytest.raises(StateError, match=r"the quaternion q\[0, 3:7\] has length"):
        quadruped.mass_matrix(q)
    with pytest.raises(StateError, match=r"the quaternion q\[13, 3:7\] has length"):
        quadruped.mass_matrix(np.roll(q, 13, axis=0))


@pytest.mark.parametrize("factor", [1 + 0.9e-6, 1 - 0.9e-6, -1.0])
def test_a_quaternion_nearly_of_unit_length_is_the_same_rotation(quadruped, states, factor):
    q = states[0][:20].copy()
    scaled = q.copy()
    scaled[:, 3:7] *= factor
    assert_allclose(quadruped.pose(scaled, "front_left_foot"), quadruped.pose(q, "front_left_foot"), rtol=0, atol=1e-14)
    assert_allclose(quadruped.pose(scaled[0], "trunk"), quadruped.pose(q[0], "trunk"), rtol=0, atol=1e-15)
    after = quadruped.integrate(scaled, states[1][:20], 0.01)
    assert_allclose(np.linalg.norm(after[:, 3:7], axis=1), 1.0, rtol=1e-15)


def test_float32_quaternions_are_of_unit_length_to_their_own_rounding(quadruped, states):
    assert quadruped.mass_matrix(states[0].astype(np.float32)).dtype == np.float32


@pytest.mark.parametrize(
    "bad",
    [
        np.zeros(6, complex),
        "zeros",
        ["a"] * 6,
        None,
        [None] * 6,
        np.array([object()] * 6),
        {"q": 1},
        [[0.0] * 6, [0.0] * 5],
        np.zeros(6, "M8[s]"),
        np.array([b"1"] * 6),
        [10**400] * 6,
    ],
    ids=lambda bad: type(bad).__name__,
)
def test_what_is_no_array_of_numbers(arm, bad):
    with pytest.raises(ShapeError, match="gravity: q is not an array of real numbers"):
        arm.gravity(bad)
    with pytest.raises(ShapeError, match="bias_force: v is not an array of real numbers"):
        arm.bias_force(np.zeros(6), bad)


def test_wrenches(quadruped, states):
    q, v = (x[0] for x in states)
    a = np.zeros(18)
    wrench = np.array([1.0, 2, 3, 4, 5, 6])
    J = quadruped.jacobian(q, "trunk")
    right = quadruped.inverse_dynamics(q, v, a) - J.T @ wrench
    assert_allclose(quadruped.inverse_dynamics(q, v, a, {"trunk": wrench}), right, rtol=1e-10, atol=1e-9)
    many = quadruped.inverse_dynamics(q, v, a, {"trunk": np.tile(wrench, (9, 1))})
    assert_allclose(many, np.tile(right, (9, 1)), rtol=1e-10, atol=1e-9)
    with pytest.raises(ShapeError, match=r"the wrench on 'trunk' must have shape \(…, 6\)"):
        quadruped.inverse_dynamics(q, v, a, {"trunk": wrench[:3]})
    with pytest.raises(StateError, match=r"wrench0\[4\] is nan"):
        quadruped.inverse_dynamics(q, v, a, {"trunk": np.where(np.arange(6) == 4, np.nan, wrench)})
    with pytest.raises(eq.UnknownNameError, match=r"no frame named 'trunc'. Did you mean 'trunk'\?"):
        quadruped.inverse_dynamics(q, v, a, {"trunc": wrench})


def test_users_functions_take_what_is_not_finite(arm):
    kernel = eq.compile(lambda robot, v: 2 * v, arm)
    v = np.array([1.0, np.nan, np.inf, -np.inf, 0.0, 3.0])
    assert_array_equal(kernel(v), 2 * v)
    assert_array_equal(kernel(np.tile(v, (9, 1))), np.tile(2 * v, (9, 1)))


@pytest.mark.parametrize("place", [0, 1500, 4095])
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_a_bad_state_is_noticed_in_whichever_part_of_a_batch_it_lies(threads, place):
    """Parts are taken by threads as they come: a good part after a bad one must not cover it up."""
    robot = eq.load("quadruped")
    q = np.tile(robot.standing(), (4096, 1))
    v = np.zeros((4096, robot.nv))
    v[place, 3] = np.nan
    with eq.limit_threads(threads), pytest.raises(StateError, match=rf"v\[{place}, 3\] is nan"):
        robot.bias_force(q, v)
