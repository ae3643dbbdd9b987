"""What joints about or along one axis share: one coordinate on a line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from ...algebra.quaternions import Arithmetic

Axis = tuple[float, float, float]


@dataclass(frozen=True)
class AxisJoint:
    """One coordinate, one rate, one unit axis (the same numbers in parent and child axes)."""

    axis: Axis = (0.0, 0.0, 1.0)

    nq: ClassVar[int] = 1
    nv: ClassVar[int] = 1
    spin_axes: ClassVar[Literal["parent", "child"]] = "child"

    def neutral(self) -> tuple[float, ...]:
        return (0.0,)

    def integrate(self, q: Any, step: Any, m: Arithmetic) -> list[Any]:
        return [q[0] + step[0]]

    def difference(self, q0: Any, q1: Any, m: Arithmetic) -> list[Any]:
        return [q1[0] - q0[0]]
