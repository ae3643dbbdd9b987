"""Chooses how a kernel uses a multiprocessor, by measurement (docs/gpu.md has the figures).

A multiprocessor has 65,536 registers and about 227 kB of shared memory for all its threads. Programs whose values
fit into 168 registers run with three blocks of 128 threads. Crowded ones run with two: as many values as possible in
registers, those with the longest wait in shared memory, and the rest in the thread's local memory, which is slow.
Programs with very many results are limited by memory traffic and need many threads.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..order import most_alive
from ..program import Program
from ..target import compact_slots

SHARED_BYTES = 226 << 10  # bytes of shared memory of a large multiprocessor, divided among its blocks
MANY_RESULTS = 256  # results per state from which memory traffic is the limit
CROWDED = 200  # 32-bit registers per thread; a program that needs more does not run with three blocks
FULL = 500  # 32-bit registers per thread; a program that needs more does not fit two blocks
KEPT = {"float32": 190, "float64": 100}  # values kept in registers when half as many threads run


@dataclass(frozen=True)
class MemoryLayout:
    """The memory layout and resources of a kernel."""

    staged: tuple[bool, ...]  # for each input, whether it consists of rows that are copied through shared memory
    results: str  # "strided": unchanged; "staged", "spread": rows through shared memory; "compact": each value once
    threads: int = 128  # threads per block
    blocks: int = 0  # blocks that must fit a multiprocessor; 0: no requirement
    cut: int = 0  # instructions between branches that are never taken
    registers: int | None = None  # values to keep in registers; None: the compiler decides
    waiting: int = 0  # number of the other values that fit shared memory
    streaming: bool = False  # results are written with non-temporal stores
    turned: bool = False  # inputs that are rows are converted to the fast layout beforehand


def padded(size: int) -> int:
    """Returns the odd stride of rows in shared memory, with which the threads of a warp access different banks."""
    return size | 1


def bytes_of(dtype: str) -> int:
    return 8 if dtype == "float64" else 4


def stage_numbers(program: Program, layout: MemoryLayout) -> int:
    """Returns how many numbers of shared memory one block needs to pass rows through."""
    sizes = [padded(a.size) for a, staged in zip(program.inputs, layout.staged, strict=True) if staged]
    if layout.results == "staged":
        sizes += [padded(output.size) for output in program.outputs]
    spread = len(compact_slots(program)[0]) * (layout.threads + 1) if layout.results == "spread" else 0
    return sum(sizes) * layout.threads + spread


def layout_for(
    program: Program, dtype: str, rows: tuple[bool, ...], result_rows: bool, shared: int = SHARED_BYTES
) -> MemoryLayout:
    """Returns the layout for inputs of which `rows` are rows, results that are rows or not, and `shared` bytes of
    shared memory.
    """
    wanted = most_alive(program) * bytes_of(dtype) // 4
    if wanted > FULL:  # shared memory is better used for spilled values
        found = MemoryLayout((False,) * len(rows), "compact" if result_rows else "strided", turned=any(rows))
    else:
        found = _rows_through_shared_memory(program, dtype, rows, result_rows, shared)
    many = sum(output.size for output in program.outputs) > MANY_RESULTS and found.results in ("strided", "compact")
    found = replace(found, streaming=many and found.results == "strided")
    if many and wanted <= FULL:
        return replace(found, blocks=(4 if dtype == "float32" else 3) * 128 // found.threads, cut=250)
    if found.results == "spread":
        return found
    if wanted <= CROWDED:
        threads = found.threads if any(found.staged) else 64
        return replace(found, threads=threads, blocks=384 // threads)
    return _crowded(program, dtype, found, shared)


def _rows_through_shared_memory(
    program: Program, dtype: str, rows: tuple[bool, ...], result_rows: bool, shared: int
) -> MemoryLayout:
    """Returns the layout that passes all rows through shared memory if they fit.

    Otherwise only inputs pass through it and results are spread over their rows at the end, if that fits; otherwise
    none.
    """
    room = (shared // 3 - 2048) // bytes_of(dtype)  # room for three blocks
    if not result_rows:
        tries = [MemoryLayout(rows, "strided", threads) for threads in (128, 64, 32)]
    else:
        tries = [MemoryLayout(rows, "staged", threads) for threads in (128, 64, 32)]
        for threads in (128, 64):
            spread = MemoryLayout(rows, "spread", threads)
            # four warps are the least that pays off
            if 128 // threads * stage_numbers(program, spread) * bytes_of(dtype) <= shared:
                tries.append(spread)
        tries += [MemoryLayout(rows, "compact", threads) for threads in (128, 64, 32)]
    for layout in tries:
        if layout.results == "spread" or stage_numbers(program, layout) <= room:
            return layout
    return MemoryLayout((False,) * len(rows), "compact" if result_rows else "strided")


def _crowded(program: Program, dtype: str, found: MemoryLayout, shared: int) -> MemoryLayout:
    """Returns the layout with half the threads: values are spilled to the shared memory that rows leave free."""
    blocks = max(2 * 128 // found.threads, 1)
    free = shared // blocks - stage_numbers(program, found) * bytes_of(dtype)
    waiting = free // (found.threads * bytes_of(dtype))
    if waiting < KEPT[dtype] // 4:  # too little shared memory to be useful
        return replace(found, blocks=3 if any(found.staged) else blocks, cut=1000)
    return replace(found, blocks=blocks, cut=1000, registers=KEPT[dtype], waiting=waiting)
