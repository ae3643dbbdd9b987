"""Files that are written whole or not at all, and read within bounds: a file may come from anybody.

A small file can unpack to more than a machine has, promise arrays that are not in it, or never end. Readers here look
at what a file says of its size before they take memory for it, and read no further than that.
"""

from __future__ import annotations

import io
import math
import os
import secrets
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import numpy as np

from .errors import EquipoiseError

MAX_BYTES = 2**30  # of a file, and of what it unpacks to
MAX_TEXT = 2**22  # of a file that people write
PICTURES = ".png", ".svg", ".pdf"
TRIED = 4096  # bytes that are written to see whether a folder takes files
MAX_ARRAYS = 10_000  # in one archive
NPY_HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}


def written_whole(target: Path, write: Callable[[Any], None]) -> Path:
    """Let `write` fill a file aside, then move it into place in one step; readable like any new file."""
    temporary = target.parent / f".{target.name}.{secrets.token_hex(8)}"
    # the system takes the rights of a new file from 0666 and the umask; a file that is there is never opened
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
    try:
        with os.fdopen(handle, "wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    return target


def require_writable(*paths: str | Path | None) -> None:
    """Refuses files that cannot be written, before the work that they are for. None stands for a file nobody wants."""
    targets = [Path(path) for path in paths if path is not None]
    for target in targets:
        if target.exists() and not target.is_file():
            what = "a folder; name a file in it" if target.is_dir() else "not a plain file"
            raise EquipoiseError(f"cannot write {str(target)!r}: it is {what}")
        if not target.parent.is_dir():
            raise EquipoiseError(f"cannot write {str(target)!r}: there is no folder {str(target.parent)!r}")
        try:
            with tempfile.TemporaryFile(dir=target.parent) as file:
                file.write(bytes(TRIED))
        except OSError as error:
            raise EquipoiseError(f"cannot write {str(target)!r}: {error.strerror}") from None
    twice = {str(target) for target in targets if [other.resolve() for other in targets].count(target.resolve()) > 1}
    if twice:
        raise EquipoiseError(f"two outputs would be the same file, {min(twice)!r}; give each a name of its own")


def require_new(overwrite: bool, *paths: str | Path | None) -> None:
    """Refuses files that are there already, unless they may be overwritten."""
    there = [str(path) for path in paths if path is not None and Path(path).is_file()]
    if there and not overwrite:
        raise EquipoiseError(f"{there[0]!r} is there already; give another name, or --force to overwrite it")


def require_picture(path: str | Path | None) -> None:
    """Refuses a picture that cannot be written, before it is drawn."""
    require_writable(path)
    if path is not None and Path(path).suffix not in PICTURES:
        raise EquipoiseError(f"cannot write {str(path)!r}: pictures end in {', '.join(PICTURES)}")


def write_figure(figure: Any, path: str | Path, **options: Any) -> Path:
    """Write a figure of Matplotlib, whole or not at all."""
    target = Path(path)
    return written_whole(target, lambda file: figure.savefig(file, format=target.suffix[1:] or "png", **options))


def written_somewhere(path: str | Path, save: Callable[[Path], Path]) -> Path:
    """The path that `save` has written; where it cannot, the work is written elsewhere before the error is raised.

    Raises:
        EquipoiseError: why the file could not be written, and where the work is now.
    """
    target = Path(path)
    try:
        return save(target)
    except OSError as error:
        reason = f"cannot write {str(target)!r}: {error.strerror or error}"
    for folder in (Path(tempfile.gettempdir()), Path.home(), Path.cwd()):
        try:
            elsewhere = save(Path(tempfile.mkdtemp(prefix="equipoise-", dir=folder)) / target.name)
        except OSError:
            continue
        raise EquipoiseError(f"{reason}; saved as {str(elsewhere)!r} instead")
    raise EquipoiseError(f"{reason}, and no other folder takes it")


def read_bounded(path: Path, most: int = MAX_BYTES) -> bytes:
    """All bytes of a plain file that has at most so many.

    Raises:
        OSError: it is not there, is not a plain file (a FIFO would never end), or cannot be read.
        ValueError: it is larger.
    """
    if not path.is_file():
        raise OSError(f"{str(path)!r} is not a file" if path.exists() else f"no file {str(path)!r}")
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size  # before memory is taken: a sparse file has any size
        content = file.read(most + 1) if size <= most else b""
    if max(size, len(content)) > most:
        raise ValueError(f"it has more than the {most:,} bytes that are read of such a file")
    return content


def read_arrays(source: Path | bytes, most: int = MAX_BYTES) -> dict[str, np.ndarray]:
    """The arrays of an .npz file, which unpack to at most so many bytes together; no pickles.

    Raises:
        OSError: the file cannot be read.
        ValueError: it unpacks to more, or an array is not what its own header says; also zipfile.BadZipFile,
            zlib.error.
    """
    file: Any = io.BytesIO(source) if isinstance(source, bytes) else source
    with zipfile.ZipFile(file) as archive:
        entries = archive.infolist()
        total = sum(entry.file_size for entry in entries)
        if total > most:
            raise ValueError(f"it unpacks to {total:,} bytes; up to {most:,} are read")
        if len(entries) > MAX_ARRAYS:
            raise ValueError(f"it has {len(entries):,} arrays; up to {MAX_ARRAYS:,} are read")
        arrays = {}
        for entry in entries:
            with archive.open(entry) as stream:
                arrays[entry.filename.removesuffix(".npy")] = _array(stream, entry.filename, entry.file_size)
        return arrays


def _array(stream: IO[bytes], name: str, size: int) -> np.ndarray:
    """One array in NumPy's format. Its size is known before memory is taken for it."""
    version = np.lib.format.read_magic(stream)
    if version not in NPY_HEADERS:
        raise ValueError(f"{name} is in format {version} of NumPy's arrays, which is not read here")
    shape, fortran, dtype = NPY_HEADERS[version](stream)
    if dtype.kind not in "biufU":
        raise ValueError(f"{name} is of {dtype}: only numbers and texts are read, no objects that would need pickle")
    if min(shape, default=0) < 0 or math.prod(shape) * dtype.itemsize > size:
        raise ValueError(f"{name} says that its shape is {shape}, and has {size:,} bytes")
    data = stream.read(math.prod(shape) * dtype.itemsize)
    if stream.read(1):
        raise ValueError(f"{name} has more bytes than its shape, {shape}, takes")
    return np.frombuffer(bytearray(data), dtype).reshape(shape, order="F" if fortran else "C")
