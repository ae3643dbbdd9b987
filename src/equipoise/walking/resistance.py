"""Joints that resist: what damping and dry friction take is added to the torques."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ..robot import Robot

Array = np.ndarray
SLOW = 0.05  # rad/s: below, dry friction grows with the rate, so that torques do not chatter


@dataclass(frozen=True, eq=False)
class Resistance:
    """Of all joints, by their description.

    Attributes:
        damping: (nv,) N m s/rad. dry: (nv,) N m. most: (nv,) N m, that motors give.
    """

    damping: Array
    dry: Array
    most: Array

    @classmethod
    def of(cls, robot: Robot) -> Resistance:
        damping, dry = np.zeros(robot.nv), np.zeros(robot.nv)
        for joint in robot.joints.values():
            if joint.mimic is None and joint.type.nv == 1:
                damping[joint.v], dry[joint.v] = joint.dynamics.damping, joint.dynamics.friction
        return cls(damping, dry, np.asarray(robot.limits.effort))

    def made_up(self, torque: Array, v: Array) -> Array:
        """Torques that act as `torque` would if nothing resisted, within what motors give."""
        return np.clip(torque + self.damping * v + self.dry * np.tanh(v / SLOW), -self.most, self.most)
