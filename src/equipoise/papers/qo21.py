"""[QO21] Thesis: second-order vector field inequalities, dual-quaternion dynamics."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..algebra import dual_quaternions as dq
from ..forms import charts, principles
from ..forms.constrained import ConstrainedDynamics
from ..model.robots.mobile import rolling_constraint, rolling_constraint_bias
from ..robot import load
from .rows import Figure, Row, small
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
    Row("Q2", "QO21", "points, lines, planes and their distances"),
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
