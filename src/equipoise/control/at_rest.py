"""What constraints mean for a robot at rest: limits of positions and torques, distances to keep."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ..geometry.distances import Distance
    from ..geometry.pairs import PairSet

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class AtRest:
    """A constraint on postures; what it does not bound is None.

    Args:
        positions: (lower, upper) of the joints in the places of their rates, (nv,) each; infinite where there is no
            end.
        effort: largest torque of each rate, (nv,), N m or N; infinite where there is none.
        distance: what is measured, of primitives as they are at t = 0.
        least: of that distance, m, or m² where it is squared.
        inside: whether `least` is instead the largest.
        pairs: of the robot's own parts.
        safe: distance of those pairs, m.
    """

    positions: tuple[Array, Array] | None = None
    effort: Array | None = None
    distance: Distance | None = None
    least: float = 0.0
    inside: bool = False
    pairs: PairSet | None = None
    safe: float = 0.0
