"""A program: straight-line arithmetic as plain data.

Values are numbered: first the inputs, then the constants, then one value for each instruction. A program depends on
neither CasADi nor LLVM: it is saved as one small file, NumPy can evaluate it (`evaluate`), and code is emitted from
it for CPU or GPU.
"""

from __future__ import annotations

import functools
import json
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import CompileError

Array = np.ndarray
MAGIC = b"EQPROG01"
LANES = 8  # columns solved side by side in `ColumnPrograms`

# Operations and their number of operands. The position in this table is the operation's code on disk.
OPERATIONS: dict[str, int] = {
    "add": 2, "sub": 2, "mul": 2, "div": 2, "neg": 1, "sqrt": 1, "sin": 1, "cos": 1, "abs": 1, "min": 2, "max": 2,
    "lt": 2, "le": 2, "eq": 2, "ne": 2, "not": 1, "and": 2, "or": 2, "select": 2, "floor": 1, "ceil": 1, "sign": 1,
    "copysign": 2, "exp": 1, "log": 1, "pow": 2, "tan": 1, "asin": 1, "acos": 1, "atan": 1, "atan2": 2,
    "sinh": 1, "cosh": 1, "tanh": 1, "hypot": 2, "expm1": 1, "log1p": 1, "fmod": 2, "asinh": 1, "acosh": 1, "atanh": 1,
}  # fmt: skip
NAMES = tuple(OPERATIONS)
CODES = {name: code for code, name in enumerate(NAMES)}


@dataclass(frozen=True)
class Argument:
    """One input array: its name and how many numbers it has."""

    name: str
    size: int


@dataclass(frozen=True, eq=False)
class Output:
    """One output array: its shape, and for every entry (row by row) the number of a value, or −1 for zero."""

    name: str
    shape: tuple[int, ...]
    values: Array

    @property
    def size(self) -> int:
        return len(self.values)


@dataclass(frozen=True, eq=False)
class Program:
    """A straight-line program: inputs, constants, instructions, outputs."""

    name: str
    inputs: tuple[Argument, ...]
    constants: Array
    code: Array  # uint8, index into NAMES
    left: Array  # int32, number of the first operand
    right: Array  # int32, number of the second, or −1
    outputs: tuple[Output, ...]
    quaternions: tuple[tuple[int, int], ...] = ()  # (input, offset) of unit quaternions among the inputs
    columns: ColumnPrograms | None = None  # the same result in two stages, which is faster on a CPU

    @functools.cached_property
    def n_inputs(self) -> int:
        return sum(argument.size for argument in self.inputs)

    @functools.cached_property
    def first_instruction(self) -> int:
        return self.n_inputs + len(self.constants)

    def __len__(self) -> int:
        return len(self.code)

    def counts(self) -> dict[str, int]:
        """Returns how often each operation occurs."""
        return {NAMES[code]: int(n) for code, n in zip(*np.unique(self.code, return_counts=True), strict=True)}

    def evaluate(self, *arrays: Array) -> Any:
        """Evaluates the program in NumPy, one instruction after the other: slow and simple, the reference for every
        back end.
        """
        batch = np.broadcast_shapes(*(np.shape(x)[:-1] for x in arrays))
        dtype = np.result_type(*arrays, np.float32)
        table: list[Any] = []
        for array in arrays:
            table.extend(np.moveaxis(np.asarray(array, dtype=dtype), -1, 0))
        table.extend(dtype.type(c) for c in self.constants)
        with np.errstate(all="ignore"):
            for code, a, b in zip(self.code.tolist(), self.left.tolist(), self.right.tolist(), strict=True):
                table.append(_NUMPY[NAMES[code]](*(table[k] for k in (a, b)[: OPERATIONS[NAMES[code]]])))
        results = []
        for output in self.outputs:
            flat = np.zeros((*batch, output.size), dtype=dtype)
            for k, number in enumerate(output.values.tolist()):
                if number >= 0:
                    flat[..., k] = table[number]
            results.append(flat.reshape((*batch, *output.shape)))
        return results[0] if len(results) == 1 else tuple(results)

    @property
    def identity(self) -> bytes:
        """Returns the identity of the program in the cache."""
        return self.to_bytes()

    def to_bytes(self) -> bytes:
        """Serialises the program: a header in JSON, then the arrays."""
        header = {
            "name": self.name,
            "inputs": [[argument.name, argument.size] for argument in self.inputs],
            "outputs": [[output.name, list(output.shape)] for output in self.outputs],
            "quaternions": [list(place) for place in self.quaternions],
            "constants": len(self.constants),
            "instructions": len(self.code),
        }
        stages = [stage.to_bytes() for stage in self.columns.programs] if self.columns else []
        if self.columns:
            header["columns"] = [self.columns.matrices, *map(len, stages)]
        text = json.dumps(header).encode()
        arrays = [
            self.constants.astype("<f8"),
            self.code.astype("u1"),
            self.left.astype("<i4"),
            self.right.astype("<i4"),
        ]
        arrays += [output.values.astype("<i4") for output in self.outputs]
        return b"".join([MAGIC, len(text).to_bytes(8, "little"), text, *(array.tobytes() for array in arrays), *stages])

    @classmethod
    def from_bytes(cls, data: bytes) -> Program:
        """Reads the result of `to_bytes`; raises a CompileError for anything else."""
        if data[:8] != MAGIC:
            raise CompileError("these bytes are not an Equipoise program")
        try:
            program = cls(*_parts(data))
        except (LookupError, ValueError, TypeError, OverflowError, RecursionError) as error:
            raise CompileError(f"the program file is damaged: {error}") from error
        if problem := program._problem():
            raise CompileError(f"the program file is damaged: {problem}")
        return program

    def _problem(self) -> str | None:
        """Returns the reason why these numbers are not a valid program, or None."""
        first, total = self.first_instruction, self.first_instruction + len(self.code)
        if total > np.iinfo(np.int32).max or not self.inputs or not self.outputs:
            return "the program has no inputs, no outputs, or too many values"
        if (self.code >= len(NAMES)).any():
            return f"operation {self.code.max()} is unknown"
        own, binary = np.arange(first, total), _COUNTS[self.code] == 2
        if ((self.left < 0) | (self.left >= own) | (self.right < np.where(binary, 0, -1))).any():
            return "an operand is missing"
        if (self.right >= np.where(binary, own, 0)).any():
            return "an operand comes after the instruction that needs it"
        if any(((output.values < -1) | (output.values >= total)).any() for output in self.outputs):
            return "an output is a value that does not exist"
        if any(not 0 <= k <= self.inputs[i].size - 4 for i, k in self.quaternions):
            return "a quaternion is not among the inputs"
        if self.columns and not self.columns.fits(self):
            return "the sizes of its column programs do not fit"
        return None


