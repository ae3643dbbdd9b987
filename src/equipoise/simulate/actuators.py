"""Actuator models: lag, limits of torque rate, speed and power, friction, rotor inertia, and joint-level PD loops."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from math import inf, pi
from typing import TYPE_CHECKING, Any

import numpy as np

from ..control.constraints import TorqueLimits
from ..control.item import Setting
from ..errors import StateError, unknown_name
from ..model.placeholders import effort_share
from ..model.tree import tree_of

if TYPE_CHECKING:
    from ..robot import Robot
    from .plant import PlantState

Array = np.ndarray
Numbers = float | Mapping[str, float]
STICK = 1e-3  # rad or m, deflection at which Coulomb friction reaches its full value
FASTEST = 500.0  # rad/s, upper bound of the bandwidth of a drive's PD loop
BOUNDS = ("bandwidth", "torque_rate", "power", "no_load_speed")


@dataclass(frozen=True, eq=False)
class Actuators:
    """The motors of a robot. Every field is one number for all joints, or a mapping joint → number.

    Joints missing in a mapping have the field's default.

    Attributes:
        bandwidth: of the torque, Hz; a first-order lag.
        torque_rate: largest rate of change of the torque, N m/s.
        power: largest mechanical power that a joint delivers or absorbs, W.
        no_load_speed: speed at which no driving torque is left, rad/s; the limit falls linearly from `corner_speed`.
        corner_speed: speed up to which the full torque (the effort limit) is available, rad/s.
        coulomb: Coulomb friction, N m; it holds a joint at rest.
        viscous: viscous friction, N m s/rad.
        reflected_inertia: rotor inertia reflected to the joint, kg m², in addition to the description's armature.
        kp: stiffness of the drives' PD loops, N m/rad. Used if a controller's result has joint targets `position` (nq −
            7,)
            and optionally `velocity` (nv − 6,) but no gains; its `torque` is added as feed-forward.
        kd: damping of the drives' PD loops, N m s/rad.

    Examples:
        >>> import equipoise as eq
        >>> standing = eq.Standing(eq.load("quadruped"))
        >>> motors = eq.Actuators(bandwidth=60.0, coulomb={"front_left_knee": 0.5})
        >>> run = eq.simulate(standing.robot, standing, q0=standing.q0, duration=0.1, actuators=motors)
        >>> run.outcome
        'completed'
    """

    bandwidth: Numbers = inf
    torque_rate: Numbers = inf
    power: Numbers = inf
    no_load_speed: Numbers = inf
    corner_speed: Numbers = 0.0
    coulomb: Numbers = 0.0
    viscous: Numbers = 0.0
    reflected_inertia: Numbers = 0.0
    kp: Numbers = 0.0
    kd: Numbers = 0.0

    def __post_init__(self) -> None:
        for f in fields(self):
            given = getattr(self, f.name)
            values = list(given.values()) if isinstance(given, Mapping) else [given]
            for value in values:
                if not value >= 0 or (f.name not in BOUNDS and value == inf) or (f.name in BOUNDS and value == 0):
                    raise StateError(f"Actuators.{f.name} holds numbers from 0 on (bounds above 0), got {value!r}")

    @classmethod
    def realistic(cls, robot: Robot) -> Actuators:
        """Returns assumed motors of a good robot.

        Torque bandwidth 60 Hz; the description's speed limits as no-load speeds, full torque up to half of them;
        Coulomb
        friction of 1 % of the effort limit (none for placeholder limits); rotor inertia of 5 % of the inertia moved
        at rest."""
        effort, speed = _joint_limits(robot)
        names = _joints(robot)
        inertia = _seen_inertia(robot, robot.standing())
        return cls(
            bandwidth=60.0,
            no_load_speed={n: float(x) for n, x in zip(names, speed, strict=True) if np.isfinite(x)},
            corner_speed={n: float(x) / 2 for n, x in zip(names, speed, strict=True) if np.isfinite(x)},
            coulomb=dict(zip(names, effort_share(0.01, effort).tolist(), strict=True)),
            reflected_inertia={n: float(max(0.05 * x, 1e-3)) for n, x in zip(names, inertia, strict=True)},
        )

    def array(self, robot: Robot, name: str) -> Array:
        """Returns a field as an array over the joint rates, (nv − base,)."""
        given, names = getattr(self, name), _joints(robot)
        default = next(f.default for f in fields(self) if f.name == name)
        if not isinstance(given, Mapping):
            return np.full(len(names), float(given))
        for joint in given:
            if joint not in names:
                raise unknown_name("joint", joint, dict.fromkeys(names))
        return np.array([float(given.get(joint, default)) for joint in names])

    def torque_limits(self, robot: Robot, scale: Setting = 1.0) -> TorqueLimits:
        """Returns the speed-dependent torque limits of these motors, as a constraint for a controller.

        Args:
            robot: robot with these motors.
            scale: factor on the limits.
        """
        motors = robot.actuated[6 if robot.floating else 0 :]
        top, corner, power = (self.array(robot, name)[motors] for name in ("no_load_speed", "corner_speed", "power"))
        return TorqueLimits(no_load_speed=top, corner_speed=np.minimum(corner, 0.999 * top), power=power, scale=scale)

    def drive_gains(self, robot: Robot) -> tuple[Array, Array]:
        """Returns gains (kp, kd) that these drives can realise on this robot, (nv − base,), for
        `eq.control.JointCommander`.

        kd is 6 % of the effort limit per rad/s (unless the limit is a placeholder), but at most a third of the torque
        bandwidth times the inertia that a motor moves when all other joints are free; kp is 50 kd.
        """
        share = effort_share(0.06, _joint_limits(robot)[0])
        inertia = _seen_inertia(self.loaded(robot), robot.standing())
        fastest = np.minimum(2 * pi * self.array(robot, "bandwidth"), FASTEST) / 3
        kd = np.minimum(np.where(share > 0, share, inf), fastest * inertia)
        return 50 * kd, kd

    def loaded(self, robot: Robot) -> Robot:
        """Returns the robot with the rotor inertias added to its armature; the robot itself if they are zero."""
        extra = self.array(robot, "reflected_inertia")
        if not extra.any():
            return robot
        from ..robot import Robot

        named = dict(zip(_joints(robot), extra, strict=True))
        own = robot.model.armature

        def heavier(joint: Any) -> Any:
            if joint.name not in named:
                return joint
            before = joint.dynamics.armature if own else 0.0
            return replace(joint, dynamics=replace(joint.dynamics, armature=before + named[joint.name]))

        joints = {name: heavier(joint) for name, joint in robot.model.joints.items()}
        model = replace(robot.model, joints=joints, armature=True)
        return Robot(model, tree_of(model))


def _joints(robot: Robot) -> list[str]:
    """Returns the joint name of each velocity coordinate, without the base."""
    names = [""] * robot.nv
    for name, joint in robot.joints.items():
        if joint.mimic is None:
            for i in range(joint.v.start, joint.v.stop):
                names[i] = name
    return names[6 if robot.floating else 0 :]


def _joint_limits(robot: Robot) -> tuple[Array, Array]:
    base = 6 if robot.floating else 0
    return np.asarray(robot.limits.effort)[base:], np.asarray(robot.limits.velocity)[base:]


def _seen_inertia(robot: Robot, q: Array) -> Array:
    """Returns the inertia that each motor moves when all other joints are free, 1 / (M⁻¹)_ii, (nv − base,)."""
    base = 6 if robot.floating else 0
    return 1 / np.diag(np.linalg.inv(robot.mass_matrix(q)))[base:]


class ActuatorBank:
    """State of the actuators of one robot during one run."""

    def __init__(self, robot: Robot, actuators: Actuators, q: Array, dt: float) -> None:
        self.robot, self.base = robot, 6 if robot.floating else 0
        part = {f.name: actuators.array(robot, f.name) for f in fields(actuators)}
        self.part, self.dt = part, dt
        self.effort, _ = _joint_limits(robot)
        inertia = _seen_inertia(actuators.loaded(robot), q)
        with np.errstate(divide="ignore"):
            lag = np.where(np.isinf(part["bandwidth"]), 0.0, 1 / (2 * pi * part["bandwidth"]))
        self.keep = np.exp(-np.divide(dt, lag, out=np.full(lag.shape, inf), where=lag > 0))
        # stiffness and damping of friction are limited to what explicit steps of dt keep stable
        self.bristle = np.minimum(part["coulomb"] / STICK, 0.1 * inertia / dt**2)
        self.bristle_damping = np.minimum(np.sqrt(self.bristle * inertia), 0.5 * inertia / dt)
        self.viscous = np.minimum(part["viscous"], 0.5 * inertia / dt)
        self.bent = np.zeros(len(inertia))
        self.torque: Array | None = None

    def __call__(self, wanted: Array, state: PlantState) -> Array:
        """Returns the generalised force on the robot for the step from `state` on, (nv,), given the commanded one
        (nv,)."""
        rates = state.v[self.base :]
        asked = wanted[self.base :]
        most = self._most(rates)
        asked = np.clip(asked, -most[0], most[1])
        if self.torque is None:
            self.torque = asked
        step = (1 - self.keep) * (asked - self.torque)
        reach = self.part["torque_rate"] * self.dt
        self.torque = np.clip(self.torque + np.clip(step, -reach, reach), -most[0], most[1])
        result = wanted.copy()
        result[self.base :] = self.torque - self._friction(rates)
        return result

    def _most(self, rates: Array) -> tuple[Array, Array]:
        """Returns the torque limits (down, up) at these speeds: full when braking, reduced when driving, limited by
        power."""
        top, corner = self.part["no_load_speed"], np.minimum(self.part["corner_speed"], self.part["no_load_speed"])
        with np.errstate(divide="ignore", invalid="ignore"):
            left = np.where(np.isinf(top), 1.0, np.clip((top - np.abs(rates)) / (top - corner), 0.0, 1.0))
            driving = np.where(left >= 1.0, self.effort, self.effort * left)
            braking = self.effort
            by_power = np.where(rates == 0, inf, self.part["power"] / np.abs(rates))
        down, up = np.where(rates < 0, driving, braking), np.where(rates > 0, driving, braking)
        return np.minimum(down, by_power), np.minimum(up, by_power)

    def _friction(self, rates: Array) -> Array:
        """Returns Coulomb friction by bristles that bend and then slide (Dahl model), plus viscous friction."""
        coulomb = self.part["coulomb"]
        bend = np.divide(coulomb, self.bristle, out=np.zeros_like(coulomb), where=self.bristle > 0)
        self.bent = np.clip(self.bent + rates * self.dt, -bend, bend)
        return (
            np.clip(self.bristle * self.bent + self.bristle_damping * rates, -coulomb, coulomb) + self.viscous * rates
        )
