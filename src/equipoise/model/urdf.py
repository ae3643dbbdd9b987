"""URDF files as models.

An own reader on expat: yourdfpy costs over a second of import for its mesh library, more than a whole warm start may
take, and does not say in which line an error is.
"""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from ..algebra import rigid
from ..errors import EquipoiseError, ModelError, ModelWarning, unknown_name
from . import xml
from .assemble import assemble
from .free_base import with_settled_base
from .joints import Ball, Continuous, Fixed, Floating, JointType, Planar, Prismatic, Revolute
from .types import STANDARD_GRAVITY, DeclaredLimits, Inertia, Joint, JointDynamics, Link, Mimic, Model, Shape
from .urdf_extensions import mesh_folder, with_extensions
from .urdf_meshes import Meshes
from .urdf_motors import with_motors
from .urdf_values import XACRO, Vector, bound_in, number_in, numbers_in, origin_of, required_child
from .urdf_writer import write_urdf
from .xml import Element, shortened

__all__ = ["read_urdf", "write_urdf"]

XACRO_DEFINITIONS = ("xacro:property", "xacro:arg", "xacro:macro")
MAX_PARTS = 20_000  # so that the largest file is answered within seconds
Color = tuple[float, float, float, float]

_AXIS_JOINTS: dict[str, Callable[..., JointType]] = {
    "revolute": Revolute, "continuous": Continuous, "prismatic": Prismatic,
}  # fmt: skip
_OTHER_JOINTS: dict[str, Callable[[], JointType]] = {
    "fixed": Fixed, "floating": Floating, "planar": Planar, "spherical": Ball, "ball": Ball,
}  # fmt: skip


def read_urdf(
    source: str | Path,
    *,
    floating: bool | None = True,
    gravity: Sequence[float] = STANDARD_GRAVITY,
    text: str | None = None,
) -> Model:
    """The robot that a URDF file describes.

    Args:
        source: path of the file, or its text (anything that starts with "<").
        floating: attach the root link to the world by a floating joint (the base) instead of rigidly. A file whose
            mass-less root already carries a floating joint keeps that joint as its base. None: as `with_settled_base`
            finds.
        gravity: acceleration of free fall in the world, m/s².
        text: what stands in the file once it is expanded, if it must be.
    """
    data = xml.load(source) if text is None else text
    try:
        folder = None if xml.is_text(source) else Path(os.path.realpath(os.path.expanduser(source))).parent
        return _robot(xml.parse(data), folder, floating, gravity)
    except EquipoiseError as error:
        raise xml.named_after(source, error) from None


@dataclass
class _Notes:
    """What the parts of a file share: named colours, where meshes may lie, and what to warn about at the end."""

    meshes: Meshes
    colors: dict[str, Color] = field(default_factory=dict)
    unlimited: list[str] = field(default_factory=list)
    swapped: list[str] = field(default_factory=list)
    shapeless: list[str] = field(default_factory=list)
    colorless: set[str] = field(default_factory=set)

    def warn(self) -> None:
        for names, message in (
            (
                self.meshes.missing,
                "{} mesh files are missing: {}. Dynamics work without them; pictures will lack them.",
            ),
            (self.unlimited, "{} joints give no position limits and are taken as unlimited: {}."),
            (
                self.swapped,
                "{} joints have a lower limit above the upper one; these are swapped, or freed if one is missing: {}.",
            ),
            (self.shapeless, "{} visuals or collisions hold no shape that URDF knows and are left out, in links: {}."),
            (sorted(self.colorless), "{} colours are not four numbers and are left out, of materials: {}."),
        ):
            if names:
                shown = ", ".join(map(repr, list(names)[:4])) + (", …" if len(names) > 4 else "")
                warnings.warn(message.format(len(names), shown), ModelWarning, stacklevel=4)


def _robot(root: Element, folder: Path | None, floating: bool | None, gravity: Sequence[float]) -> Model:
    if root.tag != "robot":
        raise ModelError(
            f"the root element is <{shortened(root.tag)}> (line {root.line}); a URDF file starts with <robot>"
        )
    _require_expanded(root)
    notes = _Notes(Meshes(folder, mesh_folder(root)))
    link_elements, joint_elements = _by_name(root, "link"), _by_name(root, "joint")
    if not link_elements:
        raise ModelError(
            f"the robot (line {root.line}) has no links. A file that only defines macros of xacro is for others to "
            "include: load the one that uses it"
        )
    for material in _materials(root, link_elements.values()):
        _color(material, notes)
    links = [_link(name, element, notes) for name, element in link_elements.items()]
    joints = [_joint(name, element, notes) for name, element in joint_elements.items()]
    for joint in joints:
        _require_ends(joint, joint_elements, link_elements)
    joints, attached = _with_own_base(links, joints, floating is not False)
    model = assemble(root.get("name") or "robot", links, joints, floating=attached, gravity=gravity)
    notes.warn()
    model = with_motors(with_extensions(model, root), root)
    return with_settled_base(model) if attached and floating is None else model


