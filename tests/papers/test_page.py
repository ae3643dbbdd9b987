"""All rows on one page: verdicts, commands, pictures; text stays text."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from rich.console import Console

import equipoise as eq
from equipoise.papers import page, report
from equipoise.papers.differences import DIFFERENCES
from equipoise.papers.places import PLACES
from equipoise.papers.rows import Figure, Row, all_rows, equal, small

pytest.importorskip("matplotlib")
DOCS = Path(__file__).parents[2] / "docs" / "papers.md"


def _drawn():
    from equipoise.papers.pictures import sheet

    picture, (axes,) = sheet("a line", ["one"])
    axes.plot([0, 1], [0, 1])
    yield "line", picture


GOOD = Row("X1", "EB98", "a <b>row</b> that holds", lambda: iter([small("error & more", 1e-12, 1e-9)]), _drawn)
BAD = Row("X2", "TPN17", "a row that fails", lambda: iter([Figure("count", "<6>", "5", False)]))


def written(monkeypatch, path: Path, *rows: Row) -> tuple[bool, str]:
    monkeypatch.setattr(report, "all_rows", lambda: {row.id: row for row in rows})
    good = report.reproduce(Console(file=io.StringIO()), [], page=path)
    return good, path.read_text()


def test_every_row_has_its_verdict_command_and_picture(monkeypatch, tmp_path):
    good, text = written(monkeypatch, tmp_path / "papers.html", GOOD, BAD)
    assert not good
    assert "1 of 2 rows hold" in text
    sections = dict(re.findall(r'<section id="(\w+)">(.*?)</section>', text, re.S))
    assert list(sections) == ["X2", "X1"]  # by paper
    assert "holds" in sections["X1"]
    assert "<code>equipoise reproduce X1 --plots figures</code>" in sections["X1"]
    assert sections["X1"].count('src="data:image/svg+xml;base64,') == 1
    assert "FAILS" in sections["X2"]
    assert "<code>equipoise reproduce X2</code>" in sections["X2"]
    assert "<img" not in sections["X2"]


def test_what_rows_say_is_text_and_the_page_runs_nothing(monkeypatch, tmp_path):
    _, text = written(monkeypatch, tmp_path / "papers.html", GOOD, BAD)
    assert "&lt;b&gt;row&lt;/b&gt;" in text
    assert "&lt;6&gt;" in text
    assert "error &amp; more" in text
    assert "<script" not in text
    assert "default-src 'none'" in text


def test_a_picture_that_fails_is_a_figure_that_is_not_good(monkeypatch, tmp_path):
    def broken():
        raise ValueError("no ink")
        yield

    _, text = written(monkeypatch, tmp_path / "papers.html", Row("X3", "EB98", "title", GOOD.show, broken))
    assert "no ink" in text
    assert "0 of 1 rows hold" in text


@pytest.mark.parametrize("place", ["missing/papers.html", "."])
def test_a_place_that_will_not_do_is_refused_before_anything_runs(monkeypatch, tmp_path, place):
    def never():
        raise AssertionError("ran")
        yield

    monkeypatch.setattr(report, "all_rows", lambda: {"X1": Row("X1", "EB98", "title", never)})
    with pytest.raises(eq.EquipoiseError, match="cannot write"):
        report.reproduce(Console(file=io.StringIO()), [], page=tmp_path / place)
    assert list(tmp_path.iterdir()) == []


def test_what_the_paper_states_is_marked_apart_from_what_is_ours(monkeypatch, tmp_path):
    figures = [equal("rank [slide 14]", 3, 3), small("error [Eqs. 2, 10]", 1e-12, 1e-9), small("rest", 0.0, 1e-9)]
    row = Row("T3", "TPN17", "a title", lambda: iter(figures))
    _, text = written(monkeypatch, tmp_path / "papers.html", row)
    (stated, law, rest) = re.findall(r"<tr>(<td>.*?)</tr>", text)
    assert "<td>rank</td><td>slide 14</td>" in stated
    assert '<span class="paper">3</span>' in stated
    assert "<td>error</td><td>Eqs. 2, 10</td><td></td><td>≤ 1e-09</td><td>1.0e-12</td>" in law
    assert f'<td>rest</td><td class="hint">{PLACES["T3"]}</td><td></td>' in rest


def test_every_row_has_its_place_in_the_paper():
    assert list(PLACES) == list(all_rows())


def test_a_row_without_figures_does_not_hold():
    assert not page.Shown(GOOD, []).holds


def test_docs_say_of_every_row_where_it_differs_from_its_paper():
    assert list(DIFFERENCES) == sorted(DIFFERENCES, key=list(all_rows()).index)
    assert set(DIFFERENCES) == set(all_rows())
    text = DOCS.read_text()
    for row, words in DIFFERENCES.items():
        assert f"| {row} | {words} |" in text, f"docs/papers.md lacks the line of {row}"
