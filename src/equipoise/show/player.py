"""Where we are in a run that is played, and what was so at each of its samples."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from ..algebra import quaternions, rigid
from ..errors import EquipoiseError
from ..model.types import Array
from .moments import Moment
from .scene import RobotScene

if TYPE_CHECKING:
    from ..simulate.run import Run

LAST_RECORD = 0.05  # s, for which a record of targets counts


class Player:
    """Where we are in a run."""

    def __init__(self, scene: RobotScene, run: Run) -> None:
        if not len(run.t):
            raise EquipoiseError("this run has no samples: there is nothing to show")
        self.scene, self.run = scene, run
        self.start, self.end = float(run.t[0]), float(run.t[-1])
        self.time, self.playing, self.speed = self.start, False, 1.0
        self.lock = threading.RLock()

    @property
    def index(self) -> int:
        """The sample shown."""
        return int(np.clip(np.searchsorted(self.run.t, self.time, side="right") - 1, 0, len(self.run.t) - 1))

    def seek(self, t: float) -> None:
        """Show the run at time t."""
        with self.lock:
            self.time = float(np.clip(t, self.start, self.end))
            self.scene.show(moment_of(self.run, self.index))

    def step(self, count: int = 1) -> None:
        """Samples forward, or back."""
        with self.lock:
            self.playing = False
            self.seek(float(self.run.t[np.clip(self.index + count, 0, len(self.run.t) - 1)]))

    def toggle(self) -> None:
        """Play, or pause."""
        self.playing = not self.playing

    def advance(self, seconds: float) -> bool:
        """What a clock calls; whether the picture changed. Starts anew after the end."""
        with self.lock:
            if not self.playing:
                return False
            t = self.time + self.speed * seconds
            self.seek(t if t <= self.end else self.start)
            return True


def moment_of(run: Run, k: int) -> Moment:
    """Sample k of a run."""
    a, b = max(k - 1, 0), min(k + 1, len(run.t) - 1)
    velocity = (run.com[b] - run.com[a]) / (run.t[b] - run.t[a]) if run.t[b] > run.t[a] else None
    wrenches = {name: F[k] for name, F in run.forces.items()}
    wanted = {
        frame: rigid.pose(quaternions.rotation(tuple(map(float, numbers[3:]))), numbers[:3].copy())
        for frame, numbers in _last_given(run, run.references, k).items()
    }
    outlines = _last_given(run, run.outlines, k)
    return Moment(float(run.t[k]), np.asarray(run.q[k], dtype=float), wrenches, velocity, wanted, outlines)


def _last_given(run: Run, columns: Mapping[str, Array], k: int) -> dict[str, Array]:
    """What is given now and then, by the last record up to sample k."""
    rows = run.t[: k + 1] > run.t[k] - LAST_RECORD
    found = {}
    for name, numbers in columns.items():
        given = np.flatnonzero(rows & np.isfinite(numbers[: k + 1].reshape(k + 1, -1)[:, 0]))
        if len(given):
            found[name] = numbers[given[-1]]
    return found


def run_samples(run: Run, count: int = 9) -> list[Array]:
    """Some configurations of a run, from its start to its end, for the camera to hold."""
    rows = np.unique(np.linspace(0, len(run.t) - 1, count).astype(int))
    return [np.asarray(run.q[k], dtype=float) for k in rows if np.isfinite(run.q[k]).all()]
