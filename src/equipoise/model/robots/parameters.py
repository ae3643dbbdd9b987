"""Checks of the parameters of built-in robots."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

import numpy as np

from ...errors import ModelError
from ..shapes import is_positive


class JointRange(TypedDict):
    """Limits of a joint, as keywords of `ModelBuilder.joint`."""

    lower: float
    upper: float
    velocity: float
    effort: float


def require_positive(robot: str, **values: float) -> None:
    """Sizes and masses are finite and above zero."""
    for name, value in values.items():
        if not is_positive(value):
            raise ModelError(f"{name} of robot {robot!r} is a positive finite number, got {value!r}")


def require_count(robot: str, n: int) -> None:
    """A number of joints is whole and at least one."""
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1:
        raise ModelError(f"n of robot {robot!r} is a whole number of joints, at least 1, got {n!r}")


def one_each(robot: str, name: str, values: Sequence[float] | None, default: float, n: int) -> list[float]:
    """One positive number per link, or the default for all."""
    if values is None:
        return [default] * n
    if len(values) != n:
        raise ModelError(f"{name} of robot {robot!r} has one number per joint: wanted {n}, got {len(values)}")
    for i, value in enumerate(values):
        require_positive(robot, **{f"{name}[{i}]": value})
    return [float(value) for value in values]
