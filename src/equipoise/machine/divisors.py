"""Replaces divisions by a common divisor with one reciprocal and products.

A division costs as much as ten products, and the last joint of an articulated body divides seven numbers by the same
value.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np

from .program import CODES, Output, Program


def with_reciprocals(program: Program) -> Program:
    """Returns the program with x · (1 / d) for x / d where several numbers are divided by d. Results change by one unit
    in the last place.
    """
    divided = program.code == CODES["div"]
    common = {d for d, n in Counter(program.right[divided].tolist()).items() if n > 1}
    if not common:
        return program
    constants = np.append(program.constants, 1.0)
    one, first = program.n_inputs + len(program.constants), program.n_inputs + len(constants)
    numbers = list(range(program.first_instruction))  # number of a value in the old program → its number in the new one
    made: list[tuple[int, int, int]] = []
    inverses: dict[int, int] = {}

    def append(code: int, a: int, b: int) -> int:
        made.append((code, a, b))
        return first + len(made) - 1

    for code, a, b in zip(program.code.tolist(), program.left.tolist(), program.right.tolist(), strict=True):
        if code == CODES["div"] and b in common:
            if b not in inverses:
                inverses[b] = append(code, one, numbers[b])
            numbers.append(append(CODES["mul"], numbers[a], inverses[b]))
        else:
            numbers.append(append(code, numbers[a], numbers[b] if b >= 0 else -1))
    new = np.array([*numbers, -1], dtype=np.int32)  # Index −1, which stands for zero, maps to itself.
    codes, left, right = np.array(made, dtype=np.int32).T
    outputs = tuple(Output(output.name, output.shape, new[output.values]) for output in program.outputs)
    return replace(
        program, constants=constants, code=codes.astype(np.uint8), left=left, right=right, outputs=outputs, columns=None
    )
