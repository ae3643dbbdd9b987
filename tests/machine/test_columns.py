"""Results in two stages: numbers of one state, then the same arithmetic for eight columns at a time."""

from __future__ import annotations

import json
from dataclasses import replace

import casadi
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import equipoise as eq
from equipoise.equations.factors import factorised, solved_columns
from equipoise.errors import CompileError, StateError
from equipoise.machine import kernel as kernels
from equipoise.machine.kernel import Kernel, object_code
from equipoise.machine.program import LANES, Argument, ColumnPrograms, Output, Program
from equipoise.machine.trace import trace, trace_columns

SX = casadi.SX
SIZES = [6, 9, 16, 21]  # columns: a single group, one in the last group, none missing, five


def limbs(n: int) -> list[int]:
    """Who carries each of n unknowns: two trunk unknowns, and three limbs on them."""
    return [-1, 0, *(1 if k % ((n - 2) // 3 + 1) == 0 else k + 1 for k in range(n - 2))]


def system(n: int) -> tuple[SX, SX, SX, SX]:
    """Symbols x and (A, B, C) of them: A positive definite and as sparse as a tree, B and C filled where A is."""
    x, parents = SX.sym("x", 3), limbs(n)
    A, B, C = SX(n, n), SX(n, n), SX(n, n)
    for i in range(n):
        A[i, i] = n + casadi.sin(x[0] + i) ** 2
        k = i
        while k >= 0:
            A[i, k] += casadi.cos(x[1] * i + k)
            A[k, i] = A[i, k]
            B[i, k], B[k, i] = casadi.sin(x[2] + i - k), x[0] * (i + k)
            C[i, k] = casadi.cos(x[2] * i) + k
            k = parents[k]
    return x, A, B, C


def staged(x: SX, A: SX, right: list[SX]) -> Program:
    """A⁻¹ times each right side, and A⁻¹, straight and in two stages."""
    factors, n = factorised(A), A.shape[0]
    columns = solved_columns(factors, right, factors.inverse(), LANES)
    program = trace("solved", {"x": x}, {"out": columns.whole}, shapes={"out": (len(right) + 1, n, n)})
    return replace(program, columns=trace_columns("solved", {"x": x}, columns, ()))


def program_of(n: int) -> Program:
    x, A, B, C = system(n)
    return staged(x, A, [B, C])


@pytest.fixture(scope="module", params=SIZES)
def solved(request) -> Kernel:
    return Kernel(program_of(request.param), object_code)


def states(count: int) -> np.ndarray:
    return np.random.default_rng(count).uniform(-2, 2, (count, 3))


def expected(n: int, x: np.ndarray) -> np.ndarray:
    """By LAPACK; no factors of ours take part."""
    symbol, *matrices = system(n)
    f = casadi.Function("f", [symbol], matrices)
    A, B, C = (np.array([np.array(m) for m in column]) for column in zip(*(f(state) for state in x), strict=True))
    return np.stack([np.linalg.solve(A, B), np.linalg.solve(A, C), np.linalg.inv(A)], axis=1)


@pytest.mark.parametrize("count", [1, 5, 8, 27])
def test_stages_solve_the_system(solved, count):
    x = states(count)
    wanted = expected(solved.program.outputs[0].shape[-1], x)
    assert_allclose(solved(x), wanted, rtol=1e-12, atol=1e-13)
    assert_allclose(solved(x[0]), wanted[0], rtol=1e-12, atol=1e-13)
    assert_allclose(solved.program.evaluate(x), wanted, rtol=1e-12, atol=1e-13)


def test_groups_leave_out_rows_that_are_zero(solved):
    columns, n = solved.program.columns, solved.program.outputs[0].shape[-1]
    assert [group.outputs[0].size for group in columns.groups] == [n] * -(-n // LANES)
    assert columns.matrices == 2
    # The last limb meets itself and the trunk, not the other limbs; a single group has all of them.
    assert columns.groups[-1].inputs[1].size < n or len(columns.groups) == 1


def test_columns_in_float32(solved):
    x = states(40).astype(np.float32)
    wanted = expected(solved.program.outputs[0].shape[-1], x.astype(np.float64))
    for result in (solved(x), np.array([solved(state) for state in x])):
        assert result.dtype == np.float32
        assert_allclose(result, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("skip", [0, 1, 5])
def test_results_past_the_caches_have_the_same_bits(solved, monkeypatch, dtype, skip):
    """From every place in a cache line, and nothing around them is touched."""
    x, shape = states(37).astype(dtype), solved.program.outputs[0].shape
    wanted, size = solved(x), 37 * int(np.prod(shape))
    monkeypatch.setattr(kernels, "_STREAM_BYTES", 0)
    memory = np.full(size + 64, np.nan, dtype)
    out = memory[skip : skip + size].reshape(37, *shape)
    assert solved(x, out=out) is out
    assert_array_equal(out, wanted)
    assert np.isnan(memory[:skip]).all()
    assert np.isnan(memory[skip + size :]).all()


def test_results_in_the_caches_touch_nothing_around_them(solved):
    x, shape = states(11), solved.program.outputs[0].shape
    size = 11 * int(np.prod(shape))
    memory = np.full(size + 20, np.nan)
    solved(x, out=memory[10:-10].reshape(11, *shape))
    assert np.isnan(memory[:10]).all()
    assert np.isnan(memory[-10:]).all()
    assert np.isfinite(memory[10:-10]).all()


def test_right_sides_of_nothing():
    """Sliding joints without gravity: no force depends on where they are."""
    x, A, *_ = system(9)
    result = Kernel(Program.from_bytes(staged(x, A, [SX(9, 9)]).to_bytes()), object_code)(states(20))
    assert_array_equal(result[:, 0], 0)
    assert_allclose(result[:, 1], expected(9, states(20))[:, 2], rtol=1e-12, atol=1e-13)


def test_three_matrices():
    x, A, B, C = system(9)
    result, wanted = Kernel(staged(x, A, [B, C, B + C]), object_code)(states(20)), expected(9, states(20))
    assert_allclose(result[:, :2], wanted[:, :2], rtol=1e-12, atol=1e-13)
    assert_allclose(result[:, 2], wanted[:, 0] + wanted[:, 1], rtol=1e-12, atol=1e-13)


def test_the_first_stage_refuses_bad_states(solved):
    x = states(12)
    x[7, 1] = np.nan
    with pytest.raises(StateError, match=r"x\[7, 1\] is nan"):
        solved(x)
    with pytest.raises(StateError, match=r"x\[1\] is nan"):
        solved(x[7])


# Files


def test_stages_come_back_from_a_file(solved):
    program = solved.program
    again = Program.from_bytes(program.to_bytes())
    assert again.to_bytes() == program.to_bytes()
    x = states(9)
    assert_array_equal(Kernel(again, object_code)(x), solved(x))


def other_stages() -> dict[str, ColumnPrograms]:
    """Stages that do not go with `program_of(9)`, each in one way."""
    columns = program_of(9).columns
    assert columns
    row, done = columns.first.outputs
    longer = Output("row", (row.size + LANES,), np.append(row.values, np.full(LANES, -1, dtype=np.int32)))
    nothing = np.zeros(0, dtype=np.int32)
    shared, zeros = columns.groups[0].inputs[0], Output("solution", (9, 1), np.full(9, -1, dtype=np.int32))
    empty = Program(
        "empty", (shared, Argument("column", 0)), np.zeros(0), nothing.astype(np.uint8), nothing, nothing, (zeros,)
    )
    larger = program_of(16).columns
    assert larger
    return {
        "of another program": larger,
        "a group missing": replace(columns, groups=columns.groups[:1]),
        "a group too many": replace(columns, groups=(*columns.groups, empty)),
        "right sides too many": replace(columns, first=replace(columns.first, outputs=(longer, done))),
        "a matrix missing": replace(columns, matrices=1),
        "no second stage": replace(columns, groups=()),
        "one result instead of two": replace(columns, first=replace(columns.first, outputs=(row,))),
    }


def test_a_file_with_other_stages_is_refused():
    program = program_of(9)
    assert Program.from_bytes(program.to_bytes()).columns
    for case, columns in other_stages().items():
        with pytest.raises(CompileError, match="sizes of its column programs do not fit"):
            pytest.fail(f"{case}: {Program.from_bytes(replace(program, columns=columns).to_bytes())}")


def test_a_damaged_stage_is_refused():
    data = program_of(9).to_bytes()
    size = int.from_bytes(data[8:16], "little")
    header = json.loads(data[16 : 16 + size])
    header["columns"][1] -= 1
    text = json.dumps(header).encode()
    with pytest.raises(CompileError, match="damaged"):
        Program.from_bytes(data[:8] + len(text).to_bytes(8, "little") + text + data[16 + size :])


# Robots


def test_forward_dynamics_of_a_robot_in_two_stages(rng):
    robot = eq.load("quadruped")
    kernel = robot.kernel("forward_dynamics_derivatives")
    assert kernel.program.columns
    assert len(kernel.program.columns.first) < 0.7 * len(kernel.program)
    q, v = (np.array(x) for x in zip(*(robot.random_state(rng) for _ in range(19)), strict=True))
    wanted = kernel.program.evaluate(q, v, v)
    scale = np.abs(wanted).max(axis=(-1, -2), keepdims=True)
    assert (np.abs(kernel(q, v, v) - wanted) <= 1e-12 * scale).all()
    assert (np.abs(kernel(q[3], v[3], v[3]) - wanted[3]) <= 1e-12 * scale[3]).all()


def test_one_group_of_columns_is_not_worth_two_stages():
    assert eq.load("arm7").kernel("forward_dynamics_derivatives").program.columns is None
