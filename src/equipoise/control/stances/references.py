"""Smooth references between postures: minimum-jerk trajectories of centre of mass, posture, base and tracked frames."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import atan2, cos, sin
from typing import TYPE_CHECKING

import numpy as np

from ...algebra.arrays import length
from ...algebra.quaternions import from_rotation
from ...algebra.rigid import skew
from ..item import Numbers
from .com_plan import Course

if TYPE_CHECKING:
    from ...robot import Robot

Array = np.ndarray
PEAK = 1.875  # of a minimum-jerk motion: largest speed by the mean one
SHARPEST = 5.7736  # of a minimum-jerk motion over distance d in time T: largest acceleration is 5.7736 d / T²
ROTATION = [0, 1, 2, 4, 5, 6, 8, 9, 10]  # of a pose row by row: its rotation,
PLACE = [3, 7, 11]  # and its place


def minimum_jerk(x: float) -> tuple[float, float, float]:
    """s(x) from 0 to 1 on 0 ≤ x ≤ 1 with rests at both ends, and its first two derivatives."""
    if x <= 0.0:
        return 0.0, 0.0, 0.0
    if x >= 1.0:
        return 1.0, 0.0, 0.0
    return (
        x**3 * (10 + x * (-15 + 6 * x)),
        30 * x**2 * (1 - x) ** 2,
        60 * x * (1 + x * (-3 + 2 * x)),
    )


def bump(x: float) -> tuple[float, float, float]:
    """0 at both ends, 1 in the middle, smooth to the second derivative at the ends; with its derivatives: 64 x³ (1 −
    x)³."""
    if not 0.0 < x < 1.0:
        return 0.0, 0.0, 0.0
    y, d = x * (1 - x), 1 - 2 * x
    return 64 * y**3, 192 * y**2 * d, 384 * y * (d * d - y)


def turn(X: Array, Y: Array) -> Array:
    """Rotation vector from the axes of X to those of Y, world axes."""
    w, *xyz = from_rotation(Y[:3, :3] @ X[:3, :3].T)
    half = np.array(xyz) if w >= 0 else -np.array(xyz)
    sine = length(half)
    return 2.0 * half if sine < 1e-12 else 2.0 * atan2(sine, abs(w)) / sine * half


@dataclass(frozen=True, eq=False)
class PoseTrajectory:
    """A frame from one pose to another, with a lift in the middle; then it may look for the ground at constant
    speed."""

    X: Array
    Y: Array
    lift: Array  # (3,) m
    descent: Array = field(default_factory=lambda: np.zeros(3))  # m/s
    since: float = np.inf  # s, when the descent begins
    until: float = np.inf  # and ends
    angle: float = field(init=False)
    _shares: Array = field(init=False)

    def __post_init__(self) -> None:
        w, R = turn(self.X, self.Y), self.X[:3, :3]
        way, angle = self.Y[:3, 3] - self.X[:3, 3], length(w)
        K = skew(w / angle) if angle > 1e-12 else np.zeros((3, 3))
        G, zero = np.zeros((11, 28)), np.zeros(3)  # functions of time × (pose row by row, twist, its rate)
        G[0, :16] = np.eye(4).ravel()
        G[0, ROTATION], G[0, PLACE] = R.ravel(), self.X[:3, 3]
        G[1, ROTATION], G[2, ROTATION] = (K @ R).ravel(), (K @ K @ R).ravel()  # Rodrigues: R + sin K R + (1 − cos) K² R
        for k, of_time in enumerate((way, self.lift, self.descent)):
            G[3 + k, PLACE] = of_time
        for k, of_time in enumerate(((way, w), (self.lift, zero), (self.descent, zero))):
            G[6 + k, 16:22] = np.concatenate(of_time)
        G[9, 22:], G[10, 22:] = np.concatenate([way, w]), np.concatenate([self.lift, zero])
        object.__setattr__(self, "angle", angle)
        object.__setattr__(self, "_shares", G)

    def numbers(self, t: float, start: float, T: float) -> Array:
        """Pose (row by row), twist and rate of the twist at time t of a motion that begins at `start` and takes T: 28
        numbers, each a sum of functions of time."""
        x = (t - start) / T
        s, ds, dds = minimum_jerk(x)
        b, db, ddb = bump(x)
        sunk, sinks = max(0.0, min(t, self.until) - self.since), float(self.since < t < self.until)
        angle = s * self.angle
        pose = 1.0, sin(angle), 1 - cos(angle), s, b, sunk
        return np.array([*pose, ds / T, db / T, sinks, dds / T**2, ddb / T**2]) @ self._shares

    def at(self, t: float, start: float, T: float) -> tuple[Array, Array, Array]:
        """(pose, twist, rate of the twist) at that time."""
        numbers = self.numbers(t, start, T)
        return numbers[:16].reshape(4, 4), numbers[16:22], numbers[22:]


@dataclass(frozen=True, eq=False)
class StanceReference:
    """Posture, base, centre of mass and tracked frames from `start` for T seconds."""

    robot: Robot
    start: float
    T: float
    q: Array
    to: Array
    com: Array
    com_to: Array
    frames: dict[str, PoseTrajectory]
    course: Course | None = None  # that the centre of mass follows instead of a way from rest to rest
    base: PoseTrajectory = field(init=False)  # stands still at the origin where the base is fixed
    way: Array = field(init=False)
    _com_way: Array = field(init=False)  # start and way, (2, 3)

    def __post_init__(self) -> None:
        base = self.robot.base_link
        X, Y = (np.eye(4) if base is None else self.robot.pose(q, base) for q in (self.q, self.to))
        object.__setattr__(self, "base", PoseTrajectory(X, Y, np.zeros(3)))
        object.__setattr__(self, "way", self.robot.difference(self.q, self.to))
        object.__setattr__(self, "_com_way", np.stack([self.com, self.com_to - self.com]))

    def _parts(self, t: float) -> tuple[float, float, float]:
        s, ds, dds = minimum_jerk((t - self.start) / self.T)
        return s, ds / self.T, dds / self.T**2

    def posture_at(self, t: float) -> Array:
        """q."""
        return self.robot.integrate(self.q, self._parts(t)[0] * self.way)

    def com_at(self, t: float) -> Array:
        """Place, velocity and acceleration of the centre of mass, (3, 3)."""
        if self.course is not None:
            return self.course.at(t)
        s, ds, dds = self._parts(t)
        return np.array([[1.0, s], [0.0, ds], [0.0, dds]]) @ self._com_way

    def frame_at(self, name: str, t: float) -> Array:
        """Pose of a tracked frame."""
        return self.frames[name].at(t, self.start, self.T)[0]

    # The same as the numbers that tasks read.

    def posture_numbers(self, t: float) -> Numbers:
        s, ds, dds = self._parts(t)
        way = self.way[self.robot.actuated]
        return Numbers(np.concatenate([self.robot.integrate(self.q, s * self.way), ds * way, dds * way]))

    def com_numbers(self, t: float) -> Numbers:
        return Numbers(self.com_at(t).ravel())

    def pose_numbers(self, trajectory: PoseTrajectory, t: float) -> Numbers:
        return Numbers(trajectory.numbers(t, self.start, self.T))

    def ended(self, t: float) -> bool:
        return t >= self.start + self.T
