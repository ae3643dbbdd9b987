"""Time per state on a GPU, with what it costs in registers and memory, against JAX libraries on the same robot.

    python bench/gpu.py --save                where Equipoise is installed: programs, states, answers to bench/programs
    PYTHONPATH=src python bench/gpu.py        on the machine with the GPU: needs NumPy, CuPy; PyTorch and JAX if there

Peers (frax, MuJoCo MJX) are measured if they can be imported. Results go to the screen, and as JSON to --json.
"""

from __future__ import annotations

import argparse
import json
import os
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

FOLDER = Path(__file__).parent / "programs"
ARGUMENTS = {
    "inverse_dynamics": ("q", "v", "a"),
    "mass_matrix": ("q",),
    "forward_dynamics": ("q", "v", "tau"),
    "bias_force": ("q", "v"),
    "coriolis_matrix": ("q", "v"),
    "momentum_matrix": ("q",),
}
STATES, CHECKED, ROUNDS, CALLS = 1 << 20, 512, 15, 4
GRAVITY = 9.80665


# --- here: save what travels ----------------------------------------------------------------------------------------


def save(name: str) -> None:
    """Programs, random states with answers in double precision, and the robot for the peers."""
    from dataclasses import replace

    import mujoco

    import equipoise as eq
    from equipoise.bench.peers import random_states
    from equipoise.model.urdf_writer import write_urdf

    robot = eq.load(name)
    FOLDER.mkdir(exist_ok=True)
    states = random_states(robot, CHECKED)
    data = {key: getattr(states, key) for key in ("q", "v", "a", "tau")}
    for quantity, arguments in ARGUMENTS.items():
        kernel = robot.kernel(quantity, None, "mixed")
        (FOLDER / f"{quantity}.program").write_bytes(kernel.program.to_bytes())
        data[quantity] = kernel(*(data[key] for key in arguments))
    np.savez_compressed(FOLDER / "states.npz", **data)
    bare = replace(robot.model, links={k: replace(x, visuals=(), collisions=()) for k, x in robot.model.links.items()})
    (FOLDER / "robot.urdf").write_text(write_urdf(bare))
    spec = mujoco.MjSpec.from_string(write_urdf(bare))
    root = spec.worldbody.first_body()
    if robot.floating and not root.joints:
        root.add_freejoint()
    spec.compile()
    (FOLDER / "robot.xml").write_text(spec.to_xml())
    (FOLDER / "robot.json").write_text(json.dumps({"name": robot.name, "joints": list(robot.joints)}))


# --- there: measure -------------------------------------------------------------------------------------------------


def device_times(function: Callable[[], object], rounds: int = ROUNDS) -> list[float]:
    """Seconds on the device of each round, by events on the current stream of CuPy."""
    import cupy as cp

    for _ in range(3):
        function()
    times = []
    for _ in range(rounds):
        start, end = cp.cuda.Event(), cp.cuda.Event()
        start.record()
        function()
        end.record()
        end.synchronize()
        times.append(1e-3 * cp.cuda.get_elapsed_time(start, end))
    return sorted(times)


def copy_bandwidth() -> float:
    """Bytes read and written per second by a large copy."""
    import cupy as cp

    a, b = cp.random.rand(1 << 28, dtype=cp.float32), cp.empty(1 << 28, cp.float32)
    return 2 * a.nbytes / np.median(device_times(lambda: cp.copyto(b, a)))


def many_states(data: Any, dtype: str) -> dict[str, Any]:
    """The saved states again and again, each time a little different."""
    import cupy as cp

    rng = cp.random.default_rng(1)
    result = {}
    for key in ("q", "v", "a", "tau"):
        few = cp.asarray(data[key])
        x = few[cp.arange(STATES) % len(few)] + 0.1 * rng.standard_normal((STATES, few.shape[1]))
        if key == "q":
            x[:, 3:7] /= cp.linalg.norm(x[:, 3:7], axis=1, keepdims=True)
        result[key] = x.astype(dtype)
    return result


