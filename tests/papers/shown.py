"""What a row of the papers shows, as numbers: the arguments of its figures before they become words."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from equipoise import papers
from equipoise.control.stances.machine import Stances
from equipoise.papers import rows

Array = np.ndarray
NOISE = 1e-6  # errors below it are those of rounding and of differences; they are recorded as zero
TINY = re.compile(r"-?\d(\.\d+)?e-\d+")  # numbers in texts that are errors of rounding
ZERO = re.compile(r"-(?=0(\.0+)?(?![\d.]))")  # the sign of a zero in texts, which rounding decides


def modules() -> list[Any]:
    """Returns all modules of the papers, imported."""
    return [importlib.import_module(f"equipoise.papers.{one.name}") for one in pkgutil.iter_modules(papers.__path__)]


def recorded(show: Callable[[], Iterator[rows.Figure]], monkeypatch: pytest.MonkeyPatch) -> dict[str, dict[str, Any]]:
    """Returns every figure that is shown, by number and words: whether it is good, and its numbers with all digits.

    Of `agree` the value found is kept, of `small` the error where it is more than rounding, and the bound of both.
    """
    numbers: dict[int, dict[str, Any]] = {}
    found: list[rows.Figure] = []  # keeps the figures, and with them their ids, alive

    def noted(make: Callable[..., rows.Figure], note: Callable[..., dict[str, Any]]) -> Callable[..., rows.Figure]:
        def made(*given: Any) -> rows.Figure:
            figure = make(*given)
            found.append(figure)
            numbers[id(figure)] = note(*given)
            return figure

        return made

    def error(_: str, size: Any, bound: float) -> dict[str, Any]:
        return {"bound": bound, "error": float(size) if size > NOISE else 0.0}

    def value(_: str, ours: Any, reference: Any, bound: float) -> dict[str, Any]:
        return {"bound": bound, "ours": np.asarray(ours, dtype=float)}

    makers = {"small": noted(rows.small, error), "agree": noted(rows.agree, value)}
    for module in modules():
        if module is not rows:
            for name, made in makers.items():
                if hasattr(module, name):
                    monkeypatch.setattr(module, name, made)
    return {f"{k}: {figure.what}": _plain(figure, numbers.get(id(figure))) for k, figure in enumerate(show(), start=1)}


def _plain(figure: rows.Figure, numbers: dict[str, Any] | None) -> dict[str, Any]:
    words = {"required": figure.required, "paper": figure.paper, "good": figure.good}
    return words | (numbers if numbers is not None else {"ours": ZERO.sub("", TINY.sub("tiny", figure.ours))})


def planned(machine: Stances) -> dict[str, Any]:
    """Returns the stances of a machine with the postures on the way to each, its times and its controller's items."""
    found: dict[str, Any] = {"seconds": machine.seconds, "items": machine.controller.items}
    for k, stance in enumerate(machine.plan):
        found[f"{k}: {stance.name}"] = [
            [str(step.kind), step.seconds, step.hold, sorted(step.changed), step.q[:7].tolist(), step.q]
            for step in stance.way
        ]
    return found


def drawing(picture: Any) -> dict[str, Any]:
    """Returns what a figure of Matplotlib holds: titles, words, limits, and every line, patch, bar and mesh."""
    found: dict[str, Any] = {"title": picture.get_suptitle(), "size": picture.get_size_inches()}
    for k, axes in enumerate(picture.axes):
        words = [axes.get_title(loc="left"), axes.get_xlabel(), axes.get_ylabel(), axes.get_xscale(), axes.get_yscale()]
        legend = axes.get_legend()
        lines = [
            [line.get_color(), line.get_linestyle(), line.get_linewidth(), line.get_marker(), np.array(line.get_data())]
            for line in axes.lines
        ]
        patches = [
            [np.array(patch.get_xy(), dtype=float)]
            + ([patch.get_width(), patch.get_height()] if hasattr(patch, "get_width") else [])
            for patch in axes.patches
            if hasattr(patch, "get_xy")
        ]
        cells = [[cell.get_text().get_text() for cell in table.get_celld().values()] for table in axes.tables]
        meshes = [np.ma.filled(one.get_array(), np.nan) for one in axes.collections if one.get_array() is not None]
        found[f"axes {k}"] = {
            "words": words,
            "limits": [*axes.get_xlim(), *axes.get_ylim()],
            "lines": lines,
            "patches": patches,
            "texts": [[text.get_text(), *text.xyann] for text in axes.texts if hasattr(text, "xyann")],
            "legend": [] if legend is None else [text.get_text() for text in legend.get_texts()],
            "more": [*cells, *meshes],
        }
    return found
