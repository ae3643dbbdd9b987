"""Calls a kernel from Python within a tenth of a microsecond, as LLVM IR.

The kernel gets an entry point in CPython's own calling convention. It reads the NumPy arrays directly (their layout
is part of NumPy's stable interface), creates the result array, and runs. If an argument is not a plain contiguous
array of the right length and dtype, or the state fails the checks, it returns None, and the general call takes over.
"""

from __future__ import annotations

import ctypes
import functools
import sys
import sysconfig
from typing import Any

import numpy as np

from .program import Program
from .target import Target

# Offsets of fields in NumPy's PyArrayObject_fields, bytes.
_TYPE, _DATA, _NDIM, _SHAPE, _STRIDES, _DESCR = 8, 16, 24, 32, 40, 56
_PYARRAY_NEW = 93  # index of PyArray_New in NumPy's table of C functions
_METH_FASTCALL = 0x80  # CPython's flag of the calling convention


@functools.cache
def available() -> bool:
    """Returns whether this interpreter lays objects out as the entry point expects, tested on a live array."""
    if (
        sys.implementation.name != "cpython"
        or sysconfig.get_config_var("Py_GIL_DISABLED")
        or hasattr(sys, "getobjects")
    ):
        return False
    probe = np.zeros(7)[1:6:2]

    def word(address: int) -> int:
        return ctypes.c_int64.from_address(address).value

    at = id(probe)
    return (
        ctypes.sizeof(ctypes.c_void_p) == 8
        and word(at + _TYPE) == id(np.ndarray)
        and word(at + _DATA) == probe.ctypes.data
        and ctypes.c_int32.from_address(at + _NDIM).value == 1
        and word(word(at + _SHAPE)) == 3
        and word(word(at + _STRIDES)) == 16
        and word(at + _DESCR) == id(probe.dtype)
    )


def entry_ir(program: Program, target: Target) -> str:
    """Emits `ptr @call(ptr self, ptr arguments, i64 count)`, which calls `@run`."""
    n = len(program.inputs)
    lines = [
        "@context = global [6 x i64] zeroinitializer",  # ndarray, dtype, None, PyArray_New, Py_IncRef, Py_DecRef
        "define ptr @call(ptr %self, ptr %arguments, i64 %count) nounwind {",
        f"  %right_count = icmp eq i64 %count, {n}",
        "  br i1 %right_count, label %argument0, label %decline",
    ]
    for k, argument in enumerate(program.inputs):
        lines += _checked_argument(k, argument.size, target.itemsize, "make0" if k == n - 1 else f"argument{k + 1}")
    type_number = np.dtype(target.dtype).num
    for k, output in enumerate(program.outputs):
        lines += [f"make{k}:", *_new_array(k, output.shape, type_number)]
        following = "run" if k == len(program.outputs) - 1 else f"make{k + 1}"
        lines += [f"  %failed{k} = icmp eq ptr %out{k}, null", f"  br i1 %failed{k}, label %error, label %{following}"]
    lines += _call_of_run(program)
    lines += [
        "  br label %decline",
        "decline:",
        *_context(2, "none"),
        *_context(4, "keep"),
        "  call void %keep(ptr %none)",
        "  ret ptr %none",
        "error:",
        "  ret ptr null",
        "}",
        "declare ptr @PyTuple_New(i64)",
        "declare i32 @PyTuple_SetItem(ptr, i64, ptr)",
    ]
    return "\n".join(lines)


def _call_of_run(program: Program) -> list[str]:
    """Emits the call of `@run` on the data of arguments and results; results are released if the status is not zero."""
    n = len(program.outputs)
    pointers = [f"ptr %data{k}" for k in range(len(program.inputs))] + [f"ptr %result{k}" for k in range(n)]
    lines = ["run:"]
    for k in range(n):
        lines += [
            f"  %place{k} = getelementptr i8, ptr %out{k}, i64 {_DATA}",
            f"  %result{k} = load ptr, ptr %place{k}",
        ]
    lines += [
        f"  %status = call i32 @run({', '.join(pointers)})",
        "  %good = icmp eq i32 %status, 0",
        "  br i1 %good, label %done, label %discard",
        "done:",
        *_returned(n),
        "discard:",
    ]
    for k in range(n):
        lines += [*_context(5, f"drop{k}"), f"  call void %drop{k}(ptr %out{k})"]
    return lines


def _context(place: int, name: str) -> list[str]:
    return [
        f"  %{name}_at = getelementptr i64, ptr @context, i64 {place}",
        f"  %{name} = load ptr, ptr %{name}_at",
    ]


