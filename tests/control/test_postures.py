"""Static postures: the laws of rest, by other functions than those that found them; what is said where there is
none."""

from __future__ import annotations

import human_contacts as hc
import numpy as np
import pytest
from numpy.testing import assert_allclose

import equipoise as eq
from equipoise.algebra.rigid import rotation_about
from equipoise.control.contacts.contact import axes_from_normal
from equipoise.control.stances.posture_contacts import shortest_turn


@pytest.fixture(scope="module")
def human():
    return eq.load("human")


@pytest.fixture(scope="module")
def contacts(human):
    return {name: hc.flat(human, name) for name in ("left_foot", "right_foot", "left_hand", "right_hand")}


def assert_rests(robot, contacts, result, *, strength=1.0):
    """Newton's law from the robot's own inverse dynamics, the cones from the contacts' facets, limits from the
    description."""
    assert result.converged, result.reason
    q, still = result.q, np.zeros(robot.nv)
    frames = {contacts[name].frame: wrench for name, wrench in result.forces.items()}
    force = robot.inverse_dynamics(q, still, still, frames)
    assert np.abs(force[:6]).max() < 1e-6  # N and N m, of a weight of 735 N
    assert_allclose(force[6:], result.torques[6:], atol=1e-8)
    assert not result.torques[:6].any()
    assert (np.abs(result.torques) <= strength * robot.limits.effort * (1 + 1e-9)).all()
    assert (q[7:] >= robot.limits.lower[7:] - 1e-12).all() and (q[7:] <= robot.limits.upper[7:] + 1e-12).all()
    for name, wrench in result.forces.items():
        contact = contacts[name]
        R = robot.pose(q, contact.frame)[:3, :3] @ axes_from_normal(name, contact.normal)
        local = np.concatenate([R.T @ wrench[:3], R.T @ wrench[3:]])
        assert (contact.cone @ local <= 1e-6).all(), name
        assert local[2] > 1.0


@pytest.mark.paper("B6")
@pytest.mark.parametrize("names", [("left_foot", "right_foot"), ("left_foot",), ("right_foot",)])
def test_feet_carry_the_robot(human, contacts, names):
    lifted = {
        f: human.pose(human.standing(), f)[:3, 3] + [0, 0, 0.1] for f in ("left_foot", "right_foot") if f not in names
    }
    result = eq.find_posture(human, {contacts[name]: None for name in names}, lifted)
    assert_rests(human, contacts, result)
    for name in names:
        assert_allclose(human.pose(result.q, name), human.pose(human.standing(), name), atol=1e-8)
    for frame, place in lifted.items():
        assert_allclose(human.pose(result.q, frame)[:3, 3], place, atol=1e-8)


@pytest.mark.paper("B6")
@pytest.mark.parametrize("names", [("left_hand", "right_hand"), ("left_hand",)])
def test_hands_carry_the_robot_upside_down(human, contacts, names):
    """The wrists bear 40 N m: one hand needs the centre of mass within 54 mm of the wrist's axes."""
    result = eq.find_posture(human, {contacts[name]: hc.GROUND for name in names}, posture=hc.HANDSTAND)
    assert_rests(human, contacts, result, strength=0.9)
    for name in names:
        X = human.pose(result.q, name)
        assert_allclose(X[2], [0, 0, 1, 0], atol=1e-8)
    assert human.pose(result.q, "pelvis")[2, 3] > 0.7 and human.pose(result.q, "left_foot")[2, 3] > 1.2


@pytest.mark.paper("B6")
def test_a_handstand_can_go_from_two_hands_to_one(human, contacts):
    """Both palms on the ground, the left one alone carries: what a transition needs."""
    places = {"left_hand": hc.flat_at(0, 0.13), "right_hand": hc.flat_at(0, -0.13)}
    two = eq.find_posture(human, {contacts[n]: X for n, X in places.items()}, posture=hc.HANDSTAND)
    assert_rests(human, contacts, two)
    one = eq.find_posture(
        human,
        {contacts["left_hand"]: places["left_hand"]},
        {"right_hand": places["right_hand"]},
        posture=two.q,
        start=two.q,
    )
    assert_rests(human, contacts, one)
    assert_allclose(human.pose(one.q, "right_hand"), places["right_hand"], atol=1e-8)


def test_the_wanted_posture_is_kept_where_it_rests(human, contacts):
    feet = {contacts["left_foot"]: None, contacts["right_foot"]: None}
    first = eq.find_posture(human, feet)
    again = eq.find_posture(human, feet, posture=first.q, start=first.q)
    assert np.abs(human.difference(first.q, again.q)).max() < 0.02  # light torques pull a little


def test_the_same_seed_finds_the_same(human, contacts):
    results = [
        eq.find_posture(human, {contacts["left_hand"]: hc.GROUND}, posture=hc.HANDSTAND, seed=3) for _ in range(2)
    ]
    assert_allclose(results[0].q, results[1].q, rtol=0, atol=0)


def test_a_hand_on_a_wall_carries_a_centre_of_mass_beyond_the_feet(human, contacts):
    """Not coplanar: no polygon helps. With the wall there are forces, without it the same centre of mass falls."""
    feet = {contacts["left_foot"]: None, contacts["right_foot"]: None}
    beyond = [0.2, np.nan, np.nan]  # the toes end at 0.146
    wall = eq.Plane((-1.0, 0.0, 0.0), -0.6)
    reaching = {"right_shoulder_pitch": -1.3, "right_wrist_roll": -1.0}
    leaning = eq.find_posture(human, {**feet, contacts["right_hand"]: wall}, com=beyond, posture=reaching, support=1.0)
    assert_rests(human, contacts, leaning)
    assert_allclose(human.com(leaning.q)[0], 0.2, atol=1e-8)
    assert leaning.forces["right_hand"][0] < -10
    falling = eq.find_posture(human, feet, com=beyond, attempts=2, support=1.0)
    assert not falling and "balance" in falling.reason


