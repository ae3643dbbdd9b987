"""Constraints: what must hold whatever the tasks want. Each gives rows with bounds; see docs/safety.md for why they are
kept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ..at_rest import AtRest
from ..item import Item, NamedNumbers

if TYPE_CHECKING:
    from ...equations.symbols import SX
    from ...robot import Robot
    from ..controller.context import Context
    from ..controller.scene import Affine, Scene
    from .outside import OutsideRows

Array = np.ndarray


@dataclass(frozen=True)
class BoundedRows:
    """lower ≤ rows ≤ upper on symbols, m rows.

    Args:
        rows: affine in the unknowns.
        lower: (m,); minus infinity where there is none.
        upper: (m,); infinity where there is none.
        margin: distance of each row from its limit, (m,), where it has one: for reports.
        rate: of the margin, (m,).
    """

    rows: Affine
    lower: SX
    upper: SX
    margin: SX | None = None
    rate: SX | None = None


@dataclass(frozen=True, eq=False)
class Start:
    """What a controller saw when it was first called, of one constraint."""

    context: Context
    q: Array
    v: Array
    names: list[str]  # of its rows
    margins: Array
    rates: Array  # of the margins
    numbers: Mapping[str, Array]


@dataclass(frozen=True, eq=False, kw_only=True)
class Constraint(Item):
    """What all constraints share. One of one's own has two methods: `row_names` and `rows`.

    Args:
        rank: which are relaxed first where nothing satisfies all: higher ranks before lower; rank 0 never is.
    """

    rank: int = 1
    has_margins: ClassVar[bool] = False  # whether its rows have margins
    reads_last_torque: ClassVar[bool] = False  # whether its rows depend on the torques of the last step

    def row_names(self, context: Context) -> list[str]:
        """One per row."""
        return [self.label]

    def rows(self, scene: Scene, numbers: NamedNumbers) -> BoundedRows:
        """The constraint on symbols; `numbers` has every declared number as an attribute."""
        raise NotImplementedError(f"{type(self).__name__} has no rows()")

    def outside(self, context: Context) -> OutsideRows | None:
        """Rows that are made outside of the compiled kernel in each step, if there are any."""
        return None

    def at_rest(self, robot: Robot) -> AtRest:
        """What it means for postures."""
        return AtRest()

    def least_margin(self, robot: Robot, q: Array, t: Array) -> float | None:
        """The least distance from its limit over configurations q (n, nq) at times t (n,), by the robot's geometry
        alone; None for a constraint that is not about configurations."""
        return None

    def tightened(self, margin: float) -> Constraint:
        """The same, by a margin (rad or m) farther from the ends of joints, if it is about them."""
        return self

    def start_report(self, start: Start) -> Iterator[str]:
        """One sentence for each row that cannot be promised from where the robot starts."""
        return iter(())

    def torque_bounds(
        self, numbers: Mapping[str, Array], previous: Array | None, rates: Array
    ) -> tuple[Array, Array] | None:
        """(lower, upper) of the motors' torques, if it bounds them: the fallback obeys them too.

        Args:
            numbers: its parameters.
            previous: torques of the last step, N m; None before the first.
            rates: of the motors, rad/s.
        """
        return None
