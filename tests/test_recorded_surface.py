"""Recorded defaults: every argument of the public surface with its default, and the fields of its data.

A default is a promise to whoever left an argument out. Names that are in one of both only are not compared: what is new
is pinned from the next time on that the record is written.
"""

from __future__ import annotations

import dataclasses
import enum
import inspect
import json
import os
import re
import types
from collections.abc import Iterator
from typing import Any

import records

import equipoise as eq


def described(value: Any) -> str:
    """A default as text without addresses in memory."""
    if isinstance(value, types.FunctionType | type):
        return value.__qualname__
    text = repr(value)
    if dataclasses.is_dataclass(value):
        text = ", ".join(f"{field.name}={getattr(value, field.name)!r}" for field in dataclasses.fields(value))
    return re.sub(r" at 0x[0-9a-f]+", "", text)


def signature(call: Any) -> str:
    """Arguments with their defaults and kinds; types have a checker of their own."""
    made = {}
    if dataclasses.is_dataclass(call):
        fields = [f for f in dataclasses.fields(call) if f.default_factory is not dataclasses.MISSING]
        made = {f.name: described(f.default_factory()) for f in fields}
    try:
        arguments = inspect.signature(call).parameters.values()
    except (TypeError, ValueError):
        return "?"
    texts, keyword = [], False
    for a in arguments:
        if a.kind is a.KEYWORD_ONLY and not keyword:
            texts.append("*")
        keyword = keyword or a.kind in (a.KEYWORD_ONLY, a.VAR_POSITIONAL)
        star = {a.VAR_POSITIONAL: "*", a.VAR_KEYWORD: "**"}.get(a.kind, "")
        texts.append(star + a.name + ("" if a.default is a.empty else f"={made.get(a.name) or described(a.default)}"))
    return f"({', '.join(texts)})"


def public(home: str, of: Any, names: list[str]) -> Iterator[tuple[str, str]]:
    """(name, signature) of functions, classes, their methods and values."""
    for name in names:
        thing, full = getattr(of, name), f"{home}.{name}"
        if isinstance(thing, types.ModuleType):
            continue
        if isinstance(thing, type) and issubclass(thing, enum.Enum):
            yield full, ", ".join(f"{member.name}={member.value!r}" for member in thing)
        elif isinstance(thing, type):
            yield full, "" if issubclass(thing, BaseException) else signature(thing)
            for key, member in sorted(vars(thing).items()):
                if key.startswith("_"):
                    continue
                if isinstance(member, classmethod | staticmethod):
                    member = member.__func__
                if isinstance(member, types.FunctionType):
                    yield f"{full}.{key}", signature(member)
                elif isinstance(member, str | int | float | tuple | bool | None):
                    yield f"{full}.{key}", described(member)
        elif callable(thing):
            yield full, signature(thing)
        else:
            yield full, described(thing)


def test_recorded_defaults():
    found = dict(public("eq", eq, [name for name in eq.__all__ if name != "__version__"]))
    for name in ("control", "balance", "geometry", "convert", "autograd", "dual_quaternions", "charts", "principles"):
        module = getattr(eq, name)
        names = getattr(module, "__all__", None) or [
            key for key, value in vars(module).items()
            if not key.startswith("_") and getattr(value, "__module__", "").startswith("equipoise")
        ]  # fmt: skip
        found |= dict(public(f"eq.{name}", module, sorted(names)))
    found = {name: text for name, text in found.items() if "=" in text or not text.startswith("(")}
    if not os.environ.get("EQUIPOISE_RECORD"):
        known = json.loads((records.FOLDER / "defaults.json").read_text(encoding="utf-8"))
        assert len(found.keys() & known.keys()) > 0.9 * len(known)  # what moved or went has tests of its own
        found = {name: found.get(name, text) for name, text in known.items()}
    records.check("defaults", found)
