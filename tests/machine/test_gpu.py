"""CUDA text on the processor: a few macros make it C, threads become threads, and it gives what the program gives."""

from __future__ import annotations

import ctypes
import functools
import importlib.util
import itertools
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from support import load, random_states
from synthetic import random_program

from equipoise.errors import MissingPackageError, ShapeError
from equipoise.machine.gpu import code, kernel
from equipoise.machine.gpu.arrays import common_kind, kind
from equipoise.machine.gpu.kernel import DeviceKernel
from equipoise.machine.gpu.layout import SHARED_BYTES, MemoryLayout, layout_for, stage_numbers
from equipoise.machine.gpu.source import ENTRIES, STATES, Source, cuda_source, gather_source, turn_source
from equipoise.machine.order import most_alive
from equipoise.machine.program import Program
from equipoise.machine.source.body import SourceBody
from equipoise.machine.source.functions import FAR, helpers
from equipoise.machine.target import compact_slots

needs_compiler = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler on this machine")
SHIM = """
#include <math.h>
#include <pthread.h>
#define __device__
#define __global__
#define __shared__
#define __forceinline__ static inline
#define __launch_bounds__(...)
#define __ldg(place) (*(place))
#define __stcs(place, value) (*(place) = (value))
#define __CUDA_ARCH__ 0
static __thread struct { unsigned x; } threadIdx, blockIdx;
static pthread_barrier_t barrier;
static void __syncthreads(void) { pthread_barrier_wait(&barrier); }
"""
DRIVER = """
struct job { unsigned lane, block; FIELDS; };
static void *thread(void *p) {
  struct job *j = p;
  threadIdx.x = j->lane; blockIdx.x = j->block;
  NAME(OF_JOB);
  return 0;
}
void drive(unsigned blocks, PARAMETERS) {
  pthread_barrier_init(&barrier, 0, THREADS);
  for (unsigned b = 0; b < blocks; ++b) {
    pthread_t t[THREADS]; struct job j[THREADS];
    for (unsigned k = 0; k < THREADS; ++k) j[k] = (struct job){k, b, ARGUMENTS};
    for (unsigned k = 0; k < THREADS; ++k) pthread_create(t + k, 0, thread, j + k);
    for (unsigned k = 0; k < THREADS; ++k) pthread_join(t[k], 0);
  }
  pthread_barrier_destroy(&barrier);
}
"""


