"""The way of a robot from above, as a picture that stands in a report: its base, where it is believed to be, and its
footprints."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from ..model.types import Array
from .contact_marks import points_in_world
from .gantt import bands, ticks

if TYPE_CHECKING:
    from ..simulate.run import Run

LEAST = 0.5  # m; a robot that stays within this has no way to be drawn
ROOM = 0.25  # m around what is drawn
MOST_POINTS = 500  # of a line
MOST_PRINTS = 400


def path(run: Run) -> str:
    """Returns an SVG figure of the ground from above, x to the right; nothing for a robot that stays where it is."""
    if not run.robot.floating or np.ptp(run.q[:, :2], axis=0).max() < LEAST:
        return ""
    lines = {"truth": run.q[:, :2]} | ({"estimate": run.estimates["q"][:, :2]} if run.estimates else {})
    prints = list(footprints(run))[:MOST_PRINTS]
    every = np.concatenate([*lines.values(), *prints])
    every = every[np.isfinite(every).all(axis=1)]
    (left, low), (right, high) = every.min(axis=0) - ROOM, every.max(axis=0) + ROOM
    parts = [f'<path class="grid" d="M{x:g} {-low:.3f}V{-high:.3f}"/>' for x in ticks(left, right)]
    parts += [f'<path class="grid" d="M{left:.3f} {-y:g}H{right:.3f}"/>' for y in ticks(low, high)]
    parts += [f'<path class="print" d="{_d(corners)}Z"/>' for corners in prints]
    parts += [f'<path class="{kind}" d="{_d(line[:: 1 + len(line) // MOST_POINTS])}"/>' for kind, line in lines.items()]
    x, y = run.q[0, :2]
    parts.append(f'<circle cx="{x:.3f}" cy="{-y:.3f}" r="{0.006 * (right - left):.4f}"/>')
    step = float(np.diff(ticks(left, right))[0])
    words = "base from above" + (" (dashed: estimate)" if run.estimates else "")
    return (
        f'<figure class="path"><figcaption>{words}; squares of {step:g} m, x to the right, it starts at the dot'
        f'</figcaption><svg viewBox="{left:.3f} {-high:.3f} {right - left:.3f} {high - low:.3f}" role="img">'
        f"{''.join(parts)}</svg></figure>"
    )


def footprints(run: Run) -> Iterator[Array]:
    """Yields the corners of each contact, (k, 2) m, where it was when it began to carry."""
    for band in bands(run):
        contact = run.contacts[band.name]
        for start, _ in band.felt or band.planned:
            X = run.robot.pose(run.q[int(np.searchsorted(run.t, start))], contact.frame)
            yield points_in_world(X, contact)[:, :2]


def _d(points: Array) -> str:
    return "M" + "L".join(f"{x:.3f} {-y:.3f}" for x, y in points if np.isfinite([x, y]).all())
