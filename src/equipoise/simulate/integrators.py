"""Time integrators on the configuration manifold: quaternions stay unit length, and no chart is needed.

Each integrator advances (q, v) by dt for an acceleration that depends on q and v. Only `robot.integrate`, the flow of a
constant velocity, changes q, so that every joint type is covered, including a user's own. `ORDERS` are the orders that
the tests measure.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from ..errors import unknown_name

if TYPE_CHECKING:
    from ..robot import Robot

Array = np.ndarray
Acceleration = Callable[[Array, Array], Array]  # of (q, v)
Integrator = Callable[["Robot", Array, Array, Acceleration, float], tuple[Array, Array]]


def semi_implicit_euler(robot: Robot, q: Array, v: Array, acceleration: Acceleration, dt: float) -> tuple[Array, Array]:
    """Advances v first, then q with the new v: first order, without long-term energy drift."""
    v = v + dt * acceleration(q, v)
    return robot.integrate(q, v, dt), v


def explicit_midpoint(robot: Robot, q: Array, v: Array, acceleration: Acceleration, dt: float) -> tuple[Array, Array]:
    """Advances by the explicit midpoint rule: second order."""
    v_half = v + dt / 2 * acceleration(q, v)
    q_half = robot.integrate(q, v, dt / 2)
    return robot.integrate(q, v_half, dt), v + dt * acceleration(q_half, v_half)


def runge_kutta_4(robot: Robot, q: Array, v: Array, acceleration: Acceleration, dt: float) -> tuple[Array, Array]:
    """Advances by the classical fourth-order Runge–Kutta method in commutator-free form.

    Rotations do not commute, so the stage velocities may not simply be added. The step is composed of two flows whose
    weights restore fourth order (Celledoni, Marthinsen and Owren, 2003). In flat coordinates they add up to the
    classical
    weights 1/6, 1/3, 1/3, 1/6.
    """
    a1 = acceleration(q, v)
    q2, v2 = robot.integrate(q, v, dt / 2), v + dt / 2 * a1
    a2 = acceleration(q2, v2)
    q3, v3 = robot.integrate(q, v2, dt / 2), v + dt / 2 * a2
    a3 = acceleration(q3, v3)
    q4, v4 = robot.integrate(q2, v3 - v / 2, dt), v + dt * a3
    a4 = acceleration(q4, v4)
    both = 2 * (v2 + v3)
    half = robot.integrate(q, (3 * v + both - v4) / 12, dt)
    return robot.integrate(half, (-v + both + 3 * v4) / 12, dt), v + dt / 6 * (a1 + 2 * (a2 + a3) + a4)


INTEGRATORS: dict[str, Integrator] = {"euler": semi_implicit_euler, "midpoint": explicit_midpoint, "rk4": runge_kutta_4}
ORDERS = {"euler": 1, "midpoint": 2, "rk4": 4}


def integrator(name: str) -> Integrator:
    """Returns the integrator named "euler", "midpoint" or "rk4"."""
    if name not in INTEGRATORS:
        raise unknown_name("integrator", name, INTEGRATORS)
    return INTEGRATORS[name]
