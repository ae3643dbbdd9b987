"""Coriolis matrix whose Ṁ − 2C is skew.

M = ∫ Jᵀ J dm over the mass points x, so C = ∫ Jᵀ J̇ dm gives C + Cᵀ = Ṁ by itself: the skew property is the product
rule. On coordinates with v = q̇ these are the Christoffel symbols. With the columns s = (at_O, angular) of the joints
and J = [1, −x^] s,

    C_ij = s_iᵀ (I ṡ_j + D s_j),    I = ∫ [1, −x^]ᵀ [1, −x^] dm,    D = ∫ [1, −x^]ᵀ [0, −ẋ^] dm

over the subtree that i and j both move. D is known by the momentum l = ∫ ẋ dm and by Q = ∫ ẋ xᵀ dm.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..model.tree import Tree
from .inverse_dynamics import second_moment
from .kinematics import JointTwist, Poses, columns, placed_velocities, poses
from .mass_matrix import add_pair, moments_of
from .symbols import SX, constant, cross, skew, zeros


@dataclass(frozen=True)
class Drift:
    """Rate moments of a set of bodies about O: l = ∫ ẋ dm and Q = ∫ ẋ xᵀ dm."""

    l: SX
    Q: SX

    def __add__(self, other: Drift) -> Drift:
        return Drift(self.l + other.l, self.Q + other.Q)

    def moved(self, R: SX, p: SX) -> Drift:
        """The same bodies and velocities seen from a frame in which theirs stands at (R, p)."""
        l = R @ self.l
        return Drift(l, R @ self.Q @ R.T + l @ p.T)

    @property
    def _trace(self) -> SX:
        return self.Q[0, 0] + self.Q[1, 1] + self.Q[2, 2]

    def on(self, angular: SX) -> tuple[SX, SX]:
        """D s; the linear part of s does not matter."""
        return -cross(self.l, angular), self._trace * angular - self.Q @ angular

    def transposed_on(self, at_O: SX, angular: SX) -> SX:
        """Angular part of Dᵀ s; its linear part is zero."""
        return cross(self.l, at_O) + self._trace * angular - self.Q.T @ angular


def body_drifts(tree: Tree, where: Poses, linear: list[SX], angular: list[SX]) -> list[Drift]:
    """Rate moments of each body alone: x = p + R s, ẋ = ṗ + ω × R s."""
    result = []
    for i, body in enumerate(tree.bodies):
        R, w_hat = where.R[i], skew(angular[i])
        h_R = R @ constant(body.h)
        l = body.mass * linear[i] + w_hat @ h_R
        result.append(Drift(l, l @ where.p[i].T + linear[i] @ h_R.T + w_hat @ (R @ second_moment(body) @ R.T)))
    return result


def column_rates(
    tree: Tree, where: Poses, blocks: list[JointTwist], linear: list[SX], angular: list[SX]
) -> list[tuple[SX, SX]]:
    """ṡ of the columns: slides turn with the parent; spins with the body, or with the parent if given in its axes."""
    result = []
    for i, (body, block) in enumerate(zip(tree.bodies, blocks, strict=True)):
        w_parent = zeros(3) if body.parent < 0 else angular[body.parent]
        carrier = w_parent if body.joint.spin_axes == "parent" else angular[i]
        turn = cross(carrier, block.angular)
        shift = cross(w_parent, block.linear) + cross(linear[i], block.angular) + cross(where.p[i], turn)
        result.append((shift, turn))
    return result


def coriolis_matrix(tree: Tree, q: SX, v: SX) -> SX:
    """C(q, v) with Ṁ − 2C skew [TPN17, Property 2]."""
    where = poses(tree, q)
    blocks = columns(tree, where)
    linear, angular = placed_velocities(tree, where, blocks, v)
    rate = column_rates(tree, where, blocks, linear, angular)
    alone = zip(tree.bodies, where.R, where.p, strict=True)
    moments = _subtree_sums(tree, [moments_of(body).moved(R, p) for body, R, p in alone])
    drifts = _subtree_sums(tree, body_drifts(tree, where, linear, angular))
    C = zeros(tree.nv, tree.nv)
    for j, (I, D) in enumerate(zip(moments, drifts, strict=True)):
        f, n = I.momentum(blocks[j].at_O, blocks[j].angular)
        f_rate, n_rate = _sum(I.momentum(*rate[j]), D.on(blocks[j].angular))
        n_back = D.transposed_on(blocks[j].at_O, blocks[j].angular)
        for i in tree.ancestors(j):
            s, s_rate = blocks[i], rate[i]
            upper = s.at_O.T @ f_rate + s.angular.T @ n_rate
            lower = f.T @ s_rate[0] + n.T @ s_rate[1] + n_back.T @ s.angular
            add_pair(tree, C, i, j, upper, lower)
    return C


def _subtree_sums(tree: Tree, parts: list) -> list:
    """Each body with all its descendants: about one point and in one set of axes, they just add up."""
    total = list(parts)
    for i in reversed(range(len(total))):
        if tree.bodies[i].parent >= 0:
            total[tree.bodies[i].parent] = total[tree.bodies[i].parent] + total[i]
    return total


def _sum(a: tuple[SX, SX], b: tuple[SX, SX]) -> tuple[SX, SX]:
    return a[0] + b[0], a[1] + b[1]
