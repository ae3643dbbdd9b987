"""[BK12] On the dynamics modeling of free-floating-base articulated mechanisms, by Gauss' principle."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..forms import charts
from ..forms.equations_of_motion import EquationsOfMotion
from ..robot import Robot, RobotBuilder, load
from .bk12_motions import motion_figures
from .bk12_motions import pictures as motion_pictures
from .rows import Figure, Row, equal, largest, small

CHARTS = (charts.RollPitchYaw, charts.UnitQuaternion, charts.RotationMatrix, charts.DualQuaternion)


def _state() -> tuple[Robot, EquationsOfMotion, np.ndarray]:
    robot = load("quadruped")
    rng = np.random.default_rng(1)
    return robot, robot.equations_of_motion(*robot.random_state(rng)), rng.normal(size=robot.nv)


def _cayley() -> charts.Chart:
    """A chart of our own, from ρ alone: R = (1 − θ^)⁻¹ (1 + θ^)."""
    import casadi

    def rho(theta: Any) -> Any:
        K, one = casadi.skew(theta), casadi.SX.eye(3)
        return casadi.solve(one - K, one + K)

    return charts.Chart(rho, 3, name="Cayley")


def parametrisations() -> Iterator[Figure]:
    _, eom, _ = _state()
    for kind, dimension, rows in ((CHARTS[0], 3, 0), (CHARTS[1], 4, 1), (CHARTS[2], 9, 6)):
        chart = eom.in_chart(kind)
        yield equal(
            f"{chart.chart.name}: parameters, constraints [Tables I, II]",
            (chart.chart.dimension, len(chart.C_bias)),
            (dimension, rows),
        )
    for one in (*(kind() for kind in CHARTS), _cayley()):
        chart = eom.in_chart(one)
        yield small(f"{one.name}: base velocity from rates [Eqs. 2, 10]", largest(chart.T @ chart.y_dot - eom.v), 1e-11)


def jacobians() -> Iterator[Figure]:
    robot, eom, tau = _state()
    q, v = eom.origin.q, eom.v
    J, J_dot = robot.jacobian(q, "front_right_foot"), robot.jacobian_rate(q, v, "front_right_foot")
    expected = J @ robot.forward_dynamics(q, v, tau) + robot.bias_acceleration(q, v, "front_right_foot")
    for kind in CHARTS:
        chart = eom.in_chart(kind)
        acceleration = chart.jacobian(J) @ chart.acceleration(tau) + chart.jacobian_rate(J, J_dot) @ chart.y_dot
        yield small(
            f"{chart.chart.name}: J q̈ + J̇ q̇ of a foot [Eqs. 14–20]", largest(acceleration - expected) / largest(expected), 1e-9
        )


def dynamics() -> Iterator[Figure]:
    robot, eom, tau = _state()
    a = robot.forward_dynamics(eom.origin.q, eom.v, tau)
    for one in (*(kind() for kind in CHARTS), _cayley()):
        chart = eom.in_chart(one)
        y_dotdot = chart.acceleration(tau)
        rest = chart.M @ y_dotdot + chart.N @ chart.y_dot + chart.g - chart.force(tau)
        yield small(f"{one.name}: acceleration [Eq. 32]", largest(chart.body_acceleration(y_dotdot) - a) / largest(a), 1e-9)
        yield small(f"{one.name}: projected form A(…) = 0 [Eq. 35]", largest(chart.projector @ rest), 1e-9)


def contact_forces() -> Iterator[Figure]:
    """Forces at feet, hands, knees, elbows: nothing in the model knows of contacts."""
    robot = load("human")
    rng = np.random.default_rng(3)
    q, v = robot.random_state(rng)
    tau = rng.normal(size=robot.nv)
    for frame in ("left_foot", "right_hand", "left_shank", "right_forearm"):
        F = rng.normal(size=6) * 100
        with_wrench = robot.forward_dynamics(q, v, tau, wrenches={frame: F})
        with_force = robot.forward_dynamics(q, v, tau + robot.jacobian(q, frame).T @ F)
        yield small(f"wrench on {frame} against Jᵀ F", largest(with_wrench - with_force) / largest(with_force), 1e-9)


def whole_body_programs() -> Iterator[Figure]:
    """Eqs. 36–38 on a quadruped whose trunk moves over standing feet; torque limits and friction are active."""
    from scipy.linalg import null_space

    from ..control.closed_form.chart_programs import WholeBodyProblem, chart_program
    from ..control.closed_form.motions import com_motion
    from ..control.constraints import TorqueLimits
    from ..control.contacts import PointContact
    from ..control.controller.controller import WholeBodyController
    from ..control.tasks import CoMTask

    robot, rng = load("quadruped"), np.random.default_rng(2)
    q, feet = robot.standing(), [name for name in robot.frames if name.endswith("_foot")]
    rows = np.vstack([robot.jacobian(q, foot)[:3] for foot in feet])
    v = null_space(rows) @ rng.normal(size=robot.nv - len(rows))
    contacts, wanted = [PointContact(foot, friction=0.3) for foot in feet], np.array([3.0, 1.0, 4.0])
    limit = 0.6 * np.abs(robot.gravity(q)).max()
    still = CoMTask(lambda t: (robot.com(q), robot.com_jacobian(q) @ v, wanted), weight=1.0)
    controller = WholeBodyController(robot, [still], contacts, [TorqueLimits(limits=limit)])
    ours = controller(0.0, q, v)
    problem = WholeBodyProblem(robot, q, v, [(com_motion(robot, q, v), wanted, 1.0)], contacts, limit)
    minimal = chart_program(problem, "minimal").solve()
    yield equal("rows at their limits, and the controller's status", (len(ours.active) > 0, ours.status.name), (True, "OPTIMAL"))
    yield small("minimal form against the controller: a [Eq. 36]", largest(minimal["a"] - ours.acceleration), 1e-7)
    yield small("minimal form against the controller: torques [Eq. 36]", largest(minimal["u"] - ours.torque[6:]), 1e-7)
    for kind in CHARTS:
        for form, number in (("projected", 37), ("multiplier", 38)):
            answer = chart_program(problem, form, kind).solve()
            error = max(largest(answer[name] - minimal[name]) for name in ("a", "u", "f"))
            yield small(f"{kind.__name__}, {form}: a, u and f against the minimal form [Eq. {number}]", error, 1e-7)


def ball_joints_and_objects() -> Iterator[Figure]:
    builder = RobotBuilder("arm and object", floating=False)
    builder.link("ground").link("arm", mass=2.0, com=(0, 0, 0.3), inertia=(0.02, 0.03, 0.01))
    builder.link("object", mass=0.5, inertia=(0.01, 0.02, 0.03))
    builder.joint("shoulder", "ball", "ground", "arm", position=(0, 0, 1.0))
    builder.joint("free", "floating", "ground", "object")
    robot = builder.build()
    rng = np.random.default_rng(0)
    q, v = robot.random_state(rng)
    tau = rng.normal(size=robot.nv)
    a = robot.forward_dynamics(q, v, tau)
    for kind in CHARTS[:3]:
        chart = robot.equations_of_motion(q, v).in_chart(kind, joint="shoulder")
        yield small(
            f"ball joint in {chart.chart.name}", largest(chart.body_acceleration(chart.acceleration(tau)) - a) / largest(a), 1e-9
        )
    M = robot.mass_matrix(q)
    yield small("arm and free object: coupling in M", largest(M[:3, 3:]), 1e-12)
    fall = robot.forward_dynamics(q, v, np.zeros(robot.nv))[3:6] - np.array(robot.model.gravity)
    yield small("the free object falls", largest(fall), 1e-9)


ROWS = [
    Row("B1", "BK12", "charts of SO(3), the user's own included", parametrisations),
    Row("B2", "BK12", "Jacobians of any point with respect to the chart's coordinates", jacobians),
    Row("B3", "BK12", "M, N, constraint, multiplier and projected form in every chart", dynamics),
    Row("B4", "BK12", "contact forces anywhere, no contact state in the model", contact_forces),
    Row("B5", "BK12", "the whole-body quadratic program in its three forms", whole_body_programs),
    Row("B6", "BK12", "motions on feet and hands", motion_figures, motion_pictures),
    Row("B7", "BK12", "ball joints; robot and free object as one system", ball_joints_and_objects),
]
