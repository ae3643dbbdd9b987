"""The command line: what it prints, and how it fails."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest

from bench import growth
from equipoise.bench import dynamics, quiet_timing, tables
from equipoise.papers.rows import all_rows

SPECIFIED = [
    *(f"B{k}" for k in range(1, 8)), *(f"T{k}" for k in range(1, 8)), *(f"Q{k}" for k in range(1, 12)),
    *(f"H{k}" for k in range(1, 7)), *(f"E{k}" for k in range(1, 11)),
]  # fmt: skip


def equipoise(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "equipoise.cli", *arguments], capture_output=True, text=True, timeout=300
    )


def test_info_tells_what_a_robot_is():
    run = equipoise("info", "arm6")
    assert run.returncode == 0
    for word in ("mass", "21.900 kg", "joint_6", "revolute", "positive definite"):
        assert word in run.stdout


def test_a_users_error_is_one_line_without_traceback():
    run = equipoise("info", "arn6")
    assert run.returncode == 2
    assert "no robot named 'arn6'" in run.stderr
    assert "Traceback" not in run.stderr + run.stdout


def test_every_row_of_the_specification_is_listed():
    assert list(all_rows()) == SPECIFIED


def test_reproduce_prints_figures_and_verdicts():
    run = equipoise("reproduce", "T7", "B4")
    assert run.returncode == 0
    assert re.search(r"T7.*holds", run.stdout)
    assert re.search(r"B4.*holds", run.stdout)
    assert "2 rows hold" in run.stdout


def test_reproduce_writes_pictures(tmp_path):
    run = equipoise("reproduce", "E4", "--plots", str(tmp_path))
    assert run.returncode == 0
    assert "1 picture in" in run.stdout
    assert (tmp_path / "EB98-fig-9-kinetic-jacobian.svg").stat().st_size > 1000


def test_reproduce_knows_its_rows():
    run = equipoise("reproduce", "T99")
    assert run.returncode == 2
    assert "no row named 'T99'" in run.stderr


def test_reproduce_fails_when_a_row_does(monkeypatch):
    from rich.console import Console

    from equipoise.papers import report
    from equipoise.papers.rows import Row, small

    bad = Row("X1", "EB98", "a row that fails", lambda: iter([small("error", 1.0, 1e-9)]))
    monkeypatch.setattr(report, "all_rows", lambda: {"X1": bad})
    assert report.reproduce(Console(quiet=True), []).good is False


# Seconds and more. Fast tests: B5 control/test_controller, H3 simulate/test_plants, Q4 control/test_vfi,
# Q9 forms/test_principles, E3 balance/test_chains. B7, Q5, Q6 and E9 are run by the fast ones of their breakages.
SLOW = {"B5", "B6", "B7", "Q4", "Q5", "Q6", "Q8", "Q9", "Q11", "H3", "E3", "E9"}
ROWS = [
    pytest.param(row, id=row.id, marks=[pytest.mark.paper(row.id), *([pytest.mark.slow] if row.id in SLOW else [])])
    for row in all_rows().values()
    if row.show is not None
]


@pytest.mark.parametrize("row", ROWS)
def test_rows_of_the_papers_hold(row):
    figures = list(row.show())
    assert figures
    assert not [figure for figure in figures if not figure.good]


def test_the_gate_compares_in_turns_and_keeps_quiet_rounds():
    slow, fast = (lambda: sum(range(60_000))), (lambda: sum(range(20_000)))
    result = quiet_timing.benchmark({"equipoise": (fast, 1), "other": (slow, 1)}, rounds=15)
    median, low, high = result.ratios["other"]
    assert low <= median <= high
    assert 0.15 < median < 0.7
    assert result.rounds == 15


def test_bench_rows_are_plain_data():
    row = dynamics.BenchRow(
        "talos", "mass_matrix", "one call", 1.0, {"pinocchio": 5.0}, {"pinocchio": (0.2, 0.19, 0.21)}, True
    )
    assert json.loads(json.dumps(tables.plain(row)))["ratios"]["pinocchio"][0] == 0.2


def test_growth_of_the_snake_is_linear_in_instructions():
    """Compiled size per joint must not grow; what time does is for the bench to say."""
    small, large = (row.instructions / row.n for row in growth.growth((10, 40), rounds=3))
    assert large < 1.25 * small


def test_stand_prints_who_is_who_and_what_was_tried(tmp_path):
    run = equipoise("stand", "quadruped", "--save", str(tmp_path / "mine.toml"))
    assert run.returncode == 0, run.stdout + run.stderr
    assert "left front foot" in run.stdout and "front (1, 0, 0)" in run.stdout
    assert "quadruped: 6 of 6" in run.stdout
    assert 'link = "front_left_shank"' in (tmp_path / "mine.toml").read_text()


def test_stand_says_what_to_write_where_there_are_no_feet():
    run = equipoise("stand", "arm6", "--quiet")
    assert run.returncode == 2
    assert '[parts."left foot"]' in " ".join(run.stderr.split())
