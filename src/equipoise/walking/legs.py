"""How far a leg is stretched: thigh and shank, from the leg's own links."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import sqrt
from typing import TYPE_CHECKING

import numpy as np

from ..body.body import Body

if TYPE_CHECKING:
    from ..robot import Robot

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class LegStretch:
    """A leg between two frames, from where its thigh begins to where its shank ends.

    Attributes:
        hip, ankle: frames. length: m, of both, stretched.
    """

    robot: Robot
    hip: str
    ankle: str
    length: float

    @classmethod
    def of(cls, body: Body, role: str) -> LegStretch:
        """Of a foot's leg: thigh and shank are the two longest pieces between its joints."""
        robot = body.robot
        children = [robot.joints[name].child for name in body.feet[role].joints]
        links = [link for link in children if link in robot.frames]  # not those between the axes of one joint
        places = [robot.pose(body.standing, link)[:3, 3] for link in links]
        lengths = [float(np.linalg.norm(b - a)) for a, b in pairwise(places)]
        longest = sorted(np.argsort(lengths)[-2:].tolist())
        return cls(robot, links[longest[0]], links[longest[-1] + 1], sum(lengths[k] for k in longest))

    def room(self, q: Array, by: Array, part: float) -> float:
        """m: how much higher the hip could be if it went by (2,) m from where it is and the ankle stayed, the leg
        stretched to a part of its length."""
        off = self.robot.pose(q, self.hip)[:3, 3] - self.robot.pose(q, self.ankle)[:3, 3]
        level = float((off[0] + by[0]) ** 2 + (off[1] + by[1]) ** 2)
        return sqrt(max((part * self.length) ** 2 - level, 0.0)) - float(off[2])
