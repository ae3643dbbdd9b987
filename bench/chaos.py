"""Random controllers, states, settings and users' functions: whether each answer is finite, within limits, and truly
named.

A status is judged by a linear program that nobody here wrote (HiGHS): the least t for which all rows hold within t.
Where it is zero the step must be optimal; where rows that are never relaxed cannot hold it must be a fallback; else it
must be relaxed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from equipoise.control.constraints import Cone, JointLimits, KeepOut, MomentumLimits, TorqueLimits, TorqueRate
from equipoise.control.contacts import FlatContact, PointContact
from equipoise.control.controller.controller import WholeBodyController
from equipoise.control.controller.solution import ControlStatus, Solution
from equipoise.control.tasks import CoMTask, ForceTask, FrameTask, MomentumTask, PostureTask, TorqueTask
from equipoise.geometry.primitives import Line, Plane, Sphere

if TYPE_CHECKING:
    from equipoise.robot import Robot

Array = np.ndarray
CONTROLLERS, STEPS = 120, 84  # of each controller: some ten thousand in all
HOLDS, FAILS = 1e-8, 1e-5  # t below which rows hold, and above which they do not; between, nobody can tell
BEYOND = 1e-9  # relative, of torques above their limits
ROBOTS = ("arm7", "quadruped", "human", "g1")


@dataclass
class ChaosTally:
    """What was found with one robot."""

    robot: str
    priorities: str
    controllers: int = 0
    steps: int = 0
    exceptions: int = 0
    not_finite: int = 0
    beyond_limits: int = 0
    contradicted: int = 0
    undecided: int = 0  # on the edge between feasible and not
    inaccurate: int = 0  # the solver stopped at its bound and says so
    errors: int = 0  # caught inside of the controller
    statuses: dict[str, int] = field(default_factory=dict)
    reasons: list[str] = field(default_factory=list)

    @property
    def good(self) -> bool:
        return not (self.exceptions or self.not_finite or self.beyond_limits or self.contradicted or self.errors)


def run(
    robots: list[str] | None = None, controllers: int = CONTROLLERS, steps: int = STEPS, seed: int = 0
) -> Iterator[ChaosTally]:
    """A tally for each robot and kind of priorities; everything is drawn from the seed."""
    names = robots or list(ROBOTS)
    each = -(-controllers // (2 * len(names)))
    for k, name in enumerate(names):
        for m, priorities in enumerate(("weighted", "strict")):
            rng = np.random.default_rng([seed, k, m])
            tally = ChaosTally(name, priorities)
            for _ in range(each):
                _one(tally, rng, steps)
            yield tally


def _one(tally: ChaosTally, rng: np.random.Generator, steps: int) -> None:
    """One controller for some steps."""
    robot, q0 = _robot(tally.robot)
    controller = _controller(robot, q0, tally.priorities, rng)
    tally.controllers += 1
    q, v = q0, np.zeros(robot.nv)
    for k in range(steps):
        if rng.random() < 0.15:
            _change(controller, robot, q0, rng)
        q, v = _state(robot, q0, v, rng)
        tally.steps += 1
        try:
            solution = controller(1e-3 * k, q, v)
            _judge(tally, controller, solution)
        except Exception as error:
            tally.exceptions += 1
            tally.reasons.append(f"{type(error).__name__}: {error}"[:200])
    tally.errors += controller.counts["errors"]


# --- what is drawn ----------------------------------------------------------------------------------------------------


def _robot(name: str, made: dict[str, tuple[Robot, Array]] = {}) -> tuple[Robot, Array]:  # noqa: B006 (a cache)
    from equipoise.robot import load

    if name not in made:
        robot = load(name)
        made[name] = robot, np.asarray(robot.standing())
    return made[name]


def _controller(robot: Robot, q: Array, priorities: str, rng: np.random.Generator) -> WholeBodyController:
    """Of few structures, so that few kernels are compiled, with numbers of all sizes."""
    frames, contacts = _frames(robot), _contacts(robot, rng)
    kind = int(rng.integers(3))
    weight = lambda: float(10 ** rng.uniform(-2, 2))  # noqa: E731
    hand = FrameTask(
        frames[-1], name="hand", axes="position", weight=weight(), gain=float(rng.uniform(1, 30)), hard=kind == 1
    )
    tasks: list[Any] = [hand, PostureTask(weight=float(10 ** rng.uniform(-4, 0)), priority=2)]
    if robot.floating:
        tasks.append(CoMTask(weight=weight(), hard=kind == 2, gain=float(rng.uniform(1, 20)), priority=1))
        tasks.append(MomentumTask(weight=0.1 * weight(), priority=1))
    if kind == 0 and contacts:
        tasks += [TorqueTask(weight=1e-5, priority=2), ForceTask(contacts[0].label, weight=1e-5, priority=2)]
    limits = TorqueLimits(scale=float(10 ** rng.uniform(-1.5, 0.3)))
    constraints: list[Any] = [
        limits,
        JointLimits(acceleration=float(rng.uniform(5, 200)), rank=int(rng.integers(0, 3))),
    ]
    place = robot.pose(q, frames[-1])[:3, 3]
    ball = Sphere(place + rng.normal(scale=0.5, size=3), 0.1, velocity=tuple(rng.normal(scale=0.3, size=6)))
    constraints.append(KeepOut(Sphere((0, 0, 0), 0.03, frames[-1]), ball, name="ball", rank=2))
    if kind == 1:
        up = robot.pose(q, frames[-1])[:3, :3].T @ [0.0, 0.0, 1.0]
        constraints.append(Cone(Line((0, 0, 0), up, frames[-1]), Line((0, 0, 0), (0, 0, 1.0)), angle=0.3, name="tilt"))
        constraints.append(TorqueRate(float(10 ** rng.uniform(2, 5))))
    if kind == 2:
        constraints.append(KeepOut(Sphere((0, 0, 0), 0.03, frames[0]), Plane((0, 0, 1.0), -0.5), name="floor", rank=1))
        constraints.append(MomentumLimits(linear=float(rng.uniform(1, 100)), rank=3))
    return WholeBodyController(robot, tasks, contacts, constraints, priorities=priorities)


def _frames(robot: Robot) -> list[str]:
    known = [name for name in ("left_foot", "tool", "right_hand", "left_hand", "foot_fl") if name in robot.frames]
    return known or [next(iter(robot.links)), list(robot.links)[-1]]


def _contacts(robot: Robot, rng: np.random.Generator) -> list[Any]:
    feet = [
        name
        for name in robot.frames
        if name in ("left_foot", "right_foot", "left_ankle_roll_link", "right_ankle_roll_link")
    ]
    mu = float(rng.uniform(0.1, 1.2))
    if feet:
        return [FlatContact(foot, name=f"{foot} contact", friction=mu) for foot in feet]
    points = [name for name in robot.frames if name.endswith("foot") or name.startswith("foot")]
    return [PointContact(foot, name=f"{foot} contact", friction=mu) for foot in points[:4]] if robot.floating else []


def _state(robot: Robot, q0: Array, v: Array, rng: np.random.Generator) -> tuple[Any, Any]:
    """Near where it stands, moving; sometimes anywhere; sometimes none at all."""
    draw = rng.random()
    if draw < 0.02:
        return [(np.full(robot.nq, np.nan), v), (q0[1:], v), ("here", v), (1.01 * q0, v), (q0, None)][
            int(rng.integers(5))
        ]
    if draw < 0.1:
        return robot.random_state(rng)
    size = float(10 ** rng.uniform(-4, -0.5))
    return robot.integrate(q0, size * rng.normal(size=robot.nv), 1.0), size * rng.normal(size=robot.nv)


def _change(controller: WholeBodyController, robot: Robot, q0: Array, rng: np.random.Generator) -> None:
    """Another target, a function that fails, fewer contacts, other numbers."""
    place = robot.pose(q0, _frames(robot)[-1])[:3, 3] + rng.normal(scale=float(10 ** rng.uniform(-2, 0.5)), size=3)
    answers: list[Callable[[float], Any]] = [
        lambda t: place + 0.1 * t,
        lambda t: 1 / 0,
        lambda t: "there",
        lambda t: [[1.0], [2.0, 3.0]],
        lambda t: np.full(3, np.nan),
    ]
    draw = int(rng.integers(5))
    if draw == 0:
        controller.set_target("hand", place)
    elif draw == 1:
        controller.set_target("hand", answers[int(rng.integers(len(answers)))])
    elif draw == 2 and controller.contacts:
        names = [contact.label for contact in controller.contacts]
        controller.set_contacts([name for name in names if rng.random() < 0.7])
    elif draw == 3:
        controller.set("torque limit", scale=float(10 ** rng.uniform(-2, 0.3)))
    else:
        controller.set("ball", safe=lambda t: (0.1 + 0.1 * t, 0.1, 0.0) if t > 0.02 else 1 / 0)


# --- how it is judged -------------------------------------------------------------------------------------------------


def _judge(tally: ChaosTally, controller: WholeBodyController, solution: Solution) -> None:
    name = solution.status.name.lower()
    tally.statuses[name] = tally.statuses.get(name, 0) + 1
    solution.explain() if solution.status is not ControlStatus.OPTIMAL and tally.steps % 10 == 0 else None
    commands = (solution.torque, solution.acceleration, solution.velocity)
    if not all(np.isfinite(x).all() for x in commands):
        tally.not_finite += 1
    motors = controller.layout.context.motors
    largest = np.minimum(controller.settings.numbers("torque limit")["largest"], np.inf)
    if not (np.abs(solution.torque[motors]) <= largest * (1 + BEYOND) + 1e-12).all():
        tally.beyond_limits += 1
        tally.reasons.append(f"torque beyond its limit: {solution.status.name}")
    if solution.saw_state and solution.step.finite:
        _judge_status(tally, controller, solution)


def _judge_status(tally: ChaosTally, controller: WholeBodyController, solution: Solution) -> None:
    """Against the linear program, of all rows and of those that are never relaxed."""
    E, A = controller.layout.classes
    never = np.concatenate((E, A)) == 0
    selection = solution.step.selection
    if selection is not None:
        never = np.concatenate((never[: len(E)][selection.E], never[len(E) :][selection.A]))
    program = solution.program
    whole = violation(program.A, program.lower, program.upper)
    if HOLDS < whole < FAILS:
        tally.undecided += 1
        return
    wanted = ControlStatus.OPTIMAL
    if whole >= FAILS:
        core = violation(program.A[never], program.lower[never], program.upper[never])
        if HOLDS < core < FAILS:
            tally.undecided += 1
            return
        wanted = ControlStatus.RELAXED if core <= HOLDS else ControlStatus.FAILED
    # It claims nothing: what is never relaxed must hold all the same, and a cold start must not do better.
    if solution.status is ControlStatus.INACCURATE and not (wanted is ControlStatus.OPTIMAL and _cold(controller)):
        tally.inaccurate += 1
        if wanted is not ControlStatus.FAILED:
            _judge_point(tally, solution, never)
        return
    if solution.status is not wanted and (solution.status, wanted) != (
        ControlStatus.OVERLAPPING,
        ControlStatus.OPTIMAL,
    ):
        tally.contradicted += 1
        tally.reasons.append(f"{solution.status.name} where HiGHS says {wanted.name} (t = {whole:.1e})")


def _cold(controller: WholeBodyController) -> bool:
    """Whether the solver, from nothing, solves the program that is in its memory."""
    controller._solver.forget()
    return controller._solver.solve().solved


def _judge_point(tally: ChaosTally, solution: Solution, never: Array) -> None:
    """Whether rows that are never relaxed hold at the point that was used."""
    program, selection = solution.program, solution.step.selection
    x = solution.x if selection is None else solution.x[selection.x]
    value = program.A[never] @ x
    beyond = np.maximum(value - program.upper[never], program.lower[never] - value) / np.maximum(1.0, np.abs(value))
    if not beyond.max(initial=0.0) <= FAILS:
        tally.contradicted += 1
        tally.reasons.append(f"INACCURATE, and a row that is never relaxed is violated by {beyond.max():.1e}")


def violation(A: Array, lower: Array, upper: Array) -> float:
    """The least t for which lower − t s ≤ A x ≤ upper + t s for some x, s the size of each bound or 1."""
    from scipy.optimize import linprog

    has_upper, has_lower = np.isfinite(upper), np.isfinite(lower)
    rows = np.vstack((A[has_upper], -A[has_lower]))
    bounds = np.concatenate((upper[has_upper], -lower[has_lower]))
    if not len(rows):
        return 0.0
    slack = -np.maximum(1.0, np.abs(bounds))[:, None]
    n = A.shape[1]
    cost = np.append(np.zeros(n), 1.0)
    answer = linprog(
        cost, A_ub=np.hstack((rows, slack)), b_ub=bounds, bounds=[(None, None)] * n + [(0, None)], method="highs"
    )
    return float(answer.fun) if answer.status == 0 else np.nan
