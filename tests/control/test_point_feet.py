"""Stances on points: feet of quadrupeds, knees and toes. A frame may turn on a point, which still counts as staying."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

import equipoise as eq
from equipoise.algebra.rigid import rotation_about
from equipoise.balance import support_polygon
from equipoise.control.body_contacts import contacts_by_role, contacts_of_body
from equipoise.control.item import TaskError
from equipoise.control.stances.events import EventKind, Outcome
from equipoise.control.stances.places import middle
from equipoise.control.stances.stance import StepKind

GROUND = eq.Plane((0.0, 0.0, 1.0))
FAST = {"speed": (0.3, 0.6, 2.0), "load_time": 0.15, "clearance": 0.04}


@pytest.fixture(scope="module")
def robot():
    return eq.load("quadruped")


@pytest.fixture(scope="module")
def feet(robot):
    return [eq.PointContact(frame) for frame in robot.frames if frame.endswith("foot")]


@pytest.fixture(scope="module")
def lift(robot, feet):
    """Four feet, the front left one in the air, four feet."""
    names = [foot.label for foot in feet]
    place = robot.pose(robot.standing(), names[0])[:3, 3]
    stances = [
        eq.Stance(names, name="four"),
        eq.Stance(names[1:], targets={names[0]: place + np.array([0.03, 0.0, 0.06])}, name="three", hold=0.1),
        eq.Stance(names, places={names[0]: place}, name="four again", hold=0.0),
    ]
    return eq.Stances(robot, stances, feet, **FAST)


def crawl(robot, feet, distance, stride, start=None, **options):
    """Each leg in turn a stride ahead, hind before front, until all are `distance` (m) farther."""
    q = robot.standing() if start is None else start
    at = {foot.label: middle(foot, robot.pose(q, foot.frame)) for foot in feet}
    names = list(at)
    stances = [eq.Stance(names, name="start")]
    for k in range(round(distance / stride)):
        for leg in (names[2], names[0], names[3], names[1]):
            at[leg] = at[leg] + np.array([stride, 0.0, 0.0])
            stances.append(eq.Stance(names, places={leg: at[leg]}, name=f"{leg}, stride {k + 1}", hold=0.0))
    return eq.Stances(robot, stances, feet, start=q, **{**FAST, **options}), at


# --- postures ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("support", [0.3, 0.6, 1.0])
def test_on_points_alone_each_bears_its_part_of_the_weight(robot, feet, support):
    """For three feet on a plane, forces of at least (1 − s)/3 of the weight are a triangle drawn to its middle by s."""
    q = robot.standing()
    result = eq.find_posture(robot, dict.fromkeys(feet[1:]), {feet[0].frame: [0.3, 0.2, 0.08]}, support=support)
    assert result.converged, result.reason
    weight = robot.mass * 9.80665
    assert min(wrench[2] for wrench in result.forces.values()) >= (1 - support) / 3 * weight - 1e-6
    corners = np.array([robot.pose(q, foot.frame)[:3, 3] for foot in feet[1:]])
    drawn = support_polygon(corners.mean(0) + support * (corners - corners.mean(0)))
    assert drawn.margin(robot.com(result.q)) > -1e-8
    if support == 0.3:  # the wanted posture is outside, so the bound is met
        assert drawn.margin(robot.com(result.q)) < 1e-6


def test_a_wall_needs_no_part_of_the_weight(robot, feet):
    """A point on a wall holds the robot but does not carry it: no share is asked of it."""
    q = robot.standing()
    nose = eq.PointContact("trunk", name="nose", point=(0.3, 0.0, 0.0), normal=(-1.0, 0.0, 0.0))
    result = eq.find_posture(robot, {**dict.fromkeys(feet), nose: None}, start=q, support=0.5)
    assert result.converged, result.reason
    assert result.forces["nose"][0] > -0.1 * robot.mass * 9.80665


def test_contacts_that_touch_carry_nothing(robot, feet):
    """The fourth foot is at its place, its leg turned about it as it likes, and has no force."""
    q = robot.standing()
    result = eq.find_posture(robot, dict.fromkeys(feet[1:]), touching={feet[0]: None}, start=q, support=0.4)
    assert result.converged, result.reason
    assert set(result.forces) == {foot.label for foot in feet[1:]}
    X, Y = robot.pose(q, feet[0].frame), robot.pose(result.q, feet[0].frame)
    assert_allclose(Y[:3, 3], X[:3, 3], atol=1e-8)
    assert np.abs(Y[:3, :3] - X[:3, :3]).max() > 1e-3
    frames = {foot.frame: result.forces[foot.label] for foot in feet[1:]}
    left = robot.inverse_dynamics(result.q, np.zeros(robot.nv), np.zeros(robot.nv), frames)
    assert np.abs(left[:6]).max() < 1e-6


def test_a_sliding_contact_is_no_place_to_rest(robot):
    with pytest.raises(ValueError, match="SlidingContact cannot carry a robot at rest"):
        eq.find_posture(robot, {eq.SlidingContact("hind_left_foot"): None})


# --- the plan and the watch -------------------------------------------------------------------------------------------


def test_feet_that_only_turn_stay(robot, lift):
    """The legs turn about their points by far more than a sole might; no contact is made anew."""
    assert [step.kind for step in lift.plan[1].way] == [StepKind.MOVE, StepKind.UNLOAD, StepKind.MOVE]
    turned = (
        robot.pose(lift.plan[0].q, "hind_left_foot")[:3, :3].T @ robot.pose(lift.plan[1].q, "hind_left_foot")[:3, :3]
    )
    assert np.arccos((np.trace(turned) - 1) / 2) > 0.05
    assert_allclose(
        robot.pose(lift.plan[1].q, "hind_left_foot")[:3, 3], robot.pose(lift.q0, "hind_left_foot")[:3, 3], atol=1e-7
    )


def test_a_foot_that_goes_elsewhere_is_released_and_made_again(robot, feet):
    machine, at = crawl(robot, feet, 0.06, 0.06)
    for planned, leg in zip(
        machine.plan[1:], ("hind_left_foot", "front_left_foot", "hind_right_foot", "front_right_foot"), strict=True
    ):
        kinds = [(step.kind, step.changed) for step in planned.way]
        none, this = frozenset(), frozenset({leg})
        assert kinds == [
            (StepKind.MOVE, none), (StepKind.UNLOAD, this), (StepKind.MOVE, this),
            (StepKind.TOUCH, this), (StepKind.LOAD, this), (StepKind.MOVE, none),
        ]  # fmt: skip
        assert all(leg not in step.contacts for step in planned.way[2:5])
    for foot in feet:
        assert_allclose(middle(foot, robot.pose(machine.plan[-1].q, foot.frame)), at[foot.label], atol=1e-7)


def test_a_leg_that_turns_on_its_point_has_not_slipped_and_one_that_moves_has(robot, lift):
    lift.reset()
    still = np.zeros(robot.nv)
    lift(0.0, lift.q0, still)
    leaning = lift.plan[1].way[0].q  # points stay, legs turn
    lift(0.001, leaning, still)
    assert not [event for event in lift.log if event.kind is EventKind.SLIPPED]
    q = lift.q0.copy()
    q[0] += 1.1 * lift.slip_limit
    lift(0.002, q, still)
    slips = [event for event in lift.log if event.kind is EventKind.SLIPPED]
    assert len(slips) == 1 and slips[0].distance == pytest.approx(1.1 * lift.slip_limit) and slips[0].angle == 0.0


def test_a_turn_of_the_whole_robot_about_one_foot_slips_the_others(robot, lift):
    lift.reset()
    still, foot = np.zeros(robot.nv), robot.pose(lift.q0, "front_left_foot")[:3, 3]
    lift(0.0, lift.q0, still)
    q, R = lift.q0.copy(), rotation_about(np.array([0.0, 0.0, 1.0]), 0.1)
    q[:3], q[3:7] = foot + R @ (q[:3] - foot), [np.cos(0.05), 0.0, 0.0, np.sin(0.05)]
    lift(0.001, q, still)
    first = next(event for event in lift.log if event.kind is EventKind.SLIPPED)
    assert first.names != ("front_left_foot",) and first.distance > lift.slip_limit


# --- in MuJoCo --------------------------------------------------------------------------------------------------------


def test_a_leg_is_lifted_and_put_down(robot, lift):
    run = eq.simulate(robot, lift, q0=lift.q0, duration=lift.seconds + 0.3)
    assert run.outcome == "completed" and lift.outcome is Outcome.COMPLETED and set(run.status_names) == {"optimal"}
    times = {event.kind: event.t for event in lift.log}
    alone = (run.t > times[EventKind.RELEASED] + 0.05) & (run.t < times[EventKind.TOUCHED] - 0.05)
    assert alone.sum() > 200 and np.abs(run.measured["front_left_foot"][alone, 2]).max() < 0.5
    assert max(robot.pose(q, "front_left_foot")[2, 3] for q in run.q[alone][::20]) > 0.05
    for name in ("front_right_foot", "hind_left_foot", "hind_right_foot"):
        drift = [robot.pose(q, name)[:3, 3] - robot.pose(lift.q0, name)[:3, 3] for q in run.q[::100]]
        assert np.abs(drift).max() < 2e-3


@pytest.mark.slow
def test_every_leg_is_lifted_and_shifted(robot, feet):
    names = [foot.label for foot in feet]
    for k, name in enumerate(names):
        place = robot.pose(robot.standing(), name)[:3, 3]
        rest = names[:k] + names[k + 1 :]
        stances = [
            eq.Stance(names),
            eq.Stance(rest, targets={name: place + np.array([0.0, 0.0, 0.08])}),
            eq.Stance(names, places={name: place + np.array([0.04, 0.02, 0.0])}),
        ]
        machine = eq.Stances(robot, stances, feet, **FAST)
        run = eq.simulate(robot, machine, q0=machine.q0, duration=machine.seconds + 0.5)
        assert run.outcome == "completed" and machine.outcome is Outcome.COMPLETED, name
        assert_allclose(robot.pose(run.q[-1], name)[:3, 3], place + np.array([0.04, 0.02, 0.0]), atol=5e-3)


@pytest.mark.slow
def test_a_quadruped_crawls_a_metre(robot, feet):
    machine, at = crawl(robot, feet, 1.0, 0.125)
    run = eq.simulate(robot, machine, q0=machine.q0, duration=1.1 * machine.seconds + 1.0)
    assert run.outcome == "completed" and machine.outcome is Outcome.COMPLETED and set(run.status_names) == {"optimal"}
    assert_allclose(run.q[-1][:2] - run.q[0][:2], [1.0, 0.0], atol=5e-3)
    for foot in feet:
        assert_allclose(middle(foot, robot.pose(run.q[-1], foot.frame)), at[foot.label], atol=5e-3)


def body_of(source):
    """The body of a quadruped that somebody else described."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return eq.Body.of(eq.load(source))


