"""Derivatives of velocities, of momentum and of steps on the manifold; see `derivatives` for the notation."""

from __future__ import annotations

import casadi

from ..algebra import quaternions
from ..model.tree import Tree
from .centroidal import com, total_mass
from .derivatives import JointPart, JointState, Spatial, joint_states, moved_wrench, parts_of
from .inverse_dynamics import Place
from .kinematics import poses
from .manifold import coordinate_rates, difference, entries, integrate, leaders
from .symbols import SX, SYMBOLS, cross, stack, zeros


def velocity_derivatives(tree: Tree, q: SX, v: SX, place: Place) -> SX:
    """∂V/∂q (tangent) and ∂V/∂v = J of the mixed twist V of a frame, on top of each other, 12×nv.

    About the frame's own point, which a displacement S moves along, ∂V/∂q = S × V + Ψ̇ + (ω × S_linear, 0).
    """
    by_q, by_v, (body, _) = zeros(6, tree.nv), zeros(6, tree.nv), place
    if body < 0:
        return stack(by_q, by_v)
    where = poses(tree, q)
    states, (_, p) = joint_states(tree, where, v), where.frame(tree, place)

    def at_frame(state: JointState, twists: Spatial) -> Spatial:
        return twists.twists_in(state.R, state.p - p)

    V = at_frame(states[body], states[body].V)
    for i in tree.ancestors(body):
        multiplier, columns = tree.bodies[i].multiplier, tree.bodies[i].v
        S, psi = at_frame(states[i], states[i].S), at_frame(states[i], states[i].psi)
        turned = stack(psi.linear - cross(V.linear, S.angular), psi.angular - cross(V.angular, S.angular))
        by_q[:, columns] += multiplier * turned
        by_v[:, columns] += multiplier * stack(S.linear, S.angular)
    if tree.floating:
        by_q[:, 0:3] = zeros(6, 3)  # no velocity depends on where the base is
    return stack(by_q, by_v)


def momentum_derivatives(tree: Tree, q: SX, v: SX) -> SX:
    """∂h/∂q (tangent) and ∂h/∂v of the momentum h about the centre of mass, on top of each other, 12×nv.

    The momentum H of a subtree, about one point, changes by S ×* H + I Ψ̇; the centre of mass by the first of I S over
    the mass.
    """
    where = poses(tree, q)
    parts = parts_of(tree, where, v)
    c = com(tree, q) - where.O
    total = zeros(3)
    for body, part in zip(tree.bodies, parts, strict=True):
        if body.parent < 0:
            total = total + part.state.R @ part.subtree.D.l
    if tree.floating:  # O is taken to rest; what is fixed to the world then moves backwards
        total = total - tree.fixed_mass * v[0:3]
    by_q, by_v = zeros(6, tree.nv), zeros(6, tree.nv)
    for body, part in zip(tree.bodies, parts, strict=True):
        H, com_shift = _momentum_change(part), part.by_a.linear / total_mass(tree)
        spin = H.angular - cross(c, H.linear) + cross(total, com_shift)
        by_q[:, body.v] += body.multiplier * stack(H.linear, spin)
        by_v[:, body.v] += body.multiplier * stack(part.by_a.linear, part.by_a.angular - cross(c, part.by_a.linear))
    if tree.floating and tree.fixed_mass == 0 and all(body.parent >= 0 for body in tree.bodies[1:]):
        by_q[:, 0:3] = zeros(6, 3)
    return stack(by_q, by_v)


def _momentum_change(part: JointPart) -> Spatial:
    """Of the robot, per displacement of a joint, in world axes about O."""
    state, D = part.state, part.subtree.D
    spin = SYMBOLS.vector([D.Q[2, 1] - D.Q[1, 2], D.Q[0, 2] - D.Q[2, 0], D.Q[1, 0] - D.Q[0, 1]])
    change = moved_wrench(Spatial(D.l, spin), state.S) + part.subtree.momenta(state.psi)
    return change.wrenches_in(state.R, state.p)


def integrate_derivatives(tree: Tree, q: SX, v: SX, dt: SX) -> SX:
    """Tangent of q' = integrate(q, v, dt) per tangent of q and per v, on top of each other, (2 nv)×nv. Per dt it is
    v."""
    w = SX.sym("w", tree.nv)
    q_after = integrate(tree, q, v, dt)
    moved = casadi.jtimes(q_after, q, coordinate_rates(tree, q, w))
    by_q = casadi.jacobian(_tangent(tree, q_after, moved), w)
    by_v = casadi.jacobian(_tangent(tree, q_after, casadi.jtimes(q_after, v, w)), w)
    return stack(by_q, by_v)


def difference_derivatives(tree: Tree, q0: SX, q1: SX) -> SX:
    """Of difference(q0, q1), per tangent of q0 and of q1, on top of each other, (2 nv)×nv."""
    w, v = SX.sym("w", tree.nv), difference(tree, q0, q1)
    moved = [casadi.jtimes(v, q, coordinate_rates(tree, q, w)) for q in (q0, q1)]
    return stack(*(casadi.jacobian(change, w) for change in moved))


def tangent_basis(tree: Tree, q: SX) -> SX:
    """N with q̇ = N v, nq×nv. Its columns are at right angles to each other."""
    w = SX.sym("w", tree.nv)
    return casadi.jacobian(coordinate_rates(tree, q, w), w)


def _tangent(tree: Tree, q: SX, q_dot: SX) -> SX:
    """v with q̇ = `coordinate_rates`(q, v)."""
    result = zeros(tree.nv)
    for body in leaders(tree):
        rate = q_dot[body.q]
        if body.joint.nq == body.joint.nv:
            result[body.v] = rate
            continue
        back, turn = quaternions.conjugate(entries(q[body.q][-4:])), entries(rate[-4:])
        pair = (turn, back) if body.joint.spin_axes == "parent" else (back, turn)
        spin = [2 * entry for entry in quaternions.product(*pair)[1:]]
        result[body.v] = stack(*entries(rate[:-4]), *spin)
    return result
