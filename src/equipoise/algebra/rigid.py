"""Rigid motions of space as 4×4 matrices, and rotations as 3×3, on arrays."""

from __future__ import annotations

import math

import numpy as np

from . import quaternions

Array = np.ndarray


def skew(w: Array) -> Array:
    """The matrix w^ with w^ x = w × x."""
    w = np.asarray(w, dtype=float)
    x, y, z = np.moveaxis(w, -1, 0)
    if w.ndim == 1:  # the most frequent case, without the broadcasting of the other
        return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return quaternions.NUMBERS.matrix([[0 * x, -z, y], [z, 0 * x, -x], [-y, x, 0 * x]])


def axial(S: Array) -> Array:
    """w of w^ = S, (3,)."""
    return np.array([S[2, 1], S[0, 2], S[1, 0]])


def rotation_about(axis: Array, angle: float) -> Array:
    """Rotation by `angle` about the unit vector `axis` (Rodrigues)."""
    K = skew(axis)
    return np.eye(3) + np.sin(angle) * K + (1 - np.cos(angle)) * K @ K


def rotation_from_rpy(roll: float, pitch: float, yaw: float) -> Array:
    """Fixed-axis roll, pitch, yaw as URDF writes them: R = Rz(yaw) Ry(pitch) Rx(roll)."""
    cr, cp, cy = math.cos(roll), math.cos(pitch), math.cos(yaw)
    sr, sp, sy = math.sin(roll), math.sin(pitch), math.sin(yaw)
    return np.array(
        [
            [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr],
        ]
    )


def rpy_from_rotation(R: Array) -> tuple[float, float, float]:
    """Roll, pitch, yaw of a rotation. Roll is read after yaw is taken away, which stays exact at pitch ±90°."""
    pitch = math.atan2(-R[2, 0], math.hypot(R[0, 0], R[1, 0]))
    yaw = math.atan2(R[1, 0], R[0, 0])
    c, s = math.cos(yaw), math.sin(yaw)
    roll = math.atan2(s * R[0, 2] - c * R[1, 2], c * R[1, 1] - s * R[0, 1])
    return roll, pitch, yaw


def rotation_to(axis: Array) -> Array:
    """A rotation that carries z to the unit vector `axis`."""
    z = np.asarray(axis, dtype=float)
    helper = np.eye(3)[int(np.argmin(np.abs(z)))]
    x = np.cross(helper, z)
    x /= np.linalg.norm(x)
    return np.column_stack([x, np.cross(z, x), z])


def smallest_rotation_up(axis: Array) -> Array:
    """The smallest rotation that carries a unit vector to z; about x by half a turn for −z."""
    normal = np.asarray(axis, dtype=float)
    across = np.cross(normal, [0.0, 0.0, 1.0])
    sine = float(np.linalg.norm(across))
    if sine < 1e-12:
        return np.eye(3) if normal[2] > 0 else np.diag([1.0, -1.0, -1.0])
    return rotation_about(across / sine, float(np.arctan2(sine, float(normal[2]))))


def pose(R: Array | None = None, p: Array | None = None) -> Array:
    """The 4×4 matrix of a rotation and an origin."""
    X = np.eye(4)
    if R is not None:
        X[:3, :3] = R
    if p is not None:
        X[:3, 3] = p
    return X


def is_pose(X: Array) -> bool:
    """Whether a 4×4 matrix is a rigid motion, within 1e-6."""
    R = X[:3, :3]
    proper = np.allclose(R @ R.T, np.eye(3), atol=1e-6) and np.linalg.det(R) > 0
    return bool(proper and np.isfinite(X).all() and np.allclose(X[3], [0, 0, 0, 1], atol=1e-9))


def inverse(X: Array) -> Array:
    """X⁻¹ of a rigid motion, batches too."""
    R_T = np.swapaxes(X[..., :3, :3], -1, -2)
    Y = np.zeros_like(X)
    Y[..., :3, :3] = R_T
    Y[..., :3, 3] = -np.einsum("...ij,...j->...i", R_T, X[..., :3, 3])
    Y[..., 3, 3] = 1.0
    return Y


def tidy(R: Array, within: float = 1e-12) -> Array:
    """R with entries within `within` of 0 and ±1 made exact.

    The cosine of π/2 comes out as 6e-17 and means zero. Exact zeros vanish from the compiled code.
    """
    nearest = np.round(R)
    return np.where(np.abs(R - nearest) < within, nearest, R) + 0.0
