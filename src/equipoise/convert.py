"""States between Equipoise and its peers: Pinocchio, MuJoCo, iDynTree.

`convert.pinocchio(robot, model)`, `.mujoco` and `.idyntree` return a `Converter` with `to_peer(q, v)` and
`from_peer(q, v)`. Joints are matched by name; the base is matched whatever it is called. Arrays may have leading
dimensions; results are float64. `twist`, `wrench`, `acceleration` and `jacobian` carry the motion of a frame between
the three representations.

| peer | base position | base velocity | continuous | ball | planar |
|---|---|---|---|---|---|
| ours | p, wxyz | ṗ, ω in W | angle | wxyz, ω in child | x, y, angle; their rates |
| Pinocchio | p, xyzw | both in B | cos, sin | xyzw, ω in child | x, y, cos, sin; rates in child |
| MuJoCo | p, wxyz | ṗ in W, ω in B | angle | wxyz, ω in child | has none |
| iDynTree | 4×4 matrix | ṗ, ω in W (mixed) | angle | wxyz, ω in child | has none |
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from .algebra import rigid
from .errors import ModelError, ShapeError, StateError, deprecated
from .forms.representations import acceleration, jacobian, twist, wrench  # noqa: F401  part of this page's face
from .model.peer_joints import (
    SAME,
    JointPair,
    PeerModel,
    applied,
    idyntree_joints,
    matched,
    mujoco_joints,
    pinocchio_joints,
    rotation_in,
)
from .model.types import Model

Array = np.ndarray
UNIT_WITHIN = 1e-6  # quaternions nearer to unit length are normalised, others refused


class HasModel(Protocol):
    """A robot, or anything else that holds a model."""

    @property
    def model(self) -> Model:
        """The description behind the robot."""
        ...


# --- conversion ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Converter:
    """A robot and its double in another library, joints matched once. `pinocchio`, `mujoco` and
    `idyntree` make one."""

    model: Model
    peer: PeerModel
    pieces: tuple[JointPair, ...]

    def to_peer(self, q: Array, v: Array | None = None) -> Any:
        """q, or (q, v), of the peer."""
        q = _checked("q", q, self.model.nq)
        q_peer = np.zeros((*q.shape[:-1], self.peer.nq))
        for piece in self.pieces:
            q_peer[..., piece.peer_q] = piece.rule.position(_ours(piece, q))
        return q_peer if v is None else (q_peer, self._rates_to_peer(q, _checked("v", v, self.model.nv)))

    def from_peer(self, q: Array, v: Array | None = None) -> Any:
        """Our q, or (q, v). Mimic joints of the peer are ignored."""
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

    def _leaders(self) -> list[JointPair]:
        return [piece for piece in self.pieces if not piece.follower]

    def _rates_to_peer(self, q: Array, v: Array) -> Array:
        v_peer = np.zeros((*np.broadcast_shapes(q.shape[:-1], v.shape[:-1]), self.peer.nv))
        for piece in self.pieces:
            own = piece.multiplier * v[..., piece.v]
            v_peer[..., piece.peer_v] = (
                own if piece.rule.turn is None else applied(piece.rule.turn(_ours(piece, q)), own)
            )
        return v_peer

    def _rates_from_peer(self, q: Array, v_peer: Array) -> Array:
        v = np.zeros((*np.broadcast_shapes(q.shape[:-1], v_peer.shape[:-1]), self.model.nv))
        for piece in self._leaders():
            theirs = v_peer[..., piece.peer_v]
            turn = piece.rule.turn
            v[..., piece.v] = theirs if turn is None else applied(np.swapaxes(turn(_ours(piece, q)), -1, -2), theirs)
        return v

    def _drift(self, q: Array, v: Array) -> Array:
        """Ṫ v."""
        drift = np.zeros((*np.broadcast_shapes(q.shape[:-1], v.shape[:-1]), self.peer.nv))
        for piece in self.pieces:
            if piece.rule.drift is not None:
                drift[..., piece.peer_v] = piece.rule.drift(_ours(piece, q), v[..., piece.v])
        return drift


def _ours(piece: JointPair, q: Array) -> Array:
    """Position of a joint from our q: its own coordinates, or those its leader gives it."""
    return _unit(piece, piece.multiplier * q[..., piece.q] + piece.offset)


def _unit(piece: JointPair, q: Array) -> Array:
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


# --- peers -----------------------------------------------------------------------------------------------------------


def pinocchio(robot: HasModel, model: Any) -> Converter:
    """Returns the converter between a robot and its `pinocchio.Model`.

    Pinocchio's acceleration is the derivative of the body twist for the base; angles that it writes as cosine and sine
    come back in (−π, π].
    """
    return _matched(robot, pinocchio_joints(model))


def mujoco(robot: HasModel, model: Any) -> Converter:
    """Returns the converter between a robot and its `mujoco.MjModel`: qpos, qvel, qacc."""
    return _matched(robot, mujoco_joints(model))


def idyntree(robot: HasModel, model: Any) -> Converter:
    """Returns the converter between a robot and its `idyntree.Model`: q is (base position, wxyz, s), v is (mixed base
    twist, ṡ)."""
    return _matched(robot, idyntree_joints(model, robot.model.base is not None))


def _matched(robot: HasModel, peer: PeerModel) -> Converter:
    return Converter(robot.model, peer, matched(robot.model, peer))


# --- iDynTree --------------------------------------------------------------------------------------------------------


def to_idyntree(robot: HasModel, idyn_model: Any, q: Array, v: Array | None = None) -> tuple[Array, ...]:
    """(X_WB, s), or (X_WB, s, V_WB, ṡ) if v is given, for KinDynComputations in its mixed representation.

    B is iDynTree's default base link: ours, or a link that is rigidly on it. For a fixed base X_WB is constant.
    """
    converter = idyntree(robot, idyn_model)
    X_BL = _default_base(robot.model, idyn_model)
    both = converter.to_peer(q, v)
    q_peer, v_peer = (both, None) if v is None else both
    n = 0 if robot.model.base is None else 7
    X_WB = np.broadcast_to(np.eye(4), (*q_peer.shape[:-1], 4, 4)).copy()
    if n:
        X_WB[..., :3, :3], X_WB[..., :3, 3] = rotation_in(q_peer), q_peer[..., :3]
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

    converter = idyntree(robot, idyn_model)
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


# --- names until 0.4 -------------------------------------------------------------------------------------------------

METHODS = {
    "to": "to_peer", "from": "from_peer", "velocity_map": "velocity_map", "acceleration_to": "acceleration_to_peer",
    "acceleration_from": "acceleration_from_peer",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    """Returns `to_pinocchio(robot, model, q, v)`, `pinocchio_converter` and their like, which 0.2 had."""
    method, _, library = name.rpartition("_")
    if name.endswith("_converter") and method in LIBRARIES:
        deprecated(f"convert.{name}", f"convert.{method}")
        return LIBRARIES[method]
    if method not in METHODS or library not in LIBRARIES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    deprecated(f"convert.{name}(robot, model, …)", f"convert.{library}(robot, model).{METHODS[method]}(…)")
    return lambda robot, model, *state, **named: getattr(LIBRARIES[library](robot, model), METHODS[method])(
        *state, **named
    )


LIBRARIES = {"pinocchio": pinocchio, "mujoco": mujoco, "idyntree": idyntree}
