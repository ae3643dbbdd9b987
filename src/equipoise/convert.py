"""States between Equipoise and its peers: Pinocchio, MuJoCo, iDynTree.

`to_…` takes our numbers and gives the peer's, `from_…` the other way round. Joints are matched by name; the base is
matched whatever it is called. Arrays may have leading dimensions; results are float64. `twist`, `wrench`,
`acceleration` and `jacobian` carry the motion of a frame between the three representations.

| peer | base position | base velocity | continuous | ball | planar |
|---|---|---|---|---|---|
| ours | p, wxyz | ṗ, ω in W | angle | wxyz, ω in child | x, y, angle; their rates |
| Pinocchio | p, xyzw | both in B | cos, sin | xyzw, ω in child | x, y, cos, sin; rates in child |
| MuJoCo | p, wxyz | ṗ in W, ω in B | angle | wxyz, ω in child | has none |
| iDynTree | 4×4 matrix | ṗ, ω in W (mixed) | angle | wxyz, ω in child | has none |
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from .algebra import quaternions, rigid
from .errors import ModelError, ShapeError, StateError
from .forms.representations import acceleration, jacobian, twist, wrench  # noqa: F401  part of this page's face
from .model.mjcf import joint_names
from .model.types import Joint, Model

Array = np.ndarray
UNIT_WITHIN = 1e-6  # quaternions nearer to unit length are normalised, others refused


class HasModel(Protocol):
    """A robot, or anything else that holds a model."""

    @property
    def model(self) -> Model:
        """The description behind the robot."""
        ...


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


def _rotation(q: Array) -> Array:
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
    T[..., 3:, 3:] = np.swapaxes(_rotation(q), -1, -2)
    return T


def _body_twist_drift(q: Array, v: Array) -> Array:
    """Ṫ v = (−Rᵀ (ω × ṗ), 0), for Ṙ = ω^ R and ω × ω = 0. The same law leaves `_split_twist` without drift."""
    linear = -_apply(np.swapaxes(_rotation(q), -1, -2), np.cross(v[..., 3:], v[..., :3]))
    return np.concatenate([linear, np.zeros_like(linear)], axis=-1)


def _planar_twist(q: Array) -> Array:
    """T = diag(Rᵀ, 1) for the plane's rotation."""
    c, s = np.cos(q[..., 2]), np.sin(q[..., 2])
    T = np.zeros((*q.shape[:-1], 3, 3))
    T[..., 0, 0], T[..., 0, 1], T[..., 1, 0], T[..., 1, 1], T[..., 2, 2] = c, s, -s, c, 1.0
    return T


def _planar_drift(q: Array, v: Array) -> Array:
    """Ṫ v with the plane's Ṙᵀ = −θ̇ S Rᵀ, S the quarter turn."""
    x, y, _ = np.moveaxis(_apply(_planar_twist(q), v), -1, 0)
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
class _Place:
    """A joint of the peer: its kind and where its numbers are. Kind "follower": it has none of its own."""

    kind: str
    q: slice
    v: slice


@dataclass(frozen=True)
class _Peer:
    name: str
    nq: int
    nv: int
    joints: Mapping[str, _Place]
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


def _pinocchio(pin_model: Any) -> _Peer:
    joints = {}
    for i in range(1, pin_model.njoints):
        joint = pin_model.joints[i]
        short = joint.shortname().removeprefix("JointModel")
        kind = PINOCCHIO_KINDS.get(short, short)
        joints[pin_model.names[i]] = _place(kind, joint.idx_q, joint.nq, joint.idx_v, joint.nv)
    free = (i for i in range(1, pin_model.njoints) if pin_model.parents[i] == 0)
    base = next((pin_model.names[i] for i in free if joints[pin_model.names[i]].kind == "xyzw, body twist"), None)
    return _Peer("Pinocchio", pin_model.nq, pin_model.nv, joints, base, free_in_world=False)


