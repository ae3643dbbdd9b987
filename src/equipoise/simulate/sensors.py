"""What a robot knows of itself: an IMU, encoders, torques, forces at the feet; each with its rate, delay and errors."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from math import inf, radians, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ShapeError, StateError, unknown_name
from ..estimation.noise import FilterNoise
from ..model.placeholders import effort_share
from .contacts import ContactInfo

if TYPE_CHECKING:
    from ..robot import Robot
    from .plant import PlantState

Array = np.ndarray
G = 9.80665
LARGEST = 1e6  # rad/s, m/s²; the range of a sensor without end


class _Checked:
    """Parts of `Sensors`: every number finite or a bound, none negative."""

    def __post_init__(self) -> None:
        for f in fields(self):  # type: ignore[arg-type]
            value = getattr(self, f.name)
            if isinstance(value, str) or value is None:
                continue
            if not value >= 0 or (f.name == "rate" and value == 0):
                raise StateError(f"{type(self).__name__}.{f.name} is a number from 0 on, got {value!r}")


@dataclass(frozen=True)
class Imu(_Checked):
    """Gyroscope and accelerometer in one place.

    Attributes:
        frame: where it sits; that of the estimator, or `imu_frame(robot)`, if not given.
        gyroscope_noise: rad/s/√Hz.
        gyroscope_walk: of its bias, rad/s²/√Hz.
        gyroscope_bias: at the start, rad/s (deviation).
        accelerometer_noise: m/s²/√Hz.
        accelerometer_walk: m/s³/√Hz.
        accelerometer_bias: m/s².
        gyroscope_range: rad/s.
        accelerometer_range: m/s².
        rate: Hz, every step if not given; a sample is the mean since the last one.
        delay: s.
    """

    frame: str | None = None
    gyroscope_noise: float = 0.0
    gyroscope_walk: float = 0.0
    gyroscope_bias: float = 0.0
    accelerometer_noise: float = 0.0
    accelerometer_walk: float = 0.0
    accelerometer_bias: float = 0.0
    gyroscope_range: float = inf
    accelerometer_range: float = inf
    rate: float | None = None
    delay: float = 0.0


@dataclass(frozen=True)
class Encoders(_Checked):
    """Positions and rates of the joints.

    Attributes:
        noise: rad or m.
        resolution: of positions.
        rate_noise: rad/s or m/s.
        rate: Hz, every step if not given.
        delay: s.
    """

    noise: float = 0.0
    resolution: float = 0.0
    rate_noise: float = 0.0
    rate: float | None = None
    delay: float = 0.0


@dataclass(frozen=True)
class JointTorques(_Checked):
    """Torques at the joints.

    Attributes:
        noise: N m or N.
        relative: part of each joint's effort limit that its noise is besides, if the limit is no placeholder.
        rate: Hz, every step if not given.
        delay: s.
    """

    noise: float = 0.0
    relative: float = 0.0
    rate: float | None = None
    delay: float = 0.0


@dataclass(frozen=True)
class FootForces(_Checked):
    """Wrenches between the contacts and the robot, in the axes of their frames.

    Attributes:
        force_noise: N.
        torque_noise: N m.
        rate: Hz, every step if not given.
        delay: s.
    """

    force_noise: float = 0.0
    torque_noise: float = 0.0
    rate: float | None = None
    delay: float = 0.0


@dataclass(frozen=True)
class Sensors:
    """The sensors of a robot; without arguments they are without errors. Parts may be dictionaries of their fields.

    Args:
        imu: gyroscope and accelerometer.
        encoders: of the joints.
        torques: at the joints, None for none.
        forces: at the contacts, None for none.

    Examples:
        >>> import equipoise as eq
        >>> sensors = eq.Sensors.realistic(forces=True)
        >>> sensors.imu is not None and sensors.forces is not None
        True
        >>> sensors.filter_noise().gyroscope > 0  # what an estimator should assume
        True
    """

    imu: Imu = field(default_factory=Imu)
    encoders: Encoders = field(default_factory=Encoders)
    torques: JointTorques | None = field(default_factory=JointTorques)
    forces: FootForces | None = None

    def __post_init__(self) -> None:
        for name, kind in (("imu", Imu), ("encoders", Encoders), ("torques", JointTorques), ("forces", FootForces)):
            object.__setattr__(self, name, _part(name, kind, getattr(self, name)))

    @classmethod
    def realistic(cls, *, forces: bool = False) -> Sensors:
        """A good robot's sensors.

        IMU: noise and walks of the ADIS16448 as the EuRoC data set gives them (Burri et al., IJRR 35(10), 2016), its
        ranges from the data sheet (±1000 °/s, ±18 g), biases at the start as [HGEG20] draws them. Encoders: 14 bits and
        0.06° RMS (ams AS5048 data sheet) on the motor's side of a gear of 10, the rate by differences over 10 ms.
        Torques and forces: half a percent of the limit, 1 N and 0.05 N m; these and the delay of one millisecond of a
        field bus are assumed.

        Args:
            forces: whether the feet measure.
        """
        imu = Imu(None, 1.6968e-4, 1.9393e-5, 5e-3, 2.0e-3, 3.0e-3, 5e-2, radians(1000), 18 * G, 1000.0, 1e-3)
        encoders = Encoders(
            radians(0.06) / 10, 2 * np.pi / 2**14 / 10, sqrt(2) * radians(0.06) / 10 / 0.01, 1000.0, 1e-3
        )
        feet = FootForces(1.0, 0.05, 1000.0, 1e-3) if forces else None
        return cls(imu, encoders, JointTorques(0.0, 0.005, 1000.0, 1e-3), feet)

    def filter_noise(
        self,
        contact: float = 1e-5,
        kinematics: float = 0.0,
        creep: float = 3.5e-4,
        rocking: float = 0.3,
        unsettled: float = 1e-3,
        turning: float = 5e-5,
    ) -> FilterNoise:
        """What an estimator should take these errors for, on hard ground.

        Args:
            contact: how soles creep while the robot rests, m/s/√Hz.
            kinematics: m.
            creep: of the IMU's speed, how they creep besides, 1/√Hz.
            rocking: likewise of the speed of their corners when they tilt.
            unsettled: how they creep just after a touch, a lift or a shock, m/s/√Hz.
            turning: how soles turn, rad/s/√Hz.
        """
        i, e = self.imu, self.encoders
        encoder = sqrt(e.noise**2 + e.resolution**2 / 12)
        least = 1e-5  # no filter trusts anything without end
        return FilterNoise(
            max(i.gyroscope_noise, least), i.gyroscope_walk, max(i.accelerometer_noise, least), i.accelerometer_walk,
            contact, max(encoder, least), kinematics, creep, rocking, unsettled, turning,
            min(i.gyroscope_range, LARGEST), min(i.accelerometer_range, LARGEST),
        )  # fmt: skip


def _part(name: str, kind: Any, given: Any) -> Any:
    if isinstance(given, kind) or (given is None and name in ("torques", "forces")):
        return given
    names = [f.name for f in fields(kind)]
    if not isinstance(given, Mapping):
        raise ShapeError(
            f"Sensors.{name} is a {kind.__name__} or a dictionary of its fields ({', '.join(names)}), got {given!r}"
        )
    for key in given:
        if key not in names:
            raise unknown_name(f"field of {kind.__name__}", key, names)
    return kind(**given)


def imu_frames(robot: Robot) -> list[str]:
    """Returns the frames (sites, in MJCF) whose name says that an IMU is there, those of the base first."""
    named = [name for name in robot.frames if "imu" in name.lower() and robot.place(name)[0] >= 0]
    return sorted(named, key=lambda name: robot.place(name)[0])  # the base is body 0


def imu_frame(robot: Robot) -> str:
    """Returns the first of these frames, or the base where there is none."""
    return next(iter(imu_frames(robot)), str(robot.base_link))


# --- at work ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Readings:
    """What the sensors say at one time.

    Attributes:
        gyroscope: rad/s, (3,), in the axes of the IMU.
        accelerometer: m/s², (3,), in the axes of the IMU.
        joints: (nq − 7,).
        joint_rates: (nv − 6,).
        torques: (nv − 6,) or None.
        forces: contact → (6,), in the axes of its frame; None without such sensors.
    """

    gyroscope: Array
    accelerometer: Array
    joints: Array
    joint_rates: Array
    torques: Array | None
    forces: Mapping[str, Array] | None


class _Channel:
    """A sensor's clock and the way its samples take."""

    def __init__(self, rate: float | None, delay: float) -> None:
        self.period, self.delay, self.next = 0.0 if rate is None else 1 / rate, delay, -inf
        self.on_the_way: deque[tuple[float, Any]] = deque()
        self.value: Any = None

    def __call__(self, t: float, sample: Callable[[], Any]) -> Any:
        if t >= self.next - 1e-9:
            fresh = sample()
            self.value = fresh if self.value is None else self.value
            self.on_the_way.append((t + self.delay, fresh))
            self.next = t + self.period if self.next == -inf else max(self.next + self.period, t - self.period)
        while self.on_the_way and self.on_the_way[0][0] <= t + 1e-9:
            self.value = self.on_the_way.popleft()[1]
        return self.value


