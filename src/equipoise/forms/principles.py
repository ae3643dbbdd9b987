"""The equations of motion from four principles of mechanics, as the papers print them: references for the fast kernels.

    "gauss"                   Gauss' principle of least constraint with matrices     [BK12, Eqs. (21)–(26)]
    "gauss-dual-quaternion"   the same with dual quaternions                         [QO21, Alg. 5.1]
    "gibbs-appell"            energy of acceleration, differentiated                 [QO21, Sec. 5.3.1]
    "kane"                    partial velocities times inertia forces                [QO21, Sec. 5.3.2]

Each is a short function on symbols. All four give the same numbers as `Robot.mass_matrix` and `Robot.bias_force`; what
differs is the work, and `operation_counts` counts it. Here too is the kinematics of a robot in dual quaternions.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, Protocol

import casadi
import numpy as np

from ..algebra import quaternions, rigid
from ..algebra.dual_quaternions import DQ
from ..equations import dual_quaternion_kinematics as kinematics
from ..equations.coriolis import column_rates
from ..equations.kinematics import columns, placed_velocities, poses
from ..equations.symbols import SX, constant, cross, skew, stack, zeros
from ..errors import unknown_name
from ..machine.cached import cached
from ..machine.kernel import Kernel
from ..machine.program import Program
from ..machine.store import kernel_of
from ..machine.trace import trace
from ..model.tree import Tree

Array = np.ndarray
Wanted = Literal["force", "equations"]


class TreeRobot(Protocol):
    """What the principles need of a robot: its tree, its frames, and its own kernels to compare with."""

    @property
    def tree(self) -> Tree:
        """Its moving bodies."""
        ...

    def place(self, frame: str) -> tuple[int, Array]:
        """(index of the moving body, pose in it) of a frame."""
        ...

    def kernel(self, name: str, frames: Any = None, representation: str | None = None) -> Kernel:
        """The compiled function of that name."""
        ...


# --- bodies at their centres of mass ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Centre:
    """The centre of mass of a body: mass m, place c in the body, inertia I about it, in the body's axes."""

    body: int
    m: float
    c: Array
    I: Array

    @property
    def x(self) -> SX:
        """The frame at the centre of mass, in the body: 1 + ½ ε c."""
        return kinematics.fixed(rigid.pose(p=self.c))

    @property
    def Psi(self) -> SX:
        """Ψ = blkdiag(I, m 1), paired with twists (ω, v) [QO21, Eq. (5.6)]."""
        return casadi.diagcat(constant(self.I), self.m * constant(np.eye(3)))

    def S_bar(self, w: SX) -> SX:
        """S̄(ω, Ψ) = blkdiag(−(Iω)^, m ω^) [QO21, Eq. (5.13)]."""
        return casadi.diagcat(-skew(constant(self.I) @ w), self.m * skew(w))

    def weight(self, tree: Tree, x: SX) -> SX:
        """(torque, force) of gravity on the body in the axes of the frame x: (0, Ad(r*) m g) [QO21, Eqs. (5.19),
        (5.23)]."""
        r = kinematics.entries(x[:4])
        g = [0.0, *(self.m * entry for entry in tree.gravity)]
        force = quaternions.product(quaternions.product(quaternions.conjugate(r), g), r)[1:]
        return stack(zeros(3), *map(SX, force))


def centres(tree: Tree) -> list[Centre]:
    """Every body that has mass: I(c) = I(0) − m (|c|² 1 − c cᵀ) [BK12, Eq. (21)]."""
    result = []
    for i, body in enumerate(tree.bodies):
        c = body.h / body.mass if body.mass else np.zeros(3)
        I = body.I - body.mass * (c @ c * np.eye(3) - np.outer(c, c))
        if body.mass or np.any(I):
            result.append(Centre(i, body.mass, c, I))
    return result


# --- Gauss, with matrices --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PointJacobians:
    """Motion of a point of a body: ẋ = J_t v in world axes, ω = J_r v in the body's, and the rates of both; 3×nv
    each."""

    J_t: SX
    J_r: SX
    J_t_dot: SX
    J_r_dot: SX


