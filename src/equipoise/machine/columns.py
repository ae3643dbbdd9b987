"""Emits the second stage of a program with `ColumnPrograms` as LLVM IR: eight columns of one state at once.

With W states side by side, every entry of a large matrix is a vector, and the matrices of a block of states no
longer fit the caches; nor does straight-line code for every entry. Eight columns side by side need an eighth of
both.
"""

from __future__ import annotations

from .body import FunctionBody
from .program import LANES, ColumnPrograms, Program
from .rows import CACHE_LINE
from .target import Target

# Cores lower their clock for wide products, and recover only after a millisecond. That pays off for a batch, not for a
# single state.
NARROW = '"prefer-vector-width"="256" "min-legal-vector-width"="256"'


def columns_ir(program: Program, columns: ColumnPrograms, target: Target) -> str:
    """Emits `void @columns(ptr row, ptr out)`, from shared numbers and right-hand sides to matrices, with its helper
    functions.
    """
    parts = [line for g in range(len(columns.groups)) for line in _group(program, columns, target, g)]
    parts += _calls(columns, target)
    if target.width == 1:
        parts += _run(program, columns, target)
    elif target.streams_anywhere:
        parts += _flow(program.outputs[0].size - columns.first.outputs[1].size, target)
    return "\n".join(parts)


def _group(program: Program, columns: ColumnPrograms, target: Target, g: int) -> list[str]:
    body = ColumnBody(program, columns, target, g)
    lines = body.lines()
    return [*body.declarations, *lines]


def _calls(columns: ColumnPrograms, target: Target) -> list[str]:
    """Emits the function that calls the programs of all groups in turn."""
    lines, at = ["define internal void @columns(ptr %row, ptr %out) noinline nounwind {"], columns.shared
    for g, group in enumerate(columns.groups):
        lines += [
            f"  %right{g} = getelementptr {target.scalar}, ptr %row, i64 {at}",
            f"  %out{g} = getelementptr {target.scalar}, ptr %out, i64 {g * LANES}",
            f"  %status{g} = call i32 @group{g}(ptr %row, ptr %right{g}, ptr %out{g})",
        ]
        at += LANES * columns.matrices * group.inputs[1].size
    return [*lines, "  ret void", "}"]


def _run(program: Program, columns: ColumnPrograms, target: Target) -> list[str]:
    """Emits `@run` for single states, with the same signature as for other programs."""
    T, inputs = target.scalar, [f"ptr %i{k}" for k in range(len(program.inputs))]
    row, done = (output.size for output in columns.first.outputs)
    return [
        f"define i32 @run({', '.join(inputs)}, ptr noalias %o0) nounwind {{",
        f"  %row = alloca [{row} x {T}], align {CACHE_LINE}",
        f"  %done = getelementptr {T}, ptr %o0, i64 {program.outputs[0].size - done}",
        f"  %status = call i32 @first({', '.join(inputs)}, ptr %row, ptr %done)",
        "  call void @columns(ptr %row, ptr %o0)",
        "  ret i32 %status",
        "}",
    ]


