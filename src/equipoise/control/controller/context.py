"""What items may know when they declare themselves: the robot, its motors, the level, the step, the contacts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ...robot import Robot
    from ..contacts.contact import Contact

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class Context:
    """The setting of a controller.

    Args:
        robot: which.
        level: "torque", "acceleration" or "velocity".
        dt: s, the step at which the controller is called.
        contacts: all contacts, by label.
    """

    robot: Robot
    level: str = "torque"
    dt: float = 1e-3
    contacts: Mapping[str, Contact] = field(default_factory=dict)

    @cached_property
    def motors(self) -> Array:
        """Velocities with a motor, in order."""
        return np.flatnonzero(self.robot.actuated)

    @cached_property
    def passive(self) -> Array:
        """Velocities without one: the base, free objects, joints without motors."""
        return np.flatnonzero(~self.robot.actuated)

    @cached_property
    def motor_places(self) -> slice | Array:
        """The same as a slice where they are together, which is the quicker index."""
        return _together(self.motors)

    @cached_property
    def passive_places(self) -> slice | Array:
        """Velocities without a motor, as a slice where they are together."""
        return _together(self.passive)

    @cached_property
    def joint_rates(self) -> Array:
        """Velocities of joints, with or without a motor; neither base nor free objects."""
        robot = self.robot
        joints = [j for j in robot.joints.values() if j.mimic is None and j.type.nv < 6]
        rates = np.concatenate([np.zeros(0, int), *(np.arange(j.v.start, j.v.stop) for j in joints)])
        return np.sort(rates[rates >= (6 if robot.floating else 0)])

    @cached_property
    def rate_names(self) -> list[str]:
        """The joint of each velocity; empty for the base."""
        names = [""] * self.robot.nv
        for joint in self.robot.joints.values():
            if joint.mimic is None:
                names[joint.v] = [joint.name] * (joint.v.stop - joint.v.start)
        return names

    @property
    def unknowns(self) -> int:
        """Of the quadratic program: velocities, accelerations, or accelerations of motors and contact forces."""
        if self.level != "torque":
            return self.robot.nv
        return len(self.motors) + sum(contact.size for contact in self.contacts.values())

    @cached_property
    def springs(self) -> dict[int, tuple[int, float, float]]:
        """Velocity → (place in q, stiffness, rest) of joints with springs."""
        joints = [j for j in self.robot.joints.values() if j.type.nq == 1 and j.mimic is None and j.dynamics.stiffness]
        return {j.v.start: (j.q.start, j.dynamics.stiffness, j.dynamics.rest) for j in joints}

    @cached_property
    def mechanism(self) -> tuple[object, ...]:
        """What equations of a controller depend on beside the tree: springs and loops."""
        loops = [
            (loop.kind, *((f.parent, f.X.tobytes()) for f in (loop.frame_a, loop.frame_b) if f is not None), loop.joint_a,
             loop.joint_b, loop.polynomial)
            for loop in self.robot.model.loops.values()
        ]  # fmt: skip
        return self.springs, loops

    @cached_property
    def one_floating_tree(self) -> bool:
        """Whether all bodies hang on one free base: then contact forces and gravity are all that changes momentum."""
        roots = sum(body.parent < 0 for body in self.robot.tree.bodies)
        return self.robot.floating and roots <= 1


def _together(places: Array) -> slice | Array:
    if len(places) and places[-1] - places[0] == len(places) - 1:
        return slice(int(places[0]), int(places[-1]) + 1)
    return places
