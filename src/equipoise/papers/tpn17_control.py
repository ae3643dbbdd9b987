"""[TPN17, Sec. 6] in control: a robot on one foot is an arm on a fixed base, and computed torque controls it as one.

The other leg swings and the arms move. The torques come from the equations of the fixed support; the robot that they
drive floats free, its foot held by constraint forces alone, so that foot, motion and wrench can all be wrong.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..robot import Robot, load
from .rows import Figure, agree, largest, small

Array = np.ndarray
RATE = 6.0  # 1/s, both poles of the joints' errors
DT, SECONDS = 2e-3, 0.6  # s
GOAL = {  # rad from standing: the standing leg bends too
    "left_hip_pitch": -0.3, "left_knee": 0.5, "left_ankle_pitch": -0.2, "right_hip_pitch": -0.6, "right_knee": 0.9,
    "left_shoulder_roll": 0.5, "lumbar_yaw": 0.2,
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class SwingRecord:
    """What happened; one entry per step."""

    t: Array
    s: Array  # joint positions
    foot: Array  # m and rad, of the support from where it was
    wrench: Array  # of `FixedSupport`
    held: Array  # of the constraint that holds the foot


def computed_torque(
    robot: Robot, q: Array, v: Array, goal: Array, support: str, rate: float = RATE
) -> tuple[Array, Array]:
    """(joint torques, wrench of the ground on the support) for s̈ = −2k ṡ − k² (s − s*) [TPN17, Eqs. (46)–(48)]."""
    fixed = robot.equations_of_motion(q, v).fixed_at(support)
    tau = fixed.force(-2 * rate * v[6:] - rate**2 * (q[7:] - goal))
    return tau, fixed.wrench(tau)


def swung(support: str = "left_foot") -> SwingRecord:
    """The free-floating robot, one foot held, under the torques of the fixed support."""
    robot = load("human")
    q, v, rows = robot.standing(), np.zeros(robot.nv), []
    goal, at = q[7:].copy(), robot.pose(q, support)
    for name, angle in GOAL.items():
        goal[robot.joints[name].q.start - 7] += angle
    for k in range(round(SECONDS / DT)):
        tau, wrench = computed_torque(robot, q, v, goal, support)
        a, held = _held(robot, q, v, tau, support)
        rows.append((k * DT, q[7:], robot.pose(q, support)[:3] - at[:3], wrench, held))
        half = robot.integrate(q, v, DT / 2), v + DT / 2 * a  # the midpoint, for an error of second order
        a, _ = _held(robot, *half, computed_torque(robot, *half, goal, support)[0], support)
        q, v = robot.integrate(q, half[1], DT), v + DT * a
    return SwingRecord(*(np.array(column) for column in zip(*rows, strict=True)))


def _held(robot: Robot, q: Array, v: Array, tau: Array, support: str) -> tuple[Array, Array]:
    """(a, λ) of M a + h = Sᵀ tau + Jᵀ λ with J a + J̇v = 0, as one system."""
    J, M = robot.jacobian(q, support), robot.mass_matrix(q)
    pushed = np.concatenate([np.zeros(6), tau]) - robot.bias_force(q, v)
    K = np.block([[M, -J.T], [J, np.zeros((6, 6))]])
    x = np.linalg.solve(K, np.concatenate([pushed, -robot.bias_acceleration(q, v, support)]))
    return x[: robot.nv], x[robot.nv :]


def control_figures() -> Iterator[Figure]:
    """Of row T6."""
    run = swung()
    first, goal = run.s[0], run.s[0].copy()
    robot = load("human")
    for name, angle in GOAL.items():
        goal[robot.joints[name].q.start - 7] += angle
    wanted = goal + (first - goal) * ((1 + RATE * run.t) * np.exp(-RATE * run.t))[:, None]
    yield small("on one foot by computed torque: joints off (1 + kt) e^(−kt), rad", largest(run.s - wanted), 2e-4)
    yield small("its foot from where it stood, m", largest(run.foot), 1e-4)
    yield agree("wrench of Eq. 48 along the motion, against the constraint's", run.wrench, run.held, 1e-9)
    weight = robot.mass * float(np.linalg.norm(robot.model.gravity))
    swing = float(np.ptp(run.wrench[:, 2]) / weight)
    yield Figure("how much of the weight the motion adds and takes", "> 0.02", f"{swing:.2f}", swing > 0.02)
