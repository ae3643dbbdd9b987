"""Many humans at once on a GPU: soft-contact simulation and whole-body control, per second.

    python bench/gpu_simulation.py --save          where Equipoise is installed: writes bench/programs/human_*
    PYTHONPATH=src python bench/gpu_simulation.py  on the machine with the GPU: needs NumPy and CuPy

A step is semi-implicit Euler of 1 ms with eight contact points on the ground; the states start standing and fall.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

FOLDER = Path(__file__).parent / "programs"
ENVIRONMENTS, STEPS, CONTROLLED = 65_536, 200, 16_384


def save() -> None:
    """Programs and a start."""
    import equipoise as eq
    from equipoise.control.batched import BatchedController
    from equipoise.simulate.batch import BatchSimulation

    robot = eq.load("human")
    q = robot.standing()
    feet = ("left_foot", "right_foot")
    soles = {f: np.array([robot.frames[f"{f}_corner_{k}"].X[:3, 3] for k in range(4)]) for f in feet}
    FOLDER.mkdir(exist_ok=True)
    batch = BatchSimulation(robot, soles)
    (FOLDER / "human_step.program").write_bytes(batch.kernel.program.to_bytes())
    contacts = [eq.FlatContact(f, corners=soles[f][:, :2], friction=0.6) for f in feet]
    controller = eq.WholeBodyController(
        robot, [eq.CoMTask(), eq.PostureTask(weight=0.1)], contacts, [eq.TorqueLimits(), eq.JointLimits()]
    )
    controller(0.0, q, np.zeros(robot.nv))
    BatchedController(controller).save(FOLDER / "human_control.npz")
    rng = np.random.default_rng(0)
    near = np.stack([robot.integrate(q, 2e-3 * rng.normal(size=robot.nv)) for _ in range(512)])
    v = 0.02 * rng.normal(size=(512, robot.nv))
    torque = np.stack([controller(0.0, *state).torque for state in zip(near, v, strict=True)])
    np.savez(FOLDER / "human_states.npz", q=q, near=near, v=v, torque=torque)


def measure() -> dict[str, Any]:
    """Steps and cycles per second, on the GPU's clock."""
    import cupy as cp

    from equipoise.control.batched import BatchedController
    from equipoise.machine.gpu.kernel import DeviceKernel
    from equipoise.machine.program import Program

    start = np.load(FOLDER / "human_states.npz")
    program = Program.from_bytes((FOLDER / "human_step.program").read_bytes())
    kernel = DeviceKernel(program)
    found: dict[str, Any] = {"instructions": len(program)}
    for dtype in ("float32", "float64"):
        found[f"simulation, {dtype}"] = _simulated(cp, kernel, start["q"], dtype)
    found["control"] = _controlled(cp, BatchedController.load(FOLDER / "human_control.npz"), start)
    return found


def _simulated(cp: Any, kernel: Any, q0: np.ndarray, dtype: str) -> dict[str, float]:
    B, nv = ENVIRONMENTS, kernel.program.inputs[1].size
    rng = np.random.default_rng(1)
    parameters = np.empty((B, 5))
    parameters[:, 0], parameters[:, 1], parameters[:, 2:] = (
        rng.uniform(0.9, 1.1, B),
        rng.uniform(0.4, 1.0, B),
        rng.normal(size=(B, 3)),
    )

    def fast(x: np.ndarray) -> Any:
        return cp.asarray(np.ascontiguousarray(x.T), dtype=dtype).T  # neighbouring simulations beside each other

    q, v, tau, p = fast(np.tile(q0, (B, 1))), fast(np.zeros((B, nv))), fast(np.zeros((B, nv))), fast(parameters)
    for _ in range(5):
        q, v = kernel(q, v, tau, p)
    first, last = cp.cuda.Event(), cp.cuda.Event()
    first.record()
    for _ in range(STEPS):
        q, v = kernel(q, v, tau, p)
    last.record()
    last.synchronize()
    seconds = cp.cuda.get_elapsed_time(first, last) / 1e3
    usage = kernel.usage(dtype, rows=False)
    finite = bool(cp.isfinite(q).all())
    return {
        "steps per second": B * STEPS / seconds,
        "ns per step": 1e9 * seconds / (B * STEPS),
        "finite": finite,
        "usage": str(usage),
    }


def _controlled(cp: Any, many: Any, start: Any) -> dict[str, float]:
    times = -(-CONTROLLED // len(start["near"]))
    q, v = (cp.asarray(np.tile(start[name], (times, 1))[:CONTROLLED]) for name in ("near", "v"))
    answer = many(q, v)
    off = cp.abs(answer.torque[:512] - cp.asarray(start["torque"])).max(axis=1)
    first, last = cp.cuda.Event(), cp.cuda.Event()
    first.record()
    many(q, v)
    last.record()
    last.synchronize()
    seconds = cp.cuda.get_elapsed_time(first, last) / 1e3
    return {
        "controls per second": CONTROLLED / seconds,
        "solved": float(answer.solved.mean()),
        "median difference to the single controller, N m": float(cp.median(off)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--save", action="store_true")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    if options.save:
        save()
        return
    found = measure()
    print(json.dumps(found, indent=1))
    if options.json:
        options.json.write_text(json.dumps(found))


if __name__ == "__main__":
    main()
