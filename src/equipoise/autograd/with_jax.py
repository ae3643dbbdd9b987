"""Functions of a robot in JAX's graph: called back from compiled programs, with a rule for tangents that JAX
transposes."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import missing_package
from .functions import ArrayFunction, batch_of

try:
    import jax
    import jax.numpy as jnp
except ImportError:
    raise missing_package("jax", "jax", "eq.autograd.jax") from None


def call(function: ArrayFunction, *arguments: Any) -> jax.Array:
    """The function on JAX arrays, traced or not."""
    arrays = [jnp.asarray(x) for x in arguments]
    dtype = functools.reduce(
        jnp.promote_types, [x.dtype for x in arrays if jnp.issubdtype(x.dtype, jnp.floating)], jnp.float32
    )
    batch = batch_of(function, [x.shape for x in arrays])
    columns = [x[..., None] if name == "dt" else x for name, x in zip(function.arguments, arrays, strict=True)]
    return _differentiable(function)(*(jnp.broadcast_to(x, (*batch, x.shape[-1])).astype(dtype) for x in columns))


@functools.lru_cache(maxsize=256)
def _differentiable(function: ArrayFunction) -> Callable[..., jax.Array]:
    @jax.custom_jvp
    def run(*arrays: jax.Array) -> jax.Array:
        batch = arrays[0].shape[:-1]
        return _called(function.value, [(*batch, *function.shape)], arrays)[0]

    @run.defjvp
    def tangent(primals: tuple[jax.Array, ...], tangents: tuple[jax.Array, ...]) -> tuple[jax.Array, jax.Array]:
        batch = primals[0].shape[:-1]
        shapes = [(*batch, function.length, size) for size in function.sizes]
        jacobians = _called(function.jacobians, shapes, primals)
        change = sum(jnp.einsum("...ij,...j->...i", J, x) for J, x in zip(jacobians, tangents, strict=True))
        return run(*primals), jnp.reshape(change, (*batch, *function.shape))

    return run


def _called(
    function: Callable[..., Any], shapes: list[tuple[int, ...]], arrays: tuple[jax.Array, ...]
) -> list[jax.Array]:
    """Results of a NumPy function inside a traced program. Batches of `vmap` arrive as leading dimensions."""
    dtype = arrays[0].dtype

    def on_arrays(*values: Any) -> list[np.ndarray]:
        results = function(*(np.asarray(x) for x in values))
        return [np.asarray(x, dtype) for x in (results if isinstance(results, list) else [results])]

    structures = [jax.ShapeDtypeStruct(shape, dtype) for shape in shapes]
    return list(jax.pure_callback(on_arrays, structures, *arrays, vmap_method="broadcast_all"))
