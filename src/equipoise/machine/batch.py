"""Emits `@run` for batches: loads rows of the user's arrays into lanes, runs the sections, stores lanes as rows.

A few blocks of W states are processed together: all are loaded, then each section runs on all of them, then all are
stored.
"""

from __future__ import annotations

from collections.abc import Iterator

from .program import Program
from .rows import load_rows_ir, store_rows_ir, stream_rows_ir, table_ir
from .sections import SectionedBody
from .target import Target, compact_slots


class BatchRun:
    """Writes `i32 @run(inputs…, outputs…, blocks, scratch, stream)` and the size of its scratch memory.

    For each block the scratch memory holds inputs, results (each once) and the values passed between sections. A
    program with columns has more behind the blocks: the shared numbers and right-hand sides of one block, row by
    row, and the solved matrices of one state.
    """

    def __init__(self, program: Program, target: Target, body: SectionedBody) -> None:
        self.p, self.t, self.body = program, target, body
        self.first = body.p  # the first of two stages, or the whole program
        self.values = len(compact_slots(self.first)[0]) + 1
        wide = program.n_inputs + self.values + body.waiting
        self.region = wide + 1 - wide % 2  # odd, so that blocks do not map to the same cache lines
        self.streamed: dict[int, bool] = {}  # outputs that have entries → whether they can use non-temporal stores

    def lines(self) -> list[str]:
        movers = self._movers()
        sides = self.first.outputs[0].size * self.t.width + self.p.outputs[0].size if self.p.columns else 0
        size = self.t.together * self.region * self.t.width + sides
        return [f"@scratch_size = constant i64 {size}", "declare i64 @llvm.umin.i64(i64, i64)", *movers, *self._run()]

    def _run(self) -> list[str]:
        arrays = [f"ptr %i{k}" for k in range(len(self.p.inputs))] + [f"ptr %o{k}" for k in range(len(self.p.outputs))]
        sections = [f"section{k}" for k in range(self.body.count)]
        loops = [("load", self._loads()), *zip(sections, map(self._section, range(self.body.count)), strict=True)]
        loops += [("store", self._either_store())]
        names = ["group", *(name for name, _ in loops), "next"]
        return [
            f"define i32 @run({', '.join(arrays)}, i64 %blocks, ptr %scratch, i32 %stream) nounwind {{",
            "entry:",
            "  %seen = alloca i32",
            "  store i32 0, ptr %seen",
            "  %streaming = icmp ne i32 %stream, 0",
            f"  %sides = getelementptr {self.t.value}, ptr %scratch, i64 {self.t.together * self.region}",
            "  br label %group",
            "group:",
            "  %start = phi i64 [0, %entry], [%start_next, %next]",
            "  %left = sub i64 %blocks, %start",
            f"  %count = call i64 @llvm.umin.i64(i64 %left, i64 {self.t.together})",
            "  %none = icmp eq i64 %count, 0",
            "  br i1 %none, label %done, label %load",
            *(line for k, (name, body) in enumerate(loops) for line in self._over(name, names[k], names[k + 2], body)),
            "next:",
            "  %start_next = add i64 %start, %count",
            "  br label %group",
            "done:",
            "  %status = load i32, ptr %seen",
            "  ret i32 %status",
            "}",
        ]

    def _over(self, name: str, before: str, after: str, body: list[str]) -> Iterator[str]:
        """Emits a loop over the blocks processed together. `%NAME_b` is the block; `%NAME_in`, `%NAME_values` and
        `%NAME_memory` are its parts of the scratch memory.
        """
        V, inputs = self.t.value, self.p.n_inputs
        yield from (
            f"{name}:",
            f"  %{name}_k = phi i64 [0, %{before}{'' if before == 'group' else '_end'}], [%{name}_next, %{name}_end]",
            f"  %{name}_b = add i64 %start, %{name}_k",
            f"  %{name}_skip = mul i64 %{name}_k, {self.region}",
            f"  %{name}_in = getelementptr {V}, ptr %scratch, i64 %{name}_skip",
            f"  %{name}_values = getelementptr {V}, ptr %{name}_in, i64 {inputs}",
            f"  %{name}_memory = getelementptr {V}, ptr %{name}_in, i64 {inputs + self.values}",
        )
        yield from body
        yield from (
            f"  br label %{name}_end",
            f"{name}_end:",
            f"  %{name}_next = add i64 %{name}_k, 1",
            f"  %{name}_more = icmp ult i64 %{name}_next, %count",
            f"  br i1 %{name}_more, label %{name}, label %{after}",
        )

    def _section(self, k: int) -> list[str]:
        arguments = ", ".join(f"ptr %section{k}_{part}" for part in ("in", "values", "memory"))
        return [
            f"  %bits{k} = call i32 @{self.body.name}{k}({arguments})",
            f"  %before{k} = load i32, ptr %seen",
            f"  %both{k} = or i32 %before{k}, %bits{k}",
            f"  store i32 %both{k}, ptr %seen",
        ]

    def _movers(self) -> list[str]:
        """Emits functions that load inputs and store outputs.

        Results that the first of two stages has finished are stored between the columns of the whole program.
        """
        T, W = self.t.scalar, self.t.width
        strides = {1: self.p.outputs[0].size} if self.p.columns else {}
        parts = ["declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)"]
        for k, (output, table) in enumerate(zip(self.first.outputs, compact_slots(self.first)[1], strict=True)):
            if not output.size:  # an empty output needs no store function and no table
                continue
            parts.append(table_ir(f"table{k}", table.tolist(), W, self.t.itemsize))
            parts.append(store_rows_ir(f"store{k}", f"table{k}", output.size, W, T, strides.get(k)))
            self.streamed[k] = output.size >= 4 * W and (self.t.streams_anywhere or not self.p.columns)
            if self.streamed[k]:
                aligned = not self.t.streams_anywhere
                row = f"stream{k}", f"table{k}", output.size, W, T, strides.get(k)
                parts.append(stream_rows_ir(*row, aligned=aligned))
        return parts + [load_rows_ir(f"load{k}", argument.size, W, T) for k, argument in enumerate(self.p.inputs)]

    def _loads(self) -> list[str]:
        """Emits the loads of W rows of every input into the lanes of the scratch memory."""
        lines, offset = [], 0
        for k, argument in enumerate(self.p.inputs):
            lines += [
                f"  %skip{k} = mul i64 %load_b, {argument.size * self.t.width}",
                f"  %rows{k} = getelementptr {self.t.scalar}, ptr %i{k}, i64 %skip{k}",
                f"  %lane{k} = getelementptr {self.t.value}, ptr %load_in, i64 {offset}",
                f"  call void @load{k}(ptr %rows{k}, ptr %lane{k})",
            ]
            offset += argument.size
        return lines

    def _either_store(self) -> list[str]:
        """Emits both ways to store, non-temporal and normal; the caller chooses at run time."""
        stores = self._column_stores if self.p.columns else self._stores
        return [
            "  br i1 %streaming, label %streamed, label %plain",
            "streamed:",
            *stores({k: f"stream{k}" if streamed else f"store{k}" for k, streamed in self.streamed.items()}, "s"),
            "  br label %stored",
            "plain:",
            *stores({k: f"store{k}" for k in self.streamed}, "p"),
            "  br label %stored",
            "stored:",
        ]

    def _stores(self, functions: dict[int, str], tag: str) -> list[str]:
        """Emits the stores of W rows of every output from the lanes."""
        lines = []
        for k, function in functions.items():
            lines += [
                f"  %{tag}_skip{k} = mul i64 %store_b, {self.p.outputs[k].size * self.t.width}",
                f"  %{tag}_rows{k} = getelementptr {self.t.scalar}, ptr %o{k}, i64 %{tag}_skip{k}",
                f"  call void @{function}(ptr %store_values, ptr %{tag}_rows{k})",
            ]
        return lines

    def _column_stores(self, functions: dict[int, str], tag: str) -> list[str]:
        """Emits the stores of W states: results of the first stage, then the columns of one state after the other."""
        T, W = self.t.scalar, self.t.width
        row, done = (output.size for output in self.first.outputs)
        size = self.p.outputs[0].size
        lines = [
            f"  %{tag}_skip = mul i64 %store_b, {size * W}",
            f"  %{tag}_out = getelementptr {T}, ptr %o0, i64 %{tag}_skip",
            f"  %{tag}_done = getelementptr {T}, ptr %{tag}_out, i64 {size - done}",
            *(["  call void @store0(ptr %store_values, ptr %sides)"] if row else []),
            f"  call void @{functions[1]}(ptr %store_values, ptr %{tag}_done)",
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
        return lines
