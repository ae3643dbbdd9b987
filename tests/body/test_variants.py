"""Robots that nobody has seen: known ones made strange. Feet, sides and front stay, and each has a posture that
stands."""

from __future__ import annotations

import legged as zoo
import numpy as np
import pytest
import variants
from numpy.testing import assert_allclose

import equipoise as eq
from equipoise.algebra.rigid import rotation_about
from equipoise.model.skeleton import Skeleton

X, Z = np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.0, 1.0])
BASES = {
    "as it is": np.eye(3),
    "facing −x": rotation_about(Z, np.pi),
    "facing y": rotation_about(Z, np.pi / 2),
    "y up": rotation_about(X, -np.pi / 2),
}


def some(quick, slow):
    """Robots of the usual suite, and those of the long one."""
    return [*quick, *(pytest.param(*(x if isinstance(x, tuple) else (x,)), marks=pytest.mark.slow) for x in slow)]


def found(robot):
    return eq.Body.of(robot, search=False)


def stands(body, *, sure=True):
    """Soles on the ground, the centre of mass above them, nothing doubted about it."""
    assert sure == (not [finding for finding in body.doubts if finding.what == "standing"])
    skeleton = Skeleton(body.robot)
    motion = skeleton.at(body.standing)
    points = []
    for role, part in body.feet.items():
        i, X_F = body.robot.place(body.frames[role])
        points.append(motion.p[i] + (part.points @ X_F[:3, :3].T + X_F[:3, 3]) @ motion.R[i].T)
    points = np.concatenate(points)
    assert_allclose(points[:, 2], 0.0, atol=4e-3 * max(1.0, body.height))
    c = skeleton.centre_of_mass(motion)[0]
    assert points[:, 0].min() < c[0] < points[:, 0].max() and points[:, 1].min() < c[1] < points[:, 1].max()


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("name", some(["go2"], ["talos", "g1", "icub", "anymal_c"]))
def test_frames_of_links_say_nothing(name, base, rng):
    """All link frames turned at random; the front turns with the base, up as well where the legs show it."""
    known, robot = zoo.ALL[name], zoo.robot(name)
    body = found(variants.reframed(robot, rng, BASES[base]))
    assert {role: part.link for role, part in body.feet.items()} == known.feet
    assert_allclose(body.front, BASES[base].T @ known.front, atol=1e-6)
    assert_allclose(body.up, BASES[base].T @ Z, atol=1e-6)
    assert {part.contact for part in body.feet.values()} == {part.contact for part in zoo.body(name).feet.values()}
    stands(body)


@pytest.mark.parametrize(
    ("name", "size"), some([("g1", 0.4), ("go2", 0.5)], [("human", 0.3), ("talos", 1.25), ("hyq", 1.3)])
)
def test_size_says_nothing(name, size):
    """From 2 to 185 kg: postures are the same, gains go with √(g / h)."""
    robot, known = zoo.robot(name), zoo.ALL[name]
    body, usual = found(variants.scaled(robot, size)), zoo.body(name)
    assert {role: part.link for role, part in body.feet.items()} == known.feet
    assert_allclose(body.robot.mass, size**3 * robot.mass, rtol=1e-9)
    assert_allclose(body.height, size * usual.height, rtol=0.1)  # weights of lengths and angles do not scale
    assert_allclose(body.gains.rate, usual.gains.rate / np.sqrt(size), rtol=0.05)
    stands(body)


@pytest.mark.parametrize("name", some(["jvrc1", "solo12"], ["g1", "talos", "anymal_c", "hyq"]))
def test_names_frames_and_size_together_say_nothing(name, rng):
    robot, known = zoo.robot(name), zoo.ALL[name]
    robot, links = variants.renamed(variants.reframed(variants.scaled(robot, 0.7), rng, np.eye(3)))
    body = found(robot)
    assert sorted(part.link for part in body.feet.values()) == sorted(links[link] for link in known.feet.values())
    stands(body)


@pytest.mark.parametrize("name", some(["talos"], ["g1", "icub"]))
def test_an_ankle_without_roll_stands(name):
    """The last joint of both legs locked: soles can still be flat, as the hips roll.

    Both soles of the iCub's description lie 30 mm to the right of their ankles. Without ankles that roll its centre of
    mass stays 14 mm beside their middle, and it is reported.
    """
    robot = zoo.robot(name)
    ankles = [part.joints[-1] for part in zoo.body(name).feet.values()]
    body = found(robot.with_locked(dict.fromkeys(ankles, 0.0)))
    assert len(body.feet) == 2 and {part.contact for part in body.feet.values()} == {"flat"}
    assert_allclose(body.front, zoo.ALL[name].front, atol=1e-6)
    stands(body, sure=name != "icub")


@pytest.mark.parametrize("name", some([], ["g1", "icub", "talos"]))
def test_soles_come_from_what_is_drawn_where_there_are_no_collision_shapes(name):
    body, usual = found(variants.without_collisions(zoo.robot(name))), zoo.body(name)
    assert {role: part.link for role, part in body.feet.items()} == zoo.ALL[name].feet
    for role, part in body.feet.items():
        assert_allclose(np.ptp(part.corners, axis=0), np.ptp(usual.feet[role].corners, axis=0), rtol=0.3)
    stands(body)


@pytest.mark.parametrize("which", ["all", "hind"])
def test_knees_of_quadrupeds_may_bend_either_way(which):
    """Those of Go2 bend back; turned, all or the hind ones bend forward, as on mammals and on spiders."""
    robot = zoo.robot("go2")
    knees = [name for name in robot.joints if "calf" in name and (which == "all" or name.startswith("R"))]
    assert len(knees) in (2, 4)
    body = found(variants.turned_knees(robot, knees, 0.0))
    assert {role: part.link for role, part in body.feet.items()} == zoo.ALL["go2"].feet
    assert all(body.standing[body.robot.joints[name].q][0] > 0.5 for name in knees)
    stands(body)
