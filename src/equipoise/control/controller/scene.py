"""What tasks, contacts and constraints see of the robot: its quantities on symbols, each made once."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ...equations.symbols import SX, SYMBOLS, beside, constant, cross, skew, solve_positive_definite, stack, zeros
from .chart_form import chart_dynamics

if TYPE_CHECKING:
    from ...equations.catalogue import SymbolicRobot
    from ...robot import Robot
    from ..contacts.contact import ContactTerms
    from .context import Context


CLOSING = 30.0  # 1/s: how fast loops that are open close
REDUNDANT = 1e-7  # 1/kg: what stands for zero on the diagonal of rows that say the same


@dataclass(frozen=True)
class Affine:
    """matrix · x + offset, x the unknowns of the quadratic program."""

    matrix: SX
    offset: SX

    def take(self, rows: slice | list[int]) -> Affine:
        """Some of the rows."""
        return Affine(self.matrix[rows, :], self.offset[rows])


class Scene:
    """The robot at (q, v) on symbols. Twists are mixed: world axes, at the frame's origin; linear part first."""

    context: Context
    robot: Robot
    symbolic: SymbolicRobot
    q: SX
    v: SX
    previous_torque: SX  # of the motors, in the last step
    previous_known: SX  # whether there was one
    theta: SX  # parameters of the chart at q

    def __init__(
        self,
        context: Context,
        previous_torque: SX | None = None,
        previous_known: SX | None = None,
        theta: SX | None = None,
    ) -> None:
        from ...equations.catalogue import SymbolicRobot

        robot = context.robot
        self.context, self.robot = context, robot
        self.symbolic = SymbolicRobot(robot.tree, robot.place)
        self.q, self.v = SX.sym("q", robot.nq), SX.sym("v", robot.nv)
        self.previous_torque = zeros(len(context.motors)) if previous_torque is None else previous_torque
        self.previous_known = zeros(1) if previous_known is None else previous_known
        self.theta = zeros(0) if theta is None else theta
        self._made: dict[Hashable, Any] = {}
        self._contacts: dict[str, ContactTerms] = {}

    def _once(self, key: Hashable, make: Callable[[], Any]) -> Any:
        if key not in self._made:
            self._made[key] = make()
        return self._made[key]

    # --- frames ---------------------------------------------------------------------------------------------------

    def pose(self, frame: str) -> SX:
        """X_WF, 4×4."""
        return self._once(("pose", frame), lambda: self.symbolic.pose(self.q, frame))

    def jacobian(self, frame: str) -> SX:
        """6×nv."""
        return self._once(("jacobian", frame), lambda: self.symbolic.jacobian(self.q, frame))

    def twist(self, frame: str) -> SX:
        """V_WF, (6,)."""
        return self._once(("twist", frame), lambda: self.symbolic.velocity(self.q, self.v, frame))

    def drift(self, frame: str) -> SX:
        """J̇ v, (6,): how the frame accelerates while a = 0."""
        return self._once(("drift", frame), lambda: self.symbolic.bias_acceleration(self.q, self.v, frame))

    def point(self, frame: str, s: SX) -> tuple[SX, SX, SX, SX]:
        """(position, Jacobian 3×nv, velocity, drift) of the point s, given in a frame's axes."""
        X = self.pose(frame)
        arm, J, V, A = X[:3, :3] @ s, self.jacobian(frame), self.twist(frame), self.drift(frame)
        w = V[3:6]
        shift = -skew(arm)
        moved = V[:3] + shift @ w, A[:3] + shift @ A[3:] + skew(w) @ (skew(w) @ arm)
        return X[:3, 3] + arm, J[:3, :] + shift @ J[3:, :], *moved

    # --- the whole robot --------------------------------------------------------------------------------------------

    @cached_property
    def com(self) -> SX:
        return self.symbolic.com(self.q)

    @cached_property
    def com_jacobian(self) -> SX:
        return self.symbolic.com_jacobian(self.q)

    @cached_property
    def com_drift(self) -> SX:
        return self.symbolic.com_bias(self.q, self.v)

    @cached_property
    def momentum_matrix(self) -> SX:
        return self.symbolic.momentum_matrix(self.q)

    @cached_property
    def momentum_drift(self) -> SX:
        return self.symbolic.momentum_bias(self.q, self.v)

    @cached_property
    def mass_matrix(self) -> SX:
        return self.symbolic.mass_matrix(self.q)

    @cached_property
    def bias_force(self) -> SX:
        return self.symbolic.bias_force(self.q, self.v)

    def difference(self, q_to: SX) -> SX:
        """The velocity that leads from q to another configuration in one second, (nv,)."""
        return self.symbolic.difference(self.q, q_to)

    def rows_of(self, y: SX) -> tuple[SX, SX]:
        """(J, J̇ v) of any function y(q), by differentiation along the motion."""
        import casadi

        from ...equations.manifold import coordinate_rates

        tree = self.robot.tree
        v = SX.sym("rate", tree.nv)
        y_dot = casadi.jtimes(y, self.q, coordinate_rates(tree, self.q, v))
        J = casadi.jacobian(y_dot, v)
        along = casadi.substitute(y_dot, v, self.v)
        return J, casadi.jtimes(along, self.q, coordinate_rates(tree, self.q, self.v))

    # --- the unknowns of the quadratic program ------------------------------------------------------------------------

    def touch(self, contacts: dict[str, ContactTerms]) -> None:
        """Tell which contacts there are, before forces and accelerations are asked for."""
        self._contacts = contacts

    def contact_push(self, frame: str, terms: ContactTerms) -> SX:
        """Generalised force of unit forces of a contact on a frame, (nv, k); the reaction on another body is part of
        it."""
        push = self.jacobian(frame).T @ terms.N
        return push if terms.other is None else push + self.jacobian(terms.other.frame).T @ terms.other.N

    def contact_motion(self, frame: str, terms: ContactTerms) -> tuple[SX, SX, SX]:
        """(J, J v, J̇ v) of what a contact on a frame forbids."""
        J, rate, drift = (terms.S.T @ x for x in (self.jacobian(frame), self.twist(frame), self.drift(frame)))
        if terms.other is not None:
            frame, N = terms.other.frame, terms.other.N
            J, rate, drift = (
                J + N.T @ self.jacobian(frame),
                rate + N.T @ self.twist(frame),
                drift + N.T @ self.drift(frame),
            )
        return J, rate, drift + terms.S_dot_V

    @cached_property
    def _dynamics(self) -> tuple[Affine, Affine, Affine]:
        """Accelerations (or velocities) and torques of the motors as functions of the unknowns; what of them must
        vanish.

        Velocities without a motor (the base, free objects, passive joints) follow from those with one and from contact
        forces:

            a_u = M_uu⁻¹ (Σ N_uᵀ λ − h_u − M_um a_m),      τ = M_mu a_u + M_mm a_m + h_m − Σ J_mᵀ N λ,

        so a = B x + b and τ = T x + t over x = (a_m, λ). M_uu is always invertible. Closed loops add forces of their
        own, see `_closed`; springs of the description are in h. In a chart nothing is eliminated.
        """
        context, nv = self.context, self.robot.nv
        nothing = Affine(zeros(0, context.unknowns), zeros(0))
        if context.level != "torque":
            return Affine(SX.eye(nv), zeros(nv)), nothing, nothing
        pushes = [self.contact_push(context.contacts[k].frame, terms) for k, terms in self._contacts.items()]
        push = beside(zeros(nv, 0), *pushes)
        if context.chart is not None:
            made = chart_dynamics(self, self.theta, push)
            return made.acceleration, made.torque, made.equations
        m, u = context.motors.tolist(), context.passive.tolist()
        M, h = self.mass_matrix, self.bias_force + self._springs
        n = len(m)
        eye = beside(SX.eye(n), zeros(n, push.shape[1]))
        solved = (
            solve_positive_definite(M[u, u], beside(-M[u, m], push[u, :], -h[u]))
            if u
            else zeros(0, context.unknowns + 1)
        )
        B_u, b_u = solved[:, :-1], solved[:, -1]
        B, b = SX(nv, context.unknowns), SX(nv, 1)
        B[m, :], B[u, :], b[u] = eye, B_u, b_u
        T, t = M[m, u] @ B_u + beside(M[m, m], -push[m, :]), h[m] + M[m, u] @ b_u
        a, tau = Affine(B, b), Affine(T, t)
        return (*(self._closed(a, tau) if self.robot.model.loops else (a, tau)), nothing)

    @property
    def _springs(self) -> SX:
        """(nv,): generalised forces that springs of joints take, k (q − rest)."""
        forces = zeros(self.robot.nv)
        for k, (place, stiffness, rest) in self.context.springs.items():
            forces[k] = stiffness * (self.q[place] - rest)
        return forces

    def _closed(self, a: Affine, tau: Affine) -> tuple[Affine, Affine]:
        """The same with the loops of the mechanism closed, by forces μ that act on what no motor moves [Fea08, Sec.
        8.5].

        With W = M_uu⁻¹ and K a + γ = 0 the rows of the loops, stabilised as by Baumgarte,

            μ = −(K_u W K_uᵀ + ε)⁻¹ (K a + γ),      a_u ← a_u + W K_uᵀ μ,      τ ← τ + M_mu W K_uᵀ μ − K_mᵀ μ;

        ε answers for rows that a planar linkage makes redundant.
        """
        from ...balance.loops import loop_rows

        m, u = self.context.motors.tolist(), self.context.passive.tolist()
        K, bias, violation = loop_rows(self.robot, self.q, self.v)
        gamma = bias + 2 * CLOSING * (K @ self.v) + CLOSING**2 * violation
        M, rows = self.mass_matrix, K.shape[0]
        spread = solve_positive_definite(M[u, u], K[:, u].T)
        inverse = solve_positive_definite(K[:, u] @ spread + REDUNDANT * SX.eye(rows), SX.eye(rows))
        mu = Affine(-inverse @ (K @ a.matrix), -inverse @ (K @ a.offset + gamma))
        B, b = SX(a.matrix), SX(a.offset)
        B[u, :], b[u] = B[u, :] + spread @ mu.matrix, b[u] + spread @ mu.offset
        pull = M[m, u] @ spread - K[:, m].T
        return Affine(B, b), Affine(tau.matrix + pull @ mu.matrix, tau.offset + pull @ mu.offset)

    @property
    def acceleration(self) -> Affine:
        """a = B x + b; at velocity level v itself."""
        return self._dynamics[0]

    @property
    def torque(self) -> Affine:
        """Torques of the motors, τ = T x + t; torque level only."""
        return self._dynamics[1]

    @property
    def equations(self) -> Affine:
        """What must vanish: equations of motion that were not eliminated, and the chart's constraint."""
        return self._dynamics[2]

    def motion(self, J: SX, drift: SX) -> Affine:
        """J a + drift; at velocity level J v."""
        a = self.acceleration
        return Affine(J @ a.matrix, J @ a.offset + drift if self.context.level != "velocity" else 0 * drift)

    def force(self, contact: str) -> Affine:
        """The unknown forces λ of a contact, in its own axes."""
        start = self.context.first_force
        for name, item in self.context.contacts.items():
            if name == contact:
                break
            start += item.size
        size = self.context.contacts[contact].size
        return Affine(SX.eye(self.context.unknowns)[start : start + size, :], zeros(size))

    @cached_property
    def momentum_rate(self) -> Affine | None:
        """Rate of momentum about the centre of mass from contact forces and gravity; None where other forces change it,
        and in a chart, where tasks are rows over ÿ [BK12, Eq. (37)]."""
        if self.context.level != "torque" or not self.context.one_floating_tree or self.context.chart is not None:
            return None
        blocks = [zeros(6, len(self.context.motors))]
        for name, terms in self._contacts.items():
            if terms.other is not None:  # between parts of the robot: inner forces
                blocks.append(zeros(6, terms.N.shape[1]))
                continue
            arm = self.pose(self.context.contacts[name].frame)[:3, 3] - self.com
            blocks.append(stack(terms.N[:3, :], terms.N[3:, :] + cross(arm, terms.N[:3, :])))
        weight = self.robot.mass * np.asarray(self.robot.model.gravity)
        return Affine(beside(*blocks), stack(constant(weight), zeros(3)))


