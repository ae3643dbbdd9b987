"""The multi-contact strategy of [QO21, Fig. 4.13]: try; make contact and try; enlarge the support and try; slide and
try.

    machine = eq.MultiContact(robot, eq.FrameTask("right_hand", ball, axes="position"), feet, hand, table)
    report = machine.run(q0)                 # kinematic, as in the thesis
    report.success, report.step, report.attempts

The machine is a controller like any other: called with (t, q, v) it answers a `Solution`, of velocities or of torques.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ...balance.support import SupportPolygon, support_polygon
from ...body.body import Body
from ...clock import Clock
from ...geometry.primitives import Plane
from ...geometry.regions import target_region
from ...model.types import frozen
from ..body_contacts import contacts_of_body, palm
from ..constraints import CoMAbove, Constraint, PointsInside
from ..constraints.com_above import NEVER
from ..contacts import Contact, FlatContact, SlidingContact
from ..controller.controller import WholeBodyController
from ..controller.looped import LoopedController
from ..controller.solution import Solution
from ..item import Points, TaskError
from ..tasks import AbsoluteTask, FrameTask, HullAreaTask, MomentumTask, PostureTask, RelativeTask, SurfaceTask, Task
from .attempts import Attempt, Kind, MachineState, Report
from .construction import with_usual_limits
from .events import EventKind, EventLog, Outcome, Reason
from .leaning import area_slopes, edge_rows, returning
from .places import middle, touching_points

if TYPE_CHECKING:
    from ...robot import Robot

Array = np.ndarray
APPROACH, AREA = "contact", "support area"  # labels of tasks
USUAL = 10.0  # weight of both, if the damping does not say otherwise
RISES, ENTERS = 4.0, 2.0  # 1/s: how fast a hand outside comes above the surface, and between the walls
BETTER = 0.02  # an error must fall by this part, or
CLOSER = 1e-3  # by this much (m, rad, m²), within the patience


class MultiContact(LoopedController):
    """A task with one hand, and another hand that may lean on a surface to fulfil it.

    Args:
        task: the main task.
        supports: contacts that stay where they are, such as both feet; or the robot's `Body`: its feet.
        hand: the contact that may be made; or, with a body, the role of a part with a flat palm.
        surface: the plane it is made on, normal towards the robot.
        region: corners (n, 3) of a convex polygon on the surface in which the hand may be; everywhere if not given.
        tasks, constraints: more of both; limits of joints and torques are there unless given.
        level: "velocity", or "torque" for a plant with dynamics. The centre of mass above its support is enough for
            slow motions only: give torques a near target or one that moves there, and a CoMTask of small weight among
            `tasks`.
        cooperative: hold two supports by their relative and absolute pose [QO21, Eqs. (4.58), (4.59)] instead of one by
            one; only where velocities are commanded.
        tolerance: of the main task's error; contact_tolerance: of the hand's plane, m and sine of the tilt.
        patience: s without progress that end an attempt; time_out: s for one.
        margin: m, kept by the centre of mass from the edges of its support.
        growth: 1/s, how fast the area should grow.
        damping: λ of the damped least squares of [QO21, Eq. (3.1)], for velocities only; three numbers are those of
            contact, area and task [QO21, Table 6.2].
        posture_weight: of keeping the first posture, and ten times that of the base's orientation, while the task is
            tried; a hundred times more (ten, for torques) between attempts, which brings the robot back to where more
            can be reached.

    Examples:
        >>> import numpy as np
        >>> import equipoise as eq
        >>> body = eq.Body.of(eq.load("human"))
        >>> ball = eq.FrameTask("right hand", target=[0.6, -0.2, 1.1], axes="position")
        >>> table = eq.Plane((0, 0, 1), 0.8)
        >>> controller = eq.MultiContact(body.robot, ball, body, "left hand", table)
        >>> controller(0.0, body.standing, np.zeros(body.robot.nv)).velocity.shape
        (39,)
    """

    robot: Robot
    task: Task
    hand: FlatContact
    surface: Plane
    controller: WholeBodyController
    contacts: tuple[Contact, ...]
    dt: float
    cooperative: bool
    outcome: Outcome
    log: EventLog

    def __init__(
        self,
        robot: Robot,
        task: Task,
        supports: Sequence[Contact] | Body,
        hand: FlatContact | str,
        surface: Plane,
        *,
        region: Points | None = None,
        tasks: Sequence[Task] = (),
        constraints: Sequence[Constraint] = (),
        level: str = "velocity",
        dt: float | None = None,
        cooperative: bool = False,
        tolerance: float = 0.01,
        contact_tolerance: float = 2e-3,
        patience: float = 2.0,
        time_out: float = 20.0,
        margin: float = 0.02,
        growth: float = 0.5,
        damping: float | tuple[float, float, float] = 0.08,
        posture_weight: float | None = None,
    ) -> None:
        if level not in ("velocity", "torque"):
            raise TaskError(f"MultiContact commands velocities or torques; got level={level!r}")
        hand = palm(supports, hand)
        supports = contacts_of_body(supports) if isinstance(supports, Body) else supports
        if cooperative and (len(supports) != 2 or level != "velocity"):
            raise TaskError("cooperative holds exactly two supports, and only where velocities are commanded")
        self.robot, self.task, self.supports, self.hand, self.surface = robot, task, tuple(supports), hand, surface
        self.level, self.dt = level, dt if dt is not None else (0.01 if level == "velocity" else 1e-3)
        self.cooperative, self.tolerance, self.contact_tolerance = cooperative, tolerance, contact_tolerance
        self.patience, self.time_out, self.margin, self.growth = patience, time_out, margin, growth
        self._posture_weight = posture_weight if posture_weight is not None else (1e-4 if level == "velocity" else 1e-3)
        self.walls = () if region is None else target_region(region, surface.normal)
        self._slide = replace_as_sliding(hand)
        self._polygon: SupportPolygon | None = None
        self._walls_at = np.zeros(0)
        self._weights, last = _weights_of(damping)
        self.controller = self._made(tasks, constraints, self._posture_weight, last)
        self.contacts = (*self.supports, hand)
        self.reset()

    def _made(
        self, tasks: Sequence[Task], constraints: Sequence[Constraint], posture_weight: float, damping: float
    ) -> WholeBodyController:
        centre, robot, hand = self.hand.points.mean(0), self.robot, self.hand
        target = np.append(self.surface.normal, self.surface.offset)
        own: list[Task] = [
            self.task,
            SurfaceTask(hand.frame, target, hand.normal, centre, name=APPROACH, gain=2.0),
            HullAreaTask(hand.frame, hand.points, name=AREA, gain=1.0),
            PostureTask(name="posture", weight=posture_weight, gain=1.0 if self.level == "velocity" else 2.0),
        ]
        if robot.base_link is not None:
            own.append(
                FrameTask(
                    robot.base_link, name="base", axes="orientation", weight=10 * posture_weight, gain=own[-1].gain
                )
            )
        if self.level == "torque":
            own.append(MomentumTask(name="momentum", weight=1e-3))
        if self.cooperative:
            a, b = self.supports
            own += [
                RelativeTask(a.frame, b.frame, hard=True, name="feet"),
                AbsoluteTask(a.frame, b.frame, hard=True, name="stand"),
            ]
        limits = with_usual_limits(robot, constraints, torques=self.level == "torque")
        points = np.vstack([hand.points, *(centre[None] for _ in self.walls)])
        normals = np.array([*[self.surface.normal] * len(hand.points), *(wall.normal for wall in self.walls)])
        most = sum(len(c.points) for c in (*self.supports, hand))
        own_rules = [
            CoMAbove(self._edges_now, hand.frame, hand.points, most, margin=self.margin),
            PointsInside(hand.frame, points, normals, self._offsets_now, name=f"{hand.label} above the surface"),
        ]
        feet = () if self.cooperative else self.supports
        every = [*feet, hand, self._slide]
        return WholeBodyController(
            robot, [*own, *tasks], every, [*limits, *own_rules], self.level, dt=self.dt, slip_limit=np.inf,
            motion_weight=damping**2 if self.level == "velocity" else 1e-6,
        )  # fmt: skip

    # --- state --------------------------------------------------------------------------------------------------------

    def reset(self) -> None:
        """Start anew with the first attempt."""
        self.attempts: list[Attempt] = []
        self.outcome = Outcome.RUNNING
        self.log = EventLog()
        self._clock = Clock(self.dt)
        self._state: MachineState | None = None
        self._walls_at = np.full(len(self.hand.points) + len(self.walls), NEVER)
        self._polygon = None
        self.controller.reset()

    @property
    def done(self) -> bool:
        """Whether it is over, for better or worse."""
        return self.outcome.ended

    @property
    def progress(self) -> float:
        """Part of the attempts that are behind, 1 once the task is done."""
        return 1.0 if self.outcome is Outcome.COMPLETED else len(self.attempts) / 4

    @property
    def state(self) -> MachineState | None:
        """What it does now; None before the first call."""
        return self._state

    @property
    def _leaning(self) -> bool:
        """Whether the hand is in contact."""
        return self._state is not None and self._state.touches

    def _edges_now(self, t: float) -> Array:
        """Rows of the support for `CoMAbove`: each edge with the shares of the hand's points in its motion."""
        k = len(self.hand.points)
        if self._polygon is None:
            return np.zeros((0, 3 + k))
        return edge_rows(self._polygon, self._com, k, self._first if self._leaning else None)

    @property
    def _first(self) -> int:
        """Index of the hand's first point among all that touch."""
        return sum(len(c.points) for c in self.supports)

    def _offsets_now(self, t: float) -> Array:
        return self._walls_at

    # --- the loop -----------------------------------------------------------------------------------------------------

    def _control(self, t: float, q: Array, v: Array, usable: bool) -> Solution:
        for text in self._clock.reports:
            self.log.tell(EventKind.TIME, t, note=text)
        if usable and self._state is None:
            self._begin(t, q, MachineState.TRY)
        if usable:
            self._measure(t, q)
        solution = self.controller(t, q, v)
        if usable and not self.done:
            self._judge(t, q, solution)
        if self.outcome is Outcome.FAILED and self.level == "velocity":
            solution = replace(solution, velocity=np.zeros(self.robot.nv))
        return self.log.told_by(solution)

    def run(self, q0: Array, *, seconds: float = 120.0) -> Report:
        """Follow the commanded velocities from q0 until the task is done or failed."""
        if self.level != "velocity":
            raise TaskError("run follows velocities; simulate a machine of torques with eq.simulate")
        self.reset()
        q, v = np.array(q0, dtype=float), np.zeros(self.robot.nv)
        times, path = [], []
        for k in range(round(seconds / self.dt)):
            times.append(k * self.dt)
            path.append(q)
            v = self(times[-1], q, v).velocity
            if self.done:
                break
            q = self.robot.integrate(q, v, self.dt)
        return self.report(np.array(times), np.array(path))

    def report(self, t: Array | None = None, path: Array | None = None) -> Report:
        """What has come of it so far."""
        success = self.outcome is Outcome.COMPLETED
        path = np.zeros((0, self.robot.nq)) if path is None else path
        q = path[-1] if len(path) else self.robot.neutral()
        step = len(self.attempts) if success else 0
        return Report(success, step, tuple(self.attempts), frozen(q), np.zeros(0) if t is None else t, path)

    # --- what is measured ---------------------------------------------------------------------------------------------

    def _touching(self, q: Array) -> Array:
        """Points of all contacts in force, those of the hand last."""
        every = [*self.supports, *([self.hand] if self._leaning else [])]
        return np.concatenate([touching_points(c, self.robot.pose(q, c.frame)) for c in every])

    def _measure(self, t: float, q: Array) -> None:
        """The support of now, and where the walls stand."""
        self._polygon, self._com = support_polygon(self._touching(q)), self.robot.com(q)
        corners, late = len(self.hand.points), t - self._since
        self._walls_at[:] = NEVER
        if self._state is MachineState.APPROACH:
            self._walls_at[:corners] = returning(np.array(self.surface.offset), self._below, RISES, late)
        if self._state in (MachineState.APPROACH, MachineState.GROW, MachineState.SLIDE):
            self._walls_at[corners:] = returning(np.array([w.offset for w in self.walls]), self._outside, ENTERS, late)

    def _area_numbers(self, t: float) -> Array:
        """∂A/∂x of the hand's points and the error that makes the area grow evenly."""
        polygon, k = self._polygon, len(self.hand.points)
        if polygon is None or not self._leaning:
            return np.zeros(2 * k + 1)
        return np.append(area_slopes(polygon, k, self._first).ravel(), self.growth * polygon.area)

    # --- states -------------------------------------------------------------------------------------------------------

    def _begin(self, t: float, q: Array, state: MachineState) -> None:
        """Enter a state: which tasks count, which contact the hand has."""
        self._state = state
        self.controller.set_weight(self.task.label, self.task.weight if state.tries else 0.0)
        self.controller.set_weight(APPROACH, self._weights[APPROACH] if state is MachineState.APPROACH else 0.0)
        self.controller.set_weight(AREA, self._weights[AREA] if state is MachineState.GROW else 0.0)
        self.controller.set_target(AREA, self._area_numbers)
        calm = self._posture_weight * (1.0 if state.tries else self._calming(state))
        self.controller.set_weight("posture", calm)
        if self.robot.base_link is not None:
            self.controller.set_weight("base", 10 * calm)
        names = [] if self.cooperative else [c.label for c in self.supports]
        hand = self.hand if state is MachineState.AGAIN else self._slide
        self.controller.set_contacts([*names, *([hand.label] if state.touches else [])], q)
        self._since, self._best, self._best_at = t, np.inf, t
        corners = touching_points(self.hand, self.robot.pose(q, self.hand.frame))
        self._below = np.maximum(0.0, self.surface.offset - corners @ self.surface.normal)
        self._outside = np.array([max(0.0, float(w.offset - w.normal @ corners.mean(0))) for w in self.walls])
        self._polygon = None
        self.log.tell(EventKind.BEGUN, t, stance=str(state))

    def _calming(self, state: MachineState) -> float:
        """How much more the posture counts between attempts, at the weight of what is done there."""
        share = self._weights[APPROACH if state is MachineState.APPROACH else AREA] / USUAL
        return share * (100.0 if self.level == "velocity" else 10.0)

    def _error(self, solution: Solution) -> float:
        if self._state is MachineState.APPROACH:
            return solution.task_errors[APPROACH]
        if self._state is MachineState.GROW:
            return -self._polygon.area if self._polygon is not None else 0.0
        return solution.task_errors[self.task.label]

    def _judge(self, t: float, q: Array, solution: Solution) -> None:
        """Success, failure, or neither yet."""
        error = self._error(solution)
        needed = max(CLOSER, BETTER * abs(self._best)) if np.isfinite(self._best) else 0.0
        if error < self._best - needed:
            self._best, self._best_at = error, t
        stuck = t - self._best_at > self.patience or t - self._since > self.time_out
        if self._state is MachineState.APPROACH:
            self._judge_contact(t, q, error, stuck)
        elif self._state is MachineState.GROW:
            if stuck:
                self.log.tell(EventKind.AREA, t, distance=-error)
                self._begin(t, q, MachineState.AGAIN)
        elif error < self.tolerance:
            self._attempted(t, error, True, "task done")
            self.outcome = Outcome.COMPLETED
            self.log.tell(EventKind.COMPLETED, t)
        elif stuck:
            self._attempted(t, error, False, "no progress" if t - self._since <= self.time_out else "time-out")
            self._next(t, q)

    def _judge_contact(self, t: float, q: Array, error: float, stuck: bool) -> None:
        if error < self.contact_tolerance and not any(self._outside_now(q)):
            self.log.tell(EventKind.TOUCHED, t, self.hand.label)
            self._begin(t, q, MachineState.AGAIN)
        elif stuck:
            self._attempted(t, np.inf, False, f"{self.hand.label} does not reach the surface: {error:.3g} away")
            self._fail(t, Reason.NO_CONTACT)

    def _outside_now(self, q: Array) -> list[bool]:
        place = middle(self.hand, self.robot.pose(q, self.hand.frame))
        return [bool(w.normal @ place < w.offset - 1e-2) for w in self.walls]

    def _attempted(self, t: float, error: float, success: bool, reason: str) -> None:
        name = list(Kind)[len(self.attempts)]
        begun = sum(a.seconds for a in self.attempts)
        area = self._polygon.area if self._polygon is not None else 0.0
        self.attempts.append(
            Attempt(name, success, float(min(error, self._best) if success else error), t - begun, area, reason)
        )
        self.log.tell(EventKind.ATTEMPTED, t, stance=str(name), note=reason, distance=error)

    def _next(self, t: float, q: Array) -> None:
        if len(self.attempts) == len(Kind):
            self._fail(t, Reason.NO_ATTEMPT)
        else:
            self._begin(t, q, (MachineState.APPROACH, MachineState.GROW, MachineState.SLIDE)[len(self.attempts) - 1])

    def _fail(self, t: float, reason: Reason) -> None:
        self.outcome = Outcome.FAILED
        self.log.tell(EventKind.FAILED, t, reason=reason)
        self.controller.set_weight(self.task.label, 0.0)
        self.controller.set_weight(APPROACH, 0.0)


def _weights_of(damping: float | tuple[float, float, float]) -> tuple[dict[str, float], float]:
    """(weights of contact and area, λ of the task): w |J u − b|² + λ² |u|² is damped by λ / √w."""
    given = np.asarray(damping, dtype=float)
    if given.shape not in ((), (3,)) or not (given > 0).all():
        raise TaskError(f"damping is one positive number, or three for contact, area and task; got {damping!r}")
    if given.ndim == 0:
        return {APPROACH: USUAL, AREA: USUAL}, float(given)
    contact, area, task = map(float, given)
    return {APPROACH: (task / contact) ** 2, AREA: (task / area) ** 2}, task


def replace_as_sliding(hand: FlatContact) -> SlidingContact:
    """The same polygon, free along the surface and about its normal [QO21, Eq. (4.61)]; without friction."""
    still = (0.0, 0.0, 0.0)
    name = f"{hand.label} sliding"
    return SlidingContact(
        hand.frame, name=name, corners=hand.corners, normal=hand.normal, friction=0.0, direction=still
    )
