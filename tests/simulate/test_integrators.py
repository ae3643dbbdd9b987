"""Integrators on the manifold: the order they promise, and what they keep."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from things import mixture

import equipoise as eq
from equipoise.simulate.integrators import ORDERS, integrator


def march(robot, name, q, v, time, count):
    tau = np.linspace(-1, 1, robot.nv)

    def acceleration(q, v):
        return robot.forward_dynamics(q, v, tau)

    for _ in range(count):
        q, v = integrator(name)(robot, q, v, acceleration, time / count)
    return q, v


@pytest.mark.parametrize("name", ORDERS)
def test_the_order_is_the_one_promised(name, rng):
    """Halving the step divides the error by 2 to the order, with a base, a ball joint and oblique axes in motion."""
    robot = mixture()
    q, v = robot.random_state(rng)
    coarse = {"euler": 64, "midpoint": 32, "rk4": 8}[name]
    exact_q, exact_v = march(robot, "rk4", q, v, 0.2, 256)
    errors = []
    for count in (coarse, 2 * coarse):
        q1, v1 = march(robot, name, q, v, 0.2, count)
        errors.append(np.linalg.norm(np.concatenate([robot.difference(exact_q, q1), v1 - exact_v])))
    assert np.log2(errors[0] / errors[1]) == pytest.approx(ORDERS[name], abs=0.25)


def test_a_turning_body_needs_the_commutators(rng):
    """Adding up the four stages, as in flat space, would lose the fourth order: the two flows do matter."""
    robot = mixture()
    q, v = robot.random_state(rng)
    exact, _ = march(robot, "rk4", q, v, 0.2, 256)

    def error(count):
        flat, rate, h = q, v, 0.2 / count
        for _ in range(count):
            a1 = robot.forward_dynamics(flat, rate, np.linspace(-1, 1, robot.nv))
            q2, v2 = robot.integrate(flat, rate, h / 2), rate + h / 2 * a1
            a2 = robot.forward_dynamics(q2, v2, np.linspace(-1, 1, robot.nv))
            q3, v3 = robot.integrate(flat, v2, h / 2), rate + h / 2 * a2
            a3 = robot.forward_dynamics(q3, v3, np.linspace(-1, 1, robot.nv))
            q4, v4 = robot.integrate(flat, v3, h), rate + h * a3
            a4 = robot.forward_dynamics(q4, v4, np.linspace(-1, 1, robot.nv))
            flat = robot.integrate(flat, (rate + 2 * v2 + 2 * v3 + v4) / 6, h)
            rate = rate + h / 6 * (a1 + 2 * a2 + 2 * a3 + a4)
        return np.linalg.norm(robot.difference(exact, flat))

    assert np.log2(error(8) / error(16)) < 3.5


def test_quaternions_stay_of_unit_length(rng):
    robot = mixture()
    q, _ = march(robot, "rk4", *robot.random_state(rng), 1.0, 200)
    for start in robot.tree.quaternions:
        assert_allclose(np.linalg.norm(q[start : start + 4]), 1.0, atol=1e-14)


def test_an_unknown_integrator_is_named():
    with pytest.raises(eq.UnknownNameError, match="no integrator named 'rk5'.*rk4"):
        integrator("rk5")
