"""Tables on the terminal, in one style."""

from __future__ import annotations

from collections.abc import Iterable

from rich.table import Table


def table(title: str, columns: Iterable[str], rows: Iterable[Iterable[str]] = (), *, words: int = 1) -> Table:
    """The first columns hold words and go to the left, figures to the right."""
    result = Table(title=title, title_justify="left", header_style="bold")
    for k, column in enumerate(columns):
        result.add_column(column, justify="left" if k < words else "right")
    for row in rows:
        result.add_row(*row)
    return result
