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
    values = np.concatenate([first + np.arange(len(names)), [-1, 1, 5, 6]]).astype(np.int32)  # zero, an input, two constants
    return Program("every operation", (Argument("x", 2), Argument("y", 2)), constants, code, left, right,
                   (Output("out", (len(values),), values),))  # fmt: skip


def random_program(
    seed: int, *, instructions: int = 600, sizes: tuple[int, ...] = (7, 6), outputs: tuple[tuple[int, ...], ...]
) -> Program:
    """Sums, products, sines, divisions by numbers near one, in random order; results of the given shapes."""
    rng = np.random.default_rng(seed)
    constants = rng.normal(size=5)
    first = sum(sizes) + len(constants)
    code, left, right = [], [], []
    for k in range(instructions):
        known = first + k
        a, b = rng.integers(max(0, known - 150), known), rng.integers(0, known)
        name = rng.choice(["add", "sub", "mul", "sin", "cos", "neg", "div"], p=[0.2, 0.2, 0.15, 0.2, 0.15, 0.05, 0.05])
        if name == "div" and (not code or code[-1] != CODES["cos"]):
            name = "add"
        if name == "mul":  # with a sine, so that nothing grows
            b = first + k - 1 if code and code[-1] in (CODES["sin"], CODES["cos"]) else int(rng.integers(sum(sizes), first))
        if name == "div":
            b = sum(sizes)  # a constant
        code.append(CODES[name])
        left.append(int(a))
        right.append(int(b) if OPERATIONS[name] == 2 else -1)
    results = []
    for n, shape in enumerate(outputs):
        values = rng.integers(first + instructions // 2, first + instructions, size=int(np.prod(shape))).astype(np.int32)
        values[rng.random(len(values)) < 0.3] = -1
        results.append(Output(f"out{n}", shape, values))
    arguments = tuple(Argument(f"x{k}", size) for k, size in enumerate(sizes))
    return Program(f"random{seed}", arguments, constants, np.array(code, np.uint8), np.array(left, np.int32),
                   np.array(right, np.int32), tuple(results))  # fmt: skip