def _require_expanded(root: Element) -> None:
    """What xacro would still put in is missing from the robot. Definitions that nobody uses are no harm."""
    for child in root.children:
        if child.tag.startswith("xacro:") and child.tag not in XACRO_DEFINITIONS:
            tag = shortened(child.tag)
            raise ModelError(
                f"<{tag}> (line {child.line}) is not expanded: it is a xacro file. Expand it first: {XACRO}"
            )


def _materials(root: Element, links: Iterable[Element]) -> Iterator[Element]:
    """Those of the robot first: they define what links name."""
    yield from root.all("material")
    for link in links:
        for visual in link.all("visual"):
            yield from visual.all("material")


def _by_name(root: Element, tag: str) -> dict[str, Element]:
    found: dict[str, Element] = {}
    for element in root.all(tag):
        name = element.get("name")
        if not name or len(name) > 1000:
            raise ModelError(f"a <{tag}> (line {element.line}) has {'too long a' if name else 'no'} name")
        if name in found:
            raise ModelError(
                f"two {tag}s are named {name!r} (lines {found[name].line} and {element.line}); "
                f"every {tag} needs a name of its own"
            )
        found[name] = element
    if len(found) > MAX_PARTS:
        raise ModelError(f"the robot has {len(found)} {tag}s; up to {MAX_PARTS} are read")
    return found


def _require_ends(joint: Joint, joints: dict[str, Element], links: dict[str, Element]) -> None:
    at = f"joint {joint.name!r}, line {joints[joint.name].line}"
    for role, link in (("parent", str(joint.parent)), ("child", joint.child)):
        if link not in links:
            raise unknown_name(f"link ({role} of {at})", shortened(link), links)
    if joint.mimic is not None and joint.mimic.leader not in joints:
        raise unknown_name(f"joint (mimicked by {at})", shortened(joint.mimic.leader), joints)


def _with_own_base(links: Sequence[Link], joints: list[Joint], floating: bool) -> tuple[list[Joint], bool]:
    """Some files write the floating base as a joint from a mass-less "world" link; a second base would make M
    singular."""
    children = {joint.child for joint in joints}
    massless = {link.name for link in links if link.inertia is None} - children
    for k, joint in enumerate(joints):
        if (
            floating
            and joint.parent in massless
            and joint.type == Floating()
            and np.array_equal(joint.origin, np.eye(4))
        ):
            return [*joints[:k], replace(joint, parent=None), *joints[k + 1 :]], False
    return joints, floating


# Links


def _link(name: str, element: Element, notes: _Notes) -> Link:
    owner = f"link {name!r}"
    inertial = element.child("inertial")
    return Link(
        name,
        inertia=None if inertial is None else _inertia(owner, inertial),
        visuals=_shapes(name, element.all("visual"), notes),
        collisions=_shapes(name, element.all("collision"), notes),
    )


def _inertia(owner: str, inertial: Element) -> Inertia:
    mass_element, inertia = required_child(owner, inertial, "mass"), required_child(owner, inertial, "inertia")
    if mass_element.get("value") is None and mass_element.text.strip():  # some writers put the number between the tags
        mass_element.attributes["value"] = mass_element.text
    mass = number_in(owner, mass_element, "value")
    xx, yy, zz = (number_in(owner, inertia, name) for name in ("ixx", "iyy", "izz"))
    xy, xz, yz = (number_in(owner, inertia, name, 0.0) for name in ("ixy", "ixz", "iyz"))
    X = origin_of(owner, inertial)
    R = X[:3, :3]
    turned = R @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ R.T
    return Inertia(mass, X[:3, 3], (turned + turned.T) / 2)


def _shapes(link: str, elements: Sequence[Element], notes: _Notes) -> tuple[Shape, ...]:
    owner, shapes = f"link {link!r}", []
    for element in elements:
        geometry = element.child("geometry")
        shape = None if geometry is None or not geometry.children else _shape(owner, geometry.children[0], notes)
        if shape is None:
            notes.shapeless.append(link)
            continue
        material = element.child("material")
        color = None if material is None else _color(material, notes)
        shapes.append(replace(shape, X=origin_of(owner, element), color=color))
    return tuple(shapes)


def _shape(owner: str, element: Element, notes: _Notes) -> Shape | None:
    if element.tag == "box":
        return Shape("box", numbers_in(owner, element, "size", 3))
    if element.tag == "sphere":
        return Shape("sphere", (number_in(owner, element, "radius"),))
    if element.tag in ("cylinder", "capsule"):
        size = number_in(owner, element, "radius"), number_in(owner, element, "length")
        return Shape("cylinder" if element.tag == "cylinder" else "capsule", size)
    if element.tag == "mesh" and element.get("filename"):
        scale = numbers_in(owner, element, "scale", 3, (1.0, 1.0, 1.0))
        return Shape("mesh", scale, mesh=notes.meshes.path(str(element.get("filename"))))
    return None


