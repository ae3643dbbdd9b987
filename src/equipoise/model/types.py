"""What a robot is: links, joints, frames, limits. Plain frozen data, no behaviour beyond small readings of itself."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from types import MappingProxyType
from typing import Any, Literal

import numpy as np

from ..algebra.rigid import skew
from .joints import Fixed, Floating, JointType

Array = np.ndarray
STANDARD_GRAVITY = (0.0, 0.0, -9.80665)


def frozen(values: Any) -> Array:
    """A read-only float64 copy; what is one already is not copied again."""
    if (
        isinstance(values, np.ndarray)
        and values.dtype == np.float64
        and not values.flags.writeable
        and values.base is None
    ):
        return values
    array = np.array(values, dtype=np.float64)
    array.flags.writeable = False
    return array


def _identity() -> Array:
    return frozen(np.eye(4))


class FrozenData:
    """Data that is copied and pickled by being made again, so that its arrays and mappings are read-only there too."""

    def __reduce__(self) -> tuple[Any, ...]:
        values = (getattr(self, f.name) for f in fields(self))  # type: ignore[arg-type]
        return type(self), tuple(dict(v) if isinstance(v, MappingProxyType) else v for v in values)


@dataclass(frozen=True, eq=False)
class Inertia(FrozenData):
    """Mass properties of one link, in the axes of the link."""

    mass: float  # kg
    com: Array  # (3,) m, from the link's origin
    matrix: Array  # (3, 3) kg m², about the centre of mass

    def __post_init__(self) -> None:
        object.__setattr__(self, "com", frozen(self.com))
        object.__setattr__(self, "matrix", frozen(self.matrix))

    def about(self, X: Array) -> tuple[float, Array, Array]:
        """(mass, first moment, inertia about the origin) in the frame in which the link's pose is X."""
        R = X[:3, :3]
        c = R @ self.com + X[:3, 3]
        return self.mass, self.mass * c, R @ self.matrix @ R.T - self.mass * skew(c) @ skew(c)


@dataclass(frozen=True, eq=False)
class Shape(FrozenData):
    """A geometric shape fixed to a link: for drawing, and for collisions."""

    kind: Literal["box", "sphere", "cylinder", "capsule", "ellipsoid", "plane", "mesh"]
    size: tuple[float, ...]  # box: edges; sphere: radius; cylinder, capsule: radius, length; mesh: scale
    X: Array = field(default_factory=_identity)  # pose in the link
    mesh: str | None = None  # path of the mesh file
    color: tuple[float, float, float, float] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "X", frozen(self.X))

    @property
    def identity(self) -> object:
        """Returns its identity in the cache: a mesh file by its name, size and time."""
        try:
            status = None if self.mesh is None else os.stat(self.mesh)
        except OSError:  # the file is missing
            status = None
        file = None if status is None else (os.path.basename(str(self.mesh)), status.st_size, status.st_mtime_ns)
        return self.kind, self.size, self.X, self.color, file


@dataclass(frozen=True, eq=False)
class Link(FrozenData):
    """A rigid body, or a mass-less name for a place on one."""

    name: str
    inertia: Inertia | None = None
    visuals: tuple[Shape, ...] = ()
    collisions: tuple[Shape, ...] = ()
    virtual: bool = False  # stands between two joints of one body; not a part of the robot a user knows


@dataclass(frozen=True)
class Mimic:
    """q = multiplier · q_leader + offset."""

    leader: str
    multiplier: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True)
class DeclaredLimits:
    """Bounds of one joint; infinite where the description gives none."""

    lower: float = -np.inf
    upper: float = np.inf
    velocity: float = np.inf
    effort: float = np.inf


@dataclass(frozen=True)
class JointDynamics:
    """What acts inside a joint: data, entered into the equations only when asked."""

    damping: float = 0.0  # N m s/rad or N s/m
    friction: float = 0.0  # N m or N, Coulomb
    armature: float = 0.0  # kg m² or kg, rotor inertia seen at the joint
    stiffness: float = 0.0  # N m/rad or N/m
    rest: float = 0.0  # position at which the spring is slack


