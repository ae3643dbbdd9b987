"""Noise parameters of the filter: sensors, contacts and initial state."""

from __future__ import annotations

from dataclasses import astuple, dataclass, fields

import numpy as np

from ..algebra.rigid import skew
from ..errors import StateError

Array = np.ndarray
NOISES = (  # fields of `FilterNoise` that one step reads, in the order of its array
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
    """Standard deviations of the noise: densities for IMU and contacts, values per sample for encoders.

    Attributes:
        gyroscope: white noise, rad/s/√Hz.
        gyroscope_bias: random walk of the bias, rad/s²/√Hz.
        accelerometer: white noise, m/s²/√Hz.
        accelerometer_bias: random walk of the bias, m/s³/√Hz.
        contact: random walk of a stance contact point while the robot rests, m/s/√Hz.
        encoder: joint position, rad.
        kinematics: error of the modelled contact position, m.
        creep: additional walk of stance contact points per IMU speed, 1/√Hz: soles and ground deform as the load moves.
        rocking: additional walk of a sole's middle per speed of its corners as it tilts, 1/√Hz; contacts without points
            have
            no corners.
        unsettled: replaces `contact`, if larger, while contacts settle after a touchdown, a lift-off or a shock,
            m/s/√Hz; ignored by `Estimator.step`, which has no memory of earlier steps.
        turning: random walk of the orientation of a stance sole, rad/s/√Hz, in addition to that caused by creep and
            rocking; contacts without three points have no sole.
        gyroscope_range: rad/s; samples beyond it are rejected.
        accelerometer_range: m/s²; samples beyond it are rejected.

    Examples:
        >>> import equipoise as eq
        >>> noise = eq.FilterNoise(gyroscope=1e-3, accelerometer=1e-2)
        >>> eq.Estimator(eq.load("quadruped"), "trunk", ["front_left_foot"], noise=noise).noise.gyroscope
        0.001
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
    gyroscope_range: float = 35.0  # 2000 °/s, the largest common range
    accelerometer_range: float = 320.0  # 32 g, the largest common range

    def __post_init__(self) -> None:
        _require_finite(self)
        if self.encoder == 0 and self.kinematics == 0:
            raise StateError(
                "FilterNoise: encoder or kinematics must be positive, else a contact would be known exactly"
            )

    @property
    def numbers(self) -> Array:
        """The values of one step as an array (10,), in the order of `NOISES`."""
        return np.array([getattr(self, name) for name in NOISES])

    @property
    def unsettled_numbers(self) -> Array:
        """The same array with the larger `contact` noise while contacts settle."""
        numbers = self.numbers
        numbers[CONTACT] = max(self.contact, self.unsettled)
        return numbers


@dataclass(frozen=True)
class Prior:
    """Standard deviations of the initial state.

    Attributes:
        orientation: rad, about each axis of the world.
        velocity: m/s.
        position: m.
        gyroscope_bias: rad/s.
        accelerometer_bias: m/s².

    Examples:
        >>> import equipoise as eq
        >>> eq.Prior(orientation=0.05).orientation  # rad
        0.05
    """

    orientation: float = 0.01
    velocity: float = 0.1
    position: float = 0.01
    gyroscope_bias: float = 0.01
    accelerometer_bias: float = 0.1

    def __post_init__(self) -> None:
        _require_finite(self)

    def covariance(self, v: Array, p: Array, contacts: int, soles: int = 0) -> Array:
        """Returns the covariance of the right-invariant error at v and p, (n, n): ξ_v = δv + v × φ, ξ_p = δp + p × φ.

        Contacts get the uncertainty of the position, soles that of the orientation; the first step places them anyway.
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
