"""What items may know when they declare themselves: the robot, its motors, the level, the step, the contacts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ..item import TaskError

if TYPE_CHECKING:
    from ...forms.charts import Chart
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
        chart: of the base's orientation, whose coordinates the program is in; None for minimal coordinates.
    """

    robot: Robot
    level: str = "torque"
    dt: float = 1e-3
    contacts: Mapping[str, Contact] = field(default_factory=dict)
    chart: Chart | None = None

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
        return self.first_force + sum(contact.size for contact in self.contacts.values())

    @property
    def coordinates(self) -> int:
        """Unknown accelerations at torque level: those of the motors, or of all coordinates of the chart."""
        if self.chart is None:
            return len(self.motors)
        return self.robot.nv + self.chart.dimension - (6 if self.chart.whole_pose else 3)

    @property
    def first_force(self) -> int:
        """Where contact forces begin among the unknowns; behind the torques where those are unknowns too."""
        return self.coordinates + (0 if self.chart is None else len(self.motors))

    @cached_property
    def equation_rows(self) -> tuple[int, int]:
        """How many equations of motion are rows of the program, and how many rows the chart's constraint has."""
        return (0, 0) if self.chart is None else (self.coordinates, self.chart.constraints)

    @cached_property
    def motor_unknowns(self) -> slice | Array:
        """Where accelerations of the motors are among the unknowns of torque level."""
        return _together(
            np.arange(len(self.motors)) if self.chart is None else self.motors + self.coordinates - self.robot.nv
        )

    @cached_property
    def springs(self) -> dict[int, tuple[int, float, float]]:
        """Velocity → (place in q, stiffness, rest) of joints with springs."""
        joints = [j for j in self.robot.joints.values() if j.type.nq == 1 and j.mimic is None and j.dynamics.stiffness]
        return {j.v.start: (j.q.start, j.dynamics.stiffness, j.dynamics.rest) for j in joints}

    @cached_property
    def mechanism(self) -> tuple[object, ...]:
        """What equations of a controller depend on beside the tree: springs and loops."""
        loops = [
            (
                loop.kind,
                *((f.parent, f.X.tobytes()) for f in (loop.frame_a, loop.frame_b) if f is not None),
                loop.joint_a,
                loop.joint_b,
                loop.polynomial,
            )
            for loop in self.robot.model.loops.values()
        ]
        return self.springs, loops

    @cached_property
    def one_floating_tree(self) -> bool:
        """Whether all bodies hang on one free base: then contact forces and gravity are all that changes momentum."""
        roots = sum(body.parent < 0 for body in self.robot.tree.bodies)
        return self.robot.floating and roots <= 1


def usable_chart(robot: Robot, level: str, chart: Chart | type[Chart] | None) -> Chart | None:
    """A chart as an instance; raises where a program cannot be in its coordinates."""
    if chart is None:
        return None
    from ...forms.charts import as_instance

    if level != "torque" or not robot.floating:
        raise TaskError(
            f"a chart describes the base of a floating robot at level='torque'; got {robot.name} at level={level!r}"
        )
    return as_instance(chart)


def _together(places: Array) -> slice | Array:
    if len(places) and places[-1] - places[0] == len(places) - 1:
        return slice(int(places[0]), int(places[-1]) + 1)
    return places
