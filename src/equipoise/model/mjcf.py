"""MJCF, read through MuJoCo's own compiler: the only complete reader of the format.

Configurations keep MuJoCo's numbers: a joint's q is its qpos, whatever `ref` the file gives it.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ..algebra import quaternions, rigid
from ..errors import ModelError, ModelWarning
from .assemble import assemble
from .joints import Ball, Continuous, Fixed, Floating, JointType, Prismatic, Revolute
from .mjcf_compiler import compiled, require_plain, text_of
from .mjcf_motors import drive_effort, drives, with_motors
from .types import (
    STANDARD_GRAVITY,
    DeclaredLimits,
    Frame,
    Inertia,
    Joint,
    JointDynamics,
    Link,
    LoopClosure,
    Model,
    Shape,
)

Array = np.ndarray

STANDING_KEYS = ("home", "stand", "standing")  # keyframes taken for the standing posture, the first that exists
UNNAMED_MODEL = "MuJoCo Model"  # what MuJoCo calls a model without a name
FREE, BALL, SLIDE, HINGE = 0, 1, 2, 3  # mjtJoint
CONNECT, WELD, JOINT, TENDON = 0, 1, 2, 3  # mjtEq
WRAPS_JOINT = 1  # mjtWrap: what a fixed tendon consists of
GREY = (0.5, 0.5, 0.5, 1.0)  # MuJoCo's colour of a geom that names none
# mjtGeom → our kind, and how many of MuJoCo's sizes it has
GEOMS = {0: ("plane", 2), 2: ("sphere", 1), 3: ("capsule", 2), 4: ("ellipsoid", 3), 5: ("cylinder", 2), 6: ("box", 3)}
MESH = 7


def read_mjcf(
    source: str | Path, *, floating: bool | None = None, gravity: Sequence[float] = STANDARD_GRAVITY
) -> Model:
    """The robot of an MJCF file.

    Args:
        source: path of the file, or its text (begins with '<').
        floating: None: as the file says; False: a free base is held where the file puts it; True: the one body that
            is rigidly on the world is set free.
        gravity: m/s² in W. The file's own <option gravity> is not read, so that every robot falls alike.
    """
    text, path = text_of(source)
    where = "the MJCF text" if path is None else f"{str(path)!r}"
    require_plain(text, path, where)
    mj_model = compiled(text, path, where)
    if mj_model.nbody < 2:
        raise ModelError(f"{where} has no body: it is a world or a part for others to include, not a robot")
    name = mj_model.names.split(b"\0", 1)[0].decode()
    if name in ("", UNNAMED_MODEL):
        name = "robot" if path is None else path.stem
    return _model(mj_model, name, floating, gravity)


def body_names(mj_model: Any) -> list[str]:
    """A name for every body, the world (index 0) included."""
    return _named((mj_model.body(i).name, f"body{i}") for i in range(mj_model.nbody))


def joint_names(mj_model: Any) -> list[str]:
    """A name for every joint; one the file leaves unnamed is called after its body, the first free one "base"."""
    bodies = body_names(mj_model)
    free = np.flatnonzero(mj_model.jnt_type == FREE)

    def spare(j: int) -> str:
        if free.size and j == free[0]:
            return "base"
        body = mj_model.jnt_bodyid[j]
        place = j - mj_model.body_jntadr[body]
        return f"{bodies[body]}_joint{place if mj_model.body_jntnum[body] > 1 else ''}"

    return _named((mj_model.joint(j).name, spare(j)) for j in range(mj_model.njnt))


# --- the compiled model as parts -------------------------------------------------------------------------------------


def _model(m: Any, name: str, floating: bool | None, gravity: Sequence[float]) -> Model:
    bodies, names = body_names(m), joint_names(m)
    links, joints = _tree(m, bodies, names)
    joints = with_motors(m, names, _with_base(m, bodies, joints, floating))
    return assemble(
        name,
        links,
        joints,
        frames=_sites(m, bodies),
        loops=list(_loops(m, bodies, names)),
        gravity=gravity,
        standing=_standing(m, bodies, names, joints),
    )


def _tree(m: Any, bodies: Sequence[str], names: Sequence[str]) -> tuple[list[Link], list[Joint]]:
    """Links and joints in the order of the file; a virtual link stands between two joints of one body."""
    links, joints = [], []
    links_taken, joints_taken = set(bodies), set(names)
    for body in range(1, m.nbody):
        parent = _link_name(bodies, m.body_parentid[body])
        X = _pose(m.body_pos[body], m.body_quat[body])
        indices = range(m.body_jntadr[body], m.body_jntadr[body] + m.body_jntnum[body])
        if not indices:
            joints.append(Joint(_unique(f"{bodies[body]}_joint", joints_taken), Fixed(), parent, bodies[body], X))
        for j in indices:
            child = bodies[body]
            if j != indices[-1]:
                child = _unique(f"{bodies[body]}/{names[j]}", links_taken)
                links.append(Link(child, virtual=True))
            joints.append(_joint(m, j, names[j], parent, child, X))
            parent, X = child, np.eye(4)
        links.append(_link(m, body, bodies[body]))
    return links, joints


def _joint(m: Any, j: int, name: str, parent: str | None, child: str, X: Array) -> Joint:
    """Joint j, with its frame at the anchor and its reference position folded into the placement, so that q is qpos.

    X is the pose of the body in the parent before this joint moves.
    """
    kind = m.jnt_type[j]
    limits, dynamics = _limits(m, j), _dynamics(m, j)
    if kind == FREE:  # its qpos is the pose in the world: the file's placement is only its reference
        return Joint(name, Floating(), parent, child, limits=limits, dynamics=dynamics)
    anchor, axis, q0 = m.jnt_pos[j], m.jnt_axis[j], float(m.qpos0[m.jnt_qposadr[j]])
    joint_type: JointType
    if kind == SLIDE:
        joint_type = Prismatic(_triple(axis))
        anchor, back = np.zeros(3), rigid.pose(p=-q0 * axis)
    elif kind == HINGE:
        joint_type = (Revolute if m.jnt_limited[j] else Continuous)(_triple(axis))
        back = rigid.pose(rigid.rotation_about(axis, -q0), anchor)
    else:
        joint_type, back = Ball(), rigid.pose(p=anchor)
    return Joint(name, joint_type, parent, child, X @ back, rigid.pose(p=-anchor), limits, dynamics=dynamics)


def _with_base(m: Any, bodies: Sequence[str], joints: Sequence[Joint], floating: bool | None) -> list[Joint]:
    """The joints with the base fixed or freed as asked."""
    base = next((joint for joint in joints if isinstance(joint.type, Floating)), None)
    if floating is None or (floating and base) or not (floating or base):
        return list(joints)
    if base is not None:
        X = _body_pose(m, bodies, base.child)
        return [replace(joint, type=Fixed(), origin=X) if joint is base else joint for joint in joints]
    on_world = [joint for joint in joints if joint.parent is None]
    rigid_ones = [joint for joint in on_world if not joint.moving]
    if len(rigid_ones) != 1:
        held = ", ".join(f"{joint.child!r} by {joint.type.name} {joint.name!r}" for joint in on_world[:8]) or "none"
        raise ModelError(
            f"floating=True sets the one body free that is rigidly on the world; here are {len(rigid_ones)} such "
            f"bodies (bodies on the world: {held}). Give the base a <freejoint/> in the file."
        )
    name = _unique("base", {joint.name for joint in joints if joint is not rigid_ones[0]})
    freed = replace(rigid_ones[0], name=name, type=Floating(), origin=np.eye(4))
    return [freed if joint is rigid_ones[0] else joint for joint in joints]


def _link(m: Any, body: int, name: str) -> Link:
    R = quaternions.rotation(m.body_iquat[body])
    mass = float(m.body_mass[body])
    inertia = Inertia(mass, m.body_ipos[body], R @ np.diag(m.body_inertia[body]) @ R.T) if mass > 0 else None
    geoms = range(m.body_geomadr[body], m.body_geomadr[body] + m.body_geomnum[body])
    shapes = [(geom, shape) for geom in geoms if (shape := _shape(m, geom)) is not None]
    collides = (m.geom_contype != 0) | (m.geom_conaffinity != 0)
    return Link(
        name,
        inertia,
        visuals=tuple(shape for _, shape in shapes),
        collisions=tuple(shape for geom, shape in shapes if collides[geom]),
    )


def _shape(m: Any, geom: int) -> Shape | None:
    """A geom as a shape, None for height fields and distance fields; MuJoCo's half lengths become whole ones."""
    kind, X = int(m.geom_type[geom]), _pose(m.geom_pos[geom], m.geom_quat[geom])
    color, material = tuple(map(float, m.geom_rgba[geom])), m.geom_matid[geom]
    if material >= 0 and np.allclose(color, GREY):
        color = tuple(map(float, m.mat_rgba[material]))
    if kind == MESH:
        mesh = m.geom_dataid[geom]
        # MuJoCo moves the vertices to the mesh's principal axes; undo it for those of the file
        X = X @ rigid.inverse(_pose(m.mesh_pos[mesh], m.mesh_quat[mesh]))
        address = m.mesh_pathadr[mesh]
        file = m.paths[address:].split(b"\0", 1)[0].decode() if address >= 0 else None
        return Shape("mesh", _triple(m.mesh_scale[mesh]), X, file, color)  # type: ignore[arg-type]
    if kind not in GEOMS:
        return None
    name, count = GEOMS[kind]
    size = [float(s) for s in m.geom_size[geom][:count]]
    if name in ("box", "plane"):
        size = [2 * s for s in size]
    elif name in ("cylinder", "capsule"):
        size = [size[0], 2 * size[1]]
    return Shape(name, tuple(size), X, None, color)  # type: ignore[arg-type]