@dataclass(frozen=True, eq=False)
class Joint(FrozenData):
    """Connects a parent link (None: the world) to a child link.

    The joint frame J stands at `origin` in the parent; it moves with the joint; the child stands at `tail` in it.
    """

    name: str
    type: JointType
    parent: str | None
    child: str
    origin: Array = field(default_factory=_identity)
    tail: Array = field(default_factory=_identity)
    limits: DeclaredLimits = DeclaredLimits()
    mimic: Mimic | None = None
    dynamics: JointDynamics = JointDynamics()
    actuated: bool | None = None  # whether a motor acts on it; None, before assembly: by the default rule
    # where its coordinates are in q; of its leader, for a mimic joint
    q: slice = field(default_factory=lambda: slice(0, 0))
    v: slice = field(default_factory=lambda: slice(0, 0))

    def __post_init__(self) -> None:
        object.__setattr__(self, "origin", frozen(self.origin))
        object.__setattr__(self, "tail", frozen(self.tail))

    @property
    def gearing(self) -> tuple[float, float]:
        """(multiplier, offset) by which its position follows from its coordinate, or from that of its leader."""
        return (1.0, 0.0) if self.mimic is None else (self.mimic.multiplier, self.mimic.offset)

    @property
    def moving(self) -> bool:
        """Whether it has coordinates: every joint but a fixed one."""
        return not isinstance(self.type, Fixed)


@dataclass(frozen=True, eq=False)
class Frame(FrozenData):
    """A named place fixed to a link (None: the world)."""

    name: str
    parent: str | None
    X: Array = field(default_factory=_identity)  # pose in the parent

    def __post_init__(self) -> None:
        object.__setattr__(self, "X", frozen(self.X))


@dataclass(frozen=True, eq=False)
class LoopClosure(FrozenData):
    """A constraint that closes a loop of the mechanism. The tree's dynamics do not include it."""

    name: str
    kind: Literal["connect", "weld", "joint"]
    frame_a: Frame | None = None
    frame_b: Frame | None = None
    joint_a: str | None = None
    joint_b: str | None = None
    polynomial: tuple[float, ...] = ()  # joint: q_a − q_a0 = Σ polynomial[k] (q_b − q_b0)^k


@dataclass(frozen=True, eq=False)
class Model(FrozenData):
    """A tree of links and joints. Made by `assemble`, which checks it and gives every joint its place in q and v."""

    name: str
    links: Mapping[str, Link]
    joints: Mapping[str, Joint]  # base joint first if there is one, then file order
    frames: Mapping[str, Frame]  # links are frames too
    loops: Mapping[str, LoopClosure]
    nq: int
    nv: int
    gravity: tuple[float, float, float] = STANDARD_GRAVITY
    standing: Mapping[str, tuple[float, ...]] = field(default_factory=dict)  # joint positions of the standing posture
    armature: bool = False  # whether rotor armature enters the equations
    source: str | None = None  # path of the description's file, beside which others may lie

    def __post_init__(self) -> None:
        for name in ("links", "joints", "frames", "loops", "standing"):
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))

    @property
    def identity(self) -> object:
        """Returns its identity in the cache: every field but the path of its file."""
        return [getattr(self, f.name) for f in fields(self) if f.name != "source"]

    @property
    def base(self) -> Joint | None:
        """The floating joint that q starts with, or None for a fixed base."""
        first = next(iter(self.joints.values()), None)
        if first is not None and first.parent is None and isinstance(first.type, Floating):
            return first
        return None

    @cached_property
    def actuated(self) -> Array:
        """Which velocities have motors, (nv,) of bool, read-only."""
        found = np.zeros(self.nv, dtype=bool)
        for joint in self.joints.values():
            found[joint.v] |= bool(joint.actuated)
        found.flags.writeable = False
        return found

    @property
    def mass(self) -> float:
        """Of all links, kg."""
        return float(sum(link.inertia.mass for link in self.links.values() if link.inertia is not None))
