"""Poses, Jacobians and twists of a robot in dual quaternions, on symbols [QO21, Sec. 5.2.1, 5.4.2, App. A].

The pose of a body is the product of dual quaternions along the tree, x = x_parent x_joint. Its derivative is a product
rule,

    vec8 ẋ = H⁻(x_joint) vec8 ẋ_parent + H⁺(x) vec8(½ s) rate,    since ẋ_joint = ½ x_joint s · rate

with s the twist of the joint per rate, in the body's axes. So the pose Jacobian grows from body to body, and so does
its rate. Columns are those of v (mixed base velocity), as everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import casadi
import numpy as np

from ..algebra import dual_quaternions as dq
from ..algebra import quaternions
from ..model.joints import Ball, Continuous, Fixed, Floating, JointType, Planar, Prismatic, Revolute
from ..model.tree import MovingBody, Tree
from .inverse_dynamics import Place
from .joints import JointMotion, joint_motions, rates
from .symbols import SX, SYMBOLS, constant, cross, stack, zeros

IMAGINARY = constant(dq.IMAGINARY)  # drops the real parts: vec6 = Ī vec8
LINEAR_FIRST = constant(np.roll(np.eye(6), 3, axis=1))  # (ω, v) of the thesis to our (v, ω), and back


# --- dual quaternions on symbols -------------------------------------------------------------------------------------


def entries(x: SX) -> list[SX]:
    """The components of a column."""
    return [x[i] for i in range(x.shape[0])]


def product(a: SX, b: SX) -> SX:
    """vec8 of the product."""
    return stack(*dq.multiply(entries(a), entries(b)))


def conjugate(a: SX) -> SX:
    """vec8 of the conjugate; of a pose, the inverse."""
    return stack(*dq.conjugate(entries(a)))


def H_plus(a: SX) -> SX:
    """vec8(ab) = H⁺(a) vec8(b) [QO21, Eq. (A.17)]."""
    return dq.left_matrix(entries(a), SYMBOLS)


def H_minus(b: SX) -> SX:
    """vec8(ab) = H⁻(b) vec8(a) [QO21, Eq. (A.17)]."""
    return dq.right_matrix(entries(b), SYMBOLS)


def adjoint(x: SX, y: SX) -> SX:
    """vec6 of Ad(x) y = x y x* for a pure y given by its vec6 [QO21, Eq. (A.11)]."""
    return IMAGINARY @ product(product(x, IMAGINARY.T @ y), conjugate(x))


def dual_cross(a: SX, b: SX) -> SX:
    """vec6 of a × b = (ab − ba)/2 [QO21, Eq. (A.8)], without the products that cancel."""
    return stack(cross(a[:3], b[:3]), cross(a[:3], b[3:]) + cross(a[3:], b[:3]))


def posed(r: Sequence[Any], p: SX) -> SX:
    """r + ½ ε p r, the pose with rotation r (four components) and origin p."""
    dual = quaternions.product([0.0, *(0.5 * entry for entry in entries(p))], r)
    return casadi.sparsify(stack(*map(SX, r), *map(SX, dual)))


def fixed(X: np.ndarray) -> SX:
    """A constant 4×4 pose as a dual quaternion."""
    return posed(quaternions.from_rotation(X[:3, :3]).tolist(), constant(X[:3, 3]))


# --- joints ----------------------------------------------------------------------------------------------------------


def _about_axis(joint: Any, s: list[SX]) -> list[Any]:
    half = 0.5 * s[0]
    return [casadi.cos(half), *(u * casadi.sin(half) for u in joint.axis)]


def _about_z(joint: Any, s: list[SX]) -> list[Any]:
    return [casadi.cos(0.5 * s[2]), 0.0, 0.0, casadi.sin(0.5 * s[2])]


def _as_given(joint: Any, s: list[SX]) -> list[Any]:
    return list(quaternions.normalised(s[-4:], SYMBOLS))


def _none(joint: Any, s: list[SX]) -> list[Any]:
    return [1.0, 0.0, 0.0, 0.0]


_TURNS: dict[type, Callable[[Any, list[SX]], list[Any]]] = {
    Revolute: _about_axis, Continuous: _about_axis, Planar: _about_z, Ball: _as_given, Floating: _as_given,
    Prismatic: _none, Fixed: _none,
}  # fmt: skip


def joint_pose(body: MovingBody, q: SX) -> SX:
    """Pose of a body in its parent: where the joint is placed, then its own motion. Half angles, no rotation matrix."""
    s = q[body.q]
    if body.scaled:
        s = body.multiplier * s + body.offset
    joint: JointType = body.joint
    R, p = joint.pose(entries(s), SYMBOLS)
    turn = _TURNS.get(type(joint))
    r = _from_rotation(R) if turn is None else turn(joint, entries(s))
    return product(posed(quaternions.from_rotation(body.R).tolist(), constant(body.p)), posed(r, p))


def _from_rotation(R: SX) -> list[SX]:
    """Quaternion of a rotation matrix, for joint types of users: the row of 4 q qᵀ with the largest diagonal entry."""
    diagonal = [1 + R[0, 0] + R[1, 1] + R[2, 2]] + [1 + 2 * R[i, i] - R[0, 0] - R[1, 1] - R[2, 2] for i in range(3)]
    w = [R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]]
    xy, xz, yz = R[0, 1] + R[1, 0], R[0, 2] + R[2, 0], R[1, 2] + R[2, 1]
    rows = [w, [w[0], xy, xz], [w[1], xy, yz], [w[2], xz, yz]]
    best = stack(diagonal[0], *rows[0])
    largest = diagonal[0]
    for i in range(1, 4):
        row = stack(*rows[i][:i], diagonal[i], *rows[i][i:])
        best = casadi.if_else(diagonal[i] > largest, row, best)
        largest = casadi.fmax(diagonal[i], largest)
    return list(quaternions.normalised(entries(best), SYMBOLS))


def joint_twist(motion: JointMotion) -> SX:
    """Twist (ω, v) of a body in its parent per rate of the joint, in the body's axes: one column for each rate."""
    return LINEAR_FIRST @ motion.subspace


