"""[QO21, Ch. 3–4] Control laws, cones, collisions: rows Q3, Q5, Q6, and Q4 through the controller of the library.

What a law does is looked at from outside: places and angles are those of `ReferenceState` along the motion it causes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
from scipy.optimize import minimize_scalar

from .. import FrameTask, KeepIn, KeepOut, PostureTask, SelfCollision, Sphere, WholeBodyController
from ..control.closed_form.cones import SafeAngle, cone_acceleration_rows, cone_velocity_rows, joint_limit_angle
from ..control.closed_form.motions import frame_motion
from ..control.closed_form.task_space import (
    acceleration_program,
    error_acceleration,
    joint_torque,
    resting_program,
    shrinking_bounds,
    velocity_program,
)
from ..control.qp import DaqpSolver
from ..control.safety.vfi import Gains
from ..geometry.collisions import self_collision_pairs
from ..geometry.distances import angle, distance, distances_kernel
from ..geometry.line_point import line_point_switch
from ..geometry.pairs import PairSet
from ..geometry.primitives import Line, Point, Segment
from ..geometry.regions import target_region
from ..robot import Robot, load
from .commanded import Asked, Kept, Statement, barrier, towards
from .moving import between, given, joints, point
from .qo21_controller import against_the_ends, comes_to_rest, turning_cone
from .reference import ReferenceState, path, rate, second_rate, turned
from .rows import Figure, agree, apart, largest, small

Array = np.ndarray
Level = Literal["velocity", "acceleration", "torque"]
LEVELS: tuple[Level, ...] = ("velocity", "acceleration", "torque")


# --- Q3 ---------------------------------------------------------------------------------------------------------------


def task_control() -> Iterator[Figure]:
    robot = load("arm7")
    q, v = robot.random_state(np.random.default_rng(0))
    yield from _velocity_level(robot, q)
    yield from _two_levels(robot, q, v)
    yield from _closed_loop(robot, q, v)
    yield from comes_to_rest(robot, q, v)


def _velocity_level(robot: Robot, q: Array) -> Iterator[Figure]:
    """x̃ dies out like exp(−η t) [QO21, Eq. (3.1)], also after a goal that moves."""
    eta, dt, steps, drift = 4.0, 2e-3, 250, np.array([0.05, -0.02, 0.03])
    for what, speed in (("goal at rest", 0 * drift), ("goal that moves", drift)):
        at, goal = q, ReferenceState(robot, q).frame("tool").p + np.array([0.1, -0.1, 0.05])
        start = goal - ReferenceState(robot, at).frame("tool").p
        for k in range(steps):
            tool = ReferenceState(robot, at).frame("tool")
            error = tool.p - goal - speed * k * dt
            program = velocity_program(tool.J[:3], error, eta, 1e-6, feedforward=speed)
            at = path(robot, at, DaqpSolver().solve(program).x)(dt)
        left = ReferenceState(robot, at).frame("tool").p - goal - speed * steps * dt
        ratio, wanted = np.linalg.norm(left) / np.linalg.norm(start), np.exp(-eta * steps * dt)
        yield small(
            f"velocity level, {what}: what is left against exp(−η t) [Eq. (3.1)]", abs(ratio / wanted - 1), 2e-2
        )


def _two_levels(robot: Robot, q: Array, v: Array) -> Iterator[Figure]:
    motion, error, now = frame_motion(robot, q, v, "tool"), np.array([0.1, -0.2, 0.15]), ReferenceState(robot, q, v)
    J, bias = now.frame("tool").J[:3], now.frame("tool").A[:3]
    wanted = error_acceleration(error, J @ v, 36.0, 13.0)
    yield agree("ẍ_d = −k_d x̃' − k_p x̃ [Sec. 3.1]", wanted, -13 * J @ v - 36 * error, 1e-12)
    first = DaqpSolver().solve(acceleration_program(motion, wanted, 1e-6)).x
    at = path(robot, q, v, first)
    moved = second_rate(lambda t: ReferenceState(robot, at(t)).frame("tool").p)
    yield agree("acceleration level: ẍ by differences [Eq. (3.3)]", moved, wanted, 1e-5)
    second = DaqpSolver().solve(resting_program(motion.J, first, v, 10.0)).x
    free = np.eye(robot.nv) - np.linalg.pinv(J) @ J
    yield agree(
        "second level: nearest to −α v with the same ẍ [Eq. (3.6)]", second, first + free @ (-10 * v - first), 1e-7
    )
    moved = now.acceleration(joint_torque(robot, q, v, second))
    yield agree("torque level: what comes of u_τ [Eq. (3.7)]", moved, second, 1e-9)
    yield agree("its ẍ", J @ moved + bias, wanted, 1e-6)


def _closed_loop(robot: Robot, q: Array, v: Array) -> Iterator[Figure]:
    """Within shrinking bounds the robot comes to rest, what the task does not see included [QO21, Eqs. (3.4),
    (3.5)]."""
    lower, upper = shrinking_bounds(v, np.array([0.0, 0.3, 0.4]), 10.0)
    yield agree("bounds k (∓g − v) [Eq. (3.4)]", np.stack([lower, upper]), [10 * (-0.5 - v), 10 * (0.5 - v)], 1e-12)
    dt, u, at, goal = 5e-3, v, q, ReferenceState(robot, q).frame("tool").p
    speeds, stated = [], Statement()
    for _ in range(300):
        now = ReferenceState(robot, at, u)
        tool, rates = now.frame("tool"), joints(now, slice(0, robot.nv))
        e_dot = tool.V[:3]
        wish = error_acceleration(tool.p - goal, e_dot, 36.0, 13.0)
        program = acceleration_program(
            frame_motion(robot, at, u, "tool"), wish, 0.05, bounds=shrinking_bounds(u, e_dot, 5.0)
        )
        a = DaqpSolver().solve(program).x
        g = float(np.linalg.norm(e_dot))
        within = [Kept(sign * rates, 5.0 * (-g - sign * u)) for sign in (1.0, -1.0)]
        stated.look(
            a, True, [Asked(point(now, "tool"), -13.0 * e_dot - 36.0 * (tool.p - goal))], within, motion_weight=0.05**2
        )
        at, u = path(robot, at, u, a)(dt), u + dt * a
        speeds.append(largest(u))
    yield from stated.figures("within them [Eq. (3.5)]", 1e-6)
    yield small("within them everything comes to rest, rad/s after 1.5 s", speeds[-1] / speeds[0], 2e-2)
    yield small(
        "and the tool is where it was, m", float(np.linalg.norm(ReferenceState(robot, at).frame("tool").p - goal)), 3e-2
    )


# --- Q5 ---------------------------------------------------------------------------------------------------------------


def cones() -> Iterator[Figure]:
    robot = load("arm7")
    q = robot.random_state(np.random.default_rng(3))[0]
    limited = [name for name, j in robot.joints.items() if 0 < j.limits.upper - j.limits.lower <= 2 * np.pi]
    pairs = [joint_limit_angle(robot, name) for name in limited]
    now = distances_kernel(robot, [pair[0] for pair in pairs])(q, np.zeros(7))
    middle = np.array([(robot.joints[n].limits.lower + robot.joints[n].limits.upper) / 2 for n in limited])
    away = np.array([q[robot.joints[n].q][0] for n in limited]) - middle
    yield agree(f"{len(limited)} joints: f = 2 − 2 cos(q − q_mid) [Sec. 4.3]", now.value, 2 - 2 * np.cos(away), 1e-12)
    half = [(robot.joints[n].limits.upper - robot.joints[n].limits.lower) / 2 for n in limited]
    yield agree("their safe angles are half the range", [pair[1].angle for pair in pairs], half, 1e-12)
    yield from _into_the_limit(robot, limited[1], *pairs[1])
    yield from _second_order_cone(robot)
    yield from against_the_ends()
    yield from turning_cone()


def _into_the_limit(robot: Robot, joint: str, measured: Any, safe: SafeAngle) -> Iterator[Figure]:
    """A joint driven against its end by the line-to-line angle alone comes there and no farther."""
    q, index, measure = robot.neutral(), robot.joints[joint].v.start, measured.on(robot)
    end = robot.joints[joint].limits.upper
    for _ in range(400):
        rows = cone_velocity_rows(measure(q, np.zeros(7)), safe, 5.0)
        J = np.eye(7)[[index]]
        u = DaqpSolver().solve(velocity_program(J, np.array([-1.0]), 3.0, 1e-3, rows)).x
        q = q + 5e-3 * u
    left = float(end - q[robot.joints[joint].q][0])
    yield Figure(f"{joint} driven against its end: rad from it", "0 … 0.02", f"{left:.4f}", -1e-6 < left < 0.02)


def _second_order_cone(robot: Robot) -> Iterator[Figure]:
    """At the bound of (4.34) f̃'' + η₁ f̃' + η₂ f̃ = 0, with f̃ of a tool and an axis that both turn, by
    differences."""
    rng = np.random.default_rng(6)
    q, v = robot.random_state(rng)
    up, V, A, gains = np.array([0.0, 0.6, 0.8]), rng.normal(size=3), rng.normal(size=3), Gains(9.0, 14.0)
    safe = SafeAngle(0.8, -0.3, 0.2)
    axis = Line((0, 0, 0), tuple(up), None, np.concatenate([np.zeros(3), V]), np.concatenate([np.zeros(3), A]))
    rows = cone_acceleration_rows(angle(Line((0, 0, 0), (0, 0, 1), "tool"), axis).on(robot)(q, v), v, safe, gains)
    a = np.linalg.pinv(rows.A) @ rows.upper
    at = path(robot, q, v, a)

    def beyond(t: float) -> float:
        allowed = 0.8 - 0.3 * t + 0.1 * t * t
        z, now = ReferenceState(robot, at(t)).frame("tool").R[:, 2], turned(V * t + A * t * t / 2) @ up
        return float(2 - 2 * z @ now - (2 - 2 * np.cos(allowed)))

    law = second_rate(beyond) + 9.0 * rate(beyond) + 14.0 * beyond(0.0)
    yield small("at the bound: f̃'' + η₁ f̃' + η₂ f̃ by differences [Eq. (4.34)]", abs(law), 1e-5)


# --- Q6 ---------------------------------------------------------------------------------------------------------------


def self_collision() -> Iterator[Figure]:
    robot = load("human")
    rng = np.random.default_rng(0)
    switch = line_point_switch(
        robot, Line((0, 0, 0), (0, 0, 1), "thorax"), Segment((0, 0, 0), (0, 0, -0.25), "left_forearm")
    )
    errors: dict[str, float] = {}
    for _ in range(20):
        q, v = robot.random_state(rng)
        part, now = switch(q, v)
        searched = [_torso_and_arm(robot, q), rate(partial(_along, robot, path(robot, q, v)), 1e-4)]
        errors[part] = max(errors.get(part, 0.0), largest(np.array([now.value, now.J @ v]) - searched))
    for part in ("line", "first end", "second end"):
        name = f"torso and forearm, {part} [Eq. 4.37]: value and rate against the least over the arm"
        yield small(name, errors.get(part, np.inf), 1e-6)
    yield from _all_pairs(robot, q, v)
    walls = target_region([(0.2, -0.3, 1), (0.6, -0.3, 1), (0.6, 0.3, 1), (0.2, 0.3, 1)])
    hand = distances_kernel(robot, [distance(Point((0, 0, 0), "left_hand"), wall) for wall in walls])(q, v)
    x, y, _ = ReferenceState(robot, q).frame("left_hand").p
    walled = np.sort([x - 0.2, 0.6 - x, y + 0.3, 0.3 - y])
    yield agree("four walls around a target [Eq. 4.39]: distances of the hand", np.sort(hand.value), walled, 1e-11)
    for level in LEVELS:
        yield from _around(level)
    free, kept = (_hands_together(robot, constrained) for constrained in (False, True))
    good = bool(free.least < -0.05 and -1e-3 < kept.least < 0.02)
    words = f"{free.least:.3f}, {kept.least:.4f}"
    yield Figure("hands sent into each other, without and with `SelfCollision`, m", "< 0, ≥ 0", words, good)
    yield from kept.figures("hands sent into each other [Eq. 4.38]")


def _all_pairs(robot: Robot, q: Array, v: Array) -> Iterator[Figure]:
    """Distances of capsules by plane geometry, and their first two derivatives by differences along a motion."""
    pairs, a = self_collision_pairs(robot, samples=100), np.random.default_rng(1).normal(size=robot.nv)
    watch, at = PairSet(robot, tuple(pairs), range=np.inf, most=len(pairs)), path(robot, q, v, a)
    now = watch(q, v)

    def gaps(t: float) -> Array:
        there = ReferenceState(robot, at(t))
        return np.array([between(there, *pair).x[0] for pair in pairs])

    what = f"{len(pairs)} pairs of capsules at once"
    yield agree(f"{what}: distances by plane geometry", now.value, gaps(0.0), 1e-9)
    wanted = rate(gaps, 1e-4)
    yield agree(f"{what}: rate and J v by differences", [now.rate, now.J @ v], [wanted, wanted], 1e-7)
    bend = second_rate(gaps, 2e-4)
    yield agree(f"{what}: J a + J̇ v by differences [Eq. 4.38]", now.J @ a + now.bias, bend, 1e-5)


def _hands_together(robot: Robot, constrained: bool) -> Passing:
    """Returns what came of balls of 0.1 m around both hands that are sent to one place."""
    q, v, dt, hands = robot.standing(), np.zeros(robot.nv), 5e-3, ("left_hand", "right_hand")
    goal, q0 = ReferenceState(robot, q).frame("thorax").p + np.array([0.4, 0.0, 0.0]), q
    balls = Sphere((0, 0, 0), 0.1, hands[0]), Sphere((0, 0, 0), 0.1, hands[1])
    tasks = [
        *(FrameTask(hand, goal, axes="position", gain=5.0) for hand in hands),
        PostureTask(q, weight=1e-2, gain=5.0),
    ]
    rules = [SelfCollision([balls], safe=0.02, gains=Gains.of_rates(5.0, 20.0))] if constrained else []
    controller, passing = WholeBodyController(robot, tasks, (), rules, "acceleration", dt=dt), Passing()
    for k in range(300):
        a, now = controller(k * dt, q, v).acceleration, ReferenceState(robot, q, v)
        left, right = (point(now, hand) for hand in hands)
        asked = [Asked(hand, towards(hand, goal, 5.0, True)) for hand in (left, right)]
        posture = joints(now, slice(6, None))
        asked.append(Asked(posture, towards(posture, q0[7:], 5.0, True), 1e-2))
        off = (left - right).length() - given(0.22, robot.nv)
        passing.least = min(passing.least, float(off.x[0]))
        passing.look(a, True, asked, [barrier(off, 5.0, 20.0, dt, True)] if constrained else [])
        q, v = path(robot, q, v, a)(dt), v + a * dt
    return passing


def _torso_and_arm(robot: Robot, q: Array) -> float:
    """Squared distance of the thorax' axis from the forearm, by search along the arm."""
    now = ReferenceState(robot, q)
    torso, arm = now.frame("thorax"), now.frame("left_forearm")

    def off(s: float) -> float:
        across = np.cross(arm.p - 0.25 * s * arm.R[:, 2] - torso.p, torso.R[:, 2])
        return float(across @ across)

    best = minimize_scalar(off, bounds=(0.0, 1.0), method="bounded", options={"xatol": 1e-12})
    return min(off(0.0), off(1.0), float(best.fun))


