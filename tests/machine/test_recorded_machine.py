"""Recorded choices of the machine: targets by processor, folders and limits of the cache, names of results, what a
source file says, places of values in registers."""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import records
from synthetic import random_program

from equipoise.machine import cache, cached, cpu, sources, threads
from equipoise.machine.buffers import Buffers
from equipoise.machine.kernel import Kernel
from equipoise.machine.program import OPERATIONS, Program
from equipoise.machine.registers import Registers
from equipoise.machine.source.export import names_of
from equipoise.machine.target import Target

SOURCE = '''"""Text of a module."""
from __future__ import annotations
import os.path as path, json
from . import near
from .near import one as first, two
from ..above.far import three

LIMIT = 3
A = B = [LIMIT, two.x.y]
for k in range(3):
    register(k)
if first:
    def made(x: int) -> int:
        """Not read."""
        return three(x).value
class Thing(near.Base):
    """Not read."""
    size: int = LIMIT
    def method(self):
        return self.size + path.sep
'''


@dataclass(frozen=True)
class Said:
    """A value with fields."""

    x: int
    y: Any


class WithIdentity:
    """A value that says what stands for it."""

    identity = ("stands", 3)


Said.__module__ = WithIdentity.__module__ = "equipoise.somewhere"


def named(x: Any) -> Any:
    """A value as data, and the classes that were met."""
    kinds: set[str] = set()
    try:
        return [repr(cached.identity(x, kinds)), sorted(kinds)]
    except cached.UncacheableError:
        return "none"


def folder(**environment: str) -> Callable[[], Any]:
    """The cache's folder with some variables, the home being /home/me."""

    def call() -> Any:
        with pytest.MonkeyPatch.context() as patch:
            for name in ("EQUIPOISE_CACHE", "XDG_CACHE_HOME", "LOCALAPPDATA"):
                patch.delenv(name, raising=False)
            patch.setattr(Path, "home", staticmethod(lambda: Path("/home/me")))
            patch.setattr(sys, "platform", environment.pop("platform", "linux"))
            for name, value in environment.items():
                patch.setenv(name, value)
            return str(cache.default_folder())

    return call


def limit(text: str) -> Callable[[], Any]:
    def call() -> Any:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("EQUIPOISE_CACHE_SIZE", text)
            return cache._limit()

    return call


def targets(register: int) -> Callable[[], Any]:
    """How code is made where a vector register has so many bytes."""

    def call() -> Any:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(cpu, "vector_bytes", lambda: register)
            return [repr(cpu.target_for(dtype, batch)) for dtype in ("float64", "float32") for batch in (False, True)]

    return call


def counted(*given: Any) -> Callable[[], Any]:
    def call() -> Any:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(threads, "_limit", given[0])
            patch.setattr(threads, "_cores", lambda: 5)
            patch.setenv("EQUIPOISE_THREADS", given[1]) if given[1] else patch.delenv(
                "EQUIPOISE_THREADS", raising=False
            )
            parts: list[tuple[int, int]] = []
            status = threads.run_in_parts(lambda a, b: parts.append((a, b)) or 1 << (a % 3), *given[2:])
            return [threads.thread_count(), sorted(parts), status]

    return call


def kept() -> list[Any]:
    """Values in registers and in memory, step by step, with room for two and for three."""
    steps, found = [(), (), (0,), (1,), (0, 2), (3,), (4, 1), (5, 0), (6, 7)], []
    for capacity in (2, 3):
        registers = Registers(capacity, steps)
        for now, used in enumerate(steps):
            leaving = registers.hold(now, f"%{now}", now)
            found.append(f"{leaving} {[registers.slot(value) for value, _ in leaving]} {registers.names}")
            registers.release(used, now)
            found.append(f"{registers.slots} {registers.slot_count} {registers.next_use(0, now)}")
        found.append(repr(registers.clear(0)))
    return found


def reused() -> list[Any]:
    """Which results lie in the memory of one that is gone."""
    buffers = Buffers(most_bytes=1 << 21, most_buffers=3)
    sizes = [(1 << 15,), ((1 << 15) - 1,), (1 << 16,), (1 << 15, 2), (1 << 14, 2)]
    found: list[Any] = []
    held = []
    for shape in sizes:
        x = buffers.empty(shape, "float64")
        held.append(x)
        found.append([len(buffers._blocks), x.ctypes.data % 64 if x.nbytes >= 1 << 18 else None])
    del x, held
    again = [buffers.empty((1 << 15,), "float64").nbytes, len(buffers._blocks)]
    buffers.empty((1 << 20,), "float64")
    return [*found, again, len(buffers._blocks), [b.size for b in buffers._blocks]]


def program_with(**changes: Any) -> Callable[[], Any]:
    """A program of two instructions, damaged, from its bytes."""

    def call() -> Any:
        program = random_program(1, instructions=4, outputs=((2,),))
        assert len(program) == 5
        fields = {
            name: np.array(value, getattr(program, name).dtype) if isinstance(value, list) else value
            for name, value in changes.items()
        }
        return len(Program.from_bytes(replace(program, **fields).to_bytes()))

    return call


