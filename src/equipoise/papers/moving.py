"""Numbers that move with a robot and the world, with their first two derivatives: frames come from `ReferenceState`,
distances, angles and areas follow by the product rule. Nothing here comes from `geometry` or `control`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from ..robot import Robot
from .reference import ReferenceState, cross_matrix, turned

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class Moving:
    """A vector x with ẋ = J u + ẋ₀ for the velocity u of a robot, and ẍ = J a + drift.

    Attributes:
        x: (n,).
        J: (n, nv).
        rate: ẋ at the state, (n,); where the robot is at rest that is ẋ₀, due to the world alone.
        drift: ẍ without acceleration of the robot, (n,).
    """

    x: Array
    J: Array
    rate: Array
    drift: Array

    def __add__(self, other: Moving) -> Moving:
        return Moving(self.x + other.x, self.J + other.J, self.rate + other.rate, self.drift + other.drift)

    def __sub__(self, other: Moving) -> Moving:
        return self + (-1.0) * other

    def __rmul__(self, factor: float) -> Moving:
        return Moving(factor * self.x, factor * self.J, factor * self.rate, factor * self.drift)

    def __getitem__(self, rows: Any) -> Moving:
        return Moving(self.x[rows], self.J[rows], self.rate[rows], self.drift[rows])

    def rotated(self, R: Array) -> Moving:
        """Returns R x, for any constant matrix."""
        return Moving(R @ self.x, R @ self.J, R @ self.rate, R @ self.drift)

    def dot(self, other: Moving) -> Moving:
        """Returns the scalar product, (1,)."""
        a, b = self, other
        return Moving(
            np.array([a.x @ b.x]),
            (a.x @ b.J + b.x @ a.J)[None],
            np.array([a.x @ b.rate + b.x @ a.rate]),
            np.array([a.x @ b.drift + b.x @ a.drift + 2 * a.rate @ b.rate]),
        )

    def mapped(self, f: Callable[[Array], Array], slope: Array, curvature: Array) -> Moving:
        """Returns f(x), entry by entry, given f' and f'' there."""
        return Moving(
            f(self.x), slope[:, None] * self.J, slope * self.rate, slope * self.drift + curvature * self.rate**2
        )

    def length(self) -> Moving:
        """Returns |x|, (1,)."""
        square = self.dot(self)
        size = np.sqrt(square.x)
        return square.mapped(np.sqrt, 0.5 / size, -0.25 / size**3)

    def under(self, command: Array, second: bool) -> Array:
        """Returns ẋ under a commanded velocity of a robot at rest, or ẍ under a commanded acceleration."""
        return np.asarray(self.J @ command + (self.drift if second else self.rate))


def given(x: Any, nv: int, rate: Any = None, acceleration: Any = None) -> Moving:
    """Returns what moves by itself, whatever the robot does."""
    at = np.atleast_1d(np.asarray(x, dtype=float))
    rates = (
        np.zeros_like(at) if y is None else np.atleast_1d(np.asarray(y, dtype=float)) for y in (rate, acceleration)
    )
    return Moving(at, np.zeros((len(at), nv)), *rates)


def point(now: ReferenceState, frame: str, place: Any = (0.0, 0.0, 0.0)) -> Moving:
    """Returns a point of a frame in the world, (3,)."""
    at = now.frame(frame, place)
    return Moving(at.p, at.J[:3], at.V[:3], at.A[:3])


def direction(now: ReferenceState, frame: str, along: Any) -> Moving:
    """Returns a direction fixed in a frame, in world axes, (3,)."""
    at = now.frame(frame)
    u, w = at.R @ np.asarray(along, dtype=float), at.V[3:]
    return Moving(u, -cross_matrix(u) @ at.J[3:], np.cross(w, u), np.cross(at.A[3:], u) + np.cross(w, np.cross(w, u)))


def stacked(*parts: Moving) -> Moving:
    """Returns the parts one after the other."""
    return Moving(*(np.concatenate([getattr(part, name) for part in parts]) for name in ("x", "J", "rate", "drift")))