def _along(robot: Robot, at: Callable[[float], Array], t: float) -> float:
    return _torso_and_arm(robot, at(t))


def _around(level: Level) -> Iterator[Figure]:
    """A tool that passes a ball: with the constraint it keeps off, and it needs to; without it goes through."""
    free, held = (pass_by(level, constrained) for constrained in (False, True))
    good = bool(free.least < 0.0 and -1e-6 < held.least < 0.02)
    ours = f"{free.least:.3f}, {held.least:.4f}"
    yield Figure(
        f"{level}: least distance of tool and ball, without and with `KeepOut`, m", "< 0, 0 … 0.02", ours, good
    )
    yield from held.came_about(f"{level}: a tool that passes a ball")


@dataclass
class Passing(Statement):
    """What came of a tool that passes a ball.

    Attributes:
        least: m, distance of tool and ball, less what must be kept.
        off: accelerations under the torques from those commanded, by their size; none where no torques are commanded.
    """

    least: float = np.inf
    off: float | None = None

    def came_about(self, what: str) -> Iterator[Figure]:
        """Returns what came of all steps, Newton and Euler included."""
        yield from self.figures(what)
        if self.off is not None:
            yield small(f"{what}: commanded accelerations come about, by Newton and Euler, every step", self.off, 1e-8)


