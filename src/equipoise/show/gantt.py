"""When each contact carried: bands over time for the report.

Light: the controller counted on the contact. Dark: the ground was felt there. Where the two differ, a foot came early
or late.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..model.types import Array

if TYPE_CHECKING:
    from ..simulate.run import Run

FELT = 0.01  # of the weight: a normal force that is a touch


@dataclass(frozen=True)
class Band:
    """Times of one contact: (start, end) in s, of when it was counted on and of when it was felt."""

    name: str
    planned: tuple[tuple[float, float], ...]
    felt: tuple[tuple[float, float], ...]


def spans(t: Array, on: Array) -> tuple[tuple[float, float], ...]:
    """Returns (start, end) of every stretch in which `on` (N,) holds; a stretch ends where the next sample begins."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], on, [False]]).astype(int)))
    times = np.append(t, t[-1:])
    return tuple((float(times[a]), float(times[b])) for a, b in edges.reshape(-1, 2))


def bands(run: Run) -> list[Band]:
    """Returns one band for each contact that was ever counted on or felt, in the controller's order."""
    none = np.zeros(len(run.t), bool)
    weight = run.robot.mass * float(np.linalg.norm(run.robot.model.gravity))
    made = []
    for name in run.contacts:
        planned, felt = run.forces.get(name), run.measured.get(name)
        counted = none if planned is None else np.isfinite(planned).all(axis=1)
        touched = none if felt is None else np.linalg.norm(np.nan_to_num(felt[:, :3]), axis=1) > FELT * weight
        made.append(Band(name, spans(run.t, counted), spans(run.t, touched)))
    return [band for band in made if band.planned or band.felt]


def steps(run: Run) -> bool:
    """Whether a contact was left and made again."""
    return any(len(band.planned) > 1 for band in bands(run))


def phases(run: Run) -> list[tuple[str, float, float]]:
    """Returns (name, start, end) of each phase of the controller."""
    ends = [t for t, _ in run.phases[1:]] + [float(run.t[-1])]
    return [(name, start, end) for (start, name), end in zip(run.phases, ends, strict=True)]


def ticks(start: float, end: float, most: int = 10) -> Array:
    """Returns round numbers between two, at most about `most`."""
    rough = (end - start) / most
    step = next(s for s in (x * 10.0**k for k in range(-6, 7) for x in (1, 2, 5)) if s >= rough)
    return np.round(np.arange(np.ceil(start / step), np.floor(end / step) + 0.5) * step, 9)
