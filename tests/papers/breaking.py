"""Deliberate mistakes, made in memory: one line of the package is changed, and a row of the papers must notice.

A breakage swaps the code of one function for that of the same function with a piece of its text changed. The function
object stays, so everybody who imported it runs the changed code. Kernels are traced anew and run on NumPy, instruction
by instruction; nothing of it reaches the cache.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import pkgutil
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from equipoise.machine import cached as results
from equipoise.machine.kernel import Kernel
from equipoise.papers.rows import Figure, rows_named

PLAIN_CALLS = 40  # of one kernel on NumPy; a kernel that is called more often is worth compiling


@dataclass(frozen=True)
class Breakage:
    """What is wrong in words, and the text that makes it so.

    Attributes:
        row: the row that must notice.
        what: the mistake, in words.
        where: "folder:function" or "folder:Class.method"; the function may be in any file below the folder.
        old, new: text within that function; `old` occurs in it once.
        fast: runs with the fast tests.
        stops: the row stops with an error instead of showing a wrong figure; None for either.
    """

    row: str
    what: str
    where: str
    old: str
    new: str
    fast: bool = False
    stops: bool | None = False

    def __str__(self) -> str:
        return f"{self.row}: {self.what}"


def noticed(breakage: Breakage) -> Figure | None:
    """The first figure of the row that is not good while the package is broken; None if all are.

    An error counts only where the breakage says so: a name mistyped in a breakage stops the row as well. Times do not
    count: kernels are interpreted here, so their times are those of another program.
    """
    with broken(breakage):
        try:
            shown = rows_named([breakage.row])[breakage.row].show()
            return next((figure for figure in shown if not figure.good and not is_time(figure)), None)
        except Exception as error:
            if breakage.stops is False:
                raise
            return Figure("stopped", "", str(error), False)


def is_time(figure: Figure) -> bool:
    """Whether a figure is a computation time."""
    return bool(re.search(r"\bms\b", figure.what))


@contextmanager
def broken(breakage: Breakage) -> Iterator[None]:
    """The package with one mistake in it."""
    function = found(breakage)
    before = function.__code__
    function.__code__ = changed_code(function, breakage)
    try:
        with traced_anew():
            yield
    finally:
        function.__code__ = before
        forget()


@contextmanager
def traced_anew() -> Iterator[None]:
    """No cache on disk, no results remembered, kernels on NumPy."""
    forget()
    name, call = results._name, Kernel.__call__
    try:
        results._name, Kernel.__call__ = lambda *inputs: None, plain_call(call)
        yield
    finally:
        results._name, Kernel.__call__ = name, call
        forget()


def plain_call(compiled: Callable[..., Any]) -> Callable[..., Any]:
    """`Kernel.__call__` that interprets a program the first times, and compiles it if it is called again and again."""

    def call(self: Kernel, *arrays: Any, out: Any = None) -> Any:
        self.__dict__["calls"] = self.__dict__.get("calls", 0) + 1
        if out is not None or self.__dict__["calls"] > PLAIN_CALLS:
            return compiled(self, *arrays, out=out)
        return self.program.evaluate(*(np.atleast_1d(np.asarray(x, dtype=float)) for x in arrays))

    return call


def forget() -> None:
    """Empty every cache of the package's own functions."""
    for name, module in list(sys.modules.items()):
        if name.split(".")[0] == "equipoise":
            for value in list(vars(module).values()):
                if isinstance(value, functools._lru_cache_wrapper) and value.__wrapped__.__module__ == name:
                    value.cache_clear()


def found(breakage: Breakage) -> FunctionType:
    """The function that a breakage changes: the one of that name below the folder whose text has the piece, once."""
    folder, _, path = breakage.where.partition(":")
    named = [function for module in modules(folder) if (function := within(module, path.split("."))) is not None]
    fitting = [function for function in named if inspect.getsource(function).count(breakage.old) == 1]
    assert len(fitting) == 1, (
        f"{breakage}: {breakage.old!r} is once in {len(fitting)} of the {len(named)} functions {path!r} below "
        f"{folder!r}; say the breakage anew"
    )
    return fitting[0]


def modules(folder: str) -> Iterator[ModuleType]:
    """A module of the package, and all below it."""
    top = importlib.import_module(f"equipoise.{folder}")
    yield top
    for info in pkgutil.walk_packages(getattr(top, "__path__", []), f"{top.__name__}."):
        yield importlib.import_module(info.name)


def within(module: ModuleType, path: list[str]) -> FunctionType | None:
    """The function behind a dotted name, of a property its getter; None if the module does not define it."""
    thing: Any = module
    for part in path:
        thing = inspect.getattr_static(thing, part, None)
    for wrapper in ("fget", "func", "__func__", "__wrapped__"):
        thing = getattr(thing, wrapper, thing)
    return thing if isinstance(thing, FunctionType) and thing.__module__ == module.__name__ else None


def changed_code(function: FunctionType, breakage: Breakage) -> CodeType:
    """The code of the function with the change made in the text of its module."""
    module = sys.modules[function.__module__]
    lines, first = inspect.getsourcelines(function)
    source = inspect.getsource(module).splitlines(keepends=True)
    source[first - 1 : first - 1 + len(lines)] = ["".join(lines).replace(breakage.old, breakage.new)]
    whole = compile("".join(source), str(module.__file__), "exec", dont_inherit=True)
    (code,) = [code for code in codes(whole) if code.co_qualname == function.__qualname__]
    return code


def codes(code: CodeType) -> Iterator[CodeType]:
    """A code object and all within it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from codes(constant)
