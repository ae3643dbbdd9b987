"""Contacts of a robot with itself: how deep, which links, and what does not count."""

from __future__ import annotations

import numpy as np
import pytest
from support import load

import equipoise as eq
from bench.self_contact import SelfContacts
from equipoise.model.shapes import sphere
from equipoise.model.types import Shape
from equipoise.simulate.mujoco_plant import MujocoPlant

pytest.importorskip("mujoco")
R, S = 0.1, 0.05  # m, radii of two balls
OBJ = "v 0 0 0\nv 0.2 0 0\nv 0 0.2 0\nv 0 0 0.2\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"


def slider(*shapes, name: str = "bob") -> eq.Robot:
    """A ball, and on two rails after each other something that slides towards it along x."""
    made = eq.RobotBuilder("slider").link("ball", mass=1.0, inertia=(0.1,) * 3, shapes=[sphere(R)])
    made = made.link("carriage", mass=1.0, inertia=(0.1,) * 3).link(name, mass=1.0, inertia=(0.1,) * 3, shapes=shapes)
    made = made.joint("rail", "prismatic", "ball", "carriage", axis=(1.0, 0.0, 0.0), position=(0.5, 0.0, 0.0))
    return made.joint("slide", "prismatic", "carriage", name, axis=(1.0, 0.0, 0.0)).build()


def at(robot: eq.Robot, *places: float) -> np.ndarray:
    """Postures with the slider so far from the ball's middle, (n, nq)."""
    q = np.repeat(robot.neutral()[None], len(places), axis=0)
    q[:, robot.joints["slide"].q] = np.array(places)[:, None] - 0.5
    return q


def test_balls_are_in_each_other_by_their_radii_less_their_distance():
    robot = slider(sphere(S))
    judge = SelfContacts(robot, robot.neutral())
    found = judge.deepest(at(robot, 0.4, 0.14, 0.11, 0.13, 0.2))
    assert judge.shapes == 2 and set(found.links) == {"ball", "bob"} and found.posture == 2
    assert found.depth == pytest.approx(R + S - 0.11, abs=1e-9)
    assert judge.deepest(at(robot, 0.4, 0.2, 0.151)) is None


def test_what_touches_where_the_robot_stands_says_nothing():
    robot = slider(sphere(S))
    assert SelfContacts(robot, at(robot, 0.12)[0]).deepest(at(robot, 0.11, 0.05)) is None


def test_meshes_count_as_their_hulls_and_missing_ones_do_not(tmp_path):
    """A corner of a tetrahedron whose other three are 0.2 m on: x from the middle of the ball on."""
    (tmp_path / "corner.obj").write_text(OBJ)
    there, gone = (Shape("mesh", (1.0, 1.0, 1.0), mesh=str(tmp_path / name)) for name in ("corner.obj", "gone.obj"))
    robot = slider(there)
    judge = SelfContacts(robot, robot.neutral())
    assert judge.deepest(at(robot, 0.08)).depth == pytest.approx(0.02, abs=1e-6)
    assert judge.deepest(at(robot, 0.101)) is None
    without = slider(gone)
    assert SelfContacts(without, without.neutral()).shapes == 1


def test_of_two_links_the_deepest_of_their_contacts_counts():
    """Of two balls on the one, in either order."""
    balls = [sphere(S), sphere(S, (0.02, 0.0, 0.0))]
    for shapes in (balls, balls[::-1]):
        robot = slider(*shapes)
        assert SelfContacts(robot, robot.neutral()).deepest(at(robot, 0.11)).depth == pytest.approx(R + S - 0.11)


def test_a_link_keeps_its_name():
    """Some descriptions have them by folders, as in "arm/bob"."""
    robot = slider(sphere(S), name="arm/bob")
    assert set(SelfContacts(robot, robot.neutral()).deepest(at(robot, 0.11)).links) == {"ball", "arm/bob"}


def test_meshes_are_as_large_as_they_are_scaled(tmp_path):
    """The corner of the tetrahedron that is ahead along x, from the other side: at 0.2 m by its file."""
    (tmp_path / "corner.obj").write_text(OBJ)
    robot = slider(Shape("mesh", (1.25, 1.0, 1.0), mesh=str(tmp_path / "corner.obj")))
    judge = SelfContacts(robot, robot.neutral())
    assert judge.deepest(at(robot, -0.3)).depth == pytest.approx(0.05, abs=1e-6)
    assert judge.deepest(at(robot, -0.351)) is None


def test_flat_meshes_have_no_hull(tmp_path):
    (tmp_path / "sheet.obj").write_text("v 0 0 0\nv 0.2 0 0\nv 0 0.2 0\nv 0.2 0.2 0\nf 1 2 3\nf 2 4 3\n")
    robot = slider(Shape("mesh", (1.0, 1.0, 1.0), mesh=str(tmp_path / "sheet.obj")))
    assert SelfContacts(robot, robot.neutral()).shapes == 1


@pytest.mark.parametrize(("collision", "shapes"), [("contacts", 0), ("links", 1), ("hulls", 2)])
def test_meshes_collide_as_hulls_only(tmp_path, collision, shapes):
    (tmp_path / "corner.obj").write_text(OBJ)
    robot = slider(Shape("mesh", (1.0, 1.0, 1.0), mesh=str(tmp_path / "corner.obj")))
    plant = MujocoPlant(robot, ground=None, collision=collision)
    plant.prepare(1e-3)
    assert plant.model.ngeom == shapes


def test_a_robot_without_shapes_touches_nothing():
    bare = eq.RobotBuilder("bare").link("only", mass=1.0, inertia=(0.1,) * 3).build()
    judge = SelfContacts(bare, bare.neutral())
    assert judge.shapes == 0 and judge.deepest(bare.neutral()[None]) is None


def test_an_arm_in_the_body_is_found():
    """Of the human that stands: its left arm turned inwards, past the thigh, by 0.35 rad."""
    human = load("human")
    q = human.standing()
    judge = SelfContacts(human, q)
    inwards = q.copy()
    inwards[human.joints["left_shoulder_roll"].q] -= 0.35
    assert judge.deepest(q[None]) is None
    found = judge.deepest(np.array([q, inwards]))
    assert found.posture == 1 and found.links == ("left_forearm", "pelvis") and 0.02 < found.depth < 0.1