def _mujoco(mj_model: Any) -> _Peer:
    joints = {}
    for j, name in enumerate(joint_names(mj_model)):
        kind = int(mj_model.jnt_type[j])
        nq, nv = MUJOCO_SIZES[kind]
        joints[name] = _place(MUJOCO_KINDS[kind], int(mj_model.jnt_qposadr[j]), nq, int(mj_model.jnt_dofadr[j]), nv)
    base = next((name for name, place in joints.items() if place.kind == MUJOCO_KINDS[0]), None)
    return _Peer("MuJoCo", mj_model.nq, mj_model.nv, joints, base, free_in_world=True)


def _idyntree(idyn_model: Any, floating: bool) -> _Peer:
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
    return _Peer("iDynTree", nq, nv, joints, base, free_in_world=True)


def _idyntree_kind(joint: Any) -> str:
    if joint.isRevoluteJoint():
        return "angle"
    if joint.isPrismaticJoint():
        return "length"
    return "wxyz" if joint.isSphericalJoint() else "joint of another kind"


def _place(kind: str, q: int, nq: int, v: int, nv: int) -> _Place:
    return _Place(kind, slice(q, q + nq), slice(v, v + nv))


# --- matching --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Piece:
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


def _pieces(model: Model, peer: _Peer) -> tuple[_Piece, ...]:
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


def _merged(pieces: Sequence[_Piece]) -> list[_Piece]:
    """Joints with one coordinate that both libraries write alike, as one piece: a robot has dozens of them."""
    if not pieces:
        return []
    places = {key: np.array([getattr(p, key).start for p in pieces]) for key in ("q", "v", "peer_q", "peer_v")}
    multiplier, offset = np.array([[p.multiplier, p.offset] for p in pieces], dtype=float).T
    name = ", ".join(piece.name for piece in pieces)
    return [_Piece(name, SAME, **places, multiplier=multiplier, offset=offset, follower=pieces[0].follower)]


def _piece(joint: Joint, peer: _Peer, peer_name: str) -> _Piece:
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
    return _Piece(joint.name, rule, joint.q, joint.v, place.q, place.v, multiplier, offset, mimic is not None)


def _require_same_joints(model: Model, peer: _Peer, named: Mapping[str, str]) -> None:
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


