"""What controllers around a `WholeBodyController` have in common: a guard, a clock of their own, and a look at the
state."""

from __future__ import annotations

from math import isfinite, nan
from typing import TYPE_CHECKING, Any

import numpy as np

from ...algebra.arrays import finite, length
from ...clock import Clock

if TYPE_CHECKING:
    from ...robot import Robot
    from .controller import WholeBodyController
    from .solution import Solution

Array = np.ndarray
UNIT = 1e-6  # largest error of a quaternion's length


class LoopedController:
    """Called with (t, q, v), answers a `Solution` and never raises.

    A wrong time stamp is passed over (see `Clock`). What is no state gets the answer of the whole-body controller,
    which is its fallback; so does an error of our own, with an event and a count.

    Attributes:
        controller: the whole-body controller that answers.
    """

    robot: Robot
    controller: WholeBodyController
    _clock: Clock

    def __repr__(self) -> str:
        name = type(self).__name__.removesuffix("Controller")  # as `equipoise` exports it
        return f"<{name} of {self.robot.name!r}: contacts {', '.join(c.label for c in self.controller.items.contacts)}>"

    def __call__(self, t: float, q: Array, v: Array) -> Solution:
        """One step of control at time t (s) in state (q, v)."""
        return self.controller.guarded(t, lambda: self._answer(t, as_array(q), as_array(v)))

    def _answer(self, t: float, q: Array, v: Array) -> Solution:
        timed = isfinite(self._clock.called(t))
        return self._control(self._clock.now if timed else nan, q, v, timed and is_state(self.robot, q, v))

    def _control(self, t: float, q: Array, v: Array, usable: bool) -> Solution:
        """One step at the clock's time, NaN without a stamp; `usable` says whether time and state are numbers of it."""
        raise NotImplementedError


def is_state(robot: Robot, q: object, v: object) -> bool:
    """Whether q and v are arrays of a state: of the right shapes, finite, with quaternions of unit length."""
    if not (isinstance(q, np.ndarray) and isinstance(v, np.ndarray) and q.dtype.kind == v.dtype.kind == "f"):
        return False
    if q.shape != (robot.nq,) or v.shape != (robot.nv,) or not finite(q, v):
        return False
    return all(abs(length(q[start : start + 4]) - 1) <= UNIT for start in robot.tree.quaternions)


def as_array(given: Any) -> Any:
    """An array of floats where it can be one; what cannot stays as it is, and is no state."""
    if isinstance(given, np.ndarray):
        return given
    try:
        return np.asarray(given, dtype=float)
    except (TypeError, ValueError):
        return given
