"""The curves of runs as data for the report's page: every sample, packed into one text.

A curve is cut into 65,534 levels between its least and its largest value; a logarithmic chart has levels of the
logarithm. Differences from sample to sample compress well; `numbers` in assets/report.js reads them back.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .charts import RunChart, envelope, spells
from .gantt import bands, phases, steps

if TYPE_CHECKING:
    from ..simulate.run import Run

Array = np.ndarray
MOST_ROWS = 40_000  # samples of a run; of a longer one the least and the largest of each stretch
MOST_LINES = 60  # of one chart
DECADES = 4  # below its largest value a logarithmic chart ends: errors of 1e-15 help nobody
FLOOR = 1e-9
LEVELS = 65_534
GAP = 65_535  # code of what is not a number


def curves(runs: Sequence[Run], charts: Sequence[Sequence[RunChart]], names: Sequence[str]) -> str:
    """Returns the charts of the first run, with those of the other runs overlaid, as JSON that is safe inside HTML."""
    first, packed = runs[0], [_Packed(run) for run in runs]
    every = [{chart.key: chart for chart in found} for found in charts]
    made = [
        _chart([(pack, found[chart.key]) for pack, found in zip(packed, every, strict=True) if chart.key in found])
        for chart in charts[0]
    ]
    bad = [[spell.start, spell.end] for spell in spells(first) if spell.status != "optimal"]
    found = bands(first) if steps(first) else []
    data = {
        "charts": made, "runs": list(names), "tables": [pack.table() for pack in packed], "spells": bad,
        "events": [float(t) for t, _ in first.events], "phases": phases(first) if found else [],
        "bands": [{"name": band.name, "planned": band.planned, "felt": band.felt} for band in found],
    }  # fmt: skip
    return json.dumps(data, allow_nan=False).replace("<", "\\u003c")  # so that no name ends the script


class _Packed:
    """The columns of one run."""

    def __init__(self, run: Run) -> None:
        self.t = np.asarray(run.t, dtype=float)
        self.columns: list[Array] = []
        self.shown_t = envelope(self.t, MOST_ROWS)

    def add(self, line: Array) -> dict[str, float]:
        """Adds a column; returns where it is and its range."""
        values = envelope(line, MOST_ROWS)
        good = np.isfinite(values)
        low, high = (float(f(values[good], initial=x)) for f, x in ((np.min, np.inf), (np.max, -np.inf)))
        low, high = (low, high) if good.any() else (0.0, 0.0)
        level = np.where(good, (np.where(good, values, low) - low) * (LEVELS / (high - low or 1.0)), GAP)
        self.columns.append(np.diff(level.round().astype(np.uint16), prepend=np.uint16(0)))  # modulo 2¹⁶
        return {"at": len(self.columns) - 1, "low": low, "high": high}

    def table(self) -> dict[str, Any]:
        """Returns times and columns; low bytes of a column stand before its high bytes, which hardly change."""
        codes = np.array(self.columns, dtype="<u2").reshape(len(self.columns), -1, 1).view(np.uint8)
        text = zlib.compress(np.swapaxes(codes, 1, 2).tobytes(), 9)
        return {"t": _text(self.shown_t.astype("<f4").tobytes()), "columns": _text(text)}


def _chart(found: Sequence[tuple[_Packed, RunChart]]) -> dict[str, Any]:
    chart = found[0][1]
    floor = max(FLOOR, _largest(chart) / 10**DECADES) if chart.logarithmic else 0.0
    return {
        "key": chart.key,
        "title": chart.title,
        "unit": chart.unit,
        "limit": chart.limit,
        "judged": chart.judged,
        "log": chart.logarithmic,
        "floor": floor,
        "tables": [_lines(pack, chart, floor) for pack, chart in found],
    }


def _lines(pack: _Packed, chart: RunChart, floor: float) -> list[Mapping[str, Any]]:
    leading = chart.leading()
    names = [*leading, *(name for name in chart.lines if name not in leading)][:MOST_LINES]
    ceiling = 1.2 * max(2.0 * (chart.limit or 0.0), _largest(chart))  # an infinite ratio is drawn above all others
    lines: list[Mapping[str, Any]] = []
    for name in names:
        line = np.where(np.isinf(chart.lines[name]), ceiling, chart.lines[name])
        line = np.log10(np.maximum(line, floor)) if chart.logarithmic else line
        lines.append({"name": name, "shown": name in leading, **pack.add(line)})
    return lines


def _largest(chart: RunChart) -> float:
    return max((float(line[np.isfinite(line)].max(initial=0.0)) for line in chart.lines.values()), default=0.0)


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()