def pass_by(
    level: Level, constrained: bool, moving: Callable[[float], Sphere] | None = None, speed: Array | None = None
) -> Passing:
    """Returns how the tool of an arm passes a ball that lies between it and its goal.

    Args:
        moving: the ball over time as the controller knows it; it stands if not given.
        speed: m/s, of the ball as the controller knows it.
    """
    robot, dt, second = load("arm6"), 5e-3, level != "velocity"
    q, v = np.array([0.0, 0.2, 1.3, 0.0, 0.6, 0.0]), np.zeros(6)
    begin = ReferenceState(robot, q).frame("tool").p
    goal, still = begin + np.array([0.0, -0.45, 0.0]), Sphere(tuple(begin + np.array([0.03, -0.22, 0.02])), 0.08)
    ball: Callable[[float], Sphere] = moving or (lambda t: still)
    law: dict[str, Any] = {"variation": 300.0, "gains": Gains.of_rates(5.0, 20.0)}
    keep = [KeepOut(Sphere((0, 0, 0), 0.04, "tool"), ball, **law)] if constrained else []
    tasks = [FrameTask("tool", goal, axes="position", gain=3.0), PostureTask(q, weight=1e-3, gain=5.0)]
    q0, controller, passing = q, WholeBodyController(robot, tasks, (), keep, level=level, dt=dt), Passing()
    for k in range(400):
        solution, now = controller(k * dt, q, v), ReferenceState(robot, q, v)
        tool, posture = point(now, "tool"), joints(now, slice(0, 6))
        off = (tool - given(ball(k * dt).points[0], 6, speed)).length() - given(0.12, 6)
        asked = Asked(tool, towards(tool, goal, 3.0, second)), Asked(posture, towards(posture, q0, 5.0, second), 1e-3)
        kept = [barrier(off, 5.0, 20.0, dt, second, variation=300.0)] if constrained else []
        passing.look(solution.acceleration if second else solution.velocity, second, asked, kept)
        if second:
            a = solution.acceleration
            if level == "torque":
                a = now.acceleration(solution.torque)
                passing.off = max(passing.off or 0.0, apart(a, solution.acceleration))
            q, v = path(robot, q, v, a)(dt), v + a * dt
        else:
            q = path(robot, q, solution.velocity)(dt)
        centre = np.asarray(ball((k + 1) * dt).points[0])
        passing.least = min(
            passing.least, float(np.linalg.norm(ReferenceState(robot, q).frame("tool").p - centre)) - 0.12
        )
    return passing


