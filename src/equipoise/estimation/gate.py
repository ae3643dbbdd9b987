"""Samples that no sensor should give: beyond its range, or one that jumps away and back."""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING

import numpy as np

from .noise import ACCELEROMETER, GYROSCOPE, FilterNoise

if TYPE_CHECKING:
    from ..robot import Robot

Array = np.ndarray
FAR = 1e4  # rad or m; no joint is farther
FAST = 3.0  # of a joint's velocity limit; its rate is never beyond
FASTEST = 100.0  # rad/s or m/s; the same where no limit is stated
TURN_JUMP = 3.0  # rad/s; a turn rate that differs by more from one sample to the next must be confirmed
TURN_DOUBT = 1.0  # rad/s; a turn rate that differs by more is taken, with the difference as its noise
JOINT_JUMP = 0.2  # rad or m; likewise of a joint
RATE_JUMP = 10.0  # rad/s or m/s; likewise of its rate
SHAKE = 0.03  # m/s that one sample may change the velocity by; beyond, it is believed no more than its own jump


class SampleGate:
    """Holds what is wrong in a sample at its last good value, and says how much less the rest is worth.

    A value beyond its range is wrong. One that jumps is held until the next sample confirms it. An accelerometer's
    jump may be a shock, so it is taken; but with the jump as its noise, since it may be an outlier as well. A smaller
    jump of the turn rate is treated the same way: the filter would otherwise take it for a bias of the gyroscope.
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
        """No sample was seen yet."""
        self._good: Array | None = None
        self._last = np.zeros(0)

    def __call__(self, x: Array, dt: float, noise: Array) -> int:
        """Looks at a sample; returns how many of its values are held, −1 where it cannot be used at all.

        Args:
            x: gyroscope, accelerometer, joints and their rates; values that are held are changed in place.
            dt: s since the last sample.
            noise: numbers of the filter for this step; those of the IMU are raised where it shook.
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
