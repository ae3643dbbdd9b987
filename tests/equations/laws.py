"""Laws of motion that hold for every robot in every velocity representation, without another library's word.

Each law is a function of a `Motion`: a robot on its way through a state. Rates are differences along that way, of sixth
order, so that they can be held to 1e-10.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from support import Array, evaluate, relative_error

import equipoise as eq
from equipoise.algebra import quaternions
from equipoise.algebra.rigid import skew

EXACT = 1e-12  # laws of algebra
DIFFERENCED = 1e-10  # laws with a rate
STEP = 1e-3  # s
# Scales below are 1 m/s, 1 m/s², 1 kg m/s per kg: what vanishes is compared with motion at that pace.
STENCIL = np.array([-1, 9, -45, 0, 45, -9, 1]) / 60  # first derivative from seven points


def base_map(q: Array, representation: str) -> Array:
    """T with (ṗ, ω) = T V for the twist V of the base, as docs/notation.md defines it; (…, 6, 6)."""
    T = np.zeros((*q.shape[:-1], 6, 6))
    T[..., range(6), range(6)] = 1.0
    if representation == "body":
        R = quaternions.rotation([q[..., i] for i in range(3, 7)])
        T[..., :3, :3] = T[..., 3:, 3:] = R
    if representation == "inertial":
        T[..., :3, 3:] = -skew(q[..., :3])
    return T


@dataclass(frozen=True)
class Motion:
    """A robot at (q, v) with acceleration a, the last two mixed: q(t) at constant v, v(t) = v + t a.

    To first order in t, which is all that a rate at t = 0 sees, this is the motion itself.
    """

    robot: eq.Robot
    representation: str
    q: Array
    v_mixed: Array
    a_mixed: Array
    run: Callable[..., Array] = evaluate

    def __call__(self, name: str, *arrays: Array, **options: object) -> Array:
        return self.run(self.robot, name, *arrays, **({"representation": self.representation} | options))

    @cached_property
    def v(self) -> Array:
        return np.linalg.solve(self.T(self.q), self.v_mixed)

    @cached_property
    def a(self) -> Array:
        """Rate of the numbers in v."""
        return self.rate(lambda q, v: v)

    @cached_property
    def M(self) -> Array:
        return self("mass_matrix", self.q)

    def T(self, q: Array) -> Array:
        """v_mixed = T v."""
        T = np.zeros((*q.shape[:-1], self.robot.nv, self.robot.nv))
        T[..., range(self.robot.nv), range(self.robot.nv)] = 1.0
        if self.robot.floating:
            T[..., :6, :6] = base_map(q, self.representation)
        return T

    def rate(self, f: Callable[[Array, Array], Array]) -> Array:
        """Time derivative of f(q, v)."""
        times = STEP * np.arange(-3, 4)[:, None]
        q = self.run(self.robot, "integrate", self.q, self.v_mixed, times)
        v = np.linalg.solve(self.T(q), (self.v_mixed + times * self.a_mixed)[..., None])[..., 0]
        return np.tensordot(STENCIL, f(q, v), axes=1) / STEP

    @property
    def frame(self) -> str:
        return list(self.robot.links)[-1]


def random_motion(
    robot: eq.Robot, representation: str, rng: np.random.Generator, run: Callable[..., Array] = evaluate
) -> Motion:
    """A motion anywhere, with a moving base."""
    q, v = robot.random_state(rng)
    return Motion(robot, representation, q, v, rng.normal(size=robot.nv), run)


def size(x: Array) -> float:
    return float(np.max(np.abs(x), initial=0.0))


# --- mass matrix -----------------------------------------------------------------------------------------------------


def mass_matrix_is_symmetric_and_positive(m: Motion) -> None:
    """[TPN17, Property 1]."""
    assert relative_error(m.M, m.M.T) <= EXACT
    assert np.linalg.eigvalsh(m.M)[0] > 0


def columns_of_inverse_dynamics_are_the_mass_matrix(m: Motion) -> None:
    """At a given velocity: tau(a) − tau(0) = M a."""
    n = m.robot.nv
    tau = m("inverse_dynamics", np.tile(m.q, (n, 1)), np.tile(m.v, (n, 1)), np.eye(n))
    h = m("bias_force", m.q, m.v)
    assert relative_error((tau - h).T, m.M, least=size(h)) <= EXACT


def kinetic_energy_is_half_v_M_v(m: Motion) -> None:
    """[TPN17, Eq. (11)]."""
    assert relative_error(m("kinetic_energy", m.q, m.v), m.v @ m.M @ m.v / 2) <= EXACT


def forward_dynamics_undoes_inverse_dynamics(m: Motion) -> None:
    wrench = np.arange(6.0)
    tau = m("inverse_dynamics", m.q, m.v, m.a)
    pushed = m("inverse_dynamics", m.q, m.v, m.a, wrench, frames=(m.frame,))
    bar = max(EXACT, 10 * np.linalg.cond(m.M) * np.finfo(float).eps)
    assert relative_error(m("forward_dynamics", m.q, m.v, tau), m.a) <= bar
    assert relative_error(m("forward_dynamics", m.q, m.v, pushed, wrench, frames=(m.frame,)), m.a) <= bar


def wrenches_act_by_the_jacobian(m: Motion) -> None:
    """tau with a wrench F = tau without − Jᵀ F [TPN17, Eq. (10b)]."""
    wrench = np.array([3.0, -2.0, 1.0, 0.5, 2.0, -1.0])
    without, pushed = (
        m("inverse_dynamics", m.q, m.v, m.a),
        m("inverse_dynamics", m.q, m.v, m.a, wrench, frames=(m.frame,)),
    )
    expected = m("jacobian", m.q, frames=m.frame).T @ wrench
    assert relative_error(without - pushed, expected, least=size(without)) <= EXACT


# --- Coriolis and gravity --------------------------------------------------------------------------------------------


def coriolis_and_gravity_make_the_bias_force(m: Motion) -> None:
    """C v + g = h."""
    h = m("coriolis_matrix", m.q, m.v) @ m.v + m("gravity", m.q)
    assert relative_error(h, m("bias_force", m.q, m.v), least=size(m.M)) <= EXACT


def rate_of_the_mass_matrix_less_twice_coriolis_is_skew(m: Motion) -> None:
    """Ṁ = C + Cᵀ [TPN17, Property 2]."""
    C = m("coriolis_matrix", m.q, m.v)
    rate = m.rate(lambda q, v: m("mass_matrix", q))
    assert relative_error(C + C.T, rate, least=size(m.M)) <= DIFFERENCED


def coriolis_matrix_is_linear_in_velocity(m: Motion) -> None:
    """And C(q, v) w = C(q, w) v, as for Christoffel symbols, where v are rates of coordinates."""
    C = m("coriolis_matrix", m.q, m.v)
    assert relative_error(m("coriolis_matrix", m.q, -2.5 * m.v), -2.5 * C, least=size(m.M)) <= EXACT
    if all(joint.type.nv == 1 for joint in m.robot.joints.values()) and not m.robot.floating:
        assert relative_error(m("coriolis_matrix", m.q, m.a) @ m.v, C @ m.a, least=size(m.M)) <= EXACT


def gravity_is_the_gradient_of_potential_energy(m: Motion) -> None:
    """gᵀ v = U̇ for every v."""
    g, T = m("gravity", m.q), m.T(m.q)
    slopes = [_towards(m, column).rate(lambda q, v: m("potential_energy", q)) for column in T.T]
    assert relative_error(np.array(slopes), g, least=m.robot.mass) <= DIFFERENCED


def _towards(m: Motion, v_mixed: Array) -> Motion:
    return Motion(m.robot, m.representation, m.q, v_mixed, np.zeros(m.robot.nv), m.run)


def power_is_the_rate_of_energy(m: Motion) -> None:
    """d/dt (K + U) = tauᵀ v."""
    rate = m.rate(lambda q, v: m("kinetic_energy", q, v) + m("potential_energy", q))
    tau = m("inverse_dynamics", m.q, m.v, m.a)
    assert relative_error(rate, tau @ m.v, least=float(np.abs(tau) @ np.abs(m.v))) <= DIFFERENCED


# --- frames ----------------------------------------------------------------------------------------------------------


def jacobian_gives_the_velocity(m: Motion) -> None:
    expected = m("velocity", m.q, m.v, frames=m.frame)
    assert relative_error(m("jacobian", m.q, frames=m.frame) @ m.v, expected, least=1.0) <= EXACT


def velocity_is_the_rate_of_the_pose(m: Motion) -> None:
    """As docs/notation.md defines the three twists."""
    X = m("pose", m.q, frames=m.frame)
    X_dot = m.rate(lambda q, v: m("pose", q, frames=m.frame))
    R, p, spin = X[:3, :3], X[:3, 3], X_dot[:3, :3] @ X[:3, :3].T
    linear, angular = X_dot[:3, 3], np.array([spin[2, 1], spin[0, 2], spin[1, 0]])
    if m.representation == "body":
        linear, angular = R.T @ linear, R.T @ angular
    if m.representation == "inertial":
        linear = linear - np.cross(angular, p)
    expected = np.concatenate([linear, angular])
    assert relative_error(m("velocity", m.q, m.v, frames=m.frame), expected, least=1.0) <= DIFFERENCED


def bias_acceleration_is_the_rest_of_the_acceleration(m: Motion) -> None:
    """V̇ = J a + J̇ v."""
    rate = m.rate(lambda q, v: m("velocity", q, v, frames=m.frame))
    ours = m("jacobian", m.q, frames=m.frame) @ m.a + m("bias_acceleration", m.q, m.v, frames=m.frame)
    assert relative_error(ours, rate, least=1.0) <= DIFFERENCED


# --- centre of mass and momentum -------------------------------------------------------------------------------------


def momentum_is_mass_times_velocity_of_the_com(m: Motion) -> None:
    com_dot = m.rate(lambda q, v: m("com", q))
    momentum = m("momentum", m.q, m.v)
    assert relative_error(m("com_jacobian", m.q) @ m.v, com_dot, least=1.0) <= DIFFERENCED
    assert relative_error(momentum[:3], m.robot.mass * com_dot, least=m.robot.mass) <= DIFFERENCED
    assert relative_error(m("momentum_matrix", m.q) @ m.v, momentum, least=m.robot.mass) <= EXACT


def com_bias_is_the_rest_of_its_acceleration(m: Motion) -> None:
    rate = m.rate(lambda q, v: np.einsum("...ij,...j->...i", m("com_jacobian", q), v))
    assert relative_error(m("com_jacobian", m.q) @ m.a + m("com_bias", m.q, m.v), rate, least=1.0) <= DIFFERENCED


def momentum_bias_is_the_rest_of_its_rate(m: Motion) -> None:
    rate = m.rate(lambda q, v: m("momentum", q, v))
    assert (
        relative_error(m("momentum_matrix", m.q) @ m.a + m("momentum_bias", m.q, m.v), rate, least=m.robot.mass)
        <= DIFFERENCED
    )


def external_forces_change_the_momentum(m: Motion) -> None:
    """Newton and Euler for the whole robot: inner forces, whatever they are, have no part in ṗ = m g + f."""
    if not m.robot.floating:
        return
    force, torque = np.array([5.0, -3.0, 2.0]), np.array([1.0, 2.0, -3.0])
    tau = np.concatenate([np.zeros(6), m.a[6:]])
    wrench = _from_mixed(m, np.concatenate([force, torque]))
    a = m("forward_dynamics", m.q, m.v, tau, wrench, frames=(m.frame,))
    A = m("momentum_matrix", m.q)
    arm = m("pose", m.q, frames=m.frame)[:3, 3] - m("com", m.q)
    expected = np.concatenate([m.robot.mass * np.array(m.robot.model.gravity) + force, torque + np.cross(arm, force)])
    bar = max(EXACT, 10 * np.linalg.cond(m.M) * np.finfo(float).eps)
    assert relative_error(A @ a + m("momentum_bias", m.q, m.v), expected, least=size(np.abs(A) @ np.abs(a))) <= bar


def _from_mixed(m: Motion, wrench: Array) -> Array:
    """The same wrench in the representation of the motion: Y⁻ᵀ F for a frame whose twist is Y (ṗ, ω)."""
    X, F = m("pose", m.q, frames=m.frame), wrench
    if m.representation == "body":
        return np.concatenate([X[:3, :3].T @ F[:3], X[:3, :3].T @ F[3:]])
    if m.representation == "inertial":
        return np.concatenate([F[:3], F[3:] + np.cross(X[:3, 3], F[:3])])
    return F


# --- representations -------------------------------------------------------------------------------------------------


def representations_describe_one_motion(m: Motion) -> None:
    """M, C, g, tau and a of a representation from the mixed ones [TPN17, Sec. 2.4, Eq. (23)]."""
    mixed = Motion(m.robot, "mixed", m.q, m.v_mixed, m.a_mixed, m.run)
    T, T_dot = m.T(m.q), m.rate(lambda q, v: m.T(q))
    C = T.T @ (mixed.M @ T_dot + mixed("coriolis_matrix", m.q, m.v_mixed) @ T)
    tau, tau_mixed = m("inverse_dynamics", m.q, m.v, m.a), mixed("inverse_dynamics", m.q, m.v_mixed, m.a_mixed)
    assert relative_error(m.M, T.T @ mixed.M @ T) <= EXACT
    assert relative_error(m("gravity", m.q), T.T @ mixed("gravity", m.q), least=m.robot.mass) <= EXACT
    assert relative_error(m("coriolis_matrix", m.q, m.v), C, least=size(m.M)) <= DIFFERENCED
    assert relative_error(tau, T.T @ tau_mixed, least=size(m.M)) <= DIFFERENCED
    assert relative_error(tau @ m.v, tau_mixed @ m.v_mixed, least=float(np.abs(tau) @ np.abs(m.v))) <= DIFFERENCED


LAWS: dict[str, Callable[[Motion], None]] = {
    law.__name__: law
    for law in (
        mass_matrix_is_symmetric_and_positive,
        columns_of_inverse_dynamics_are_the_mass_matrix,
        kinetic_energy_is_half_v_M_v,
        forward_dynamics_undoes_inverse_dynamics,
        wrenches_act_by_the_jacobian,
        coriolis_and_gravity_make_the_bias_force,
        rate_of_the_mass_matrix_less_twice_coriolis_is_skew,
        coriolis_matrix_is_linear_in_velocity,
        gravity_is_the_gradient_of_potential_energy,
        power_is_the_rate_of_energy,
        jacobian_gives_the_velocity,
        velocity_is_the_rate_of_the_pose,
        bias_acceleration_is_the_rest_of_the_acceleration,
        momentum_is_mass_times_velocity_of_the_com,
        com_bias_is_the_rest_of_its_acceleration,
        momentum_bias_is_the_rest_of_its_rate,
        external_forces_change_the_momentum,
        representations_describe_one_motion,
    )
}
