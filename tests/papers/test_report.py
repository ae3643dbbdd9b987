"""What `equipoise reproduce` prints of rows that hold, fail, stop or are not built."""

from __future__ import annotations

import importlib
import inspect
import io
import subprocess
import sys

import pytest
from rich.console import Console

import equipoise as eq
from equipoise.papers import report
from equipoise.papers.rows import PAPERS, Figure, Row, all_rows, equal, rows_named, small

GOOD = Row("X1", "EB98", "a row that holds", lambda: iter([small("error", 1e-12, 1e-9)]))
BAD = Row("X2", "EB98", "a row that fails", lambda: iter([small("error", 1e-12, 1e-9), equal("count", 5, 6)]))
OPEN = Row("X3", "EB98", "a row that is not built")
EMPTY = Row("X5", "EB98", "a row that shows nothing", lambda: iter([]))


def _stops():
    yield small("first", 0.0, 1.0)
    raise ValueError("singular [matrix]")


STOPS = Row("X4", "EB98", "a row that stops", _stops)


def printed(monkeypatch, *rows: Row) -> tuple[bool, str]:
    monkeypatch.setattr(report, "all_rows", lambda: {row.id: row for row in rows})
    text = io.StringIO()
    outcome = report.reproduce(Console(file=text, width=140), [])
    return outcome.good, text.getvalue() + outcome.text


def test_a_row_that_holds(monkeypatch):
    good, text = printed(monkeypatch, GOOD)
    assert good
    assert "1 rows hold" in text
    assert "not built" not in text


def test_a_failure_shows_both_figures_and_fails(monkeypatch):
    good, text = printed(monkeypatch, GOOD, BAD)
    assert not good
    assert "FAILS" in text
    assert "1 rows hold, 1 do not: X2" in text
    (line,) = [line for line in text.splitlines() if "count" in line]
    assert line.index("6") < line.index("5") < line.index("✗")


def test_rows_not_built_are_listed(monkeypatch):
    good, text = printed(monkeypatch, GOOD, OPEN)
    assert good
    assert "not built yet: X3" in text


def test_an_error_fails_its_row_and_hides_no_other(monkeypatch):
    good, text = printed(monkeypatch, STOPS, GOOD)
    assert not good
    assert "ValueError: singular [matrix]" in text
    assert "first" in text
    assert "1 rows hold, 1 do not: X4" in text


def test_a_row_that_shows_nothing_does_not_hold(monkeypatch):
    good, text = printed(monkeypatch, EMPTY)
    assert not good
    assert "0 rows hold, 1 do not: X5" in text


@pytest.mark.parametrize(("error", "good"), [(1e-10, True), (1e-8, False), (float("nan"), False)])
def test_small_needs_a_number_below_its_bound(error, good):
    assert small("x", error, 1e-9).good is good
    assert isinstance(small("x", error, 1e-9), Figure)


def test_every_row_names_its_paper():
    for row in all_rows().values():
        assert row.paper in PAPERS
        assert row.title


def test_only_the_papers_that_are_asked_for_are_imported():
    code = "import sys; from equipoise.papers.rows import rows_named; rows_named(['T3', 'T1'])"
    code += "; assert 'equipoise.papers.tpn17' in sys.modules; assert 'equipoise.papers.qo21' not in sys.modules"
    assert subprocess.run([sys.executable, "-c", code], timeout=120).returncode == 0


def test_a_row_of_algebra_needs_no_controller():
    code = "import sys; from equipoise.papers.rows import rows_named; assert list(rows_named(['Q1'])['Q1'].show())"
    code += (
        "; assert not [name for name in sys.modules if name.startswith(('equipoise.control', 'equipoise.simulate'))]"
    )
    assert subprocess.run([sys.executable, "-c", code], timeout=120).returncode == 0


def test_what_a_row_imports_when_it_is_run_is_there():
    looked = 0
    for row in all_rows().values():
        for shown in (row.show, row.plots):
            names = {} if shown is None else inspect.getclosurevars(shown).nonlocals
            if "module" in names:
                module = importlib.import_module(f"equipoise.papers.{names['module']}")
                assert callable(getattr(module, names["function"], None)), (row.id, names)
                looked += 1
    assert looked > 15


def test_rows_come_in_the_order_they_are_named():
    assert list(rows_named(["T3", "E1", "T1"])) == ["T3", "E1", "T1"]
    with pytest.raises(eq.UnknownNameError, match="T99"):
        rows_named(["T1", "T99"])
