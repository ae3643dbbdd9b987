"""Scenario files: how they are read, what is told of mistakes, and that the shipped ones reach their goals."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose

from equipoise.simulate import goals, scenario_build, scenarios
from equipoise.simulate.roles import embodied, standing
from equipoise.simulate.run import Run
from equipoise.simulate.scenario import ScenarioError, load_scenario, parse_scenario
from equipoise.simulate.scenario_build import build
from equipoise.simulate.scenario_motion import pose_at
from equipoise.simulate.scenarios import prepare, run_built, run_scenario, shipped, verdict
from equipoise.simulate.toml_source import TomlSource

SQUAT = """\
robot = "human"
duration = 1.0

[[contact]]
frame = "left foot"

[[contact]]
frame = "right foot"

[[task]]
kind = "com"
weight = 10.0
path = [
    { t = 0.8, by = [0, 0, -0.03] },
]

[[task]]
kind = "posture"
weight = 0.01

[[goal]]
kind = "com"
by = [0, 0, -0.03]
within = 0.005
"""


def squat(**changes: str):
    """The text above with some lines exchanged."""
    text = SQUAT
    for old, new in changes.items():
        old = old.replace("_", " ")
        assert old in text
        text = text.replace(old, new)
    return parse_scenario(TomlSource("squat.toml", text))


# --- mistakes ---------------------------------------------------------------------------------------------------------

MISTAKES = [
    ('robot = "human"', "robot = 3", 1, "robot is a text"),
    ('robot = "human"', 'robt = "human"', 1, "Did you mean 'robot'"),
    ("duration = 1.0", "duration = -1.0", 2, "above zero"),
    ("duration = 1.0", "duration = 1.0\nduration = 2.0", 3, "not TOML"),
    ("duration = 1.0", "", 1, "needs a duration"),
    ('kind = "com"\nweight', 'kind = "come"\nweight', 11, "no kind of task 'come'. Did you mean 'com'?"),
    ("weight = 10.0", "wieght = 10.0", 12, "Did you mean 'weight'"),
    ("weight = 10.0", "weight = -1.0", 10, "must not be negative"),
    ('frame = "right foot"', 'frame = "right foof"', 7, "no flat that is known"),
    ("{ t = 0.8, by = [0, 0, -0.03] }", "{ t = 0.8, by = [0, 0] }", 13, "3 numbers"),
    ("{ t = 0.8, by", "{ t = 0.8, bye", 13, "no key in"),
    ("{ t = 0.8, by = [0, 0, -0.03] },", "{ t = 0.8 }, { t = 0.5 },", 13, "does not come after"),
    ("within = 0.005", 'within = 0.005\nwhen = "later"', 25, "number"),
    ('[[goal]]\nkind = "com"\nby = [0, 0, -0.03]\nwithin = 0.005\n', "", 1, "needs a [[goal]]"),
]


@pytest.mark.parametrize(("old", "new", "line", "words"), MISTAKES, ids=[m[3] for m in MISTAKES])
def test_mistakes_are_told_with_file_and_line(old, new, line, words):
    assert old in SQUAT
    with pytest.raises(ScenarioError) as error:
        build(parse_scenario(TomlSource("squat.toml", SQUAT.replace(old, new))))
    assert f"squat.toml, line {line}:" in str(error.value)
    assert words in str(error.value)


def test_a_scenario_that_is_nowhere_is_told_with_the_choices():
    with pytest.raises(ScenarioError, match="no scenario named 'squot'.*stand_and_squat"):
        load_scenario("squot")


def test_joints_are_checked_against_the_robot():
    text = SQUAT + "\n[start]\nposture = { left_knee = 0.5, left_nee = 0.5 }\n"
    with pytest.raises(ScenarioError, match=r"line 27: no joint 'left_nee'. Did you mean 'left_knee'"):
        build(parse_scenario(TomlSource("squat.toml", text)))


def test_lines_of_tables_in_lists_are_found():
    """Against a file whose every value says on which line it is."""
    text = 'a = 1\n[[b]]\nc = 3\n[[b.d]]\ne = 5\n[[b]]\nc = 7\n[[b.d]]\ne = 9\n[[b.d]]\ne = 11\n[f."g h"]\ni.j = 13\n'
    source = TomlSource("lines", text)

    def walk(value, key):
        if isinstance(value, dict):
            for name, x in value.items():
                walk(x, (*key, name))
        elif isinstance(value, list):
            for k, x in enumerate(value):
                walk(x, (*key, k))
        else:
            assert source.line(key) == value
            seen.append(value)

    seen: list[int] = []
    walk(source.read(), ())
    assert seen == [1, 3, 5, 7, 9, 11, 13]


def test_text_between_three_quotes_is_no_key():
    source = TomlSource("text", 'about = """\nrobot = 3\n"""\nrobot = "human"\n')
    assert source.line(("robot",)) == 4


# --- meaning ----------------------------------------------------------------------------------------------------------


def test_overrides_reach_lists_and_take_out():
    scenario = load_scenario(
        "push_recovery", {"duration": 2.0, "push.1.force": [0.0, 5.0, 0.0], "disturbance.push": None}
    )
    assert scenario.duration == 2.0
    assert scenario.push[1].options["force"] == (0.0, 5.0, 0.0)
    assert scenario.disturbance.push is None
    with pytest.raises(ScenarioError, match="override 'push.7.force'"):
        load_scenario("push_recovery", {"push.7.force": [0.0, 5.0, 0.0]})


@pytest.mark.parametrize("name", ["human", "jvrc1", "talos", "g1"])
def test_bodies_stand_on_level_soles_with_the_height_and_mass_that_scale_scenarios(name):
    robot, body = embodied(name)
    q = standing(robot, body)
    for role in ("left foot", "right foot"):
        X = robot.pose(q, role)
        assert_allclose(X[2, 3], 0.0, atol=1e-9)
        assert_allclose(X[:3, :3], np.eye(3), atol=1e-6)
    assert_allclose(robot.com(q)[2], body.height, atol=0.005)
    left, right = (robot.pose(q, role) for role in ("left hand", "right hand"))
    assert left[0, 3] > -0.1 and left[1, 3] > 0.1 and right[1, 3] < -0.1
    assert left[1, 2] > 0.7 and right[1, 2] < -0.7  # palms face each other: z goes into the hand
    assert left[2, 0] < -0.3 and right[2, 0] < -0.3  # fingers point down


def test_another_robot_gets_lengths_by_height_and_forces_by_mass():
    scenario = load_scenario("push_recovery")
    own, other = scenario_build._builder(scenario, None), scenario_build._builder(scenario, "g1")
    assert own.scale == 1.0 and own.force == 1.0
    assert_allclose(other.scale, other.body.height / own.body.height)
    assert_allclose(other.scale, 0.676 / 0.971, rtol=0.01)
    part = other.robot.mass / own.robot.mass
    assert_allclose(other._options()["pushes"][0].force, part * own._options()["pushes"][0].force)


def test_places_are_from_the_start_or_of_the_world():
    X = np.eye(4)
    X[:3, 3] = 1, 2, 3
    where = load_scenario("step").stance[1].targets["right foot"]
    assert_allclose(pose_at(where, X)[:3, 3], [1.02, 2, 3.1])
    assert_allclose(pose_at(where, X, scale=0.5)[:3, 3], [1.01, 2, 3.05])


def test_every_shipped_scenario_reads_and_says_what_it_is():
    names = {scenario.name for scenario in shipped()}
    assert {"stand_and_squat", "step", "push_recovery", "table_reach", "wall_reach"} <= names
    assert all(scenario.title for scenario in shipped())


def test_the_error_that_counts_depends_on_when():
    t, error = np.arange(5.0), np.array([5.0, 1.0, 2.0, 4.0, 3.0])
    cases = [
        ("end", 0.0, 3.0),
        ("end", 1.0, 4.0),
        ("once", 0.0, 1.0),
        ("once", 2.0, 2.0),
        ("always", 0.0, 5.0),
        (2.0, 0.0, 4.0),
    ]
    for when, hold, wanted in cases:
        assert goals._over(error, t, when, hold) == wanted


def test_points_are_outside_a_polygon_by_their_distance():
    square = np.array([[0, 0], [1, 0], [1, 1], [0, 1.0]])
    assert_allclose(goals._outside(square, np.array([0.5, 0.7])), -0.3)
    assert_allclose(goals._outside(square, np.array([1.3, 1.4])), 0.5)
    assert_allclose(goals._outside(square, np.array([0.5, 1.25])), 0.25)


# --- runs -------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def small_squat():
    built = build(squat())
    return built, run_built(built, seed=5)


def test_a_small_squat_in_mujoco_reaches_its_goal(small_squat):
    _, run = small_squat
    assert run.outcome == "completed", verdict(run).reasons
    assert_allclose(run.com[-1] - run.com[0], [0, 0, -0.03], atol=0.005)
    assert run.scenario["toml"] == SQUAT and run.seed == 5


def test_a_goal_that_is_missed_is_told(small_squat):
    _, run = small_squat
    missed = goals.judged(run, build(squat(**{"by = [0, 0, -0.03]\nwithin": "by = [0, 0, -0.3]\nwithin"})))
    assert not missed.reached
    assert "mm off (wanted within 5 mm, at the end)" in missed.reasons[0]


def test_verdicts_look_at_torques_margins_and_penetration(small_squat):
    """Each spoiled in turn, and each is noticed."""
    from dataclasses import replace

    built, run = small_squat

    def bad(**changes):
        return [check.name for check in goals.judged(replace(run, **changes), built).checks if not check.good]

    assert bad() == []
    q, torque = run.q.copy(), run.torque.copy()
    q[len(q) // 10 * 5, 2] -= 0.004
    assert "penetration" in bad(q=q)
    q = run.q.copy()
    q[3, run.robot.joints["left_knee"].q] = -0.01
    assert "margins of constraints" in bad(q=q)
    torque[7, -1] = 1.01 * run.robot.limits.effort[-1]
    assert bad(torque=torque) == ["torques within limits"]
    assert bad(outcome="fell") == ["no fall"]
    assert bad(events=((0.1, "torque cut at its limit, cycles: left_knee 3"),)) == ["torques within limits"]
    assert bad(status_names=("held: nothing satisfies what never gives way",)) == ["every step solved"]


def test_seeds_decide_noise_and_pushes():
    built = prepare("push_recovery", overrides={"duration": 0.05})
    first, again, other = (run_built(built, seed=seed) for seed in (1, 1, 2))
    assert first.q.tobytes() == again.q.tobytes()
    assert first.torque.tobytes() != other.torque.tobytes()
    drawn = [[push.force for push in scenarios._random_pushes(built, seed)] for seed in (1, 1, 2)]
    assert_allclose(drawn[0], drawn[1])
    assert np.abs(np.subtract(drawn[0], drawn[2])).max() > 0.1
    assert all(force[2] == 0 and 5 < np.linalg.norm(force) <= 20 for forces in drawn for force in forces)


def test_a_push_that_is_too_strong_fails():
    run = run_scenario("push_recovery", overrides={"duration": 0.7, "push.0.force": [900.0, 0, 0]}, progress=False)
    assert run.outcome in ("fell", "missed") and not verdict(run).reached


def test_the_command_runs_a_file_and_keeps_it(tmp_path):
    path = tmp_path / "squat.toml"
    path.write_text(SQUAT)
    command = [sys.executable, "-m", "equipoise.cli", "run", str(path), "--out", str(tmp_path / "run.npz")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    for word in ("checks hold", "penetration", "times real time", "left foot"):
        assert word in done.stdout
    run = Run.load(tmp_path / "run.npz")
    assert run.outcome == "completed" and json.dumps(run.scenario["verdict"])


def test_the_command_tells_mistakes_in_one_line(tmp_path):
    path = tmp_path / "squat.toml"
    path.write_text(SQUAT.replace("duration", "durration"))
    done = subprocess.run(
        [sys.executable, "-m", "equipoise.cli", "run", str(path)], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 2
    told = " ".join(done.stderr.split())  # the terminal's width breaks lines
    assert "line 2: " in told and "Did you mean 'duration'" in told and "Traceback" not in told


@pytest.mark.slow
@pytest.mark.parametrize("name", [scenario.name for scenario in shipped()])
def test_shipped_scenarios_reach_their_goals(name):
    """Three seeds here; `equipoise run NAME --seeds 20` tries twenty."""
    built = prepare(name)
    for seed in range(3):
        run = run_built(built, seed=seed)
        assert run.outcome == "completed", (seed, verdict(run).reasons)


def test_true_joints_keep_their_limits_where_measured_ones_are_noisy():
    """The limits of a walk over stances are five standard deviations inside, and their postures farther still."""
    for overrides, margin in ((None, 5 * 2e-4), ({"disturbance.noise": None}, 0.0)):
        items = prepare("step", overrides=overrides).controller.controller.items
        assert [c.margin for c in items.constraints if c.label == "joint limit"] == [pytest.approx(margin, abs=1e-15)]


@pytest.mark.slow
@pytest.mark.parametrize("robot", ["human", "talos", "g1"])
def test_the_demo_is_done_by_the_robots_that_its_help_names(robot):
    run = run_scenario("table_reach", robot=robot, progress=False)
    assert run.outcome == "completed", verdict(run).reasons


@pytest.mark.slow
@pytest.mark.parametrize("robot", ["jvrc1", "talos", "g1"])
@pytest.mark.parametrize("name", ["stand_and_squat", "push_recovery"])
def test_other_robots_stand_in(name, robot):
    run = run_scenario(name, robot=robot, progress=False)
    assert run.outcome == "completed", verdict(run).reasons


def test_a_push_that_does_nothing_is_told():
    """What arrives is judged by momentum: as commanded, in the runs of the file, and not where nothing pushes."""
    from dataclasses import replace

    built = prepare("push_recovery", overrides={"duration": 0.65})
    run = run_built(built, seed=1)
    names = [check.name for check in goals.judged(run, built).checks if check.name.startswith("push") and check.good]
    assert names == ["push at 0.5 s arrives"]  # the second comes after the end
    silent = replace(built, options={**built.options, "pushes": []})
    missed = [check for check in goals.judged(run_built(silent, seed=1), built).checks if not check.good]
    assert "push at 0.5 s arrives" in [check.name for check in missed]


def test_margins_are_measured_and_not_asked(small_squat):
    """Of constraints that the run breaks, whatever the controller says; each with its amount by hand."""
    from dataclasses import replace

    import equipoise as eq

    built, run = small_squat
    run = replace(run, margins={"floor": np.ones(len(run.t))})
    rows = goals._rows(run)
    pelvis = run.robot.pose(np.ascontiguousarray(run.q[rows]), "pelvis")
    lowest, com = pelvis[:, 2, 3].min(), run.com[rows, :2]
    tilt = np.arccos(pelvis[:, 2, 2].clip(-1, 1)).max()
    square = com[0] + 0.5 * np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]])
    ball = eq.Sphere((0, 0, 0), 0.1, "pelvis")
    pairs = [(ball, eq.Sphere((0, 0, 0), 0.1, "torso"))]
    apart = np.linalg.norm(
        run.robot.pose(np.ascontiguousarray(run.q[rows]), "torso")[:, :3, 3] - pelvis[:, :3, 3], axis=1
    ).min()
    floor, up = eq.Plane((0, 0, 1.0), 0.0), eq.Line((0, 0, 0), (0, 0, 1.0))
    cases = [
        (eq.KeepOut(ball, floor, safe=lambda t: (0.2 + 0 * t, 0.0, 0.0)), lowest - 0.1 - 0.2),
        (eq.KeepIn(ball, floor, safe=0.3), 0.3 + 0.1 - pelvis[:, 2, 3].max()),
        (eq.Cone(eq.Line((0, 0, 0), (0, 0, 1.0), "pelvis"), up, angle=0.5), 0.5 - tilt),
        (eq.CoMInSupport(square, margin=0.1), 0.4 - np.abs(com - com[0]).max()),
        (eq.SelfCollision(pairs, safe=2.0), apart - 0.2 - 2.0),
    ]
    for constraint, wanted in cases:
        found = constraint.least_margin(run.robot, np.ascontiguousarray(run.q[rows]), run.t[rows])
        assert found == pytest.approx(wanted, abs=1e-7)
        check = next(
            c
            for c in goals.judged(run, replace(built, constraints=(constraint,))).checks
            if c.name.startswith("margins")
        )
        assert check.good == (wanted >= 0)
    assert {wanted >= 0 for _, wanted in cases} == {True, False}


@pytest.mark.parametrize(("robot", "words"), [("quadruped", "'quadruped' (quadruped)"), ("arm7", "'arm7' (no feet)")])
def test_only_a_robot_with_as_many_feet_can_stand_in(robot, words):
    with pytest.raises(ScenarioError, match=f"{re.escape(words)} cannot stand in for 'human' \\(biped\\)"):
        prepare("push_recovery", robot=robot)