# --- what bounds and what acts in a joint -----------------------------------------------------------------------------


def _limits(m: Any, j: int) -> DeclaredLimits:
    """Range and effort of a joint with one coordinate; the cone of a ball joint is not read."""
    if m.jnt_type[j] not in (SLIDE, HINGE):
        return DeclaredLimits()
    lower, upper = map(float, m.jnt_range[j]) if m.jnt_limited[j] else (-np.inf, np.inf)
    efforts = [drive_effort(m, i) for i in drives(m, j)]
    effort = sum(efforts) if efforts else np.inf
    if m.jnt_actfrclimited[j]:
        effort = min(effort, float(np.abs(m.jnt_actfrcrange[j]).max()))
    return DeclaredLimits(lower, upper, effort=effort)


def _dynamics(m: Any, j: int) -> JointDynamics:
    """What acts inside the joint; what its actuators add is seen through the gear, squared."""
    dof = m.jnt_dofadr[j]
    single = m.jnt_type[j] in (SLIDE, HINGE)
    motors = drives(m, j) if single else []
    gear2 = m.actuator_gear[motors, 0] ** 2
    armature, damping = (getattr(m, f"actuator_{name}", np.zeros(m.nu))[motors] for name in ("armature", "damping"))
    return JointDynamics(
        damping=float(m.dof_damping[dof] + gear2 @ damping),
        friction=float(m.dof_frictionloss[dof]),
        armature=float(m.dof_armature[dof] + gear2 @ armature),
        stiffness=float(m.jnt_stiffness[j]),
        rest=float(m.qpos_spring[m.jnt_qposadr[j]]) if single else 0.0,
    )


