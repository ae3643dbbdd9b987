"""What `equipoise view`, `report` and `plot` do."""

from __future__ import annotations

import webbrowser
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape

from ..files import require_picture, require_writable, write_figure, written_somewhere
from .outputs import Outcome, file_outcome, watched
from .viewer import Viewer, view


def open_viewer(console: Console, source: str, *, host: str, port: int, browser: bool) -> tuple[Viewer, Outcome]:
    """Opens a viewer of a robot or a saved run; it stays until Ctrl-C."""
    with console.status(f"preparing {escape(source)} …"):
        viewer = view(_robot_or_run(source), host=host, port=port)
    console.print("Ctrl-C ends the viewer.")
    if browser:
        webbrowser.open(viewer.url)
    return viewer, Outcome(viewer.url, {"url": viewer.url}, then=viewer.wait)


def write_report(console: Console, run: str, output: str | None, *, rate: float) -> Outcome:
    """Reads a run and writes its report."""
    from ..simulate.run import Run
    from .report import report

    target = Path(output or Path(run).with_suffix(".html"))
    require_writable(target)
    loaded = Run.load(run)
    path = written_somewhere(target, lambda place: report(loaded, place, rate=rate, progress=watched(console)))
    return file_outcome("report", path)


def plot_command(run: str, names: Sequence[str], out: str) -> Outcome:
    """Draws curves of a run, all on one page."""
    from ..simulate.run import Run
    from .plots import stacked

    require_picture(out)
    return file_outcome("figure", write_figure(stacked(Run.load(run), names or None), out, dpi=150))


def _robot_or_run(source: str) -> Any:
    if Path(source).suffix in (".npz", ".mcap"):
        from ..simulate.run import Run

        return Run.load(source)
    from ..robot import load

    return load(source)
