"""Functions of a robot in PyTorch's graph."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import ShapeError, missing_package
from .functions import ArrayFunction, batch_of

try:
    import torch
    from torch.autograd.function import once_differentiable
except ImportError:
    raise missing_package("torch", "torch", "eq.autograd.torch") from None


def call(function: ArrayFunction, *arguments: Any) -> torch.Tensor:
    """The function on tensors; numbers and arrays among them are constants."""
    like = next((x for x in arguments if isinstance(x, torch.Tensor)), None)
    dtype, device = (torch.float64, None) if like is None else (like.dtype, like.device)
    tensors = [x if isinstance(x, torch.Tensor) else torch.as_tensor(x, dtype=dtype, device=device) for x in arguments]
    if not all(x.is_floating_point() for x in tensors):
        kinds = ", ".join(f"{name} {x.dtype}" for name, x in zip(function.arguments, tensors, strict=True))
        raise ShapeError(f"{function.name}: tensors must be of floating point numbers, got {kinds}")
    batch = batch_of(function, [tuple(x.shape) for x in tensors])
    columns = [x[..., None] if name == "dt" else x for name, x in zip(function.arguments, tensors, strict=True)]
    # expand sums gradients over the batch
    return _Call.apply(function, *(x.expand(*batch, x.shape[-1]) for x in columns))


class _Call(torch.autograd.Function):
    """Forward by the compiled function, backward by its compiled Jacobians."""

    @staticmethod
    def forward(ctx: Any, function: ArrayFunction, *tensors: torch.Tensor) -> torch.Tensor:
        ctx.function = function
        ctx.save_for_backward(*tensors)
        return _tensor(function.value(*map(_array, tensors)), tensors[0])

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[Any, ...]:
        function, tensors = ctx.function, ctx.saved_tensors
        row = _array(gradient).reshape(*tensors[0].shape[:-1], 1, function.length)
        jacobians = function.jacobians(*map(_array, tensors))
        return None, *(_tensor((row @ J)[..., 0, :], x) for J, x in zip(jacobians, tensors, strict=True))


def _array(x: torch.Tensor) -> np.ndarray:
    return np.ascontiguousarray(x.detach().cpu().numpy())


def _tensor(array: Any, like: torch.Tensor) -> torch.Tensor:
    return torch.as_tensor(np.asarray(array), dtype=like.dtype, device=like.device)
