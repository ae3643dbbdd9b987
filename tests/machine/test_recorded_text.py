"""Recorded text of emitted code: LLVM, C and CUDA of programs made of numbers alone.

What code computes has tests of its own; here are the choices that change no number: the order of instructions, what
goes past the caches, what waits in shared memory, how many threads a block has. A record has the number of lines of
each function, and of its stores past the caches.
"""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
import records
from synthetic import every_operation, random_program

from equipoise.machine.divisors import with_reciprocals
from equipoise.machine.emit import emit
from equipoise.machine.gpu.export import cuda_file
from equipoise.machine.gpu.layout import MemoryLayout, layout_for, stage_numbers
from equipoise.machine.gpu.source import cuda_source, gather_source, turn_source
from equipoise.machine.loops import TALL, padded
from equipoise.machine.order import batch_order, compact_order, most_alive
from equipoise.machine.program import LANES, Argument, ColumnPrograms, Output, Program
from equipoise.machine.pycall import entry_ir
from equipoise.machine.registers import Registers
from equipoise.machine.source import export
from equipoise.machine.source.functions import helpers
from equipoise.machine.target import Target, compact_slots

TARGETS = {
    "single": Target("float64", 1, 2, False, 13),
    "single, float32": Target("float32", 1, 8, True, 28),
    "SSE": Target("float64", 2, 2, False, 13),
    "AVX2": Target("float64", 4, 4, False, 13),
    "AVX2, float32": Target("float32", 8, 4, False, 13),
    "AVX-512": Target("float64", 8, 8, True, 28),
    "AVX-512, float32": Target("float32", 16, 8, True, 28),
}
LAYOUTS = (
    MemoryLayout((False, False), "strided", 64),
    MemoryLayout((True, True), "staged", 32, blocks=3),
    MemoryLayout((True, False), "spread", 32),
    MemoryLayout((False, False), "compact", 128, turned=True),
    MemoryLayout((False, True), "strided", 32, cut=20, registers=6, waiting=1000, streaming=True),
    MemoryLayout((True, True), "staged", 32, cut=20, registers=6, waiting=3),
)


def parts(text: str) -> dict[str, list[int]]:
    """Lines of each function and outside of functions, and how many of them go past the caches."""
    found, name, lines = {}, "outside", {"outside": []}
    for line in text.splitlines():
        start = re.match(r"define .*?@([\w.]+)|(?:extern|static|void|int|__global__)[^;=]*?\b(\w+)\(.*\{$", line)
        if start:
            name = start[1] or start[2]
        lines.setdefault(name, []).append(line)
        if line.startswith("}"):
            name = "outside"
    for name, own in lines.items():
        found[name] = [len(own), sum("nontemporal" in line or "__stcs" in line for line in own)]
    return found


def staged() -> Program:
    """A program in two stages that fit together: ten columns, and one matrix that is done after the first."""
    rows, columns, shared = 10, 10, 3
    groups = tuple(
        random_program(20 + k, instructions=120, sizes=(shared, right), outputs=((rows, LANES),))
        for k, right in enumerate((6, 4))
    )
    groups = tuple(replace(g, outputs=(Output("solution", (rows,), g.outputs[0].values[:rows]),)) for g in groups)
    right, done = LANES * 10, rows * columns
    first = random_program(30, instructions=400, sizes=(5,), outputs=((shared + right,), (done,)))
    whole = random_program(31, instructions=300, sizes=(5,), outputs=((2, rows, columns),))
    program = replace(whole, columns=ColumnPrograms(first, groups, 1))
    assert program.columns.fits(program)
    return program


