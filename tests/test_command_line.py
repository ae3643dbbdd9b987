"""Commands about one robot, and what all commands have in common: JSON, files that are there, completion."""

from __future__ import annotations

import json
from types import SimpleNamespace

import numpy as np
import pytest
from typer.testing import CliRunner

import equipoise as eq
from equipoise.algebra.rigid import rpy_from_rotation
from equipoise.cli import _robots, _scenarios, app
from equipoise.errors import EquipoiseError
from equipoise.model.urdf_writer import write_urdf


def called(*arguments: str) -> tuple[int, str]:
    """Exit code and output of a command; an error of the package is 2 and its message, as `equipoise` has it."""
    result = CliRunner().invoke(app, arguments)
    if isinstance(result.exception, EquipoiseError):
        return 2, str(result.exception)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.stdout


def test_robots_lists_names_with_what_brings_them():
    code, text = called("robots", "arm", "--json")
    names = {robot["name"]: robot["package"] for robot in json.loads(text)}
    assert code == 0
    assert names["arm6"] == "built in"
    assert all("arm" in name for name in names)
    assert "human" in called("robots")[1]
    code, text = called("robots", "no such robot")
    assert code == 1
    assert "'no such robot'" in text


@pytest.mark.parametrize("turned", [False, True])
def test_ik_finds_the_joints_of_a_target(tmp_path, turned):
    arm, file = eq.load("arm6"), tmp_path / "q.json"
    there = arm.pose(np.array([0.3, -0.4, 0.5, 0.2, 0.6, -0.1]), "tool")
    numbers = [*there[:3, 3], *(rpy_from_rotation(there[:3, :3]) if turned else ())]
    target = ",".join(["tool", *(f"{x:.12f}" for x in numbers)])
    code, text = called("ik", "arm6", "--target", target, "--out", str(file), "--json")
    assert code == 0
    answer = json.loads(text)
    assert answer == json.loads(file.read_text())
    assert answer["converged"]
    X = arm.pose(np.array(answer["q"]), "tool")
    assert np.abs(X[:3, 3] - there[:3, 3]).max() < 1e-6
    assert (np.abs(X - there).max() < 1e-5) == turned
    assert "joint_6" in called("ik", "arm6", "--target", target)[1]


def test_ik_fails_where_a_target_is_out_of_reach():
    code, text = called("ik", "arm6", "--target", "tool,9,0,0")
    assert code == 1
    assert "tool is missed by" in text
    code, text = called("ik", "human", "--target", "left hand,3,0,1", "--fixed-base", "--json")
    assert code == 1
    assert json.loads(text)["missed"]["left hand"][0] > 1.0


@pytest.mark.parametrize("target", ["tool", "tool,1,2", "tool,1,2,3,4", "tool,a,b,c"])
def test_a_target_that_is_none_is_refused(target):
    code, text = called("ik", "arm6", "--target", target)
    assert code == 2
    assert text.startswith("a target is FRAME,X,Y,Z or FRAME,X,Y,Z,ROLL,PITCH,YAW (m, rad)")
    assert "each frame has one target" in called("ik", "arm6", "--target", "tool,1,0,0", "--target", "tool,0,1,0")[1]


def test_export_writes_c_and_overwrites_nothing(tmp_path):
    file = str(tmp_path / "mass.c")
    assert called("export", "arm6", "mass_matrix", file)[0] == 0
    text = (tmp_path / "mass.c").read_text()
    assert "arm6_mass_matrix_mixed(" in text
    code, message = called("export", "arm6", "mass_matrix", file)
    assert code == 2
    assert message == f"{file!r} is there already; give another name, or --force to overwrite it"
    assert called("export", "arm6", "jacobian", file, "--frame", "tool", "--float32", "--force")[0] == 0
    assert "float " in (tmp_path / "mass.c").read_text()


def test_convert_goes_to_pinocchio_and_back(tmp_path):
    pin = pytest.importorskip("pinocchio")
    path = tmp_path / "dog.urdf"
    robot = eq.load("quadruped")
    path.write_text(write_urdf(robot.model))
    q, v = eq.load(str(path), floating=True).random_state(np.random.default_rng(5))
    mine = tmp_path / "state.txt"
    mine.write_text(" ".join(map(repr, map(float, [*q, *v]))))
    code, text = called("convert", str(mine), "--robot", str(path), "--to", "pinocchio", "--json")
    assert code == 0
    theirs = json.loads(text)
    model = pin.buildModelFromUrdf(str(path), pin.JointModelFreeFlyer())
    energy = pin.computeKineticEnergy(model, model.createData(), np.array(theirs["q"]), np.array(theirs["v"]))
    assert energy == pytest.approx(robot.kinetic_energy(q, v), rel=1e-9)
    state = ", ".join(map(repr, [*theirs["q"], *theirs["v"]]))
    _, text = called("convert", state, "--robot", str(path), "--from", "pinocchio", "--json")
    back = json.loads(text)
    assert np.allclose(back["q"], q, atol=1e-12)
    assert np.allclose(back["v"], v, atol=1e-12)
    assert called("convert", "1 2", "--robot", str(path))[1].startswith(f"a state has {robot.nq} numbers")
    assert "got 'a b'" in called("convert", "a b", "--robot", str(path))[1]
    assert "load it from .xml" in called("convert", state, "--robot", str(path), "--to", "mujoco")[1]


