"""Estimates from contact wrenches how far the model's centre of mass is off."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import TYPE_CHECKING

import numpy as np

from ..errors import StateError

if TYPE_CHECKING:
    from ..robot import Robot

Array = np.ndarray
LIGHT = 0.2  # fraction of the weight; below this total contact force the estimate is not updated


class CoMOffset:
    """Estimates the horizontal offset of the true centre of mass from the model's, from measured contact wrenches.

    Contact forces f and their moments m about the world's origin change the angular momentum L about the centre of mass
    c,

        Σ m = c × Σ f + L̇,

    whose two horizontal rows give c, with its height taken from the model. The difference from the model's centre of
    mass is smoothed over `settling`. To avoid differentiating L, L̇ is replaced by the deviation of L from its own
    smoothed mean, divided by the smoothing time.

    Args:
        robot: the model that the controller uses.
        settling: time constant of the smoothing, s.
        most: limit of the returned offset in each axis, m.
    """

    def __init__(self, robot: Robot, settling: float = 0.5, most: float = 0.1) -> None:
        if not (settling > 0 and most > 0):
            raise StateError(f"settling (s) and most (m) are positive, got {settling!r} and {most!r}")
        self.robot, self.settling, self.most = robot, settling, most
        gravity = np.array(robot.model.gravity)
        self._g = float(np.linalg.norm(gravity))
        if not (abs(gravity[:2]).max() < 1e-9 * max(self._g, 1e-12) and gravity[2] < 0):
            raise StateError(
                f"CoMOffset needs gravity along −z of the world, got {gravity.tolist()}; rotate the model's world frame"
            )
        self.reset()

    def reset(self) -> None:
        """Forgets all measurements; the offset is zero again."""
        self._time: float | None = None
        self._mean, self._spin = np.zeros(2), np.zeros(2)
        self._seconds = 0.0
        self.offset = np.zeros(3)

    def __call__(self, t: float, q: Array, v: Array, wrenches: Mapping[str, Array], frames: Mapping[str, str]) -> Array:
        """Processes one sample and returns the offset of the centre of mass, (3,), world axes, m.

        Samples with NaN, with a time stamp in the past, or with too little contact force leave the offset unchanged.

        Args:
            t: time, s.
            q: (nq,).
            v: (nv,).
            wrenches: (force, torque) on the robot at the contacts' frames, world axes.
            frames: contact name → frame name.
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
        # At the start, the plain mean of the samples so far is used until they span `settling`.
        share = dt / min(max(self._seconds, dt), self.settling) if dt > 0 else 0.0
        self._mean += share * (seen - self._mean)
        self._spin = L if self._seconds == 0 else self._spin + share * (L - self._spin)
        spinning = (L - self._spin) / max(min(self._seconds, self.settling), 1e-3) / force[2]
        level = self._mean + np.array([spinning[1], -spinning[0]])
        known = min(self._seconds / self.settling, 1.0)
        self.offset = known * np.append(np.clip(level, -self.most, self.most), 0.0)
        return self.offset
