"""Converts CasADi expressions to a `Program`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ..errors import CompileError, missing_casadi

try:
    import casadi
except ImportError:
    raise missing_casadi() from None

from ..equations.factors import ColumnSolutions
from .program import CODES, Argument, ColumnPrograms, Output, Program

MAX_INSTRUCTIONS = 300_000  # compile time of one to two minutes; larger programs are refused with a message

_DIRECT = {
    casadi.OP_ADD: "add", casadi.OP_SUB: "sub", casadi.OP_MUL: "mul", casadi.OP_DIV: "div", casadi.OP_NEG: "neg",
    casadi.OP_SQRT: "sqrt", casadi.OP_SIN: "sin", casadi.OP_COS: "cos", casadi.OP_FABS: "abs", casadi.OP_FMIN: "min",
    casadi.OP_FMAX: "max", casadi.OP_LT: "lt", casadi.OP_LE: "le", casadi.OP_EQ: "eq", casadi.OP_NE: "ne",
    casadi.OP_NOT: "not", casadi.OP_AND: "and", casadi.OP_OR: "or", casadi.OP_IF_ELSE_ZERO: "select",
    casadi.OP_FLOOR: "floor", casadi.OP_CEIL: "ceil", casadi.OP_SIGN: "sign", casadi.OP_COPYSIGN: "copysign",
    casadi.OP_EXP: "exp", casadi.OP_LOG: "log", casadi.OP_POW: "pow", casadi.OP_CONSTPOW: "pow", casadi.OP_TAN: "tan",
    casadi.OP_ASIN: "asin", casadi.OP_ACOS: "acos", casadi.OP_ATAN: "atan", casadi.OP_ATAN2: "atan2",
    casadi.OP_SINH: "sinh", casadi.OP_COSH: "cosh", casadi.OP_TANH: "tanh", casadi.OP_HYPOT: "hypot",
    casadi.OP_EXPM1: "expm1", casadi.OP_LOG1P: "log1p", casadi.OP_FMOD: "fmod", casadi.OP_ASINH: "asinh",
    casadi.OP_ACOSH: "acosh", casadi.OP_ATANH: "atanh",
}  # fmt: skip
_OPERATION_NAMES = {getattr(casadi, name): name[3:].lower() for name in dir(casadi) if name.startswith("OP_")}


def trace(
    name: str,
    inputs: Mapping[str, casadi.SX],
    outputs: Mapping[str, casadi.SX],
    *,
    shapes: Mapping[str, tuple[int, ...]] | None = None,
    quaternions: Sequence[tuple[int, int]] = (),
) -> Program:
    """Records the expressions `outputs` of the symbols `inputs` as a program.

    Args:
        shapes: of the output arrays, where a matrix of symbols is not the shape to give (a column as (n,), for
            example).
        quaternions: (input, offset) of the unit quaternions among the inputs.
    """
    if not inputs or not outputs:
        raise CompileError(f"{name}: a function needs at least one parameter and one result to be compiled")
    expressions = casadi.cse([casadi.densify(expression.T).reshape((-1, 1)) for expression in outputs.values()])
    function = casadi.Function("f", list(inputs.values()), expressions, {"allow_free": True})
    if function.has_free():
        raise CompileError(
            f"{name}: the result depends on symbols that are not arguments: {', '.join(function.get_free())}. "
            f"Arguments are {', '.join(inputs)}; make what else it needs a parameter of the function."
        )
    if function.n_instructions() > MAX_INSTRUCTIONS:
        raise CompileError(
            f"{name}: {function.n_instructions():,} instructions are more than the {MAX_INSTRUCTIONS:,} that compile "
            "in reasonable time. Lock joints you do not need, or ask for a smaller quantity."
        )
    recorder = _Recorder(name, [symbols.shape[0] for symbols in inputs.values()], len(expressions))
    recorder.record(function)
    sizes = {key: expression.shape for key, expression in outputs.items()}
    return recorder.program(
        tuple(Argument(key, symbols.shape[0]) for key, symbols in inputs.items()),
        {key: (shapes or {}).get(key, size) for key, size in sizes.items()},
        tuple(quaternions),
    )


def trace_columns(
    name: str, inputs: Mapping[str, casadi.SX], columns: ColumnSolutions, quaternions: Sequence[tuple[int, int]]
) -> ColumnPrograms:
    """Records both stages of a result that is solved column by column."""
    first = trace(f"{name}: first", inputs, {"row": columns.row, "done": columns.done}, quaternions=quaternions)
    groups = [
        trace(f"{name}: columns", {"shared": shared, "column": column}, {"solution": solution})
        for shared, column, solution in columns.groups
    ]
    return ColumnPrograms(first, tuple(groups), columns.matrices)


class _Recorder:
    """Walks CasADi's instructions, whose registers are reused, and gives every value a number of its own.

    Constants are numbered from −2 downwards until their count is known (−1 means zero or nothing).
    """

    def __init__(self, name: str, input_sizes: list[int], n_outputs: int) -> None:
        self.name = name
        self.offsets = np.concatenate([[0], np.cumsum(input_sizes)]).astype(int)
        self.constants: dict[bytes, int] = {}
        self.instructions: list[tuple[int, int, int]] = []
        self.results: list[dict[int, int]] = [{} for _ in range(n_outputs)]

    def record(self, f: casadi.Function) -> None:
        registers: dict[int, int] = {}
        for k in range(f.n_instructions()):
            op, inputs, outputs = f.instruction_id(k), f.instruction_input(k), f.instruction_output(k)
            if op == casadi.OP_INPUT:
                registers[outputs[0]] = int(self.offsets[inputs[0]]) + inputs[1]
            elif op == casadi.OP_CONST:
                registers[outputs[0]] = self.constant(f.instruction_constant(k))
            elif op == casadi.OP_OUTPUT:
                self.results[outputs[0]][outputs[1]] = registers[inputs[0]]
            else:
                registers[outputs[0]] = self.instruction(op, [registers[i] for i in inputs])

    def constant(self, value: float) -> int:
        return self.constants.setdefault(np.float64(value).tobytes(), -2 - len(self.constants))

    def instruction(self, op: int, operands: list[int]) -> int:
        if op in _DIRECT:
            return self.append(_DIRECT[op], *operands)
        a = operands[0]
        if op == casadi.OP_SQ:
            return self.append("mul", a, a)
        if op == casadi.OP_TWICE:
            return self.append("add", a, a)
        if op == casadi.OP_INV:
            return self.append("div", self.constant(1.0), a)
        if op in (casadi.OP_ASSIGN, casadi.OP_LIFT):
            return a
        raise CompileError(
            f"{self.name}: the operation {_OPERATION_NAMES.get(op, op)!r} is not supported. There are: "
            f"{', '.join(CODES)}."
        )

    def append(self, name: str, a: int, b: int = -1) -> int:
        self.instructions.append((CODES[name], a, b))
        return int(self.offsets[-1]) + len(self.instructions) - 1

    def program(
        self,
        inputs: tuple[Argument, ...],
        shapes: Mapping[str, tuple[int, ...]],
        quaternions: tuple[tuple[int, int], ...],
    ) -> Program:
        n_inputs, n_constants = int(self.offsets[-1]), len(self.constants)
        zero = self.constants.get(np.float64(0.0).tobytes())

        def final(numbers: np.ndarray) -> np.ndarray:
            """Moves constants to their place between inputs and instructions."""
            moved = np.where(numbers >= n_inputs, numbers + n_constants, numbers)
            return np.where(numbers <= -2, n_inputs - 2 - numbers, moved).astype(np.int32)

        code, left, right = np.array(self.instructions, dtype=np.int64).reshape(-1, 3).T
        outputs = []
        for (key, shape), result in zip(shapes.items(), self.results, strict=True):
            values = np.array([result.get(k, -1) for k in range(int(np.prod(shape)))], dtype=np.int64)
            if zero is not None:
                values[values == zero] = -1
            outputs.append(Output(key, tuple(shape), final(values)))
        constants = np.array([np.frombuffer(key)[0] for key in self.constants], dtype=np.float64)
        return Program(
            self.name, inputs, constants, code.astype(np.uint8), final(left), final(right), tuple(outputs), quaternions
        )
