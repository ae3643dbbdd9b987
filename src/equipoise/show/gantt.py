"""When each contact carried: a band for each over time, as a picture that stands in a report's page.

Light: the controller counted on the contact. Dark: the ground was felt there. Where the two differ, a foot came early
or late.
"""

from __future__ import annotations

import html
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..model.types import Array

if TYPE_CHECKING:
    from ..simulate.run import Run

FELT = 0.01  # of the weight: a normal force that is a touch
WIDTH, ROW, NAME, BAR = 1000.0, 22.0, 170.0, 14.0  # of the picture, in its own units
TICKS = 10  # at most
LEAST = 0.8  # narrower bars are not drawn alone: a spike of a force is no phase


@dataclass(frozen=True)
class Band:
    """Times of one contact: (start, end) in s, of when it was counted on and of when it was felt."""

    name: str
    planned: tuple[tuple[float, float], ...]
    felt: tuple[tuple[float, float], ...]


def spans(t: Array, on: Array) -> tuple[tuple[float, float], ...]:
    """(start, end) of every stretch in which `on` (N,) holds; a stretch ends where the next sample begins."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], on, [False]]).astype(int)))
    times = np.append(t, t[-1:])
    return tuple((float(times[a]), float(times[b])) for a, b in edges.reshape(-1, 2))


def bands(run: Run) -> list[Band]:
    """One for each contact, in the controller's order."""
    none = np.zeros(len(run.t), bool)
    weight = run.robot.mass * float(np.linalg.norm(run.robot.model.gravity))
    made = []
    for name in run.contacts:
        planned, felt = run.forces.get(name), run.measured.get(name)
        counted = none if planned is None else np.isfinite(planned).all(axis=1)
        touched = none if felt is None else np.linalg.norm(np.nan_to_num(felt[:, :3]), axis=1) > FELT * weight
        made.append(Band(name, spans(run.t, counted), spans(run.t, touched)))
    return made


def steps(run: Run) -> bool:
    """Whether a contact was left and made again."""
    return any(len(band.planned) > 1 for band in bands(run))


def gantt(run: Run) -> str:
    """The bands as an SVG figure; nothing for a run in which no contact was left and made again."""
    if not steps(run) or run.duration <= 0:
        return ""
    found = [band for band in bands(run) if band.planned or band.felt]
    start, scale = float(run.t[0]), (WIDTH - NAME) / run.duration
    height = ROW * (len(found) + 1)
    parts = []
    for k, band in enumerate(found):
        top = ROW * k + (ROW - BAR) / 2
        parts.append(f'<text x="0" y="{top + BAR - 3:.1f}">{html.escape(band.name)}</text>')
        for stretches, kind, inset in ((band.planned, "planned", 0.0), (band.felt, "felt", 4.0)):
            for a, b in stretches:
                wide = scale * (b - a)
                if wide >= LEAST:
                    parts.append(
                        f'<rect class="{kind}" x="{NAME + scale * (a - start):.1f}" y="{top + inset:.1f}" '
                        f'width="{wide:.1f}" '
                        f'height="{BAR - 2 * inset:.1f}"/>'
                    )
    for second in _ticks(start, float(run.t[-1])):
        x = NAME + scale * (second - start)
        parts.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="0" y2="{height - ROW:.1f}"/>')
        parts.append(f'<text x="{x:.1f}" y="{height - 6:.1f}" text-anchor="middle">{second:g} s</text>')
    caption = "<figcaption>contacts: light, counted on by the controller; dark, felt</figcaption>"
    return (
        f'<figure class="gantt">{caption}<svg viewBox="0 0 {WIDTH:g} {height:g}" '
        f'role="img">{"".join(parts)}</svg></figure>'
    )


def _ticks(start: float, end: float) -> Array:
    """Round times between two, at most `TICKS`."""
    rough = (end - start) / TICKS
    step = next(s for s in (x * 10.0**k for k in range(-6, 7) for x in (1, 2, 5)) if s >= rough)
    return np.round(np.arange(np.ceil(start / step), np.floor(end / step) + 0.5) * step, 9)
