"""Tasks: what the robot should do, as an error and a Jacobian.

The same task serves three levels. With y the task's coordinates, ẏ = J v and e = y_to − y,

    velocity level               J v = ẏ_to + k e
    acceleration, torque level   J a + J̇ v = ÿ_to + damping (ẏ_to − ẏ) + stiffness e.

`gain` k (1/s) sets all three: stiffness k² and damping 2k make e decay as fast as e^(−kt) without overshoot; `stiffness` and
`damping` overrule. `weight` counts among tasks of one priority; `priority` 0 is served before 1 where priorities are strict;
a `hard` task is an equality like a contact.
Targets are numbers, or functions of time that return (target, rate, acceleration) or the first one or two of them; None means
the place where the robot is when the controller is first called.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import isfinite
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..errors import EquipoiseError, unknown_name

if TYPE_CHECKING:
    from ..equations.symbols import SX
    from ..robot import Robot
    from .controller.scene import Scene

Array = np.ndarray
AXES = {"x": 0, "y": 1, "z": 2, "rx": 3, "ry": 4, "rz": 5}
KINDS = {"pose": "x y z rx ry rz", "position": "x y z", "orientation": "rx ry rz"}


class TaskError(EquipoiseError, ValueError):
    """A task, contact or constraint that cannot be: a wrong size, a negative weight, a target of the wrong kind."""


@dataclass(frozen=True)
class Terms:
    """A task on symbols. `share` says how J a + J̇ v follows from the rate of momentum about the centre of mass, if it does."""

    error: SX
    J: SX
    rate: SX  # J v
    drift: SX  # J̇ v
    rate_to: SX
    acceleration_to: SX
    share: SX | None = None  # (k, 6)


@dataclass(frozen=True, eq=False, kw_only=True)
class Task:
    """What all tasks share."""

    name: str = ""
    weight: Any = 1.0  # one number, or one per row
    gain: Any = 10.0  # 1/s
    stiffness: Any = None  # 1/s²
    damping: Any = None  # 1/s
    priority: int = 0
    hard: bool = False  # whether the task is an equality that must hold, instead of a term of the cost
    levels: ClassVar[tuple[str, ...]] = ("velocity", "acceleration", "torque")
    scalar: ClassVar[bool] = False  # whether a target is one number

    def rows(self, robot: Robot) -> int:
        """How many numbers the error has."""
        raise NotImplementedError

    def here(self, robot: Robot, q: Array) -> Any:
        """The target that the robot meets at q."""
        raise NotImplementedError

    def reference(self, robot: Robot, values: Sequence[Any]) -> Array:
        """(target, rate, acceleration) as the numbers that `terms` reads."""
        raise NotImplementedError

    def terms(self, scene: Scene, p: SX) -> Terms:
        """The task on symbols; p are the numbers of `reference`."""
        raise NotImplementedError

    def check(self, robot: Robot) -> None:
        """Raise if this robot cannot have this task."""

    def check_target(self, robot: Robot, target: Any) -> None:
        """Raise if this cannot be a target; functions and None are known only when they are called."""
        if target is not None and not callable(target):
            self.reference(robot, moment(target, self.scalar))

    def settings(self, robot: Robot, level: str) -> Array:
        """Square roots of weights, stiffness and damping, one each per row."""
        n = self.rows(robot)
        gain = self._column("gain", self.gain, n)
        stiffness = gain**2 if self.stiffness is None else self._column("stiffness", self.stiffness, n)
        damping = 2 * gain if self.damping is None else self._column("damping", self.damping, n)
        on_error = gain if level == "velocity" else stiffness
        return np.concatenate([np.sqrt(self._column("weight", self.weight, n)), on_error, damping])

    def _numbers(self, what: str, value: Any, n: int) -> Array:
        array = np.asarray(value, dtype=float)
        if array.shape not in ((), (n,)):
            raise TaskError(f"{self.label}: {what} must be one number or {n}, one per row; got shape {array.shape}")
        if not np.isfinite(array).all():
            raise TaskError(f"{self.label}: {what} must be finite; got {value!r}")
        return np.broadcast_to(array, (n,))

    def _column(self, what: str, value: Any, n: int) -> Array:
        array = self._numbers(what, value, n)
        if not (array >= 0).all():
            raise TaskError(f"{self.label}: {what} must not be negative; got {value!r}")
        return array

    @property
    def label(self) -> str:
        return self.name or type(self).__name__


class Numbers:
    """What a function of time may return instead of a target: the very numbers that the task's `terms` read, as `reference` makes
    them. They are used as they are; for those who make thousands of them per second and know that they are right."""

    __slots__ = ("numbers",)

    def __init__(self, numbers: Array) -> None:
        self.numbers = numbers


def moment(value: Any, scalar: bool = False) -> tuple[Any, ...]:
    """(target, rate, acceleration) of what was given as a target; None where not given.

    A tuple is such a list, unless it starts with a number and the target is more than one: then it is the target itself.
    """
    together = isinstance(value, tuple) and 1 <= len(value) <= 3 and (scalar or np.ndim(value[0]) > 0)
    parts = value if together else (value,)
    return parts + (None,) * (3 - len(parts))


def _flat(label: str, what: str, value: Any, n: int) -> Array:
    if value is None:
        return np.zeros(n)
    array = np.asarray(value, dtype=float).reshape(-1)
    if array.size != n:
        raise TaskError(f"{label}: {what} must have {n} numbers, got {array.size}")
    return array


def _pose_numbers(label: str, values: Sequence[Any], place: bool = False) -> Array:
    """Rotation (row by row) and place of a pose, its twist and the twist's rate: 24 numbers. With `place`, places will do."""
    X, rates = np.asarray(values[0], dtype=float), values[1:]
    if place and X.shape == (3,):
        X = np.block([[np.eye(3), X[:, None]], [np.zeros(3), 1.0]])
        rates = [np.append(x, np.zeros(3)) if np.shape(x) == (3,) else x for x in rates]
    if X.shape != (4, 4) or not _is_pose(X.tolist()):
        wanted = "a pose (4×4) or a place (3 numbers)" if place else "a pose (4×4)"
        raise TaskError(f"{label}: the target must be {wanted}; got {values[0]!r}")
    numbers = np.empty(24)
    numbers[:9].reshape(3, 3)[...], numbers[9:12] = X[:3, :3], X[:3, 3]
    numbers[12:18], numbers[18:] = _flat(label, "rate", rates[0], 6), _flat(label, "acceleration", rates[1], 6)
    return numbers


