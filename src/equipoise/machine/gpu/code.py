"""Compiles CUDA source to functions on the device: NVRTC, the cache, and the driver's resource figures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...errors import CompileError
from ..cached import cached
from .arrays import cupy

_LOCAL_BYTES, _REGISTERS, _SHARED_LIMIT = 3, 4, 8  # the driver's numbers of function attributes
_PLENTY = 48 << 10  # bytes of shared memory that a block gets without a request


@dataclass(frozen=True)
class Usage:
    """Resources of a multiprocessor that a kernel uses."""

    registers: int
    local_bytes: int
    shared_bytes: int
    warps: int  # resident warps on one multiprocessor


class DeviceFunction:
    """One function on one device; the loaded module lives as long as this object."""

    threads: int
    shared: int

    def __init__(self, source: str, name: str, threads: int, shared: int = 0) -> None:
        self._module = cupy().cuda.function.Module()
        self._module.load(_binary(source))
        self._function = self._module.get_function(name)
        self.threads, self.shared = threads, shared
        if shared > _PLENTY:
            cupy().cuda.driver.funcSetAttribute(self._function.ptr, _SHARED_LIMIT, shared)

    def __call__(self, blocks: int, *arguments: Any) -> None:
        self._function((blocks, 1, 1), (self.threads, 1, 1), arguments, shared_mem=self.shared)

    @property
    def usage(self) -> Usage:
        driver = cupy().cuda.driver
        blocks = driver.occupancyMaxActiveBlocksPerMultiprocessor(self._function.ptr, self.threads, self.shared)
        registers, local = (driver.funcGetAttribute(what, self._function.ptr) for what in (_REGISTERS, _LOCAL_BYTES))
        return Usage(registers, local, self.shared, blocks * self.threads // 32)


def _binary(source: str) -> bytes:
    """Returns the machine code for this device, from the cache if it is there."""
    cp = cupy()
    architecture = f"sm_{cp.cuda.Device().compute_capability}"
    return cached(_compiled, source, architecture, on=cp.cuda.nvrtc.getVersion())


def _compiled(source: str, architecture: str) -> bytes:
    nvrtc = cupy().cuda.nvrtc
    program = nvrtc.createProgram(source, "equipoise.cu", [], [])
    try:
        nvrtc.compileProgram(program, [f"--gpu-architecture={architecture}", "--std=c++17"])
        return nvrtc.getCUBIN(program)
    except nvrtc.NVRTCError as error:
        raise CompileError(f"NVRTC refused the CUDA source: {error}\n{nvrtc.getProgramLog(program)}") from error
    finally:
        nvrtc.destroyProgram(program)
