"""Writes the instructions of a program as lines of C, in an order that needs few registers.

The caller decides how inputs are read and results are written.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ..order import compact_order
from ..program import NAMES, OPERATIONS, Program
from ..registers import Registers
from .functions import literal

_INFIX = {"add": "+", "sub": "-", "mul": "*", "div": "/"}
_RELATION = {"lt": "<", "le": "<=", "eq": "==", "ne": "!="}
_OWN = {"min": "eq_min", "max": "eq_max", "sign": "eq_sign"}
_RENAMED = {"abs": "fabs"}


class Slot(NamedTuple):
    """Place that one number is written to: output and entry."""

    output: int
    entry: int


def places(program: Program) -> dict[int, list[Slot]]:
    """Returns value → places that it is written to; −1 stands for zeros."""
    result: dict[int, list[Slot]] = {}
    for k, output in enumerate(program.outputs):
        for entry, number in enumerate(output.values.tolist()):
            result.setdefault(number, []).append(Slot(k, entry))
    return result


def _needed(program: Program) -> list[bool]:
    """Returns for every instruction whether a result depends on it."""
    first = program.first_instruction
    needed = [False] * (first + len(program))
    for number in places(program):
        if number >= 0:
            needed[number] = True
    for k in reversed(range(len(program))):
        if needed[first + k]:
            needed[int(program.left[k])] = True
            if program.right[k] >= 0:
                needed[int(program.right[k])] = True
    return needed[first:]


class SourceBody:
    """Writes one program. Call `lines()` once; then `waiting_places` is the memory that it needs.

    Args:
        read: returns an expression for an input, given its number.
        write: returns statements that store a value wherever it goes, given its number and name.
        cut: instructions between branches that are never taken; a compiler does not stretch the lives of values across
            them.
        fast_division: always multiply by the reciprocal, not only where several numbers have the same divisor.
        registers: values to keep in registers at once; the others are spilled to `WAIT(place)`. None: the compiler
            decides.
    """

    read: Callable[[int], str]
    write: Callable[[int, str], list[str]]
    p: Program
    dtype: str
    order: list[int]
    divisors: set[int]
    now: int

    def __init__(
        self,
        program: Program,
        dtype: str,
        read: Callable[[int], str],
        write: Callable[[int, str], list[str]],
        *,
        cut: int = 0,
        fast_division: bool = False,
        registers: int | None = None,
    ) -> None:
        self.p, self.dtype, self.read, self.write = program, dtype, read, write
        self.cut = cut
        self.fast_division = fast_division
        self.suffix = "f" if dtype == "float32" else ""
        needed = _needed(program)
        self.order = [k for k in compact_order(program) if needed[k]]
        self.text: list[str] = []
        self.known: set[int] = set()  # inputs that are in a variable
        self.angles: dict[int, int] = {}
        self.inverted: set[int] = set()
        self.divisors = self._common_divisors()
        self.now = -1
        self._registers = None if registers is None else Registers(registers, [self._used(k) for k in self.order])

    @property
    def waiting_places(self) -> int:
        """Largest number of values that are spilled at the same time."""
        return self._registers.slot_count if self._registers else 0

    def lines(self) -> list[str]:
        """Returns the lines of the whole program."""
        for self.now, k in enumerate(self.order):  # noqa: B020
            self._instruction(k)
            if self.cut and self.now % self.cut == self.cut - 1:
                self.text.append(f"if (leave == {self.now}u) return;")
        for number in sorted(places(self.p)):
            if number < self.p.first_instruction:  # zeros, inputs and constants among the results
                name = literal(0.0, self.dtype) if number < 0 else self._operand(number)
                self.text += self.write(number, name)
        return self.text

    def _used(self, k: int) -> list[int]:
        pair = (int(self.p.left[k]), int(self.p.right[k]))
        return [x for x in dict.fromkeys(pair) if x >= self.p.first_instruction]

    def _common_divisors(self) -> set[int]:
        """Returns values that several others are divided by: one reciprocal, then products."""
        seen: set[int] = set()
        common: set[int] = set()
        for code, b in zip(self.p.code.tolist(), self.p.right.tolist(), strict=True):
            if NAMES[code] == "div":
                (common if b in seen else seen).add(b)
        return common

    def _operand(self, number: int) -> str:
        if number >= self.p.first_instruction:
            return self._value(number)
        if number >= self.p.n_inputs:
            return literal(float(self.p.constants[number - self.p.n_inputs]), self.dtype)
        if number not in self.known:
            self.known.add(number)
            self.text.append(f"const real x{number} = {self.read(number)};")
        return f"x{number}"

    def _value(self, number: int) -> str:
        """Returns the name of a result: its variable, or one loaded from memory."""
        if self._registers is None or number in self._registers.names:
            return f"t{number}"
        name = f"w{number}_{self.now}"
        line = f"const real {name} = WAIT({self._registers.slots[number]});"
        if self.text[-1:] != [line]:  # x · x asks for the same value twice
            self.text.append(line)
        return name

    def _instruction(self, k: int) -> None:
        name, number = NAMES[self.p.code[k]], self.p.first_instruction + k
        a, b = int(self.p.left[k]), int(self.p.right[k])
        if name in ("sin", "cos"):
            value = f"{name}{self._angle(a)}"
        elif name == "div" and (b in self.divisors or self.fast_division):
            value = f"{self._operand(a)} * {self._inverse(b)}"
        else:
            value = self._expression(name, [self._operand(x) for x in (a, b)[: OPERATIONS[name]]])
        self.text.append(f"const real t{number} = {value};")
        self.text += self.write(number, f"t{number}")
        self._settle(number, self._used(k))

    def _settle(self, number: int, used: list[int]) -> None:
        """Spills values that no longer fit the registers."""
        if self._registers is None:
            return
        self._registers.release(used, self.now)
        for value, name in self._registers.hold(number, f"t{number}", self.now):
            if value not in self._registers.slots:
                self.text.append(f"WAIT({self._registers.slot(value)}) = {name};")

    def _angle(self, number: int) -> int:
        """Returns the index of an angle's variables; emits its sine and cosine together at the first use."""
        if number not in self.angles:
            n = self.angles[number] = len(self.angles)
            angle = self._operand(number)
            self.text.append(f"real sin{n}, cos{n}; eq_sincos({angle}, &sin{n}, &cos{n});")
        return self.angles[number]

    def _inverse(self, number: int) -> str:
        if number not in self.inverted:
            self.inverted.add(number)
            divisor = self._operand(number)
            self.text.append(f"const real r{number} = eq_inverse({divisor});")
        return f"r{number}"

    def _expression(self, name: str, x: list[str]) -> str:
        one, zero = literal(1.0, self.dtype), literal(0.0, self.dtype)
        if name in _INFIX:
            return f"{x[0]} {_INFIX[name]} {x[1]}"
        if name == "neg":
            return f"-{x[0]}"
        if name in _RELATION:
            return f"({x[0]} {_RELATION[name]} {x[1]}) ? {one} : {zero}"
        if name == "not":
            return f"({x[0]} != 0) ? {zero} : {one}"
        if name == "select":
            return f"({x[0]} != 0) ? {x[1]} : {zero}"
        if name in ("and", "or"):
            return f"({x[0]} != 0 {'&&' if name == 'and' else '||'} {x[1]} != 0) ? {one} : {zero}"
        function = _OWN.get(name) or _RENAMED.get(name, name) + self.suffix
        return f"{function}({', '.join(x)})"
