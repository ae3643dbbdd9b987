"""Benches that read what others made: a wrong folder is told, and the walker speaks MuJoCo's language."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import numpy as np
import pytest

import equipoise as eq
from bench import courses, opponents
from bench.__main__ import main
from bench.courses import footsteps_of
from bench.opponents import harness_of


def test_a_folder_without_the_bench_is_told(tmp_path):
    with pytest.raises(eq.EquipoiseError, match="harness.py"):
        harness_of(tmp_path, True)


def test_a_harness_is_loaded_from_where_it_is(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "harness", None)
    (tmp_path / "harness.py").write_text("ANSWER = 42\n")
    assert harness_of(tmp_path, True).ANSWER == 42


def test_code_of_others_runs_only_on_request(tmp_path, monkeypatch, capsys):
    """Neither because it lies where somebody expects it, nor because its folder is named."""
    folder = tmp_path / "shared" / "opponents"
    folder.mkdir(parents=True)
    (folder / "harness.py").write_text("from pathlib import Path\nPath('mark').touch()\n")
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    for arguments, words in (
        (["opponents"], "--folder names where they are"),
        (["courses"], "--folder names where they are"),
        (["opponents", "--folder", str(folder)], "--run-their-code if you trust it"),
    ):
        assert main(arguments) == 2 and words in capsys.readouterr().err
    assert list(tmp_path.rglob("mark")) == []
    with pytest.raises(AttributeError, match="walk_table"):
        list(opponents.measure(folder, run_their_code=True))
    assert (tmp_path / "here" / "mark").exists()


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


class Walker:
    """Remembers what it is asked for; its torques are 0, 1, 2, …"""

    gait, robot = SimpleNamespace(period=0.4), None

    def __init__(self):
        self.asked = []

    def forget_commands(self):
        self.asked.clear()
        return self

    def reset(self):
        self.asked.append("reset")

    def command(self, forward=0.0, left=0.0, turn=0.0, *, at=None):
        self.asked.append((forward, left, turn, at))
        return self

    def __call__(self, t, q, v):
        self.asked.append((t, q, v))
        return SimpleNamespace(torque=np.arange(35.0))


def test_a_walk_at_a_velocity_begins_when_their_controller_does():
    walker = Walker()
    seconds = courses._ask(walker, {"velocityMode": {"velocity": [0.1, 0.02, -0.15], "duration": 15.0}})
    assert walker.asked == [(0.1, 0.02, -0.15, courses.START), (0.0, 0.0, 0.0, 15.0)] and 0 < courses.START < 15
    assert seconds == 15.0 + courses.REST


HARNESS = """
def walk_table(factory, processes):
    controller = factory()
    controller.reset("model")
    return [controller.control(0.3, "qpos", "qvel", {}, (0.5, 0.1, -0.7))]

def push_map(factory, **options):
    return options
"""


def test_the_harness_has_all_of_its_command_walked_and_both_maps(tmp_path, monkeypatch):
    walker = Walker()
    like = SimpleNamespace(from_peer=lambda qpos, qvel: (f"q of {qpos}", f"v of {qvel}"))
    monkeypatch.setattr(opponents, "_walker", lambda folder: walker)
    monkeypatch.setattr("equipoise.convert.mujoco", lambda robot, model: like)
    monkeypatch.setitem(sys.modules, "harness", None)  # taken back with what is loaded in its place
    (tmp_path / "harness.py").write_text(HARNESS)
    torque, *maps = opponents.measure(tmp_path, run_their_code=True, directions=3, phases=2)
    assert walker.asked == ["reset", (0.5, 0.1, -0.7, None), (0.3, "q of qpos", "v of qvel")]
    assert torque.tolist() == list(range(6, 35))  # those of the joints, not of the base
    assert [each.pop("command") for each in maps] == [(0.0, 0.0, 0.0), (0.5, 0.0, 0.0)]
    assert maps == 2 * [{"directions": 3, "phases": 2, "processes": 1}]