def pose_error(X_to: SX, X: SX) -> SX:
    """From X to X_to: translation, then the rotation vector, both in world axes, (6,) [QO21, Eq. (3.2)]."""
    return stack(X_to[:3, 3] - X[:3, 3], rotation_error(X[:3, :3], X_to[:3, :3]))


def rotation_error(R: SX, R_to: SX) -> SX:
    """The rotation vector, in world axes, that turns R into R_to: log(R_to Rᵀ); at half a turn either of the two."""
    D = R_to @ R.T
    s = stack(D[2, 1] - D[1, 2], D[0, 2] - D[2, 0], D[1, 0] - D[0, 1]) / 2  # axis times sine
    cosine = (D[0, 0] + D[1, 1] + D[2, 2] - 1) / 2
    square = s.T @ s
    small = square < 1e-12
    sine = SYMBOLS.sqrt(SYMBOLS.where(small, 1.0, square))
    # near zero θ/sin θ is 1 + sin²θ/6
    usual = s * SYMBOLS.where(small, 1 + square / 6, SYMBOLS.atan2(sine, cosine) / sine)
    return SYMBOLS.where(small * (cosine < 0), np.pi * _axis_of_half_turn(D), usual)


def _axis_of_half_turn(D: SX) -> SX:
    """n of D = 2 n nᵀ − 1: the longest column of D + 1."""
    columns = [D[:, k] + np.eye(3)[k] for k in range(3)]
    longest = columns[2]
    for k in (1, 0):
        others = [D[j, j] for j in range(3) if j != k]
        longest = SYMBOLS.where((D[k, k] >= others[0]) * (D[k, k] >= others[1]), columns[k], longest)
    return longest / SYMBOLS.sqrt(longest.T @ longest)
