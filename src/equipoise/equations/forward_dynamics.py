"""Accelerations that forces produce: articulated bodies, in the axes of each body.

Like inverse dynamics it carries accelerations of points. Body by body the equation of motion of a subtree is wrench = A
· acceleration + b, with A the articulated inertia. A joint lets through what its own inertia does not take up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..model.tree import MovingBody, Tree
from .inverse_dynamics import Place, inverse_dynamics, wrenches_on_bodies
from .joints import JointMotion, joint_motions, rates
from .kinematics import body_accelerations
from .mass_matrix import mass_matrix, symmetric
from .symbols import SX, beside, constant, cross, skew, solve_positive_definite, stack, zeros


def forward_dynamics(
    tree: Tree, q: SX, v: SX, tau: SX, places: Sequence[Place] = (), wrenches: Sequence[SX] = ()
) -> SX:
    """M⁻¹ (tau + Σ Jᵀ F − C v − g)."""
    if tree.coupled:  # followers tie branches together, which articulated bodies cannot express
        bias = inverse_dynamics(tree, q, v, zeros(tree.nv), places, wrenches)
        return solve_positive_definite(mass_matrix(tree, q), tau - bias)
    return _articulated(tree, q, v, tau, wrenches_on_bodies(tree, q, places, wrenches))


@dataclass(frozen=True)
class _Joint:
    """What the inward pass leaves behind for the outward pass."""

    U: SX  # A S
    D: SX  # Sᵀ A S, with the rotor's inertia
    u: SX  # force of the joint that is left for acceleration


def _articulated(tree: Tree, q: SX, v: SX, tau: SX, external: list[tuple[SX, SX]] | None) -> SX:
    motions = joint_motions(tree, q)
    w = [motion.w for motion in body_accelerations(tree, motions, v, zeros(tree.nv), zeros(3))]
    drift = _joint_drifts(tree, motions, v, w)
    A = [_inertia(body) for body in tree.bodies]
    b = [_gyroscopic(body, turning) for body, turning in zip(tree.bodies, w, strict=True)]
    if external is not None:
        b = [bias - stack(*wrench) for bias, wrench in zip(b, external, strict=True)]
    joints: list[_Joint] = []
    for i in reversed(range(len(motions))):  # inward
        body, motion = tree.bodies[i], motions[i]
        joints.insert(0, _joint(body, motion, A[i], b[i], body.multiplier * tau[body.v]))
        if body.parent >= 0:
            A_through, b_through = _through(body, joints[0], motion, A[i], b[i], drift[i])
            A[body.parent] = A[body.parent] + _inertia_in_parent(A_through, motion)
            b[body.parent] = b[body.parent] + _wrench_in_parent(b_through, motion)
    acceleration: list[SX] = []
    result = zeros(tree.nv)
    for i, (body, motion, joint) in enumerate(zip(tree.bodies, motions, joints, strict=True)):  # outward
        parent = stack(-constant(tree.gravity), zeros(3)) if body.parent < 0 else acceleration[body.parent]
        before = _felt_by_child(parent, motion) + drift[i]
        if body.joint.nv == 6:  # free: its own equation of motion decides; S is orthogonal
            S = motion.subspace
            after = solve_positive_definite(A[i], S @ (body.multiplier * tau[body.v]) - b[i])
            rate_dot = S.T @ (after - before)
        else:
            rate_dot = solve_positive_definite(joint.D, joint.u - joint.U.T @ before)
            after = before + motion.subspace @ rate_dot
        acceleration.append(after)
        result[body.v] = rate_dot / body.multiplier
    return result


def _joint(body: MovingBody, motion: JointMotion, A: SX, b: SX, force: SX) -> _Joint:
    S = motion.subspace
    U = A @ S
    D = symmetric(S.T @ U)
    for k in range(body.joint.nv):
        D[k, k] += body.armature
    return _Joint(U, D, force - S.T @ b)


def _through(body: MovingBody, joint: _Joint, motion: JointMotion, A: SX, b: SX, drift: SX) -> tuple[SX, SX]:
    """(A, b) of the subtree as the parent feels them through the joint."""
    gain = solve_positive_definite(joint.D, beside(joint.U.T, joint.u))
    A_through = symmetric(A - joint.U @ gain[:, :6])
    if body.armature == 0:
        A_through = _zero_along(A_through, motion.subspace)
    return A_through, b + A_through @ drift + joint.U @ gain[:, 6]


def _zero_along(A: SX, S: SX) -> SX:
    """A S = 0 holds exactly; where S has a single constant entry, the row and column of A are zeros by structure."""
    for column in range(S.shape[1]):
        rows = S[:, column].sparsity().row()
        if len(rows) == 1 and S[rows[0], column].is_constant():
            A[rows[0], :] = zeros(1, 6)
            A[:, rows[0]] = zeros(6, 1)
    return A


def _inertia(body: MovingBody) -> SX:
    h_hat = skew(constant(body.h))
    mass = constant([[body.mass * (r == c) for c in range(3)] for r in range(3)])
    return stack(beside(mass, -h_hat), beside(h_hat, constant(body.I)))


def _gyroscopic(body: MovingBody, w: SX) -> SX:
    """Wrench that keeps a body turning at w without acceleration: (w × (w × h), w × I w)."""
    return stack(cross(w, cross(w, constant(body.h))), cross(w, constant(body.I) @ w))


def _felt_by_child(motion_of_parent: SX, motion: JointMotion) -> SX:
    """Acceleration (of the origin, angular) of the parent, at the child's origin and in the child's axes."""
    linear, angular = motion_of_parent[:3, :], motion_of_parent[3:, :]
    return stack(motion.R.T @ (linear + cross(angular, motion.p)), motion.R.T @ angular)


def _wrench_in_parent(wrench: SX, motion: JointMotion) -> SX:
    """A wrench at the child's origin, at the parent's origin and in the parent's axes."""
    f = motion.R @ wrench[:3, :]
    return stack(f, motion.R @ wrench[3:, :] + cross(motion.p, f))


def _inertia_in_parent(A: SX, motion: JointMotion) -> SX:
    """Turned block by block, then shifted by p: with f = M (a − p^ α) + H α and so on."""
    R, p_hat = motion.R, skew(motion.p)
    M = symmetric(R @ A[:3, :3] @ R.T)
    H_turned = R @ A[:3, 3:] @ R.T
    H = H_turned - M @ p_hat
    J = symmetric(R @ A[3:, 3:] @ R.T - H_turned.T @ p_hat + p_hat @ H)
    return stack(beside(M, H), beside(H.T, J))


def _joint_drifts(tree: Tree, motions: list[JointMotion], v: SX, w: list[SX]) -> list[SX]:
    """Acceleration of each body that is due to velocities at its own joint alone, in the body's axes."""
    result = []
    for body, motion, rate in zip(tree.bodies, motions, rates(tree, v), strict=True):
        w_parent = zeros(3) if body.parent < 0 else w[body.parent]
        point = cross(w_parent, cross(w_parent, motion.p) + 2 * motion.slide @ rate)
        result.append(stack(motion.R.T @ point, cross(motion.R.T @ w_parent, motion.spin @ rate)))
    return result
