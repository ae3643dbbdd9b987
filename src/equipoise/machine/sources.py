"""Computes the digest of the source behind a function, equal as long as nothing that the function runs has changed.

A file is read as its top-level statements. A statement depends on every definition of this package that it names: by
a global name, by an import (also one inside a function, under TYPE_CHECKING or in a stub, so that classes of
annotated arguments count), or as an attribute of a module. The digest covers all statements that can be reached from
a function; a class counts as a whole; comments and docstrings are left out. Names are resolved without regard to
scopes, so a digest may depend on too much, never on too little. No module is imported for it.

Digests are cached under the sizes and dates of all source files; the parsed form of a file is cached under its
content. A process whose source files changed after its start runs code that no file contains any more, so it gets no
digest.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import json
import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from .. import _STARTED
from .cache import CacheWarning, key, shared_cache

ROOT = Path(__file__).parent.parent
DEFINITIONS = ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef
TICK = 10_000_000  # ns; the kernel's clock ticks limit the resolution of file dates
EFFECT = ""  # name given to statements that bind no name but run for their effect on the module

Node = tuple[str, int]  # module, index of one of its top-level statements


class Statement(NamedTuple):
    """One top-level statement of a source file."""

    digest: str  # of its syntax tree
    names: list[str]  # names that it reads, as dotted text


class Module(NamedTuple):
    """The statements, definitions and imports of a source file."""

    statements: list[Statement]
    defined: dict[str, list[int]]  # name → statements that bind it
    # name → [module, name in it] of this package that it may refer to, wherever it is imported
    imported: dict[str, list[list[str]]]


def digest(roots: frozenset[str]) -> str | None:
    """Returns the digest of the source behind functions and classes ("module:name" each), or None if files changed
    after the start.
    """
    files = _files()
    return None if files is None else _digest(roots, files)


@functools.lru_cache(1024)
def _digest(roots: frozenset[str], files: Files) -> str:
    name = key("sources", files.state, sorted(roots))
    return shared_cache().get(name, lambda: _digest_of(reached(roots, files), files).encode()).decode()


def unchanged() -> bool:
    """Returns whether the source files are unchanged since digests were taken, so that results may be cached."""
    files = _files()
    return files is not None and Files().state == files.state


def _digest_of(nodes: set[Node], files: Files) -> str:
    return key(*sorted((module, files.module(module).statements[k].digest) for module, k in nodes))


# --- files ------------------------------------------------------------------------------------------------------------


class Files:
    """The source files of a package in their present state."""

    def __init__(self, root: Path = ROOT) -> None:
        found = sorted(_scanned(str(root)))
        self.root = root
        self.state = key(found)
        self.newest = max(changed for _, _, changed, *_ in found)  # ns
        self._found = [path for path, *_ in found]
        self._modules: dict[str, Module] = {}

    @functools.cached_property
    def paths(self) -> dict[str, str]:
        """Module → path of its file."""
        modules = {}
        for path in self._found:
            if path.endswith(".pyi"):
                continue
            parts = Path(path).relative_to(self.root.parent).with_suffix("").parts
            modules[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
        return modules

    def module(self, name: str) -> Module:
        """Returns the parsed content of a module; reads the file when it is first needed."""
        if name not in self._modules:
            path = Path(self.paths[name])
            package = name if path.name == "__init__.py" else name.rpartition(".")[0]
            stub = path.with_suffix(".pyi")  # a stub in which a package lists the names that it imports lazily
            text = path.read_bytes() + (b"\n" + stub.read_bytes() if str(stub) in self._found else b"")
            made = shared_cache().get(key("module", _own_text(), package, text), lambda: _written(text, package))
            statements, defined, imported = json.loads(made)
            self._modules[name] = Module([Statement(*s) for s in statements], defined, imported)
        return self._modules[name]


@functools.cache
def _files() -> Files | None:
    files = Files()
    if files.newest <= _STARTED - TICK:
        return files
    text = f"source files in {ROOT} changed after this process started, so it caches nothing; restart it"
    warnings.warn(text, CacheWarning, stacklevel=2)
    return None


def _scanned(folder: str) -> Iterator[tuple[str, int, int, int, int]]:
    """Yields (path, size, ns of the last change, ns of the last write, inode) of each source file."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith((".py", ".pyi")):
                status = entry.stat()
                # A program cannot set the time of the last change (ctime), unlike that of the last write; only POSIX
                # has it.
                changed = status.st_ctime_ns if os.name == "posix" else status.st_mtime_ns
                yield entry.path, status.st_size, changed, status.st_mtime_ns, status.st_ino
            elif "." not in entry.name and entry.name != "__pycache__" and entry.is_dir():
                yield from _scanned(entry.path)


