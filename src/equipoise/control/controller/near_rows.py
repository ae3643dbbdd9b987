"""Rows for the pairs that are near each other now: the robot with itself.

Pairs come and go, rows stay: a controller has `most` of them behind its other rows, and those without a pair bind nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...geometry.collisions import self_collision_pairs
from ...geometry.pairs import NearPairs, PairSet
from ..constraints import SelfCollision
from ..safety.vfi import first_order_bound, second_order_bound

if TYPE_CHECKING:
    from ...robot import Robot
    from .assembly import Layout

Array = np.ndarray


class NearRows:
    """Writes the rows of one `SelfCollision` behind those of the kernel."""

    def __init__(self, robot: Robot, constraint: SelfCollision, layout: Layout) -> None:
        self.constraint, self.layout = constraint, layout
        pairs = constraint.pairs if constraint.pairs is not None else self_collision_pairs(robot)
        self.pairs = PairSet(robot, tuple(pairs), range=constraint.safe + constraint.range, most=constraint.most)
        self.count = min(constraint.most, len(self.pairs.pairs))
        self.names = tuple(f"{constraint.label} of {a.frame} and {b.frame}" for a, b in self.pairs.pairs)
        self._sides = np.zeros(len(self.pairs.pairs))
        self.near: NearPairs | None = None

    def write(
        self, data: dict[str, Array], sides: Array, first: int, q: Array, v: Array, B: Array | None, b: Array | None
    ) -> None:
        """Rows from number `first` on, with the sides on which these pairs were active before."""
        near = self.near = self.pairs(q, v)
        k, end = len(near.value), first + self.count
        A, lower = self.rows(near, B, b)
        data["A"][first : first + k], data["A"][first + k : end] = A, 0.0
        data["lower"][first : first + k], data["lower"][first + k : end] = lower, -np.inf
        data["upper"][first:end] = np.inf
        sides[first:end] = 0.0
        sides[first : first + k] = self._sides[near.indices]

    def keep_sides(self, sides: Array) -> None:
        """Remember which pairs are active."""
        self._sides[:] = 0.0
        if self.near is not None:
            self._sides[self.near.indices] = sides[: len(self.near.indices)]

    def rows(self, near: NearPairs, B: Array | None, b: Array | None) -> tuple[Array, Array]:
        """(A, lower) over the unknowns of the controller's level."""
        c, layout = self.constraint, self.layout
        d = near.value - c.safe
        if layout.level == "velocity":
            return near.J, first_order_bound(d, c.gains.slow, layout.dt, c.jump)
        bound = second_order_bound(d, near.rate, c.gains, layout.dt, variation=c.variation, jump=c.jump, braking=c.braking)
        bound = bound - near.bias
        if layout.level == "acceleration":
            return near.J, bound
        A = np.zeros((len(d), layout.unknowns))
        A[:, : layout.joints] = near.J[:, layout.first :]
        if B is not None and b is not None and self.pairs.world:  # a robot does not come nearer to itself when its base moves
            A += near.J[:, : layout.first] @ B
            bound = bound - near.J[:, : layout.first] @ b
        return A, bound

    def forget(self) -> None:
        self._sides[:] = 0.0
        self.near = None


def near_rows(robot: Robot, constraints: Any, layout: Layout) -> list[NearRows]:
    return [NearRows(robot, c, layout) for c in constraints if isinstance(c, SelfCollision)]
