"""The rows of the papers on the terminal, and their pictures in a folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.progress import track

from ..errors import EquipoiseError, unknown_name
from ..show.tables import table
from .pictures import KINDS, require_matplotlib, write
from .rows import Figure, Row, all_rows


def reproduce(
    console: Console, ids: Sequence[str], *, quiet: bool = False, plots: str | Path | None = None, kind: str = "svg"
) -> bool:
    """Run rows (all, if none is named), print the paper's figure beside ours; whether all that is built holds.

    Args:
        plots: folder for pictures like the papers', made if it is not there; no pictures if None.
        kind: of picture, "svg" or "png".
    """
    chosen = _chosen(ids)
    if plots is not None:
        require_matplotlib()  # now, not after the first experiment
        if kind not in KINDS:
            raise unknown_name("kind of picture", kind, KINDS)
        if Path(plots).exists() and not Path(plots).is_dir():
            raise EquipoiseError(f"pictures go into a folder; {str(plots)!r} is a file")
    results: list[tuple[Row, list[Figure]]] = []
    written: list[Path] = []
    for row in track(chosen, "reproducing", console=console, transient=True, disable=quiet):
        figures = figures_of(row)
        if plots is not None and row.plots is not None:
            figures += _pictures(row, Path(plots), kind, written)
        results.append((row, figures))
    _print(console, results, written)
    return not _bad(results)


def _chosen(ids: Sequence[str]) -> list[Row]:
    rows = all_rows()
    for name in ids:
        if name not in rows:
            raise unknown_name("row", name, rows)
    return [rows[name] for name in ids] if ids else list(rows.values())


def figures_of(row: Row) -> list[Figure]:
    """What the row shows. An error is a figure that is not good: it must not hide the other rows."""
    figures: list[Figure] = []
    try:
        for figure in row.show() if row.show is not None else ():
            figures.append(figure)
    except Exception as error:
        figures.append(_stopped(error))
    return figures


def _pictures(row: Row, folder: Path, kind: str, written: list[Path]) -> list[Figure]:
    """Write the row's pictures; what went wrong."""
    try:
        for name, picture in row.plots() if row.plots is not None else ():
            written.append(write(picture, folder, f"{row.paper}-{name}", kind))
    except Exception as error:
        return [_stopped(error)]
    return []


def _stopped(error: Exception) -> Figure:
    return Figure("stopped by an error", "none", f"{type(error).__name__}: {error}", False)


def _bad(results: list[tuple[Row, list[Figure]]]) -> list[str]:
    """Rows that do not hold; a row that shows nothing does not."""
    return [row.id for row, figures in results if row.show is not None and not (figures and all(f.good for f in figures))]


def _print(console: Console, results: list[tuple[Row, list[Figure]]], written: list[Path]) -> None:
    lines = [line for row, figures in results for line in _lines(row, figures)]
    console.print(table("what the papers say, and what comes out here", ["row", "what", "paper", "ours", ""], lines, words=2))
    open_rows, bad = [row.id for row, _ in results if row.show is None], _bad(results)
    if written:
        console.print(f"{len(written)} picture{'s' * (len(written) > 1)} in {escape(str(written[0].parent))}", highlight=False)
    if open_rows:
        console.print(f"not built yet: {', '.join(open_rows)}")
    good = len(results) - len(open_rows) - len(bad)
    console.print(f"{good} rows hold" + (f", [bold red]{len(bad)} do not: {', '.join(bad)}[/]" if bad else ""))


def _lines(row: Row, figures: list[Figure]) -> list[tuple[str, ...]]:
    verdict = "open" if row.show is None else "FAILS" if _bad([(row, figures)]) else "holds"
    head = (row.id, f"[bold]{row.title}[/] ({row.paper})", "", "", verdict)
    cells = [(figure.what, figure.paper, figure.ours, "✓" if figure.good else "✗") for figure in figures]
    return [head, *(("", *map(escape, cell)) for cell in cells)]
