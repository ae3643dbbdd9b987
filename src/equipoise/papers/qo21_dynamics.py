"""[QO21, Ch. 5] Principles of dynamics in dual quaternions, added constraints: rows Q9 and Q10."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..forms import charts, principles
from ..forms.constrained import ConstrainedDynamics
from ..model.robots.mobile import rolling_constraint, rolling_constraint_bias
from ..robot import Robot, load
from .reference import ReferenceState, path, rate, second_rate
from .rows import Figure, agree, largest, small

Array = np.ndarray
# products / sums for six joints, by the polynomials of [QO21, Table 5.4] as they are printed
TABLE_5_4 = {
    "Gauss in dual quaternions, Alg. 5.1": (
        4 * 6**3 + 386 * 6**2 + 401 * 6,
        (16 * 6**3 + 3 * 326 * 6**2 + 908 * 6) // 3,
    ),
    "Newton–Euler (Balafoutis 1994)": (150 * 6 - 48, 131 * 6 - 48),
}
# our counts beside the row of that table they compare with
COUNTED = {
    "gauss-dual-quaternion": "Gauss in dual quaternions, Alg. 5.1",
    "recursive": "Newton–Euler (Balafoutis 1994)",
}


# --- Q9 ---------------------------------------------------------------------------------------------------------------


def four_principles() -> Iterator[Figure]:
    robot = load("arm6")
    rng = np.random.default_rng(0)
    q, v = robot.random_state(rng)
    now, a = ReferenceState(robot, q, v), rng.normal(size=robot.nv)
    for principle in principles.PRINCIPLES:
        M, h = principles.equations(robot, q, v, principle)
        yield agree(f"{principle}: M against the links' own", M, now.M, 1e-11)
        yield agree(f"{principle}: h against Newton and Euler", h, now.h, 1e-11)
    tau = principles.inverse_dynamics(robot, q, v, a, "gauss-dual-quaternion")
    yield agree("Alg. 5.1: force of a motion", tau, now.force(a), 1e-11)
    yield from _dual_quaternion_kinematics(robot, q, v)
    ours = principles.operation_counts(robot)
    for name, row in COUNTED.items():
        count, printed = ours[name], TABLE_5_4[row]
        fewer = bool(50 < count.multiplications <= printed[0])
        ours_text = f"{count.multiplications} / {count.additions}"
        yield Figure(
            f"{name}, six joints: products / sums; thesis: {row} [Table 5.4]",
            "fewer products",
            ours_text,
            fewer,
            "{} / {}".format(*printed),
        )


def _dual_quaternion_kinematics(robot: Robot, q: Array, v: Array) -> Iterator[Figure]:
    """Pose, Jacobian and twist of the tool in dual quaternions [QO21, Sec. 5.2.1]."""
    at, now = path(robot, q, v), ReferenceState(robot, q, v)
    tool = now.frame("tool")
    x = principles.dual_quaternion_pose(robot, q, "tool")
    yield agree("pose of the tool as a dual quaternion", x.matrix, tool.X, 1e-11)
    x_dot = rate(lambda t: principles.dual_quaternion_pose(robot, at(t), "tool").vec8)
    J_x = principles.dual_quaternion_jacobian(robot, q, "tool")
    yield agree("vec₈ ẋ = J v by differences", J_x @ v, x_dot, 1e-9)
    J_dot = rate(lambda t: principles.dual_quaternion_jacobian(robot, at(t), "tool"))
    yield agree("J̇ by differences", principles.dual_quaternion_jacobian_rate(robot, q, v, "tool"), J_dot, 1e-8)
    xi = np.concatenate([tool.R.T @ tool.V[3:], tool.R.T @ tool.V[:3]])
    yield agree(
        "twist of the tool, ω first, in its axes [Eq. (5.2)]",
        principles.twist_jacobian(robot, q, "tool") @ v,
        xi,
        1e-10,
    )
    J_dot = rate(lambda t: principles.twist_jacobian(robot, at(t), "tool"))
    yield agree("its rate [Eq. (5.3)]", principles.twist_jacobian_rate(robot, q, v, "tool"), J_dot, 1e-8)


# --- Q10 --------------------------------------------------------------------------------------------------------------


def added_constraints() -> Iterator[Figure]:
    robot = load("nonholonomic_arm")
    rng = np.random.default_rng(0)
    q, v = robot.random_state(rng)
    A = rolling_constraint(q)
    v = v - A.T @ np.linalg.solve(A @ A.T, A @ v)  # a velocity that rolls
    slipping = v + 0.3 * A[0]
    side = ReferenceState(robot, q, slipping).links["platform_link"]
    yield agree(
        "rolling: A v is the slip across the wheels [Eq. 5.48]", A[0] @ slipping, side.R[:, 1] @ side.V[:3], 1e-12
    )
    tau, now = rng.normal(size=robot.nv), ReferenceState(robot, q, v)
    b = -rolling_constraint_bias(q, v)
    rolling = ConstrainedDynamics(robot.mass_matrix(q), robot.bias_force(q, v), A, b)
    a, multiplier = rolling.acceleration(tau), rolling.multipliers(tau)

    at = path(robot, q, v, a)

    def slip(t: float) -> float:
        link = ReferenceState(robot, at(t), v + t * a).links["platform_link"]
        return float(link.R[:, 1] @ link.V[:3])

    yield small("rolling: no slip comes about, by differences", abs(rate(slip)), 1e-8)
    yield agree("rolling: Newton and Euler with its multiplier", now.force(a), tau + A.T @ multiplier, 1e-9)
    twice = ConstrainedDynamics(
        robot.mass_matrix(q), robot.bias_force(q, v), np.vstack([A, 2 * A]), np.concatenate([b, 2 * b])
    )
    yield agree("the same constraint given twice [Eq. 5.44]", twice.acceleration(tau), a, 1e-9)
    yield agree("its force Aᵀ λ", twice.constraint_force(tau), A.T @ multiplier, 1e-9)
    both = np.concatenate([x.ravel() for x in rolling.kkt_solution(tau)])
    yield agree("by the optimality conditions of Gauss [Eq. 5.41]", both, np.concatenate([a, multiplier]), 1e-9)
    yield from _eight_parameters(rng)


def _eight_parameters(rng: np.random.Generator) -> Iterator[Figure]:
    """[QO21, App. B]: the pose of the base as a unit dual quaternion, its two constraints added."""
    robot = load("quadruped")
    q, v = robot.random_state(rng)
    tau, now = rng.normal(size=robot.nv), ReferenceState(robot, q, v)
    a = now.acceleration(tau)
    form = robot.equations_of_motion(q, v).in_chart(charts.DualQuaternion)
    dynamics = ConstrainedDynamics(form.M, form.N @ form.y_dot + form.g, form.C_y, -form.C_bias)
    y_ddot, at = dynamics.acceleration(form.force(tau)), path(robot, q, v, a)
    yield agree("base of eight parameters, by Udwadia–Kalaba: acceleration", form.body_acceleration(y_ddot), a, 1e-9)
    x_ddot = second_rate(lambda t: form.chart.parameters(ReferenceState(robot, at(t)).frame(robot.base_link or "").X))
    yield agree("its eight second derivatives, by differences", y_ddot[:8], x_ddot, 1e-5)
    yield small("unit norm stays: C_y ÿ + Ċ_y ẏ", largest(form.C_y @ y_ddot + form.C_bias), 1e-8)
