"""A robot that stands on its contacts: its dynamics and the forces that the contacts carry [ETH19, slides 22–25 and
32].

Forces act on the robot.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..algebra.arrays import times
from ..errors import ShapeError, unknown_name
from ..forms.constrained import CONSISTENCY, ConstrainedDynamics
from ..model.types import frozen
from .contacts import AXES, Axes, Contact, Kind, contact_bias, contact_jacobian
from .ranks import RANK_TOLERANCE, largest, range_and_kernel

if TYPE_CHECKING:
    from ..robot import Robot

Array = np.ndarray


class SupportTorque(NamedTuple):
    """Actuator torques for a wanted acceleration, with what they do."""

    torque: Array  # (…, actuators)
    contact_force: Array  # (…, rows), on the robot
    acceleration: Array  # (…, nv), what comes of it: the wanted one, where that is possible
    residual: Any  # (…), part of the wanted support-consistent force that no torque supplies, relative


@dataclass(frozen=True, eq=False)
class SupportDynamics:
    """M a + h = Sᵀ τ + J_cᵀ F with J_c a + J̇_c v = 0: a robot that stands on its contacts [ETH19, slides 22 and 32].

    The slides write −J_cᵀ F, the force by the robot; here F is the force **on** the robot.

    Attributes:
        constrained: the same as constrained dynamics.
        S: selection of the actuated velocities, (actuators, nv).
    """

    constrained: ConstrainedDynamics
    S: Array

    @property
    def jacobian(self) -> Array:
        """J_c, (…, rows, nv)."""
        return self.constrained.A

    @property
    def projector(self) -> Array:
        """N_c = 1 − M⁻¹ J_cᵀ (J_c M⁻¹ J_cᵀ)⁺ J_c, (…, nv, nv): J_c N_c = 0 and N_cᵀ J_cᵀ = 0."""
        return self.constrained.null_projector

    @property
    def consistent(self) -> tuple[Array, Array, Array]:
        """(N_cᵀ M, N_cᵀ h, N_cᵀ Sᵀ): support-consistent dynamics N_cᵀ M a + N_cᵀ h = N_cᵀ Sᵀ τ, free of contact
        forces."""
        N_T = np.swapaxes(self.projector, -1, -2)
        return N_T @ self.constrained.M, times(N_T, self.constrained.h), N_T @ self.S.T

    def acceleration(self, torque: Array) -> Array:
        """Acceleration under actuator torques, (…, nv)."""
        return self.constrained.acceleration(np.asarray(torque) @ self.S)

    def contact_force(self, torque: Array) -> Array:
        """F_c on the robot, (…, rows); the one of least norm where contacts are redundant.

        F_c = −(J_c M⁻¹ J_cᵀ)⁺ (J_c M⁻¹ (Sᵀ τ − h) + J̇_c v)          [ETH19, slide 22], sign turned
        """
        return self.constrained.multipliers(np.asarray(torque) @ self.S)

    @property
    def torque_null_space(self) -> Array:
        """Projector onto torques that change contact forces and no motion, (…, actuators, actuators) [ETH19, slide
        32]."""
        B = self.consistent[2]
        return np.eye(len(self.S)) - self._inverse(B) @ B

    def inverse_dynamics(self, a: Array, torque: Array | None = None) -> SupportTorque:
        """Torques for acceleration a; of all that give it, those nearest to `torque` (to zero, if it is not given).

        τ = (N_cᵀ Sᵀ)⁺ N_cᵀ (M a + h) + 𝒩(N_cᵀ Sᵀ) τ₀                [ETH19, slide 32]

        An acceleration that the contacts forbid, or that lies along an uncontrollable direction, cannot be had:
        `residual` is then well above zero and `acceleration` says what comes instead.
        """
        N_T_M, N_T_h, B = self.consistent
        wanted = times(N_T_M, np.asarray(a, dtype=float)) + N_T_h
        inverse = self._inverse(B)
        tau = times(inverse, wanted)
        if torque is not None:
            start = np.asarray(torque, dtype=float)
            tau = tau + start - times(inverse, times(B, start))
        left = np.linalg.norm(wanted - times(B, tau), axis=-1)
        size = np.linalg.norm(wanted, axis=-1)
        residual = left / np.where(size > 0, size, 1.0)
        return SupportTorque(tau, self.contact_force(tau), self.acceleration(tau), residual[()])

    def _inverse(self, B: Array) -> Array:
        """(N_cᵀ Sᵀ)⁺; where the contacts leave no motion, N_cᵀ Sᵀ is rounding of S."""
        U, s, V_T = np.linalg.svd(B, full_matrices=False)
        kept = s > RANK_TOLERANCE * np.maximum(s.max(axis=-1, keepdims=True, initial=0.0), largest(self.S))
        return (np.swapaxes(V_T, -1, -2) * np.where(kept, 1 / np.where(kept, s, 1.0), 0.0)[..., None, :]) @ np.swapaxes(
            U, -1, -2
        )

    @property
    def internal_forces(self) -> Array:
        """Orthonormal contact forces, (rows, k), that actuators can make and that move nothing; one state only.

        The robot pulls its own feet together: J_cᵀ F lies in the range of Sᵀ, so `internal_torque(F)` balances it.
        Their number k is that of the internal constraints. Combinations that do not even load an actuator are left out.
        """
        J = self.jacobian
        if J.ndim != 2:
            raise ShapeError(f"internal_forces looks at one state, J_c of two dimensions, got shape {J.shape}")
        scale = largest(J)
        _, unactuated = range_and_kernel(self.S, RANK_TOLERANCE)
        _, balanced = range_and_kernel((J @ unactuated).T, RANK_TOLERANCE, scale)
        felt, _ = range_and_kernel(J.T @ balanced, RANK_TOLERANCE, scale)
        return balanced @ felt

    def internal_torque(self, force: Array) -> Array:
        """Torques τ that balance an internal force: Sᵀ τ = −J_cᵀ F."""
        return -times(
            np.linalg.pinv(self.S.T), times(np.swapaxes(self.jacobian, -1, -2), np.asarray(force, dtype=float))
        )


def support_dynamics(
    robot: Robot,
    q: Array,
    v: Array,
    contacts: Sequence[Contact],
    kind: Kind = "point",
    *,
    axes: Axes = AXES,
    actuated: Sequence[str] | None = None,
    consistency: float = CONSISTENCY,
) -> SupportDynamics:
    """The dynamics of a robot on its contacts at a state; leading dimensions are batches.

    Args:
        contacts, kind, axes: as of `contact_jacobian`.
        actuated: joints with actuators; those of the robot (`Robot.actuated`) if not given.
        consistency: as of `ConstrainedDynamics`.
    """
    J = contact_jacobian(robot, q, contacts, kind, axes)
    bias = contact_bias(robot, q, v, contacts, kind, axes)
    M, h = robot.mass_matrix(q), robot.bias_force(q, v)
    constrained = ConstrainedDynamics(M, h, J, -bias, consistency=consistency)
    return SupportDynamics(constrained, frozen(selection(robot, actuated)))


def selection(robot: Robot, actuated: Sequence[str] | None = None) -> Array:
    """S with v_actuated = S v, (actuators, nv) [ETH19, slide 15]; by default that of the robot's own motors."""
    if actuated is None:
        return robot.selection_matrix
    rows = [np.zeros((0, robot.nv))]
    for name in actuated:
        if name not in robot.joints:
            raise unknown_name("joint", name, robot.joints)
        joint = robot.joints[name]
        rows.append((1.0 if joint.mimic is None else joint.mimic.multiplier) * np.eye(robot.nv)[joint.v])
    return np.concatenate(rows)
