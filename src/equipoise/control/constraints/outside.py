"""Rows that come and go from step to step, made outside of the compiled kernel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class NearbyRows:
    """What one constraint looked at in one step, and the rows of it that were in the program.

    Args:
        keys: which rows are in the program, (k,), growing: the same number is the same thing in every step.
        A: over the unknowns, (k, n).
        lower: (k,).
        margins: distance from the limit, of everything that may become a row.
        rates: of the margins.
        overlapping: whether what should stay apart is inside each other, safe distance or not.
    """

    keys: Array
    A: Array
    lower: Array
    margins: Array
    rates: Array
    overlapping: bool


class OutsideRows(Protocol):
    """Makes the rows of one constraint, as many as it has names."""

    names: tuple[str, ...]  # of everything that may become a row, by key
    left_out: tuple[str, ...]  # sentences on what it does not look at
    likely: float  # slack of a row, in units of the row, below which it is given to the solver at once

    def look(self, q: Array, v: Array, numbers: Mapping[str, Array]) -> tuple[Array, Array, bool]:
        """Margins of everything, their rates, and whether anything overlaps at (q, v), the state of the other
        methods."""
        ...

    def slack(self, motion: Array) -> tuple[Array, Array]:
        """By how much each row holds at accelerations (velocities at velocity level), and what counts as rounding."""
        ...

    def rows(self, keys: Array, B: Array, b: Array) -> tuple[Array, Array]:
        """(A, lower) of some rows; accelerations are B x + b."""
        ...
