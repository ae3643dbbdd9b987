"""Joints of a model and those of another library's, side by side: how each reads there, and which is which.

See `equipoise.convert` for the conventions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..algebra import quaternions
from ..errors import ModelError
from .mjcf import joint_names
from .types import Joint, Model

Array = np.ndarray


# --- how one joint reads elsewhere -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Rule:
    """How the coordinates of one joint read in another library.

    v_peer = T v, and T is orthogonal for every joint here, so v = Tᵀ v_peer. Differentiated, a_peer = T a + Ṫ v.
    """

    position: Callable[[Array], Array] = lambda q: q  # ours → theirs
    position_back: Callable[[Array], Array] = lambda q: q
    turn: Callable[[Array], Array] | None = None  # our q → T; None: the identity
    drift: Callable[[Array, Array], Array] | None = None  # our q, v → Ṫ v; None: zero
    quaternion: int | None = None  # where a quaternion starts in q, ours and theirs


def applied(T: Array, v: Array) -> Array:
    """T v over leading dimensions."""
    return np.asarray(np.einsum("...ij,...j->...i", T, v))


def rotation_in(q: Array) -> Array:
    """R of the quaternion that ends a floating joint's q."""
    return np.asarray(quaternions.rotation([q[..., i] for i in range(3, 7)]))


def _body_twist(q: Array) -> Array:
    """T = diag(Rᵀ, Rᵀ): both velocities to the axes of the child."""
    T = _split_twist(q)
    T[..., :3, :3] = T[..., 3:, 3:]
    return T


def _split_twist(q: Array) -> Array:
    """T = diag(1, Rᵀ): only the angular velocity to the axes of the child."""
    T = np.zeros((*q.shape[:-1], 6, 6))
    T[..., :3, :3] = np.eye(3)
    T[..., 3:, 3:] = np.swapaxes(rotation_in(q), -1, -2)
    return T


def _body_twist_drift(q: Array, v: Array) -> Array:
    """Ṫ v = (−Rᵀ (ω × ṗ), 0), for Ṙ = ω^ R and ω × ω = 0. The same law leaves `_split_twist` without drift."""
    linear = -applied(np.swapaxes(rotation_in(q), -1, -2), np.cross(v[..., 3:], v[..., :3]))
    return np.concatenate([linear, np.zeros_like(linear)], axis=-1)


def _planar_twist(q: Array) -> Array:
    """T = diag(Rᵀ, 1) for the plane's rotation."""
    c, s = np.cos(q[..., 2]), np.sin(q[..., 2])
    T = np.zeros((*q.shape[:-1], 3, 3))
    T[..., 0, 0], T[..., 0, 1], T[..., 1, 0], T[..., 1, 1], T[..., 2, 2] = c, s, -s, c, 1.0
    return T


def _planar_drift(q: Array, v: Array) -> Array:
    """Ṫ v with the plane's Ṙᵀ = −θ̇ S Rᵀ, S the quarter turn."""
    x, y, _ = np.moveaxis(applied(_planar_twist(q), v), -1, 0)
    rate = v[..., 2]
    return np.stack([rate * y, -rate * x, 0 * rate], axis=-1)


def _circle(q: Array) -> Array:
    """(…, cos, sin) for (…, angle)."""
    return np.concatenate([q[..., :-1], np.cos(q[..., -1:]), np.sin(q[..., -1:])], axis=-1)


def _angle(q: Array) -> Array:
    """(…, angle in (−π, π]) for (…, cos, sin): whole turns are lost."""
    return np.concatenate([q[..., :-2], np.arctan2(q[..., -1:], q[..., -2:-1])], axis=-1)


def _scalar_last(q: Array) -> Array:
    """wxyz → xyzw at the end of q."""
    return np.concatenate([q[..., :-4], q[..., -3:], q[..., -4:-3]], axis=-1)


def _scalar_first(q: Array) -> Array:
    """xyzw → wxyz at the end of q."""
    return np.concatenate([q[..., :-4], q[..., -1:], q[..., -4:-1]], axis=-1)


