"""What the benches print of their rows, and whether all are good."""

from __future__ import annotations

import io
from dataclasses import dataclass

import pytest
from rich.console import Console

from equipoise.bench.tables import Bench, report
from equipoise.show.outputs import Outcome


@dataclass
class Plain:
    """A row without a verdict, of a bench that needs no quiet machine."""

    name: str = "one"


@dataclass
class Judged(Plain):
    good: bool = True


@dataclass
class Timed(Plain):
    trustworthy: bool = True


def told(rows: list[Plain], quiet: bool = False) -> tuple[Outcome, str]:
    bench = Bench(lambda options: iter(rows), "title", ["name"], lambda row: [row.name], quiet=quiet)
    console = Console(width=120, record=True, file=io.StringIO())
    outcome = report(console, bench, iter(rows))
    return outcome, console.export_text()


@pytest.mark.parametrize("quiet", [False, True])
@pytest.mark.parametrize(
    ("rows", "good"),
    [
        ([], True),
        ([Plain()], True),
        ([Judged(good=True), Plain()], True),
        ([Judged(good=False), Judged(good=True)], False),
        ([Judged(good=True), Judged(good=False)], False),
    ],
)
def test_a_bench_is_good_if_every_row_with_a_verdict_is(rows, good, quiet):
    outcome, _ = told(rows, quiet)
    assert outcome.good is good and [row["name"] for row in outcome.data] == ["one"] * len(rows)


@pytest.mark.parametrize(
    ("rows", "asked"),
    [
        ([Plain(), Judged()], False),
        ([Timed(), Plain()], False),
        ([Timed(), Timed(trustworthy=False), Timed()], True),
        ([Timed(trustworthy=False), Plain()], True),
    ],
)
def test_it_is_to_be_run_again_only_where_a_row_is_not_trustworthy(rows, asked):
    assert ("run it again" in told(rows)[1]) is asked