def errors(kernel: Any, data: Any, quantity: str, dtype: str, rows: bool) -> float:
    """Largest error relative to the largest number of the quantity."""
    import cupy as cp

    arrays = [cp.asarray(data[key], dtype=dtype) for key in ARGUMENTS[quantity]]
    if not rows:
        arrays = [cp.ascontiguousarray(x.T).T for x in arrays]
    difference = cp.abs(kernel(*arrays).astype(cp.float64) - cp.asarray(data[quantity]))
    return float(difference.max() / np.abs(data[quantity]).max())


def ours(
    quantity: str,
    data: Any,
    dtype: str,
    states: dict[str, Any],
    bandwidth: float,
    layouts: tuple[str, ...] = ("columns", "rows"),
) -> list[dict[str, Any]]:
    """One row for each layout."""
    import cupy as cp

    from equipoise.machine.gpu.kernel import DeviceKernel
    from equipoise.machine.program import Program

    program = Program.from_bytes((FOLDER / f"{quantity}.program").read_bytes())
    kernel, rows, count = DeviceKernel(program), [], len(states["q"])
    for layout in layouts:
        seconds = sorted(_seconds(kernel, [states[key] for key in ARGUMENTS[quantity]], layout))
        median = float(np.median(seconds))
        bytes_each = (program.n_inputs + sum(output.size for output in program.outputs)) * np.dtype(dtype).itemsize
        rows.append(
            {
                "quantity": quantity,
                "dtype": dtype,
                "layout": layout,
                "states": count,
                "ns": 1e9 * median / count,
                "fastest": 1e9 * seconds[0] / count,
                "slowest": 1e9 * seconds[-1] / count,
                "of_bandwidth": bytes_each * count / median / bandwidth,
                "error": errors(kernel, data, quantity, dtype, layout == "rows"),
                **vars(kernel.usage(dtype, rows=layout == "rows")),
            }
        )
        cp.get_default_memory_pool().free_all_blocks()
    return rows


def _seconds(kernel: Any, arrays: list[Any], layout: str) -> list[float]:
    """Several calls between two events, so that the host is always ahead of the device."""
    import cupy as cp

    if layout == "columns":
        arrays = [cp.ascontiguousarray(x.T).T for x in arrays]

    def calls() -> None:
        for _ in range(CALLS):
            kernel(*arrays)

    return [time / CALLS for time in device_times(calls)]


def jax_times(function: Callable[..., Any], arrays: list[Any], rounds: int = 9) -> tuple[list[float], str]:
    """Seconds of a compiled function, waiting for each result; and the precision of what it gives."""
    import time

    import jax

    compiled = jax.jit(function)
    precision = str(jax.block_until_ready(compiled(*arrays)).dtype)
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        jax.block_until_ready(compiled(*arrays))
        times.append(time.perf_counter() - start)
    return sorted(times), precision


def jax_states(data: Any, dtype: str, count: int) -> dict[str, Any]:
    import jax.numpy as jnp

    return {
        key: jnp.asarray(np.resize(data[key], (count, data[key].shape[1])), dtype=dtype)
        for key in ("q", "v", "a", "tau")
    }


def frax_rows(data: Any, dtype: str) -> list[dict[str, Any]]:
    """frax: its own three algorithms under vmap and jit."""
    import frax
    import jax.numpy as jnp

    joints = json.loads((FOLDER / "robot.json").read_text())["joints"]
    robot = frax.Robot(str(FOLDER / "robot.urdf"), joint_ordering=joints, floating_base="quaternion")
    gravity = jnp.array([0, 0, GRAVITY, 0, 0, 0], dtype=dtype)
    functions = {
        "inverse_dynamics": lambda q, v, a: robot.rnea(q, v, a, gravity, None),
        "mass_matrix": robot.crba,
        "forward_dynamics": lambda q, v, tau: robot.forward_dynamics(q, v, tau, None),
    }
    return peer_rows("frax", functions, data, dtype)