def batches(count: int, streams: bool, limit: int = 2, dtype: str = "float64") -> Callable[[], Any]:
    """Blocks of states that a call of a kernel runs, and whether their results go past the caches."""

    def call() -> Any:
        log: list[str] = []
        target = SimpleNamespace(width=4, streams_anywhere=streams)

        def blocks(places: Any, start: int, number: int, *, stream: bool) -> int:
            log.append(f"{start} {number} {stream} {[row for _, row in places]}")
            return 0

        kernel = Kernel(random_program(3, instructions=900, outputs=((40, 30),)), lambda program, target: b"")
        kernel.code = lambda dtype, batch: SimpleNamespace(target=target, blocks=blocks)  # type: ignore[assignment]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(threads, "_limit", limit)
            kernel(np.zeros((count, 7), dtype), np.zeros((count, 6), dtype))
        return sorted(log)

    return call


CALLS: dict[str, Callable[[], Any]] = {
    "folder": folder(),
    "folder of XDG": folder(XDG_CACHE_HOME="/var/x"),
    "folder, chosen": folder(EQUIPOISE_CACHE="/tmp/c", XDG_CACHE_HOME="/var/x"),
    "folder on a Mac": folder(platform="darwin"),
    "folder, XDG empty": folder(XDG_CACHE_HOME=""),
    "no limit": limit(""),
    "limit": limit("3"),
    "limit 0": limit("0"),
    "limit of text": limit("much"),
    "limit −": limit("-1"),
    "key": lambda: [cache.key("a", b"b", 3), cache.key("ab", b"", 3)],
    "SSE": targets(16),
    "AVX2": targets(32),
    "AVX-512": targets(64),
    "memory": lambda: [
        [t.scalar, t.value, t.itemsize, t.together, t.alignment]
        for t in (
            Target("float64", 1, 2, False, 13),
            Target("float32", 16, 8, True, 28),
            Target("float64", 16, 8, True, 28),
        )
    ],
    "threads": counted(None, "", 100),
    "threads by environment": counted(None, "2", 40, 7),
    "threads limited": counted(3, "2", 10),
    "one thread": counted(1, "", 10),
    "few parts": counted(4, "", 2),
    "least": counted(4, "", 100, 30),
    "nothing to do": counted(4, "", 0),
    "identities": lambda: [
        named(x)
        for x in (
            None,
            True,
            3,
            2.5,
            1j,
            "a",
            slice(1, 2),
            b"short",
            b"x" * 64,
            b"x" * 65,
            np.arange(3),
            np.float32(2),
            (1, [2]),
            {"a": 1},
            Said(1, (2, 3)),
            WithIdentity(),
        )
    ],
    "identity of a class": lambda: named(Program),
    "identity of ours": lambda: named(cache.key),
    "identity of a lambda": lambda: named(lambda: 3),
    "identity of another's": lambda: named(os.path.join),
    "identity of an object": lambda: named(object()),
    "identity of objects": lambda: named(np.array([None])),
    "encoded": lambda: [repr(cached._encoded(x)) for x in (b"abc", "abc", [1, 2], np.arange(3.0).reshape(1, 3))],
    "decoded": lambda: [
        cached._decoded(cached._encoded(x)) for x in (b"abc".hex(), [1, 2], np.arange(6).reshape(2, 3))
    ],
    "source": lambda: [
        [sorted(s.names) for s in sources.parsed(SOURCE.encode(), "equipoise.here").statements],
        sources.parsed(SOURCE.encode(), "equipoise.here").defined,
        sources.parsed(SOURCE.encode(), "equipoise.here").imported,
    ],
    "same source": lambda: [
        a.digest == b.digest
        for a, b in zip(
            sources.parsed(SOURCE.encode(), "p").statements,
            sources.parsed(
                SOURCE.replace("Not read", "Other").replace("range(3)", "range(4)").encode(), "p"
            ).statements,
            strict=True,
        )
    ],
    "dotted": lambda: [sources._dotted(ast.parse(text, mode="eval").body) for text in ("a.b.c", "a", "f(x).y", "3")],
    "operations": lambda: OPERATIONS,
    "names": lambda: [
        names_of(Program(name, (), np.zeros(0), *[np.zeros(0, int)] * 3, ()), function).function
        for name, function in (
            ("a b", None),
            ("3d", None),
            ("", None),
            ("double", None),
            ("t5", None),
            ("sin", None),
            ("eq_x", None),
            ("x", "mine"),
        )
    ],
    "registers": kept,
    "buffers": reused,
    "whole": program_with(),
    "operation": program_with(code=[200] * 5),
    "left": program_with(left=[-1] * 5),
    "quaternion": program_with(quaternions=((0, 4),)),
    "quaternion inside": program_with(quaternions=((0, 3),)),
}


CALLS |= {f"batch of {n}": batches(n, True) for n in (0, 3, 4, 5, 164, 168, 172, 173, 873, 874, 900)}
CALLS |= {"batch to anywhere": batches(900, False), "batch by one": batches(900, True, 1)}
CALLS["batch in single precision"] = batches(900, True, dtype="float32")


def test_recorded_machine():
    records.check("machine", {name: records.answer(call) for name, call in CALLS.items()})
