"""The shipped study: that only what it says differs from the scenario, and that its figure counts right."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import equipoise as eq
from equipoise.study import Table
from equipoise.study.plots import binned, interval, success_figure, varied
from equipoise.study.robustness import _prepared, demo_run, robustness_draws, run_with, with_mass
from equipoise.study.table import Record

NAME = "stand_and_squat"  # quickly made
SHORT = 0.08  # s; long enough for a push to show


@pytest.fixture(scope="module")
def built():
    pytest.importorskip("mujoco")
    return _prepared(NAME)


def short_run(built, friction=None, mass=1.0, force=(0.0, 0.0, 0.0), seed=3):
    own = built.controller.contacts[0].friction
    return run_with(built, own if friction is None else friction, mass, force, 0.25, seed, SHORT)


def test_without_changes_it_is_the_scenario_bit_for_bit(built):
    options = {name: value for name, value in built.options.items() if name != "pushes"}
    noise = built.scenario.disturbance.noise
    plain = eq.simulate(
        built.robot,
        built.controller,
        duration=SHORT,
        q0=built.start,
        seed=3,
        noise=dict(noise) if noise else None,
        **options,
    )
    same = short_run(built)
    assert same.q.tobytes() == plain.q.tobytes() and same.torque.tobytes() == plain.torque.tobytes()


@pytest.mark.parametrize(("what", "value"), [("mass", 1.2), ("force", (60.0, 0.0, 0.0)), ("seed", 4)])
def test_every_parameter_has_an_effect(built, what, value):
    assert np.abs(short_run(built, **{what: value}).q[-1] - short_run(built).q[-1]).max() > 1e-6


def test_a_push_brings_its_momentum(built):
    """Until the feet answer, force × time is momentum: the first steps of a push from the standing robot."""
    pushed, left_alone = short_run(built, force=(50.0, 0.0, 0.0)), short_run(built)
    begin = round(0.25 * SHORT / 1e-3)
    row = begin + 1
    gained = built.robot.momentum(pushed.q[row], pushed.v[row]) - built.robot.momentum(
        left_alone.q[row], left_alone.v[row]
    )
    ground = sum(pushed.measured[name][begin, 0] - left_alone.measured[name][begin, 0] for name in pushed.measured)
    assert_allclose(gained[0], (50.0 + ground) * 1e-3, rtol=0.02)  # friction already answers; it is measured
    assert_allclose(pushed.q[begin], left_alone.q[begin], atol=0)


def test_ice_lets_feet_slip_that_the_ground_held(built):
    """A push of 300 N is more than ice of 0.05 can hold, 0.05 · 700 N, and less than the usual ground holds."""

    def travel(friction):
        run = short_run(built, friction=friction, force=(0.0, 300.0, 0.0))
        frame = built.controller.contacts[0].frame
        return np.linalg.norm(built.robot.pose(run.q[-1], frame)[:2, 3] - built.robot.pose(run.q[0], frame)[:2, 3])

    assert travel(0.05) > 5 * travel(0.8)


def test_only_the_torso_gets_heavier(built):
    robot = built.robot
    heavy = with_mass(robot, "torso", 1.5)
    q = robot.standing()
    changed = [name for name in robot.links if heavy.model.links[name] is not robot.model.links[name]]
    assert len(changed) == 1
    link = robot.model.links[changed[0]].inertia
    assert_allclose(heavy.mass - robot.mass, 0.5 * link.mass, rtol=1e-12)
    X = robot.pose(q, changed[0])
    c = X[:3, :3] @ link.com + X[:3, 3]
    assert_allclose(heavy.mass * heavy.com(q), robot.mass * robot.com(q) + 0.5 * link.mass * c, rtol=1e-12)


def test_a_run_is_a_row_of_a_table(built):
    row = demo_run(0.8, 1.0, 0.0, 0.0, scenario=NAME, duration=SHORT)
    assert row["time"] == pytest.approx(SHORT) and row["outcome"] in ("completed", "missed")
    assert row["success"] == (row["outcome"] == "completed") == (row["reason"] == "")
    assert 0 < row["largest_torque"] < 1 and row["held"] == 0.0
    assert demo_run(0.8, 1.0, 0.0, 0.0, scenario=NAME, duration=SHORT) == row


def test_a_push_begins_after_two_fifths_of_the_run_unless_said_otherwise():
    def pushed(**when):
        return demo_run(0.8, 1.0, 60.0, 0.0, scenario=NAME, duration=SHORT, **when)

    assert pushed() == pushed(push_time=0.4) != pushed(push_time=0.8)


def test_draws_of_the_study_fit_its_function():
    draws = robustness_draws(5, seed=1, mass=1.0, duration=0.1)
    rows = list(draws)
    assert len(rows) == 5 and {row["mass"] for row in rows} == {1.0}
    assert set(rows[0]) == {"friction", "mass", "push_x", "push_y", "push_time", "seed", "duration"}
    assert [row["friction"] for row in rows] == [row["friction"] for row in robustness_draws(200, seed=1)][:5]


# --- the figure -------------------------------------------------------------------------------------------------------


def made_up(count: int = 100) -> Table:
    """Succeeds where friction is above one half; the last run failed altogether."""
    rng = np.random.default_rng(0)
    records = [
        Record(k, {"friction": f, "push_x": x, "push_y": y, "seed": k, "kind": "a"}, {"success": f > 0.5}, 0.1)
        for k, (f, x, y) in enumerate(rng.random((count - 1, 3)).tolist())
    ]
    return Table.of([*records, Record(count - 1, dict(records[0].parameters, friction=0.99), {}, 0.1, "ValueError")])


def test_the_figure_shows_rates_marks_and_maps():
    table = made_up()
    fig = success_figure(table)
    assert [axes.get_xlabel() for axes in fig.axes] == ["friction", "push_x", "push_y", "push_x"]
    rate, successes, others = (line.get_xydata() for line in fig.axes[0].lines)
    assert rate[0, 1] == 0.0 and rate[-2, 1] == 1.0 and rate[-1, 1] < 1.0  # the last bin has the run that failed
    good = int(np.nansum(table["success"]))
    assert len(successes) == good and len(others) == 100 - good
    assert f"{good}% of 100 runs" in fig.get_suptitle()


def test_bins_count_every_run_once():
    x, good = np.random.default_rng(1).random(83), np.arange(83) % 3 == 0
    found = binned(x, good)
    assert sum(n for _, _, n in found) == 83 and sum(k for _, k, _ in found) == good.sum()
    assert np.all(np.diff([m for m, _, _ in found]) > 0)


def test_the_interval_is_that_of_wilson():
    """Against its definition: the rates p at which the observation is 1.96 deviations away."""
    for k, n in ((0, 10), (3, 10), (10, 10), (150, 200)):
        for p in interval(k, n):
            if 0 < p < 1:
                assert_allclose(abs(k / n - p), 1.96 * np.sqrt(p * (1 - p) / n), rtol=1e-9)


def test_seeds_and_texts_are_no_axes():
    assert varied(made_up()) == ["friction", "push_x", "push_y"]
    alone = Table.of([Record(0, {"kind": "a"}, {"success": True}, 0.1)])
    with pytest.raises(eq.EquipoiseError, match="no parameter of this study varies"):
        success_figure(alone)
