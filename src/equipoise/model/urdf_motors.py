"""Motors of a URDF file: its transmissions, and the joints that ros2_control commands.

URDF itself knows no motors. The two extensions that do are often written for a part of the robot only (the arm on a
quadruped's back, the grippers): where most joints lack one, joints with an effort limit are taken to have a motor too.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace

from ..errors import ModelWarning
from .actuation import without_motors
from .assemble import reassemble
from .joints import Floating
from .types import Model
from .xml import Element

JOINT_TAGS = ("joint", "flexJoint", "rollJoint", "gap_joint")  # the last three in transmissions of several joints


def with_motors(model: Model, root: Element) -> Model:
    """The robot with the motors that its file names; one that names none leaves it to the default rule."""
    motors = set(_driven(root)) & {name for name, joint in model.joints.items() if not isinstance(joint.type, Floating)}
    if not motors:
        return model
    declared = reassemble(model, lambda joint: replace(joint, actuated=joint.name in motors))
    bare = without_motors(list(declared.joints.values()))
    found = sum(bool(joint.actuated) for joint in declared.joints.values())
    guessed = [name for name in bare if declared.joints[name].limits.effort > 0 and len(bare) > found]
    _warn("have no transmission but an effort limit are taken to have motors", guessed)
    _warn("have no transmission are passive", [name for name in bare if name not in guessed])
    return reassemble(declared, lambda joint: replace(joint, actuated=joint.actuated or joint.name in guessed))


def _driven(root: Element) -> Iterator[str]:
    """Names of joints that a motor moves."""
    for transmission in root.all("transmission"):
        for child in transmission.children:
            if child.tag in JOINT_TAGS:
                yield child.get("name") or ""
    for system in root.all("ros2_control"):
        for joint in system.all("joint"):
            if joint.child("command_interface") is not None:
                yield joint.get("name") or ""


def _warn(what: str, names: Sequence[str]) -> None:
    if names:
        shown = ", ".join(map(repr, names[:6])) + (", …" if len(names) > 6 else "")
        choice = "eq.load(…, actuated=[…], passive=[…]) overrules the file."
        warnings.warn(f"joints that {what} ({len(names)}): {shown}. {choice}", ModelWarning, stacklevel=6)
