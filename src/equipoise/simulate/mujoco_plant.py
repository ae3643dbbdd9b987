"""The MuJoCo plant: the same robot, contacts and obstacles in an independent physics engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np

from ..algebra.arrays import finite
from ..errors import ModelError, StateError, unknown_name
from .contacts import FRICTION, ContactInfo, contacts_of, cross
from .mujoco_model import Physics, build, import_mujoco, layout
from .plant import NO_WRENCHES, PlantState, Wrenches, checked_state
from .world import GROUND, Solid, moves, placed, reference, solids

if TYPE_CHECKING:
    from ..robot import Robot

Array = np.ndarray
COLLISIONS = ("contacts", "links", "hulls")


class MujocoPlant:
    """A robot in MuJoCo, built from our model, with the implicit integrator and elliptic friction cones.

    Args:
        contacts: frames or points that may touch, see `contacts_of`; if there are none, the links' collision shapes
            touch.
        ground: a plane, True for z = 0, None for no ground.
        obstacles: Plane, Sphere, Capsule and Box; moving ones push but do not drag.
        friction: replaces the friction of all contacts.
        substeps: MuJoCo steps in one step of the plant.
        physics: fields of `Physics`: armature, damping, joint_friction, joint_limits, collision, self_collision,
            solref,
            solimp.

    `model` and `data` are MuJoCo's objects; they are created at the first step, when the time step is known.
    """

    contacts: dict[str, ContactInfo]
    world: tuple[Solid, ...]
    robot: Robot
    substeps: int
    physics: Physics

    def __init__(
        self,
        robot: Robot,
        contacts: Any = (),
        *,
        ground: Any = GROUND,
        obstacles: Sequence[Any] = (),
        friction: float | None = None,
        substeps: int = 1,
        **physics: Any,
    ) -> None:
        known = [f.name for f in fields(Physics)]
        for name in physics:
            if name not in known:
                raise unknown_name(
                    "option of the mujoco plant", name, ["ground", "obstacles", "friction", "substeps", *known]
                )
        if physics.get("collision", "contacts") not in COLLISIONS:
            raise unknown_name("kind of collision", physics["collision"], COLLISIONS)
        self._mujoco = import_mujoco()
        self.robot, self.substeps = robot, int(substeps)
        self.contacts = contacts_of(robot, contacts, friction)
        self.world = solids(obstacles, ground)
        if "collision" not in physics and not self.contacts:
            physics["collision"] = "links"
        self.physics, self._friction = Physics(**physics), FRICTION if friction is None else friction
        self._timestep = 0.0
        self.model: Any = None
        self.data: Any = None
        self._start = robot.neutral(), np.zeros(robot.nv)

    def prepare(self, dt: float) -> None:
        """Builds MuJoCo's model for time step dt; repeated only when dt changes."""
        mujoco = self._mujoco
        spec, _ = build(self.robot, self.contacts, self.world, self.physics, dt / self.substeps, self._friction)
        try:
            self.model, self._timestep = spec.compile(), dt
        except ValueError as error:  # e.g. a mass or an inertia below MuJoCo's minimum, 1e-15
            raise ModelError(f"MuJoCo refuses {self.robot.name}: {' '.join(str(error).split())}") from error
        self.data = mujoco.MjData(self.model)
        if mujoco.get_mju_user_warning() is None:
            mujoco.set_mju_user_warning(_no_log)  # otherwise MuJoCo writes a log file into the current folder
        places = layout(self.robot, self.model)
        self._q, self._peer_q = np.array(places.q, dtype=int), np.array(places.peer_q, dtype=int)
        self._v, self._peer_v = np.array(places.v, dtype=int), np.array(places.peer_v, dtype=int)
        self._spins = places.spins
        self._find_sensors()
        self._movers = [
            (
                int(self.model.body(f"solid {k}").mocapid[0]),
                s,
                self.model.body_quat[self.model.body(f"solid {k}").id].copy(),
            )
            for k, s in enumerate(self.world)
            if moves(s)
        ]
        self._bodies = {f: self._body_of(f) for f in self.robot.frames}
        self._place()

    def _find_sensors(self) -> None:
        """Finds the sensor addresses of contact points and origins, and the contact of each point."""
        points = [
            (k, f"{name}/{i}") for k, (name, info) in enumerate(self.contacts.items()) for i in range(len(info.points))
        ]
        start = [self.model.sensor(f"force {point}").adr[0] for _, point in points]
        self._felt = np.array(start, dtype=int)[:, None] + np.arange(9)
        at = [self.model.sensor(f"origin {list(self.contacts)[k]}").adr[0] for k, _ in points]
        self._origins = np.array(at, dtype=int)[:, None] + np.arange(3)  # one row per point
        self._sums = np.zeros((len(self.contacts), len(points)))
        # sensors report the force of the robot on the world
        self._sums[[k for k, _ in points], np.arange(len(points))] = -1.0

    def _body_of(self, frame: str) -> tuple[int, Array]:
        index, X = self.robot.place(frame)
        body = 0 if index < 0 else self.model.body(self.robot.tree.bodies[index].name).id
        return body, X[:3, 3]

    # --- state ----------------------------------------------------------------------------------------------------

    def reset(self, q: Array, v: Array) -> PlantState:
        """Resets the plant to a state at time 0."""
        self._start = checked_state(self.robot, q, v)
        self._place()
        return PlantState(*self._start, 0.0)

    def _place(self) -> None:
        """Copies the initial state into MuJoCo."""
        if self.data is None:
            return
        mujoco = self._mujoco
        q, v = self._start
        mujoco.mj_resetData(self.model, self.data)
        self.data.qpos[self._peer_q], self.data.qvel[self._peer_v] = q[self._q], v[self._v]
        for ours, theirs, _, quaternion in self._spins:
            self._to_child(self.data.qvel, theirs, v[ours : ours + 3], self.data.qpos[quaternion : quaternion + 4])
        for joint in self.robot.joints.values():  # MuJoCo has coordinates for mimic joints
            if joint.mimic is not None:
                peer = self.model.joint(joint.name)
                self.data.qpos[peer.qposadr[0]] = joint.mimic.multiplier * q[joint.q][0] + joint.mimic.offset
                self.data.qvel[peer.dofadr[0]] = joint.mimic.multiplier * v[joint.v][0]

    def _to_child(self, target: Array, at: int, vector: Array, quaternion: Array) -> None:
        """Writes a world vector in the axes of a free body."""
        mujoco = self._mujoco
        inverse, out = quaternion * (1.0, -1.0, -1.0, -1.0), np.empty(3)
        mujoco.mju_rotVecQuat(out, vector, inverse)
        target[at : at + 3] = out

    def _state(self) -> tuple[Array, Array]:
        mujoco, data = self._mujoco, self.data
        q, v = np.empty(self.robot.nq), np.empty(self.robot.nv)
        q[self._q], v[self._v] = data.qpos[self._peer_q], data.qvel[self._peer_v]
        for ours, _, quaternion, _ in self._spins:
            spin = np.empty(3)
            mujoco.mju_rotVecQuat(spin, v[ours : ours + 3], q[quaternion : quaternion + 4])
            v[ours : ours + 3] = spin
        return q, v

    # --- a step ---------------------------------------------------------------------------------------------------

    def step(self, tau: Array, dt: float, wrenches: Wrenches = NO_WRENCHES) -> PlantState:
        """Advances by dt under constant tau and pushes."""
        if dt != self._timestep:
            since = 0.0 if self.data is None else self.data.time
            if since > 0:
                self._start = self._state()
            self.prepare(dt)
            self.data.time = since
        mujoco, data = self._mujoco, self.data
        self._apply(np.asarray(tau, dtype=float), wrenches)
        total = np.zeros((len(self.contacts), 6))
        before = data.time
        for _ in range(self.substeps):
            if self._movers:
                self._move_obstacles()
            mujoco.mj_step(self.model, data)
            total += self._measured()
        q, v = self._state()
        t = float(data.time)
        if not (t > before and finite(q, v)):  # MuJoCo resets itself when it diverges
            raise StateError("the motion is no longer finite")
        return PlantState(q, v, t, dict(zip(self.contacts, total / self.substeps, strict=True)))

    def _apply(self, tau: Array, wrenches: Wrenches) -> None:
        data = self.data
        data.qfrc_applied[self._peer_v] = tau[self._v]
        for ours, theirs, _, quaternion in self._spins:
            if tau[ours : ours + 3].any():
                self._to_child(data.qfrc_applied, theirs, tau[ours : ours + 3], data.qpos[quaternion : quaternion + 4])
        if wrenches or self._pushed:
            data.xfrc_applied[:] = 0.0
            self._push(wrenches)

    _pushed = False

    def _push(self, wrenches: Wrenches) -> None:
        """Applies wrenches at frames, moved to the centres of mass of their bodies."""
        mujoco = self._mujoco
        data = self.data
        self._pushed = bool(wrenches)
        if wrenches:
            mujoco.mj_kinematics(self.model, data)
            mujoco.mj_comPos(self.model, data)
        for frame, wrench in wrenches.items():
            body, place = self._bodies[frame]
            arm = data.xpos[body] + data.xmat[body].reshape(3, 3) @ place - data.xipos[body]
            data.xfrc_applied[body, :3] += wrench[:3]
            data.xfrc_applied[body, 3:] += wrench[3:] + np.cross(arm, wrench[:3])

    def _move_obstacles(self) -> None:
        mujoco = self._mujoco
        data = self.data
        for mocap, solid, start in self._movers:
            R, shift, _ = placed(solid, data.time)
            data.mocap_pos[mocap] = reference(solid) + shift
            turn = np.empty(4)
            mujoco.mju_mat2Quat(turn, R.ravel())
            mujoco.mju_mulQuat(data.mocap_quat[mocap], turn, start)

    def _measured(self) -> Array:
        """Returns the wrench of each contact at its frame's origin, world axes, from the solver's forces of the last
        step."""
        sensors = self.data.sensordata
        felt = sensors[self._felt]  # for each point: force, torque, place
        felt[:, 3:6] += cross(felt[:, 6:] - sensors[self._origins], felt[:, :3])
        return self._sums @ felt[:, :6]


def _no_log(text: str) -> None:
    """Ignores MuJoCo's warning: a step that diverges raises an error of ours."""