def joints(now: ReferenceState, places: Any) -> Moving:
    """Returns positions of joints that turn or slide, by their places among the velocities."""
    nv, more = now.model.nv, now.model.nq - now.model.nv  # what floats has a coordinate more than velocities
    v = now.v[places]
    return Moving(now.q[more:][places], np.eye(nv)[places], v, np.zeros(len(v)))


def com(now: ReferenceState) -> Moving:
    """Returns the centre of mass, (3,)."""
    return Moving(now.com, now.com_jacobian, now.com_jacobian @ now.v, now.com_bias)


def gap(a: Array, b: Array) -> tuple[float, float, float]:
    """Returns the distance of two segments, m, and the positions of their nearest points as fractions of their lengths.

    The nearest points are those of the two lines if both lie within the segments; otherwise one of them is an end.

    Args:
        a, b: both ends of each, (2, 3).
    """
    (p, e), (r, f) = ((one[0], one[1] - one[0]) for one in (a, b))
    parts = [(end, _part(a[end], b)) for end in (0, 1)] + [(_part(b[end], a), end) for end in (0, 1)]
    (s, t), *_ = np.linalg.lstsq(np.column_stack([e, -f]), r - p, rcond=None)
    parts += [(s, t)] * bool(0 < s < 1 and 0 < t < 1)
    return min((float(np.linalg.norm(p + s * e - r - t * f)), float(s), float(t)) for s, t in parts)


def _part(end: Array, segment: Array) -> float:
    along = segment[1] - segment[0]
    return float(np.clip((end - segment[0]) @ along / max(float(along @ along), 1e-300), 0.0, 1.0))


def ends_of(now: ReferenceState, capsule: Any) -> Array:
    """Returns both ends of the axis of a capsule on a frame, in the world, (2, 3)."""
    at = now.frame(capsule.frame)
    return np.asarray(capsule.points)[[0, -1]] @ at.R.T + at.p


def between(now: ReferenceState, a: Any, b: Any) -> Moving:
    """Returns the distance of two capsules on frames, (1,); its drift is left out, for the nearest points move."""
    _, s, t = gap(ends_of(now, a), ends_of(now, b))
    p, r = (point(now, one.frame, one.points[0] + x * (one.points[-1] - one.points[0])) for one, x in ((a, s), (b, t)))
    d = (p - r).length() - given(a.thickness + b.thickness, now.model.nv)
    return Moving(d.x, d.J, d.rate, np.full(1, np.nan))


def posed(R: Array, p: Array) -> Array:
    """Returns a pose, 4×4."""
    X = np.eye(4)
    X[:3, :3], X[:3, 3] = R, p
    return X


def relative_pose(now: ReferenceState, a: str, b: str) -> Array:
    """Returns the pose of frame b seen from a, 4×4."""
    return np.linalg.inv(now.frame(a).X) @ now.frame(b).X


def half_way(now: ReferenceState, a: str, b: str) -> Array:
    """Returns the pose half way between two frames, 4×4 [QO21, Sec. 6.1.3]."""
    A, B = now.frame(a), now.frame(b)
    return posed(A.R @ turned(Rotation.from_matrix(A.R.T @ B.R).as_rotvec() / 2), (A.p + B.p) / 2)


def gap_of(now: ReferenceState, a: Any, b: Any) -> float:
    """Returns the distance of two capsules on frames, m."""
    return gap(ends_of(now, a), ends_of(now, b))[0] - a.thickness - b.thickness


def at_their_ends(robot: Robot, q: Array, u: Array, margin: float = 0.0) -> Array:
    """Returns the velocities of joints that are as fast as they may be, or at an end, by their places."""
    near, first = 1e-3, 6 if robot.floating else 0  # rad
    limits, at = robot.limits, q[len(q) - len(u) + first :]
    lower, upper = (x[len(q) - len(u) + first :] for x in (limits.lower, limits.upper))
    at_end = (at < lower + margin + near) | (at > upper - margin - near)
    return first + np.flatnonzero(at_end | (np.abs(u[first:]) > (1 - 1e-6) * limits.velocity[first:]))
