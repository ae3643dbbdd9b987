"""The invariant filter once more, on dense matrices of the group with SciPy's exponential: what the kernel must
compute."""

from __future__ import annotations

import numpy as np
from scipy.linalg import block_diag, expm, logm
from scipy.spatial.transform import Rotation


def hat(w):
    return np.array([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]])


def algebra(xi):
    """ξ^ of se_k(3)."""
    k = len(xi) // 3 - 1
    M = np.zeros((3 + k, 3 + k))
    M[:3, :3] = hat(xi[:3])
    M[:3, 3:] = xi[3:].reshape(k, 3).T
    return M


def group(R, *vectors):
    X = np.eye(3 + len(vectors))
    X[:3, :3] = R
    X[:3, 3:] = np.array(vectors).T
    return X


def log(X):
    L = np.real(logm(X))
    return np.concatenate([[L[2, 1], L[0, 2], L[1, 0]], L[:3, 3:].T.ravel()])


def logs(R, *vectors):
    """The same of many, (count, 3 + 3 vectors), in closed form: SciPy's logarithm takes a millisecond each."""
    w = Rotation.from_matrix(R).as_rotvec()
    angle = np.maximum(np.linalg.norm(w, axis=-1), 1e-9)[:, None, None]
    W = np.cross(w[:, None, :], np.eye(3)).swapaxes(1, 2)
    inverse = np.eye(3) - W / 2 + (1 - angle / 2 / np.tan(angle / 2)) / angle**2 * W @ W  # of the left Jacobian
    return np.hstack([w, *((inverse @ x[:, :, None])[:, :, 0] for x in vectors)])


def adjoint(X):
    k = X.shape[0] - 3
    A = block_diag(*[X[:3, :3]] * (k + 1))
    for i in range(k):
        A[3 + 3 * i : 6 + 3 * i, :3] = hat(X[:3, 3 + i]) @ X[:3, :3]
    return A


def predict(X, bg, ba, P, w, a, noise, g, dt):
    """[HGEG20, IMU and contact dynamics, and their linear error] with the IMU held for dt."""
    k = X.shape[0] - 5
    n = 15 + 3 * k
    R, v, p = X[:3, :3], X[:3, 3], X[:3, 4]
    w, a = w - bg, a - ba
    # R Γ a dt by the exponential of (ω, a): the integral of the turning force
    flow = expm(np.block([[hat(w), a[:, None]], [np.zeros((1, 4))]]) * dt)
    turn, once = flow[:3, :3], flow[:3, 3]
    ad = adjoint(X)
    A = np.zeros((n, n))
    A[3:6, 0:3], A[6:9, 3:6] = hat(g), np.eye(3)
    A[: n - 6, n - 6 : n - 3], A[: n - 6, n - 3 :] = -ad[:, 0:3], -ad[:, 3:6]
    gravity = A.copy()
    gravity[:, n - 6 :] = 0
    Phi = np.eye(n) + A * dt + gravity @ gravity * dt * dt / 2
    contact = np.hypot(noise.contact, noise.creep * np.linalg.norm(v))
    cov = np.diag(np.repeat([noise.gyroscope, noise.accelerometer, 0, *[contact] * k], 3) ** 2)
    Q = block_diag(ad @ cov @ ad.T, np.diag(np.repeat([noise.gyroscope_bias, noise.accelerometer_bias], 3) ** 2))
    new = X.copy()
    new[:3, :3] = R @ turn
    new[:3, 3] = v + R @ once + g * dt
    new[:3, 4] = p + v * dt + (R @ (a + np.cross(w, a) * dt / 3) + g) * dt * dt / 2
    return new, Phi @ (P + Q * dt) @ Phi.T


def correct(X, bg, ba, P, i, h, J, noise):
    """[HGEG20, right-invariant correction by forward kinematics]."""
    n = len(P)
    R = X[:3, :3]
    H = np.zeros((3, n))
    H[:, 6:9], H[:, 9 + 3 * i : 12 + 3 * i] = -np.eye(3), np.eye(3)
    N = R @ (noise.encoder**2 * J @ J.T + noise.kinematics**2 * np.eye(3)) @ R.T
    Y, b = np.zeros(X.shape[0]), np.zeros(X.shape[0])
    Y[:3] = h
    Y[4] = b[4] = 1
    Y[5 + i] = b[5 + i] = -1
    innovation = (X @ Y - b)[:3]
    S = H @ P @ H.T + N
    K = P @ H.T @ np.linalg.inv(S)
    xi = K @ innovation
    A = np.eye(n) - K @ H
    squared = innovation @ np.linalg.solve(S, innovation)
    likelihood = -(squared + np.log(np.linalg.det(2 * np.pi * S))) / 2
    P = A @ P @ A.T + K @ N @ K.T
    return expm(algebra(xi[: n - 6])) @ X, bg + xi[n - 6 : n - 3], ba + xi[n - 3 :], P, squared, likelihood


def place(X, P, i, h, J, noise):
    """[HGEG20, adding contact points]."""
    n = len(P)
    R, d = X[:3, :3], slice(9 + 3 * i, 12 + 3 * i)
    F = np.eye(n)
    F[d] = 0
    F[d, 6:9] = np.eye(3)
    P = F @ P @ F.T
    P[d, d] += R @ (noise.encoder**2 * J @ J.T + noise.kinematics**2 * np.eye(3)) @ R.T
    X = X.copy()
    X[:3, 5 + i] = X[:3, 4] + R @ h
    return X, P
