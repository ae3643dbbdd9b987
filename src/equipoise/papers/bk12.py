"""[BK12] On the dynamics modeling of free-floating-base articulated mechanisms, by Gauss' principle.

A chart is held against the rotation it describes, moved by SciPy and differentiated by differences; its equations of
motion against `ReferenceState`, Newton's and Euler's laws body by body.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from ..forms import charts
from ..forms.chart_equations import ChartEquations
from ..robot import Robot, RobotBuilder, load
from .reference import ReferenceState, axial, cross_matrix, of_quaternion, path, rate, second_rate, turned
from .robots import one_of_each_joint
from .rows import Figure, Row, agree, equal, exactly, largest, shown_by, small

Array = np.ndarray
CHARTS = (charts.RollPitchYaw, charts.UnitQuaternion, charts.RotationMatrix, charts.DualQuaternion)
FOOT = "front_right_foot"


def _state() -> tuple[Robot, ReferenceState, Array]:
    robot = load("quadruped")
    rng = np.random.default_rng(1)
    q, v = robot.random_state(rng)
    return robot, ReferenceState(robot, q, v), rng.normal(size=robot.nv)


def cayley(theta: Any) -> Any:
    """A chart of a user's own, in plain NumPy: R = (1 − θ^)⁻¹ (1 + θ^)."""
    x, y, z = theta
    K = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + 2 / (1 + theta @ theta) * (K + K @ K)


def _nine_rows(theta: Any) -> Any:
    """Rᵀ R − 1 as [BK12, Table II] has it, symmetric entries and all."""
    R = theta.reshape(3, 3)
    return R.T @ R - np.eye(3)


# [BK12, Table II]; of the nine of a rotation matrix those on and above the diagonal, of RᵀR − 1, row by row
TABLE_II: dict[str, Callable[[Array], Array]] = {
    "UnitQuaternion": lambda theta: np.array([theta @ theta - 1]),
    "RotationMatrix": lambda theta: (theta.reshape(3, 3).T @ theta.reshape(3, 3) - np.eye(3))[np.triu_indices(3)],
    "RotationMatrix, nine constraints": lambda theta: (theta.reshape(3, 3).T @ theta.reshape(3, 3) - np.eye(3)).ravel(),
}


def _all_charts() -> list[charts.Chart]:
    own = charts.Chart(cayley, 3, name="Cayley, a user's own")
    nine = charts.Chart(lambda theta: theta.reshape(3, 3), 9, _nine_rows, name="RotationMatrix, nine constraints")
    return [*(kind() for kind in CHARTS), own, nine]


# --- B1 ---------------------------------------------------------------------------------------------------------------


def parametrisations() -> Iterator[Figure]:
    """A body that turns with ω and ω̇: the chart's parameters along the way, differentiated by differences."""
    rng = np.random.default_rng(4)
    X, (w, alpha, p_dot, p_ddot) = np.eye(4), rng.normal(size=(4, 3))
    X[:3, :3], X[:3, 3] = turned(np.array([0.4, -0.3, 0.8])), (0.3, -0.2, 0.9)
    tables = {"RollPitchYaw": (3, 0), "UnitQuaternion": (4, 1), "RotationMatrix": (9, 6)}

    def pose(t: float) -> Array:
        moved = X.copy()
        moved[:3, :3] = turned(w * t + alpha * t * t / 2) @ X[:3, :3]
        moved[:3, 3] += p_dot * t + p_ddot * t * t / 2
        return moved

    for chart in _all_charts():
        if chart.name in tables:
            found = chart.dimension, chart.at(chart.parameters(X)).C.size
            yield equal(f"{chart.name}: parameters, constraints [Tables I, II]", found, tables[chart.name])
        V, A = (np.concatenate(x) if chart.whole_pose else x[1] for x in ((p_dot, w), (p_ddot, alpha)))
        yield from _follows(chart, pose, V, A)


