"""Files that are written whole or not at all, and read within bounds: a file may come from anybody.

A small file can unpack to more than a machine has, promise arrays that are not in it, or never end. Readers here look
at what a file says of its size before they take memory for it, and read no further than that.
"""

from __future__ import annotations

import io
import math
import os
import secrets
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import numpy as np

MAX_BYTES = 2**30  # of a file, and of what it unpacks to
MAX_TEXT = 2**22  # of a file that people write
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


def read_bounded(path: Path, most: int = MAX_BYTES) -> bytes:
    """All bytes of a plain file that has at most so many.

    Raises:
        OSError: it is not there, is not a plain file (a FIFO would never end), or cannot be read.
        ValueError: it is larger.
    """
    if not path.is_file():
        raise OSError(f"{str(path)!r} is not a file" if path.exists() else f"no file {str(path)!r}")
    with path.open("rb") as file:
        content = file.read(most + 1)
    if len(content) > most:
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
