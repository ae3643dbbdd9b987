"""Exports a program as a CUDA file for nvcc, with a launch function and a self-test."""

from __future__ import annotations

from ..program import Program
from ..source import export as c
from .layout import layout_for
from .source import cuda_source


def cuda_prototype(names: c.Names, dtype: str) -> str:
    """Returns the prototype of the function that launches the kernel."""
    T = "double" if dtype == "float64" else "float"
    arguments = [f"const {T} *{name}" for name in names.inputs] + [f"{T} *{name}" for name in names.outputs]
    return f"cudaError_t {names.function}({', '.join(arguments)}, unsigned count, cudaStream_t stream)"


def cuda_file(program: Program, dtype: str, names: c.Names) -> str:
    """Returns the text of the CUDA file. Arrays are on the device, entry i of state s at [i · count + s]."""
    layout = layout_for(program, dtype, (False,) * len(program.inputs), False, _SHARED)
    source = cuda_source(program, dtype, layout, f"{names.function}_kernel")
    return "\n".join([
        c.about(program, names) + "/* On the device, entry i of state s at [i * count + s]. */",
        "#include <cuda_runtime.h>", source.text,
        f'extern "C" {cuda_prototype(names, dtype)} {{', "  if (count == 0) return cudaSuccess;",
        *_launch(program, names, source.threads, source.shared), "  return cudaGetLastError();", "}", "",
        "#ifdef EQUIPOISE_SELF_TEST", "#include <math.h>", "#include <stdio.h>", *c.test_data(program, dtype, names),
        _main(program, dtype, names), "#endif", "",
    ])  # fmt: skip


_SHARED = 96 << 10  # bytes; shared memory that every GPU since 2017 has


def _launch(program: Program, names: c.Names, threads: int, shared: int) -> list[str]:
    places = []
    for name, kind in [*((n, "const char *") for n in names.inputs), *((n, "char *") for n in names.outputs)]:
        places.append(f"({kind}){name}, count * (unsigned)sizeof(real), (long long)sizeof(real)")
    grow = f"cudaFuncSetAttribute({names.function}_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, {shared});"
    return [
        *(
            [f"  const cudaError_t error = {grow}", "  if (error != cudaSuccess) return error;"]
            if shared > 48 << 10
            else []
        ),
        f"  {names.function}_kernel<<<(count + {threads - 1}u) / {threads}u, {threads}, {shared}, stream>>>(",
        f"    {', '.join(places)}, count, 0u);",
    ]


def _main(program: Program, dtype: str, names: c.Names) -> str:
    """Returns a `main` that copies the test states to the device in the fast layout, runs, copies back and compares."""
    n, lines = c.TESTED, ["int main(void) {", "  cudaError_t error = cudaSuccess;"]
    for name, argument in zip(names.inputs, program.inputs, strict=True):
        size = argument.size
        lines += [
            f"  real *{name}, host_{name}[{max(size, 1) * n}];",
            f"  for (int i = 0; i < {size}; ++i) for (int s = 0; s < {n}; ++s) host_{name}[i * {n} + s] = "
            f"test_{name}[s][i];",
            f"  if (!error) error = cudaMalloc((void **)&{name}, sizeof host_{name});",
            f"  if (!error) error = cudaMemcpy({name}, host_{name}, sizeof host_{name}, cudaMemcpyHostToDevice);",
        ]
    for name, output in zip(names.outputs, program.outputs, strict=True):
        lines += [
            f"  real *{name}; static real got_{name}[{max(output.size, 1) * n}];",
            f"  if (!error) error = cudaMalloc((void **)&{name}, sizeof got_{name});",
        ]
    lines.append(f"  if (!error) error = {names.function}({', '.join([*names.inputs, *names.outputs])}, {n}u, 0);")
    for name in names.outputs:
        lines.append(
            f"  if (!error) error = cudaMemcpy(got_{name}, {name}, sizeof got_{name}, cudaMemcpyDeviceToHost);"
        )
    lines.append('  if (error) { printf("CUDA: %s\\n", cudaGetErrorString(error)); return 2; }')
    for name, output in zip(names.outputs, program.outputs, strict=True):
        lines.append(f"  for (int s = 0; s < {n}; ++s) check(got_{name} + s, test_{name}[s], {output.size}, {n});")
    return "\n".join([*lines, c.verdict(names.function, dtype), "}"])
