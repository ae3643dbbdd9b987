"""Stances as users give them, and the steps that lead from one to the next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto

import numpy as np
from numpy.typing import ArrayLike

from ...errors import EquipoiseError
from ..body_contacts import Place
from .com_plan import CoMPlan

Array = np.ndarray
Posture = ArrayLike | Mapping[str, float] | None  # q, or joints by name


class StanceError(EquipoiseError, ValueError):
    """A stance that cannot be, or that cannot be reached from the one before it."""


@dataclass(frozen=True, eq=False)
class Stance:
    """A set of contacts and a posture at rest on them.

    Args:
        contacts: names of the contacts that carry the robot.
        posture: q; or wanted joints as a mapping, the others as at the start, or None: then it is found.
        name: for reports.
        places: poses (4×4), places of a point (3 numbers) or planes in the world for contacts that are made here or
            move here; the others stay, or are made again where they were made last.
        targets: frames with poses or places that the posture must meet; out of contact they are tracked themselves.
        com: where its centre of mass must be, m; NaN leaves a coordinate free.
        seconds: for the last motion into it, and for all of the way from the stance before in a dynamic motion; None
            takes the time that distance, speed and ankle torques say.
        hold: s, to stay there before going on.
        flight: s in the air on the way into it: `catch` of `Stances` hops from the feet of the stance before it.

    Examples:
        >>> import equipoise as eq
        >>> both = eq.Stance(["left_foot", "right_foot"], name="both feet")
        >>> left = eq.Stance(["left_foot"], targets={"right_foot": [0.0, -0.1, 0.1]}, hold=0.5)
        >>> both.contacts, left.hold
        (['left_foot', 'right_foot'], 0.5)
    """

    contacts: Sequence[str]
    posture: Posture = None
    name: str = ""
    places: Mapping[str, Place] = field(default_factory=dict)
    targets: Mapping[str, ArrayLike] = field(default_factory=dict)
    com: ArrayLike | None = None
    seconds: float | None = None
    hold: float = 0.2
    flight: float = 0.0


class StepKind(Enum):
    """What a step does."""

    MOVE = auto()  # centre of mass, posture, base and tracked frames follow their references
    UNLOAD = auto()  # the largest normal force of contacts goes to zero
    TOUCH = auto()  # tracked frames come to their contacts
    LOAD = auto()  # the largest normal force of contacts grows
    HOP = auto()  # off the ground with all contacts, and back onto them

    @property
    def shifts_load(self) -> bool:
        """Whether force bounds change meanwhile."""
        return self in (StepKind.UNLOAD, StepKind.LOAD)


@dataclass(frozen=True, eq=False)
class StepTiming:
    """When a step of a dynamic motion takes place.

    Args:
        motion: plan of the centre of mass for all steps of the motion.
        begins, ends: s on the motion's clock; the same where a stance is only passed.
        passes: whether the motion goes on at its end, without a rest.
    """

    motion: CoMPlan
    begins: float
    ends: float
    passes: bool

    @property
    def seconds(self) -> float:
        """How long it takes."""
        return self.ends - self.begins


@dataclass(frozen=True, eq=False)
class Step:
    """One step of the way.

    Args:
        kind: what it does.
        q: posture to go to.
        contacts: in force meanwhile.
        changed: contacts that are unloaded, touched or loaded.
        stance: index of the stance it leads to.
        arrives: whether it completes that stance.
        seconds: for the motion; None takes what distance and speed say. Of a hop: in the air.
        hold: s, to stay at its end.
        timing: in a dynamic motion; None where each step is from rest to rest.
    """

    kind: StepKind
    q: Array
    contacts: frozenset[str]
    changed: frozenset[str]
    stance: int
    arrives: bool = False
    seconds: float | None = None
    hold: float = 0.0
    timing: StepTiming | None = None


@dataclass(frozen=True, eq=False)
class Planned:
    """A stance with all it needs."""

    name: str
    contacts: frozenset[str]
    q: Array
    way: tuple[Step, ...]  # from the stance before
    back: tuple[Step, ...]  # the end of a way back to this stance, with only what is kept in force
    rests: bool = False  # whether its centre of mass was given, so that no motion goes on through it

    @property
    def hops(self) -> bool:
        """Whether the way into it is a hop."""
        return bool(self.way) and self.way[0].kind is StepKind.HOP

    def staying(self, k: int) -> Step:
        """The motion of a robot that is at this stance, which is the k-th, or should be."""
        return Step(StepKind.MOVE, self.q, self.contacts, frozenset(), k, True)

    def way_back(self, k: int, in_force: frozenset[str]) -> list[Step]:
        """Steps that lead back to this stance, the k-th, with some contacts in force."""
        if self.contacts <= in_force or not self.back:
            return [self.staying(k)]
        return [step for step in self.back if step.kind is StepKind.MOVE or not step.changed <= in_force]
