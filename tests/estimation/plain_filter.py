"""A plain error-state Kalman filter with the same sensors: orientation error in the body, all else by subtraction.

The usual alternative to the invariant filter (Bloesch et al., RSS 2012), written from its own error equations on dense
matrices, without a line of the library: R = R̄ exp(δθ), v = v̄ + δv, p = p̄ + δp, d = d̄ + δd, b = b̄ + δb.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation


def hat(w):
    return np.array([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]])


class PlainFilter:
    def __init__(self, R, v, p, covariance, noise, gravity, contacts=2):
        n = 15 + 3 * contacts
        self.R, self.v, self.p = R.copy(), v.copy(), p.copy()
        self.d = np.zeros((contacts, 3))
        self.bg, self.ba = np.zeros(3), np.zeros(3)
        self.P = np.zeros((n, n))
        core = np.r_[0:9, n - 6 : n]
        self.P[np.ix_(core, core)] = covariance
        self.noise, self.g, self.n = noise, np.asarray(gravity), n

    def predict(self, w, a, dt):
        n, R = self.n, self.R
        w, a = w - self.bg, a - self.ba
        F = np.eye(n)
        F[0:3, 0:3] = Rotation.from_rotvec(-w * dt).as_matrix()
        F[0:3, n - 6 : n - 3] = -np.eye(3) * dt
        F[3:6, 0:3] = -R @ hat(a) * dt
        F[3:6, n - 3 :] = -R * dt
        F[6:9, 3:6] = np.eye(3) * dt
        noise = self.noise
        Q = np.repeat([noise.gyroscope, noise.accelerometer, 0.0, *[noise.contact] * len(self.d), noise.gyroscope_bias,
                       noise.accelerometer_bias], 3) ** 2 * dt  # fmt: skip
        self.P = F @ self.P @ F.T + np.diag(Q)
        pull = R @ Rotation.from_rotvec(w * dt / 2).as_matrix() @ a + self.g
        self.p = self.p + self.v * dt + pull * dt * dt / 2
        self.v = self.v + pull * dt
        self.R = R @ Rotation.from_rotvec(w * dt).as_matrix()

    def see(self, i, h, J, held):
        """Contact i at h in the IMU's axes, which moves by J with the encoders."""
        n, R, d = self.n, self.R, slice(9 + 3 * i, 12 + 3 * i)
        N = self.noise.encoder**2 * J @ J.T + self.noise.kinematics**2 * np.eye(3)
        if not held:  # d = p + R h: δd = δp − R h^ δθ + R noise
            G = np.eye(n)
            G[d] = 0
            G[d, 6:9] = np.eye(3)
            G[d, 0:3] = -R @ hat(h)
            self.P = G @ self.P @ G.T
            self.P[d, d] += R @ N @ R.T
            self.d[i] = self.p + R @ h
            return
        seen = R.T @ (self.d[i] - self.p)
        H = np.zeros((3, n))
        H[:, 0:3] = hat(seen)
        H[:, 6:9] = -R.T
        H[:, d] = R.T
        K = np.linalg.solve(H @ self.P @ H.T + N, H @ self.P).T
        dx = K @ (h - seen)
        A = np.eye(n) - K @ H
        self.P = A @ self.P @ A.T + K @ N @ K.T
        self.R = R @ Rotation.from_rotvec(dx[0:3]).as_matrix()
        self.v, self.p = self.v + dx[3:6], self.p + dx[6:9]
        self.d = self.d + dx[9 : n - 6].reshape(-1, 3)
        self.bg, self.ba = self.bg + dx[n - 6 : n - 3], self.ba + dx[n - 3 :]
