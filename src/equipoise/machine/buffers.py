"""Memory for the results of batches, used again once nobody holds a result any more.

The system hands out fresh memory page by page, each filled with zeros when it is first written: for the mass matrices
of some thousand states this takes longer than computing them. So the arrays behind results are remembered, and one is
used again when its reference count says that this list is all that still knows it: no result, view, memoryview or
tensor of another library.
"""

from __future__ import annotations

import math
import sys
import threading
from collections.abc import Sequence

import numpy as np

Array = np.ndarray
LEAST = 1 << 18  # bytes; smaller results come from memory that Python keeps anyway
MOST_BYTES = 1 << 28  # that are remembered while nobody uses them
MOST_BUFFERS = 8
ALIGNED = 64  # bytes: results begin on a cache line, so that whole lines can be written past the caches


class Buffers:
    """A few blocks of memory, the last used first."""

    def __init__(self, most_bytes: int = MOST_BYTES, most_buffers: int = MOST_BUFFERS) -> None:
        self._blocks: list[Array] = []
        self._lock = threading.Lock()
        self._most_bytes, self._most_buffers = most_bytes, most_buffers

    def empty(self, shape: Sequence[int], dtype: str) -> Array:
        """An array like `np.empty`, in memory that nobody else refers to."""
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
        """Let go of the longest unused blocks beyond the bounds; those that results hold live as long as these."""
        blocks = self._blocks
        while len(blocks) > 1 and (len(blocks) > self._most_buffers or sum(b.size for b in blocks) > self._most_bytes):
            del blocks[0]


def _aligned(size: int) -> Array:
    """Bytes from a cache line on, that own a reference to their memory and are no view of an array."""
    raw = np.empty(size + ALIGNED, np.uint8)
    skip = -raw.ctypes.data % ALIGNED
    return np.frombuffer(raw.data[skip : skip + size], np.uint8)


def _free_count() -> int:
    """What `sys.getrefcount` says of an item that only a list holds; it differs between versions of Python."""
    blocks = [_aligned(1)]
    return sys.getrefcount(blocks[0])


FREE = _free_count()
COUNTED = getattr(sys, "_is_gil_enabled", lambda: True)()  # without the lock, counts may be late
results = Buffers()