def _follows(chart: charts.Chart, pose: Callable[[float], Array], V: Array, A: Array) -> Iterator[Figure]:
    """J θ̇ is the velocity and J θ̈ + J̇ θ̇ the acceleration of a body whose pose is known at every time."""
    theta = chart.parameters(pose(0.0))
    theta_dot = rate(lambda t: chart.parameters(pose(t)))
    theta_ddot = second_rate(lambda t: chart.parameters(pose(t)))
    point, R, w = chart.at(theta, theta_dot), pose(0.0)[:3, :3], V[-3:]
    size = 4 if chart.whole_pose else 3
    yield agree(f"{chart.name}: ρ(θ) is the pose", point.X, pose(0.0)[:size, :size], 1e-12)
    R_dot = (point.dX @ theta_dot).reshape(point.X.shape)[:3, :3]
    yield agree(f"{chart.name}: Ṙ = ω^ R [Eq. 3]", R_dot, cross_matrix(w) @ R, 1e-8)
    yield agree(f"{chart.name}: J_ω θ̇ = ω [Eqs. 2, 10]", point.J @ theta_dot, V, 1e-8)
    yield agree(f"{chart.name}: J_ω θ̈ + J̇_ω θ̇ = ω̇", point.J @ theta_ddot + point.J_dot @ theta_dot, A, 1e-6)
    yield agree(f"{chart.name}: J_ω of the base's axes [Eq. 13]", point.J_base @ theta_dot, R.T @ w, 1e-8)
    J_dot = rate(lambda t: chart.at(chart.parameters(pose(t))).J)
    J_base_dot = rate(lambda t: chart.at(chart.parameters(pose(t))).J_base)
    yield agree(f"{chart.name}: J̇_ω by differences", point.J_dot, J_dot, 1e-7)
    yield agree(f"{chart.name}: J̇_ω of the base's axes", point.J_base_dot, J_base_dot, 1e-7)
    yield agree(f"{chart.name}: rates from ω", chart.rates(theta, V), theta_dot, 1e-8)
    if point.C.size:
        yield small(f"{chart.name}: C, C_θ θ̇ [Eq. 27]", largest(point.C) + largest(point.C_theta @ theta_dot), 1e-8)
        yield small(f"{chart.name}: C_θ θ̈ + Ċ_θ θ̇ [Eq. 30]", largest(point.C_theta @ theta_ddot + point.C_bias), 1e-6)
        yield from _off_the_constraint(chart, theta)


def _off_the_constraint(chart: charts.Chart, theta: Array) -> Iterator[Figure]:
    """C where it is not zero, and its derivatives along a straight line that leaves it."""
    along = np.random.default_rng(5).normal(size=chart.dimension) / np.sqrt(chart.dimension)
    point = chart.at(theta, along)
    if chart.name in TABLE_II:
        stated = TABLE_II[chart.name](theta + along / 2)
        yield agree(f"{chart.name}: C off the constraint [Table II]", chart.at(theta + along / 2).C, stated, 1e-12)
    slope = constraint_slope(chart, theta)
    yield agree(f"{chart.name}: C_θ off the constraint, by differences [Eq. 27]", point.C_theta, slope, 1e-9)
    bend = second_rate(lambda t: chart.at(theta + t * along).C)
    yield agree(f"{chart.name}: Ċ_θ θ̇ off the constraint, by differences [Eq. 30]", point.C_bias, bend, 1e-8)


def constraint_slope(chart: charts.Chart, theta: Array) -> Array:
    """Returns ∂C/∂θ by differences of C along each parameter, (m, d)."""
    steps = np.eye(chart.dimension)
    return np.stack([rate(partial(_constraint_along, chart, theta, step)) for step in steps], axis=-1)


def _constraint_along(chart: charts.Chart, theta: Array, step: Array, t: float) -> Array:
    return chart.at(theta + t * step).C


# --- B2 ---------------------------------------------------------------------------------------------------------------


