"""Emits the instructions of a program as one LLVM function, for one state or for W states in the lanes of vectors.

The code is cut into blocks of moderate size, with a branch in between that is never taken. LLVM works block by
block, so its time grows linearly with the program, and it cannot stretch live ranges across the whole program.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..errors import CompileError
from .constants import INLINE, POINTER, ConstantTable
from .operations import Operations
from .program import NAMES, OPERATIONS, Program
from .registers import Registers
from .target import FLAGS, NOT_FINITE, NOT_UNIT, QUATERNION_TOLERANCE, Target, compact_slots

BLOCK = 192  # instructions per block
MAX_STACK = 2 << 20  # bytes; the stack of a thread may be limited to a few megabytes


class FunctionBody(Operations):
    """Writes one program as the function `name`. Call `lines()` once."""

    operands: list[list[int]]
    p: Program
    name: str
    constants: ConstantTable
    slot_of: dict[int, int]
    places: dict[int, list[tuple[int, int]]]
    trig: dict[int, list[tuple[int, str]]]
    order: list[int | list[int]]
    registers: Registers
    now: int
    sources: list[tuple[str, int, int]]

    def __init__(self, program: Program, target: Target, name: str = "run") -> None:
        super().__init__(target)
        self.p, self.name = program, name
        self.constants = ConstantTable(target.scalar)
        needed, _ = compact_slots(program)
        pairs = zip(program.left.tolist(), program.right.tolist(), strict=True)
        self.operands = [[a] if b < 0 else [a, b] for a, b in pairs]
        self.slot_of = {int(number): k + 1 for k, number in enumerate(needed)}
        self.places = self._output_places()
        self.trig = self._trig_instructions()
        self.order = self._order()
        self.registers = Registers(target.registers, [self._used(step) for step in self.order])
        self.now = -1
        self.sources = self._input_places()

    def lines(self) -> list[str]:
        """Returns the lines of the whole function."""
        self._instructions()
        return [
            *self.constants.definitions(self.name),
            *(self._head(), *self._frame(), *self.text),
            *("  ret i32 %status", "leave:", "  ret i32 0", "}"),
        ]

    def _instructions(self) -> None:
        self._checks()
        for number in self.slot_of:
            if number < self.p.first_instruction:
                self._store(number, self.operand(number))
        for self.now, step in enumerate(self.order):  # noqa: B020
            if self.now % BLOCK == BLOCK - 1:
                self._cut()
            if isinstance(step, list):
                self._angles(step)
            else:
                self._instruction(step)
        self._zeros()

    def _head(self) -> str:
        inputs = [f"ptr %i{k}" for k in range(len(self.p.inputs))]
        outputs = [f"ptr noalias %o{k}" for k in range(len(self.p.outputs))]
        return f"define i32 @{self.name}({', '.join([*inputs, *outputs])}) nounwind {{"

    def _frame(self) -> list[str]:
        pointer = "%o0" if self.t.width == 1 else "%out"
        return [
            *self._memory(),
            f"  %here = icmp ne ptr {pointer}, null",  # always true, but LLVM cannot know
            *self.constants.address(self.name),
        ]

    def _memory(self) -> list[str]:
        """Emits the stack memory of spilled values."""
        if self.registers.slot_count * self.t.alignment > MAX_STACK:
            raise CompileError(
                f"{self.p.name}: too many intermediate results to keep on the stack; ask for smaller quantities"
            )
        return [f"  %memory = alloca [{max(self.registers.slot_count, 1)} x {self.V}], align 64"]

    def _cut(self) -> None:
        """Ends a block of code."""
        self.text += [f"  br i1 %here, label %block{self.now}, label %leave", f"block{self.now}:"]

    # --- order --------------------------------------------------------------------------------------------------

    def _order(self) -> list[int | list[int]]:
        """Returns the steps: instructions by number, and lists of angles whose sines and cosines are computed together.

        Angles that depend only on inputs come first: many can be computed together while few registers are in use.
        """
        p = self.p
        is_trig = np.isin(p.code, [NAMES.index("sin"), NAMES.index("cos")])
        late = self._depends_on(is_trig)
        early = [int(n) for n in dict.fromkeys(p.left[is_trig].tolist()) if not late[n]]
        before = self._needed_for(early)
        lanes = self.t.sincos_lanes if self.t.width == 1 else 2
        steps: list[int | list[int]] = [*before]
        steps += [early[k : k + lanes] for k in range(0, len(early), lanes)]
        done, angles = set(before), set(early)
        for k in self._sequence():
            number = p.first_instruction + k
            if number in done:
                continue
            if is_trig[k]:
                if int(p.left[k]) not in angles:
                    angles.add(int(p.left[k]))
                    steps.append([int(p.left[k])])
                continue
            steps.append(number)
        return steps

    def _sequence(self) -> Sequence[int]:
        """Returns the order of instructions, counted from 0, before sines and cosines are grouped."""
        return range(len(self.p))

    def _trig_instructions(self) -> dict[int, list[tuple[int, str]]]:
        """Returns angle → the instructions that need its sine or cosine."""
        wanted: dict[int, list[tuple[int, str]]] = {}
        for k, code in enumerate(self.p.code.tolist()):
            if NAMES[code] in ("sin", "cos"):
                wanted.setdefault(int(self.p.left[k]), []).append((self.p.first_instruction + k, NAMES[code]))
        return wanted

    def _used(self, step: int | list[int]) -> list[int]:
        if isinstance(step, list):
            return step
        k = step - self.p.first_instruction
        return self.operands[k]

    def _depends_on(self, marked: np.ndarray) -> np.ndarray:
        """Returns for every value whether it depends on a marked instruction."""
        p = self.p
        depends = [False] * (p.first_instruction + len(p))
        for k, (a, b) in enumerate(zip(p.left.tolist(), p.right.tolist(), strict=True)):
            depends[p.first_instruction + k] = bool(marked[k]) or depends[a] or (b >= 0 and depends[b])
        return np.array(depends)

    def _needed_for(self, numbers: list[int]) -> list[int]:
        """Returns the instructions that these values depend on, in order."""
        needed: set[int] = set()
        front = list(numbers)
        while front:
            number = front.pop()
            if number >= self.p.first_instruction and number not in needed:
                needed.add(number)
                front += self._used(number)
        return sorted(needed)

    # --- operands -----------------------------------------------------------------------------------------------

    def constant(self, value: float) -> str:
        T = self.t.scalar
        if value in INLINE:
            literal = self.constants.literal(value)
            return literal if self.t.width == 1 else f"splat ({T} {literal})"
        address = self._line(f"getelementptr {T}, ptr {POINTER}, i64 {self.constants.place(value)}")
        one = self._line(f"load {T}, ptr {address}")
        return one if self.t.width == 1 else self.in_all_lanes(one)

    def operand(self, number: int) -> str:
        """Returns the name of a value; a value that is not in a register is loaded where it is used."""
        if self.p.n_inputs <= number < self.p.first_instruction:
            return self.constant(float(self.p.constants[number - self.p.n_inputs]))
        return self.registers.names.get(number) or self._loaded(number)

    def _loaded(self, number: int) -> str:
        if number < self.p.n_inputs:
            pointer, offset, align = self.sources[number]
        else:
            pointer, offset, align = "%memory", self.registers.slots[number], self.t.alignment
        address, name = self.fresh(), self.fresh()
        self.text.append(f"  {address} = getelementptr {self.V}, ptr {pointer}, i64 {offset}")
        self.text.append(f"  {name} = load {self.V}, ptr {address}, align {align}")
        return name

    def _input_places(self) -> list[tuple[str, int, int]]:
        """Returns for every input number its (pointer, offset, alignment)."""
        if self.t.width > 1:
            return [("%in", number, self.t.alignment) for number in range(self.p.n_inputs)]
        return [
            (f"%i{k}", n, self.t.itemsize) for k, argument in enumerate(self.p.inputs) for n in range(argument.size)
        ]

    def _define(self, number: int, name: str) -> None:
        """Stores a new value if it is a result, and keeps it in a register if it is used again."""
        self._store(number, name)
        for value, leaving in self.registers.hold(number, name, self.now):
            self._to_memory(value, leaving)

    def _to_memory(self, value: int, name: str) -> None:
        if value not in self.registers.slots:
            place = self.registers.slot(value)
            address = self._line(f"getelementptr {self.V}, ptr %memory, i64 {place}")
            self.text.append(f"  store {self.V} {name}, ptr {address}, align {self.t.alignment}")

    def _output_places(self) -> dict[int, list[tuple[int, int]]]:
        """Returns value → (output, entry) of each place that it is written to."""
        places: dict[int, list[tuple[int, int]]] = {}
        for k, output in enumerate(self.p.outputs):
            for entry, number in enumerate(output.values.tolist()):
                places.setdefault(number, []).append((k, entry))
        return places

    def _store(self, number: int, name: str) -> None:
        """Stores a result as soon as it is computed."""
        if number not in self.slot_of:
            return
        targets = [("%out", self.slot_of[number])]
        if self.t.width == 1:
            targets = [(f"%o{k}", entry) for k, entry in self.places[number]]
        for pointer, offset in targets:
            address = self.fresh()
            self.text.append(f"  {address} = getelementptr {self.V}, ptr {pointer}, i64 {offset}")
            self.text.append(f"  store {self.V} {name}, ptr {address}, align {self.t.alignment}")

    def _zeros(self) -> None:
        """Stores the entries that are zero for every state."""
        targets = [("%out", 0)]
        if self.t.width == 1:
            targets = [(f"%o{k}", entry) for k, entry in self.places.get(-1, [])]
        for pointer, offset in targets:
            address = self.fresh()
            self.text.append(f"  {address} = getelementptr {self.V}, ptr {pointer}, i64 {offset}")
            self.text.append(f"  store {self.V} {self.constant(0.0)}, ptr {address}, align {self.t.alignment}")

    # --- steps --------------------------------------------------------------------------------------------------

    def _instruction(self, number: int) -> None:
        k = number - self.p.first_instruction
        name = NAMES[self.p.code[k]]
        used = self._used(number)
        operands = [self.operand(i) for i in used[: OPERATIONS[name]]]
        result = self.compute(name, operands)
        self.registers.release(used, self.now)
        self._define(number, result)

    def _angles(self, angles: list[int]) -> None:
        sines, cosines = self.sincos([self.operand(angle) for angle in angles])
        self.registers.release(angles, self.now)
        for angle, sine, cosine in zip(angles, sines, cosines, strict=True):
            for number, kind in self.trig[angle]:
                self._define(number, sine if kind == "sin" else cosine)

    # --- checks -------------------------------------------------------------------------------------------------

    def _checks(self) -> None:
        """Emits the checks of the state: x · 0 summed over all inputs is NaN if an input is not finite; quaternions
        must have unit length.
        """
        V, zero = self.V, self.constant(0.0)
        fma = f"@llvm.fma.{self.suffix}"
        self.declarations.add(f"declare {V} {fma}({V}, {V}, {V})")
        sums = [zero] * 4  # four independent sums hide the latency of each addition
        for number in range(self.p.n_inputs):
            name, x = self.fresh(), self._loaded(number)
            self.text.append(f"  {name} = call {V} {fma}({V} {x}, {V} {zero}, {V} {sums[number % 4]})")
            sums[number % 4] = name
        total = self._plain("fadd", self._plain("fadd", *sums[:2]), self._plain("fadd", *sums[2:]))
        bits = [self._flag(self._compare("uno", total, total), NOT_FINITE)]
        starts = np.concatenate([[0], np.cumsum([argument.size for argument in self.p.inputs])]).astype(int)
        for argument, offset in self.p.quaternions:
            bits.append(self._quaternion_flag(int(starts[argument]) + offset))
        status = "0"
        for bit in bits:
            name = self.fresh()
            self.text.append(f"  {name} = or i32 {status}, {bit}")
            status = name
        self.text.append(f"  %status = or i32 {status}, 0")

    def _quaternion_flag(self, start: int) -> str:
        excess = self.constant(-1.0)
        for number in range(start, start + 4):
            x = self._loaded(number)
            excess = self._plain("fadd", self._plain("fmul", x, x), excess)
        high = self._compare("ogt", excess, self.constant(QUATERNION_TOLERANCE))
        low = self._compare("olt", excess, self.constant(-QUATERNION_TOLERANCE))
        off = self.fresh()
        self.text.append(f"  {off} = or {self.B} {high}, {low}")
        return self._flag(off, NOT_UNIT)

    def _plain(self, operation: str, a: str, b: str) -> str:
        name = self.fresh()
        flags = FLAGS if operation == "fmul" else ""
        self.text.append(f"  {name} = {operation} {flags} {self.V} {a}, {b}")
        return name

    def _compare(self, relation: str, a: str, b: str) -> str:
        name = self.fresh()
        self.text.append(f"  {name} = fcmp {relation} {self.V} {a}, {b}")
        return name

    def _flag(self, condition: str, bit: int) -> str:
        """Emits `bit` if the condition holds in any lane, else 0."""
        if self.t.width > 1:
            function, some = f"@llvm.vector.reduce.or.v{self.t.width}i1", self.fresh()
            self.declarations.add(f"declare i1 {function}({self.B})")
            self.text.append(f"  {some} = call i1 {function}({self.B} {condition})")
            condition = some
        name = self.fresh()
        self.text.append(f"  {name} = select i1 {condition}, i32 {bit}, i32 0")
        return name