def joint_twist_rate(body: MovingBody, motion: JointMotion, rate: SX) -> SX:
    """Time derivative of `joint_twist`: what stands still in the parent's axes turns backwards in the body's."""
    w, S = motion.spin @ rate, motion.subspace
    spin = -cross(w, S[3:, :]) if body.joint.spin_axes == "parent" else zeros(3, S.shape[1])
    return stack(spin, -cross(w, S[:3, :]))


# --- poses and Jacobians ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PoseMotion:
    """A pose x with vec8 ẋ = J v, and the rates of both."""

    x: SX  # 8×1
    J: SX  # 8×nv
    x_dot: SX
    J_dot: SX

    def followed_by(self, x_fixed: SX) -> PoseMotion:
        """The same for a frame that stands at `x_fixed` in this one."""
        H = H_minus(x_fixed)
        return PoseMotion(product(self.x, x_fixed), H @ self.J, H @ self.x_dot, H @ self.J_dot)

    @property
    def twist_jacobian(self) -> SX:
        """vec6 ξ = J v, 6×nv, with ξ = 2 x* ẋ = ω + ε v in the axes of the frame [QO21, Eq. (5.2)]."""
        return 2 * IMAGINARY @ H_plus(conjugate(self.x)) @ self.J

    @property
    def twist_jacobian_rate(self) -> SX:
        """Its time derivative [QO21, Eq. (5.61)]."""
        turning, standing = H_plus(conjugate(self.x_dot)) @ self.J, H_plus(conjugate(self.x)) @ self.J_dot
        return 2 * IMAGINARY @ (turning + standing)