def jacobians() -> Iterator[Figure]:
    """A frame moves as its place says: by differences, while the robot moves under a force."""
    robot, now, tau = _state()
    yield from _frame_moves("a foot", robot, now, tau, FOOT)
    other, rng = one_of_each_joint(), np.random.default_rng(2)
    now = ReferenceState(other, *other.random_state(rng))
    for frame, behind in (
        ("revolute_link", "a slide, a ball, a plane and a turn"),
        ("follower", "a slide that follows"),
    ):
        yield from _frame_moves(f"a link behind {behind}", other, now, rng.normal(size=other.nv), frame)


def _frame_moves(what: str, robot: Robot, now: ReferenceState, tau: Array, frame: str) -> Iterator[Figure]:
    """A frame's velocity and acceleration in every chart, and the Jacobian of another point of its body."""
    from ..balance import point_jacobian

    q, v, a = now.q, now.v, now.acceleration(tau)
    at = path(robot, q, v, a)
    p_dot, p_ddot = (f(lambda t: ReferenceState(robot, at(t)).frame(frame).p) for f in (rate, second_rate))
    w = axial(rate(lambda t: ReferenceState(robot, at(t)).frame(frame).R) @ now.frame(frame).R.T)
    J, J_dot = robot.jacobian(q, frame), robot.jacobian_rate(q, v, frame)
    wanted = rate(lambda t: ReferenceState(robot, at(t)).frame(frame).J)
    yield agree(f"J̇ of {what} by differences", J_dot, wanted, 1e-8)
    for chart in _all_charts():
        form = robot.equations_of_motion(q, v).in_chart(chart)
        y_ddot, J_y = form.acceleration(tau), form.jacobian(J)
        moved, name = J_y @ y_ddot + form.jacobian_rate(J, J_dot) @ form.y_dot, f"{chart.name}, {what}"
        yield agree(f"{name}: J q̇ [Eqs. 14, 17]", J_y @ form.y_dot, np.concatenate([p_dot, w]), 1e-8)
        yield agree(f"{name}: J q̈ + J̇ q̇ of its place", moved[:3], p_ddot, 1e-5)
        yield agree(
            f"{name}: J q̈ + J̇ q̇ of its axes", moved[3:], (now.frame(frame).J @ a + now.frame(frame).A)[3:], 1e-8
        )
    point = (0.1, -0.05, 0.2)
    ours = point_jacobian(robot, q, frame, point)
    yield agree(f"transport to another point of {what} [Eq. 19]", ours, now.frame(frame, point).J[:3], 1e-11)


# --- B3 ---------------------------------------------------------------------------------------------------------------


def dynamics() -> Iterator[Figure]:
    robot, now, tau = _state()
    a, eom = now.acceleration(tau), robot.equations_of_motion(now.q, now.v)
    rng, at = np.random.default_rng(8), path(robot, now.q, now.v, a)

    def parameters(chart: charts.Chart, t: float) -> Array:
        return chart.parameters(ReferenceState(robot, at(t)).frame("trunk").X)

    for chart in _all_charts():
        form = eom.in_chart(chart)
        y_ddot = form.acceleration(tau)
        yield agree(f"{chart.name}: acceleration [Eq. 32]", form.body_acceleration(y_ddot), a, 1e-9)
        wanted = second_rate(partial(parameters, chart))
        theta = slice(0 if chart.whole_pose else 3, (0 if chart.whole_pose else 3) + chart.dimension)
        yield agree(f"{chart.name}: θ̈ is the second derivative of θ", y_ddot[theta], wanted, 1e-5)
        yield agree(f"{chart.name}: force back from it", form.inverse_dynamics(y_ddot), tau, 1e-8)
        rates = rng.normal(size=len(form.y_dot))
        energy = ReferenceState(robot, now.q, form.T @ rates).kinetic_energy
        yield agree(f"{chart.name}: ½ ẏᵀ M ẏ is the kinetic energy [Eq. 25]", rates @ form.M @ rates / 2, energy, 1e-11)
        free = form.T.T @ (now.M @ form.T_dot @ form.y_dot + now.h - now.g)
        yield agree(f"{chart.name}: N ẏ [Eq. 26]", form.N @ form.y_dot, free, 1e-10)
        rest = form.M @ y_ddot + form.N @ form.y_dot + form.g - form.T.T @ tau
        yield small(f"{chart.name}: multiplier λ is zero [Eq. 33]", largest([0.0, *form.multiplier(tau)]), 1e-8)
        yield small(f"{chart.name}: projected form A(…) = 0 [Eq. 35]", largest(form.projector @ rest), 1e-9)
        rank = np.linalg.matrix_rank(form.projector)
        yield exactly(f"{chart.name}: rank of A is the freedoms [Eq. 34]", int(rank), robot.nv)
        yield small(f"{chart.name}: A C_yᵀ", largest([0.0, *(form.projector @ form.C_y.T).ravel()]), 1e-11)
        if len(form.C_y):
            yield from _pushed_off(form, chart, tau)


