"""A push at one frame of the robot, told apart from what its contacts carry."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ..robot import Robot
    from .touch import TouchSettings

Array = np.ndarray
PUSHES = 200.0  # N: what may push before anything is measured; its torque is taken for zero


class PushObserver:
    """The force at a watched frame by all rows of the residual, smoothed.

    r = Σ Jᵀ F + noise, as for the contacts, but smoothed over `push_settling`, in which the noise of the rates averages
    out faster than that of the torques. So its covariance differs from that of a single step; and all rows count, since
    those of the arms say how much of the base's momentum is noise of their own rates.

    Args:
        robot: any.
        scale: (6 contacts,) what each component of the contacts may carry.
        settings: numbers.
    """

    def __init__(self, robot: Robot, scale: Array, settings: TouchSettings) -> None:
        self.settings, self._scale = settings, np.concatenate([scale, PUSHES * np.array([1.0, 1, 1, 0, 0, 0])])
        self._rates, self._torques = settings.rate_noises(robot) ** 2, settings.torque_noises(robot) ** 2
        self._slow = np.zeros(robot.nv)

    def reset(self) -> None:
        """Nothing was felt yet."""
        self._slow[:] = 0.0

    def noise_gains(self, period: float) -> tuple[float, float]:
        """Variance of the smoothed residual for one of momentum and of torque, white and new in every step.

        White noise of density σ² `period` through K s a / ((s + K) (s + a)) and through K a / ((s + K) (s + a)).
        """
        K, a = self.settings.bandwidth, 1 / self.settings.push_settling
        both = period * K * a / (2 * (K + a))
        return K * a * both, both

    def __call__(
        self, dt: float, period: float, carrying: Sequence[bool], seen: Mapping[str, Array]
    ) -> tuple[Array, Array]:
        """(wrench at the watched frame, (6,); what it and the contacts leave of the smoothed residual, (nv,)).

        Args:
            dt: s since the last step.
            period: s, of the steps on average.
            carrying: which contacts carry; others are known to give nothing.
            seen: residual, mass matrix and Jacobians of this step.
        """
        self._slow += (seen["residual"] - self._slow) * (dt / (self.settings.push_settling + dt))
        if not period > 0:
            return np.zeros(6), np.zeros_like(self._slow)
        M, J = seen["mass_matrix"], seen["jacobians"]
        by_rates, by_torques = self.noise_gains(period)
        noise = (M * (by_rates * self._rates)) @ M.T
        noise.flat[:: len(noise) + 1] += by_torques * self._torques
        s = self._scale * np.repeat([*carrying, True], 6)
        weighted = np.linalg.solve(noise, J.T).T
        A = (weighted @ J.T) * np.outer(s, s) + np.eye(len(s))
        F = s * np.linalg.solve(A, s * (weighted @ self._slow))
        return F[-6:], self._slow - J.T @ F
