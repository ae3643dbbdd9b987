"""Runs a program on GPU arrays. It needs CuPy and a GPU, but neither CasADi nor LLVM."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...errors import ShapeError
from ..program import Argument, Program
from ..target import compact_slots
from . import arrays as device_arrays
from .arrays import cupy
from .code import DeviceFunction, Usage
from .layout import MemoryLayout, layout_for
from .source import ENTRIES, STATES, cuda_source, gather_source, turn_source

_FEW = 64  # states; for fewer, rows are read where they are
_SCRATCH = 256 << 20  # bytes of temporary memory for large results before they are spread over rows
_MOST = 1 << 28  # states per launch


class DeviceKernel:
    """A program on the GPU; call it with arrays of CuPy, PyTorch or JAX. Leading dimensions are batches; float32 inputs
    give float32 results.

    In the fast layout, neighbouring states are neighbours in memory: `x.T` of an array of shape (n, B). Results have
    the layout of the arguments. States are not checked, because the caller would have to wait: NaN propagates.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self._functions: dict[Any, DeviceFunction] = {}
        self._layouts: dict[Any, MemoryLayout] = {}
        self._tables: dict[Any, Any] = {}
        self._slots = len(compact_slots(program)[0])

    def __call__(self, *arrays: Any, out: Any = None) -> Any:
        library = device_arrays.common_kind((*arrays, out)) or "cupy"
        if len(arrays) != len(self.program.inputs):
            names = ", ".join(argument.name for argument in self.program.inputs)
            raise ShapeError(
                f"{self.program.name} takes {len(self.program.inputs)} arrays ({names}), got {len(arrays)}"
            )
        home = next((x for x in arrays if device_arrays.kind(x)), None)
        if home is None:
            cupy()
            raise ShapeError(f"{self.program.name}: none of the arguments is an array on a GPU")
        with device_arrays.beside(home, library):
            inputs, batch, dtype = self._prepared(arrays, library)
            into = None if out is None else self._target(out, library, batch, dtype)
            results = self._run(inputs, batch, dtype)
            if into is not None:
                into[...] = results[0]
                return out
            exported = [device_arrays.exported(result, library) for result in results]
        return exported[0] if len(exported) == 1 else tuple(exported)

    def usage(self, dtype: str, *, rows: bool) -> Usage:
        """Returns registers, local and shared memory and resident warps, for arguments that are rows or in the fast
        layout.
        """
        layout = self._layout(dtype, (rows,) * len(self.program.inputs), rows)
        return self._function(dtype, layout).usage

    # --- arguments ----------------------------------------------------------------------------------------------

    def _prepared(self, arrays: tuple[Any, ...], library: str) -> tuple[list[Any], tuple[int, ...], str]:
        """Returns the arguments as CuPy arrays of shape (…, n); NumPy arrays and numbers are copied to the device."""
        cp, program = cupy(), self.program
        named = list(zip(program.inputs, arrays, strict=True))
        there = [device_arrays.imported(x, library, a.name) if device_arrays.kind(x) else None for a, x in named]
        kinds = {x.dtype for x in there if x is not None}
        if any(dtype.kind != "f" or dtype.itemsize < 4 for dtype in kinds):
            raise ShapeError(
                f"{program.name}: arrays must be float32 or float64, got {', '.join(map(str, sorted(kinds, key=str)))}"
            )
        dtype = "float32" if kinds == {np.dtype(np.float32)} else "float64"
        inputs = [cp.asarray(x if y is None else y, dtype=dtype) for x, y in zip(arrays, there, strict=True)]
        inputs = [x[None] if x.ndim == 0 and a.size == 1 else x for a, x in zip(program.inputs, inputs, strict=True)]
        for argument, x in zip(program.inputs, inputs, strict=True):
            if x.ndim == 0 or x.shape[-1] != argument.size:
                raise ShapeError(f"{program.name}: {argument.name} must have shape (…, {argument.size}), got {x.shape}")
        try:
            batch = np.broadcast_shapes(*(x.shape[:-1] for x in inputs))
        except ValueError:
            shapes = ", ".join(f"{a.name} {x.shape}" for a, x in zip(program.inputs, inputs, strict=True))
            raise ShapeError(f"{program.name}: the leading dimensions do not go together: {shapes}") from None
        return inputs, batch, dtype

    def _target(self, out: Any, library: str, batch: tuple[int, ...], dtype: str) -> Any:
        if len(self.program.outputs) > 1:
            raise ShapeError(
                f"{self.program.name}: out= is for one result; this kernel has {len(self.program.outputs)}"
            )
        if library == "jax" or device_arrays.kind(out) is None:
            raise ShapeError(
                f"{self.program.name}: out must be an array of CuPy or PyTorch on the GPU (JAX's never change)"
            )
        into, shape = device_arrays.imported(out, library, "out"), (*batch, *self.program.outputs[0].shape)
        if into.shape != shape or into.dtype != dtype:
            raise ShapeError(
                f"{self.program.name}: out must be {dtype} of shape {shape}, got {into.dtype} of shape {into.shape}"
            )
        return into

    # --- running ------------------------------------------------------------------------------------------------

    def _run(self, inputs: list[Any], batch: tuple[int, ...], dtype: str) -> list[Any]:
        cp, count, itemsize = cupy(), math.prod(batch), np.dtype(dtype).itemsize
        if count >= _MOST:
            raise ShapeError(f"{self.program.name}: {count:,} states in one call are too many; split the batch")
        flat = [_flat(x, batch, argument, cp) for x, argument in zip(inputs, self.program.inputs, strict=True)]
        varying = [x for x in flat if x.strides[0] and x.shape[1] > 1]
        columns = count > 1 and bool(varying) and all(x.strides[0] == itemsize for x in varying)
        rows = tuple(count >= _FEW and x.shape[1] > 1 and x.strides[0] > itemsize == x.strides[1] for x in flat)
        layout = self._layout(dtype, rows, not columns and count >= _FEW)
        results = [_empty(count, output.size, dtype, columns, cp) for output in self.program.outputs]
        if count and layout.results == "compact":
            self._by_way_of_scratch(flat, results, dtype, layout)
        elif count:
            self._launch(dtype, layout, flat, results)
        return [
            _shaped(result, batch, output.shape) for result, output in zip(results, self.program.outputs, strict=True)
        ]

    def _launch(self, dtype: str, layout: MemoryLayout, flat: Sequence[Any], results: Sequence[Any]) -> None:
        """Launches the kernel; `flat` and `results` have shape (count, size) and any strides."""
        count = len(flat[0])
        arguments: list[Any] = []
        for x in (*flat, *results):
            arguments += [x.data.ptr, np.uint32(x.strides[1] if x.shape[1] > 1 else 0), np.int64(x.strides[0])]
        self._function(dtype, layout)(-(-count // layout.threads), *arguments, np.uint32(count), np.uint32(0))

    def _by_way_of_scratch(self, flat: list[Any], results: list[Any], dtype: str, layout: MemoryLayout) -> None:
        """Runs the batch part by part: stores every distinct value once in the fast layout, then spreads it over the
        rows.
        """
        cp, count = cupy(), len(flat[0])
        slots = max(self._slots, 1)
        part = max(_SCRATCH // (slots * np.dtype(dtype).itemsize) // 4096 * 4096, 4096)
        gather = self._helper(dtype, "gather", gather_source)
        for start in range(0, count, part):
            some = [
                self._turned(x[start : start + part], dtype) if layout.turned else x[start : start + part] for x in flat
            ]
            n = len(some[0])
            scratch = cp.empty((slots, n), dtype)
            self._launch(dtype, layout, some, [scratch.T])
            for k, result in enumerate(results):
                if result.shape[1]:
                    chunks = -(-result.shape[1] // ENTRIES)
                    sizes = map(np.uint32, (result.shape[1], chunks, n))
                    target = result[start : start + part].data.ptr
                    gather(chunks * -(-n // STATES), scratch.data.ptr, self._table(k).data.ptr, target, *sizes)

    # --- code ---------------------------------------------------------------------------------------------------

    def _layout(self, dtype: str, rows: tuple[bool, ...], result_rows: bool) -> MemoryLayout:
        device = cupy().cuda.Device()
        name = (device.id, dtype, rows, result_rows)
        if name not in self._layouts:
            # CUDA reserves 1 kB of each block's shared memory
            shared = device.attributes["MaxSharedMemoryPerMultiprocessor"] - (2 << 10)
            self._layouts[name] = layout_for(self.program, dtype, rows, result_rows, shared)
        return self._layouts[name]

    def _function(self, dtype: str, layout: MemoryLayout) -> DeviceFunction:
        name = (cupy().cuda.Device().id, dtype, layout)
        if name not in self._functions:
            source = cuda_source(self.program, dtype, layout)
            self._functions[name] = DeviceFunction(source.text, "run", source.threads, source.shared)
        return self._functions[name]

    def _helper(self, dtype: str, name: str, source: Callable[[str], str]) -> DeviceFunction:
        key = (cupy().cuda.Device().id, dtype, name)
        if key not in self._functions:
            self._functions[key] = DeviceFunction(source(dtype), name, 256)
        return self._functions[key]

    def _turned(self, x: Any, dtype: str) -> Any:
        """Returns rows converted to the fast layout; other arrays unchanged."""
        count, size = x.shape
        if x.strides[1] != x.itemsize or x.strides[0] <= x.itemsize or size < 2:
            return x
        result, chunks = cupy().empty((size, count), dtype), -(-size // 32)
        turn = self._helper(dtype, "turn", turn_source)
        sizes = map(np.uint32, (size, chunks, count))
        turn(chunks * -(-count // 32), x.data.ptr, np.int64(x.strides[0]), result.data.ptr, *sizes)
        return result.T

    def _table(self, k: int) -> Any:
        name = (cupy().cuda.Device().id, k)
        if name not in self._tables:
            self._tables[name] = cupy().asarray(compact_slots(self.program)[1][k], dtype=np.int32)
        return self._tables[name]


def _flat(x: Any, batch: tuple[int, ...], argument: Argument, cp: Any) -> Any:
    """Returns the array in shape (count, n). A single row for all states stays one row, with stride zero."""
    count = math.prod(batch)
    if not 0 <= x.strides[-1] < 1 << 32:  # negative strides, or strides beyond 32 bits
        x = cp.ascontiguousarray(x)
    if x.ndim == 1:
        return cp.broadcast_to(x, (count, argument.size))
    if x.shape[:-1] != batch:
        x = cp.broadcast_to(x, (*batch, argument.size))
    return x if x.ndim == 2 else x.reshape(count, argument.size)


def _empty(count: int, size: int, dtype: str, columns: bool, cp: Any) -> Any:
    return cp.empty((size, count), dtype).T if columns else cp.empty((count, size), dtype)


def _shaped(result: Any, batch: tuple[int, ...], shape: tuple[int, ...]) -> Any:
    """Reshapes (count, size) to (…, *shape) without a copy: the axes of states and of entries are split separately."""
    if result.flags.c_contiguous:
        return result.reshape(*batch, *shape)
    split = result.T.reshape(*shape, *batch)
    n = len(shape)
    return split.transpose(*range(n, split.ndim), *range(n))
