"""Small tables of HTML, for the representations that notebooks show."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

MOST_ROWS = 12  # shown, the rest are counted


def html_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table with a caption; everything escaped, long ones cut."""
    every = list(rows)
    head = "".join(f"<th style='text-align:left'>{escape(column)}</th>" for column in columns)
    body = "".join(
        "<tr>" + "".join(f"<td style='text-align:left'>{escape(str(cell))}</td>" for cell in row) + "</tr>"
        for row in every[:MOST_ROWS]
    )
    rest = f"<p>and {len(every) - MOST_ROWS} more</p>" if len(every) > MOST_ROWS else ""
    return f"<div><b>{escape(title)}</b><table><tr>{head}</tr>{body}</table>{rest}</div>"
