"""TOML files whose mistakes are reported with file and line.

`tomllib` gives values without places, so the lines of tables and keys are found here: by headers `[a]`, `[[a]]` and
keys at the start of a line. What is written inside a line or a bracket is reported with the line of its key.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from ..errors import EquipoiseError
from ..files import MAX_TEXT, read_bounded

Key = tuple[str | int, ...]
Reader = Callable[[Any, "TomlPlace"], Any]
T = TypeVar("T")

_HEADER = re.compile(r"^\s*(\[\[?)\s*([^\[\]]+?)\s*\]\]?\s*(#.*)?$")
_ENTRY = re.compile(r"""^\s*((?:[\w-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[\w-]+|"[^"]*"|'[^']*'))*)\s*=""")
_NAME = re.compile(r"""[\w-]+|"[^"]*"|'[^']*'""")


LARGEST = 1e12  # of any number: beyond, units are mistaken, and squares of sums lose all digits
MOST = 1_000_000  # of anything that is counted


class ScenarioError(EquipoiseError, ValueError):
    """A scenario file that cannot be run; the message names file and line."""


@dataclass(frozen=True)
class TomlSource:
    """A TOML text and where it is from."""

    name: str
    text: str

    @classmethod
    def of_file(cls, path: Path) -> TomlSource:
        try:
            return cls(str(path), read_bounded(path, MAX_TEXT).decode("utf-8"))
        except (OSError, ValueError) as error:
            raise ScenarioError(f"{path}: cannot be read: {error}") from None

    def read(self) -> dict[str, Any]:
        """The values."""
        try:
            return tomllib.loads(self.text)
        except tomllib.TOMLDecodeError as error:
            found = re.search(r"\(at line (\d+), column \d+\)", str(error))
            line = int(found.group(1)) if found else self.text.count("\n") + 1
            raise ScenarioError(f"{self.name}, line {line}: this is not TOML: {error}") from None
        except (RecursionError, ValueError) as error:  # brackets in brackets without end; numbers of a million digits
            raise ScenarioError(f"{self.name}: this cannot be read as TOML: {error}") from None

    @cached_property
    def lines(self) -> dict[Key, int]:
        """Line of each table and key, the first is 1."""
        found: dict[Key, int] = {(): 1}
        counts: dict[Key, int] = {}
        table: Key = ()
        inside_text = False
        for number, line in enumerate(self.text.splitlines(), start=1):
            starts_inside = inside_text
            inside_text ^= (line.count('"""') + line.count("'''")) % 2 == 1
            if starts_inside:
                continue
            header = _HEADER.match(line)
            if header:
                table = _walked(_names(header.group(2)), counts, new=header.group(1) == "[[")
                found.setdefault(table, number)
                continue
            entry = _ENTRY.match(line)
            if entry:
                key = table
                for name in _names(entry.group(1)):
                    key = (*key, name)
                    found.setdefault(key, number)
        return found

    def line(self, key: Key) -> int:
        """Line of a key, or of the nearest table that holds it."""
        while key not in self.lines:
            key = key[:-1]
        return self.lines[key]


def _names(text: str) -> list[str]:
    return [name.strip("\"'") for name in _NAME.findall(text)]


def _walked(names: list[str], counts: dict[Key, int], new: bool) -> Key:
    """The key of a header: names, and after each list of tables the number of its last one."""
    key: Key = ()
    for k, name in enumerate(names):
        key = (*key, name)
        if new and k == len(names) - 1:
            counts[key] = counts.get(key, 0) + 1
        if key in counts:
            key = (*key, counts[key] - 1)
    return key


@dataclass(frozen=True)
class TomlPlace:
    """A key of a source: where something is written."""

    source: TomlSource
    key: Key = ()

    def at(self, *names: str | int) -> TomlPlace:
        return TomlPlace(self.source, (*self.key, *names))

    @property
    def line(self) -> int:
        return self.source.line(self.key)

    def __str__(self) -> str:
        return f"{self.source.name}, line {self.line}"

    @property
    def what(self) -> str:
        """The key in words."""
        text = ""
        for part in self.key:
            text += f" {part + 1}" if isinstance(part, int) else f"{'.' if text else ''}{part}"
        return text or "the file"

    def fail(self, text: str) -> NoReturn:
        raise ScenarioError(f"{self}: {text}")

    def unknown(self, kind: str, name: object, known: Iterable[str]) -> NoReturn:
        names = sorted(known)
        close = get_close_matches(str(name), names, n=2)
        hint = f" Did you mean {' or '.join(map(repr, close))}?" if close else ""
        self.fail(f"no {kind} {name!r}.{hint} There are: {', '.join(names)}.")


def _short(value: object) -> str:
    """A value as it was written, not longer than a line."""
    try:
        text = repr(value)
    except ValueError:  # an integer with more digits than Python will print
        text = "a number with thousands of digits"
    return text if len(text) <= 80 else f"{text[:77]}…"


# --- readers: a value and its place, to what it means -----------------------------------------------------------------


def text(value: Any, place: TomlPlace) -> str:
    return value if isinstance(value, str) and value else place.fail(f"{place.what} is a text in quotes, got {value!r}")


def number(value: Any, place: TomlPlace) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= LARGEST:
        place.fail(f"{place.what} is a number, got {_short(value)}")
    return float(value)


def positive(value: Any, place: TomlPlace) -> float:
    return (
        number(value, place) if number(value, place) > 0 else place.fail(f"{place.what} is above zero, got {value!r}")
    )


def not_negative(value: Any, place: TomlPlace) -> float:
    return (
        number(value, place)
        if number(value, place) >= 0
        else place.fail(f"{place.what} is not negative, got {value!r}")
    )


def whole(value: Any, place: TomlPlace) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MOST:
        place.fail(f"{place.what} is a whole number from 0 to {MOST:,}, got {_short(value)}")
    return value


def yes_or_no(value: Any, place: TomlPlace) -> bool:
    return value if isinstance(value, bool) else place.fail(f"{place.what} is true or false, got {value!r}")


def vector(count: int, nan: bool = False) -> Reader:
    """Reader of `count` numbers; with nan, nan leaves one free."""

    def read(value: Any, place: TomlPlace) -> tuple[float, ...]:
        good = isinstance(value, list) and len(value) == count
        if not good or not all(type(x) in (int, float) and (abs(x) <= LARGEST or (nan and x != x)) for x in value):
            place.fail(f"{place.what} is {count} numbers in brackets, got {_short(value)}")
        return tuple(float(x) for x in value)

    return read


def numbers(value: Any, place: TomlPlace) -> Any:
    """One number, or a list (of lists) of them."""
    if isinstance(value, list):
        return [numbers(x, place) for x in value]
    return number(value, place)


def texts(value: Any, place: TomlPlace) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(x, str) for x in value):
        place.fail(f"{place.what} is a list of texts, got {value!r}")
    return tuple(value)


