"""The capture point: where a pendulum stops, how fast weight may be shifted, and endings that are true."""

from __future__ import annotations

import human_contacts as hc
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import solve_ivp

import equipoise as eq
from equipoise.balance import support_polygon
from equipoise.control.stances.capture import ROOM, Support, support_of
from equipoise.control.stances.events import EventKind, Outcome, Reason
from equipoise.control.stances.references import minimum_jerk

BOTH = ["left_foot", "right_foot"]
FAST = {"speed": (0.3, 0.4, 1.5), "load_time": 0.15}
G = 9.80665
SOLE = support_polygon([(0.1, 0.05), (0.1, -0.05), (-0.1, -0.05), (-0.1, 0.05)])


@pytest.fixture(scope="module")
def human():
    return eq.load("human")


@pytest.fixture(scope="module")
def feet(human):
    return [hc.flat(human, name) for name in BOTH]


def test_a_pendulum_stops_above_its_capture_point(rng):
    """c̈ = (g/h)(c − p) with the pressure p at the capture point comes to rest there; its margin is the margin of that
    place."""
    support = Support(SOLE, 0.2, G)
    for _ in range(5):
        com, velocity = np.array([*rng.uniform(-0.05, 0.05, 2), 1.0]), np.array([*rng.uniform(-0.2, 0.2, 2), 0.3])
        p = com[:2] + velocity[:2] * np.sqrt(0.8 / G)
        path = solve_ivp(
            lambda t, x, p=p: [*x[2:], *(G / 0.8 * (x[:2] - p))],
            (0, 2.5),
            [*com[:2], *velocity[:2]],
            rtol=1e-12,
            atol=1e-14,
        )
        assert_allclose(path.y[:2, -1], p, atol=1e-3)
        assert support.margin(com, velocity) == pytest.approx(SOLE.margin(p), abs=1e-12)
    assert support.margin(np.array([0.0, 0.0, 1.0]), np.array([0.0, 0.5, 0.0])) < 0


@pytest.mark.parametrize("way", [(0.05, 0.0), (0.0, 0.03), (-0.06, 0.02)])
def test_in_the_shortest_time_pressure_uses_its_part_of_the_room_and_no_more(way):
    """Along the minimum-jerk motion, p = c − c̈ h/g goes as far behind the start and ahead of the end as it may."""
    com, to = np.array([-way[0] / 2, -way[1] / 2, 0.9]), np.array([way[0] / 2, way[1] / 2, 0.9])
    support = Support(SOLE, 0.0, G)
    T = support.shortest_time(com, to)
    s, _, dds = np.array([minimum_jerk(x) for x in np.linspace(0, 1, 2001)]).T
    lever = 0.9 / G * np.abs(dds).max() / T**2 * np.hypot(*way)  # how far pressure is from the centre of mass
    u = np.array(way) / np.hypot(*way)
    reach = min((SOLE.margins(to)[k] / (n @ u)) for k, n in enumerate(SOLE.rows[0]) if n @ u > 1e-9)
    assert lever == pytest.approx(ROOM * reach, rel=1e-3)
    c = com[:2] + s[:, None] * np.array(way)
    for part, inside in ((1.0, True), (0.8, False)):
        p = c - 0.9 / G * dds[:, None] / (part * T) ** 2 * np.array(way)
        assert bool((SOLE.margin(p) > 0).all()) is inside


def test_the_model_says_when_it_does_not_tell(human, feet):
    support = Support(SOLE, 0.0, G)
    outside, inside = np.array([0.0, 0.2, 0.9]), np.array([0.0, 0.0, 0.9])
    assert support.shortest_time(outside, inside) == support.shortest_time(inside, outside) == 0.0
    assert support.shortest_time(inside, inside) == 0.0
    contacts = {foot.label: foot for foot in feet}
    q = human.standing()
    flat = support_of(human, contacts, [(name, human.pose(q, name)) for name in BOTH])
    assert flat.g == pytest.approx(G) and flat.margin(human.com(q), np.zeros(3)) > 0.05 and abs(flat.height) < 1e-9
    wall = eq.PointContact("left_hand", normal=(1.0, 0.0, 0.0))
    assert support_of(human, {"wall": wall}, [("wall", np.eye(4))]) is None and support_of(human, contacts, []) is None


# --- endings ----------------------------------------------------------------------------------------------------------


def standing(human, feet, **options):
    return eq.Stances(human, [eq.Stance(BOTH)], feet, **{**FAST, **options})


def test_an_end_counts_after_a_second_of_standing(human, feet):
    machine = standing(human, feet)
    run = eq.simulate(human, machine, q0=machine.q0, duration=1.1)
    assert machine.outcome is Outcome.COMPLETED and machine.seconds == pytest.approx(1.0)
    (end,) = machine.log
    assert end.kind is EventKind.COMPLETED and end.t == pytest.approx(1.0, abs=2e-3)
    assert run.outcome == "completed"


def test_a_robot_that_sways_has_not_ended(human, feet):
    """Moved without end, the centre of mass never slower than it should be, it is not completed but given up."""
    machine = standing(human, feet, time_out=0.3)
    v = np.zeros(human.nv)
    v[0] = 0.1
    for k in range(140):
        machine(0.01 * k, machine.q0, v)
    assert machine.outcome is Outcome.RUNNING and machine.log[0].reason is Reason.UNSTEADY
    for k in range(140, 300):
        machine(0.01 * k, machine.q0, v)
    assert machine.outcome is Outcome.FAILED and machine.log[-1].reason is Reason.UNSTEADY


def test_a_push_within_what_ankles_can_do_is_answered(human, feet):
    """Its capture point comes near the edge once; references start anew, the robot stands."""
    machine = standing(human, feet, capture_margin=0.04)
    run = eq.simulate(
        human, machine, q0=machine.q0, duration=2.2, pushes=[eq.Push("thorax", (0.0, -300.0, 0.0), 0.1, 0.1)]
    )
    kinds = [event.kind for event in machine.log]
    assert run.outcome == "completed" and machine.outcome is Outcome.COMPLETED
    assert kinds.count(EventKind.PUSHED) == 1 and EventKind.ENDED not in kinds


def test_a_motion_that_is_ended_and_stands_says_both(human, feet):
    machine = standing(human, feet, retries=0, capture_margin=0.04)
    run = eq.simulate(
        human, machine, q0=machine.q0, duration=1.5, pushes=[eq.Push("thorax", (0.0, -300.0, 0.0), 0.1, 0.1)]
    )
    pushed, ended, stands = machine.log
    assert [pushed.kind, ended.kind, stands.kind] == [EventKind.PUSHED, EventKind.ENDED, EventKind.STANDS]
    assert stands.t == pytest.approx(ended.t + 1.0, abs=0.01) and machine.outcome is Outcome.STOPPED
    assert run.outcome == "completed"


def test_a_fall_is_told_long_before_it(human, feet):
    """No word of safety: the capture point is outside at 0.2 s, the body on the ground a second later."""
    machine = standing(human, feet)
    run = eq.simulate(
        human, machine, q0=machine.q0, duration=2.0, pushes=[eq.Push("thorax", (0.0, -400.0, 0.0), 0.1, 0.1)]
    )
    assert run.outcome == "fell" and machine.outcome is Outcome.FAILED
    kinds = [event.kind for event in machine.log]
    assert EventKind.STANDS not in kinds and EventKind.COMPLETED not in kinds
    assert machine.log[-1].kind is EventKind.FAILED and machine.log[-1].t < run.t[-1] - 0.5
