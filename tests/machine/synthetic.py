"""Programs made of numbers alone, for machines without CasADi."""

from __future__ import annotations

import numpy as np

from equipoise.machine.program import CODES, OPERATIONS, Argument, Output, Program


def every_operation() -> Program:
    """Two inputs of two numbers; one result for every operation there is."""
    constants = np.array([0.5, -2.25, 1e-300, 3.0])
    names = list(OPERATIONS)
    first = 4 + len(constants)
    left = np.array([0 if name not in ("acosh",) else 3 for name in names], dtype=np.int32)
    right = np.array([2 if OPERATIONS[name] == 2 else -1 for name in names], dtype=np.int32)
    code = np.array([CODES[name] for name in names], dtype=np.uint8)
    # zero, an input, two constants
    values = np.concatenate([first + np.arange(len(names)), [-1, 1, 5, 6]]).astype(np.int32)
    return Program("every operation", (Argument("x", 2), Argument("y", 2)), constants, code, left, right,
                   (Output("out", (len(values),), values),))  # fmt: skip


def random_program(
    seed: int, *, instructions: int = 600, sizes: tuple[int, ...] = (7, 6), outputs: tuple[tuple[int, ...], ...]
) -> Program:
    """Means, products with sines, sines, quotients by constants, so that nothing grows; results of the given shapes."""
    rng = np.random.default_rng(seed)
    constants = np.array([0.5, -0.5, 1.5, -2.0])
    first, half = sum(sizes) + 4, sum(sizes)
    code: list[int] = []
    left: list[int] = []
    right: list[int] = []

    def append(name: str, a: int, b: int = -1) -> int:
        code.append(CODES[name])
        left.append(a)
        right.append(b)
        return first + len(code) - 1

    while len(code) < instructions:
        known = first + len(code)
        a, b = int(rng.integers(max(0, known - 150), known)), int(rng.integers(0, known))
        choice = rng.integers(6)
        if choice < 3:
            append("mul", append("add" if choice else "sub", a, b), half + int(choice == 2))
        elif choice == 3:
            append("mul", append("sin", a), append("cos", b))
        else:
            append("sin", a) if choice == 4 else append("div", a, half + 2 + int(rng.integers(2)))
    results = []
    for n, shape in enumerate(outputs):
        values = rng.integers(first + len(code) // 2, first + len(code), size=int(np.prod(shape))).astype(np.int32)
        values[rng.random(len(values)) < 0.3] = -1
        results.append(Output(f"out{n}", shape, values))
    arguments = tuple(Argument(f"x{k}", size) for k, size in enumerate(sizes))
    return Program(f"random{seed}", arguments, constants, np.array(code, np.uint8), np.array(left, np.int32),
                   np.array(right, np.int32), tuple(results))  # fmt: skip
