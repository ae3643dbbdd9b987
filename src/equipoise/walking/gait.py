"""The default gait of a body: times and lengths that scale with it, and the steps of a command.

Times are multiples of 1/ω and lengths of the height h of the standing centre of mass, so similar bodies of any size
walk alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import cos, sin

import numpy as np

from ..body.body import Body
from ..control.qp.program import read_only
from .reach import Reach, reach_of
from .swing import QUINTIC

Array = np.ndarray
HASTE = 0.06  # × g (× ω² for the turn): largest rate of change of the commanded speed
STEADY = 0.3  # fraction by which that rate is smaller at the largest speed
FASTEST = 0.42  # × √(g h): limit of the commanded forward speed
ASIDE = 0.12  # × √(g h): limit of the commanded sideways speed
SPUN = 0.4  # × ω: limit of the commanded turn rate
STRIDE = 0.55  # fraction of the reach that a command may use
QUICKEST = 0.65  # fraction of the usual period: the shortest period of a command
UPRIGHT = 0.9  # cosine of the angle to the vertical; the axis of a joint that only turns a foot is steeper
TURNING = 2.2  # rad; travel of a leg's joints per step at their largest rates
SWING = 1.8  # × the largest accelerations of a foot computed for a trunk at rest; steps may count on that much
QUICK_FOOT = 20.0  # × g: upper limit of these accelerations
# Fraction of these accelerations for steps without a recent push, since quicker feet may scuff the ground.
UNHURRIED = 0.58
FOLLOW = 0.5  # fraction of these accelerations that a command may need
SPEEDS = ("speed", "m/s"), ("side", "m/s"), ("turn", "rad/s")  # names and units of a command's speeds
LOWERED = 0.97  # × the standing height: bent knees allow longer steps


@dataclass(frozen=True)
class Command:
    """A commanded velocity: forward and left, m/s, and turn, rad/s, in the body's axes."""

    forward: float = 0.0
    left: float = 0.0
    turn: float = 0.0

    @property
    def speeds(self) -> tuple[float, float, float]:
        return self.forward, self.left, self.turn

    @property
    def still(self) -> bool:
        return not any(self.speeds)


@dataclass(frozen=True)
class Gait:
    """Parameters of a gait.

    Attributes:
        rate: ω, 1/s. height: m, of the centre of mass above the ground while walking.
        width: m, between the middles of the soles.
        period: s, from one touchdown to the next. shortest, longest: s, bounds on it when a step must catch the
            body.
        transfer: s, duration of the load transfer between the feet. hurried: s, the same after a push.
        clearance: m, under a swing foot. landing: m/s, speed of descent.
        push_off: (2,) m/s², largest accelerations of a foot, forward and sideways.
        reach: places of the next foot.
    """

    rate: float
    height: float
    width: float
    period: float
    shortest: float
    longest: float
    transfer: float
    hurried: float
    clearance: float
    landing: float
    push_off: Array
    reach: Reach

    @classmethod
    def of(cls, body: Body, places: tuple[Array, Array]) -> Gait:
        """Creates the gait of a body with two feet whose middles are at `places`, (2,) m each."""
        rate, height = body.gains.rate, LOWERED * body.height
        width = abs(float(places[0][1] - places[1][1]))
        period = max(1.9 / rate, TURNING / slowest_joint(body))
        return cls(
            rate=rate, height=height, width=width, period=period, shortest=0.43 / rate, longest=period + 1.3 / rate,
            transfer=0.2 / rate, hurried=0.05 / rate, clearance=0.075 * height, landing=0.05 * body.gains.speed,
            push_off=_push_off(body), reach=reach_of(body, width, height),
        )  # fmt: skip

    def towards(self, now: Command, asked: Command, dt: float) -> Command:
        """Returns the command after dt on the ramp to what is asked. Speeds change no faster than a few steps can
        follow and stay within the largest walkable ones.
        """
        speed, allowed = self.rate * self.height, self.cut(asked)
        haste = dt * HASTE * self.rate * (1 - STEADY * min(abs(now.forward) / (FASTEST * speed), 1.0))
        most = haste * speed, haste * speed, haste * self.rate
        pairs = zip(now.speeds, allowed.speeds, most, strict=True)
        new = [a if abs(a - x) <= m else x + m * (1 if a > x else -1) for x, a, m in pairs]
        return Command(new[0], new[1], new[2])

    @cached_property
    def largest(self) -> Command:
        """The largest walkable speeds, each with the others at zero."""
        return Command(self.fastest, ASIDE * self.rate * self.height, SPUN * self.rate)

    def cut(self, asked: Command) -> Command:
        """Returns the command with its speeds limited to the largest ones."""
        ends = zip(asked.speeds, self.largest.speeds, strict=True)
        return Command(*(min(max(x, -most), most) for x, most in ends))

    def cuts(self, asked: Command, robot: str) -> list[str]:
        """Returns a message for each speed of a command that exceeds its limit."""
        return [
            f"commanded {name} {x:g} {unit} exceeds the limit {most:.3g} {unit} of {robot}; using {used:.3g}"
            for (name, unit), x, used, most in zip(
                SPEEDS, asked.speeds, self.cut(asked).speeds, self.largest.speeds, strict=True
            )
            if used != x
        ]

    @cached_property
    def fastest(self) -> float:
        """Largest forward speed, m/s: the reach at the shortest period, and what a swing foot can follow, which travels
        two steps in the time of one; at most the fastest speed that was tested.
        """
        T, seen = QUICKEST * self.period, FASTEST * self.rate * self.height
        follow = FOLLOW * float(self.push_off[0]) * (T - self.transfer) ** 2 / (2 * QUINTIC * T)
        return min(seen, STRIDE * self.reach.ahead / T, follow) if self.width else seen

    def drop(self, command: Command) -> float:
        """Returns how much lower (m) the centre of mass is for longer steps: the mean drop of the hip of a straight
        leg, x² / (2 h) for x from −s/2 to s/2.
        """
        return (float(np.hypot(command.forward, command.left)) * self.period) ** 2 / (24 * self.height)

    def period_of(self, command: Command) -> float:
        """Returns the time between touchdowns, s; shorter where the command would otherwise need the longest steps."""
        room = STRIDE * self.reach.ahead, STRIDE * (self.reach.widest - self.width) / 2
        speeds = abs(command.forward), abs(command.left)
        times = [far / speed for far, speed in zip(room, speeds, strict=True) if speed > 0]
        return max(min([self.period, *times]), QUICKEST * self.period)


