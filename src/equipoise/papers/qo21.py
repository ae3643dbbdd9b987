"""[QO21] Thesis: second-order vector field inequalities, dual-quaternion dynamics."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..algebra import dual_quaternions as dq
from ..algebra import rigid
from ..balance.support import area_gradient, four_point_area, support_area, support_polygon
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
from ..control.qp import DaqpSolver
from ..forms import charts, principles
from ..forms.constrained import ConstrainedDynamics
from ..geometry.collisions import PairSet, line_point_switch, self_collision_pairs, target_region
from ..geometry.distances import angle, distance, distances_kernel
from ..geometry.primitives import Line, Plane, Point, Segment
from ..model.robots.mobile import rolling_constraint, rolling_constraint_bias
from ..robot import load
from .qo21_collision import pictures as collision_pictures
from .qo21_collision import vector_field_inequalities
from .qo21_contacts import multi_contact_figures
from .qo21_contacts import pictures as contact_pictures
from .qo21_cooperation import cooperation_figures
from .qo21_cup import cup_figures
from .qo21_models import engine_figures, toolbox_figures
from .rows import Figure, Row, equal, small
from .tpn17 import largest

# our counts beside the row of [QO21, Table 5.4] they compare with
COUNTED = {
    "gauss-dual-quaternion": "Gauss in dual quaternions, Alg. 5.1",
    "recursive": "Newton–Euler (Balafoutis 1994)",
}


def algebra() -> Iterator[Figure]:
    rng = np.random.default_rng(0)
    axes = rng.normal(size=(2, 3))
    axes /= np.linalg.norm(axes, axis=1, keepdims=True)
    x, y = (dq.pose(dq.rotation(axis, rng.uniform(0, 3)), rng.normal(size=3)) for axis in axes)
    yield small("vec₈(x y) − H⁺(x) vec₈ y [Def. A.19]", largest((x * y).vec8 - dq.hamiplus8(x) @ y.vec8), 1e-12)
    yield small("vec₈(x y) − H⁻(y) vec₈ x", largest((x * y).vec8 - dq.haminus8(y) @ x.vec8), 1e-12)
    yield small("exp(log x) − x", largest(dq.exp(dq.log(x)).vec8 - x.vec8), 1e-12)
    yield small("x y as matrices", largest((x * y).matrix - x.matrix @ y.matrix), 1e-12)


def distances_of_primitives() -> Iterator[Figure]:
    robot = load("arm7")
    rng = np.random.default_rng(0)
    q, v = robot.random_state(rng)
    V, V_dot = rng.normal(size=(2, 6))
    origin, axis = Point((0, 0, 0), "tool"), Line((0, 0, 0), (0, 0, 1), "tool")
    point, line, plane = (Point((0.3, 0.4, 0.5), None, V, V_dot), Line((0.5, 0, 1), (1, 2, 3), None, V, V_dot),
                          Plane((1, 0, 1), 0.2, None, V, V_dot))  # fmt: skip
    named = {
        "point-to-point": distance(origin, point),
        "point-to-line": distance(origin, line),
        "point-to-plane": distance(origin, plane),
        "line-to-line": distance(axis, line),
        "line-to-line angle [Eq. 4.28]": angle(axis, line),
        "line-to-line angle [Eq. 4.26]": angle(axis, line, smooth=False),
    }
    kernel = distances_kernel(robot, list(named.values()))
    now, h = kernel(q, v), 1e-4
    closed = _closed_forms(robot.pose(q, "tool"), robot.jacobian(q, "tool"), point, line, plane)
    world = kernel.motion(kernel.world)

    def rate(t: float) -> np.ndarray:
        moved = np.stack([world[0] + t * world[1] + t * t / 2 * world[2], world[1] + t * world[2], world[2]])
        return kernel(robot.integrate(q, v, t), v, moved).rate(v)

    change = (8 * (rate(h) - rate(-h)) - (rate(2 * h) - rate(-2 * h))) / (12 * h)
    for k, (name, (value, J, residual)) in enumerate(zip(named, closed, strict=True)):
        error = max(abs(now.value[k] - value), largest(now.J[k] - J), abs(now.residual[k] - residual))
        yield small(f"{name}: value, J and ζ against the closed form", error, 1e-10)
        yield small(f"{name}: J̇v + ζ̇ against differences", abs(now.acceleration(0 * v)[k] - change[k]), 1e-6)
    squared = ", ".join(name for name, d in named.items() if d.squared)
    yield equal("squared in Table 3.1", squared, "point-to-point, point-to-line, line-to-line")


def _closed_forms(X: np.ndarray, J: np.ndarray, point: Point, line: Line, plane: Plane) -> list[tuple[Any, Any, Any]]:
    """(value, Jacobian, residual) of [QO21, Table 3.1], (4.30) and (4.27), whose residual lacks −1/sin φ in print."""
    p, l_z, J_p = X[:3, 3], X[:3, 2], J[:3]
    J_l = -rigid.skew(l_z) @ J[3:]
    m_z, J_m = np.cross(p, l_z), rigid.skew(p) @ J_l - rigid.skew(l_z) @ J_p
    (p_l, l), (p_l_dot, l_dot) = line.motion[:2].reshape(2, 2, 3)
    (p_n, n), (p_n_dot, n_dot) = plane.motion[:2].reshape(2, 2, 3)
    m, m_dot = np.cross(p_l, l), np.cross(p_l_dot, l) + np.cross(p_l, l_dot)
    r, u, c, sine = p - point.position, np.cross(p, l) - m, np.cross(l_z, l), np.sqrt(1 - (l_z @ l) ** 2)
    h, s = l @ m_z + l_z @ m, c @ c
    of_robot = 2 * h * (l @ J_m + m @ J_l) / s + 2 * h * h * (c @ rigid.skew(l) @ J_l) / s**2
    of_world = 2 * h * (l_dot @ m_z + l_z @ m_dot) / s - 2 * h * h * (c @ np.cross(l_z, l_dot)) / s**2
    return [
        (r @ r, 2 * r @ J_p, -2 * r @ point.motion[1]),
        (u @ u, -2 * u @ rigid.skew(l) @ J_p, 2 * u @ (np.cross(p, l_dot) - m_dot)),
        (p @ n - plane.offset, n @ J_p, p @ n_dot - p_n_dot @ n - p_n @ n_dot),
        (h * h / s, of_robot, of_world),
        ((l_z - l) @ (l_z - l), 2 * (l_z - l) @ J_l, -2 * (l_z - l) @ l_dot),
        (np.arccos(l_z @ l), -l @ J_l / sine, -l_z @ l_dot / sine),
    ]


def task_control() -> Iterator[Figure]:
    robot = load("arm7")
    q, v = robot.random_state(np.random.default_rng(0))
    motion, error = frame_motion(robot, q, v, "tool"), np.array([0.1, -0.2, 0.15])
    u = DaqpSolver().solve(velocity_program(motion.J, error, 4.0, 1e-6)).x
    yield small("velocity level: J v + η x̃ [Eq. (3.1)]", largest(motion.J @ u + 4 * error), 1e-6)
    wanted = error_acceleration(error, motion.J @ v, 36.0, 13.0)
    first = DaqpSolver().solve(acceleration_program(motion, wanted, 1e-6)).x
    yield small("acceleration level: ẍ − ẍ_d [Eq. (3.3)]", largest(motion.J @ first + motion.bias - wanted), 1e-6)
    lower, upper = shrinking_bounds(v, np.zeros(3), 10.0)
    yield small("bounds at a task at rest: a + k v [Eq. (3.4)]", max(largest(lower + 10 * v), largest(upper + 10 * v)), 1e-12)
    second = DaqpSolver().solve(resting_program(motion.J, first, v, 10.0)).x
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
        q = robot.integrate(q, DaqpSolver().solve(velocity_program(J, X[:3, 3] - goal, 3.0, 0.05, rows)).x, 2e-3)
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


def support_polygon_area() -> Iterator[Figure]:
    robot = load("human")
    rng = np.random.default_rng(0)
    a, b, c, d = np.array([[0.1, -0.1], [-0.15, -0.1], [-0.1, 0.6], [0.1, 0.1]])
    thesis, J_thesis = four_point_area(a, b, c, d)
    hull = support_polygon([a, b, c, d])
    yield small("area of four points [Eq. 4.41] against the hull", abs(thesis - hull.area), 1e-12)
    J_hull = area_gradient(hull.vertices)[list(hull.indices).index(2)]
    yield small("its Jacobian [Eq. 4.52] against that of the hull", largest(J_thesis - J_hull), 1e-12)
    contacts, (q, v), h = ["left_foot", "right_foot", "left_hand", "right_hand"], robot.random_state(rng), 1e-5
    now = support_area(robot, q, v, contacts)
    before, after = (support_area(robot, robot.integrate(q, v, t), v, contacts) for t in (-h, h))
    yield small("hull of feet and hands: Ȧ = J_A v [Eq. 4.54]", abs(now.rate(v) - (after.value - before.value) / (2 * h)), 1e-8)
    yield small("and J̇_A v", abs(now.J_dot_v - (after.rate(v) - before.rate(v)) / (2 * h)), 1e-7)


def four_principles() -> Iterator[Figure]:
    robot = load("arm6")
    rng = np.random.default_rng(0)
    q, v = robot.random_state(rng)
    M, h = robot.mass_matrix(q), robot.bias_force(q, v)
    for principle in principles.PRINCIPLES:
        M_own, h_own = principles.equations(robot, q, v, principle)
        error = largest(M_own - M) / largest(M) + largest(h_own - h) / largest(h)
        yield small(f"{principle}: M and h against the kernels", error, 1e-11)
    thesis, ours = principles.published_counts(6), principles.operation_counts(robot)
    for name, row in COUNTED.items():
        count, paper = ours[name], thesis[row]
        fewer = count.multiplications <= paper.multiplications
        published, counted = (f"{c.multiplications} / {c.additions}" for c in (paper, count))
        yield Figure(f"{name}, six joints: products / sums; thesis: {row}", published, counted, fewer)


def added_constraints() -> Iterator[Figure]:
    robot = load("nonholonomic_arm")
    rng = np.random.default_rng(0)
    q, v = robot.random_state(rng)
    A = rolling_constraint(q)
    v = v - A.T @ np.linalg.solve(A @ A.T, A @ v)  # a velocity that rolls
    b = -rolling_constraint_bias(q, v)
    tau = rng.normal(size=robot.nv)
    rolling = ConstrainedDynamics(robot.mass_matrix(q), robot.bias_force(q, v), A, b)
    a = rolling.acceleration(tau)
    yield small("rolling: A a − b [Eq. 5.48]", largest(A @ a - b), 1e-10)
    residual = robot.inverse_dynamics(q, v, a) - tau - A.T @ rolling.multipliers(tau)
    yield small("rolling: equation of motion with its multiplier", largest(residual), 1e-9)
    human = load("quadruped")
    q, v = human.random_state(rng)
    tau = rng.normal(size=human.nv)
    chart = human.equations_of_motion(q, v).in_chart(charts.DualQuaternion)
    error = largest(chart.body_acceleration(chart.acceleration(tau)) - human.forward_dynamics(q, v, tau))
    scale = largest(human.forward_dynamics(q, v, tau))
    yield small("base of eight parameters with unit-norm constraint [App. B]", error / scale, 1e-9)


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
