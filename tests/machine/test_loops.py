"""Loops as machine code: small functions against NumPy."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from numpy.testing import assert_allclose

from equipoise.machine import cpu
from equipoise.machine.loops import LANES, TALL, Function, optimised_object, padded

SIZES = (1, 7, 8, 9, 16, 23)


def compiled(arguments, write):
    """A Python function from `write(f)`, which says what a function of these arguments does."""
    from llvmlite import ir

    module = ir.Module("test")
    f = Function(module, "run", arguments)
    status = write(f) or 0
    f.finish(status)
    code = cpu.LoadedCode(optimised_object(module))
    types = [ctypes.c_int64 if kind == "integer" else ctypes.c_void_p for kind in arguments.values()]
    function = code.function("run", *types, release_lock=False)

    def call(*values):
        return function(*(x if isinstance(x, int) else x.ctypes.data for x in values))

    call.code = code
    return call


def roomy(x):
    """The array with room behind it, filled with numbers that must not count."""
    room = np.full(padded(len(x)) + LANES, np.pi, dtype=x.dtype)
    room[: len(x)] = x
    return room


@pytest.mark.parametrize("n", SIZES)
def test_dot_adds_up_what_lies_between(n, rng):
    def write(f):
        f["out"][0] = f.dot(f["a"], f["b"], 0, f["n"])

    run = compiled({"n": "integer", "a": "array", "b": "array", "out": "array"}, write)
    a, b, out = rng.normal(size=n), np.zeros(padded(n)), np.zeros(8)
    b[:n] = rng.normal(size=n)  # zeros behind one of the two are enough
    assert run(n, roomy(a), b, out) == 0
    assert_allclose(out[0], a @ b[:n], rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize("n", SIZES)
def test_rows_are_added_scaled_and_filled(n, rng):
    def write(f):
        n = f["n"]
        f.add(f["y"], f["x"][0], f["x"], 0, n)
        f.scale(f["z"], 3.0, 0, n)
        f.fill(f["w"], -1.5, 0, n)

    run = compiled({"n": "integer", "x": "array", "y": "array", "z": "array", "w": "array"}, write)
    x, y, z, w = (roomy(rng.normal(size=n)) for _ in range(4))
    before = x.copy(), y.copy(), z.copy(), w.copy()
    run(n, x, y, z, w)
    assert_allclose(y[:n], before[1][:n] + before[0][0] * before[0][:n], rtol=1e-15, atol=1e-15)
    assert_allclose(z[:n], 3 * before[2][:n], rtol=0)
    assert_allclose(w[:n], -1.5, rtol=0)
    for new, old in zip((x, y, z, w), before, strict=True):
        assert_allclose(new[padded(n) :], old[padded(n) :], rtol=0)  # nothing beyond the last block


def test_loops_go_up_and_down_and_do_nothing_where_empty():
    def write(f):
        at = f.variable(0)
        with f.loop(f["start"], f["stop"], down=True) as i:
            f["seen"][at.value] = i
            at.value = at.value + 1
        with f.loop(f["start"], f["stop"]) as i:
            f["seen"][at.value] = i * 10
            at.value = at.value + 1
        f["count"][0] = at.value

    run = compiled({"start": "integer", "stop": "integer", "seen": "indices", "count": "indices"}, write)
    seen, count = np.zeros(16, np.int64), np.zeros(1, np.int64)
    run(2, 5, seen, count)
    assert seen[: count[0]].tolist() == [4, 3, 2, 20, 30, 40]
    run(5, 5, seen, count)
    assert count[0] == 0


def test_conditions_choices_and_early_answers():
    def write(f):
        x = f["x"][0]
        with f.when(~(x > 0.0)):  # NaN is not either
            f.answer(7)
        small = (x < 1.0) & (x >= 0.5) | x.equals(4.0)
        f["out"][0] = f.choose(small, x * 2.0, -x)
        f["out"][1] = f.larger(f.abs(-x), 3.0)
        f["out"][2] = f.sqrt(x) / 2 - 1.0
        f["out"][3] = 1 + x

    run = compiled({"x": "array", "out": "array"}, write)
    out = np.zeros(8)
    for x, first in ((0.75, 1.5), (4.0, 8.0), (2.0, -2.0)):
        assert run(np.array([x]), out) == 0
        assert_allclose(out[:4], [first, max(x, 3.0), np.sqrt(x) / 2 - 1, 1 + x], rtol=1e-15)
    assert run(np.array([-1.0]), out) == 7
    assert run(np.array([np.nan]), out) == 7


def test_nan_is_the_larger_of_two():
    def write(f):
        f["out"][0] = f.larger(f["x"][0], f["x"][1])

    run = compiled({"x": "array", "out": "array"}, write)
    out = np.zeros(8)
    for pair in ((np.nan, 1.0), (1.0, np.nan)):
        run(np.array(pair), out)
        assert np.isnan(out[0])


@pytest.mark.parametrize("n", SIZES)
def test_the_upper_factor_is_that_of_cholesky(n, rng):
    from equipoise.control.qp.loops.guess import upper_factor
    from equipoise.control.qp.loops.workspace import Code

    def write(f):
        upper_factor(f, f["M"], f["n"], f.padded(f["n"]))

    run = compiled({"n": "integer", "M": "array"}, write)
    root = rng.normal(size=(n, n + 2))
    M = root @ root.T
    memory = np.zeros((n, padded(n)))
    memory[:, :n] = M
    assert run(n, memory) == 0
    assert_allclose(np.triu(memory[:, :n]), np.linalg.cholesky(M).T, rtol=0, atol=1e-10 * np.abs(M).max())
    memory[:, :n] = M - 2 * np.abs(M).sum() * np.eye(n)
    assert run(n, memory) == Code.NOT_CONVEX


def test_loops_can_be_left_and_conditions_turned_round():
    def write(f):
        with f.loop(0, f["n"]) as i:
            with f.when(f["x"][i] < 0.0):
                f.leave()
            with f.unless(f["x"][i] > 5.0):  # NaN comes here
                f["seen"][i] = 1
        f["seen"][f["n"]] = 7

    run = compiled({"n": "integer", "x": "array", "seen": "indices"}, write)
    seen = np.zeros(16, np.int64)
    run(6, np.array([1.0, 9.0, np.nan, 2.0, -1.0, 3.0]), seen)
    assert seen[:7].tolist() == [1, 0, 1, 1, 0, 0, 7]


def test_functions_call_each_other():
    from llvmlite import ir

    module, arguments = ir.Module("test"), {"n": "integer", "x": "array"}
    inner = Function(module, "inner", arguments | {"by": "integer"})
    with inner.loop(0, inner["n"]) as i:
        inner["x"][i] = inner["x"][i] + inner.as_real(inner["by"])
    inner.finish(3 - inner["by"])
    outer = Function(module, "outer", arguments)
    outer.finish(outer.call(inner, by=5) + outer.call(inner, by=-1))
    entry = Function(module, "entry", {"table": "indices"})
    entry.finish(entry.call_with(outer, entry["table"]))
    code = cpu.LoadedCode(optimised_object(module))
    function = code.function("entry", ctypes.c_void_p, release_lock=False)
    x = np.arange(4.0)
    table = np.array([3, x.ctypes.data])
    assert function(table.ctypes.data) == (3 - 5) + (3 + 1)
    assert x.tolist() == [4.0, 5.0, 6.0, 3.0]


@pytest.mark.parametrize("m", [1, 31, 32, 33, 100])
@pytest.mark.parametrize("n", [1, 5])
def test_products_of_matrices_and_vectors(n, m, rng):
    def write(f):
        f.times(f["to"], f["columns"], f["x"], f["n"], f["m"])

    run = compiled({"n": "integer", "m": "integer", "to": "array", "columns": "array", "x": "array"}, write)
    tall = padded(m, TALL)
    columns, x, to = np.full((n, tall), np.pi), rng.normal(size=n), np.full(tall + LANES, 9.0)
    columns[:, :m] = rng.normal(size=(n, m))
    run(n, m, to, columns, x)
    assert_allclose(to[:m], x @ columns[:, :m], rtol=1e-13, atol=1e-13)
    assert (to[tall:] == 9.0).all()


@pytest.mark.parametrize("n", SIZES)
def test_rows_are_copied(n, rng):
    run = compiled({"n": "integer", "to": "array", "x": "array"}, lambda f: f.copy(f["to"], f["x"], 0, f["n"]))
    x, to = roomy(rng.normal(size=n)), np.zeros(padded(n) + LANES)
    run(n, to, x)
    assert (to[:n] == x[:n]).all() and not to[padded(n) :].any()
