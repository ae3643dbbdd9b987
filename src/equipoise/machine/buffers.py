"""Memory for the results of batches, reused when no result refers to it any more.

The operating system hands out fresh memory page by page and fills each page with zeros at its first write: for the
mass matrices of some thousand states this takes longer than computing them. Therefore the arrays behind results are
remembered. One is reused when its reference count shows that only this list refers to it: no result, view,
memoryview or tensor of another library.
"""

from __future__ import annotations

import math
import sys
import threading
from collections.abc import Sequence

import numpy as np

Array = np.ndarray
LEAST = 1 << 18  # bytes; smaller results come from Python's own memory pools
MOST_BYTES = 1 << 28  # bytes of unused blocks that are remembered
MOST_BUFFERS = 8
ALIGNED = 64  # bytes; results start at a cache line, so that whole lines can be written with non-temporal stores


class Buffers:
    """A few blocks of memory; the most recently used one is tried first."""

    def __init__(self, most_bytes: int = MOST_BYTES, most_buffers: int = MOST_BUFFERS) -> None:
        self._blocks: list[Array] = []
        self._lock = threading.Lock()
        self._most_bytes, self._most_buffers = most_bytes, most_buffers

    def empty(self, shape: Sequence[int], dtype: str) -> Array:
        """Returns an uninitialised array like `np.empty`, in memory that nothing else refers to."""
        kind = np.dtype(dtype)
        size = math.prod(shape) * kind.itemsize
        if size < LEAST or not COUNTED:
            return np.empty(shape, dtype)
        with self._lock:
            block = self._taken(size)
            return block[:size].view(kind).reshape(shape)  # NumPy makes `block` the base of it, and of every view of it

    def _taken(self, size: int) -> Array:
        blocks = self._blocks
        for k in range(len(blocks) - 1, -1, -1):
            if size <= blocks[k].size <= 2 * size and sys.getrefcount(blocks[k]) == FREE:
                blocks.append(blocks.pop(k))
                return blocks[-1]
        blocks.append(_aligned(size))
        self._forget()
        return blocks[-1]

    def _forget(self) -> None:
        """Drops the least recently used blocks beyond the limits. A block that a result still uses lives as long as the
        result.
        """
        blocks = self._blocks
        while len(blocks) > 1 and (len(blocks) > self._most_buffers or sum(b.size for b in blocks) > self._most_bytes):
            del blocks[0]


def _aligned(size: int) -> Array:
    """Returns bytes that start at a cache line. They own a reference to their memory instead of being a view of an
    array.
    """
    raw = np.empty(size + ALIGNED, np.uint8)
    skip = -raw.ctypes.data % ALIGNED
    return np.frombuffer(raw.data[skip : skip + size], np.uint8)


def _free_count() -> int:
    """Returns `sys.getrefcount` of an item that only a list refers to; the value differs between versions of Python."""
    blocks = [_aligned(1)]
    return sys.getrefcount(blocks[0])


FREE = _free_count()
# Free-threaded Python updates reference counts late, so they cannot be used there.
COUNTED = getattr(sys, "_is_gil_enabled", lambda: True)()
results = Buffers()
