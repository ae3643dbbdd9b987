"""A ready controller for any robot with feet: stand, squat, sway, look, reach with either hand.

    standing = eq.Standing(eq.load("mine.urdf"))
    standing.squat(0.08, at=1.0)
    run = eq.simulate(standing.robot, standing, duration=5.0)

Feet, hands, posture, gains and weights are those of the robot's `Body`. Commands may be given before the run or while
it runs; each moves references along polynomials of fifth degree from where they are. Nothing raises in the loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import partial
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import ArrayLike

from ..algebra.quaternions import from_rotation, product
from ..algebra.rigid import rotation_from_rpy
from ..body.body import Body, BodyError
from ..clock import Clock
from ..errors import ShapeError, unknown_name
from .body_contacts import FRICTION, contacts_of_body
from .constraints import Constraint, JointLimits, TorqueLimits
from .contacts import Contact
from .controller.controller import WholeBodyController
from .controller.looped import LoopedController
from .controller.solution import Solution
from .strength import COM, require_support, strong_enough
from .tasks import CoMTask, FrameTask, MomentumTask, PostureTask, Task

if TYPE_CHECKING:
    from ..robot import Robot

Array = np.ndarray
TORSO, HEAD, POSTURE, SPIN = "torso orientation", "head orientation", "posture", "momentum"
SETTLED = 0.7  # s after a motion, when its error is looked at
SHORT = 0.15  # part of a motion that may be missing before that is logged


@dataclass
class _Way:
    """A reference that goes from where it is to where it should be: numbers with rate and acceleration, fifth degree in
    time."""

    start: float
    end: float
    coefficients: Array  # (6, n), of powers of seconds since the start

    @classmethod
    def still(cls, place: Array) -> _Way:
        return cls(0.0, 0.0, np.concatenate([np.asarray(place, dtype=float)[None], np.zeros((5, len(place)))]))

    def at(self, t: float) -> tuple[Array, Array, Array]:
        """(place, rate, acceleration) at time t."""
        s = float(np.clip(t - self.start, 0.0, self.end - self.start))
        powers = s ** np.arange(6)
        k = np.arange(6.0)
        place = powers @ self.coefficients
        if s != t - self.start:
            return place, np.zeros_like(place), np.zeros_like(place)
        rate = (k[1:] * powers[:5]) @ self.coefficients[1:]
        return place, rate, (k[2:] * (k[2:] - 1) * powers[:4]) @ self.coefficients[2:]

    def to(self, t: float, goal: Array, seconds: float) -> _Way:
        """From where it is at t, with its rate and acceleration, to rest at the goal."""
        x, v, a = self.at(t)
        s = seconds ** np.arange(6)
        k = np.arange(6.0)
        ends = np.array([s, np.r_[0.0, k[1:] * s[:5]], np.r_[0.0, 0.0, k[2:] * (k[2:] - 1) * s[:4]]])
        first = np.stack([x, v, a / 2])
        wanted = np.stack([goal, np.zeros_like(goal), np.zeros_like(goal)]) - ends[:, :3] @ first
        return _Way(t, t + seconds, np.concatenate([first, np.linalg.solve(ends[:, 3:], wanted)]))


@dataclass(order=True)
class _Command:
    """Something to begin at a time."""

    at: float
    name: str = field(compare=False)  # of the reference
    goal: Array = field(compare=False)
    seconds: float = field(compare=False)
    in_world: bool = field(compare=False, default=False)  # a place that does not move along where the robot steps


class StandingController(LoopedController):
    """Called with (t, q, v), answers a `Solution`; a controller like any other.

    Args:
        robot: as `eq.load` gives it. Fingers are locked: `robot` of this object is the one to simulate. One whose
            motors cannot hold the standing posture is refused; only effort limits of 0 and 1000 N m, which are
            placeholders, are then taken as none, with a warning.
        body: its `Body`, or the path of its profile; found if not given.
        dt: s, the step at which it will be called.
        friction: coefficient of the ground.
        constraints: more of them, beside torque and joint limits.

    Attributes:
        robot, body: with frames for all parts, fingers locked.
        q0: the standing posture: where to start.
        log: (time, text) of everything worth knowing.
    """

    robot: Robot
    body: Body
    controller: WholeBodyController
    q0: Array
    dt: float

    def __copy__(self) -> Self:
        """A copy goes its own way: nothing that changes is shared."""
        return deepcopy(self)

    def __init__(
        self,
        robot: Robot,
        body: Body | str | Path | None = None,
        *,
        dt: float = 1e-3,
        friction: float = FRICTION,
        constraints: Sequence[Constraint] = (),
    ) -> None:
        found = body if isinstance(body, Body) else Body.of(robot, body)
        if not found.feet or not found.robot.floating:
            said = next((f.reason for f in found.findings if f.what == "feet"), "its base is fixed")
            raise BodyError(f"{robot.name!r} cannot stand: {said}")
        require_support(found)
        self.body, self.dt = found.still(), dt
        self.body, self.controller = strong_enough(self.body, lambda body: self._made(body, friction, constraints))
        self.robot, self.q0 = self.body.robot, self.body.standing
        self._commands: list[_Command] = []
        self._began = False
        self.reset()

    # --- what it is made of -------------------------------------------------------------------------------------------

    def _made(self, body: Body, friction: float, constraints: Sequence[Constraint]) -> WholeBodyController:
        return WholeBodyController(
            body.robot, self._tasks(body), contacts_of_body(body, friction=friction),
            [TorqueLimits(), JointLimits(), *constraints], dt=self.dt, force_weight=body.gains.force_weight,
        )  # fmt: skip

    def _tasks(self, body: Body) -> list[Task]:
        g, frames = body.gains, body.frames
        tasks: list[Task] = [
            CoMTask(name=COM, gain=np.array([g.sway, g.sway, g.com])),
            FrameTask(frames["torso"], name=TORSO, axes="orientation", weight=g.torso_weight, gain=g.torso),
            PostureTask(name=POSTURE, weight=g.posture_weight, gain=g.posture),
            MomentumTask(name=SPIN, weight=g.spin_weight, gain=g.rate),
        ]
        if "head" in frames:
            tasks.append(FrameTask(frames["head"], name=HEAD, axes="orientation", weight=0.0, gain=g.torso))
        tasks += [FrameTask(frames[role], name=role, axes="position", weight=0.0, gain=g.hand) for role in body.hands]
        return tasks

    @property
    def contacts(self) -> tuple[Contact, ...]:
        """Where it touches the ground."""
        return self.controller.contacts

    # --- commands -----------------------------------------------------------------------------------------------------

    def stand(self, *, at: float | None = None, seconds: float | None = None) -> Self:
        """Back to the standing posture; hands are let go."""
        self._ask(COM, self._home[COM], at, seconds)
        if HEAD in self._ways:
            self._ask(HEAD, np.zeros(2), at, seconds)
        for role in self.body.hands:
            if self._is_led(role):
                self._ask(role, self._home[role], at, seconds)
        return self

    def squat(self, depth: float, *, at: float | None = None, seconds: float | None = None) -> Self:
        """The centre of mass lower by `depth` (m) than it stands; negative is higher."""
        goal = self._last(COM).copy()
        goal[2] = self._home[COM][2] - _number("depth", depth)
        return self._ask(COM, goal, at, seconds)

    def sway(self, ahead: float, left: float = 0.0, *, at: float | None = None, seconds: float | None = None) -> Self:
        """The centre of mass ahead and to the left (m) of where it stands."""
        goal = self._last(COM).copy()
        by = np.array([_number("ahead", ahead), _number("left", left), 0.0])
        goal[:2] = (self._home[COM] + self._heading @ by)[:2]
        return self._ask(COM, goal, at, seconds)

    def look(self, left: float, up: float = 0.0, *, at: float | None = None, seconds: float | None = None) -> Self:
        """The head turned to the left and up (rad) from straight ahead."""
        if HEAD not in self._ways:
            raise BodyError(
                f"{self.robot.name!r} has no head that is known; name its link in the profile: [parts.head]"
            )
        return self._ask(HEAD, np.array([_number("left", left), _number("up", up)]), at, seconds)

    def reach(
        self,
        hand: str,
        target: ArrayLike | None = None,
        *,
        by: ArrayLike | None = None,
        at: float | None = None,
        seconds: float | None = None,
    ) -> Self:
        """A hand ("left hand", "right hand") to a place in the world (3 numbers, m), or `by` so much ahead, to the left
        and up from where it is while the robot stands."""
        if hand not in self.body.hands:
            raise unknown_name("hand", hand, self.body.hands)
        if target is not None and by is None:
            goal = _three("target", target)
        elif by is not None and target is None:
            goal = self._home[hand] + self._heading @ _three("by", by)
        else:
            raise ShapeError("reach: give either a target or `by`, three numbers in m")
        return self._ask(hand, goal, at, seconds, in_world=target is not None)

    @property
    def tasks(self) -> tuple[Task, ...]:
        """The tasks of the hands, which a viewer lets a person drag."""
        return tuple(task for task in self.controller.items.tasks if task.label in self.body.hands)

    def set_target(self, hand: str, target: Array) -> None:
        """Reaches for a place (3 numbers, m) or the position of a pose (4, 4) with a hand."""
        self.reach(hand, target[:3, 3] if np.shape(target) == (4, 4) else target)

    @property
    def waiting(self) -> bool:
        """Whether commands were given whose time has not come."""
        return bool(self._commands)

    def reference(self, name: str, t: float) -> Array:
        """Where "centre of mass" or a hand should be at time t, m."""
        if name not in self._ways:
            raise unknown_name("reference", name, self._ways)
        return self._ways[name].at(t)[0]

    def _ask(self, name: str, goal: Array, at: float | None, seconds: float | None, in_world: bool = False) -> Self:
        begin = self._t + self._clock.ahead if at is None else _number("at", at)
        far = float(np.linalg.norm(goal - self._last(name)))
        longest = max(far / (0.25 * self.body.gains.speed), 1.5 / self.body.gains.rate)
        took = longest if seconds is None else _number("seconds", seconds)
        if not took > 0:
            raise ShapeError(f"seconds is positive, got {seconds!r}")
        self._commands = sorted([*self._commands, _Command(begin, name, goal, took, in_world)])
        return self

    def _last(self, name: str) -> Array:
        """Where a reference will be when all that was asked is done."""
        asked = [command.goal for command in self._commands if command.name == name]
        return asked[-1] if asked else self._goals[name]

    def _is_led(self, role: str) -> bool:
        return role in self._led or any(command.name == role for command in self._commands)

    # --- the loop -----------------------------------------------------------------------------------------------------

    def reset(self) -> None:
        """Start anew; commands that were given with a time before the first call are kept."""
        if self._began:
            self._commands = []
        self._clock, self._t, self._began = Clock(self.dt), 0.0, False
        self.log: list[tuple[float, str]] = []
        self.controller.reset()
        self._go_home(self.q0)

    def _go_home(self, q: Array) -> None:
        """References at rest in a standing posture; hands are let go."""
        self._posture, hands = q, self.body.hands
        # (3, 3) from the axes of the feet as they stand, seen from above, to the world's
        self._heading = rotation_from_rpy(0.0, 0.0, self._feet_at(q)[1])
        self._home = {
            COM: self.robot.com(q),
            **{role: self.robot.pose(q, self.body.frames[role])[:3, 3] for role in hands},
        }
        if "head" in self.body.frames:
            self._home[HEAD] = np.zeros(2)
        self._ways = {name: _Way.still(place) for name, place in self._home.items()}
        self._goals = dict(self._home)
        self._led: set[str] = set()
        self._checks: list[tuple[float, str, float]] = []
        self._write_targets()

    def move_home(self, t: float, q: Array) -> None:
        """The standing posture from time t on where the feet are in configuration q, turned as they are: it has
        stepped."""
        (old, before), (new, now) = (self._feet_at(x) for x in (self._posture, q))
        turn = rotation_from_rpy(0.0, 0.0, now - before)
        home = self._posture.copy()
        home[:3] = turn @ (home[:3] - old) + new
        home[3:7] = product(from_rotation(turn).tolist(), home[3:7].tolist())
        off = turn @ (self._goals[COM] - self._home[COM])  # a squat stays a squat
        self.controller.reset()
        self._go_home(home)
        self._goals[COM] = self._home[COM] + off
        for command in self._commands:  # what was asked for and has not begun moves along
            if command.name != HEAD and not command.in_world:
                command.goal = turn @ (command.goal - old) + new
        self._ways[COM] = _Way.still(self.robot.com(q)).to(t, self._goals[COM], 3.0 / self.body.gains.rate)

    def _feet_at(self, q: Array) -> tuple[Array, float]:
        """(3,) m, the middle of the feet, and their mean yaw, rad."""
        poses = [self.robot.pose(q, self.body.frames[role]) for role in self.body.feet]
        ahead = np.sum([X[:2, 0] for X in poses], axis=0)
        return np.mean([X[:3, 3] for X in poses], axis=0), float(np.arctan2(ahead[1], ahead[0]))

    def _write_targets(self) -> None:
        controller, frames = self.controller, self.body.frames
        controller.set_target(POSTURE, self._posture)
        controller.set_target(TORSO, self.robot.pose(self._posture, frames["torso"]))
        controller.set_target(COM, partial(self._way, COM))
        for role in self.body.hands:
            controller.set_weight(role, 0.0)
            controller.set_target(role, partial(self._way, role))
        if HEAD in self._ways:
            controller.set_weight(HEAD, 0.0)
            controller.set_target(HEAD, self._gaze)

    def _way(self, role: str, t: float) -> object:
        return self._ways[role].at(t)

    def _gaze(self, t: float) -> Array:
        """Pose of the head that looks where the reference says."""
        left, up = self._ways[HEAD].at(t)[0]
        X, heading = self.robot.pose(self._posture, self.body.frames["head"]), self._heading
        X[:3, :3] = heading @ rotation_from_rpy(0.0, -float(up), float(left)) @ heading.T @ X[:3, :3]
        return X

    def correct_com(self, offset: Array) -> None:
        """How far the centre of mass is off where the model has it, as measured forces tell; see `CoMTask`."""
        self.controller.correct_com(offset)

    def _control(self, t: float, q: Array, v: Array, usable: bool) -> Solution:
        said: list[str] = []
        if isfinite(t):
            self._t, self._began = t, True
            said = [*self._clock.reports, *self._begin(t)]
        solution = self.controller(t, q, v)
        said += self._checked(t, q) if usable else []
        if not said:
            return solution
        self.log += [(self._t, text) for text in said]
        return replace(solution, events=(*solution.events, *said))

    def _begin(self, t: float) -> list[str]:
        """Start the commands whose time has come."""
        said = []
        while self._commands and self._commands[0].at <= self._clock.stamp + 1e-9:
            command = self._commands.pop(0)
            if command.name not in (COM, HEAD) and command.name not in self._led:
                self._led.add(command.name)
                self.controller.set_weight(command.name, self.body.gains.hand_weight)
            if command.name == HEAD:
                self.controller.set_weight(HEAD, self.body.gains.torso_weight)
            way = float(np.linalg.norm(command.goal - self._ways[command.name].at(t)[0]))
            self._ways[command.name] = self._ways[command.name].to(t, command.goal, command.seconds)
            self._goals[command.name] = command.goal
            self._checks.append((t + command.seconds + SETTLED, command.name, way))
            said.append(f"{command.name} moves")
        return said

    def _checked(self, t: float, q: Array) -> list[str]:
        """Motions that ended a while ago and are short of their goal: other tasks or limits held them back."""
        said = []
        for check in [c for c in self._checks if c[0] <= t]:
            self._checks.remove(check)
            _, name, way = check
            if name == HEAD or not np.isfinite(q).all():
                continue
            here = self.robot.com(q) if name == COM else self.robot.pose(q, self.body.frames[name])[:3, 3]
            short = float(np.linalg.norm(here - self._goals[name]))
            if short > max(SHORT * way, 0.005):
                said.append(f"{name} is {short * 1e3:.0f} mm short of its goal: limits or other tasks hold it back")
        return said


def _number(what: str, value: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not np.isfinite(value):
        raise ShapeError(f"{what} is one finite number, got {value!r}")
    return float(value)


def _three(what: str, value: ArrayLike) -> Array:
    array = np.asarray(value, dtype=float)
    if array.shape != (3,) or not np.isfinite(array).all():
        raise ShapeError(f"{what} is three finite numbers in m, got {value!r}")
    return array
