"""Arms stay off thighs and trunk: which links are watched, and what that does to arms that are sent inwards."""

from __future__ import annotations

import functools
from dataclasses import replace

import pytest

import equipoise as eq
from equipoise.simulate.self_contact import SelfContacts
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