@dataclass(frozen=True)
class Place:
    """Pose of a sole on the ground: x, y (m) and yaw (rad) in the world."""

    x: float
    y: float
    yaw: float

    @cached_property
    def xy(self) -> Array:
        return read_only([self.x, self.y])

    @cached_property
    def R(self) -> Array:
        """Rotation (2, 2) from the axes of the place to the world's."""
        c, s = cos(self.yaw), sin(self.yaw)
        return read_only([[c, -s], [s, c]])

    def at(self, x: float, y: float, turn: float) -> Place:
        """Returns the place at (x, y) in the axes of this one, turned by `turn`."""
        c, s = cos(self.yaw), sin(self.yaw)
        return Place(self.x + c * x - s * y, self.y + s * x + c * y, self.yaw + turn)


def slowest_joint(body: Body) -> float:
    """Returns the lowest velocity limit (rad/s) of the legs' joints, except those that only turn feet about the
    vertical.
    """
    robot, found = body.robot, list[float]()
    for role, part in body.feet.items():
        axes = robot.jacobian(body.standing, body.frames[role])[3:]
        for joint in (robot.joints[name] for name in part.joints):
            if joint.type.nv > 1 or abs(float(axes[2, joint.v.start])) < UPRIGHT:
                found.append(float(robot.limits.velocity[joint.v].min()))
    return min([rate for rate in found if rate > 0], default=np.inf)


def _push_off(body: Body) -> Array:
    """Returns the largest accelerations (2,) m/s² of a foot, forward and sideways, by its leg in the standing posture
    with the trunk at rest.

    Joint accelerations follow from the foot's alone, q̈ = J⁻¹ a, and torques from M q̈ + g. Part of the motor torque
    is left for the trunk and for feedback.
    """
    robot, q = body.robot, body.standing
    M, g, most = robot.mass_matrix(q), robot.gravity(q), np.asarray(robot.limits.effort)
    found = np.full((len(body.feet), 2), QUICK_FOOT * body.gains.rate**2 * body.height / SWING)
    for row, (role, part) in zip(found, body.feet.items(), strict=True):
        leg = [robot.joints[name].v.start for name in part.joints]
        J = robot.jacobian(q, body.frames[role])[:, leg]
        left = np.where(most[leg] > 0, most[leg] - np.abs(g[leg]), np.inf)
        for k in (0, 1):
            torque = np.abs(M[np.ix_(leg, leg)] @ np.linalg.lstsq(J, np.eye(6)[k], rcond=None)[0])
            row[k] = min(row[k], float(np.min(left / np.maximum(torque, 1e-9))))
    return SWING * found.min(axis=0)


def next_place(stance: Place, swing: int, command: Command, gait: Gait, heading: float, seconds: float) -> Place:
    """Returns where the swing foot (0 left, 1 right) goes from a stance foot under the command, in the time between two
    touchdowns.

    The midpoint between the feet moves with the command. In a sideways walk, the foot on the leading side moves
    twice as far, and the other foot only closes to the standing distance, so feet never come nearer than they stand.
    Without a width, as for pairs of diagonal legs, each foot moves as far as the command does.

    Args:
        heading: rad, of the walk at the touchdown of the stance foot.
        seconds: from that touchdown to the next.
    """
    side = 1.0 if swing == 0 else -1.0
    turn = command.turn * seconds
    outwards = 2.0 if side * command.left > 0 else 0.0
    aside = command.left * seconds * (outwards if gait.width else 1.0)
    half, ahead, end = side * gait.width / 2, command.forward * seconds, heading + turn
    c, s = cos(heading + turn / 2), sin(heading + turn / 2)
    x, y = stance.x - half * sin(heading), stance.y + half * cos(heading)  # the midpoint between the feet
    x, y = x + c * ahead - s * aside, y + s * ahead + c * aside
    return Place(x - half * sin(end), y + half * cos(end), end)
