"""Accelerations that forces produce: articulated bodies, in the axes of each body.

Like inverse dynamics it carries accelerations of points. Body by body the equation of motion of a subtree is
wrench = A · acceleration + b, with A the articulated inertia (6×6, linear part first).
"""

from __future__ import annotations

from collections.abc import Sequence

from ..model.tree import Tree
from .inverse_dynamics import Place, bias_force, inverse_dynamics, wrenches_on_bodies
from .joints import JointMotion, joint_motions, rates
from .kinematics import body_accelerations
from .mass_matrix import mass_matrix, symmetric
from .symbols import SX, beside, constant, cross, skew, solve_positive_definite, stack, zeros


def forward_dynamics(
    tree: Tree, q: SX, v: SX, tau: SX, places: Sequence[Place] = (), wrenches: Sequence[SX] = ()
) -> SX:
    """M⁻¹ (tau + Σ Jᵀ F − C v − g)."""
    if tree.coupled:  # followers tie branches together, which articulated bodies cannot express
        if places:
            bias = inverse_dynamics(tree, q, v, zeros(tree.nv), places, wrenches)
        else:
            bias = bias_force(tree, q, v)
        return solve_positive_definite(mass_matrix(tree, q), tau - bias)
    return _articulated(tree, q, v, tau, wrenches_on_bodies(tree, q, places, wrenches))


def _articulated(tree: Tree, q: SX, v: SX, tau: SX, external: list[tuple[SX, SX]] | None) -> SX:
    motions = joint_motions(tree, q)
    drift = body_accelerations(tree, motions, v, zeros(tree.nv), zeros(3))
    joint_drift = _joint_drifts(tree, motions, v, [m.w for m in drift])
    A = [_inertia(body) for body in tree.bodies]
    b = [_gyroscopic(body, motion.w) for body, motion in zip(tree.bodies, drift, strict=True)]
    if external is not None:
        b = [bias - stack(*wrench) for bias, wrench in zip(b, external, strict=True)]
    S = [motion.subspace for motion in motions]
    X = [_carried(motion) for motion in motions]
    force = [body.multiplier * tau[body.v] for body in tree.bodies]
    U: list[SX] = [zeros(0)] * len(S)
    D: list[SX] = [zeros(0)] * len(S)
    u: list[SX] = [zeros(0)] * len(S)
    for i in reversed(range(len(S))):  # inward: a joint lets through what its own inertia does not take up
        body = tree.bodies[i]
        U[i] = A[i] @ S[i]
        D[i] = symmetric(S[i].T @ U[i]) + body.armature * constant([[float(r == c) for c in range(body.joint.nv)] for r in range(body.joint.nv)])
        u[i] = force[i] - S[i].T @ b[i]
        if body.parent >= 0:
            gain = solve_positive_definite(D[i], beside(U[i].T, u[i]))
            A_joint = symmetric(A[i] - U[i] @ gain[:, :6])
            b_joint = b[i] + A_joint @ joint_drift[i] + U[i] @ gain[:, 6]
            A[body.parent] = A[body.parent] + symmetric(X[i].T @ A_joint @ X[i])
            b[body.parent] = b[body.parent] + X[i].T @ b_joint
    acceleration: list[SX] = []
    result = zeros(tree.nv)
    ground = stack(-constant(tree.gravity), zeros(3))
    for i, body in enumerate(tree.bodies):  # outward
        parent = ground if body.parent < 0 else acceleration[body.parent]
        before = X[i] @ parent + joint_drift[i]
        rate_dot = solve_positive_definite(D[i], u[i] - U[i].T @ before)
        acceleration.append(before + S[i] @ rate_dot)
        result[body.v] = rate_dot / body.multiplier
    return result


def _inertia(body) -> SX:
    h_hat = skew(constant(body.h))
    mass = constant([[body.mass * (r == c) for c in range(3)] for r in range(3)])
    return stack(beside(mass, -h_hat), beside(h_hat, constant(body.I)))


def _gyroscopic(body, w: SX) -> SX:
    """Wrench that keeps a body turning at w without acceleration: (w × (w × h), w × I w)."""
    h = constant(body.h)
    return stack(cross(w, cross(w, h)), cross(w, constant(body.I) @ w))


def _carried(motion: JointMotion) -> SX:
    """(ṗ, ω)-like motion of the parent as the child feels it, in the child's axes: 6×6."""
    R_T = motion.R.T
    return stack(beside(R_T, -R_T @ skew(motion.p)), beside(zeros(3, 3), R_T))


def _joint_drifts(tree: Tree, motions: list[JointMotion], v: SX, w: list[SX]) -> list[SX]:
    """Acceleration of each body that is due to velocities at its own joint alone, in the body's axes."""
    result = []
    for body, motion, rate in zip(tree.bodies, motions, rates(tree, v), strict=True):
        w_parent = zeros(3) if body.parent < 0 else w[body.parent]
        point = cross(w_parent, cross(w_parent, motion.p) + 2 * motion.slide @ rate)
        result.append(stack(motion.R.T @ point, cross(motion.R.T @ w_parent, motion.spin @ rate)))
    return result
