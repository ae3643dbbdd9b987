"""Soles from shapes, against those that people measured."""

from __future__ import annotations

from dataclasses import replace

import legged as zoo
import numpy as np
import pytest
import variants
from numpy.testing import assert_allclose

import equipoise as eq
from equipoise.body.grounding import foot_points
from equipoise.body.patches import four_corners
from equipoise.model.assemble import assemble, reassemble
from equipoise.model.posture import link_poses
from equipoise.model.types import Shape
from equipoise.simulate.trials import IMPULSE, SIDES, push

X, Y = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)
LEG = [("roll", X, 0.0), ("hip", Y, 0.0), ("knee", Y, -0.4), ("ankle", Y, -0.4), ("foot", X, 0.0)]
KNOWN = ("human", "jvrc1", "talos", "g1")


def corners(robot, part):
    """(4, 3) in the body that carries the part, m."""
    X = robot.place(part.link)[1] @ part.X
    return part.points @ X[:3, :3].T + X[:3, 3]


@pytest.mark.parametrize("name", KNOWN)
@pytest.mark.parametrize("role", ["left foot", "right foot"])
def test_sole_corners_are_within_five_millimetres_of_the_known_ones(name, role):
    found, known = zoo.body(name), eq.Body.of(zoo.robot(name))
    assert known.feet[role].corners != found.feet[role].corners or name == "g1"  # the known ones are not the found ones
    assert found.feet[role].contact == "flat"
    off = np.linalg.norm(corners(found.robot, found.feet[role]) - corners(known.robot, known.feet[role]), axis=1)
    assert (off < 5e-3).all(), off


@pytest.mark.parametrize("name", ["a1", "go2", "solo12", "anymal_c", "hyq", "bolt", "quadruped"])
def test_round_feet_are_points(name):
    assert {part.contact for part in zoo.body(name).feet.values()} == {"point"}


def foot(builder, shapes):
    """A biped with straight legs of two joints and an ankle, and feet of given shapes."""
    from equipoise.model import shapes as s

    builder.link("pelvis", mass=10.0, shapes=[s.box(0.2, 0.3, 0.2, (0, 0, 0.1))])
    for side, y in (("left", 0.1), ("right", -0.1)):
        parent = "pelvis"
        for name, axis, z in LEG:
            link = f"{side}_{name}"
            builder.link(
                link, mass=1.0, com=(0, 0, 0), inertia=(0.01, 0.01, 0.01), shapes=shapes if name == "foot" else []
            )
            place = (0.0, y, 0.0) if parent == "pelvis" else (0.0, 0.0, z)
            builder.joint(f"{link}_joint", "revolute", parent, link, axis=axis, position=place, lower=-1.5, upper=2.0)
            parent = link
    return builder


def built(shapes):
    builder = eq.RobotBuilder("biped", floating=True)
    return eq.Body.of(foot(builder, shapes).build(), search=False)


def shapes_of(kind):
    from equipoise.model import shapes as s

    half = np.pi / 2
    return {
        "box": [s.box(0.2, 0.1, 0.04, (0.05, 0, -0.06))],
        "cylinder": [s.cylinder(0.07, 0.04, (0.0, 0, -0.06))],
        "spheres": [s.sphere(0.01, (x, y, -0.07)) for x in (-0.05, 0.15) for y in (-0.05, 0.05)],
        "capsules": [s.capsule(0.02, 0.2, (0.05, y, -0.06), (0, half, 0)) for y in (-0.05, 0.05)],
        "capsule": [s.capsule(0.02, 0.2, (0.05, 0, -0.06), (0, half, 0))],
        "ball": [s.sphere(0.03, (0, 0, -0.05))],
        "tilted": [s.box(0.2, 0.1, 0.04, (0.05, 0, -0.06), (0, 0.2, 0))],
    }[kind]


@pytest.mark.parametrize(
    "kind, contact, extent",
    [
        ("box", "flat", (-0.05, 0.15, 0.05)),
        ("spheres", "flat", (-0.05, 0.15, 0.05)),
        ("capsules", "flat", (-0.05, 0.15, 0.05)),
        ("cylinder", "flat", (-0.07, 0.07, 0.07)),
        ("capsule", "line", (-0.05, 0.15, 0.0)),
    ],
)
def test_flats_of_shapes(kind, contact, extent):
    body = built(shapes_of(kind))
    for part in body.feet.values():
        assert part.contact == contact
        found = corners(body.robot, part)
        low, high, side = extent
        slack = 0.025 if kind == "cylinder" else 1e-5  # a square in a disc
        assert_allclose([found[:, 0].min(), found[:, 0].max()], [low, high], atol=slack)
        assert_allclose([-found[:, 1].min(), found[:, 1].max()], [side, side], atol=slack)
        assert_allclose(found[:, 2], -0.08, atol=1e-5)


def test_a_ball_touches_where_it_is_lowest_in_the_standing_posture():
    body = built(shapes_of("ball"))
    for role, part in body.feet.items():
        assert part.contact == "point"
        assert_allclose(np.linalg.norm(corners(body.robot, part) - [0, 0, -0.05]), 0.03, atol=1e-6)
        X = body.robot.pose(body.standing, part.link)
        assert_allclose(X[2, :3] @ [0, 0, -0.05] + X[2, 3], 0.03, atol=1e-4)  # its centre is a radius above the ground
        assert_allclose(body.robot.pose(body.standing, role)[2, 3], 0.0, atol=1e-9)


