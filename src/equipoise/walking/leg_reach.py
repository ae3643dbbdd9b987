"""How far apart two groups of feet can be set: from the legs' own kinematics.

The trunk stands as it does; all feet are moved together along eight directions until a leg has no posture. When one
group is set u from the other, each is u/2 from where it stands, one to each side, so the reach is twice the lesser of
two opposite ways.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..body.body import Body
from ..body.least_squares import PositionBounds, positions, solved
from ..machine.cached import cached
from ..model.skeleton import BodyPoses, Skeleton
from .reach import DIRECTIONS, ITERATIONS, Reach, edges, farthest, joint_bounds

Array = np.ndarray
GOOD = 0.005  # m, of the feet
PART = 0.9  # of the farthest posture found that steps may use
APART = 0.6  # of the distance of neighbouring feet, that they may come nearer


def reach_of_groups(body: Body, places: Array) -> Reach:
    """Reach of the virtual foot of one group of feet from that of the other.

    Args:
        places: (n, 3) m, where all feet stand.
    """
    angles = 2 * np.pi * np.arange(DIRECTIONS) / DIRECTIONS
    out = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    far = cached(_farthest, _Legs.of(body), out)
    half = DIRECTIONS // 2
    corners = out * (2 * PART * np.minimum(far, np.roll(far, half)))[:, None]
    most = APART * nearest_neighbours(places)
    corners = np.clip(corners, -most, most)
    normals, offsets = edges(corners)
    ahead, aside = np.abs(corners).max(axis=0)
    return Reach(normals, offsets, float(ahead), float(ahead), -float(aside), float(aside))


def nearest_neighbours(places: Array) -> Array:
    """(2,) m: along x and y, from a foot to the nearest one before, behind or beside it."""
    gaps = np.abs(places[:, None, :2] - places[None, :, :2]).reshape(-1, 2)
    level = np.linalg.norm(places[:, :2], axis=1).max()
    return np.array([float(min(gap[gap > 0.1 * level])) for gap in gaps.T])


def _farthest(legs: _Legs, out: Array) -> Array:
    """m, along each direction."""
    return np.array([legs.farthest(along) for along in out])


@dataclass(frozen=True, eq=False)
class _Legs:
    """Postures of the legs under a trunk at rest."""

    skeleton: Skeleton
    bounds: PositionBounds
    rest: Array
    links: Array  # (n,) bodies of the feet
    points: Array  # (n, 3) of the feet in them
    home: Array  # (n, 3) in the world
    height: float

    @classmethod
    def of(cls, body: Body) -> _Legs:
        robot, skeleton = body.robot, Skeleton(body.robot)
        free, links, points = np.zeros(robot.nv, bool), [], []
        for part in body.feet.values():
            link, X = robot.place(part.link)
            links.append(link)
            points.append((X @ part.X)[:3, 3])
            for name in part.joints:
                free[robot.joints[name].v] = True
        home, _ = skeleton.points(skeleton.at(body.standing), links, np.array(points))
        return cls(
            skeleton, joint_bounds(robot, free), body.standing, np.array(links), np.array(points), home, body.height
        )  # fmt: skip

    def farthest(self, along: Array) -> float:
        """m, that all feet get together along a direction."""
        return farthest(lambda q, far: self._posture(q, far * np.array([*along, 0.0])), self.rest, self.height)

    def _posture(self, q: Array, by: Array) -> tuple[Array, bool]:
        """The posture with all feet moved by a vector, from another one; whether it is one."""
        q, _ = solved(self.skeleton, q, lambda q, motion: self._rows(q, motion, by), self.bounds, ITERATIONS)
        x, _ = self.skeleton.points(self.skeleton.at(q), self.links, self.points)
        return q, float(np.abs(x - self.home - by).max()) < GOOD

    def _rows(self, q: Array, motion: BodyPoses, by: Array) -> tuple[Array, Array]:
        x, J = self.skeleton.points(motion, self.links, self.points)
        at = positions(self.skeleton.robot)
        single = np.flatnonzero(at >= 0)
        rows = np.concatenate([20.0 * (x - self.home - by).ravel(), 0.02 * (q - self.rest)[at[single]]])
        return rows, np.concatenate([20.0 * J.reshape(-1, len(at)), 0.02 * np.eye(len(at))[single]])
