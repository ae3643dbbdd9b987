"""Models as URDF files, for the tools that read those."""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np

from ..algebra import rigid
from ..errors import ModelError, ModelWarning
from .actuation import settled
from .joints import JOINT_TYPES, Fixed, Floating, Planar, Revolute
from .joints.axis import AxisJoint
from .types import Frame, Inertia, Joint, Link, Model, Shape

UNLIMITED = 1e30  # URDF has no infinity; a limit of this size is none


def write_urdf(model: Model) -> str:
    """The robot as URDF text.

    The base joint is not written: whoever reads the file decides whether the robot floats. Other joints to the world
    start at a mass-less link "world". Motors are transmissions, written where a reader would not assume them by
    default; joints without one then have an effort limit of zero. URDF knows neither armature, springs, loop closures,
    ellipsoids nor planes: these are lost.
    """
    frames = [frame for frame in model.frames.values() if frame.name not in model.links]
    world = None if _only_the_base(model, frames) else _free("world", {**model.links, **model.frames})
    lines = [f"<robot{_attributes(name=model.name)}>"]
    if world is not None:
        lines.append(f"  <link{_attributes(name=world)}/>")
    for link in model.links.values():
        lines += _link_lines(link)
    for joint in model.joints.values():
        if joint.parent is not None or world is not None:
            lines += _joint_lines(joint, joint.parent or str(world), model)
    for frame in frames:
        lines.append(f"  <link{_attributes(name=frame.name)}/>")
        lines += _fixed_lines(
            _free(f"{frame.name}_fixed", model.joints), frame.parent or str(world), frame.name, frame.X
        )
    if _tells_motors(model):
        lines += [line for joint in model.joints.values() if joint.actuated for line in _transmission_lines(joint)]
    _warn_of_losses(model)
    return "\n".join([*lines, "</robot>", ""])


def _only_the_base(model: Model, frames: Iterable[Frame]) -> bool:
    """Whether nothing but the root's own joint touches the world."""
    roots = [joint for joint in model.joints.values() if joint.parent is None]
    at_rest = all(
        isinstance(joint.type, Fixed | Floating) and _is_identity(joint.origin @ joint.tail) for joint in roots
    )
    return len(roots) == 1 and at_rest and all(frame.parent is not None for frame in frames)


def _warn_of_losses(model: Model) -> None:
    lost = [f"the loop closure {name!r}" for name in model.loops]
    for link in model.links.values():
        shapes = (*link.visuals, *link.collisions)
        lost += [f"the {shape.kind} of link {link.name!r}" for shape in shapes if not _geometry(_standard(shape)[0])]
    if _tells_motors(model) and not model.actuated.any():
        lost.append("that no joint has a motor")
    if lost:
        warnings.warn(f"URDF cannot say everything: left out {', '.join(lost[:6])}", ModelWarning, stacklevel=3)


# Links


def _link_lines(link: Link) -> Iterator[str]:
    yield f"  <link{_attributes(name=link.name)}>"
    if link.inertia is not None:
        yield from _inertial_lines(link.inertia)
    for tag, shapes in (("visual", link.visuals), ("collision", link.collisions)):
        for shape in filter(_geometry, itertools.chain.from_iterable(map(_standard, shapes))):
            yield f"    <{tag}>"
            yield f"      {_origin(shape.X)}"
            yield f"      <geometry>{_geometry(shape)}</geometry>"
            if shape.color is not None:
                name = "rgba " + _numbers(shape.color)  # equal colours share a name
                yield f"      <material{_attributes(name=name)}><color{_attributes(rgba=shape.color)}/></material>"
            yield f"    </{tag}>"
    yield "  </link>"


def _inertial_lines(inertia: Inertia) -> Iterator[str]:
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = inertia.matrix.tolist()
    yield "    <inertial>"
    yield f"      {_origin(rigid.pose(p=inertia.com))}"
    yield f"      <mass{_attributes(value=inertia.mass)}/>"
    yield f"      <inertia{_attributes(ixx=xx, ixy=xy, ixz=xz, iyy=yy, iyz=yz, izz=zz)}/>"
    yield "    </inertial>"


def _standard(shape: Shape) -> list[Shape]:
    """URDF knows no capsules, and some of its readers fall over them: a cylinder and two balls are the same body."""
    if shape.kind != "capsule":
        return [shape]
    radius, length = shape.size
    ends = [shape.X @ rigid.pose(p=np.array([0, 0, sign * length / 2])) for sign in (-1, 1)]
    return [replace(shape, kind="cylinder"), *(replace(shape, kind="sphere", size=(radius,), X=X) for X in ends)]


def _geometry(shape: Shape) -> str:
    if shape.kind == "box":
        return f"<box{_attributes(size=shape.size)}/>"
    if shape.kind == "sphere":
        return f"<sphere{_attributes(radius=shape.size[0])}/>"
    if shape.kind == "cylinder":
        return f"<cylinder{_attributes(radius=shape.size[0], length=shape.size[1])}/>"
    if shape.kind == "mesh" and shape.mesh is not None:
        return f"<mesh{_attributes(filename=shape.mesh, scale=shape.size)}/>"
    return ""


# Joints


