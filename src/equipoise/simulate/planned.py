"""What a controller tells of its plan, for the eye: records keep it, and viewers draw it. None of it is needed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

Array = np.ndarray


def outlines_of(controller: object, q: Array) -> dict[str, Array]:
    """Outlines in the world by name, corners (k, 3) m, of a controller that has a method `outlines(q)`."""
    own: Any = getattr(controller, "outlines", None)
    return dict(own(q)) if callable(own) else {}


def phase_of(controller: object) -> str | None:
    """What a controller does just now, in a word or two, if it says so by an attribute `phase`."""
    phase: Any = getattr(controller, "phase", None)
    return phase if isinstance(phase, str) else None


def outline_columns(told: Mapping[int, Mapping[str, Array]], rows: int) -> dict[str, Array]:
    """Outlines that were told in some rows as one array for each name, (rows, k, 3), NaN where there were none."""
    names = dict.fromkeys(name for outlines in told.values() for name in outlines)
    most = {name: max(len(outlines.get(name, ())) for outlines in told.values()) for name in names}
    result = {name: np.full((rows, most[name], 3), np.nan) for name in names}
    for row, outlines in told.items():
        for name, corners in outlines.items():
            if not len(corners):
                continue
            result[name][row, : len(corners)] = corners
            result[name][row, len(corners) :] = corners[-1]  # a corner twice does not change an outline
    return result
