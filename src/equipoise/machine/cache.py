"""Caches programs and machine code on disk, so that a robot's second start compiles nothing.

Machine code can do whatever its reader may. A cached file is therefore used only if
  - the folder and the file belong to this user, nobody else may write to them, and the file is a plain file with one
    name;
  - its header holds its own name and a digest of its content under a secret key that lies in the folder (HMAC-SHA256).
    So a file that somebody planted while the folder was open to others is rejected, whoever owns it now.

A file is written completely or not at all. A file that fails a check is created anew. Files unused for `MAX_AGE` are
deleted, and beyond `MAX_BYTES` the least recently used ones.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import hmac
import os
import stat
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path

MAGIC = b"EQCACHE2"
KEY_FILE = ".key"  # name of the file with the secret key
KEY_BYTES = 32
KEY_TRIES = 10  # attempts to read a key that another process is writing
PARTIAL = ".writing-"  # prefix of the names of files that are being written
MAX_FILE = 2**28  # bytes; the largest object of a robot has about ten million
MAX_BYTES = 2**31  # bytes of all files together
MAX_AGE = 90 * 86_400.0  # s since a file was last used
PARTIAL_AGE = 3_600.0  # s after which a partial file is considered abandoned
TOUCH_AGE = 86_400.0  # s; a file that is used gets a new date once a day, since many file systems do not record reads
PRUNE_EVERY = 64  # writes of a process between two checks of the whole folder


class CacheWarning(UserWarning):
    """Warns that the cache cannot be used. Everything works, but each start compiles again."""


def default_folder() -> Path:
    """Returns $EQUIPOISE_CACHE, or the user's cache folder."""
    if chosen := os.environ.get("EQUIPOISE_CACHE"):
        return Path(chosen)
    try:
        home = Path.home()
    except RuntimeError:
        # Some users have no home, for example in containers. The owner of the folder is checked later.
        return Path(tempfile.gettempdir()) / f"equipoise-{os.getuid() if hasattr(os, 'getuid') else 'cache'}"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", home / "AppData" / "Local")) / "equipoise" / "cache"
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "equipoise"
    return Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache") / "equipoise"


def key(*parts: object) -> str:
    """Returns a name for content: the digest of the parts."""
    text = hashlib.sha256()
    for part in parts:
        data = part if isinstance(part, bytes) else repr(part).encode()
        text.update(len(data).to_bytes(8, "little"))
        text.update(data)
    return text.hexdigest()


