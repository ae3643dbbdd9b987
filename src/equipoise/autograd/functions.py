"""A robot's functions with their Jacobians in the numbers that go in and come out, on NumPy arrays.

A gradient with respect to q has nq numbers and lies in the tangent space: with q̇ = N v, a displacement dq of unit
length quaternions is the tangent N⁺ dq, N⁺ = (NᵀN)⁻¹ Nᵀ, and NᵀN is diagonal. It gives the slope along every motion of
the robot, and says nothing about quaternions that change their length.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..algebra.rigid import skew
from ..errors import ShapeError
from ..robot import Robot

Array = np.ndarray
Tensor = Any  # a tensor of PyTorch, an array of JAX, or a tracer of either


@dataclass(frozen=True, eq=False)
class ArrayFunction:
    """One function of arrays, each with one row per state."""

    name: str
    arguments: tuple[str, ...]
    sizes: tuple[int, ...]  # of the arguments
    shape: tuple[int, ...]  # of the result for one state
    value: Callable[..., Array]
    jacobians: Callable[..., Sequence[Array]]  # one for each argument: (…, numbers in the result, size)

    @property
    def length(self) -> int:
        return int(np.prod(self.shape, dtype=int))


@dataclass(frozen=True, eq=False)
class DifferentiableRobot:
    """A robot whose functions take and give tensors through which gradients flow.

    Mixed representation, as by default in `Robot`. Derivatives of first order: what comes out of a gradient cannot be
    differentiated again.
    """

    robot: Robot
    _call: Callable[..., Any]
    _functions: dict[Any, ArrayFunction] = field(default_factory=dict)

    def inverse_dynamics(self, q: Tensor, v: Tensor, a: Tensor) -> Tensor:
        """Generalised force for acceleration a, (…, nv)."""
        return self._call(self._function(inverse_dynamics), q, v, a)

    def forward_dynamics(self, q: Tensor, v: Tensor, tau: Tensor) -> Tensor:
        """Acceleration under generalised force tau, (…, nv)."""
        return self._call(self._function(forward_dynamics), q, v, tau)

    def integrate(self, q: Tensor, v: Tensor, dt: float | Tensor = 1.0) -> Tensor:
        """q after dt seconds at constant v, (…, nq)."""
        return self._call(self._function(integrate), q, v, dt)

    def difference(self, q0: Tensor, q1: Tensor) -> Tensor:
        """v with integrate(q0, v) = q1, (…, nv)."""
        return self._call(self._function(difference), q0, q1)

    def pose(self, q: Tensor, frame: str) -> Tensor:
        """Pose of a frame in the world, (…, 4, 4)."""
        return self._call(self._function(pose, frame), q)

    def velocity(self, q: Tensor, v: Tensor, frame: str) -> Tensor:
        """Mixed twist of a frame, (…, 6)."""
        return self._call(self._function(velocity, frame), q, v)

    def com(self, q: Tensor) -> Tensor:
        """Centre of mass in the world, (…, 3)."""
        return self._call(self._function(com), q)

    def momentum(self, q: Tensor, v: Tensor) -> Tensor:
        """(linear, angular about the centre of mass) momentum, (…, 6)."""
        return self._call(self._function(momentum), q, v)

    def potential_energy(self, q: Tensor) -> Tensor:
        """−m gᵀ c, (…)."""
        return self._call(self._function(potential_energy), q)

    def _function(self, make: Callable[..., ArrayFunction], *frame: str) -> ArrayFunction:
        """Each is made once, so that JAX recognises it."""
        key = make, *frame
        if key not in self._functions:
            self._functions[key] = make(self.robot, *frame)
        return self._functions[key]


def shaped(function: ArrayFunction, name: str, size: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The batch part of an argument's shape; times may come without their last dimension."""
    if name == "dt":
        return shape
    if not shape or shape[-1] != size:
        raise ShapeError(f"{function.name}: {name} must have shape (…, {size}), got {tuple(shape)}")
    return shape[:-1]


