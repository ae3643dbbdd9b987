"""The references of a machine over contacts, and how its controller follows them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from ...algebra.arrays import length
from ..contacts import Contact
from ..controller.controller import WholeBodyController
from ..item import Numbers
from .capture import support_of
from .com_plan import Course
from .com_program import replan_com
from .construction import BASE, COM, POSTURE, tracked_label
from .references import PEAK, PoseTrajectory, StanceReference
from .stance import Planned, StanceError, Step, StepKind

if TYPE_CHECKING:
    from ...robot import Robot

Array = np.ndarray
SMALL_STEP = 0.03  # m: a shorter way from contact to contact needs no lift
DESCENT, QUICK = 0.05, 0.15  # m/s, of a frame that looks for the ground: at rest, and in motion
SEARCH = 0.05  # m, how far
SETTLE = 0.05  # s, by which a motion is expected to end late
BRIEF = 0.1  # s, at least for postures and frames to get to where a step of a dynamic motion has them
LATE = 0.01  # s, by which a contact may be made after its time and a plan still counts
TOUCHES = 0.1  # s, in which contacts are expected to be made
HOPPING = 5.0  # s, in which a hop goes down before and comes up after its flight


@dataclass(frozen=True)
class Pace:
    """How fast references go.

    Args:
        com: largest speed of the centre of mass, m/s.
        frames: of frames, m/s.
        joints: of joints, rad/s.
        clearance: m, by which a frame is lifted between contacts.
        shortest: s of a motion.
        dt: s of a step of control.
    """

    com: float
    frames: float
    joints: float
    clearance: float
    shortest: float
    dt: float


def limb_of(robot: Robot, frame: str) -> int:
    """Returns the body where a frame's limb begins: the first, from the frame on, that has a sibling or no parent."""
    parents = [body.parent for body in robot.tree.bodies]
    line = robot.tree.ancestors(robot.place(frame)[0])
    return next((i for i in line if parents[i] < 0 or parents.count(parents[i]) > 1), -1)


