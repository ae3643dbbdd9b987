"""Emits LLVM IR that moves data between the user's arrays and the lanes of the processor.

A batch is an array of rows, one per state; vector code needs the same entry of W states side by side. Blocks of W×W
numbers are transposed in registers. Large results bypass the caches by non-temporal stores: every row is shifted in
registers to whole cache lines, so that memory is written without being read first.
"""

from __future__ import annotations

from collections.abc import Sequence

CACHE_LINE = 64


def transposed(vectors: list[str], lanes: int, V: str, tag: str) -> tuple[list[str], list[str]]:
    """Transposes W vectors by a butterfly of two-source shuffles, log₂ W deep; returns (names of the W columns, IR)."""
    lines, step = [], 1
    while step < lanes:
        result = list(vectors)
        for i in range(lanes):
            if i & step:
                continue
            a, b = vectors[i], vectors[i + step]
            low = [lane if not lane & step else lanes + lane - step for lane in range(lanes)]
            high = [lane + step if not lane & step else lanes + lane for lane in range(lanes)]
            for k, mask in ((i, low), (i + step, high)):
                name = f"%{tag}_{step}_{k}"
                entries = ", ".join(f"i32 {m}" for m in mask)
                lines.append(f"  {name} = shufflevector {V} {a}, {V} {b}, <{lanes} x i32> <{entries}>")
                result[k] = name
        vectors, step = result, step * 2
    return vectors, lines


def _row_pointers(base: str, tag: str, row: int, lanes: int, T: str) -> list[str]:
    return [f"  %{tag}{k} = getelementptr {T}, ptr {base}, i64 {k * row}" for k in range(lanes)]


def load_rows_ir(name: str, size: int, lanes: int, T: str) -> str:
    """Emits `void @name(ptr rows, ptr lanes_out)`: W rows of `size` numbers to `size` vectors."""
    V, whole = f"<{lanes} x {T}>", size // lanes * lanes
    bytes_each = 8 if T == "double" else 4
    lines = [f"define internal void @{name}(ptr %rows, ptr noalias %out) noinline nounwind {{", "entry:"]
    lines += _row_pointers("%rows", "row", size, lanes, T)
    if whole:
        lines += ["  br label %loop", "loop:", "  %j = phi i64 [0, %entry], [%j_next, %loop]"]
        for k in range(lanes):
            lines.append(f"  %a{k} = getelementptr {T}, ptr %row{k}, i64 %j")
            lines.append(f"  %v{k} = load {V}, ptr %a{k}, align {bytes_each}")
        columns, shuffles = transposed([f"%v{k}" for k in range(lanes)], lanes, V, "t")
        lines += shuffles
        lines.append(f"  %o = getelementptr {V}, ptr %out, i64 %j")
        for k, column in enumerate(columns):
            lines.append(f"  %o{k} = getelementptr {V}, ptr %o, i64 {k}")
            lines.append(f"  store {V} {column}, ptr %o{k}, align {bytes_each * lanes}")
        lines += [
            f"  %j_next = add i64 %j, {lanes}",
            f"  %more = icmp ult i64 %j_next, {whole}",
            "  br i1 %more, label %loop, label %rest",
            "rest:",
        ]
    for j in range(whole, size):
        for k in range(lanes):
            lines += [
                f"  %p{j}_{k} = getelementptr {T}, ptr %row{k}, i64 {j}",
                f"  %x{j}_{k} = load {T}, ptr %p{j}_{k}",
                f"  %q{j}_{k} = getelementptr {T}, ptr %out, i64 {j * lanes + k}",
                f"  store {T} %x{j}_{k}, ptr %q{j}_{k}",
            ]
    return "\n".join([*lines, "  ret void", "}"])


