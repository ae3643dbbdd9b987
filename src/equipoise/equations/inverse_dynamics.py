"""Generalised forces that make a motion happen: recursive Newton–Euler, in the axes of each body.

The outward pass carries accelerations of points, so the linear velocity of the base never enters, as Galileo has it.
With B = ẇ^ + w^ w^ and the moments of the mass distribution h = ∫ s dm and Σ = ∫ s sᵀ dm, a body needs

    f = ∫ (a + B s) dm = m a + B h,    n = ∫ s × (a + B s) dm = h × a + axial(B Σ).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..model.tree import MovingBody, Tree
from .joints import gather, joint_motions, rates
from .kinematics import BodyMotion, body_accelerations, poses
from .symbols import SX, SYMBOLS, constant, cross, stack, zeros

Place = tuple[int, np.ndarray]


def inverse_dynamics(tree: Tree, q: SX, v: SX, a: SX, places: Sequence[Place] = (), wrenches: Sequence[SX] = ()) -> SX:
    """M a + C v + g − Σ Jᵀ F [TPN17, Eq. (10b)], F in the mixed representation of its frame."""
    external = wrenches_on_bodies(tree, q, places, wrenches)
    forces, _ = joint_forces(tree, q, v, a, constant(tree.gravity), external)
    armature = [body.armature * rate for body, rate in zip(tree.bodies, rates(tree, a), strict=True)]
    return gather(tree, [force + rotor for force, rotor in zip(forces, armature, strict=True)])


def bias_force(tree: Tree, q: SX, v: SX) -> SX:
    """C v + g: what inverse dynamics leaves at zero acceleration."""
    return inverse_dynamics(tree, q, v, zeros(tree.nv))


def gravity(tree: Tree, q: SX) -> SX:
    """g: what inverse dynamics leaves at rest."""
    return inverse_dynamics(tree, q, zeros(tree.nv), zeros(tree.nv))


def second_moment(body: MovingBody) -> SX:
    """Σ = ∫ s sᵀ dm of a body about its origin, from the inertia I = tr(Σ) 1 − Σ."""
    return constant(np.trace(body.I) / 2 * np.eye(3) - body.I)


def body_wrench(body: MovingBody, motion: BodyMotion) -> tuple[SX, SX]:
    """Force and torque at the body's origin that its motion takes."""
    h = constant(body.h)
    f = body.mass * motion.acceleration + motion.B @ h
    P = motion.B @ second_moment(body)
    axial = SYMBOLS.vector([P[2, 1] - P[1, 2], P[0, 2] - P[2, 0], P[1, 0] - P[0, 1]])
    return f, axial + cross(h, motion.acceleration)


def joint_forces(
    tree: Tree, q: SX, v: SX, a: SX, gravity: SX, external: Sequence[tuple[SX, SX]] | None = None
) -> tuple[list[SX], SX]:
    """(force of each joint along its own rates, wrench of the world on the robot about O)."""
    motions = joint_motions(tree, q)
    accelerations = body_accelerations(tree, motions, v, a, gravity)
    wrench = [body_wrench(body, motion) for body, motion in zip(tree.bodies, accelerations, strict=True)]
    if external is not None:
        wrench = [(f - F, n - N) for (f, n), (F, N) in zip(wrench, external, strict=True)]
    forces: list[SX] = [zeros(0)] * len(tree.bodies)
    root_f, root_n = zeros(3), zeros(3)
    for i in reversed(range(len(tree.bodies))):
        (f, n), motion, parent = wrench[i], motions[i], tree.bodies[i].parent
        f_parent = motion.R @ f
        forces[i] = motion.slide.T @ f_parent + motion.spin.T @ n
        # roots stand in the world, moments are about O
        p = motion.p - q[0:3] if tree.floating and parent < 0 else motion.p
        n_parent = motion.R @ n + cross(p, f_parent)
        if parent < 0:
            root_f, root_n = root_f + f_parent, root_n + n_parent
        else:
            wrench[parent] = wrench[parent][0] + f_parent, wrench[parent][1] + n_parent
    return forces, stack(root_f, root_n)


def wrenches_on_bodies(
    tree: Tree, q: SX, places: Sequence[Place], wrenches: Sequence[SX]
) -> list[tuple[SX, SX]] | None:
    """External wrenches, mixed at their frames, as (force, torque) at the origins and in the axes of the bodies."""
    if not places:
        return None
    where = poses(tree, q)
    total = [(zeros(3), zeros(3)) for _ in tree.bodies]
    for (body, X), wrench in zip(places, wrenches, strict=True):
        if body < 0:
            continue  # a force on something fixed to the world moves nothing
        R_T = where.R[body].T
        F = R_T @ wrench[0:3]
        N = R_T @ wrench[3:6] + cross(constant(X[:3, 3]), F)
        total[body] = total[body][0] + F, total[body][1] + N
    return total
