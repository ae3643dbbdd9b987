"""What code of a user does, as plain data: equal for classes that do the same, so that it can name what is made from
them.

Of a function these are its instructions and constants, what it closes over, its defaults, and every value of its module
that it reads; functions and classes that it refers to are looked into in turn. Libraries are known by their names: the
version of ours is part of every name. What cannot be told from others of its kind has no name, and whatever depends on
it is not cached.
"""

from __future__ import annotations

import dis
import sys
import sysconfig
import types
from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

OURS = __name__.split(".")[0]
LIBRARIES = tuple(sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib"))
SLOTS = (types.MemberDescriptorType, types.GetSetDescriptorType)
READS = ("LOAD_GLOBAL", "LOAD_NAME")


class NoNameError(Exception):
    """Something that has no name of its own: whatever depends on it cannot be cached."""


def behaviour(of: type) -> object:
    """What a class does, with its bases: our own by their places, a user's own by the code of its members.

    Raises:
        NoNameError: it depends on what cannot be told from others of its kind.
    """
    return _class(of, set())


def plain(x: Any, text: Callable[[str], object] = repr, seen: set[int] | None = None) -> object:
    """A value as data that is equal for equal values only.

    Args:
        x: the value.
        text: what stands for a text.
        seen: classes and functions that have been looked into.

    Raises:
        NoNameError: the value cannot be told from others of its kind.
    """
    if isinstance(x, str):
        return text(x)
    if x is None or isinstance(x, bool | int | float | complex | bytes):
        return repr(x)
    if isinstance(x, np.ndarray | np.generic):
        array = np.asarray(x)
        if array.dtype == object:
            raise NoNameError(repr(x))
        return array.shape, array.dtype.str, array.tobytes()
    if isinstance(x, tuple | list):
        return [type(x).__name__, *(plain(part, text, seen) for part in x)]
    if isinstance(x, Mapping):
        return ["mapping", *((plain(k), plain(v, text, seen)) for k, v in x.items())]
    if hasattr(type(x), "__dataclass_fields__"):
        values = [(f.name, plain(getattr(x, f.name), text, seen)) for f in fields(x)]
        return [_class(type(x), set() if seen is None else seen), *values]
    raise NoNameError(repr(x))


def _class(of: type, seen: set[int]) -> object:
    name = of.__module__, of.__qualname__
    if id(of) in seen or _of_library(of):
        return name
    seen.add(id(of))
    owners = [owner for owner in of.__mro__ if not _of_library(owner)]
    members = [(k, x) for owner in owners for k, x in sorted(vars(owner).items()) if not k.startswith("__")]
    return name, [(k, _value(x, seen)) for k, x in members if k != "_abc_impl"]


def _value(x: Any, seen: set[int]) -> object:
    """Anything that code refers to."""
    if isinstance(x, SLOTS):
        return None
    if isinstance(x, types.ModuleType):
        return _module(x.__name__)
    if isinstance(x, type):
        return _class(x, seen)
    if isinstance(x, types.MethodType):
        return _value(x.__self__, seen), _function(x.__func__, seen)
    x = _inner(x)
    if hasattr(x, "__code__"):
        return _function(x, seen)
    name = getattr(x, "__qualname__", getattr(x, "__name__", None))
    if callable(x) and name is not None and _of_library(x):  # written in C
        return getattr(x, "__module__", None), name
    return plain(x, seen=seen)


def _inner(x: Any) -> Any:
    """The function of a property, or of a method of another kind."""
    if isinstance(x, property):
        return x.fget
    if isinstance(x, cached_property):
        return x.func
    return x.__func__ if isinstance(x, staticmethod | classmethod) else x


def _function(x: Any, seen: set[int]) -> object:
    if id(x.__code__) in seen or _of_library(x):
        return x.__module__, x.__qualname__
    seen.add(id(x.__code__))
    names, modules = _reads(x.__code__)
    beside = [(name, _value(x.__globals__[name], seen)) for name in sorted(names) if name in x.__globals__]
    beside += [(name, _module(name, x.__globals__.get("__package__"))) for name in sorted(modules)]
    cells = [_cell(cell, seen) for cell in x.__closure__ or ()]
    defaults = [_value(d, seen) for d in (*(x.__defaults__ or ()), *(x.__kwdefaults__ or {}).values())]
    return _instructions(x.__code__), beside, cells, defaults


def _cell(cell: Any, seen: set[int]) -> object:
    try:
        return _value(cell.cell_contents, seen)
    except ValueError:  # nothing is in it yet
        return None


def _reads(code: types.CodeType) -> tuple[set[str], set[str]]:
    """Names of the module's values that code reads, and of modules that it imports; inner functions included."""
    steps = list(dis.get_instructions(code))
    names = {step.argval for step in steps if step.opname in READS}
    modules = {step.argval for step in steps if step.opname == "IMPORT_NAME"}
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            more = _reads(inner)
            names, modules = names | more[0], modules | more[1]
    return names, modules


def _instructions(code: types.CodeType) -> object:
    constants = [_instructions(x) if isinstance(x, types.CodeType) else repr(x) for x in code.co_consts]
    return code.co_code, code.co_names, constants


def _of_library(x: Any) -> bool:
    """Whether a class or function is of Python, of an installed package, or of ours."""
    name = getattr(x, "__module__", None) or "builtins"
    place = getattr(sys.modules.get(name), "__file__", None)
    return _is_library(name, place)


def _is_library(name: str, place: str | None) -> bool:
    known = name.split(".")[0] == OURS or name in sys.builtin_module_names
    return known or (place is not None and place.startswith(LIBRARIES))


def _module(name: str, package: str | None = None) -> object:
    """A module: one of a library by its name, a user's own by its text."""
    place = getattr(sys.modules.get(name), "__file__", None) or _found(name, package)
    if _is_library(name, place):
        return name
    if place is None:
        raise NoNameError(name)
    return name, Path(place).read_bytes()


def _found(name: str, package: str | None) -> str | None:
    """Where a module is that was not imported yet; names may be relative to a package."""
    for full in (name, f"{package}.{name}" if package else name):
        try:
            spec = find_spec(full)
        except (ImportError, ValueError):
            continue
        if spec is not None:
            return spec.origin
    return None