def point_jacobians(tree: Tree, q: SX, v: SX) -> Callable[[int, Array], PointJacobians]:
    """Jacobians of any point c of any body k [BK12, Eqs. (14), (16)], as a function of (k, c).

    A column s = (velocity of the body point now at O, angular velocity a) moves the point at p by s − p × a.
    """
    where = poses(tree, q)
    blocks = columns(tree, where)
    linear, angular = placed_velocities(tree, where, blocks, v)
    rates = column_rates(tree, where, blocks, linear, angular)

    def of(k: int, c: Array) -> PointJacobians:
        R, w, arm = where.R[k], angular[k], where.R[k] @ constant(c)
        p, p_dot = where.p[k] + arm, linear[k] + cross(w, arm)
        J_t, J_r, J_t_dot, J_r_dot = (zeros(3, tree.nv) for _ in range(4))
        for i in tree.ancestors(k):
            body, a, (shift, turn) = tree.bodies[i], blocks[i].angular, rates[i]
            J_t[:, body.v] += body.multiplier * (blocks[i].at_O - cross(p, a))
            J_r[:, body.v] += body.multiplier * (R.T @ a)
            J_t_dot[:, body.v] += body.multiplier * (shift - cross(p_dot, a) - cross(p, turn))
            J_r_dot[:, body.v] += body.multiplier * (R.T @ (turn - cross(w, a)))
        return PointJacobians(J_t, J_r, J_t_dot, J_r_dot)

    return of


@dataclass(frozen=True)
class EquationTerms:
    """M a + C v + g = tau, on symbols."""

    M: SX
    C: SX
    g: SX

    def force(self, v: SX, a: SX) -> SX:
        """M a + C v + g, (nv,)."""
        return self.M @ a + self.C @ v + self.g


def gauss(tree: Tree, q: SX, v: SX) -> EquationTerms:
    """Accelerations deviate least from those of the bodies set free [BK12, Eqs. (22)–(26)]; C is the N of the paper."""
    jacobians_of = point_jacobians(tree, q, v)
    M, N, g = zeros(tree.nv, tree.nv), zeros(tree.nv, tree.nv), zeros(tree.nv)
    for centre in centres(tree):
        J, m, I = jacobians_of(centre.body, centre.c), centre.m, constant(centre.I)
        M += m * J.J_t.T @ J.J_t + J.J_r.T @ I @ J.J_r
        N += m * J.J_t.T @ J.J_t_dot + J.J_r.T @ (I @ J.J_r_dot - skew(I @ J.J_r @ v) @ J.J_r)
        g -= m * J.J_t.T @ constant(tree.gravity)
    return EquationTerms(M, N, g)


# --- Gauss, with dual quaternions ------------------------------------------------------------------------------------


def gauss_dual_quaternion(tree: Tree, q: SX, v: SX) -> EquationTerms:
    """The Euler–Lagrange model by Gauss' principle [QO21, Alg. 5.1, Eqs. (5.15), (5.16), (5.19)]."""
    M, C, g = zeros(tree.nv, tree.nv), zeros(tree.nv, tree.nv), zeros(tree.nv)
    motions = kinematics.body_motions(tree, q, v)
    for centre in centres(tree):
        motion = motions[centre.body].followed_by(centre.x)
        J, J_dot = motion.twist_jacobian, motion.twist_jacobian_rate
        w = J[:3, :] @ v
        M += J.T @ centre.Psi @ J
        C += J.T @ (centre.S_bar(w) @ J + centre.Psi @ J_dot)
        g -= J.T @ centre.weight(tree, motion.x)
    return EquationTerms(M, C, g)


# --- Gibbs–Appell, Kane ----------------------------------------------------------------------------------------------


def gibbs_appell(tree: Tree, q: SX, v: SX, a: SX) -> SX:
    """Generalised force ∂S/∂a − ∂W/∂v, S the energy of acceleration and W the power of weight [QO21, Eqs.
    (5.22)–(5.25)].

    S = Σ ½ ξ̇ᵀ Ψ ξ̇ + ξ̇ᵀ S̄ ξ over the centres of mass. The thesis prints ∂S/∂u in Eq. (5.22); it is ∂S/∂u̇.
    """
    motions = kinematics.body_twists(tree, q, v, a)
    S, W = zeros(1), zeros(1)
    for centre in centres(tree):
        motion = motions[centre.body].followed_by(centre.x)
        S += motion.rate.T @ (0.5 * centre.Psi @ motion.rate + centre.S_bar(motion.twist[:3]) @ motion.twist)
        W += motion.twist.T @ centre.weight(tree, motion.x)
    return casadi.gradient(S, a) - casadi.gradient(W, v)


def kane(tree: Tree, q: SX, v: SX, a: SX) -> SX:
    """Partial velocities ∂ξ/∂v times (inertia − active) forces, summed over the bodies [QO21, Eqs. (5.30)–(5.36)].

    The thesis calls φ the active and φ̄ the inertia forces in Eq. (5.30), and the other way round from Eq. (5.35) on.
    """
    motions = kinematics.body_twists(tree, q, v, a)
    force = zeros(tree.nv)
    for centre in centres(tree):
        motion = motions[centre.body].followed_by(centre.x)
        inertia = centre.Psi @ motion.rate + centre.S_bar(motion.twist[:3]) @ motion.twist
        force += casadi.jacobian(motion.twist, v).T @ (inertia - centre.weight(tree, motion.x))
    return force