def _fetch(table: str, group: str, lanes: int, V: str, align: int) -> list[str]:
    """Emits loads of the vectors of W consecutive entries of a row, from the offsets in the table."""
    lines = []
    for k in range(lanes):
        lines += [
            f"  %n{k} = getelementptr i32, ptr @{table}, i64 {group}",
            f"  %m{k} = getelementptr i32, ptr %n{k}, i64 {k}",
            f"  %bytes{k} = load i32, ptr %m{k}",
            f"  %wide{k} = zext i32 %bytes{k} to i64",
            f"  %a{k} = getelementptr i8, ptr %values, i64 %wide{k}",
            f"  %v{k} = load {V}, ptr %a{k}, align {align}",
        ]
    return lines


def _tail(columns: list[str], rest: int, V: str, T: str, bytes_each: int, place: str) -> list[str]:
    """Emits the stores of the last `rest` < W numbers of each row, through a vector on the stack."""
    lines = []
    for k, column in enumerate(columns):
        lines += [
            f"  store {V} {column}, ptr %tile, align 64",
            f"  %e{k} = getelementptr {T}, ptr %row{k}, i64 {place}",
            f"  call void @llvm.memcpy.p0.p0.i64(ptr %e{k}, ptr align 64 %tile, i64 {rest * bytes_each}, i1 false)",
        ]
    return lines


def table_ir(name: str, slots: Sequence[int], lanes: int, bytes_each: int) -> str:
    """Emits the table `@name`: for every entry of a row, padded to whole vectors, the offset of its vector from
    `values` in bytes.
    """
    padded = [*slots, *[0] * (-len(slots) % lanes)]
    entries = ", ".join(f"i32 {slot * lanes * bytes_each}" for slot in padded)
    return f"@{name} = internal constant [{len(padded)} x i32] [{entries}], align {CACHE_LINE}"


def store_rows_ir(name: str, table: str, size: int, lanes: int, T: str, stride: int | None = None) -> str:
    """Emits `void @name(ptr values, ptr rows)`: W rows of `size` numbers, by the table of their entries.

    Rows are contiguous, or `stride` numbers apart.
    """
    V, whole, rest = f"<{lanes} x {T}>", size // lanes * lanes, size % lanes
    bytes_each = 8 if T == "double" else 4
    lines = [f"define internal void @{name}(ptr noalias %values, ptr %rows) noinline nounwind {{", "entry:"]
    lines += [f"  %tile = alloca {V}, align 64", *_row_pointers("%rows", "row", stride or size, lanes, T)]
    lines += ["  br label %loop", "loop:", "  %j = phi i64 [0, %entry], [%j_next, %stored]"]
    lines += _fetch(table, "%j", lanes, V, bytes_each * lanes)
    columns, shuffles = transposed([f"%v{k}" for k in range(lanes)], lanes, V, "t")
    lines += [
        *shuffles,
        f"  %full = icmp ult i64 %j, {whole}",
        "  br i1 %full, label %stored, label %partial",
        "stored:",
    ]
    for k, column in enumerate(columns):
        lines.append(f"  %o{k} = getelementptr {T}, ptr %row{k}, i64 %j")
        lines.append(f"  store {V} {column}, ptr %o{k}, align {bytes_each}")
    lines += [
        f"  %j_next = add i64 %j, {lanes}",
        f"  %more = icmp ult i64 %j_next, {size}",
        "  br i1 %more, label %loop, label %done",
        "partial:",
        *(_tail(columns, rest, V, T, bytes_each, str(whole)) if rest else []),
        "  br label %done",
        "done:",
        "  ret void",
        "}",
    ]
    return "\n".join(lines)


def stream_rows_ir(
    name: str, table: str, size: int, lanes: int, T: str, stride: int | None = None, *, aligned: bool
) -> str:
    """Emits the same function as `store_rows_ir` with non-temporal stores of whole vectors. Requires size ≥ 2 W.

    Row k starts `head` numbers before an address that such a store may use. Its head is stored by a masked store;
    then each vector is combined from the previous and the present one; the numbers after the last whole line are
    stored by a masked store again.

    Args:
        aligned: the first of the W rows starts at such an address, so heads are known at compile time. Otherwise
            they are found at run time, which needs instructions of AVX-512.
            which only AVX-512 has instructions for.
    """
    writer = _AlignedStream if aligned else _Stream
    return "\n".join(writer(table, size, lanes, T, stride or size).lines(name))


