"""When contacts have settled: soles that were just put down, or shaken, do not stand as still as others."""

from __future__ import annotations

import numpy as np

Array = np.ndarray
SETTLES = 0.1  # s after which contacts have settled
SHOCK = 3.0  # m/s², from one sample of the accelerometer to the next: fifty times the noise of a good one


class Settling:
    """Says whether contacts still settle, step after step: a contact was made or lost, or a shock went through the
    robot."""

    def __init__(self) -> None:
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
        quiet = len(self._felt) > 0 and all(abs(a - b) < SHOCK for a, b in zip(felt, self._felt, strict=True))
        calm = quiet and standing == self._held
        self._felt, self._held = felt, standing
        self._calm = (self._calm + dt if dt >= 0 else self._calm) if calm else 0.0
        return self._calm < SETTLES
