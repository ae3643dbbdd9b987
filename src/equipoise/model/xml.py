"""Description files as trees of elements that know their line. No entities, no network, bounded size and depth."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.parsers import expat

from ..errors import EquipoiseError, ModelError

MAX_BYTES = 64 * 2**20
MAX_ELEMENTS = 500_000  # a 64 MB file of nothing but tags would otherwise fill the memory
MAX_DEPTH = 100


class MissingFileError(ModelError, FileNotFoundError):
    """The description file does not exist or cannot be read."""


class MalformedError(ModelError):
    """The text is not XML."""


class Element:
    """One XML element: tag, attributes, children, own text, and the line where it starts."""

    attributes: dict[str, str]
    line: int
    tag: str
    text: str

    __slots__ = ("attributes", "children", "line", "tag", "text")

    def __init__(self, tag: str, attributes: dict[str, str], line: int) -> None:
        self.tag, self.attributes, self.line, self.text = tag, attributes, line, ""
        self.children: Sequence[Element] = ()

    def get(self, attribute: str) -> str | None:
        """The attribute's text, or None."""
        return self.attributes.get(attribute)

    def child(self, tag: str) -> Element | None:
        """The first child of that tag, or None."""
        return next((child for child in self.children if child.tag == tag), None)

    def all(self, tag: str) -> list[Element]:
        """The children of that tag, in order."""
        return [child for child in self.children if child.tag == tag]


class _ElementBuilder:
    """What the parser calls; keeps the open elements on a list, so depth costs no recursion."""

    def __init__(self, parser: Any) -> None:
        self.parser, self.count = parser, 0
        self.root: Element | None = None
        self.open: list[Element] = []

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self.count += 1
        element = Element(tag, attributes, self.parser.CurrentLineNumber)
        if self.count > MAX_ELEMENTS:
            raise ModelError(f"more than {MAX_ELEMENTS} XML elements (line {element.line}): no robot description")
        if len(self.open) >= MAX_DEPTH:
            raise ModelError(
                f"XML elements nested more than {MAX_DEPTH} deep (line {element.line}): no robot description"
            )
        if not self.open:
            self.root = element
        elif self.open[-1].children:
            self.open[-1].children.append(element)  # type: ignore[attr-defined]
        else:
            self.open[-1].children = [element]  # a list only where needed: most elements are leaves
        self.open.append(element)

    def end(self, _tag: str) -> None:
        self.open.pop()

    def data(self, text: str) -> None:
        if not self.open[-1].children and not text.isspace():
            self.open[-1].text += text


def parse(data: bytes | str) -> Element:
    """The root element of an XML document; what the common readers of robots forgive is forgiven here too."""
    try:
        return _parsed(data)
    except MalformedError:
        tidy = _tidied(data)
        if tidy is None:
            raise
    return _parsed(tidy)


def _parsed(data: bytes | str) -> Element:
    parser = _parser(data)
    builder = _ElementBuilder(parser)
    parser.StartElementHandler, parser.EndElementHandler = builder.start, builder.end
    parser.CharacterDataHandler = builder.data
    _feed(parser, data)
    if builder.root is None:  # expat refuses such a document first
        raise MalformedError("no XML element")
    return builder.root


def root_tag(data: bytes | str) -> str:
    """The tag of the root element: what kind of description this is."""
    parser = _parser(data)
    found: list[str] = []

    def start(tag: str, _attributes: dict[str, str]) -> None:
        found.append(tag)
        raise StopIteration  # the rest is read by the reader of that kind

    parser.StartElementHandler = start
    try:
        _feed(parser, data)
    except StopIteration:
        return found[0]
    except ModelError:
        # MuJoCo reads what is not quite XML: leave it to the reader of that kind
        text = _tidied(data) or (data if isinstance(data, str) else data.decode("utf-8", errors="replace"))
        tag = _rough_root_tag(text)
        if tag is None:
            raise
        return tag
    raise AssertionError("expat refuses a document without elements")


def _rough_root_tag(text: str) -> str | None:
    """The first tag that is not in a comment or declaration."""
    at = text.find("<")
    while at >= 0 and text[at + 1 : at + 2] in ("!", "?"):
        end = "-->" if text.startswith("<!--", at) else ">"
        after = text.find(end, at)
        at = text.find("<", after) if after >= 0 else -1
    found = re.compile(r"<([A-Za-z_][\w:.-]*)").match(text, max(at, 0))
    return None if found is None else found[1]


