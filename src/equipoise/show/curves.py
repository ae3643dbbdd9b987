"""The curves of runs as data for the report's page: few points that keep every peak, as text."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from .charts import RunChart, charts, spells

if TYPE_CHECKING:
    from ..simulate.run import Run

Array = np.ndarray
STRETCHES = 150  # of the time axis, each with the least and the largest of the leading curves
MOST_LINES = 60  # of one chart
DECADES = 4  # below its largest value a logarithmic chart ends: errors of 1e-15 help nobody
FLOOR = 1e-9


def curves(runs: Sequence[Run], names: Sequence[str]) -> str:
    """JSON that may stand in a page: charts of the first run, with the same charts of the others."""
    every = [{chart.key: chart for chart in charts(run)} for run in runs]
    made = [
        _chart(key, [(run, found[key]) for run, found in zip(runs, every, strict=True) if key in found])
        for key in every[0]
    ]
    first = runs[0]
    bad = [[spell.start, spell.end] for spell in spells(first) if spell.status != "optimal"]
    data = {"charts": made, "spells": bad, "events": [float(t) for t, _ in first.events], "runs": list(names)}
    return json.dumps(data, allow_nan=False).replace("<", "\\u003c")  # so that no name ends the script


def _chart(key: str, found: Sequence[tuple[Run, RunChart]]) -> dict[str, Any]:
    chart = found[0][1]
    floor = max(FLOOR, _largest(chart) / 10**DECADES) if chart.logarithmic else 0.0
    return {
        "key": key,
        "title": chart.title,
        "unit": chart.unit,
        "limit": chart.limit,
        "log": chart.logarithmic,
        "floor": floor,
        "tables": [_table(np.asarray(run.t, dtype=float), chart, floor) for run, chart in found],
    }


def _table(t: Array, chart: RunChart, floor: float) -> dict[str, Any]:
    leading = chart.leading()
    names = [*leading, *(name for name in chart.lines if name not in leading)][:MOST_LINES]
    at = thinned_rows(t, [chart.lines[name] for name in leading])
    ceiling = 1.2 * max(2.0 * (chart.limit or 0.0), _largest(chart))  # an infinite ratio is drawn above all others
    lines = []
    for name in names:
        line = np.where(np.isinf(chart.lines[name][at]), ceiling, chart.lines[name][at])
        line = np.maximum(line, floor) if chart.logarithmic else line
        lines.append({"name": name, "y": _text(line), "shown": name in leading})
    return {"t": _text(t[at]), "lines": lines}


def thinned_rows(t: Array, lines: Sequence[Array]) -> Array:
    """Indices of samples that keep the first, the last, and the peaks of all lines in each stretch."""
    if len(t) <= 2 * STRETCHES:
        return np.arange(len(t))
    found = {0, len(t) - 1}
    for a, b in pairwise(np.linspace(0, len(t), STRETCHES + 1).astype(int)):
        found |= {int(a), int(b) - 1}
        for line in lines:
            part = line[a:b]
            if np.isfinite(part).any():
                finite = np.where(np.isfinite(part), part, np.nan)
                found |= {int(a + np.nanargmin(finite)), int(a + np.nanargmax(finite))}
    return np.array(sorted(found))


def _largest(chart: RunChart) -> float:
    return max((float(line[np.isfinite(line)].max(initial=0.0)) for line in chart.lines.values()), default=0.0)


def _text(line: Array) -> str:
    """float32 in base64; gaps are NaN."""
    return base64.b64encode(np.asarray(line, dtype="<f4").tobytes()).decode()
