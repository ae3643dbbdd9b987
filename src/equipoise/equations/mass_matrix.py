"""Mass matrix by composite bodies, in world axes about O: subtrees add up there without being moved."""

from __future__ import annotations

from dataclasses import dataclass

from ..model.tree import Tree
from .inverse_dynamics import second_moment
from .kinematics import Columns, Poses, columns, poses
from .symbols import SX, constant, cross, stack, zeros


@dataclass(frozen=True)
class Moments:
    """Mass, first and second moment of a set of bodies about O: m, h = ∫ x dm, Σ = ∫ x xᵀ dm."""

    m: SX | float
    h: SX
    S: SX

    def __add__(self, other: Moments) -> Moments:
        return Moments(self.m + other.m, self.h + other.h, self.S + other.S)

    def momentum(self, linear: SX, angular: SX) -> tuple[SX, SX]:
        """(linear, angular about O) momentum when all of it moves with one twist at O; several columns at once."""
        trace = self.S[0, 0] + self.S[1, 1] + self.S[2, 2]
        return self.m * linear - cross(self.h, angular), trace * angular - self.S @ angular + cross(self.h, linear)


def body_moments(tree: Tree, where: Poses) -> list[Moments]:
    """Moments of each body alone."""
    result = []
    for body, R, p in zip(tree.bodies, where.R, where.p, strict=True):
        h_R = R @ constant(body.h)
        S = R @ second_moment(body) @ R.T + p @ h_R.T + (h_R + body.mass * p) @ p.T
        result.append(Moments(body.mass, h_R + body.mass * p, symmetric(S)))
    return result


def symmetric(S: SX) -> SX:
    """Only the upper half is computed; the lower is the same symbols."""
    for i in range(S.shape[0]):
        for j in range(i):
            S[i, j] = S[j, i]
    return S


def subtree_sums(tree: Tree, parts: list) -> list:
    """Each body with all its descendants."""
    total = list(parts)
    for i in reversed(range(len(total))):
        if tree.bodies[i].parent >= 0:
            total[tree.bodies[i].parent] = total[tree.bodies[i].parent] + total[i]
    return total


def subtree_momenta(tree: Tree, where: Poses, blocks: list[Columns]) -> list[tuple[SX, SX]]:
    """Momentum about O of the subtree of each body, per rate of its joint: rows of the momentum matrix [TPN17, Eq. (15)]."""
    composites = subtree_sums(tree, body_moments(tree, where))
    return [c.momentum(block.at_O, block.angular) for c, block in zip(composites, blocks, strict=True)]


def ancestors(tree: Tree, i: int) -> list[int]:
    """Body i, its parent, and so on to the root."""
    line = []
    while i >= 0:
        line.append(i)
        i = tree.bodies[i].parent
    return line


def mass_matrix(tree: Tree, q: SX) -> SX:
    """M(q) [TPN17, Eq. (13)]: M_ij is the momentum of the subtree of j, seen along the twist of its ancestor i."""
    where = poses(tree, q)
    blocks = columns(tree, where)
    momenta = subtree_momenta(tree, where, blocks)
    M = zeros(tree.nv, tree.nv)
    for j, (f, n) in enumerate(momenta):
        for i in ancestors(tree, j):
            block = blocks[i].at_O.T @ f + blocks[i].angular.T @ n
            if i == j:
                block = symmetric(block)
            add_pair(tree, M, i, j, block, block.T)
    for body in tree.bodies:
        for k in range(body.v.start, body.v.stop):
            M[k, k] += body.multiplier**2 * body.armature
    return M


def add_pair(tree: Tree, M: SX, i: int, j: int, block: SX, mirrored: SX) -> None:
    """Add the blocks (i, j) and (j, i); bodies that share a coordinate add up in the same place."""
    body_i, body_j = tree.bodies[i], tree.bodies[j]
    factor = body_i.multiplier * body_j.multiplier
    M[body_i.v, body_j.v] += factor * block
    if i != j:
        M[body_j.v, body_i.v] += factor * mirrored


def momentum_about_O(tree: Tree, where: Poses) -> SX:
    """6×nv matrix of the robot's momentum about O."""
    A = zeros(6, tree.nv)
    for body, (f, n) in zip(tree.bodies, subtree_momenta(tree, where, columns(tree, where)), strict=True):
        A[:, body.v] += body.multiplier * stack(f, n)
    return A
