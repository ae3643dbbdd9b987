"""Programs and machine code on disk, so that a robot's second start compiles nothing.

Machine code can do whatever its reader may. Files are therefore kept in a folder that only its owner can enter, written
whole or not at all, and checked against their own digest and name before use. Whatever does not pass is made anew.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path

MAGIC = b"EQCACHE1"


class CacheWarning(UserWarning):
    """The cache cannot be used; everything works, only each start compiles again."""


def default_folder() -> Path:
    """$EQUIPOISE_CACHE, or the user's cache folder."""
    if chosen := os.environ.get("EQUIPOISE_CACHE"):
        return Path(chosen)
    try:
        home = Path.home()
    except RuntimeError:  # a user without one, as in some containers; whose the folder is will be checked
        return Path(tempfile.gettempdir()) / f"equipoise-{os.getuid() if hasattr(os, 'getuid') else 'cache'}"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", home / "AppData" / "Local")) / "equipoise" / "cache"
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "equipoise"
    return Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache") / "equipoise"


def key(*parts: object) -> str:
    """A name for content: the digest of the parts."""
    text = hashlib.sha256()
    for part in parts:
        data = part if isinstance(part, bytes) else repr(part).encode()
        text.update(len(data).to_bytes(8, "little"))
        text.update(data)
    return text.hexdigest()


class Cache:
    """Bytes by key."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = default_folder() if folder is None else Path(folder)
        self._usable: bool | None = None

    def get(self, name: str, make: Callable[[], bytes]) -> bytes:
        """The bytes of that name; made and kept if they are not there or do not check out."""
        data = self.read(name)
        if data is None:
            data = make()
            self.write(name, data)
        return data

    def read(self, name: str) -> bytes | None:
        """The bytes of that name, or None if there are none that can be trusted."""
        if not self.usable:
            return None
        try:
            content = (self.folder / name).read_bytes()
        except OSError:
            return None
        header = MAGIC + bytes.fromhex(name)
        payload = content[len(header) + 32 :]
        expected = header + hashlib.sha256(payload).digest()
        return payload if content[: len(expected)] == expected else None

    def write(self, name: str, payload: bytes) -> None:
        """Keep bytes under a name: written aside, then moved into place in one step."""
        if not self.usable:
            return
        content = MAGIC + bytes.fromhex(name) + hashlib.sha256(payload).digest() + payload
        temporary = None
        try:
            descriptor, temporary = tempfile.mkstemp(dir=self.folder, prefix=".writing-")
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
            os.replace(temporary, self.folder / name)
        except OSError as error:
            if temporary is not None:
                with contextlib.suppress(OSError):
                    os.unlink(temporary)
            warnings.warn(f"cannot keep compiled code in {self.folder}: {error}", CacheWarning, stacklevel=2)

    @property
    def usable(self) -> bool:
        """Whether the folder is there and nobody else can write to it."""
        if self._usable is None:
            problem = self._problem()
            self._usable = problem is None
            if problem:
                warnings.warn(f"compiled code is not kept: {problem}", CacheWarning, stacklevel=3)
        return self._usable

    def _problem(self) -> str | None:
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            status = os.lstat(self.folder)
        except OSError as error:
            return f"the folder {self.folder} cannot be made ({error})"
        if not stat.S_ISDIR(status.st_mode):
            return f"{self.folder} is not a folder of its own (a link or a file)"
        if hasattr(os, "getuid"):
            if status.st_uid != os.getuid():
                return f"the folder {self.folder} belongs to somebody else"
            if status.st_mode & 0o022:
                return f"others may write to {self.folder}; chmod 700 makes it usable"
        return None
