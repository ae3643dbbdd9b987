"""Rows that come and go from step to step, made outside of the compiled kernel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class NearbyRows:
    """Rows that were near in one step; the others of a controller's reserve bind nothing.

    Args:
        keys: which rows, (k,): the same number is the same thing in every step.
        A: over the unknowns, (k, n).
        lower: (k,).
        margins: distance from the limit, (k,).
        rates: of the margins, (k,).
    """

    keys: Array
    A: Array
    lower: Array
    margins: Array = field(default_factory=lambda: np.zeros(0))
    rates: Array = field(default_factory=lambda: np.zeros(0))


class OutsideRows(Protocol):
    """Makes rows of one constraint, at most `count` of them."""

    count: int
    names: tuple[str, ...]  # of everything that may become a row, by key
    largest_margin: float  # reported where nothing is near

    def see(self, q: Array, v: Array, numbers: Mapping[str, Array], B: Array, b: Array) -> NearbyRows:
        """The rows at (q, v); a = B x + b."""
        ...
