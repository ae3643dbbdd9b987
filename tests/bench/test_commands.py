"""The bench of changing commands: its verdict can say no."""

from __future__ import annotations

import inspect
import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from typer.testing import CliRunner

from bench import commands, courses, estimated, grounds, trot
from bench.__main__ import BENCHES, main
from bench.commands import tally
from bench.self_contact import SelfContact
from bench.walk_trials import WalkTrial
from equipoise import cli
from equipoise.bench.tables import report
from equipoise.simulate.walk_trials import Leg


def trial(seed: int, outcome: str = "completed", speed: float = 0.4, touch: float = 0.0) -> WalkTrial:
    legs = (Leg(0.0, 1.0, (0.4, 0.0, 0.0), (speed, 0.01, 0.0)), Leg(1.0, 2.0, (0.0, 0.0, -0.5), (0.0, 0.0, -0.5)))
    inside = SelfContact(("hand", "thigh"), touch, 3) if touch else None
    return WalkTrial(seed, legs, SimpleNamespace(outcome=outcome), 0.5 + 0.01 * seed, -0.1 + 0.001 * seed, inside)


@pytest.mark.parametrize(("failures", "verdict"), [(0, True), (1, True), (2, False)])
@pytest.mark.parametrize("wrong", [{"outcome": "fell"}, {"speed": 0.3}, {"speed": np.nan}, {"touch": 0.003}])
def test_one_of_twenty_may_fail(failures, verdict, wrong):
    trials = [trial(seed, **(wrong if seed < failures else {})) for seed in range(20)]
    row = tally("g1", trials)
    assert row.good is verdict and row.failed == tuple(range(failures)) and row.seeds == 20
    assert row.completed == 20 - (failures if "outcome" in wrong else 0)
    assert row.effort == pytest.approx(0.69) and row.excess == pytest.approx(-0.081)
    assert row.touch == (0.003 if failures and "touch" in wrong else 0.0)
    if failures and wrong.get("speed") == 0.3:
        assert row.off == pytest.approx(0.25)


def test_a_figure_that_is_not_finite_is_shown():
    """Wherever it stands among the others: max(0.0, nan) is 0.0."""
    for order in ((0, 1), (1, 0)):
        trials = [(trial(0), replace(trial(1, speed=np.nan), effort=np.nan))[k] for k in order]
        row = tally("g1", trials)
        assert np.isnan(row.off) and np.isnan(row.effort) and not np.isnan(row.excess)


def test_no_seed_is_no_success():
    assert not commands.CommandsTally("g1", 0, 0, (), 0.0, 0.0, -1.0, 0.0).good


def test_of_seeds_that_all_fell_at_once_no_velocity_is_known():
    row = tally("g1", [WalkTrial(0, (), SimpleNamespace(outcome="fell"), 0.5, -0.1)])
    assert np.isnan(row.off) and row.completed == 0 and not row.good


@pytest.mark.parametrize(
    ("what", "module"),
    [("commands", commands), ("trot", trot), ("courses", courses), ("grounds", grounds), ("estimated", estimated)],
)
def test_benches_draw_as_many_plants_as_they_are_told(monkeypatch, what, module):
    """By keyword or by place, and their own number where none is given."""
    seen, plain = [], inspect.signature(module.run)
    usual = plain.parameters["seeds"].default

    def told(*args, **options):
        bound = plain.bind(*args, **options)
        bound.apply_defaults()
        seen.append(bound.arguments["seeds"])
        return iter(())

    monkeypatch.setattr(module, "run", told)
    for seeds in (3, None):
        assert main([what, "--folder", "courses", *([] if seeds is None else ["--seeds", str(seeds)])]) == 0
    assert seen == [3, usual]


def test_the_command_line_tells_a_bench_robots_and_seeds(monkeypatch, capsys):
    seen = []
    monkeypatch.setattr(commands, "run", lambda *given: seen.append(given) or iter(()))
    assert main("commands --robot g1 --robot human --seeds 3 --json".split()) == 0
    assert json.loads(capsys.readouterr().out) == []
    assert seen == [(["g1", "human"], 3)]
    with pytest.raises(SystemExit, match="2"):
        main(["commands", "--seeds", "0"])
    assert len(seen) == 1


def test_a_verdict_that_is_missed_is_an_exit_code(monkeypatch):
    for failures, code in ((1, 0), (2, 1)):
        row = tally("g1", [trial(seed, touch=0.0042 if seed < failures else 0.0) for seed in range(20)])
        for options in ([], ["--json"]):
            monkeypatch.setattr(commands, "run", lambda *given, row=row: iter([row]))
            assert main(["commands", *options]) == code
    walks = trot.TrotTally("go2", 20, 20, 18, 0.4, 0.5, 1.0, -0.1)
    monkeypatch.setattr(trot, "run", lambda *given: iter([walks]))
    assert main(["trot"]) == 1


def test_the_package_says_where_a_bench_went():
    said = CliRunner().invoke(cli.app, ["bench", "commands"])
    assert said.exit_code != 0 and "make bench-commands" in str(said.exception)


def test_the_command_runs_the_robots_and_seeds_that_are_named(monkeypatch):
    seen = []
    monkeypatch.setattr(commands, "Walking", lambda robot: robot)
    monkeypatch.setattr(commands, "walk_course", lambda walker, seed: seen.append((walker.name, seed)) or trial(seed))
    rows = list(commands.run(["human"], 3))
    assert seen == [("human", k) for k in range(3)] and [row.robot for row in rows] == ["human"]


def test_the_table_shows_which_seeds_failed(capsys):
    from rich.console import Console

    row = tally("g1", [trial(seed, touch=0.0042 if seed in (3, 8) else 0.0) for seed in range(20)])
    assert not report(Console(width=180), BENCHES["commands"], [row])
    said = capsys.readouterr().out
    assert "18 of 20" in said and "3 8" in said and "MISSED" in said and " 4 " in said