# --- conversion ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Converter:
    """A robot and its double in another library, joints matched once. For use in a loop; the functions below make
    one."""

    model: Model
    peer: _Peer
    pieces: tuple[_Piece, ...]

    def to_peer(self, q: Array, v: Array | None = None) -> Any:
        """q, or (q, v), of the peer."""
        q = _checked("q", q, self.model.nq)
        q_peer = np.zeros((*q.shape[:-1], self.peer.nq))
        for piece in self.pieces:
            q_peer[..., piece.peer_q] = piece.rule.position(_ours(piece, q))
        return q_peer if v is None else (q_peer, self._rates_to_peer(q, _checked("v", v, self.model.nv)))

    def from_peer(self, q: Array, v: Array | None = None) -> Any:
        """Our q, or (q, v). What followers do in the peer is not looked at: here they have no say."""
        q_peer = _checked(f"q of {self.peer.name}", q, self.peer.nq)
        q_ours = np.zeros((*q_peer.shape[:-1], self.model.nq))
        for piece in self._leaders():
            theirs = _unit(piece, q_peer[..., piece.peer_q])
            q_ours[..., piece.q] = piece.rule.position_back(theirs)
        if v is None:
            return q_ours
        return q_ours, self._rates_from_peer(q_ours, _checked(f"v of {self.peer.name}", v, self.peer.nv))

    def velocity_map(self, q: Array) -> Array:
        """T with v_peer = T v, shape (…, peer's nv, nv); forces go the other way, tau = Tᵀ tau_peer."""
        q = _checked("q", q, self.model.nq)
        T = np.zeros((*q.shape[:-1], self.peer.nv, self.model.nv))
        for piece in self.pieces:
            if piece.rule is SAME:  # index arrays: entry by entry
                T[..., piece.peer_v, piece.v] = piece.multiplier
            elif piece.rule.turn is None:
                T[..., piece.peer_v, piece.v] = piece.multiplier * np.eye(piece.v.stop - piece.v.start)  # type: ignore[union-attr]
            else:
                T[..., piece.peer_v, piece.v] = piece.rule.turn(_ours(piece, q))
        return T

    def acceleration_to_peer(self, q: Array, v: Array, a: Array) -> Array:
        """Time derivative of the peer's v, from our q, v, a."""
        q = _checked("q", q, self.model.nq)
        v, a = _checked("v", v, self.model.nv), _checked("a", a, self.model.nv)
        a_peer: Array = self._rates_to_peer(q, a) + self._drift(q, v)
        return a_peer

    def acceleration_from_peer(self, q: Array, v: Array, a: Array) -> Array:
        """Our a, from the peer's q, v and time derivative of v."""
        q_ours, v_ours = self.from_peer(q, v)
        a = _checked(f"a of {self.peer.name}", a, self.peer.nv)
        return self._rates_from_peer(q_ours, a - self._drift(q_ours, v_ours))

    def _leaders(self) -> list[_Piece]:
        return [piece for piece in self.pieces if not piece.follower]

    def _rates_to_peer(self, q: Array, v: Array) -> Array:
        v_peer = np.zeros((*np.broadcast_shapes(q.shape[:-1], v.shape[:-1]), self.peer.nv))
        for piece in self.pieces:
            own = piece.multiplier * v[..., piece.v]
            v_peer[..., piece.peer_v] = (
                own if piece.rule.turn is None else _apply(piece.rule.turn(_ours(piece, q)), own)
            )
        return v_peer

    def _rates_from_peer(self, q: Array, v_peer: Array) -> Array:
        v = np.zeros((*np.broadcast_shapes(q.shape[:-1], v_peer.shape[:-1]), self.model.nv))
        for piece in self._leaders():
            theirs = v_peer[..., piece.peer_v]
            turn = piece.rule.turn
            v[..., piece.v] = theirs if turn is None else _apply(np.swapaxes(turn(_ours(piece, q)), -1, -2), theirs)
        return v

    def _drift(self, q: Array, v: Array) -> Array:
        """Ṫ v."""
        drift = np.zeros((*np.broadcast_shapes(q.shape[:-1], v.shape[:-1]), self.peer.nv))
        for piece in self.pieces:
            if piece.rule.drift is not None:
                drift[..., piece.peer_v] = piece.rule.drift(_ours(piece, q), v[..., piece.v])
        return drift


def _ours(piece: _Piece, q: Array) -> Array:
    """Position of a joint from our q: its own coordinates, or those its leader gives it."""
    return _unit(piece, piece.multiplier * q[..., piece.q] + piece.offset)


def _unit(piece: _Piece, q: Array) -> Array:
    """q with its quaternion, if it has one, of exactly unit length."""
    if piece.rule.quaternion is None:
        return q
    part = slice(piece.rule.quaternion, piece.rule.quaternion + 4)
    length = np.linalg.norm(q[..., part], axis=-1, keepdims=True)
    if np.any(np.abs(length - 1) > UNIT_WITHIN):
        worst = float(length.flat[np.argmax(np.abs(length - 1))])
        raise StateError(
            f"the quaternion of joint {piece.name!r} has length {worst:.9g}, wanted 1 (within {UNIT_WITHIN:g})"
        )
    q = q.copy()
    q[..., part] /= length
    return q


def _checked(name: str, values: Any, size: int) -> Array:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim == 0 or array.shape[-1] != size:
        raise ShapeError(f"{name} has shape {array.shape}, wanted (…, {size})")
    if not np.isfinite(array).all():
        raise StateError(f"{name} holds NaN or infinity")
    return array


def _apply(T: Array, v: Array) -> Array:
    """T v over leading dimensions."""
    return np.asarray(np.einsum("...ij,...j->...i", T, v))


# --- Pinocchio -------------------------------------------------------------------------------------------------------


def pinocchio_converter(robot: HasModel, pin_model: Any) -> Converter:
    """The match of a robot and a `pinocchio.Model`, to be kept for many conversions."""
    peer = _pinocchio(pin_model)
    return Converter(robot.model, peer, _pieces(robot.model, peer))


