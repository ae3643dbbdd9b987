"""Between the user's arrays and the lanes of the processor, as LLVM IR.

A batch comes as rows, one state after the other; a lane wants the same number of W states side by side. Blocks of W×W
numbers are transposed in registers. Large results are streamed past the caches: every row is shifted in registers to whole
cache lines, which writes memory once instead of reading it first.
"""

from __future__ import annotations

CACHE_LINE = 64


def transposed(vectors: list[str], lanes: int, V: str, tag: str) -> tuple[list[str], list[str]]:
    """(names of the W columns, IR): a butterfly of two-source shuffles, log₂ W deep."""
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
    """`void @name(ptr rows, ptr lanes_out)`: W rows of `size` numbers to `size` vectors."""
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
    """Load the vectors of W consecutive entries of a row, by their slots."""
    lines = []
    for k in range(lanes):
        lines += [
            f"  %n{k} = getelementptr i32, ptr @{table}, i64 {group}",
            f"  %m{k} = getelementptr i32, ptr %n{k}, i64 {k}",
            f"  %slot{k} = load i32, ptr %m{k}",
            f"  %wide{k} = zext i32 %slot{k} to i64",
            f"  %a{k} = getelementptr {V}, ptr %values, i64 %wide{k}",
            f"  %v{k} = load {V}, ptr %a{k}, align {align}",
        ]
    return lines


def _tail(columns: list[str], rest: int, V: str, T: str, bytes_each: int, place: str) -> list[str]:
    """The last `rest` < W numbers of each row, by way of the stack."""
    lines = []
    for k, column in enumerate(columns):
        lines += [
            f"  store {V} {column}, ptr %tile, align 64",
            f"  %e{k} = getelementptr {T}, ptr %row{k}, i64 {place}",
            f"  call void @llvm.memcpy.p0.p0.i64(ptr %e{k}, ptr align 64 %tile, i64 {rest * bytes_each}, i1 false)",
        ]
    return lines


def store_rows_ir(name: str, table: str, size: int, lanes: int, T: str) -> str:
    """`void @name(ptr values, ptr rows)`: W rows of `size` numbers, entry e of a row from vector `table[e]`."""
    V, whole, rest = f"<{lanes} x {T}>", size // lanes * lanes, size % lanes
    bytes_each = 8 if T == "double" else 4
    lines = [f"define internal void @{name}(ptr noalias %values, ptr %rows) noinline nounwind {{", "entry:"]
    lines += [f"  %tile = alloca {V}, align 64", *_row_pointers("%rows", "row", size, lanes, T)]
    lines += ["  br label %loop", "loop:", "  %j = phi i64 [0, %entry], [%j_next, %stored]"]
    lines += _fetch(table, "%j", lanes, V, bytes_each * lanes)
    columns, shuffles = transposed([f"%v{k}" for k in range(lanes)], lanes, V, "t")
    lines += [*shuffles, f"  %full = icmp ult i64 %j, {whole}", "  br i1 %full, label %stored, label %partial", "stored:"]
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


