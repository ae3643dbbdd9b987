"""Feet on ground that nobody knows: what they meet, how much of a sole is trusted, and the slope they feel."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

import equipoise as eq
from equipoise.control.item import TaskError
from equipoise.walking.footing import FOOTHOLDS, HIGHER, LEVEL, SLOWER, Footing
from equipoise.walking.footsteps import Footstep, climbs
from equipoise.walking.gait import Command, Gait, Place
from equipoise.walking.reach import Reach
from equipoise.walking.sole import ANYWHERE, PressureWithin, pressed_at
from equipoise.walking.state import STEP, Seen, State
from equipoise.walking.swing import Swing
from equipoise.walking.whole_body import EDGEWISE, WholeBody, tilted

SOLE = np.array([[0.08, 0.03], [-0.08, 0.03], [-0.08, -0.03], [0.08, -0.03]])
SQUARE = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
WEIGHT = 300.0


class Body:
    """Remembers which soles it trusts."""

    feet = ("left", "right")
    weight = WEIGHT
    rolls = (1.0, 0.25)

    def __init__(self):
        self.doubted = {}

    def doubt(self, foot, at=None):
        self.doubted[foot] = at

    def trust(self, foot):
        self.doubted.pop(foot, None)


@pytest.fixture
def footing():
    reach = Reach(SQUARE, np.array([0.4, 0.4, 0.5, -0.1]), 0.4, 0.4, 0.1, 0.5)
    gait = Gait(3.5, 0.8, 0.2, 0.5, 0.25, 0.9, 0.06, 0.02, 0.05, 0.1, np.full(2, 40.0), reach)
    return Footing(gait, Body(), [SOLE, SOLE])


def seen(t=0.0, left=None, right=None, forces=None, spins=None):
    poses = []
    for y, R in ((0.1, left), (-0.1, right)):
        X = np.eye(4)
        X[:3, :3] = np.eye(3) if R is None else R
        X[1, 3] = y
        poses.append(X)
    spins = (np.zeros(3), np.zeros(3)) if spins is None else spins
    return Seen(t, np.array([0.0, 0.0, 0.8]), np.zeros(3), np.zeros(2), (poses[0], poses[1]), forces or {}, spins)


def stepping(speed=0.0, end=0.4):
    """The left foot swings since 0 s, its reference at a level speed, m/s."""
    swing = Swing(np.array([0.0, 0.1, 0.0, 0.0]), 0.0, end, 0.05, 0.1)
    swing.state[1, 0] = speed
    return State(mode=STEP, stance=1, swing=swing, end=end)


def pressed(x, y, force=200.0):
    """The wrench of a level sole that carries at a place."""
    return np.array([0.0, 0.0, force, y * force, -x * force, 0.0])


# --- a foot that swings -----------------------------------------------------------------------------------------------


def test_a_slow_foot_that_is_pressed_late_in_its_swing_has_landed(footing):
    s = stepping()
    assert not footing.met(s, seen(0.1), 0, pressed(0, 0, 100.0))  # in the first half that is the start's
    assert not footing.met(s, seen(0.35), 0, pressed(0, 0, 5.0))  # 1.7 % of the weight
    assert footing.met(s, seen(0.35), 0, pressed(0, 0, 100.0)) and s.settling == 0.35


def test_a_foot_that_meets_a_wall_goes_up_over_it_and_withdraws(footing):
    """At 0.1 s of 0.4 there is time: 2 % of the height back, straight up, and forward above half a clearance."""
    s = stepping(speed=1.0)
    assert not footing.met(s, seen(0.1), 0, np.array([-40.0, 0.0, 5.0, 0.0, 0.0, 0.0]))
    assert s.bumps == 1 and s.uneven == 0.1
    assert_allclose(s.swing.state[0, :3], [-0.02 * 0.8, 0.1, 0.0], atol=1e-12)
    s.swing.now = 0.1
    goal, places = np.array([0.3, 0.1, 0.0, 0.0]), []
    for k in range(1, 300):
        places.append(s.swing.advance(0.1 + 1e-3 * k, goal, 0.4)[0].copy())
    x, z = np.array(places)[:, 0], np.array(places)[:, 2]
    assert np.ptp(x[: np.argmax(z >= 0.025)]) < 1e-12  # it waits below
    assert z.max() > 0.045 and abs(x[-1] - 0.3) < 5e-3


def test_a_foot_that_meets_a_wall_late_comes_down_before_it(footing):
    s = stepping(speed=1.0)
    # 0.1 s are left, 0.17 would be needed
    assert not footing.met(s, seen(0.3), 0, np.array([-40.0, 0.0, 5.0, 0.0, 0.0, 0.0]))
    assert s.swing.late
    s.swing.now = 0.3
    before = s.swing.state[0].copy()
    for k in range(1, 50):
        s.swing.advance(0.3 + 1e-3 * k, np.array([0.3, 0.1, 0.0, 0.0]), 0.45)
    assert_allclose(s.swing.state[0, :2], before[:2], atol=1e-12)
    assert s.swing.state[0, 2] < before[2] - 0.005


def test_friction_on_a_slope_is_no_wall(footing):
    """μ = 1 on 10°: the level force is 1.4 of the vertical one."""
    s = stepping(speed=0.0)
    assert footing.met(s, seen(0.35), 0, np.array([-140.0, 0.0, 100.0, 0.0, 0.0, 0.0]))
    assert s.bumps == 0


def test_a_foot_that_touches_higher_than_expected_makes_wary_but_not_after_a_push(footing):
    for pushed, wary in ((-np.inf, True), (0.2, False)):
        s = stepping()
        s.pushed = pushed
        s.swing.goal = np.array([0.0, 0.1, -0.05, 0.0])
        assert footing.met(s, seen(0.35), 0, pressed(0, 0, 100.0))
        assert footing.wary(s, 0.4) is wary and not footing.wary(s, 10.0)
        command = footing.cautious(s, 0.4, Command(0.4, -0.1, 0.2))
        part = SLOWER if wary else 1.0
        assert_allclose([command.forward, command.left, command.turn], [0.4 * part, -0.1 * part, 0.2], atol=1e-12)
        assert footing.clearance(s, 0.4) == pytest.approx(0.05 * (HIGHER if wary else 1.0))


# --- a foot that has landed -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("at, trusted", [((0.0, 0.0), True), ((0.079, 0.0), False), ((0.0, -0.029), False)])
def test_a_sole_is_trusted_once_it_carries_inside(footing, at, trusted):
    s = State(mode=STEP, stance=1, settling=0.0)
    footing.whole_body.doubt(1)
    footing.feel(s, seen(0.01, forces={"right": pressed(*at)}), 1e-3)
    assert (1 not in footing.whole_body.doubted) is trusted
    footing.feel(s, seen(0.2, forces={"right": pressed(*at)}), 1e-3)  # 0.7 / ω later it must
    assert 1 not in footing.whole_body.doubted and s.settling is None


def test_a_sole_that_rolls_is_trusted_where_it_carries(footing):
    s = State(mode=STEP, stance=1)
    spin = np.array([20.0, 0.0, 0.0])
    footing.feel(s, seen(0.1, forces={"right": pressed(0.05, 0.01)}, spins=(np.zeros(3), spin)), 1e-3)
    assert_allclose(footing.whole_body.doubted[1], [0.05, 0.01], atol=1e-12)
    footing.feel(s, seen(0.2, forces={"right": pressed(0.05, 0.01)}), 1e-3)
    assert 1 not in footing.whole_body.doubted


def test_yaw_is_no_roll(footing):
    s = State(mode=STEP, stance=1)
    spin = np.array([0.0, 0.0, 20.0])
    footing.feel(s, seen(0.1, forces={"right": pressed(0.05, 0.01)}, spins=(np.zeros(3), spin)), 1e-3)
    assert s.settling is None


def lay(footing, s, slope, t, place=None):
    """A step on a sole that lies along a slope, at a place (3,) m or one farther along it, then the next."""
    R = tilted(np.asarray(slope))
    wrench = np.concatenate([R @ [0, 0, 200.0], np.zeros(3)])
    at = np.array([0.3 * t, 0.1 * (-1) ** int(t)])
    noted = seen(t, right=R)
    noted.poses[1][:3, 3] = [*at, at @ slope] if place is None else place
    footing.feel(s, seen(t, right=R, forces={"right": wrench}), 1e-3)
    footing.note(s, noted)
    for _ in range(3000):
        footing.feel(s, seen(t), 1e-3)


def test_the_slope_is_the_median_of_soles(footing):
    """One sole on an edge is no slope, two of three are, where feet rise with them; little is level."""
    s = stepping()
    lay(footing, s, (0.17, 0.0), 1.0)
    assert_allclose(s.slope, 0.0, atol=1e-6)
    lay(footing, s, (0.17, 0.0), 2.0)
    assert 0.1 < s.slope[0] < 0.17 and s.slope[1] == 0.0
    for t in range(3, 7):
        lay(footing, s, (0.17, 0.0), float(t))
    assert_allclose(s.slope, [0.17, 0.0], atol=0.01)
    for t in range(7, 10):
        lay(footing, s, (0.9 * LEVEL, 0.0), float(t))
    assert_allclose(s.slope, 0.0, atol=1e-3)


@pytest.mark.parametrize("rise, slope", [(0.0, 0.0), (0.08, 0.08), (0.3, 0.17), (-0.17, 0.0)])
def test_soles_are_believed_as_far_as_feet_rise_with_them(footing, rise, slope):
    """Tilted by 0.17 on ground that rises otherwise: on tiles, soles across edges are."""
    s = stepping()
    for t in range(1, 7):
        lay(footing, s, (0.17, 0.0), float(t), (0.3 * t, 0.1 * (-1) ** t, 0.3 * t * rise))
    assert_allclose(s.slope, [slope, 0.0], atol=0.01 if slope < 0.17 else 1e-6)


@pytest.mark.parametrize("tilt, uneven", [(0.04, False), (0.06, True), (-0.06, True)])
def test_a_sole_off_the_slope_by_a_twentieth_tells_of_uneven_ground(footing, tilt, uneven):
    s = State(mode=STEP, stance=1, slope=np.array([0.1, 0.0]), tilt=np.array([0.1, tilt]))
    footing.note(s, seen(5.0))
    assert (s.uneven == 5.0) is uneven


def test_feet_of_long_ago_tell_nothing(footing):
    """Up a slope and onto a plateau, there across edges: when the last feet are all on it, it is level."""
    s = stepping()
    for t in range(1, 7):
        lay(footing, s, (0.17, 0.0), float(t))
    for t in range(7, 7 + FOOTHOLDS):
        assert s.slope[0] > LEVEL
        lay(footing, s, (0.17, 0.0), float(t), (0.3 * t, 0.1 * (-1) ** t, 0.5))
    assert_allclose(s.slope, 0.0, atol=1e-6)


def test_feet_in_one_place_tell_no_slope(footing):
    """Whatever their heights."""
    places = [np.array([0.01 * (-1) ** k, 0.0, 0.03 * (-1) ** k]) for k in range(4)]
    assert np.abs(footing._rises(places)).max() < 0.3
    assert_allclose(footing._rises(places[:1]), 0.0, atol=1e-12)
    far = [np.array([0.5 * k, 0.3 * (-1) ** k, 0.1 * k - 0.06 * (-1) ** k]) for k in range(4)]
    assert_allclose(footing._rises(far), [0.2, -0.2], atol=0.01)


# --- a sole across an edge --------------------------------------------------------------------------------------------


def askew(footing, s, tilt, t=0.1, y=0.02, force=200.0, slope=(0.0, 0.0)):
    """Feel the right sole turned about its long axis by a slope, pressed at y, for 0.1 s."""
    s.slope = np.asarray(slope)
    R = tilted(np.array([0.0, tilt]))
    wrench = np.concatenate([R @ [0, 0, force], R @ np.cross([0.01, y, 0.0], [0, 0, force])])
    for k in range(100):
        now = seen(t + 1e-3 * k, right=R, forces={"right": wrench})
        footing._carries(s, now, 1e-3)
        footing._settle(s, now)


def test_a_sole_across_an_edge_carries_where_it_is_felt_to(footing):
    s = State(mode=STEP, stance=1)
    askew(footing, s, 0.3)
    assert_allclose(s.felt, [0.01, 0.02], atol=1e-3)
    assert_allclose(footing.whole_body.doubted[1], s.felt)
    assert s.settling is not None
    askew(footing, s, 0.3, y=0.5)
    assert_allclose(s.felt, [0.01, EDGEWISE * 0.03], atol=1e-3)  # never at its very edge
    askew(footing, s, 0.05, t=5.0)
    assert s.felt is None and 1 not in footing.whole_body.doubted


def test_an_edge_may_be_on_either_side(footing):
    s = State(mode=STEP, stance=1)
    askew(footing, s, -0.3, y=-0.02)
    assert_allclose(s.felt, [0.01, -0.02], atol=1e-3)


@pytest.mark.parametrize("case", [{"tilt": 0.14}, {"tilt": 0.3, "slope": (0.0, 0.2)}, {"tilt": 0.3, "force": 3.0}])
def test_a_sole_that_lies_carries_as_a_whole(footing, case):
    """As do those along the slope of the ground, and what carries nothing says nothing."""
    s = State(mode=STEP, stance=1)
    askew(footing, s, **case)
    assert s.felt is None


def test_ankles_that_roll_farther_follow_an_edge(footing):
    """0.3 is beyond 0.6 of what the right ankle rolls, 0.25 rad, and within that of the left one, 1 rad."""
    R = tilted(np.array([0.0, 0.3]))
    for stance, name, edge in ((0, "left", False), (1, "right", True)):
        s = State(mode=STEP, stance=stance)
        forces = {name: np.concatenate([R @ [0, 0, 200.0], np.zeros(3)])}
        footing._carries(s, seen(0.1, left=R, right=R, forces=forces), 1e-3)
        assert (s.felt is not None) is edge


def test_soles_roll_as_far_as_ankles_do():
    """The human's ankles roll outwards by 0.35 rad and inwards by 0.5, the trot's feet are points."""
    made = eq.Walking(eq.load("human")).whole_body
    assert_allclose(made.rolls, 0.35, atol=0.02)
    assert WholeBody.rolls == (np.inf, np.inf)


def test_where_forces_stop_coming_nothing_is_known_of_an_edge(footing):
    s = State(mode=STEP, stance=1)
    askew(footing, s, 0.3)
    assert s.felt is not None
    footing._carries(s, seen(0.3, right=tilted(np.array([0.0, 0.3]))), 1e-3)
    assert s.felt is None


def test_one_that_stands_on_both_feet_is_not_askew(footing):
    s = State(stance=1)
    askew(footing, s, 0.3)
    assert s.felt is None


def test_a_sole_on_its_edge_tells_no_slope(footing):
    s = stepping()
    R = tilted(np.array([0.2, 0.0]))
    at_edge = np.concatenate([R @ [0, 0, 200.0], R @ [0.0, -0.079 * 200.0, 0.0]])
    footing.feel(s, seen(1.0, right=R, forces={"right": at_edge}), 1e-3)
    assert s.tilt is None


def test_without_forces_soles_tell_nothing_after_a_push(footing):
    s = stepping()
    s.pushed = 0.9
    R = tilted(np.array([0.2, 0.0]))
    footing.feel(s, seen(1.0, right=R), 1e-3)
    assert s.tilt is None
    footing.feel(s, seen(9.0, right=R), 1e-3)
    assert_allclose(s.tilt, [0.2, 0.0], atol=1e-9)


# --- pressure ---------------------------------------------------------------------------------------------------------


def test_pressure_is_where_a_tilted_sole_carries():
    R, force, at = tilted(np.array([0.2, -0.1])), np.array([10.0, -5.0, 300.0]), np.array([0.03, -0.01, 0.0])
    X = np.eye(4)
    X[:3, :3] = R
    wrench = np.concatenate([R @ force, R @ np.cross(at, force)])
    assert_allclose(pressed_at(X, wrench), at[:2], atol=1e-12)


def test_the_controller_keeps_pressure_within_what_is_trusted():
    """A squatting human asked to lean: its pressure stays in the rectangle, on each of its four sides."""
    robot = eq.load("human")
    body = eq.Body.of(robot)
    role = "left foot"
    frame, q = body.frames[role], body.standing
    foot = eq.FlatContact(frame, name=role, corners=np.array(body.feet[role].corners), friction=0.7)
    within = PressureWithin(role, name="pressure")
    tasks = [eq.CoMTask(name="com", gain=0.0), eq.PostureTask(target=q, weight=1e-4)]
    controller = eq.WholeBodyController(body.robot, tasks, [foot], [within])
    v = np.zeros(body.robot.nv)
    v[:6] = [0.01, -0.02, 0.01, 0.03, 0.02, -0.01]
    com, X = body.robot.com(q), body.robot.pose(q, frame)
    lean = {"hind": (8.0, 0.0), "front": (-8.0, 0.0), "right": (0.0, 8.0), "left": (0.0, -8.0)}
    box = np.array([-0.02, -0.015, 0.03, 0.01])
    sides = {"hind": (0, box[0]), "right": (1, box[1]), "front": (0, box[2]), "left": (1, box[3])}
    for name, push in lean.items():
        controller.set_target("com", (com, np.zeros(3), np.array([*push, 0.0])))
        controller.set("pressure", within=ANYWHERE)
        axis, edge = sides[name]
        free = pressed_at(np.eye(4), controller(0.0, q, v).forces[role])[axis]
        controller.set("pressure", within=box)
        kept = pressed_at(np.eye(4), controller(0.001, q, v).forces[role])
        assert_allclose(kept[axis], edge, atol=1e-6)
        assert (kept >= box[:2] - 1e-6).all() and (kept <= box[2:] + 1e-6).all()
        assert abs(free) > abs(edge) + 0.01, (name, X[:3, 3])


@pytest.mark.parametrize("within", [(0.0, 0.0, 0.0, 0.1), (0.1, 0.1, 0.2), (0.0, 0.1, 0.2, -0.1)])
def test_edges_that_are_none_are_refused(within):
    robot = eq.load("human")
    foot = eq.FlatContact(eq.Body.of(robot).frames["left foot"], name="foot")
    with pytest.raises(TaskError, match="least x, least y"):
        eq.WholeBodyController(eq.Body.of(robot).robot, [eq.CoMTask()], [foot], [PressureWithin("foot", within)])


# --- heights ----------------------------------------------------------------------------------------------------------


def test_steps_climb_that_go_to_another_height():
    step = Footstep(0, Place(0.3, 0.1, 0.0), 0.1)
    assert climbs(step, (0.0, 0.1), 0.02) and climbs(step, (0.1, 0.0), 0.02)
    assert not climbs(step, (0.1, 0.09), 0.02) and not climbs(replace(step, height=None), (0.0, 0.0), 0.02)


# --- jolts ------------------------------------------------------------------------------------------------------------


def test_a_foot_that_comes_down_hard_jolts_and_is_no_push(footing):
    """3 times the weight and more, for 0.3 / ω; pushes do not press feet into the ground."""
    state = State(mode=STEP, since=-1.0)
    soft, hard = (np.array([0.0, 0.0, part * WEIGHT, 0.0, 0.0, 0.0]) for part in (1.4, 1.6))
    assert not footing.jolted(state, seen(0.0, forces={"left": soft, "right": soft}))
    assert footing.jolted(state, seen(0.1, forces={"left": hard, "right": hard}))
    late = 0.3 / footing.gait.rate
    assert footing.jolted(state, seen(0.1 + 0.9 * late)) and not footing.jolted(state, seen(0.1 + 1.1 * late))
    assert not footing.jolted(replace(state, mode="stand", jolt=0.1), seen(0.1))
