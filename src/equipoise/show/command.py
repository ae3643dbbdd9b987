"""What `equipoise view` and `equipoise report` do."""

from __future__ import annotations

import webbrowser
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape

from ..files import require_picture, require_writable, write_figure, written_somewhere
from .viewer import Viewer, view


def open_viewer(
    console: Console, source: str, *, host: str, port: int, browser: bool, quiet: bool, wait: bool = True
) -> Viewer:
    """Show a robot or a saved run until Ctrl-C."""
    with console.status(f"preparing {escape(source)} …") if not quiet else nullcontext():
        viewer = view(_robot_or_run(source), host=host, port=port)
    console.print(viewer.url, highlight=False, soft_wrap=True)
    if not quiet:
        console.print("Ctrl-C ends it.")
    if browser:
        webbrowser.open(viewer.url)
    if wait:
        viewer.wait()
    return viewer


def write_report(console: Console, run: str, output: str | None, *, rate: float, quiet: bool) -> Path:
    """Read a run, write its report, say where it is."""
    from ..simulate.run import Run
    from .report import report

    target = Path(output or Path(run).with_suffix(".html"))
    require_writable(target)
    loaded = Run.load(run)
    path = written_somewhere(target, lambda place: report(loaded, place, rate=rate, progress=not quiet))
    if not quiet:
        console.print(f"{path} ({path.stat().st_size / 1e6:.1f} MB)", highlight=False, soft_wrap=True)
    return path


def plot_command(console: Console, run: str, names: Sequence[str], out: str) -> None:
    """Draws curves of a run, all on one page."""
    from ..simulate.run import Run
    from .plots import stacked

    require_picture(out)
    figure = stacked(Run.load(run), names or None)
    console.print(f"figure: {write_figure(figure, out, dpi=150).resolve()}", highlight=False, soft_wrap=True)


def _robot_or_run(source: str) -> Any:
    if Path(source).suffix == ".npz":
        from ..simulate.run import Run

        return Run.load(source)
    from ..robot import load

    return load(source)
