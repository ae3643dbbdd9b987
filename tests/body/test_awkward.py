"""Twenty awkward descriptions: each ends in a body, or in an error that says what to write in the profile."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pytest
from numpy.testing import assert_allclose

import equipoise as eq
from equipoise.body.facing import BASE, SIDES, evidence
from equipoise.body.patches import Patch
from equipoise.body.symmetry import symmetry_of
from equipoise.model import names
from equipoise.model import shapes as s
from equipoise.model.limbs import limbs_of, trunk_of
from equipoise.model.skeleton import Skeleton
from equipoise.model.urdf_writer import write_urdf

X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
Z_AXIS = np.array(Z)
INERTIA = (0.01, 0.01, 0.01)
TRUNK = (s.box(0.3, 0.2, 0.2),)


@dataclass
class Maker:
    """A robot from chains: each link 1 kg, each chain a list of (axis, offset)."""

    builder: eq.RobotBuilder = field(default_factory=lambda: eq.RobotBuilder("awkward", floating=True))

    def trunk(self, name="trunk", mass=10.0, shapes=TRUNK):
        self.builder.link(name, mass=mass, com=(0, 0, 0), inertia=(0.2, 0.2, 0.2), shapes=list(shapes))
        return self

    def chain(self, name, parent, chain, end=(), *, lower=-2.0, upper=2.0, mass=1.0, kind="revolute", names=None):
        for k, (axis, offset) in enumerate(chain):
            link = f"{name}{k}" if names is None else names[k]
            last = k == len(chain) - 1
            self.builder.link(link, mass=mass, com=(0, 0, 0), inertia=INERTIA, shapes=list(end) if last else [])
            limits = {} if kind == "continuous" and last else {"lower": lower, "upper": upper}
            self.builder.joint(
                f"{link}_joint", kind if last else "revolute", parent, link, axis=axis, position=offset, **limits
            )
            parent = link
        return self

    def build(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return self.builder.build()


def leg(x, y, *, bent=False):
    """Hip roll, hip, knee, ankle, foot; straight down from (x, y), or ahead where the zero posture is folded."""
    down = (0.4, 0.0, 0.0) if bent else (0.0, 0.0, -0.4)
    return [(X, (x, y, -0.1)), (Y, (0, 0, 0)), (Y, down), (Y, down), (X, (0, 0, 0))]


def arm(y):
    return [(Y, (0, y, 0.3)), (X, (0, 0, 0)), (Y, (0, 0, -0.3)), (Z, (0, 0, -0.25))]


SOLE = (s.box(0.2, 0.1, 0.04, (0.04, 0, -0.06)),)
BALL = (s.sphere(0.03, (0, 0, -0.03)),)


def biped(sole=SOLE, *, left="left", right="right", bent=False, chain=leg, maker=None):
    made = (maker or Maker()).trunk()
    for name, y in ((left, 0.1), (right, -0.1)):
        made.chain(f"{name}_leg", "trunk", chain(0.0, y, bent=bent) if chain is leg else chain(0.0, y), sole)
        made.chain(f"{name}_arm", "trunk", arm(2.5 * y))
    return made


def radial(count, reach=0.3):
    """Legs all around that point out level at zero, as insects' do."""
    made = Maker().trunk(shapes=(s.cylinder(0.15, 0.1),))
    for k in range(count):
        a = 2 * np.pi * (k + 0.5) / count
        out = np.array([np.cos(a), np.sin(a), 0.0])
        across = tuple(np.array([-np.sin(a), np.cos(a), 0.0]))
        chain = [(Z, tuple(0.15 * out)), (across, tuple(0.05 * out)), (across, tuple(reach / 2 * out))]
        made.chain(f"leg_{k}_", "trunk", chain, (s.sphere(0.02, tuple(reach / 2 * out)),))
    return made


