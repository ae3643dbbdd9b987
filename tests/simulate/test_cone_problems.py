"""The frictional contact problem: Signorini's conditions and Coulomb's law, to rounding."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from equipoise.simulate.cones import project, residual, solve_cones


def problem(rng, points: int, dof: int):
    """Random contacts on a system with fewer or more degrees of freedom than rows."""
    B = rng.normal(size=(3 * points, dof))
    return B @ B.T, (B @ rng.normal(size=dof)).reshape(-1, 3), rng.uniform(0.1, 1.2, points)


@pytest.mark.paper("H3")
@pytest.mark.parametrize("points, dof", [(1, 6), (3, 18), (8, 12), (8, 40)])
def test_the_laws_of_contact_hold(points, dof, rng):
    for _ in range(5):
        G, c, mu = problem(rng, points, dof)
        found = solve_cones(G, c, mu, iterations=20_000)
        p, u = found.impulse, found.velocity
        size = np.abs(c).max()
        slip, friction = np.hypot(u[:, 1], u[:, 2]), np.hypot(p[:, 1], p[:, 2])
        assert found.converged
        assert_allclose(u, (G @ p.ravel()).reshape(-1, 3) + c, atol=1e-12 * size)
        assert (p[:, 0] >= 0).all() and (u[:, 0] >= -1e-7 * size).all()
        assert_allclose(p[:, 0] * u[:, 0], 0.0, atol=1e-7 * size)
        assert (friction <= mu * p[:, 0] * (1 + 1e-12)).all()
        assert_allclose(p[:, 1] * u[:, 1] + p[:, 2] * u[:, 2], -mu * p[:, 0] * slip, atol=1e-6 * size)


def test_one_point_against_the_closed_form():
    """A unit mass that comes down at 1 m/s and slides at s: friction stops it if μ ≥ s, else takes μ."""
    for s, mu in ((0.3, 0.5), (0.9, 0.5), (0.5, 0.0)):
        found = solve_cones(np.eye(3), np.array([[-1.0, s, 0.0]]), np.array([mu]))
        assert_allclose(found.impulse, [[1.0, -min(s, mu), 0.0]], atol=1e-8)


def test_a_residual_tells_a_wrong_answer():
    G, c, mu = np.eye(3), np.array([[-1.0, 0.9, 0.0]]), np.array([0.5])
    assert residual(G, c, mu, np.array([[1.0, -0.5, 0.0]]))[0] < 1e-15
    for wrong in ([0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 0.5, 0.0], [2.0, -0.5, 0.0]):
        assert residual(G, c, mu, np.array([wrong]))[0] > 0.1


def test_the_projection_is_the_nearest_point_of_the_cone(rng):
    p, mu = rng.normal(size=(200, 3)), rng.uniform(0.1, 2.0, 200)
    z = project(p, mu)
    assert (np.hypot(z[:, 1], z[:, 2]) <= mu * z[:, 0] + 1e-14).all()
    for _ in range(50):  # no other point of the cone is nearer
        n = rng.uniform(0, 3, 200)
        turn, part = rng.uniform(0, 2 * np.pi, 200), rng.uniform(0, 1, 200)
        other = np.stack([n, mu * n * part * np.cos(turn), mu * n * part * np.sin(turn)], axis=1)
        assert (np.linalg.norm(p - z, axis=1) <= np.linalg.norm(p - other, axis=1) + 1e-12).all()


def test_too_few_iterations_are_admitted(rng):
    G, c, mu = problem(rng, 8, 12)
    found = solve_cones(G, c - [1.0, 0.0, 0.0], mu, iterations=0)
    assert not found.converged and found.residual > 0
