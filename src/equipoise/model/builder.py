"""A robot described in Python, part by part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Self

import numpy as np

from ..algebra import rigid
from ..errors import ModelError, unknown_name
from .assemble import assemble
from .joints import JOINT_TYPES, JointType, Planar
from .joints.axis import AxisJoint
from .shapes import ORIGIN, Vector, placement, solids_inertia, vector
from .types import (
    STANDARD_GRAVITY,
    Array,
    DeclaredLimits,
    Frame,
    Inertia,
    Joint,
    JointDynamics,
    Link,
    Mimic,
    Model,
    Shape,
    frozen,
)

WORLD = "world"
TRIANGLE_SLACK = 1e-9  # relative: what rounding may do to an inertia that is physical


class ModelBuilder:
    """Collects links, joints and frames; `model()` checks that they are one tree.

        builder = ModelBuilder("pendulum", floating=False)
        builder.link("post").link("rod", mass=1.0, shapes=[cylinder(0.01, 1.0, position=(0, 0, -0.5))])
        builder.joint("swing", "revolute", "post", "rod", axis=(0, 1, 0))
        model = builder.model()

    Args:
        floating: let the root link float freely (the base) instead of fixing it to the world.
        gravity: m/s², in the world.
    """

    def __init__(self, name: str, *, floating: bool = True, gravity: Vector = STANDARD_GRAVITY) -> None:
        self.name = name
        self._floating = floating
        self._gravity = vector("gravity", gravity)
        self._links: list[Link] = []
        self._joints: list[Joint] = []
        self._frames: list[Frame] = []
        self._standing: dict[str, tuple[float, ...]] = {}

    def link(
        self,
        name: str,
        *,
        mass: float = 0.0,
        com: Vector | None = None,
        inertia: Vector | Array | None = None,
        shapes: Sequence[Shape] = (),
        visuals: Sequence[Shape] | None = None,
        virtual: bool = False,
    ) -> Self:
        """Add a link.

        Args:
            mass: kg; a link without mass is a name for a place on its parent.
            com: m, in the link. By default the centre of the shapes where the inertia comes from them, else the origin.
            inertia: kg m² about the centre of mass in the axes of the link, 3×3 or the three numbers of its diagonal.
                By default that of the shapes, solid and of even density.
            shapes: used for collisions, and drawn unless `visuals` are given.
            visuals: what is drawn instead.
            virtual: the link only stands between two joints; it is no frame of the robot.
        """
        if name == WORLD:
            raise ModelError(f"no link can be named {WORLD!r}: that name is the world's. Name it 'base', for example.")
        properties = mass_properties(name, mass, com, inertia, shapes)
        self._links.append(
            Link(name, properties, tuple(shapes if visuals is None else visuals), tuple(shapes), virtual)
        )
        return self

    def joint(
        self,
        name: str,
        type: str | JointType,
        parent: str | None,
        child: str,
        *,
        axis: Vector = (0.0, 0.0, 1.0),
        position: Vector = ORIGIN,
        rpy: Vector = ORIGIN,
        child_position: Vector = ORIGIN,
        child_rpy: Vector = ORIGIN,
        lower: float = -np.inf,
        upper: float = np.inf,
        velocity: float = np.inf,
        effort: float = np.inf,
        mimic: Mimic | str | None = None,
        damping: float = 0.0,
        friction: float = 0.0,
        armature: float = 0.0,
        stiffness: float = 0.0,
        rest: float = 0.0,
        actuated: bool | None = None,
    ) -> Self:
        """Connect a child link to its parent; joints keep the order in which they are added.

        Args:
            type: a name in `JOINT_TYPES`, or a joint type with its own axis.
            parent: a link; None or "world" for the world.
            axis: of a revolute, continuous or prismatic joint, or normal of a planar one, in the joint's frame; any
                length.
            position, rpy: of the joint's frame in the parent: metres, and radians about fixed x, y, z.
            child_position, child_rpy: of the child in the joint's frame, which moves with the joint.
            lower, upper, velocity, effort: bounds, in rad or m, their rates, and N m or N.
            mimic: the joint that this one follows.
            actuated: whether a motor acts on it. By default one acts on every joint with one degree of freedom that
                belongs to the tree of the base.
        """
        joint_type, turn = _joint_type(name, type, axis)
        origin = placement(f"joint {name!r}", position, rpy) @ rigid.pose(turn)
        tail = rigid.pose(turn.T) @ placement(f"the child of joint {name!r}", child_position, child_rpy)
        limits = _limits(name, lower, upper, velocity, effort)
        dynamics = JointDynamics(damping, friction, armature, stiffness, rest)
        _require_dynamics(name, dynamics)
        leader = Mimic(mimic) if isinstance(mimic, str) else mimic
        ends = _link_or_world(parent), child
        self._joints.append(Joint(name, joint_type, *ends, origin, tail, limits, leader, dynamics, actuated))
        return self

    def frame(self, name: str, parent: str | None, *, position: Vector = ORIGIN, rpy: Vector = ORIGIN) -> Self:
        """Name a place fixed to a link, or to the world (None or "world")."""
        self._frames.append(Frame(name, _link_or_world(parent), placement(f"frame {name!r}", position, rpy)))
        return self

    def standing(self, positions: Mapping[str, float | Sequence[float]]) -> Self:
        """Set joint positions of the standing posture; a floating base is the joint "base" with its seven numbers."""
        for name, position in positions.items():
            try:
                self._standing[name] = tuple(map(float, np.atleast_1d(np.asarray(position, dtype=float))))
            except (TypeError, ValueError):
                raise ModelError(f"the standing posture of joint {name!r} is numbers, got {position!r}") from None
        return self

    def model(self) -> Model:
        """The robot; an error if the parts are not one tree."""
        model = assemble(
            self.name,
            self._links,
            self._joints,
            frames=self._frames,
            floating=self._floating,
            gravity=tuple(self._gravity),
            standing=self._standing,
        )
        for name, position in model.standing.items():
            _require_posture(model, name, position)
        return model


def mass_properties(
    name: str, mass: float, com: Vector | None, inertia: Vector | Array | None, shapes: Sequence[Shape] = ()
) -> Inertia | None:
    """Mass, centre of mass and inertia of a link as a user gives them; None for a link without mass."""
    if not np.isfinite(mass) or mass < 0:
        raise ModelError(f"mass of link {name!r} is a finite number of kg, zero or more, got {mass!r}")
    if mass == 0:
        if inertia is not None and np.any(inertia):
            raise ModelError(f"link {name!r} has an inertia but no mass; give mass=… too")
        return None
    if inertia is None:
        if not shapes:
            raise ModelError(
                f"link {name!r} has a mass of {mass:g} kg but no inertia. Give inertia=(Ixx, Iyy, Izz) or a 3×3 "
                "matrix, shapes to compute it from, or inertia=(0, 0, 0) for a point mass."
            )
        solid = solids_inertia(shapes, float(mass))
        centre = solid.com if com is None else vector(f"com of link {name!r}", com)
        return Inertia(float(mass), centre, solid.matrix)
    matrix = frozen(inertia)
    matrix = np.diag(matrix) if matrix.shape == (3,) else matrix
    properties = Inertia(float(mass), vector(f"com of link {name!r}", ORIGIN if com is None else com), matrix)
    _require_physical(name, properties)
    return properties


def _require_physical(name: str, inertia: Inertia) -> None:
    """No body of positive mass has a negative principal moment, or one larger than the sum of the other two."""
    matrix = inertia.matrix
    if matrix.shape != (3, 3) or not np.isfinite(matrix).all():
        raise ModelError(f"inertia of link {name!r} is 3×3 or 3 finite numbers, got {matrix.tolist()!r}")
    scale = float(np.abs(matrix).max())
    if np.abs(matrix - matrix.T).max() > TRIANGLE_SLACK * scale:
        raise ModelError(f"inertia of link {name!r} must be symmetric, got {matrix.tolist()!r}")
    small, middle, large = np.linalg.eigvalsh(matrix)
    if small < -TRIANGLE_SLACK * scale or large > small + middle + TRIANGLE_SLACK * scale:
        raise ModelError(
            f"inertia of link {name!r} is not physical: its principal moments {small:.6g}, {middle:.6g}, {large:.6g} "
            "must be positive, none larger than the sum of the others. Is it about the centre of mass, in kg m²?"
        )


def _joint_type(name: str, type: str | JointType, axis: Vector) -> tuple[JointType, Array]:
    """The joint type, and the rotation that its placement needs where it cannot express the axis itself."""
    if not isinstance(type, str):
        if not all(hasattr(type, member) for member in ("nq", "nv", "pose", "slide", "spin")):
            raise ModelError(
                f"type of joint {name!r} is a name ({', '.join(JOINT_TYPES)}) or a joint type, got {type!r}"
            )
        return type, np.eye(3)
    if type not in JOINT_TYPES:
        raise unknown_name("joint type", type, JOINT_TYPES)
    kind = JOINT_TYPES[type]
    if not issubclass(kind, AxisJoint | Planar):
        return kind(), np.eye(3)
    direction = vector(f"axis of joint {name!r}", axis)
    length = np.linalg.norm(direction)
    if length == 0:
        raise ModelError(f"axis of joint {name!r} has no length; give a direction such as (0, 0, 1)")
    unit = rigid.tidy(direction / length)
    if issubclass(kind, AxisJoint):
        return kind(axis=tuple(map(float, unit))), np.eye(3)
    upright = bool(unit[2] == 1.0)
    return kind(), np.eye(3) if upright else rigid.tidy(rigid.rotation_to(unit))


def _link_or_world(name: str | None) -> str | None:
    return None if name == WORLD else name


def _limits(name: str, lower: float, upper: float, velocity: float, effort: float) -> DeclaredLimits:
    if not lower <= upper:  # so written, NaN is refused too
        raise ModelError(f"joint {name!r} needs lower ≤ upper, got lower={lower!r}, upper={upper!r}")
    for what, value in (("velocity", velocity), ("effort", effort)):
        if not value >= 0:
            raise ModelError(f"{what} limit of joint {name!r} is zero or more, got {value!r}")
    return DeclaredLimits(float(lower), float(upper), float(velocity), float(effort))


def _require_dynamics(name: str, dynamics: JointDynamics) -> None:
    for what in ("damping", "friction", "armature", "stiffness"):
        value = getattr(dynamics, what)
        if not (np.isfinite(value) and value >= 0):
            raise ModelError(f"{what} of joint {name!r} is a finite number, zero or more, got {value!r}")
    if not np.isfinite(dynamics.rest):
        raise ModelError(f"rest of joint {name!r} is a finite number, got {dynamics.rest!r}")


def _require_posture(model: Model, name: str, position: tuple[float, ...]) -> None:
    if name not in model.joints:
        raise unknown_name("joint (in the standing posture)", name, model.joints)
    joint = model.joints[name]
    if joint.mimic is not None:
        raise ModelError(
            f"joint {name!r} follows {joint.mimic.leader!r}: give the standing position of that one instead"
        )
    if len(position) != joint.type.nq or not np.isfinite(position).all():
        raise ModelError(
            f"the standing posture of joint {name!r} ({joint.type.name}) wants {joint.type.nq} finite "
            f"{'number' if joint.type.nq == 1 else 'numbers'}, got {position!r}"
        )
