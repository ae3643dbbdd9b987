"""The switch between line and point of [QO21, Eqs. (4.37), (4.38)]."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np

from .distances import DistanceKernel, DistanceValues, distance, distances_kernel
from .primitives import GeometryError, Line, Point, Segment

if TYPE_CHECKING:
    from ..robot import Robot

Array = np.ndarray
Part = Literal["line", "first end", "second end"]


@dataclass(frozen=True, eq=False)
class LinePointSwitch:
    """The torso–arm distance of [QO21, Eqs. (4.37), (4.38)]: line to line, or an end of the arm to the line.

    The thesis keeps two infinite lines apart, and switches to the nearer of elbow and hand where the lines pass each
    other beyond the arm. It switches when the distance of the lines is 0, a set no computer meets; the switch here is
    made where the point of the arm's line nearest to the torso leaves the arm. So it is continuous, and equal to the
    distance of a Line and a Segment, value and derivatives alike.
    """

    torso: Line
    arm: Segment
    kernel: DistanceKernel = field(repr=False)

    def __call__(self, q: Array, v: Array) -> tuple[Part, DistanceValues]:
        """Which part of the arm is nearest, and its squared distance from the torso's line, at one state."""
        where = self.arm_on_torso(q)
        part: Part = "line" if 0 <= where <= 1 else "first end" if where < 0 else "second end"
        row = ("line", "first end", "second end").index(part)
        now = self.kernel(q, v)
        return part, DistanceValues(*(x[row] for x in (now.value, now.J, now.residual, now.J_dot_v, now.residual_rate)))

    def arm_on_torso(self, q: Array) -> float:
        """Where the arm's line is nearest to the torso's: 0 at one end of the arm, 1 at the other; ½ where parallel."""
        robot = self.kernel.robot
        (p, l), (a, b) = (_in_world(robot, q, x) for x in (self.torso, self.arm))
        across, beside = np.cross(b - a, l), np.cross(a - p, l)
        square = float(across @ across)
        return float(-across @ beside / square) if square > 0 else 0.5


def _in_world(robot: Robot, q: Array, primitive: Line | Segment) -> tuple[Array, Array]:
    X = np.eye(4) if primitive.frame is None else robot.pose(q, primitive.frame)
    placed = [X[:3, :3] @ p + X[:3, 3] for p in primitive.points] + [X[:3, :3] @ d for d in primitive.directions]
    return placed[0], placed[1]


def line_point_switch(robot: Robot, torso: Line, arm: Segment) -> LinePointSwitch:
    """The distance of [QO21, Eq. (4.37)] for a robot: `torso` an infinite line, `arm` from elbow to hand."""
    if not isinstance(torso, Line) or not isinstance(arm, Segment):
        raise GeometryError(f"line_point_switch: wanted a Line and a Segment, got {torso!r} and {arm!r}")
    if arm.frame is None:
        raise GeometryError("line_point_switch: the arm is on a frame of the robot; this one is in the world")
    line = Line(arm.a, arm.b - arm.a, arm.frame)
    ends = (Point(end, arm.frame) for end in (arm.a, arm.b))
    return LinePointSwitch(torso, arm, distances_kernel(robot, [distance(part, torso) for part in (line, *ends)]))
