"""The model as the equations see it: moving bodies only, each with one joint, its placement and its lumped inertia.

Links joined rigidly are one body here. Oblique axes are turned into z by a constant rotation, negative ones by a sign,
so that the equations meet only simple joints and most numbers in them are exact zeros and ones.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..algebra import rigid
from .joints import JointType
from .joints.axis import AxisJoint
from .types import Joint, Model

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class MovingBody:
    """One moving body; its frame is the moved joint frame."""

    name: str  # of the joint that moves it
    parent: int  # index of the parent body, −1 for the world
    joint: JointType
    R: Array  # (3, 3) placement of the joint in the parent body
    p: Array  # (3,)
    q: slice
    v: slice
    multiplier: float  # the joint moves by multiplier · q + offset
    offset: float
    armature: float
    mass: float
    h: Array  # (3,) first moment of mass
    I: Array

    @property
    def scaled(self) -> bool:
        """Whether the joint moves otherwise than its coordinate says."""
        return self.multiplier != 1.0 or self.offset != 0.0


@dataclass(frozen=True, eq=False)
class Tree:
    """Bodies with parents before children, and where frames sit on them."""

    nq: int
    nv: int
    bodies: tuple[MovingBody, ...]
    places: Mapping[str, tuple[int, Array]]  # frame → (body, pose in it)
    gravity: tuple[float, float, float]
    floating: bool  # body 0 is the base
    coupled: bool  # two bodies share a coordinate (mimic joints)
    quaternions: tuple[int, ...]  # where unit quaternions start in q
    fixed_mass: float  # of links that are fixed to the world: no motion, but part of the robot's mass
    fixed_h: Array  # (3,) their first moment about the world's origin
    digest: str  # of everything the equations depend on

    @property
    def identity(self) -> object:
        """Returns its identity in the cache."""
        return self.digest, tuple({type(body.joint): None for body in self.bodies})

    def ancestors(self, i: int) -> list[int]:
        """Body i, its parent, and so on to the root."""
        line = []
        while i >= 0:
            line.append(i)
            i = self.bodies[i].parent
        return line


def tree_of(model: Model) -> Tree:
    """Reduce a model to its moving bodies."""
    bodies: list[dict[str, Any]] = []
    place: dict[str | None, tuple[int, Array]] = {None: (-1, np.eye(4))}
    for joint in _parents_first(model):
        parent, X_parent = place[joint.parent]
        if not joint.moving:
            place[joint.child] = parent, X_parent @ joint.origin @ joint.tail
            continue
        joint_type, turn, sign = _simple(joint)
        X = X_parent @ joint.origin @ rigid.pose(turn)
        multiplier, offset = joint.gearing
        place[joint.child] = len(bodies), rigid.pose(turn.T) @ joint.tail
        bodies.append(
            dict(
                name=joint.name,
                parent=parent,
                joint=joint_type,
                R=rigid.tidy(X[:3, :3]),
                p=_clean(X[:3, 3]),
                q=joint.q,
                v=joint.v,
                multiplier=sign * multiplier,
                offset=sign * offset,
                armature=joint.dynamics.armature if model.armature else 0.0,
                mass=0.0,
                h=np.zeros(3),
                I=np.zeros((3, 3)),
            )
        )
    fixed: dict[str, Any] = dict(mass=0.0, h=np.zeros(3), I=np.zeros((3, 3)))
    for link in model.links.values():
        body, X = place[link.name]
        if link.inertia is not None:
            mass, h, inertia = link.inertia.about(X)
            owner = bodies[body] if body >= 0 else fixed
            owner["mass"], owner["h"], owner["I"] = owner["mass"] + mass, owner["h"] + h, owner["I"] + inertia
    return _finished(model, tuple(MovingBody(**body) for body in bodies), place, fixed)


def _finished(
    model: Model,
    bodies: tuple[MovingBody, ...],
    place: Mapping[str | None, tuple[int, Array]],
    fixed: Mapping[str, Any],
) -> Tree:
    places = {}
    for frame in model.frames.values():
        body, X = place[frame.parent]
        X_frame = X @ frame.X
        places[frame.name] = body, rigid.pose(rigid.tidy(X_frame[:3, :3]), _clean(X_frame[:3, 3]))
    leaders = [body for body in bodies if model.joints[body.name].mimic is None]
    starts = {"ball": 0, "floating": 3}
    quaternions = tuple(body.q.start + starts[body.joint.name] for body in leaders if body.joint.name in starts)
    tree = Tree(
        nq=model.nq,
        nv=model.nv,
        bodies=bodies,
        places=places,
        gravity=model.gravity,
        floating=model.base is not None,
        coupled=len(leaders) < len(bodies),
        quaternions=quaternions,
        fixed_mass=fixed["mass"],
        fixed_h=fixed["h"],
        digest="",
    )
    return replace(tree, digest=_digest(tree))


def _parents_first(model: Model) -> list[Joint]:
    waiting: dict[str | None, list[Joint]] = {}
    for joint in model.joints.values():
        waiting.setdefault(joint.parent, []).append(joint)
    ordered: list[Joint] = []
    front = waiting.get(None, [])[::-1]
    while front:
        joint = front.pop()
        ordered.append(joint)
        front.extend(waiting.get(joint.child, [])[::-1])
    return ordered


def _simple(joint: Joint) -> tuple[JointType, Array, float]:
    """(joint about x, y or z; constant rotation that makes it so; sign of its motion)."""
    if not isinstance(joint.type, AxisJoint):
        return joint.type, np.eye(3), 1.0
    axis = rigid.tidy(np.array(joint.type.axis))
    if np.count_nonzero(axis) == 1:
        return replace(joint.type, axis=tuple(np.abs(axis))), np.eye(3), float(np.sign(axis.sum()))
    return replace(joint.type, axis=(0.0, 0.0, 1.0)), rigid.rotation_to(axis), 1.0


def _clean(p: Array) -> Array:
    """Positions below a femtometre are rounding of the fixed joints in between."""
    return np.where(np.abs(p) < 1e-15, 0.0, p)


def _digest(tree: Tree) -> str:
    """A name for everything the dynamics depend on: two robots of one digest share their machine code."""
    text = hashlib.sha256()
    text.update(repr((tree.nq, tree.nv, tree.gravity, tree.floating, tree.fixed_mass, tree.fixed_h.tolist())).encode())
    for body in tree.bodies:
        kind = type(body.joint)
        ours = kind.__module__.startswith("equipoise.")
        text.update(b"[]" if ours else f"{kind.__module__}.{kind.__qualname__}".encode())
        text.update(
            repr((body.parent, body.joint, body.q, body.v, body.multiplier, body.offset, body.armature)).encode()
        )
        for array in (body.R, body.p, np.array([body.mass]), body.h, body.I):
            text.update(np.ascontiguousarray(array).tobytes())
    return text.hexdigest()
