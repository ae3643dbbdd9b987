"""The regressor: inverse dynamics as a matrix times what the bodies weigh.

    tau = M a + C v + g = Y(q, v, a) π,     π = (π_1 … π_n),   π_i = (m, h, I_xx, I_xy, I_xz, I_yy, I_yz, I_zz)

with mass, first moment and inertia of each body about its own origin, in its own axes. In the notation of
`inverse_dynamics`, a body needs f = m a + B h and n = h × a + I α + w × I w: linear in π_i.
"""

from __future__ import annotations

from ..model.tree import Tree
from .joints import joint_motions
from .kinematics import BodyMotion, body_accelerations
from .symbols import SX, SYMBOLS, beside, constant, skew, zeros

PARAMETERS = 10  # of one body


def regressor(tree: Tree, q: SX, v: SX, a: SX) -> SX:
    """Y, nv × 10 n, in the order of the tree's bodies. Rotors (armature) are not in it."""
    motions = joint_motions(tree, q)
    Y = zeros(tree.nv, PARAMETERS * len(tree.bodies))
    for i, motion in enumerate(body_accelerations(tree, motions, v, a, constant(tree.gravity))):
        f, n = _wrench(motion)
        columns = slice(PARAMETERS * i, PARAMETERS * (i + 1))
        for k in tree.ancestors(i):
            body, joint = tree.bodies[k], motions[k]
            carried = joint.R @ f
            Y[body.v, columns] = Y[body.v, columns] + body.multiplier * (joint.slide.T @ carried + joint.spin.T @ n)
            n = joint.R @ n + skew(joint.p) @ carried
            f = carried
    return Y


def _wrench(motion: BodyMotion) -> tuple[SX, SX]:
    """Force and torque at the body's origin as 3 × 10 matrices of its parameters."""
    spin = _inertia_times(motion.alpha) + skew(motion.w) @ _inertia_times(motion.w)
    return beside(motion.acceleration, motion.B, zeros(3, 6)), beside(zeros(3), -skew(motion.acceleration), spin)


def _inertia_times(x: SX) -> SX:
    """L with I x = L (I_xx, I_xy, I_xz, I_yy, I_yz, I_zz)."""
    x, y, z = x[0], x[1], x[2]
    return SYMBOLS.matrix([[x, y, z, 0.0, 0.0, 0.0], [0.0, x, 0.0, y, z, 0.0], [0.0, 0.0, x, 0.0, y, z]])
