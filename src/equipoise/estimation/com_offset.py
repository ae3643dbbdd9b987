"""Where forces have the centre of mass: what the model's masses are wrong by, seen at the feet."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import TYPE_CHECKING

import numpy as np

from ..errors import StateError

if TYPE_CHECKING:
    from ..robot import Robot

Array = np.ndarray
LIGHT = 0.2  # of the weight: with less on the contacts, forces do not tell


class CoMOffset:
    """The level offset of the centre of mass from where the model has it, by measured contact wrenches.

    Contact forces f and their moments m about the world's origin change the angular momentum L about the centre of mass
    c,

        Σ m = c × Σ f + L̇,

    of which the two level rows give c above the ground once its height is taken from the model. The difference from the
    model is smoothed over `settling`; L̇ then enters as what L is away from its own mean, without differentiation.

    Args:
        robot: as the controller knows it.
        settling: s, of the smoothing.
        most: m, beyond which no offset is believed.
    """

    def __init__(self, robot: Robot, settling: float = 0.5, most: float = 0.1) -> None:
        if not (settling > 0 and most > 0):
            raise StateError(f"settling (s) and most (m) are positive, got {settling!r} and {most!r}")
        self.robot, self.settling, self.most = robot, settling, most
        gravity = np.array(robot.model.gravity)
        self._g = float(np.linalg.norm(gravity))
        if not (abs(gravity[:2]).max() < 1e-9 * max(self._g, 1e-12) and gravity[2] < 0):
            raise StateError("the offset of the centre of mass is seen where gravity points along −z of the world")
        self.reset()

    def reset(self) -> None:
        """Nothing was measured yet."""
        self._time: float | None = None
        self._mean, self._spin = np.zeros(2), np.zeros(2)
        self._seconds = 0.0
        self.offset = np.zeros(3)

    def __call__(self, t: float, q: Array, v: Array, wrenches: Mapping[str, Array], frames: Mapping[str, str]) -> Array:
        """One step; the offset, (3,), world axes, m. Nothing raises on numbers: those that are not finite are passed
        over.

        Args:
            t: s.
            q: (nq,).
            v: (nv,).
            wrenches: (force, torque) on the robot at the contacts' frames, world axes.
            frames: of the contacts.
        """
        places = {name: self.robot.pose(q, frames[name])[:3, 3] for name in wrenches}
        force = sum((w[:3] for w in wrenches.values()), np.zeros(3))
        moment = sum((w[3:] + np.cross(places[name], w[:3]) for name, w in wrenches.items()), np.zeros(3))
        dt, self._time = 0.0 if self._time is None else t - self._time, t
        c, L = self.robot.com(q), self.robot.momentum(q, v)[3:5]
        if not (isfinite(force @ moment + c @ c + L @ L) and dt >= 0 and force[2] > LIGHT * self.robot.mass * self._g):
            return self.offset
        seen = np.array([c[2] * force[0] - moment[1], c[2] * force[1] + moment[0]]) / force[2] - c[:2]
        self._seconds += dt
        # a plain mean, until there is enough of it
        share = dt / min(max(self._seconds, dt), self.settling) if dt > 0 else 0.0
        self._mean += share * (seen - self._mean)
        self._spin = L if self._seconds == 0 else self._spin + share * (L - self._spin)
        spinning = (L - self._spin) / max(min(self._seconds, self.settling), 1e-3) / force[2]
        level = self._mean + np.array([spinning[1], -spinning[0]])
        known = min(self._seconds / self.settling, 1.0)
        self.offset = known * np.append(np.clip(level, -self.most, self.most), 0.0)
        return self.offset