PROGRAMS = {
    "operations": every_operation,
    "small": lambda: random_program(1, instructions=150, outputs=((5,), (3, 4))),
    "large": lambda: random_program(2, instructions=1500, outputs=((40, 9), (0,), ())),
    "staged": staged,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_recorded_text_of_code(name):
    program = PROGRAMS[name]()
    found = {f"LLVM, {kind}": parts(emit(program, target)) for kind, target in TARGETS.items()}
    found["Python's call"] = parts(entry_ir(program, TARGETS["single"]))
    plain = replace(program, columns=None)
    for dtype in ("float64", "float32"):
        # what the self-test expects is computed by NumPy, whose sines differ in the last place
        text = export.c_file(plain, dtype, export.names_of(plain))
        found[f"C, {dtype}"] = parts(text[: text.index("#ifdef EQUIPOISE_SELF_TEST")])
        text = cuda_file(plain, dtype, export.names_of(plain, "named"))
        found[f"CUDA file, {dtype}"] = parts(text[: text.index("#ifdef EQUIPOISE_SELF_TEST")])
        for k, layout in enumerate(LAYOUTS if len(program.inputs) == 2 else ()):
            source = cuda_source(plain, dtype, layout)
            found[f"CUDA, {dtype}, layout {k}"] = {
                **parts(source.text), "threads": source.threads, "shared": source.shared,
                "stage": stage_numbers(plain, layout),
            }  # fmt: skip
    records.check(f"text_{name}", found)


def test_recorded_text_of_helpers():
    found = {f"gather, {dtype}": parts(gather_source(dtype)) for dtype in ("float32", "float64")}
    found |= {f"turn, {dtype}": parts(turn_source(dtype)) for dtype in ("float32", "float64")}
    for dtype in ("float32", "float64"):
        for polynomials in (True, False):
            found[f"helpers, {dtype}, {polynomials}"] = parts(helpers(dtype, polynomials=polynomials))
    records.check("text_helpers", found)


def wide(count: int, outputs: int) -> Program:
    """A program in which `count` values wait, with so many results."""
    first = 2 + 1
    left = [k % 2 for k in range(count)] + [first + k for k in range(count)]
    right = [1] * count + [first + count - 1 - k for k in range(count)]
    code = [0] * count + [2] * count
    values = np.array([first + count + k % count for k in range(outputs)], np.int32)
    return Program(
        "wide", (Argument("x", 1), Argument("y", 1)), np.array([1.0]), np.array(code, np.uint8),
        np.array(left, np.int32), np.array(right, np.int32), (Output("out", (outputs,), values),),
    )  # fmt: skip


def test_recorded_layouts_on_a_gpu():
    """Which layout is chosen, over values that wait, results, precision, rows and shared memory."""
    found = {}
    for waits in (40, 110, 160, 230, 300, 520, 600):
        for results in (4, 100, 255, 256, 257, 400, 3000):
            program, chosen = wide(waits, results), []
            for dtype in ("float32", "float64"):
                for rows in (False, True):
                    for shared in (226 << 10, 98 << 10, 40 << 10):
                        made = layout_for(program, dtype, (rows, rows), rows, shared)
                        numbers = made.threads, made.blocks, made.cut, made.registers, made.waiting
                        chosen.append(" ".join(map(str, (made.results, *numbers))))
            found[f"{most_alive(program)} wait, {results} results"] = chosen
    records.check("gpu_layouts", found)


def test_recorded_orders():
    found = {}
    for seed in range(4):
        program = random_program(seed, instructions=300, outputs=((9,), (4,)))
        order, reciprocals = list(compact_order(program)), with_reciprocals(program)
        registers = Registers(9, [tuple({int(a), int(b)}) for a, b in zip(program.left, program.right, strict=True)])
        found[f"{seed}"] = {
            "first": order[:20], "alive": most_alive(program),
            "alive as it is": most_alive(program, range(len(program))), "counts": program.counts(),
            "names": len(registers.names),
            **{f"batch, {r} registers, {t} together": list(batch_order(program, r, t)) == order
               for r in (4, 13, 28) for t in (1, 4)},
            "with reciprocals": reciprocals.counts(), "slots": len(compact_slots(program)[0]),
        }  # fmt: skip
    found["tested states"] = [x.tolist() for x in export.test_states(random_program(3, outputs=((1,),)), "float32")]
    found["padded"] = [padded(k) for k in (0, 1, 8, 9, 33)] + [padded(3, TALL)]
    records.check("orders", found)


def test_recorded_layouts_of_rows_on_a_gpu():
    """The same over the sizes of inputs, some of which are rows, with results that are rows and that are not."""
    found = {}
    for size in (20, 50, 90, 150, 300, 700):
        plain = wide(40, 30)
        x, y = (Argument(name, size // part) for name, part in (("x", 1), ("y", 2)))
        program, chosen = replace(plain, inputs=(x, y)), []
        for rows in ((True, True), (True, False), (False, True), (False, False)):
            for result_rows in (False, True):
                for dtype in ("float32", "float64"):
                    for shared in (226 << 10, 98 << 10, 40 << 10):
                        made = layout_for(program, dtype, rows, result_rows, shared)
                        chosen.append(f"{made.results} {made.staged} {made.threads} {made.blocks}")
        found[f"{size} numbers"] = chosen
    records.check("gpu_layouts_of_rows", found)