# --- frames, loops, posture -------------------------------------------------------------------------------------------


def _sites(m: Any, bodies: Sequence[str]) -> list[Frame]:
    taken = set(bodies[1:])
    names = _named((m.site(i).name, f"site{i}") for i in range(m.nsite))
    frames = []
    for i, name in enumerate(names):
        unique = _unique(f"site:{name}" if name in taken else name, taken)
        frames.append(Frame(unique, _link_name(bodies, m.site_bodyid[i]), _pose(m.site_pos[i], m.site_quat[i])))
    return frames


def _loops(m: Any, bodies: Sequence[str], names: Sequence[str]) -> Iterator[LoopClosure]:
    """The equality constraints that close loops; those of other kinds, or switched off, are left out with a warning."""
    loop_names = _named((m.equality(i).name, f"loop{i}") for i in range(m.neq))
    left_out = []
    for i, name in enumerate(loop_names):
        tied = _tied_by_tendons(m, i) if m.eq_type[i] == TENDON else None
        if (m.eq_type[i] not in (CONNECT, WELD, JOINT) and tied is None) or not m.eq_active0[i]:
            left_out.append(name)
        elif tied is not None:
            a, b, c = tied
            yield LoopClosure(name, "joint", joint_a=names[a], joint_b=None if b is None else names[b], polynomial=c)
        elif m.eq_type[i] == JOINT:
            a, b = int(m.eq_obj1id[i]), int(m.eq_obj2id[i])
            joint_b = names[b] if b >= 0 else None
            yield LoopClosure(name, "joint", joint_a=names[a], joint_b=joint_b, polynomial=_polynomial(m, i))
        else:
            kind = "connect" if m.eq_type[i] == CONNECT else "weld"
            frames = (_loop_frame(m, bodies, i, side, f"{name}:{letter}") for side, letter in enumerate("ab"))
            yield LoopClosure(name, kind, *frames)  # type: ignore[arg-type]
    if left_out:
        what = "switched off, or of kinds that are not carried: flexes, distances, tendons over sites or three joints"
        warnings.warn(f"equality constraints left out ({what}): {', '.join(left_out)}", ModelWarning, stacklevel=4)


