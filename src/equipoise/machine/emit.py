"""A `Program` as an LLVM module: `@run` for single states, or for blocks of W states.

Contraction to fused multiply-add and reassociation are allowed; nothing assumes that numbers are finite, so NaN
propagates.
"""

from __future__ import annotations

import numpy as np

from .body import FunctionBody
from .columns import columns_ir
from .program import Program
from .rows import load_rows_ir, store_rows_ir, stream_rows_ir
from .sincos import sincos_ir
from .target import Target, compact_slots


def emit(program: Program, target: Target) -> str:
    """The whole module."""
    columns = program.columns
    body = FunctionBody(columns.first, target, "first") if columns else FunctionBody(program, target)
    function = body.lines()
    parts = [sincos_ir(target.sincos_lanes)] if body.uses_sincos else []
    if columns:
        parts += [columns_ir(program, target)]
    if target.width > 1:
        parts += [_batch(program, target)]
    lines = "\n".join([*parts, *body.declarations, *function]).splitlines()
    declarations = {line for line in lines if line.startswith("declare")}  # parts may need the same intrinsics
    definitions = [line for line in lines if not line.startswith("declare")]
    return "\n".join([*sorted(declarations), *definitions, "!0 = !{i32 1}"])


def _batch(program: Program, target: Target) -> str:
    """`i32 @run(inputs…, outputs…, blocks, scratch, stream)`: blocks of W rows through `@body`."""
    T, W, V = target.scalar, target.width, target.value
    first = program.columns.first if program.columns else program
    stored, movers = _movers(first, target, program)
    store = _column_stores if program.columns else _stores
    arguments = [f"ptr %i{k}" for k in range(len(program.inputs))] + [f"ptr %o{k}" for k in range(len(program.outputs))]
    lines = [
        f"define i32 @run({', '.join(arguments)}, i64 %blocks, ptr %scratch, i32 %stream) nounwind {{",
        "entry:",
        "  %streaming = icmp ne i32 %stream, 0",
        f"  %values = getelementptr {V}, ptr %scratch, i64 {program.n_inputs}",
        f"  %sides = getelementptr {V}, ptr %values, i64 {len(compact_slots(first)[0]) + 1}",
        "  %empty = icmp eq i64 %blocks, 0",
        "  br i1 %empty, label %done, label %loop",
        "loop:",
        "  %b = phi i64 [0, %entry], [%b_next, %next]",
        "  %status = phi i32 [0, %entry], [%status_next, %next]",
        *_loads(program, T, W, V),
        "  %bits = call i32 @body(ptr %scratch, ptr %values)",
        "  %status_next = or i32 %status, %bits",
        "  br i1 %streaming, label %streamed, label %plain",
        "streamed:",
        *store(program, T, W, {k: f"stream{k}" if streamed else f"store{k}" for k, streamed in stored.items()}, "s"),
        "plain:",
        *store(program, T, W, {k: f"store{k}" for k in stored}, "p"),
        "next:",
        "  %b_next = add i64 %b, 1",
        "  %more = icmp ult i64 %b_next, %blocks",
        "  br i1 %more, label %loop, label %done",
        "done:",
        "  %all = phi i32 [0, %entry], [%status_next, %next]",
        "  ret i32 %all",
        "}",
    ]
    return "\n".join([*movers, *lines])


def _movers(program: Program, target: Target, whole: Program) -> tuple[dict[int, bool], list[str]]:
    """(outputs that have entries → whether they can be streamed; functions that load inputs and store outputs).

    What the first of two stages has done already goes between the columns of the whole program.
    """
    T, W = target.scalar, target.width
    strides = {1: whole.outputs[0].size} if whole.columns else {}
    stored, parts = {}, ["declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)"]
    for k, (output, table) in enumerate(zip(program.outputs, compact_slots(program)[1], strict=True)):
        if not output.size:  # nothing to store, and no table to look it up in
            continue
        padded = np.concatenate([table, np.zeros(-len(table) % W, dtype=np.int64)])
        entries = ", ".join(f"i32 {n}" for n in padded.tolist())
        parts.append(f"@table{k} = internal constant [{len(padded)} x i32] [{entries}], align 64")
        parts.append(store_rows_ir(f"store{k}", f"table{k}", output.size, W, T, strides.get(k)))
        stored[k] = target.streaming and output.size >= 4 * W
        if stored[k]:
            parts.append(stream_rows_ir(f"stream{k}", f"table{k}", output.size, W, T, strides.get(k)))
    parts += [load_rows_ir(f"load{k}", argument.size, W, T) for k, argument in enumerate(program.inputs)]
    return stored, parts


def _loads(program: Program, T: str, W: int, V: str) -> list[str]:
    """W rows of every input into the lanes of the scratch memory."""
    lines, offset = [], 0
    for k, argument in enumerate(program.inputs):
        lines += [
            f"  %skip{k} = mul i64 %b, {argument.size * W}",
            f"  %rows{k} = getelementptr {T}, ptr %i{k}, i64 %skip{k}",
            f"  %lane{k} = getelementptr {V}, ptr %scratch, i64 {offset}",
            f"  call void @load{k}(ptr %rows{k}, ptr %lane{k})",
        ]
        offset += argument.size
    return lines


def _stores(program: Program, T: str, W: int, functions: dict[int, str], tag: str) -> list[str]:
    """W rows of every output from the lanes."""
    lines = []
    for k, function in functions.items():
        lines += [
            f"  %{tag}_skip{k} = mul i64 %b, {program.outputs[k].size * W}",
            f"  %{tag}_rows{k} = getelementptr {T}, ptr %o{k}, i64 %{tag}_skip{k}",
            f"  call void @{function}(ptr %values, ptr %{tag}_rows{k})",
        ]
    return [*lines, "  br label %next"]


def _column_stores(program: Program, T: str, W: int, functions: dict[int, str], tag: str) -> list[str]:
    """Of W states: what the first stage has done; then the columns of one state after the other."""
    assert program.columns
    row, done = (output.size for output in program.columns.first.outputs)
    size = program.outputs[0].size
    lines = [
        f"  %{tag}_skip = mul i64 %b, {size * W}",
        f"  %{tag}_out = getelementptr {T}, ptr %o0, i64 %{tag}_skip",
        f"  %{tag}_done = getelementptr {T}, ptr %{tag}_out, i64 {size - done}",
        *(["  call void @store0(ptr %values, ptr %sides)"] if row else []),
        f"  call void @{functions[1]}(ptr %values, ptr %{tag}_done)",
        f"  %{tag}_kept = getelementptr {T}, ptr %sides, i64 {W * row}",
    ]
    for k in range(W):
        lines += [
            f"  %{tag}_row{k} = getelementptr {T}, ptr %sides, i64 {k * row}",
            f"  %{tag}_to{k} = getelementptr {T}, ptr %{tag}_out, i64 {k * size}",
        ]
        if functions[1].startswith("stream"):
            lines += [
                f"  call void @columns(ptr %{tag}_row{k}, ptr %{tag}_kept)",
                f"  call void @flow(ptr %{tag}_kept, ptr %{tag}_to{k})",
            ]
        else:
            lines += [f"  call void @columns(ptr %{tag}_row{k}, ptr %{tag}_to{k})"]
    return [*lines, "  br label %next"]
