"""Feet, hands, sides and front of robots that people know."""

from __future__ import annotations

import warnings
from dataclasses import replace

import legged as zoo
import numpy as np
import pytest
from numpy.testing import assert_allclose

import equipoise as eq
from equipoise.body.anatomy import anatomy_of
from equipoise.model import names
from equipoise.model.skeleton import Skeleton

LONG = ("icub", "simple_humanoid", "thormang3", "thormang3_27", "g1_with_hands", "human_36", "jvrc1_file")  # searches


def slowly(names):
    """The names as parameters, those whose posture is searched for seconds marked slow."""
    return [p for name in names for p in zoo.marked([name], *[pytest.mark.slow] * (name in LONG))]


@pytest.mark.parametrize("name", slowly(zoo.ALL))
def test_feet_sides_and_front_are_those_that_people_see(name):
    body, known = zoo.body(name), zoo.ALL[name]
    assert {role: part.link for role, part in body.feet.items()} == known.feet
    assert_allclose(body.front, known.front, atol=1e-6)
    if known.hands:
        assert tuple(part.link for part in body.hands.values()) == known.hands
    assert not any("names say the other side" in finding.reason for finding in body.findings)


@pytest.mark.parametrize("name", zoo.FOOTLESS)
def test_robots_without_feet_say_so(name):
    body = zoo.body(name)
    assert body.kind == zoo.FOOTLESS[name] and not body.feet
    assert any(finding.what == "feet" and finding.value == "none" and finding.reason for finding in body.findings)
    assert_allclose(body.standing, body.robot.standing(), atol=0)


@pytest.mark.parametrize("name", slowly(["g1", "jvrc1", "icub", "go2", "solo12", "poppy"]))
def test_names_are_the_last_argument(name):
    """With every name of links and joints made meaningless, feet and sides are the same; the front where soles or x
    tell."""
    robot = zoo.robot(name)
    links = {link: f"part{k}" for k, link in enumerate(robot.model.links)}
    joints = {joint: f"axis{k}" for k, joint in enumerate(robot.model.joints)}
    plain = eq.Body.of(_renamed(robot, links, joints), search=False)
    known = zoo.ALL[name]
    wanted = sorted(links[link] for link in known.feet.values())
    assert sorted(part.link for part in plain.feet.values()) == wanted
    if known.front == (1.0, 0.0, 0.0):
        assert_allclose(plain.front, known.front, atol=1e-6)
        assert {role: part.link for role, part in plain.feet.items()} == {
            r: links[link] for r, link in known.feet.items()
        }


