"""No connection at all: six degrees of freedom."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from ...algebra import quaternions
from ...algebra.quaternions import Arithmetic


@dataclass(frozen=True)
class Floating:
    """Position and quaternion wxyz of the child; velocity (ṗ, ω), both in the parent's axes: the mixed twist."""

    name: ClassVar[str] = "floating"
    nq: ClassVar[int] = 7
    nv: ClassVar[int] = 6
    spin_axes: ClassVar[Literal["parent", "child"]] = "parent"

    def neutral(self) -> tuple[float, ...]:
        return (0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0)

    def pose(self, q: Any, m: Arithmetic) -> tuple[Any, Any]:
        return quaternions.rotation([q[i] for i in range(3, 7)], m), m.vector([q[i] for i in range(3)])

    def slide(self) -> np.ndarray:
        return np.hstack([np.eye(3), np.zeros((3, 3))])

    def spin(self) -> np.ndarray:
        return np.hstack([np.zeros((3, 3)), np.eye(3)])

    def integrate(self, q: Any, step: Any, m: Arithmetic) -> list[Any]:
        turned = quaternions.product(quaternions.exp([step[i] for i in range(3, 6)], m), [q[i] for i in range(3, 7)])
        return [*(q[i] + step[i] for i in range(3)), *quaternions.normalised(turned, m)]

    def difference(self, q0: Any, q1: Any, m: Arithmetic) -> list[Any]:
        back = quaternions.conjugate([q0[i] for i in range(3, 7)])
        turn = quaternions.product([q1[i] for i in range(3, 7)], back)
        return [*(q1[i] - q0[i] for i in range(3)), *quaternions.log(turn, m)]
