"""Many humans at once on a GPU: soft-contact simulation and whole-body control, per second, and MJX beside them.

    python bench/gpu_simulation.py --save          where Equipoise is installed: writes bench/programs/human*
    PYTHONPATH=src python bench/gpu_simulation.py  on the machine with the GPU: needs NumPy and CuPy

A step is semi-implicit Euler of 1 ms with eight contact points on the ground; the states start standing and fall. Where
`mujoco.mjx` can be imported it steps the same robot with the same eight points, and MuJoCo's own benchmark humanoid if
its description (mjx/test_data/humanoid/humanoid.xml of the MuJoCo repository) lies in bench/programs.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import traceback
from pathlib import Path
from typing import Any

import numpy as np

FOLDER = Path(__file__).parent / "programs"
ENVIRONMENTS, CONTROLLED = (8_192, 65_536), 16_384
ROUNDS, CONTROL_ROUNDS, PEER_ROUNDS, STEPS = 9, 25, 5, 100
FRICTION = 0.8


# --- here: save what travels ----------------------------------------------------------------------------------------


def save() -> None:
    """Programs and a start."""
    import equipoise as eq
    from equipoise.control.controller.batched import BatchedController
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
    controller.slip_limit = np.inf  # states are drawn, not reached: no contact was lost on the way
    controller(0.0, q, np.zeros(robot.nv))
    BatchedController(controller).save(FOLDER / "human_control.npz")
    data = {"q": q, "qpos": save_mjcf(robot, soles, batch.dt)}
    for name, size in (("near", 2e-3), ("far", 3e-2)):
        data |= drawn(robot, controller, name, size)
    np.savez(FOLDER / "human_states.npz", **data)


def drawn(robot: Any, controller: Any, name: str, size: float) -> dict[str, np.ndarray]:
    """512 states around standing, and what the single controller says to them."""
    rng = np.random.default_rng(0)
    q = np.stack([robot.integrate(robot.standing(), size * rng.normal(size=robot.nv)) for _ in range(512)])
    v = 10 * size * rng.normal(size=(512, robot.nv))
    answers = [controller(0.0, *state) for state in zip(q, v, strict=True)]
    optimal = np.array([answer.status.name == "OPTIMAL" for answer in answers])
    torque = np.stack([answer.torque for answer in answers])
    return {name: q, f"{name} v": v, f"{name} torque": torque, f"{name} optimal": optimal}


def save_mjcf(robot: Any, soles: dict[str, np.ndarray], dt: float) -> np.ndarray:
    """The robot for MJX, set as fast as MJX's own benchmark is: one Newton iteration, four of the line search."""
    import mujoco

    import equipoise as eq
    from equipoise.simulate import mujoco_model
    from equipoise.simulate.contacts import ContactInfo

    contacts = {frame: ContactInfo(frame, points, FRICTION) for frame, points in soles.items()}
    ground = eq.Plane((0.0, 0.0, 1.0))
    physics = mujoco_model.Physics(joint_limits=False)
    spec, _ = mujoco_model.build(robot, contacts, [ground], physics, dt, FRICTION)
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_EULER
    spec.option.cone = mujoco.mjtCone.mjCONE_PYRAMIDAL
    spec.option.solver = mujoco.mjtSolver.mjSOL_NEWTON
    spec.option.iterations, spec.option.ls_iterations, spec.option.impratio = 1, 4, 1.0
    spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_EULERDAMP
    for sensor in list(spec.sensors):  # MJX has none that sums forces, and ours measures nothing either
        spec.delete(sensor)
    model = spec.compile()
    (FOLDER / "human.xml").write_text(spec.to_xml())
    places, qpos = mujoco_model.layout(robot, model), np.zeros(model.nq)
    qpos[places.peer_q] = robot.standing()[places.q]
    return qpos


# --- there: measure -------------------------------------------------------------------------------------------------


def measure(peers: bool, simulations: bool, environments: tuple[int, ...]) -> dict[str, Any]:
    """Steps and cycles per second."""
    import cupy as cp

    from equipoise.control.controller.batched import BatchedController
    from equipoise.machine.gpu.kernel import DeviceKernel
    from equipoise.machine.program import Program

    start = np.load(FOLDER / "human_states.npz")
    program = Program.from_bytes((FOLDER / "human_step.program").read_bytes())
    kernel = DeviceKernel(program)
    found: dict[str, Any] = {"instructions": len(program)}
    many = BatchedController.load(FOLDER / "human_control.npz")
    for name in ("near", "far"):
        show(found, f"control, {name}", controlled(cp, many, start, name))
    for dtype in ("float32", "float64") if simulations else ():
        for count in environments:
            show(found, f"simulation, {dtype}, {count}", simulated(cp, kernel, start["q"], dtype, count))
    cp.get_default_memory_pool().free_all_blocks()
    if peers and simulations:
        for name, qpos in (("human.xml", start["qpos"]), ("humanoid.xml", None)):
            for count in environments:
                show(found, f"MJX, {name}, {count}", mjx_steps(FOLDER / name, qpos, count))
    return found


def show(found: dict[str, Any], name: str, row: dict[str, Any]) -> None:
    found[name] = row
    print(name, json.dumps(row), flush=True)


def rates(count: int, seconds: list[float]) -> dict[str, float]:
    """Of rounds that did `count` each: per second, median, slowest and fastest."""
    return {
        "per second": count / float(np.median(seconds)),
        "slowest": count / max(seconds),
        "fastest": count / min(seconds),
    }


