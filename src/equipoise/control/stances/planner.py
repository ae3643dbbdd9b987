"""From a list of stances to the steps that lead from one to the next.

Between stances A and B some contacts stay. The robot first goes to a posture in which those alone carry it while the
others still touch; then load is taken from those, they let go, and their frames move; at a posture in which the new
ones touch and still nothing depends on them, load is given to them; last comes the posture of B. [BK12, Sec. VI] walks
static postures in this way; each of these is one, found by `find_posture`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import unknown_name
from ..contacts import Contact
from .places import moved
from .postures import find_posture
from .stance import Planned, Stance, StanceError, Step, StepKind

if TYPE_CHECKING:
    from ...robot import Robot

Array = np.ndarray
SAME_PLACE = 0.005  # m; a contact nearer to where it was is the same
SAME_TURN = 0.03  # rad


@dataclass(frozen=True, eq=False)
class Planner:
    """Finds the postures of a sequence."""

    robot: Robot
    contacts: Mapping[str, Contact]
    options: Mapping[str, Any]  # of find_posture

    def plan(self, stances: Sequence[Stance], start: Array | None) -> list[Planned]:
        """All stances with the steps between them; raises with the reason where there is no way."""
        if not stances:
            raise StanceError("a sequence of stances has one or more; got none")
        if stances[0].flight:
            raise StanceError(
                "the first stance is where the robot starts: no hop leads into it; give flight to another"
            )
        done, made = list[Planned](), dict[str, Array]()
        first = q = self.robot.standing() if start is None else np.asarray(start, dtype=float)
        for k, stance in enumerate(stances):
            self._check(stance)
            here = self._posture(stance, k, q, first, made)
            name = stance.name or f"stance {k}"
            contacts = frozenset(stance.contacts)
            way, back = self._way(done[-1], stance, contacts, here, k) if done else ((), ())
            if done:
                done[-1] = replace(done[-1], back=back)
            done.append(Planned(name, contacts, here, way, (), stance.com is not None))
            made |= {contact: self._pose(here, contact) for contact in contacts}
            q = here
        return done

    def _check(self, stance: Stance) -> None:
        for name in [*stance.contacts, *stance.places]:
            if name not in self.contacts:
                raise unknown_name("contact", name, self.contacts)
        if not stance.contacts:
            raise StanceError(f"stance {stance.name!r} has no contact; nothing would carry the robot")
        if stance.seconds is not None and not (isinstance(stance.seconds, Real) and 0 < stance.seconds < np.inf):
            raise StanceError(
                f"stance {stance.name!r}: seconds is how long the motion into it takes, positive and finite, or None "
                f"for what distance and speed say; got {stance.seconds!r}"
            )
        if not (isinstance(stance.flight, Real) and 0 <= stance.flight < np.inf):
            raise StanceError(
                f"stance {stance.name!r}: flight is how long the hop into it is in the air, s; got {stance.flight!r}"
            )
        if not (isinstance(stance.hold, Real) and stance.hold >= 0):
            raise StanceError(f"stance {stance.name!r}: hold is how long to stay, s, not negative; got {stance.hold!r}")

    def _posture(self, stance: Stance, k: int, before: Array, wanted: Array, made: Mapping[str, Array]) -> Array:
        """The posture of a stance, found where it is not given; `made`: where contacts were made last."""
        if isinstance(stance.posture, np.ndarray | list | tuple):
            q = np.array(stance.posture, dtype=float)
            if q.shape != (self.robot.nq,):
                raise StanceError(
                    f"stance {stance.name or k!r}: a posture is q of {self.robot.nq} numbers; got shape {q.shape}"
                )
            return q
        places = {name: made[name] if name in made else self._pose(before, name) for name in stance.contacts}
        at = {self.contacts[name]: stance.places.get(name, places[name]) for name in stance.contacts}
        if isinstance(stance.posture, Mapping):
            wanted = wanted.copy()
            for name, position in stance.posture.items():
                if name not in self.robot.joints:
                    raise unknown_name("joint", name, self.robot.joints)
                wanted[self.robot.joints[name].q] = position
        more = {"start": before, "com": stance.com}
        return self._found(stance.name or f"stance {k}", at, dict(stance.targets), wanted, **more)

    def _found(
        self, what: str, at: Mapping[Contact, Any], targets: Mapping[str, Any], wanted: Array, **more: Any
    ) -> Array:
        result = find_posture(self.robot, at, targets, posture=wanted, **{"start": wanted, **self.options, **more})
        if not result.converged:
            raise StanceError(f"{what}: {result.reason}")
        return result.q

    def _pose(self, q: Array, contact: str) -> Array:
        return self.robot.pose(q, self.contacts[contact].frame)

    def _moved(self, a: Array, b: Array, name: str) -> bool:
        """Whether a contact that both postures have is at another place."""
        distance, angle = moved(self.contacts[name], self._pose(a, name), self._pose(b, name))
        return distance > SAME_PLACE or angle > SAME_TURN

    def _way(
        self, before: Planned, stance: Stance, contacts: frozenset[str], q: Array, k: int
    ) -> tuple[tuple[Step, ...], tuple[Step, ...]]:
        """(steps from one stance to the next, steps that end a way back)."""
        shifted = {name for name in before.contacts & contacts if self._moved(before.q, q, name)}
        carrying = (before.contacts & contacts) - shifted
        leaving, coming = before.contacts - carrying, contacts - carrying
        if stance.flight and (leaving or coming):
            raise StanceError(
                f"{stance.name or k!r} is reached by a hop, which lands on the contacts that it left; "
                f"{', '.join(sorted(leaving | coming))} would be elsewhere: put another stance before it or after it"
            )
        if not carrying:
            raise StanceError(
                f"between {before.name!r} and {stance.name or k!r} no contact stays where it is; put a stance in "
                "between"
            )
        what = f"on the way from {before.name!r} to {stance.name or k!r}"
        steps = [Step(StepKind.HOP, before.q, contacts, frozenset(), k, seconds=stance.flight)] if stance.flight else []
        back: list[Step] = []
        if leaving:
            q_leave = self._between(
                f"{what}, carried by {', '.join(sorted(carrying))} alone", carrying, leaving, before.q
            )
            steps += [
                Step(StepKind.MOVE, q_leave, before.contacts, frozenset(), k),
                Step(StepKind.UNLOAD, q_leave, before.contacts, leaving, k),
            ]
            back += self._made(q_leave, carrying, leaving, k - 1)
        if coming:
            q_arrive = self._between(f"{what}, before {', '.join(sorted(coming))} carry", carrying, coming, q)
            steps += self._made(q_arrive, carrying, coming, k)
        steps.append(Step(StepKind.MOVE, q, contacts, frozenset(), k, True, stance.seconds, stance.hold))
        back.append(Step(StepKind.MOVE, before.q, before.contacts, frozenset(), k - 1, True))
        return tuple(steps), tuple(back)

    @staticmethod
    def _made(q: Array, carrying: frozenset[str], coming: frozenset[str], k: int) -> list[Step]:
        """The steps that make contacts at a posture."""
        return [Step(kind, q, carrying, coming, k) for kind in (StepKind.MOVE, StepKind.TOUCH, StepKind.LOAD)]

    def _between(self, what: str, carrying: frozenset[str], touching: frozenset[str], q: Array) -> Array:
        """A posture near q, carried by `carrying`, with the other contacts where they are at q."""
        at, light = (
            {self.contacts[name]: self._pose(q, name) for name in sorted(names)} for names in (carrying, touching)
        )
        return self._found(what, at, {}, q, touching=light)
