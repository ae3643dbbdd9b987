"""What `equipoise study` does: a shipped study or a function of a file, over parameters written on the command line."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table as Printed

from ..errors import require_packages, unknown_name
from ..files import require_picture, require_writable, write_figure, written_somewhere
from ..show.outputs import Outcome
from .parameters import Choice, Draws, Grid, LogUniform, Normal, StudyError, Uniform, Value
from .run import study
from .table import ENDINGS, INTERRUPTED, Table

SHIPPED = ("robustness",)
MOST_FAILURES = 5  # shown


def run_study(
    console: Console,
    what: str,
    specifications: Sequence[str],
    *,
    draws: int | None,
    seed: int,
    folder: str | None,
    output: str | None,
    plot: str | None,
    **options: Any,
) -> Outcome:
    """Runs, writes what was asked for, and tells how it went; good if it came to its end and not all runs failed."""
    _require_outputs(output, plot)
    written = dict(map(read_specification, specifications))
    if what in SHIPPED:
        from .robustness import demo_run, robustness_draws

        function: Callable[..., Any] = demo_run
        parameters: Any = robustness_draws(
            draws or 200, seed=seed, **{name: _drawn(name, x) for name, x in written.items()}
        )
    else:
        function = load_function(what)
        parameters = _draws(draws, seed, written) if draws else _grid(written)
    table = study(function, parameters, folder=folder, progress=not console.quiet, **options)
    files = {"table": str(written_somewhere(output, table.save))} if output else {}
    show(console, table)
    if plot and not table.failed.all():
        from .plots import success_figure

        files["plot"] = str(write_figure(success_figure(table), plot))
    for path in files.values():
        console.print(path, highlight=False, soft_wrap=True)
    good, failed = not (table["failure"] == INTERRUPTED).any() and not table.failed.all(), int(table.failed.sum())
    data = {"runs": len(table), "failed": failed, "files": files}
    return Outcome(f"{table.function}: {len(table)} runs, {failed} failed", data, good)


def _require_outputs(output: str | None, plot: str | None) -> None:
    """What can go wrong with files goes wrong now, not after the last run."""
    require_writable(output, plot)
    if output and Path(output).suffix not in ENDINGS:
        raise StudyError(f"{output!r}: tables are .npz or .parquet, not {Path(output).suffix}")
    if output and output.endswith(".parquet"):
        require_packages("study", "a table as Parquet", "pyarrow")
    if plot:
        require_packages("view", "a figure", "matplotlib")
        require_picture(plot)


def load_function(what: str) -> Callable[..., Any]:
    """FILE.py:function, or package.module:function."""
    place, colon, name = what.rpartition(":")
    if not colon:
        raise unknown_name("study", what, (*SHIPPED, "FILE.py:function", "package.module:function"))
    if place.endswith(".py"):
        path = Path(place)
        spec = importlib.util.spec_from_file_location(path.stem, path)
        if not path.is_file() or spec is None or spec.loader is None:
            raise StudyError(f"no file {place!r}")
        module = importlib.util.module_from_spec(spec)
        sys.modules.setdefault(path.stem, module)
        sys.path.insert(0, str(path.parent.resolve()))  # so that the file can import its neighbours
        spec.loader.exec_module(module)
    else:
        try:
            module = importlib.import_module(place)
        except ImportError as error:
            raise StudyError(f"cannot import {place!r}: {error}") from None
    if not callable(getattr(module, name, None)):
        functions = [key for key, x in vars(module).items() if callable(x) and not key.startswith("_")]
        raise unknown_name(f"function in {place}", name, functions)
    return getattr(module, name)


# --- parameters on the command line -----------------------------------------------------------------------------------


def read_specification(text: str) -> tuple[str, Any]:
    """`name=…`: values `1,2,5`; evenly spaced `0:1:11`; drawn `0.3..1`, `log:0.3..3`, `normal:0,30`."""
    name, equals, given = text.partition("=")
    if not equals or not name.isidentifier() or not given:
        raise StudyError(f"{text!r}: wanted name=values, such as friction=0.3,0.8 or mass=0:1:11 or push=-50..50")
    try:
        if given.startswith("normal:"):
            return name, Normal(*map(float, given.removeprefix("normal:").split(",")))
        if ".." in given:
            distribution = LogUniform if given.startswith("log:") else Uniform
            return name, distribution(*map(float, given.removeprefix("log:").split("..")))
        if given.count(":") == 2:
            low, high, count = given.split(":")
            return name, np.linspace(float(low), float(high), int(count)).tolist()
    except (ValueError, TypeError):
        raise StudyError(
            f"{text!r}: cannot be read. Values: 1,2,5. Evenly spaced: 0:1:11. Drawn: 0.3..1, log:0.3..3, normal:0,30 "
            "(mean, deviation)."
        ) from None
    return name, [_value(part) for part in given.split(",")]


def _value(text: str) -> Value:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return {"true": True, "false": False}.get(text.lower(), text)


def _drawn(name: str, given: Any) -> Any:
    return given if not isinstance(given, list) else given[0] if len(given) == 1 else Choice(given)


def _draws(count: int, seed: int, written: dict[str, Any]) -> Draws:
    return Draws(count, {name: _drawn(name, given) for name, given in written.items()}, seed=seed)


def _grid(written: dict[str, Any]) -> Grid:
    for name, given in written.items():
        if not isinstance(given, list):
            raise StudyError(
                f"{name!r} is to be drawn ({given}): say how often with --draws N, or give values such as 0:1:11"
            )
    return Grid(written)


# --- what came of it --------------------------------------------------------------------------------------------------


def show(console: Console, table: Table) -> None:
    """The results in a few lines: range and mean of numbers, counts of texts and of true and false, failures."""
    printed = Printed("result", "runs", "least", "mean", "largest", title=f"{table.function}, {len(table)} runs")
    for name in table.results:
        column = table[name][~table.failed]
        printed.add_row(name, str(len(column)), *_summary(column))
    console.print(printed)
    failures = [(run, text) for run, text in zip(table["run"].tolist(), table["failure"].tolist(), strict=True) if text]
    for run, text in failures[:MOST_FAILURES]:
        console.print(f"run {run} failed: {text}", style="red", highlight=False, markup=False)
    if len(failures) > MOST_FAILURES:
        console.print(f"… {len(failures)} runs failed in all", style="red", highlight=False)


def _summary(column: np.ndarray) -> tuple[str, str, str]:
    if column.dtype.kind == "U":
        values, counts = np.unique(column, return_counts=True)
        most = sorted(zip(counts.tolist(), values.tolist(), strict=True), reverse=True)[:4]
        return "", ", ".join(f"{str(value)[:30] or '—'} {count}" for count, value in most), ""
    numbers = column.astype(float)
    numbers = numbers[np.isfinite(numbers)]
    if not len(numbers):
        return "", "no numbers", ""
    return tuple(f"{reduce(numbers):.4g}" for reduce in (np.min, np.mean, np.max))  # type: ignore[return-value]
