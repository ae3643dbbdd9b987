"""What the rows of the papers show, number by number: a change of their robots, states, gains or bounds is noticed."""

from __future__ import annotations

import pytest
import records
import shown

from equipoise.papers.rows import all_rows

ROWS = ["T1", "T2", "T3", "T4", "T5", "T6", "T7", *(f"H{k}" for k in range(1, 7)), *(f"E{k}" for k in range(1, 11))]


@pytest.mark.parametrize("name", ROWS)
def test_what_a_row_shows_is_recorded(name, monkeypatch):
    row = all_rows()[name]
    about = {"title": row.title, "paper": row.paper, "closed loop": row.closed_loop}
    records.check(f"paper_{name}", about | {"figures": shown.recorded(row.show, monkeypatch)}, rtol=1e-5, atol=1e-8)
