"""Joint types. Each is one small file; `JOINT_TYPES` lists them by name.

A joint type says how a child frame C stands and moves in its parent frame P. To add one, write a frozen dataclass with
the members of `JointType` and, if files shall be able to name it, enter it in `JOINT_TYPES`.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Protocol

import numpy as np

from ...algebra.quaternions import Arithmetic
from .ball import Ball, BallAgain, BallBack
from .fixed import Fixed
from .floating import Floating
from .planar import Planar
from .prismatic import Prismatic
from .revolute import Continuous, Revolute


class JointType(Protocol):
    """What every joint type offers. `m` is the arithmetic, numbers or symbols."""

    name: ClassVar[str]
    nq: ClassVar[int]
    nv: ClassVar[int]
    spin_axes: ClassVar[Literal["parent", "child"]]

    def neutral(self) -> tuple[float, ...]:
        """The zero of the joint, nq numbers."""

    def pose(self, q: Any, m: Arithmetic) -> tuple[Any, Any]:
        """Rotation R_PC and origin p_PC at coordinates q."""

    def slide(self) -> np.ndarray:
        """Constant 3×nv matrix: velocity of C's origin in P's axes is slide @ v."""

    def spin(self) -> np.ndarray:
        """Constant 3×nv matrix: angular velocity of C in P is spin @ v, in the axes `spin_axes` names."""

    def integrate(self, q: Any, step: Any, m: Arithmetic) -> list[Any]:
        """Coordinates after moving with constant v for unit time, step = v · dt."""

    def difference(self, q0: Any, q1: Any, m: Arithmetic) -> list[Any]:
        """The step that integrate needs to go from q0 to q1."""


JOINT_TYPES: dict[str, Any] = {t.name: t for t in (Fixed, Revolute, Continuous, Prismatic, Ball, Planar, Floating)}

__all__ = [
    "JOINT_TYPES",
    "Ball",
    "BallAgain",
    "BallBack",
    "Continuous",
    "Fixed",
    "Floating",
    "JointType",
    "Planar",
    "Prismatic",
    "Revolute",
]
