"""Computes how far two groups of feet can be set apart, from the legs' kinematics.

The trunk keeps its pose; all feet are moved together along eight directions until a leg has no valid posture. A step
of u between the groups displaces each group by u/2 from home, in opposite directions. So the reach is twice the
smaller of two opposite distances.
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
GOOD = 0.005  # m; tolerance on the positions of the feet
PART = 0.9  # fraction of the farthest posture found that steps may use
APART = 0.6  # fraction of the distance between neighbouring feet by which they may approach each other


def reach_of_groups(body: Body, places: Array) -> Reach:
    """Returns the reach of the virtual foot of one group of feet, relative to that of the other group.

    Args:
        places: (n, 3) m, positions of all feet at home.
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
    """Returns the distances along x and y, (2,) m, from a foot to its nearest neighbour before, behind or beside it."""
    gaps = np.abs(places[:, None, :2] - places[None, :, :2]).reshape(-1, 2)
    level = np.linalg.norm(places[:, :2], axis=1).max()
    return np.array([float(min(gap[gap > 0.1 * level])) for gap in gaps.T])


def _farthest(legs: _Legs, out: Array) -> Array:
    """Returns the farthest distance along each direction, m."""
    return np.array([legs.farthest(along) for along in out])


@dataclass(frozen=True, eq=False)
class _Legs:
    """Postures of the legs under a trunk at rest."""

    skeleton: Skeleton
    bounds: PositionBounds
    rest: Array
    links: Array  # (n,) indices of the bodies of the feet
    points: Array  # (n, 3) positions of the feet in these bodies
    home: Array  # (n, 3) positions of the feet in the world
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
        """Returns how far (m) all feet can be moved together along a direction."""
        return farthest(lambda q, far: self._posture(q, far * np.array([*along, 0.0])), self.rest, self.height)

    def _posture(self, q: Array, by: Array) -> tuple[Array, bool]:
        """Returns the posture with all feet displaced by a vector, starting from another posture, and whether it is
        valid.
        """
        q, _ = solved(self.skeleton, q, lambda q, motion: self._rows(q, motion, by), self.bounds, ITERATIONS)
        x, _ = self.skeleton.points(self.skeleton.at(q), self.links, self.points)
        return q, float(np.abs(x - self.home - by).max()) < GOOD

    def _rows(self, q: Array, motion: BodyPoses, by: Array) -> tuple[Array, Array]:
        x, J = self.skeleton.points(motion, self.links, self.points)
        at = positions(self.skeleton.robot)
        single = np.flatnonzero(at >= 0)
        rows = np.concatenate([20.0 * (x - self.home - by).ravel(), 0.02 * (q - self.rest)[at[single]]])
        return rows, np.concatenate([20.0 * J.reshape(-1, len(at)), 0.02 * np.eye(len(at))[single]])
