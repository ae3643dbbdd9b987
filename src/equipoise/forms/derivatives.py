"""Derivatives by name. Each matrix has one row for each number of the result and one column for each number of the
tangent.

The tangent of q is that of `integrate(q, dv)`: mixed, as v is.
"""

from __future__ import annotations

from typing import NamedTuple, TypeVar

import numpy as np

Array = np.ndarray
Parts = TypeVar("Parts", bound=tuple)


class InverseDynamicsDerivatives(NamedTuple):
    """Of tau = inverse_dynamics(q, v, a): (…, nv, nv) each."""

    tau_q: Array
    tau_v: Array
    tau_a: Array  # M


class ForwardDynamicsDerivatives(NamedTuple):
    """Of a = forward_dynamics(q, v, tau): (…, nv, nv) each."""

    a_q: Array
    a_v: Array
    a_tau: Array  # M⁻¹


class VelocityDerivatives(NamedTuple):
    """Of the mixed twist V = velocity(q, v, frame): (…, 6, nv) each."""

    V_q: Array
    V_v: Array  # the Jacobian


class MomentumDerivatives(NamedTuple):
    """Of h = momentum(q, v): (…, 6, nv) each."""

    h_q: Array
    h_v: Array  # the momentum matrix


class StepDerivatives(NamedTuple):
    """Of q' = integrate(q, v, dt), tangent to tangent: (…, nv, nv) each. With dt, q' moves by v."""

    q_q: Array
    q_v: Array


class DifferenceDerivatives(NamedTuple):
    """Of v = difference(q0, q1): (…, nv, nv) each."""

    v_q0: Array
    v_q1: Array


def parted(kind: type[Parts], matrices: Array) -> Parts:
    """The matrices of one array (…, count, rows, nv) by their names, without a copy."""
    if matrices.ndim == 3:
        return kind(*matrices)
    return kind(*(matrices[..., k, :, :] for k in range(matrices.shape[-3])))