# --- Q4, with the controller ------------------------------------------------------------------------------------------


def moving_obstacle_figures() -> Iterator[Figure]:
    """[QO21, Sec. 4.1] by torques: a ball that comes across. Known to move, it is kept off; taken for still, it is
    not."""

    def known(t: float) -> Sphere:
        return Sphere(tuple(_crossing(t)), 0.08, velocity=(*SPEED, 0, 0, 0))

    def taken_for_still(t: float) -> Sphere:
        return Sphere(tuple(_crossing(t)), 0.08)

    yield from barrier_figures()
    for level in LEVELS[1:]:
        cases = (False, known, SPEED), (True, taken_for_still, None), (True, known, SPEED)
        passed = [pass_by(level, *case) for case in cases]
        good = bool(passed[0].least < 0 and passed[1].least < -1e-3 and -1e-6 < passed[2].least < 0.05)
        ours = ", ".join(f"{one.least:.3f}" for one in passed)
        what = f"controller, {level}: a ball comes across; least distance in cases I, II, III, m"
        yield Figure(what, "< 0, < 0, 0 … 0.05", ours, good, "collision, collision, none")
        for case, one in zip(("II", "III"), passed[1:], strict=True):
            yield from one.came_about(f"controller, {level}, case {case}")


def barrier_figures() -> Iterator[Figure]:
    """What an active row asks of a tool and a ball in motion, with a safe distance that grows [docs/safety.md]: outside
    of a sphere, inside of one, and by squared distances of points."""
    h, jump, variation = 2e-3, 4.0, 300.0
    law: dict[str, Any] = {"variation": variation, "jump": jump, "gains": Gains.of_rates(5.0, 20.0)}
    tool, radii = Sphere((0, 0, 0), 0.04, "tool"), 0.12

    def ball(centre: Array) -> Sphere:
        return Sphere(tuple(centre), 0.08, velocity=(*DRIFT[0], 0, 0, 0), acceleration=(*DRIFT[1], 0, 0, 0))

    def place(centre: Array) -> Point:
        return Point(tuple(centre), velocity=(*DRIFT[0], 0, 0, 0), acceleration=(*DRIFT[1], 0, 0, 0))

    outside, around = (lambda t, s=s: (s + 0.1 * t + 0.15 * t * t, 0.1, 0.3) for s in (0.02, 0.16))
    kept: dict[str, tuple[Callable[[Array], Any], Callable[[float, float], float], float]] = {
        "KeepOut": (lambda c: KeepOut(tool, ball(c), outside, **law), lambda d, t: d - radii - outside(t)[0], 1.0),
        "KeepIn": (lambda c: KeepIn(tool, ball(c), around, **law), lambda d, t: around(t)[0] - d + radii, -1.0),
        "KeepOut of points": (
            lambda c: KeepOut(Point((0, 0, 0), "tool"), place(c), around, **law),
            lambda d, t: d * d - around(t)[0] ** 2,
            1.0,
        ),
    }
    for name, (made, clearance, towards_it) in kept.items():
        for level in LEVELS:
            found, wanted = _at_the_barrier(made, clearance, towards_it, level, h, jump, variation)
            what = f"{name}, {level}: what an active barrier asks for, by differences [Thm 0, 2]"
            yield agree(what, found, wanted, 1e-6)


