"""Free rotation about a point (spherical joint)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from ...algebra import quaternions
from ...algebra.quaternions import Arithmetic


@dataclass(frozen=True)
class Ball:
    """Quaternion wxyz of the child; velocity is the angular velocity in the child's axes."""

    name: ClassVar[str] = "ball"
    nq: ClassVar[int] = 4
    nv: ClassVar[int] = 3
    spin_axes: ClassVar[Literal["parent", "child"]] = "child"

    def neutral(self) -> tuple[float, ...]:
        return (1.0, 0.0, 0.0, 0.0)

    def pose(self, q: Any, m: Arithmetic) -> tuple[Any, Any]:
        return quaternions.rotation(q, m), m.vector([0.0, 0.0, 0.0])

    def slide(self) -> np.ndarray:
        return np.zeros((3, 3))

    def spin(self) -> np.ndarray:
        return np.eye(3)

    def integrate(self, q: Any, step: Any, m: Arithmetic) -> list[Any]:
        return list(quaternions.normalised(quaternions.product(q, quaternions.exp(step, m)), m))

    def difference(self, q0: Any, q1: Any, m: Arithmetic) -> list[Any]:
        return list(quaternions.log(quaternions.product(quaternions.conjugate(q0), q1), m))


@dataclass(frozen=True)
class BallAgain(Ball):
    """Follows a ball joint by the same rotation, of the same coordinates."""

    name: ClassVar[str] = "ball_again"


@dataclass(frozen=True)
class BallBack(BallAgain):
    """Follows a ball joint by the inverse rotation; its angular velocity in the parent's axes is minus the leader's."""

    name: ClassVar[str] = "ball_back"
    spin_axes: ClassVar[Literal["parent", "child"]] = "parent"

    def pose(self, q: Any, m: Arithmetic) -> tuple[Any, Any]:
        return super().pose(quaternions.conjugate(q), m)

    def spin(self) -> np.ndarray:
        return -np.eye(3)