def test_a_tilted_sole_is_set_flat_on_the_ground():
    body = built(shapes_of("tilted"))
    for role in body.feet:
        X = body.robot.pose(body.standing, role)
        assert_allclose(X[:3, 2], [0, 0, 1], atol=1e-3)
        assert_allclose(X[2, 3], 0.0, atol=1e-3)
        ankle = body.robot.joints[f"{role.split()[0]}_ankle_joint"]
        hip, knee = (body.robot.joints[f"{role.split()[0]}_{n}_joint"] for n in ("hip", "knee"))
        total = sum(body.standing[j.q.start] for j in (hip, knee, ankle))
        assert_allclose(total, -0.2, atol=0.01)


def test_four_corners_lie_in_the_polygon_unless_it_is_nearly_a_rectangle():
    angles = np.linspace(0, 2 * np.pi, 40, endpoint=False)
    disc = 0.1 * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    assert_allclose(np.linalg.norm(four_corners(disc), axis=1), 0.1, atol=1e-12)
    slanted = np.array([(0.08, 0.05), (-0.1, 0.05), (-0.1, -0.05), (0.1, -0.05)])
    assert_allclose(four_corners(slanted), [(0.1, 0.05), (-0.1, 0.05), (-0.1, -0.05), (0.1, -0.05)])


@pytest.mark.parametrize("name", ["go2", "solo12", "icub", "g1", "jvrc1"])
def test_the_posture_of_the_description_rests_on_the_same_shapes(name):
    """`robot.standing()` puts the lowest point of boxes and meshes alike on the ground."""
    from equipoise.body.patches import Surfaces
    from equipoise.model.skeleton import Skeleton

    robot = zoo.robot(name)
    skeleton = Skeleton(robot)
    motion, surfaces = skeleton.at(robot.standing()), Surfaces(skeleton)
    lowest = min(motion.p[i][2] - surfaces.extent(i, -motion.R[i].T @ [0, 0, 1]) for i in range(skeleton.count))
    assert_allclose(lowest, 0.0, atol=1e-3)


def test_a_robot_that_is_only_drawn_stands_on_what_is_drawn():
    """`standing()` too: on its feet, not on the knees, where the lowest link frames are."""
    drawn = variants.without_collisions(eq.load("quadruped"))
    assert not any(link.collisions for link in drawn.model.links.values())
    placed = link_poses(drawn.model, drawn.standing())
    shapes = [(placed[name] @ shape.X, shape) for name, link in drawn.model.links.items() for shape in link.visuals]
    lowest = min(pose[2, 3] - shape.size[0] for pose, shape in shapes if shape.kind == "sphere")
    assert lowest == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize(("width", "kind"), [(0.030, "flat"), (0.020, "flat"), (0.004, "line")])
@pytest.mark.parametrize("height", [1.75, 1.95])
def test_a_narrow_box_is_a_sole_whatever_the_length_of_the_leg(height, width, kind):
    robot = with_feet(eq.load("human", height=height), 0.28, width)
    body = eq.Body.of(robot)
    assert {part.contact for part in body.feet.values()} == {kind}
    (said,) = (finding.value for finding in body.findings if finding.what == "sole of the left foot")
    assert said == ("line, 280 mm" if kind == "line" else f"flat, 280 × {width * 1e3:.0f} mm")
    if kind == "line":
        with pytest.raises(eq.BodyError, match=r"left foot \(line\).*narrower than a twentieth of its length"):
            eq.Walking(robot, body)
        return
    assert_allclose(np.ptp(body.feet["left foot"].corners, axis=0), [0.28, width], atol=1e-5)


def with_feet(robot, length, width):
    """The robot with boxes for feet."""
    X = np.eye(4)
    X[2, 3] = 0.02
    links = [
        replace(link, collisions=(Shape("box", (length, width, 0.04), X),)) if link.name.endswith("_foot") else link
        for link in robot.model.links.values()
    ]
    return eq.Robot.from_model(
        assemble("narrow", links, list(robot.model.joints.values()), gravity=robot.model.gravity)
    )


def narrow(hips, width):
    """A human of 1.83 m whose hips and soles are narrow."""
    robot = with_feet(eq.load("human", height=1.83), 0.28, width)

    def change(joint):
        X = joint.origin.copy()
        X[1, 3] = np.sign(X[1, 3]) * hips
        return replace(joint, origin=X) if joint.parent == "pelvis" and abs(joint.origin[1, 3]) > 0.01 else joint

    return eq.Robot.from_model(reassemble(robot.model, change))


def test_narrow_hips_stand_with_their_feet_apart():
    """A push of 0.05 m √(g h) moves the capture point by 0.05 h: the outer edges of the soles are beyond it."""
    body = eq.Body.of(narrow(0.035, 0.03))
    y = foot_points(body)[:, 1]
    assert min(y.max(), -y.min()) > 1.5 * IMPULSE * body.height
    assert not [doubt for doubt in body.doubts if doubt.what == "standing"]


@pytest.mark.slow
def test_narrow_hips_take_a_push_from_the_side():
    robot = narrow(0.035, 0.03)
    standing = eq.Standing(robot, eq.Body.of(robot))
    trial = push(standing, "left", SIDES["left"])
    assert trial.good, trial.came
