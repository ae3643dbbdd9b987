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
    """

    keys: Array
    A: Array
    lower: Array
    margins: Array
    rates: Array


class OutsideRows(Protocol):
    """Makes the rows of one constraint, as many as it has names."""

    names: tuple[str, ...]  # of everything that may become a row, by key
    doubts: tuple[str, ...]  # sentences on what it watches only nearly, or not at all
    likely: float  # slack of a row, in units of the row, below which it is given to the solver at once

    def look(self, q: Array, v: Array, numbers: Mapping[str, Array]) -> tuple[Array, Array]:
        """Margins of everything and their rates at (q, v), the state of the other methods."""
        ...

    def inside(self, motion: Array) -> str:
        """Names parts that are inside each other, safe distance or not, now or after one step of a motion; empty if
        none are."""
        ...

    def slack(self, motion: Array) -> Array:
        """By how much each row holds at accelerations (velocities at velocity level)."""
        ...

    def size(self) -> Array:
        """Of each row's value at that motion, at least 1: violations are rounding relative to it."""
        ...

    def rows(self, keys: Array, B: Array, b: Array) -> tuple[Array, Array]:
        """(A, lower) of some rows; accelerations are B x + b."""
        ...
