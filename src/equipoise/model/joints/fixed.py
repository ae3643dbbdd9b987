"""A rigid connection: no coordinates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from ...algebra.quaternions import Arithmetic


@dataclass(frozen=True)
class Fixed:
    """Parent and child are one rigid body."""

    name: ClassVar[str] = "fixed"
    nq: ClassVar[int] = 0
    nv: ClassVar[int] = 0
    spin_axes: ClassVar[Literal["parent", "child"]] = "child"

    def neutral(self) -> tuple[float, ...]:
        return ()

    def pose(self, q: Any, m: Arithmetic) -> tuple[Any, Any]:
        return m.matrix(np.eye(3).tolist()), m.vector([0.0, 0.0, 0.0])

    def slide(self) -> np.ndarray:
        return np.zeros((3, 0))

    def spin(self) -> np.ndarray:
        return np.zeros((3, 0))

    def integrate(self, q: Any, step: Any, m: Arithmetic) -> list[Any]:
        return []

    def difference(self, q0: Any, q1: Any, m: Arithmetic) -> list[Any]:
        return []
