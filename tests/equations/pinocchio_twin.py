"""Every quantity of a robot as Pinocchio computes it, carried to our coordinates."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pinocchio as pin
from support import Array, evaluate, random_states, relative_error

import equipoise as eq
from equipoise import convert
from equipoise.model.tree import Tree

REFERENCE_FRAMES = {"mixed": pin.LOCAL_WORLD_ALIGNED, "body": pin.LOCAL, "inertial": pin.WORLD}
# quantity → its arguments; "coriolis_force" is coriolis_matrix @ v, and "+ wrenches" applies wrenches to two frames
QUANTITIES = {
    "mass_matrix": "q", "bias_force": "q v", "coriolis_force": "q v", "gravity": "q", "inverse_dynamics": "q v a",
    "inverse_dynamics + wrenches": "q v a", "forward_dynamics": "q v tau", "forward_dynamics + wrenches": "q v tau",
    "pose": "q", "jacobian": "q", "velocity": "q v", "bias_acceleration": "q v", "com": "q", "com_jacobian": "q",
    "com_bias": "q v", "momentum_matrix": "q", "momentum": "q v", "momentum_bias": "q v", "kinetic_energy": "q v",
    "potential_energy": "q",
}  # fmt: skip


@dataclass(frozen=True)
class Twin:
    """A robot, and the same robot in Pinocchio with followers as joints of their own."""

    robot: eq.Robot
    model: pin.Model
    frames: tuple[str, ...]

    @property
    def converter(self) -> convert.Converter:
        return convert.pinocchio_converter(self.robot, self.model)


def twin_of_urdf(robot: eq.Robot, source: Path | str) -> Twin:
    """The twin from the same URDF file or text."""
    root = (pin.JointModelFreeFlyer(),) if robot.floating else ()
    build = pin.buildModelFromUrdf if isinstance(source, Path) else pin.buildModelFromXML
    return twin_of(robot, build(str(source), *root))


def twin_of(robot: eq.Robot, model: pin.Model) -> Twin:
    """The twin in a Pinocchio model."""
    model.gravity.linear = np.array(robot.model.gravity)
    return Twin(robot, model, two_links(robot))


def two_links(robot: eq.Robot) -> tuple[str, ...]:
    """The link behind most joints, and the one furthest from it in the file."""
    depth = {name: _depth(robot.tree, robot.place(name)[0]) for name in robot.links}
    names = list(depth)
    deepest = max(depth, key=lambda name: depth[name])
    other = names[0] if names.index(deepest) > len(names) // 2 else names[-1]
    return deepest, other


def _depth(tree: Tree, body: int) -> int:
    return 0 if body < 0 else 1 + _depth(tree, tree.bodies[body].parent)


@dataclass(frozen=True)
class State:
    """Numbers for the arguments, in one representation."""

    q: Array
    v: Array
    a: Array
    tau: Array
    wrenches: Array  # (frames, 6)


def errors(twin: Twin, rng: np.random.Generator, representation: str = "mixed", states: int = 3) -> dict[str, float]:
    """Relative error of each quantity, the worst of some random states."""
    q, v_mixed = random_states(twin.robot, rng, states)
    a, tau = rng.normal(size=(2, states, twin.robot.nv))
    wrenches = rng.normal(size=(states, len(twin.frames), 6)) * twin.robot.mass
    v = np.array([_in_representation(twin, *state, representation) for state in zip(q, v_mixed, strict=True)])
    tau = tau * twin.robot.mass
    batch = State(q, v, a, tau, wrenches)
    references = [
        reference(twin, State(q[k], v[k], a[k], tau[k], wrenches[k]), v_mixed[k], representation) for k in range(states)
    ]
    ours = {name: _ours(twin, name, batch, representation) for name in QUANTITIES}
    return {
        name: max(relative_error(values[k], references[k][name]) for k in range(states)) for name, values in ours.items()
    }


def _ours(twin: Twin, name: str, state: State, representation: str) -> Array:
    robot, arguments = twin.robot, [getattr(state, key) for key in QUANTITIES[name].split()]
    options = dict(representation=representation)
    if name == "coriolis_force":
        C = evaluate(robot, "coriolis_matrix", *arguments, **options)
        return np.einsum("...ij,...j->...i", C, state.v)
    if name.endswith(" + wrenches"):
        wrenches = np.moveaxis(state.wrenches, -2, 0)
        return evaluate(robot, name.split()[0], *arguments, *wrenches, frames=twin.frames, **options)
    if name in ("pose", "jacobian", "velocity", "bias_acceleration"):
        options["frames"] = twin.frames[0]
    return evaluate(robot, name, *arguments, **options)


def _in_representation(twin: Twin, q: Array, v_mixed: Array, representation: str) -> Array:
    """v with its base part in `representation`, by Pinocchio's own action of a pose on a twist."""
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


