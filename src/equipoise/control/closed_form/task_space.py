"""Tasks as quadratic programs: velocities, accelerations with bounds that shrink, two levels, and torques [QO21, Sec.
3.1].

Each law is a `QuadraticProgram`; `Solver().solve(program).x` is the command. Constraints W x ≤ w come as `Rows`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ...algebra.least_squares import RANK_TOLERANCE
from ...errors import ShapeError
from ..qp import QuadraticProgram, Rows
from .motions import Motion

if TYPE_CHECKING:
    from ...robot import Robot

Array = np.ndarray


def velocity_program(
    J: Array,
    error: Array,
    gain: float,
    damping: float,
    constraints: Rows | None = None,
    *,
    feedforward: Array | None = None,
) -> QuadraticProgram:
    """minimise ‖J v + η x̃‖² + λ² ‖v‖² subject to W v ≤ w: where nothing is in the way x̃ falls like exp(−η t) [QO21,
    Eq. (3.1)].

    Args:
        J: task Jacobian, (m, nv).
        error: x̃ = x − x_d, (m,).
        gain: η > 0, 1/s.
        damping: λ ≥ 0.
        constraints: rows over v.
        feedforward: ẋ_d, (m,), of a goal that moves; the thesis has none.
    """
    _require_positive(gain=gain)
    target = -gain * np.asarray(error, dtype=float) + (0.0 if feedforward is None else feedforward)
    return _least_squares(J, target, damping, constraints)


def error_acceleration(error: Array, error_rate: Array, k_p: float, k_d: float) -> Array:
    """ẍ_d = −k_d x̃' − k_p x̃, (m,); without oscillation if k_d² > 4 k_p [QO21, Sec. 3.1]."""
    _require_positive(k_p=k_p, k_d=k_d)
    return -k_d * np.asarray(error_rate, dtype=float) - k_p * np.asarray(error, dtype=float)


def shrinking_bounds(
    v: Array, error_rate: Array, k: float, size: Callable[[Array], float | np.floating] = np.linalg.norm
) -> tuple[Array, Array]:
    """(γ_l, γ_u) = k (∓g(x̃') − v): bounds of accelerations that close as the task comes to rest [QO21, Eq. (3.4)].

    When the task stands they leave a = −k v alone, and the robot stops like exp(−k t), whatever the task does not see
    included. In steps of dt this wants k dt < 1.

    Args:
        v: velocities, (nv,).
        error_rate: x̃', (m,).
        k: 1/s, how fast the robot stops.
        size: g, zero at zero and growing; the Euclidean norm by default.
    """
    _require_positive(k=k)
    v, g = np.asarray(v, dtype=float), size(error_rate)
    return k * (-g - v), k * (g - v)


def acceleration_program(
    motion: Motion,
    acceleration: Array,
    damping: float,
    constraints: Rows | None = None,
    *,
    bounds: tuple[Array, Array] | None = None,
) -> QuadraticProgram:
    """minimise ‖J a + J̇v − ẍ_d‖² + λ² ‖a‖² subject to W a ≤ w and γ_l ≤ a ≤ γ_u [QO21, Eq. (3.2)–(3.3), (3.5)].

    Args:
        motion: the task.
        acceleration: ẍ_d, (m,), from `error_acceleration`; add that of a goal that accelerates.
        damping: λ ≥ 0.
        constraints: rows over a.
        bounds: from `shrinking_bounds`. They may contradict the constraints: the two levels (3.5) and (3.6) cannot.
    """
    return _least_squares(motion.J, np.asarray(acceleration, dtype=float) - motion.bias, damping, constraints, bounds)


def resting_program(
    J: Array, first: Array, v: Array, alpha: float, constraints: Rows | None = None
) -> QuadraticProgram:
    """minimise ‖a + α v‖² subject to J a = J u₁ and W a ≤ w: the second level, which stops what the task does not see.

    [QO21, Eq. (3.6)]; u₁ is the answer of the first level, `acceleration_program` without bounds, (3.5). It satisfies
    all rows, so this program always has a solution. Rows of J that repeat each other are left out.

    Args:
        J: task Jacobian, (m, nv).
        first: u₁, (nv,).
        alpha: 1/s, > 0.
    """
    _require_positive(alpha=alpha)
    J, first, v = (np.asarray(x, dtype=float) for x in (J, first, v))
    _, s, V_T = np.linalg.svd(J, full_matrices=False)
    nonzero = V_T[s > RANK_TOLERANCE * s.max(initial=0.0)]
    task = Rows.equal(nonzero, nonzero @ first, ("task",) * len(nonzero))
    rows = [task] if constraints is None else [task, constraints]
    A, lower, upper = (np.concatenate([getattr(part, side) for part in rows]) for side in ("A", "lower", "upper"))
    names = tuple(name for part in rows for name in part.names)
    return QuadraticProgram(np.eye(v.size), alpha * v, A, lower, upper, names=names)


def joint_torque(robot: Robot, q: Array, v: Array, a: Array) -> Array:
    """u_τ = n̄ + M a, (nv,): torques for an acceleration of a robot whose every velocity has a motor [QO21, Eq.
    (3.7)]."""
    if robot.floating:
        raise ShapeError(
            f"the base of {robot.name!r} has no motor: torques on contacts come from `support_dynamics` or `WholeBody`"
        )
    return robot.inverse_dynamics(q, v, a)


def _least_squares(
    J: Array, target: Array, damping: float, constraints: Rows | None, bounds: tuple[Array, Array] | None = None
) -> QuadraticProgram:
    """½ ‖J x − target‖² + ½ λ² ‖x‖² with rows and bounds."""
    J = np.asarray(J, dtype=float)
    if np.shape(target) != (len(J),):
        raise ShapeError(f"a task with {len(J)} rows wants as many targets, got {np.shape(target)}")
    if not damping >= 0:
        raise ShapeError(f"damping is zero or more, got {damping!r}")
    rows: dict[str, Any] = {} if bounds is None else dict(x_lower=bounds[0], x_upper=bounds[1])
    if constraints is not None:
        rows |= dict(A=constraints.A, lower=constraints.lower, upper=constraints.upper, names=constraints.names)
    H = J.T @ J + damping**2 * np.eye(J.shape[1])
    return QuadraticProgram(H, -J.T @ target, **rows)


def _require_positive(**gains: float) -> None:
    for name, value in gains.items():
        if not (np.isfinite(value) and value > 0):
            raise ShapeError(f"{name} is a positive finite number, got {value!r}")
