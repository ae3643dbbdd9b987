"""A state machine over contact sets: `Stances` walks a sequence of them on one whole-body controller.

    walk = eq.Stances(robot, [both_feet, left_foot_alone, both_feet], contacts)
    run = eq.simulate(robot, walk, q0=walk.q0, duration=walk.seconds)

Load is shifted before a contact is released and after one is made; what ends a step is an event: the centre of mass
arrived, a contact was made, a force vanished, or time ran out. A contact that is lost is made again, a stance that
cannot be reached is given up for the one before it, and where neither helps the robot is held with damping.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ...algebra.arrays import length
from ...body.body import Body
from ...clock import Clock
from ..body_contacts import named_contacts
from ..constraints import Constraint
from ..contacts import Contact
from ..controller.controller import WholeBodyController
from ..controller.looped import LoopedController
from ..controller.solution import Solution
from ..tasks import Task
from .anchors import Anchors
from .catching import Catcher, Catching
from .construction import FRAMES, make_controller, task_weights, tracked_frames
from .contact_forces import PATIENCE, ContactForces, damped
from .dynamic import DynamicMotions
from .events import ENDINGS, EventKind, EventLog, Outcome, Reason
from .initial_state import tell_contacts_off
from .planner import Planner
from .progress import Progress
from .route import Route
from .stance import Stance, Step, StepKind
from .tracking import Pace, Tracker
from .watch import FALLING, BalanceWatch, ContactWatch, Displacement, Trouble

if TYPE_CHECKING:
    from ...forms.charts import Chart
    from ...robot import Robot

Array = np.ndarray
ARRIVED = 0.02  # m
SLOW = 0.05  # m/s
HOLDING = 1.0  # s, that a robot must have stood for its motion to count as ended well
EARLY = 0.7  # part of a motion from which on a contact may be made before its time


class Stances(LoopedController, Progress):
    """Called with (t, q, v), answers a `Solution`; a controller like any other.

    Args:
        stances: `Stance` each, the first is where the robot starts. Postures that are not given are found here; a
            sequence that has none raises `StanceError` with the reason.
        contacts: all that any stance names; a frame may turn on a point contact, which still counts as staying. Or the
            robot's `Body`: its feet and hands by their roles.
        start: q near which the first posture is looked for; that of the body, or `robot.standing()`, if not given.
        tasks, constraints: more of both. Torque and joint limits are there unless `constraints` brings its own.
        dt: s, of a step.
        speed: of the centre of mass (m/s), frames (m/s) and joints (rad/s) at their fastest.
        clearance: m, by which a frame is lifted between contacts.
        load_time: s, in which load goes to or from a contact.
        shortest: s of a motion; short ways would else be gone as fast as long ones, and with a jerk.
        time_out: s, by which a step may take longer than planned.
        slip_limit: m, and five times that in rad; a contact that slipped farther is anchored there, or given up.
        capture_margin: m; a capture point nearer to the support's edge counts as pushed: references start anew there.
        off_limit: m; the same for a centre of mass farther from its reference, where contacts are not level and the
            capture point does not tell.
        retries: how often contacts are made again and pushes are answered before the motion is ended.
        postures: options of `find_posture`.
        weights: of the tasks "centre of mass", "base", "posture", "momentum" (angular, about it) and "frames".
        chart: as of `WholeBodyController`.
        dynamic: whether the centre of mass goes from rest to rest as a plan says that knows the contacts' times, and
            passes stances without `hold`; the first of `speed` then does not count. Where there is no plan it says so
            and goes as ever (`fallbacks`).
        catch: `eq.Walking` of the same robot; where the feet alone carry and cannot hold a push, it steps instead of
            falling. What was under way is then given up. It also hops, to stances with a `flight`.

    Examples:
        >>> import equipoise as eq
        >>> robot = eq.load("quadruped")
        >>> feet = [eq.PointContact(name) for name in robot.frames if name.endswith("_foot")]
        >>> names = [foot.label for foot in feet]
        >>> machine = eq.Stances(robot, [eq.Stance(names, name="all feet")], feet)
        >>> run = eq.simulate(robot, machine, q0=machine.q0, duration=0.1)
        >>> run.outcome, machine.stance
        ('completed', 'all feet')
    """

    robot: Robot
    dt: float
    contacts: Sequence[Contact]
    controller: WholeBodyController

    def __init__(
        self,
        robot: Robot,
        stances: Sequence[Stance],
        contacts: Sequence[Contact] | Body,
        *,
        start: Array | None = None,
        tasks: Sequence[Task] = (),
        constraints: Sequence[Constraint] = (),
        dt: float = 1e-3,
        speed: tuple[float, float, float] = (0.15, 0.3, 0.8),
        clearance: float = 0.05,
        load_time: float = 0.3,
        shortest: float = 0.1,
        time_out: float = 2.0,
        slip_limit: float = 0.03,
        capture_margin: float = 0.01,
        off_limit: float = 0.08,
        retries: int = 3,
        postures: Mapping[str, object] | None = None,
        weights: Mapping[str, float] | None = None,
        chart: Chart | type[Chart] | None = None,
        catch: Catcher | None = None,
        dynamic: bool = False,
    ) -> None:
        start = contacts.standing if start is None and isinstance(contacts, Body) else start
        self.contacts = contacts = named_contacts(contacts, [name for stance in stances for name in stance.contacts])
        by_name = {contact.label: contact for contact in contacts}
        frames, self._aims = tracked_frames(contacts, stances)
        options = {"support": 0.4, "constraints": tuple(constraints), **(postures or {})}
        plan = Planner(robot, by_name, options).plan(stances, start)
        self.load_time, self.time_out, self.retries, self.slip_limit = load_time, time_out, retries, slip_limit
        self.robot, self.dt, every = robot, dt, task_weights(weights)
        self.controller = make_controller(robot, contacts, frames, every, tasks, constraints, dt, chart)
        pace = Pace(*speed, clearance, shortest, dt)
        self._track = Tracker(robot, self.controller, by_name, frames, pace, every[FRAMES])
        motions = DynamicMotions(robot, by_name, self._track.pace_time, load_time)
        self.plan, self._refused = motions.timed(plan) if dynamic else (plan, [])
        self._forces = ContactForces(self.controller, by_name, float(robot.mass * np.linalg.norm(robot.model.gravity)))
        self._contact_watch = ContactWatch(self._track, self._forces, slip_limit)
        self._anchors = Anchors(self._track, self._forces)
        self._balance = BalanceWatch(self._anchors, capture_margin, off_limit)
        self._catching = Catching(catch, robot, by_name)
        self._catching.require_hops(plan)
        self.seconds: float = self._track.seconds(self.plan, load_time) + HOLDING  # if nothing happens
        self.reset()

    # --- the loop -----------------------------------------------------------------------------------------------------

    def reset(self) -> None:
        """Start anew at the first stance."""
        self.outcome = Outcome.RUNNING
        self.log = EventLog()
        self._clock = Clock(self.dt)
        self._route = Route(self.plan)
        self._tries, self._failing, self.fallbacks = 0, 0.0, len(self._refused)
        self._felt: set[str] = set()
        self._stopped = False  # whether the motion was ended
        self._holds_since: float | None = None  # s: since when it only has to stand
        self.controller.reset()
        self._forces.reset()
        self._track.reset(self.q0)
        self._anchors.start(self.plan[0].contacts, self.q0)
        self._balance.reset()
        self._catching.reset()

    def observe(self, wrenches: Mapping[str, Array]) -> None:
        """Measured wrenches (force, torque; on the robot at the contacts' frames, world axes) before the next call."""
        self._forces.measured = wrenches or None
        self._catching.observe(wrenches)

    def correct_com(self, offset: Array) -> None:
        """How far the centre of mass is off where the model has it, as measured forces tell; see `CoMTask`."""
        self.controller.correct_com(offset)

    def _control(self, t: float, q: Array, v: Array, usable: bool) -> Solution:
        for text in self._clock.reports:
            self.log.tell(EventKind.TIME, t, note=text)
        if self._catching.hops:
            return self._hopped(t, q, v, usable)
        if self._catching.acts or (usable and self._catching.begins(t, q, v, self.in_force)):
            return self._stepped(t, q, v)
        if usable:
            if self._track.reference is None:
                self._begin(t, q)
            self._watch(t, q, v)
            self._advance(t, q, v)
        self._forces.last = solution = self.controller(t, q, v)
        self._failing = self._failing + self.dt if solution.status.fallback else 0.0
        if self._failing > PATIENCE and usable and self.outcome in (Outcome.RUNNING, Outcome.COMPLETED):
            self._end(t, q, Reason.NO_TORQUES)  # a solver that stays without an answer
        if self._stopped and (solution.status.fallback or not self._anchors):
            solution = damped(self.robot, solution, v if usable else np.zeros(self.robot.nv))
        return self.log.told_by(solution)

    def _stepped(self, t: float, q: Array, v: Array) -> Solution:
        """Steps instead of a fall; what was under way is given up, and the robot stands where they end."""
        if self._route.step is not None or self._route.queue or not self._stopped:
            self._route.stop()
            self._stopped, self.outcome = True, Outcome.RUNNING
            self.log.tell(EventKind.ENDED, t, reason=Reason.STEPS)
        solution = self._catching(t, q, v)
        if self._catching.rests and not self.done:
            self.outcome = Outcome.STOPPED
            self.log.tell(ENDINGS[self.outcome], t)
        return self.log.told_by(solution)

    def _hopped(self, t: float, q: Array, v: Array, usable: bool) -> Solution:
        """Through the air; where the feet landed and the robot stands the stances go on."""
        solution = self._catching(t, q, v)
        if self._catching.rests and usable:
            self._catching.give_back()
            for name in sorted(self._anchors):
                self._anchors.renew(q, name)
            self._track.stay(t, q)
            self._forces.settle(t)
            if self._catching.flew:
                self._close(t, q)
            else:
                self._give_up(t, q, Reason.NO_FLIGHT)
        return self.log.told_by(solution)

    def _begin(self, t: float, q: Array) -> None:
        self._track.begin(t, q, self.plan[0].q)
        self._forces.settle(t)
        self._anchors.start(self.plan[0].contacts, q)
        for stance, why in self._refused:
            self.log.tell(EventKind.NO_PLAN, t, stance=stance, note=why)
        tell_contacts_off(self.log, t, self._anchors, self.q0)

    # --- steps --------------------------------------------------------------------------------------------------------

    def _advance(self, t: float, q: Array, v: Array) -> None:
        """End the step whose event came, begin the next."""
        if self._route.step is not None:
            step, since = self._route.step, self._route.since
            self._forces.shift(step, self._track.part_of(t, step, since, self.load_time))
            if self._ends(t, q, v, step):
                self._close(t, q)
        if self._route.step is None and not self.done:
            if self._route.queue:
                self._open(t, q, self._route.queue.pop(0))
            else:
                self._hold(t, q, v)

    def _hold(self, t: float, q: Array, v: Array) -> None:
        """The last step is done; the outcome is decided when the robot has stood for a second, or has not."""
        if self._holds_since is None:
            self._holds_since = t
        held = t - self._holds_since
        if held < HOLDING:
            return
        if self._anchors.margin(q, v) > 0 and length(self.robot.com_jacobian(q) @ v) < SLOW:
            ended = Outcome.RETURNED if self._route.returning else Outcome.COMPLETED
            self.outcome = Outcome.STOPPED if self._stopped else ended
            self.log.tell(ENDINGS[self.outcome], t, stance=self.stance)
        elif held > HOLDING + self.time_out:
            self._end(t, q, Reason.UNSTEADY)

    def _open(self, t: float, q: Array, step: Step) -> None:
        """Begin a step: references from where the last ones ended."""
        self._route.step, self._route.since, self._felt = step, t, set()
        if step.kind is StepKind.MOVE:
            self._anchors.put(t, q, set(self._anchors) - (step.changed - step.contacts))
            self._track.follow(t, q, step, self._aims_of(step))
        if step.kind is StepKind.UNLOAD:
            for name in sorted(step.changed):
                self._forces.remember(name, self._anchors.place(name))
        if step.kind is StepKind.HOP:
            self._catching.hop(t, step.seconds or 0.0)
        if step.kind is StepKind.LOAD:
            self.log.tell_note(EventKind.REPLANNED, t, self._track.made(t, step))
            self._anchors.put(t, q, set(self._anchors) | step.changed)
            for name in sorted(step.changed):
                self._track.release(name, q)

    def _aims_of(self, step: Step) -> set[str]:
        """Frames for which the stance has targets, where they do not touch."""
        return self._anchors.without_contact(self._aims[step.stance]) if step.arrives else set()

    def _ends(self, t: float, q: Array, v: Array, step: Step) -> bool:
        """Whether the event that this step waits for has come."""
        if step.kind.shifts_load:
            late = t - self._track.ends_at(step, self._route.since, self.load_time)
            by_time = step.kind is StepKind.LOAD or step.timing is not None or late >= self.time_out / 4
            return late >= 0.0 and (by_time or all(map(self._anchors.unloaded, step.changed)))
        if step.kind is StepKind.TOUCH:
            return self._touched(t, q, step)
        return self._arrived(t, q, v, step)

    def _arrived(self, t: float, q: Array, v: Array, step: Step) -> bool:
        """Whether a motion is over: its references ended and the centre of mass rests there, or its contacts touch."""
        now = self._track.now
        end = now.start + now.T if step.timing is None else self._track.ends_at(step, self._route.since)
        early = step.changed and t > now.start + EARLY * now.T
        if early and all(self._anchors.seen(name) > self._forces.light for name in step.changed):
            return True
        if t < end or (step.timing is not None and step.timing.passes):
            return t >= end
        error, speed = self._track.com_error(t, q), length(self.robot.com_jacobian(q) @ v)
        arrived = error < ARRIVED and speed < SLOW
        if not arrived and t > end + self.time_out:
            self.log.tell(EventKind.LATE, t, distance=error)
            self._give_up(t, q, Reason.NOT_REACHED)
        return arrived and t >= end + step.hold

    def _touched(self, t: float, q: Array, step: Step) -> bool:
        """Whether all frames touch."""
        new = [name for name in sorted(step.changed - self._felt) if self._contact_watch.touches(q, name)]
        for name in new:
            self.log.tell(EventKind.TOUCHED, t, name)
        self._felt.update(new)
        missing = sorted(step.changed - self._felt)
        if not missing:
            return True
        if self._forces.measured is not None:  # the ground may be lower than planned
            for name in missing:
                self._track.descend(t, name)
        if t - self._route.since > self.time_out:
            self.log.tell(EventKind.NOTHING_TOUCHED, t, *missing)
            self._give_up(t, q, Reason.NOT_TOUCHED, *missing)
        return False

    def _close(self, t: float, q: Array) -> None:
        """What the end of a step means."""
        step = self._route.end_step()
        if step is None:
            return
        if step.kind is StepKind.UNLOAD:
            self._anchors.put(t, q, set(self._anchors) - step.changed)
            for name in sorted(step.changed):
                self._track.targets[name] = self._track.pose(q, name)
            self.log.tell(EventKind.RELEASED, t, *sorted(step.changed))
        if step.kind is StepKind.LOAD:
            self.log.tell(EventKind.LOADED, t, *sorted(step.changed))
        if step.kind is StepKind.HOP:
            self.log.tell(EventKind.HOPPED, t, *sorted(step.contacts))
        if step.arrives:
            self._tries = 0
            self.log.tell(EventKind.REACHED, t, stance=self.stance)

    # --- what may go wrong --------------------------------------------------------------------------------------------

    def _watch(self, t: float, q: Array, v: Array) -> None:
        """Slips, lost contacts, pushes."""
        if self.outcome in (Outcome.FAILED, Outcome.STOPPED, Outcome.RETURNED):
            return
        margin = self._anchors.margin(q, v)
        if self._stopped:
            if not margin > -FALLING:
                self._fail(t, Reason.FALLING)
            return
        trouble = self._contact_watch.trouble(t, q, self._anchors, self._route.shifting)
        if trouble is not None:
            if trouble.slipped:
                self._slipped(t, q, v, trouble)
            else:
                self._lose(t, q, trouble.contact)
            return
        push = self._balance.push(t, q, margin) if t > self._forces.quiet_until else None
        if push is not None:
            self._pushed(t, q, v, push)

    def _slipped(self, t: float, q: Array, v: Array, trouble: Trouble) -> None:
        self._tries += 1
        name = trouble.contact
        self.log.tell(EventKind.SLIPPED, t, name, distance=trouble.distance, angle=trouble.angle)
        if self._tries > self.retries:
            self._end(t, q, Reason.KEEPS_SLIPPING, name)
            return
        self._anchors.renew(q, name)
        self._again(t, q, v)
        self.log.tell(EventKind.HELD_HERE, t, name)

    def _lose(self, t: float, q: Array, name: str) -> None:
        """A contact without force: look for the ground again, or go on without it where the rest carries."""
        self._tries += 1
        self.log.tell(EventKind.UNLOADED, t, name)
        place = self._anchors[name]
        self._anchors.put(t, q, set(self._anchors) - {name})
        if self._tries > self.retries or not self._anchors:
            self._end(t, q, Reason.CONTACT_LOST, name)
            return
        if self._route.drop_times():
            self.fallbacks += 1
            self.log.tell(EventKind.RESTS, t)
        self._route.make_again(name, self.in_force)
        self._track.targets[name] = place
        self._track.stay(t, q)
        self.outcome, self._holds_since = Outcome.RUNNING, None
        self.log.tell(EventKind.SEARCHING, t, name)

    def _pushed(self, t: float, q: Array, v: Array, push: Displacement) -> None:
        self._tries += 1
        self.log.tell(push.kind, t, distance=push.distance)
        if self._tries > self.retries or push.too_far:
            self._end(t, q, Reason.PUSHED)
        else:
            self._again(t, q, v)

    def _again(self, t: float, q: Array, v: Array) -> None:
        """References from where the robot is to where the present step, or the stance reached, wants it."""
        goal = self._route.goal
        self._track.follow(t, q, goal, self._aims_of(goal), from_here=True)
        if goal.timing is not None:
            here = np.stack([self.robot.com(q), self.robot.com_jacobian(q) @ v])
            self.log.tell_note(EventKind.REPLANNED, t, self._track.replan(t, here))
        self._forces.settle(t)

    def _give_up(self, t: float, q: Array, reason: Reason, *names: str) -> None:
        """Back to the last stance that was reached; where that fails too, the end."""
        if self._route.returning or self._route.step is None:
            self._end(t, q, reason, *names)
            return
        self._route.turn_back(self.in_force)
        self.log.tell(EventKind.GOING_BACK, t, *names, reason=reason, stance=self.stance)

    def _end(self, t: float, q: Array, reason: Reason, *names: str) -> None:
        """Hold the robot where it is, over what still carries it; whether it stands is judged later."""
        self.log.tell(EventKind.ENDED, t, *names, reason=reason)
        if self._stopped or not self._anchors:
            self._fail(t, reason, *names)
        self._route.stop()
        self._failing, self._stopped, self._holds_since = 0.0, True, None
        com_to = self.robot.com(q)
        if self._anchors:
            com_to[:2] = np.mean([X[:2, 3] for X in self._anchors.values()], axis=0)
        self._track.hold(t, q, com_to)

    def _fail(self, t: float, reason: Reason, *names: str) -> None:
        self.outcome = Outcome.FAILED
        self.log.tell(EventKind.FAILED, t, *names, reason=reason)
