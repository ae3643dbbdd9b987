"""A `Program` as an LLVM module: `@run` for single states, or for blocks of W states.

Contraction to fused multiply-add and reassociation are allowed; nothing assumes that numbers are finite, so NaN
propagates.
"""

from __future__ import annotations

from .batch import BatchRun
from .body import FunctionBody
from .columns import columns_ir
from .divisors import with_reciprocals
from .program import Program
from .sections import SectionedBody
from .sincos import sincos_ir
from .target import Target


def emit(program: Program, target: Target) -> str:
    """Returns the LLVM IR of the whole module."""
    first = program.columns.first if program.columns else program
    if target.width > 1:
        body: FunctionBody = (sections := SectionedBody(with_reciprocals(first), target))
        function = sections.lines()
        function += BatchRun(program, target, sections).lines()
    else:
        body = FunctionBody(first, target, "first" if program.columns else "run")
        function = body.lines()
    parts = [sincos_ir(target.sincos_lanes, k) for k in ((1, 2) if target.width > 1 else (1,)) if body.uses_sincos]
    if program.columns:
        parts += [columns_ir(program, program.columns, target)]
    lines = "\n".join([*parts, *body.declarations, *function]).splitlines()
    # Two parts may declare the same intrinsic; LLVM accepts each declaration once.
    declarations = {line for line in lines if line.startswith("declare")}
    definitions = [line for line in lines if not line.startswith("declare")]
    return "\n".join([*sorted(declarations), *definitions, "!0 = !{i32 1}"])
