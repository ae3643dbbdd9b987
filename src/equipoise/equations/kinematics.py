"""Where every body is and how it moves.

`poses`, `columns` and `placed_velocities` work in world axes with the origin O in the base: what depends only on the
shape and the orientation of the robot never sees its place in the world. `body_accelerations` works in the axes of each
body.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..model.tree import Tree
from .joints import JointMotion, joint_motions, rates
from .symbols import SX, SYMBOLS, beside, constant, cross, skew, stack, zeros


@dataclass(frozen=True)
class Poses:
    """World axes, origin O: the base's origin, or the world's for a fixed base."""

    motions: list[JointMotion]
    R: list[SX]
    p: list[SX]
    O: SX

    def parent(self, tree: Tree, i: int) -> tuple[SX, SX]:
        """Rotation and origin of the parent body of body i."""
        k = tree.bodies[i].parent
        return (constant([[1, 0, 0], [0, 1, 0], [0, 0, 1]]), -self.O) if k < 0 else (self.R[k], self.p[k])

    def frame(self, tree: Tree, place: tuple[int, object]) -> tuple[SX, SX]:
        """Rotation and origin of a frame at `place` (body, pose in it)."""
        body, X = place
        X_body = constant(X)
        if body < 0:
            return X_body[:3, :3], X_body[:3, 3] - self.O
        return self.R[body] @ X_body[:3, :3], self.p[body] + self.R[body] @ X_body[:3, 3]


def poses(tree: Tree, q: SX) -> Poses:
    """Forward kinematics [TPN17, Eq. (8)]."""
    motions = joint_motions(tree, q)
    O = q[0:3] if tree.floating else zeros(3)
    result = Poses(motions, [], [], O)
    for i, motion in enumerate(motions):
        R_parent, p_parent = result.parent(tree, i)
        base = tree.floating and i == 0
        result.R.append(R_parent @ motion.R)
        result.p.append(zeros(3) if base else p_parent + R_parent @ motion.p)
    return result


@dataclass(frozen=True)
class JointTwist:
    """Motion of one body per rate of its own joint, in world axes: 3×nv each."""

    linear: SX  # of the body's origin
    angular: SX
    at_O: SX  # linear part of the same twist at the point O


def columns(tree: Tree, where: Poses) -> list[JointTwist]:
    """The joints' twists: column blocks of every Jacobian."""
    result = []
    for i, motion in enumerate(where.motions):
        linear = where.parent(tree, i)[0] @ motion.slide
        base = tree.floating and i == 0
        angular = constant(tree.bodies[0].joint.spin()) if base else where.R[i] @ motion.spin
        result.append(JointTwist(linear, angular, linear + cross(where.p[i], angular)))
    return result


def placed_velocities(tree: Tree, where: Poses, blocks: list[JointTwist], v: SX) -> tuple[list[SX], list[SX]]:
    """(velocity of each body's origin relative to O, angular velocity), world axes."""
    linear: list[SX] = []
    angular: list[SX] = []
    for i, (body, rate) in enumerate(zip(tree.bodies, rates(tree, v), strict=True)):
        if tree.floating and i == 0:
            linear.append(zeros(3))  # O moves with the base
        else:
            before = -v[0:3] if tree.floating else zeros(3)
            if body.parent >= 0:
                k = body.parent
                before = linear[k] + cross(angular[k], where.p[i] - where.p[k])
            linear.append(before + blocks[i].linear @ rate)
        turn = blocks[i].angular @ rate
        angular.append(turn if body.parent < 0 else angular[body.parent] + turn)
    return linear, angular


@dataclass(frozen=True)
class BodyMotion:
    """Motion of one body, in its own axes."""

    w: SX  # angular velocity
    B: SX  # ẇ^ + w^ w^: the acceleration of a point s of the body is acceleration + B s
    alpha: SX  # angular acceleration
    acceleration: SX  # of the origin, as a point (not the spatial one): no linear velocity enters


def body_accelerations(tree: Tree, motions: list[JointMotion], v: SX, a: SX, gravity: SX) -> list[BodyMotion]:
    """Outward pass of Newton–Euler: the world accelerates by −gravity, which makes every body feel its weight."""
    still = BodyMotion(zeros(3), zeros(3, 3), zeros(3), -gravity)
    result: list[BodyMotion] = []
    for body, motion, rate, rate_dot in zip(tree.bodies, motions, rates(tree, v), rates(tree, a), strict=True):
        parent = still if body.parent < 0 else result[body.parent]
        R_T = motion.R.T
        w_carried, w_joint, slip = R_T @ parent.w, motion.spin @ rate, motion.slide @ rate
        w = w_carried + w_joint
        alpha = R_T @ parent.alpha + motion.spin @ rate_dot + cross(w_carried, w_joint)
        point = parent.acceleration + parent.B @ motion.p + 2 * cross(parent.w, slip) + motion.slide @ rate_dot
        result.append(BodyMotion(w, skew(alpha) + _square_of_skew(w), alpha, R_T @ point))
    return result


def _square_of_skew(w: SX) -> SX:
    """w^ w^ = w wᵀ − |w|² 1, with each product formed once."""
    xx, yy, zz = w[0] * w[0], w[1] * w[1], w[2] * w[2]
    xy, xz, yz = w[0] * w[1], w[0] * w[2], w[1] * w[2]
    rows = [[-(yy + zz), xy, xz], [xy, -(xx + zz), yz], [xz, yz, -(xx + yy)]]
    return SYMBOLS.matrix(rows)


def frame_poses(tree: Tree, q: SX, places: Sequence[tuple[int, object]]) -> SX:
    """Poses of frames in the world, one 4×4 above the other."""
    where = poses(tree, q)
    frames = [where.frame(tree, place) for place in places]
    return stack(*(stack(beside(R, p + where.O), constant([[0, 0, 0, 1]])) for R, p in frames))
