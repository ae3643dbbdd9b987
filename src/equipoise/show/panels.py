"""Charts in the viewer's side panel: curves that grow with the motion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..model.types import Array
from .charts import MOST_NAMES, RunChart

COLORS = ("#1f77b4", "#ff7f0e", "#2ca02c", "#d62728", "#9467bd", "#8c564b", "#e377c2", "#17becf")
MOST_POINTS = 400
# From zero up to at least 0.0045, what ticks of three decimals can tell apart, or as far as curves go.
RANGE = {"min": {"pad": 0.1, "soft": 0.0, "mode": 1}, "max": {"pad": 0.1, "soft": 0.0045, "mode": 1}}


class Panel:
    """One chart of the side panel."""

    def __init__(
        self, server: Any, title: str, names: Sequence[str], limit: float | None, span: tuple[float, float]
    ) -> None:
        self.names, self.limit, self.span = tuple(names[:MOST_NAMES]), limit, span
        lines = [{"label": "s"}] + [
            {"label": name, "stroke": COLORS[k % len(COLORS)], "width": 2} for k, name in enumerate(self.names)
        ]
        if limit is not None:
            lines.append({"label": "limit", "stroke": "#c92a2a", "width": 1})
        self._plot = server.gui.add_uplot(
            self._columns(np.array(span), {}),
            tuple(lines),
            title=title,
            height=170,
            scales={"x": {"time": False}, "y": {"range": RANGE}},
        )

    def _columns(self, t: Array, lines: Mapping[str, Array]) -> tuple[Array, ...]:
        """Columns up to now, and one more point at the end of the span, so that the time axis does not move."""
        full = np.append(t, self.span[1]) if len(t) and t[-1] < self.span[1] else t
        columns = [full]
        for name in self.names:
            line = np.full(len(full), np.nan)
            given = np.asarray(lines.get(name, np.zeros(0)), dtype=float)
            line[: len(given)] = given[: len(line)]
            columns.append(np.where(np.isfinite(line), line, np.nan))
        if self.limit is not None:
            columns.append(np.full(len(full), self.limit))
        return tuple(column.astype(float) for column in columns)

    def update(self, t: Array, lines: Mapping[str, Array], span: tuple[float, float] | None = None) -> None:
        """Curves up to now; thinned to what a small chart can show."""
        self.span = span or self.span
        step = max(1, len(t) // MOST_POINTS)
        at = np.arange(len(t))[::-step][::-1]  # the newest sample always stays
        self._plot.data = self._columns(t[at], {name: line[at] for name, line in lines.items()})


def panels(server: Any, charts: Sequence[RunChart], span: tuple[float, float]) -> list[tuple[Panel, RunChart]]:
    """A panel for each chart, in one folder."""
    with server.gui.add_folder("curves"):
        return [(Panel(server, chart.title, chart.leading(), chart.limit, span), chart) for chart in charts]
