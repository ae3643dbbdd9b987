"""Converts a robot and its world to a MuJoCo model: explicit inertias, contact points as tiny spheres, obstacles as
geoms."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ..algebra import quaternions, rigid
from ..errors import ModelError, missing_package
from ..geometry.primitives import Capsule, Plane, Sphere
from ..model.meshes import read_mesh
from ..model.tree import MovingBody
from ..model.types import Shape
from .contacts import ContactInfo
from .world import Box, Solid, moves, reference

if TYPE_CHECKING:
    from ..robot import Robot

POINT = 1e-6  # m, radius of the sphere for a contact point; small enough not to shift the contact
SOLREF = (0.005, 1.0)  # time constant and damping ratio of contacts
SOLIMP = (0.98, 0.999, 0.001, 0.5, 2.0)
MIMIC_SOLIMP = (0.9999, 0.99999, 0.001, 0.5, 2.0)  # as close to an exact coupling as MuJoCo allows
NEXT_TO_NOTHING = 1e-7  # × mass of the bodies it carries; mass of a massless link, which MuJoCo requires
LEAST_MOMENT = 1e-9  # m², smallest moment of inertia per kilogram
NET_FORCE = 3  # option of MuJoCo's contact sensor: report the net force on a geom and its point of application
JOINT_KINDS = "revolute, continuous, prismatic, ball, planar and floating (in the world) joints"


@dataclass(frozen=True)
class Physics:
    """How MuJoCo shall treat the model.

    Attributes:
        armature: whether to use the description's rotor inertias; None: as in the robot's own equations
            (`with_armature`).
        damping, joint_friction: whether joints have the description's damping and friction.
        springs: whether joints have the description's springs.
        joint_limits: whether joints have position limits.
        collision: "contacts": only contact points touch the world; "links": all collision shapes except meshes touch
            it;
            "hulls": meshes touch it too, as convex hulls.
        self_collision: for "links" and "hulls": whether links collide with each other.
        solref, solimp: MuJoCo's contact parameters.
    """

    armature: bool | None = None
    damping: bool = False
    joint_friction: bool = False
    springs: bool = True
    joint_limits: bool = True
    collision: str = "contacts"
    self_collision: bool = False
    solref: Sequence[float] = SOLREF
    solimp: Sequence[float] = SOLIMP


@dataclass
class MujocoIndices:
    """Index maps between our coordinates and MuJoCo's; angular velocities of free joints need a rotation."""

    q: list[int] = field(default_factory=list)  # our indices
    peer_q: list[int] = field(default_factory=list)
    v: list[int] = field(default_factory=list)
    peer_v: list[int] = field(default_factory=list)
    # of angular velocities of free joints: index in our v, in MuJoCo's v, of the quaternion in our q, in MuJoCo's q
    spins: list[tuple[int, int, int, int]] = field(default_factory=list)

    def add(self, q: range, peer_q: range, v: range, peer_v: range) -> None:
        for mine, new in ((self.q, q), (self.peer_q, peer_q), (self.v, v), (self.peer_v, peer_v)):
            mine.extend(new)


def import_mujoco() -> Any:
    """Returns the module mujoco; raises an error with the install command if it is missing."""
    try:
        import mujoco
    except ImportError:
        raise missing_package("mujoco", "mujoco", "the MuJoCo plant") from None
    return mujoco


def build(
    robot: Robot,
    contacts: Mapping[str, ContactInfo],
    world: Sequence[Solid],
    physics: Physics,
    timestep: float,
    friction: float,
) -> tuple[Any, dict[str, Any]]:
    """Returns (MuJoCo's specification, its bodies by our joint name); the caller may change it before compiling."""
    mujoco = import_mujoco()
    spec = mujoco.MjSpec()
    spec.modelname = robot.name
    spec.compiler.degree = False
    spec.compiler.autolimits = False
    spec.compiler.balanceinertia = False
    spec.compiler.boundmass = spec.compiler.boundinertia = 0.0
    option = spec.option
    option.timestep, option.gravity = timestep, robot.tree.gravity
    option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    option.impratio = 10.0  # friction that holds without creep
    bodies = _bodies(spec, robot, physics)
    _mimics(spec, robot)
    _loops(spec, robot, bodies)
    if physics.collision != "contacts":
        _links(spec, robot, bodies, physics, friction)
    _points(spec, robot, bodies, contacts, physics)
    for k, solid in enumerate(world):
        _solid(spec, k, solid, physics)
    return spec, {body.name: made for body, made in zip(robot.tree.bodies, bodies, strict=True)}


