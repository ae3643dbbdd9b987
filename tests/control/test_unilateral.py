"""Torques chosen under unilateral constraints [EB98, Sec. 5.1.2]: two pads that push a body between them."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import equipoise as eq
from equipoise.control import unilateral_torque
from equipoise.control.qp import Status

pytestmark = pytest.mark.paper("E7")
M, N = np.diag([2.0, 2.0, 0.5]), np.array([0.3, 19.6, -0.2])  # a body in the plane, moving, with weight
# held sideways at its middle, from below at two places
C = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.4], [0.0, 1.0, -0.4]])
B = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])  # a motor lifts, one turns
CONE = np.array([[0.0, -1.0, 0.0], [0.0, 0.0, -1.0]])  # both places push upwards only
A = np.zeros(3)  # it stays


def test_the_least_torques_where_nothing_is_violated():
    """Weight rests on both places: no torque is needed at all."""
    found = unilateral_torque(M, N, A, C, CONE, B=B)
    assert found.status is Status.OPTIMAL
    assert_allclose(found.torque, 0.0, atol=1e-7)  # the weight of the forces, 1e-9 of some 10 N
    assert_allclose(C.T @ found.multipliers, N, atol=1e-9)


def test_a_place_that_would_pull_makes_the_motor_work():
    """A moment of 10 N m is more than the weight gives at a lever of 0.4 m: 19.6 · 0.4 = 7.84; motors make the rest."""
    heavy = N + np.array([0.0, 0.0, 10.0])
    found = unilateral_torque(M, heavy, A, C, CONE, B=B)
    assert found.multipliers.min() > -1e-9
    assert_allclose(B @ found.torque + C.T @ found.multipliers, heavy, atol=1e-9)
    # by hand: λ₂ = 0, so lift u₁ and turn u₂ with u₁ + λ₁ = 19.6 and u₂ + 0.4 λ₁ = 9.8; u₁² + u₂² is least on that line
    lever = 0.4
    least = np.array([-lever, 1.0]) * (heavy[2] - lever * heavy[1]) / (1 + lever**2)
    assert_allclose(found.torque, least, atol=1e-7)


def test_preferred_torques_loads_and_limits():
    wish = np.array([3.0, 1.0])
    near = unilateral_torque(M, N, A, C, CONE, B=B, preferred=wish)
    assert_allclose(near.torque, wish, atol=1e-7)
    loaded = unilateral_torque(M, N, A, C, CONE, B=B, load=[0.0, 15.0])
    assert loaded.multipliers[2] > 15.0 - 1e-7
    assert_allclose(B @ loaded.torque + C.T @ loaded.multipliers, N, atol=1e-9)
    assert np.abs(loaded.torque).max() > 0.5
    few = 0.9 * np.abs(loaded.torque).max()
    limited = unilateral_torque(M, N, A, C, CONE, B=B, load=[0.0, 15.0], limits=few)
    assert np.abs(limited.torque).max() < few * (1 + 1e-9)


def test_no_torques_do():
    """Sideways no motor pushes; without the constraint that holds it there is no such motion."""
    rising = np.array([0.0, -30.0, 0.0])
    found = unilateral_torque(M, N, rising, C, CONE, B=B, limits=1.0)
    assert found.status is Status.INFEASIBLE
    with pytest.raises(eq.EquipoiseError, match="one for each row of C"):
        unilateral_torque(M, N, A, C, CONE[:, :2], B=B)
