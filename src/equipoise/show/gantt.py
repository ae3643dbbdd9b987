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
LETTER = 7.0  # its width, at most
KINDS = 6  # colours of phases
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
    """The bands as an SVG figure, the controller's phases below the time; nothing for a run in which no contact was
    left and made again."""
    if not steps(run) or run.duration <= 0:
        return ""
    found = [band for band in bands(run) if band.planned or band.felt]
    start, scale = float(run.t[0]), (WIDTH - NAME) / run.duration
    below = ROW * len(found)
    parts = []
    for k, band in enumerate(found):
        parts.append(_name(ROW * k, band.name))
        for stretches, kind, inset in ((band.planned, "planned", 0.0), (band.felt, "felt", 4.0)):
            parts += [_bar(kind, ROW * k, scale * (a - start), scale * (b - a), inset) for a, b in stretches]
    for second in _ticks(start, float(run.t[-1])):
        x = NAME + scale * (second - start)
        parts.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="0" y2="{below:.1f}"/>')
        parts.append(f'<text x="{x:.1f}" y="{below + ROW - 6:.1f}" text-anchor="middle">{second:g} s</text>')
    height = below + ROW
    if run.phases:
        parts.append(_name(height, "phases"))
        parts += [_phase(height, name, scale * (a - start), scale * (b - a), k) for name, a, b, k in _phases(run)]
        height += ROW
    told = "; below, its phases" if run.phases else ""
    caption = f"<figcaption>contacts: light, counted on by the controller; dark, felt{told}</figcaption>"
    return (
        f'<figure class="gantt">{caption}<svg viewBox="0 0 {WIDTH:g} {height:g}" '
        f'role="img">{"".join(parts)}</svg></figure>'
    )


def _name(top: float, name: str) -> str:
    return f'<text x="0" y="{top + (ROW + BAR) / 2 - 3:.1f}">{html.escape(name)}</text>'


def _bar(kind: str, top: float, x: float, wide: float, inset: float = 0.0, title: str = "") -> str:
    """A bar of a row; none where it would be too narrow."""
    if wide < LEAST:
        return ""
    return (
        f'<rect class="{kind}" x="{NAME + x:.1f}" y="{top + (ROW - BAR) / 2 + inset:.1f}" width="{wide:.1f}" '
        f'height="{BAR - 2 * inset:.1f}">{f"<title>{html.escape(title)}</title>" if title else ""}</rect>'
    )


def _phase(top: float, name: str, x: float, wide: float, kind: int) -> str:
    """A phase, with its name in it where that fits."""
    drawn = _bar(f"phase phase{kind}", top, x, wide, title=name)
    if not drawn or LETTER * len(name) > wide:
        return drawn
    y = top + (ROW + BAR) / 2 - 3
    return f'{drawn}<text x="{NAME + x + wide / 2:.1f}" y="{y:.1f}" text-anchor="middle">{html.escape(name)}</text>'


def _phases(run: Run) -> list[tuple[str, float, float, int]]:
    """(name, start, end, which of the colours) of each phase."""
    ends = [t for t, _ in run.phases[1:]] + [float(run.t[-1])]
    kinds = {name: k % KINDS for k, name in enumerate(dict.fromkeys(name for _, name in run.phases))}
    return [(name, start, end, kinds[name]) for (start, name), end in zip(run.phases, ends, strict=True)]


def _ticks(start: float, end: float) -> Array:
    """Round times between two, at most `TICKS`."""
    rough = (end - start) / TICKS
    step = next(s for s in (x * 10.0**k for k in range(-6, 7) for x in (1, 2, 5)) if s >= rough)
    return np.round(np.arange(np.ceil(start / step), np.floor(end / step) + 0.5) * step, 9)