def _is_pose(rows: list[list[float]]) -> bool:
    """Whether a 4×4 matrix is a rigid motion, within 1e-6: `algebra.rigid.is_pose` on plain numbers, for control loops."""
    (a, b, c, x), (d, e, f, y), (g, h, i, z), last = rows
    units = (a * a + b * b + c * c - 1, d * d + e * e + f * f - 1, g * g + h * h + i * i - 1)
    across = (a * d + b * e + c * f, a * g + b * h + c * i, d * g + e * h + f * i)
    straight = all(-1e-6 <= number <= 1e-6 for number in (*units, *across))  # false for NaN
    right = a * (e * i - f * h) + b * (f * g - d * i) + c * (d * h - e * g) > 0
    return straight and right and last == [0, 0, 0, 1] and isfinite(x + y + z)


@dataclass(frozen=True, eq=False)
class FrameTask(Task):
    """A frame of the robot to a pose in the world, or some axes of it.

    Args:
        frame: which.
        target: pose 4×4, or a place (3 numbers) where no axis turns; rates are twists (linear, angular) in world axes, those of
            a place may be 3 numbers too.
        axes: "pose", "position", "orientation", or names such as "x y rz" (world axes).
    """

    frame: str
    target: Any = None
    axes: str = "pose"

    def check(self, robot: Robot) -> None:
        robot.place(self.frame)
        for axis in self._names:
            if axis not in AXES:
                raise unknown_name("axis", axis, [*KINDS, *AXES])

    @property
    def _names(self) -> list[str]:
        return KINDS.get(self.axes, self.axes).split()

    @property
    def label(self) -> str:
        return self.name or self.frame

    def rows(self, robot: Robot) -> int:
        return len(self._names)

    def here(self, robot: Robot, q: Array) -> Array:
        return robot.pose(q, self.frame)

    @cached_property
    def _place_will_do(self) -> bool:
        return all(AXES[axis] < 3 for axis in self._names)

    def reference(self, robot: Robot, values: Sequence[Any]) -> Array:
        return _pose_numbers(self.label, values, place=self._place_will_do)

    def terms(self, scene: Scene, p: SX) -> Terms:
        from ..equations.symbols import stack
        from .controller.scene import matrix_of, rotation_error

        R, place = scene.pose(self.frame)
        error = stack(p[9:12] - place, rotation_error(R, matrix_of(p, 3, 3)))
        at = [AXES[axis] for axis in self._names]
        parts = error, scene.jacobian(self.frame), scene.twist(self.frame), scene.drift(self.frame), p[12:18], p[18:24]
        return Terms(*(part[at, :] for part in parts))


