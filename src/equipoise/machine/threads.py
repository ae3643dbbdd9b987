"""Worker threads for batches. Kernels release the interpreter's lock, so threads run side by side."""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

_limit: int | None = None
PARTS_EACH = 8  # parts per thread: at the end, a thread waits for at most one part of another thread


def thread_count() -> int:
    """Threads a large batch uses: those of `limit_threads`, $EQUIPOISE_THREADS, or all cores this process may use."""
    if _limit is not None:
        return _limit
    return int(os.environ.get("EQUIPOISE_THREADS", 0)) or _cores()


@functools.cache
def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextlib.contextmanager
def limit_threads(count: int) -> Iterator[None]:
    """Use at most `count` threads inside the `with` block."""
    global _limit
    before, _limit = _limit, count
    try:
        yield
    finally:
        _limit = before


@functools.cache
def _pool(workers: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(workers, thread_name_prefix="equipoise")


if hasattr(os, "register_at_fork"):  # A forked child inherits the pools without their threads, so it creates new ones.
    os.register_at_fork(after_in_child=_pool.cache_clear)


def run_in_parts(work: Callable[[int, int], int], total: int, least: int = 1) -> int:
    """Runs `work(start, stop)` over parts of range(total) on the threads and returns the results combined by bitwise
    or.

    A sleeping thread needs time to wake up. Each thread takes the next part when it is free, so a late thread takes
    fewer parts and delays nobody.

    Args:
        least: smallest size of a part for which a thread of its own pays off.
    """
    workers = min(thread_count(), total)
    if workers <= 1:
        return work(0, total)
    step = max(-(-total // (PARTS_EACH * workers)), least)
    starts = iter(range(0, total, step))  # advancing this iterator is atomic: every part is taken exactly once

    def drain() -> int:
        status = 0
        for start in starts:
            status |= work(start, min(start + step, total))
        return status

    others = [_pool(workers - 1).submit(drain) for _ in range(1, workers)]
    status = 0
    try:
        status = drain()
    finally:  # Wait after an interrupt too: the threads still write into arrays that the caller would release.
        for future in others:
            if not future.cancel():
                status |= future.result()
    return status
