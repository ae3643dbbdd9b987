"""Steps that catch, and hops: where soles no longer hold a robot that stands on its feet, or a stance is reached
through the air, `Stances` hands it to a walker."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import TYPE_CHECKING, Protocol

import numpy as np

from .stance import Planned, StanceError

if TYPE_CHECKING:
    from ...robot import Robot
    from ..contacts import Contact
    from ..controller.solution import Solution

Array = np.ndarray
REST = 1.0  # s, for which it has stood before the steps count as done


class Catcher(Protocol):
    """What steps and hops: `eq.Walking` of the same robot."""

    robot: Robot

    @property
    def mode(self) -> str: ...

    @property
    def contacts(self) -> Sequence[Contact]: ...

    def reset(self) -> None: ...

    def forget_commands(self) -> object: ...

    def hop(self, seconds: float) -> object: ...

    def observe(self, wrenches: Mapping[str, Array]) -> None: ...

    def leaves(self, t: float, q: Array, v: Array) -> bool: ...

    def __call__(self, t: float, q: Array, v: Array) -> Solution: ...


class Catching:
    """Watches while the feet alone carry, and steps when the capture point leaves them.

    Args:
        catcher: that steps; None: nobody does. robot, contacts: of the stances; its feet must be among them by name.

    Attributes:
        acts: whether it has taken over; it does not give back, since the stances were planned for other places.
        hops: whether it hops; from there the stances go on. flew: whether it got off the ground.
        rests: whether its steps or its hop are done and the robot stands.
    """

    hops = False

    def __init__(self, catcher: Catcher | None, robot: Robot, contacts: Mapping[str, Contact]) -> None:
        self.catcher = catcher
        if catcher is not None:
            self._require(catcher, robot, contacts)
        self.feet = frozenset(() if catcher is None else (contact.label for contact in catcher.contacts))
        self.reset()

    @staticmethod
    def _require(catcher: Catcher, robot: Robot, contacts: Mapping[str, Contact]) -> None:
        if list(catcher.robot.joints) != list(robot.joints):
            raise StanceError("what catches has other joints than the robot: make both of one body, walker.robot")
        missing = [c.label for c in catcher.contacts if c.label not in contacts]
        if missing:
            told = f"contacts {', '.join(contacts)} lack {', '.join(missing)}"
            raise StanceError(f"what catches steps with feet that no stance knows: {told}; give contacts=walker.body")

    def require_hops(self, plan: Sequence[Planned]) -> None:
        """Raise where a stance is reached through the air, and nobody can hop there."""
        for stance in plan:
            if stance.hops and (self.catcher is None or len(self.feet) != 2 or stance.contacts != self.feet):
                raise StanceError(
                    f"{stance.name!r} is reached by a hop: that takes catch=eq.Walking(robot) with two feet, and those "
                    f"alone as contacts; got {', '.join(sorted(stance.contacts))}"
                )

    def reset(self) -> None:
        """Forget all."""
        if self.catcher is not None:
            if self.hops:
                self.catcher.forget_commands()
            self.catcher.reset()
        self.acts = self.hops = self.flew = self.rests = self._watches = False
        self._since = 0.0

    def observe(self, wrenches: Mapping[str, Array]) -> None:
        """Measured contact wrenches, for the steps."""
        if self.catcher is not None:
            self.catcher.observe({name: wrench for name, wrench in (wrenches or {}).items() if name in self.feet})

    def begins(self, t: float, q: Array, v: Array, in_force: frozenset[str]) -> bool:
        """Whether it must step now: the feet alone carry, and the capture point leaves them."""
        if self.catcher is None or self.acts:
            return False
        watched, self._watches = self._watches, in_force == self.feet
        if not self._watches:
            return False
        if not watched:  # feet may stand elsewhere than the last time
            self.catcher.reset()
        self.acts, self._since = self.catcher.leaves(t, q, v), t
        return self.acts

    def hop(self, t: float, seconds: float) -> None:
        """Take over for a hop from a stand, so long in the air (s)."""
        assert self.catcher is not None
        self.catcher.reset()
        self.catcher.forget_commands()
        self.catcher.hop(seconds)
        self.hops, self.flew, self._since = True, False, t

    def give_back(self) -> None:
        """The hop is over: the stances go on."""
        self.hops = self.rests = self._watches = False

    def __call__(self, t: float, q: Array, v: Array) -> Solution:
        """One step of control while it acts or hops."""
        assert self.catcher is not None
        solution = self.catcher(t, q, v)
        self.flew = self.flew or self.catcher.mode == "flight"
        if self.catcher.mode != "stand" and isfinite(t):
            self._since = t
        self.rests = t - self._since >= REST
        return solution
