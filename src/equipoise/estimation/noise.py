"""What a filter takes the errors of sensors, contacts and of its start for."""

from __future__ import annotations

from dataclasses import astuple, dataclass, fields

import numpy as np

from ..algebra.rigid import skew
from ..errors import StateError

Array = np.ndarray
NOISES = (  # fields of `FilterNoise` that one step reads, in their order
    "gyroscope", "gyroscope_bias", "accelerometer", "accelerometer_bias", "contact", "encoder", "kinematics", "creep",
    "rocking", "turning",
)  # fmt: skip
GYROSCOPE, ACCELEROMETER, CONTACT = map(NOISES.index, ("gyroscope", "accelerometer", "contact"))


def _require_finite(given: FilterNoise | Prior) -> None:
    for f in fields(given):
        value = getattr(given, f.name)
        if not 0 <= value < np.inf:
            raise StateError(f"{type(given).__name__}.{f.name} is a finite number from 0 on, got {value!r}")


@dataclass(frozen=True)
class FilterNoise:
    """What the filter takes the errors of its sensors for. IMU and contacts: densities; encoders: of each sample.

    Attributes:
        gyroscope: rad/s/√Hz.
        gyroscope_bias: its walk, rad/s²/√Hz.
        accelerometer: m/s²/√Hz.
        accelerometer_bias: its walk, m/s³/√Hz.
        contact: how a point that is held creeps while the robot rests, m/s/√Hz.
        encoder: rad.
        kinematics: m, of a contact's place as the model has it.
        creep: of the IMU's own speed, how points that are held creep besides, 1/√Hz: load moves between and over soles
            as the robot moves over them, and soles and ground give.
        rocking: of the speed at which the corners of a sole move as it tilts, how its middle creeps, 1/√Hz; contacts
            without points have no corners.
        unsettled: m/s/√Hz in place of `contact` where that is less, while contacts settle: after one was made or lost,
            or a shock shook them. `Estimator.step` knows nothing of the steps before, so there it is not used.
        turning: how a sole that is held turns, rad/s/√Hz; contacts without three points have no sole. It also turns by
            as much as its corners creep and rock.
        gyroscope_range: rad/s; a sample beyond it is wrong.
        accelerometer_range: m/s², likewise.
    """

    gyroscope: float = 0.002
    gyroscope_bias: float = 0.001
    accelerometer: float = 0.04
    accelerometer_bias: float = 0.001
    contact: float = 0.05
    encoder: float = 0.01
    kinematics: float = 0.0
    creep: float = 0.0
    rocking: float = 0.0
    unsettled: float = 0.0
    turning: float = 3e-4
    gyroscope_range: float = 35.0  # 2000 °/s, the largest that is common
    accelerometer_range: float = 320.0  # 32 g, likewise

    def __post_init__(self) -> None:
        _require_finite(self)
        if self.encoder == 0 and self.kinematics == 0:
            raise StateError(
                "FilterNoise: encoder or kinematics must be positive, else a contact would be known exactly"
            )

    @property
    def numbers(self) -> Array:
        """Those of one step, (10,): the fields that `NOISES` names."""
        return np.array([getattr(self, name) for name in NOISES])

    @property
    def unsettled_numbers(self) -> Array:
        """The same while contacts settle: they creep more."""
        numbers = self.numbers
        numbers[CONTACT] = max(self.contact, self.unsettled)
        return numbers


@dataclass(frozen=True)
class Prior:
    """Standard deviations of the initial state that the filter is given.

    Attributes:
        orientation: rad, about each axis of the world.
        velocity: m/s.
        position: m.
        gyroscope_bias: rad/s.
        accelerometer_bias: m/s².
    """

    orientation: float = 0.01
    velocity: float = 0.1
    position: float = 0.01
    gyroscope_bias: float = 0.01
    accelerometer_bias: float = 0.1

    def __post_init__(self) -> None:
        _require_finite(self)

    def covariance(self, v: Array, p: Array, contacts: int, soles: int = 0) -> Array:
        """Of the right-invariant error at velocity v and position p, (n, n): ξ_v = δv + v × φ, ξ_p = δp + p × φ.

        Contacts are as uncertain as the position, and soles as the orientation: a step places them before any is held.
        """
        n = 15 + 3 * contacts + 3 * soles
        T = np.zeros((n, 15))
        T[0:3, 0:3] = T[3:6, 3:6] = np.eye(3)
        T[3:6, 0:3] = skew(v)
        for i in range(1 + contacts):
            T[6 + 3 * i : 9 + 3 * i, 6:9] = np.eye(3)
            T[6 + 3 * i : 9 + 3 * i, 0:3] = skew(p)
        for j in range(3 + contacts, 3 + contacts + soles):
            T[3 * j : 3 * j + 3, 0:3] = np.eye(3)
        T[n - 6 :, 9:] = np.eye(6)
        scales = np.repeat(astuple(self), 3)
        return (T * scales**2) @ T.T