def _tied_by_tendons(m: Any, i: int) -> tuple[int, int | None, tuple[float, ...]] | None:
    """(a, b, c) with q_a = Σ c_k q_b^k of an equality between fixed tendons over one or two joints in all, else None.

    With L = Σ w q of a tendon it says L₁ − L₁₀ = P(L₂ − L₂₀), or L₁ − L₁₀ = P(0) where there is no second tendon.
    """
    tendons = [int(t) for t in (m.eq_obj1id[i], m.eq_obj2id[i]) if t >= 0]
    wraps = [k for t in tendons for k in range(m.tendon_adr[t], m.tendon_adr[t] + m.tendon_num[t])]
    if len(wraps) > 2 or any(m.wrap_type[k] != WRAPS_JOINT for k in wraps):
        return None
    joints, weights = [int(m.wrap_objid[k]) for k in wraps], [float(m.wrap_prm[k]) for k in wraps]
    if len({*joints}) < len(joints):
        return None
    starts = [float(m.tendon_length0[t]) for t in tendons]
    P = np.polynomial.Polynomial(m.eq_data[i, :5])
    if len(wraps) == 1:
        return joints[0], None, ((starts[0] + P(0.0)) / weights[0],)
    if len(tendons) == 1:
        c = np.polynomial.Polynomial([starts[0] + P(0.0), -weights[1]])
    else:
        c = P(np.polynomial.Polynomial([-starts[1], weights[1]])) + starts[0]
    return joints[0], joints[1], tuple(float(x) / weights[0] for x in c.coef)


def _loop_frame(m: Any, bodies: Sequence[str], i: int, side: int, name: str) -> Frame:
    """Frame of equality i on its first or second body: where the two must meet.

    MuJoCo writes the anchors of a connect on body 1 then body 2, those of a weld the other way round, then the rotation
    of body 2 in body 1. Constraints between sites join the sites themselves.
    """
    thing = int((m.eq_obj1id, m.eq_obj2id)[side][i])
    if m.eq_objtype[i] != 1:  # not mjOBJ_BODY
        return Frame(name, _link_name(bodies, m.site_bodyid[thing]), _pose(m.site_pos[thing], m.site_quat[thing]))
    weld = m.eq_type[i] == WELD
    first = (side == 1) if weld else (side == 0)
    X = rigid.pose(p=m.eq_data[i, :3] if first else m.eq_data[i, 3:6])
    if weld and side == 0:
        X[:3, :3] = quaternions.rotation(m.eq_data[i, 6:10])
    return Frame(name, _link_name(bodies, thing), X)


def _polynomial(m: Any, i: int) -> tuple[float, ...]:
    """Coefficients c with q_a = Σ c_k q_b^k: MuJoCo's are about the reference positions, ours about zero."""
    a, b = int(m.eq_obj1id[i]), int(m.eq_obj2id[i])
    c = np.polynomial.Polynomial(m.eq_data[i, :5])
    if b >= 0 and (q_b0 := float(m.qpos0[m.jnt_qposadr[b]])) != 0:
        c = c(np.polynomial.Polynomial([-q_b0, 1.0]))
    coefficients = np.zeros(5)
    coefficients[: len(c.coef)] = c.coef
    coefficients[0] += m.qpos0[m.jnt_qposadr[a]]
    return tuple(map(float, coefficients)) if b >= 0 else (float(coefficients[0]),)


def _standing(m: Any, bodies: Sequence[str], names: Sequence[str], joints: Sequence[Joint]) -> dict[str, Any]:
    """Joint positions of the keyframe that looks most like standing; the first one if no name says so."""
    if m.nkey == 0:
        return {}
    keys = [m.key(k).name for k in range(m.nkey)]
    chosen = next((keys.index(name) for name in STANDING_KEYS if name in keys), 0)
    places = {name: int(m.jnt_qposadr[j]) for j, name in enumerate(names)}
    standing = {}
    for joint in joints:
        if joint.moving and joint.name in places:
            start = places[joint.name]
            standing[joint.name] = tuple(m.key_qpos[chosen, start : start + joint.type.nq])
        elif joint.moving:  # a base that floating=True set free
            body = bodies.index(joint.child)
            standing[joint.name] = (*m.body_pos[body], *m.body_quat[body])
    return standing


# --- small things -----------------------------------------------------------------------------------------------------


def _named(wishes: Iterable[tuple[str, str]]) -> list[str]:
    """Names as given; where there is none the spare, made unique."""
    pairs = list(wishes)
    taken = {name for name, _ in pairs}
    return [name or _unique(spare, taken) for name, spare in pairs]


def _unique(name: str, taken: set[str]) -> str:
    """The name, numbered if somebody has it; it is taken from then on."""
    candidate, number = name, 2
    while candidate in taken:
        candidate, number = f"{name}_{number}", number + 1
    taken.add(candidate)
    return candidate


def _link_name(bodies: Sequence[str], body: int) -> str | None:
    return None if body == 0 else bodies[body]


def _body_pose(m: Any, bodies: Sequence[str], name: str) -> Array:
    body = bodies.index(name)
    return _pose(m.body_pos[body], m.body_quat[body])


def _pose(p: Array, quaternion: Array) -> Array:
    """The 4×4 matrix of an origin and a quaternion wxyz, as MuJoCo writes poses."""
    return rigid.pose(quaternions.rotation(tuple(quaternion)), p)


def _triple(values: Array) -> tuple[float, float, float]:
    x, y, z = (float(value) for value in values)
    return x, y, z
