"""A ready controller: walk on command, and step when pushed.

    walker = eq.Walking(eq.load("g1"))
    walker.command(0.4, 0.0, 0.2)
    run = eq.simulate(walker.robot, walker, q0=walker.q0, duration=10.0)

Each call measures the capture point, plans the step it is in (`step_plan`), and asks the whole body (`whole_body`) for the level
acceleration ω² (c − p) that puts the centre of pressure where the plan wants it. Nothing raises in the loop.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import atan2, exp
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..algebra.arrays import finite
from ..balance.support import support_polygon
from ..body.body import Body, BodyError
from ..control.controller.solution import Solution
from ..errors import ShapeError
from .gait import Command, Gait, Place, next_place
from .pendulum import after_shift, before, divergent
from .step_plan import StepPlan, StepPlanner, Wish
from .swing import Swing
from .whole_body import WholeBody

if TYPE_CHECKING:
    from ..robot import Robot

Array = np.ndarray
PREVIEW = 5  # steps
USED = 0.8  # of the sole, that the plan may use for pressure
TOUCHED = 0.03  # of the weight: a force with which a foot has touched
SLOWEST = 0.5  # of the swing: a force before this part of it is the start's
STILL = 1.5  # gain of the capture point when standing, in ω
PATIENCE = 2.0  # 1/ω: how long weight may be shifted before the first step


@dataclass(frozen=True, eq=False)
class Seen:
    """What a call sees: the centre of mass, its velocity, the capture point, the feet."""

    t: float
    com: Array
    velocity: Array
    xi: Array
    poses: tuple[Array, Array]

    def place(self, foot: int) -> Place:
        X = self.poses[foot]
        return Place(float(X[0, 3]), float(X[1, 3]), atan2(float(X[1, 0]), float(X[0, 0])))


class Walking:
    """Called with (t, q, v), answers a `Solution`; a controller like any other.

    Args:
        robot: as `eq.load` gives it; a biped with flat feet. Fingers are locked: `robot` of this object is the one to simulate.
        body: its `Body`, or the path of its profile; found if not given.
        dt: s, the step at which it will be called.
        friction: coefficient of the ground.
        constraints: more of them, beside torque and joint limits.

    Attributes:
        robot, body, q0: with frames for all parts; where to start.
        gait: times and lengths, which may be replaced before the run.
        plan: the step it is in, if it is.
        log: (time, text) of everything worth knowing.
    """

    def __init__(
        self,
        robot: Robot,
        body: Body | str | Path | None = None,
        *,
        dt: float = 1e-3,
        friction: float = 0.6,
        constraints: Sequence[Any] = (),
    ) -> None:
        found = body if isinstance(body, Body) else Body.of(robot, body)
        flat = [role for role, part in found.feet.items() if part.contact == "flat"]
        if len(found.feet) != 2 or len(flat) != 2 or not found.robot.floating:
            raise BodyError(f"{robot.name!r} cannot walk on two flat feet: it has {', '.join(found.feet) or 'no feet'}")
        self.body = found.still()
        self.robot, self.dt, self.q0 = self.body.robot, dt, self.body.standing
        self.whole_body = WholeBody(self.body, dt, friction, constraints)
        self._frames = tuple(self.body.frames[role] for role in self.whole_body.feet)
        home = tuple(self.robot.pose(self.q0, frame) for frame in self._frames)
        self._torso_home = self.robot.pose(self.q0, self.body.frames["torso"])
        self.gait = Gait.of(self.body, (home[0][:2, 3], home[1][:2, 3]))
        self._soles = [np.array(self.body.feet[role].corners) for role in self.whole_body.feet]
        self._planners = [StepPlanner(self.gait, s, USED * self._soles[1 - k]) for k, s in enumerate((1.0, -1.0))]
        self._command, self._later = Command(), list[tuple[float, Command]]()
        self.reset()

    @property
    def contacts(self) -> Any:
        """Where it touches the ground."""
        return self.whole_body.controller.contacts

    # --- commands ---------------------------------------------------------------------------------------------------------

    def command(self, forward: float = 0.0, left: float = 0.0, turn: float = 0.0, *, at: float | None = None) -> Walking:
        """Walk: m/s forward and to the left, rad/s, in the robot's own axes; zeros to stand. From now on, or from a time (s)."""
        values = [float(x) for x in (forward, left, turn, 0.0 if at is None else at)]
        if not np.isfinite(values).all():
            raise ShapeError(f"a command is three finite numbers, and a time; got {(forward, left, turn, at)!r}")
        if at is None:
            self._command = Command(*values[:3])
        else:
            self._later = sorted([*self._later, (values[3], Command(*values[:3]))], key=lambda x: x[0])
        return self

    def forget_commands(self) -> Walking:
        """Stand, and do nothing later."""
        self._command, self._later = Command(), []
        return self

    # --- the loop ---------------------------------------------------------------------------------------------------------

    def reset(self) -> None:
        """Start anew, standing; the command stays."""
        self.whole_body.reset(self.q0)
        self.mode, self.plan = "stand", None
        self.log: list[tuple[float, str]] = []
        self._forces: Mapping[str, Array] = {}
        self._stance, self._swing, self._t0 = 0, None, 0.0
        self._hull: tuple[Array, Array] | None = None
        self._pressure = np.zeros(2)
        self._ground: float | None = None
        self._steps = 0

    def observe(self, wrenches: Mapping[str, Array]) -> None:
        """Measured contact forces, if the plant has them."""
        self._forces = wrenches

    def __call__(self, t: float, q: Array, v: Array) -> Solution:
        """One step of control at time t (s) in state (q, v)."""
        said: list[str] = []
        while self._later and self._later[0][0] <= t + 1e-9:
            self._command = self._later.pop(0)[1]
        if finite(np.asarray(q, dtype=float), np.asarray(v, dtype=float)):
            said = self._decide(self._see(float(t), q, v), q)
        solution = self.whole_body(t, q, v)
        if not said:
            return solution
        self.log += [(float(t), text) for text in said]
        return replace(solution, events=(*solution.events, *said))

    def _see(self, t: float, q: Array, v: Array) -> Seen:
        com = self.robot.com(q)
        velocity = self.robot.momentum(q, v)[:3] / self.robot.mass
        poses = tuple(self.robot.pose(q, frame) for frame in self._frames)
        return Seen(t, com, velocity, divergent(com, velocity, self.gait.rate), poses)

    def _decide(self, seen: Seen, q: Array) -> list[str]:
        """Where pressure, torso and swing foot should be; what is worth telling."""
        said = {"stand": self._standing, "shift": self._shifting, "step": self._stepping}[self.mode](seen, q)
        ground = self._level(seen)
        self._ground = ground if self._ground is None else self._ground + self.dt * self.gait.rate * 2 * (ground - self._ground)
        acceleration = self.gait.rate**2 * (seen.com[:2] - self._pressure)
        self.whole_body.set_com(self._ground + self.gait.height, acceleration)
        self._face(seen)
        return said

    def _level(self, seen: Seen) -> float:
        """Height of the ground: of the foot that carries, or of both."""
        heights = [float(X[2, 3]) for X in seen.poses]
        return heights[self._stance] if self.mode == "step" else sum(heights) / 2

    def _face(self, seen: Seen) -> None:
        """The torso looks where the feet do."""
        yaws, rate = [seen.place(0).yaw, seen.place(1).yaw], 0.0
        if self._swing is not None:
            yaws[1 - self._stance], rate = float(self._swing.state[0, 3]), float(self._swing.state[1, 3]) / 2
        apart = (yaws[1] - yaws[0] + np.pi) % (2 * np.pi) - np.pi
        self.whole_body.set_torso(self._torso_home, yaws[0] + apart / 2, rate)

    # --- standing ---------------------------------------------------------------------------------------------------------

    def _standing(self, seen: Seen, q: Array) -> list[str]:
        if self._hull is None:
            points = [sole @ seen.place(k).R.T + seen.place(k).xy for k, sole in enumerate(self._soles)]
            self._hull = support_polygon(np.concatenate(points)).rows
        normals, offsets = self._hull
        middle = (seen.place(0).xy + seen.place(1).xy) / 2
        wanted = seen.xi + STILL * (seen.xi - middle)
        self._pressure = within(normals, offsets, middle, wanted)
        if float((offsets - normals @ seen.xi).min()) < 0.0:
            return self._catch(seen, q)
        if not self._command.still:
            self._stance = 1 if self._first_swing() == 0 else 0
            self.mode, self._t0 = "shift", seen.t
            return ["starts to walk"]
        return []

    def _first_swing(self) -> int:
        """The foot of the side that it goes or turns to; the left one else."""
        aside = self._command.left or self._command.turn
        return 1 if aside < 0 else 0

    def _catch(self, seen: Seen, q: Array) -> list[str]:
        """The capture point left the soles: a step with the foot that makes the better plan."""
        plans = []
        for swing in (0, 1):
            self._stance = 1 - swing
            self._t0 = seen.t - self.gait.transfer
            plans.append(self._planned(seen, swing))
        costs = [np.inf if plan is None else plan.cost + 1e3 * plan.excess for plan in plans]
        self._begin(seen, 1 - int(np.argmin(costs)), q, immediate=True)
        return [f"the capture point leaves the soles: a step with the {self.whole_body.feet[1 - self._stance]}"]

    # --- before the first step ---------------------------------------------------------------------------------------------

    def _shifting(self, seen: Seen, q: Array) -> list[str]:
        """Pressure goes under the foot that will swing, until the capture point is near the one that will stand."""
        swing = 1 - self._stance
        stance, side = seen.place(self._stance), 1.0 if swing == 0 else -1.0
        wish = self._wish(seen, swing, self.gait.period)
        start = before(wish.place + wish.offset, np.zeros(2), self.gait.rate, self.gait.period - self.gait.transfer / 2)
        inward = side * float((stance.R.T @ (seen.xi - stance.xy))[1])
        normals, offsets = self._hull
        self._pressure = within(normals, offsets, stance.xy, seen.place(swing).xy)
        if float((offsets - normals @ seen.xi).min()) < 0.0:
            return self._catch(seen, q)
        if inward <= side * float(start[1]) or seen.t - self._t0 > PATIENCE / self.gait.rate:
            self._begin(seen, self._stance, q)
        return []

    # --- a step -----------------------------------------------------------------------------------------------------------

    def _begin(self, seen: Seen, stance: int, q: Array, immediate: bool = False) -> None:
        """Weight goes to a foot, and the other will swing."""
        self.mode, self._stance, self._swing, self._hull = "step", stance, None, None
        self._t0 = seen.t - (self.gait.transfer if immediate else 0.0)
        self._from, self._steps, self.plan = self._pressure, self._steps + 1, None

    def _wish(self, seen: Seen, swing: int, seconds: float) -> Wish:
        """The step by the command, and ξ when it ends, from a preview of steps that ends at rest."""
        stance, command, gait = seen.place(self._stance), self._command, self.gait
        places, foot = [stance], swing
        for _ in range(1 if command.still else PREVIEW):
            places.append(next_place(places[-1], foot, command, gait, gait.period))
            foot = 1 - foot
        xi = (places[-1].xy + places[-2].xy) / 2
        for place in reversed(places[1:-1]):
            xi = before(xi, place.xy, gait.rate, gait.period)
        goal = places[1]
        self._goal_yaw = goal.yaw
        back = stance.R.T
        return Wish(back @ (goal.xy - stance.xy), seconds, back @ (xi - goal.xy))

    def _planned(self, seen: Seen, swing: int) -> StepPlan | None:
        """The plan of the step it is in; the last one where there is none."""
        gait, stance = self.gait, seen.place(self._stance)
        since = seen.t - self._t0
        wait = max(gait.transfer - since, 0.0)  # until weight has changed feet
        ahead = seen.xi
        if wait > 0.0:
            to = stance.xy if self.plan is None else stance.xy + stance.R @ self.plan.pressure
            ahead = after_shift(seen.xi, self._pressure, to, gait.rate, wait)
        half = gait.transfer / 2
        now = max(since, gait.transfer)
        earliest = max(gait.shortest - now, 0.01) + half
        latest = max(gait.longest - now, 0.02) + half
        wish = self._wish(seen, swing, max(gait.period - now, 0.01) + half)
        foot = stance.R.T @ (seen.place(swing).xy - stance.xy)
        left = wish.seconds if self.plan is None else self._end - max(seen.t, self._t0 + gait.transfer)
        far = gait.fastest * max(left - 0.04, 0.0) + 0.005
        return self._planners[swing].plan(stance.R.T @ (ahead - stance.xy), wish, earliest, latest, (foot - far, foot + far))

    def _stepping(self, seen: Seen, q: Array) -> list[str]:
        gait, swing = self.gait, 1 - self._stance
        since = seen.t - self._t0
        plan = self._planned(seen, swing)
        if plan is not None:
            self.plan = plan
            self._end = max(seen.t, self._t0 + gait.transfer) + plan.seconds - gait.transfer / 2
        stance = seen.place(self._stance)
        target = stance.xy if self.plan is None else stance.xy + stance.R @ self.plan.pressure
        if since < gait.transfer:
            part = since / gait.transfer
            self._pressure = (1 - part) * self._from + part * target
            self._share(part)
            return []
        self._pressure = target
        if self._swing is None:
            self._lift(seen, q)
        if self._touched(seen):
            return self._touch_down(seen, q)
        self._follow(seen, stance)
        return []

    def _share(self, part: float) -> None:
        """Weight goes over to the stance foot."""
        weight = self.whole_body.weight
        self.whole_body.most[self._stance] = np.inf if self._steps == 1 else weight * (0.2 + 3.0 * part)
        self.whole_body.most[1 - self._stance] = 1.5 * weight * (1 - part)

    def _lift(self, seen: Seen, q: Array) -> None:
        swing = 1 - self._stance
        self.whole_body.most[:] = [np.inf, np.inf]
        self.whole_body.lift(swing, q)
        place, z = seen.place(swing), float(seen.poses[swing][2, 3])
        self._swing = Swing(np.array([place.x, place.y, z, place.yaw]), seen.t, self._end, self.gait.clearance, self.gait.landing)

    def _follow(self, seen: Seen, stance: Place) -> None:
        """The swinging foot on its way to the plan's place."""
        assert self._swing is not None and self.plan is not None
        place = stance.R @ self.plan.place + stance.xy
        yaw = self._swing.start[3] + (self._goal_yaw - self._swing.start[3] + np.pi) % (2 * np.pi) - np.pi
        goal = np.array([place[0], place[1], float(seen.poses[self._stance][2, 3]), yaw])
        self.whole_body.set_swing(1 - self._stance, self._swing.advance(seen.t, goal, self._end))

    def _touched(self, seen: Seen) -> bool:
        swing = self._swing
        assert swing is not None
        foot = 1 - self._stance
        if seen.t - swing.begin < SLOWEST * (swing.end - swing.begin):
            return False
        wrench = self._forces.get(self.whole_body.feet[foot])
        if wrench is not None:
            return bool(wrench[2] > TOUCHED * self.whole_body.weight)
        return float(seen.poses[foot][2, 3] - seen.poses[self._stance][2, 3]) < 1e-3

    def _touch_down(self, seen: Seen, q: Array) -> list[str]:
        """The foot is down: stand if that is wanted and possible, else the next step."""
        landed = 1 - self._stance
        self.whole_body.land(landed, q)
        self._swing = None
        if self._command.still and self._can_stand(seen):
            self.mode, self._hull, self.plan = "stand", None, None
            return ["stands"]
        self._begin(seen, landed, q)
        self._share(0.0)
        return []

    def _can_stand(self, seen: Seen) -> bool:
        """Feet side by side, and the capture point well between them."""
        a, b = seen.place(0), seen.place(1)
        off = b.R.T @ (a.xy - b.xy) - np.array([0.0, self.gait.width])
        points = np.concatenate([0.9 * s @ p.R.T + p.xy for s, p in zip(self._soles, (a, b), strict=True)])
        return bool(np.abs(off).max() < 0.15 * self.gait.width and support_polygon(points).margin(seen.xi) > 0)


def within(normals: Array, offsets: Array, middle: Array, point: Array) -> Array:
    """The point, or where the line from the middle to it leaves the polygon normals · x ≤ offsets."""
    room, along = offsets - normals @ middle, normals @ (point - middle)
    out = along > 1e-12
    part = float(np.min(room[out] / along[out], initial=1.0))
    return middle + max(part, 0.0) * (point - middle)
