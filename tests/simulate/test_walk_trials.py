"""What courses measure: velocities on average of whole strides."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bench import walk_trials
from bench.self_contact import SelfContact
from bench.walk_trials import WalkTrial
from equipoise.algebra import quaternions
from equipoise.simulate.walk_trials import (
    Leg,
    commanded_walk,
    lateral_drift,
    mean_velocity,
    walked_leg,
    whole_strides,
)

STRIDE = 0.9


def walked_aside(turn: float = 0.6) -> SimpleNamespace:
    """0.125 m/s to the left of a heading, all of it in every second step, of 0.45 s."""
    t = np.arange(0.0, 6.0, 1e-3)
    left = np.where(t % STRIDE < STRIDE / 2, 0.25, 0.0)
    q, v = np.zeros((len(t), 7)), np.zeros((len(t), 6))
    q[:, 3], q[:, 6] = np.cos(turn / 2), np.sin(turn / 2)
    v[:, 0], v[:, 1] = -np.sin(turn) * left, np.cos(turn) * left
    feet = [(STRIDE / 2 * k + 0.05, f"{('left', 'right')[k % 2]} foot swings") for k in range(13)]
    return SimpleNamespace(t=t, q=q, v=v, phases=((0.0, "shift"), *feet))


@pytest.mark.parametrize(("start", "end"), [(1.5, 5.5), (1.9, 5.5), (1.5, 5.0), (1.0, 3.1), (1.5, 2.8)])
def test_a_walk_aside_is_measured_over_whole_strides(start, end):
    """Wherever the time begins and ends; over all of it the mean would be up to 11 % off."""
    run = walked_aside()
    assert_allclose(mean_velocity(run, *whole_strides(run, start, end)), [0.0, 0.125, 0.0], atol=1e-3)


@pytest.mark.parametrize("front", [(1.0, 0.0, 0.0), (-1.0, 0.0, 0.0), (0.0, 1.0, 0.0)])
def test_velocity_is_measured_along_the_front(front):
    """A robot whose front is another axis of its base, turned so that it looks to +x, and pitched."""
    turn, pitch = -np.arctan2(front[1], front[0]), 0.2
    run = straight(0.3, 0.0)
    a, b = (np.cos(turn / 2), 0.0, 0.0, np.sin(turn / 2)), (np.cos(pitch / 2), 0.0, np.sin(pitch / 2), 0.0)
    run.q[:, 3:7] = quaternions.product(b, a)
    assert_allclose(mean_velocity(run, 1.0, 3.0, front), [0.3, 0.0, 0.0], atol=1e-9)


def straight(speed: float, sideways: float, seconds: float = 6.0) -> SimpleNamespace:
    """At a speed to +x, with a drift to +y, m/s."""
    t = np.arange(0.0, seconds, 1e-3)
    q, v = np.zeros((len(t), 7)), np.zeros((len(t), 6))
    q[:, 0], q[:, 1], q[:, 3] = speed * t, sideways * t, 1.0
    v[:, 0], v[:, 1] = speed, sideways
    return SimpleNamespace(t=t, q=q, v=v, phases=())


@pytest.mark.parametrize(("asked", "drift"), [((0.3, 0.0, 0.0), 0.1), ((0.3, 0.03, 0.0), 0.0), ((-0.3, 0.0, 0.0), 0.1)])
def test_drift_is_the_distance_from_the_line_of_the_command(asked, drift):
    run = straight(asked[0], 0.03)
    length = np.hypot(0.3, 0.03)
    assert_allclose(lateral_drift(run, 1.0, 3.0, asked), drift * 0.3 / length, atol=1e-9)


WALKER = SimpleNamespace(body=SimpleNamespace(gains=SimpleNamespace(speed=2.0), front=np.array([1.0, 0.0, 0.0])))


@pytest.mark.parametrize(
    ("speed", "sideways", "complaint"),
    [
        (0.162, 0.0, None),
        (0.145, 0.005, None),
        (0.065, 0.0, "forward: 0.065 m/s (wanted 0.162 m/s within 15%)"),
        (0.2268, 0.0, "0.227 m/s (wanted 0.162 m/s within 15%)"),
        (-0.162, 0.0, "forward: -0.162 m/s"),
        (0.162, 0.01, "line: 6% of its path aside (wanted at most 5%)"),
        (np.nan, 0.0, "forward: nan m/s"),
    ],
)
def test_a_walk_is_judged_by_what_was_commanded(speed, sideways, complaint):
    leg = commanded_walk(WALKER, straight(speed, sideways), 0.5, (0.162, 0.0, 0.0))
    assert leg.good is (complaint is None)
    if complaint:
        assert complaint in "; ".join(leg.complaints)


def test_a_pushed_walk_may_leave_its_line():
    assert commanded_walk(WALKER, straight(0.162, 0.02), 0.5, (0.162, 0.0, 0.0), pushed=True).good


def test_over_parts_of_strides_the_mean_is_another():
    assert abs(mean_velocity(walked_aside(), 1.8, 4.05)[1] - 0.125) > 0.01


def test_without_two_steps_of_a_foot_all_of_the_time_counts():
    run = walked_aside()
    assert whole_strides(run, 1.5, 1.9) == (1.5, 1.9)
    assert whole_strides(SimpleNamespace(phases=()), 0.0, 2.0) == (0.0, 2.0)


def test_a_leg_is_good_within_fifteen_percent_of_what_is_asked():
    assert Leg(0.0, 1.0, (0.4, 0.0, 0.0), (0.35, 0.1, 0.0)).good
    assert not Leg(0.0, 1.0, (0.4, 0.0, 0.0), (0.33, 0.0, 0.0)).good
    assert not Leg(0.0, 1.0, (0.0, 0.0, 0.5), (0.0, 0.0, np.nan)).good


def test_what_is_not_asked_for_is_bounded_too():
    """In a course by 15 % of its own speeds; without a bound, by nothing."""
    drift = 0.06, 0.06, 0.075
    assert Leg(0.0, 1.0, (0.4, 0.0, 0.0), (0.4, 0.059, -0.074), drift).good
    for came in ((0.4, 0.061, 0.0), (0.4, 0.0, -0.076), (0.4, np.nan, 0.0)):
        assert not Leg(0.0, 1.0, (0.4, 0.0, 0.0), came, drift).good
    assert not Leg(0.0, 1.0, (0.0, 0.0, 0.5), (-0.07, 0.0, 0.5), drift).good


def test_a_stop_is_good_if_it_stood():
    """Whatever its mean velocity: it may bring its feet together."""
    stop = Leg(0.0, 1.0, (0.0, 0.0, 0.0), (0.0, 0.1, 0.0), (0.06, 0.06, 0.075))
    assert not stop.good and replace(stop, stood=True).good


@pytest.mark.parametrize(("stands", "stood"), [(None, False), (2.5, False), (2.95, True), (3.5, True), (5.5, False)])
def test_it_stood_if_it_did_while_it_was_told_to(stands, stood):
    run = walked_aside()
    run.phases = tuple(sorted((*run.phases, *(() if stands is None else ((stands, "stand"),)))))
    assert walked_leg(run, 3.0, 5.0, (0.0, 0.0, 0.0)).stood is stood


def test_a_course_is_held_to_its_own_speeds_and_looked_at_to_its_end(monkeypatch):
    """With a gait of 2 m/s: 15 % of 0.3 m/s forward, as much aside, 15 % of 0.5 rad/s. Postures from first to last are
    looked at, 10 ms apart."""
    t, touch, looked = np.arange(0.0, 30.0, 1e-3), SelfContact(("left_hand", "left_thigh"), 2e-3, 7), []
    q = np.column_stack([t, *np.zeros((2, len(t))), np.ones(len(t)), *np.zeros((3, len(t)))])
    run = SimpleNamespace(t=t, q=q, v=np.zeros((len(t), 6)), phases=(), outcome="completed")
    judge = SimpleNamespace(deepest=lambda postures: looked.append(postures[:, 0]) or touch)
    doing = {"simulate": run, "varied_plant": None, "SelfContacts": judge, "_effort": 0.5, "_excess": -0.1}
    for name, gives in doing.items():
        monkeypatch.setattr(walk_trials, name, lambda *a, gives=gives, **k: gives)
    walker = SimpleNamespace(
        body=WALKER.body, robot=None, q0=q[0],
        command=lambda *a, at: None, forget_commands=lambda: None,
    )  # fmt: skip
    trial = walk_trials.walk_course(walker, 3)
    assert len(trial.legs) == 6
    for leg in trial.legs:
        assert_allclose(leg.drift, [0.15 * 0.3, 0.15 * 0.3, 0.15 * 0.5])
    assert trial.touch is touch and not trial.good
    assert_allclose(np.diff(looked[0]), 0.01, atol=1e-9)
    assert looked[0][0] == 0.0 and looked[0][-1] > 29.98


@pytest.mark.parametrize(
    "wrong",
    [
        {"run": SimpleNamespace(outcome="fell")},
        {"legs": (Leg(0.0, 1.0, (0.4, 0.0, 0.0), (0.4, 0.0, 0.0)), Leg(1.0, 2.0, (0.4, 0.0, 0.0), (0.2, 0.0, 0.0)))},
        {"effort": 1.001},
        {"effort": np.nan},
        {"excess": 1e-6},
        {"excess": np.nan},
        {"touch": SelfContact(("left_hand", "left_thigh"), 1e-4, 7)},
    ],
)
def test_a_trial_is_good_if_nothing_is_wrong(wrong):
    """Whether it fell, was slow in some leg, asked for more torque than there is, went beyond a joint's end or touched
    itself."""
    right = WalkTrial(
        0, (Leg(0.0, 1.0, (0.4, 0.0, 0.0), (0.4, 0.0, 0.0)),), SimpleNamespace(outcome="completed"), 1.0, 0.0
    )
    assert right.good and not replace(right, **wrong).good
