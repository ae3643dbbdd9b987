"""How far a leg is stretched: thigh and shank, from the leg's own links."""

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
TRIED = 61  # angles of each joint, to find how long a leg is


@dataclass(frozen=True, eq=False)
class LegStretch:
    """A leg between two frames, from where its thigh begins to where its shank ends.

    Attributes:
        hip, ankle: frames. length: m, between them, stretched as far as its joints allow.
    """

    robot: Robot
    hip: str
    ankle: str
    length: float

    @classmethod
    def of(cls, body: Body, role: str) -> LegStretch:
        """Of a foot's leg."""
        robot = body.robot
        joints = [robot.joints[name] for name in body.feet[role].joints]
        hip, _, ankle = leg_links(body, role)
        apart = [robot.pose(q, hip)[:3, 3] - robot.pose(q, ankle)[:3, 3] for q in _bent(body, joints)]
        return cls(robot, hip, ankle, float(np.linalg.norm(apart, axis=1).max()))

    def room(self, q: Array, by: Array, part: float) -> float:
        """m: how much higher the hip could be if it went by (2,) m from where it is and the ankle stayed, the leg
        stretched to a part of its length."""
        off = self.robot.pose(q, self.hip)[:3, 3] - self.robot.pose(q, self.ankle)[:3, 3]
        level = float((off[0] + by[0]) ** 2 + (off[1] + by[1]) ** 2)
        return sqrt(max((part * self.length) ** 2 - level, 0.0)) - float(off[2])


def leg_links(body: Body, role: str) -> tuple[str, str, str]:
    """Links of a foot's leg: where its thigh, its shank and what is below begin. Thigh and shank are the two longest
    pieces between its joints."""
    robot = body.robot
    children = [robot.joints[name].child for name in body.feet[role].joints]
    links = [link for link in children if link in robot.frames]  # not between the axes of one joint
    places = [robot.pose(body.standing, link)[:3, 3] for link in links]
    longest = sorted(np.argsort([np.linalg.norm(b - a) for a, b in pairwise(places)])[-2:].tolist())
    return links[longest[0]], links[longest[-1]], links[longest[-1] + 1]


def _bent(body: Body, joints: Sequence[Joint]) -> list[Array]:
    """Postures of a body that stands, but for one joint of a leg."""
    found = [body.standing]
    for joint in joints:
        lower, upper = max(joint.limits.lower, -np.pi), min(joint.limits.upper, np.pi)
        if joint.mimic is None and joint.type.nq == 1 and lower < upper:
            for angle in np.linspace(lower, upper, TRIED):
                q = np.array(body.standing)
                q[joint.q] = angle
                found.append(q)
    return found