def _color(material: Element, notes: _Notes) -> Color | None:
    """The colour of a material; one that is only named is looked up among those the file defines."""
    name, color = material.get("name") or "", material.child("color")
    if color is None:
        return notes.colors.get(name)
    try:
        r, g, b, a = numbers_in(f"material {name!r}", color, "rgba", 4)
    except ModelError:  # a robot moves without its colours
        notes.colorless.add(name)
        return None
    notes.colors.setdefault(name, (r, g, b, a))
    return r, g, b, a


# Joints


def _joint(name: str, element: Element, notes: _Notes) -> Joint:
    owner, kind = f"joint {name!r}", element.get("type") or ""
    if kind not in _AXIS_JOINTS and kind not in _OTHER_JOINTS:
        choices = ", ".join([*_AXIS_JOINTS, *_OTHER_JOINTS])
        raise ModelError(f"{owner} (line {element.line}): unsupported type {shortened(kind)!r}. There are: {choices}.")
    joint = Joint(
        name,
        _AXIS_JOINTS[kind](_axis(owner, element)) if kind in _AXIS_JOINTS else _OTHER_JOINTS[kind](),
        _end(owner, element, "parent"),
        _end(owner, element, "child"),
        origin=origin_of(owner, element),
    )
    if kind == "fixed":
        return joint  # reduced robots keep limits and leaders on joints they fixed: they mean nothing now
    joint = replace(
        joint,
        limits=_limits(owner, element, kind, notes),
        mimic=_mimic(owner, element),
        dynamics=_dynamics(owner, element),
    )
    if kind == "planar":
        turn = rigid.pose(_turn_to(_axis(owner, element)))
        return replace(joint, origin=joint.origin @ turn, tail=rigid.inverse(turn))
    return joint


def _turn_to(normal: Vector) -> np.ndarray:
    return np.eye(3) if normal == (0.0, 0.0, 1.0) else rigid.rotation_to(np.array(normal))


def _axis(owner: str, joint: Element) -> Vector:
    element = joint.child("axis")
    if element is None:
        return 1.0, 0.0, 0.0
    axis = numbers_in(owner, element, "xyz", 3, (1.0, 0.0, 0.0))
    length = math.hypot(*axis)
    if length < 1e-9:
        raise ModelError(f"{owner} has an axis of zero length (line {element.line}): {axis}")
    return tuple(x / length for x in axis) if length != 1.0 else axis


def _end(owner: str, joint: Element, role: str) -> str:
    element = required_child(owner, joint, role)
    link = element.get("link")
    if not link:
        raise ModelError(f"{owner}: <{role}> (line {element.line}) names no link")
    return link


def _limits(owner: str, joint: Element, kind: str, notes: _Notes) -> DeclaredLimits:
    element, bounded = joint.child("limit"), kind in ("revolute", "prismatic")
    if element is None or (element.get("lower") is None and element.get("upper") is None):
        if bounded and joint.child("mimic") is None:  # a follower is bounded by its leader
            notes.unlimited.append(str(joint.get("name")))
        bounded = False
    if element is None:
        return DeclaredLimits()
    lower, upper = _range(owner, joint, element, notes) if bounded else (-math.inf, math.inf)
    velocity, effort = (bound_in(owner, element, name, math.inf) for name in ("velocity", "effort"))
    return DeclaredLimits(lower, upper, velocity, effort)


def _range(owner: str, joint: Element, limit: Element, notes: _Notes) -> tuple[float, float]:
    """Lower and upper limit; URDF takes one that is left out as zero. Where they are the wrong way round, they are
    swapped.

    If the zero of one left out is what makes them so, there is none on that side.
    """
    lower, upper = (bound_in(owner, limit, name, 0.0) for name in ("lower", "upper"))
    if lower <= upper:
        return lower, upper
    notes.swapped.append(str(joint.get("name")))
    if limit.get("lower") is None:
        return -math.inf, upper
    return (lower, math.inf) if limit.get("upper") is None else (upper, lower)


def _mimic(owner: str, joint: Element) -> Mimic | None:
    element = joint.child("mimic")
    if element is None:
        return None
    leader = element.get("joint")
    if not leader:
        raise ModelError(f"{owner}: <mimic> (line {element.line}) names no joint")
    return Mimic(leader, number_in(owner, element, "multiplier", 1.0), number_in(owner, element, "offset", 0.0))


def _dynamics(owner: str, joint: Element) -> JointDynamics:
    element = joint.child("dynamics")
    if element is None:
        return JointDynamics()
    return JointDynamics(number_in(owner, element, "damping", 0.0), number_in(owner, element, "friction", 0.0))


# Numbers
