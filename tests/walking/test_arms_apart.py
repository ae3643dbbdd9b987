"""Arms stay off thighs and trunk: which links are watched, and what that does to arms that are sent inwards."""

from __future__ import annotations

import functools
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import equipoise as eq
from bench.self_contact import SelfContacts
from equipoise.body.parts import Part
from equipoise.model.shapes import sphere
from equipoise.model.types import Shape
from equipoise.walking import arms_apart, legs_apart

ARMS = {
    "left_forearm off left_thigh", "left_hand off left_thigh", "left_upper_arm off abdomen",
    "left_upper_arm off pelvis", "left_forearm off abdomen", "left_forearm off pelvis",
}  # fmt: skip
ALL = ARMS | {name.replace("left", "right") for name in ARMS}


@functools.cache
def human() -> eq.Walking:
    return eq.Walking(eq.load("human"))


@pytest.fixture
def walker():
    made = human()
    made.forget_commands().reset()
    yield made
    made.forget_commands().reset()


def without_shapes(walker: eq.Walking, *kept: str) -> eq.Body:
    """The body, whose links have no shapes but for those that are named."""
    model = walker.robot.model
    links = {name: x if name in kept else replace(x, collisions=()) for name, x in model.links.items()}
    return replace(walker.body, robot=type(walker.robot)(replace(model, links=links), walker.robot.tree))


# --- pairs ------------------------------------------------------------------------------------------------------------


def test_forearm_and_hand_stay_off_the_thigh_beside_them_and_what_is_at_the_elbow_off_the_trunk(walker):
    found = {item.name for item in arms_apart.arms_apart(walker.body, 1e-3)}
    assert found == ALL
    assert found <= {item.label for item in walker.whole_body.controller.items.constraints}


def test_pairs_are_apart_where_the_robot_stands_and_never_far(walker):
    for a, b in arms_apart.arm_pairs(walker.body):
        apart = legs_apart.standing_distance(walker.body, a, b)
        assert legs_apart.SAFE + legs_apart.STANDING - 1e-9 <= apart <= arms_apart.FAR


def test_a_thigh_that_is_too_near_is_narrower_and_a_trunk_is_left_out(walker, monkeypatch):
    """Of a robot whose capsules are 4 cm wider than they are: forearm and thigh are then 2 cm in each other, and the
    upper arm 3 cm in the abdomen."""
    around = arms_apart._around

    def wide(body, index):
        found = around(body, index)
        return None if found is None else replace(found, radius=found.radius + 0.04)

    monkeypatch.setattr(arms_apart, "_around", wide)
    pairs = {(str(a.frame), str(b.frame)): (a, b) for a, b in arms_apart.arm_pairs(walker.body)}
    near = [legs_apart.standing_distance(walker.body, *pairs["left_forearm", thigh]) for thigh in ("left_thigh",)]
    assert near == pytest.approx([legs_apart.SAFE + legs_apart.STANDING], abs=1e-9)
    assert ("left_upper_arm", "abdomen") not in pairs and ("left_forearm", "pelvis") not in pairs


def test_without_shapes_nothing_is_watched(walker):
    assert arms_apart.arm_pairs(without_shapes(walker)) == []
    pairs = arms_apart.arm_pairs(without_shapes(walker, "left_hand", "left_thigh", "right_hand"))
    assert [(a.frame, b.frame) for a, b in pairs] == [("left_hand", "left_thigh")]


def test_the_elbow_is_half_way_to_the_hand(walker):
    bodies = walker.robot.tree.bodies
    for side in ("left", "right"):
        assert bodies[arms_apart._elbow(walker.body, walker.body.hands[f"{side} hand"])].name == f"{side}_elbow"


def test_a_capsule_holds_all_shapes_of_a_body(walker):
    """Those of links that are fixed to it too: of a thigh that carries a box."""
    index = walker.robot.place("left_thigh")[0]
    alone = arms_apart._around(walker.body, index)
    assert alone.frame == "left_thigh" and alone.radius == pytest.approx(0.0698, abs=5e-4)
    assert arms_apart._around(without_shapes(walker), index) is None


def arm(*shapes: Shape) -> eq.Robot:
    """A trunk with an arm along x: joints at 0, 0.1 and 0.35 m, and a ball on a link that is fixed to the last, which
    is named before the link of the joint."""
    made = eq.RobotBuilder("arm").link("trunk", mass=1.0, inertia=(0.1,) * 3)
    for name, own in (("upper", ()), ("ball", [sphere(0.02)]), ("lower", ()), ("fore", shapes)):
        made = made.link(name, mass=1.0, inertia=(0.1,) * 3, shapes=own)
    made = made.joint("shoulder", "revolute", "trunk", "upper", axis=(0.0, 1.0, 0.0))
    made = made.joint("turn", "revolute", "upper", "lower", axis=(1.0, 0.0, 0.0), position=(0.1, 0.0, 0.0))
    made = made.joint("elbow", "revolute", "lower", "fore", axis=(0.0, 1.0, 0.0), position=(0.25, 0.0, 0.0))
    return made.joint("weld", "fixed", "fore", "ball", position=(0.2, 0.0, 0.05), rpy=(0.0, 0.5, 0.0)).build()


