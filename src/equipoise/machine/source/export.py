"""Exports a program for another compiler: one C99 or CUDA file with a self-test, and a header.

    cc -std=c99 -O2 -DEQUIPOISE_SELF_TEST id.c -lm && ./a.out
    nvcc -O2 -DEQUIPOISE_SELF_TEST id.cu && ./a.out

The C function takes one state. The CUDA function takes many, in the fast layout: entry i of state s at [i · count + s].
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ... import __version__
from ...errors import CompileError, unknown_name
from ...model.types import Model
from ..program import Program
from .body import SourceBody, places
from .functions import helpers, literal

TESTED = 3  # number of states in the self-test
# relative to the largest number; a wrong sign or place gives a far larger error
TOLERANCE = {"float64": 1e-9, "float32": 1e-3}
_KEYWORDS = frozenset(
    "auto break case char const continue default do double else enum extern float for goto if inline int long register "
    "restrict "
    "return short signed sizeof static struct switch typedef union unsigned void volatile while real main asm bool "
    "catch class "
    "delete explicit export false friend mutable namespace new operator private protected public template this throw "
    "true try "
    "typename using virtual count stream state first lane rows leave stage more".split()
)


@dataclass(frozen=True)
class Names:
    """Names of function, arguments and results in the files."""

    function: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    notes: tuple[str, ...] = ()  # lines about the robot, for the comment at the top


def robot_notes(model: Model, quantity: str, frames: Sequence[str], representation: str | None) -> tuple[str, ...]:
    """Returns lines for the comment at the top: robot, quantity, frames, and the place of each joint's coordinates."""
    joints = [joint for joint in model.joints.values() if joint.mimic is None and joint.moving]
    return (
        f"robot           {model.name}",
        f"quantity        {quantity}",
        *([f"frames          {', '.join(frames)}"] if frames else []),
        *([f"representation  {representation}"] if representation is not None else []),
        "joints          places in q, places in v",
        *(f"  {joint.name}: {_places(joint.q)}, {_places(joint.v)}" for joint in joints),
        "",
    )


def _places(numbers: slice) -> str:
    last = numbers.stop - 1
    return f"{last}" if numbers.start == last else f"{numbers.start} to {last}"


def export(
    program: Program,
    path: str | Path,
    *,
    dtype: str = "float64",
    function: str | None = None,
    notes: Sequence[str] = (),
) -> Path:
    """Writes `path` (.c or .cu) and the header beside it; returns the path.

    Args:
        function: name of the C function; None uses the program's name. Files that are linked together need
            different names.
        notes: lines for the comment at the top of both files.
    """
    path = Path(path)
    if dtype not in TOLERANCE:
        raise unknown_name("precision", dtype, TOLERANCE)
    if path.suffix not in (".c", ".cu"):
        raise CompileError(f"export: the path must end in .c (C99) or .cu (CUDA), got {path.name!r}")
    names = replace(names_of(program, function), notes=tuple(notes))
    if path.suffix == ".c":
        path.write_text(c_file(program, dtype, names), encoding="utf-8")
        path.with_suffix(".h").write_text(_header(program, names, _c_prototype(names, dtype), ""), encoding="utf-8")
    else:
        from ..gpu.export import cuda_file, cuda_prototype

        path.write_text(cuda_file(program, dtype, names), encoding="utf-8")
        header = _header(program, names, cuda_prototype(names, dtype), "#include <cuda_runtime.h>\n")
        path.with_suffix(".h").write_text(header, encoding="utf-8")
    return path


def names_of(program: Program, function: str | None = None) -> Names:
    """Returns valid C names, each used once, for any names that users chose."""
    taken: set[str] = set()

    def name(text: str, default: str) -> str:
        word = re.sub(r"[^A-Za-z0-9_]", "_", text).strip("_") or default
        if (
            word[0].isdigit()
            or word in _KEYWORDS
            or re.fullmatch(r"eq_.*|[twxr]\d.*|(sin|cos)\d*|[io]\d+.*|table\d+", word)
        ):
            word = f"{default}_{word}"
        while word in taken:
            word += "_"
        taken.add(word)
        return word

    called = name(function or program.name, "kernel")
    inputs = tuple(name(argument.name, "input") for argument in program.inputs)
    outputs = tuple(name(f"{output.name}_out", "output") for output in program.outputs)
    return Names(called, inputs, outputs)


def about(program: Program, names: Names) -> str:
    """Returns the comment at the top of the file."""
    lines = [f"{names.function}: written by Equipoise {__version__}. Do not edit; export it again.", "", *names.notes]
    for argument, name in zip(program.inputs, names.inputs, strict=True):
        lines.append(f"in   {name}[{argument.size}]")
    for output, name in zip(program.outputs, names.outputs, strict=True):
        shape = "".join(f"[{n}]" for n in output.shape) or "[1]"
        lines.append(f"out  {name}{shape}, row by row" if len(output.shape) > 1 else f"out  {name}{shape}")
    lines += [
        "",
        "SI units, radians; base first: position, quaternion (w, x, y, z). Numbers are not checked: NaN gives NaN.",
        "Inputs and outputs must not overlap.",
    ]
    plain = ("".join(filter(str.isprintable, line)).replace("*/", "* /").replace("/*", "/ *") for line in lines)
    return "\n".join(["/*", *(f" * {line}".rstrip() for line in plain), " */", ""])


