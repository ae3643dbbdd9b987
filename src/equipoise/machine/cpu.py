"""Compiles LLVM IR to an object file, and loads object files."""

from __future__ import annotations

import ctypes
import functools
import os
import platform
from typing import Any

from ..errors import CompileError
from .target import Target

# Names that $EQUIPOISE_CPU accepts instead of the host's own processor: LLVM's name, and the bytes of a vector
# register.
NAMED = {"sse": ("x86-64-v2", 16), "avx2": ("x86-64-v3", 32), "avx512": ("x86-64-v4", 64)}


@functools.cache
def _llvm() -> Any:
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm


@functools.cache
def _named() -> tuple[str, int] | None:
    """Returns the processor that $EQUIPOISE_CPU selects, or None for the host's own."""
    name = os.environ.get("EQUIPOISE_CPU", "")
    if name and name not in NAMED:
        raise CompileError(f"EQUIPOISE_CPU={name!r} is unknown; choose from {', '.join(NAMED)}")
    return NAMED[name] if name else None


@functools.cache
def host() -> tuple[str, str, str]:
    """Returns (triple, processor, features) that code is compiled for: this machine's, or those of $EQUIPOISE_CPU."""
    llvm, named = _llvm(), _named()
    if named is not None:
        return llvm.get_process_triple(), named[0], ""
    return llvm.get_process_triple(), llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()


@functools.cache
def vector_bytes() -> int:
    """Returns the width of a vector register in bytes."""
    if (named := _named()) is not None:
        return named[1]
    features = f",{host()[2]},"
    if ",+avx512f," in features and ",+avx512dq," in features:
        return 64
    return 32 if ",+avx2," in features else 16


def target_for(dtype: str, batch: bool) -> Target:
    """Returns the target for code on this machine."""
    register = vector_bytes()
    width = register // (8 if dtype == "float64" else 4) if batch else 1
    registers = 28 if register == 64 else 13  # of 32 and 16; a few are reserved for intermediate results
    return Target(dtype, width, register // 8, streams_anywhere=register == 64, registers=registers)


def fingerprint() -> str:
    """Returns a text that identifies everything outside a program that its machine code depends on."""
    import llvmlite

    return "|".join([*host(), llvmlite.__version__, ".".join(map(str, _llvm().llvm_version_info)), platform.machine()])


@functools.cache
def _target_machine() -> Any:
    llvm = _llvm()
    triple, cpu, features = host()
    return llvm.Target.from_triple(triple).create_target_machine(
        cpu=cpu, features=features, opt=2, reloc="pic", codemodel="jitdefault", jit=True
    )


def compile_ir(text: str) -> bytes:
    """Compiles IR to an object file. The program is already optimised: no passes run over the IR, only code
    generation.
    """
    llvm = _llvm()
    triple = host()[0]
    module = llvm.parse_assembly(f'target triple = "{triple}"\n' + text)
    module.data_layout = str(_target_machine().target_data)
    return _target_machine().emit_object(module)


class LoadedCode:
    """An object file in executable memory; the code lives as long as this object."""

    def __init__(self, object_code: bytes) -> None:
        llvm = _llvm()
        self._engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _new_target_machine())
        self._engine.add_object_file(llvm.object_file.ObjectFileRef.from_data(object_code))
        self._engine.finalize_object()

    def address(self, name: str) -> int:
        """Returns the address of a function or global of the object."""
        found = self._engine.get_function_address(name) or self._engine.get_global_value_address(name)
        if not found:
            raise CompileError(f"the compiled object has no symbol {name!r}")
        return found

    def function(self, name: str, *argument_types: Any, release_lock: bool) -> Any:
        """Returns a function of the object as a Python callable that returns an int and keeps the code alive."""
        make = ctypes.CFUNCTYPE if release_lock else ctypes.PYFUNCTYPE
        function = make(ctypes.c_int32, *argument_types)(self.address(name))
        function.code = self  # type: ignore[attr-defined]
        return function


def _new_target_machine() -> Any:
    """Returns a new target machine; each engine needs its own, because it takes ownership."""
    llvm = _llvm()
    triple, cpu, features = host()
    return llvm.Target.from_triple(triple).create_target_machine(cpu=cpu, features=features, opt=2, jit=True)