@dataclass(frozen=True, eq=False)
class ColumnPrograms:
    """Two stages that compute the result of a program: matrices on top of each other, solved column by column.

    A solve with many right-hand sides runs the same arithmetic for every column, so a processor does it for `LANES`
    columns at once, with the vectors of one state in its L1 cache. `first` gives (the numbers that all columns
    share, followed by the right-hand sides; the last matrices, finished). Each group of columns of the other
    matrices has a program, from (shared numbers, rows of the right-hand side that are not zero in the whole group)
    to all rows of the result. Right-hand sides are ordered by group, then row, then matrix.
    """

    first: Program
    groups: tuple[Program, ...]
    matrices: int  # number of matrices that are solved by columns

    @property
    def programs(self) -> tuple[Program, ...]:
        return (self.first, *self.groups)

    @property
    def shared(self) -> int:
        """Number of values that all columns share."""
        return self.groups[0].inputs[0].size

    @property
    def right(self) -> int:
        """Number of values of the right-hand side of one matrix."""
        return LANES * sum(group.inputs[1].size for group in self.groups)

    def fits(self, program: Program) -> bool:
        """Returns whether the stages fit each other and the program they belong to."""
        forms = {(len(group.inputs), len(group.outputs)) for group in self.groups}
        if (
            forms != {(2, 1)}
            or len(self.first.outputs) != 2
            or len(program.outputs) != 1
            or len(program.outputs[0].shape) != 3
        ):
            return False
        _, rows, columns = program.outputs[0].shape
        row, done = (output.size for output in self.first.outputs)
        return (
            [argument.size for argument in self.first.inputs] == [argument.size for argument in program.inputs]
            and len(self.groups) == -(-columns // LANES)
            and {(g.inputs[0].size, g.outputs[0].size) for g in self.groups} == {(self.shared, rows)}
            and row == self.shared + self.matrices * self.right
            and program.outputs[0].size == self.matrices * rows * columns + done
        )


def _parts(data: bytes) -> tuple[Any, ...]:
    """Parses a file into the fields of a program; raises one of Python's built-in errors if a field has a wrong type or
    length.
    """
    size = int.from_bytes(data[8:16], "little")
    header, at = json.loads(data[16 : 16 + size]), 16 + size

    def take(count: int, kind: str) -> Array:
        nonlocal at
        array = np.frombuffer(data, dtype=kind, count=_count(count), offset=at)
        at += array.nbytes
        return array

    constants, n = take(header["constants"], "<f8"), header["instructions"]
    code, left, right = take(n, "u1"), take(n, "<i4"), take(n, "<i4")
    shapes = [(_text(name), tuple(map(_count, shape))) for name, shape in header["outputs"]]
    outputs = tuple(Output(name, shape, take(math.prod(shape), "<i4")) for name, shape in shapes)
    matrices, *lengths = header.get("columns", [0])
    stages = [Program.from_bytes(take(length, "u1").tobytes()) for length in lengths]
    if at != len(data):
        raise ValueError(f"{len(data)} bytes instead of {at}")
    inputs = tuple(Argument(_text(name), _count(size)) for name, size in header["inputs"])
    quaternions = tuple((range(len(inputs))[_count(i)], _count(k)) for i, k in header["quaternions"])
    columns = ColumnPrograms(stages[0], tuple(stages[1:]), _count(matrices)) if stages else None
    return _text(header["name"]), inputs, constants, code, left, right, outputs, quaternions, columns


def _count(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise ValueError(f"{value!r} is not a count")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not a name")
    return value


_COUNTS = np.array(list(OPERATIONS.values()), dtype=np.uint8)
_NUMPY: dict[str, Any] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "neg": np.negative, "sqrt": np.sqrt,
    "sin": np.sin, "cos": np.cos, "abs": np.abs, "min": np.minimum, "max": np.maximum,
    "lt": lambda a, b: (a < b) * 1.0, "le": lambda a, b: (a <= b) * 1.0, "eq": lambda a, b: (a == b) * 1.0,
    "ne": lambda a, b: (a != b) * 1.0, "not": lambda a: (a == 0) * 1.0, "and": lambda a, b: ((a != 0) & (b != 0)) * 1.0,
    "or": lambda a, b: ((a != 0) | (b != 0)) * 1.0, "select": lambda c, x: np.where(c != 0, x, 0.0 * np.ones_like(x)),
    "floor": np.floor, "ceil": np.ceil, "sign": np.sign, "copysign": np.copysign, "exp": np.exp, "log": np.log,
    "pow": np.power, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "atan2": np.arctan2,
    "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "hypot": np.hypot, "expm1": np.expm1, "log1p": np.log1p,
    "fmod": np.fmod, "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh,
}  # fmt: skip
