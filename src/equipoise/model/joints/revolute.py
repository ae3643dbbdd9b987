"""Rotation about an axis."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ...algebra.quaternions import Arithmetic
from .axis import AxisJoint


@dataclass(frozen=True)
class Revolute(AxisJoint):
    """Turns about `axis` between limits."""

    name: ClassVar[str] = "revolute"

    def pose(self, q: Any, m: Arithmetic) -> tuple[Any, Any]:
        """Rodrigues: R = c 1 + s u^ + (1 − c) u uᵀ; with u an axis of coordinates most entries are exact zeros."""
        c, s = m.cos(q[0]), m.sin(q[0])
        x, y, z = self.axis
        d = 1 - c
        rows = [
            [x * x + (1 - x * x) * c, x * y * d - z * s, x * z * d + y * s],
            [x * y * d + z * s, y * y + (1 - y * y) * c, y * z * d - x * s],
            [x * z * d - y * s, y * z * d + x * s, z * z + (1 - z * z) * c],
        ]
        return m.matrix(rows), m.vector([0.0, 0.0, 0.0])

    def slide(self) -> np.ndarray:
        return np.zeros((3, 1))

    def spin(self) -> np.ndarray:
        return np.array(self.axis).reshape(3, 1)


@dataclass(frozen=True)
class Continuous(Revolute):
    """Turns about `axis` without limits; the coordinate is not wrapped."""

    name: ClassVar[str] = "continuous"
