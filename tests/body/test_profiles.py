"""Profiles: saved, read, edited, refused; where they are found; SRDF beside them; the cache."""

from __future__ import annotations

import shutil
import tomllib
import warnings
from dataclasses import replace

import legged
import numpy as np
import pytest
from numpy.testing import assert_allclose

import equipoise as eq
from equipoise.body import find, profile, srdf
from equipoise.body.gains import BodyGains
from equipoise.control.body_contacts import contacts_of_body
from equipoise.walking.legs import leg_links


@pytest.mark.parametrize("name", legged.marked(["g1", "go2", "talos_full", "cassie_mjcf", "ur5"]))
def test_a_saved_body_is_the_same_body(name, tmp_path):
    body = legged.body(name)
    path = body.save(tmp_path / "mine.toml")
    again = eq.Body.load(path, legged.robot(name))
    assert again.profile == profile.read(profile.text(body.profile))
    assert dict(again.parts) == dict(body.parts) and again.findings == tuple(
        sorted(body.findings, key=lambda f: f.confidence)
    )
    assert_allclose(again.standing, body.standing, atol=1e-12)
    assert tomllib.loads(path.read_text())["robot"] == body.robot.name


@pytest.fixture
def mine(tmp_path):
    """A file of somebody's own, in a folder of its own."""
    path = tmp_path / "mine.urdf"
    shutil.copy(legged.robot("go2").model.source, path)
    return path