def layout(robot: Robot, model: Any) -> MujocoIndices:
    """Returns the index maps of all joints of the compiled model."""
    result = MujocoIndices()
    for body in robot.tree.bodies:
        if robot.model.joints[body.name].mimic is not None:
            continue
        first = f"{body.name}/x" if body.joint.name == "planar" else body.name
        joint = model.joint(first)
        nq, nv = body.joint.nq, body.joint.nv
        iq, iv = int(joint.qposadr[0]), int(joint.dofadr[0])
        q, v = range(body.q.start, body.q.start + nq), range(body.v.start, body.v.start + nv)
        result.add(q, range(iq, iq + nq), v, range(iv, iv + nv))
        if body.joint.name == "floating":
            result.spins.append((body.v.start + 3, iv + 3, body.q.start + 3, iq + 3))
    return result


# --- bodies and joints ------------------------------------------------------------------------------------------------


def _bodies(spec: Any, robot: Robot, physics: Physics) -> list[Any]:
    """Adds one MuJoCo body for each moving body of the tree, in its order."""
    made: list[Any] = []
    carried = [body.mass for body in robot.tree.bodies]
    for k, body in reversed(list(enumerate(robot.tree.bodies))):
        if body.parent >= 0:
            carried[body.parent] += carried[k]
    for k, body in enumerate(robot.tree.bodies):
        parent = spec.worldbody if body.parent < 0 else made[body.parent]
        own = parent.add_body(name=body.name, pos=body.p, quat=quaternions.from_rotation(body.R))
        made.append(own)
        _inertia(own, body, carried[k])
        _joint(own, body, robot, physics)
    return made


def _inertia(own: Any, body: MovingBody, carried: float) -> None:
    """Sets the mass properties of a body; `carried` is the mass of all bodies on it, kg."""
    if body.mass <= 0 < carried:
        own.explicitinertial = True
        own.mass, own.inertia = NEXT_TO_NOTHING * carried, np.full(3, LEAST_MOMENT * carried)
        return
    if body.mass <= 0:
        raise ModelError(
            f"the body moved by joint {body.name!r} has no mass: MuJoCo cannot move it. Lock the joint, or give it mass"
        )
    com = body.h / body.mass
    about = body.I + body.mass * rigid.skew(com) @ rigid.skew(com)
    moments, axes = np.linalg.eigh((about + about.T) / 2)
    axes[:, 2] *= np.sign(np.linalg.det(axes))
    # MuJoCo requires positive moments that satisfy the triangle inequality, which point masses violate.
    moments = np.maximum(moments, LEAST_MOMENT * body.mass)
    moments[2] = min(moments[2], moments[0] + moments[1])
    own.explicitinertial = True
    own.mass, own.ipos, own.inertia = body.mass, com, moments
    own.iquat = quaternions.from_rotation(axes)


def _joint(own: Any, body: MovingBody, robot: Robot, physics: Physics) -> None:
    mujoco = import_mujoco()
    kinds = {"revolute": "HINGE", "continuous": "HINGE", "prismatic": "SLIDE", "ball": "BALL", "floating": "FREE"}
    if body.joint.name == "floating":
        _require_world(body)
        own.add_freejoint(name=body.name)
    elif body.joint.name == "planar":
        for letter, kind, axis in zip("xya", ("SLIDE", "SLIDE", "HINGE"), np.eye(3), strict=True):
            kind = getattr(mujoco.mjtJoint, f"mjJNT_{kind}")
            own.add_joint(name=f"{body.name}/{letter}", type=kind, axis=axis, armature=body.armature)
    elif body.joint.name in kinds:
        joint = own.add_joint(name=body.name, type=getattr(mujoco.mjtJoint, f"mjJNT_{kinds[body.joint.name]}"))
        if body.joint.nv == 1:
            mimic = robot.model.joints[body.name].mimic
            sense = (
                body.multiplier * (1.0 if mimic is None else mimic.multiplier) or 1.0
            )  # direction of the axis alone, without the leader's factor
            joint.axis = np.sign(sense) * np.array(body.joint.axis)  # type: ignore[attr-defined]
        _resistance(joint, body, robot, physics)
    else:
        raise ModelError(f"joint {body.name!r} is {body.joint.name}, which MuJoCo has not; it has {JOINT_KINDS}")