@dataclass(frozen=True, eq=False)
class CoMTask(Task):
    """The centre of mass to a place in the world (m); axes="x y" leaves the height alone."""

    target: Any = None
    axes: str = "position"

    def check(self, robot: Robot) -> None:
        for axis in KINDS.get(self.axes, self.axes).split():
            if axis not in "xyz":
                raise unknown_name("axis of the centre of mass", axis, ["position", "x", "y", "z"])

    @property
    def label(self) -> str:
        return self.name or "centre of mass"

    @property
    def _at(self) -> list[int]:
        return [AXES[axis] for axis in KINDS.get(self.axes, self.axes).split()]

    def rows(self, robot: Robot) -> int:
        return len(self._at)

    def here(self, robot: Robot, q: Array) -> Array:
        return robot.com(q)

    def reference(self, robot: Robot, values: Sequence[Any]) -> Array:
        words = ("target", "rate", "acceleration")
        return np.concatenate([_flat(self.label, word, x, 3) for word, x in zip(words, values, strict=True)])

    def terms(self, scene: Scene, p: SX) -> Terms:
        from ..equations.symbols import beside, constant, zeros

        J, at = scene.com_jacobian, self._at
        share = beside(constant(np.eye(3) / scene.robot.mass), zeros(3, 3))
        parts = p[0:3] - scene.com, J, J @ scene.v, scene.com_drift, p[3:6], p[6:9], share
        return Terms(*(part[at, :] for part in parts))


@dataclass(frozen=True, eq=False)
class PostureTask(Task):
    """Every joint to its position in a configuration q (the base part is not looked at); weights and gains one per joint rate.

    Its J is a selection of velocities, which costs the controller next to nothing: it makes every problem well-posed.
    """

    target: Any = None
    weight: Any = field(default=1e-3, kw_only=True)
    gain: Any = field(default=5.0, kw_only=True)

    def rows(self, robot: Robot) -> int:
        return robot.nv - (6 if robot.floating else 0)

    @property
    def label(self) -> str:
        return self.name or "posture"

    def here(self, robot: Robot, q: Array) -> Array:
        return q

    def reference(self, robot: Robot, values: Sequence[Any]) -> Array:
        n = self.rows(robot)
        rates = [x[-n:] if x is not None and np.shape(x) == (robot.nv,) else x for x in values[1:]]
        words = ("rate", "acceleration")
        columns = [_flat(self.label, word, x, n) for word, x in zip(words, rates, strict=True)]
        return np.concatenate([_flat(self.label, "target", values[0], robot.nq), *columns])

    def terms(self, scene: Scene, p: SX) -> Terms:
        n, nq = self.rows(scene.robot), scene.robot.nq
        first = scene.robot.nv - n
        J = type(scene.v).eye(scene.robot.nv)[first:, :]
        error = scene.difference(p[:nq])[first:]
        drift = type(scene.v)(n, 1)
        return Terms(error, J, scene.v[first:], drift, p[nq : nq + n], p[nq + n :])


