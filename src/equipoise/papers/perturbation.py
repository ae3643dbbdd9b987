"""Errors in what closed loops measure. A verdict that small errors change depends on rounding.

A loop starts from `start(…)`, and where a real robot would measure, its controller is `measured(…)`. Both are exact
unless `perturbed` is in force.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from ..robot import Robot

Array = np.ndarray
_IN_FORCE: list[tuple[float, np.random.Generator]] = []


@contextmanager
def perturbed(size: float, seed: int) -> Iterator[None]:
    """Adds uniform errors up to a size to joints (rad), base (m, rad) and velocities of every closed loop."""
    _forget()
    _IN_FORCE.append((size, np.random.default_rng(seed)))
    try:
        yield
    finally:
        _IN_FORCE.pop()
        _forget()


def start(robot: Robot, q: Array, v: Array, rows: Callable[[Array], Array] | None = None) -> tuple[Array, Array]:
    """Returns a state with its errors, (nq,) and (nv,).

    Args:
        rows: Jacobian (m, nv) of what is held, at q: the errors leave it where it is.
    """
    if not _IN_FORCE:
        return q, v
    size, rng = _IN_FORCE[-1]
    dq, dv = rng.uniform(-size, size, (2, robot.nv))
    moved = robot.integrate(q, dq if rows is None else _along(rows(q), dq))
    return moved, v + (dv if rows is None else _along(rows(moved), dv))


def _along(J: Array, x: Array) -> Array:
    """Returns the part of x that J does not see."""
    return np.asarray(x - np.linalg.pinv(J) @ (J @ x))


class Measured:
    """A controller that sees the state with errors; all else is the controller's own."""

    def __init__(self, controller: Any) -> None:
        self._controller = controller

    def __getattr__(self, name: str) -> Any:
        return getattr(self._controller, name)

    def __call__(self, t: float, q: Array, v: Array) -> Any:
        return self._controller(t, *start(self._controller.robot, q, v))


def measured(controller: Any) -> Any:
    """Returns the controller, behind errors if there are any in force."""
    return Measured(controller) if _IN_FORCE else controller


def _forget() -> None:
    """Empties the caches of the rows: a run is another one with other errors."""
    for name, module in list(sys.modules.items()):
        if name.startswith(__package__):
            for value in vars(module).values():
                if isinstance(value, functools._lru_cache_wrapper):
                    value.cache_clear()