def mobile():
    made = Maker().trunk(mass=30.0, shapes=(s.box(0.5, 0.4, 0.2, (0, 0, 0.2)),))
    for k, (x, y) in enumerate([(0.2, 0.25), (0.2, -0.25), (-0.2, 0.25), (-0.2, -0.25)]):
        wheel = (s.cylinder(0.1, 0.04, (0, 0, 0), (np.pi / 2, 0, 0)),)
        made.chain(f"roller{k}", "trunk", [(Y, (x, y, 0.1))], wheel, kind="continuous")
    return made.chain(
        "link", "trunk", [(Z, (0, 0, 0.3)), (Y, (0, 0, 0.1)), (Y, (0, 0, 0.4)), (Y, (0, 0, 0.4)), (Z, (0, 0, 0.1))]
    )


def wheel_legs():
    made = Maker().trunk()
    for k, y in enumerate((0.15, -0.15)):
        wheel = (s.cylinder(0.08, 0.04, (0, 0, 0), (np.pi / 2, 0, 0)),)
        made.chain(
            f"l{k}", "trunk", [(Y, (0, y, -0.1)), (Y, (0.2, 0, -0.2)), (Y, (-0.2, 0, -0.2))], wheel, kind="continuous"
        )
    return made


def mecanum():
    """Wheels that carry rollers, each of which turns as it likes."""
    made = Maker().trunk(shapes=(s.box(0.3, 0.2, 0.05),))
    for k, (x, y) in enumerate([(0.15, 0.15), (0.15, -0.15), (-0.15, 0.15), (-0.15, -0.15)]):
        disc = (s.cylinder(0.05, 0.03, (0, 0, 0), (np.pi / 2, 0, 0)),)
        made.chain(f"wheel{k}", "trunk", [(Y, (x, y, 0.0))], disc, kind="continuous")
        for i in range(6):
            a = np.pi * i / 3
            made.chain(f"roller{k}{i}", f"wheel{k}0", [((0.0, 0.7, 0.7), (0.045 * np.cos(a), 0, 0.045 * np.sin(a)))],
                       kind="continuous", mass=0.01)  # fmt: skip
    return made


def on_slides():
    """Two arms on a lift, on slides that stand for a base that drives."""
    made = Maker(eq.RobotBuilder("sliding", floating=False)).trunk()
    made.chain("ahead", "trunk", [(X, (0, 0, 0))], kind="prismatic", lower=-10.0, upper=10.0)
    made.chain("aside", "ahead0", [(Y, (0, 0, 0))], kind="prismatic", lower=-10.0, upper=10.0)
    made.chain("turned", "aside0", [(Z, (0, 0, 0)), (Z, (0, 0, 0.2))], kind="prismatic", lower=0.0, upper=0.4)
    for name, y in (("left", 0.2), ("right", -0.2)):
        made.chain(f"{name}_arm", "turned1", [(Y, (0, y, 0.3)), (X, (0, 0, 0)), (Y, (0.3, 0, 0)), (Z, (0.25, 0, 0))])
    return made


