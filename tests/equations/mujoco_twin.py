"""Every quantity of a robot as MuJoCo computes it, carried to our coordinates: v_mj = T v, a_mj = T a + drift."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import mujoco
import numpy as np
from support import Array, evaluate, random_states, relative_error

import equipoise as eq
from equipoise import convert
from equipoise.model.mjcf import body_names

# quantity → its arguments; "+ wrench" applies a wrench to one link
QUANTITIES = {
    "mass_matrix": "q",
    "bias_force": "q v",
    "gravity": "q",
    "inverse_dynamics": "q v a",
    "inverse_dynamics + wrench": "q v a",
    "forward_dynamics": "q v tau",
    "pose": "q",
    "jacobian": "q",
    "bias_acceleration": "q v",
    "com": "q",
    "com_jacobian": "q",
    "momentum_matrix": "q",
    "momentum": "q v",
    "kinetic_energy": "q v",
    "potential_energy": "q",
}
OF_A_FRAME = ("pose", "jacobian", "bias_acceleration")
VANISHING = {"bias_acceleration": 1e-3}  # m/s² that count as none


@dataclass(frozen=True)
class Twin:
    """A robot, the same robot in MuJoCo, and the link furthest down its file."""

    robot: eq.Robot
    model: mujoco.MjModel
    converter: convert.Converter
    link: str


def twin_of_mjcf(source: Path | str, *, armature: bool) -> Twin:
    """The twin from the same MJCF file or text, with rotors or without; nothing but inertia and gravity acts in it."""
    text = isinstance(source, str)
    model = mujoco.MjModel.from_xml_string(source) if text else mujoco.MjModel.from_xml_path(str(source))
    robot = eq.load(source)
    model.opt.gravity[:] = robot.model.gravity
    for bit in ("CONSTRAINT", "SPRING", "DAMPER", "ACTUATION"):
        model.opt.disableflags |= getattr(mujoco.mjtDisableBit, f"mjDSBL_{bit}")
    if armature:
        robot = robot.with_armature()
    else:
        model.dof_armature[:] = 0.0
        model.actuator_armature[:] = 0.0
    return Twin(robot, model, convert.mujoco(robot, model), list(robot.links)[-1])


@dataclass(frozen=True)
class State:
    """Numbers for all arguments, mixed."""

    q: Array
    v: Array
    a: Array
    tau: Array
    wrench: Array


def errors(
    twin: Twin,
    rng: np.random.Generator,
    *,
    names: Iterable[str] = QUANTITIES,
    run: Callable[..., Array] = evaluate,
    count: int = 3,
) -> dict[str, float]:
    """Relative error of each quantity, the worst of `count` random states."""
    q, v = random_states(twin.robot, rng, count)
    a, tau = rng.normal(size=(2, count, twin.robot.nv))
    batch = State(q, v, a, tau, rng.normal(size=(count, 6)))
    states = [State(*row) for row in zip(q, v, a, tau, batch.wrench, strict=True)]
    references = [reference(twin, state) for state in states]
    result = {}
    for name in names:
        pairs = zip(_ours(twin, name, batch, run), references, strict=True)
        result[name] = max(relative_error(x, theirs[name], VANISHING.get(name, 1e-12)) for x, theirs in pairs)
    return result


def _ours(twin: Twin, name: str, state: State, run: Callable[..., Array]) -> Array:
    arguments = [getattr(state, key) for key in QUANTITIES[name].split()]
    if name.endswith(" + wrench"):
        return run(twin.robot, name.split()[0], *arguments, state.wrench, frames=(twin.link,))
    return run(twin.robot, name, *arguments, frames=twin.link if name in OF_A_FRAME else None)


def reference(twin: Twin, state: State) -> dict[str, Array]:
    """All quantities by MuJoCo."""
    model, data = twin.model, mujoco.MjData(twin.model)
    T = twin.converter.velocity_map(state.q)
    drift = twin.converter.acceleration_to_peer(state.q, state.v, np.zeros(twin.robot.nv))
    data.qpos[:], data.qvel[:] = twin.converter.to_peer(state.q, state.v)
    mujoco.mj_forward(model, data)
    return _dynamics(twin, data, state, T, drift) | _frame(twin, data, T, drift) | _whole(twin, data, T)


def _dynamics(twin: Twin, data: mujoco.MjData, state: State, T: Array, drift: Array) -> dict[str, Array]:
    model = twin.model
    M, push = np.zeros((model.nv, model.nv)), np.zeros(model.nv)
    mujoco.mj_fullM(model, data, M)
    body = body_names(model).index(twin.link)
    mujoco.mj_applyFT(model, data, state.wrench[:3], state.wrench[3:], data.xpos[body], body, push)
    bias = data.qfrc_bias + M @ drift
    still = mujoco.MjData(model)
    still.qpos[:] = data.qpos
    mujoco.mj_forward(model, still)
    tau = T.T @ (M @ T @ state.a + bias)
    return {
        "mass_matrix": T.T @ M @ T,
        "gravity": T.T @ still.qfrc_bias,
        "bias_force": T.T @ bias,
        "inverse_dynamics": tau,
        "inverse_dynamics + wrench": tau - T.T @ push,
        "forward_dynamics": np.linalg.solve(T.T @ M @ T, state.tau - T.T @ bias),
    }


def _frame(twin: Twin, data: mujoco.MjData, T: Array, drift: Array) -> dict[str, Array]:
    model, body = twin.model, body_names(twin.model).index(twin.link)
    J, J_dot, X = np.zeros((6, model.nv)), np.zeros((6, model.nv)), np.eye(4)
    mujoco.mj_jacBody(model, data, J[:3], J[3:], body)
    mujoco.mj_jacDot(model, data, J_dot[:3], J_dot[3:], data.xpos[body], body)
    X[:3, :3], X[:3, 3] = data.xmat[body].reshape(3, 3), data.xpos[body]
    return {"pose": X, "jacobian": J @ T, "bias_acceleration": J_dot @ data.qvel + J @ drift}


def _whole(twin: Twin, data: mujoco.MjData, T: Array) -> dict[str, Array]:
    model = twin.model
    J, A = np.zeros((3, model.nv)), np.zeros((3, model.nv))
    mujoco.mj_jacSubtreeCom(model, data, J, 0)
    mujoco.mj_angmomMat(model, data, A, 0)
    mujoco.mj_subtreeVel(model, data)
    mujoco.mj_energyPos(model, data)
    mujoco.mj_energyVel(model, data)
    mass = model.body_subtreemass[0]
    return {
        "com": data.subtree_com[0].copy(),
        "com_jacobian": J @ T,
        "momentum_matrix": np.vstack([mass * J, A]) @ T,
        "momentum": np.concatenate([mass * data.subtree_linvel[0], data.subtree_angmom[0]]),
        "potential_energy": data.energy[0].copy(),
        "kinetic_energy": data.energy[1].copy(),
    }
