"""The rows of the papers on the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape
from rich.progress import track

from ..errors import unknown_name
from ..show.tables import table
from .rows import Figure, Row, all_rows


def reproduce(console: Console, ids: Sequence[str], *, quiet: bool = False) -> bool:
    """Run rows (all, if none is named), print the paper's figure beside ours; whether all that is built holds."""
    rows = all_rows()
    for name in ids:
        if name not in rows:
            raise unknown_name("row", name, rows)
    chosen = [rows[name] for name in ids] if ids else list(rows.values())
    results: list[tuple[Row, list[Figure]]] = []
    for row in track(chosen, "reproducing", console=console, transient=True, disable=quiet):
        results.append((row, [] if row.show is None else list(row.show())))
    lines = [line for row, figures in results for line in _lines(row, figures)]
    console.print(table("what the papers say, and what comes out here", ["row", "what", "paper", "ours", ""], lines, words=2))
    open_rows = [row.id for row, _ in results if row.show is None]
    if open_rows:
        console.print(f"not built yet: {', '.join(open_rows)}")
    bad = [row.id for row, figures in results if not all(figure.good for figure in figures)]
    good = sum(bool(figures) for _, figures in results) - len(bad)
    console.print(f"{good} rows hold" + (f", [bold red]{len(bad)} do not: {', '.join(bad)}[/]" if bad else ""))
    return not bad


def _lines(row: Row, figures: list[Figure]) -> list[tuple[str, ...]]:
    verdict = "open" if row.show is None else "holds" if all(figure.good for figure in figures) else "FAILS"
    head = (row.id, f"[bold]{row.title}[/] ({row.paper})", "", "", verdict)
    cells = [(figure.what, figure.paper, figure.ours, "✓" if figure.good else "✗") for figure in figures]
    return [head, *(("", *map(escape, cell)) for cell in cells)]
