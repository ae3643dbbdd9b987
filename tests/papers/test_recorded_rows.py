"""What the rows of the papers show, number by number: a change of their robots, states, gains or bounds is noticed."""

from __future__ import annotations

import pytest
import records
import shown

from equipoise.papers.rows import all_rows

ROWS = [
    *(f"B{k}" for k in (1, 2, 3, 4, 5, 7)),
    *(f"T{k}" for k in range(1, 8)),
    *(f"Q{k}" for k in (1, 2, 3, 4, 5, 6, 7, 9, 10)),
    *(f"H{k}" for k in range(1, 7)),
    *(f"E{k}" for k in range(1, 11)),
]

FALLS = "a pendulum's blow"  # figures of a fall, whose end depends on rounding


@pytest.mark.parametrize("name", ROWS)
def test_what_a_row_shows_is_recorded(name, monkeypatch):
    row = all_rows()[name]
    about = {"title": row.title, "paper": row.paper, "closed loop": row.closed_loop}
    figures = {what: figure for what, figure in shown.recorded(row.show, monkeypatch).items() if FALLS not in what}
    records.check(f"paper_{name}", about | {"figures": figures}, rtol=1e-5, atol=1e-8)