def _joint_lines(joint: Joint, parent: str, model: Model) -> Iterator[str]:
    """One joint; a second, fixed one if the child does not stand in the moved joint frame."""
    child = joint.child
    if not _is_identity(joint.tail):
        child = _free(f"{joint.name}_moved", {**model.links, **model.frames})
        yield f"  <link{_attributes(name=child)}/>"
        yield from _fixed_lines(_free(f"{joint.name}_tail", model.joints), child, joint.child, joint.tail)
    yield f"  <joint{_attributes(name=joint.name, type=_type_name(joint))}>"
    yield f"    {_origin(joint.origin)}"
    yield f"    <parent{_attributes(link=parent)}/>"
    yield f"    <child{_attributes(link=child)}/>"
    if isinstance(joint.type, AxisJoint):
        yield f"    <axis{_attributes(xyz=joint.type.axis)}/>"
        yield f"    <limit{_limit_attributes(joint, passive=_tells_motors(model) and not _is_driven(joint, model))}/>"
    if isinstance(joint.type, Planar):
        yield f"    <axis{_attributes(xyz=(0.0, 0.0, 1.0))}/>"
    if joint.mimic is not None:
        mimic = joint.mimic
        yield f"    <mimic{_attributes(joint=mimic.leader, multiplier=mimic.multiplier, offset=mimic.offset)}/>"
    if joint.dynamics.damping or joint.dynamics.friction:
        yield f"    <dynamics{_attributes(damping=joint.dynamics.damping, friction=joint.dynamics.friction)}/>"
    yield "  </joint>"


def _tells_motors(model: Model) -> bool:
    """Whether motors are elsewhere than on the joints that have one by default."""
    joints = [replace(joint, actuated=None) for joint in model.joints.values()]
    return [joint.actuated for joint in settled(joints)] != [joint.actuated for joint in model.joints.values()]


def _is_driven(joint: Joint, model: Model) -> bool:
    """Whether a motor moves the joint, or the one that it follows."""
    return bool(model.joints[joint.mimic.leader].actuated if joint.mimic is not None else joint.actuated)


def _transmission_lines(joint: Joint) -> Iterator[str]:
    yield f"  <transmission{_attributes(name=f'{joint.name}_transmission')}>"
    yield "    <type>transmission_interface/SimpleTransmission</type>"
    interface = "hardware_interface/EffortJointInterface"
    yield f"    <joint{_attributes(name=joint.name)}><hardwareInterface>{interface}</hardwareInterface></joint>"
    motor = _attributes(name=f"{joint.name}_motor")
    yield f"    <actuator{motor}><mechanicalReduction>1</mechanicalReduction></actuator>"
    yield "  </transmission>"


def _fixed_lines(name: str, parent: str, child: str, X: np.ndarray) -> Iterator[str]:
    yield f'  <joint{_attributes(name=name)} type="fixed">'
    yield f"    {_origin(X)}"
    yield f"    <parent{_attributes(link=parent)}/>"
    yield f"    <child{_attributes(link=child)}/>"
    yield "  </joint>"


def _type_name(joint: Joint) -> str:
    """URDF's name of the type; it calls a ball joint spherical, and a revolute joint without limits continuous."""
    if joint.type.name not in JOINT_TYPES:
        raise ModelError(
            f"joint {joint.name!r} is {joint.type.name}, which URDF has not; it has {', '.join(JOINT_TYPES)}"
        )
    if joint.type.name == "ball":
        return "spherical"
    if isinstance(joint.type, Revolute) and math.isinf(joint.limits.lower) and math.isinf(joint.limits.upper):
        return "continuous"
    return joint.type.name


def _limit_attributes(joint: Joint, *, passive: bool) -> str:
    limits = replace(joint.limits, effort=0.0) if passive else joint.limits
    effort, velocity, lower, upper = (
        max(-UNLIMITED, min(UNLIMITED, x)) for x in (limits.effort, limits.velocity, limits.lower, limits.upper)
    )
    if _type_name(joint) == "continuous":
        return _attributes(effort=effort, velocity=velocity)
    return _attributes(lower=lower, upper=upper, effort=effort, velocity=velocity)


# Attributes


def _is_identity(X: np.ndarray) -> bool:
    return bool(np.array_equal(X, np.eye(4)))


def _free(name: str, taken: Iterable[str]) -> str:
    """The name, with underscores until no other part has it."""
    names = set(taken)
    while name in names:
        name += "_"
    return name


def _origin(X: np.ndarray) -> str:
    rpy = rigid.rpy_from_rotation(X[:3, :3])
    return f"<origin{_attributes(xyz=X[:3, 3].tolist(), rpy=rpy)}/>"


def _attributes(**values: str | float | Iterable[float]) -> str:
    return "".join(f' {name}="{_escaped(v) if isinstance(v, str) else _numbers(v)}"' for name, v in values.items())


def _escaped(text: str) -> str:
    """Text as XML wants it between quotes; the standard library's way costs 30 ms of import."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")


def _numbers(values: float | Iterable[float]) -> str:
    """Shortest text that reads back as the same numbers."""
    return " ".join(repr(float(x) + 0.0) for x in (values if isinstance(values, Iterable) else (values,)))
