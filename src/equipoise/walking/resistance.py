"""Compensates joint damping and dry friction in the torques, and reduces the torque limits accordingly."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ..control.constraints import Constraint
from ..control.constraints.constraint import BoundedRows
from ..control.item import NamedNumbers, Parameters

if TYPE_CHECKING:
    from ..control.controller.context import Context
    from ..control.controller.scene import Scene
    from ..robot import Robot

Array = np.ndarray
SLOW = 0.05  # rad/s; below, dry friction grows with the rate, so that torques do not chatter


@dataclass(frozen=True, eq=False)
class Resistance:
    """Resistance of all joints, from the robot's description.

    Attributes:
        damping: (nv,) N m s/rad. dry: (nv,) N m, dry friction. most: (nv,) N m, torque limits of the motors.
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

    def left(self) -> ResistedTorques:
        """Returns the constraint on the torques that remain for the equations of motion."""
        return ResistedTorques(self.most, self.damping, self.dry)

    def made_up(self, torque: Array, v: Array) -> Array:
        """Returns the motor torques, within their limits, by which `torque` acts on the links despite the
        resistance.
        """
        return np.clip(torque + self.damping * v + self.dry * np.tanh(v / SLOW), -self.most, self.most)


@dataclass(frozen=True, eq=False)
class ResistedTorques(Constraint):
    """Bounds the torques τ on the links, since motors also overcome damping d and dry friction f: |τ + d v| ≤ τ_max −
    f.

    Less torque remains to accelerate a moving joint, more to brake it.

    Args:
        most, damping, dry: (nv,), for all joints; see `Resistance`.
    """

    most: Array
    damping: Array
    dry: Array
    rank: int = field(default=0, kw_only=True)

    @property
    def label(self) -> str:
        return self.name or "resisted torque limit"

    def row_names(self, context: Context) -> list[str]:
        return [f"{self.label} of {context.rate_names[k]}" for k in context.motors]

    def parameters(self, context: Context) -> Mapping[str, Parameters]:
        n, at = len(context.motors), context.motors
        left, damping = np.maximum(self.most - self.dry, 0.0)[at], self.damping[at]
        return {"resistance": Parameters((), {"left": (n,), "damping": (n,)}, lambda: [left, damping], unbounded=True)}

    def rows(self, scene: Scene, numbers: NamedNumbers) -> BoundedRows:
        taken = numbers.damping * scene.v[scene.context.motors.tolist()]
        return BoundedRows(scene.torque, -numbers.left - taken, numbers.left - taken)

    def torque_bounds(self, numbers: Mapping[str, Array], previous: Array | None, rates: Array) -> tuple[Array, Array]:
        taken = numbers["damping"] * rates
        return -numbers["left"] - taken, numbers["left"] - taken
