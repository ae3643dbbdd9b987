"""Kernels of a robot's equations, from the cache where possible: equations → program → object → kernel."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

from ..errors import CompileError, unknown_name
from ..model.tree import Tree
from . import cpu
from .cache import shared_cache
from .cached import cached, is_cached
from .kernel import Kernel, object_code
from .program import LANES, Program
from .target import Target
from .threads import thread_count

Place = tuple[int, Any]
MAX_BODIES = 2000  # some minutes of tracing and compiling


def kernel(tree: Tree, name: str, *, places: Sequence[Place] = (), representation: str | None = None) -> Kernel:
    """Returns the kernel of one equation for one robot."""
    return kernel_of(cached(traced, tree, name, list(places), representation))


def kernel_of(program: Program, *, strict: bool = True) -> Kernel:
    """Returns a kernel that takes its machine code from the cache if it is there."""
    return Kernel(program, cached_object, strict=strict)


def cached_object(program: Program, target: Target) -> bytes:
    """Returns the object file of a program for a target."""
    return cached(object_code, program, target, on=cpu.fingerprint())


def traced(tree: Tree, name: str, places: Sequence[Place], representation: str | None) -> Program:
    """Builds an equation on symbols and records it as a program. This needs CasADi, unless the cache has the
    program.
    """
    from ..equations import catalogue
    from ..equations.symbols import SX
    from .trace import trace_columns

    if name not in catalogue.EQUATIONS:
        raise unknown_name("equation", name, catalogue.EQUATIONS)
    if len(tree.bodies) > MAX_BODIES:
        raise CompileError(
            f"{name}: {len(tree.bodies):,} moving bodies are too many to compile; lock joints you do not need"
        )
    equation = catalogue.EQUATIONS[name]
    names = list(equation.arguments)
    options: dict[str, Any] = {} if representation is None else {"representation": representation}
    if name in catalogue.FRAME_EQUATIONS:
        options["place"] = places[0]
    elif name in catalogue.FRAMES_EQUATIONS:
        options["places"] = places
    elif places:
        options["places"] = places
        names += [f"wrench{k}" for k in range(len(places))]
    symbols = {argument: SX.sym(argument, catalogue.argument_size(tree, argument)) for argument in names}
    quaternions = [(k, start) for k, argument in enumerate(names) if argument[0] == "q" for start in tree.quaternions]
    if equation.columns is None or tree.nv <= LANES:  # for a single group of columns the second stage does not pay off
        return _recorded(name, symbols, equation.build(tree, *symbols.values(), **options), quaternions)
    columns = equation.columns(tree, *symbols.values(), lanes=LANES)
    program = _recorded(name, symbols, columns.whole, quaternions)
    return replace(program, columns=trace_columns(name, symbols, columns, quaternions))


def _recorded(name: str, symbols: dict[str, Any], result: Any, quaternions: list[tuple[int, int]]) -> Program:
    from ..equations.catalogue import shape_of
    from .trace import trace

    return trace(name, symbols, {name: result}, shapes={name: shape_of(name, result)}, quaternions=quaternions)


def compile_all(programs: Sequence[Program], *, single: bool, batch: bool) -> None:
    """Compiles the objects of many programs into the cache, several at a time.

    LLVM has one lock per process, so each program is compiled in a process of its own, which reads it from standard
    input and writes the object to the cache.
    """
    modes = (False,) * single + (True,) * batch
    jobs = [(program, mode) for program in programs for mode in modes]
    jobs = [
        (program, mode)
        for program, mode in jobs
        if not is_cached(object_code, program, cpu.target_for("float64", mode), on=cpu.fingerprint())
    ]
    jobs.sort(key=lambda job: -len(job[0]))  # the longest first
    if not jobs or not shared_cache().usable:
        return
    queue = iter(jobs)

    def work(_: int) -> None:
        for program, mode in queue:
            command = [sys.executable, "-m", "equipoise.machine.worker", "batch" if mode else "single"]
            subprocess.run(command, input=program.to_bytes(), check=False)

    workers = min(thread_count(), len(jobs))
    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(work, range(workers)))