def test_friction_decides_on_a_slope(human, contacts):
    """Both feet on a plane of 20°: tan 20° = 0.364 is more than 0.2 and less than 0.7."""
    slope = eq.Plane((-np.sin(np.radians(20)), 0, np.cos(np.radians(20))))
    rough = {contacts[name]: slope for name in ("left_foot", "right_foot")}
    smooth = {hc.flat(human, name, 0.2): slope for name in ("left_foot", "right_foot")}
    assert_rests(human, contacts, eq.find_posture(human, rough))
    slipping = eq.find_posture(human, smooth, attempts=2)
    assert not slipping and "balance" in slipping.reason


def test_an_unreachable_target_is_named_with_what_is_in_the_way(human, contacts):
    feet = {contacts["left_foot"]: None, contacts["right_foot"]: None}
    result = eq.find_posture(human, feet, {"right_hand": [2.0, -0.3, 1.2]}, attempts=2)
    assert not result
    assert result.attempts == 2
    assert "right_hand at its target" in result.reason and "end of their range" in result.reason
    assert result.residuals["right_hand at its target"] > 0.1


def test_weak_joints_are_named(human, contacts):
    at = {contacts["left_hand"]: hc.flat_at(0, 0.13)}
    target = {"right_hand": hc.flat_at(0, -0.13)}
    result = eq.find_posture(
        human, at, target, posture=hc.HANDSTAND, constraints=[eq.TorqueLimits(scale=0.1)], attempts=2
    )
    assert not result and "torque" in result.reason


def test_obstacles_and_own_parts_are_kept_away(human, contacts):
    """A wall 5 cm behind where the pelvis would be, and capsules of the robot that would touch."""
    feet = {contacts["left_foot"]: None, contacts["right_foot"]: None}
    free = eq.find_posture(human, feet)
    x = human.pose(free.q, "pelvis")[0, 3]
    wall = eq.KeepOut(eq.Sphere((0, 0, 0), 0.1, frame="pelvis"), eq.Plane((1.0, 0, 0), x - 0.05), safe=0.02)
    arm = (
        eq.Capsule((0, 0, 0), (0.1, 0, 0), 0.03, frame="left_hand"),
        eq.Capsule((0, 0, 0), (0, 0, -0.3), 0.08, frame="left_thigh"),
    )
    close = eq.SelfCollision([arm], safe=0.25)
    result = eq.find_posture(human, feet, constraints=[wall, close])
    assert_rests(human, contacts, result)
    assert human.pose(result.q, "pelvis")[0, 3] >= x - 0.05 + 0.12 - 1e-8
    apart = eq.distance(*arm).on(human)
    assert apart(free.q, np.zeros(human.nv)).value < 0.25 - 1e-3  # else this test says nothing
    assert apart(result.q, np.zeros(human.nv)).value >= 0.25 - 1e-8


def test_a_start_is_brought_to_its_contacts_as_a_rigid_body(human, contacts):
    """Both feet turned about the vertical and shifted as one: the start fits them exactly."""
    from equipoise.algebra.rigid import pose, rotation_about
    from equipoise.control.stances.posture_problem import Given, Problem

    X = pose(rotation_about(np.array([0.0, 0.0, 1.0]), 2.0), np.array([3.0, -1.0, 0.2]))
    feet = ("left_foot", "right_foot")
    places = {contacts[name]: X @ human.pose(human.standing(), name) for name in feet}
    problem = Problem.of(human, Given(places, {}, {}, None, None, None, (), 0.8, 0.9, human.standing()))
    (q,) = problem.initial_guesses(1, 0)
    for contact, place in places.items():
        assert_allclose(human.pose(q, contact.frame), place, atol=1e-12)
    assert_allclose(q[7:], human.standing()[7:], atol=1e-12)


def test_wrong_input_is_told(human, contacts):
    foot = contacts["left_foot"]
    with pytest.raises(eq.ShapeError, match="wanted a pose"):
        eq.find_posture(human, {foot: [1.0, 2.0, 3.0]})
    with pytest.raises(eq.UnknownNameError, match="left_elbow"):
        eq.find_posture(human, {foot: None}, posture={"left_elbo": 0.0})
    with pytest.raises(eq.UnknownNameError, match="frame"):
        eq.find_posture(human, {foot: None}, {"third_foot": [0, 0, 0]})
    with pytest.raises(eq.ShapeError, match="place"):
        eq.find_posture(human, {foot: None}, {"right_foot": [0, 0]})
    with pytest.raises(ValueError, match="support"):
        eq.find_posture(human, {foot: None}, support=0.0)
    with pytest.raises(ValueError, match="attempts"):
        eq.find_posture(human, {foot: None}, attempts=0)
    with pytest.raises(ValueError, match="cannot carry a robot at rest"):
        eq.find_posture(human, {eq.SlidingContact("left_foot"): None})


def test_the_shortest_turn_carries_one_direction_to_the_other(rng):
    """Opposite ones too, of which every perpendicular axis is as good."""
    axes = [*np.eye(3), *(a / np.linalg.norm(a) for a in rng.normal(size=(20, 3)))]
    for a in axes:
        for b in (*axes, -a, a):
            turn = shortest_turn(a, b)
            angle = np.linalg.norm(turn)
            R = rotation_about(turn / angle, angle) if angle > 0 else np.eye(3)
            assert_allclose(R @ a, b, atol=1e-12)
            assert_allclose(angle, np.arctan2(np.linalg.norm(np.cross(a, b)), a @ b), atol=1e-12)