class SensorSuite:
    """The sensors of one robot in one run.

    Args:
        robot: with a floating base.
        sensors: which, and how good.
        frame: of the IMU.
        contacts: of the plant, for the forces.
        rng: of all errors.
    """

    def __init__(
        self, robot: Robot, sensors: Sensors, frame: str, contacts: Mapping[str, ContactInfo], rng: np.random.Generator
    ) -> None:
        self.robot, self.sensors, self.frame, self.contacts, self.rng = robot, sensors, frame, contacts, rng
        self._gravity = np.array(robot.model.gravity)
        parts = (sensors.imu, sensors.encoders, sensors.torques or JointTorques(), sensors.forces or FootForces())
        self._channels = [_Channel(part.rate, part.delay) for part in parts]
        i = sensors.imu
        self.gyroscope_bias = i.gyroscope_bias * rng.standard_normal(3)
        self.accelerometer_bias = i.accelerometer_bias * rng.standard_normal(3)
        relative = 0.0 if sensors.torques is None else sensors.torques.relative
        least = 0.0 if sensors.torques is None else sensors.torques.noise
        self._torque_noise = np.hypot(least, effort_share(relative, robot.limits.effort[6:]))
        self._t: float | None = None
        self._before: tuple[Array, Array] | None = None
        self._sums = np.zeros(7)  # of turn, of force, of time, since the last sample of the IMU
        self._plain = [j for j in robot.joints.values() if j.mimic is None and j.type.nq == 1]
        self._rounded = np.array([j.q.start - 7 for j in self._plain], dtype=int)

    def read(self, t: float, state: PlantState, torque: Array) -> Readings:
        """All sensors at time t, in the state there; `torque` (nv,) is what the motors gave since the last call."""
        self._feel(t, state)
        imu, encoders, torques, forces = self._channels
        turn, force = imu(t, self._imu)
        joints, rates = encoders(t, lambda: self._encoders(state))
        felt = None if self.sensors.torques is None else torques(t, lambda: self._torques(torque))
        feet = None if self.sensors.forces is None else forces(t, lambda: self._forces(state))
        return Readings(turn, force, joints, rates, felt, feet)

    def _feel(self, t: float, state: PlantState) -> None:
        """The IMU's own motion since the last call: mean turn rate and specific force, in its axes at half time."""
        R = self.robot.pose(state.q, self.frame)[:3, :3]
        V = self.robot.velocity(state.q, state.v, self.frame)
        if self._before is None or self._t is None:
            self._sums = np.concatenate([R.T @ V[3:], -R.T @ self._gravity, [1.0]])
        else:
            dt, (R0, V0) = t - self._t, self._before
            middle = (R + R0) / 2  # a rotation but for the square of half the angle
            turn = middle.T @ (V[3:] + V0[3:]) / 2
            force = middle.T @ ((V[:3] - V0[:3]) / dt - self._gravity)
            if self._taken:
                self._sums[:] = 0.0
            self._sums += np.concatenate([turn, force, [1.0]]) * dt
        self._taken, self._t, self._before = False, t, (R, V)

    _taken = False

    def _imu(self) -> tuple[Array, Array]:
        """A sample: the mean since the last, bias, noise, and the ends of the range."""
        i, seconds = self.sensors.imu, self._sums[6]
        period = self._channels[0].period or (seconds if seconds < 1 else 1e-3)
        draws = self.rng.standard_normal((4, 3))
        self.gyroscope_bias = self.gyroscope_bias + i.gyroscope_walk * sqrt(period) * draws[0]
        self.accelerometer_bias = self.accelerometer_bias + i.accelerometer_walk * sqrt(period) * draws[1]
        turn = self._sums[:3] / seconds + self.gyroscope_bias + i.gyroscope_noise / sqrt(period) * draws[2]
        force = self._sums[3:6] / seconds + self.accelerometer_bias + i.accelerometer_noise / sqrt(period) * draws[3]
        self._taken = True
        reach = (i.gyroscope_range, i.accelerometer_range)
        return np.clip(turn, -reach[0], reach[0]), np.clip(force, -reach[1], reach[1])

    def _encoders(self, state: PlantState) -> tuple[Array, Array]:
        e = self.sensors.encoders
        joints, rates = state.q[7:].copy(), state.v[6:] + e.rate_noise * self.rng.standard_normal(self.robot.nv - 6)
        single = joints[self._rounded] + e.noise * self.rng.standard_normal(len(self._rounded))
        joints[self._rounded] = np.round(single / e.resolution) * e.resolution if e.resolution else single
        return joints, rates

    def _torques(self, torque: Array) -> Array:
        return torque[6:] + self._torque_noise * self.rng.standard_normal(self.robot.nv - 6)

    def _forces(self, state: PlantState) -> dict[str, Array]:
        f = self.sensors.forces
        scale = np.repeat([0.0, 0.0] if f is None else [f.force_noise, f.torque_noise], 3)
        readings = {}
        for name, wrench in state.wrenches.items():
            R = self.robot.pose(state.q, self.contacts[name].frame)[:3, :3]
            readings[name] = np.concatenate([R.T @ wrench[:3], R.T @ wrench[3:]]) + scale * self.rng.standard_normal(6)
        return readings
