"""From steps at rest to steps in motion: phases and times of the contacts, and a plan of the centre of mass for them.

A motion goes from one stance at which the robot rests (`hold`, a given `com`, or the end) to the next. Its times are
those that frames and joints need at the pace of the stances; where both feet carry, the shortest of a few for which
there is a plan. A contact that is loaded or unloaded counts as none: what it gives is a reserve.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import sqrt
from typing import TYPE_CHECKING

import numpy as np

from ...balance.contact_wrenches import ContactWrenches, contact_wrenches
from ..contacts import Contact
from ..item import at_first
from .capture import LOWEST
from .com_plan import NOTHING, CoMPlan, Phase
from .com_program import plan_com
from .places import middle, touching_points
from .stance import Planned, Step, StepKind, StepTiming

if TYPE_CHECKING:
    from ...robot import Robot

Array = np.ndarray
# parts of the contacts' size, from their middles, and of their friction: that plans count on, and after a push
ROOM, GRIP = (0.7, 0.95), (0.8, 1.0)
SQUEEZE = 3.0  # weights: what contacts bear in all
SHIFT = 0.6  # 1/ω: the shortest time in which weight goes to other contacts
LOADING = 0.3  # 1/ω: in which load goes to or from a contact, at most
SLACK = 0.05  # s, for a contact to be made after its time
LONGEST = 60.0  # s of a plan: knots are so near that the time to find it grows with the third power
PACES = (1.0, 1.3, 1.7, 2.2, 3.0, 4.0)  # times by these, until there is a plan


@dataclass(frozen=True, eq=False)
class DynamicMotions:
    """Makes plans for the steps of stances.

    Args:
        pace: s, that frames and joints need for a step from a posture, as `Tracker.pace_time`.
        load_time: s, in which load goes to or from a contact where nothing hurries.
    """

    robot: Robot
    contacts: Mapping[str, Contact]
    pace: Callable[[Step, Array], float]
    load_time: float

    def timed(self, plan: Sequence[Planned]) -> tuple[list[Planned], list[tuple[str, str]]]:
        """The same stances with times where there is a plan, and (stance, reason) of motions without."""
        ways: list[list[Step]] = [list(stance.way) for stance in plan]
        refused: list[tuple[str, str]] = []
        for first, last in motions_of(plan):
            steps = [step for way in ways[first : last + 1] for step in way]
            made, why = self._motion(steps, plan[first - 1].q)
            if not made:
                refused.append((plan[last].name, why))
                continue
            for k in range(first, last + 1):
                ways[k], made = made[: len(ways[k])], made[len(ways[k]) :]
        return [replace(stance, way=tuple(way)) for stance, way in zip(plan, ways, strict=True)], refused

    def _motion(self, steps: list[Step], q: Array) -> tuple[list[Step], str]:
        """The steps with their times; or none, and why."""
        com = self.robot.com(q)
        down = np.asarray(self.robot.model.gravity, dtype=float)
        if abs(down[0]) + abs(down[1]) > 1e-9 or not down[2] < 0:
            return [], "gravity is not along −z"
        if not self._height(steps[0], com) > LOWEST:
            return [], "the centre of mass is not above its contacts"
        rate, reasons = sqrt(-down[2] / self._height(steps[0], com)), []
        for pace in PACES:
            times, why = self._times(steps, q, rate, pace)
            if not why and sum(times) > LONGEST:
                why = f"it takes {sum(times):.3g} s, and a plan {LONGEST:g} s at most; rest in between (hold)"
            if why:
                return [], why
            found = plan_com(self._phases(steps, times), np.stack([com, np.zeros(3)]), -float(down[2]))
            if found.converged:
                return _clocked(steps, times, found), ""
            reasons.append(found.reason)
        return [], reasons[-1]

    def _height(self, step: Step, com: Array) -> float:
        return float(com[2]) - self._ground(step.q, step.contacts)

    def _ground(self, q: Array, names: Iterable[str]) -> float:
        """m, of the lowest point that carries."""
        return min(float(self._points(q, name)[:, 2].min()) for name in names)

    def _points(self, q: Array, name: str) -> Array:
        contact = self.contacts[name]
        return touching_points(contact, self.robot.pose(q, contact.frame))

    # --- times --------------------------------------------------------------------------------------------------------

    def _times(self, steps: list[Step], q: Array, rate: float, pace: float) -> tuple[list[float], str]:
        """(s of each step, why there are none). A stance with `seconds` of its own takes just those for its way."""
        times: list[float] = []
        begin = 0
        for k, step in enumerate(steps):
            times.append(self._time(step, q, rate, pace, _passes_by(steps, k)))
            q = step.q
            if step.arrives:
                given = step.seconds
                if given is not None:
                    fitted, needed = _fitted(steps[begin : k + 1], times[begin:], given)
                    if not fitted:
                        why = f"has {given:.2f} s, and needs more than {needed:.2f} s at the pace of its frames"
                        return [], f"the way to stance {step.stance} {why}"
                    times[begin:] = fitted
                begin = k + 1
        return times, ""

    def _time(self, step: Step, q: Array, rate: float, pace: float, by: bool) -> float:
        if step.kind.shifts_load:
            return min(self.load_time, LOADING / rate)
        if step.kind is StepKind.TOUCH:
            return SLACK
        if by:
            return 0.0
        needed = self.pace(step, q)
        return needed if step.changed else pace * max(needed, SHIFT / rate)

    # --- phases -------------------------------------------------------------------------------------------------------

    def _phases(self, steps: list[Step], times: list[float]) -> list[Phase]:
        made = []
        for step, seconds in zip(steps, times, strict=True):
            if seconds < NOTHING:
                continue
            carrying = step.contacts - (step.changed if step.kind.shifts_load else frozenset())
            com = self.robot.com(step.q)
            name = f"{step.kind.name.lower()} on {', '.join(sorted(carrying))}"
            planned, whole = (self._wrenches(step.q, carrying, com, *parts) for parts in zip(ROOM, GRIP, strict=True))
            made.append(Phase(name, seconds, planned, whole, com, self._ground(step.q, carrying)))
        return made

    def _wrenches(self, q: Array, names: Iterable[str], origin: Array, room: float, grip: float) -> ContactWrenches:
        """What the contacts give together."""
        weight = float(self.robot.mass * np.linalg.norm(self.robot.model.gravity))
        points, edges, largest = [], [], []
        for name in sorted(names):
            contact = self.contacts[name]
            X = self.robot.pose(q, contact.frame)
            centre, pyramid = middle(contact, X), contact.pyramid(grip * float(at_first(contact.friction)))
            corners = centre + room * (self._points(q, name) - centre)
            points.append(corners)
            edges.append(np.tile(pyramid @ contact.surface_axes(X).T, (len(corners), 1, 1)))
            largest.append(np.full(len(corners), min(SQUEEZE, contact.force_bounds[1] / weight)))
        return contact_wrenches(np.concatenate(points), np.concatenate(edges), np.concatenate(largest), origin)


def motions_of(plan: Sequence[Planned]) -> list[tuple[int, int]]:
    """(first, last) stance of each motion from rest to rest; hops begin at rest and end so, and are none of them."""
    found, first, last = [], 1, len(plan) - 1
    for k in range(1, len(plan)):
        if plan[k].way[-1].hold > 0 or plan[k].rests or k == last or plan[k].hops or plan[k + 1].hops:
            if not plan[k].hops:
                found.append((first, k))
            first = k + 1
    return found


def _passes_by(steps: list[Step], k: int) -> bool:
    """Whether a step only leads to a stance that the motion goes through: contacts were made, the next ones wait."""
    return steps[k].arrives and 0 < k < len(steps) - 1 and steps[k - 1].kind is StepKind.LOAD


def _fitted(steps: Sequence[Step], times: Sequence[float], seconds: float) -> tuple[list[float], float]:
    """Times that are `seconds` in all: all of them longer, or those shorter in which no frame goes to a contact; none
    where that is not enough. And s, that the others need."""
    total = sum(times)
    free = [step.kind is StepKind.MOVE and not step.changed for step in steps]
    spare = sum(time for time, is_free in zip(times, free, strict=True) if is_free)
    if seconds >= total:
        return [seconds / total * time for time in times], total - spare
    left = seconds - (total - spare)
    if not left > 0:
        return [], total - spare
    return [left / spare * time if is_free else time for time, is_free in zip(times, free, strict=True)], total - spare


def _clocked(steps: list[Step], times: list[float], plan: CoMPlan) -> list[Step]:
    ends = np.cumsum(times).tolist()
    last = len(steps) - 1
    return [
        replace(step, timing=StepTiming(plan, end - seconds, end, k < last))
        for k, (step, seconds, end) in enumerate(zip(steps, times, ends, strict=True))
    ]