def at_rest(function: Any, data: Any, dtype: str) -> float:
    """Largest difference of joint forces from ours, by the largest of ours; conventions for the base differ, so it is
    at rest."""
    import jax
    import jax.numpy as jnp

    from equipoise.machine.program import Program

    still = {key: np.array(data[key][:64]) for key in ("q", "v", "a")}
    still["v"][:, :6] = still["a"][:, :6] = 0
    program = Program.from_bytes((FOLDER / "inverse_dynamics.program").read_bytes())
    wanted = program.evaluate(*still.values())[:, 6:]
    found = np.asarray(jax.jit(jax.vmap(function))(*(jnp.asarray(x, dtype=dtype) for x in still.values())))[:, 6:]
    return float(np.abs(found - wanted).max() / np.abs(wanted).max())


def peer_rows(peer: str, functions: dict[str, Any], data: Any, dtype: str) -> list[dict[str, Any]]:
    import jax

    check = {
        "peer": peer,
        "quantity": "check",
        "dtype": dtype,
        "error": at_rest(functions["inverse_dynamics"], data, dtype),
    }
    return [
        check,
        *(peer_row(peer, quantity, dtype, jax.vmap(function), data) for quantity, function in functions.items()),
    ]


def peer_row(peer: str, quantity: str, dtype: str, function: Any, data: Any) -> dict[str, Any]:
    """The largest batch that fits."""
    row, problem = {"peer": peer, "quantity": quantity, "dtype": dtype}, ""
    for count in (STATES, STATES // 2, STATES // 4, STATES // 8, STATES // 64):
        try:
            states = jax_states(data, dtype, count)
            seconds, precision = jax_times(function, [states[key] for key in ARGUMENTS[quantity]])
            low, middle, high = (1e9 * x / count for x in (seconds[0], float(np.median(seconds)), seconds[-1]))
            return row | {
                "states": count,
                "ns": middle,
                "fastest": low,
                "slowest": high,
                "gives": precision,
                "refused": problem,
            }
        except Exception as error:  # out of memory, mostly
            problem = f"{count}: {type(error).__name__}: {str(error)[:120]}"
    return row | {"problem": problem}


def mjx_rows(data: Any, dtype: str) -> list[dict[str, Any]]:
    """MJX: the stages of MuJoCo that the quantity needs, under vmap and jit."""
    import mujoco
    from mujoco import mjx
    from mujoco.mjx._src import smooth, support

    model = mujoco.MjModel.from_xml_path(str(FOLDER / "robot.xml"))
    model.opt.gravity[2] = -GRAVITY
    m, blank = mjx.put_model(model), mjx.make_data(model)

    def inertia(q: Any) -> Any:
        return smooth.crb(m, smooth.com_pos(m, smooth.kinematics(m, blank.replace(qpos=q))))

    def bias(q: Any, v: Any) -> Any:
        return smooth.rne(m, smooth.com_vel(m, inertia(q).replace(qvel=v)))

    def acceleration(q: Any, v: Any, tau: Any) -> Any:
        d = smooth.factor_m(m, bias(q, v))
        return smooth.solve_m(m, d, tau - d.qfrc_bias)

    functions = {
        "inverse_dynamics": lambda q, v, a: (lambda d: support.mul_m(m, d, a) + d.qfrc_bias)(bias(q, v)),
        "mass_matrix": lambda q: support.full_m(m, inertia(q)),
        "forward_dynamics": acceleration,
    }
    return peer_rows("mjx", functions, data, dtype)


def exchange(data: Any) -> list[dict[str, Any]]:
    """Arrays of every library: the same answer, the same memory, of the same kind; host time of a small call."""
    import time

    import cupy as cp

    from equipoise.machine.gpu.kernel import DeviceKernel
    from equipoise.machine.program import Program

    kernel = DeviceKernel(Program.from_bytes((FOLDER / "inverse_dynamics.program").read_bytes()))
    arrays = [cp.asarray(data[key]) for key in ("q", "v", "a")]
    makers: dict[str, Callable[[Any], Any]] = {"cupy": lambda x: x}
    try:
        import torch

        makers["torch"] = torch.from_dlpack
    except ImportError:
        pass
    try:
        import jax

        jax.config.update("jax_enable_x64", True)
        makers["jax"] = jax.dlpack.from_dlpack
    except ImportError:
        pass
    rows = []
    for library, make in makers.items():
        try:
            mine = [make(x) for x in arrays]
            result = kernel(*mine)
            error = float(np.abs(cp.asnumpy(cp.from_dlpack(result)) - data["inverse_dynamics"]).max())
            cp.cuda.Device().synchronize()
            start = time.perf_counter()
            for _ in range(200):
                kernel(*mine)
            cp.cuda.Device().synchronize()
            microseconds = 1e6 * (time.perf_counter() - start) / 200
            rows.append({"library": library, "kind": type(result).__module__, "error": error, "call_us": microseconds})
        except Exception:
            rows.append({"library": library, "problem": traceback.format_exc()[-600:]})
    return rows


def show(row: dict[str, Any]) -> None:
    print("  ".join(f"{k}={v:.4g}" if isinstance(v, float) else f"{k}={v}" for k, v in row.items()), flush=True)


def peer_measured(peer: str, data: Any, dtype: str) -> list[dict[str, Any]]:
    """Its rows, in the precision asked for: with doubles allowed, JAX would make constants of float32 programs
    doubles."""
    try:
        import jax

        jax.config.update("jax_enable_x64", dtype == "float64")
        return {"frax": frax_rows, "mjx": mjx_rows}[peer](data, dtype)
    except Exception:
        return [{"peer": peer, "dtype": dtype, "problem": traceback.format_exc()[-800:]}]


def measure(quantities: list[str], peers: list[str]) -> list[dict[str, Any]]:
    import cupy as cp

    data = np.load(FOLDER / "states.npz")
    bandwidth = copy_bandwidth()
    name = json.loads((FOLDER / "robot.json").read_text())["name"]
    rows: list[dict[str, Any]] = [{"robot": name, "states": STATES, "copy_TB_per_s": bandwidth / 1e12}]
    show(rows[0])
    for row in exchange(data):
        rows.append(row)
        show(row)
    for dtype in ("float32", "float64"):
        states = many_states(data, dtype)
        for quantity in quantities:
            for row in ours(quantity, data, dtype, states, bandwidth):
                rows.append(row)
                show(row)
        del states
        cp.get_default_memory_pool().free_all_blocks()
    for peer in peers:
        for dtype in ("float32", "float64"):
            for row in peer_measured(peer, data, dtype):
                rows.append(row)
                show(row)
    asked = {
        (row["quantity"], row["dtype"], row["states"])
        for row in rows
        if "peer" in row and row.get("states", STATES) < STATES
    }
    for quantity, dtype, count in sorted(asked):  # ours once more, at the batches of the peers
        few = {key: x[:count] for key, x in many_states(data, dtype).items()}
        for row in ours(quantity, data, dtype, few, bandwidth, ("columns",)):
            rows.append(row)
            show(row)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--save", action="store_true", help="write bench/programs")
    parser.add_argument("--robot", default="g1")
    parser.add_argument("--quantities", nargs="*", default=list(ARGUMENTS))
    parser.add_argument("--peers", nargs="*", default=["frax", "mjx"])
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    if options.save:
        save(options.robot)
        return
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    os.environ.setdefault("XLA_PYTHON_CLIENT_MEM_FRACTION", "0.9")
    os.environ.setdefault("XLA_FLAGS", "--xla_gpu_triton_gemm_any=true")  # as MJX's documentation advises
    rows = measure(options.quantities, options.peers)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
