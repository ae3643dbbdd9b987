"""`equipoise study`: parameters on the command line, functions of files, what is written and told."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from rich.console import Console

import equipoise as eq
from equipoise.study import LogUniform, Normal, StudyError, Table, Uniform
from equipoise.study.command import read_specification, run_study

FILE = """
import neighbour

def area(width, height=2.0, unit="m"):
    if width < 0:
        raise ValueError("negative width")
    return {"area": neighbour.times(width, height), "success": width * height > 2, "text": unit}
"""


def equipoise(*arguments: str, folder) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "equipoise.cli", "study", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=folder)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "shapes.py").write_text(FILE)
    (tmp_path / "neighbour.py").write_text("def times(a, b):\n    return a * b\n")
    return tmp_path


def test_a_function_of_a_file_on_two_workers_with_table_and_plot(folder):
    arguments = (
        "shapes.py:area",
        "width=0:3:4",
        "height=1,2",
        "--workers",
        "2",
        "-o",
        "areas.parquet",
        "--plot",
        "areas.svg",
    )
    run = equipoise(*arguments, "--folder", "kept", folder=folder)
    assert run.returncode == 0, run.stderr
    table = Table.load(folder / "areas.parquet")
    assert table["area"].tolist() == [w * h for w in (0, 1, 2, 3) for h in (1, 2)]
    assert "areas.parquet" in run.stdout and "area, 8 runs" in run.stdout and "8/8" in run.stderr
    assert "rate of success" in (folder / "areas.svg").read_text()
    assert Table.load(folder / "kept").rows() == table.rows()


def test_draws_failures_and_quiet(folder):
    run = equipoise("shapes.py:area", "width=-1..1", "unit=mm,cm", "--draws", "40", "--workers", "1", folder=folder)
    assert (
        run.returncode == 0
        and "failed: ValueError: negative width" in run.stdout
        and "runs failed in all" in run.stdout
    )
    quiet = equipoise("shapes.py:area", "width=1", "--quiet", "--workers", "1", folder=folder)
    assert (quiet.returncode, quiet.stdout, quiet.stderr) == (0, "shapes.area: 1 runs, 0 failed\n", "")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["robustnes"], "no study named 'robustnes'. Did you mean 'robustness'"),
        (["absent.py:f"], "no file 'absent.py'"),
        (["absent_module:f"], "cannot import 'absent_module'"),
        (["shapes.py:volume", "width=1"], "no function in shapes.py named 'volume'"),
        (["shapes.py:area", "width"], "wanted name=values"),
        (["shapes.py:area", "width=0..1"], "say how often with --draws N"),
    ],
)
def test_mistakes_are_told(folder, arguments, words, monkeypatch):
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "path", [*sys.path])
    options = dict(draws=None, seed=0, folder=None, output=None, plot=None)
    with pytest.raises(eq.EquipoiseError, match=re.escape(words)):
        run_study(Console(quiet=True), arguments[0], arguments[1:], **options)


def test_a_mistake_is_one_line_without_traceback(folder):
    run = equipoise("shapes.py:area", "height=1", folder=folder)
    assert run.returncode == 2 and "missing a required argument: 'width'" in " ".join(run.stderr.split())
    assert "Traceback" not in run.stderr


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("a=1,2.5,x,true", [1, 2.5, "x", True]),
        ("a=0:1:5", [0.0, 0.25, 0.5, 0.75, 1.0]),
        ("a=-0.5..1e2", Uniform(-0.5, 100.0)),
        ("a=log:0.5..8", LogUniform(0.5, 8.0)),
        ("a=normal:0,30", Normal(0.0, 30.0)),
    ],
)
def test_specifications_are_read(text, wanted):
    assert read_specification(text) == ("a", wanted)


@pytest.mark.parametrize("text", ["a=1..2..3", "a=normal:1", "a=0:1:x", "=3", "a=", "1a=3"])
def test_specifications_that_cannot_be_read_are_told(text):
    with pytest.raises(StudyError, match="wanted name=values|cannot be read"):
        read_specification(text)


def test_the_package_is_the_function():
    assert eq.study(lambda x: x + 1, {"x": [1]}, workers=1, progress=False)["result"].tolist() == [2]
    assert eq.study.Grid is not None and "study" in dir(eq)
