"""Where the next foot can be set, seen from the one that stands: from the robot's own legs."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ..body.body import Body
from ..body.skeleton import Skeleton

Array = np.ndarray
STRETCHED = 0.97  # of a straight leg: how far it may be stretched at touchdown
APART = 0.02  # m, that soles side by side keep


@dataclass(frozen=True, eq=False)
class Reach:
    """Places of a foot in the axes of the other: x ahead, y to the side it belongs to.

    Attributes:
        normals: (n, 2) and offsets: (n,) of edges, normals · place ≤ offsets.
        ahead, behind: m, farthest along x, positive. nearest, widest: m, least and largest y.
    """

    normals: Array
    offsets: Array
    ahead: float
    behind: float
    nearest: float
    widest: float

    def rows(self, side: float) -> tuple[Array, Array]:
        """(normals, offsets) with y to the left, for the left (1) or right (−1) foot."""
        return self.normals * np.array([1.0, side]), self.offsets


def reach_of(body: Body, width: float) -> Reach:
    """Reach of a body with two feet that stand `width` (m) apart."""
    step = _longest_step(body)
    soles = [np.array(part.corners) for part in body.feet.values()]
    nearest = min(0.9 * width, max(float(np.ptp(sole[:, 1])) for sole in soles) + APART)
    widest = width + 0.7 * step
    angles = np.pi * (np.arange(8) + 0.5) / 4
    middle = np.array([0.0, width])
    round_about = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    sizes = step / np.sqrt(np.cos(angles) ** 2 + (np.sin(angles) / 0.75) ** 2)
    box = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    normals = np.concatenate([round_about, box])
    offsets = np.concatenate([round_about @ middle + sizes, [step, step, widest, -nearest]])
    return Reach(normals, offsets, step, step, nearest, widest)


def _longest_step(body: Body) -> float:
    """m, between feet one before the other while the hips are between them at walking height."""
    skeleton = Skeleton(body.robot)
    motion = skeleton.at(body.standing)
    found = []
    for part in body.feet.values():
        chain = [k for k in range(skeleton.count) if skeleton.joint(k) in part.joints]
        places = motion.p[chain]
        length = sum(float(np.linalg.norm(b - a)) for a, b in pairwise(places))
        straight = length - 0.0
        high = float(places[0][2] - places[-1][2])
        found.append(2.0 * np.sqrt(max((STRETCHED * straight) ** 2 - high**2, 0.01 * straight**2)))
    return float(min(found))
