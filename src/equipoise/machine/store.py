"""Kernels of a robot's equations, from the cache where possible: equations → program → object → kernel."""

from __future__ import annotations

import functools
import hashlib
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

from .. import __version__
from ..errors import CompileError, unknown_name
from ..model.tree import Tree
from . import cpu
from .cache import Cache, key
from .kernel import Kernel, object_code
from .program import LANES, Program
from .target import Target
from .threads import thread_count

Place = tuple[int, Any]
MAX_BODIES = 2000  # some minutes of tracing and compiling


EQUATION_SOURCES = (
    "algebra",
    "model/joints",
    "equations",
    "machine",
    "forms",
    "geometry",
    "balance",
    "estimation",
    "control",
    "simulate",
    "walking",
)
EMITTER_SOURCES = """
    batch body columns constants cpu divisors emit kernel operations order program pycall registers rows sections
    sincos target
""".split()


@functools.cache
def sources_digest() -> str:
    """Names the version of everything that writes programs: change a line, and they are traced anew."""
    package = Path(__file__).parent.parent
    return _digest(path for folder in EQUATION_SOURCES for path in sorted((package / folder).rglob("*.py")))


@functools.cache
def emitter_digest() -> str:
    """Names the version of what turns a program into machine code: a program that did not change keeps its object."""
    return _digest(Path(__file__).with_name(f"{name}.py") for name in EMITTER_SOURCES)


def _digest(paths: Iterable[Path]) -> str:
    text = hashlib.sha256(__version__.encode())
    for path in paths:
        text.update(path.read_bytes())
    return text.hexdigest()


@functools.cache
def shared_cache() -> Cache:
    """The cache of this process."""
    return Cache()


def cached_program(tree: Tree, name: object, make: Callable[[], Program]) -> Program:
    """The program of that name for a robot, traced if it is not in the cache."""
    program_key = key("program", sources_digest(), tree.digest, name)
    return Program.from_bytes(shared_cache().get(program_key, lambda: make().to_bytes()))


def kernel(tree: Tree, name: str, *, places: Sequence[Place] = (), representation: str | None = None) -> Kernel:
    """The kernel of one equation for one robot."""
    spots = [(body, X.tobytes()) for body, X in places]
    make = functools.partial(traced, tree, name, places, representation)
    return kernel_of(cached_program(tree, (name, spots, representation), make))


def kernel_of(program: Program, *, strict: bool = True) -> Kernel:
    """A kernel whose machine code comes from the cache if it is there."""
    return Kernel(program, cached_object, strict=strict)


def cached_object(program: Program, target: Target) -> bytes:
    """The object file of a program for a target."""
    return shared_cache().get(_object_key(program, target), lambda: object_code(program, target))


def traced(tree: Tree, name: str, places: Sequence[Place], representation: str | None) -> Program:
    """Write an equation on symbols and record it. Needs CasADi; the cache spares it."""
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
    if equation.columns is None or tree.nv <= LANES:  # for a single group of columns it does not pay
        return _recorded(name, symbols, equation.build(tree, *symbols.values(), **options), quaternions)
    columns = equation.columns(tree, *symbols.values(), lanes=LANES)
    program = _recorded(name, symbols, columns.whole, quaternions)
    return replace(program, columns=trace_columns(name, symbols, columns, quaternions))


def _recorded(name: str, symbols: dict[str, Any], result: Any, quaternions: list[tuple[int, int]]) -> Program:
    from ..equations.catalogue import shape_of
    from .trace import trace

    return trace(name, symbols, {name: result}, shapes={name: shape_of(name, result)}, quaternions=quaternions)


def compile_all(programs: Sequence[Program], *, single: bool, batch: bool) -> None:
    """Bring the objects of many programs into the cache, several at a time.

    LLVM holds one lock per process, so the work goes to processes of its own: each reads a program from its standard
    input and leaves the object in the cache.
    """
    modes = (False,) * single + (True,) * batch
    jobs = [(program, mode) for program in programs for mode in modes]
    jobs = [(program, mode) for program, mode in jobs if not _is_cached(program, cpu.target_for("float64", mode))]
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


def _object_key(program: Program, target: Target) -> str:
    return key("object", emitter_digest(), cpu.fingerprint(), program.to_bytes(), target)


def _is_cached(program: Program, target: Target) -> bool:
    return shared_cache().holds(_object_key(program, target))
