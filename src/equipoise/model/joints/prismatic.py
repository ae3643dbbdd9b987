"""Translation along an axis."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ...algebra.quaternions import Arithmetic
from .axis import AxisJoint


@dataclass(frozen=True)
class Prismatic(AxisJoint):
    """Slides along `axis`."""

    name: ClassVar[str] = "prismatic"

    def pose(self, q: Any, m: Arithmetic) -> tuple[Any, Any]:
        return m.matrix(np.eye(3).tolist()), m.vector([u * q[0] for u in self.axis])

    def slide(self) -> np.ndarray:
        return np.array(self.axis).reshape(3, 1)

    def spin(self) -> np.ndarray:
        return np.zeros((3, 1))