def _field(k: int, name: str, offset: int, kind: str = "ptr") -> list[str]:
    return [
        f"  %{name}{k}_at = getelementptr i8, ptr %argument_{k}, i64 {offset}",
        f"  %{name}{k} = load {kind}, ptr %{name}{k}_at",
    ]


def _checked_argument(k: int, size: int, itemsize: int, following: str) -> list[str]:
    """Emits the test that an argument is exactly an ndarray: right dtype, one axis, right length, contiguous and
    aligned.
    """
    return [
        f"argument{k}:",
        f"  %slot{k} = getelementptr ptr, ptr %arguments, i64 {k}",
        f"  %argument_{k} = load ptr, ptr %slot{k}",
        *_field(k, "type", _TYPE),
        *_context(0, f"ndarray{k}"),
        f"  %is_array{k} = icmp eq ptr %type{k}, %ndarray{k}",
        f"  br i1 %is_array{k}, label %array{k}, label %decline",
        f"array{k}:",
        *_field(k, "descr", _DESCR),
        *_context(1, f"dtype{k}"),
        f"  %right_kind{k} = icmp eq ptr %descr{k}, %dtype{k}",
        *_field(k, "ndim", _NDIM, "i32"),
        f"  %flat{k} = icmp eq i32 %ndim{k}, 1",
        f"  %plain{k} = and i1 %right_kind{k}, %flat{k}",
        f"  br i1 %plain{k}, label %vector{k}, label %decline",
        f"vector{k}:",
        *_field(k, "shape", _SHAPE),
        *_field(k, "strides", _STRIDES),
        f"  %length{k} = load i64, ptr %shape{k}",
        f"  %stride{k} = load i64, ptr %strides{k}",
        *_field(k, "data", _DATA),
        f"  %right_length{k} = icmp eq i64 %length{k}, {size}",
        f"  %contiguous{k} = icmp eq i64 %stride{k}, {itemsize}",
        f"  %address{k} = ptrtoint ptr %data{k} to i64",
        f"  %odd{k} = and i64 %address{k}, {itemsize - 1}",
        f"  %aligned{k} = icmp eq i64 %odd{k}, 0",
        f"  %both{k} = and i1 %right_length{k}, %contiguous{k}",
        f"  %all{k} = and i1 %both{k}, %aligned{k}",
        f"  br i1 %all{k}, label %{following}, label %decline",
    ]


def _new_array(k: int, shape: tuple[int, ...], type_number: int) -> list[str]:
    axes = [f"  %axes{k} = alloca [{max(len(shape), 1)} x i64]"]
    for axis, length in enumerate(shape):
        axes += [
            f"  %axis{k}_{axis} = getelementptr i64, ptr %axes{k}, i64 {axis}",
            f"  store i64 {length}, ptr %axis{k}_{axis}",
        ]
    return [
        *axes,
        *_context(0, f"class{k}"),
        *_context(3, f"new{k}"),
        f"  %out{k} = call ptr %new{k}(ptr %class{k}, i32 {len(shape)}, ptr %axes{k}, i32 {type_number}, "
        "ptr null, ptr null, i32 0, i32 0, ptr null)",
    ]


def _returned(count: int) -> list[str]:
    if count == 1:
        return ["  ret ptr %out0"]
    lines = [f"  %tuple = call ptr @PyTuple_New(i64 {count})"]
    lines += [f"  %set{k} = call i32 @PyTuple_SetItem(ptr %tuple, i64 {k}, ptr %out{k})" for k in range(count)]
    return [*lines, "  ret ptr %tuple"]


class _MethodDef(ctypes.Structure):
    """A function definition in CPython's layout.

    It is also the `self` of the function. So it lives, with the machine code it refers to, until CPython has read it
    for the last time.
    """

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


def bind(code: Any, dtype: str) -> Any:
    """Returns the entry point of loaded code as a Python callable, which keeps the code alive."""
    api = ctypes.pythonapi
    functions = [ctypes.cast(f, ctypes.c_void_p).value or 0 for f in (api.Py_IncRef, api.Py_DecRef)]
    context = (ctypes.c_int64 * 6).from_address(code.address("context"))
    context[:] = [id(np.ndarray), id(np.dtype(dtype)), id(None), _numpy_function(_PYARRAY_NEW), *functions]
    definition = _MethodDef(b"kernel", code.address("call"), _METH_FASTCALL, None)
    definition.code = code
    make = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)(
        ("PyCFunction_NewEx", api)
    )
    return make(ctypes.addressof(definition), definition, None)


@functools.cache
def _numpy_function(place: int) -> int:
    from numpy._core import _multiarray_umath  # type: ignore[attr-defined]

    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    table = get(_multiarray_umath._ARRAY_API, None)
    return ctypes.c_int64.from_address(table + 8 * place).value
