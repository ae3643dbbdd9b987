"""A plant for control laws: the classic Runge–Kutta method of fourth order on q̇ = E v, v̇ = a(t, q, v)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import equipoise as eq

Array = np.ndarray


def simulate(
    robot: eq.Robot, q: Array, v: Array, acceleration: Callable[[float, Array, Array], Array], dt: float, steps: int
) -> tuple[Array, Array, Array]:
    """(t, q, v) of shapes (steps + 1, …); quaternions are brought back to unit length."""

    def slope(t: float, x: Array) -> Array:
        q, v = _unit(robot, x[: robot.nq]), x[robot.nq :]
        return np.concatenate([eq.balance.coordinate_rates(robot, q) @ v, acceleration(t, q, v)])

    x, path = np.concatenate([q, v]), []
    for k in range(steps + 1):
        path.append(x)
        t = k * dt
        k1 = slope(t, x)
        k2 = slope(t + dt / 2, x + dt / 2 * k1)
        k3 = slope(t + dt / 2, x + dt / 2 * k2)
        k4 = slope(t + dt, x + dt * k3)
        x = x + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        x[: robot.nq] = _unit(robot, x[: robot.nq])
    states = np.array(path)
    return dt * np.arange(steps + 1), states[:, : robot.nq], states[:, robot.nq :]


def _unit(robot: eq.Robot, q: Array) -> Array:
    q = q.copy()
    for start in robot.tree.quaternions:
        q[start : start + 4] /= np.linalg.norm(q[start : start + 4])
    return q


def oscillator(e: Array, e_dot: Array, k_p: float, k_v: float, t: Array) -> Array:
    """Closed form of ë = −k_p e − k_v ė with two real roots, (len(t), len(e))."""
    fast, slow = np.roots([1.0, k_v, k_p])
    c = np.linalg.solve([[1.0, 1.0], [fast, slow]], np.array([e, e_dot]))
    return np.exp(np.outer(t, [fast, slow])) @ c