def _renamed(robot, links, joints):
    from dataclasses import replace

    from equipoise.model.assemble import assemble

    model = robot.model
    made = assemble(
        "nameless",
        [replace(link, name=links[name]) for name, link in model.links.items()],
        [
            replace(
                joint, name=joints[name], parent=joint.parent and links[joint.parent], child=links[joint.child],
                mimic=joint.mimic and replace(joint.mimic, leader=joints[joint.mimic.leader]),
            )
            for name, joint in model.joints.items()
        ],
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return eq.Robot.from_model(made)


@pytest.mark.parametrize("name", ["g1", "talos", "go2", "a1"])
@pytest.mark.parametrize("yaw", [np.pi / 2, np.pi, 2.0])
def test_a_robot_that_stands_otherwise_in_its_base_is_the_same_robot(name, yaw):
    """The base turned about z: feet and sides stay, the front turns with the robot."""
    turned = zoo.robot(name)
    R = np.array([[np.cos(yaw), -np.sin(yaw), 0], [np.sin(yaw), np.cos(yaw), 0], [0, 0, 1]])
    anatomy = anatomy_of(Skeleton(turned, R))
    assert {role: anatomy.skeleton.main_link(leg.end) for role, leg in anatomy.feet} == zoo.ALL[name].feet
    assert_allclose(anatomy.skeleton.upright.T @ [1, 0, 0], zoo.ALL[name].front, atol=1e-6)


@pytest.mark.parametrize("name", ["g1", "human", "talos_full", "go2"])
def test_left_and_right_are_mirror_images(name):
    """The law that sides obey: mirrored in the middle plane, the left parts are the right ones."""
    body = zoo.body(name)
    q = body.standing
    mirror = np.diag([1.0, -1.0, 1.0])
    for role in body.feet:
        if role.startswith("left"):
            left, right = (body.robot.pose(q, r) for r in (role, role.replace("left", "right")))
            assert left[1, 3] > 0 > right[1, 3]
            assert_allclose(mirror @ left[:3, 3], right[:3, 3], atol=5e-3)


@pytest.mark.parametrize("name", slowly(["g1", "talos_full", "jvrc1", "icub", "go2", "hyq"]))
@pytest.mark.parametrize("depth", [0.3, 0.8])
def test_another_zero_posture_is_the_same_robot(name, depth):
    """Joints count from a crouch: knees far bent, feet tilted, the trunk leaning."""
    known = zoo.ALL[name]
    robot = zoo.robot(name)
    q = zoo.body(name).standing.copy()
    q[7:] = np.clip((1 + 2 * depth) * q[7:], robot.limits.lower[7:], robot.limits.upper[7:])
    body = eq.Body.of(_from(robot, q), search=False)
    assert {role: part.link for role, part in body.feet.items()} == known.feet
    assert_allclose(body.front, known.front, atol=1e-6)
    assert {part.contact for part in body.feet.values()} == {part.contact for part in zoo.body(name).feet.values()}
    assert not [finding for finding in body.doubts if finding.what == "standing"]


def _from(robot, q):
    """The same robot with its joints counted from q."""
    from dataclasses import replace

    from equipoise.algebra.quaternions import NUMBERS
    from equipoise.model.assemble import reassemble

    def change(joint):
        if not joint.moving or joint.mimic is not None or joint.type.nq != 1:
            return joint
        x = float(q[joint.q.start])
        X = np.eye(4)
        X[:3, :3], X[:3, 3] = joint.type.pose(np.array([x]), NUMBERS)
        limits = replace(joint.limits, lower=joint.limits.lower - x, upper=joint.limits.upper - x)
        return replace(joint, origin=joint.origin @ X, limits=limits)

    model = reassemble(replace(robot.model, standing={}), change)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return eq.Robot.from_model(replace(model, name="crouched", source=None))


def test_words_of_names():
    assert names.words("LHipYawLink") == ["l", "hip", "yaw", "link"]
    assert names.side(["LHipYawLink"]) == 1 and names.side(["rightshin"]) == -1 and names.side(["torso"]) == 0
    assert names.side(["RL_calf"]) == 1 and names.end(["RL_calf"]) == -1
    assert names.end(["FR_hip"]) == 1


def test_every_finding_has_a_reason_and_a_confidence():
    for name in ("g1", "romeo", "ur5"):
        for finding in zoo.body(name).findings:
            assert finding.reason and 0 <= finding.confidence <= 1


def test_knees_whose_limits_have_opposite_signs_are_doubted():
    human = zoo.robot("human").model
    knee = human.joints["right_knee"]
    turned = replace(knee.limits, lower=-knee.limits.upper, upper=-knee.limits.lower)
    joints = {**human.joints, "right_knee": replace(knee, limits=turned)}
    body = eq.Body.of(eq.Robot.from_model(replace(human, name="one knee back", joints=joints)), search=False)
    assert [finding.value for finding in body.doubts if finding.what == "knees"] == ["bend opposite ways"]
    assert not [finding for finding in zoo.body("g1").findings if finding.what == "knees"]


def test_soles_of_a_robot_without_shapes_are_doubted_and_say_what_to_write():
    model = zoo.robot("jvrc1").model
    links = {name: replace(link, visuals=(), collisions=()) for name, link in model.links.items()}
    bare = eq.Robot.from_model(replace(model, name="bare", links=links, source=None))
    doubts = {finding.what: finding for finding in eq.Body.of(bare, search=False).doubts}
    assert "[parts.'left foot']" in doubts["sole of the left foot"].reason
    assert not zoo.body("g1").doubts