class _Stream:
    """Writes `stream_rows_ir` section by section, for rows that start at any address."""

    def __init__(self, table: str, size: int, lanes: int, T: str, stride: int) -> None:
        self.table, self.size, self.lanes, self.T, self.stride = table, size, lanes, T, stride
        self.V, self.M, self.whole = f"<{lanes} x {T}>", f"<{lanes} x i1>", size // lanes * lanes
        self.bytes_each = 8 if T == "double" else 4
        self.integer, kind = ("i64", "pd") if T == "double" else ("i32", "ps")
        self.I = f"<{lanes} x {self.integer}>"
        self.permute = f"@llvm.x86.avx512.vpermi2var.{kind}.512"
        self.masked_store = f"@llvm.masked.store.v{lanes}f{8 * self.bytes_each}.p0"

    def lines(self, name: str) -> list[str]:
        last = [f"  %last{k} = phi {self.V} [zeroinitializer, %entry], [%c{k}, %next]" for k in range(self.lanes)]
        columns, shuffles = transposed([f"%v{k}" for k in range(self.lanes)], self.lanes, self.V, "t")
        return [
            *self._permutation(),
            f"declare void {self.masked_store}({self.V}, ptr, i32, {self.M})",
            f"define internal void @{name}(ptr noalias %values, ptr %rows) noinline nounwind {{",
            "entry:",
            f"  %tile = alloca {self.V}, align 64",
            *_row_pointers("%rows", "row", self.stride, self.lanes, self.T),
            *(line for k in range(self.lanes) for line in self._shift(k)),
            "  br label %loop",
            "loop:",
            "  %j = phi i64 [0, %entry], [%j_next, %next]",
            *last,
            *_fetch(self.table, "%j", self.lanes, self.V, self.lanes * self.bytes_each),
            *shuffles,
            *(f"  %c{k} = bitcast {self.V} {column} to {self.V}" for k, column in enumerate(columns)),
            "  %first = icmp eq i64 %j, 0",
            "  br i1 %first, label %heads, label %lines",
            "heads:",
            *(line for k in range(self.lanes) for line in self._head(k)),
            "  br label %next",
            "lines:",
            f"  %back = sub i64 %j, {self.lanes}",
            *(line for k in range(self.lanes) for line in self._line(k)),
            "  br label %next",
            "next:",
            f"  %j_next = add i64 %j, {self.lanes}",
            f"  %more = icmp ult i64 %j_next, {self.whole}",
            "  br i1 %more, label %loop, label %ends",
            "ends:",
            *(line for k in range(self.lanes) for line in self._end(k)),
            *self._rest(),
            "  ret void",
            "}",
        ]

    def _masked(self, vector: str, place: str, mask: str) -> str:
        return (
            f"  call void {self.masked_store}({self.V} {vector}, ptr {place}, i32 {self.bytes_each}, {self.M} {mask})"
        )

    def _permutation(self) -> list[str]:
        return [f"declare {self.V} {self.permute}({self.V}, {self.I}, {self.V})"]

    def _head(self, k: int) -> list[str]:
        return [self._masked(f"%c{k}", f"%row{k}", f"%before{k}")]

    def _shift(self, k: int) -> list[str]:
        """Emits the count of numbers of row k before its first whole cache line, as a number, as indices, and as a
        mask.
        """
        count = ", ".join(f"{self.integer} {lane}" for lane in range(self.lanes))
        narrow = f"add i64 %head{k}, 0" if self.integer == "i64" else f"trunc i64 %head{k} to i32"
        return [
            f"  %address{k} = ptrtoint ptr %row{k} to i64",
            f"  %past{k} = sub i64 0, %address{k}",
            f"  %inside{k} = and i64 %past{k}, {CACHE_LINE - 1}",
            f"  %head{k} = lshr i64 %inside{k}, {3 if self.bytes_each == 8 else 2}",
            f"  %narrow{k} = {narrow}",
            f"  %one{k} = insertelement {self.I} poison, {self.integer} %narrow{k}, i32 0",
            f"  %shift{k} = shufflevector {self.I} %one{k}, {self.I} poison, <{self.lanes} x i32> zeroinitializer",
            f"  %index{k} = add {self.I} %shift{k}, <{count}>",
            f"  %before{k} = icmp ult {self.I} <{count}>, %shift{k}",
        ]

    def _line(self, k: int) -> list[str]:
        return [
            f"  %whole{k} = call {self.V} {self.permute}({self.V} %last{k}, {self.I} %index{k}, {self.V} %c{k})",
            f"  %at{k} = add i64 %back, %head{k}",
            f"  %o{k} = getelementptr {self.T}, ptr %row{k}, i64 %at{k}",
            f"  store {self.V} %whole{k}, ptr %o{k}, align {CACHE_LINE}, !nontemporal !0",
        ]

    def _end(self, k: int) -> list[str]:
        """Emits the store of the part of the last whole vector that lies after the last whole line."""
        return [
            f"  %after{k} = xor {self.M} %before{k}, splat (i1 true)",
            f"  %end{k} = getelementptr {self.T}, ptr %row{k}, i64 {self.whole - self.lanes}",
            self._masked(f"%c{k}", f"%end{k}", f"%after{k}"),
        ]

    def _rest(self) -> list[str]:
        """Emits the stores of the numbers after the last whole vector."""
        rest = self.size - self.whole
        if not rest:
            return []
        fetched = [
            line.replace("%", "%r_")
            for line in _fetch(self.table, str(self.whole), self.lanes, self.V, self.lanes * self.bytes_each)
        ]
        fetched = [line.replace("%r_values", "%values") for line in fetched]
        columns, shuffles = transposed([f"%r_v{k}" for k in range(self.lanes)], self.lanes, self.V, "u")
        return [*fetched, *shuffles, *_tail(columns, rest, self.V, self.T, self.bytes_each, str(self.whole))]