def _parser(data: bytes | str) -> Any:
    parser = expat.ParserCreate("utf-8" if isinstance(data, str) else None)
    parser.buffer_text = True

    def refuse(*_: Any) -> None:
        raise ModelError(
            f"DOCTYPE at line {parser.CurrentLineNumber}: XML entities are off, because they can read files and "
            "fill the memory. Remove the DOCTYPE declaration."
        )

    parser.StartDoctypeDeclHandler = parser.EntityDeclHandler = refuse
    return parser


def _feed(parser: Any, data: bytes | str) -> None:
    try:
        raw = _plain(data).encode() if isinstance(data, str) else data
        _require_size(len(raw))
        parser.Parse(raw, True)
    except expat.ExpatError as error:
        raise MalformedError(
            f"malformed XML: {expat.ErrorString(error.code)} at line {error.lineno}, column {error.offset + 1}"
        ) from None
    except (LookupError, UnicodeError, ValueError) as error:
        raise ModelError(f"the XML is in an encoding that cannot be read: {error}") from None


def _require_size(size: int) -> None:
    if size > MAX_BYTES:
        raise ModelError(
            f"{size / 2**20:.0f} MiB of XML; robot descriptions of up to {MAX_BYTES // 2**20} MiB are read"
        )


def _plain(text: str) -> str:
    """Text without its XML declaration, which may not follow a blank line and whose encoding no longer holds; same
    lines."""
    text = text.lstrip("\ufeff")
    found = re.match(r"\s*<\?xml\s[^>]*\?>", text)
    return text if found is None else "\n" * found[0].count("\n") + text[found.end() :]


def _tidied(data: bytes | str) -> str | None:
    """Text without comments and XML declarations, on the same lines; None if it has neither.

    Two dashes in a comment and a declaration after a comment are no XML, but many descriptions have them.
    """
    try:
        text = data if isinstance(data, str) else data.decode(_encoding(data))
    except (LookupError, UnicodeError):
        return None
    bare = without_comments(text)
    start = bare.find("<?xml ")
    while start >= 0 and (end := bare.find("?>", start)) >= 0:
        bare = bare[:start] + _newlines(bare, start, end) + bare[end + 2 :]
        start = bare.find("<?xml ")
    return None if bare == text else bare


def _encoding(data: bytes) -> str:
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return "utf-16"
    found = re.search(rb"<\?xml [^>]{0,200}?encoding=[\"']([\w.-]{1,40})", data[:4096])
    return "utf-8-sig" if found is None or found[1].lower() == b"utf-8" else found[1].decode()


def without_comments(text: str) -> str:
    """Text with its comments left out, on the same lines. A comment that never ends is left as it is."""
    parts, at = [], 0
    while (start := text.find("<!--", at)) >= 0 and (end := text.find("-->", start + 4)) >= 0:
        parts += [text[at:start], _newlines(text, start, end)]
        at = end + 3
    return "".join([*parts, text[at:]])


def _newlines(text: str, start: int, end: int) -> str:
    return "\n" * text.count("\n", start, end)


def is_text(source: object) -> bool:
    """Whether a source is XML itself rather than the path of a file."""
    return isinstance(source, str) and source.lstrip("\ufeff \t\r\n").startswith("<")


def load(source: str | Path) -> bytes | str:
    """The content of a source: the text itself, or the bytes of the file."""
    if isinstance(source, str) and is_text(source):
        return source
    path = os.path.expanduser(os.fspath(source))
    if not os.path.isfile(path):
        what = "is a folder" if os.path.isdir(path) else "does not exist"
        wanted = "the path of a URDF or MJCF file, or its text, is wanted"
        raise MissingFileError(f"robot description {shortened(path, 400)!r} {what}; {wanted}")
    try:
        _require_size(os.path.getsize(path))
        return Path(path).read_bytes()
    except OSError as error:
        raise MissingFileError(f"robot description {shortened(path, 400)!r} cannot be read: {error.strerror}") from None


def label(source: str | Path) -> str:
    """How messages speak of a source."""
    return "XML text" if is_text(source) else Path(source).name


def shortened(text: str, length: int = 80) -> str:
    """Text for a message: never more than a line of it."""
    return text if len(text) <= length else f"{text[:length]}…"


def named_after(source: str | Path, error: EquipoiseError) -> EquipoiseError:
    """The same error, saying which file it is about."""
    error.args = (f"{label(source)}: {error}",)
    return error
