"""Gradients through a hundred steps of simulation, by the compiled derivatives alone, against differences of the
whole."""

from __future__ import annotations

import numpy as np
import pytest
from support import load, relative_error
from zoo import zoo

DT, STEPS = 1e-3, 100


def simulated(robot, q, v, tau) -> tuple[np.ndarray, list]:
    """Semi-implicit Euler without contact; the path on the way."""
    path = []
    for _ in range(STEPS):
        path.append((q, v))
        v = v + DT * robot.forward_dynamics(q, v, tau)
        q = robot.integrate(q, v, DT)
    return (q, v), path


def loss(robot, goal, q, v) -> float:
    return float(np.sum(robot.difference(goal, q) ** 2) + 0.1 * np.sum(v**2))


def gradient(robot, q, v, tau, goal) -> np.ndarray:
    """Of the loss at the end with respect to the tangent of q, to v, and to the constant tau: adjoint, last step
    first."""
    (q_end, v_end), path = simulated(robot, q, v, tau)
    by_q = 2 * robot.difference(goal, q_end) @ robot.difference_derivatives(goal, q_end).v_q1
    by_v, by_tau = 0.2 * v_end, np.zeros(robot.nv)
    for q, v in reversed(path):
        a = robot.forward_dynamics_derivatives(q, v, tau)
        v_after = v + DT * robot.forward_dynamics(q, v, tau)
        step = robot.integrate_derivatives(q, v_after, DT)
        by_v = by_v + by_q @ step.q_v
        by_tau = by_tau + DT * by_v @ a.a_tau
        by_q = by_q @ step.q_q + DT * by_v @ a.a_q
        by_v = by_v + DT * by_v @ a.a_v
    return np.concatenate([by_q, by_v, by_tau])


@pytest.mark.parametrize("name", ["quadruped", "arm7", "zoo"])
def test_gradients_match_differences(name, rng):
    """The bar is 1e-5; central differences with a step of 1e-5 are good to 1e-8 here."""
    robot = zoo(floating=True, followers=False) if name == "zoo" else load(name)
    q, v = robot.random_state(rng)
    v, tau, goal = v / 2, rng.normal(size=robot.nv), robot.random_state(rng)[0]
    exact = gradient(robot, q, v, tau, goal)

    def end(dq, dv, dtau) -> float:
        return loss(robot, goal, *simulated(robot, robot.integrate(q, dq), v + dv, tau + dtau)[0])

    step, moves = 1e-5, np.eye(3 * robot.nv).reshape(-1, 3, robot.nv)
    chosen = rng.permutation(len(moves))[:24]
    differences = [(end(*step * moves[k]) - end(*-step * moves[k])) / (2 * step) for k in chosen]
    assert relative_error(exact[chosen], np.array(differences)) <= 1e-5
    assert relative_error(exact[chosen], np.array(differences)) <= 1e-7
