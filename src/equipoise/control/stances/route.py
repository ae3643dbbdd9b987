"""The way through the planned stances: what is done, what is under way, what comes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from .stance import Planned, Step, StepKind


class Route:
    """All steps of a plan, and how far it is gone.

    Attributes:
        step: under way, None between two. since: s, when it began.
        queue: steps that come.
        reached: index of the last stance that was reached.
        returning: whether it goes back to that one.
    """

    step: Step | None
    since: float
    queue: list[Step]
    reached: int
    returning: bool

    def __init__(self, plan: Sequence[Planned]) -> None:
        self.plan = plan
        self.reset()

    def reset(self) -> None:
        """To the beginning."""
        self.queue = [step for planned in self.plan for step in planned.way]
        self.step, self.since, self.reached, self.returning, self._passed = None, 0.0, 0, False, 0

    @property
    def steps(self) -> int:
        """How many in all."""
        return sum(len(planned.way) for planned in self.plan)

    @property
    def progress(self) -> float:
        """Part of them that is done, 0 to 1."""
        return self._passed / max(self.steps, 1)

    @property
    def stance(self) -> Planned:
        """The last one that was reached."""
        return self.plan[self.reached]

    @property
    def shifting(self) -> frozenset[str]:
        """Contacts whose load the present step changes."""
        return self.step.changed if self.step is not None and self.step.kind.shifts_load else frozenset()

    @property
    def goal(self) -> Step:
        """The motion that the present step, or the stance reached, wants."""
        step = self.step
        if step is None:
            return self.stance.staying(self.reached)
        if step.kind is StepKind.MOVE:
            return step
        return replace(step, kind=StepKind.MOVE, changed=frozenset(), arrives=False)

    def end_step(self) -> Step | None:
        """The step that was under way; its stance is reached if it leads there."""
        step, self.step = self.step, None
        if step is not None:
            self._passed += not self.returning
            self.reached = step.stance if step.arrives else self.reached
        return step

    def make_again(self, contact: str, in_force: frozenset[str]) -> None:
        """Touch with a contact that was lost and load it, then go on."""
        goal, lost = self.goal, frozenset({contact})
        made = [Step(kind, goal.q, in_force, lost, goal.stance) for kind in (StepKind.TOUCH, StepKind.LOAD)]
        self.queue[:0] = [*made, goal]
        self.step, self._passed = None, self._passed - 2

    def drop_times(self) -> bool:
        """What comes goes from rest to rest, up to the next rest that was planned; whether there was another plan."""
        steps = [self.step, *self.queue]
        motion = next((step.timing.motion for step in steps if step is not None and step.timing is not None), None)
        for k, step in enumerate(self.queue):
            if step.timing is not None and step.timing.motion is motion:
                self.queue[k] = replace(step, timing=None)
        if self.step is not None:
            self.step = replace(self.step, timing=None)
        return motion is not None

    def turn_back(self, in_force: frozenset[str]) -> None:
        """To the last stance that was reached."""
        self.returning, self.step, self.queue = True, None, self.stance.way_back(self.reached, in_force)

    def stop(self) -> None:
        """Nothing more comes."""
        self.queue, self.step = [], None
