"""[QO21] Thesis: second-order vector field inequalities, dual-quaternion dynamics."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..algebra import dual_quaternions as dq
from ..algebra import rigid
from ..control.distances import angle, distance, distances_kernel
from ..control.primitives import Line, Plane, Point
from ..forms import charts, principles
from ..forms.constrained import ConstrainedDynamics
from ..model.robots.mobile import rolling_constraint, rolling_constraint_bias
from ..robot import load
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


ROWS = [
    Row("Q1", "QO21", "quaternion and dual-quaternion algebra", algebra),
    Row("Q2", "QO21", "points, lines, planes and their distances", distances_of_primitives),
    Row("Q3", "QO21", "task control at velocity, acceleration and torque level"),
    Row("Q4", "QO21", "vector field inequalities of first and second order"),
    Row("Q5", "QO21", "cone and joint-limit constraints from the line-to-line angle"),
    Row("Q6", "QO21", "self-collision; target regions from planes"),
    Row("Q7", "QO21", "support-polygon area"),
    Row("Q8", "QO21", "multi-contact strategy"),
    Row("Q9", "QO21", "Gauss, Gibbs–Appell and Kane give the same equations; operation counts", four_principles),
    Row("Q10", "QO21", "added constraints by Udwadia–Kalaba", added_constraints),
    Row("Q11", "QO21", "the experiments"),
]