def _header(program: Program, names: Names, prototype: str, includes: str) -> str:
    guard = f"EQUIPOISE_{names.function}_H"
    sizes = [f"#define {names.function.upper()}_{name.upper()} {argument.size}"
             for argument, name in zip(program.inputs, names.inputs, strict=True)]  # fmt: skip
    sizes += [f"#define {names.function.upper()}_{name.upper()} {output.size}"
              for output, name in zip(program.outputs, names.outputs, strict=True)]  # fmt: skip
    return "\n".join(
        [
            about(program, names) + f"#ifndef {guard}",
            f"#define {guard}",
            includes.rstrip(),
            *sizes,
            "#ifdef __cplusplus",
            'extern "C" {',
            "#endif",
            f"{prototype};",
            "#ifdef __cplusplus",
            "}",
            "#endif",
            "#endif",
            "",
        ]
    )


def _c_prototype(names: Names, dtype: str) -> str:
    T = "double" if dtype == "float64" else "float"
    arguments = [f"const {T} *{name}" for name in names.inputs] + [f"{T} *{name}" for name in names.outputs]
    return f"void {names.function}({', '.join(arguments)})"


def c_file(program: Program, dtype: str, names: Names) -> str:
    """Returns the text of the C99 file."""
    goes = places(program)
    entries = [
        (name, e) for argument, name in zip(program.inputs, names.inputs, strict=True) for e in range(argument.size)
    ]

    def read(number: int) -> str:
        name, entry = entries[number]
        return f"{name}[{entry}]"

    def write(number: int, value: str) -> list[str]:
        return [f"{names.outputs[place.output]}[{place.entry}] = {value};" for place in goes.get(number, [])]

    prototype = _c_prototype(names, dtype)
    lines = SourceBody(program, dtype, read, write).lines()
    text = "\n".join(lines)
    unused = [f"(void){name};" for name in (*names.inputs, *names.outputs) if f"{name}[" not in text]
    return "\n".join(
        [
            about(program, names) + "#include <math.h>",
            "#define FUNCTION static inline",
            helpers(dtype, polynomials=False),
            "",
            f"{prototype};",
            "",
            f"{prototype} {{",
            *unused,
            *lines,
            "}",
            "",
            "#ifdef EQUIPOISE_SELF_TEST",
            "#include <stdio.h>",
            *test_data(program, dtype, names),
            c_main(program, dtype, names),
            "#endif",
            "",
        ]
    )


# --- self-test ------------------------------------------------------------------------------------------------------


def test_states(program: Program, dtype: str) -> list[np.ndarray]:
    """Returns random inputs of the right precision, with unit quaternions."""
    rng = np.random.default_rng(1)
    states = [rng.normal(size=(TESTED, argument.size)) for argument in program.inputs]
    for which, start in program.quaternions:
        quaternion = states[which][:, start : start + 4]
        quaternion /= np.linalg.norm(quaternion, axis=1, keepdims=True)
    return [x.astype(dtype) for x in states]


def test_data(program: Program, dtype: str, names: Names) -> list[str]:
    """Returns tables of inputs and expected results; results are computed in double precision by NumPy."""
    states = test_states(program, dtype)
    results = program.evaluate(*(x.astype(np.float64) for x in states))
    answers = [np.reshape(y, (TESTED, -1)) for y in (results if isinstance(results, tuple) else (results,))]
    lines = []
    for name, x in zip(names.inputs, states, strict=True):
        lines.append(_table("real", f"test_{name}", x, dtype))
    for name, y in zip(names.outputs, answers, strict=True):
        lines.append(_table("double", f"test_{name}", y, "float64"))
    return [*lines, _CHECK]


def _table(kind: str, name: str, values: np.ndarray, dtype: str) -> str:
    rows = [", ".join(literal(float(x), dtype) for x in row) or "0" for row in values]
    return (
        f"static const {kind} {name}[{len(values)}][{max(values.shape[1], 1)}] = {{\n"
        + ",\n".join(f"{{{r}}}" for r in rows)
        + "};"
    )


_CHECK = """static double worst = 0;
static void check(const real *got, const double *wanted, int size, int step) {
  double largest = 1e-30;
  for (int i = 0; i < size; ++i) largest = fabs(wanted[i]) > largest ? fabs(wanted[i]) : largest;
  for (int i = 0; i < size; ++i) {
    const double error = fabs((double)got[i * step] - wanted[i]) / largest;
    if (wanted[i] != wanted[i] && got[i * step] != got[i * step]) continue;  /* NaN as it must be */
    if (!(error <= worst)) worst = error == error ? error : 1e30;
  }
}"""


def c_main(program: Program, dtype: str, names: Names) -> str:
    """Returns a `main` that runs the test states one by one."""
    outputs = list(zip(names.outputs, program.outputs, strict=True))
    arguments = ", ".join([f"test_{name}[s]" for name in names.inputs] + [f"got_{name}" for name in names.outputs])
    return "\n".join([
        "int main(void) {", f"  for (int s = 0; s < {TESTED}; ++s) {{",
        *(f"    real got_{name}[{max(output.size, 1)}] = {{0}};" for name, output in outputs),
        f"    {names.function}({arguments});",
        *(f"    check(got_{name}, test_{name}[s], {output.size}, 1);" for name, output in outputs),
        "  }", verdict(names.function, dtype), "}",
    ])  # fmt: skip


def verdict(function: str, dtype: str) -> str:
    """Returns code that prints the largest error and returns 1 if it is too large."""
    text = f"{function}: {TESTED} states, largest error %.1e of the largest number (at most {TOLERANCE[dtype]:g})"
    return f'  printf("{text}\\n", worst);\n  return worst <= {TOLERANCE[dtype]!r} ? 0 : 1;'