QUADRUPEDS = {"go2": 0.1, "anymal_c": 0.125, "solo12": 0.0625}


@pytest.mark.slow
@pytest.mark.parametrize("source", QUADRUPEDS)
def test_quadrupeds_of_others_lift_each_leg(source):
    body = body_of(source)
    names = list(body.feet)
    for name in names:
        place = body.robot.pose(body.standing, name)[:3, 3]
        up = place + np.array([0.0, 0.0, 0.1 * body.height])
        rest = [other for other in names if other != name]
        stances = [eq.Stance(names), eq.Stance(rest, targets={name: up}), eq.Stance(names, places={name: place})]
        machine = eq.Stances(body.robot, stances, body, **{**FAST, "clearance": 0.1 * body.height})
        run = eq.simulate(body.robot, machine, q0=machine.q0, duration=machine.seconds + 0.5)
        assert run.outcome == "completed" and machine.outcome is Outcome.COMPLETED, name
        heights = [body.robot.pose(q, name)[2, 3] for q in run.q[::20]]
        assert max(heights) > 0.09 * body.height


@pytest.mark.slow
@pytest.mark.parametrize("source", QUADRUPEDS)
def test_quadrupeds_of_others_crawl(source):
    body = body_of(source)
    feet = contacts_of_body(body)
    machine, _ = crawl(body.robot, feet, 1.0, QUADRUPEDS[source], body.standing)
    run = eq.simulate(body.robot, machine, q0=machine.q0, duration=1.1 * machine.seconds + 1.0)
    assert run.outcome == "completed" and machine.outcome is Outcome.COMPLETED
    assert_allclose(run.q[-1][:2] - run.q[0][:2], [1.0, 0.0], atol=0.01)


