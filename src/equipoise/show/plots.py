"""Figures of a run, with Matplotlib. No global settings are touched and no window is opened."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import missing_package
from .charts import RunChart, Spell, chosen, envelope, spells

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..simulate.run import Run

SETTINGS = {
    "text.parse_math": False,  # names are the user's: "$" in one is no formula
    "font.size": 9.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.3,
    "svg.fonttype": "none",
}
BAD = "#c92a2a"
POINTS = 600  # of a curve


class Figures(dict[str, "Figure"]):
    """Matplotlib figures by name; a notebook shows all of them."""

    def _repr_html_(self) -> str:
        pictures = []
        for fig in self.values():
            file = io.BytesIO()
            fig.savefig(file, format="png", dpi=110)
            pictures.append(f'<img src="data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}">')
        return "<br>".join(pictures)


def plot(run: Run, names: Iterable[str] | None = None) -> Figures:
    """Matplotlib figures of a run by name: task errors, margins, torques against limits, forces in cones, cycle times.

    Args:
        run: what `eq.simulate` returned.
        names: keys of the charts wanted, such as "torques"; all that the run has numbers for, if None.

    Returns:
        A dictionary of figures, which a notebook shows as pictures.
    """
    strip = spells(run)
    return Figures({chart.key: figure(chart, run.t, strip, run.events) for chart in chosen(run, names)})


def stacked(run: Run, names: Iterable[str] | None = None) -> Figure:
    """Returns the charts of a run below each other in one Matplotlib figure, over the same time."""
    return _drawn(chosen(run, names), run.t, spells(run), run.events)


def figure(
    chart: RunChart, t: np.ndarray, strip: Iterable[Spell] = (), events: Iterable[tuple[float, str]] = ()
) -> Figure:
    """Returns one chart as a figure."""
    return _drawn([chart], t, strip, events)


def _drawn(
    charts: Sequence[RunChart], t: np.ndarray, strip: Iterable[Spell], events: Iterable[tuple[float, str]]
) -> Figure:
    matplotlib = _matplotlib()
    from matplotlib.figure import Figure

    with matplotlib.rc_context(SETTINGS):
        fig = Figure(figsize=(8.0, 2.6 * len(charts)), layout="constrained")
        for axes, chart in zip(np.ravel(fig.subplots(len(charts), sharex=True)), charts, strict=True):
            _curves(axes, chart, np.asarray(t, dtype=float))
            _limit(axes, chart)
            _marks(axes, strip, events)
            axes.set_title(chart.title, loc="left", fontsize=10)
            axes.set_ylabel(chart.unit)
        axes.set_xlabel("time, s")
        if len(t) > 1:
            axes.set_xlim(t[0], t[-1])
    return fig


def _matplotlib() -> Any:
    try:
        import matplotlib
    except ImportError:
        raise missing_package("matplotlib", "view", "plotting") from None
    return matplotlib


def _curves(axes: Any, chart: RunChart, t: np.ndarray) -> None:
    named = set(chart.leading())
    finite = [float(line[np.isfinite(line)].max(initial=0.0)) for line in chart.lines.values()]
    ceiling = 1.2 * max([2.0 * (chart.limit or 0.0), *finite])  # an infinite ratio is drawn above all others
    for k, (name, line) in enumerate(chart.lines.items()):
        line = np.where(np.isinf(line), ceiling, line)
        if chart.logarithmic:
            line = np.where(line > 0, line, np.nan)
        label = name if not name.startswith("_") else f"\u200b{name}"  # Matplotlib hides labels with an underscore
        axes.plot(
            envelope(t, POINTS),
            envelope(line, POINTS),
            color=f"C{k % 10}",
            lw=1.2,
            label=label if name in named else "_rest",
        )
    if chart.logarithmic and any((line > 0).any() for line in chart.lines.values()):
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter("{x:g}")  # the usual 10ⁿ is a formula, and formulas are off
        axes.yaxis.set_minor_formatter("")
    more = len(chart.lines) - len(named)
    title = f"{more} more are lower" if more > 0 else None
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize=8, frameon=False, title=title, title_fontsize=8)


def _limit(axes: Any, chart: RunChart) -> None:
    """The limit as a line, and what lies beyond it shaded, as far as the curves go."""
    if chart.limit is None:
        return
    low, high = axes.get_ylim()
    room = 0.05 * (high - low)
    low, high = min(low, chart.limit - room), max(high, chart.limit + room)
    axes.axhline(chart.limit, color=BAD, lw=1.0)
    beyond = (chart.limit, high) if chart.bad_above else (low, chart.limit)
    axes.axhspan(*beyond, color=BAD, alpha=0.08, lw=0)
    axes.set_ylim(low, high)


def _marks(axes: Any, strip: Iterable[Spell], events: Iterable[tuple[float, str]]) -> None:
    for spell in strip:
        if spell.status != "optimal":
            axes.axvspan(spell.start, spell.end, color="#f08c00", alpha=0.15, lw=0)
    for time, _ in events:
        axes.axvline(time, color="#868e96", lw=0.8, ls=":")