def reference(twin: Twin, state: State, v_mixed: Array, representation: str) -> dict[str, Array]:
    """All quantities by Pinocchio."""
    model, data = twin.model, twin.model.createData()
    q_pin, v_pin = twin.converter.to_peer(state.q, v_mixed)
    T = velocity_map(twin, state.q, representation)
    a_pin = drift(twin, state.q, v_mixed, representation)
    M = pin.crba(model, data, q_pin, pin.Convention.WORLD)
    M = T.T @ (np.triu(M) + np.triu(M, 1).T) @ T
    gravity = T.T @ pin.computeGeneralizedGravity(model, data, q_pin)
    bias = T.T @ pin.rnea(model, data, q_pin, v_pin, a_pin)
    external = external_forces(twin, q_pin, state.wrenches, representation)
    a_full = T @ state.a + a_pin
    pushed = T.T @ (pin.rnea(model, data, q_pin, v_pin, a_pin, external))
    result = {
        "mass_matrix": M,
        "bias_force": bias,
        "coriolis_force": bias - gravity,
        "gravity": gravity,
        "inverse_dynamics": T.T @ pin.rnea(model, data, q_pin, v_pin, a_full),
        "inverse_dynamics + wrenches": T.T @ pin.rnea(model, data, q_pin, v_pin, a_full, external),
    }
    for name, force, forces in (("forward_dynamics", bias, None), ("forward_dynamics + wrenches", pushed, external)):
        if twin.robot.tree.coupled:
            result[name] = np.linalg.solve(M, state.tau - force)
        else:
            tau_pin = np.linalg.solve(T.T, state.tau)
            a = pin.aba(model, data, q_pin, v_pin, tau_pin, *(() if forces is None else (forces,)))
            result[name] = np.linalg.solve(T, a - a_pin)
    return result | _motion(twin, q_pin, v_pin, a_pin, T, representation) | _whole(twin, q_pin, v_pin, a_pin, T)


def _motion(twin: Twin, q: Array, v: Array, a: Array, T: Array, representation: str) -> dict[str, Array]:
    """Of the first frame."""
    model, data, axes = twin.model, twin.model.createData(), REFERENCE_FRAMES[representation]
    frame = model.getFrameId(twin.frames[0], pin.FrameType.BODY)
    pin.forwardKinematics(model, data, q, v, a)
    pin.updateFramePlacements(model, data)
    accelerate = pin.getFrameClassicalAcceleration if representation == "mixed" else pin.getFrameAcceleration
    return {
        "pose": data.oMf[frame].homogeneous.copy(),
        "jacobian": pin.computeFrameJacobian(model, data, q, frame, axes) @ T,
        "velocity": pin.getFrameVelocity(model, data, frame, axes).vector,
        "bias_acceleration": accelerate(model, data, frame, axes).vector,
    }


def _whole(twin: Twin, q: Array, v: Array, a: Array, T: Array) -> dict[str, Array]:
    """Of the robot as a whole. Pinocchio leaves links that are fixed to the world out of its sums; we count them."""
    model, data = twin.model, twin.model.createData()
    moving, fixed = pin.computeTotalMass(model), model.inertias[0]
    share = moving / (moving + fixed.mass)
    pin.centerOfMass(model, data, q, v, a)
    com = (moving * data.com[0] + fixed.mass * fixed.lever) / (moving + fixed.mass)
    com_bias = share * data.acom[0].copy()
    pin.computeCentroidalMomentumTimeVariation(model, data, q, v, a)
    rate = data.dhg.vector.copy()
    result = {
        "com": com,
        "com_jacobian": share * pin.jacobianCenterOfMass(model, data, q) @ T,
        "com_bias": com_bias,
        "momentum_bias": rate,
        "kinetic_energy": np.array(pin.computeKineticEnergy(model, data, q, v)),
        "potential_energy": pin.computePotentialEnergy(model, data, q) - fixed.mass * model.gravity.linear @ fixed.lever,
    }
    pin.ccrba(model, data, q, v)
    return result | {"momentum_matrix": data.Ag @ T, "momentum": data.hg.vector.copy()}


def external_forces(twin: Twin, q: Array, wrenches: Array, representation: str) -> pin.StdVec_Force:
    """Wrenches on the frames, in `representation`, as forces on the joints in their own axes."""
    model, data = twin.model, twin.model.createData()
    pin.framesForwardKinematics(model, data, q)
    forces = [pin.Force.Zero() for _ in range(model.njoints)]
    for name, wrench in zip(twin.frames, wrenches, strict=True):
        frame = model.frames[model.getFrameId(name, pin.FrameType.BODY)]
        X_WF = data.oMf[model.getFrameId(name, pin.FrameType.BODY)]
        axes = {"mixed": pin.SE3(X_WF.rotation, np.zeros(3)), "body": pin.SE3.Identity(), "inertial": X_WF}
        forces[frame.parentJoint] += frame.placement.act(axes[representation].actInv(pin.Force(wrench)))
    return pin.StdVec_Force(forces)
