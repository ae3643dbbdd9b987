"""A compiled program as a Python callable on arrays: one state or any batch of them."""

from __future__ import annotations

import ctypes
import functools
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import ShapeError, StateError
from . import buffers, cpu, pycall
from .emit import emit
from .gpu.arrays import common_kind
from .gpu.kernel import DeviceKernel
from .program import Program
from .rows import CACHE_LINE
from .target import QUATERNION_TOLERANCE, Target
from .threads import run_in_parts, thread_count

Array = np.ndarray
_FLOAT64 = np.dtype(np.float64)
_SMALL = 150_000  # instructions times states; below, a second thread costs more time than it saves
_STREAM_BYTES = 8 << 20  # larger results are written with non-temporal stores, past the caches


class Kernel:
    """A compiled program; call it with arrays. Leading dimensions are batches; float32 inputs give float32 results.

    NumPy arrays are processed on the CPU; arrays of CuPy, PyTorch or JAX on a GPU are processed there (`on_gpu`).

    Args:
        program: the program to run.
        objects: returns the machine code of a program for a target (compiled, or from the cache).
        strict: reject states that are not finite or whose quaternions do not have unit length.
    """

    program: Program
    strict: bool

    def __init__(self, program: Program, objects: Callable[[Program, Target], bytes], *, strict: bool = True) -> None:
        self.program, self.strict, self._objects = program, strict, objects
        self._code: dict[tuple[str, bool], _Code] = {}
        self._fast: Callable[..., Any] = self._first_call

    def __call__(self, *arrays: Any, out: Array | None = None) -> Any:
        if out is None:
            result = self._fast(*arrays)
            if result is not None:
                return result
        return self._general(arrays, out)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles the kernel as its program: machine code is compiled, or read from the cache, where it is used."""
        return _restored, (self.program.to_bytes(), self.strict)

    def _first_call(self, *arrays: Any) -> None:
        """Compiles the code for single states at the first call with one; batches never need it."""
        if arrays and isinstance(arrays[0], np.ndarray) and arrays[0].ndim == 1:
            self._fast = self.code("float64", batch=False).fast
        return None

    def code(self, dtype: str, *, batch: bool) -> _Code:
        """Returns the machine code for this kind of call; compiles it at the first use."""
        if (dtype, batch) not in self._code:
            target = cpu.target_for(dtype, batch)
            made = _Code(self.program, target, self._objects(self.program, target))
            # never replaced, because another thread may be running the present code
            self._code.setdefault((dtype, batch), made)
        return self._code[dtype, batch]

    def bound(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> Callable[[], int]:
        """Returns a call without arguments for control loops, with fixed input and output arrays (contiguous float64),
        which it keeps alive. The call returns the status: zero if all numbers pass the checks.
        """
        run = self.code("float64", batch=False).run
        return _BoundCall(run, *(x.ctypes.data for x in (*inputs, *outputs))).holding(self, inputs, outputs)

    @functools.cached_property
    def on_gpu(self) -> DeviceKernel:
        """The same program as a kernel for arrays on a GPU."""
        return DeviceKernel(self.program)

    def export(
        self, path: str | Path, *, dtype: str = "float64", function: str | None = None, notes: Sequence[str] = ()
    ) -> Path:
        """Writes the program as one C99 (.c) or CUDA (.cu) file without dependencies, with a header beside it.

        Args:
            function: name of the C function; None uses the program's name.
            notes: lines for the comment at the top.
        """
        from .source.export import export

        return export(self.program, path, dtype=dtype, function=function, notes=notes)

    def _general(self, arrays: tuple[Any, ...], out: Array | None) -> Any:
        """Runs the kernel on arrays of any shape, stride and dtype."""
        prepared = self._plain(arrays)
        if prepared is None:
            if common_kind((*arrays, out)):
                return self.on_gpu(*arrays, out=out)
            prepared = self._prepared(arrays)
        inputs, batch, dtype = prepared
        flat = [_rows(x, batch) for x in inputs]
        results = self._results(batch, dtype, out, flat)
        if batch == ():
            status = self.code(dtype, batch=False).single(flat, results)
        else:
            status = self._batched(flat, results, dtype)
        if status and self.strict:
            self._explain(inputs)
        if out is not None and results[0] is not out:
            out[...] = results[0]
            return out
        return results[0] if len(results) == 1 else tuple(results)

    def _plain(self, arrays: tuple[Any, ...]) -> tuple[list[Array], tuple[int, ...], str] | None:
        """Recognises the usual case quickly: float64 arrays of one batch shape."""
        if len(arrays) != len(self.program.inputs):
            return None
        batch = None
        for argument, x in zip(self.program.inputs, arrays, strict=True):
            if type(x) is not np.ndarray or x.dtype is not _FLOAT64 or x.ndim == 0 or x.shape[-1] != argument.size:
                return None
            batch = x.shape[:-1] if batch is None else batch
            if x.shape[:-1] != batch:
                return None
        return None if batch is None else (list(arrays), batch, "float64")

    def _prepared(self, arrays: tuple[Any, ...]) -> tuple[list[Array], tuple[int, ...], str]:
        program = self.program
        if len(arrays) != len(program.inputs):
            names = ", ".join(argument.name for argument in program.inputs)
            raise ShapeError(f"{program.name} takes {len(program.inputs)} arrays ({names}), got {len(arrays)}")
        converted = [_as_array(program.name, arg.name, x) for arg, x in zip(program.inputs, arrays, strict=True)]
        dtype = "float32" if all(x.dtype == np.float32 for x in converted) else "float64"
        for argument, x in zip(program.inputs, converted, strict=True):
            if x.ndim == 0 and argument.size == 1:
                continue
            if x.ndim == 0 or x.shape[-1] != argument.size:
                raise ShapeError(_wrong_length(program.name, argument.name, argument.size, x.shape))
        converted = [x[None] if x.ndim == 0 else x for x in converted]
        try:
            batch = np.broadcast_shapes(*(x.shape[:-1] for x in converted))
        except ValueError:
            shapes = ", ".join(f"{a.name} {x.shape}" for a, x in zip(program.inputs, converted, strict=True))
            raise ShapeError(f"{program.name}: the leading dimensions do not go together: {shapes}") from None
        return [x.astype(dtype, copy=False) for x in converted], batch, dtype

    def _results(self, batch: tuple[int, ...], dtype: str, out: Array | None, flat: list[Array]) -> list[Array]:
        shapes = [(*batch, *output.shape) for output in self.program.outputs]
        if out is None:
            return [buffers.results.empty(shape, dtype) for shape in shapes]
        if len(shapes) > 1:
            raise ShapeError(f"{self.program.name}: out= is for one result; this kernel has {len(shapes)}")
        if not isinstance(out, np.ndarray) or out.shape != shapes[0] or out.dtype != dtype or not out.flags.writeable:
            raise ShapeError(
                f"{self.program.name}: out must be a writable {dtype} array of shape {shapes[0]}, got {_described(out)}"
            )
        # inputs are read until the end
        direct = out.flags.carray and not any(np.may_share_memory(out, x) for x in flat)
        return [out if direct else np.empty(shapes[0], dtype)]

    def _batched(self, flat: list[Array], results: list[Array], dtype: str) -> int:
        n = len(flat[0])
        if n == 0:
            return 0
        code = self.code(dtype, batch=True)
        width = code.target.width
        if n < width:  # pad one block with copies of the first state
            padded = [np.concatenate([x, np.repeat(x[:1], width - n, axis=0)]) for x in flat]
            wide = [np.empty((width, *output.shape), dtype) for output in self.program.outputs]
            status = code.blocks([(x.ctypes.data, 0) for x in (*padded, *wide)], 0, 1, stream=False)
            for result, values in zip(results, wide, strict=True):
                result.reshape(n, *values.shape[1:])[:] = values[:n]
            return status
        rows = [result.reshape(n, -1) for result in results]
        places = [(x.ctypes.data, x.strides[0]) for x in (*flat, *rows)]
        stream = sum(result.nbytes for result in results) > _STREAM_BYTES and (
            code.target.streams_anywhere or not any(address % CACHE_LINE for address, _ in places[len(flat) :])
        )

        def work(first: int, last: int) -> int:
            return code.blocks(places, first * width, last - first, stream=stream)

        whole = n // width
        small = _SMALL // (width * max(len(self.program), 1))  # blocks
        status = run_in_parts(work, whole, -(-small // 4)) if whole > small and thread_count() > 1 else work(0, whole)
        if n % width:  # the last block overlaps the previous one and computes some states again
            status |= code.blocks(places, n - width, 1, stream=False)
        return status

    def _explain(self, inputs: list[Array]) -> None:
        """Raises an error that names the invalid number and its state."""
        for argument, x in zip(self.program.inputs, inputs, strict=True):
            bad = np.argwhere(~np.isfinite(x))
            if len(bad):
                place = ", ".join(map(str, bad[0]))
                raise StateError(
                    f"{self.program.name}: {argument.name}[{place}] is {x[tuple(bad[0])]}; every number must be finite"
                    + (f" ({len(bad)} are not)" if len(bad) > 1 else "")
                )
        for which, start in self.program.quaternions:
            name, x = self.program.inputs[which].name, inputs[which]
            with np.errstate(over="ignore"):
                squared = np.sum(np.square(x[..., start : start + 4], dtype=np.float64), axis=-1)
            bad = np.argwhere(np.abs(squared - 1) > 0.9 * QUATERNION_TOLERANCE)
            if len(bad):
                place = "".join(f"{i}, " for i in bad[0])
                raise StateError(
                    f"{self.program.name}: the quaternion {name}[{place}{start}:{start + 4}] has length "
                    f"{np.sqrt(squared[tuple(bad[0])]):.9g} instead of 1. Quaternions are (w, x, y, z); "
                    "normalise them, and check the order if they come from another library (eq.convert)."
                )


def _restored(program: bytes, strict: bool) -> Kernel:
    from .store import kernel_of

    return kernel_of(Program.from_bytes(program), strict=strict)


class _BoundCall(functools.partial):
    """A call with fixed addresses that owns the arrays behind them."""

    def holding(self, kernel: Kernel, *arrays: Sequence[Array]) -> _BoundCall:
        self.kernel, self.arrays = kernel, arrays
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles the call as its kernel and arrays, because addresses change."""
        return Kernel.bound, (self.kernel, *self.arrays)


