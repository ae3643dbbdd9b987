"""Detects whether contacts have settled: they move more just after touchdown or a shock."""

from __future__ import annotations

from math import sqrt

import numpy as np

Array = np.ndarray
SETTLES = 0.1  # s without events until contacts count as settled
SHOCK = 1.0  # m/s² from one accelerometer sample to the next; smallest change that counts as a shock
CERTAIN = 10.0  # standard deviations of accelerometer noise that a shock must also exceed


class Settling:
    """Reports at each step whether contacts still settle after a touchdown, a lift-off or a shock.

    Args:
        noise: of the accelerometer, m/s²/√Hz.
    """

    def __init__(self, noise: float = 0.0) -> None:
        self._noise = CERTAIN * sqrt(2) * noise
        self.reset()

    def reset(self) -> None:
        """Restarts; contacts count as unsettled."""
        self._felt: list[float] = []
        self._held = b""
        self._calm = 0.0  # s

    def __call__(self, dt: float, accelerometer: Array, held: Array) -> bool:
        """Processes one sample; returns whether contacts still settle.

        NaN readings count as a shock; negative time steps as zero.

        Args:
            dt: s since the previous sample.
            accelerometer: (3,) m/s².
            held: (contacts,) whether each is in stance.
        """
        felt, standing = accelerometer.tolist(), held.tobytes()  # plain floats are faster than arrays of three
        least = max(SHOCK, self._noise / sqrt(dt)) if dt > 0 else SHOCK
        quiet = len(self._felt) > 0 and all(abs(a - b) < least for a, b in zip(felt, self._felt, strict=True))
        calm = quiet and standing == self._held
        self._felt, self._held = felt, standing
        self._calm = (self._calm + dt if dt >= 0 else self._calm) if calm else 0.0
        return self._calm < SETTLES