def test_stances_take_a_body_for_its_contacts():
    """Feet are contacts by their roles, and the first posture is near that of the body."""
    body = eq.Body.of(eq.load("quadruped"))
    names = list(body.feet)
    machine = eq.Stances(body.robot, [eq.Stance(names, name="four")], body)
    assert [contact.label for contact in machine.contacts] == names
    assert_allclose(machine.q0[7:], body.standing[7:], atol=0.05)
    left_out = eq.Stances(body.robot, [eq.Stance(names[1:], name="three")], body)
    assert [contact.label for contact in left_out.contacts] == names[1:]


@pytest.mark.slow
def test_a_human_kneels_on_points_and_lifts_a_toe():
    robot = eq.load("human")
    corners = {side: [robot.frames[f"{side}_foot_corner_{k}"].X[:3, 3] for k in (0, 3)] for side in ("left", "right")}
    knees = [eq.PointContact(f"{side}_shank", name=f"{side}_knee", point=(0.06, 0.0, 0.0)) for side in corners]
    toes = [
        eq.PointContact(f"{side}_foot", name=f"{side}_toe", point=np.mean(x, axis=0)) for side, x in corners.items()
    ]
    bent = {"hip_pitch": -0.1, "knee": 1.75, "ankle_pitch": -0.3}
    posture = {f"{side}_{joint}": x for side in corners for joint, x in bent.items()}
    every = [*knees, *toes]
    start = eq.find_posture(robot, dict.fromkeys(every, GROUND), posture=posture, support=0.7)
    assert start.converged, start.reason
    names = [contact.label for contact in every]
    stances = [eq.Stance(names), eq.Stance(names[:3], name="three points"), eq.Stance(names, start.q)]
    machine = eq.Stances(robot, stances, every, start=start.q, postures={"support": 0.8}, speed=(0.1, 0.2, 0.5))
    run = eq.simulate(robot, machine, q0=machine.q0, duration=machine.seconds + 1.0)
    assert run.outcome == "completed" and machine.outcome is Outcome.COMPLETED
    assert EventKind.RELEASED in [event.kind for event in machine.log]