class _Code:
    """Loaded machine code of one program for one target."""

    program: Program
    target: Target
    run: Any

    def __init__(self, program: Program, target: Target, object_code: bytes) -> None:
        self.program, self.target = program, target
        self._loaded = cpu.LoadedCode(object_code)
        pointers = [ctypes.c_void_p] * (len(program.inputs) + len(program.outputs))
        if target.width == 1:
            self.run = self._loaded.function("run", *pointers, release_lock=False)
        else:
            extra = (ctypes.c_int64, ctypes.c_void_p, ctypes.c_int32)
            self.run = self._loaded.function("run", *pointers, *extra, release_lock=True)
            self._scratch: list[Array] = []
            self._scratch_size = ctypes.c_int64.from_address(self._loaded.address("scratch_size")).value

    @functools.cached_property
    def fast(self) -> Callable[..., Any]:
        """The entry point in CPython's calling convention; it returns None for arguments that it does not accept."""
        if not pycall.available():
            return lambda *arrays: None
        return pycall.bind(self._loaded, self.target.dtype)

    def single(self, inputs: list[Array], outputs: list[Array]) -> int:
        return self.run(*(x.ctypes.data for x in inputs), *(y.ctypes.data for y in outputs))

    def blocks(self, places: list[tuple[int, int]], start: int, count: int, *, stream: bool) -> int:
        """Runs `count` blocks of states from state `start` on; `places` holds address and row size of inputs and
        outputs.
        """
        try:
            scratch = self._scratch.pop()  # list operations are atomic, so each thread gets scratch memory of its own
        except IndexError:
            scratch = _aligned(self._scratch_size, self.target.dtype)
        pointers = [address + start * row for address, row in places]
        status = self.run(*pointers, count, scratch.ctypes.data, int(stream))
        self._scratch.append(scratch)
        return status


