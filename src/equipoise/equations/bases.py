"""Change of the base frame [TPN17, Sec. 4–5], on symbols.

The base velocity of the robot may be that of any frame, of a compound E[F] (origin of E, orientation of F), of G[B]
(centre of mass, orientation of the base) or the average velocity of the whole robot, G. Each is a Jacobian [X S] of the
mixed velocity ν_B, with X = [1 P; 0 1]; what follows is the same for all. The mass matrix knows all about the centre of
mass: its first rows are the momentum matrix, so G and G[B] take nothing but M and its rate C + Cᵀ.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi
import numpy as np

from ..model.tree import Tree
from .jacobians import Place, jacobian
from .kinematics import poses
from .manifold import coordinate_rates
from .mass_matrix import symmetric
from .representations import identity
from .symbols import SX, beside, constant, cross, skew, solve_positive_definite, stack, zeros

BASE: Place = (0, np.eye(4))
CENTRE_OF_MASS = "G"  # as an origin: the centre of mass; as an orientation: the average of all bodies


@dataclass(frozen=True)
class BaseFrame:
    """Origin and orientation of a base, each at a place on the robot or at the centre of mass."""

    origin: Place | str
    orientation: Place | str


def change_of_base(
    tree: Tree, q: SX, v: SX, entries: SX, C: SX, g: SX, base: BaseFrame, representation: str
) -> dict[str, SX]:
    """M, C, g in the new variables [TPN17, Eq. (23)], from those of ν_B, with the change itself.

        M_D = ᴮT_Dᵀ M_B ᴮT_D,    C_D = ᴮT_Dᵀ (M_B ᴮṪ_D + C_B ᴮT_D),    g_D = ᴮT_Dᵀ g_B

    M comes as its n² entries, so that it can be differentiated. U and U_inverse are the upper six rows of ᴮT_D and
    ᴰT_B; the rows below are [0 1] in both. X is the pose of the base, v the velocity in the new variables.
    """
    n = tree.nv
    M, C = with_known_zeros(casadi.reshape(entries, n, n), C)
    U, U_inverse, X = velocity_change(tree, q, M, base, representation)
    U_dot = _rate(U, tree, q, v, entries, casadi.densify(C))
    T = stack(U, beside(zeros(n - 6, 6), identity(n - 6)))
    T_dot = stack(U_dot, zeros(n - 6, n))
    M_new = symmetric(T.T @ (M @ T))
    return {"M": M_new, "C": T.T @ (M @ T_dot + C @ T), "g": T.T @ g, "U": U, "U_dot": U_dot,
            "U_inverse": U_inverse, "X": X, "v": stack(U_inverse @ v, v[6:])}  # fmt: skip


def velocity_change(tree: Tree, q: SX, M: SX, base: BaseFrame, representation: str) -> tuple[SX, SX, SX]:
    """Upper six rows of ᴮT_D and of ᴰT_B [TPN17, Eq. (18)], and the pose of D.

    With V_D = Y [X S] ν_B, Y the change of representation, the inverse needs no elimination: X is one but for its upper
    right block P, and Y is a rotation or a shift.
    """
    J = base_jacobian(tree, q, M, base)
    one, none, P, S = identity(3), zeros(3, 3), J[:3, 3:6], J[:, 6:]
    X, X_inverse = (stack(beside(one, shift), beside(none, one)) for shift in (P, -P))
    R, p = base_pose(tree, q, M, base)
    Y, Y_inverse = identity(6), identity(6)
    if representation == "body":
        Y, Y_inverse = (stack(beside(turn, none), beside(none, turn)) for turn in (R.T, R))
    elif representation == "inertial":
        Y, Y_inverse = (stack(beside(one, shift), beside(none, one)) for shift in (skew(p), -skew(p)))
    pose = stack(beside(R, p), constant([[0, 0, 0, 1]]))
    return beside(X_inverse @ Y_inverse, -X_inverse @ S), Y @ beside(X, S), pose


def base_jacobian(tree: Tree, q: SX, M: SX, base: BaseFrame) -> SX:
    """J with mixed velocity of the base = J ν_B [TPN17, Eqs. (9), (27), (34)], 6×nv."""
    if isinstance(base.orientation, str):
        return _average_velocity(M)
    linear = M[:3, :] / M[0, 0] if isinstance(base.origin, str) else jacobian(tree, q, base.origin)[:3, :]
    return stack(linear, jacobian(tree, q, base.orientation)[3:, :])


def _average_velocity(M: SX) -> SX:
    """J_G = (I^C)⁻¹ A_G [TPN17, Eq. (34)]: linear part of the centre of mass, angular part of the locked robot."""
    linear = M[:3, :]
    angular = M[3:6, :] - cross(_com_from_base(M), linear)
    locked = symmetric(angular[:, 3:6])  # L^C: the centroidal inertia of the robot with its joints locked
    turning = solve_positive_definite(locked, angular[:, 6:])
    return beside(
        stack(linear[:, :6] / M[0, 0], beside(zeros(3, 3), identity(3))), stack(linear[:, 6:] / M[0, 0], turning)
    )


def _com_from_base(M: SX) -> SX:
    """c − p_B in world axes: the block M[:3, 3:6] is −m (c − p_B)^."""
    return stack(M[1, 5], M[2, 3], M[0, 4]) / M[0, 0]


def base_pose(tree: Tree, q: SX, M: SX, base: BaseFrame) -> tuple[SX, SX]:
    """(R, p) of a base in the world; G has no orientation of its own and borrows the one of B."""
    where = poses(tree, q)
    orientation = BASE if isinstance(base.orientation, str) else base.orientation
    p = _com_from_base(M) if isinstance(base.origin, str) else where.frame(tree, base.origin)[1]
    return where.frame(tree, orientation)[0], p + where.O


def _rate(expression: SX, tree: Tree, q: SX, v: SX, entries: SX, C: SX) -> SX:
    """Time derivative of an expression of q and of the entries of M along the motion, with Ṁ = C + Cᵀ [TPN17, Property
    2]."""
    along_q = casadi.jtimes(expression, q, coordinate_rates(tree, q, v))
    return casadi.sparsify(along_q + casadi.jtimes(expression, entries, casadi.vec(C + C.T)))


def with_known_zeros(M: SX, C: SX) -> tuple[SX, SX]:
    """In the mixed variables of the base, M[:3, :3] is m 1 and C[:, :3] is zero: what is known need not be
    multiplied."""
    m = M[0, 0]
    M[:3, :3], C[:, :3] = m * identity(3), zeros(C.shape[0], 3)
    return casadi.sparsify(M), casadi.sparsify(C)