PRINCIPLES: dict[str, Callable[[Tree, SX, SX, SX], SX]] = {
    "gauss": lambda tree, q, v, a: gauss(tree, q, v).force(v, a),
    "gauss-dual-quaternion": lambda tree, q, v, a: gauss_dual_quaternion(tree, q, v).force(v, a),
    "gibbs-appell": gibbs_appell,
    "kane": kane,
}


# --- for users -------------------------------------------------------------------------------------------------------


def equations(robot: TreeRobot, q: Array, v: Array, principle: str = "gauss") -> tuple[Array, Array]:
    """Mass matrix and bias force, M a + h = tau, by one of `PRINCIPLES`: (…, nv, nv) and (…, nv).

    A reference, not for control loops: the first call for a humanoid traces and compiles for a quarter of a minute or
    more.
    """
    return _kernel(robot.tree, _known(principle), "equations")(q, v)


def inverse_dynamics(robot: TreeRobot, q: Array, v: Array, a: Array, principle: str = "gauss") -> Array:
    """Generalised force for acceleration a, by one of `PRINCIPLES`: (…, nv)."""
    return _kernel(robot.tree, _known(principle), "force")(q, v, a)


def program(tree: Tree, principle: str, wanted: Wanted = "force") -> Program:
    """A principle traced for one robot: "force" is tau(q, v, a), "equations" are M and h at (q, v)."""
    q, v, a = SX.sym("q", tree.nq), SX.sym("v", tree.nv), SX.sym("a", tree.nv)
    rotors = zeros(tree.nv)
    for body in tree.bodies:  # armature: what the papers' bodies do not have
        rotors[body.v] += body.multiplier**2 * body.armature * a[body.v]
    force = PRINCIPLES[_known(principle)](tree, q, v, a) + rotors
    quaternion_places = [(0, start) for start in tree.quaternions]
    if wanted == "force":
        return trace(
            principle, dict(q=q, v=v, a=a), {"tau": force}, shapes={"tau": (tree.nv,)}, quaternions=quaternion_places
        )
    results = {"M": casadi.jacobian(force, a), "h": casadi.substitute(force, a, SX.zeros(tree.nv))}
    return trace(principle, dict(q=q, v=v), results, shapes={"h": (tree.nv,)}, quaternions=quaternion_places)


@functools.lru_cache(maxsize=64)
def _kernel(tree: Tree, principle: str, wanted: Wanted) -> Kernel:
    return kernel_of(program(tree, principle, wanted))


def _known(principle: str) -> str:
    if principle not in PRINCIPLES:
        raise unknown_name("principle", principle, PRINCIPLES)
    return principle


# --- kinematics in dual quaternions ----------------------------------------------------------------------------------


def dual_quaternion_pose(robot: TreeRobot, q: Array, frame: str) -> DQ:
    """Pose of a frame in the world as a unit dual quaternion: the product along the tree [QO21, Def. A.20]."""
    return DQ(_frame_kernel(robot, "pose", frame)(q))


def dual_quaternion_jacobian(robot: TreeRobot, q: Array, frame: str) -> Array:
    """J with vec8 ẋ = J v, (…, 8, nv) [QO21, Sec. 5.2.1]."""
    return _frame_kernel(robot, "pose_jacobian", frame)(q)


def dual_quaternion_jacobian_rate(robot: TreeRobot, q: Array, v: Array, frame: str) -> Array:
    """Its time derivative, (…, 8, nv): vec8 ẍ = J a + J̇ v."""
    return _frame_kernel(robot, "pose_jacobian_rate", frame)(q, v)


def twist_jacobian(robot: TreeRobot, q: Array, frame: str) -> Array:
    """J with vec6 ξ = J v, (…, 6, nv): ξ = ω + ε v in the axes of the frame, angular part first [QO21, Eq. (5.2)].

    The columns are those of v, with the base velocity mixed as everywhere.
    """
    return _frame_kernel(robot, "twist_jacobian", frame)(q)


def twist_jacobian_rate(robot: TreeRobot, q: Array, v: Array, frame: str) -> Array:
    """Its time derivative, (…, 6, nv) [QO21, Eqs. (5.3), (5.61)]."""
    return _frame_kernel(robot, "twist_jacobian_rate", frame)(q, v)


def _frame_kernel(robot: TreeRobot, name: str, frame: str) -> Kernel:
    robot.place(frame)  # an unknown frame is an error that names the choices
    return _frame_kernel_of(robot.tree, name, frame)


@functools.lru_cache(maxsize=256)
def _frame_kernel_of(tree: Tree, name: str, frame: str) -> Kernel:
    return kernel_of(cached(_frame_program, tree, name, tree.places[frame]))