def _resistance(joint: Any, body: MovingBody, robot: Robot, physics: Physics) -> None:
    """Sets armature, damping, friction and limits of a joint, as the options say."""
    ours = robot.model.joints[body.name]
    joint.armature = body.armature if physics.armature is None else ours.dynamics.armature * physics.armature
    joint.damping = np.array([ours.dynamics.damping * physics.damping, 0.0, 0.0])
    joint.frictionloss = ours.dynamics.friction * physics.joint_friction
    if physics.springs and body.joint.nv == 1:
        joint.stiffness, joint.springref = np.array([ours.dynamics.stiffness, 0.0, 0.0]), ours.dynamics.rest
    low, high = ours.limits.lower, ours.limits.upper
    if (
        physics.joint_limits
        and body.joint.name in ("revolute", "prismatic")
        and np.isfinite([low, high]).all()
        and low < high
    ):
        joint.limited, joint.range = 1, [low, high]


def _require_world(body: MovingBody) -> None:
    if body.parent >= 0 or not np.allclose(body.R, np.eye(3), atol=1e-12) or np.abs(body.p).max() > 1e-12:
        raise ModelError(
            f"joint {body.name!r} floats from a place other than the world's origin, which MuJoCo cannot say. "
            "Let it float in the world: parent None, placement the identity."
        )


def _mimics(spec: Any, robot: Robot) -> None:
    """Couples mimic joints to their leaders by equality constraints, which are stiff but not exact."""
    mujoco = import_mujoco()
    for joint in robot.joints.values():
        if joint.mimic is not None:
            tie = spec.add_equality(name=f"mimic {joint.name}", type=mujoco.mjtEq.mjEQ_JOINT)
            tie.objtype = mujoco.mjtObj.mjOBJ_JOINT
            tie.name1, tie.name2 = joint.name, joint.mimic.leader
            tie.data[:5] = [joint.mimic.offset, joint.mimic.multiplier, 0.0, 0.0, 0.0]
            tie.solref, tie.solimp = SOLREF, MIMIC_SOLIMP


def _loops(spec: Any, robot: Robot, bodies: Sequence[Any]) -> None:
    """Closes kinematic loops by equality constraints between sites or joints, which are stiff but not exact."""
    mujoco = import_mujoco()
    for loop in robot.model.loops.values():
        tie = spec.add_equality(name=f"loop {loop.name}", solref=SOLREF, solimp=MIMIC_SOLIMP)
        if loop.kind == "joint":
            tie.type, tie.objtype = mujoco.mjtEq.mjEQ_JOINT, mujoco.mjtObj.mjOBJ_JOINT
            tie.name1, tie.name2 = loop.joint_a, loop.joint_b or ""
            tie.data[:5] = [*loop.polynomial, *[0.0] * (5 - len(loop.polynomial))]
            continue
        tie.type = mujoco.mjtEq.mjEQ_CONNECT if loop.kind == "connect" else mujoco.mjtEq.mjEQ_WELD
        tie.objtype = mujoco.mjtObj.mjOBJ_SITE
        ends = [
            _site(spec, robot, bodies, frame, f"loop {loop.name} {end}")
            for frame, end in ((loop.frame_a, "a"), (loop.frame_b, "b"))
        ]
        tie.name1, tie.name2 = ends


def _site(spec: Any, robot: Robot, bodies: Sequence[Any], frame: Any, name: str) -> str:
    """Adds a site at a frame and returns its name."""
    index, X = (-1, np.eye(4)) if frame.parent is None else robot.place(frame.parent)
    X = X @ frame.X
    owner = spec.worldbody if index < 0 else bodies[index]
    owner.add_site(name=name, pos=X[:3, 3], quat=quaternions.from_rotation(X[:3, :3]))
    return name


# --- what can touch ---------------------------------------------------------------------------------------------------


def _points(
    spec: Any, robot: Robot, bodies: Sequence[Any], contacts: Mapping[str, ContactInfo], physics: Physics
) -> None:
    mujoco = import_mujoco()
    for name, info in contacts.items():
        index, X = robot.place(info.frame)
        owner = spec.worldbody if index < 0 else bodies[index]
        for k, point in enumerate(info.points):
            geom = owner.add_geom(name=f"{name}/{k}", type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[POINT, 0, 0])
            geom.pos = X[:3, :3] @ point + X[:3, 3]
            _touches(geom, physics, friction=info.friction)
            _feels(spec, geom.name)
        owner.add_site(name=f"origin {name}", pos=X[:3, 3])
        place = spec.add_sensor(name=f"origin {name}", type=mujoco.mjtSensor.mjSENS_FRAMEPOS)
        place.objtype, place.objname = mujoco.mjtObj.mjOBJ_SITE, f"origin {name}"


