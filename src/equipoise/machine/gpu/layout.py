"""How a kernel uses a multiprocessor: the choices that were measured to be best (docs/gpu.md has the figures).

A multiprocessor has 65,536 registers and about 227 kB of shared memory for all its threads. Programs whose values fit
into 168 registers run with three blocks of 128 threads. Crowded ones run with two: as many values as possible in
registers, those that wait longest in shared memory, and what is left over in the thread's own memory, which is slow.
Programs with very many results wait for memory anyway and want many threads.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..order import most_alive
from ..program import Program
from ..target import compact_slots

SHARED_BYTES = 226 << 10  # of a large multiprocessor, to be shared out among its blocks
MANY_RESULTS = 256
CROWDED, FULL = 200, 500  # registers wanted: more than three blocks, more than two blocks have
KEPT = {"float32": 190, "float64": 100}  # values in registers when there is room for half as many threads


@dataclass(frozen=True)
class MemoryLayout:
    """How a kernel's memory lies, and what its threads get."""

    staged: tuple[bool, ...]  # inputs that are rows and come through shared memory
    results: str  # "strided": as they are; "staged", "spread": rows through shared memory; "compact": each value once
    threads: int = 128  # of a block
    blocks: int = 0  # that must fit into a multiprocessor; 0: as many as do
    cut: int = 0  # instructions between branches that are never taken
    registers: int | None = None  # values to keep in registers; None: the compiler decides
    waiting: int = 0  # how many of the others find room in shared memory
    streaming: bool = False  # results are written past the caches
    turned: bool = False  # inputs that are rows are brought into the fast layout beforehand


def padded(size: int) -> int:
    """Numbers between rows in shared memory: odd, so that the threads of a warp meet every bank once."""
    return size | 1


def bytes_of(dtype: str) -> int:
    return 8 if dtype == "float64" else 4


def stage_numbers(program: Program, layout: MemoryLayout) -> int:
    """Numbers of shared memory that rows pass through, for one block."""
    sizes = [padded(a.size) for a, staged in zip(program.inputs, layout.staged, strict=True) if staged]
    if layout.results == "staged":
        sizes += [padded(output.size) for output in program.outputs]
    spread = len(compact_slots(program)[0]) * (layout.threads + 1) if layout.results == "spread" else 0
    return sum(sizes) * layout.threads + spread


def layout_for(
    program: Program, dtype: str, rows: tuple[bool, ...], result_rows: bool, shared: int = SHARED_BYTES
) -> MemoryLayout:
    """The layout for inputs of which some are rows, results that are rows or not, and so much shared memory."""
    wanted = most_alive(program) * bytes_of(dtype) // 4
    if wanted > FULL:  # shared memory is better used for values that wait
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
    """All rows if they fit; else the inputs alone, and results spread over their rows at the end, if that fits; else
    not."""
    room = (shared // 3 - 2048) // bytes_of(dtype)  # three blocks should fit
    if not result_rows:
        tries = [MemoryLayout(rows, "strided", threads) for threads in (128, 64, 32)]
    else:
        tries = [MemoryLayout(rows, "staged", threads) for threads in (128, 64, 32)]
        for threads in (128, 64):
            spread = MemoryLayout(rows, "spread", threads)
            # four warps is the least that pays
            if 128 // threads * stage_numbers(program, spread) * bytes_of(dtype) <= shared:
                tries.append(spread)
        tries += [MemoryLayout(rows, "compact", threads) for threads in (128, 64, 32)]
    for layout in tries:
        if layout.results == "spread" or stage_numbers(program, layout) <= room:
            return layout
    return MemoryLayout((False,) * len(rows), "compact" if result_rows else "strided")


def _crowded(program: Program, dtype: str, found: MemoryLayout, shared: int) -> MemoryLayout:
    """Half the threads: values wait in the shared memory that rows leave free."""
    blocks = max(2 * 128 // found.threads, 1)
    free = shared // blocks - stage_numbers(program, found) * bytes_of(dtype)
    waiting = free // (found.threads * bytes_of(dtype))
    if waiting < KEPT[dtype] // 4:  # too little to be worth it
        return replace(found, blocks=3 if any(found.staged) else blocks, cut=1000)
    return replace(found, blocks=blocks, cut=1000, registers=KEPT[dtype], waiting=waiting)
