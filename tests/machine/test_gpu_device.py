"""On a real GPU, with NumPy, CuPy and pytest alone: `pytest --noconftest tests/machine/test_gpu_device.py`."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from synthetic import every_operation, random_program

from equipoise.errors import ShapeError
from equipoise.machine.gpu.kernel import DeviceKernel


def _no_gpu() -> str | None:
    try:
        import cupy

        return None if cupy.cuda.runtime.getDeviceCount() else "no GPU"
    except Exception as error:  # no CuPy, no driver, no device
        return f"no GPU that CuPy can use ({type(error).__name__})"


WHY_NOT = _no_gpu()
pytestmark = [pytest.mark.gpu, pytest.mark.skipif(WHY_NOT is not None, reason=str(WHY_NOT))]
SHAPES = {"small": ((5,), (3, 4)), "large": ((40, 40), (3,)), "empty": ((0,), (2,))}
LIBRARIES = ("cupy", "torch", "jax")


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(3)


def made(library: str, x: np.ndarray, fast: bool = False):
    """A NumPy array as that library has it, states side by side if `fast`."""
    import cupy as cp

    if library == "cupy":
        return cp.asarray(x.T.copy()).T if fast else cp.asarray(x)
    if library == "torch":
        torch = pytest.importorskip("torch")
        return torch.tensor(x.T.copy(), device="cuda").T if fast else torch.tensor(x, device="cuda")
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    return jax.numpy.asarray(x)


def back(x) -> np.ndarray:
    import cupy as cp

    return cp.asnumpy(cp.from_dlpack(x))


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("shapes", SHAPES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("count", [1, 1000])
@pytest.mark.parametrize("fast", [False, True])
def test_every_library_layout_and_precision(rng, library, shapes, dtype, count, fast):
    import cupy as cp

    program = random_program(7, outputs=SHAPES[shapes], instructions=2500 if shapes == "small" else 600)
    x, y = rng.normal(size=(count, 7)).astype(dtype), rng.normal(size=(count, 6)).astype(dtype)
    x[0, 1] = np.nan
    arrays = made(library, x, fast), made(library, y, fast)
    results = DeviceKernel(program)(*arrays)
    for got, wanted in zip(results, program.evaluate(x.astype(float), y.astype(float)), strict=True):
        assert type(got) is type(arrays[0]) and tuple(got.shape) == wanted.shape and str(got.dtype).endswith(dtype)
        if fast and library != "jax" and count > 1 and wanted.size:
            assert cp.from_dlpack(got).strides[0] == np.dtype(dtype).itemsize  # results lie as the arguments do
        assert_allclose(back(got), wanted, rtol=0, atol=2e-5 if dtype == "float32" else 1e-12)


def test_every_operation():
    program = every_operation()
    x = np.array([[0.3, -1.5], [-0.3, 2.0], [0.0, -0.0], [2.5, 0.1], [np.nan, 1.0], [1e5, 1.2]])
    y = np.array([[0.7, 3.5], [0.7, 1.5], [-0.4, 1.0], [0.0, 2.2], [0.6, 1.7], [np.nan, 1.1]])
    import cupy as cp

    got = cp.asnumpy(DeviceKernel(program)(cp.asarray(x), cp.asarray(y)))
    assert_allclose(got, program.evaluate(x, y), rtol=1e-14, atol=1e-300, equal_nan=True)


def test_broadcasting_strides_and_leading_dimensions(rng):
    import cupy as cp

    program = random_program(8, outputs=((4, 3),))
    kernel = DeviceKernel(program)
    x, y = rng.normal(size=(5, 40, 7)), rng.normal(size=6)
    wanted = program.evaluate(x, y)
    assert_allclose(cp.asnumpy(kernel(cp.asarray(x), cp.asarray(y))), wanted, rtol=1e-11, atol=1e-11)
    assert_allclose(cp.asnumpy(kernel(cp.asarray(x), y)), wanted, rtol=1e-11, atol=1e-11)  # NumPy companions travel
    wide = cp.asarray(np.concatenate([x, x], axis=-1))
    assert_allclose(cp.asnumpy(kernel(wide[..., 7:], cp.asarray(y))), wanted, rtol=1e-11, atol=1e-11)
    backwards = cp.asarray(x[..., ::-1].copy())[..., ::-1]
    assert_allclose(cp.asnumpy(kernel(backwards, cp.asarray(y))), wanted, rtol=1e-11, atol=1e-11)
    assert kernel(cp.zeros((0, 7)), cp.asarray(y)).shape == (0, 4, 3)
    assert kernel(cp.asarray(x[0, 0]), cp.asarray(y)).shape == (4, 3)


def test_out_and_its_errors(rng):
    import cupy as cp

    program = random_program(9, outputs=((4,),))
    kernel = DeviceKernel(program)
    x, y = rng.normal(size=(70, 7)), rng.normal(size=(70, 6))
    out = cp.full((70, 4), 7e7)
    assert kernel(cp.asarray(x), cp.asarray(y), out=out) is out
    assert_allclose(cp.asnumpy(out), program.evaluate(x, y), rtol=1e-11, atol=1e-11)
    with pytest.raises(ShapeError, match="out must be float64 of shape"):
        kernel(cp.asarray(x), cp.asarray(y), out=cp.zeros((70, 5)))
    with pytest.raises(ShapeError, match="x0 must have shape"):
        kernel(cp.zeros((3, 5)), cp.zeros((3, 6)))
    with pytest.raises(ShapeError, match="float32 or float64"):
        kernel(cp.zeros((3, 7), int), cp.zeros((3, 6), int))


def test_work_goes_to_the_callers_stream(rng):
    torch = pytest.importorskip("torch")
    program = random_program(10, outputs=((4,),))
    kernel = DeviceKernel(program)
    y = torch.tensor(rng.normal(size=(200_000, 6)), device="cuda")
    x = torch.zeros((200_000, 7), dtype=torch.float64, device="cuda")
    kernel(x, y)
    torch.cuda.synchronize()
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        big = torch.randn(4096, 4096, device="cuda")
        for _ in range(30):  # x is ready only after all this
            big = big @ big / 64
        x += 1 + 0 * big[0, 0].nan_to_num().double()
        result = kernel(x, y)
        answer = result.cpu().numpy()
    assert_allclose(answer[:100], program.evaluate(np.ones((100, 7)), y[:100].cpu().numpy()), rtol=1e-11, atol=1e-11)


def test_gradients_are_refused_with_advice():
    torch = pytest.importorskip("torch")
    program = random_program(10, outputs=((4,),))
    with pytest.raises(ShapeError, match=r"x0 requires gradients.*x0\.detach\(\)"):
        DeviceKernel(program)(
            torch.zeros((2, 7), device="cuda", requires_grad=True), torch.zeros((2, 6), device="cuda")
        )
