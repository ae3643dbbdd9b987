"""A `Program` as LLVM IR: one state at a time, or W states in the lanes of vector registers.

Contraction to fused multiply-add and reassociation are allowed; nothing assumes that numbers are finite, so NaN propagates.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

import numpy as np

from .program import NAMES, OPERATIONS, Program
from .rows import load_rows_ir, store_rows_ir, stream_rows_ir
from .sincos import double, sincos_ir

FLAGS = "reassoc nsz contract"
QUATERNION_TOLERANCE = 2e-6  # on the squared length: 1e-6 on the length
NOT_FINITE, NOT_UNIT = 1, 2  # bits of the status a kernel returns

_ARITHMETIC = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv"}
_COMPARE = {"lt": "olt", "le": "ole", "eq": "oeq", "ne": "une"}
_INTRINSIC = {"sqrt": "sqrt", "abs": "fabs", "floor": "floor", "ceil": "ceil", "min": "minimum", "max": "maximum",
              "copysign": "copysign"}  # fmt: skip


@dataclass(frozen=True)
class Target:
    """What the emitted code may use."""

    dtype: str  # "float64" or "float32"
    width: int  # states side by side; 1 for single states
    sincos_lanes: int  # doubles in one vector register
    streaming: bool  # AVX-512: results can go past the caches

    @property
    def scalar(self) -> str:
        return "double" if self.dtype == "float64" else "float"

    @property
    def value(self) -> str:
        return self.scalar if self.width == 1 else f"<{self.width} x {self.scalar}>"

    @property
    def itemsize(self) -> int:
        return 8 if self.dtype == "float64" else 4


def emit(program: Program, target: Target) -> str:
    """The whole module: `@run` for single states, or `@run` over blocks of W states."""
    emitter = _Emitter(program, target)
    body = emitter.body()
    parts = [sincos_ir(target.sincos_lanes)] if emitter.uses_sincos else []
    if target.width > 1:
        parts += [_batch(program, target)]
    lines = "\n".join([*parts, *emitter.declarations, *body]).splitlines()
    declarations = {line for line in lines if line.startswith("declare")}  # parts may need the same intrinsics
    definitions = [line for line in lines if not line.startswith("declare")]
    return "\n".join([*sorted(declarations), *definitions, "!0 = !{i32 1}"])


def compact_slots(program: Program) -> tuple[np.ndarray, list[np.ndarray]]:
    """(values that outputs need, each once; for every output the slot of each entry). Slot 0 holds zero."""
    needed = np.unique(np.concatenate([output.values for output in program.outputs]))
    needed = needed[needed >= 0]
    return needed, [np.where(o.values < 0, 0, np.searchsorted(needed, o.values) + 1) for o in program.outputs]


class _Emitter:
    """Writes the instructions of one program."""

    def __init__(self, program: Program, target: Target) -> None:
        self.p, self.t = program, target
        self.V = target.value
        self.lines: list[str] = []
        self.names: dict[int, str] = {}
        self.declarations: set[str] = set()
        self.uses_sincos = False
        self.trig: dict[tuple[str, int], str] = {}
        self.slots, _ = compact_slots(program)
        self.slot_of = {int(number): k + 1 for k, number in enumerate(self.slots)}
        self.places = self._output_places()
        self.temporaries = 0

    def body(self) -> list[str]:
        """The function that computes one state or one block."""
        p = self.p
        self._checks()
        self._angles_first()
        for number in range(p.n_inputs):
            self._store(number)
        for k in range(len(p)):
            number = p.first_instruction + k
            if number not in self.names:
                self._instruction(number)
        for number in self.slot_of:
            if p.n_inputs <= number < p.first_instruction:
                self._store(number)
        self._zeros()
        if self.t.width == 1:
            arguments = [f"ptr %i{k}" for k in range(len(p.inputs))] + [f"ptr noalias %o{k}" for k in range(len(p.outputs))]
            head = f"define i32 @run({', '.join(arguments)}) nounwind {{"
        else:
            head = "define internal i32 @body(ptr noalias %in, ptr noalias %out) noinline nounwind {"
        return [head, *self.lines, "  ret i32 %status", "}"]

    # --- operands -----------------------------------------------------------------------------------------------

    def fresh(self) -> str:
        self.temporaries += 1
        return f"%t{self.temporaries}"

    def constant(self, value: float) -> str:
        literal = double(value)
        if self.t.dtype == "float32":  # IR writes a float as the double of the same value
            literal = double(struct.unpack("<f", struct.pack("<f", value))[0])
        return literal if self.t.width == 1 else f"splat ({self.t.scalar} {literal})"

    def operand(self, number: int) -> str:
        """The name of a value; inputs are loaded when first used, constants stand in the code."""
        if self.p.n_inputs <= number < self.p.first_instruction:
            return self.constant(float(self.p.constants[number - self.p.n_inputs]))
        if number not in self.names:
            self.names[number] = self._load(number)
        return self.names[number]

    def _load(self, number: int, tag: str = "x") -> str:
        name, address, T = f"%{tag}{number}", f"%{tag}p{number}", self.t.scalar
        if self.t.width == 1:
            argument = offset = 0
            offset = number
            while offset >= self.p.inputs[argument].size:
                offset -= self.p.inputs[argument].size
                argument += 1
            self.lines.append(f"  {address} = getelementptr {T}, ptr %i{argument}, i64 {offset}")
            self.lines.append(f"  {name} = load {T}, ptr {address}")
        else:
            self.lines.append(f"  {address} = getelementptr {self.V}, ptr %in, i64 {number}")
            self.lines.append(f"  {name} = load {self.V}, ptr {address}, align {self.t.width * self.t.itemsize}")
        return name

    def _output_places(self) -> dict[int, list[tuple[int, int]]]:
        """Value → where it goes: (output, entry)."""
        places: dict[int, list[tuple[int, int]]] = {}
        for k, output in enumerate(self.p.outputs):
            for entry, number in enumerate(output.values.tolist()):
                places.setdefault(number, []).append((k, entry))
        return places

    def _store(self, number: int) -> None:
        """Write a value out as soon as it is there."""
        if number not in self.slot_of:
            return
        name = self.operand(number)
        if self.t.width == 1:
            for k, entry in self.places[number]:
                address = self.fresh()
                self.lines.append(f"  {address} = getelementptr {self.V}, ptr %o{k}, i64 {entry}")
                self.lines.append(f"  store {self.V} {name}, ptr {address}")
        else:
            address = self.fresh()
            self.lines.append(f"  {address} = getelementptr {self.V}, ptr %out, i64 {self.slot_of[number]}")
            self.lines.append(f"  store {self.V} {name}, ptr {address}, align {self.t.width * self.t.itemsize}")

    def _zeros(self) -> None:
        if self.t.width > 1:
            self.lines.append(f"  store {self.V} zeroinitializer, ptr %out, align {self.t.width * self.t.itemsize}")
            return
        for k, entry in self.places.get(-1, []):
            address = self.fresh()
            self.lines.append(f"  {address} = getelementptr {self.V}, ptr %o{k}, i64 {entry}")
            self.lines.append(f"  store {self.V} {self.constant(0.0)}, ptr {address}")

    # --- instructions -------------------------------------------------------------------------------------------

    def _instruction(self, number: int) -> None:
        k = number - self.p.first_instruction
        name = NAMES[self.p.code[k]]
        operands = [int(self.p.left[k]), int(self.p.right[k])][: OPERATIONS[name]]
        if name in ("sin", "cos"):
            if (name, operands[0]) not in self.trig:
                self._sincos([operands[0]])
            self.names[number] = self.trig[name, operands[0]]
        else:
            self.names[number] = self._compute(name, [self.operand(i) for i in operands], f"%v{number}")
        self._store(number)

    def _compute(self, name: str, x: list[str], result: str) -> str:
        V, add = self.V, self.lines.append
        B = "i1" if self.t.width == 1 else f"<{self.t.width} x i1>"
        zero, one = self.constant(0.0), self.constant(1.0)
        if name in _ARITHMETIC:
            add(f"  {result} = {_ARITHMETIC[name]} {FLAGS} {V} {x[0]}, {x[1]}")
        elif name == "neg":
            add(f"  {result} = fneg {V} {x[0]}")
        elif name in _INTRINSIC:
            function = f"@llvm.{_INTRINSIC[name]}.{self._suffix()}"
            self.declarations.add(f"declare {V} {function}({', '.join([V] * len(x))})")
            add(f"  {result} = call {V} {function}({', '.join(f'{V} {y}' for y in x)})")
        elif name in _COMPARE:
            flag = self.fresh()
            add(f"  {flag} = fcmp {_COMPARE[name]} {V} {x[0]}, {x[1]}")
            add(f"  {result} = select {B} {flag}, {V} {one}, {V} {zero}")
        elif name in ("not", "select", "and", "or"):
            flags = [self.fresh() for _ in (x if name in ("and", "or") else x[:1])]
            for flag, y in zip(flags, x, strict=False):
                add(f"  {flag} = fcmp une {V} {y}, {zero}")
            if name == "select":
                add(f"  {result} = select {B} {flags[0]}, {V} {x[1]}, {V} {zero}")
            elif name == "not":
                add(f"  {result} = select {B} {flags[0]}, {V} {zero}, {V} {one}")
            else:
                both = self.fresh()
                add(f"  {both} = {name} {B} {flags[0]}, {flags[1]}")
                add(f"  {result} = select {B} {both}, {V} {one}, {V} {zero}")
        elif name == "sign":
            low, high, some = self.fresh(), self.fresh(), self.fresh()
            add(f"  {low} = fcmp olt {V} {x[0]}, {zero}")
            add(f"  {high} = fcmp ogt {V} {x[0]}, {zero}")
            add(f"  {some} = select {B} {high}, {V} {one}, {V} {x[0]}")
            add(f"  {result} = select {B} {low}, {V} {self.constant(-1.0)}, {V} {some}")
        else:
            self._library_call(name, x, result)
        return result

    def _suffix(self) -> str:
        kind = f"f{self.t.itemsize * 8}"
        return kind if self.t.width == 1 else f"v{self.t.width}{kind}"

    def _library_call(self, name: str, x: list[str], result: str) -> None:
        """Functions that robots rarely need go to the C library, lane by lane."""
        T, V, add = self.t.scalar, self.V, self.lines.append
        function = f"@{name}" + ("f" if T == "float" else "")
        self.declarations.add(f"declare {T} {function}({', '.join([T] * len(x))})")
        if self.t.width == 1:
            add(f"  {result} = call {T} {function}({', '.join(f'{T} {y}' for y in x)})")
            return
        vector = "poison"
        for k in range(self.t.width):
            entries = [self.fresh() for _ in x]
            for entry, y in zip(entries, x, strict=True):
                add(f"  {entry} = extractelement {V} {y}, i32 {k}")
            value = self.fresh()
            add(f"  {value} = call {T} {function}({', '.join(f'{T} {e}' for e in entries)})")
            following = result if k == self.t.width - 1 else self.fresh()
            add(f"  {following} = insertelement {V} {vector}, {T} {value}, i32 {k}")
            vector = following

    # --- angles -------------------------------------------------------------------------------------------------

    def _angles_first(self) -> None:
        """Sines and cosines of the joint angles before everything else: many at once, while few registers are in use."""
        p = self.p
        is_trig = np.isin(p.code, [NAMES.index("sin"), NAMES.index("cos")])
        late = self._depends_on(is_trig)
        arguments = [int(n) for n in dict.fromkeys(p.left[is_trig].tolist()) if not late[n]]
        for number in self._needed_for(arguments):
            self._instruction(number)
        lanes = self.t.sincos_lanes if self.t.width == 1 else 1
        for start in range(0, len(arguments), lanes):
            self._sincos(arguments[start : start + lanes])

    def _depends_on(self, marked: np.ndarray) -> np.ndarray:
        """For every value: does it depend on a marked instruction?"""
        p = self.p
        depends = np.zeros(p.first_instruction + len(p), dtype=bool)
        for k, (a, b) in enumerate(zip(p.left.tolist(), p.right.tolist(), strict=True)):
            depends[p.first_instruction + k] = marked[k] or depends[a] or (b >= 0 and depends[b])
        return depends

    def _needed_for(self, numbers: list[int]) -> list[int]:
        """Instructions that lead to these values, in order."""
        p, needed, front = self.p, set(), list(numbers)
        while front:
            number = front.pop()
            if number >= p.first_instruction and number not in needed:
                needed.add(number)
                k = number - p.first_instruction
                front += [int(n) for n in (p.left[k], p.right[k]) if n >= 0]
        return sorted(needed)

    def _sincos(self, arguments: list[int]) -> None:
        """Sine and cosine of one vector value, or of several single ones gathered in a vector."""
        self.uses_sincos = True
        lanes, width, add = self.t.sincos_lanes, self.t.width, self.lines.append
        D = f"<{lanes} x double>"
        if width == 1:
            vector = "zeroinitializer"
            for k, number in enumerate(arguments):
                vector = self._insert(vector, self._widened(self.operand(number)), k, D)
            sines, cosines = self._call_sincos(vector, D)
            for k, number in enumerate(arguments):
                self.trig["sin", number] = self._narrowed(self._extract(sines, k, D))
                self.trig["cos", number] = self._narrowed(self._extract(cosines, k, D))
            return
        (number,) = arguments
        x = self.operand(number)
        if self.t.dtype == "float64" and width == lanes:
            self.trig["sin", number], self.trig["cos", number] = self._call_sincos(x, D)
            return
        wide = f"<{width} x double>"
        if self.t.dtype == "float32":
            extended = self.fresh()
            add(f"  {extended} = fpext {self.V} {x} to {wide}")
            x = extended
        pieces = [self._call_sincos(self._slice(x, k, lanes, width), D) for k in range(0, width, lanes)]
        for which, key in enumerate(("sin", "cos")):
            joined = self._joined([piece[which] for piece in pieces], lanes)
            if self.t.dtype == "float32":
                narrow = self.fresh()
                add(f"  {narrow} = fptrunc {wide} {joined} to {self.V}")
                joined = narrow
            self.trig[key, number] = joined

    def _call_sincos(self, vector: str, D: str) -> tuple[str, str]:
        pair, sines, cosines = self.fresh(), self.fresh(), self.fresh()
        self.lines.append(f"  {pair} = call {{{D}, {D}}} @sincos({D} {vector})")
        self.lines.append(f"  {sines} = extractvalue {{{D}, {D}}} {pair}, 0")
        self.lines.append(f"  {cosines} = extractvalue {{{D}, {D}}} {pair}, 1")
        return sines, cosines

    def _insert(self, vector: str, x: str, k: int, D: str) -> str:
        name = self.fresh()
        self.lines.append(f"  {name} = insertelement {D} {vector}, double {x}, i32 {k}")
        return name

    def _extract(self, vector: str, k: int, D: str) -> str:
        name = self.fresh()
        self.lines.append(f"  {name} = extractelement {D} {vector}, i32 {k}")
        return name

    def _widened(self, x: str) -> str:
        if self.t.dtype == "float64":
            return x
        name = self.fresh()
        self.lines.append(f"  {name} = fpext float {x} to double")
        return name

    def _narrowed(self, x: str) -> str:
        if self.t.dtype == "float64":
            return x
        name = self.fresh()
        self.lines.append(f"  {name} = fptrunc double {x} to float")
        return name

    def _slice(self, x: str, start: int, lanes: int, width: int) -> str:
        name, mask = self.fresh(), ", ".join(f"i32 {start + k}" for k in range(lanes))
        wide = f"<{width} x double>"
        self.lines.append(f"  {name} = shufflevector {wide} {x}, {wide} poison, <{lanes} x i32> <{mask}>")
        return name

    def _joined(self, parts: list[str], lanes: int) -> str:
        while len(parts) > 1:
            D, mask = f"<{lanes} x double>", ", ".join(f"i32 {k}" for k in range(2 * lanes))
            pairs = []
            for a, b in zip(parts[::2], parts[1::2], strict=True):
                pairs.append(self.fresh())
                self.lines.append(f"  {pairs[-1]} = shufflevector {D} {a}, {D} {b}, <{2 * lanes} x i32> <{mask}>")
            parts, lanes = pairs, 2 * lanes
        return parts[0]

    # --- checks -------------------------------------------------------------------------------------------------

    def _checks(self) -> None:
        """Status: x · 0 summed over all inputs is zero unless one is not finite; squared lengths of quaternions."""
        V, add, one = self.V, self.lines.append, self.t.width == 1
        B = "i1" if one else f"<{self.t.width} x i1>"
        fma = f"@llvm.fma.{self._suffix()}"
        self.declarations.add(f"declare {V} {fma}({V}, {V}, {V})")
        sums = [self.constant(0.0)] * 4  # four chains, so that they do not wait for each other
        for number in range(self.p.n_inputs):
            name, x = self.fresh(), self._load(number, "c")  # a load of its own: a register held until later would spill
            add(f"  {name} = call {V} {fma}({V} {x}, {V} {self.constant(0.0)}, {V} {sums[number % 4]})")
            sums[number % 4] = name
        low, high, total, bad = (self.fresh() for _ in range(4))
        add(f"  {low} = fadd {V} {sums[0]}, {sums[1]}")
        add(f"  {high} = fadd {V} {sums[2]}, {sums[3]}")
        add(f"  {total} = fadd {V} {low}, {high}")
        add(f"  {bad} = fcmp uno {V} {total}, {total}")
        add(f"  %not_finite = {'select i1 ' + bad + ', i32 1, i32 0' if one else self._any(bad, B, NOT_FINITE)}")
        self._check_quaternions(V, B, one)

    def _check_quaternions(self, V: str, B: str, one: bool) -> None:
        add, status = self.lines.append, "%not_finite"
        starts = np.concatenate([[0], np.cumsum([a.size for a in self.p.inputs])]).astype(int)
        for argument, offset in self.p.quaternions:
            parts = [self._load(int(starts[argument]) + offset + k, "u") for k in range(4)]
            total = self.constant(-1.0)
            for part in parts:
                square, following = self.fresh(), self.fresh()
                add(f"  {square} = fmul {V} {part}, {part}")
                add(f"  {following} = fadd {FLAGS} {V} {square}, {total}")
                total = following
            high, low, off = self.fresh(), self.fresh(), self.fresh()
            add(f"  {high} = fcmp ogt {V} {total}, {self.constant(QUATERNION_TOLERANCE)}")
            add(f"  {low} = fcmp olt {V} {total}, {self.constant(-QUATERNION_TOLERANCE)}")
            add(f"  {off} = or {B} {high}, {low}")
            bit, following = self.fresh(), self.fresh()
            add(f"  {bit} = {f'select i1 {off}, i32 {NOT_UNIT}, i32 0' if one else self._any(off, B, NOT_UNIT)}")
            add(f"  {following} = or i32 {status}, {bit}")
            status = following
        add(f"  %status = or i32 {status}, 0")

    def _any(self, flags: str, B: str, bit: int) -> str:
        some = self.fresh()
        reduce = f"@llvm.vector.reduce.or.v{self.t.width}i1"
        self.declarations.add(f"declare i1 {reduce}({B})")
        self.lines.append(f"  {some} = call i1 {reduce}({B} {flags})")
        return f"select i1 {some}, i32 {bit}, i32 0"


def _batch(program: Program, target: Target) -> str:
    """`i32 @run(inputs…, outputs…, blocks, scratch, stream)`: blocks of W rows through `@body`."""
    T, W, V = target.scalar, target.width, target.value
    _, slots = compact_slots(program)
    parts = ["declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)"]
    stores = []
    for k, (output, table) in enumerate(zip(program.outputs, slots, strict=True)):
        padded = np.concatenate([table, np.zeros(-len(table) % W, dtype=np.int64)])
        entries = ", ".join(f"i32 {n}" for n in padded.tolist())
        parts.append(f"@table{k} = internal constant [{len(padded)} x i32] [{entries}], align 64")
        parts.append(store_rows_ir(f"store{k}", f"table{k}", output.size, W, T))
        streamed = target.streaming and output.size >= 4 * W
        if streamed:
            parts.append(stream_rows_ir(f"stream{k}", f"table{k}", output.size, W, T))
        stores.append(streamed)
    for k, argument in enumerate(program.inputs):
        parts.append(load_rows_ir(f"load{k}", argument.size, W, T))
    arguments = [f"ptr %i{k}" for k in range(len(program.inputs))] + [f"ptr %o{k}" for k in range(len(program.outputs))]
    lines = [
        f"define i32 @run({', '.join(arguments)}, i64 %blocks, ptr %scratch, i32 %stream) nounwind {{",
        "entry:",
        "  %streaming = icmp ne i32 %stream, 0",
        f"  %values = getelementptr {V}, ptr %scratch, i64 {program.n_inputs}",
        "  %empty = icmp eq i64 %blocks, 0",
        "  br i1 %empty, label %done, label %loop",
        "loop:",
        "  %b = phi i64 [0, %entry], [%b_next, %next]",
        "  %status = phi i32 [0, %entry], [%status_next, %next]",
    ]
    offset = 0
    for k, argument in enumerate(program.inputs):
        lines += [
            f"  %skip{k} = mul i64 %b, {argument.size * W}",
            f"  %rows{k} = getelementptr {T}, ptr %i{k}, i64 %skip{k}",
            f"  %lane{k} = getelementptr {V}, ptr %scratch, i64 {offset}",
            f"  call void @load{k}(ptr %rows{k}, ptr %lane{k})",
        ]
        offset += argument.size
    lines += [
        "  %bits = call i32 @body(ptr %scratch, ptr %values)",
        "  %status_next = or i32 %status, %bits",
        "  br i1 %streaming, label %streamed, label %plain",
    ]
    for label, prefix in (("streamed", "stream"), ("plain", "store")):
        lines.append(f"{label}:")
        for k, output in enumerate(program.outputs):
            function = prefix if stores[k] else "store"
            lines += [
                f"  %{prefix}_skip{k} = mul i64 %b, {output.size * W}",
                f"  %{prefix}_rows{k} = getelementptr {T}, ptr %o{k}, i64 %{prefix}_skip{k}",
                f"  call void @{function}{k}(ptr %values, ptr %{prefix}_rows{k})",
            ]
        lines.append("  br label %next")
    lines += [
        "next:",
        "  %b_next = add i64 %b, 1",
        "  %more = icmp ult i64 %b_next, %blocks",
        "  br i1 %more, label %loop, label %done",
        "done:",
        "  %all = phi i32 [0, %entry], [%status_next, %next]",
        "  ret i32 %all",
        "}",
    ]
    return "\n".join([*parts, *lines])


def scratch_size(program: Program, width: int) -> int:
    """Numbers of scratch memory that a batch kernel needs."""
    needed, _ = compact_slots(program)
    return (program.n_inputs + len(needed) + 1) * width