def device_seconds(cp: Any, function: Any, rounds: int = ROUNDS) -> list[float]:
    """On the GPU's clock."""
    found = []
    for _ in range(rounds):
        first, last = cp.cuda.Event(), cp.cuda.Event()
        first.record()
        function()
        last.record()
        last.synchronize()
        found.append(cp.cuda.get_elapsed_time(first, last) / 1e3)
    return found


def simulated(cp: Any, kernel: Any, q0: np.ndarray, dtype: str, B: int) -> dict[str, Any]:
    """Rounds of STEPS steps from the same start: called from Python one by one, and as one CUDA graph."""
    nv = kernel.program.inputs[1].size
    rng = np.random.default_rng(1)
    parameters = np.column_stack([rng.uniform(0.9, 1.1, B), rng.uniform(0.4, 1.0, B), rng.normal(size=(B, 3))])

    def fast(x: np.ndarray) -> Any:
        return cp.asarray(np.ascontiguousarray(x.T), dtype=dtype).T  # neighbouring simulations beside each other

    start, tau, p = [fast(np.tile(q0, (B, 1))), fast(np.zeros((B, nv)))], fast(np.zeros((B, nv))), fast(parameters)
    last: list[Any] = []

    def steps() -> None:
        state = start
        for _ in range(STEPS):
            state = kernel(*state, tau, p)
        last[:] = state

    steps()
    row: dict[str, Any] = {
        "called": rates(B * STEPS, device_seconds(cp, steps)),
        "as a graph": graphed(cp, steps, B * STEPS),
    }
    row["finite"] = all(bool(cp.isfinite(x).all()) for x in last)
    row["height"] = [float(cp.median(x[:, 2])) for x in (start[0], last[0])]
    return row | {"usage": str(kernel.usage(dtype, rows=False))}


def graphed(cp: Any, function: Any, count: int) -> dict[str, Any]:
    """The same calls recorded once and replayed: the host has no part in it, as it has none in a scan of JAX."""
    try:
        stream = cp.cuda.Stream(non_blocking=True)
        with stream:
            function()  # memory for the recording
            stream.synchronize()
            stream.begin_capture()
            function()
            graph = stream.end_capture()
            graph.launch(stream)
            return rates(count, device_seconds(cp, lambda: graph.launch(stream)))
    except Exception:
        return {"problem": traceback.format_exc()[-400:]}


def controlled(cp: Any, many: Any, start: Any, name: str) -> dict[str, Any]:
    times = -(-CONTROLLED // len(start[name]))
    q, v = (cp.asarray(np.tile(start[key], (times, 1))[:CONTROLLED]) for key in (name, f"{name} v"))
    answer = many(q, v)
    optimal = start[f"{name} optimal"]
    solved = cp.asnumpy(answer.solved)
    both = solved[: len(optimal)] & optimal
    off = np.abs(cp.asnumpy(answer.torque)[: len(optimal)] - start[f"{name} torque"]).max(axis=1)[both]
    residual = cp.maximum(cp.maximum(answer.primal, answer.dual), answer.gap)
    return rates(CONTROLLED, device_seconds(cp, lambda: many(q, v), CONTROL_ROUNDS)) | {
        "solved": float(solved.mean()),
        "the single controller solved": float(optimal.mean()),
        "of those": float(both.sum() / optimal.sum()),
        "below 1e-4": float((residual < 1e-4).mean()),
        "N m from the single controller, median": float(np.median(off)),
        "largest": float(off.max()),
    }


def mjx_steps(path: Path, qpos: np.ndarray | None, count: int) -> dict[str, Any]:
    """`count` environments side by side under vmap, STEPS steps in one scan, as in MJX's own benchmark; each round
    alike."""
    try:
        import jax
        import mujoco
        from mujoco import mjx

        model = mujoco.MjModel.from_xml_path(str(path))
        m, blank = mjx.put_model(model), mjx.make_data(model)
        start = np.asarray(model.qpos0 if qpos is None else qpos)

        def begin(key: Any) -> Any:
            return blank.replace(qpos=jax.numpy.asarray(start), qvel=0.01 * jax.random.normal(key, (model.nv,)))

        data = jax.jit(jax.vmap(begin))(jax.random.split(jax.random.key(0), count))
        one = jax.vmap(lambda d: mjx.step(m, d))
        clock = time.perf_counter()
        run = (
            jax.jit(lambda d: jax.lax.scan(lambda d, _: (one(d), None), d, None, length=STEPS)[0]).lower(data).compile()
        )
        compiled = time.perf_counter() - clock
        last = jax.block_until_ready(run(data))
        seconds = []
        for _ in range(PEER_ROUNDS):
            clock = time.perf_counter()
            last = jax.block_until_ready(run(data))
            seconds.append(time.perf_counter() - clock)
        row: dict[str, Any] = rates(count * STEPS, seconds)
        heights = [float(np.median(x.qpos[:, 2])) for x in (data, last)]
        told = {"dtype": str(last.qpos.dtype), "compile s": compiled, "nv": model.nv, "dt": model.opt.timestep}
        return row | told | {"finite": bool(np.isfinite(np.asarray(last.qpos)).all()), "height": heights}
    except Exception:
        return {"problem": traceback.format_exc()[-400:]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--save", action="store_true")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--only-control", action="store_true")
    parser.add_argument("--environments", type=int, nargs="*", default=list(ENVIRONMENTS))
    options = parser.parse_args()
    if options.save:
        save()
        return
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    os.environ.setdefault("XLA_FLAGS", "--xla_gpu_triton_gemm_any=true")  # as MJX's documentation advises
    found = measure(not options.no_peers, not options.only_control, tuple(options.environments))
    if options.json:
        options.json.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