def in_parts(robot):
    """As a description on disk would be, but as text: no file, nothing beside it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return eq.load(write_urdf(robot.model))


def missing_meshes():
    robot = biped().build()
    text = write_urdf(robot.model).replace('<box size="0.2 0.1 0.04"/>', '<mesh filename="package://gone/foot.stl"/>')
    assert "package://gone" in text
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return eq.load(text)


def tripod_without_likeness():
    made = Maker().trunk()
    for k, (x, y, length) in enumerate([(0.2, 0.1, 0.3), (-0.2, 0.13, 0.45), (0.05, -0.2, 0.6)]):
        made.chain(f"limb{k}", "trunk", [(X, (x, y, 0)), (Y, (0, 0, -length)), (Y, (0.03 * k, 0, -length))], BALL)
    return made


@dataclass
class Case:
    make: Callable[[], eq.Robot]
    kind: str
    feet: int
    doubt: str = ""  # what a doubt must say


CASES = {
    "no collision shapes": Case(lambda: biped(()).build(), "biped", 2, "give corners in [parts.'left foot']"),
    "no meshes found": Case(missing_meshes, "biped", 2, "give corners in [parts.'left foot']"),
    "one leg": Case(lambda: Maker().trunk().chain("leg", "trunk", leg(0, 0), SOLE).build(), "one-legged", 1),
    "a snake": Case(
        lambda: (
            Maker().trunk(mass=1.0).chain("part", "trunk", [((Y, Z)[k % 2], (-0.1, 0, 0)) for k in range(12)]).build()
        ),
        "arm",
        0,
    ),
    "an arm": Case(
        lambda: (
            Maker()
            .trunk(mass=4.0)
            .chain("link", "trunk", [(Z, (0, 0, 0.2)), (Y, (0, 0, 0.1)), (Y, (0.4, 0, 0))])
            .build()
        ),
        "arm",
        0,
    ),
    "names without sides": Case(lambda: biped(left="one", right="two").build(), "biped", 2),
    "names of the other side": Case(lambda: biped(left="right", right="left").build(), "biped", 2),
    "wheels": Case(lambda: mobile().build(), "mobile manipulator", 0),
    "legs that end in wheels": Case(lambda: wheel_legs().build(), "wheeled", 0),
    "no joints": Case(lambda: Maker().trunk().build(), "no limbs", 0),
    "a folded zero posture": Case(lambda: biped(bent=True).build(), "biped", 2),
    "point feet": Case(lambda: biped(BALL, chain=lambda x, y: leg(x, y)[:3]).build(), "biped", 2),
    "no ankle roll": Case(lambda: biped(SOLE, chain=lambda x, y: leg(x, y)[:4]).build(), "biped", 2),
    "six legs": Case(lambda: radial(6).build(), "hexapod", 6),
    "three legs": Case(lambda: radial(3).build(), "tripod", 3),
    "eight legs": Case(lambda: radial(8).build(), "8 legs", 8),
    "fixed base": Case(lambda: biped(maker=Maker(eq.RobotBuilder("fixed", floating=False))).build(), "biped", 2),
    "spheres of a size of a point": Case(lambda: biped((s.sphere(1e-4, (0, 0, -0.05)),)).build(), "biped", 2),
    "text without a file": Case(lambda: in_parts(biped().build()), "biped", 2),
    "limbs of three lengths": Case(lambda: tripod_without_likeness().build(), "3 arms", 0),
}


@pytest.mark.parametrize("name", CASES)
def test_an_awkward_description_ends_in_a_body(name):
    case = CASES[name]
    body = eq.Body.of(case.make(), search=False)
    assert (body.kind, len(body.feet)) == (case.kind, case.feet)
    if case.doubt:
        assert any(case.doubt in finding.reason for finding in body.doubts)
    if case.feet and body.robot.floating:
        motion = Skeleton(body.robot).at(body.standing)
        for role, part in body.feet.items():
            i, X_F = body.robot.place(body.frames[role])
            points = motion.p[i] + (part.points @ X_F[:3, :3].T + X_F[:3, 3]) @ motion.R[i].T
            assert_allclose(points[:, 2], 0.0, atol=5e-3)
    else:
        assert body.standing.shape == (body.robot.nq,)
    if not case.feet:
        said = [finding.reason for finding in body.findings if finding.what == "feet"]
        assert said and said[0]
        if body.robot.floating and body.hands and not body.profile.wheels:
            assert "in its profile" in said[0]


def test_long_fingers_are_fingers():
    """A third of the arm, in two joints each: long beside the robot, short beside the way to them."""
    made = Maker().trunk()
    for name, y in (("left", 0.1), ("right", -0.1)):
        made.chain(f"{name}_leg", "trunk", leg(0.0, y), SOLE)
        made.chain(f"{name}_arm", "trunk", [(Y, (0, 3 * y, 0.3)), (Y, (0, 0, -0.4)), (X, (0, 0, -0.35))])
        for k in range(3):
            made.chain(
                f"{name}_digit{k}_",
                f"{name}_arm2",
                [(Y, (0.02 * k, 0, -0.05)), (Y, (0, 0, -0.12)), (Y, (0, 0, -0.12))],
                mass=0.1,
            )
    body = eq.Body.of(made.build(), search=False)
    assert body.kind == "biped" and {role: part.link for role, part in body.hands.items()} == {
        "left hand": "left_arm2", "right hand": "right_arm2",
    }  # fmt: skip
    assert len(body.fingers) == 18 and body.parts["torso"].link == "trunk"


def test_what_turns_on_the_side_of_an_arm_is_locked_as_fingers_are():
    """A dial on the forearm: neither part of the arm nor beyond its end."""
    dial = (
        '<link name="dial"><inertial><mass value="0.1"/><inertia ixx="1e-4" iyy="1e-4" izz="1e-4" ixy="0" ixz="0" '
        'iyz="0"/></inertial></link><joint name="dial" type="revolute"><parent link="left_forearm"/>'
        '<child link="dial"/><axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="1" velocity="1"/></joint></robot>'
    )
    text = write_urdf(eq.load("human").model).replace("</robot>", dial)
    body = eq.Body.of(eq.load(text), search=False)
    assert list(body.hands) == ["left hand", "right hand"]
    assert body.fingers == ("dial",)


def test_wheels_that_carry_rollers_are_wheels():
    body = eq.Body.of(mecanum().build(), search=False)
    assert body.kind == "wheeled" and body.profile.wheels == tuple(f"wheel{k}0" for k in range(4))


def test_a_base_that_drives_on_slides_is_no_arm():
    """Slides longer than what they carry count neither as reach nor as limbs, so that both arms are found."""
    body = eq.Body.of(on_slides().build(), search=False)
    assert body.kind == "mobile manipulator" and list(body.hands) == ["left hand", "right hand"]
    assert body.parts["torso"].link == "turned1"
    reason = next(finding.reason for finding in body.findings if finding.what == "feet")
    assert reason == "its base slides over the ground: ahead0_joint, aside0_joint"
    planar = eq.Body.of(eq.load("holonomic_arm"), search=False)
    assert planar.kind == "mobile manipulator" and planar.parts["torso"].link == "platform_link"


def test_fingers_are_known_by_their_joints_or_links():
    assert names.is_finger("gripper_joint") and names.is_finger("arm_f1x", "arm_link_fngr")
    assert not names.is_finger("wrist_roll_joint", "gripper_link")  # the palm


def test_sides_are_by_place_and_names_that_say_otherwise_are_doubted():
    body = eq.Body.of(CASES["names of the other side"].make(), search=False)
    front = body.front
    for role, part in body.feet.items():
        i, _ = body.robot.place(part.link)
        side = Skeleton(body.robot).rest.p[i] @ np.cross([0, 0, 1], front)
        assert (side > 0) == role.startswith("left")
    assert body.findings


def test_names_of_the_sides_speak_for_one_front_and_against_the_other():
    """With balls for feet and knees that bend both ways, names and the base's x are all that tells."""
    skeleton = Skeleton(CASES["point feet"].make())
    legs = [limb for limb in limbs_of(skeleton, trunk_of(skeleton)) if "leg" in limb.joints[0]]
    soles = [Patch("point", -Z_AXIS, np.zeros((1, 3)), "test")] * 2
    for way in (1.0, -1.0):
        found = {
            argument.what: argument.weight
            for argument in evidence(np.array([way, 0.0, 0.0]), legs, soles, np.eye(3)[0])
        }
        assert found == {"x axis of the base": way * BASE, "names of the sides": way * SIDES}