def _pushed_off(form: ChartEquations, chart: charts.Chart, tau: Array) -> Iterator[Figure]:
    """A force off the constraint moves nothing: λ alone bears it, by the gradient of C as differences give it."""
    theta = slice(0 if chart.whole_pose else 3, (0 if chart.whole_pose else 3) + chart.dimension)
    slope = np.zeros_like(form.C_y)
    slope[:, theta] = constraint_slope(chart, form.theta)
    mu = np.random.default_rng(9).normal(size=len(slope)) * 10
    push = slope.T @ mu
    y_ddot, multiplier = form.motion(form.force(tau) + push)
    what = f"{chart.name}, pushed off the constraint"
    yield agree(f"{what}: the same acceleration [Eq. 31]", y_ddot, form.acceleration(tau), 1e-8)
    yield agree(f"{what}: C_yᵀ λ takes the push back [Eq. 33]", slope.T @ multiplier, -push, 1e-8)
    rest = form.M @ y_ddot + form.N @ form.y_dot + form.g - form.force(tau) - push
    yield agree(f"{what}: λ [Eq. 33]", multiplier, np.linalg.pinv(slope.T, rcond=1e-6) @ rest, 1e-8)
    if chart.name == "UnitQuaternion":  # ∂C̃/∂q̈ of Eq. 30 is half of the gradient of Table II's C
        printed = form.theta @ rest[theta]
        yield agree(
            "UnitQuaternion: λ = qᵀ[…] as printed, but for the sign of u [Eq. 33]", 2 * multiplier, [printed], 1e-8
        )


# --- B4 ---------------------------------------------------------------------------------------------------------------


def contact_forces() -> Iterator[Figure]:
    """Forces at feet, hands, knees, elbows: nothing in the model knows of contacts."""
    robot = load("human")
    rng = np.random.default_rng(3)
    q, v = robot.random_state(rng)
    tau, now = rng.normal(size=robot.nv), ReferenceState(robot, q, v)
    wrenches = {frame: rng.normal(size=6) * 100 for frame in ("left_foot", "right_hand", "left_shank", "right_forearm")}
    for frame, F in wrenches.items():
        a = robot.forward_dynamics(q, v, tau, wrenches={frame: F})
        yield agree(
            f"{frame}: M a + h − tau is what its wrench does", now.force(a) - tau, now.frame(frame).J.T @ F, 1e-9
        )
    total = sum(now.frame(frame).J.T @ F for frame, F in wrenches.items())
    a = robot.forward_dynamics(q, v, tau, wrenches=wrenches)
    yield agree("all four at once", now.force(a), tau + total, 1e-9)
    yield agree("inverse dynamics under all four", robot.inverse_dynamics(q, v, a, wrenches=wrenches), tau, 1e-9)
    momentum = robot.momentum_matrix(q) @ a + robot.momentum_bias(q, v)
    pushes = {**wrenches, robot.base_link or "": tau[:6]}  # what acts on the base besides is a wrench too
    total_force = sum(F[:3] for F in pushes.values()) + now.mass * np.array(robot.model.gravity)
    moment = sum(F[3:] + np.cross(now.frame(frame).p - now.com, F[:3]) for frame, F in pushes.items())
    yield agree("they change the momentum by their sum", momentum, np.concatenate([total_force, moment]), 1e-8)