def test_the_way_to_the_hand_counts_to_its_end():
    """Of joints at 0, 0.1 and 0.35 m and a hand at 0.7 m the last is half way, though none of the others is."""
    robot, hand = arm(), Part("fore", (0.35, 0.0, 0.0), joints=("shoulder", "turn", "elbow"))
    found = arms_apart._elbow(SimpleNamespace(robot=robot), hand)
    assert robot.tree.bodies[found].name == "elbow"


def test_what_is_fixed_to_a_body_is_in_its_capsule_where_it_is(rng):
    """Whichever of its links is named first: both balls, wherever the arm is."""
    robot = arm(sphere(0.03, (0.05, 0.0, 0.0)))
    found = arms_apart._around(SimpleNamespace(robot=robot), robot.place("fore")[0])
    q = robot.neutral()
    q[-3:] = rng.uniform(-1, 1, 3)
    X = robot.pose(q, found.frame)
    a, b = (X[:3, :3] @ p + X[:3, 3] for p in found.points)
    for link, own, radius in (("fore", (0.05, 0.0, 0.0), 0.03), ("ball", (0.0, 0.0, 0.0), 0.02)):
        ball = (robot.pose(q, link) @ [*own, 1.0])[:3]
        along = np.clip((ball - a) @ (b - a) / ((b - a) @ (b - a)), 0.0, 1.0)
        assert np.linalg.norm(ball - a - along * (b - a)) + radius <= found.radius + 1e-9
    assert found.radius < 0.04  # and no more than that


def test_a_link_whose_mesh_is_missing_is_left_out():
    robot = arm(Shape("mesh", (1.0, 1.0, 1.0), mesh="gone.stl"))
    found = arms_apart._around(SimpleNamespace(robot=robot), robot.place("fore")[0])
    assert found.frame == "ball" and found.radius == pytest.approx(0.02)


def test_thighs_are_what_is_above_the_knee(walker):
    names = [walker.robot.tree.bodies[index].name for index in arms_apart._thighs(walker.body, "right hand")]
    assert names == ["right_hip_pitch", "right_hip_roll", "right_hip_yaw"]


@pytest.mark.parametrize("dt", [1e-3, 2e-2])
def test_arms_are_slowed_as_legs_are(walker, dt):
    """No faster than steps of control are: in each, no more than a part of the distance that is left."""
    legs = legs_apart.legs_apart(walker.body, walker.whole_body.feet, dt)
    rates = {(item.gains.slow, item.gains.fast) for item in [*legs, *arms_apart.arms_apart(walker.body, dt)]}
    assert len(rates) == 1 and max(rates.pop()) * dt <= legs_apart.QUICKEST


def test_a_pair_that_could_only_be_narrower_than_nothing_is_not_watched(walker, monkeypatch):
    """A rod of 1 cm that is 6 cm in what is beside it: its constraint could not hold where the robot stands."""
    rod = arms_apart._around(walker.body, walker.robot.place("left_hand")[0])
    for radius, watched in ((0.01, False), (0.1, True)):
        monkeypatch.setattr(arms_apart, "standing_distance", lambda *_: -0.06)
        pair = replace(rod, radius=radius), replace(rod, radius=0.2)
        assert (arms_apart._near(walker.body, *pair, narrow=True) is not None) is watched


def test_an_arm_without_joints_has_no_elbow(walker):
    """As one whose joints are all locked."""
    hand = replace(walker.body.hands["left hand"], joints=())
    assert arms_apart._elbow(walker.body, hand) == 0 and arms_apart._trunk(walker.body, hand) == []


# --- motions ----------------------------------------------------------------------------------------------------------


def sent_inwards(walker: eq.Walking, kept: bool) -> float:
    """How deep a robot is in itself that stands and whose arms are sent into its thighs, m."""
    q, controller = walker.q0.copy(), walker.whole_body.controller
    for side, sign in (("left", -1.0), ("right", 1.0)):
        q[walker.robot.joints[f"{side}_shoulder_roll"].q] += 0.25 * sign
        q[walker.robot.joints[f"{side}_elbow"].q] += 0.2
    for name in ALL:
        controller.set(name, safe=legs_apart.SAFE if kept else legs_apart.ANY_DISTANCE)
    controller.set_target("posture", q)

    def called(t, q, v):
        return walker(t, q, v)

    called.contacts, called.observe = walker.contacts, walker.observe
    run = eq.simulate(walker.robot, called, q0=walker.q0, duration=1.0)
    assert run.outcome == "completed"
    found = SelfContacts(walker.robot, walker.q0).deepest(run.q[::10])
    return 0.0 if found is None else found.depth


def test_arms_that_are_sent_into_the_thighs_stop_before_them(walker):
    try:
        assert sent_inwards(walker, kept=True) == 0.0
        walker.reset()
        assert sent_inwards(walker, kept=False) > 0.005
    finally:
        for name in ALL:
            walker.whole_body.controller.set(name, safe=legs_apart.SAFE)
