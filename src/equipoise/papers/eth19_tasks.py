"""[ETH19, slides 3, 36–39]: tasks in an order of levels, by torques and contact forces. Row H6."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from scipy.linalg import null_space

from ..balance import SupportDynamics, support_dynamics
from ..control.closed_form.hierarchy import WholeBody, stacked
from ..control.closed_form.motions import com_motion, frame_motion
from ..control.closed_form.operational_space import OperationalSpace, operational_dynamics, task_inverse_dynamics
from ..control.qp import ActiveSetSolver, QuadraticProgram, Rows
from ..robot import Robot, load
from .eth19 import FEET, LEANING, rows_of_feet
from .reference import ReferenceState
from .rows import Figure, agree, largest, small

Array = np.ndarray


def task_hierarchy() -> Iterator[Figure]:
    """On four feet, moving: what the levels ask for comes about, in the order of their levels."""
    robot = load("quadruped")
    rng = np.random.default_rng(0)
    q = robot.standing()
    q[3:7] = LEANING
    rows, _ = rows_of_feet(ReferenceState(robot, q), FEET)
    v = null_space(rows) @ rng.normal(size=robot.nv - len(rows))  # the feet stand, the trunk moves
    now = ReferenceState(robot, q, v)
    (J, bias), S_T = rows_of_feet(now, FEET), np.eye(robot.nv)[:, 6:]
    s = support_dynamics(robot, q, v, FEET)
    body, com, wanted = WholeBody(s), com_motion(robot, q, v), rng.normal(size=3)
    top = stacked([body.equation_of_motion(), body.contacts()])
    trunk = body.motion(frame_motion(robot, q, v, "trunk", turning=True), rng.normal(size=6))
    levels: list[Rows] = [top, body.motion(com, wanted), trunk, body.force([15.0, 80.0], which=[0, 2]), body.torque()]
    found = body.solve(levels)
    pushed = S_T @ found.torque + J.T @ found.force
    yield agree("equation of motion [slides 36–39]", now.force(found.acceleration), pushed, 1e-9)
    yield small("contacts: J_c a + J̇_c v", largest(J @ found.acceleration + bias), 1e-9)
    yield agree("mass: c̈ against what was wanted", now.com_jacobian @ found.acceleration + now.com_bias, wanted, 1e-9)
    yield agree("force of a foot, at the fourth level", found.force[[0, 2]], [15.0, 80.0], 1e-8)
    x = np.concatenate([found.acceleration, found.force, found.torque])
    yield agree("five levels by projection, by null spaces one after the other", x, _by_null_spaces(levels), 1e-7)
    yield agree("five levels by projection, by the compiled solver", x, _by_solver(levels), 1e-6)
    yield from _task_laws(robot, now, s, wanted, rng)


def _by_solver(levels: list[Rows]) -> Array:
    """Levels above the cost ½|x|², by the solver of the control loop."""
    n = levels[0].A.shape[1]
    return ActiveSetSolver().solve(QuadraticProgram(np.eye(n), np.zeros(n), levels=tuple(levels))).x


def _by_null_spaces(levels: list[Rows]) -> Array:
    """Each level by least squares in what those above leave free, their null space as a basis; then the shortest."""
    n = levels[0].A.shape[1]
    x, Z = np.zeros(n), np.eye(n)
    for level in levels:
        A = level.A @ Z
        x = x + Z @ np.linalg.lstsq(A, level.lower - level.A @ x, rcond=1e-10)[0]
        Z = Z @ null_space(A, rcond=1e-10)
    return x - Z @ (Z.T @ x) if Z.size else x


def _task_laws(
    robot: Robot, now: ReferenceState, s: SupportDynamics, wanted: Array, rng: np.random.Generator
) -> Iterator[Figure]:
    """Both laws of slide 3, on contacts and on a fixed arm: what the task does under their torques."""
    com, S_T = com_motion(robot, now.q, now.v), np.eye(robot.nv)[:, 6:]
    space = operational_dynamics(robot, now.q, now.v, com, s)
    for name, tau in (
        ("task-space inverse dynamics", task_inverse_dynamics(robot, now.q, now.v, com, wanted, s).torque),
        ("operational-space control", space.torque(wanted, free=rng.normal(size=12))),
    ):
        a = now.held(S_T @ tau, *rows_of_feet(now, FEET))[0]
        yield agree(f"{name}: c̈ under its torques [slide 3]", now.com_jacobian @ a + now.com_bias, wanted, 1e-7)
    yield from _task_dynamics(
        "on four feet",
        space,
        [ReferenceState(robot, now.q, u) for u in (now.v, 0 * now.v)],
        lambda state: (state.com_jacobian, state.com_bias),
        lambda state: rows_of_feet(state, FEET),
        S_T,
    )
    arm = load("arm7")
    q, v = arm.random_state(rng)
    there, tool = ReferenceState(arm, q, v), frame_motion(arm, q, v, "tool")
    space = operational_dynamics(arm, q, v, tool)
    tau = space.torque(wanted, free=rng.normal(size=7))
    moved = there.frame("tool").J @ there.acceleration(tau) + there.frame("tool").A
    yield agree("operational-space control of an arm: ẅ under its torques", moved[:3], wanted, 1e-8)
    yield from _task_dynamics(
        "an arm",
        space,
        [there, ReferenceState(arm, q)],
        lambda state: (state.frame("tool").J[:3], state.frame("tool").A[:3]),
        lambda state: (np.zeros((0, 7)), np.zeros(0)),
        np.eye(7),
    )


def _task_dynamics(
    what: str,
    found: OperationalSpace,
    states: list[ReferenceState],
    task: Callable[[ReferenceState], tuple[Array, Array]],
    contacts: Callable[[ReferenceState], tuple[Array, Array]],
    S_T: Array,
) -> Iterator[Figure]:
    """Λ ẇ + μ + p = F of slide 2, term by term, from ẇ of the reference under each torque and under none.

    Args:
        states: the state, and the same at rest.
        task, contacts: (J, J̇v) at a state.
    """
    without = []
    for state in states:
        (J, bias), (J_c, bias_c) = task(state), contacts(state)
        start, _ = state.held(np.zeros(len(S_T)), J_c, bias_c)
        without.append(J @ start + bias)
    pushed = np.column_stack([state.held(column, J_c, bias_c)[0] - start for column in S_T.T])
    mobility = S_T.T @ pushed
    J_star = J @ pushed @ np.linalg.pinv(mobility, rcond=1e-10)
    inertia = np.linalg.inv(J_star @ mobility @ J_star.T)
    moving, resting = without
    yield agree(f"{what}: Λ [slide 2]", found.inertia, inertia, 1e-8)
    yield agree(f"{what}: μ, due to velocities [slide 2]", found.velocity_force, inertia @ (resting - moving), 1e-8)
    yield agree(f"{what}: p, due to gravity [slide 2]", found.gravity_force, -inertia @ resting, 1e-8)
