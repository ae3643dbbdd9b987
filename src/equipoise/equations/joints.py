"""How each body moves in its parent, on symbols."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..model.tree import MovingBody, Tree
from .symbols import SX, SYMBOLS, constant, stack, zeros


@dataclass(frozen=True)
class JointMotion:
    """Body C in its parent body P."""

    R: SX  # R_PC
    p: SX  # p_PC, in P
    slide: SX  # 3×nv: velocity of C's origin in P is slide · rate, in axes of P
    spin: SX  # 3×nv: angular velocity of C in P is spin · rate, in axes of C
    subspace: SX  # 6×nv: twist of C in P at C's origin, in axes of C, per rate


def joint_motion(body: MovingBody, q: SX) -> JointMotion:
    """Placement, then the joint's own motion."""
    s = q[body.q]
    if body.scaled:
        s = body.multiplier * s + body.offset
    R_joint, p_joint = body.joint.pose([s[i] for i in range(body.joint.nq)], SYMBOLS)
    R_placed, slide, spin = constant(body.R), constant(body.joint.slide()), constant(body.joint.spin())
    if body.joint.spin_axes == "parent":
        spin = R_joint.T @ spin
    return JointMotion(
        R_placed @ R_joint,
        constant(body.p) + R_placed @ p_joint,
        R_placed @ slide,
        spin,
        stack(R_joint.T @ slide, spin),
    )


def joint_motions(tree: Tree, q: SX) -> list[JointMotion]:
    """One for each body of the tree."""
    return [joint_motion(body, q) for body in tree.bodies]


def rates(tree: Tree, v: SX) -> list[SX]:
    """Velocities (or accelerations) of the joints: their part of v, times the multiplier of a follower."""
    return [body.multiplier * v[body.v] for body in tree.bodies]


def gather(tree: Tree, parts: list[Any], columns: int = 1) -> SX:
    """The transpose of `rates`: joint forces to the generalised force, followers added to their leaders."""
    total = zeros(tree.nv, columns)
    for body, part in zip(tree.bodies, parts, strict=True):
        total[body.v, :] = total[body.v, :] + body.multiplier * part
    return total
