"""What a controller commanded in each step of a run in MuJoCo, held against what came about."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .rows import Figure, small

if TYPE_CHECKING:
    from ..simulate.run import Run

Array = np.ndarray


class Recorded:
    """A controller whose commanded accelerations are recorded."""

    def __init__(self, controller: Any) -> None:
        self.controller, self.accelerations = controller, list[Array]()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.controller, name)

    def __call__(self, t: float, q: Array, v: Array) -> Any:
        solution = self.controller(t, q, v)
        self.accelerations.append(solution.acceleration)
        return solution


def off_command(on: str, control: Recorded, run: Run, bound: float, until: float = np.inf) -> Figure:
    """How far the acceleration of the centre of mass is from the commanded one, in 90 % of the steps until then."""
    count = min(len(run.t) - 1, int(np.searchsorted(run.t, until)))
    off = np.array(control.accelerations)[:count] - run.acceleration[:count]
    away = np.linalg.norm(np.einsum("kij,kj->ki", run.robot.com_jacobian(run.q[: len(off)]), off), axis=1)
    words = f"{on}: off the commanded acceleration of the centre of mass, 90 % of the steps, m/s²"
    return small(words, float(np.percentile(away, 90)), bound)