def load(path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return eq.load(path)


def test_a_profile_beside_the_description_is_used_and_says_only_what_it_wants(mine):
    robot = load(mine)
    assert_allclose(eq.Body.of(robot).front, [1, 0, 0], atol=1e-9)
    mine.with_suffix(".toml").write_text("front = [-2, 0, 0]\n")
    body = eq.Body.of(robot)
    assert_allclose(body.front, [-1, 0, 0], atol=1e-9)
    assert body.feet["left front foot"].link == "RR_calf"  # what was behind on the right is now in front on the left
    assert_allclose(eq.Body.of(robot, search=False).front, [1, 0, 0], atol=1e-9)


def test_a_foot_of_the_profile_is_stood_on(tmp_path):
    path = tmp_path / "feet.toml"
    path.write_text(
        """
[parts."left foot"]
link = "left_ankle_roll_link"
position = [0.03, 0, -0.055]
corners = [[0.05, 0.02], [-0.05, 0.02], [-0.05, -0.02], [0.05, -0.02]]

[parts."right foot"]
link = "right_ankle_roll_link"
position = [0.03, 0, -0.055]
corners = [[0.05, 0.02], [-0.05, 0.02], [-0.05, -0.02], [0.05, -0.02]]
"""
    )
    body = eq.Body.of(legged.robot("g1"), path)
    assert body.feet["left foot"].corners[0] == (0.05, 0.02)
    for role in body.feet:
        X = body.robot.pose(body.standing, role)
        assert_allclose(X[2, 3], 0.0, atol=1e-6)
        assert_allclose(body.robot.pose(body.standing, body.feet[role].link)[2, 3], 0.055, atol=1e-3)
    assert set(body.hands) == {"left hand", "right hand"}


@pytest.mark.parametrize(
    "text, said",
    [
        ("front = [0, 0, 0]\n", "front is a direction"),
        ("front = [1, 0]\n", "front is 3 numbers"),
        ("front = [nan, 0, 0]\n", "finite number"),
        ("face = 1\n", "no key named 'face'"),
        ("fingers = 'all'\n\n", "fingers is a list of names"),
        ("fingers = ['thumb']\n", "no joint named 'thumb'"),
        ("[parts.'left foot']\nlink = 'FL_clf'\n", "Did you mean 'FL_calf'"),
        ("[parts.'left foot']\nposition = [0, 0, 0]\n", "needs a link"),
        ("[parts.'left foot']\nlink = 'FL_calf'\ncontact = 'flat'\n", "three corners or more"),
        ("[parts.'left foot']\nlink = 'FL_calf'\ncontact = 'soft'\n", "There are: flat, line, point, none"),
        ("[parts.'left foot']\nlink = 'base'\ncontact = 'point'\n", "is on the base"),
        ("[standing]\nFL_hip_joint = 'bent'\n", "standing.FL_hip_joint is a finite number"),
        ("front = \n\n", "is not TOML"),
        ("touching = [['a']]\n", "pairs of links"),
    ],
)
def test_a_profile_that_cannot_be_is_refused_with_what_was_wanted(text, said):
    with pytest.raises(eq.BodyError, match=said.replace("[", r"\[")):
        eq.Body.of(legged.robot("go2"), text)


def test_a_profile_that_is_not_there_is_named(tmp_path):
    with pytest.raises(eq.BodyError, match="nowhere.toml cannot be read"):
        eq.Body.of(legged.robot("go2"), tmp_path / "nowhere.toml")


@pytest.mark.parametrize("name", ["human", "jvrc1", "talos", "g1"])
def test_bodies_of_the_package_are_profiles(name):
    body = eq.Body.of(legged.robot(name))
    assert body.profile.complete and not body.findings  # nothing was searched for
    assert {"left foot", "right foot", "left hand", "right hand", "torso", "pelvis", "head"} <= set(body.parts)
    assert body.kind == "biped"


def test_a_smaller_human_has_smaller_soles_not_those_of_the_package():
    small = eq.Body.of(eq.load("human", height=1.5, mass=50.0))
    large = eq.Body.of(legged.robot("human"))
    assert small.feet["left foot"].corners[0][0] < 0.95 * large.feet["left foot"].corners[0][0]


def test_a_second_search_is_read_from_the_cache(monkeypatch):
    robot = legged.robot("solo12")
    first = eq.Body.of(robot, search=False)
    monkeypatch.setattr(find, "anatomy_of", lambda *a: pytest.fail("searched again"))
    again = eq.Body.of(robot, search=False)
    assert again.profile == first.profile
    with pytest.raises(pytest.fail.Exception, match="searched again"):
        eq.Body.of(robot.with_locked(["FL_KFE"]), search=False)  # another robot has another key


def test_fingers_are_locked_and_everything_else_moves():
    body = legged.body("g1_with_hands")
    still = body.still()
    assert len(body.fingers) == 14 and all("hand" in name for name in body.fingers)
    assert not set(body.fingers) & set(still.robot.joints) and still.robot.nv == body.robot.nv - 14
    for role in body.feet:
        assert_allclose(still.robot.pose(still.standing, role), body.robot.pose(body.standing, role), atol=1e-9)
    assert legged.body("go2").still() is legged.body("go2")


def test_a_finger_that_follows_another_is_locked_with_it():
    """A profile may list both, although only one has a coordinate."""
    body = legged.body("jvrc1")
    follower = "R_LTHUMB"
    leader = body.robot.joints[follower].mimic.leader
    assert leader in body.fingers and follower not in body.fingers
    listed = replace(body, profile=replace(body.profile, fingers=(*body.fingers, follower)))
    assert list(listed.still().robot.joints) == list(body.still().robot.joints)
    assert not {leader, follower} & set(listed.still().robot.joints)


# --- SRDF -------------------------------------------------------------------------------------------------------------

SRDF = """<robot name="mine">
  <group name="leg"><chain base_link="base" tip_link="FL_foot"/></group>
  <group name="shank"><chain base_link="FL_thigh" tip_link="FL_foot"/></group>
  <group name="knees"><joint name="FR_calf_joint"/><joint name="nothing"/><link name="FL_calf"/></group>
  <group name="both"><group name="knees"/><group name="leg"/><group name="both"/></group>
  <group name="none"><chain base_link="base" tip_link="nothing"/></group>
  <group_state name="home" group="all"><joint name="FL_thigh_joint" value="0.7"/></group_state>
  <group_state name="standing" group="front"><joint name="FL_calf_joint" value="-1.5"/></group_state>
  <group_state name="standing" group="hind"><joint name="RL_calf_joint" value="nan"/></group_state>
  <end_effector name="eff" parent_link="FL_foot" group="leg"/>
  <disable_collisions link1="FL_hip" link2="base" reason="Adjacent"/>
  <disable_collisions link1="FL_hip" link2="nothing" reason="Adjacent"/>
</robot>"""


def test_srdf_beside_the_description_is_read(mine):
    mine.with_suffix(".srdf").write_text(SRDF)
    semantics = srdf.read(srdf.beside(mine))
    assert semantics.standing == {"FL_calf_joint": -1.5} and semantics.ends == ("FL_foot",)
    body = eq.Body.of(load(mine))
    assert body.profile.touching == (("FL_hip", "base"),)
    leg = ("FL_hip_joint", "FL_thigh_joint", "FL_calf_joint")
    knees = ("FL_calf_joint", "FR_calf_joint")
    assert body.groups == {"leg": leg, "shank": leg[2:], "knees": knees, "both": (*leg, knees[1])}
    again = profile.read(profile.text(body.profile))
    assert again.groups == body.groups
    assert any(f.what == "end effector FL_foot" and f.value == "left front foot" for f in body.findings)


def test_end_effectors_where_no_limb_ends_are_doubted(mine):
    mine.with_suffix(".srdf").write_text(SRDF.replace('parent_link="FL_foot"', 'parent_link="base"'))
    doubts = [finding for finding in eq.Body.of(load(mine)).doubts if finding.what == "end effector base"]
    assert len(doubts) == 1 and 'link = "base"' in doubts[0].reason


def test_an_end_effector_may_be_a_finger_of_a_hand():
    """B1's arm ends in its gripper's stator; its SRDF file names the moving jaw."""
    found = {f.what: f.value for f in legged.body("b1_z1").findings if f.what.startswith("end effector")}
    assert found["end effector gripperMover"] == "hand" and len(found) > 1


def test_groups_of_a_profile_are_of_the_robot(mine):
    mine.with_suffix(".toml").write_text('[groups]\nknees = ["FL_calf_joint", "FX_calf_joint"]\n')
    with pytest.raises(eq.BodyError, match="groups.knees: no joint named 'FX_calf_joint'"):
        eq.Body.of(load(mine))


def test_the_standing_posture_of_an_srdf_is_preferred():
    talos = legged.body("talos_full")
    semantics = srdf.read(srdf.beside(legged.robot("talos_full").model.source))
    assert semantics.standing
    knee = talos.robot.joints["leg_left_4_joint"].q
    assert_allclose(talos.standing[knee], semantics.standing["leg_left_4_joint"], atol=0.1)
    assert any(f.what == "standing" and f.value == "the posture of the description" for f in talos.findings)


def test_an_srdf_that_cannot_be_read_is_as_good_as_none(mine):
    mine.with_suffix(".srdf").write_text("<robot")
    assert eq.Body.of(load(mine)).kind == "quadruped"


# --- gains ------------------------------------------------------------------------------------------------------------


def test_gains_scale_as_similar_bodies_do():
    """Twice the size at the same density: time goes by √2, mass by 8; all errors decay over the same part of a
    swing."""
    one, two = BodyGains.of(10.0, 0.5), BodyGains.of(80.0, 1.0)
    for name in ("rate", "com", "torso", "hand", "posture"):
        assert_allclose(getattr(one, name) / getattr(two, name), np.sqrt(2), rtol=1e-12)
    assert_allclose(one.force_weight * (10.0 * 9.8) ** 2, two.force_weight * (80.0 * 9.8) ** 2)
    with pytest.raises(eq.BodyError, match="no feet"):
        _ = legged.body("ur5").gains
    # Weights compare unlike accelerations: angular ones by the square of the length, momenta and forces by those of m h
    # and m.
    for name, ratio in {"torso": 4.0, "posture": 4.0, "hand": 1.0, "spin": 1 / 256, "force": 1 / 64}.items():
        assert_allclose(getattr(two, f"{name}_weight") / getattr(one, f"{name}_weight"), ratio, rtol=1e-12)


def test_pairs_that_may_collide_are_those_from_where_it_stands_and_are_cached(monkeypatch):
    """Hands and thighs of the human can hit; what the profile calls touching is left out; a second call searches
    nothing."""
    import equipoise.geometry.collisions as collisions

    body = eq.Body.of(eq.load("human"))
    pairs = body.collision_pairs()
    frames = {frozenset((a.frame, b.frame)) for a, b in pairs}
    assert frozenset(("left_hand", "left_thigh")) in frames
    assert all(a.frame != b.frame for a, b in pairs)
    monkeypatch.setattr(collisions, "sorted_pairs", None)  # would fail if it were called
    again = body.collision_pairs()
    assert {frozenset((a.frame, b.frame)) for a, b in again} == frames
    monkeypatch.undo()
    apart = eq.Body.of(eq.load("human"), 'touching = [["left_hand", "left_thigh"]]\n')
    assert frozenset(("left_hand", "left_thigh")) not in {
        frozenset((a.frame, b.frame)) for a, b in apart.collision_pairs()
    }


SMALL = """
front = [1, 0, 0]

[parts."left foot"]
link = "left_foot"
corners = [[0.1, 0.03], [-0.1, 0.03], [-0.1, -0.03], [0.1, -0.03]]

[parts."right foot"]
link = "right_foot"
corners = [[0.1, 0.03], [-0.1, 0.03], [-0.1, -0.03], [0.1, -0.03]]
"""
SETTLED = """
kind = "biped"
up = [0, 0, 1]
fingers = []
"""


@pytest.mark.parametrize("text", [SMALL, SETTLED + SMALL])
def test_a_small_profile_leaves_the_joints_of_its_limbs_to_the_search(text):
    robot = eq.load("human")
    full, small = eq.Body.of(robot), eq.Body.of(robot, text)
    for role in ("left foot", "right foot", "left hand"):
        assert small.parts[role].joints == full.parts[role].joints
    assert small.leg_length > 0
    for role in small.feet:
        assert leg_links(small, role) == leg_links(full, role)


LINES = """
[parts."left foot"]
link = "left_foot"
contact = "line"
corners = {}

[parts."right foot"]
link = "right_foot"
contact = "line"
corners = [[-0.1, 0], [0.12, 0]]
"""


@pytest.mark.parametrize("corners", ["[[0.12, 0], [-0.1, 0]]", "[[-0.1, 0], [0.12, 0]]"])
def test_toes_are_ahead_of_heels(corners):
    body = eq.Body.of(eq.load("human"), LINES.format(corners))
    contacts = {contact.label: contact for contact in contacts_of_body(body)}
    assert set(contacts) == {f"{side} foot {end}" for side in ("left", "right") for end in ("toe", "heel")}
    for side in ("left", "right"):
        for end, x in (("toe", 0.12), ("heel", -0.1)):
            contact = contacts[f"{side} foot {end}"]
            X = body.robot.pose(body.standing, contact.frame)
            ahead = (X[:3, :3] @ contact.points[0] + X[:3, 3] - X[:3, 3])[0]
            assert_allclose(ahead, x, atol=1e-3)  # the body stands facing +x
