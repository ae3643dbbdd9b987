"""[EB98, Sec. 5.1.2]: torques of a planar biped on both feet, under the unilateral constraints of its soles. Of row
E7."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..control.closed_form.decoupling import output_dynamics
from ..control.closed_form.motions import com_motion, frame_motion
from ..control.closed_form.unilateral import unilateral_torque
from ..control.qp import Status
from ..model.robots.anthropometry import HEEL_TO_ANKLE
from .eb98_biped import FEET, PERSON, striding
from .reference import ReferenceState
from .rows import Figure, agree, exactly, largest

Array = np.ndarray
PLANE = [0, 2, 4]  # x, z and the turn of a twist
FRICTION = 0.5


def sole_cone(friction: float = FRICTION) -> Array:
    """Rows over (f_x, f_z, turning moment about −y) of a sole at the foot of the ankle: no slip, no tipping, no
    pull."""
    length = PERSON.segment("foot").length
    heel, toe = HEEL_TO_ANKLE * length, (1 - HEEL_TO_ANKLE) * length
    return np.array([[1, -friction, 0], [-1, -friction, 0], [0, -toe, 1], [0, -heel, -1]])


def _standing(now: ReferenceState) -> tuple[Array, Array]:
    """C and s of both soles in the plane; turning is counted about −y, as the joints do."""
    sign = np.array([1.0, 1.0, -1.0])[:, None]
    soles = [now.frame(f"{foot} sole") for foot in FEET]
    return np.vstack([sign * sole.J[PLANE] for sole in soles]), np.concatenate(
        [sign[:, 0] * sole.A[PLANE] for sole in soles]
    )


def unilateral_figures() -> Iterator[Figure]:
    """Of row E7: six motors, three freedoms; the least torques would pull at a foot, those chosen do not."""
    robot, q = striding()
    C, _ = _standing(ReferenceState(robot, q))
    v = np.linalg.svd(C)[2][6:].T @ np.array([0.3, -0.2, 0.4])  # feet stand, the rest moves
    now, B = ReferenceState(robot, q, v), np.eye(9)[:, 3:]
    C, s = _standing(now)
    turn = frame_motion(robot, q, v, "trunk", turning=True)
    com = com_motion(robot, q, v, "xz").above(type(turn)(turn.J[[4]], turn.bias[[4]]))
    out = output_dynamics(robot.mass_matrix(q), robot.bias_force(q, v), *com, C=C, s=s, B=B)
    cone, wanted = np.kron(np.eye(2), sole_cone()), np.array([2.5, -0.3, 0.4])
    a, least = out.acceleration(wanted), out.torque(out.actuation(wanted))
    needed = now.force(a)
    pull = float((cone @ _forces(C, needed - B @ least)).max())
    yield Figure("least torques: worst row of the soles' cones, N", "> 5: a foot slips", f"{pull:.1f}", pull > 5.0)
    found = unilateral_torque(robot.mass_matrix(q), robot.bias_force(q, v), a, C, cone, B=B)
    forces = _forces(C, needed - B @ found.torque)
    yield agree("chosen torques: they make the same motion [Sec. 5.1.2]", B @ found.torque + C.T @ forces, needed, 1e-9)
    worst = float((cone @ forces).max())
    yield Figure("chosen torques: worst row of the soles' cones, N", "≤ 0", f"{worst:.1e}", worst < 1e-6)
    yield agree("forces of the soles, as answered", found.multipliers, forces, 1e-7)
    yield agree("of all such torques the least, by another solver", found.torque, _least(C, cone, B, needed), 1e-5)
    slow = np.array([0.5, 0.0, 0.3])
    easy = unilateral_torque(robot.mass_matrix(q), robot.bias_force(q, v), out.acceleration(slow), C, cone, B=B)
    yield agree(
        "where no foot would slip they are the least torques", easy.torque, out.torque(out.actuation(slow)), 1e-5
    )
    fast = out.acceleration(np.array([9.0, 0.0, 0.0]))
    status = unilateral_torque(robot.mass_matrix(q), robot.bias_force(q, v), fast, C, cone, B=B).status
    yield exactly("a motion beyond friction: the status", status, Status.INFEASIBLE)
    few = largest(found.torque) * 0.98
    within = (
        largest(unilateral_torque(robot.mass_matrix(q), robot.bias_force(q, v), a, C, cone, B=B, limits=few).torque)
        / few
    )
    yield Figure("with weaker motors: largest torque over its limit", "≤ 1", f"{within:.3f}", within <= 1 + 1e-9)


def _forces(C: Array, force: Array) -> Array:
    """λ of Cᵀ λ = force."""
    return np.linalg.lstsq(C.T, force, rcond=None)[0]


def _least(C: Array, cone: Array, B: Array, needed: Array) -> Array:
    """The same choice by sequential quadratic programming over what the motion leaves free."""
    from scipy.linalg import null_space
    from scipy.optimize import minimize

    both = np.hstack([B, C.T])
    start, free = np.linalg.lstsq(both, needed, rcond=None)[0], null_space(both)
    motors = B.shape[1]

    def torque(z: Array) -> Array:
        return (start + free @ z)[:motors]

    held = {"type": "ineq", "fun": lambda z: -cone @ (start + free @ z)[motors:]}
    cost = {"fun": lambda z: torque(z) @ torque(z) / 2, "jac": lambda z: free[:motors].T @ torque(z)}
    found = minimize(x0=np.zeros(free.shape[1]), constraints=held, method="SLSQP", options={"ftol": 1e-14}, **cost)
    return torque(found.x)