class Tracker:
    """Where the centre of mass, the posture, the base and tracked frames should be; the controller is told.

    Args:
        frames: that may be tracked, by name.
        weight: of the task of a frame while it is tracked.
    """

    def __init__(
        self,
        robot: Robot,
        controller: WholeBodyController,
        contacts: Mapping[str, Contact],
        frames: Mapping[str, str],
        pace: Pace,
        weight: float,
    ) -> None:
        self.robot, self.controller, self.contacts = robot, controller, contacts
        self.frames, self.pace, self.weight = frames, pace, weight
        self._limbs = {name: limb_of(robot, frame) for name, frame in frames.items()}
        self.targets: dict[str, Array] = {}  # of tracked frames
        self.offset = np.zeros(3)  # how far slips carried the robot from its plan
        self.reference: StanceReference | None = None
        self.course: Course | None = None  # of the dynamic motion under way

    def reset(self, q: Array) -> None:
        """Nothing is tracked; q is where frames are."""
        self.targets, self.offset, self.reference, self.course = {}, np.zeros(3), None, None
        for name in self.frames:
            self.release(name, q)

    def begin(self, t: float, q: Array, to: Array) -> None:
        """The first references: from q to a posture, the centre of mass where it is."""
        com = self.robot.com(q)
        self.reference = StanceReference(self.robot, t, 1e-3, q, to, com, com, {})
        self.controller.set_target(COM, lambda t: self.now.com_numbers(t))
        self.controller.set_target(POSTURE, lambda t: self.now.posture_numbers(t))
        if self.robot.base_link is not None:
            self.controller.set_target(BASE, lambda t: self.now.pose_numbers(self.now.base, t))

    @property
    def now(self) -> StanceReference:
        """The references in force."""
        if self.reference is None:
            raise StanceError("the machine has not been called yet")
        return self.reference

    def pose(self, q: Array, name: str) -> Array:
        """Of a contact's frame, or of a tracked frame, 4×4."""
        return self.robot.pose(q, self.frames[name])

    def com_error(self, t: float, q: Array) -> float:
        """Distance of the centre of mass from its reference, m."""
        return length(self.robot.com(q) - self.now.com_at(t)[0])

    def follow(self, t: float, q: Array, step: Step, more: Iterable[str] = (), from_here: bool = False) -> None:
        """New references that lead to the posture of a step.

        Args:
            more: names of frames to track beside those that the step moves and those that are tracked already.
            from_here: whether references start at q, where the robot was pushed to; else where they are now.
        """
        if step.timing is not None and step.timing.seconds == 0:
            return  # a stance that the motion only passes: what comes leads on
        used = set() if from_here else {self._limbs[name] for name in step.contacts | step.changed}
        for name in sorted(self.targets.keys() - step.changed - set(more)):
            if self._limbs[name] in used:  # two references for one limb contradict each other on the way
                self.release(name, q)
        for name in sorted({*step.changed, *self.targets, *more}):
            self.targets[name] = self.pose(step.q, name)
        old, com_to = self.now, self.robot.com(step.q) + self.offset
        q_from = q if from_here else old.posture_at(t)
        com = self.robot.com(q) if from_here else old.com_at(t)[0]
        frames = {name: self._trajectory(t, q, name, step, from_here) for name in self.targets}
        self.course = self._course_of(t, step)
        left = self.ends_at(step, t) - t
        T = self.time(step, q_from, com, com_to) if self.course is None else max(left, BRIEF)
        self._refer(StanceReference(self.robot, t, T, q_from, step.q, com, com_to, frames, self.course))

    def stay(self, t: float, q: Array) -> None:
        """References where the robot is, from rest; what is tracked stays there too."""
        com, self.course = self.robot.com(q), None
        self.targets = {name: self.pose(q, name) for name in self.targets}
        frames = {name: PoseTrajectory(X, X, np.zeros(3)) for name, X in self.targets.items()}
        self._refer(StanceReference(self.robot, t, self.pace.dt, q, q, com, com, frames))

    def _refer(self, reference: StanceReference) -> None:
        """From now on."""
        self.reference = reference
        for name in reference.frames:
            self.controller.set_weight(tracked_label(name), self.weight)
            self.controller.set_target(tracked_label(name), partial(self._tracked, name))

    # --- dynamic motions ----------------------------------------------------------------------------------------------

    def _course_of(self, t: float, step: Step) -> Course | None:
        """The plan that a step follows: the one under way, or its own from now on."""
        timing, course = step.timing, self.course
        if timing is None:
            return None
        if course is None or course.motion is not timing.motion:
            start = t - timing.begins
            return Course(timing.motion, start, timing.motion, start, self.offset)
        return replace(course, offset=self.offset)

    def ends_at(self, step: Step, since: float, usual: float = 0.0) -> float:
        """When a step that began at `since` (s) ends; it takes `usual` where it has no time of its own. A contact is
        loaded for as long as planned, whenever it was made."""
        if step.timing is None or self.course is None:
            return since + usual
        on_time = self.course.start + step.timing.ends
        return since + step.timing.seconds if step.kind is StepKind.LOAD else max(on_time, since + self.pace.dt)

    def part_of(self, t: float, step: Step, since: float, usual: float) -> float:
        """The part of such a step that is over at time t, 0 to 1."""
        return min((t - since) / (self.ends_at(step, since, usual) - since), 1.0)

    def replan(self, t: float, motion: Array, begins: float | None = None) -> str:
        """Another plan from a place and velocity of the centre of mass (2, 3) on; answers what came of it, in words.

        Args:
            begins: s on the motion's clock, which is set to it; where not given the clock goes on.
        """
        course = self.course
        if course is None:
            return ""
        start = course.start if begins is None else t - begins
        at = t - course.since - (start - course.start)
        if course.plan.seconds - at < self.pace.dt:
            return ""  # it is at its end
        plan = replan_com(course.plan, at, motion - [course.offset, np.zeros(3)])
        if plan.converged:
            self.course = replace(course, start=start, plan=plan, since=t)
            self.reference = replace(self.now, course=self.course)
        return "it is followed from here" if plan.converged else f"there is none from here, {plan.reason}"

    def made(self, t: float, step: Step) -> str:
        """A contact was made: where that was late, what comes is later by as much; answers as `replan`."""
        if step.timing is None or self.course is None:
            return ""
        late = t - self.course.start - step.timing.begins
        return self.replan(t, self.now.com_at(t)[:2], step.timing.begins) if late > LATE else ""

    def _tracked(self, name: str, t: float) -> Numbers:
        """Where a frame should be at time t."""
        return self.now.pose_numbers(self.now.frames[name], t)

    def _trajectory(self, t: float, q: Array, name: str, step: Step, from_here: bool) -> PoseTrajectory:
        """Of a tracked frame: lifted off its surface where it goes from contact to contact."""
        old, to = self.now, self.targets[name].copy()
        X = old.frame_at(name, t) if name in old.frames and not from_here else self.pose(q, name)
        to[:3, 3] += self.offset
        far = name in step.changed and length(to[:3, 3] - X[:3, 3]) > SMALL_STEP
        return PoseTrajectory(X, to, self.pace.clearance * self.contacts[name].normal_at(to) if far else np.zeros(3))

    def hold(self, t: float, q: Array, com_to: Array) -> None:
        """Stay in the posture q with the centre of mass brought to a place (m) within a second; frames are tracked no
        longer."""
        for name in tuple(self.targets):
            self.release(name, q)
        self.course = None
        self.reference = StanceReference(self.robot, t, 1.0, q, q, self.robot.com(q), com_to, {})

    def release(self, name: str, q: Array) -> None:
        """Track a frame no longer."""
        self.targets.pop(name, None)
        self.controller.set_weight(tracked_label(name), 0.0)
        self.controller.set_target(tracked_label(name), self.pose(q, name))

    def descend(self, t: float, name: str) -> None:
        """A tracked frame looks for the ground below its place."""
        trajectory = self.now.frames[name]
        if trajectory.since > t:
            speed = DESCENT if self.course is None else QUICK
            down = -speed * self.contacts[name].normal_at(trajectory.Y)
            self.now.frames[name] = replace(trajectory, descent=down, since=t, until=t + SEARCH / speed)

    def time(self, step: Step, q: Array, com: Array, com_to: Array) -> float:
        """How long the motion of a step takes from q, s: no faster than its pace, and than ankles can shift the
        weight."""
        if step.seconds is not None:
            return max(step.seconds, self.pace.dt)
        support = support_of(
            self.robot, self.contacts, ((name, self.pose(step.q, name)) for name in sorted(step.contacts))
        )
        ankles = 0.0 if support is None else support.shortest_time(com, com_to)
        return max(PEAK * length(com_to - com) / self.pace.com, ankles, self.pace_time(step, q))

    def pace_time(self, step: Step, q: Array) -> float:
        """What frames and joints need for a step from q, s."""
        joints = np.abs(self.robot.difference(q, step.q)[6 if self.robot.floating else 0 :]).max(initial=0.0)
        way = max(
            (length(self.pose(q, name)[:3, 3] - self.pose(step.q, name)[:3, 3]) for name in step.changed), default=0.0
        )
        if way > SMALL_STEP:
            way += 2 * self.pace.clearance
        moves = PEAK * max(way / self.pace.frames, float(joints) / self.pace.joints)
        return max(moves, 10 * self.pace.dt, self.pace.shortest)

    def seconds(self, plan: Sequence[Planned], load_time: float) -> float:
        """How long a plan should take, s, with `load_time` for load to go to or from a contact."""
        q, total = plan[0].q, 0.0
        for step in (step for stance in plan for step in stance.way):
            if step.timing is not None:
                total += step.timing.seconds + (0.0 if step.timing.passes else SETTLE + step.hold)
            elif step.kind.shifts_load:
                total += load_time
            elif step.kind is StepKind.TOUCH:
                total += TOUCHES
            elif step.kind is StepKind.HOP:
                total += HOPPING + (step.seconds or 0.0)
            else:
                total += self.time(step, q, self.robot.com(q), self.robot.com(step.q)) + SETTLE + step.hold
            q = step.q
        return total
