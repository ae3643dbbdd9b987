"""Rejects sensor samples out of range and single-sample outliers."""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING

import numpy as np

from .noise import ACCELEROMETER, GYROSCOPE, FilterNoise

if TYPE_CHECKING:
    from ..robot import Robot

Array = np.ndarray
FAR = 1e4  # rad or m, range of joint positions
FAST = 3.0  # × velocity limit of the joint, range of joint rates
FASTEST = 100.0  # rad/s or m/s, range of joint rates without a velocity limit
TURN_JUMP = 3.0  # rad/s per sample; a larger jump of the gyroscope must be confirmed by the next sample
TURN_DOUBT = 1.0  # rad/s per sample; a larger jump is used, with the jump added to the gyroscope's noise
JOINT_JUMP = 0.2  # rad or m per sample; a larger jump of a joint position must be confirmed
RATE_JUMP = 10.0  # rad/s or m/s per sample; a larger jump of a joint rate must be confirmed
SHAKE = 0.03  # m/s change of velocity by one sample; beyond it, the accelerometer's noise is raised to its jump


class SampleGate:
    """Replaces wrong values of a sample by their last good ones and raises the IMU's noise after jumps.

    A value out of range is wrong. A value that jumps is replaced until the next sample confirms it. A jump of the
    accelerometer may be a real shock, so it is used, but with the jump added to its noise, since it may also be an
    outlier. A smaller jump of the gyroscope is treated the same way: the filter would otherwise attribute it to the
    bias.
    """

    def __init__(self, robot: Robot, noise: FilterNoise) -> None:
        joints = robot.nq - 7
        velocity = np.asarray(robot.limits.velocity)[6:]
        rates = np.where(np.isfinite(velocity) & (velocity > 0), FAST * velocity, FASTEST)
        ranges = np.repeat([noise.gyroscope_range, noise.accelerometer_range, FAR], [3, 3, joints])
        self._range = np.concatenate([ranges, rates])
        self._jump = np.repeat([TURN_JUMP, np.inf, JOINT_JUMP, RATE_JUMP], [3, 3, joints, len(rates)])
        self.reset()

    def reset(self) -> None:
        """Forgets the previous samples."""
        self._good: Array | None = None
        self._last = np.zeros(0)

    def __call__(self, x: Array, dt: float, noise: Array) -> int:
        """Checks a sample; returns the number of replaced values, or −1 if the sample must be skipped.

        Args:
            x: gyroscope, accelerometer, joint positions, joint rates; wrong values are replaced in place.
            dt: s since the last sample.
            noise: noise numbers of this step; those of the IMU are raised in place after a jump.
        """
        good = self._good
        if good is None:
            if not (np.abs(x) <= self._range).all():
                return -1
            self._good, self._last = x.copy(), x.copy()
            return 0
        away = np.abs(x - good)
        wrong = ~((np.abs(x) <= self._range) & (away <= self._jump))
        held = 0
        if wrong.any():
            if not np.isfinite(x).all():
                return -1
            wrong &= ~((np.abs(x - self._last) <= self._jump) & (np.abs(x) <= self._range))
            self._last[:] = x
            held = int(wrong.sum())
            x[wrong] = good[wrong]
        else:
            self._last[:] = x
        turned, shaken = TURN_JUMP if wrong[:3].any() else max(away[:3].tolist()), SHAKE / dt if dt > 0 else np.inf
        jump = max(away[3:6].tolist())
        if turned > TURN_DOUBT:
            noise[GYROSCOPE] = sqrt(noise[GYROSCOPE] ** 2 + turned * turned * dt)
        if jump > shaken:
            jump = shaken if wrong[3:6].any() else jump
            noise[ACCELEROMETER] = sqrt(noise[ACCELEROMETER] ** 2 + jump * jump * dt)
        good[:] = x
        return held
