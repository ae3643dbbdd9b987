"""Every quantity of a robot as Pinocchio computes it, carried to our coordinates.

Pinocchio speaks of body twists for the base; `velocity_map` and `drift` lead from any representation of ours to its v
and a: v_pin = T v, a_pin = T a + drift. What they need beyond `equipoise.convert` is Pinocchio's own action of poses on
twists.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pinocchio as pin
from support import Array, evaluate, random_states, relative_error

import equipoise as eq
from equipoise import convert
from equipoise.model.tree import Tree
from equipoise.model.urdf_writer import write_urdf

REFERENCE_FRAMES = {"mixed": pin.LOCAL_WORLD_ALIGNED, "body": pin.LOCAL, "inertial": pin.WORLD}
# quantity → its arguments; "coriolis_force" is coriolis_matrix @ v, and "+ wrenches" applies wrenches to two links
QUANTITIES = {
    "mass_matrix": "q", "bias_force": "q v", "coriolis_force": "q v", "gravity": "q", "inverse_dynamics": "q v a",
    "inverse_dynamics + wrenches": "q v a", "forward_dynamics": "q v tau", "forward_dynamics + wrenches": "q v tau",
    "pose": "q", "jacobian": "q", "velocity": "q v", "bias_acceleration": "q v", "com": "q", "com_jacobian": "q",
    "com_bias": "q v", "momentum_matrix": "q", "momentum": "q v", "momentum_bias": "q v", "kinetic_energy": "q v",
    "potential_energy": "q",
}  # fmt: skip
OF_A_FRAME = ("pose", "jacobian", "velocity", "bias_acceleration")
# What can vanish, and the scale that then counts: 1 mm/s and the like, times the mass for forces, momenta and energies.
VANISHING = 1e-3
KINEMATIC = ("jacobian", "velocity", "bias_acceleration", "com", "com_jacobian", "com_bias")
DYNAMIC = ("bias_force", "coriolis_force", "gravity", "momentum", "momentum_bias", "potential_energy")


# --- twins -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Twin:
    """A robot, the same robot in Pinocchio with followers as joints of their own, and two links to look at."""

    robot: eq.Robot
    model: pin.Model
    converter: convert.Converter
    links: tuple[str, str]


def twin_of_urdf(robot: eq.Robot, source: Path | str) -> Twin:
    """The twin from the same URDF file or text."""
    root = (pin.JointModelFreeFlyer(),) if robot.floating else ()
    build = pin.buildModelFromUrdf if isinstance(source, Path) else pin.buildModelFromXML
    return twin_of(robot, build(str(source), *root))


def twin_of_built_in(robot: eq.Robot) -> Twin:
    """The twin by way of a URDF that we write, without shapes: urdfdom does not know capsules."""
    links = {name: replace(link, visuals=(), collisions=()) for name, link in robot.model.links.items()}
    return twin_of_urdf(robot, write_urdf(replace(robot.model, links=links)))


def twin_of(robot: eq.Robot, model: pin.Model) -> Twin:
    """The twin in a Pinocchio model."""
    model.gravity.linear = np.array(robot.model.gravity)
    return Twin(robot, model, convert.pinocchio(robot, model), _two_links(robot))


def _two_links(robot: eq.Robot) -> tuple[str, str]:
    """The link behind most joints, and the first or last of the file, whichever is further from it."""
    depth = {name: _depth(robot.tree, robot.place(name)[0]) for name in robot.links}
    names = list(depth)
    deepest = max(depth, key=lambda name: depth[name])
    return deepest, names[0] if names.index(deepest) >= len(names) // 2 else names[-1]


def _depth(tree: Tree, body: int) -> int:
    return 0 if body < 0 else 1 + _depth(tree, tree.bodies[body].parent)


# --- comparison ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class State:
    """Numbers for all arguments, in one representation; v_mixed is v in the mixed one."""

    q: Array
    v_mixed: Array
    v: Array
    a: Array
    tau: Array
    wrenches: Array  # (links, 6)


def states_of(twin: Twin, rng: np.random.Generator, representation: str, count: int) -> list[State]:
    """Random states with a moving base."""
    q, v_mixed = random_states(twin.robot, rng, count)
    v = [in_representation(twin, *state, representation) for state in zip(q, v_mixed, strict=True)]
    a, tau = rng.normal(size=(2, count, twin.robot.nv))
    wrenches = rng.normal(size=(count, len(twin.links), 6))
    return [State(q[k], v_mixed[k], v[k], a[k], tau[k], wrenches[k]) for k in range(count)]


def errors(
    twin: Twin,
    rng: np.random.Generator,
    representation: str = "mixed",
    *,
    names: Iterable[str] = QUANTITIES,
    run: Callable[..., Array] = evaluate,
    count: int = 3,
) -> dict[str, float]:
    """Relative error of each quantity, the worst of `count` random states."""
    states = states_of(twin, rng, representation, count)
    references = [reference(twin, state, representation) for state in states]
    result = {}
    for name in names:
        pairs = zip(ours(twin, name, states, representation, run), references, strict=True)
        result[name] = max(relative_error(x, theirs[name], _least(twin, name)) for x, theirs in pairs)
    return result


def _least(twin: Twin, name: str) -> float:
    return VANISHING if name in KINEMATIC else VANISHING * twin.robot.mass if name in DYNAMIC else 1e-12


def ours(twin: Twin, name: str, states: list[State], representation: str, run: Callable[..., Array]) -> Array:
    """A quantity at all states, by Equipoise."""

    def column(key: str) -> Array:
        return np.array([getattr(state, key) for state in states])

    arguments = [column(key) for key in QUANTITIES[name].split()]
    if name == "coriolis_force":
        C = run(twin.robot, "coriolis_matrix", *arguments, representation=representation)
        return np.einsum("...ij,...j->...i", C, column("v"))
    frames: str | tuple[str, ...] | None = twin.links[0] if name in OF_A_FRAME else None
    if name.endswith(" + wrenches"):
        name, frames = name.split()[0], twin.links
        arguments += [column("wrenches")[:, k] for k in range(len(twin.links))]
    return run(twin.robot, name, *arguments, frames=frames, representation=representation)


def condition(twin: Twin, rng: np.random.Generator, count: int = 3) -> float:
    """Worst condition number of M over the states that `errors` takes from the same random numbers."""
    return max(
        float(np.linalg.cond(reference(twin, s, "mixed")["mass_matrix"])) for s in states_of(twin, rng, "mixed", count)
    )


# --- our coordinates and Pinocchio's ---------------------------------------------------------------------------------


def in_representation(twin: Twin, q: Array, v_mixed: Array, representation: str) -> Array:
    """v with its base part in `representation`."""
    if representation == "mixed" or not twin.robot.floating:
        return v_mixed
    q_pin, v_pin = twin.converter.to_peer(q, v_mixed)
    V = pin.Motion(v_pin[:6])
    if representation == "inertial":
        V = pin.XYZQUATToSE3(q_pin[:7]).act(V)
    return np.concatenate([V.vector, v_mixed[6:]])


def velocity_map(twin: Twin, q: Array, representation: str) -> Array:
    """T with v_pin = T v, for v in `representation`."""
    T = twin.converter.velocity_map(q)
    if twin.robot.floating and representation == "body":
        T[:6, :6] = np.eye(6)
    if twin.robot.floating and representation == "inertial":
        T[:6, :6] = pin.XYZQUATToSE3(twin.converter.to_peer(q)[:7]).toActionMatrixInverse()
    return T


def drift(twin: Twin, q: Array, v_mixed: Array, representation: str) -> Array:
    """a_pin at a = 0. In body and inertial representation the numbers' derivative is the spatial acceleration: none."""
    a_pin = twin.converter.acceleration_to_peer(q, v_mixed, np.zeros(twin.robot.nv))
    if twin.robot.floating and representation != "mixed":
        a_pin[:6] = 0.0
    return a_pin


