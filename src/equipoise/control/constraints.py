"""Constraints: what must hold whatever the tasks want. Each gives rows with bounds; see docs/safety.md for why they are kept.

Most are barriers: numbers d ≥ 0 with ḋ = J v + ζ and d̈ = J a + J̇ v + ζ̇. At velocity level they become the vector field
inequality ḋ ≥ −η d, at acceleration and torque level its second-order form, both with the margin that a sampled controller
needs [QO21, Eqs. (4.1)–(4.19)].
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..errors import unknown_name
from ..geometry.distances import Distance, angle, distance
from ..geometry.primitives import Line, Plane, at_time
from .at_rest import AtRest
from .safety.vfi import Gains
from .tasks import TaskError

if TYPE_CHECKING:
    from ..equations.symbols import SX
    from ..robot import Robot
    from .controller.scene import Scene

Array = np.ndarray
LEVELS = ("velocity", "acceleration", "torque")
FAR = 1e6  # stands for a limit of position or velocity that is not there


@dataclass(frozen=True)
class Barrier:
    """Numbers d ≥ 0 on symbols."""

    d: SX
    J: SX
    rate: SX  # J v + ζ
    residual: SX  # ζ
    drift: SX  # J̇ v + ζ̇


@dataclass(frozen=True, eq=False, kw_only=True)
class Constraint:
    """What all constraints share.

    Args:
        rank: which give way first where nothing satisfies all: higher ranks before lower; rank 0 never does.
    """

    name: str = ""
    rank: int = 1
    levels: ClassVar[tuple[str, ...]] = LEVELS

    def check(self, robot: Robot) -> None:
        """Raise if this robot cannot have this constraint."""

    def at_rest(self, robot: Robot) -> AtRest:
        """What it means for postures."""
        return AtRest()

    @property
    def label(self) -> str:
        return self.name or type(self).__name__


@dataclass(frozen=True, eq=False, kw_only=True)
class BarrierConstraint(Constraint):
    """A constraint made of numbers d ≥ 0.

    Args:
        gains: of the second-order inequality; its slow rate is also η at velocity level. Rates, 1/s.
        variation, jump: how much d̈ may fall within a step, see `second_order_bound`.
        braking: the d̈ that can be counted on, m/s²; None for no limit.
    """

    gains: Gains = field(default_factory=lambda: Gains.of_rates(5.0, 20.0))
    variation: float = 0.0
    jump: float = 0.0
    braking: float | None = None

    def row_names(self, robot: Robot) -> list[str]:
        return [self.label]

    def numbers(self, robot: Robot, t: float) -> Array:
        """What `barrier` reads; called in each step if `moving`."""
        return np.zeros(0)

    @property
    def moving(self) -> bool:
        """Whether the numbers change with time."""
        return False

    def barrier(self, scene: Scene, p: SX) -> Barrier:
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class TorqueLimits(Constraint):
    """Joint torques within the limits of the description, times `scale`, or within `limits` (N m, one per actuated velocity)."""

    scale: float = 1.0
    limits: Any = None
    rank: int = field(default=0, kw_only=True)
    levels: ClassVar[tuple[str, ...]] = ("torque",)

    def largest(self, robot: Robot) -> Array:
        """Bound of each torque, (nv − 6,) for a floating robot."""
        n = robot.nv - (6 if robot.floating else 0)
        given = robot.limits.effort[-n:] if self.limits is None else np.asarray(self.limits, dtype=float)
        if given.shape not in ((), (n,)) or not (given >= 0).all() or not self.scale > 0:
            raise TaskError(f"{self.label}: limits must be one number or {n}, not negative, and scale positive")
        return np.broadcast_to(self.scale * given, (n,))

    def check(self, robot: Robot) -> None:
        self.largest(robot)

    def at_rest(self, robot: Robot) -> AtRest:
        return AtRest(effort=_in_velocities(robot, self.largest(robot), np.inf))

    @property
    def label(self) -> str:
        return self.name or "torque limit"


@dataclass(frozen=True, eq=False)
class JointLimits(Constraint):
    """Joints within their limits of position, velocity and acceleration, viable together: a joint that nears its end can
    always still brake [limits.py, docs/safety.md].

    Args:
        acceleration: what each joint can count on for braking, rad/s² or m/s²; one number or one per joint rate.
        position: True for the robot's own limits, False for none, or (lower, upper), one each per joint rate.
        velocity: the same; or one number per joint rate.
        margin: kept from the ends, rad or m.
    """

    acceleration: Any = 100.0
    position: Any = True
    velocity: Any = True
    margin: float = 0.0

    @property
    def label(self) -> str:
        return self.name or "joint limit"

    def limits(self, robot: Robot, dt: float) -> tuple[Array, Array, Array, Array]:
        """(lower, upper, velocity, acceleration) of all joint rates; far away where there are none."""
        n = robot.nv - (6 if robot.floating else 0)
        lower, upper = self._positions(robot, n)
        velocity = np.full(n, FAR) if self.velocity is False else robot.limits.velocity[-n:]
        if not isinstance(self.velocity, bool):
            velocity = np.broadcast_to(np.asarray(self.velocity, dtype=float), (n,))
        acceleration = np.broadcast_to(np.asarray(self.acceleration, dtype=float), (n,))
        lower, upper = np.clip(lower + self.margin, -FAR, FAR), np.clip(upper - self.margin, -FAR, FAR)
        velocity = np.minimum(velocity, FAR)
        # Without ends of position there is nothing to brake for: within a step the velocity may turn from one limit to the other.
        most = 2 * velocity / dt if self.position is False else np.minimum(velocity / dt, (upper - lower) / dt**2)
        return lower, upper, velocity, np.minimum(acceleration, most)

    def _positions(self, robot: Robot, n: int) -> tuple[Array, Array]:
        if not isinstance(self.position, bool):
            lower, upper = self.position
            return np.broadcast_to(np.asarray(lower, dtype=float), (n,)), np.broadcast_to(np.asarray(upper, dtype=float), (n,))
        lower, upper = np.full(robot.nv, -FAR), np.full(robot.nv, FAR)
        if self.position:
            for joint in robot.joints.values():
                if joint.mimic is None and joint.type.nq == 1:
                    lower[joint.v], upper[joint.v] = robot.limits.lower[joint.q], robot.limits.upper[joint.q]
        return lower[-n:], upper[-n:]

    def check(self, robot: Robot) -> None:
        n = robot.nv - (6 if robot.floating else 0)
        given = np.asarray(self.acceleration, dtype=float)
        if given.shape not in ((), (n,)) or not (np.isfinite(given).all() and (given > 0).all()):
            raise TaskError(f"{self.label}: acceleration must be positive, one number or {n}; got {self.acceleration!r}")
        lower, upper, *_ = self.limits(robot, 1e-3)
        if (lower >= upper).any():
            raise TaskError(f"{self.label}: a margin of {self.margin} leaves some joint no room")

    def at_rest(self, robot: Robot) -> AtRest:
        lower, upper, *_ = self.limits(robot, 1e-3)
        return AtRest(positions=(_in_velocities(robot, lower, -np.inf), _in_velocities(robot, upper, np.inf)))


@dataclass(frozen=True, eq=False)
class KeepOut(BarrierConstraint):
    """Two primitives stay farther apart than `safe` (m): obstacles, self-collisions, planes not to be crossed.

    Args:
        a, b: primitives on frames of the robot or in the world. One of the world may be a function of time that returns it.
        safe: distance to keep, m; for squared distances (points and lines) it is squared for you.
    """

    a: Any
    b: Any
    safe: float = 0.0
    inside: ClassVar[bool] = False

    @property
    def label(self) -> str:
        return self.name or f"{_described(self.a)} {'inside' if self.inside else 'away from'} {_described(self.b)}"

    def measured(self, t: float = 0.0) -> Distance:
        """The distance at time t."""
        return distance(at_time(self.a, t), at_time(self.b, t))

    def check(self, robot: Robot) -> None:
        d = self.measured()
        for primitive in (d.a, d.b):
            if primitive.frame is not None:
                robot.place(primitive.frame)
        if not np.isfinite(self.safe) or (d.squared and self.safe < 0):
            wanted = "finite and not negative" if d.squared else "finite"
            raise TaskError(f"{self.label}: safe must be {wanted}, got {self.safe!r}")

    def at_rest(self, robot: Robot) -> AtRest:
        d = self.measured()
        return AtRest(distance=d, least=self.safe**2 if d.squared else self.safe, inside=self.inside)

    @property
    def moving(self) -> bool:
        return any(callable(p) or p.moves for p in (self.a, self.b))

    def numbers(self, robot: Robot, t: float) -> Array:
        d = self.measured(t)
        bound = self.safe**2 if d.squared else self.safe
        return np.concatenate([[bound], *(p.motion.ravel() for p in d.world)])

    def barrier(self, scene: Scene, p: SX) -> Barrier:
        from ..geometry.distances import on_symbols

        d = self.measured()
        row = on_symbols(scene.robot, d, scene.q, scene.v, p[1:])
        sign = -1.0 if self.inside else 1.0
        value, J, zeta = sign * (row["value"] - p[0]), sign * row["J"], sign * row["residual"]
        drift = sign * (row["J_dot_v"] + row["residual_rate"])
        return Barrier(value, J, J @ scene.v + zeta, zeta, drift)


@dataclass(frozen=True, eq=False)
class KeepIn(KeepOut):
    """Two primitives stay nearer than `safe` (m): a hand in a region, a point on one side of a plane."""

    inside: ClassVar[bool] = True


@dataclass(frozen=True, eq=False)
class Cone(BarrierConstraint):
    """A line of the robot stays within an angle of a direction: keeps a cup upright [QO21, Sec. 4.2].

    Args:
        line: on a frame of the robot.
        axis: Line or Plane (its normal) of the world or of another frame.
        angle: largest, rad.
    """

    line: Any
    axis: Any
    angle: float = 0.1

    def measured(self, t: float = 0.0) -> Distance:
        """The angle at time t."""
        return angle(at_time(self.line, t), at_time(self.axis, t))

    @property
    def moving(self) -> bool:
        return any(p.moves for p in (self.line, self.axis))

    @property
    def label(self) -> str:
        return self.name or f"cone of {_described(self.line)}"

    def check(self, robot: Robot) -> None:
        if not 0 < self.angle < np.pi:
            raise TaskError(f"{self.label}: the angle must lie between 0 and π rad, got {self.angle!r}")
        for primitive in (self.line, self.axis):
            if not isinstance(primitive, Line | Plane):
                raise TaskError(f"{self.label}: a cone is about Lines (or Planes' normals); got {primitive!r}")
            if primitive.frame is not None:
                robot.place(primitive.frame)

    def numbers(self, robot: Robot, t: float) -> Array:
        world = self.measured(t).world
        return np.concatenate([[2 - 2 * np.cos(self.angle)], *(p.motion.ravel() for p in world)])

    def barrier(self, scene: Scene, p: SX) -> Barrier:
        from ..geometry.distances import on_symbols

        row = on_symbols(scene.robot, self.measured(), scene.q, scene.v, p[1:])
        J, zeta = -row["J"], -row["residual"]
        return Barrier(p[0] - row["value"], J, J @ scene.v + zeta, zeta, -row["J_dot_v"] - row["residual_rate"])


@dataclass(frozen=True, eq=False)
class CoMInSupport(BarrierConstraint):
    """The centre of mass, seen from above, inside a convex polygon: enough for slow motions; fast ones are held by the contacts'
    centres of pressure.

    Args:
        polygon: corners counter-clockwise, (n, 2), m.
        margin: kept from the edges, m.
    """

    polygon: Any
    margin: float = 0.0

    @property
    def label(self) -> str:
        return self.name or "centre of mass in support"

    def edges(self) -> tuple[Array, Array]:
        """(inward normals (n, 2), offsets) with normal · c ≥ offset."""
        corners = np.asarray(self.polygon, dtype=float)
        if corners.ndim != 2 or corners.shape[1] < 2 or len(corners) < 3:
            raise TaskError(f"{self.label}: a polygon is three or more corners of two numbers; got shape {corners.shape}")
        corners = corners[:, :2]
        along = np.roll(corners, -1, axis=0) - corners
        if (along[:, 0] * np.roll(along[:, 1], -1) - along[:, 1] * np.roll(along[:, 0], -1) < -1e-12).any():
            raise TaskError(f"{self.label}: corners must go round a convex polygon counter-clockwise")
        along = along / np.linalg.norm(along, axis=1, keepdims=True)
        normals = np.stack([-along[:, 1], along[:, 0]], axis=1)
        return normals, np.sum(normals * corners, axis=1) + self.margin

    def check(self, robot: Robot) -> None:
        self.edges()

    def row_names(self, robot: Robot) -> list[str]:
        return [f"{self.label} (edge {k})" for k in range(len(np.asarray(self.polygon)))]

    def numbers(self, robot: Robot, t: float) -> Array:
        normals, offsets = self.edges()
        return np.concatenate([normals.ravel(), offsets])

    def barrier(self, scene: Scene, p: SX) -> Barrier:
        from .controller.scene import matrix_of

        n = len(np.asarray(self.polygon))
        normals = matrix_of(p, n, 2)
        J = normals @ scene.com_jacobian[:2, :]
        drift = normals @ scene.com_drift[:2]
        return Barrier(normals @ scene.com[:2] - p[2 * n :], J, J @ scene.v, type(p)(n, 1), drift)


@dataclass(frozen=True, eq=False)
class MomentumLimits(Constraint):
    """Momentum about the centre of mass within ±bounds (linear N s, angular N m s, world axes) after the next step.

    Args:
        linear, angular: bounds, one number or one per axis; infinite where there is none.
        rate: with which momentum that is outside returns, 1/s.
    """

    linear: Any = np.inf
    angular: Any = np.inf
    rate: float = 10.0

    @property
    def label(self) -> str:
        return self.name or "momentum limit"

    def largest(self) -> Array:
        parts = [np.broadcast_to(np.asarray(x, dtype=float), (3,)) for x in (self.linear, self.angular)]
        return np.concatenate(parts)

    def check(self, robot: Robot) -> None:
        if not ((self.largest() > 0).all() and np.isfinite(self.largest()).any() and self.rate > 0):
            raise TaskError(f"{self.label}: bounds and rate must be positive, and some bound finite")


@dataclass(frozen=True, eq=False)
class SelfCollision(Constraint):
    """Pairs of the robot's own parts stay `safe` (m) apart. Those within `range` get rows in each step, at most `most`.

    Args:
        pairs: of primitives on frames; None takes them from the robot's collision shapes.
        gains, variation, jump, braking: as of all barriers.
    """

    pairs: Any = None
    safe: float = 0.01
    range: float = 0.15
    most: int = 40
    gains: Gains = field(default_factory=lambda: Gains.of_rates(5.0, 20.0))
    variation: float = 0.0
    jump: float = 0.0
    braking: float | None = None

    @property
    def label(self) -> str:
        return self.name or "self-collision"

    def at_rest(self, robot: Robot) -> AtRest:
        from ..geometry.collisions import self_collision_pairs
        from ..geometry.pairs import PairSet

        pairs = self_collision_pairs(robot) if self.pairs is None else self.pairs
        watched = PairSet(robot, tuple(pairs), range=max(self.range, self.safe), most=self.most)
        return AtRest(pairs=watched, safe=self.safe)


def _in_velocities(robot: Robot, joints: Array, base: float) -> Array:
    """Values of joint rates in their places among all velocities, with one for the base in front."""
    return np.concatenate([np.full(robot.nv - len(joints), base), joints])


def _described(primitive: Any) -> str:
    if callable(primitive):
        return "a moving thing"
    kind = type(primitive).__name__.lower()
    return f"{kind} on {primitive.frame}" if primitive.frame else kind


def check_level(item: Any, level: str) -> None:
    """Raise if a task or constraint does not exist at this level."""
    if level not in LEVELS:
        raise unknown_name("level", level, LEVELS)
    if level not in item.levels:
        raise TaskError(f"{item.label} needs level={item.levels[0]!r}: forces and torques are no variables at level={level!r}")
