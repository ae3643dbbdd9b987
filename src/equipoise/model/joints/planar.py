"""Motion in a plane: two translations and the rotation about the normal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from ...algebra.quaternions import Arithmetic


@dataclass(frozen=True)
class Planar:
    """Coordinates (x, y, angle) in the parent's xy plane; velocities are their rates.

    A plane with another normal is this joint with a turned placement.
    """

    name: ClassVar[str] = "planar"
    nq: ClassVar[int] = 3
    nv: ClassVar[int] = 3
    spin_axes: ClassVar[Literal["parent", "child"]] = "child"

    def neutral(self) -> tuple[float, ...]:
        return (0.0, 0.0, 0.0)

    def pose(self, q: Any, m: Arithmetic) -> tuple[Any, Any]:
        c, s = m.cos(q[2]), m.sin(q[2])
        return m.matrix([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]]), m.vector([q[0], q[1], 0.0])

    def slide(self) -> np.ndarray:
        return np.diag([1.0, 1.0, 0.0])

    def spin(self) -> np.ndarray:
        return np.diag([0.0, 0.0, 1.0])

    def integrate(self, q: Any, step: Any, m: Arithmetic) -> list[Any]:
        return [q[i] + step[i] for i in range(3)]

    def difference(self, q0: Any, q1: Any, m: Arithmetic) -> list[Any]:
        return [q1[i] - q0[i] for i in range(3)]
