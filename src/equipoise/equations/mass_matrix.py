"""Mass matrix by composite bodies, in the axes of each body.

The moments of a subtree move inward from body to body. Seen along the joint of body j they give the momentum that the
subtree has per rate of j; that momentum moves on inward, and the joint of every ancestor reads off its entry of M.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..model.tree import MovingBody, Tree
from .inverse_dynamics import second_moment
from .joints import JointMotion, joint_motions
from .kinematics import Poses
from .symbols import SX, constant, cross, stack, zeros


@dataclass(frozen=True)
class Moments:
    """Mass, first and second moment of a set of bodies about a point: m, h = ∫ x dm, S = ∫ x xᵀ dm."""

    m: float
    h: SX
    S: SX

    def __add__(self, other: Moments) -> Moments:
        return Moments(self.m + other.m, self.h + other.h, self.S + other.S)

    def moved(self, R: SX, p: SX) -> Moments:
        """The same bodies seen from a frame in which theirs stands at (R, p)."""
        h_R = R @ self.h
        h = h_R + self.m * p
        return Moments(self.m, h, symmetric(R @ self.S @ R.T + p @ h_R.T + h @ p.T))

    def momentum(self, linear: SX, angular: SX) -> tuple[SX, SX]:
        """(linear, angular) momentum when all of it moves with one twist at the point; several columns at once."""
        trace = self.S[0, 0] + self.S[1, 1] + self.S[2, 2]
        return self.m * linear - cross(self.h, angular), trace * angular - self.S @ angular + cross(self.h, linear)


def moments_of(body: MovingBody) -> Moments:
    """A body alone, about its origin."""
    return Moments(body.mass, constant(body.h), second_moment(body))


def composites(tree: Tree, motions: list[JointMotion]) -> list[Moments]:
    """Each body with all its descendants, about the body's origin and in its axes."""
    total = [moments_of(body) for body in tree.bodies]
    for i in reversed(range(len(total))):
        parent = tree.bodies[i].parent
        if parent >= 0:
            total[parent] = total[parent] + total[i].moved(motions[i].R, motions[i].p)
    return total


def subtree_momenta(tree: Tree, motions: list[JointMotion]) -> list[tuple[SX, SX]]:
    """Momentum of the subtree of each body per rate of its joint, at the body's origin and in its axes."""
    pairs = zip(composites(tree, motions), motions, strict=True)
    return [moments.momentum(motion.subspace[:3, :], motion.spin) for moments, motion in pairs]


def mass_matrix(tree: Tree, q: SX) -> SX:
    """M(q) [TPN17, Eq. (13)]: M_ij is the momentum of the subtree of j, seen along the joint of its ancestor i."""
    motions = joint_motions(tree, q)
    M = zeros(tree.nv, tree.nv)
    for j, (f, n) in enumerate(subtree_momenta(tree, motions)):
        i = j
        while i >= 0:
            f_parent = motions[i].R @ f
            block = motions[i].slide.T @ f_parent + motions[i].spin.T @ n
            if i == j:
                block = symmetric(block)
            add_pair(tree, M, i, j, block, block.T)
            f, n = f_parent, motions[i].R @ n + cross(motions[i].p, f_parent)
            i = tree.bodies[i].parent
    for body in tree.bodies:
        for k in range(body.v.start, body.v.stop):
            M[k, k] += body.multiplier**2 * body.armature
    return M


def momentum_about_O(tree: Tree, where: Poses) -> SX:
    """6×nv matrix of the robot's momentum about O in world axes [TPN17, Eq. (15)]."""
    A = zeros(6, tree.nv)
    for i, (f, n) in enumerate(subtree_momenta(tree, where.motions)):
        body, f_world = tree.bodies[i], where.R[i] @ f
        A[:, body.v] += body.multiplier * stack(f_world, where.R[i] @ n + cross(where.p[i], f_world))
    return A


def symmetric(S: SX) -> SX:
    """Only the upper half is computed; the lower is the same symbols."""
    for i in range(S.shape[0]):
        for j in range(i):
            S[i, j] = S[j, i]
    return S


def add_pair(tree: Tree, M: SX, i: int, j: int, block: SX, mirrored: SX) -> None:
    """Add the blocks (i, j) and (j, i); bodies that share a coordinate add up in the same place."""
    body_i, body_j = tree.bodies[i], tree.bodies[j]
    factor = body_i.multiplier * body_j.multiplier
    M[body_i.v, body_j.v] += factor * block
    if i != j:
        M[body_j.v, body_i.v] += factor * mirrored