def _frame_program(tree: Tree, name: str, place: tuple[int, Array]) -> Program:
    sizes = {"q": tree.nq, "v": tree.nv} if name.endswith("rate") else {"q": tree.nq}
    symbols = {argument: SX.sym(argument, size) for argument, size in sizes.items()}
    result = getattr(kinematics, name)(tree, *symbols.values(), place)
    shapes = {name: (8,) if name == "pose" else result.shape}
    return trace(name, symbols, {name: result}, shapes=shapes, quaternions=[(0, start) for start in tree.quaternions])


# --- operation counts ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Count:
    """How many operations on real numbers a method takes. The thesis counts a change of sign as a multiplication."""

    multiplications: int
    additions: int
    negations: int = 0
    trigonometric: int = 0
    others: int = 0  # divisions, roots, comparisons

    @classmethod
    def of(cls, program: Program) -> Count:
        """The operations of a traced program: zeros and ones are gone, and nothing is computed twice."""
        counts = program.counts()

        def take(*names: str) -> int:
            return sum(counts.pop(name, 0) for name in names)

        return cls(take("mul"), take("add", "sub"), take("neg"), take("sin", "cos"), sum(counts.values()))


def operation_counts(robot: TreeRobot) -> dict[str, Count]:
    """Operations of inverse dynamics tau(q, v, a) for this robot: by each principle, and by
    `Robot.inverse_dynamics`."""
    counts = {name: Count.of(program(robot.tree, name)) for name in PRINCIPLES}
    return counts | {"recursive": Count.of(robot.kernel("inverse_dynamics", None, "mixed").program)}


Polynomial = tuple[int | Fraction, ...]  # coefficients, the highest power first


@dataclass(frozen=True)
class Cost:
    """Multiplications and additions as polynomials in a number of joints."""

    multiplications: Polynomial
    additions: Polynomial

    def at(self, n: int) -> Count:
        """Both counts for n joints."""
        values = (
            functools.reduce(lambda sum, c: sum * n + c, p, Fraction()) for p in (self.multiplications, self.additions)
        )
        return Count(*map(int, values))


HALF, THIRD, SIXTH = Fraction(1, 2), Fraction(1, 3), Fraction(1, 6)
TABLE_5_1 = {  # elementary operations [QO21, Table 5.1]
    "λa": Count(4, 0), "Ad(a)b": Count(35, 24), "λa, dual": Count(8, 0), "Ad(a)b, dual": Count(102, 80),
    "S(c)": Count(3, 0), "S̄(ω, Ψ)": Count(18, 6),
}  # fmt: skip
TABLE_5_2 = {  # Jacobians of the centre of mass of body i [QO21, Table 5.2]
    "J_x": Cost((189, -48), (142, -40)), "J̇_x": Cost((312, 0), (268, -8)),
    "J_ξ": Cost((237, -40), (184, -40)), "J̇_ξ": Cost((408, 8), (358, -8)),
}  # fmt: skip
TABLE_5_2_TOTALS = {  # of all n bodies of a serial robot
    "J_ξ": Cost((237 * HALF, 157 * HALF, 0), (92, 52, 0)), "J̇_ξ": Cost((204, 212, 0), (179, 171, 0)),
}  # fmt: skip
TABLE_5_3 = {  # terms of body i [QO21, Table 5.3]
    "M": Cost((6, 36, 0), (5, 30, 0)), "C": Cost((6, 72, 18), (5, 66, 6)), "g": Cost((3, 35), (2, 24)),
}  # fmt: skip
TABLE_5_3_TOTALS = {  # of all n bodies, and of adding them up
    "M": Cost((2, 21, 19, 0), (8 * THIRD, 33 * HALF, 95 * SIXTH, 0)),
    "C": Cost((2, 39, 55, 0), (8 * THIRD, 69 * HALF, 239 * SIXTH, 0)),
    "g": Cost((3 * HALF, 73 * HALF, 0), (2, 24, 0)),
}
TABLE_5_4 = {  # inverse dynamics of a serial robot of n joints [QO21, Table 5.4]
    "Gauss in dual quaternions, Alg. 5.1": Cost((4, 386, 401, 0), (16 * THIRD, 326, 908 * THIRD, 0)),
    "recursive Lagrangian (Hollerbach 1980)": Cost((412, -277), (320, -201)),
    "Newton–Euler in dual quaternions (Silva et al. 2020)": Cost((882, -48), (724, -40)),
    "Newton–Euler (Balafoutis 1994)": Cost((150, -48), (131, -48)),
}


def published_counts(n: int) -> dict[str, Count]:
    """Operations of inverse dynamics of a serial robot of n joints, as the thesis gives them [QO21, Table 5.4]."""
    return {name: cost.at(n) for name, cost in TABLE_5_4.items()}