def object_code(program: Program, target: Target) -> bytes:
    """Compiles a program for a target of this machine."""
    text = emit(program, target)
    if target.width == 1:
        text = text + "\n" + pycall.entry_ir(program, target)
    return cpu.compile_ir(text)


def _as_array(function: str, name: str, x: Any) -> Array:
    try:
        array = np.asarray(x)
        if array.dtype not in (np.float32, np.float64):
            array = array.astype(np.float64, casting="same_kind" if array.dtype.kind in "fiub" else "safe")
    except (TypeError, ValueError) as error:
        raise ShapeError(f"{function}: {name} is not an array of real numbers ({error})") from None
    return array


def _described(out: Any) -> str:
    if not isinstance(out, np.ndarray):
        return type(out).__name__
    return f"a {'' if out.flags.writeable else 'read-only '}{out.dtype} array of shape {out.shape}"


def _rows(x: Array, batch: tuple[int, ...]) -> Array:
    """Returns the array with one contiguous row for each state; without a copy if it has this form already."""
    if x.shape[:-1] != batch:
        x = np.broadcast_to(x, (*batch, x.shape[-1]))
    return np.ascontiguousarray(x.reshape(math.prod(batch), x.shape[-1]))


def _wrong_length(function: str, name: str, size: int, shape: tuple[int, ...]) -> str:
    text = f"{function}: {name} must have shape (…, {size}), got {shape}"
    if shape and name in ("tau", "a", "v") and shape[-1] == size - 6:
        text += f". {name} has the six numbers of the base first: put six zeros before the joints' for a free base"
    return text


def _aligned(size: int, dtype: str) -> Array:
    """Returns zeros that start on a cache line."""
    itemsize = np.dtype(dtype).itemsize
    raw = np.zeros(size + 64 // itemsize, dtype)
    skip = (-raw.ctypes.data % 64) // itemsize
    return raw[skip : skip + size]