class Cache:
    """A folder of cached bytes by name."""

    folder: Path
    max_bytes: int

    def __init__(self, folder: Path | None = None, *, max_bytes: int | None = None) -> None:
        self.folder = default_folder() if folder is None else Path(folder)
        self.max_bytes = _limit() if max_bytes is None else max_bytes
        self._usable: bool | None = None
        self._writes = 0

    def get(self, name: str, make: Callable[[], bytes]) -> bytes:
        """Returns the bytes of that name; calls `make` and caches its result if there are none or they fail a check."""
        data = self.read(name)
        if data is None:
            data = make()
            self.write(name, data)
        return data

    def read(self, name: str) -> bytes | None:
        """Returns the bytes of that name, or None if there are none that can be trusted."""
        if not self.usable:
            return None
        content = _trusted_bytes(self.folder / name)
        header = MAGIC + bytes.fromhex(name)
        start = len(header) + KEY_BYTES
        if content is None or len(content) < start or content[: len(header)] != header:
            return None
        payload = content[start:]
        return payload if hmac.compare_digest(content[len(header) : start], self._digest(name, payload)) else None

    def write(self, name: str, payload: bytes) -> None:
        """Caches bytes under a name: writes a temporary file and moves it into place in one step."""
        if not self.usable:
            return
        try:
            _write_whole(self.folder / name, MAGIC + bytes.fromhex(name) + self._digest(name, payload) + payload)
        except OSError as error:
            warnings.warn(f"cannot cache compiled code in {self.folder}: {error}", CacheWarning, stacklevel=2)
        self._writes += 1
        if self._writes % PRUNE_EVERY == 1:
            self.prune()

    def holds(self, name: str) -> bool:
        """Returns whether a file of that name exists; whether it can be trusted is checked when it is read."""
        return self.usable and (self.folder / name).is_file()

    def prune(self) -> None:
        """Deletes files that are too old, the least recently used beyond `max_bytes`, and abandoned partial files."""
        now, total = time.time(), 0
        for entry, status in sorted(self._files(), key=lambda found: -found[1].st_mtime):
            partial = entry.name.startswith(PARTIAL)
            age = now - status.st_mtime
            total += 0 if partial else status.st_size
            if age > (PARTIAL_AGE if partial else MAX_AGE) or (total > self.max_bytes and not partial):
                with contextlib.suppress(OSError):
                    os.unlink(entry.path)

    def _files(self) -> list[tuple[os.DirEntry[str], os.stat_result]]:
        """Returns entries and partial files of this cache, without its key and files of others."""
        found = []
        with contextlib.suppress(OSError), os.scandir(self.folder) as entries:
            for entry in entries:
                if entry.name.startswith(PARTIAL) or (len(entry.name) == 64 and entry.is_file(follow_symlinks=False)):
                    with contextlib.suppress(OSError):  # another process may prune too
                        found.append((entry, entry.stat(follow_symlinks=False)))
        return found

    def _digest(self, name: str, payload: bytes) -> bytes:
        return hmac.digest(self._key, MAGIC + bytes.fromhex(name) + payload, "sha256")

    @functools.cached_property
    def _key(self) -> bytes:
        """The secret key of this folder, created once. A key that others could have written is replaced, which
        invalidates all files.
        """
        path = self.folder / KEY_FILE
        for _ in range(KEY_TRIES):
            found = _trusted_bytes(path)
            if found is not None and len(found) == KEY_BYTES:
                return found
            if not os.path.lexists(path):
                break
            time.sleep(0.005)  # another process may be about to write it
        fresh = os.urandom(KEY_BYTES)
        try:
            path.unlink(missing_ok=True)
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
            os.write(descriptor, fresh)
            os.close(descriptor)
        except OSError:
            # Another process was faster, or the folder is read-only: then the key serves this process only.
            return _trusted_bytes(path) or fresh
        return fresh

    @property
    def usable(self) -> bool:
        """Whether the folder exists and nobody else can write to it."""
        if self._usable is None:
            problem = self._problem()
            self._usable = problem is None
            if problem:
                warnings.warn(f"compiled code is not cached: {problem}", CacheWarning, stacklevel=3)
        return self._usable

    def _problem(self) -> str | None:
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            status = os.lstat(self.folder)
        except OSError as error:
            return f"the folder {self.folder} cannot be created ({error})"
        if not stat.S_ISDIR(status.st_mode):
            return f"{self.folder} is not a folder of its own (a link or a file)"
        if hasattr(os, "getuid"):
            if status.st_uid != os.getuid():
                return f"the folder {self.folder} belongs to somebody else"
            if status.st_mode & 0o022:
                return (
                    f"others may write to {self.folder}, so any file in it may be theirs. Delete its contents, then "
                    f"close it: rm -rf {self.folder} && mkdir -m 700 {self.folder}"
                )
        return None


def shared_cache() -> Cache:
    """Returns the cache of this process, in the folder that the environment names."""
    return _cache_in(default_folder())


@functools.cache
def _cache_in(folder: Path) -> Cache:
    return Cache(folder)


def _limit() -> int:
    """Returns $EQUIPOISE_CACHE_SIZE, given in MiB, in bytes."""
    given = os.environ.get("EQUIPOISE_CACHE_SIZE", "")
    if not given:
        return MAX_BYTES
    if not given.isdigit() or int(given) == 0:
        warnings.warn(
            f"EQUIPOISE_CACHE_SIZE is a number of MiB, got {given!r}; {MAX_BYTES >> 20} is used", CacheWarning, 3
        )
        return MAX_BYTES
    return int(given) << 20


def _trusted_bytes(path: Path) -> bytes | None:
    """Returns the content of a plain file that only this user can write, or None. Never blocks, as opening a FIFO
    would.
    """
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    try:
        descriptor = os.open(path, flags | getattr(os, "O_CLOEXEC", 0))
    except OSError:
        return None
    try:
        status = os.fstat(descriptor)
        if not _ours_alone(status) or status.st_size > MAX_FILE:
            return None
        with os.fdopen(os.dup(descriptor), "rb") as file:
            content = file.read(MAX_FILE + 1)
        if time.time() - status.st_mtime > TOUCH_AGE:
            os.utime(descriptor if os.utime in os.supports_fd else path)
        return content if len(content) == status.st_size else None
    except OSError:
        return None
    finally:
        os.close(descriptor)


def _ours_alone(status: os.stat_result) -> bool:
    """Returns whether it is a plain file under one name, belongs to this user, and nobody else may write to it."""
    if not stat.S_ISREG(status.st_mode) or status.st_nlink != 1:
        return False
    return not hasattr(os, "getuid") or (status.st_uid == os.getuid() and not status.st_mode & 0o022)


def _write_whole(path: Path, content: bytes) -> None:
    """Writes a temporary file, then moves it into place in one step."""
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=PARTIAL)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        os.replace(temporary, path)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
