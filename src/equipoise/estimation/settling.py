"""When contacts have settled: soles that were just put down, or shaken, do not stand as still as others."""

from __future__ import annotations

from math import sqrt

import numpy as np

Array = np.ndarray
SETTLES = 0.1  # s after which contacts have settled
SHOCK = 1.0  # m/s² at least, from one sample of the accelerometer to the next
CERTAIN = 10.0  # deviations of its noise, which a shock must exceed besides


class Settling:
    """Says whether contacts still settle, step after step: a contact was made or lost, or a shock went through the
    robot.

    Args:
        noise: of the accelerometer, m/s²/√Hz.
    """

    def __init__(self, noise: float = 0.0) -> None:
        self._noise = CERTAIN * sqrt(2) * noise
        self.reset()

    def reset(self) -> None:
        """Nothing has settled yet."""
        self._felt: list[float] = []
        self._held = b""
        self._calm = 0.0  # s

    def __call__(self, dt: float, accelerometer: Array, held: Array) -> bool:
        """Whether contacts still settle after a step; what is not finite is a shock, and time that runs backwards
        stands still.

        Args:
            dt: s since the last one.
            accelerometer: (3,) m/s².
            held: (contacts,) which stand.
        """
        felt, standing = accelerometer.tolist(), held.tobytes()  # plain numbers: a few of them are quicker so
        least = max(SHOCK, self._noise / sqrt(dt)) if dt > 0 else SHOCK
        quiet = len(self._felt) > 0 and all(abs(a - b) < least for a, b in zip(felt, self._felt, strict=True))
        calm = quiet and standing == self._held
        self._felt, self._held = felt, standing
        self._calm = (self._calm + dt if dt >= 0 else self._calm) if calm else 0.0
        return self._calm < SETTLES