def stream_rows_ir(name: str, table: str, size: int, lanes: int, T: str) -> str:
    """Like `store_rows_ir`, with whole cache lines written past the caches. AVX-512 and size ≥ 2 W only."""
    V, M, whole, rest = f"<{lanes} x {T}>", f"<{lanes} x i1>", size // lanes * lanes, size % lanes
    bytes_each = 8 if T == "double" else 4
    integer, permute = ("i64", "vpermi2var.pd.512") if T == "double" else ("i32", "vpermi2var.ps.512")
    Ix = f"<{lanes} x {integer}>"
    count = ", ".join(f"{integer} {k}" for k in range(lanes))
    suffix = f"v{lanes}f{bytes_each * 8}.p0"
    lines = [f"define internal void @{name}(ptr noalias %values, ptr %rows) noinline nounwind {{", "entry:"]
    lines += [f"  %tile = alloca {V}, align 64", *_row_pointers("%rows", "row", size, lanes, T)]
    for k in range(lanes):  # how many numbers of row k come before its first whole cache line
        lines += [
            f"  %address{k} = ptrtoint ptr %row{k} to i64",
            f"  %past{k} = sub i64 0, %address{k}",
            f"  %inside{k} = and i64 %past{k}, {CACHE_LINE - 1}",
            f"  %head{k} = lshr i64 %inside{k}, {3 if bytes_each == 8 else 2}",
            f"  %narrow{k} = {f'add i64 %head{k}, 0' if integer == 'i64' else f'trunc i64 %head{k} to i32'}",
            f"  %one{k} = insertelement {Ix} poison, {integer} %narrow{k}, i32 0",
            f"  %shift{k} = shufflevector {Ix} %one{k}, {Ix} poison, <{lanes} x i32> zeroinitializer",
            f"  %index{k} = add {Ix} %shift{k}, <{count}>",
            f"  %before{k} = icmp ult {Ix} <{count}>, %shift{k}",
        ]
    lines += ["  br label %loop", "loop:", "  %j = phi i64 [0, %entry], [%j_next, %next]"]
    for k in range(lanes):
        lines.append(f"  %last{k} = phi {V} [zeroinitializer, %entry], [%c{k}, %next]")
    lines += _fetch(table, "%j", lanes, V, CACHE_LINE)
    columns, shuffles = transposed([f"%v{k}" for k in range(lanes)], lanes, V, "t")
    lines += shuffles
    lines += [f"  %c{k} = bitcast {V} {column} to {V}" for k, column in enumerate(columns)]
    lines += ["  %first = icmp eq i64 %j, 0", "  br i1 %first, label %heads, label %lines", "heads:"]
    for k in range(lanes):
        lines.append(f"  call void @llvm.masked.store.{suffix}({V} %c{k}, ptr %row{k}, i32 {bytes_each}, {M} %before{k})")
    lines += ["  br label %next", "lines:", f"  %back = sub i64 %j, {lanes}"]
    for k in range(lanes):
        lines += [
            f"  %whole{k} = call {V} @llvm.x86.avx512.{permute}({V} %last{k}, {Ix} %index{k}, {V} %c{k})",
            f"  %at{k} = add i64 %back, %head{k}",
            f"  %o{k} = getelementptr {T}, ptr %row{k}, i64 %at{k}",
            f"  store {V} %whole{k}, ptr %o{k}, align {CACHE_LINE}, !nontemporal !0",
        ]
    lines += [
        "  br label %next",
        "next:",
        f"  %j_next = add i64 %j, {lanes}",
        f"  %more = icmp ult i64 %j_next, {whole}",
        "  br i1 %more, label %loop, label %ends",
        "ends:",
    ]
    for k in range(lanes):  # what of the last whole vector lies behind the last whole line
        lines += [
            f"  %after{k} = xor {M} %before{k}, splat (i1 true)",
            f"  %end{k} = getelementptr {T}, ptr %row{k}, i64 {whole - lanes}",
            f"  call void @llvm.masked.store.{suffix}({V} %c{k}, ptr %end{k}, i32 {bytes_each}, {M} %after{k})",
        ]
    if rest:
        remaining = [line.replace("%", "%r_") for line in _fetch(table, str(whole), lanes, V, CACHE_LINE)]
        remaining = [line.replace("%r_values", "%values") for line in remaining]
        columns, shuffles = transposed([f"%r_v{k}" for k in range(lanes)], lanes, V, "u")
        lines += [*remaining, *shuffles, *_tail(columns, rest, V, T, bytes_each, str(whole))]
    lines += ["  ret void", "}"]
    lines += [
        f"declare {V} @llvm.x86.avx512.{permute}({V}, {Ix}, {V})",
        f"declare void @llvm.masked.store.{suffix}({V}, ptr, i32, {M})",
    ]
    return "\n".join(lines)