# --- Pinocchio's word ------------------------------------------------------------------------------------------------


def reference(twin: Twin, state: State, representation: str) -> dict[str, Array]:
    """All quantities by Pinocchio."""
    q, v = twin.converter.to_peer(state.q, state.v_mixed)
    T = velocity_map(twin, state.q, representation)
    a = drift(twin, state.q, state.v_mixed, representation)
    forces = _external_forces(twin, q, state.wrenches, representation)
    return (
        _inverse(twin, state, q, v, a, T, forces)
        | _forward(twin, state, q, v, a, T, forces)
        | _frame(twin, q, v, a, T, representation)
        | _centre_of_mass(twin, q, v, a, T)
        | _momentum(twin, q, v, a, T)
    )


def mass_matrix(twin: Twin, q: Array, T: Array) -> Array:
    """Tᵀ M_pin T; crba fills the upper half only."""
    M = np.triu(pin.crba(twin.model, twin.model.createData(), q))
    return T.T @ (M + np.triu(M, 1).T) @ T


def _inverse(
    twin: Twin, state: State, q: Array, v: Array, a: Array, T: Array, forces: pin.StdVec_Force
) -> dict[str, Array]:
    model, data = twin.model, twin.model.createData()
    gravity = T.T @ pin.computeGeneralizedGravity(model, data, q)
    bias = T.T @ pin.rnea(model, data, q, v, a)
    a_full = T @ state.a + a
    return {
        "mass_matrix": mass_matrix(twin, q, T),
        "gravity": gravity,
        "bias_force": bias,
        "coriolis_force": bias - gravity,
        "inverse_dynamics": T.T @ pin.rnea(model, data, q, v, a_full),
        "inverse_dynamics + wrenches": T.T @ pin.rnea(model, data, q, v, a_full, forces),
    }