@dataclass(frozen=True, eq=False)
class MomentumTask(Task):
    """Momentum about the centre of mass (linear N s, angular N m s, world axes) to a value: rates only, places do not matter.

    axes="orientation" is the angular part. `gain` is how fast: ḣ = ḣ_to + gain (h_to − h).
    """

    target: Any = 0.0
    axes: str = "orientation"
    gain: Any = field(default=5.0, kw_only=True)

    def check(self, robot: Robot) -> None:
        for axis in self._names:
            if axis not in AXES:
                raise unknown_name("axis", axis, [*KINDS, *AXES])

    @property
    def label(self) -> str:
        return self.name or "momentum"

    @property
    def _names(self) -> list[str]:
        return KINDS.get(self.axes, self.axes).split()

    def rows(self, robot: Robot) -> int:
        return len(self._names)

    def here(self, robot: Robot, q: Array) -> Array:
        return np.zeros(self.rows(robot))

    def reference(self, robot: Robot, values: Sequence[Any]) -> Array:
        n = self.rows(robot)
        given = [np.broadcast_to(values[0], (n,)) if np.ndim(values[0]) == 0 else values[0], values[1]]
        return np.concatenate([_flat(self.label, word, x, n) for word, x in zip(("target", "rate"), given, strict=True)])

    def settings(self, robot: Robot, level: str) -> Array:
        n = self.rows(robot)
        gain = self._column("gain", self.gain, n)
        return np.concatenate([np.sqrt(self._column("weight", self.weight, n)), np.zeros(n), gain])

    def terms(self, scene: Scene, p: SX) -> Terms:
        at, n = [AXES[axis] for axis in self._names], self.rows(scene.robot)
        A = scene.momentum_matrix[at, :]
        return Terms(type(p)(n, 1), A, A @ scene.v, scene.momentum_drift[at, :], p[:n], p[n:], share=type(p).eye(6)[at, :])


@dataclass(frozen=True, eq=False)
class RelativeTask(Task):
    """The pose of one frame as another sees it: two hands on one object [QO21, Sec. 6.1.3].

    Args:
        frame: which frame.
        seen_from: whose eyes; axes are those of the world, turned with nothing.
        target: pose of `frame` in `seen_from`, 4×4.
    """

    frame: str
    seen_from: str
    target: Any = None

    def check(self, robot: Robot) -> None:
        robot.place(self.frame)
        robot.place(self.seen_from)

    @property
    def label(self) -> str:
        return self.name or f"{self.frame} seen from {self.seen_from}"

    def rows(self, robot: Robot) -> int:
        return 6

    def here(self, robot: Robot, q: Array) -> Array:
        return np.linalg.inv(robot.pose(q, self.seen_from)) @ robot.pose(q, self.frame)

    def reference(self, robot: Robot, values: Sequence[Any]) -> Array:
        return _pose_numbers(self.label, values)

    def terms(self, scene: Scene, p: SX) -> Terms:
        """Twist of b less that of a carried to b; the drift keeps the terms that products of both turning rates bring."""
        from ..equations.symbols import beside, constant, cross, skew, stack, zeros
        from .controller.scene import matrix_of, rotation_error

        (R_a, p_a), (R_b, p_b) = scene.pose(self.seen_from), scene.pose(self.frame)
        r, V_a, V_b = p_b - p_a, scene.twist(self.seen_from), scene.twist(self.frame)
        w = V_a[3:6]
        carry = stack(beside(constant(np.eye(3)), -skew(r)), beside(zeros(3, 3), constant(np.eye(3))))
        J = scene.jacobian(self.frame) - carry @ scene.jacobian(self.seen_from)
        drift = scene.drift(self.frame) - carry @ scene.drift(self.seen_from) - stack(cross(w, V_b[:3] - V_a[:3]), zeros(3))
        error = stack(p_a + R_a @ p[9:12] - p_b, rotation_error(R_b, R_a @ matrix_of(p, 3, 3)))
        turn = stack(R_a @ p[12:15], R_a @ p[15:18])
        spin = stack(cross(w, turn[:3]), cross(w, turn[3:]))  # the target's rate is given in axes that turn with a
        return Terms(error, J, J @ scene.v, drift, turn, stack(R_a @ p[18:21], R_a @ p[21:24]) + spin)


