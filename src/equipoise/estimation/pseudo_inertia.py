"""Parameterisation of physically consistent inertial parameters.

The pseudo-inertia of a body is positive definite exactly when its mass is positive and some distribution of mass has
these moments [RW22]:

    P = [ Σ   h ],    Σ = ∫ s sᵀ dm = ½ tr(I) 1 − I
        [ hᵀ  m ]

Its Cholesky factor, with logarithms on the diagonal, is a smooth and unconstrained parameterisation [RW22]:

    P = U Uᵀ,   U = exp(α) [ exp(d₁)  s₁₂     s₁₃     t₁ ]
                           [   0      exp(d₂) s₂₃     t₂ ]
                           [   0        0     exp(d₃) t₃ ]
                           [   0        0       0     1  ]

m = exp(2α), t is the centre of mass, and the rest are lengths.

[RW22]: Rucker, Wensing: Smooth parameterization of rigid-body inertia, IEEE RA-L 7(2), 2022.
"""

from __future__ import annotations

import numpy as np

from ..model.inertias import UPPER, inertia_matrix

Array = np.ndarray
# (row, column) in U of d1 d2 d3 s12 s23 s13 t1 t2 t3
PLACES = ((0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (0, 2), (0, 3), (1, 3), (2, 3))


def pseudo_inertia(parameters: Array) -> Array:
    """Returns the pseudo-inertia P, (4, 4), of the ten parameters of one body."""
    I = inertia_matrix(parameters)
    P = np.empty((4, 4))
    P[:3, :3] = np.trace(I) / 2 * np.eye(3) - I
    P[:3, 3] = P[3, :3] = parameters[1:4]
    P[3, 3] = parameters[0]
    return P


def parameters_of(P: Array) -> Array:
    """Returns the ten parameters, (…, 10), of pseudo-inertias (…, 4, 4); a linear map."""
    S = P[..., :3, :3]
    I = np.trace(S, axis1=-2, axis2=-1)[..., None, None] * np.eye(3) - S
    return np.concatenate([P[..., 3, 3, None], P[..., :3, 3], I[..., UPPER[0], UPPER[1]]], axis=-1)


def is_physical(parameters: Array) -> bool:
    """Whether the parameters belong to a body with positive mass and a possible mass distribution."""
    return bool(np.isfinite(parameters).all() and np.linalg.eigvalsh(pseudo_inertia(parameters)).min() > 0)


def coordinates(parameters: Array) -> Array:
    """Returns the unconstrained coordinates (α, d, s, t) of a body; flat or thin bodies are made slightly thicker."""
    P = pseudo_inertia(parameters)
    length = max(np.trace(P[:3, :3]) / P[3, 3], 1e-8)
    values, vectors = np.linalg.eigh(P[:3, :3] - np.outer(P[:3, 3], P[:3, 3]) / P[3, 3])
    central = vectors @ np.diag(np.maximum(values, 1e-6 * length * P[3, 3])) @ vectors.T
    P[:3, :3] = central + np.outer(P[:3, 3], P[:3, 3]) / P[3, 3]
    flip = np.eye(4)[::-1]
    U = flip @ np.linalg.cholesky(flip @ P @ flip) @ flip
    U = U / U[3, 3]
    d = np.log(np.diag(U)[:3])
    return np.array([np.log(P[3, 3]) / 2, *d, U[0, 1], U[1, 2], U[0, 2], *U[:3, 3]])


def body(theta: Array) -> tuple[Array, Array]:
    """Returns the ten parameters of a body and their derivatives by θ, (10, 10)."""
    scale = np.exp(theta[0])
    U, dU = np.eye(4), np.zeros((10, 4, 4))
    for k, (i, j) in enumerate(PLACES, start=1):
        U[i, j] = np.exp(theta[k]) if i == j else theta[k]
        dU[k, i, j] = U[i, j] if i == j else 1.0
    U, dU = scale * U, scale * dU
    dU[0] = U
    half = dU @ U.T
    return parameters_of(U @ U.T), parameters_of(half + half.transpose(0, 2, 1)).T
