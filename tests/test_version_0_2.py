"""Files that version 0.2 wrote (`tests/version_0_2`, by its last commit) are read, shown and continued."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import equipoise as eq
from equipoise.show.report import page, run_title
from equipoise.simulate.scenarios import run_scenario, verdict
from equipoise.study import Grid, Table

FOLDER = Path(__file__).parent / "version_0_2"
GRID = Grid({"width": [-1, 1.5, 3], "height": [1.0, 2.0]})


@pytest.mark.parametrize("name", ["walk.npz", "squat.npz"])
def test_runs_are_read_bit_for_bit(name):
    with np.load(FOLDER / name) as arrays:
        written = {key: arrays[key] for key in arrays.files}
    run = eq.Run.load(FOLDER / name)
    for key in ("t", "q", "v", "torque", "acceleration", "com", "status", "cycle_time"):
        assert_array_equal(getattr(run, key), written[key])
    assert all(len(column) == len(run.t) for column in run.forces.values())
    assert run.origin == {}


def test_runs_in_mcap_are_those_in_npz():
    pytest.importorskip("mcap")
    run, same = eq.Run.load(FOLDER / "walk.mcap"), eq.Run.load(FOLDER / "walk.npz")
    assert_array_equal(run.q, same.q)
    assert_array_equal(run.estimates["q"], same.estimates["q"])
    assert run.events == same.events == ((0.02, "starts to walk"), (0.02, "push on torso: 5 N"))


def test_runs_are_reported_with_their_verdict():
    run = eq.Run.load(FOLDER / "squat.npz")
    assert run.outcome == "missed"
    assert not verdict(run).reached
    text = page([run], run_title(run), ["PLAYER"])
    assert all(check.name in text for check in verdict(run).checks)
    assert "seed 0" in text


def test_scenarios_run():
    pytest.importorskip("mujoco")
    before = eq.Run.load(FOLDER / "squat.npz")
    run = run_scenario(FOLDER / "squat.toml", overrides={"duration": 0.02}, progress=False)
    assert [check.name for check in verdict(run).checks] == [check.name for check in verdict(before).checks]
    assert_array_equal(run.t, before.t)
    assert np.abs(run.q - before.q).max() < 1e-3


def test_profiles_are_read_and_walk():
    robot = eq.load("quadruped")
    body = eq.Body.load(FOLDER / "quadruped.toml", robot)
    found = eq.Body.of(robot)
    assert {role: part.link for role, part in body.parts.items()} == {
        role: part.link for role, part in found.parts.items()
    }
    assert body.kind == found.kind == "quadruped"
    assert eq.Walking(robot, body).contacts


def test_studies_are_continued(tmp_path, monkeypatch):
    """Records of 0.2 have no checksums. They count, and what is missing is run."""
    pytest.importorskip("pandas")
    monkeypatch.syspath_prepend(str(FOLDER))
    from areas import area

    folder = tmp_path / "study"
    shutil.copytree(FOLDER / "study", folder)
    before = Table.load(FOLDER / "table.npz")
    lines = (folder / "runs.jsonl").read_text().splitlines(keepends=True)
    (folder / "runs.jsonl").write_text("".join(lines[:4]))
    (folder / "table.npz").unlink()
    table = eq.study(area, GRID, folder=folder, workers=1, progress=False)
    assert_array_equal(table["area"], before["area"])
    assert_array_equal(table["wall_time"][:4], before["wall_time"][:4])
    assert (table["wall_time"][4:] != before["wall_time"][4:]).all()
    sys.modules.pop("areas")