def choice(*names: str) -> Reader:
    def read(value: Any, place: TomlPlace) -> str:
        return value if value in names else place.unknown(f"choice for {place.what}:", value, names)

    return read


def mapping(of: Reader) -> Reader:
    """Reader of a table whose keys are free."""

    def read(value: Any, place: TomlPlace) -> dict[str, Any]:
        if not isinstance(value, dict):
            place.fail(f"{place.what} is a table, got {value!r}")
        return {key: of(x, place.at(key)) for key, x in value.items()}

    return read


def listed(of: Reader) -> Reader:
    """Reader of a list of things of one sort."""

    def read(value: Any, place: TomlPlace) -> tuple[Any, ...]:
        if not isinstance(value, list):
            place.fail(f"{place.what} is a list; write [[{place.what}]] above each. Got {value!r}")
        return tuple(of(x, place.at(k)) for k, x in enumerate(value))

    return read


def table(kind: type[T]) -> Callable[[Any, TomlPlace], T]:
    """Reader of a dataclass whose fields were made by `entry`; one named `place` gets the place."""

    def read(value: Any, place: TomlPlace) -> T:
        if not isinstance(value, dict):
            place.fail(f"{place.what} is a table, got {value!r}")
        known = {f.name.rstrip("_"): f for f in fields(kind) if "read" in f.metadata}  # type: ignore[arg-type]
        for name in value:
            if name not in known:
                place.at(name).unknown(f"key in {place.what}:", name, known)
        for name, f in known.items():
            if name not in value and f.default is MISSING and f.default_factory is MISSING:
                place.fail(f"{place.what} needs {name!r}, which is missing")
        read_values = {known[name].name: known[name].metadata["read"](x, place.at(name)) for name, x in value.items()}
        extra = {"place": place} if any(f.name == "place" for f in fields(kind)) else {}  # type: ignore[arg-type]
        return kind(**read_values, **extra)

    return read


def entry(read: Reader, default: Any = MISSING, factory: Any = MISSING) -> Any:
    """A field of a dataclass that a file gives."""
    if factory is not MISSING:
        return field(default_factory=factory, metadata={"read": read}, kw_only=True)
    if default is MISSING:
        return field(metadata={"read": read}, kw_only=True)
    return field(default=default, metadata={"read": read}, kw_only=True)


@dataclass(frozen=True)
class TomlItem:
    """A table with a `kind` that decides which other keys it has."""

    kind: str
    options: Mapping[str, Any]
    place: TomlPlace


def item(
    what: str, kinds: Mapping[str, Iterable[str]], readers: Mapping[str, Reader], default: str | None = None
) -> Reader:
    """Reader of an `TomlItem`: the keys of each kind, and how each key is read."""

    def read(value: Any, place: TomlPlace) -> TomlItem:
        if not isinstance(value, dict):
            place.fail(f"{place.what} is a table, got {value!r}")
        kind = value.get("kind", default)
        if kind is None:
            place.fail(f"{place.what} needs a kind: {', '.join(sorted(kinds))}")
        if not isinstance(kind, str) or kind not in kinds:
            place.at("kind").unknown(f"kind of {what}", kind, kinds)
        known = set(kinds[kind])
        options = {}
        for name, x in value.items():
            if name == "kind":
                continue
            if name not in known:
                place.at(name).unknown(f"key in {place.what} ({kind}):", name, {*known, "kind"})
            options[name] = readers[name](x, place.at(name))
        return TomlItem(kind, options, place)

    return read
