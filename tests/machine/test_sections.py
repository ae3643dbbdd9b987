"""Batches of every register width: sections over several blocks, results past the caches, constants, order."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from synthetic import random_program

import equipoise as eq
from equipoise.machine import cpu, emit, sources
from equipoise.machine import kernel as kernel_module
from equipoise.machine.constants import ConstantTable
from equipoise.machine.divisors import with_reciprocals
from equipoise.machine.kernel import Kernel, object_code
from equipoise.machine.order import batch_order, compact_order, most_alive
from equipoise.machine.program import CODES, Argument, Output, Program
from equipoise.machine.registers import Registers
from equipoise.machine.sections import SECTION, SectionedBody
from equipoise.machine.sources import reached

REGISTERS = [size for size in (16, 32, 64) if size <= cpu.vector_bytes()]  # bytes


@pytest.fixture(params=REGISTERS)
def register(request, monkeypatch):
    monkeypatch.setattr(cpu, "vector_bytes", lambda: request.param)
    return request.param


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_any_number_of_blocks_through_several_sections(register, dtype):
    """Groups of blocks that are full, not full, and followed by a rest; two results; each state as alone."""
    program = random_program(3, instructions=3 * SECTION, outputs=((41,), (3, 5)))
    target = cpu.target_for(dtype, batch=True)
    body = SectionedBody(program, target)
    body.lines()
    assert body.count == (1 if target.together == 1 else 1 + len(body.order) // SECTION)
    kernel = Kernel(program, object_code)
    x, y = (np.random.default_rng(k).normal(size=(9 * target.width + 1, n)).astype(dtype) for k, n in ((0, 7), (1, 6)))
    alone = [np.stack(values) for values in zip(*(kernel(*pair) for pair in zip(x, y, strict=True)), strict=True)]
    tolerance = 1e-12 if dtype == "float64" else 1e-4  # other contractions, hundreds of instructions deep
    for count in range(1, len(x) + 1):
        for got, wanted in zip(kernel(x[:count], y[:count]), alone, strict=True):
            assert_allclose(got, wanted[:count], rtol=0, atol=tolerance * np.abs(wanted).max())


def test_a_bad_state_in_any_block_is_seen(register):
    program = random_program(4, instructions=3 * SECTION, outputs=((8,),))
    kernel = Kernel(program, object_code, strict=False)
    width = cpu.target_for("float64", batch=True).width
    x, y = np.full((6 * width, 7), 0.3), np.full((6 * width, 6), -0.2)
    for place in (0, width, 4 * width - 1, 4 * width, 6 * width - 1):
        spoilt = x.copy()
        spoilt[place, 2] = np.nan
        with pytest.raises(eq.errors.StateError, match=rf"x0\[{place}, 2\] is nan"):
            Kernel(program, kernel._objects)(spoilt, y)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("size", [64, 65, 67, 77, 100])
def test_rows_past_the_caches_from_any_address(register, monkeypatch, dtype, size):
    monkeypatch.setattr(kernel_module, "_STREAM_BYTES", 0)
    kernel = Kernel(_copied_backwards(size), object_code)
    for count in (16, 17, 70):
        x = np.random.default_rng(size).normal(size=(count, size)).astype(dtype)
        memory = np.full(count * size + 64, 7.0, dtype)
        line = -memory.ctypes.data % 64 // memory.itemsize
        for offset in (line, line + 1, line + 5, line + 32 // memory.itemsize):
            memory[:] = 7.0
            out = memory[offset : offset + count * size].reshape(count, size)
            assert_array_equal(kernel(x, out=out), x[:, ::-1])
            assert (memory[:offset] == 7).all()
            assert (memory[offset + count * size :] == 7).all()


def _copied_backwards(size: int) -> Program:
    none = np.array([], np.int32)
    values = np.arange(size, dtype=np.int32)[::-1].copy()
    return Program(
        "backwards", (Argument("x", size),), np.array([]), none.astype(np.uint8), none, none,
        (Output("out", (size,), values),),
    )  # fmt: skip


def test_constants_are_exact_in_both_precisions():
    table = ConstantTable("float")
    assert table.place(0.1) == table.place(float(np.float32(0.1))) == 0
    assert table.place(-0.0) != table.place(0.0)
    table = ConstantTable("double")
    assert table.place(0.1) != table.place(float(np.float32(0.1)))
    assert table.definitions("f")[0].count("double") == 3  # the type, and two numbers
    assert ConstantTable("double").definitions("f") == []


@pytest.mark.parametrize("together", [1, 4])
def test_the_order_of_batches_keeps_operands_first_and_fewer_waiting(together):
    program = eq.load("quadruped").kernel("inverse_dynamics", None, "mixed").program
    order = batch_order(program, 13, together)
    assert list(order) == list(compact_order(program))
    assert 2 * most_alive(program, order) <= most_alive(program, range(len(program)))
    at = {program.first_instruction + k: n for n, k in enumerate(order)}
    for n, k in enumerate(order):
        assert all(at.get(x, -1) < n for x in (int(program.left[k]), int(program.right[k])))
    chain = eq.load("arm7").kernel("mass_matrix", None, "mixed").program  # nothing to gain on a chain
    assert list(batch_order(chain, 28, together)) == list(range(len(chain)))


def test_registers_are_cleared_of_what_is_used_later():
    registers = Registers(4, [[], [], [0], [1], [0]])
    registers.hold(0, "a", 0)
    registers.hold(1, "b", 1)
    assert registers.clear(2) == [(0, "a"), (1, "b")]
    assert registers.names == {}
    registers.hold(0, "a", 2)
    registers.hold(1, "b", 2)
    assert registers.clear(4) == [(0, "a")]  # the last use of the other was before


def test_every_file_that_writes_machine_code_counts_for_the_cache():
    """What `emit` and `kernel` import from the machine is among the sources that name machine code."""
    folder, seen, front = Path(emit.__file__).parent, {"store"}, ["emit", "kernel"]
    while front:
        name = front.pop()
        if name in seen or not (path := folder / f"{name}.py").is_file():
            continue
        seen.add(name)
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.level == 1:
                front += [node.module] if node.module else [alias.name for alias in node.names]
    without_code = {"buffers", "store", "threads"}  # memory, files and threads: no instructions
    read = {module for module, _ in reached(frozenset(["equipoise.machine.kernel:object_code"]), sources._files())}
    assert {f"equipoise.machine.{name}" for name in seen - without_code} <= read
    assert {"batch", "sections", "constants", "order"} <= seen


def test_divisors_with_several_dividends_are_inverted_once():
    program = eq.load("quadruped").kernel("forward_dynamics", None, "mixed").program
    made = with_reciprocals(program)
    assert made._problem() is None
    divisors = program.right[program.code == CODES["div"]]
    assert made.counts()["div"] == len(np.unique(divisors)) < len(divisors) / 4
    assert made.counts()["mul"] > program.counts()["mul"]
    rng = np.random.default_rng(8)
    x = [rng.normal(size=(5, argument.size)) for argument in program.inputs]
    assert_allclose(made.evaluate(*x), program.evaluate(*x), rtol=1e-9)  # of some thousand instructions
    alone = eq.load("arm6").kernel("inverse_dynamics", None, "mixed").program
    assert with_reciprocals(alone) is alone  # nothing to invert
