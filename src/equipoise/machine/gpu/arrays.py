"""Recognises arrays of other GPU libraries and converts them without a copy (DLPack)."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from typing import Any

import numpy as np

from ...errors import ShapeError, missing_package

_CUDA = 2  # DLPack's device number of CUDA
_FOREIGN = frozenset(("cupy", "torch", "jax", "jaxlib"))


def kind(x: Any) -> str | None:
    """Returns "cupy", "torch" or "jax" for an array on a GPU, None for everything else."""
    library = type(x).__module__.partition(".")[0]
    if library not in _FOREIGN or not hasattr(x, "__dlpack_device__"):
        return None
    if library == "torch" and not x.is_cuda:
        return None
    try:
        device = x.__dlpack_device__()[0]
    except Exception:  # JAX's tracers have the method but raise when it is called; they are not arrays
        return None
    return {"jaxlib": "jax"}.get(library, library) if device == _CUDA else None


def common_kind(arrays: tuple[Any, ...]) -> str | None:
    """Returns the kind of the arrays that are on a GPU, or None if none is."""
    kinds = {found for x in arrays if type(x) is not np.ndarray and (found := kind(x)) is not None}
    if len(kinds) > 1:
        raise ShapeError(
            f"arrays of {' and '.join(sorted(kinds))} in one call: convert them to one library first (DLPack)"
        )
    return kinds.pop() if kinds else None


@functools.cache
def cupy() -> Any:
    """Returns the module CuPy; raises an error if it is missing."""
    try:
        import cupy as cp
    except ImportError as error:
        raise missing_package("cupy", "cuda", "running on a GPU") from error
    return cp


@contextlib.contextmanager
def beside(x: Any, library: str) -> Iterator[None]:
    """Runs the block on the device of x and on the current stream of its library."""
    cp = cupy()
    with cp.cuda.Device(x.__dlpack_device__()[1]):
        # the block runs on CuPy's own stream; JAX does not expose its streams and synchronises by events
        if library != "torch":
            yield
            return
        import torch

        stream = torch.cuda.current_stream(x.device)
        if hasattr(stream, "__cuda_stream__") and hasattr(cp.cuda.Stream, "from_external"):
            theirs = cp.cuda.Stream.from_external(stream)
        else:
            theirs = cp.cuda.ExternalStream(stream.cuda_stream)
        with theirs:
            yield


def imported(x: Any, library: str, name: str) -> Any:
    """Returns the array as a CuPy array in the same memory."""
    if library == "cupy":
        return x
    if library == "torch" and x.requires_grad:
        raise ShapeError(f"{name} requires gradients, which kernels do not pass on; call with {name}.detach()")
    return cupy().from_dlpack(x)


def exported(x: Any, library: str) -> Any:
    """Returns a CuPy array as the caller's kind of array, in the same memory."""
    if library == "cupy":
        return x
    if library == "torch":
        import torch

        return torch.from_dlpack(x)
    import jax

    return jax.dlpack.from_dlpack(x)
