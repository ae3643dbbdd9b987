"""Laws of the plan: the pendulum against integration, steps that obey it, and capturability of every plan."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from math import exp, log
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from equipoise.walking.gait import (
    ASIDE,
    FASTEST,
    FOLLOW,
    HASTE,
    QUICKEST,
    SPUN,
    STEADY,
    Command,
    Gait,
    Place,
    next_place,
    slowest_joint,
)  # fmt: skip
from equipoise.walking.gait import STRIDE as REACHED
from equipoise.walking.pendulum import after, after_shift, before, divergent
from equipoise.walking.preview import PREVIEW, Preview
from equipoise.walking.reach import Reach
from equipoise.walking.state import Seen, State
from equipoise.walking.step_plan import (
    BRAKING,
    BX,
    BY,
    NEAREST,
    SIGMA,
    UX,
    UY,
    WEIGHTS,
    YX,
    YY,
    Flight,
    StepPlanner,
    Wish,
    capturable,
    growths,
)  # fmt: skip
from equipoise.walking.swing import QUINTIC

SOLE = np.array([[0.08, 0.03], [-0.08, 0.03], [-0.08, -0.03], [0.08, -0.03]])
numbers = st.floats(-1, 1)


def box_reach(ahead: float = 0.4, nearest: float = 0.1, widest: float = 0.5) -> Reach:
    normals = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    return Reach(normals, np.array([ahead, ahead, widest, -nearest]), ahead, ahead, nearest, widest)


def gait(**changes) -> Gait:
    usual = {
        "rate": 3.5, "height": 0.8, "width": 0.2, "period": 0.5, "shortest": 0.25, "longest": 0.9, "transfer": 0.06,
        "clearance": 0.05, "landing": 0.1, "push_off": np.array([40.0, 40.0]), "hurried": 0.02, "reach": box_reach(),
    }  # fmt: skip
    return Gait(**(usual | changes))


@cache
def planner(side: float) -> StepPlanner:
    return StepPlanner(gait(), side, SOLE)


# --- the pendulum -----------------------------------------------------------------------------------------------------


@given(st.lists(numbers, min_size=8, max_size=8), st.floats(0.05, 0.8), st.floats(2.0, 5.0))
@settings(max_examples=30, deadline=None)
def test_the_capture_point_moves_as_the_pendulum_does(x, seconds, rate):
    """ξ̇ = ω (ξ − p) with p at constant speed: closed form against the fourth-order integration of c̈ = ω² (c − p)."""
    c, v, start, end = (np.array(x[k : k + 2]) for k in (0, 2, 4, 6))
    steps = 400
    dt = seconds / steps

    def rates(t, state):
        p = start + (end - start) * t / seconds
        return np.concatenate([state[2:], rate**2 * (state[:2] - p)])

    state = np.concatenate([c, v])
    for k in range(steps):
        t = k * dt
        k1 = rates(t, state)
        k2 = rates(t + dt / 2, state + dt / 2 * k1)
        k3 = rates(t + dt / 2, state + dt / 2 * k2)
        k4 = rates(t + dt, state + dt * k3)
        state = state + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    came = divergent(state[:2], state[2:], rate)
    expected = after_shift(divergent(c, v, rate), start, end, rate, seconds)
    assert_allclose(expected, came, atol=1e-7)  # 400 steps of fourth order leave (ω T / 400)⁴ e^(ω T) ≈ 1e-8


@given(st.lists(numbers, min_size=4, max_size=4), st.floats(0.0, 1.0))
@settings(max_examples=30, deadline=None)
def test_before_undoes_after(x, seconds):
    xi, p = np.array(x[:2]), np.array(x[2:])
    assert_allclose(before(after(xi, p, 3.0, seconds), p, 3.0, seconds), xi, atol=1e-12)
    assert_allclose(after_shift(xi, p, p, 3.0, seconds), after(xi, p, 3.0, seconds), atol=1e-12)


# --- the plan ---------------------------------------------------------------------------------------------------------


def question(x):
    """ξ, a wish and a foot in the air from seven numbers between −1 and 1."""
    xi = np.array([0.25 * x[0], 0.25 * x[1]])
    wish = Wish(np.array([0.2 * x[2], 0.2]), 0.35 + 0.2 * x[3], np.array([0.05 * x[4], -0.05]))
    return xi, wish, Flight(np.array([0.2 * x[5], 0.2 + 0.05 * x[6]]), np.zeros(2), 0.3, 0.03)


@given(st.lists(numbers, min_size=7, max_size=7))
@settings(max_examples=80, deadline=None)
def test_every_plan_obeys_the_pendulum_the_legs_the_sole_and_the_clock(x):
    """Propagating the pendulum with the plan's own pressure for its own time gives the plan's own end."""
    g, made = gait(), planner(1.0)
    xi, wish, foot = question(x)
    plan = made.plan(xi, wish, 0.15, 0.7, foot)
    assert plan is not None
    assert_allclose(plan.place + plan.offset, after(xi, plan.pressure, g.rate, plan.seconds), atol=1e-6)
    normals, offsets = g.reach.rows(1.0)
    assert (normals @ plan.place <= offsets + 1e-7).all()
    assert (np.abs(plan.pressure) <= [0.08 + 1e-6, 0.03 + 1e-6]).all()
    assert 0.15 - 1e-7 <= plan.seconds <= 0.7 + 1e-7


@pytest.mark.parametrize("used", [1.0, 0.85, 0.5])
@pytest.mark.parametrize("push, axis", [(0.3, 0), (-0.3, 0), (0.3, 1), (-0.3, 1)])
def test_pressure_uses_as_much_of_the_sole_as_it_may(used, push, axis):
    """ξ far to any side of the foot draws it to that edge, at just that part of the sole."""
    xi, wish, foot = question(np.zeros(7))
    xi[axis] += push
    plan = planner(1.0).plan(xi, wish, 0.15, 0.7, foot, used)
    assert_allclose(plan.pressure[axis], np.sign(push) * used * SOLE[0, axis], atol=1e-6)
    assert (np.abs(plan.pressure) <= used * SOLE[0] + 1e-6).all()


@given(st.lists(numbers, min_size=7, max_size=7), st.sampled_from([1.0, -1.0]))
@settings(max_examples=80, deadline=None)
def test_a_plan_without_excess_can_be_stopped(x, side):
    """From the end of such a plan, greedy steps within reach, as quick as feet get there, never let ξ get away.

    This is what the bound on the offset promises; the steps below use no pressure and no other freedom.
    """
    g = gait()
    xi, wish, foot = question(x)
    flip = np.array([1.0, side])
    mirrored = Wish(wish.place * flip, wish.seconds, wish.offset * flip)
    plan = planner(side).plan(xi * flip, mirrored, 0.15, 0.7, Flight(foot.place * flip, np.zeros(2), 0.3, 0.03))
    assert plan is not None
    if plan.excess > 1e-9:
        return
    offset, swing = plan.offset.copy(), -side
    largest = [np.abs(offset).max()]
    for _ in range(12):
        lower, upper = capturable(g, swing)
        gone = offset * np.array(growths(g))
        step = np.clip(
            gone - np.clip(gone * 0, lower, upper),
            [-0.4, min(swing * 0.1, swing * 0.5)],
            [0.4, max(swing * 0.1, swing * 0.5)],
        )
        offset, swing = gone - step, -swing
        largest.append(np.abs(offset).max())
    # within one longest step; what gets away doubles in every step: 2⁸ times that after twelve
    assert max(largest) < 0.6


def test_the_bounds_of_the_offset_are_the_edge_of_what_steps_can_keep():
    """There the largest step, after the quickest time a foot needs for it, leads back to the bound; beyond, farther
    away."""
    g = gait()
    along, aside = growths(g)
    lower, upper = capturable(g, 1.0)
    assert_allclose(upper[0] * along - g.reach.ahead, upper[0], atol=1e-12)
    other_lower, other_upper = capturable(g, -1.0)
    # ξ inward of a left foot (y < 0): the right foot goes as wide as it can, and ξ is then at the outer bound of that
    # foot.
    assert_allclose(lower[1] * aside + g.reach.widest, other_lower[1], atol=1e-12)
    assert_allclose(upper[1] * aside + g.reach.nearest, other_upper[1], atol=1e-12)
    worse = (upper[0] + 1e-3) * along - g.reach.ahead
    assert worse > upper[0] + 1e-3


def test_a_push_makes_the_step_longer_and_the_sole_is_used_first():
    made, calm = planner(1.0), np.array([0.02, 0.04])
    wish = Wish(np.array([0.1, 0.2]), 0.4, np.array([0.03, -0.05]))
    foot = Flight(np.array([0.0, 0.2]), np.zeros(2), 0.37, 0.03)
    plans = [made.plan(calm + np.array([push, 0.0]), wish, 0.2, 0.7, foot) for push in (0.0, 0.02, 0.15)]
    reaches, pressures = [plan.place[0] for plan in plans], [plan.pressure[0] for plan in plans]
    assert reaches[0] < reaches[1] < reaches[2]
    assert pressures[0] < pressures[1] <= pressures[2] <= 0.08 + 1e-9
    small, large = (plans[k].place[0] - plans[0].place[0] for k in (1, 2))
    assert small < 0.5 * 0.02 * exp(3.5 * 0.4)  # the sole takes more than half of a small push
    assert large > 0.1


def test_a_foot_that_is_about_to_land_is_not_sent_elsewhere():
    made = planner(1.0)
    wish, foot = (
        Wish(np.array([0.3, 0.2]), 0.05, np.array([0.0, -0.05])),
        Flight(np.array([0.1, 0.2]), np.zeros(2), 0.02, 0.03),
    )
    plan = made.plan(np.array([0.1, 0.1]), wish, 0.04, 0.06, foot)
    air = log(exp(3.5 * plan.seconds)) / 3.5 - 0.03
    assert abs(plan.place[0] - 0.1) <= NEAREST + 40.0 * (air + 0.01) ** 2 / QUINTIC + 1e-6


@pytest.mark.parametrize("place", [0, 1])
def test_a_capture_point_that_is_none_has_no_plan_and_the_next_one_has(place):
    made, xi = StepPlanner(gait(), 1.0, SOLE), np.array([0.02, 0.04])
    wish = Wish(np.array([0.1, 0.2]), 0.4, np.array([0.03, -0.05]))
    foot = Flight(np.array([0.0, 0.2]), np.zeros(2), 0.37, 0.03)
    right = made.plan(xi, wish, 0.2, 0.7, foot)
    bad = xi.copy()
    bad[place] = np.nan
    assert made.plan(bad, wish, 0.2, 0.7, foot) is None
    again = made.plan(xi, wish, 0.2, 0.7, foot)
    assert again is not None and right is not None
    assert_allclose(again.place, right.place, atol=1e-9)


def test_the_quickest_steps_are_those_that_a_foot_can_make():
    """From one end of the reach to the other and to rest, by the acceleration of the leg; never below the shortest."""
    slow, quick = gait(), gait(push_off=np.array([400.0, 4000.0]), shortest=0.12)
    far = slow.reach.ahead + slow.reach.behind
    seconds = log(growths(slow)[0]) / slow.rate - slow.hurried
    assert_allclose(QUINTIC * far / seconds**2, slow.push_off[0], rtol=1e-9)
    assert growths(quick)[0] < growths(slow)[0]
    assert_allclose(log(growths(quick)[1]) / quick.rate, 0.12, rtol=1e-9)


def test_a_fast_foot_is_not_stopped_in_no_time():
    """A foot at 4 m/s with 40 m/s² needs 1.5 v / a to come to rest on its polynomial, whatever the capture point
    wants."""
    made, wish = planner(1.0), Wish(np.array([0.3, 0.2]), 0.3, np.array([0.0, -0.05]))
    still, fast = (Flight(np.array([0.38, 0.2]), np.array([v, 0.0]), 0.1, 0.03) for v in (0.0, 4.0))
    hurry = np.array([0.3, 0.1])  # far ahead of the foot: the sooner the better
    least = BRAKING * 4.0 / 40.0 + 0.03
    assert made.plan(hurry, wish, 0.05, 0.5, still).seconds < least - 0.02
    assert made.plan(hurry, wish, 0.05, 0.5, fast).seconds >= least - 1e-6
    unhurried = replace(fast, quick=0.5)
    assert made.plan(hurry, wish, 0.05, 0.5, unhurried).seconds >= 2 * least - 0.03 - 1e-6


@pytest.mark.parametrize("quick", [1.0, 0.5])
def test_a_foot_gets_as_far_as_its_acceleration_brings_it(quick):
    """From rest in 0.1 s: a T² / 5.77, and 5 mm that a foot about to land may still be moved."""
    made, wish = planner(1.0), Wish(np.array([0.35, 0.2]), 0.13, np.array([0.0, -0.05]))
    foot = Flight(np.array([0.0, 0.2]), np.zeros(2), 0.1, 0.03, quick)
    plan = made.plan(np.array([0.1, 0.1]), wish, 0.13, 0.13 + 1e-9, foot)
    assert_allclose(plan.place[0], quick * 40.0 * 0.1**2 / QUINTIC + NEAREST, atol=1e-6)


# --- steps of a command -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "command", [Command(0.4, 0.0, 0.0), Command(0.0, 0.1, 0.0), Command(0.3, 0.0, 0.4), Command(0.0, 0.0, -0.5)]
)
def test_steps_of_a_command_go_at_its_speed(command):
    """The middle between the feet moves by the command: along the path, aside, and in heading."""
    g, place, heading, swing = gait(), Place(0.0, -0.1, 0.0), 0.0, 0
    centres, steps = [], 20
    for _ in range(steps):
        new = next_place(place, swing, command, g, heading, g.period)
        side = 1.0 if swing == 0 else -1.0
        centres.append(new.at(0.0, -side * g.width / 2, 0.0).xy)
        place, heading, swing = new, new.yaw, 1 - swing
    seconds = steps * g.period
    assert_allclose(heading, command.turn * seconds, atol=1e-12)
    path = np.linalg.norm(np.diff(np.array([[0.0, 0.0], *centres]), axis=0), axis=1).sum()
    half = g.period * command.turn / 2  # chords of arcs are a little shorter than the arcs
    speed = np.hypot(command.forward, command.left) * (np.sinc(half / np.pi) if command.turn else 1.0)
    assert_allclose(path, speed * seconds, rtol=0.01, atol=1e-9)


def test_feet_never_come_nearer_than_they_stand_when_walking_aside():
    g, place, swing = gait(), Place(0.0, -0.1, 0.0), 0
    for _ in range(6):
        new = next_place(place, swing, Command(0.0, 0.2, 0.0), g, 0.0, g.period)
        assert abs(new.y - place.y) >= g.width - 1e-12
        place, swing = new, 1 - swing


def test_quick_commands_have_short_periods():
    g = gait()
    assert g.period_of(Command(0.1)) == g.period
    assert g.period_of(Command(1.0)) < g.period_of(Command(0.6)) < g.period


def test_the_largest_speeds_ahead_and_aside_differ_and_turns_end_too():
    g = gait()
    most = np.array([g.fastest, ASIDE * g.rate * g.height, SPUN * g.rate])
    for sign in (1, -1):
        new = g.towards(Command(), Command(sign * 9.0, sign * 9.0, sign * 9.0), 1e3)
        assert_allclose([new.forward, new.left, new.turn], sign * most, rtol=1e-12)
    assert g.towards(Command(), Command(0.0, 0.0, 0.9 * most[2]), 1e3).turn == 0.9 * most[2]


def test_a_command_that_is_cut_is_named_with_its_limit():
    g = gait()
    limit = f"{ASIDE * g.rate * g.height:.3g} m/s"
    assert g.cuts(Command(0.1, -2.0, 0.0), "g1") == [
        f"commanded side -2 m/s exceeds the limit {limit} of g1; using -{limit.split()[0]}"
    ]
    assert g.cuts(Command(g.fastest, 0.0, -SPUN * g.rate), "g1") == []
    assert len(g.cuts(Command(10.0, 10.0, 10.0), "g1")) == 3


@pytest.mark.parametrize(
    "changed, end",
    [
        ({"push_off": np.full(2, 400.0), "reach": box_reach(ahead=2.0)}, "seen"),
        ({"push_off": np.full(2, 400.0), "reach": box_reach(ahead=0.3)}, "reach"),
        ({"push_off": np.full(2, 20.0), "reach": box_reach(ahead=2.0)}, "feet"),
        ({"push_off": np.full(2, 20.0), "reach": box_reach(ahead=0.3), "width": 0.0}, "seen"),
    ],
)
def test_commands_end_at_what_this_body_can_walk(changed, end):
    """In the quickest steps: a stride within reach, and a foot from rest to rest over two of them. A trot has a gait of
    its own."""
    g = gait(**changed)
    T = QUICKEST * g.period
    stride = g.fastest * T
    used = {
        "seen": g.fastest / (FASTEST * g.rate * g.height),
        "reach": stride / (REACHED * g.reach.ahead),
        "feet": QUINTIC * 2 * stride / (T - g.transfer) ** 2 / (FOLLOW * g.push_off[0]),
    }
    assert_allclose(used[end], 1.0, rtol=1e-12)
    assert g.width == 0 or max(used.values()) <= 1 + 1e-12


@pytest.mark.parametrize("part", [-1.0, -0.5, 0.0, 0.5, 1.0])
def test_speeds_change_more_slowly_the_faster_it_walks(part):
    """By up to 0.3 of 0.06 g less, ahead and back alike; speeds aside and of the turn, too."""
    g, dt = gait(), 1e-3
    speed = g.rate * g.height
    now = Command(part * FASTEST * speed, 0.0, 0.0)
    new = g.towards(now, Command(9.0 if part <= 0 else -9.0, 9.0, -9.0), dt)
    changes = np.abs([new.forward - now.forward, new.left, new.turn])
    least = HASTE * (1 - STEADY * abs(part)) * g.rate * dt
    assert 0 < STEADY < 1
    assert_allclose(changes, least * np.array([speed, speed, g.rate]), rtol=1e-9)


def slow_legs(*rates: float, hip: float = 0.0) -> SimpleNamespace:
    """A body with a hip, whose axis is so far along the vertical, and a knee, of these largest rates."""
    joints = {k: SimpleNamespace(v=slice(n, n + 1), type=SimpleNamespace(nv=1)) for n, k in ((6, "hip"), (7, "knee"))}
    J = np.zeros((6, 8))
    J[3:, 6], J[3:, 7] = [np.sqrt(1 - hip**2), 0.0, hip], [0.0, 1.0, 0.0]
    limits = SimpleNamespace(velocity=np.array([np.inf] * 6 + list(rates)))
    robot = SimpleNamespace(limits=limits, joints=joints, jacobian=lambda q, frame: J)
    feet = {"left foot": SimpleNamespace(joints=("hip", "knee"))}
    return SimpleNamespace(robot=robot, feet=feet, frames={"left foot": "sole"}, standing=None)


def test_a_largest_rate_of_zero_is_none():
    """Files have zero where nobody knows it; a period from it would have no end."""
    assert slowest_joint(slow_legs(0.0, 7.0)) == 7.0
    assert slowest_joint(slow_legs(0.0, 0.0)) == np.inf


@pytest.mark.parametrize(("hip", "slowest"), [(0.0, 0.3), (0.85, 0.3), (-0.85, 0.3), (0.95, 7.0), (-1.0, 7.0)])
def test_a_joint_that_only_turns_a_foot_does_not_slow_a_gait_down(hip, slowest):
    assert slowest_joint(slow_legs(0.3, 7.0, hip=hip)) == slowest


def test_places_cannot_be_written_to():
    """Their arrays are made once and given to everybody."""
    place = Place(1.0, 2.0, 0.3)
    for array in (place.xy, place.R):
        with pytest.raises(ValueError, match="read-only"):
            array += 1.0
    assert_allclose(place.xy, [1.0, 2.0])


# --- the program of a step --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("firm, seconds", [(1.0, 0.3), (300.0, 0.01)])
def test_the_cost_of_a_plan_is_what_its_weights_say(firm, seconds, rng):
    """|R x − r|² against the sum it stands for: the place, the time by its part, the pressure (y is it times σ − 1, or
    0.05 where that is less), the offset."""
    plan, foot = planner(1.0), Flight(np.array([-0.1, 0.2]), np.array([0.3, -0.1]), 0.2, 0.02)
    wish = Wish(np.array([0.25, 0.22]), seconds, np.array([0.03, -0.07]), firm)
    plan.plan(np.array([0.05, 0.02]), wish, 0.001, 0.6, foot)
    braked = BRAKING * float(np.abs(foot.velocity).max()) / 40.0 + foot.wait  # no step is quicker
    to = exp(plan.gait.rate * max(seconds, braked))
    data, x, w = plan.solver.data, rng.normal(size=7), WEIGHTS
    wanted = w["place"] * firm * ((x[[UX, UY]] - wish.place) ** 2).sum() + w["time"] * (x[SIGMA] / to - 1) ** 2
    wanted += w["pressure"] * (x[[YX, YY]] ** 2).sum() / max(to - 1, 0.05) ** 2
    wanted += w["offset"] * ((x[[BX, BY]] - wish.offset) ** 2).sum()
    assert_allclose(((data["R"] @ x - data["r"]) ** 2).sum(), wanted, rtol=1e-12)


def test_a_foot_gets_as_far_as_its_flight_says_each_way():
    """The four rows at the time of the last plan: x + v T / 2 ± a T² / k and a little; and their slope in σ = e^(ω (T +
    wait)), by central differences, whose error is of the order of the step squared, 1e-8."""
    g = gait(push_off=np.array([40.0, 30.0]))
    plan, foot = StepPlanner(g, -1.0, SOLE), Flight(np.array([-0.1, 0.2]), np.array([0.5, -0.3]), 0.21, 0.03, 0.6)
    plan.plan(np.zeros(2), Wish(np.zeros(2), 0.3, np.zeros(2)), 0.2, 0.6, foot)
    data, rows = plan.solver.data, plan._near
    signs = np.array([1.0, 1.0, -1.0, -1.0])
    x, v, a = (np.tile(pair, 2) for pair in (foot.place, foot.velocity, foot.quick * g.push_off / QUINTIC))

    def far(T):
        return signs * (x + v * T / 2) + a * T**2

    def bound(T):
        return data["upper"][rows] - data["A"][rows, SIGMA] * exp(g.rate * (T + foot.wait))

    assert_allclose(bound(0.21), far(0.21) + NEAREST, rtol=1e-12)
    assert_allclose(bound(0.21 + 1e-4) - bound(0.21 - 1e-4), far(0.21 + 1e-4) - far(0.21 - 1e-4), rtol=1e-6)
    assert_allclose(data["A"][rows, UX : UY + 1], np.concatenate([np.eye(2), -np.eye(2)]))


def test_the_preview_ends_at_rest_and_makes_up_for_a_lag():
    """From ξ at the next touchdown the pendulum, on foot after foot, comes to the middle of the last two; its places
    are those of a command that is quicker by what the walk lagged."""
    g, s = gait(), State(stance=1, heading=0.3, period=0.45, pace=1.1, lag=np.array([0.05, -0.04]))
    pose = np.eye(4)
    pose[:2, 3], pose[:2, :2] = (0.4, -0.2), Place(0.0, 0.0, 0.25).R
    seen = Seen(0.0, np.zeros(3), np.zeros(3), np.zeros(2), (np.eye(4), pose), {})
    command, preview = Command(0.3, 0.1, 0.2), Preview(g, climbs=False)
    wish, places = preview.wish(s, seen, command, 0.2, 0.45), preview.places(s, seen, command, 0.25)
    assert len(places) == PREVIEW + 1 and s.goal_yaw == places[1].yaw
    first = next_place(places[0], 0, Command(0.35, 0.06, 0.2), g, 0.3 - 0.2 * 0.25, 1.1 * 0.45)
    assert_allclose([*places[1].xy, places[1].yaw], [*first.xy, first.yaw], rtol=1e-12)
    stance = Place(0.4, -0.2, 0.25)
    assert_allclose(stance.R @ wish.place + stance.xy, places[1].xy, rtol=1e-12)
    xi = places[1].xy + stance.R @ wish.offset
    for place in places[1:-1]:
        xi = after(xi, place.xy, g.rate, s.period)
    assert_allclose(xi, (places[-1].xy + places[-2].xy) / 2, atol=1e-9)


@pytest.mark.parametrize("swing", [0, 1])
@pytest.mark.parametrize("left", [0.1, -0.15])
def test_the_middle_of_the_feet_goes_half_the_turn_then_by_the_command(swing, left):
    """A step of a turning walk is one of frames: to the middle, along it, and to the other foot."""
    g, side, T = gait(), 1.0 if swing == 0 else -1.0, 0.4
    stance, turn = Place(0.3, -0.2, 0.5), 0.6 * T
    aside = left * T * (2.0 if side * left > 0 else 0.0)
    wanted = Place(0.3, -0.2, 0.7).at(0.0, side * g.width / 2, turn / 2).at(0.2 * T, aside, turn / 2)
    wanted = wanted.at(0.0, side * g.width / 2, 0.0)
    got = next_place(stance, swing, Command(0.2, left, 0.6), g, 0.7, T)
    assert_allclose([*got.xy, got.yaw], [*wanted.xy, wanted.yaw], rtol=1e-12)
