"""`cached(function, *inputs)`: the result of a function, computed once for its source and its inputs. The name of a
cached result is a digest of the function's source with everything it calls (`sources`), of the inputs, and of their
classes. So a change of code needs no version number, and no input can be missing from the name. Inputs are plain
data: numbers, texts, arrays, containers and dataclasses of them, and classes and functions of this package. Any
other object of this package gives its identity by the property `identity`. Objects of foreign classes have no
identity: results that depend on them are computed each time.
"""

from __future__ import annotations

import hashlib
import json
import logging
import types
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar

import numpy as np

from . import sources
from .cache import key, shared_cache
from .program import Program

Result = TypeVar("Result", Program, np.ndarray, bytes, str, list[int])
PACKAGE = __name__.split(".")[0]
LOG = logging.getLogger(__name__)
SHORT = 64  # bytes; a longer value is identified by its digest


class UncacheableError(Exception):
    """A value without a stable identity: what is computed from it cannot be cached."""


def cached(function: Callable[..., Result], *inputs: Any, on: object = None) -> Result:
    """Returns `function(*inputs)`, from the cache where possible.

    Args:
        function: at the top level of a module of this package; what it returns depends on its inputs alone.
        inputs: positional arguments.
        on: what else the result depends on, such as the processor that it is compiled for.
    """
    name = _name(function, inputs, on)
    if name is None:
        return function(*inputs)
    data = shared_cache().read(name)
    if data is None:
        LOG.info("%s is not in the cache; it is computed now", function.__name__)
        data = _encoded(function(*inputs))
        if sources.unchanged():
            shared_cache().write(name, data)
    return _decoded(data)  # type: ignore[return-value]


def is_cached(function: Callable[..., Any], *inputs: Any, on: object = None) -> bool:
    """Returns whether a file exists from which `cached` would read the result."""
    name = _name(function, inputs, on)
    return name is not None and shared_cache().holds(name)


def _name(function: Callable[..., Any], inputs: tuple[Any, ...], on: object) -> str | None:
    """Returns the name of a result in the cache, or None if it cannot be cached."""
    kinds: set[str] = set()
    if not shared_cache().usable:
        return None
    try:
        said = [identity(x, kinds) for x in (function, *inputs)]
    except UncacheableError:
        return None
    digest = sources.digest(frozenset(kinds))
    return None if digest is None else key(digest, said, on)


def identity(x: Any, kinds: set[str]) -> object:
    """Returns a value as data that is equal for equal values only.

    Args:
        x: the value.
        kinds: gets the functions and classes of this package that are met, "module:name" each.

    Raises:
        UncacheableError: the value cannot be told from others of its kind.
    """
    if x is None or isinstance(x, bool | int | float | complex | str | slice):
        return x
    if isinstance(x, bytes):
        return x if len(x) <= SHORT else (len(x), hashlib.sha256(x).digest())
    if isinstance(x, np.ndarray | np.generic) and x.dtype != object:
        return x.shape, x.dtype.str, identity(x.tobytes(), kinds)
    if isinstance(x, tuple | list):
        return [type(x).__name__, *(identity(part, kinds) for part in x)]
    if isinstance(x, Mapping):
        return ["mapping", *((identity(k, kinds), identity(v, kinds)) for k, v in x.items())]
    if isinstance(x, type | types.FunctionType):
        return _place(x, kinds)
    if hasattr(type(x), "identity"):
        return _place(type(x), kinds), identity(x.identity, kinds)
    if is_dataclass(x):
        return _place(type(x), kinds), [(f.name, identity(getattr(x, f.name), kinds)) for f in fields(x)]
    raise UncacheableError(repr(x))


def _place(x: Any, kinds: set[str]) -> str:
    """Returns "module:name" of a class or function of this package and adds it to `kinds`."""
    if x.__module__.split(".")[0] != PACKAGE or "<" in x.__qualname__:  # foreign, or defined inside a function
        raise UncacheableError(repr(x))
    kinds.add(f"{x.__module__}:{x.__qualname__.split('.')[0]}")
    return f"{x.__module__}:{x.__qualname__}"


# --- results as bytes -------------------------------------------------------------------------------------------------


def _encoded(x: Any) -> bytes:
    if isinstance(x, Program):
        return b"P" + x.to_bytes()
    if isinstance(x, bytes):
        return b"B" + x
    if isinstance(x, np.ndarray):
        return b"A" + json.dumps([x.dtype.str, x.shape]).encode() + b"\n" + x.tobytes()
    return b"J" + json.dumps(x).encode()


def _decoded(data: bytes) -> object:
    kind, content = data[:1], data[1:]
    if kind == b"P":
        return Program.from_bytes(content)
    if kind == b"B":
        return content
    if kind == b"A":
        head, _, numbers = content.partition(b"\n")
        dtype, shape = json.loads(head)
        return np.frombuffer(numbers, dtype).reshape(shape).copy()
    return json.loads(content)
