"""Centre of mass and the momentum about it."""

from __future__ import annotations

from ..model.tree import Tree
from .inverse_dynamics import joint_forces
from .kinematics import Poses, poses
from .mass_matrix import momentum_about_O
from .symbols import SX, constant, cross, stack, zeros


def total_mass(tree: Tree) -> float:
    """Mass of the robot, links that are fixed to the world included."""
    return tree.fixed_mass + sum(body.mass for body in tree.bodies)


def _com_from_O(tree: Tree, where: Poses) -> SX:
    total = constant(tree.fixed_h) - tree.fixed_mass * where.O
    for body, R, p in zip(tree.bodies, where.R, where.p, strict=True):
        total = total + R @ constant(body.h) + body.mass * p
    return total / total_mass(tree)


def com(tree: Tree, q: SX) -> SX:
    """Centre of mass, in the world."""
    where = poses(tree, q)
    return where.O + _com_from_O(tree, where)


def com_jacobian(tree: Tree, q: SX) -> SX:
    """ċ = J v, 3×nv: the momentum per unit of mass."""
    return momentum_about_O(tree, poses(tree, q))[:3, :] / total_mass(tree)


def com_acceleration(tree: Tree, q: SX, v: SX, a: SX) -> SX:
    """c̈ = J a + J̇ v."""
    return _wrench(tree, q, v, a)[0:3] / total_mass(tree)


def momentum_matrix(tree: Tree, q: SX) -> SX:
    """A with (linear, angular about G) momentum = A v: the centroidal momentum matrix [TPN17, Sec. 5]."""
    where = poses(tree, q)
    A = momentum_about_O(tree, where)
    return stack(A[:3, :], A[3:, :] - cross(_com_from_O(tree, where), A[:3, :]))


def momentum(tree: Tree, q: SX, v: SX) -> SX:
    """Momentum about the centre of mass."""
    return momentum_matrix(tree, q) @ v


def momentum_rate(tree: Tree, q: SX, v: SX, a: SX) -> SX:
    """A a + Ȧ v: the wrench about G that the motion takes without gravity."""
    wrench = _wrench(tree, q, v, a)
    c = _com_from_O(tree, poses(tree, q))
    return stack(wrench[0:3], wrench[3:6] - cross(c, wrench[0:3]))


def _wrench(tree: Tree, q: SX, v: SX, a: SX) -> SX:
    return joint_forces(tree, q, v, a, zeros(3))[1]
