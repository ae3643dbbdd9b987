"""[QO21] Thesis: second-order vector field inequalities, dual-quaternion dynamics."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..control.closed_form.cones import SafeAngle, cone_velocity_rows, joint_limit_angle
from ..control.closed_form.motions import frame_motion
from ..control.closed_form.task_space import (
    acceleration_program,
    error_acceleration,
    joint_torque,
    resting_program,
    shrinking_bounds,
    velocity_program,
)
from ..control.qp import Solver
from ..geometry.collisions import PairSet, line_point_switch, self_collision_pairs, target_region
from ..geometry.distances import angle, distance, distances_kernel
from ..geometry.primitives import Line, Point, Segment
from ..robot import load
from .qo21_algebra import algebra, distances_of_primitives
from .qo21_collision import pictures as collision_pictures
from .qo21_collision import vector_field_inequalities
from .qo21_contacts import multi_contact_figures
from .qo21_contacts import pictures as contact_pictures
from .qo21_cooperation import cooperation_figures
from .qo21_cup import cup_figures
from .qo21_dynamics import added_constraints, four_principles, support_polygon_area
from .qo21_models import engine_figures, toolbox_figures
from .rows import Figure, Row, largest, small


def task_control() -> Iterator[Figure]:
    robot = load("arm7")
    q, v = robot.random_state(np.random.default_rng(0))
    motion, error = frame_motion(robot, q, v, "tool"), np.array([0.1, -0.2, 0.15])
    u = Solver().solve(velocity_program(motion.J, error, 4.0, 1e-6)).x
    yield small("velocity level: J v + η x̃ [Eq. (3.1)]", largest(motion.J @ u + 4 * error), 1e-6)
    wanted = error_acceleration(error, motion.J @ v, 36.0, 13.0)
    first = Solver().solve(acceleration_program(motion, wanted, 1e-6)).x
    yield small("acceleration level: ẍ − ẍ_d [Eq. (3.3)]", largest(motion.J @ first + motion.bias - wanted), 1e-6)
    lower, upper = shrinking_bounds(v, np.zeros(3), 10.0)
    yield small("bounds at a task at rest: a + k v [Eq. (3.4)]", max(largest(lower + 10 * v), largest(upper + 10 * v)), 1e-12)
    second = Solver().solve(resting_program(motion.J, first, v, 10.0)).x
    yield small("second level: J (u₂ − u₁) [Eq. (3.6)]", largest(motion.J @ (second - first)), 1e-8)
    a = robot.forward_dynamics(q, v, joint_torque(robot, q, v, second))
    yield small("torque level: what comes of u_τ − u₂ [Eq. (3.7)]", largest(a - second) / largest(second), 1e-9)


def cones() -> Iterator[Figure]:
    robot = load("arm7")
    q = robot.random_state(np.random.default_rng(3))[0]
    limited = [name for name, j in robot.joints.items() if 0 < j.limits.upper - j.limits.lower <= 2 * np.pi]
    pairs = [joint_limit_angle(robot, name) for name in limited]
    now = distances_kernel(robot, [pair[0] for pair in pairs])(q, np.zeros(7))
    away = np.array(
        [q[robot.joints[n].q][0] - sum((robot.joints[n].limits.lower, robot.joints[n].limits.upper)) / 2 for n in limited]
    )
    error = largest(now.value - 2 + 2 * np.cos(away))
    yield small(f"{len(limited)} joints: f − (2 − 2 cos(q − q_mid)) [Sec. 4.3]", error, 1e-12)
    axis = Line((0, 0, 0), tuple(robot.pose(q, "tool")[:3, 2]))  # upright is as the tool is now
    measured, safe, tilt = angle(Line((0, 0, 0), (0, 0, 1), "tool"), axis).on(robot), SafeAngle(0.3), 0.0
    goal = robot.pose(q, "tool")[:3, 3] + [0.3, 0.2, -0.3]
    for _ in range(300):
        rows = cone_velocity_rows(measured(q, np.zeros(7)), safe, 5.0)
        X, J = robot.pose(q, "tool"), robot.jacobian(q, "tool")[:3]
        q = robot.integrate(q, Solver().solve(velocity_program(J, X[:3, 3] - goal, 3.0, 0.05, rows)).x, 2e-3)
        tilt = max(tilt, float(np.arccos(min(1.0, robot.pose(q, "tool")[:3, 2] @ np.array(axis.direction)))))
    yield Figure("greatest tilt of a cup on its way, rad [Eq. (4.33)]", "≤ 0.3", f"{tilt:.4f}", bool(0.2 < tilt < 0.3 + 1e-3))


def self_collision() -> Iterator[Figure]:
    robot = load("human")
    rng = np.random.default_rng(0)
    torso, forearm = Line((0, 0, 0), (0, 0, 1), "thorax"), Segment((0, 0, 0), (0, 0, -0.25), "left_forearm")
    switch = line_point_switch(robot, torso, forearm)
    whole = distances_kernel(robot, [distance(torso, forearm)])
    errors: dict[str, float] = {}
    for _ in range(30):
        q, v = robot.random_state(rng)
        part, now = switch(q, v)
        one = whole(q, v)
        error = max(abs(now.value - one.value[0]), largest(now.J - one.J[0]))
        errors[part] = max(errors.get(part, 0.0), float(error))
    for part in ("line", "first end", "second end"):
        name = f"torso and forearm, {part} [Eq. 4.37]: value and J against Line–Segment"
        yield small(name, errors.get(part, np.inf), 1e-11)
    pairs = self_collision_pairs(robot, samples=100)
    watch, h = PairSet(robot, tuple(pairs), range=np.inf, most=len(pairs)), 1e-5
    before, after = (watch(robot.integrate(q, v, t), v).value for t in (-h, h))
    error = largest(watch(q, v).rate - (after - before) / (2 * h))
    yield small(f"{len(pairs)} pairs of capsules at once: rate against differences", error, 1e-7)
    walls = target_region([(0.2, -0.3, 1), (0.6, -0.3, 1), (0.6, 0.3, 1), (0.2, 0.3, 1)])
    hand = distances_kernel(robot, [distance(Point((0, 0, 0), "left_hand"), wall) for wall in walls])(q, v)
    x, y, _ = robot.pose(q, "left_hand")[:3, 3]
    error = largest(np.sort(hand.value) - np.sort([x - 0.2, 0.6 - x, y + 0.3, 0.3 - y]))
    yield small("four walls around a target [Eq. 4.39]: distances of the hand", error, 1e-12)


def experiments() -> Iterator[Figure]:
    """Sec. 6.1 and 6.3; those of Sec. 4.1 are in Q4, those of Sec. 6.2 in Q8."""
    yield from cup_figures()
    yield from cooperation_figures()
    yield from toolbox_figures()
    yield from engine_figures()


def _pictures() -> Iterator[tuple[str, Any]]:
    from .qo21_pictures import pictures

    return pictures()


ROWS = [
    Row("Q1", "QO21", "quaternion and dual-quaternion algebra", algebra),
    Row("Q2", "QO21", "points, lines, planes and their distances", distances_of_primitives),
    Row("Q3", "QO21", "task control at velocity, acceleration and torque level", task_control),
    Row("Q4", "QO21", "vector field inequalities of first and second order", vector_field_inequalities, collision_pictures),
    Row("Q5", "QO21", "cone and joint-limit constraints from the line-to-line angle", cones),
    Row("Q6", "QO21", "self-collision; target regions from planes", self_collision),
    Row("Q7", "QO21", "support-polygon area", support_polygon_area),
    Row("Q8", "QO21", "multi-contact strategy", multi_contact_figures, contact_pictures),
    Row("Q9", "QO21", "Gauss, Gibbs–Appell and Kane give the same equations; operation counts", four_principles),
    Row("Q10", "QO21", "added constraints by Udwadia–Kalaba", added_constraints),
    Row("Q11", "QO21", "the experiments", experiments, _pictures),
]
