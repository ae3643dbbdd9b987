"""The three velocity representations [TPN17, Sec. 2.4], on symbols.

The equations are written in the mixed representation. Here are the matrices that lead to the others: for the base
v_mixed = T v, for a frame V = Y V_mixed; forces go with the transposes, because power is the same in all.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..model.tree import Tree
from .jacobians import Place, velocity
from .kinematics import poses
from .symbols import SX, beside, skew, stack, zeros

REPRESENTATIONS = ("mixed", "body", "inertial")


def identity(n: int) -> SX:
    return SX.eye(n)


def _blocks(a: SX, b: SX, c: SX, d: SX) -> SX:
    return stack(beside(a, b), beside(c, d))


def _with_joints(T: SX, nv: int, on_joints: SX) -> SX:
    n = nv - 6
    return _blocks(T, zeros(6, n), zeros(n, 6), on_joints)


@dataclass(frozen=True)
class BaseChange:
    """v_mixed = T v and a_mixed = T a + T_dot v."""

    T: SX
    T_dot: SX
    v: SX

    @property
    def v_mixed(self) -> SX:
        return self.T @ self.v

    @property
    def drift(self) -> SX:
        """a_mixed at a = 0."""
        return self.T_dot @ self.v


def base_change(tree: Tree, q: SX, v: SX, representation: str) -> BaseChange:
    """The change of the base velocity from `representation` to mixed."""
    n, one, none = tree.nv, identity(3), zeros(3, 3)
    if representation == "mixed" or not tree.floating:
        return BaseChange(identity(n), zeros(n, n), v)
    if representation == "body":
        R = poses(tree, q).R[0]
        T = _with_joints(_blocks(R, none, none, R), n, identity(n - 6))
        R_dot = skew(R @ v[3:6]) @ R
        return BaseChange(T, _with_joints(_blocks(R_dot, none, none, R_dot), n, zeros(n - 6, n - 6)), v)
    T = _with_joints(_blocks(one, -skew(q[0:3]), none, one), n, identity(n - 6))
    p_dot = (T @ v)[0:3]
    T_dot = _with_joints(_blocks(none, -skew(p_dot), none, none), n, zeros(n - 6, n - 6))
    return BaseChange(T, T_dot, v)


def frame_change(tree: Tree, q: SX, place: Place, representation: str) -> SX:
    """Y with V = Y V_mixed for the twist of a frame."""
    one, none = identity(3), zeros(3, 3)
    if representation == "mixed":
        return identity(6)
    where = poses(tree, q)
    R, p = where.frame(tree, place)
    if representation == "body":
        return _blocks(R.T, none, none, R.T)
    return _blocks(one, skew(p + where.O), none, one)


def frame_change_rate(tree: Tree, q: SX, v_mixed: SX, place: Place, representation: str) -> SX:
    """Ẏ."""
    none = zeros(3, 3)
    if representation == "mixed":
        return zeros(6, 6)
    V = velocity(tree, q, v_mixed, place)
    if representation == "body":
        R, _ = poses(tree, q).frame(tree, place)
        R_T_dot = -R.T @ skew(V[3:6])
        return _blocks(R_T_dot, none, none, R_T_dot)
    return _blocks(none, skew(V[0:3]), none, none)