def _at_the_barrier(
    made: Callable[[Array], Any], clearance: Callable[[float, float], float], towards_it: float, level: Level,
    h: float, jump: float, variation: float,
) -> tuple[float, float]:  # fmt: skip
    """Returns (rate or acceleration of a clearance along what is commanded, what the law asks for)."""
    robot = load("arm6")
    q, v = np.array([0.3, 0.2, 1.3, 0.2, 0.6, 0.1]), np.array([0.4, -0.3, 0.5, 0.2, -0.6, 0.3])
    side, (speed, acceleration) = np.array([0.6, -0.64, 0.48]), DRIFT
    centre = ReferenceState(robot, q).frame("tool").p + 0.25 * side
    goal = FrameTask("tool", centre + towards_it * side, axes="position", gain=20.0)
    tasks = [goal, PostureTask(q, weight=1e-3)]
    solution = WholeBodyController(robot, tasks, (), [made(centre)], level=level, dt=h)(0.0, q, v)
    at = path(robot, q, solution.velocity, None if level == "velocity" else solution.acceleration)

    def x(t: float) -> float:
        away = ReferenceState(robot, at(t)).frame("tool").p - centre - speed * t - acceleration * t * t / 2
        return clearance(float(np.linalg.norm(away)), t)

    if level == "velocity":
        return rate(x), -5.0 * x(0.0) + jump * h / 2
    lost = (jump + variation * h / 2) * h, (jump / 2 + variation * h / 6) * h**2
    asked = (-25.0 * rate(x) - 100.0 * x(0.0) + (lost[0] + 20.0 * lost[1]) / h) / (1 + 20.0 * h / 2)
    return second_rate(x, 1e-3), asked


DRIFT = np.array([-0.3, 0.2, 0.1]), np.array([0.5, 0.4, -0.6])  # m/s, m/s², of a ball
SPEED = np.array([0.0, 0.5, 0.0])  # m/s


def _crossing(t: float) -> Array:
    return np.array([0.63, -0.85, 0.60]) + SPEED * t