def batch_of(function: ArrayFunction, shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """Leading dimensions that all arguments share."""
    columns = zip(function.arguments, function.sizes, shapes, strict=True)
    batches = [shaped(function, *column) for column in columns]
    try:
        return np.broadcast_shapes(*batches)
    except ValueError:
        listed = ", ".join(f"{name} {tuple(shape)}" for name, shape in zip(function.arguments, shapes, strict=True))
        raise ShapeError(f"{function.name}: the leading dimensions do not go together: {listed}") from None


# --- tangents --------------------------------------------------------------------------------------------------------


def _to_tangent(robot: Robot, q: Array) -> Array:
    """N⁺, (…, nv, nq)."""
    N_T = np.swapaxes(robot.tangent_basis(q), -1, -2)
    return N_T / np.sum(N_T * N_T, axis=-1, keepdims=True)


# --- functions -------------------------------------------------------------------------------------------------------


def inverse_dynamics(robot: Robot) -> ArrayFunction:
    def jacobians(q: Array, v: Array, a: Array) -> list[Array]:
        d = robot.inverse_dynamics_derivatives(q, v, a)
        return [d.tau_q @ _to_tangent(robot, q), d.tau_v, d.tau_a]

    nq, nv = robot.nq, robot.nv
    return ArrayFunction("inverse_dynamics", ("q", "v", "a"), (nq, nv, nv), (nv,), robot.inverse_dynamics, jacobians)


def forward_dynamics(robot: Robot) -> ArrayFunction:
    def jacobians(q: Array, v: Array, tau: Array) -> list[Array]:
        d = robot.forward_dynamics_derivatives(q, v, tau)
        return [d.a_q @ _to_tangent(robot, q), d.a_v, d.a_tau]

    nq, nv = robot.nq, robot.nv
    return ArrayFunction("forward_dynamics", ("q", "v", "tau"), (nq, nv, nv), (nv,), robot.forward_dynamics, jacobians)


def integrate(robot: Robot) -> ArrayFunction:
    def value(q: Array, v: Array, dt: Array) -> Array:
        return robot.integrate(q, v, dt[..., 0])

    def jacobians(q: Array, v: Array, dt: Array) -> list[Array]:
        d, N = robot.integrate_derivatives(q, v, dt[..., 0]), robot.tangent_basis(value(q, v, dt))
        return [N @ d.q_q @ _to_tangent(robot, q), N @ d.q_v, N @ v[..., None]]

    return ArrayFunction("integrate", ("q", "v", "dt"), (robot.nq, robot.nv, 1), (robot.nq,), value, jacobians)


def difference(robot: Robot) -> ArrayFunction:
    def jacobians(q0: Array, q1: Array) -> list[Array]:
        d = robot.difference_derivatives(q0, q1)
        return [d.v_q0 @ _to_tangent(robot, q0), d.v_q1 @ _to_tangent(robot, q1)]

    return ArrayFunction("difference", ("q0", "q1"), (robot.nq, robot.nq), (robot.nv,), robot.difference, jacobians)


def pose(robot: Robot, frame: str) -> ArrayFunction:
    def jacobians(q: Array) -> list[Array]:
        """Ẋ = [ω^ R, ṗ], number by number."""
        J, X = robot.jacobian(q, frame), robot.pose(q, frame)
        columns = np.zeros((*J.shape[:-2], robot.nv, 4, 4), J.dtype)
        columns[..., :3, :3] = skew(np.swapaxes(J[..., 3:, :], -1, -2)) @ X[..., None, :3, :3]
        columns[..., :3, 3] = np.swapaxes(J[..., :3, :], -1, -2)
        flat = columns.reshape(*J.shape[:-2], robot.nv, 16)
        return [np.swapaxes(flat, -1, -2) @ _to_tangent(robot, q)]

    return ArrayFunction("pose", ("q",), (robot.nq,), (4, 4), functools.partial(robot.pose, frame=frame), jacobians)


def velocity(robot: Robot, frame: str) -> ArrayFunction:
    def jacobians(q: Array, v: Array) -> list[Array]:
        d = robot.velocity_derivatives(q, v, frame)
        return [d.V_q @ _to_tangent(robot, q), d.V_v]

    value = functools.partial(robot.velocity, frame=frame)
    return ArrayFunction("velocity", ("q", "v"), (robot.nq, robot.nv), (6,), value, jacobians)


def com(robot: Robot) -> ArrayFunction:
    def jacobians(q: Array) -> list[Array]:
        return [robot.com_jacobian(q) @ _to_tangent(robot, q)]

    return ArrayFunction("com", ("q",), (robot.nq,), (3,), robot.com, jacobians)


def momentum(robot: Robot) -> ArrayFunction:
    def jacobians(q: Array, v: Array) -> list[Array]:
        d = robot.momentum_derivatives(q, v)
        return [d.h_q @ _to_tangent(robot, q), d.h_v]

    return ArrayFunction("momentum", ("q", "v"), (robot.nq, robot.nv), (6,), robot.momentum, jacobians)


def potential_energy(robot: Robot) -> ArrayFunction:
    def jacobians(q: Array) -> list[Array]:
        return [robot.gravity(q)[..., None, :] @ _to_tangent(robot, q)]

    return ArrayFunction("potential_energy", ("q",), (robot.nq,), (), robot.potential_energy, jacobians)
