"""Moving on the manifold of configurations."""

from __future__ import annotations

from collections.abc import Iterator

from ..algebra import quaternions
from ..model.tree import MovingBody, Tree
from .symbols import SX, SYMBOLS, stack, zeros


def leaders(tree: Tree) -> Iterator[MovingBody]:
    """One body for each coordinate block."""
    seen: set[int] = set()
    for body in tree.bodies:
        if body.q.start not in seen:
            seen.add(body.q.start)
            yield body


def integrate(tree: Tree, q: SX, v: SX, dt: SX) -> SX:
    """q after dt at constant v (constant as numbers, in the mixed representation)."""
    result = zeros(tree.nq)
    for body in leaders(tree):
        s, step = q[body.q], v[body.v] * dt
        result[body.q] = stack(*body.joint.integrate(entries(s), entries(step), SYMBOLS))
    return result


def difference(tree: Tree, q0: SX, q1: SX) -> SX:
    """v with integrate(q0, v, 1) = q1."""
    result = zeros(tree.nv)
    for body in leaders(tree):
        result[body.v] = stack(*body.joint.difference(entries(q0[body.q]), entries(q1[body.q]), SYMBOLS))
    return result


def coordinate_rates(tree: Tree, q: SX, v: SX) -> SX:
    """q̇ at velocity v (mixed). Quaternions of unit length keep it: ½ ω q, or ½ q ω where ω is in the child's axes."""
    result = zeros(tree.nq)
    for body in leaders(tree):
        rate = v[body.v]
        if body.joint.nq == body.joint.nv:
            result[body.q] = rate
            continue
        turn = [0, *entries(rate[-3:])]
        quaternion = entries(q[body.q][-4:])
        pair = (turn, quaternion) if body.joint.spin_axes == "parent" else (quaternion, turn)
        spin = [entry / 2 for entry in quaternions.product(*pair)]
        result[body.q] = stack(*entries(rate[:-3]), *spin)
    return result


def entries(s: SX) -> list[SX]:
    return [s[i] for i in range(s.shape[0])]
