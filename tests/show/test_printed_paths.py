"""Paths of files that a command wrote are printed whole, in one line, however narrow the terminal is."""

from __future__ import annotations

import io
from types import SimpleNamespace

import samples
from rich.console import Console

from equipoise.show import scenario_command, still
from equipoise.show.outputs import RunOutputs
from equipoise.simulate import scenarios
from equipoise.simulate.goals import Verdict


def narrow() -> Console:
    return Console(width=30, file=io.StringIO())


def lines(console: Console) -> list[str]:
    return console.file.getvalue().splitlines()


def test_outputs_tell_where_they_are(tmp_path):
    console, path = narrow(), tmp_path / ("long" * 12) / "run.npz"
    path.parent.mkdir()
    assert RunOutputs(console, str(path), None).write(samples.squat()) == {"run": str(path)}
    assert lines(console) == [f"run: {path}"] and path.stat().st_size > 0


def test_a_run_tells_where_its_picture_is(tmp_path, monkeypatch):
    console, path = narrow(), tmp_path / ("long" * 12) / "picture.png"
    scenario = SimpleNamespace(title="a title", about="what it is about")
    built = SimpleNamespace(scenario=scenario, robot=samples.human())
    monkeypatch.setattr(scenarios, "prepare", lambda *given, **options: built)
    monkeypatch.setattr(scenarios, "run_built", lambda *given, **options: samples.squat())
    monkeypatch.setattr(scenarios, "verdict", lambda run: Verdict(()))
    monkeypatch.setattr(scenario_command, "print_run", lambda *given: None)
    monkeypatch.setattr(still, "still", lambda run, picture: picture)
    path.parent.mkdir()
    assert scenario_command.run_command(console, "a name", picture=str(path))
    told = lines(console)
    assert f"picture: {path}" in told and told[0].startswith("a title: human, 75.0 kg")