def body_motions(tree: Tree, q: SX, v: SX) -> list[PoseMotion]:
    """Poses of all bodies with their Jacobians, from the world outward by the product rule [QO21, Eqs.
    (5.50)–(5.51)]."""
    world = PoseMotion(constant([1] + [0] * 7), zeros(8, tree.nv), zeros(8), zeros(8, tree.nv))
    result: list[PoseMotion] = []
    for body, motion, rate in zip(tree.bodies, joint_motions(tree, q), rates(tree, v), strict=True):
        parent = world if body.parent < 0 else result[body.parent]
        x_joint, half = joint_pose(body, q), 0.5 * IMAGINARY.T @ joint_twist(motion)
        x, x_joint_dot = product(parent.x, x_joint), H_plus(x_joint) @ half @ rate
        x_dot = product(parent.x_dot, x_joint) + product(parent.x, x_joint_dot)
        H, H_dot = H_minus(x_joint), H_minus(x_joint_dot)
        J, J_dot = H @ parent.J, H_dot @ parent.J + H @ parent.J_dot
        half_dot = 0.5 * IMAGINARY.T @ joint_twist_rate(body, motion, rate)
        J[:, body.v] += body.multiplier * (H_plus(x) @ half)
        J_dot[:, body.v] += body.multiplier * (H_plus(x_dot) @ half + H_plus(x) @ half_dot)
        result.append(PoseMotion(x, J, x_dot, J_dot))
    return result


def frame_motion(tree: Tree, q: SX, v: SX, place: Place) -> PoseMotion:
    """The pose of a frame with its Jacobian."""
    body, X = place
    if body < 0:
        return PoseMotion(fixed(X), zeros(8, tree.nv), zeros(8), zeros(8, tree.nv))
    return body_motions(tree, q, v)[body].followed_by(fixed(X))


def pose(tree: Tree, q: SX, place: Place) -> SX:
    """vec8 of the pose of a frame in the world: the product of dual quaternions along the tree [QO21, Def. A.20]."""
    return frame_motion(tree, q, zeros(tree.nv), place).x


def pose_jacobian(tree: Tree, q: SX, place: Place) -> SX:
    """J with vec8 ẋ = J v, 8×nv [QO21, Sec. 5.2.1]."""
    return frame_motion(tree, q, zeros(tree.nv), place).J


def pose_jacobian_rate(tree: Tree, q: SX, v: SX, place: Place) -> SX:
    """J̇ of the pose, 8×nv: vec8 ẍ = J a + J̇ v."""
    return frame_motion(tree, q, v, place).J_dot


def twist_jacobian(tree: Tree, q: SX, place: Place) -> SX:
    """J with (ω, v) of the frame, in its own axes, = J v, 6×nv [QO21, Eq. (5.2)]."""
    return frame_motion(tree, q, zeros(tree.nv), place).twist_jacobian


def twist_jacobian_rate(tree: Tree, q: SX, v: SX, place: Place) -> SX:
    """J̇ of the twist, 6×nv: ξ̇ = J a + J̇ v [QO21, Eq. (5.3)]."""
    return frame_motion(tree, q, v, place).twist_jacobian_rate


# --- twists, body by body --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TwistMotion:
    """A moving frame: its pose, its twist (ω, v) and the rate of that, in its own axes."""

    x: SX
    twist: SX
    rate: SX

    def followed_by(self, x_fixed: SX) -> TwistMotion:
        """The same for a frame that stands at `x_fixed` in this one [QO21, Eqs. (A.21), (A.25)]."""
        back = conjugate(x_fixed)
        return TwistMotion(product(self.x, x_fixed), adjoint(back, self.twist), adjoint(back, self.rate))


def body_twists(tree: Tree, q: SX, v: SX, a: SX) -> list[TwistMotion]:
    """Twists of all bodies at velocity v and acceleration a, from the world outward.

    Seen from the body the twist of its parent is η = Ad(x_joint*) ξ_parent; the joint adds σ = s · rate:

        ξ = η + σ,    ξ̇ = Ad(x_joint*) ξ̇_parent + η × σ + d/dt σ
    """
    world = TwistMotion(constant([1] + [0] * 7), zeros(6), zeros(6))
    result: list[TwistMotion] = []
    parts = zip(tree.bodies, joint_motions(tree, q), rates(tree, v), rates(tree, a), strict=True)
    for body, motion, rate, rate_dot in parts:
        parent = world if body.parent < 0 else result[body.parent]
        carried = parent.followed_by(joint_pose(body, q))
        s = joint_twist(motion)
        added, added_dot = s @ rate, s @ rate_dot + joint_twist_rate(body, motion, rate) @ rate
        twist_rate = carried.rate + dual_cross(carried.twist, added) + added_dot
        result.append(TwistMotion(carried.x, carried.twist + added, twist_rate))
    return result