class _AlignedStream(_Stream):
    """Writes `stream_rows_ir` for blocks of rows whose first row starts on a cache line; so does the first row of the
    next W rows.
    """

    def _permutation(self) -> list[str]:
        return []

    def _shift(self, k: int) -> list[str]:
        return []

    def _before(self, k: int) -> int:
        """Returns the count of numbers of row k before its first whole vector."""
        return -k * self.stride % self.lanes

    def _mask(self, lanes: range) -> str:
        return f"<{', '.join(f'i1 {int(lane in lanes)}' for lane in range(self.lanes))}>"

    def _head(self, k: int) -> list[str]:
        before = self._before(k)
        return [self._masked(f"%c{k}", f"%row{k}", self._mask(range(before)))] if before else []

    def _line(self, k: int) -> list[str]:
        before = self._before(k)
        indices = ", ".join(f"i32 {before + lane}" for lane in range(self.lanes))
        return [
            f"  %whole{k} = shufflevector {self.V} %last{k}, {self.V} %c{k}, <{self.lanes} x i32> <{indices}>",
            f"  %at{k} = add i64 %back, {before}",
            f"  %o{k} = getelementptr {self.T}, ptr %row{k}, i64 %at{k}",
            f"  store {self.V} %whole{k}, ptr %o{k}, align {self.lanes * self.bytes_each}, !nontemporal !0",
        ]

    def _end(self, k: int) -> list[str]:
        place = f"  %end{k} = getelementptr {self.T}, ptr %row{k}, i64 {self.whole - self.lanes}"
        return [place, self._masked(f"%c{k}", f"%end{k}", self._mask(range(self._before(k), self.lanes)))]