SAME = Rule()
CIRCLE = Rule(_circle, _angle)
# (our joint type, the peer's kind of joint) → rule; a pair that is not here cannot be converted
RULES: Mapping[tuple[str, str], Rule] = {
    ("revolute", "angle"): SAME,
    ("continuous", "angle"): SAME,
    ("prismatic", "length"): SAME,
    ("revolute", "circle"): CIRCLE,
    ("continuous", "circle"): CIRCLE,
    ("ball", "wxyz"): Rule(quaternion=0),
    ("ball", "xyzw"): Rule(_scalar_last, _scalar_first, quaternion=0),
    ("planar", "x y cos sin"): Rule(_circle, _angle, _planar_twist, _planar_drift),
    ("floating", "xyzw, body twist"): Rule(_scalar_last, _scalar_first, _body_twist, _body_twist_drift, quaternion=3),
    ("floating", "wxyz, split twist"): Rule(turn=_split_twist, quaternion=3),
    ("floating", "wxyz, mixed twist"): Rule(quaternion=3),
}


# --- what a peer says of its joints ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class PeerJoint:
    """A joint of the peer: its kind and where its numbers are. Kind "follower": it has none of its own."""

    kind: str
    q: slice
    v: slice


@dataclass(frozen=True)
class PeerModel:
    name: str
    nq: int
    nv: int
    joints: Mapping[str, PeerJoint]
    base: str | None  # the joint that carries a floating base
    free_in_world: bool  # a free joint's position is in the world, wherever the joint is placed


PINOCCHIO_KINDS = {
    "FreeFlyer": "xyzw, body twist",
    "Spherical": "xyzw",
    "Planar": "x y cos sin",
    "Mimic": "follower",
    **dict.fromkeys(("RX", "RY", "RZ", "RevoluteUnaligned"), "angle"),
    **dict.fromkeys(("RUBX", "RUBY", "RUBZ", "RevoluteUnboundedUnaligned"), "circle"),
    **dict.fromkeys(("PX", "PY", "PZ", "PrismaticUnaligned"), "length"),
}
MUJOCO_KINDS = ("wxyz, split twist", "wxyz", "length", "angle")  # in the order of mjtJoint
MUJOCO_SIZES = ((7, 6), (4, 3), (1, 1), (1, 1))


def pinocchio_joints(pin_model: Any) -> PeerModel:
    joints = {}
    for i in range(1, pin_model.njoints):
        joint = pin_model.joints[i]
        short = joint.shortname().removeprefix("JointModel")
        kind = PINOCCHIO_KINDS.get(short, short)
        joints[pin_model.names[i]] = _place(kind, joint.idx_q, joint.nq, joint.idx_v, joint.nv)
    free = (i for i in range(1, pin_model.njoints) if pin_model.parents[i] == 0)
    base = next((pin_model.names[i] for i in free if joints[pin_model.names[i]].kind == "xyzw, body twist"), None)
    return PeerModel("Pinocchio", pin_model.nq, pin_model.nv, joints, base, free_in_world=False)


def mujoco_joints(mj_model: Any) -> PeerModel:
    joints = {}
    for j, name in enumerate(joint_names(mj_model)):
        kind = int(mj_model.jnt_type[j])
        nq, nv = MUJOCO_SIZES[kind]
        joints[name] = _place(MUJOCO_KINDS[kind], int(mj_model.jnt_qposadr[j]), nq, int(mj_model.jnt_dofadr[j]), nv)
    base = next((name for name, place in joints.items() if place.kind == MUJOCO_KINDS[0]), None)
    return PeerModel("MuJoCo", mj_model.nq, mj_model.nv, joints, base, free_in_world=True)


def idyntree_joints(idyn_model: Any, floating: bool) -> PeerModel:
    """iDynTree's joints, behind the base that every one of its states has; left off for a robot with a fixed base."""
    nq, nv = (7, 6) if floating else (0, 0)
    joints = {"the base": _place("wxyz, mixed twist", 0, nq, 0, nv)} if floating else {}
    for j in range(idyn_model.getNrOfJoints()):
        joint = idyn_model.getJoint(j)
        if joint.getNrOfDOFs() > 0:
            iq, iv = nq + joint.getPosCoordsOffset(), nv + joint.getDOFsOffset()
            place = _place(_idyntree_kind(joint), iq, joint.getNrOfPosCoords(), iv, joint.getNrOfDOFs())
            joints[idyn_model.getJointName(j)] = place
    base = "the base" if floating else None
    nq, nv = nq + idyn_model.getNrOfPosCoords(), nv + idyn_model.getNrOfDOFs()
    return PeerModel("iDynTree", nq, nv, joints, base, free_in_world=True)


