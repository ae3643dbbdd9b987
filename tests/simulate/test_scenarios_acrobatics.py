"""The shipped scenarios of balance and of both hands: handstand, cup, cup_on_wheels, bird; one seed each."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from equipoise.control.safety.vfi import Gains
from equipoise.model.robots.mobile import rolling_constraint
from equipoise.simulate.scenario import ScenarioError, load_scenario
from equipoise.simulate.scenarios import prepare, run_scenario, verdict

NAMES = ("handstand", "cup", "cup_on_wheels", "bird")
HANDS = ("left hand", "right hand")


@pytest.fixture(scope="module")
def runs():
    """Each scenario is run once for all tests of this file."""
    made = {}

    def run_of(name):
        if name not in made:
            made[name] = run_scenario(name, seed=3, progress=False)
        return made[name]

    return run_of


def check(run, name):
    return next(one for one in verdict(run).checks if one.name == name)


@pytest.mark.parametrize("name", NAMES)
def test_files_say_what_they_are_and_disturb(name):
    scenario = load_scenario(name)
    assert scenario.title and scenario.about and scenario.goal
    assert scenario.disturbance.noise["position"] == load_scenario("step").disturbance.noise["position"]
    assert (scenario.disturbance.push is None) == (scenario.plant.kind == "kinematic")  # nothing can push that plant


# --- the bird [EB98, Fig. 12] -----------------------------------------------------------------------------------------


@pytest.mark.paper("E10")
def test_the_bird_reaches_all_spots_in_balance(runs):
    run = runs("bird")
    assert verdict(run).reached, verdict(run).reasons
    # first in priority: exact but for the noise of the sensors
    assert np.abs(run.com[:, 0] - run.com[0, 0]).max() < 1e-3


@pytest.mark.paper("E10")
def test_without_its_centre_of_mass_the_bird_would_fall():
    """The left side of [EB98, Fig. 12]: the beak alone arrives as well, the mass is far from its line."""
    run = run_scenario("bird", progress=False, overrides={"task.0.priority": 3, "duration": 7.1})
    assert check(run, "beak on the ground").good
    assert not check(run, "balanced").good
    assert run.outcome == "missed"
    assert np.abs(run.com[:, 0]).max() > 0.03  # m, half a foot


# --- a cup in two hands [QO21, Sec. 6.1.3] ----------------------------------------------------------------------------


@pytest.mark.paper("Q11")
def test_the_cup_on_wheels_arrives_and_the_wheels_roll(runs):
    run = runs("cup_on_wheels")
    assert verdict(run).reached, verdict(run).reasons
    slip = np.einsum("kij,kj->ki", rolling_constraint(run.q[:-1]), run.v[1:])
    noise = 2e-4 * 5  # rad: the controller holds the constraint at the heading that it measures
    assert np.abs(slip).max() < noise * np.abs(run.v[:, :2]).max()
    assert np.abs(np.diff(run.q[:, :2], axis=0)).sum() > 0.5  # it does drive
    assert np.ptp(run.q[:, 2]) > 0.1


@pytest.mark.paper("Q5")
def test_without_its_cone_the_cup_on_wheels_is_spilled():
    run = run_scenario("cup_on_wheels", progress=False, overrides={"constraint.0.angle": 1.0, "duration": 5.0})
    assert not check(run, "nothing spilled").good


@pytest.mark.slow
@pytest.mark.paper("Q11")
def test_the_cup_arrives_by_torques(runs):
    pytest.importorskip("mujoco")
    run = runs("cup")
    assert verdict(run).reached, verdict(run).reasons
    tilt = np.arccos(np.clip(run.robot.pose(run.q[::10], "left grip")[:, 2, 2], -1, 1))
    assert 0.07 < tilt.max() < 0.1  # asked for 0.3 rad, the cone is what keeps it


def test_grips_are_turned_as_the_world_at_the_start():
    built = prepare("cup_on_wheels")
    for frame in ("left grip", "right grip"):
        assert_allclose(built.robot.pose(built.start, frame)[:3, :3], np.eye(3), atol=1e-12)
    assert_allclose(
        built.robot.pose(built.start, "left grip")[:3, 3], built.robot.pose(built.start, "left_tool")[:3, 3]
    )


def test_rates_of_a_file_are_the_gains_of_its_barriers():
    (cone,) = (c for c in prepare("cup_on_wheels").controller.items.constraints if c.label == "tilt of the cup")
    wanted = Gains.of_rates(1.5, 20.0)
    assert (cone.gains.eta_d, cone.gains.eta_p) == (wanted.eta_d, wanted.eta_p)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"frame.0.on": "left_toll"}, "left_tool"),
        ({"constraint.1.rates": [1.0, 2.0]}, "rates"),  # joint limits are no barrier
        ({"robot": "bimanual"}, "first joint is planar"),
        ({"task.0.kind": "roling"}, "rolling"),
    ],
)
def test_mistakes_are_told_with_their_line(changes, words):
    with pytest.raises(ScenarioError, match=r"line \d+") as error:
        prepare("cup_on_wheels", overrides=changes)
    assert words in str(error.value)


def test_a_grip_that_gives_way_is_told():
    """With the grip as a faint wish instead of a must, the hands follow their own postures and the cup is torn."""
    changes = {"task.1.hard": False, "task.1.weight": 1e-6, "task.3.weight": 0.1, "task.3.gain": 3.0, "duration": 3.0}
    run = run_scenario("cup_on_wheels", progress=False, overrides=changes)
    assert not check(run, "cup neither torn nor squeezed").good


# --- the handstand [BK12, Fig. 3] -------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.paper("B6")
def test_the_handstand_goes_to_one_hand_and_back(runs):
    pytest.importorskip("mujoco")
    run = runs("handstand")
    assert verdict(run).reached, verdict(run).reasons
    weight = run.robot.mass * np.linalg.norm(run.robot.model.gravity)
    left, right = (np.nan_to_num(run.measured[hand]) for hand in HANDS)
    alone = right[:, 2] == 0.0
    assert alone.sum() * 1e-3 > 2.0  # s
    assert not alone[:1000].any() and not alone[-1000:].any()
    lowest = np.minimum(
        run.robot.pose(run.q[::50], "left foot")[:, 2, 3], run.robot.pose(run.q[::50], "right foot")[:, 2, 3]
    )
    assert lowest.min() > 1.2  # m: feet up all the time
    quiet = alone & (np.abs(np.gradient(run.com, run.t, axis=0)).max(axis=1) < 2e-3)
    assert quiet.sum() > 500
    assert_allclose(left[quiet, 2].mean(), weight, rtol=0.01)


@pytest.mark.slow
@pytest.mark.paper("B6")
def test_at_rest_on_one_hand_the_centre_of_mass_is_above_the_pressure(runs):
    """Statics, from what MuJoCo measured: Σ f × arm = 0 puts the centre of mass above the centre of pressure."""
    pytest.importorskip("mujoco")
    run = runs("handstand")
    left, right = (np.nan_to_num(run.measured[hand]) for hand in HANDS)
    quiet = (right[:, 2] == 0.0) & (np.abs(np.gradient(run.com, run.t, axis=0)).max(axis=1) < 2e-3)
    palm = run.robot.pose(np.ascontiguousarray(run.q[quiet]), "left hand")[:, :2, 3]
    pressure = palm + np.column_stack([-left[quiet, 4], left[quiet, 3]]) / left[quiet, 2:3]
    assert_allclose(pressure.mean(axis=0), run.com[quiet, :2].mean(axis=0), atol=2e-3)
    wrist = run.robot.joints["left_wrist_roll"].v
    assert np.abs(run.torque[:, wrist]).max() < run.robot.limits.effort[wrist][0]


@pytest.mark.slow
def test_a_fall_from_the_hands_is_seen_long_before_the_ground():
    """A shove that no wrist can answer: told as a fall while the feet are still up."""
    pytest.importorskip("mujoco")
    push = {"frame": "pelvis", "force": [400, 0, 0], "start": 0.2, "duration": 0.3}
    run = run_scenario("handstand", progress=False, overrides={"push": [push], "duration": 4.0})
    assert run.outcome == "fell"
    assert not check(run, "no fall").good
    assert run.robot.pose(run.q[-1], "left foot")[2, 3] > 0.3


@pytest.mark.slow
def test_postures_of_the_handstand_are_held_by_the_wrists():
    """On one hand the centre of mass is above its heel: in front of the wrist, and less far than 90 % of its torque
    carry."""
    built = prepare("handstand")
    robot, machine = built.robot, built.controller
    alone = next(stance for stance in machine.plan if len(stance.contacts) == 1)
    com, palm = robot.com(alone.q), robot.pose(alone.q, "left hand")
    in_palm = palm[:3, :3].T @ (com - palm[:3, 3])
    lever = in_palm[0] + 0.0925  # m in front of the wrist, at the heel of the hand
    weight = robot.mass * np.linalg.norm(robot.model.gravity)
    effort = robot.limits.effort[robot.joints["left_wrist_roll"].v][0]
    assert 0.01 < lever < 0.9 * effort / weight
    assert abs(in_palm[1]) < 0.02
    feet = [robot.pose(stance.q, f"{side} foot")[2, 3] for stance in machine.plan for side in ("left", "right")]
    assert min(feet) > 1.2  # m