@dataclass(frozen=True, eq=False)
class AbsoluteTask(Task):
    """The pose half way between two frames: middle of their origins, half of the turn between them [QO21, Sec. 6.1.3]."""

    frame: str
    other: str
    target: Any = None

    def check(self, robot: Robot) -> None:
        robot.place(self.frame)
        robot.place(self.other)

    @property
    def label(self) -> str:
        return self.name or f"middle of {self.frame} and {self.other}"

    def rows(self, robot: Robot) -> int:
        return 6

    def here(self, robot: Robot, q: Array) -> Array:
        a, b = robot.pose(q, self.frame), robot.pose(q, self.other)
        X = np.eye(4)
        X[:3, 3] = (a[:3, 3] + b[:3, 3]) / 2
        X[:3, :3] = _half_way(a[:3, :3], b[:3, :3])
        return X

    def reference(self, robot: Robot, values: Sequence[Any]) -> Array:
        return _pose_numbers(self.label, values)

    def terms(self, scene: Scene, p: SX) -> Terms:
        """The half way R turns at ω = ½ Σ r × ṙ over its columns r."""
        from ..equations.symbols import cross, stack
        from .controller.scene import matrix_of, rotation_error

        (R_a, p_a), (R_b, p_b) = scene.pose(self.frame), scene.pose(self.other)
        R = _half_way_symbols(R_a, R_b)
        place_J = (scene.jacobian(self.frame) + scene.jacobian(self.other))[:3, :] / 2
        place_drift = (scene.drift(self.frame) + scene.drift(self.other))[:3] / 2
        columns_J, columns_drift = scene.rows_of(stack(R[:, 0], R[:, 1], R[:, 2]))
        turns = [(R[:, k], slice(3 * k, 3 * k + 3)) for k in range(3)]
        turn_J = sum((cross(r, columns_J[at, :]) for r, at in turns), start=type(p)(3, scene.tree.nv)) / 2
        # d/dt of r × ṙ is r × r̈: the terms ṙ × ṙ vanish.
        turn_drift = sum((cross(r, columns_drift[at]) for r, at in turns), start=type(p)(3, 1)) / 2
        J, drift = stack(place_J, turn_J), stack(place_drift, turn_drift)
        error = stack(p[9:12] - (p_a + p_b) / 2, rotation_error(R, matrix_of(p, 3, 3)))
        return Terms(error, J, J @ scene.v, drift, p[12:18], p[18:24])


def _half_way(R_a: Array, R_b: Array) -> Array:
    from ..algebra.quaternions import from_rotation, rotation

    a, b = from_rotation(R_a), from_rotation(R_b)
    middle = a + (b if a @ b >= 0 else -b)
    return rotation(tuple(middle / np.linalg.norm(middle)))


def _half_way_symbols(R_a: SX, R_b: SX) -> SX:
    """R_a D^½ with D = R_aᵀ R_b: half of the rotation with quaternion (w, x, y, z) is (1 + w, x, y, z), not normalised."""
    from ..algebra.quaternions import rotation
    from ..equations.symbols import SYMBOLS

    D = R_a.T @ R_b
    w = SYMBOLS.sqrt((1 + D[0, 0] + D[1, 1] + D[2, 2]) / 4 + 1e-300)  # a half turn has no middle; the quotient then is NaN
    x, y, z = ((D[i, j] - D[j, i]) / (4 * w) for i, j in ((2, 1), (0, 2), (1, 0)))
    return R_a @ rotation((1 + w, x, y, z), SYMBOLS)


@dataclass(frozen=True, eq=False)
class PlaneTask(Task):
    """A point of the robot at a distance (m) from a plane of the world: how a hand comes to a table [QO21, Sec. 4.5]."""

    frame: str
    normal: Any = (0.0, 0.0, 1.0)
    offset: float = 0.0
    point: Any = (0.0, 0.0, 0.0)
    target: Any = 0.0
    scalar: ClassVar[bool] = True

    def check(self, robot: Robot) -> None:
        robot.place(self.frame)
        if np.shape(self.normal) != (3,) or np.linalg.norm(self.normal) < 1e-9:
            raise TaskError(f"{self.label}: the plane's normal must be three numbers, not all zero; got {self.normal!r}")

    @property
    def label(self) -> str:
        return self.name or f"{self.frame} to a plane"

    def rows(self, robot: Robot) -> int:
        return 1

    def here(self, robot: Robot, q: Array) -> float:
        X = robot.pose(q, self.frame)
        n = np.asarray(self.normal) / np.linalg.norm(self.normal)
        return float(n @ (X[:3, :3] @ np.asarray(self.point) + X[:3, 3]) - self.offset)

    def reference(self, robot: Robot, values: Sequence[Any]) -> Array:
        n = np.asarray(self.normal, dtype=float) / np.linalg.norm(self.normal)
        words = ("target", "rate", "acceleration")
        return np.concatenate([n, [self.offset], *(_flat(self.label, w, x, 1) for w, x in zip(words, values, strict=True))])

    def terms(self, scene: Scene, p: SX) -> Terms:
        from ..equations.symbols import constant

        n = p[0:3]
        place, J, rate, drift = scene.point(self.frame, constant(self.point))
        return Terms(p[4] + p[3] - n.T @ place, n.T @ J, n.T @ rate, n.T @ drift, p[5], p[6])


