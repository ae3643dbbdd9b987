"""Our states in the convention of peers built on Pinocchio, and back. Runs inside peers: NumPy only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray


def rotation(quaternion: Array) -> Array:
    """R of a unit quaternion wxyz."""
    w, *xyz = quaternion
    x = np.array(xyz)
    K = np.array([[0, -x[2], x[1]], [x[2], 0, -x[0]], [-x[1], x[0], 0]])
    return np.eye(3) + 2 * w * K + 2 * K @ K


@dataclass(frozen=True, eq=False)
class PinocchioOrder:
    """Quaternion last, base velocity in the base's axes, joints in Pinocchio's order.

    `at[k]` is where our joint k stands among theirs.
    """

    at: Array

    @classmethod
    def of(cls, model: Any, joints: list[str]) -> PinocchioOrder:
        """Of a Pinocchio model whose joints, but for the base, have one coordinate each."""
        return cls(np.array([model.joints[model.getJointId(name)].idx_v - 6 for name in joints]))

    def joints(self, ours: Array) -> Array:
        theirs = np.empty(len(self.at))
        theirs[self.at] = ours
        return theirs

    def joints_back(self, theirs: Array) -> Array:
        return np.asarray(theirs)[self.at]

    def state(self, q: Array, v: Array) -> tuple[Array, Array]:
        R = rotation(q[3:7])
        base = np.concatenate([q[:3], q[4:7], q[3:4]])
        twist = np.concatenate([R.T @ v[:3], R.T @ v[3:6]])
        return np.concatenate([base, self.joints(q[7:])]), np.concatenate([twist, self.joints(v[6:])])

    def velocity_back(self, q: Array, theirs: Array) -> Array:
        """Our v for theirs, at our q."""
        R = rotation(q[3:7])
        return np.concatenate([R @ theirs[:3], R @ theirs[3:6], self.joints_back(theirs[6:])])

    def acceleration_back(self, q: Array, v: Array, theirs: Array) -> Array:
        """Our a = v̇ for theirs: p̈ = R (a_linear + ω × v_linear), all in the base's axes on the right."""
        R = rotation(q[3:7])
        linear = R @ theirs[:3] + np.cross(v[3:6], v[:3])
        return np.concatenate([linear, R @ theirs[3:6], self.joints_back(theirs[6:])])