@functools.cache
def _own_text() -> bytes:
    return Path(__file__).read_bytes()


# --- what a file says -------------------------------------------------------------------------------------------------


def _written(text: bytes, package: str) -> bytes:
    return json.dumps(parsed(text, package)).encode()


def parsed(text: bytes, package: str) -> Module:
    """Parses a source file.

    Args:
        text: of the file.
        package: package that its relative imports start from.
    """
    module = Module([], {}, {})
    for statement in ast.parse(text).body:
        names = _names(statement, package, module.imported)
        if _is_text(statement) or (isinstance(statement, ast.ImportFrom) and statement.level):
            continue
        for name in _bound(statement) or [EFFECT]:
            module.defined.setdefault(name, []).append(len(module.statements))
        tree = ast.dump(statement)  # `_names` has removed the docstrings
        module.statements.append(Statement(hashlib.sha256(tree.encode()).hexdigest()[:32], sorted(names)))
    return module


def _names(statement: ast.stmt, package: str, imported: dict[str, list[list[str]]]) -> set[str]:
    """Returns all names in a statement, attributes as dotted names; removes docstrings and records imports of this
    package.
    """
    names: set[str] = set()
    waiting: list[ast.AST] = [statement]
    while waiting:
        node = waiting.pop()
        if isinstance(node, DEFINITIONS):
            node.body = [inner for inner in node.body if not _is_text(inner)]
        elif isinstance(node, ast.ImportFrom) and node.level:
            above = package.split(".")[: package.count(".") + 2 - node.level]
            origin = ".".join([*above, *filter(None, [node.module])])
            for alias in node.names:
                targets = imported.setdefault(alias.asname or alias.name, [])
                targets += [[origin, alias.name]] if [origin, alias.name] not in targets else []
        name = _dotted(node)
        if name is None:
            waiting.extend(ast.iter_child_nodes(node))
        else:
            names.add(name)
    return names


def _dotted(node: ast.AST) -> str | None:
    """Returns "a.b.c" for an attribute of a name, "a" for a name, None for anything else."""
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else None


def _bound(statement: ast.stmt) -> list[str]:
    """Returns the names that a top-level statement binds, at any depth except inside functions and classes."""
    names: list[str] = []
    waiting: list[ast.AST] = [statement]
    while waiting:
        node = waiting.pop()
        if isinstance(node, DEFINITIONS):
            names.append(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.append(node.id)
        elif isinstance(node, ast.alias):
            names.append((node.asname or node.name).split(".")[0])
        else:
            waiting.extend(ast.iter_child_nodes(node))
    return names


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


# --- what can be reached ----------------------------------------------------------------------------------------------


def reached(roots: frozenset[str], files: Files) -> set[Node]:
    """Returns all statements that some functions and classes ("module:name" each) depend on."""
    found: set[Node] = set()
    seen = {(root.split(":")[0], root.split(":")[1]) for root in roots}
    waiting = list(seen)
    while waiting:
        for module, at in _resolved(waiting.pop(), files):
            said = files.module(module)
            for k in {at, *said.defined.get(EFFECT, ())}:
                found.add((module, k))
                more = {(module, name) for name in said.statements[k].names} - seen
                seen |= more
                waiting += more
    return found


def _resolved(name: tuple[str, str], files: Files) -> Iterator[Node]:
    """Yields the statements that a (module, dotted name) refers to; all statements of a module that is used as a
    whole.
    """
    waiting, seen = [name], set()
    while waiting:
        at = module, dotted = waiting.pop()
        if at in seen or module not in files.paths:
            continue
        seen.add(at)
        said = files.module(module)
        first, _, rest = dotted.partition(".")
        if not first:
            yield from ((module, k) for k in range(len(said.statements)))
            continue
        yield from ((module, k) for k in said.defined.get(first, ()))
        if f"{module}.{first}" in files.paths:
            waiting.append((f"{module}.{first}", rest))
        waiting += [(origin, ".".join(filter(None, [inner, rest]))) for origin, inner in said.imported.get(first, ())]