class ColumnBody(FunctionBody):
    """Emits the program of one group: shared numbers are copied to all lanes, each column has its own lane.

    All matrices are solved together. A single one would stall, because each number of a solution needs the previous
    one.
    """

    rows: int
    n: int
    group: int
    matrices: int
    shared: int
    filled: int

    def __init__(self, program: Program, columns: ColumnPrograms, target: Target, group: int) -> None:
        width = LANES * columns.matrices
        register = 8 * target.sincos_lanes  # bytes; a vector of eight columns may take several
        held = target.registers * register // max(register, width * target.itemsize)
        super().__init__(
            columns.groups[group], Target(target.dtype, width, target.sincos_lanes, target.streams_anywhere, held)
        )
        _, self.rows, self.n = program.outputs[0].shape
        self.group, self.matrices, self.shared = group, columns.matrices, columns.shared
        self.name, self.attributes = f"group{group}", NARROW if target.width == 1 else ""
        self.filled = min(self.n - group * LANES, LANES)  # lanes of this group that hold a column

    def _head(self) -> str:
        pointers = "ptr noalias %in, ptr noalias %right, ptr noalias %out"
        return f"define internal i32 @{self.name}({pointers}) noinline nounwind {self.attributes} {{"

    def _checks(self) -> None:
        self.text.append("  %status = or i32 0, 0")  # the first stage has checked the state

    def _loaded(self, number: int) -> str:
        if number >= self.p.n_inputs:
            return super()._loaded(number)
        T, V = self.t.scalar, self.V
        if number >= self.shared:
            address = self._line(f"getelementptr {T}, ptr %right, i64 {(number - self.shared) * self.t.width}")
            return self._line(f"load {V}, ptr {address}, align {self.t.itemsize}")
        address = self._line(f"getelementptr {T}, ptr %in, i64 {number}")
        return self.in_all_lanes(self._line(f"load {T}, ptr {address}"))

    def _store(self, number: int, name: str) -> None:
        for _, row in self.places.get(number, []):
            self._store_row(row, name)

    def _zeros(self) -> None:
        for _, row in self.places.get(-1, []):
            self._store_row(row, "zeroinitializer")

    def _store_row(self, row: int, name: str) -> None:
        V, half, kind = self.V, f"<{LANES} x {self.t.scalar}>", f"v{LANES}f{8 * self.t.itemsize}"
        store, mask = f"@llvm.masked.store.{kind}.p0", ", ".join(f"i1 {int(k < self.filled)}" for k in range(LANES))
        self.declarations.add(f"declare void {store}({half}, ptr, i32, <{LANES} x i1>)")
        for m in range(self.matrices):
            lanes = ", ".join(f"i32 {m * LANES + k}" for k in range(LANES))
            part = self._line(f"shufflevector {V} {name}, {V} poison, <{LANES} x i32> <{lanes}>")
            address = self._line(f"getelementptr {self.t.scalar}, ptr %out, i64 {(m * self.rows + row) * self.n}")
            if self.filled == LANES:
                self.text.append(f"  store {half} {part}, ptr {address}, align {self.t.itemsize}")
            else:
                arguments = f"{half} {part}, ptr {address}, i32 {self.t.itemsize}, <{LANES} x i1> <{mask}>"
                self.text.append(f"  call void {store}({arguments})")


def _flow(count: int, target: Target) -> list[str]:
    """Emits `void @flow(ptr from, ptr to)`: writes `count` numbers by non-temporal stores in whole cache lines; numbers
    before the first and after the last whole line are written one by one.
    """
    T, V = target.scalar, target.value
    line = [f"  %lines_x = load {V}, ptr %lines_a, align {target.itemsize}"]
    line += [f"  store {V} %lines_x, ptr %lines_b, align {CACHE_LINE}, !nontemporal !0"]
    heads, ends = ([f"  %{k}_x = load {T}, ptr %{k}_a", f"  store {T} %{k}_x, ptr %{k}_b"] for k in ("heads", "ends"))
    return [
        "declare i64 @llvm.umin.i64(i64, i64)",
        "define internal void @flow(ptr noalias %from, ptr noalias %to) noinline nounwind {",
        "entry:",
        "  %address = ptrtoint ptr %to to i64",
        "  %past = sub i64 0, %address",
        f"  %inside = and i64 %past, {CACHE_LINE - 1}",
        f"  %ahead = lshr i64 %inside, {target.itemsize.bit_length() - 1}",
        f"  %head = call i64 @llvm.umin.i64(i64 %ahead, i64 {count})",
        "  br label %heads",
        *_moving("heads", "[0, %entry]", "%head", 1, "lines", T, heads),
        *_moving("lines", "[%heads_j, %heads]", str(count), target.width, "ends", T, line),
        *_moving("ends", "[%lines_j, %lines]", str(count), 1, "done", T, ends),
        "done:",
        "  ret void",
        "}",
    ]


def _moving(name: str, start: str, bound: str, step: int, following: str, T: str, body: list[str]) -> list[str]:
    """Emits a loop that moves `step` numbers at a time from `%name_a` to `%name_b` while they end no later than
    `bound`.
    """
    return [
        f"{name}:",
        f"  %{name}_j = phi i64 {start}, [%{name}_next, %{name}_body]",
        f"  %{name}_next = add i64 %{name}_j, {step}",
        f"  %{name}_go = icmp ule i64 %{name}_next, {bound}",
        f"  br i1 %{name}_go, label %{name}_body, label %{following}",
        f"{name}_body:",
        f"  %{name}_a = getelementptr {T}, ptr %from, i64 %{name}_j",
        f"  %{name}_b = getelementptr {T}, ptr %to, i64 %{name}_j",
        *body,
        f"  br label %{name}",
    ]
