"""Links that must not enter each other or the floor, as rows of least squares: by how much their capsules overlap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..geometry.capsules import collision_capsules
from ..geometry.pairs import Pair, PairSet
from ..geometry.primitives import Sphere

if TYPE_CHECKING:
    from ..robot import Robot

Array = np.ndarray
MOST = 16  # rows of one problem: its least distances
FLOOR_RADIUS = 1e7  # m; a ball that differs from a plane by 5 µm at 10 m


@dataclass(frozen=True, eq=False)
class Clearance:
    """Distances that have a least value.

    Args:
        pairs: what is kept apart.
        least: m, (pairs,).
    """

    pairs: PairSet
    least: Array

    @classmethod
    def of(cls, robot: Robot, standing: Array, floor: float | None, own: Sequence[Pair]) -> Clearance | None:
        """Of a robot's own pairs, and of all links that can move from a floor; None where nothing can touch.

        Args:
            standing: q of the robot where it stands on the floor. Links may be as deep in it as they are there.
            floor: m, its height; None for no floor.
        """
        moving = {link for link in robot.links if robot.place(link)[0] >= 0}
        ground = [] if floor is None else [c for k, cs in collision_capsules(robot).items() if k in moving for c in cs]
        if not ground and not own:
            return None
        ball = Sphere((0.0, 0.0, (floor or 0.0) - FLOOR_RADIUS), FLOOR_RADIUS)
        pairs = PairSet(robot, (*own, *((capsule, ball) for capsule in ground)), compiled=True)
        least = np.zeros(len(pairs.pairs))
        least[len(own) :] = np.minimum(pairs.distances(standing)[len(own) :], 0.0)
        return cls(pairs, least)

    def depths(self, q: Array) -> Array:
        """m, (N, pairs): by how much each distance is too small, 0 where it is not."""
        return np.maximum(self.least - self.pairs.distances(q), 0.0)

    @property
    def count(self) -> int:
        """Of rows."""
        return min(MOST, len(self.least))

    def rows(self, q: Array) -> tuple[Array, Array]:
        """The largest overlaps (N, m), negative where there are gaps, and their Jacobians (N, m, nv)."""
        overlaps = self.least - self.pairs.distances(q)
        which = np.argsort(-overlaps, axis=1)[:, : self.count]
        J = -self.pairs.row_of_each(np.repeat(q, self.count, axis=0), which.reshape(-1))[1]
        return np.take_along_axis(overlaps, which, axis=1), J.reshape(*which.shape, -1)

    def words(self, depths: Array) -> str:
        """The deepest overlap of one problem, (pairs,), in words."""
        k = int(np.argmax(depths))
        one, other = (primitive.frame for primitive in self.pairs.pairs[k])
        return f"{one!r} is {depths[k]:.3g} m deep in {'the floor' if other is None else repr(other)}"
