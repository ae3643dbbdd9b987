"""Where the mesh files of a URDF are: beside it, in ROS packages around it, or on the paths of ROS."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from ..files import MAX_TEXT, read_bounded
from .meshes import is_there

MAX_ENTRIES = 2000  # of a folder that is searched for packages: larger ones hold other things
LEVELS_UP = 6  # how far above the file packages are searched for inside other packages


class Meshes:
    """Finds the mesh files that one description names.

    Args:
        folder: of the description; None if it is text, and meshes are not looked for.
        inside: where MuJoCo would look for meshes, relative to the folder; None if the file does not say.
    """

    folder: Path | None
    inside: str | None

    def __init__(self, folder: Path | None, inside: str | None = None) -> None:
        self.folder, self.inside = folder, inside
        self.missing: dict[str, None] = {}  # a set that keeps the order of the file
        self._packages: dict[str, list[str]] = {}

    def path(self, filename: str) -> str:
        """The path of a mesh file; as written if the file is not found."""
        if self.folder is None:
            return filename
        found = next(filter(is_there, self._candidates(filename, self.folder)), None)
        if found is None:
            self.missing[filename] = None
        return found or filename

    def _candidates(self, filename: str, folder: Path) -> Iterator[str]:
        scheme, _, rest = filename.rpartition("://")
        if scheme in ("package", "model"):
            package, _, inside = rest.partition("/")
            if package not in self._packages:
                self._packages[package] = list(dict.fromkeys(_package_folders(package, folder)))
            yield from (os.path.join(found, inside) for found in self._packages[package])
        else:
            yield os.path.join(folder, rest)  # an absolute path stays as it is
            yield from (os.path.join(above, rest) for above in folder.parents)  # one that begins with its own package
        if self.inside is not None:
            yield os.path.join(folder, self.inside, os.path.basename(rest))


def _package_folders(package: str, folder: Path) -> Iterator[str]:
    """Where a ROS package may lie: above the file, beside a folder above it or in one of these, or on the paths of
    ROS."""
    if not package or os.sep in package or "\0" in package or package in (".", ".."):
        return
    for level, above in enumerate((folder, *folder.parents)):
        if above.name == package or _is_named(above, package):
            yield str(above)
        yield from _inside(
            str(above), package, nested=level < LEVELS_UP and above != Path.home() and above.parent != above
        )
    for root in _paths("ROS_PACKAGE_PATH"):
        if os.path.basename(root) == package:
            yield root
        yield from _inside(root, package, nested=True)
    for prefix in _paths("AMENT_PREFIX_PATH"):
        yield os.path.join(prefix, "share", package)


def _inside(folder: str, package: str, *, nested: bool) -> Iterator[str]:
    """The package in a folder, or in the folders that this one holds."""
    direct = os.path.join(folder, package)
    if os.path.isdir(direct):
        yield direct
    if not nested:
        return
    try:
        with os.scandir(folder) as entries:
            names = [entry.name for entry, _ in zip(entries, range(MAX_ENTRIES), strict=False) if entry.is_dir()]
    except OSError:
        return
    yield from (path for name in sorted(names) if os.path.isdir(path := os.path.join(folder, name, package)))


def _is_named(folder: Path, package: str) -> bool:
    """Whether the manifest in a folder gives it that name."""
    try:
        return f"<name>{package}</name>".encode() in read_bounded(folder / "package.xml", MAX_TEXT)
    except (OSError, ValueError):
        return False


def _paths(variable: str) -> list[str]:
    return [path.rstrip(os.sep) for path in os.environ.get(variable, "").split(os.pathsep) if path]