def to_pinocchio(robot: HasModel, pin_model: Any, q: Array, v: Array | None = None) -> Any:
    """q, or (q, v) if v is given, as Pinocchio writes them."""
    return pinocchio_converter(robot, pin_model).to_peer(q, v)


def from_pinocchio(robot: HasModel, pin_model: Any, q: Array, v: Array | None = None) -> Any:
    """Our q, or (q, v), from Pinocchio's. Angles written as cosine and sine come back in (−π, π]."""
    return pinocchio_converter(robot, pin_model).from_peer(q, v)


def velocity_map_pinocchio(robot: HasModel, pin_model: Any, q: Array) -> Array:
    """T with v_pin = T v at our q: M = Tᵀ M_pin T, tau = Tᵀ tau_pin. Shape (…, pin_model.nv, nv)."""
    return pinocchio_converter(robot, pin_model).velocity_map(q)


def acceleration_to_pinocchio(robot: HasModel, pin_model: Any, q: Array, v: Array, a: Array) -> Array:
    """Pinocchio's a, the derivative of the body twist for the base, from our q, v, a."""
    return pinocchio_converter(robot, pin_model).acceleration_to_peer(q, v, a)


def acceleration_from_pinocchio(robot: HasModel, pin_model: Any, q: Array, v: Array, a: Array) -> Array:
    """Our a, from Pinocchio's q, v, a."""
    return pinocchio_converter(robot, pin_model).acceleration_from_peer(q, v, a)


# --- MuJoCo ----------------------------------------------------------------------------------------------------------


def mujoco_converter(robot: HasModel, mj_model: Any) -> Converter:
    """The match of a robot and a `mujoco.MjModel`, to be kept for many conversions."""
    peer = _mujoco(mj_model)
    return Converter(robot.model, peer, _pieces(robot.model, peer))


def to_mujoco(robot: HasModel, mj_model: Any, q: Array, v: Array | None = None) -> Any:
    """qpos, or (qpos, qvel) if v is given."""
    return mujoco_converter(robot, mj_model).to_peer(q, v)


def from_mujoco(robot: HasModel, mj_model: Any, q: Array, v: Array | None = None) -> Any:
    """Our q, or (q, v), from MuJoCo's qpos and qvel."""
    return mujoco_converter(robot, mj_model).from_peer(q, v)


def velocity_map_mujoco(robot: HasModel, mj_model: Any, q: Array) -> Array:
    """T with qvel = T v at our q: M = Tᵀ M_mujoco T, tau = Tᵀ qfrc. Shape (…, mj_model.nv, nv)."""
    return mujoco_converter(robot, mj_model).velocity_map(q)


def acceleration_to_mujoco(robot: HasModel, mj_model: Any, q: Array, v: Array, a: Array) -> Array:
    """qacc, the derivative of qvel, from our q, v, a."""
    return mujoco_converter(robot, mj_model).acceleration_to_peer(q, v, a)


def acceleration_from_mujoco(robot: HasModel, mj_model: Any, q: Array, v: Array, a: Array) -> Array:
    """Our a, from MuJoCo's qpos, qvel, qacc."""
    return mujoco_converter(robot, mj_model).acceleration_from_peer(q, v, a)


# --- iDynTree --------------------------------------------------------------------------------------------------------


def idyntree_converter(robot: HasModel, idyn_model: Any) -> Converter:
    """The match of a robot and an `idyntree.Model`: its q is (base position, wxyz, s), its v (mixed base twist, ṡ)."""
    peer = _idyntree(idyn_model, robot.model.base is not None)
    return Converter(robot.model, peer, _pieces(robot.model, peer))