def test_legs_of_a_spider_are_counted_from_the_front():
    body = eq.Body.of(CASES["eight legs"].make(), search=False)
    assert list(body.feet) == [f"{side} {k}. foot" for k in (1, 2, 3, 4) for side in ("left", "right")]


def test_letters_that_differ_tell_the_side():
    assert names.side(["ll_knee"], ["lr_knee"]) == 1 and names.side(["lr_knee"], ["ll_knee"]) == -1
    assert names.side(["LR_hip"]) == 1  # alone it is the left rear
    assert names.side(["RL_calf"], ["RR_calf", "FL_calf"]) == 1
    assert names.swapped("all", "l", "r") == {"arl", "alr"}


@pytest.mark.parametrize("yaw", [0.6, 2.0])
def test_symmetry_is_found_in_a_base_that_stands_askew(yaw):
    """Neither x nor y is across the robot: the directions between like limbs are tried."""
    R = np.array([[np.cos(yaw), -np.sin(yaw), 0.0], [np.sin(yaw), np.cos(yaw), 0.0], [0.0, 0.0, 1.0]])
    skeleton = Skeleton(biped().build(), R)
    found = symmetry_of(limbs_of(skeleton, trunk_of(skeleton)))
    assert_allclose(np.abs(found.normal @ R[:, 1]), 1.0, atol=1e-6)
    assert found.score > 0.99


