"""Control in the space of a task: inverse dynamics of a task, and the operational-space law, on a fixed base or on
contacts.

A fixed-base robot without contacts has N_c = 1 and S = 1, and the formulas below are those of [ETH19, slide 3]. On
contacts the same formulas hold for what the actuators can move: M⁻¹ becomes Φ = S N_c M⁻¹ Sᵀ and J becomes J N_c M⁻¹ Sᵀ
Φ⁺.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...algebra.arrays import times
from ...algebra.least_squares import pseudo_inverse
from ...balance.support_dynamics import SupportDynamics, SupportTorque, support_dynamics
from ...errors import ShapeError
from ..qp import Rows
from .hierarchy import prioritised_least_squares
from .motions import Motion

if TYPE_CHECKING:
    from ...robot import Robot

Array = np.ndarray


def task_inverse_dynamics(
    robot: Robot, q: Array, v: Array, motion: Motion, acceleration: Array, support: SupportDynamics | None = None
) -> SupportTorque:
    """Torques for the shortest acceleration that gives the task's, at one state.

        u̇* = J⁺ (ẇ* − J̇v),    τ* = M u̇* + b + g                                                    [ETH19, slide 3]

    On contacts J⁺ acts within what they leave free, and the torques are those of `SupportDynamics.inverse_dynamics`
    [ETH19, slide 32]; its `residual` is well above zero where no torque gives this acceleration.

    Args:
        motion: the task, from `frame_motion`, `com_motion` or your own.
        acceleration: ẇ*, (k,).
        support: from `balance.support_dynamics`; without it nothing touches the robot.
    """
    support = support_dynamics(robot, q, v, ()) if support is None else support
    held = Rows.equal(support.jacobian, support.constrained.b)
    wanted = Rows.equal(motion.J, np.asarray(acceleration, dtype=float) - motion.bias)
    return support.inverse_dynamics(prioritised_least_squares([held, wanted]))


@dataclass(frozen=True, eq=False)
class OperationalSpace:
    """Λ ẇ + μ + p = F, the dynamics of a task at a state, with τ = J*ᵀ F [ETH19, slides 2–3].

    Attributes:
        inertia: Λ = (J* Φ J*ᵀ)⁺, (…, k, k).
        velocity_force: μ, (…, k).
        gravity_force: p, (…, k).
        jacobian: J* from velocities of actuators to the task, (…, k, actuators); J itself on a fixed base without
            contacts.
        mobility: Φ = S N_c M⁻¹ Sᵀ, (…, actuators, actuators): accelerations of actuators per torque; M⁻¹ on a fixed
            base.
    """

    inertia: Array
    velocity_force: Array
    gravity_force: Array
    jacobian: Array
    mobility: Array

    def force(self, acceleration: Array) -> Array:
        """F = Λ ẇ* + μ + p, (…, k)."""
        return times(self.inertia, acceleration) + self.velocity_force + self.gravity_force

    @property
    def torque_projector(self) -> Array:
        """𝒩 = 1 − J*ᵀ Λ J* Φ, (…, actuators, actuators): torques behind it do not accelerate the task [ETH19, slide
        3]."""
        through = np.swapaxes(self.jacobian, -1, -2) @ self.inertia @ self.jacobian @ self.mobility
        return np.eye(self.mobility.shape[-1]) - through

    def torque(self, acceleration: Array, free: Array | None = None) -> Array:
        """τ* = J*ᵀ (Λ ẇ* + μ + p) + 𝒩 τ₀, (…, actuators) [ETH19, slide 3].

        Args:
            acceleration: ẇ*, (…, k).
            free: τ₀, (…, actuators), what to do with what the task leaves; zero if not given.
        """
        tau = times(np.swapaxes(self.jacobian, -1, -2), self.force(np.asarray(acceleration, dtype=float)))
        return tau if free is None else tau + times(self.torque_projector, free)


def operational_dynamics(
    robot: Robot, q: Array, v: Array, motion: Motion, support: SupportDynamics | None = None, *, damping: float = 0.0
) -> OperationalSpace:
    """The dynamics of a task, also of a floating base on its contacts; leading dimensions are batches.

    The task's acceleration is ẇ = J N_c M⁻¹ (Sᵀ τ − h) − J J_c† J̇_c v + J̇v, with J_c† = M⁻¹ J_cᵀ (J_c M⁻¹ J_cᵀ)⁺.

    Args:
        motion, support: as of `task_inverse_dynamics`.
        damping: of the inverse of J* Φ J*ᵀ, in its unit, 1/kg for positions: bounds Λ near singular configurations.
    """
    support = support_dynamics(robot, q, v, ()) if support is None else support
    if motion.J.shape[-1] != robot.nv:
        raise ShapeError(f"the task's J has {motion.J.shape[-1]} columns, wanted {robot.nv}, one for each velocity")
    N, S = support.projector, support.S
    pushed = N @ np.linalg.solve(support.constrained.M, np.broadcast_to(S.T, (*N.shape[:-2], *S.T.shape)))
    mobility = S @ pushed
    jacobian = motion.J @ pushed @ pseudo_inverse(mobility)
    inertia = pseudo_inverse(jacobian @ mobility @ np.swapaxes(jacobian, -1, -2), damping)
    fall = times(motion.J, times(N, np.linalg.solve(support.constrained.M, robot.gravity(q)[..., None])[..., 0]))
    drift = times(motion.J, support.acceleration(np.zeros(len(S)))) + motion.bias
    return OperationalSpace(inertia, -times(inertia, drift + fall), times(inertia, fall), jacobian, mobility)
