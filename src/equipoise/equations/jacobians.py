"""Motion of frames: Jacobians, velocities, accelerations."""

from __future__ import annotations

import casadi

from ..model.tree import Tree
from .inverse_dynamics import Place
from .joints import joint_motions
from .kinematics import body_accelerations, columns, placed_velocities, poses
from .manifold import coordinate_rates
from .symbols import SX, constant, cross, stack, zeros


def jacobian(tree: Tree, q: SX, place: Place) -> SX:
    """J with (ṗ, ω) of the frame = J v [TPN17, Eq. (9)], 6×nv."""
    where = poses(tree, q)
    blocks = columns(tree, where)
    _, p = where.frame(tree, place)
    J = zeros(6, tree.nv)
    for i in tree.ancestors(place[0]):
        body, block = tree.bodies[i], blocks[i]
        J[:, body.v] += body.multiplier * stack(block.linear + cross(where.p[i] - p, block.angular), block.angular)
    return J


def jacobian_rate(tree: Tree, q: SX, v: SX, place: Place) -> SX:
    """J̇ along the motion v, 6×nv: each column turns with the link that carries it."""
    return casadi.sparsify(casadi.jtimes(jacobian(tree, q, place), q, coordinate_rates(tree, q, v)))


def velocity(tree: Tree, q: SX, v: SX, place: Place) -> SX:
    """(ṗ, ω) of a frame."""
    body, _ = place
    if body < 0:
        return zeros(6)
    where = poses(tree, q)
    linear, angular = placed_velocities(tree, where, columns(tree, where), v)
    _, p = where.frame(tree, place)
    of_O = v[0:3] if tree.floating else zeros(3)
    return stack(of_O + linear[body] + cross(angular[body], p - where.p[body]), angular[body])


def acceleration(tree: Tree, q: SX, v: SX, a: SX, place: Place) -> SX:
    """(p̈, ω̇) of a frame: J a + J̇ v."""
    body, X = place
    if body < 0:
        return zeros(6)
    motion = body_accelerations(tree, joint_motions(tree, q), v, a, zeros(3))[body]
    R = poses(tree, q).R[body]
    return stack(R @ (motion.acceleration + motion.B @ constant(X[:3, 3])), R @ motion.alpha)
