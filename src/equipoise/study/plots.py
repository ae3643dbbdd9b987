"""Figures of a study, with Matplotlib: where in the space of parameters runs succeed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..show.plots import SETTINGS, _matplotlib
from .parameters import StudyError
from .table import Table

Array = np.ndarray
GOOD, BAD = "#2b8a3e", "#c92a2a"
BINS = 8


def success_figure(table: Table, success: str = "success", parameters: Sequence[str] | None = None) -> Any:
    """A panel for each parameter: rate of success over it, with the range in which the true rate lies 19 times out of
    20.

    Below the rate every run is a mark: successes on top, the others at the bottom. Two parameters named push_x and
    push_y, or any pair …_x and …_y, get a map of their own.

    Args:
        success: a column of true and false; a run that raised counts as no success.
        parameters: which; all that are numbers and not the same in every run, if None.
    """
    matplotlib = _matplotlib()
    from matplotlib.figure import Figure

    good = np.nan_to_num(np.asarray(table[success], dtype=float)) > 0
    names = varied(table) if parameters is None else list(parameters)
    if not names:
        raise StudyError("no parameter of this study varies, so there is nothing to plot success over")
    pairs = [(name, f"{name[:-2]}_y") for name in names if name.endswith("_x") and f"{name[:-2]}_y" in names]
    count = len(names) + len(pairs)
    with matplotlib.rc_context(SETTINGS):
        columns = min(3, count)
        rows = -(-count // columns)
        fig = Figure(figsize=(3.6 * columns, 2.8 * rows + 0.4), layout="constrained")
        axes = [fig.add_subplot(rows, columns, k + 1) for k in range(count)]
        for name, place in zip(names, axes, strict=False):
            _rate(place, np.asarray(table[name], dtype=float), good, name)
        for pair, place in zip(pairs, axes[len(names) :], strict=True):
            _map(place, table[pair[0]], table[pair[1]], good, pair)
        low, high = interval(int(good.sum()), len(good))
        share = f"{good.mean():.0%} of {len(good)} runs succeed ({low:.0%} to {high:.0%} likely)"
        fig.suptitle(f"{table.function.rpartition('.')[2]}: {share}", fontsize=10, x=0.01, ha="left")
    return fig


def varied(table: Table) -> list[str]:
    """Parameters that are numbers and not the same in every run; seeds are no measure of anything."""
    return [
        name
        for name in table.parameters
        if table[name].dtype.kind in "fiu" and len(np.unique(table[name])) > 1 and not name.endswith("seed")
    ]


def binned(x: Array, good: Array, bins: int = BINS) -> list[tuple[float, int, int]]:
    """(middle of a bin, successes, runs) for bins that hold about as many runs each."""
    order = np.argsort(x, kind="stable")
    parts = [part for part in np.array_split(order, min(bins, max(1, len(x) // 5))) if len(part)]
    return [(float(np.mean(x[part])), int(good[part].sum()), len(part)) for part in parts]


def interval(successes: int, runs: int, z: float = 1.96) -> tuple[float, float]:
    """Wilson's interval of a rate: never outside 0 and 1, and of use where all or none succeed."""
    p, n = successes / runs, runs
    middle = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * np.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    return max(0.0, float(middle - half)), min(1.0, float(middle + half))


def _rate(axes: Any, x: Array, good: Array, name: str) -> None:
    found = binned(x, good)
    middle = [m for m, _, _ in found]
    ranges = np.array([interval(k, n) for _, k, n in found])
    axes.fill_between(middle, ranges[:, 0], ranges[:, 1], color=GOOD, alpha=0.15, lw=0)
    axes.plot(middle, [k / n for _, k, n in found], color=GOOD, marker="o", ms=3, lw=1.2)
    axes.plot(x[good], np.full(good.sum(), 1.06), "|", color=GOOD, ms=5, alpha=0.6)
    axes.plot(x[~good], np.full((~good).sum(), -0.06), "|", color=BAD, ms=5, alpha=0.6)
    axes.set(xlabel=name, ylabel="rate of success", ylim=(-0.12, 1.12))


def _map(axes: Any, x: Array, y: Array, good: Array, names: tuple[str, str]) -> None:
    axes.plot(x[good], y[good], "o", color=GOOD, ms=3, alpha=0.7, label="success")
    axes.plot(x[~good], y[~good], "x", color=BAD, ms=4, alpha=0.8, label="not")
    axes.set(xlabel=names[0], ylabel=names[1])
    axes.legend(fontsize=7, loc="upper right")
