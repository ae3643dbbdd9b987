"""Recorded launches of kernels on a GPU, with arrays of the processor in the place of CuPy's: which functions with how
many threads and how much shared memory, over which strides; the layout of results; refusals."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import records
from synthetic import random_program

from equipoise.machine.gpu import arrays, code, kernel
from equipoise.machine.gpu.kernel import DeviceKernel


class OnDevice(np.ndarray):
    """An array that says of itself that it is CuPy's, on device 3."""

    @property
    def data(self) -> Any:
        return SimpleNamespace(ptr=self.ctypes.data)

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, 3


OnDevice.__module__ = "cupy"


class Device(contextlib.AbstractContextManager):
    """A GPU with the shared memory of a large one."""

    attributes = {"MaxSharedMemoryPerMultiprocessor": 228 << 10}
    compute_capability = "90"

    def __init__(self, number: int = 0) -> None:
        self.id = number

    def __exit__(self, *error: object) -> None:
        """Nothing to give back."""


def on_device(x: Any, dtype: Any = None) -> OnDevice:
    return np.asarray(x, dtype).view(OnDevice)


CUPY = SimpleNamespace(
    empty=lambda shape, dtype: np.zeros(shape, dtype).view(OnDevice), asarray=on_device,
    broadcast_to=lambda x, shape: np.broadcast_to(x, shape, subok=True), from_dlpack=lambda x: x,
    ascontiguousarray=lambda x: np.ascontiguousarray(x).view(OnDevice), cuda=SimpleNamespace(Device=Device),
)  # fmt: skip


@pytest.fixture
def launches(monkeypatch) -> Iterator[list[str]]:
    """What is launched: functions write nothing."""
    log: list[str] = []

    class Function:
        def __init__(self, source: str, name: str, threads: int, shared: int = 0) -> None:
            self.told = f"{name} of {len(source.splitlines())} lines, {threads} threads, {shared} bytes"

        def __call__(self, blocks: int, *arguments: Any) -> None:
            numbers = [int(x) for x in arguments if isinstance(x, np.integer)]
            log.append(f"{self.told}: {blocks} blocks, {numbers}")

    for module in (kernel, arrays):
        monkeypatch.setattr(module, "cupy", lambda: CUPY)
    monkeypatch.setattr(kernel, "DeviceFunction", Function)
    return log


def numbers(*shape: int, dtype: str = "float64", columns: bool = False) -> OnDevice:
    x = np.arange(float(np.prod(shape))).reshape(shape).astype(dtype)
    return on_device(np.ascontiguousarray(x.T).T if columns else x)