def ball_joints_and_objects() -> Iterator[Figure]:
    """A robot that floats, its shoulder a ball, and a free object: one system, every rotation in a chart of its own."""
    from .bk12_object import carried

    builder = RobotBuilder("robot and object").link("trunk", mass=4.0, com=(0.0, 0.05, 0.1), inertia=(0.1, 0.08, 0.06))
    builder.link("arm", mass=2.0, com=(0, 0, 0.3), inertia=(0.02, 0.03, 0.01))
    builder.link("object", mass=0.5, com=(0.02, 0, 0), inertia=(0.01, 0.02, 0.025))
    builder.joint("shoulder", "ball", "trunk", "arm", position=(0, 0.2, 0.4), rpy=(0.3, 0.0, -0.2))
    builder.joint("free", "floating", None, "object")
    robot = builder.build()
    rng = np.random.default_rng(0)
    q, v = robot.random_state(rng)
    tau, now = rng.normal(size=robot.nv), ReferenceState(robot, q, v)
    a, eom, free = now.acceleration(tau), robot.equations_of_motion(q, v), robot.joints["free"].v
    at, shoulder = path(robot, q, v, a), robot.joints["shoulder"]

    def parameters(chart: charts.Chart, t: float) -> Array:
        return chart.parameters(of_quaternion(at(t)[shoulder.q]))

    for kind in CHARTS[:3]:
        form = eom.in_chart(kind, joint="shoulder")
        y_ddot, theta = form.acceleration(tau), slice(shoulder.v.start, shoulder.v.start + form.chart.dimension)
        yield agree(f"ball joint in {form.chart.name}", form.body_acceleration(y_ddot), a, 1e-9)
        wanted = second_rate(partial(parameters, form.chart))
        yield agree(f"ball joint in {form.chart.name}: θ̈ is the second derivative of θ", y_ddot[theta], wanted, 1e-5)
    every = eom.in_chart(
        {None: charts.UnitQuaternion, "shoulder": charts.RotationMatrix, "free": charts.DualQuaternion}
    )
    yield agree(
        "base, ball joint and object in charts at once", every.body_acceleration(every.acceleration(tau)), a, 1e-9
    )
    energy = every.y_dot @ every.M @ every.y_dot / 2
    yield agree("the energy of all of it", energy, now.kinetic_energy, 1e-11)
    yield agree("forward dynamics of robot and object", robot.forward_dynamics(q, v, tau), a, 1e-9)
    fall = robot.forward_dynamics(q, v, np.zeros(robot.nv))
    p = second_rate(lambda t: ReferenceState(robot, path(robot, q, v, fall)(t)).frame("object", (0.02, 0, 0)).p)
    yield agree("the free object's mass falls", p, np.array(robot.model.gravity), 1e-6)
    yield small("what it holds does not couple: M", largest(robot.mass_matrix(q)[: free.start, free]), 1e-12)
    yield from carried()


ROWS = [
    Row("B1", "BK12", "charts of SO(3), the user's own included", parametrisations),
    Row("B2", "BK12", "Jacobians of any point with respect to the chart's coordinates", jacobians),
    Row("B3", "BK12", "M, N, constraint, multiplier and projected form in every chart", dynamics),
    Row("B4", "BK12", "contact forces anywhere, no contact state in the model", contact_forces),
    Row(
        "B5",
        "BK12",
        "the whole-body quadratic program in its three forms",
        shown_by("bk12_programs", "whole_body_programs"),
    ),
    Row(
        "B6",
        "BK12",
        "motions on feet and hands",
        *(shown_by("bk12_motions", name) for name in ("motion_figures", "pictures")),
        on=shown_by("bk12_named", "named_figures"),
        closed_loop=True,
    ),
    Row("B7", "BK12", "ball joints; robot and free object as one system", ball_joints_and_objects, closed_loop=True),
]