def _idyntree_kind(joint: Any) -> str:
    if joint.isRevoluteJoint():
        return "angle"
    if joint.isPrismaticJoint():
        return "length"
    return "wxyz" if joint.isSphericalJoint() else "joint of another kind"


def _place(kind: str, q: int, nq: int, v: int, nv: int) -> PeerJoint:
    return PeerJoint(kind, slice(q, q + nq), slice(v, v + nv))


# --- matching --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class JointPair:
    """One joint in both libraries, or all those that read alike, with index arrays for places.

    A follower of ours may have coordinates of its own in the peer.
    """

    name: str
    rule: Rule
    q: slice | Array
    v: slice | Array
    peer_q: slice | Array
    peer_v: slice | Array
    multiplier: float | Array = 1.0
    offset: float | Array = 0.0
    follower: bool = False


def matched(model: Model, peer: PeerModel) -> tuple[JointPair, ...]:
    ours = {joint.name: joint for joint in model.joints.values() if joint.moving}
    named = {name: name for name in ours if name in peer.joints}
    if model.base is not None and model.base.name not in named and peer.base is not None and peer.base not in ours:
        named[model.base.name] = peer.base
    _require_same_joints(model, peer, named)
    pieces = []
    for name, joint in ours.items():
        place = peer.joints[named[name]]
        if place.kind != "follower":
            pieces.append(_piece(joint, peer, named[name]))
    plain = [piece for piece in pieces if piece.rule is SAME]
    others = [piece for piece in pieces if piece.rule is not SAME]
    return (*others, *_merged([p for p in plain if not p.follower]), *_merged([p for p in plain if p.follower]))


def _merged(pieces: Sequence[JointPair]) -> list[JointPair]:
    """Joints with one coordinate that both libraries write alike, as one piece: a robot has dozens of them."""
    if not pieces:
        return []
    places = {key: np.array([getattr(p, key).start for p in pieces]) for key in ("q", "v", "peer_q", "peer_v")}
    multiplier, offset = np.array([[p.multiplier, p.offset] for p in pieces], dtype=float).T
    name = ", ".join(piece.name for piece in pieces)
    return [JointPair(name, SAME, **places, multiplier=multiplier, offset=offset, follower=pieces[0].follower)]


def _piece(joint: Joint, peer: PeerModel, peer_name: str) -> JointPair:
    place = peer.joints[peer_name]
    rule = RULES.get((joint.type.name, place.kind))
    if rule is None:
        raise ModelError(
            f"joint {joint.name!r} is {joint.type.name} here and {place.kind!r} in {peer.name}: these do not convert"
        )
    placed = not (_is_identity(joint.origin) and _is_identity(joint.tail))
    if placed and joint.type.name == "floating" and (peer.free_in_world or joint.name != peer_name):
        raise ModelError(
            f"joint {joint.name!r} floats from a place other than the world's origin, which {peer.name} cannot say"
        )
    mimic = joint.mimic
    multiplier, offset = (1.0, 0.0) if mimic is None else (mimic.multiplier, mimic.offset)
    return JointPair(joint.name, rule, joint.q, joint.v, place.q, place.v, multiplier, offset, mimic is not None)


def _require_same_joints(model: Model, peer: PeerModel, named: Mapping[str, str]) -> None:
    follows = {name for name, place in peer.joints.items() if place.kind == "follower"}
    only_ours = [
        joint.name
        for joint in model.joints.values()
        if joint.moving and (joint.name not in named or (joint.mimic is None and named[joint.name] in follows))
    ]
    only_theirs = [name for name in peer.joints if name not in named.values()]
    if only_ours or only_theirs:
        raise ModelError(
            f"{model.name!r} and the {peer.name} model do not move in the same joints. "
            f"Only here: {_listed(only_ours)}. Only in {peer.name}: {_listed(only_theirs)}. "
            "Lock or free joints on one side; is one of the two on a floating base and the other not?"
        )


def _listed(names: list[str]) -> str:
    return ", ".join(names[:20]) + (f", … ({len(names)} in all)" if len(names) > 20 else "") if names else "none"


def _is_identity(X: Array) -> bool:
    return bool(np.allclose(X, np.eye(4), atol=1e-12))