def to_idyntree(robot: HasModel, idyn_model: Any, q: Array, v: Array | None = None) -> tuple[Array, ...]:
    """(X_WB, s), or (X_WB, s, V_WB, ṡ) if v is given, for KinDynComputations in its mixed representation.

    B is iDynTree's default base link: ours, or a link that is rigidly on it. For a fixed base X_WB is constant.
    """
    converter = idyntree_converter(robot, idyn_model)
    X_BL = _default_base(robot.model, idyn_model)
    both = converter.to_peer(q, v)
    q_peer, v_peer = (both, None) if v is None else both
    n = 0 if robot.model.base is None else 7
    X_WB = np.broadcast_to(np.eye(4), (*q_peer.shape[:-1], 4, 4)).copy()
    if n:
        X_WB[..., :3, :3], X_WB[..., :3, 3] = _rotation(q_peer), q_peer[..., :3]
    X_WL = X_WB @ X_BL
    if v_peer is None:
        return X_WL, q_peer[..., n:]
    V_WB = v_peer[..., :6] if n else np.zeros((*v_peer.shape[:-1], 6))
    return X_WL, q_peer[..., n:], _shifted(V_WB, X_WL[..., :3, 3] - X_WB[..., :3, 3]), v_peer[..., 6 if n else 0 :]


def from_idyntree(
    robot: HasModel, idyn_model: Any, X_WB: Array, s: Array, V_WB: Array | None = None, s_dot: Array | None = None
) -> Any:
    """Our q, or (q, v) if the mixed base twist V_WB and the joint rates are given."""
    from scipy.spatial.transform import Rotation

    converter = idyntree_converter(robot, idyn_model)
    X_BL = _default_base(robot.model, idyn_model)
    X_WL, s = np.asarray(X_WB, dtype=np.float64), np.asarray(s, dtype=np.float64)
    if X_WL.shape[-2:] != (4, 4):
        raise ShapeError(f"X_WB has shape {X_WL.shape}, wanted (…, 4, 4)")
    if (V_WB is None) != (s_dot is None):
        raise ShapeError("V_WB and s_dot come together: give both or neither")
    floating = robot.model.base is not None
    if not floating and not np.allclose(X_WL, X_BL, atol=1e-6):
        raise StateError(
            f"the base of {robot.model.name!r} is fixed; X_WB is elsewhere. Load the robot with floating=True."
        )
    X = X_WL @ rigid.inverse(X_BL)
    turn = Rotation.from_matrix(X[..., :3, :3].reshape(-1, 3, 3)).as_quat(scalar_first=True)
    base_q = np.concatenate([X[..., :3, 3], turn.reshape(*X.shape[:-2], 4)], axis=-1)
    q_peer = _joined(base_q, s) if floating else s
    if V_WB is None or s_dot is None:
        return converter.from_peer(q_peer)
    V = _shifted(np.asarray(V_WB, dtype=np.float64), X[..., :3, 3] - X_WL[..., :3, 3])
    return converter.from_peer(q_peer, _joined(V, np.asarray(s_dot, dtype=np.float64)) if floating else s_dot)


def _default_base(model: Model, idyn_model: Any) -> Array:
    """Pose of iDynTree's base link in ours (in the world for a fixed base): it drops mass-less roots."""
    link = idyn_model.getLinkName(idyn_model.getDefaultBaseLink())
    above = {joint.child: joint for joint in model.joints.values()}
    if link not in above:
        raise ModelError(f"iDynTree's base link {link!r} is not a link of {model.name!r}")
    X, place = np.eye(4), link
    while place is not None and above[place] is not model.base:
        joint = above[place]
        if joint.moving:
            raise ModelError(
                f"iDynTree's base link is {link!r}, which joint {joint.name!r} moves here. "
                f"Set its default base link to one that is rigidly on the base of {model.name!r}."
            )
        X, place = joint.origin @ joint.tail @ X, joint.parent
    return X


def _shifted(V: Array, p: Array) -> Array:
    """Mixed twist of the same body at a point p further on: (ṗ + ω × p, ω)."""
    return np.concatenate([V[..., :3] + np.cross(V[..., 3:], p), V[..., 3:]], axis=-1)


def _joined(base: Array, joints: Array) -> Array:
    shape = np.broadcast_shapes(base.shape[:-1], joints.shape[:-1])
    return np.concatenate([np.broadcast_to(x, (*shape, x.shape[-1])) for x in (base, joints)], axis=-1)