# --- postures of bodies -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def human_body():
    return eq.Body.of(eq.load("human"))


def test_a_body_names_the_contacts_and_targets_of_a_posture(human_body):
    """Roles stand for contacts and frames; the wanted posture is that of the body, not of the description."""
    body, hand = human_body, human_body.frames["right hand"]
    place = body.robot.pose(body.standing, hand)[:3, 3] + np.array([0.15, 0.0, 0.1])
    result = eq.find_posture(body, dict.fromkeys(body.feet), {"right hand": place})
    assert result.converged, result.reason
    assert set(result.forces) == set(body.feet)
    assert_allclose(body.robot.pose(result.q, hand)[:3, 3], place, atol=1e-7)
    for role in body.feet:
        X, Y = (body.robot.pose(q, body.frames[role]) for q in (body.standing, result.q))
        assert_allclose(X, Y, atol=1e-7)
    still = eq.find_posture(body, dict.fromkeys(body.feet))
    assert_allclose(still.q[7:], body.standing[7:], atol=0.05)


def test_roles_are_those_of_the_body_where_a_frame_has_the_same_name():
    """The description's own "right hand" is on the head here."""
    human = eq.load("human").with_frame("right hand", "head", np.eye(4))
    body = eq.Body.of(human)
    hand = body.frames["right hand"]
    assert hand == "right hand of the body"
    place = body.robot.pose(body.standing, hand)[:3, 3] + np.array([0.1, 0.0, 0.05])
    result = eq.find_posture(body, dict.fromkeys(body.feet), {"right hand": place})
    assert result.converged, result.reason
    assert_allclose(body.robot.pose(result.q, hand)[:3, 3], place, atol=1e-7)


def test_roles_touch_without_carrying_and_postures_are_by_joint(human_body):
    body = human_body
    head = next(name for name in body.robot.joints if "neck" in name or "head" in name)
    result = eq.find_posture(body, {"left foot": GROUND}, touching={"right foot": GROUND}, posture={head: 0.2})
    assert result.converged, result.reason
    assert set(result.forces) == {"left foot"}
    assert abs(body.robot.pose(result.q, body.frames["right foot"])[2, 3]) < 1e-7
    assert result.q[body.robot.joints[head].q][0] == pytest.approx(0.2, abs=0.05)


def test_a_line_is_two_points_of_a_posture(human_body):
    """A narrow foot touches at toe and heel, which may be named, and one place cannot be that of both."""
    feet = {
        role: replace(part, contact="line", corners=((0.1, 0.0), (-0.1, 0.0))) for role, part in human_body.feet.items()
    }
    body = replace(human_body, profile=replace(human_body.profile, parts={**human_body.profile.parts, **feet}))
    found = contacts_by_role(body, {"left foot": None, "right foot heel": None})
    assert [contact.label for contact in found] == ["left foot toe", "left foot heel", "right foot heel"]
    with pytest.raises(TaskError, match="give its pose .* or the places of 'left foot toe' and 'left foot heel'"):
        contacts_by_role(body, {"left foot": (0.0, 0.0, 0.0)})
    with pytest.raises(eq.UnknownNameError, match="left foot side"):
        contacts_by_role(body, {"left foot side": None})


def test_roles_need_a_body(human_body):
    with pytest.raises(TaskError, match=r"need the robot's Body: eq.Body.of\(robot\)"):
        eq.find_posture(human_body.robot, {"left foot": None})
    with pytest.raises(eq.UnknownNameError, match="left hoof"):
        eq.find_posture(human_body, {"left hoof": None})