def test_legs_of_a_folded_zero_posture_stand_below_the_hips():
    body = eq.Body.of(CASES["a folded zero posture"].make(), search=False)
    assert body.standing[2] > 0.7  # of 0.94 m when straight
    assert not [finding for finding in body.doubts if finding.what == "standing"]


def four_legs(**more):
    made = Maker().trunk(shapes=(s.box(0.8, 0.3, 0.2),))
    for name, x, y in (("fl", 0.4, 0.1), ("fr", 0.4, -0.1), ("hl", -0.4, 0.1), ("hr", -0.4, -0.1)):
        made.chain(name, "trunk", [(X, (x, y, 0)), (Y, (0, 0, -0.05)), (Y, (0, 0, -0.3))], BALL)
    for name, (chain, mass) in more.items():
        made.chain(name, "trunk", chain, BALL, mass=mass)
    return eq.Body.of(made.build(), search=False)


NECK = [(Y, (0.45, 0, 0.15)), (Y, (0.1, 0, 0.2))]
TAIL = [(Y, (-0.45, 0, 0)), (Y, (-0.2, 0, -0.1))]


def test_a_tail_is_no_head():
    assert "head" not in four_legs(tail=(TAIL, 1.0)).parts
    assert four_legs(neck=(NECK, 0.5)).parts["head"].link.startswith("neck")
    both = four_legs(tail=(TAIL, 2.0), neck=(NECK, 0.5))  # the heavier one is behind and below
    assert both.parts["head"].link.startswith("neck")
    assert list(both.feet) == ["left front foot", "right front foot", "left hind foot", "right hind foot"]


@pytest.mark.parametrize("wrist", [False, True])
def test_the_side_of_a_forearm_is_no_palm_and_its_end_is_doubted(wrist):
    made = Maker().trunk()
    forearm, hand = (s.box(0.05, 0.07, 0.3, (0, 0, -0.15)),), (s.box(0.03, 0.08, 0.16, (0, 0, -0.08)),)
    for side, y in (("left", 0.25), ("right", -0.25)):
        made.chain(f"{side}_leg", "trunk", leg(0.0, 0.4 * y), SOLE)
        chain = [(Y, (0, y, 0.3)), (X, (0, 0, 0)), (Z, (0, 0, 0)), (Y, (0, 0, -0.3))]
        chain += [(X, (0, 0, -0.3))] if wrist else []
        made.chain(f"{side}_limb", "trunk", chain, hand if wrist else forearm)
    body = eq.Body.of(made.build(), search=False)
    doubts = [doubt for doubt in body.doubts if doubt.what == "palm of the left hand"]
    hand = body.hands["left hand"]
    if wrist:
        assert not doubts and hand.contact == "flat"
        return
    (doubt,) = doubts
    assert "without a wrist" in doubt.reason and "[parts.'left hand']" in doubt.reason
    assert hand.contact == "point"
    assert_allclose(hand.position, (0, 0, -0.3), atol=1e-6)  # where the forearm ends
    known = eq.Body.of(body.robot, f"[parts.'left hand']\nlink = '{hand.link}'\nposition = [0, 0, -0.3]\n")
    assert not [doubt for doubt in known.doubts if doubt.what == "palm of the left hand"]


@pytest.mark.parametrize("links", [3, 300])
def test_a_chain_whose_joints_all_lie_at_one_point(links):
    """Its limbs have no length that sizes could be judged by."""
    inertial = '<inertial><mass value="1"/><inertia ixx=".1" iyy=".1" izz=".1" ixy="0" ixz="0" iyz="0"/></inertial>'
    limit = '<axis xyz="0 1 0"/><limit lower="-1" upper="1" effort="10" velocity="1"/>'
    parts = [f'<link name="l{k}">{inertial}</link>' for k in range(links + 1)]
    parts += [
        f'<joint name="j{k}" type="revolute"><parent link="l{k}"/><child link="l{k + 1}"/>{limit}</joint>'
        for k in range(links)
    ]
    robot = eq.load(f'<robot name="coiled">{"".join(parts)}</robot>', floating=True)
    assert np.isfinite(eq.Body.of(robot).standing).all()
