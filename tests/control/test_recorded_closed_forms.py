"""Recorded answers and refusals of the control laws in closed form, on one robot at one state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import records
from support import load

import equipoise as eq
from equipoise.balance import support_dynamics
from equipoise.control import (
    OutputDynamics,
    PostureCriterion,
    SafeAngle,
    SafeEllipse,
    WholeBody,
    WholeBodyProblem,
    acceleration_program,
    chart_program,
    com_error,
    com_motion,
    cone_acceleration_rows,
    cone_velocity_rows,
    constrained_error,
    frame_motion,
    hand_error,
    joint_limit_angle,
    operational_dynamics,
    output_dynamics,
    prioritised_error,
    prioritised_least_squares,
    prioritised_velocity,
    reach,
    resting_program,
    slow_output_dynamics,
    task_inverse_dynamics,
    unilateral_torque,
    velocity_program,
)
from equipoise.control.closed_form.com_control import curvature, error_jacobian
from equipoise.control.closed_form.hierarchy import stacked
from equipoise.control.qp import Rows
from equipoise.geometry.distances import angle

NAN = float("nan")
FEET = ("front_left_foot", "front_right_foot", "hind_left_foot", "hind_right_foot")


def arm() -> tuple[eq.Robot, np.ndarray, np.ndarray]:
    return load("arm6"), 0.4 * np.cos(np.arange(6.0)), np.sin(np.arange(6.0))


def hand(axes: str = "xyz", **options: Any) -> Any:
    robot, q, v = arm()
    return frame_motion(robot, q, v, "tool", axes, **options)


def matrices(n: int = 4) -> dict[str, np.ndarray]:
    """A mass matrix and what goes with it."""
    wave = np.sin(0.7 * np.arange(n * n) ** 1.5).reshape(n, n)
    return {"M": wave @ wave.T + np.eye(n), "N": np.cos(np.arange(n)), "C": wave[:1] + 0.1, "J": wave[1:] - 0.3}


def outputs(**options: Any) -> OutputDynamics:
    m = matrices()
    return output_dynamics(
        **({"M": m["M"], "N": m["N"], "J": m["J"], "f": np.ones(3), "C": m["C"], "s": [0.2]} | options)
    )


def out_of(d: OutputDynamics) -> list[Any]:
    e = np.array([0.1, -0.2, 0.3])
    torque = d.torque(d.actuation(e), np.ones(d.RB.shape[1]))
    return [d.M, d.f, d.K, torque, d.control(e, 2 * e, 3.0, np.diag([1.0, 2, 3])), d.acceleration(e)]


def whole() -> WholeBody:
    robot = load("quadruped")
    return WholeBody(support_dynamics(robot, robot.standing(), 0.1 * np.ones(18), FEET))


def solved() -> list[Any]:
    body, robot = whole(), load("quadruped")
    motion = com_motion(robot, robot.standing(), 0.1 * np.ones(18))
    levels = [
        body.equation_of_motion(),
        [body.contacts(), body.motion(motion, (0.1, 0.2, 0.3))],
        body.posture(np.ones(18)),
    ]
    answer = body.solve([*levels, body.force(np.zeros(4), [0, 1, 3, 4]), body.torque()], 1e-3)
    return [answer.acceleration, answer.force, answer.torque, *answer.residuals]


def ellipse(**options: Any) -> list[Any]:
    made = SafeEllipse(
        **({"radius": 0.2, "weight": ((2.0, 0.3), (0.3, 1.0)), "stiffness": 3.0, "exponent": 4.0} | options)
    )
    e_1, J_1, e_2, J_2 = np.array([0.1, 0.15]), matrices()["J"][:2], np.ones(3), matrices()["J"]
    return [
        made.level(e_1), made.cost(e_1, e_2), made.error(e_1, J_1, e_2, J_2), made.jacobian(e_1, J_1, J_2),
        made.exact_jacobian(e_1, J_1, J_2, np.eye(4), 2 * np.eye(4)), made.pull(e_1),
    ]  # fmt: skip


def reached(**options: Any) -> list[Any]:
    robot, q, _ = arm()
    given = {"goal": (0.3, 0.1, 0.5), "com": (0.1, 0.05), "steps": 8} | options
    found = reach(robot, q, "tool", **given)
    return [found.q[-1], found.com_error, found.effector_error]


def programmed(form: str, chart: Any = None, **options: Any) -> list[Any]:
    robot = load("quadruped")
    q = robot.standing()
    tasks = [(com_motion(robot, q, np.zeros(18)), np.array([0.3, 0.1, -0.2]), 2.0)]
    feet = [eq.PointContact(foot, point=(0, 0, 0.01), friction=0.6, max_force=80.0) for foot in FEET]
    problem = WholeBodyProblem(robot, q, np.zeros(18), tasks, feet, **({"torque_limits": 30.0} | options))
    answer = chart_program(problem, form, chart).solve()
    return [answer.status.name, answer["a"], answer["u"], answer["f"]]


def cone(v: Any = None) -> Any:
    robot, q, rates = arm()
    d = angle(eq.Line((0, 0, 0), (0, 0, 1), "tool"), eq.Line((0, 0, 0), (0.1, 0, 1), velocity=(0, 0, 0, 0.1, 0.2, 0)))
    return d.on(robot)(q, rates)


CALLS: dict[str, Callable[[], Any]] = {
    "motion": lambda: list(hand()),
    "motion along z x": lambda: list(hand("zx", turning=True)),
    "two motions": lambda: list(hand("x").above(hand("yz"))),
    "centre of mass": lambda: com_error(*arm()[:2], (0.1, 0.2)),
    "centre of mass along x": lambda: com_error(*arm()[:2], (0.1,), "x"),
    "centre of mass of three": lambda: com_error(*arm()[:2], (0.1, 0.2, 0.3)),
    "prioritised": lambda: prioritised_error(
        np.ones(2), matrices()["J"][:2], np.ones(1), matrices()["C"], 0.7, damping=0.1
    ),
    "hand": lambda: hand_error(np.ones(3), matrices()["J"], np.arange(4.0), 0.5, damping=0.2),
    "prioritised, defaults": lambda: prioritised_error(np.ones(2), matrices()["J"][:2], np.ones(1), matrices()["C"]),
    "constrained": lambda: [
        constrained_error(matrices()["J"], np.arange(4.0)),
        constrained_error(matrices()["J"], np.arange(4.0), matrices()["M"]),
    ],
    "velocity": lambda: prioritised_velocity(matrices()["J"][:2], np.ones(2), matrices()["C"], np.ones(1), damping=0.1),
    "error jacobian": lambda: (
        error_jacobian(arm()[0], arm()[1], lambda q: arm()[0].com(q)) - arm()[0].com_jacobian(arm()[1])
    ),
    "curvature": lambda: curvature(arm()[0], arm()[1], arm()[0].com_jacobian, np.array([1.0, 2, 3])),
    "near": lambda: [
        x.value(arm()[1]) for x in (PostureCriterion.near(arm()[0], np.zeros(6)), PostureCriterion.mid_range(arm()[0]))
    ],
    "weights": lambda: [
        PostureCriterion.mid_range(load("quadruped")).weight,
        PostureCriterion.near(load("quadruped"), load("quadruped").standing()).weight,
        PostureCriterion.mid_range(load("planar_chain")).weight,
    ],
    "gradient": lambda: PostureCriterion.mid_range(arm()[0]).gradient(arm()[1]),
    "ellipse": ellipse,
    "circle": lambda: ellipse(weight=None),
    "sharper": lambda: ellipse(exponent=2.0),
    "radius": lambda: ellipse(radius=0.0),
    "stiffness": lambda: ellipse(stiffness=0.0),
    "exponent": lambda: ellipse(exponent=1.9),
    "weight": lambda: ellipse(weight=((1.0, 1.0), (1.0, 1.0))),
    "defaults": lambda: [SafeEllipse(0.1).stiffness, SafeEllipse(0.1).exponent],
    "reach": reached,
    "reach, hand first": lambda: reached(first="effector"),
    "reach, hand alone": lambda: reached(first=None),
    "reach along x": lambda: reached(com=(0.1,), axes="x", step=0.3, damping=0.1),
    "reach, feet first": lambda: reached(first="feet"),
    "outputs": lambda: out_of(outputs()),
    "outputs, free": lambda: out_of(output_dynamics(matrices(3)["M"], matrices(3)["N"], np.eye(3) + 0.1, np.zeros(3))),
    "outputs, few motors": lambda: outputs(B=np.eye(4)[:, :2]).torque(np.ones(3)),
    "outputs, some motors": lambda: out_of(outputs(B=np.eye(4)[:, :3])),
    "outputs, two": lambda: outputs(J=np.ones((2, 4)), f=np.ones(2)),
    "outputs that repeat": lambda: outputs(J=np.vstack([matrices()["J"][:2], matrices()["C"]])),
    "outputs of three": lambda: outputs(J=np.ones((3, 3))),
    "outputs, s": lambda: outputs(s=[0.1, 0.2]),
    "slow": lambda: out_of(
        slow_output_dynamics(matrices()["M"], matrices()["N"], matrices()["J"], np.ones(3), C=matrices()["C"])
    ),
    "slow, still": lambda: slow_output_dynamics(matrices()["M"], matrices()["N"], matrices()["J"], C=matrices()["C"]).f,
    "levels": lambda: [
        prioritised_least_squares([Rows.equal(matrices()["J"][:2], [1.0, 2]), Rows.equal(matrices()["C"], [3.0])], d)
        for d in (0.0, 0.3)
    ],
    "no level": lambda: prioritised_least_squares([]),
    "levels of two sizes": lambda: prioritised_least_squares(
        [Rows.equal(np.eye(2), np.ones(2)), Rows.equal(np.eye(3), np.ones(3))]
    ),
    "inequalities": lambda: prioritised_least_squares([Rows(np.eye(2), np.zeros(2), np.ones(2))]),
    "level NaN": lambda: prioritised_least_squares([Rows.equal(np.eye(2), [NAN, 1.0])]),
    "whole body": solved,
    "whole body, targets": lambda: whole().posture(np.ones(3)),
    "whole body, columns": lambda: whole().motion(hand(), np.ones(3)),
    "names": lambda: list(
        dict.fromkeys(stacked([whole().torque(), whole().contacts(), whole().force(np.zeros(12))]).names)
    ),
    "whole body of a batch": lambda: WholeBody(
        support_dynamics(load("quadruped"), np.tile(load("quadruped").standing(), (2, 1)), np.zeros((2, 18)), FEET)
    ),
    "operational": lambda: (
        lambda o: [
            o.inertia,
            o.velocity_force,
            o.gravity_force,
            o.jacobian,
            o.torque(np.ones(3), np.arange(6.0)),
            o.force(np.ones(3)),
        ]
    )(operational_dynamics(*arm(), hand(), damping=0.1)),
    "operational, columns": lambda: operational_dynamics(
        load("quadruped"), load("quadruped").standing(), np.zeros(18), hand()
    ),
    "task": lambda: list(task_inverse_dynamics(*arm(), hand(), np.ones(3))),
    "velocity program": lambda: [
        velocity_program(hand().J, np.ones(3), 2.0, 0.1, Rows.equal(np.eye(6)[:1], [0.2]), feedforward=np.arange(3.0)).f
    ],
    "acceleration program": lambda: (lambda p: [p.H, p.f, p.x_lower, p.x_upper])(
        acceleration_program(hand(), np.ones(3), 0.2, bounds=(-np.ones(6), np.arange(6.0)))
    ),
    "resting program": lambda: (lambda p: [p.H, p.f, p.A @ np.ones(6), list(p.names)])(
        resting_program(hand().J, np.ones(6), arm()[2], 3.0, Rows(np.eye(6)[:1], [0.0], [1.0], ("one",)))
    ),
    "cone": lambda: (lambda r: [r.A, r.upper, list(r.names)])(cone_velocity_rows(cone(), SafeAngle(0.7, 0.1), 2.0)),
    "cone, accelerations": lambda: (lambda r: [r.A, r.upper])(
        cone_acceleration_rows(cone(), arm()[2], SafeAngle(0.7, 0.1, 0.2), eq.Gains.of_rates(2.0, 3.0))
    ),
    "cone, eta": lambda: cone_velocity_rows(cone(), SafeAngle(0.7), 0.0),
    "cone, eta ∞": lambda: cone_velocity_rows(cone(), SafeAngle(0.7), np.inf),
    "cone of nothing": lambda: cone_velocity_rows(cone(), SafeAngle(0.0), 1.0),
    "cone of all": lambda: cone_velocity_rows(cone(), SafeAngle(np.pi), 1.0).upper,
    "cone of more": lambda: cone_velocity_rows(cone(), SafeAngle(3.2), 1.0),
    "joint": lambda: (lambda x: [x[1].angle, repr(x[0].a), repr(x[0].b)])(joint_limit_angle(arm()[0], "joint_2")),
    "joint unknown": lambda: joint_limit_angle(arm()[0], "nose"),
    "unilateral": lambda: list(
        unilateral_torque(
            np.eye(3),
            np.ones(3),
            np.zeros(3),
            np.array([[1.0, 0, 0], [0, 1, 0]]),
            np.array([[1.0, -0.5], [-1.0, -0.5]]),
            preferred=np.arange(3.0),
            limits=5.0,
            load=0.1,
        )
    ),
    "unilateral, B": lambda: unilateral_torque(np.eye(3), np.ones(3), np.zeros(3), np.eye(3), np.eye(3), B=np.eye(2)),
    "unilateral, too weak": lambda: (
        unilateral_torque(
            np.eye(2), np.ones(2), np.zeros(2), np.array([[1.0, 0]]), np.array([[1.0]]), limits=0.5
        ).status.name
    ),
    "minimal": lambda: programmed("minimal"),
    "projected": lambda: programmed("projected"),
    "multiplier": lambda: programmed("multiplier", eq.charts.RotationMatrix),
    "one-sided torques": lambda: programmed("minimal", torque_lower=-2.0, motion_weight=1e-2, force_weight=1e-3),
    "form": lambda: programmed("reduced"),
}


@pytest.mark.delicate
def test_recorded_closed_forms():
    records.check("closed_forms", {name: records.answer(call) for name, call in CALLS.items()}, rtol=1e-6, atol=1e-6)
