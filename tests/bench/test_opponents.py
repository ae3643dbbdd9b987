"""Benches that read what others made: a wrong folder is told, and the walker speaks MuJoCo's language."""

from __future__ import annotations

import pytest

import equipoise as eq
from equipoise.bench.courses import footsteps_of
from equipoise.bench.opponents import harness_of


def test_a_folder_without_the_bench_is_told(tmp_path):
    with pytest.raises(eq.EquipoiseError, match="harness.py"):
        harness_of(tmp_path)


def test_a_harness_is_loaded_from_where_it_is(tmp_path):
    (tmp_path / "harness.py").write_text("ANSWER = 42\n")
    assert harness_of(tmp_path).ANSWER == 42


def test_feet_of_a_course_alternate_unless_one_is_named():
    listed = [
        {"foot": "Left", "footMidpose": {"translation": [0.15, 0.0, 0.0]}},
        {"footMidpose": {"translation": [0.3, 0.0, 0.0]}},
        {"foot": "Right", "footMidpose": {"translation": [0.3, -0.1, 0.0], "rotation": [0.0, 0.0, 0.5]}},
    ]
    listed[1]["footMidpose"]["translation"][2] = 0.185
    steps = footsteps_of(listed, 0.2)
    assert [step.height for step in steps] == [0.0, 0.185, 0.0]
    assert [step.foot for step in steps] == [0, 1, 1]
    assert steps[0].place.y == pytest.approx(0.1) and steps[1].place.y == pytest.approx(-0.1)
    assert steps[2].place.yaw == 0.5