def _forward(
    twin: Twin, state: State, q: Array, v: Array, a: Array, T: Array, forces: pin.StdVec_Force
) -> dict[str, Array]:
    """By articulated bodies; with followers by a solution of M a = tau − bias."""
    model, data = twin.model, twin.model.createData()

    def accelerate(*external: pin.StdVec_Force) -> Array:
        if twin.robot.tree.coupled:
            bias = T.T @ pin.rnea(model, data, q, v, a, *external)
            return np.linalg.solve(mass_matrix(twin, q, T), state.tau - bias)
        tau = np.linalg.solve(T.T, state.tau)
        return np.linalg.solve(T, pin.aba(model, data, q, v, tau, *external) - a)

    return {"forward_dynamics": accelerate(), "forward_dynamics + wrenches": accelerate(forces)}


def _frame(twin: Twin, q: Array, v: Array, a: Array, T: Array, representation: str) -> dict[str, Array]:
    model, data, axes = twin.model, twin.model.createData(), REFERENCE_FRAMES[representation]
    frame = model.getFrameId(twin.links[0], pin.FrameType.BODY)
    pin.forwardKinematics(model, data, q, v, a)
    pin.updateFramePlacements(model, data)
    acceleration = pin.getFrameClassicalAcceleration if representation == "mixed" else pin.getFrameAcceleration
    return {
        "pose": data.oMf[frame].homogeneous.copy(),
        "velocity": pin.getFrameVelocity(model, data, frame, axes).vector,
        "bias_acceleration": acceleration(model, data, frame, axes).vector,
        "jacobian": _rows(6, pin.computeFrameJacobian(model, model.createData(), q, frame, axes)) @ T,
    }


def _centre_of_mass(twin: Twin, q: Array, v: Array, a: Array, T: Array) -> dict[str, Array]:
    """Pinocchio leaves links that are fixed to the world out of its sums; we count them."""
    model, data, fixed = twin.model, twin.model.createData(), twin.model.inertias[0]
    moving = pin.computeTotalMass(model)
    share = moving / (moving + fixed.mass)
    pin.centerOfMass(model, data, q, v, a)
    lifted = pin.computePotentialEnergy(model, model.createData(), q)
    return {
        "com": share * data.com[0] + (1 - share) * fixed.lever,
        "com_jacobian": share * _rows(3, pin.jacobianCenterOfMass(model, model.createData(), q)) @ T,
        "com_bias": share * data.acom[0],
        "potential_energy": lifted - fixed.mass * model.gravity.linear @ fixed.lever,
        "kinetic_energy": np.array(pin.computeKineticEnergy(model, model.createData(), q, v)),
    }


def _momentum(twin: Twin, q: Array, v: Array, a: Array, T: Array) -> dict[str, Array]:
    """About our centre of mass, which links that are fixed to the world draw away from Pinocchio's."""
    model, data, fixed = twin.model, twin.model.createData(), twin.model.inertias[0]
    pin.ccrba(model, data, q, v)
    moving = pin.computeTotalMass(model)
    away = (data.com[0] - fixed.lever) * fixed.mass / (moving + fixed.mass)
    shift = pin.SE3(np.eye(3), away).toDualActionMatrix()
    matrix, momentum = shift @ _rows(6, data.Ag) @ T, shift @ data.hg.vector
    rate = pin.computeCentroidalMomentumTimeVariation(model, data, q, v, a).vector
    return {"momentum_matrix": matrix, "momentum": momentum, "momentum_bias": shift @ rate}


def _rows(count: int, matrix: Array) -> Array:
    """A matrix as a matrix: of one column, Pinocchio's bindings make a vector."""
    return np.asarray(matrix).reshape(count, -1)


def _external_forces(twin: Twin, q: Array, wrenches: Array, representation: str) -> pin.StdVec_Force:
    """Wrenches on the links, in `representation`, as forces on the joints in their own axes."""
    model, data = twin.model, twin.model.createData()
    pin.framesForwardKinematics(model, data, q)
    forces = [pin.Force.Zero() for _ in range(model.njoints)]
    for name, wrench in zip(twin.links, wrenches, strict=True):
        number = model.getFrameId(name, pin.FrameType.BODY)
        frame, X_WF = model.frames[number], data.oMf[number]
        axes = {"mixed": pin.SE3(X_WF.rotation, np.zeros(3)), "body": pin.SE3.Identity(), "inertial": X_WF}
        forces[frame.parentJoint] += frame.placement.act(axes[representation].actInv(pin.Force(wrench)))
    return pin.StdVec_Force(forces)
