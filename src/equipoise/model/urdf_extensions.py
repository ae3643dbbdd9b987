"""What simulators add to URDF: springs of Gazebo, rotors of Drake, the mesh folder of MuJoCo. What is not read is
named."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from dataclasses import replace

from ..errors import ModelError, ModelWarning
from .assemble import reassemble
from .types import Joint, JointDynamics, Model
from .xml import Element, shortened


def mesh_folder(root: Element) -> str | None:
    """Where `<mujoco><compiler meshdir>` says that meshes are."""
    for extension in root.all("mujoco"):
        compiler = extension.child("compiler")
        if compiler is not None and compiler.get("meshdir"):
            return compiler.get("meshdir")
    return None


def with_extensions(model: Model, root: Element) -> Model:
    """The robot with the springs and rotor inertias of its file, as data of its joints; a warning names what is not
    read."""
    dynamics = {name: JointDynamics() for name in model.joints}
    for name, what, value in [*_springs(root), *_rotors(root)]:
        if name in dynamics:
            dynamics[name] = replace(dynamics[name], **{what: value})
    _warn_of_losses(model, root)
    if not any(found != JointDynamics() for found in dynamics.values()):
        return model

    def change(joint: Joint) -> Joint:
        found, own = dynamics[joint.name], joint.dynamics
        return replace(joint, dynamics=replace(found, damping=own.damping, friction=own.friction))

    return reassemble(model, change)


def _springs(root: Element) -> Iterator[tuple[str, str, float]]:
    """Stiffness and rest position that Gazebo gives to a joint."""
    for extension in root.all("gazebo"):
        name = extension.get("reference") or ""
        for tag, what in (("springStiffness", "stiffness"), ("springReference", "rest")):
            element = extension.child(tag)
            if element is not None:
                yield name, what, _number(element, element.text)


def _rotors(root: Element) -> Iterator[tuple[str, str, float]]:
    """Rotor inertia times the square of the gear ratio: what the joint feels."""
    for transmission in root.all("transmission"):
        joint, actuator = transmission.child("joint"), transmission.child("actuator")
        rotor = None if actuator is None else actuator.child("drake:rotor_inertia")
        if joint is None or actuator is None or rotor is None:
            continue
        gear = actuator.child("drake:gear_ratio")
        ratio = 1.0 if gear is None else _number(gear, gear.get("value"))
        yield joint.get("name") or "", "armature", _number(rotor, rotor.get("value")) * ratio**2


def _warn_of_losses(model: Model, root: Element) -> None:
    """Loops, followers and joints that only the simulator's own elements describe."""
    lost = [f"<{child.tag}> (line {child.line})" for child in root.children if child.tag in LOST]
    for extension in root.all("gazebo"):
        lost += [f"<gazebo><joint> (line {joint.line})" for joint in extension.all("joint")]
        plugins = [plugin for plugin in extension.all("plugin") if _makes_a_follower(plugin, model)]
        lost += [f"<plugin {shortened(str(plugin.get('filename')))!r}> (line {plugin.line})" for plugin in plugins]
    for extension in root.all("mujoco"):
        lost += [
            f"<mujoco><{c.tag}> (line {c.line})"
            for c in extension.children
            if c.tag in ("actuator", "equality", "tendon")
        ]
    if lost:
        shown = ", ".join(lost[:6]) + (", …" if len(lost) > 6 else "")
        warnings.warn(f"elements that URDF does not know, and that change how the robot moves, are not read: {shown}",
                      ModelWarning, stacklevel=6)  # fmt: skip


def _makes_a_follower(plugin: Element, model: Model) -> bool:
    """Whether a plugin of Gazebo lets a joint follow another that is free in the URDF itself."""
    named = plugin.child("mimicJoint")
    joint = None if named is None else model.joints.get(named.text.strip())
    known = joint is not None and (joint.mimic is not None or not joint.moving)
    return "mimic" in (plugin.get("filename") or "").lower() and not known


LOST = ("loop_joint", "drake:linear_bushing_rpy", "drake:ball_constraint", "drake:bushing")


def _number(element: Element, text: str | None) -> float:
    try:
        value = float(text or "")
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ModelError(f"<{element.tag}> (line {element.line}) must be a finite number, not {shortened(str(text))!r}")
    return value
