"""The whole-body controller of a walker: both feet, and tasks that are switched on and off by their weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from math import atan
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..algebra.rigid import rotation_about, rotation_from_rpy
from ..body.body import Body
from ..control.constraints import Constraint, JointLimits, TorqueLimits
from ..control.contacts import Contact, FlatContact
from ..control.controller.context import Context
from ..control.controller.controller import ControllerState, WholeBodyController
from ..control.controller.solution import Solution
from ..control.item import Numbers
from ..control.tasks import CoMTask, FrameTask, MomentumTask, PostureTask
from .arms_apart import arms_apart
from .legs_apart import ANY_DISTANCE, FEET_APART, SAFE, legs_apart
from .sole import ANYWHERE, PressureWithin

Array = np.ndarray
COM, POSTURE, SPIN = "centre of mass", "posture", "momentum"
UPRIGHT = ("torso", "pelvis")  # parts that stay upright
LEANS = {"torso": 1.0, "pelvis": 0.8}  # × the commanded lean
EDGE = 0.05  # fraction of a sole's width: margin between the centre of pressure and the edges
WEIGHTS = {
    "com": 20.0,
    "trunk": 0.3,
    "foot": 2.0,
}  # the centre of mass has priority: a trunk can recover from leaning, but not from a fall
# Posture of arms, waist and head: weight relative to the legs' and gain (ω). Loose arms compensate the yaw moment of
# quick legs. After a push they are stiffer, because loose arms would swing to their limits at once and be of no use
# afterwards.
LOOSE = (10.0, 2.0)
BRACED = (20.0, 3.0)
PRESSURE = "pressure"
LIMIT = "joint limit"
FAR = 1e6  # value of a bound that is never active
UNDER = 0.5  # × half a sole: largest offset of the ankle from its middle that is used
MIDDLE = 0.1  # × half a sole: half size of the part that is trusted after touchdown
EDGEWISE = 0.7  # × half a sole: largest offset from the middle at which a small trusted part may be centred
ALONG = 0.7  # cosine of the angle between a joint's axis and the length of a sole; the sole rolls about such a joint
STIFF = 100.0  # 1/s²; stiffness against slip of soles
INSIDE = 0.02  # rad; margin to joint limits
FOLLOWING = 8.0  # ω; gain with which a foot tracks its swing reference
# Deceleration that joint limits assume. A larger one would need sudden forces of the rest of the body: stopping a knee
# like that threw the robot up.
BRAKES = 0.5  # × the acceleration of a joint by its own motor
SLOWEST = 120.0  # rad/s²; lower limit
QUICK = 1000.0  # rad/s²; upper limit


class Held(NamedTuple):
    """State of a whole body between two calls."""

    targets: list[Array]
    most: tuple[float, ...]  # normal force limit of each foot, N
    controller: ControllerState


class WholeBody:
    """Tasks, contacts and constraints of a walker; only parameter values change from step to step.

    Args:
        body: a body with two flat feet. dt: s, control period. friction: coefficient of the ground. constraints:
            additional ones.

    Attributes:
        feet: roles, left first. steppers: names of what steps alternately, here the feet.
        com: (9,) target of the centre of mass: position, velocity and acceleration.
        trunk: (28,) pose, twist and acceleration of torso and pelvis. swing: the same of each foot.
        most: N, largest normal force of each foot.
        trusted: (4,) m, smallest x and y, largest x and y of the centre of pressure of each sole.
        rolls: rad, largest sideways tilt of each sole.
    """

    weights: ClassVar[Mapping[str, float]] = WEIGHTS
    parts_upright: ClassVar[tuple[str, ...]] = UPRIGHT
    swing_axes: ClassVar[str] = "pose"
    rolls: tuple[float, ...] = (np.inf, np.inf)

    def __init__(self, body: Body, dt: float, friction: float, constraints: Sequence[Constraint] = ()) -> None:
        self.body, self.robot = body, body.robot
        self.feet = self._ordered(body)
        self.steppers: tuple[str, ...] = self.feet
        self.upright = tuple(part for part in self.parts_upright if part in body.frames)
        self.com, self.swing = np.zeros(9), [np.zeros(28) for _ in self.feet]
        self.trunk = {part: np.zeros(28) for part in self.upright}
        self.weight = self.robot.mass * float(np.linalg.norm(self.robot.model.gravity))
        self.most = [np.inf] * len(self.feet)
        g = body.gains
        contacts = [self._contact(role, friction) for role in self.feet]
        self._apart = self._limbs_apart(dt)
        constraints = [*constraints, *self._soles(), *self._apart]
        self._legs, self._ends, speeds = self._ranges()
        limits = [TorqueLimits(), JointLimits(acceleration=self._brakes(), velocity=speeds, most=QUICK, name=LIMIT)]
        self.controller = WholeBodyController(
            self.robot,
            self._tasks(),
            contacts,
            [*limits, *constraints],
            dt=dt,
            force_weight=g.force_weight,
            slip_limit=10.0,
        )

    def _ranges(self) -> tuple[list[Array], tuple[Array, Array], Array]:
        """Returns (indices of each leg's joints among the joint rates, limits of all joints with a margin, velocity
        limits of all joints).

        The gait limits the rates of the legs: a constraint that is met in mid-swing would stop the whole body.
        """
        robot = self.robot
        lower, upper, rates = np.full(robot.nv, -FAR), np.full(robot.nv, FAR), np.zeros(robot.nv, bool)
        for joint in robot.joints.values():
            if joint.mimic is None and joint.type.name != "floating":
                rates[joint.v] = True
                if joint.type.nq == 1 and joint.limits.lower < joint.limits.upper:
                    inside = min(INSIDE, 0.1 * (joint.limits.upper - joint.limits.lower))
                    lower[joint.v], upper[joint.v] = joint.limits.lower + inside, joint.limits.upper - inside
        places = np.cumsum(rates) - 1
        legs = [np.array([places[robot.joints[n].v.start] for n in self.body.feet[role].joints]) for role in self.feet]
        speeds = np.minimum(robot.limits.velocity[rates], FAR)
        speeds[np.concatenate(legs)] = FAR
        return (
            legs,
            (np.clip(lower[rates], -FAR, FAR), np.clip(upper[rates], -FAR, FAR)),
            np.where(speeds > 0, speeds, FAR),
        )

    def _brakes(self) -> Array:
        """Returns the acceleration (rad/s²) of each joint rate by its own motor, τ / M_jj with everything that it
        moves, in the standing posture; the largest allowed value where no effort limit is known.
        """
        robot = self.robot
        inertia = np.diag(robot.mass_matrix(self.body.standing))
        own = np.divide(robot.limits.effort, inertia, out=np.full(robot.nv, np.inf), where=robot.limits.effort > 0)
        return np.clip(BRAKES * own, SLOWEST, QUICK)[Context(robot).joint_rates]

    def _ordered(self, body: Body) -> tuple[str, ...]:
        return tuple(sorted(body.feet, key=lambda role: "right" in role))

    def _contact(self, role: str, friction: float) -> Contact:
        corners = np.array(self.body.feet[role].corners)
        margin = EDGE * float(np.ptp(corners, axis=0).min())
        return FlatContact(self.body.frames[role], name=role, corners=corners, friction=friction, margin=margin)

    def _soles(self) -> list[Constraint]:
        self._ankles = [self._ankle(role) for role in self.feet]
        self.rolls = tuple(self._roll(role) for role in self.feet)
        self.trusted = [np.array(ANYWHERE) for _ in self.feet]
        return [PressureWithin(role, name=f"{role} {PRESSURE}") for role in self.feet]

    def _limbs_apart(self, dt: float) -> list[Constraint]:
        return [*legs_apart(self.body, self.feet, dt), *arms_apart(self.body, dt)]

    def _tasks(self) -> list[Any]:
        g, frames, upright = self.body.gains, self.body.frames, self.weights["trunk"] * self.body.gains.torso_weight
        rows = 3 if self.swing_axes == "position" else 6
        self._swing_weight = self.weights["foot"] * np.array([1.0, 1.0, 3.0, *3 * [0.3 * g.length**2]])[:rows]
        weight, gain = self._posture(LOOSE)
        return [
            CoMTask(name=COM, gain=np.array([0.0, 0.0, g.com]), weight=self.weights["com"]),
            *(
                FrameTask(frames[part], name=part, axes="orientation", weight=upright, gain=g.torso)
                for part in self.upright
            ),
            PostureTask(name=POSTURE, weight=weight, gain=gain),
            MomentumTask(name=SPIN, weight=g.spin_weight, gain=g.rate),
            *(
                FrameTask(frames[role], name=f"{role} swing", axes=self.swing_axes, weight=0.0, gain=FOLLOWING * g.rate)
                for role in self.feet
            ),
        ]

    def _posture(self, arms: tuple[float, float]) -> tuple[Array, Array]:
        """Returns weight and gain of the posture task of each motor; joints outside the legs get the given values. Arms
        keep their posture more firmly than legs, and stay off the thighs.
        """
        g, motors = self.body.gains, Context(self.robot).motors
        own = [self.robot.joints[name].v.start for role in self.feet for name in self.body.feet[role].joints]
        legs, (weight, gain) = np.isin(motors, own), arms
        return g.posture_weight * np.where(legs, 1.0, weight), np.where(legs, g.posture, gain * g.rate)

    def brace(self, pushed: bool) -> None:
        """Sets arms, waist and head stiff as after a push, or normal."""
        weight, gain = self._posture(BRACED if pushed else LOOSE)
        self.controller.set(POSTURE, weight=weight, gain=gain)

    def reset(self, q0: Array) -> None:
        """Resets controller, targets and contacts before the first call."""
        c = self.controller
        c.reset()
        self._home = {part: self.robot.pose(q0, self.body.frames[part])[:3, :3] for part in self.upright}
        c.set_target(POSTURE, q0)
        c.set_target(COM, Reading(self.com))
        self.stiffen(1.0)
        self.calm(1.0)
        self.brace(False)
        for part in self.upright:
            c.set_target(part, Reading(self.trunk[part]))
        for k, role in enumerate(self.feet):
            c.set_target(f"{role} swing", Reading(self.swing[k]))
            c.set(role, max_force=partial(self._most, k))
            c.set_weight(f"{role} swing", 0.0)
        for role, numbers in zip(self.feet, self.trusted, strict=False):
            c.set(f"{role} {PRESSURE}", within=Reading(numbers))
        for k in range(len(self.trusted)):
            self.trust(k)
        self.most = [np.inf] * len(self.feet)
        self._free(range(len(self.feet)))

    def soles(self, q: Array) -> tuple[Array, Array]:
        """Returns the poses (4, 4) of what steps alternately, left first."""
        left, right = (self.robot.pose(q, self.body.frames[role]) for role in self.feet)
        return left, right

    def spins(self, q: Array, v: Array) -> tuple[Array, Array]:
        """Returns the angular velocities (3,) rad/s of what steps alternately, left first."""
        left, right = (self.robot.velocity(q, v, self.body.frames[role])[3:] for role in self.feet)
        return left, right

    def _most(self, foot: int, t: float) -> float:
        return self.most[foot]

    def share(self, stance: int, part: float, sudden: bool = False) -> None:
        """Sets the load transfer to a foot: 0 at its touchdown, 1 in single support; immediately where both feet
        carried before.
        """
        self.most[stance] = np.inf if sudden else self.weight * (0.2 + 3.0 * part)
        self.most[1 - stance] = 1.5 * self.weight * (1 - part)

    def _free(self, feet: Sequence[int]) -> None:
        """Removes the joint limits of stance legs from the controller, which could meet them only by stopping the whole
        body; a leg at its limit still carries, on the edge of its sole. In double support the feet are not kept
        apart either, since they cannot move.
        """
        lower, upper = self._ends[0].copy(), self._ends[1].copy()
        for foot in feet:
            at = self._legs[foot]
            lower[at], upper[at] = -FAR, FAR
        self.controller.set(LIMIT, position=(lower, upper))
        if self._apart:
            self.controller.set(FEET_APART, safe=SAFE if len(feet) < 2 else ANY_DISTANCE)

    def lift(self, foot: int) -> None:
        """Starts a swing: the other foot alone carries the robot."""
        self.most[:] = [np.inf, np.inf]
        self._free([1 - foot])
        self.controller.set_contacts([self.feet[1 - foot]])
        self.controller.set_weight(f"{self.feet[foot]} swing", self._swing_weight)

    def doubt(self, foot: int, at: Array | None = None) -> None:
        """Restricts the centre of pressure to a small part of a sole: around a place, (2,) m, or under the ankle, where
        the load turns the foot flat.
        """
        low, high = self._ankles[foot][:2], self._ankles[foot][2:]
        if at is not None:
            half = (high - low) / 2
            # at its very edge a sole cannot carry
            at = np.clip(at, -EDGEWISE / MIDDLE * half, EDGEWISE / MIDDLE * half)
            low, high = at - half, at + half
        self.trusted[foot][:2], self.trusted[foot][2:] = low, high
        self.controller.set(self.feet[foot], stiffness=0.0)

    def trust(self, foot: int) -> None:
        """Allows the centre of pressure anywhere in the sole, and fixes the sole at its present place."""
        self.trusted[foot][:] = ANYWHERE
        self.controller.set(self.feet[foot], stiffness=STIFF, anchor=None)

    def _ankle(self, role: str) -> Array:
        """Returns the small part of a sole under its ankle, (4,) m: smallest and largest x, y."""
        part, q = self.body.feet[role], self.body.standing
        X, size = self.robot.pose(q, self.body.frames[role]), np.abs(np.array(part.corners)).max(axis=0)
        at = (X[:3, :3].T @ (self.robot.pose(q, part.link)[:3, 3] - X[:3, 3]))[:2]
        at = np.clip(at, -UNDER * size, UNDER * size)
        return np.concatenate([at - MIDDLE * size, at + MIDDLE * size])

    def _roll(self, role: str) -> float:
        """Returns the largest sideways tilt (rad) of a sole, by the last joint of its leg that turns about the sole's
        length.
        """
        robot, q, part = self.robot, self.body.standing, self.body.feet[role]
        ahead = robot.pose(q, self.body.frames[role])[:3, 0]
        J = robot.jacobian(q, self.body.frames[role])[3:]
        for joint in (robot.joints[name] for name in reversed(part.joints)):
            if joint.type.nq == 1 and abs(float(ahead @ J[:, joint.v.start])) > ALONG:
                at, limits = float(q[joint.q.start]), joint.limits
                return max(min(limits.upper - at, at - limits.lower), 0.0) if limits.lower < limits.upper else np.inf
        return np.inf

    def land(self, foot: int) -> None:
        """Ends a swing: both feet are contacts."""
        self._free([0, 1])
        self.controller.set_contacts(self.feet)
        self.controller.set_weight(f"{self.feet[foot]} swing", 0.0)

    def set_com(self, height: float, acceleration: Array) -> None:
        """Sets height (m) and horizontal acceleration (m/s²) of the centre of mass."""
        self.com[2::3], self.com[6:8] = (height, 0.0, 0.0), acceleration

    def set_com_path(self, height: Array, acceleration: Array) -> None:
        """Sets the height of the centre of mass with its rates, (3,) m, m/s, m/s², and its horizontal acceleration
        (m/s²).
        """
        self.com[2::3], self.com[6:8] = height, acceleration

    def fly(self) -> None:
        """Starts a flight: no foot is a contact, and both track their swing references."""
        self._free([])
        self.controller.set_contacts([])
        for role in self.feet:
            self.controller.set_weight(f"{role} swing", self._swing_weight)

    def alight(self, feet: Sequence[int]) -> None:
        """Makes exactly these feet contacts."""
        self._free(feet)
        self.controller.set_contacts([self.feet[k] for k in feet])
        for k in feet:
            self.controller.set_weight(f"{self.feet[k]} swing", 0.0)

    def set_heading(self, yaw: float, rate: float, lean: float = 0.0) -> None:
        """Sets torso and pelvis upright, turned by a yaw (rad) from their initial orientation, at a rate (rad/s).

        Args:
            lean: rad, forward lean of the torso; the pelvis leans slightly less.
        """
        for part, numbers in self.trunk.items():
            _set_pose(numbers, rotation_from_rpy(0.0, LEANS[part] * lean, yaw) @ self._home[part])
            numbers[21] = rate

    def stiffen(self, times: float, pelvis: float = 1.0, com: float = 1.0) -> None:
        """Sets the weights of torso, pelvis and centre of mass as multiples of their usual values; `pelvis` is an
        additional factor.
        """
        self.controller.set_weight(COM, com * self.weights["com"])
        usual = self.weights["trunk"] * self.body.gains.torso_weight
        for part in self.upright:
            self.controller.set_weight(part, times * usual * (pelvis if part == "pelvis" else 1.0))

    def calm(self, times: float) -> None:
        """Sets the weight of the angular momentum about the centre of mass as a multiple of its usual value."""
        self.controller.set_weight(SPIN, times * self.body.gains.spin_weight)

    def set_posture(self, q: Array) -> None:
        """Sets the posture, (nq,), for the motion that no other task determines."""
        self.controller.set_target(POSTURE, q)

    def set_swing(self, foot: int, state: Array, slope: Array) -> None:
        """Sets the reference of a swing foot: position, rate, acceleration of x, y, z and yaw, (3, 4); its sole is
        aligned with a slope (2,) of the world.
        """
        numbers = self.swing[foot]
        _set_pose(numbers, tilted(slope) @ rotation_from_rpy(0.0, 0.0, float(state[0, 3])), state[0, :3])
        numbers[16:19], numbers[21] = state[1, :3], state[1, 3]
        numbers[22:25], numbers[27] = state[2, :3], state[2, 3]

    def landing(self, foot: int, goal: Array, slope: Array) -> dict[str, Array]:
        """Returns the planned touchdown pose (4, 4) by frame, for a goal x, y, z and yaw, (4,)."""
        X = np.eye(4)
        X[:3, :3], X[:3, 3] = tilted(slope) @ rotation_from_rpy(0.0, 0.0, float(goal[3])), goal[:3]
        return {self.body.frames[self.feet[foot]]: X}

    def snapshot(self) -> Held:
        """Returns everything that a later `restore` needs to continue from here."""
        return Held([x.copy() for x in self._targets], tuple(self.most), self.controller.snapshot())

    @property
    def _targets(self) -> list[Array]:
        return [self.com, *self.trunk.values(), *self.swing, *self.trusted]

    def restore(self, state: Held) -> None:
        """Continues from a snapshot."""
        for target, copy in zip(self._targets, state.targets, strict=True):
            target[:] = copy
        self.most[:] = state.most
        self.controller.restore(state.controller)

    def __call__(self, t: float, q: Array, v: Array) -> Solution:
        return self.controller(t, q, v)


def tilted(slope: Array) -> Array:
    """Returns the rotation (3, 3) without yaw that turns the vertical to the normal of the ground z = slope · (x,
    y).
    """
    rise = float(np.hypot(*slope))
    if rise < 1e-12:
        return np.eye(3)
    axis = np.array([slope[1], -slope[0], 0.0]) / rise  # ẑ × normal, of unit length
    return rotation_about(axis, atan(rise))


def _set_pose(numbers: Array, R: Array, p: Array | float = 0.0) -> None:
    """Writes a pose into the values of a frame's target: its matrix is the first sixteen, row by row."""
    top = numbers[:12].reshape(3, 4)
    top[:, :3], top[:, 3], numbers[12:16] = R, p, (0.0, 0.0, 0.0, 1.0)


class Reading:
    """A target that reads the present values of an array whenever it is evaluated."""

    def __init__(self, numbers: Array) -> None:
        self.numbers = numbers

    def __call__(self, t: float) -> Numbers:
        return Numbers(self.numbers)
