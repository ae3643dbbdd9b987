"""The shipped scenarios that change feet, hands and seat: walk, stairs, chair; one seed each."""

from __future__ import annotations

import numpy as np
import pytest

from equipoise.simulate.scenario import load_scenario
from equipoise.simulate.scenarios import prepare, run_built, verdict

pytest.importorskip("mujoco")

NAMES = ("walk", "stairs", "chair")
FEET = ("left foot", "right foot")


def weight(run):
    return run.robot.mass * np.linalg.norm(run.robot.model.gravity)


def carried(run, name, rows):
    """Mean vertical force that MuJoCo measured at a contact, by the weight."""
    return float(np.mean(np.nan_to_num(run.measured[name][rows, 2]))) / weight(run)


def corners(run, name, k):
    X = run.robot.pose(run.q[k], run.contacts[name].frame)
    return run.contacts[name].points @ X[:3, :3].T + X[:3, 3]


@pytest.fixture(scope="module")
def runs():
    """Each scenario is run once for all tests of this file."""
    made = {}

    def run_of(name):
        if name not in made:
            built = prepare(name)
            made[name] = built, run_built(built, seed=3)
        return made[name]

    return run_of


@pytest.mark.parametrize("name", NAMES)
def test_files_say_what_they_are_and_disturb_like_the_others(name):
    scenario, usual = load_scenario(name), load_scenario("step")
    assert scenario.title and scenario.about and scenario.goal
    assert scenario.plant.kind == "mujoco" and scenario.plant.dt == 1e-3 and scenario.control.level == "torque"
    assert scenario.disturbance.noise == usual.disturbance.noise
    assert scenario.disturbance.push == usual.disturbance.push


@pytest.mark.parametrize("name", ["stairs", *(pytest.param(n, marks=pytest.mark.slow) for n in ("walk", "chair"))])
def test_planned_postures_keep_away_from_the_ends_of_joints(name):
    """A joint at its end answers the noise of its sensor with large accelerations; references stay 0.055 rad off it."""
    built = prepare(name)
    robot, machine = built.robot, built.controller
    lower, upper = robot.limits.lower, robot.limits.upper
    for q in [step.q for stance in machine.plan for step in stance.way]:
        for joint in robot.joints.values():
            if joint.mimic is None and joint.type.nq == 1:
                assert min(q[joint.q] - lower[joint.q], upper[joint.q] - q[joint.q]) > 0.055, joint.name


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_reaches_its_goal(runs, name):
    _, run = runs(name)
    assert verdict(run).reached, verdict(run).reasons


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_feet_alone_carry_the_weight_in_the_end(runs, name):
    """At rest the measured forces are the weight, whatever the controller believes; a mean over 0.2 s takes out the
    noise."""
    _, run = runs(name)
    last = slice(-200, None)
    assert sum(carried(run, foot, last) for foot in FEET) == pytest.approx(1.0, abs=0.02)
    assert all(carried(run, other, last) == 0.0 for other in run.contacts if other not in FEET)


@pytest.mark.slow
@pytest.mark.parametrize("name", ("walk", "stairs"))
def test_one_foot_at_a_time_is_lifted(runs, name):
    """Static steps: while a foot is up, the other stays where it is, to a millimetre or two of give."""
    _, run = runs(name)
    up = {foot: np.nan_to_num(run.measured[foot][:, 2]) == 0.0 for foot in FEET}
    for foot, other in (FEET, FEET[::-1]):
        alone = up[foot] & ~up[other]
        starts = np.flatnonzero(np.diff(alone.astype(int)) == 1) + 1
        long = [k for k in starts if k + 300 < len(alone) and alone[k : k + 300].all()]
        assert len(long) == 2
        for k in long:
            assert np.abs(corners(run, other, k) - corners(run, other, k + 300)).max() < 2e-3


@pytest.mark.slow
def test_both_feet_stand_on_the_stair(runs):
    """All eight corners of the soles are on the box, inside its edges, at one time, and both feet carry."""
    built, run = runs("stairs")
    stair = built.options["obstacles"][0]
    arrived = next(t for t, text in run.events if "'on the stair' reached" in text)
    k = int(np.searchsorted(run.t, arrived))
    soles = np.concatenate([corners(run, foot, k) for foot in FEET])
    assert np.abs(soles[:, 2] - 0.05).max() < 2e-3
    assert (np.abs(soles[:, :2] - stair.position[:2]) < stair.size[:2] / 2).all()
    assert all(carried(run, foot, slice(k - 50, k)) > 0.2 for foot in FEET)


@pytest.mark.slow
def test_the_seat_hands_over_to_the_hands(runs):
    _, run = runs("chair")
    off = next(t for t, text in run.events if text == "force vanished: seat let go")
    k = int(np.searchsorted(run.t, off))
    before, after = slice(0, 300), slice(k + 100, k + 400)
    assert carried(run, "seat", before) > 0.2 and carried(run, "left hand", before) == 0.0
    assert (
        carried(run, "seat", after) == 0.0
        and carried(run, "left hand", after) > 0.1
        and carried(run, "right hand", after) > 0.1
    )


@pytest.mark.slow
def test_without_arm_rests_the_goal_is_missed():
    """The verdict is not a formality: hands that find nothing do not push."""
    seat = {"kind": "box", "size": [0.36, 0.44, 0.04], "position": [-0.3, 0.0, 0.41]}
    run = run_built(prepare("chair", overrides={"obstacle": [seat], "duration": 5.0}), seed=3)
    assert run.outcome == "missed"
    assert any("left hand pushes" in reason for reason in verdict(run).reasons)