@dataclass(frozen=True, eq=False)
class SupportAreaTask(Task):
    """The area (m²) of the polygon of given points, in the ground plane, to a value: enlarges the support [QO21, Sec. 4.4].

    Args:
        corners: (frame, point in it) of each corner, in the order in which they go round the polygon, seen from above
            counter-clockwise.
        target: area; choose it larger than what can be reached to maximise.
    """

    corners: tuple[tuple[str, Any], ...]
    target: Any = None
    scalar: ClassVar[bool] = True

    def check(self, robot: Robot) -> None:
        if len(self.corners) < 3:
            raise TaskError(f"{self.label}: a polygon needs three corners or more; got {len(self.corners)}")
        for frame, _ in self.corners:
            robot.place(frame)

    @property
    def label(self) -> str:
        return self.name or "support area"

    def rows(self, robot: Robot) -> int:
        return 1

    def here(self, robot: Robot, q: Array) -> float:
        poses = [(robot.pose(q, frame), np.asarray(point, dtype=float)) for frame, point in self.corners]
        x, y, _ = np.array([X[:3, :3] @ s + X[:3, 3] for X, s in poses]).T
        return float(x @ np.roll(y, -1) - y @ np.roll(x, -1)) / 2

    def reference(self, robot: Robot, values: Sequence[Any]) -> Array:
        words = ("target", "rate", "acceleration")
        return np.concatenate([_flat(self.label, w, x, 1) for w, x in zip(words, values, strict=True)])

    def terms(self, scene: Scene, p: SX) -> Terms:
        """A = ½ Σ (x_i y_{i+1} − x_{i+1} y_i), so Ȧ = ½ Σ (y_{i+1} − y_{i−1}) ẋ_i − (x_{i+1} − x_{i−1}) ẏ_i."""
        from ..equations.symbols import constant

        corners = [scene.point(frame, constant(point)) for frame, point in self.corners]
        n = len(corners)
        zero = type(p)(1, 1)
        area, J, rate, drift = zero, type(p)(1, scene.tree.nv), zero, zero
        for i, (place, J_i, rate_i, drift_i) in enumerate(corners):
            after, before = corners[(i + 1) % n], corners[i - 1]
            across, across_rate = after[0] - before[0], after[2] - before[2]
            area += (place[0] * after[0][1] - after[0][0] * place[1]) / 2
            J += (across[1] * J_i[0, :] - across[0] * J_i[1, :]) / 2
            rate += (across[1] * rate_i[0] - across[0] * rate_i[1]) / 2
            drift += (across[1] * drift_i[0] - across[0] * drift_i[1]) / 2
            drift += (across_rate[1] * rate_i[0] - across_rate[0] * rate_i[1]) / 2
        return Terms(p[0] - area, J, rate, drift, p[1], p[2])


@dataclass(frozen=True, eq=False)
class ForceTask(Task):
    """The wrench (force, torque: N, N m, in the contact's axes, on the robot) of a contact to a value; torque level only."""

    contact: str
    target: Any = 0.0
    weight: Any = field(default=1e-4, kw_only=True)
    levels: ClassVar[tuple[str, ...]] = ("torque",)

    @property
    def label(self) -> str:
        return self.name or f"force of {self.contact}"

    def wanted(self, size: int) -> Array:
        """The target as one number per unknown force."""
        return self._numbers("target", self.target, size)


@dataclass(frozen=True, eq=False)
class TorqueTask(Task):
    """Joint torques to a value (N m), one number or one per actuated velocity; torque level only."""

    target: Any = 0.0
    weight: Any = field(default=1e-5, kw_only=True)
    levels: ClassVar[tuple[str, ...]] = ("torque",)

    @property
    def label(self) -> str:
        return self.name or "torques"

    def wanted(self, size: int) -> Array:
        """The target as one number per actuated velocity."""
        return self._numbers("target", self.target, size)