SMALL = random_program(1, instructions=80, outputs=((5,), (3, 4)))
ONE = random_program(2, instructions=80, outputs=((6, 7),))
MANY = random_program(3, instructions=900, outputs=((40, 30),))
CALLS: dict[str, Callable[[], Any]] = {
    **{f"{n} rows": lambda n=n: DeviceKernel(SMALL)(numbers(n, 7), numbers(n, 6)) for n in (1, 63, 64, 65, 5000)},
    **{
        f"{n} columns": lambda n=n: DeviceKernel(SMALL)(numbers(n, 7, columns=True), numbers(n, 6, columns=True))
        for n in (1, 2, 64, 700)
    },
    "single precision": lambda: DeviceKernel(SMALL)(numbers(80, 7, dtype="float32"), numbers(80, 6, dtype="float32")),
    "one state": lambda: DeviceKernel(SMALL)(numbers(7), numbers(6)),
    "one row for all": lambda: DeviceKernel(SMALL)(numbers(80, 7), numbers(6)),
    "batch of batches": lambda: DeviceKernel(ONE)(numbers(5, 20, 7), numbers(20, 6)),
    "batch of columns": lambda: DeviceKernel(ONE)(numbers(9, 7, columns=True), numbers(6)),
    "backwards": lambda: DeviceKernel(ONE)(numbers(80, 7)[:, ::-1], numbers(80, 6)),
    "every other": lambda: DeviceKernel(ONE)(numbers(80, 14)[:, ::2], numbers(160, 6)[::2]),
    "beside NumPy": lambda: DeviceKernel(ONE)(numbers(80, 7), np.ones((80, 6))),
    "many results": lambda: DeviceKernel(MANY)(numbers(9000, 7), numbers(9000, 6)),
    "many results in columns": lambda: DeviceKernel(MANY)(numbers(90, 7, columns=True), numbers(90, 6, columns=True)),
    "many results of few": lambda: DeviceKernel(MANY)(numbers(9, 7), numbers(9, 6)),
    "out": lambda: DeviceKernel(ONE)(numbers(70, 7), numbers(70, 6), out=numbers(70, 6, 7)),
    "out of another shape": lambda: DeviceKernel(ONE)(numbers(70, 7), numbers(70, 6), out=numbers(70, 7, 6)),
    "out of single precision": lambda: DeviceKernel(ONE)(
        numbers(70, 7), numbers(70, 6), out=numbers(70, 6, 7, dtype="float32")
    ),
    "out on the processor": lambda: DeviceKernel(ONE)(numbers(70, 7), numbers(70, 6), out=np.ones((70, 6, 7))),
    "out of two": lambda: DeviceKernel(SMALL)(numbers(70, 7), numbers(70, 6), out=numbers(70, 5)),
    "too few": lambda: DeviceKernel(ONE)(numbers(70, 7)),
    "none on a GPU": lambda: DeviceKernel(ONE)(np.ones(7), np.ones(6)),
    "whole numbers": lambda: DeviceKernel(ONE)(numbers(70, 7, dtype="int64"), numbers(70, 6)),
    "half precision": lambda: DeviceKernel(ONE)(numbers(70, 7, dtype="float16"), numbers(70, 6)),
    "eight numbers": lambda: DeviceKernel(ONE)(numbers(70, 8), numbers(70, 6)),
    "no dimension": lambda: DeviceKernel(ONE)(on_device(1.0), numbers(70, 6)),
    "other batches": lambda: DeviceKernel(ONE)(numbers(70, 7), numbers(71, 6)),
    "too many": lambda: DeviceKernel(ONE)(on_device(np.broadcast_to(1.0, (1 << 28, 7))), numbers(6)),
}  # fmt: skip


def shown(result: Any) -> Any:
    """Shapes and strides of results; sentences as they are."""
    if isinstance(result, np.ndarray):
        return f"{result.dtype} {result.shape} {result.strides}"
    return [shown(x) for x in result] if isinstance(result, tuple) else result


def test_recorded_gpu_calls(launches, monkeypatch):
    monkeypatch.setattr(kernel, "_SCRATCH", 4 << 20)  # bytes: so that the larger batch goes in two parts
    found = {}
    for name, call in CALLS.items():
        launches.clear()
        found[name] = [shown(records.answer(call)), *launches]
    records.check("gpu_calls", found)


def test_code_for_a_device_is_compiled_for_its_architecture(monkeypatch):
    """By NVRTC, once; what it says of an error is in ours."""
    log: list[Any] = []

    class RefusedError(Exception):
        pass

    def compile_program(program: str, options: list[str]) -> None:
        log.append((program, options))
        if "bad" in program:
            raise RefusedError("at line 1")

    nvrtc = SimpleNamespace(
        createProgram=lambda text, name, headers, names: f"{name}: {text}", compileProgram=compile_program,
        getCUBIN=lambda program: b"code", getProgramLog=lambda program: "expected a ';'", NVRTCError=RefusedError,
        destroyProgram=lambda program: log.append("destroyed"), getVersion=lambda: (12, 4),
    )  # fmt: skip
    cuda = SimpleNamespace(nvrtc=nvrtc, Device=Device)
    monkeypatch.setattr(code, "cupy", lambda: SimpleNamespace(cuda=cuda))
    assert code._compiled("good", "sm_90") == b"code"
    assert log == [("equipoise.cu: good", ["--gpu-architecture=sm_90", "--std=c++17"]), "destroyed"]
    with pytest.raises(code.CompileError, match=r"NVRTC refused the CUDA source: at line 1\nexpected a ';'"):
        code._compiled("bad", "sm_90")
    assert log[-1] == "destroyed"
    calls = []
    monkeypatch.setattr(code, "cached", lambda make, *inputs, on: calls.append((make, inputs, on)) or b"")
    code._binary("text")
    assert calls == [(code._compiled, ("text", "sm_90"), (12, 4))]
