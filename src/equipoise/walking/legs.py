"""Computes how far a leg is stretched, from the positions of its links."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import sqrt
from typing import TYPE_CHECKING

import numpy as np

from ..body.body import Body

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..model.types import Joint
    from ..robot import Robot

Array = np.ndarray
TRIED = 61  # angles of each joint that are tried to find the length of a leg


@dataclass(frozen=True, eq=False)
class LegStretch:
    """A leg between two frames: the hip at the start of its thigh and the ankle at the end of its shank.

    Attributes:
        hip, ankle: frames. length: m, their distance when the leg is stretched as far as its joints allow.
    """

    robot: Robot
    hip: str
    ankle: str
    length: float

    @classmethod
    def of(cls, body: Body, role: str) -> LegStretch:
        """Creates the leg of a foot."""
        robot = body.robot
        joints = [robot.joints[name] for name in body.feet[role].joints]
        hip, _, ankle = leg_links(body, role)
        apart = [robot.pose(q, hip)[:3, 3] - robot.pose(q, ankle)[:3, 3] for q in _bent(body, joints)]
        return cls(robot, hip, ankle, float(np.linalg.norm(apart, axis=1).max()))

    def room(self, q: Array, by: Array, part: float) -> float:
        """Returns how much higher (m) the hip could be after a horizontal move `by`, (2,) m, with the ankle fixed and
        the leg stretched to the fraction `part` of its length.
        """
        off = self.robot.pose(q, self.hip)[:3, 3] - self.robot.pose(q, self.ankle)[:3, 3]
        level = float((off[0] + by[0]) ** 2 + (off[1] + by[1]) ** 2)
        return sqrt(max((part * self.length) ** 2 - level, 0.0)) - float(off[2])


def leg_links(body: Body, role: str) -> tuple[str, str, str]:
    """Returns the links at which a foot's thigh, its shank and the part below begin. Thigh and shank are the two
    longest segments between joints of the leg.
    """
    robot = body.robot
    children = [robot.joints[name].child for name in body.feet[role].joints]
    links = [link for link in children if link in robot.frames]  # links between the axes of one joint have no frame
    places = [robot.pose(body.standing, link)[:3, 3] for link in links]
    longest = sorted(np.argsort([np.linalg.norm(b - a) for a, b in pairwise(places)])[-2:].tolist())
    return links[longest[0]], links[longest[-1]], links[longest[-1] + 1]


def _bent(body: Body, joints: Sequence[Joint]) -> list[Array]:
    """Returns copies of the standing posture in which one joint of a leg has another angle."""
    found = [body.standing]
    for joint in joints:
        lower, upper = max(joint.limits.lower, -np.pi), min(joint.limits.upper, np.pi)
        if joint.mimic is None and joint.type.nq == 1 and lower < upper:
            for angle in np.linspace(lower, upper, TRIED):
                q = np.array(body.standing)
                q[joint.q] = angle
                found.append(q)
    return found