def _feels(spec: Any, point: str) -> None:
    """Adds a sensor of the force and torque of a contact point, and of the place where they act."""
    mujoco = import_mujoco()
    field = mujoco.mjtConDataField
    reported = (field.mjCONDATA_FORCE, field.mjCONDATA_TORQUE, field.mjCONDATA_POS)
    sensor = spec.add_sensor(name=f"force {point}", type=mujoco.mjtSensor.mjSENS_CONTACT)
    sensor.objtype, sensor.objname = mujoco.mjtObj.mjOBJ_GEOM, point
    sensor.intprm[:3] = sum(1 << int(one) for one in reported), NET_FORCE, 1


def _links(spec: Any, robot: Robot, bodies: Sequence[Any], physics: Physics, friction: float) -> None:
    """Adds the collision shapes of links; meshes only as convex hulls."""
    mujoco = import_mujoco()
    sizes: dict[str, tuple[str, Callable[..., list[float]]]] = {
        "box": ("BOX", lambda x, y, z: [x / 2, y / 2, z / 2]),
        "sphere": ("SPHERE", lambda r: [r, 0, 0]),
        "cylinder": ("CYLINDER", lambda r, length: [r, length / 2, 0]),
        "capsule": ("CAPSULE", lambda r, length: [r, length / 2, 0]),
        "ellipsoid": ("ELLIPSOID", lambda x, y, z: [x, y, z]),
    }
    for link in robot.links.values():
        index, X = robot.place(link.name)
        for k, shape in enumerate(link.collisions if index >= 0 else ()):
            name, pose = f"link {link.name}/{k}", X @ shape.X
            if shape.kind in sizes:
                kind, size = sizes[shape.kind]
                geom = bodies[index].add_geom(name=name, type=getattr(mujoco.mjtGeom, f"mjGEOM_{kind}"))
                geom.size = size(*shape.size)
            elif shape.kind == "mesh" and physics.collision == "hulls" and _hull(spec, shape, name):
                geom = bodies[index].add_geom(name=name, type=mujoco.mjtGeom.mjGEOM_MESH, meshname=name)
            else:
                continue
            geom.pos, geom.quat = pose[:3, 3], quaternions.from_rotation(pose[:3, :3])
            _touches(geom, physics, friction=friction)


def _hull(spec: Any, shape: Shape, name: str) -> bool:
    """Adds the convex hull of a mesh; returns False if its file is missing or it is flat."""
    try:
        points = read_mesh(str(shape.mesh))[0] * np.array(shape.size)
    except ModelError:
        return False
    if np.linalg.matrix_rank(points - points.mean(axis=0), tol=1e-6) < 3:
        return False
    mesh = spec.add_mesh(name=name, inertia=import_mujoco().mjtMeshInertia.mjMESH_INERTIA_CONVEX)
    mesh.uservert = points.astype(np.float32).ravel()
    return True


def _touches(geom: Any, physics: Physics, *, friction: float) -> None:
    """Sets a geom of the robot to collide with the world, and with other links only if wanted; it has no mass."""
    geom.contype, geom.conaffinity = 1, int(physics.self_collision)
    geom.condim, geom.mass, geom.priority = 3, 0.0, 1
    geom.friction = [friction, 0.005, 1e-4]
    geom.solref, geom.solimp = physics.solref, physics.solimp


def _solid(spec: Any, k: int, solid: Solid, physics: Physics) -> None:
    """Adds an obstacle on a body of its own; moving ones are mocap bodies, set at every step."""
    mujoco = import_mujoco()
    p = reference(solid)
    owner = spec.worldbody.add_body(name=f"solid {k}", pos=p, mocap=moves(solid))
    geom = owner.add_geom(name=f"solid {k}", contype=0, conaffinity=1, condim=3)
    geom.solref, geom.solimp = physics.solref, physics.solimp
    if isinstance(solid, Plane):
        geom.type, geom.size = mujoco.mjtGeom.mjGEOM_PLANE, [0, 0, 1]
        geom.quat = quaternions.from_rotation(rigid.rotation_to(solid.normal))
    elif isinstance(solid, Sphere):
        geom.type, geom.size = mujoco.mjtGeom.mjGEOM_SPHERE, [solid.radius, 0, 0]
    elif isinstance(solid, Capsule):
        geom.type, geom.size = mujoco.mjtGeom.mjGEOM_CAPSULE, [solid.radius, 0, 0]
        geom.fromto = np.concatenate([np.zeros(3), solid.b - p])
    elif isinstance(solid, Box):
        geom.type, geom.size = mujoco.mjtGeom.mjGEOM_BOX, solid.size / 2
        geom.quat = quaternions.from_rotation(solid.X[:3, :3])
