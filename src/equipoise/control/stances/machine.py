"""A state machine over contact sets: `Stances` walks a sequence of them on one whole-body controller.

    walk = eq.Stances(robot, [both_feet, left_foot_alone, both_feet], contacts)
    run = eq.simulate(robot, walk, q0=walk.q0, duration=walk.seconds)

Load is shifted before a contact is released and after one is made; what ends a step is an event: the centre of mass arrived,
a contact was made, a force vanished, or time ran out. A contact that is lost is made again, a stance that cannot be reached is
given up for the one before it, and where neither helps the robot is held with damping. Nothing raises in the loop.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import cos
from typing import TYPE_CHECKING, Any

import numpy as np

from ...algebra.arrays import finite, length
from ...errors import unknown_name
from ..constraints import JointLimits, TorqueLimits
from ..contacts import Contact
from ..controller.controller import WholeBodyController
from ..controller.solution import Solution
from ..tasks import CoMTask, FrameTask, MomentumTask, PostureTask, Task
from .transitions import Planner, PosePath, Reference, Stance, StanceError, Step, turn

if TYPE_CHECKING:
    from ...robot import Robot

__all__ = ["Stance", "StanceError", "Stances"]

Array = np.ndarray
COM, BASE, POSTURE, SPIN = "centre of mass", "base", "posture", "momentum"
PEAK = 1.875  # of a minimum-jerk motion: largest speed by the mean one
CARRIES = 0.02  # of the weight: less is no load
LOST = 0.05  # of the weight: a contact that should carry more and carries none is lost
TURNS = 5.0  # rad per m: how much a contact may turn beside how far it may slip
PATIENCE = 0.05  # s, that a force must be away, or a solver without answer, to count
SMALL_STEP = 0.03  # m: a shorter way from contact to contact needs no lift
ARRIVED = 0.02  # m
SLOW = 0.05  # m/s
SETTLE = 0.05  # s, by which a motion is expected to end late
NEAR = 0.01  # m
DESCENT = 0.05  # m/s, of a frame that looks for the ground
SEARCH = 0.05  # m, how far
DAMPING = 20.0  # N m s


class Stances:
    """Called with (t, q, v), answers a `Solution`; a controller like any other.

    Args:
        stances: `Stance` each, the first is where the robot starts. Postures that are not given are found here; a sequence
            that has none raises `StanceError` with the reason.
        contacts: all contacts that any stance names.
        start: q near which the first posture is looked for; `robot.standing()` if not given.
        tasks, constraints: more of both. Torque and joint limits are there unless `constraints` brings its own.
        speed: of the centre of mass (m/s), frames (m/s) and joints (rad/s) at their fastest.
        clearance: m, by which a frame is lifted on its way from one contact to the next.
        load_time: s, in which load goes to or from a contact.
        shortest: s of a motion; short ways would else be gone as fast as long ones, and with a jerk.
        time_out: s, by which a step may take longer than planned.
        slip_limit: m, and five times that in rad; a contact that slipped farther is anchored where it is then, or given up.
        off_limit: m; a centre of mass farther from where it should be counts as pushed: references start anew from there.
        retries: how often contacts are made again and pushes are answered before the motion is ended safely.
        postures: options of `find_posture`.
        weights: of the tasks "centre of mass", "base", "posture", "momentum" (angular, about the centre of mass) and "frames".
    """

    def __init__(
        self,
        robot: Robot,
        stances: Sequence[Stance],
        contacts: Sequence[Contact],
        *,
        start: Array | None = None,
        tasks: Sequence[Task] = (),
        constraints: Sequence[Any] = (),
        dt: float = 1e-3,
        speed: tuple[float, float, float] = (0.15, 0.3, 0.8),
        clearance: float = 0.05,
        load_time: float = 0.3,
        shortest: float = 0.1,
        time_out: float = 2.0,
        slip_limit: float = 0.03,
        off_limit: float = 0.08,
        retries: int = 3,
        postures: Mapping[str, Any] | None = None,
        weights: Mapping[str, float] | None = None,
    ) -> None:
        self.robot, self.dt = robot, dt
        self.contacts = tuple(contacts)
        self._by_name = {contact.label: contact for contact in contacts}
        self._frames, self._aims = _led(contacts, stances)
        options = {"support": 0.4, "constraints": tuple(constraints), **(postures or {})}
        self.plan = Planner(robot, self._by_name, options).plan(stances, start)
        self.speed, self.clearance, self.load_time, self.time_out = speed, clearance, load_time, time_out
        self.shortest = shortest
        self.slip_limit, self.off_limit, self.retries = slip_limit, off_limit, retries
        self._weights = _weights(weights)
        self._weight = float(robot.mass * np.linalg.norm(robot.model.gravity))
        self._light = CARRIES * self._weight
        self.controller = self._made(tasks, constraints, dt)
        self._seconds = sum(self._duration(step, before) for step, before in self._pairs())
        self.reset()

    def _made(self, tasks: Sequence[Task], constraints: Sequence[Any], dt: float) -> WholeBodyController:
        w = self._weights
        own: list[Task] = [
            CoMTask(name=COM, weight=w[COM]),
            PostureTask(name=POSTURE, weight=w[POSTURE]),
            MomentumTask(name=SPIN, weight=w[SPIN]),
        ]
        if self.robot.base_link is not None:
            own.append(FrameTask(self.robot.base_link, name=BASE, axes="orientation", weight=w[BASE]))
        own += [FrameTask(frame, name=_guide(name), weight=0.0, gain=20.0) for name, frame in self._frames.items()]
        limits = [kind() for kind in (TorqueLimits, JointLimits) if not any(isinstance(c, kind) for c in constraints)]
        return WholeBodyController(
            self.robot, [*own, *tasks], self.contacts, [*limits, *constraints], dt=dt, slip_limit=np.inf
        )  # fmt: skip

    # --- what is known before and after -----------------------------------------------------------------------------------

    @property
    def q0(self) -> Array:
        """The posture of the first stance: where to start."""
        return self.plan[0].q

    @property
    def seconds(self) -> float:
        """How long it should take, if nothing happens."""
        return self._seconds

    @property
    def steps(self) -> int:
        return sum(len(stance.way) for stance in self.plan)

    @property
    def progress(self) -> float:
        """Part of the way that is done, 0 to 1."""
        return 1.0 if self.outcome == "completed" else self._passed / max(self.steps, 1)

    @property
    def done(self) -> bool:
        """Whether it is over, for better or worse; the robot then is held where it is."""
        return self.outcome != "running"

    @property
    def stance(self) -> str:
        """Name of the last stance that was reached."""
        return self.plan[self._reached].name

    @property
    def in_force(self) -> frozenset[str]:
        """Contacts in force now."""
        return frozenset(self._contacts)

    def _pairs(self) -> list[tuple[Step, Array]]:
        """Each step with the posture before it."""
        q, pairs = self.plan[0].q, []
        for stance in self.plan:
            for step in stance.way:
                pairs.append((step, q))
                q = step.q
        return pairs

    # --- the loop -----------------------------------------------------------------------------------------------------------

    def reset(self) -> None:
        """Start anew at the first stance."""
        self.outcome = "running"
        self.log: list[tuple[float, str]] = []
        self._told: list[str] = []
        self._queue: list[Step] = [step for stance in self.plan for step in stance.way]
        self._passed, self._reached, self._tries, self._returning = 0, 0, 0, False
        self._step: Step | None = None
        self._contacts = set(self.plan[0].contacts)
        self._guided: dict[str, Array] = {}  # frames out of contact that are led, and where to
        self._measured: Mapping[str, Array] | None = None
        self._anchors: dict[str, Array] = {}
        self._away: dict[str, float] = {}
        self._offset = np.zeros(3)  # how far slips carried the robot from its plan
        self._last: Solution | None = None
        self._mute = self._since = self._failing = 0.0
        self._loads: dict[str, float] = {}
        self._felt: set[str] = set()
        self._reference: Reference | None = None
        self.controller.reset()
        self.controller.set_contacts(sorted(self._contacts))
        for contact in self.contacts:
            self._bounds(contact.label, 1.0)
        for name in self._frames:
            self.controller.set_weight(_guide(name), 0.0)
            self.controller.set_target(_guide(name), self._pose(self.q0, name))

    def observe(self, wrenches: Mapping[str, Array]) -> None:
        """Measured contact wrenches (force, torque; on the robot at the contacts' frames, world axes) before the next call."""
        self._measured = wrenches or None

    def __call__(self, t: float, q: Array, v: Array) -> Solution:
        """One step of control at time t (s) in state (q, v)."""
        self._told = []
        q, v = np.asarray(q, dtype=float), np.asarray(v, dtype=float)
        if finite(q, v):
            if self._reference is None:
                self._begin(t, q)
            self._watch(t, q)
            self._advance(t, q, v)
        solution = self.controller(t, q, v)
        self._last = solution
        self._count_failures(t, q, solution)
        if self.done and self.outcome != "completed" and (solution.status.held or not self._contacts):
            solution = self._damped(solution, v)
        return replace(solution, events=(*solution.events, *self._told)) if self._told else solution

    def _tell(self, t: float, text: str) -> None:
        self.log.append((float(t), text))
        self._told.append(text)

    def _begin(self, t: float, q: Array) -> None:
        com = self.robot.com(q)
        self._reference = Reference(self.robot, t, 1e-3, q, self.plan[0].q, com, com, {})
        self._mute = t
        for name in sorted(self._contacts):
            self._anchors[name] = self._pose(q, name)
        self.controller.set_target(COM, lambda t: self._now.com_numbers(t))
        self.controller.set_target(POSTURE, lambda t: self._now.posture_numbers(t))
        if self.robot.base_link is not None:
            self.controller.set_target(BASE, lambda t: self._now.pose_numbers(self._now.base, t))

    @property
    def _now(self) -> Reference:
        if self._reference is None:
            raise StanceError("the machine has not been called yet")
        return self._reference

    def _pose(self, q: Array, name: str) -> Array:
        return self.robot.pose(q, self._frames[name])

    # --- steps --------------------------------------------------------------------------------------------------------------

    def _advance(self, t: float, q: Array, v: Array) -> None:
        """End the step whose event came, begin the next."""
        if self._step is not None:
            self._shift_load(t, q)
            if self._ends(t, q, v):
                self._close(t, q)
        if self._step is None and not self.done:
            if self._queue:
                self._open(t, q, self._queue.pop(0))
            else:
                self.outcome = "completed" if not self._returning else f"returned to {self.stance!r}"
                self._tell(t, self.outcome)

    def _open(self, t: float, q: Array, step: Step) -> None:
        """Begin a step: references from where the last ones ended."""
        self._step, self._since = step, t
        if step.kind == "move":
            self._contacts_in_force(t, q, set(step.contacts) & set(self._anchors) | (self._contacts - step.changed))
            self._refer(t, q, step)
        if step.kind == "unload":
            self._loads = {name: self._commanded(name) for name in sorted(step.changed)}
        if step.kind == "load":
            self._contacts_in_force(t, q, self._contacts | step.changed)
            for name in sorted(step.changed):
                self._leave(name, q)
        if step.kind == "touch":
            self._felt = set()

    def _refer(self, t: float, q: Array, step: Step, from_here: bool = False) -> None:
        """New references that lead to the posture of a step; from where the robot is if it was pushed."""
        touching = {self._frames[name] for name in self._contacts}
        aims = {name for name in self._aims[step.stance] if step.arrives and self._frames[name] not in touching}
        for name in sorted({*step.changed, *self._guided, *aims}):
            self._guided[name] = self._pose(step.q, name)
        old, com_to = self._now, self.robot.com(step.q) + self._offset
        q_from = q if from_here else old.posture_at(t)
        com = self.robot.com(q) if from_here else old.com_at(t)[0]
        T = self._time(step, q_from, com, com_to)
        frames = {}
        for name, to in self._guided.items():
            led = not from_here and name in old.frames
            X = old.frame_at(name, t) if led else self._pose(q, name)
            target = to.copy()
            target[:3, 3] += self._offset
            far = name in step.changed and length(target[:3, 3] - X[:3, 3]) > SMALL_STEP
            frames[name] = PosePath(X, target, self.clearance * self._by_name[name].normal_at(to) if far else np.zeros(3))
            self.controller.set_weight(_guide(name), self._weights["frames"])
        self._reference = Reference(self.robot, t, T, q_from, step.q, com, com_to, frames)
        for name in frames:
            self.controller.set_target(_guide(name), lambda t, name=name: self._now.pose_numbers(self._now.frames[name], t))

    def _leave(self, name: str, q: Array) -> None:
        """Lead a frame no longer."""
        self._guided.pop(name, None)
        self.controller.set_weight(_guide(name), 0.0)
        self.controller.set_target(_guide(name), self._pose(q, name))

    def _time(self, step: Step, q: Array, com: Array, com_to: Array) -> float:
        if step.seconds is not None:
            return max(step.seconds, self.dt)
        joints = np.abs(self.robot.difference(q, step.q)[6 if self.robot.floating else 0 :]).max(initial=0.0)
        ways = [length(com_to - com), 0.0, float(joints)]
        for name in sorted(step.changed):
            ways[1] = max(ways[1], length(self._pose(q, name)[:3, 3] - self._pose(step.q, name)[:3, 3]))
        if ways[1] > SMALL_STEP:
            ways[1] += 2 * self.clearance
        return max([PEAK * way / speed for way, speed in zip(ways, self.speed, strict=True)] + [10 * self.dt, self.shortest])

    def _duration(self, step: Step, before: Array) -> float:
        if step.kind in ("unload", "load"):
            return self.load_time
        if step.kind == "touch":
            return 0.1
        return self._time(step, before, self.robot.com(before), self.robot.com(step.q)) + SETTLE + step.hold

    def _contacts_in_force(self, t: float, q: Array, names: set[str]) -> None:
        new = names - self._contacts
        self._contacts = set(names)
        self.controller.set_contacts(sorted(names), q)
        for name in sorted(new):
            self._anchors[name] = self._pose(q, name)
            self._bounds(name, 0.0)
        self._anchors = {name: X for name, X in self._anchors.items() if name in names}
        self._away = {}
        self._mute = t

    def _ends(self, t: float, q: Array, v: Array) -> bool:
        """Whether the event that this step waits for has come."""
        step, now = self._step, self._now
        if step is None:
            return False
        late = t - self._since
        if step.kind == "unload":
            gone = self._measured is None or all(abs(self._seen(name)) < self._light for name in step.changed)
            return late >= self.load_time and (gone or late >= self.load_time + self.time_out / 4)
        if step.kind == "load":
            return late >= self.load_time
        if step.kind == "touch":
            return self._touched(t, q, v, step)
        if step.changed and self._measured is not None and t > now.start + 0.7 * now.T and self._early(step):
            return True
        if not now.ended(t):
            return False
        error = length(self.robot.com(q) - now.com_at(t)[0])
        speed = length(self.robot.com_jacobian(q) @ v)
        arrived = error < ARRIVED and speed < SLOW
        if arrived and t >= now.start + now.T + step.hold:
            return True
        if not arrived and t > now.start + now.T + self.time_out:
            self._tell(t, f"time-out: the centre of mass is {error:.3g} m from where it should be")
            self._give_up(t, q, "the posture was not reached in time")
        return False

    def _early(self, step: Step) -> bool:
        return all(self._seen(name) > self._light for name in step.changed)

    def _close(self, t: float, q: Array) -> None:
        """What the end of a step means."""
        step = self._step
        self._step = None
        if step is None:
            return
        names = ", ".join(sorted(step.changed))
        if step.kind == "unload":
            self._contacts_in_force(t, q, self._contacts - step.changed)
            for name in sorted(step.changed):
                self._guided[name] = self._pose(q, name)
            self._tell(t, f"force vanished: {names} let go")
        if step.kind == "load":
            self._tell(t, f"{names} carry")
        if not self._returning:
            self._passed += 1
        if step.arrives:
            self._reached = step.stance
            self._tries = 0
            self._tell(t, f"centre of mass arrived: {self.plan[step.stance].name!r} reached")

    # --- load ---------------------------------------------------------------------------------------------------------------

    def _bounds(self, name: str, part: float, of: float | None = None) -> None:
        """Largest normal force: a part of what the contact bears (of the weight, where it bears anything), N."""
        contact = self._by_name[name]
        least, most = contact.min_force, contact.max_force
        if part >= 1.0:
            self.controller.set_force_bounds(name, least, most)
        else:
            largest = min(2 * self._weight if of is None else of, most)
            self.controller.set_force_bounds(name, min(least, part * largest), part * largest)

    def _shift_load(self, t: float, q: Array) -> None:
        """Bounds of normal forces while load goes to or from contacts."""
        step = self._step
        if step is None or step.kind not in ("unload", "load"):
            return
        x = min((t - self._since) / self.load_time, 1.0)
        for name in sorted(step.changed):
            if step.kind == "load":
                self._bounds(name, x)
            else:
                self._bounds(name, min(1.0 - x, 0.999), max(self._loads[name], self._light))

    def _normal(self, name: str, wrench: Array | None) -> float:
        """The part of a contact's force along its normal."""
        X = self._anchors.get(name, self._guided.get(name))
        return 0.0 if X is None or wrench is None else float(self._by_name[name].normal_at(X) @ wrench[:3])

    def _commanded(self, name: str) -> float:
        return 0.0 if self._last is None else self._normal(name, self._last.forces.get(name))

    def _seen(self, name: str) -> float:
        """Measured normal force."""
        return 0.0 if self._measured is None else self._normal(name, self._measured.get(name))

    def _touched(self, t: float, q: Array, v: Array, step: Step) -> bool:
        """Whether all frames touch: by measured force, or by place where nothing is measured."""
        now, missing = self._now, []
        for name in sorted(step.changed):
            if name in self._felt:
                continue
            X, to = self._pose(q, name), self._guided[name]
            near = length(X[:3, 3] - to[:3, 3] - self._offset) < NEAR and length(turn(X, to)) < 5 * NEAR
            feels = self._seen(name) > self._light / 4
            if feels if self._measured is not None else near:
                self._felt.add(name)
                self._tell(t, f"contact made: {name}")
            else:
                missing.append(name)
        late = t - self._since
        if not missing:
            return True
        if self._measured is not None:  # the ground may be lower than it should be
            for name in missing:
                path = now.frames[name]
                if path.since > t:
                    down = -DESCENT * self._by_name[name].normal_at(path.Y)
                    now.frames[name] = replace(path, descent=down, since=t, until=t + SEARCH / DESCENT)
        if late > self.time_out:
            self._tell(t, f"time-out: {', '.join(missing)} found nothing to touch")
            self._give_up(t, q, f"{', '.join(missing)} did not touch")
        return False

    # --- what may go wrong ----------------------------------------------------------------------------------------------------

    def _watch(self, t: float, q: Array) -> None:
        """Slips, lost contacts, pushes."""
        if self.done and self.outcome != "completed":
            return
        for name in sorted(self._contacts):
            X, to = self._anchors[name], self._pose(q, name)
            if self._is_off(X, to):
                slip, angle = length(to[:3, 3] - X[:3, 3]), length(turn(X, to))
                self._slipped(t, q, name, f"slipped by {slip:.3g} m and turned by {angle:.2g} rad")
                return
            if self._vanished(t, name):
                self._lose(t, q, name)
                return
        off = length(self.robot.com(q) - self._now.com_at(t)[0])
        if off > self.off_limit and t > self._mute + PATIENCE:
            self._pushed(t, q, off)

    def _is_off(self, X: Array, to: Array) -> bool:
        """Whether a frame has moved from X by more than contacts may slip or turn; a turn by θ has |ΔR|² = 4 (1 − cos θ)."""
        shift = (to - X).ravel()
        slip, turn = self.slip_limit**2, 4 * (1 - cos(TURNS * self.slip_limit))
        if shift @ shift <= min(slip, turn):  # the usual case: both together are less than either may be
            return False
        place, axes = to[:3, 3] - X[:3, 3], (to - X)[:3, :3].ravel()
        return bool(place @ place > slip or axes @ axes > turn)

    def _vanished(self, t: float, name: str) -> bool:
        """Whether a contact that should carry has carried nothing for a while."""
        loading = self._step is not None and self._step.kind in ("unload", "load") and name in self._step.changed
        if self._measured is None or loading or self._last is None or t < self._mute + PATIENCE:
            return False
        if self._seen(name) > LOST / 50 * self._weight or self._commanded(name) < LOST * self._weight:
            self._away.pop(name, None)
            return False
        return t - self._away.setdefault(name, t) >= PATIENCE

    def _slipped(self, t: float, q: Array, name: str, how: str) -> None:
        self._tries += 1
        self._tell(t, f"contact lost: {name} {how}")
        if self._tries > self.retries:
            self._end(t, q, f"{name} keeps slipping")
            return
        shift = self._pose(q, name)[:3, 3] - self._anchors[name][:3, 3]
        self._offset = self._offset + shift / len(self._contacts)
        rest = self._contacts - {name}
        self.controller.set_contacts(sorted(rest), q)
        self.controller.set_contacts(sorted(self._contacts), q)
        self._anchors[name] = self._pose(q, name)
        self._mute = t
        self._again(t, q)
        self._tell(t, f"{name} is held where it is now")

    def _lose(self, t: float, q: Array, name: str) -> None:
        """A contact without force: look for the ground again, or go on without it where the rest carries."""
        self._tries += 1
        self._tell(t, f"contact lost: {name} carries nothing")
        if self._tries > self.retries or self._contacts == {name}:
            self._contacts_in_force(t, q, self._contacts - {name})
            self._end(t, q, f"{name} is lost")
            return
        place = self._anchors[name]
        self._contacts_in_force(t, q, self._contacts - {name})
        goal = self._step or self._holding(q)
        if goal.kind != "move":
            goal = Step("move", goal.q, goal.contacts, frozenset(), goal.stance)
        lost, kept = frozenset({name}), frozenset(self._contacts)
        self._queue[:0] = [Step("touch", goal.q, kept, lost, goal.stance), Step("load", goal.q, kept, lost, goal.stance), goal]
        self._step, self._passed = None, self._passed - 2
        self._guided[name] = place
        self._refer(t, q, Step("move", q, kept, frozenset(), goal.stance, seconds=self.dt), from_here=True)
        if self.outcome == "completed":
            self.outcome = "running"
        self._tell(t, f"{name} looks for the ground again")

    def _holding(self, q: Array) -> Step:
        """The step of a machine that has arrived."""
        stance = self.plan[self._reached]
        return Step("move", stance.q, stance.contacts, frozenset(), self._reached, True)

    def _pushed(self, t: float, q: Array, off: float) -> None:
        self._tries += 1
        self._tell(t, f"pushed: the centre of mass is {off:.3g} m from where it should be")
        if self._tries > self.retries or off > 4 * self.off_limit:
            self._end(t, q, "it was pushed too far")
            return
        self._again(t, q)

    def _again(self, t: float, q: Array) -> None:
        """References from where the robot is to where the present step, or the stance reached, wants it."""
        step = self._step if self._step is not None else self._holding(q)
        if step.kind == "move":
            self._refer(t, q, step, from_here=True)
        else:
            self._refer(t, q, Step("move", step.q, step.contacts, frozenset(), step.stance), from_here=True)
        self._mute = t

    def _give_up(self, t: float, q: Array, why: str) -> None:
        """Back to the last stance that was reached; where that fails too, the end."""
        if self._returning or self._step is None:
            self._end(t, q, why)
            return
        stance = self.plan[self._reached]
        self._returning, self._step = True, None
        way = [step for step in stance.back if step.kind == "move" or not step.changed <= self._contacts]
        if stance.contacts <= self._contacts or not stance.back:
            way = [Step("move", stance.q, frozenset(stance.contacts), frozenset(), self._reached, True)]
        self._queue = way
        self._tell(t, f"{why}: going back to {stance.name!r}")

    def _end(self, t: float, q: Array, why: str) -> None:
        """Hold the robot where it is, over what still carries it."""
        self.outcome = f"failed: {why}"
        self._tell(t, f"ended safely: {why}")
        self._queue, self._step = [], None
        com = self.robot.com(q)
        to = com.copy()
        if self._contacts:
            to[:2] = np.mean([self._anchors[name][:2, 3] for name in sorted(self._contacts)], axis=0)
        for name in tuple(self._guided):
            self._leave(name, q)
        self._reference = Reference(self.robot, t, 1.0, q, q, com, to, {})
        self._failing = 0.0

    def _count_failures(self, t: float, q: Array, solution: Solution) -> None:
        """A solver that stays without an answer ends the motion."""
        if not solution.status.held:
            self._failing = 0.0
            return
        self._failing += self.dt
        if self._failing > PATIENCE and not (self.done and self.outcome != "completed") and finite(q):
            self._end(t, q, "no torques satisfy the constraints")

    def _damped(self, solution: Solution, v: Array) -> Solution:
        """Nothing carries the robot: joints are slowed down and no more."""
        first = 6 if self.robot.floating else 0
        torque = np.zeros(self.robot.nv)
        rates = np.where(np.isfinite(v), v, 0.0)[first:]
        effort = self.robot.limits.effort[first:]
        torque[first:] = np.clip(-DAMPING * rates, -effort, effort)
        return replace(solution, torque=torque)


def _guide(name: str) -> str:
    return f"{name} on its way"


def _led(contacts: Sequence[Contact], stances: Sequence[Stance]) -> tuple[dict[str, str], list[frozenset[str]]]:
    """(frames that may be led, by contact or by their own name; of each stance, those for which it has targets)."""
    frames = {contact.label: contact.frame for contact in contacts}  # several may be on one frame
    names = {frame: name for name, frame in frames.items()}
    for frame in dict.fromkeys(frame for stance in stances for frame in stance.targets):
        if frame not in names:
            names[frame] = frame if frame not in frames else f"frame {frame}"
    aims = [frozenset(names[frame] for frame in stance.targets) for stance in stances]
    return frames | {name: frame for frame, name in names.items()}, aims


def _weights(given: Mapping[str, float] | None) -> dict[str, float]:
    usual = {COM: 10.0, BASE: 1.0, POSTURE: 0.03, SPIN: 1e-3, "frames": 10.0}
    for name in given or {}:
        if name not in usual:
            raise unknown_name("weight", name, usual)
    return {**usual, **(given or {})}