def shared_object(text: str, path: Path) -> ctypes.CDLL:
    source = path.with_suffix(".c")
    source.write_text(text.replace('extern "C" ', ""))
    options = ["-std=gnu99", "-O1", "-w", "-shared", "-fPIC", "-pthread"]
    done = subprocess.run(["cc", *options, "-o", path, source, "-lm"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return ctypes.CDLL(str(path))


class ProcessorFunction:
    """A `DeviceFunction` whose threads are threads of the processor."""

    def __init__(self, folder: Path, source: str, name: str, threads: int, shared: int = 0) -> None:
        parameters = re.search(rf"\b{name}\((.*?)\) {{", source, re.S)[1].split(", ")
        names = [re.search(r"\w+$", parameter)[0] for parameter in parameters]
        text = source.replace("extern __shared__ real stage[];", "real *stage = (real *)room;")
        text = text.replace("  __shared__ real tile", "  static real tile")
        words = {
            "FIELDS": "; ".join(parameters), "PARAMETERS": ", ".join(parameters), "ARGUMENTS": ", ".join(names),
            "OF_JOB": ", ".join(f"j->{x}" for x in names), "NAME": name, "THREADS": f"{threads}u",
        }  # fmt: skip
        room = f"static char room[{shared}] __attribute__((aligned(64)));\n" if shared else ""
        driver = re.sub("|".join(words), lambda found: words[found[0]], DRIVER)
        path = folder / f"{name}{len(list(folder.iterdir()))}.so"
        self._drive = shared_object(SHIM + room + text + driver, path).drive
        kinds = {"*": ctypes.c_void_p, "long long": ctypes.c_longlong, "unsigned": ctypes.c_uint}
        self._drive.argtypes = [
            ctypes.c_uint,
            *(next(kind for word, kind in kinds.items() if word in parameter) for parameter in parameters),
        ]

    def __call__(self, blocks: int, *arguments) -> None:
        self._drive(blocks, *map(int, arguments))


def run_on_processor(source: Source, arrays: list[np.ndarray], folder: Path) -> None:
    """Launch with threads for threads; arrays of shape (count, size) with any strides, the last ones are written."""
    places = itertools.chain.from_iterable((x.ctypes.data, x.strides[1], x.strides[0]) for x in arrays)
    count = len(arrays[0])
    function = ProcessorFunction(folder, source.text, "run", source.threads, source.shared)
    function(-(-count // source.threads), *places, count, 0)


def columns(x: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(x.T).T


def result_of(
    program: Program, dtype: str, layout: MemoryLayout, inputs: list[np.ndarray], folder: Path
) -> list[np.ndarray]:
    """What the kernel gives; results poisoned beforehand."""
    rows = layout.results in ("staged", "spread")
    inputs = [
        np.ascontiguousarray(x, dtype) if s else columns(x.astype(dtype))
        for x, s in zip(inputs, layout.staged, strict=True)
    ]
    sizes = (
        [len(compact_slots(program)[0])] if layout.results == "compact" else [output.size for output in program.outputs]
    )
    results = [np.full((len(inputs[0]), size), 7e7, dtype) for size in sizes]
    results = results if rows else [columns(y) for y in results]
    run_on_processor(cuda_source(program, dtype, layout), [*inputs, *results], folder)
    return results


LAYOUTS = {
    "fast": MemoryLayout((False, False), "strided", 64),
    "rows": MemoryLayout((True, True), "staged", 32, blocks=3),
    "one row, one not": MemoryLayout((True, False), "staged", 32),
    "spread": MemoryLayout((True, True), "spread", 32),
    "waiting": MemoryLayout((False, False), "strided", 32, cut=20, registers=6, waiting=1000),
    "waiting, too many": MemoryLayout((True, True), "staged", 32, cut=20, registers=6, waiting=3, streaming=True),
}


@needs_compiler
@pytest.mark.parametrize("which", LAYOUTS)
def test_every_layout_is_the_program(tmp_path, rng, which):
    program = random_program(1, outputs=((5,), (3, 4)))
    x, y = rng.normal(size=(75, 7)), rng.normal(size=(75, 6))  # the last block is not full
    x[3, 2] = np.nan
    for got, wanted in zip(
        result_of(program, "float64", LAYOUTS[which], [x, y], tmp_path), program.evaluate(x, y), strict=True
    ):
        wanted = wanted.reshape(got.shape)
        assert np.isnan(wanted[3]).any() and np.isfinite(np.delete(wanted, 3, axis=0)).all()
        assert_allclose(got, wanted, rtol=1e-11, atol=1e-11, equal_nan=True)


@needs_compiler
def test_compact_results_are_gathered(tmp_path, rng):
    program = random_program(2, outputs=((150,),))
    x, y = rng.normal(size=(40, 7)), rng.normal(size=(40, 6))
    values = result_of(program, "float64", MemoryLayout((False, False), "compact", 32), [x, y], tmp_path)[0]
    table = np.ascontiguousarray(compact_slots(program)[1][0], dtype=np.int32)
    out = np.full((40, 150), 7e7)
    gather = ProcessorFunction(tmp_path, gather_source("float64"), "gather", 256)
    gather(-(-150 // ENTRIES) * -(-40 // STATES), *(a.ctypes.data for a in (values, table, out)), 150, 2, 40)
    assert_allclose(out, program.evaluate(x, y), rtol=1e-11, atol=1e-11)


@needs_compiler
def test_rows_are_turned(tmp_path, rng):
    wide = rng.normal(size=(45, 50)).astype(np.float32)
    rows, out = wide[:, 3:40], np.full((37, 45), 7e7, np.float32)
    ProcessorFunction(tmp_path, turn_source("float32"), "turn", 256)(
        4, rows.ctypes.data, 200, out.ctypes.data, 37, 2, 45
    )
    assert (out == rows.T).all()


class OnProcessor(np.ndarray):
    """An array with the attribute of CuPy's that kernels are given."""

    @property
    def data(self):
        return SimpleNamespace(ptr=self.ctypes.data)


DEVICE = SimpleNamespace(id=0, attributes={"MaxSharedMemoryPerMultiprocessor": 228 << 10})
CUPY = SimpleNamespace(
    empty=lambda shape, dtype: np.full(shape, 7e7, dtype).view(OnProcessor),
    asarray=lambda x, dtype: np.asarray(x, dtype).view(OnProcessor),
    broadcast_to=lambda x, shape: np.broadcast_to(x, shape, subok=True),
    cuda=SimpleNamespace(Device=lambda: DEVICE),
)
COMPACT = MemoryLayout((False, False), "compact", 32)


@needs_compiler
@pytest.mark.parametrize(
    ("rows", "layout"),
    [(True, None), (False, None), (True, COMPACT), (True, replace(COMPACT, turned=True))],
    ids=["rows", "columns", "compact", "turned"],
)
def test_a_call_gives_what_the_program_gives(monkeypatch, tmp_path, rng, rows, layout):
    """All launches of a call, in batches of two dimensions; one argument is the same for all states."""
    monkeypatch.setattr(kernel, "cupy", lambda: CUPY)
    monkeypatch.setattr(kernel, "DeviceFunction", functools.partial(ProcessorFunction, tmp_path))
    if layout is not None:
        monkeypatch.setattr(kernel, "layout_for", lambda *_: layout)
    program = random_program(2, outputs=((5, 8), (3,)))
    x, y = rng.normal(size=(5, 15, 7)), rng.normal(size=6)
    given = [CUPY.asarray(a, float) for a in (x if rows else np.moveaxis(np.moveaxis(x, 2, 0).copy(), 0, 2), y)]
    results = DeviceKernel(program)._run(given, (5, 15), "float64")
    for got, wanted in zip(results, program.evaluate(x, np.tile(y, (5, 15, 1))), strict=True):
        assert got.shape == wanted.shape and (got.strides[-1] == 8) is rows
        assert_allclose(got, wanted, rtol=1e-11, atol=1e-11)


@needs_compiler
@pytest.mark.parametrize(
    ("name", "quantity"), [("arm6", "inverse_dynamics"), ("quadruped", "com_jacobian"), ("arm6", "forward_dynamics")]
)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_chosen_layouts_on_robots(tmp_path, rng, name, quantity, dtype):
    robot = load(name)
    program = robot.kernel(quantity, None, "mixed").program
    q, v = random_states(robot, rng, 70)
    arrays = [q, v, rng.normal(size=v.shape)][: len(program.inputs)]
    wanted = program.evaluate(*(x.astype(dtype).astype(float) for x in arrays)).reshape(70, -1)
    for rows in (False, True):
        layout = layout_for(program, dtype, (rows,) * len(arrays), rows)
        got = result_of(program, dtype, layout, arrays, tmp_path)[0]
        assert np.abs(got - wanted).max() < (2e-5 if dtype == "float32" else 1e-13) * np.abs(wanted).max()


def test_values_that_wait_share_their_places():
    program = random_program(1, outputs=((5,), (3, 4)))
    body = SourceBody(program, "float64", lambda n: f"in[{n}]", lambda n, name: [], registers=6)
    body.lines()
    assert 0 < body.waiting_places <= most_alive(program)


@needs_compiler
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_sines_and_cosines(tmp_path, rng, dtype):
    """Within two units in the last place of the larger of the two, up to where numbers stop being angles; NaN
    beyond."""
    text = "#include <math.h>\n#define FUNCTION static inline\n" + helpers(dtype, polynomials=True)
    text += (
        "\nvoid drive(const real *x, real *s, real *c, int n) { for (int i = 0; i < n; ++i) eq_sincos(x[i], "
        "s + i, c + i); }"
    )
    drive = shared_object(text, tmp_path / "sincos.so").drive
    near = np.concatenate([rng.uniform(-4, 4, 20000), rng.uniform(-1e4, 1e4, 20000), np.arange(-200, 200) * np.pi / 4])
    far = rng.uniform(-1, 1, 5000) * FAR[dtype]
    x = np.concatenate([near, far, [0.0, np.nan, np.inf, -np.inf, 4 * FAR[dtype]]]).astype(dtype)
    s, c = np.empty_like(x), np.empty_like(x)
    drive(*(ctypes.c_void_p(a.ctypes.data) for a in (x, s, c)), ctypes.c_int(len(x)))
    assert np.isnan(s[-4:]).all() and np.isnan(c[-4:]).all()
    wide = x[:-4].astype(np.longdouble)
    for got, wanted in ((s[:-4], np.sin(wide)), (c[:-4], np.cos(wide))):
        assert np.abs(got - wanted).max() < 1.0 * np.finfo(dtype).eps


@pytest.mark.parametrize("shared", [SHARED_BYTES, 98 << 10, 46 << 10])
def test_layouts_fit_into_a_multiprocessor(shared):
    cases = ("quadruped", "inverse_dynamics"), ("human", "mass_matrix"), ("human", "forward_dynamics")
    for (name, quantity), (dtype, itemsize) in itertools.product(cases, (("float32", 4), ("float64", 8))):
        program = load(name).kernel(quantity, None, "mixed").program
        for rows in (False, True):
            layout = layout_for(program, dtype, (rows,) * len(program.inputs), rows, shared)
            source = cuda_source(program, dtype, layout)
            assert source.shared >= stage_numbers(program, layout) * itemsize
            assert source.shared * max(min(layout.blocks, 2), 1) <= shared
            assert (layout.results == "strided") == (not rows)


def test_numpy_arrays_are_not_on_a_gpu():
    assert kind(np.zeros(3)) is None and kind([1.0]) is None and kind(2.0) is None
    assert common_kind((np.zeros(3), None, 1.0)) is None


class _OnDevice:
    """What an array on a GPU says about itself."""

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, 0


def foreign(library: str) -> object:
    return type("Array", (_OnDevice,), {"__module__": f"{library}.somewhere", "is_cuda": True})()


def test_kinds_by_library_and_never_mixed():
    assert [kind(foreign(name)) for name in ("cupy", "torch", "jax", "jaxlib", "numpy")] == [
        "cupy",
        "torch",
        "jax",
        "jax",
        None,
    ]
    with pytest.raises(ShapeError, match="cupy and torch in one call"):
        common_kind((foreign("cupy"), foreign("torch")))


def test_a_function_asks_the_driver_for_what_it_means(monkeypatch):
    """By the numbers of CUfunction_attribute: 3 local bytes, 4 registers, 8 the largest shared memory of a block."""
    asked = {}
    driver = SimpleNamespace(
        funcSetAttribute=lambda f, what, value: asked.update({what: value}),
        funcGetAttribute=lambda what, f: {3: 24, 4: 168}[what],
        occupancyMaxActiveBlocksPerMultiprocessor=lambda f, threads, shared: (threads, shared) == (128, 49153) and 3,
    )
    module = SimpleNamespace(load=lambda binary: None, get_function=lambda name: SimpleNamespace(ptr=name))
    cuda = SimpleNamespace(driver=driver, function=SimpleNamespace(Module=lambda: module))
    monkeypatch.setattr(code, "cupy", lambda: SimpleNamespace(cuda=cuda))
    monkeypatch.setattr(code, "_binary", lambda source: b"")
    code.DeviceFunction("", "run", 128, 48 << 10)
    assert not asked  # every block gets as much
    function = code.DeviceFunction("", "run", 128, (48 << 10) + 1)
    assert asked == {8: (48 << 10) + 1}
    assert function.usage == code.Usage(registers=168, local_bytes=24, shared_bytes=(48 << 10) + 1, warps=12)


@pytest.mark.skipif(importlib.util.find_spec("cupy") is not None, reason="CuPy is installed")
def test_without_cupy_the_error_says_what_to_install():
    robot = load("arm6")
    with pytest.raises(MissingPackageError, match=r"'cupy', which is not installed.*equipoise\[cuda\]"):
        robot.gravity(foreign("torch"))
    with pytest.raises(MissingPackageError, match="running on a GPU"):
        DeviceKernel(robot.kernel("gravity", None, "mixed").program)(np.zeros(6))


def test_text_does_not_depend_on_the_process(tmp_path):
    """The cache knows machine code by its source, so the same program must give the same text."""
    program = random_program(5, outputs=((4,),))
    again = Program.from_bytes(program.to_bytes())
    layout = replace(LAYOUTS["waiting"], streaming=True)
    assert cuda_source(program, "float32", layout) == cuda_source(again, "float32", layout)
