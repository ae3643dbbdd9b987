"""Torques for a given motion, chosen so that feet neither slide nor lift [EB98, Sec. 5.1.2].

Once a decoupling control has said how a robot on contacts shall move, more actuators than freedoms leave a choice:
torques can squeeze the ground between the feet without moving anything. [EB98] names two ways to choose: the least
torques by some criterion, which is `OutputDynamics.torque`, and those under which the constraints, which are unilateral
for a walking robot, are not violated. This is the second.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ...errors import ShapeError
from ..qp import DaqpSolver, QuadraticProgram, Status

Array = np.ndarray
FORCE_WEIGHT = 1e-9  # of λ², beside Γ²: decides only where constraints repeat each other


class UnilateralTorque(NamedTuple):
    """Γ and the forces λ of the constraints under it; NaN where the status says that there are none."""

    torque: Array  # (actuators,)
    multipliers: Array  # (rows of C,)
    status: Status


def unilateral_torque(
    M: Array,
    N: Array,
    a: Array,
    C: Array,
    cone: Array,
    *,
    B: Array | None = None,
    preferred: Array | None = None,
    limits: ArrayLike = np.inf,
    load: ArrayLike = 0.0,
) -> UnilateralTorque:
    """Γ with M a + N = B Γ + Cᵀ λ and cone λ ≤ −load; of all, the one nearest to `preferred` [EB98, Sec. 5.1.2].

    Args:
        M: mass matrix, (n, n).
        N: bias force C v + g, (n,).
        a: the motion, (n,), one that keeps the constraints: `OutputDynamics.acceleration`.
        C: constraints, (p, n), C a + s = 0; λ are their forces on the robot.
        cone: rows over λ, (k, p), each at most zero: friction, pressure within the sole, no pull.
        B: generalised forces per actuator, (n, actuators): Sᵀ; every coordinate has its own if not given.
        preferred: torques, (actuators,); zero if not given.
        limits: largest torques, one number or one each.
        load: by how much rows of the cone are kept below zero, one number or one each, ≥ 0.

    Returns:
        Torques, forces and a status, INFEASIBLE where no torques move the robot so without a row being violated.
    """
    n, C, cone = len(M), np.asarray(C, dtype=float), np.asarray(cone, dtype=float)
    B = np.eye(n) if B is None else np.asarray(B, dtype=float)
    if C.shape[1:] != (n,) or cone.shape[1:] != (len(C),) or len(B) != n:
        raise ShapeError(
            f"C has {n} columns, the cone one for each row of C, and B {n} rows; got {C.shape}, {cone.shape} and "
            f"{B.shape}"
        )
    motors, wanted = B.shape[1], np.zeros(B.shape[1]) if preferred is None else np.asarray(preferred, dtype=float)
    needed, most = M @ np.asarray(a, dtype=float) + N, np.broadcast_to(np.asarray(limits, dtype=float), motors)
    free, unbounded = np.full(len(C), np.inf), np.full(len(cone), np.inf)
    program = QuadraticProgram(
        np.diag([*np.ones(motors), *np.full(len(C), FORCE_WEIGHT)]),
        np.concatenate([-wanted, np.zeros(len(C))]),
        np.block([[B, C.T], [np.zeros((len(cone), motors)), cone]]),
        np.concatenate([needed, -unbounded]),
        np.concatenate([needed, -np.broadcast_to(np.asarray(load, dtype=float), len(cone))]),
        np.concatenate([-most, -free]),
        np.concatenate([most, free]),
    )
    found = DaqpSolver(refine=1e-12).solve(program)
    return UnilateralTorque(found.x[:motors], found.x[motors:], found.status)
