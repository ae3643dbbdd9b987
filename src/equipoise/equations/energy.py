"""Kinetic and potential energy."""

from __future__ import annotations

from ..model.tree import Tree
from .centroidal import com, total_mass
from .joints import joint_motions, rates
from .symbols import SX, constant, cross, zeros


def kinetic_energy(tree: Tree, q: SX, v: SX) -> SX:
    """½ vᵀ M v, summed body by body in the axes of each [TPN17, Eq. (11)]; rotors too, where armature applies."""
    linear: list[SX] = []
    angular: list[SX] = []
    energy = zeros(1)
    for body, motion, rate in zip(tree.bodies, joint_motions(tree, q), rates(tree, v), strict=True):
        u, w = (zeros(3), zeros(3)) if body.parent < 0 else (linear[body.parent], angular[body.parent])
        u = motion.R.T @ (u + cross(w, motion.p) + motion.slide @ rate)
        w = motion.R.T @ w + motion.spin @ rate
        linear.append(u)
        angular.append(w)
        energy = energy + body.mass * u.T @ u / 2 + u.T @ cross(w, constant(body.h)) + w.T @ constant(body.I) @ w / 2
        energy = energy + body.armature * rate.T @ rate / 2
    return energy


def potential_energy(tree: Tree, q: SX) -> SX:
    """−m gᵀ c, zero at the origin of the world."""
    return -total_mass(tree) * constant(tree.gravity).T @ com(tree, q)
