"""The rows of the papers on the terminal, and their pictures in a folder."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.progress import track

from ..errors import EquipoiseError, unknown_name
from ..files import require_writable, written_somewhere
from ..robot import load
from ..show.outputs import Outcome, watched
from ..show.tables import table
from ..simulate.interruption import interruption_deferred
from .page import Shown, write_page
from .pictures import KINDS, drawn, require_matplotlib, write
from .rows import Figure, Row, all_rows, rows_named


def reproduce(
    console: Console,
    ids: Sequence[str],
    *,
    plots: str | Path | None = None,
    kind: str = "svg",
    page: str | Path | None = None,
    robot: str | Path | None = None,
    perturb: float | None = None,
    seeds: int = 1,
) -> Outcome:
    """Runs rows (all, if none is named), prints the paper's figure beside ours; good if all that is built holds.

    Args:
        plots: folder for pictures like the papers', made if it is not there; no pictures if None.
        kind: of picture, "svg" or "png".
        page: HTML file with all rows, their pictures and commands; none if None.
        robot: description or name of a robot on which the rows are to run, for rows that take one.
        perturb: size of uniform errors of joints, base and velocities (rad, m, rad/s, m/s) in closed loops.
        seeds: how many draws of these errors, each of which runs the row once.
    """
    chosen = _chosen(ids, robot, perturb, seeds)
    _require_places(plots, kind, page)
    results: list[Shown] = []
    written: list[Path] = []
    try:
        for row in track(chosen, "reproducing", console=console, transient=True, disable=not watched(console)):
            results.append(_shown(row, None if plots is None else Path(plots), kind, page is not None, written))
    except KeyboardInterrupt:
        console.print(f"interrupted by Ctrl-C: {len(results)} of {len(chosen)} rows were run")
    with interruption_deferred():
        _print(console, results, written)
        if page is not None:
            path = written_somewhere(page, lambda place: write_page(results, place))
            console.print(f"page: {escape(str(path))}", highlight=False)
    bad = _bad(results)
    rows = [{"row": one.row.id, "holds": one.row.id not in bad, "seconds": one.seconds} for one in results]
    fails = f", {len(bad)} do not: {', '.join(bad)}" if bad else ""
    return Outcome(f"{_held(results)} rows hold{fails}", rows, not bad and len(results) == len(chosen))


def _require_places(plots: str | Path | None, kind: str, page: str | Path | None) -> None:
    """What can go wrong with files goes wrong now, not after the first experiment."""
    if plots is not None or page is not None:
        require_matplotlib()
    require_writable(page)
    if plots is not None:
        if kind not in KINDS:
            raise unknown_name("kind of picture", kind, KINDS)
        if Path(plots).exists() and not Path(plots).is_dir():
            raise EquipoiseError(f"pictures go into a folder; {str(plots)!r} is a file")


def _shown(row: Row, folder: Path | None, kind: str, on_page: bool, written: list[Path]) -> Shown:
    """Run a row, and draw its pictures where they are wanted; what goes wrong with them is a figure that is not
    good."""
    start, drawings = time.perf_counter(), []
    figures = figures_of(row)
    if row.plots is not None and (folder is not None or on_page):
        try:
            for name, picture in row.plots():
                if folder is not None:
                    written.append(write(picture, folder, f"{row.paper}-{name}", kind))
                if on_page:
                    drawings.append((name, drawn(picture, f"{row.paper}-{name}")))
        except Exception as error:
            figures.append(_stopped(error))
    return Shown(row, figures, drawings, time.perf_counter() - start)


def _chosen(ids: Sequence[str], robot: str | Path | None, perturb: float | None, seeds: int) -> list[Row]:
    rows = list((rows_named(ids) if ids else all_rows()).values())
    if robot is not None:
        loaded = load(robot)
        rows = [row.on_robot(loaded) for row in rows if ids or row.on]
    if perturb is not None:
        if not (perturb > 0 and seeds >= 1):
            raise EquipoiseError(f"errors need a size above 0 and at least one seed; given {perturb:g}, {seeds}")
        loops = [row for row in rows if ids or row.closed_loop]
        rows = [row.perturbed(perturb, seed) for row in loops for seed in range(seeds)]
    return rows


def figures_of(row: Row) -> list[Figure]:
    """What the row shows. An error is a figure that is not good: it must not hide the other rows."""
    figures: list[Figure] = []
    try:
        for figure in row.show() if row.show is not None else ():
            figures.append(figure)
    except Exception as error:
        figures.append(_stopped(error))
    return figures


def _stopped(error: Exception) -> Figure:
    return Figure("stopped by an error", "none", f"{type(error).__name__}: {error}", False)


def _bad(results: Sequence[Shown]) -> list[str]:
    """Rows that are built and do not hold."""
    return [one.row.id for one in results if one.row.show is not None and not one.holds]


def _held(results: Sequence[Shown]) -> int:
    return sum(one.row.show is not None for one in results) - len(_bad(results))


def _print(console: Console, results: Sequence[Shown], written: list[Path]) -> None:
    lines = [line for one in results for line in _lines(one)]
    console.print(
        table(
            "what the papers state (empty: no figure of theirs), what is required here, what comes out",
            ["row", "what", "stated in the paper", "required here", "comes out", ""],
            lines,
            words=2,
        )
    )
    open_rows = [one.row.id for one in results if one.row.show is None]
    if written:
        console.print(
            f"{len(written)} picture{'s' * (len(written) > 1)} in {escape(str(written[0].parent))}", highlight=False
        )
    if open_rows:
        console.print(f"not built yet: {', '.join(open_rows)}")
    console.print(f"{sum(one.seconds for one in results):.0f} s for {len(results)} rows", highlight=False)


def _lines(one: Shown) -> list[tuple[str, ...]]:
    verdict = "open" if one.row.show is None else "FAILS" if _bad([one]) else "holds"
    source = escape(f"{one.row.paper}, {one.row.place}" if one.row.place else one.row.paper)
    head = (one.row.id, f"[bold]{one.row.title}[/] ({source})", "", "", f"{one.seconds:.1f} s", verdict)
    cells = [
        (figure.what, figure.paper, figure.required, figure.ours, "✓" if figure.good else "✗") for figure in one.figures
    ]
    return [head, *(("", *map(escape, cell)) for cell in cells)]