def test_convert_reads_states_of_mujoco(tmp_path):
    pytest.importorskip("mujoco")
    path = tmp_path / "ball.xml"
    path.write_text('<mujoco><worldbody><body name="a"><freejoint/><geom size="0.1"/></body></worldbody></mujoco>')
    code, text = called("convert", "1 2 3 0 1 0 0", "--robot", str(path), "--from", "mujoco")
    assert code == 0
    assert text == "q = 1.0 2.0 3.0 0.0 1.0 0.0 0.0\n"


def test_plot_draws_the_curves_of_a_run(tmp_path):
    pytest.importorskip("matplotlib")
    arm = eq.load("arm6")
    run = eq.simulate(arm, lambda t, q, v: SimpleNamespace(torque=arm.gravity(q)), "hard", 0.01)
    saved, picture = str(run.save(tmp_path / "run.npz")), tmp_path / "plot.svg"
    assert called("plot", saved, "torques", "--out", str(picture))[0] == 0
    assert "torque" in picture.read_text()
    assert "is there already" in called("plot", saved, "--out", str(picture))[1]
    assert "pictures end in" in called("plot", saved, "--out", str(tmp_path / "a.txt"))[1]
    assert "no chart of this run named 'torqes'" in called("plot", saved, "torqes", "--out", str(picture), "--force")[1]


def test_commands_that_simulate_answer_in_json(tmp_path):
    code, text = called("run", "push_recovery", "--json", "--out", str(tmp_path / "run.npz"))
    answer = json.loads(text)
    assert code == 0
    assert answer["title"] == "push_recovery"
    assert answer["reached"] is True
    assert answer["checks"][-1] == {"name": "outcome", "good": True, "came": "completed", "wanted": "completed"}
    code, text = called("run", "push_recovery", "--quiet", "--out", str(tmp_path / "run.npz"))
    assert (code, text) == (
        2,
        f"{str(tmp_path / 'run.npz')!r} is there already; give another name, or --force to overwrite it",
    )


def test_names_are_completed():
    assert _robots("hum") == ["human"]
    assert {"push_recovery"} == set(_scenarios("push"))


COMMANDS = [command.callback.__name__ for command in app.registered_commands]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_takes_the_options_that_all_have(name):
    code, text = called(name, "--help")
    assert code == 0
    assert all(option in text for option in ("--quiet", "--json", "--force"))


@pytest.mark.parametrize(
    ("arguments", "outcome"),
    [
        (["robots", "arm6"], "1 robots"),
        (["info", "arm6"], "arm6: 21.900 kg, 6 joints"),
        (["ik", "arm6", "--target", "tool,9,0,0"], "arm6: "),
        (["run", "--list"], " scenarios"),
        (["bench", "latency", "--robot", "arm6"], None),
    ],
)
def test_a_command_prints_its_outcome_alone_or_as_json(arguments, outcome):
    if outcome is None:
        assert called(*arguments[:1], "latincy")[1].startswith("no bench named 'latincy'. Did you mean 'latency'?")
        return
    code, text = called(*arguments, "--quiet")
    assert outcome in text
    assert len(text.splitlines()) <= 2
    same, plain = called(*arguments, "--json")
    assert same == code
    assert len(plain.splitlines()) == 1
    assert json.loads(plain)


@pytest.mark.parametrize(
    ("arguments", "nearest"),
    [
        (["wlak", "human"], "Did you mean 'walk'?"),
        (["info", "humam"], "Did you mean 'human'?"),
        (["run", "table_reech"], "Did you mean 'table_reach'"),
        (["reproduce", "T77"], "Did you mean 'T7'"),
        (["walk", "human", "--sped", "1"], "--speed"),
    ],
)
def test_misspelt_names_are_answered_with_the_nearest(arguments, nearest):
    result = CliRunner().invoke(app, arguments)
    assert isinstance(result.exception, EquipoiseError) or result.exit_code == 2
    assert nearest in result.output + str(result.exception)


def test_options_of_version_2_warn_and_work(tmp_path, monkeypatch):
    words = ["reproduce", "B4", "--html", str(tmp_path / "page.html")]
    monkeypatch.setattr("sys.argv", ["equipoise", *words])
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.output
    assert "option --html will be removed in 0.4; use --report" in result.output
    assert (tmp_path / "page.html").is_file()


def test_walks_are_counted_over_seeds_and_say_what_was_required(tmp_path):
    out = tmp_path / "walk.npz"
    code, text = called("walk", "human", "--duration", "3.2", "--seeds", "2", "--json", "--out", str(out))
    answer = json.loads(text)
    assert code == (0 if answer["reached"] else 1)
    assert answer["checks"][0]["came"].endswith("of 2 succeeded")
    runs = [eq.Run.load(tmp_path / f"walk-{seed}.npz") for seed in (0, 1)]
    assert [run.seed for run in runs] == [0, 1]
    for run in runs:
        named = [check["name"] for check in run.scenario["verdict"]["checks"]]
        assert named == ["outcome", "forward", "left", "turn", "line"]
        assert [text for t, text in run.events if text == "starts to walk" and t == pytest.approx(0.5, abs=0.05)]
    assert "leave out --seeds" in called("walk", "human", "--seeds", "2", "--report", str(tmp_path / "a.html"))[1]
