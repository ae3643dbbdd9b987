"""Computes where the next foot can be set down relative to the stance foot, from the robot's own legs.

From the standing posture, the feet are moved apart along eight directions until no posture has both soles flat on
the ground, the centre of mass at walking height between them and the torso upright, within joint limits. Inwards the
limit is where soles would touch. The polygon of these places is the reach. Postures are found by least squares, as
the standing one is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ..algebra.quaternions import from_rotation, log
from ..body.body import Body
from ..body.least_squares import PositionBounds, positions, solved
from ..machine.cached import cached
from ..model.skeleton import BodyPoses, Skeleton

if TYPE_CHECKING:
    from ..robot import Robot

Array = np.ndarray
DIRECTIONS = 8
STRIDE = 0.13  # fraction of the height of the centre of mass: distance between postures
FINEST = 0.03  # fraction of the height of the centre of mass: the search ends when the halved distance is smaller
MOST = 10  # largest number of postures per direction
ITERATIONS = 10
# tolerances: soles (m, rad), height of the centre of mass (fraction), tilt of the trunk (rad)
GOOD = 0.006, 0.03, 0.012, 0.1
INSIDE = 0.02  # rad or m; margin to joint limits
APART = 0.02  # m; margin between soles side by side
SAME = 1e-6  # difference of normal and offset (m) below which edges are equal


@dataclass(frozen=True, eq=False)
class Reach:
    """Places of a foot in the axes of the other foot: x forward, y to the foot's own side.

    Attributes:
        normals: (n, 2) and offsets: (n,) of edges, normals · place ≤ offsets.
        ahead, behind: m, largest distance along x in each direction, positive. nearest, widest: m, smallest and
            largest y.
    """

    normals: Array
    offsets: Array
    ahead: float
    behind: float
    nearest: float
    widest: float

    @cached_property
    def corners(self) -> Array:
        """Corners of the polygon, (k, 2) m, counter-clockwise."""
        turned = np.argsort(np.arctan2(self.normals[:, 1], self.normals[:, 0]))
        rows = np.column_stack([self.normals, self.offsets])[turned]
        rows = rows[np.linalg.norm(rows - np.roll(rows, 1, axis=0), axis=1) > SAME]  # edges may occur twice
        pairs = zip(np.roll(rows, 1, axis=0), rows, strict=True)
        return np.array([np.linalg.solve([a[:2], b[:2]], [a[2], b[2]]) for a, b in pairs])

    def rows(self, side: float) -> tuple[Array, Array]:
        """Returns (normals, offsets) with y to the left, for the left (1) or right (−1) foot."""
        return self.normals * np.array([1.0, side]), self.offsets


def reach_of(body: Body, width: float, height: float) -> Reach:
    """Returns the reach of a body with two feet `width` (m) apart and its centre of mass at a height (m)."""
    nearest = nearest_of(body, width)
    angles = 2 * np.pi * np.arange(DIRECTIONS) / DIRECTIONS
    out = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    far = cached(_farthest, _Legs.of(body, height), width, out)
    corners = out * far[:, None] + [0.0, width]
    corners[:, 1] = np.maximum(corners[:, 1], nearest)
    normals, offsets = edges(corners)
    ahead, behind = float(corners[:, 0].max()), float(-corners[:, 0].min())
    return Reach(normals, offsets, ahead, behind, nearest, float(corners[:, 1].max()))


def nearest_of(body: Body, width: float) -> float:
    """Returns the smallest distance (m) between the middles of two feet that stand `width` (m) apart."""
    soles = [np.array(part.corners) for part in body.feet.values()]
    return min(0.9 * width, max(float(np.ptp(sole[:, 1])) for sole in soles) + APART)


def _farthest(legs: _Legs, width: float, out: Array) -> Array:
    """Returns the farthest distance along each direction, m."""
    return np.array([legs.farthest(np.array([0.0, width]), along) for along in out])


def farthest(posture: Callable[[Array, float], tuple[Array, bool]], q: Array, height: float) -> float:
    """Returns how far (m) feet can be moved, by continuation from one posture to the next.

    Args:
        posture: (q, m) → the posture at that distance, found from q, and whether it is valid.
        q: initial posture. height: m, of the centre of mass; the increments are fractions of it.
    """
    far, stride = 0.0, STRIDE * height
    for _ in range(MOST):
        tried, good = posture(q, far + stride)
        if good:
            q, far = tried, far + stride
        elif stride > FINEST * height:
            stride /= 2
        else:
            break
    return far


def joint_bounds(robot: Robot, free: Array) -> PositionBounds:
    """Returns the limits of all joints, reduced by a margin, and which velocities (nv,) may be used."""
    lower, upper = np.full(robot.nv, -np.inf), np.full(robot.nv, np.inf)
    for joint in robot.joints.values():
        if joint.mimic is None and joint.type.nq == 1 and joint.limits.lower <= joint.limits.upper:
            inside = min(INSIDE, 0.25 * (joint.limits.upper - joint.limits.lower))
            lower[joint.v], upper[joint.v] = joint.limits.lower + inside, joint.limits.upper - inside
    return PositionBounds(lower, upper, free)


def edges(corners: Array) -> tuple[Array, Array]:
    """Returns the rows of the convex hull of points; duplicates keep their number constant, so that a program keeps its
    size.
    """
    from scipy.spatial import ConvexHull

    equations = ConvexHull(corners).equations
    normals, offsets = equations[:, :2], -equations[:, 2]
    more = DIRECTIONS + 1 - len(normals)
    return np.concatenate([normals, np.repeat(normals[:1], more, axis=0)]), np.append(
        offsets, np.repeat(offsets[:1], more)
    )


@dataclass(frozen=True, eq=False)
class _Legs:
    """Postures with both soles on the ground."""

    skeleton: Skeleton
    bounds: PositionBounds
    rest: Array
    feet: tuple[tuple[int, Array], ...]  # left first: (body, pose of the sole in it)
    torso: int
    upright: Array  # (3, 3) orientation of the torso in the standing posture
    height: float

    @classmethod
    def of(cls, body: Body, height: float) -> _Legs:
        robot, skeleton = body.robot, Skeleton(body.robot)
        feet = []
        for role in sorted(body.feet, key=lambda role: "right" in role):
            link, X = robot.place(body.feet[role].link)
            feet.append((link, X @ body.feet[role].X))
        torso = robot.place(body.frames["torso"])[0]
        upright = skeleton.at(body.standing).R[torso]
        free = np.zeros(robot.nv, bool)
        free[:6] = True  # base and legs only: raised arms make no step longer
        for part in body.feet.values():
            for name in part.joints:
                free[robot.joints[name].v] = True
        return cls(skeleton, joint_bounds(robot, free), body.standing, tuple(feet), torso, upright, height)

    def farthest(self, start: Array, along: Array) -> float:
        """Returns how far (m) the left foot can be moved from a place along a direction, with the right foot at the
        origin.
        """
        return farthest(lambda q, far: self._posture(q, start + far * along), self.rest, self.height)

    def _posture(self, q: Array, place: Array) -> tuple[Array, bool]:
        """Returns the posture with the left foot at a place, starting from another posture, and whether it is valid."""
        q, _ = solved(self.skeleton, q, lambda q, motion: self._rows(q, motion, place), self.bounds, ITERATIONS)
        return q, self._good(q, place)

    def _sole(self, motion: BodyPoses, foot: int) -> tuple[Array, Array]:
        body, X = self.feet[foot]
        return motion.R[body] @ X[:3, :3], motion.p[body] + motion.R[body] @ X[:3, 3]

    def _errors(self, motion: BodyPoses, place: Array) -> list[tuple[Array, Array]]:
        """Returns the errors (position, rotation) of both soles; the midpoint between the feet is the origin."""
        errors = []
        for foot, sign in ((0, 0.5), (1, -0.5)):
            R, p = self._sole(motion, foot)
            errors.append((p - np.array([*(sign * place), 0.0]), np.array(log(from_rotation(R).tolist()))))
        return errors

    def _rows(self, q: Array, motion: BodyPoses, place: Array) -> tuple[Array, Array]:
        rows, columns = [], []
        for (body, X), (off, turn) in zip(self.feet, self._errors(motion, place), strict=True):
            _, J = self.skeleton.points(motion, [body], X[None, :3, 3])
            rows += [20.0 * off, 10.0 * turn]
            columns += [20.0 * J[0], 10.0 * self.skeleton.turning(motion, body)]
        c, J = self.skeleton.centre_of_mass(motion)
        rows.append(np.array([1.0, 1.0, 10.0]) * (c - [0.0, 0.0, self.height]))
        columns.append(np.array([[1.0], [1.0], [10.0]]) * J)
        turn = motion.R[self.torso] @ self.upright.T
        rows.append(5.0 * np.array(log(from_rotation(turn).tolist())))
        columns.append(5.0 * self.skeleton.turning(motion, self.torso))
        at = positions(self.skeleton.robot)
        single = np.flatnonzero(at >= 0)
        rows.append(0.02 * (q - self.rest)[at[single]])
        columns.append(0.02 * np.eye(len(at))[single])
        return np.concatenate(rows), np.concatenate(columns)

    def _good(self, q: Array, place: Array) -> bool:
        motion = self.skeleton.at(q)
        errors = self._errors(motion, place)
        off = max(float(np.abs(e).max()) for e, _ in errors)
        turn = max(float(np.abs(e).max()) for _, e in errors)
        low = abs(float(self.skeleton.centre_of_mass(motion)[0][2]) - self.height) / self.height
        lean = from_rotation(motion.R[self.torso] @ self.upright.T)
        return (
            off < GOOD[0] and turn < GOOD[1] and low < GOOD[2] and float(np.linalg.norm(log(lean.tolist()))) < GOOD[3]
        )
