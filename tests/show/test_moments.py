"""What is drawn around the robot: support polygon, forces and cones, obstacles."""

from __future__ import annotations

import numpy as np
import pytest
import samples

import equipoise as eq
from equipoise.show.moments import (
    Moment,
    Obstacle,
    centre_of_pressure,
    cone,
    normals_in_world,
    picture,
    support_polygon,
)  # fmt: skip
from equipoise.simulate.contacts import ContactInfo


def drawn(q, wrenches):
    return picture(samples.human(), Moment(0.0, q, wrenches), samples.contacts())


def test_centre_of_mass_is_the_robots(rng):
    robot = samples.human()
    for _ in range(3):
        q, _ = robot.random_state(rng)
        q[:3] = rng.normal(size=3)
        assert drawn(q, {}).com == pytest.approx(robot.com(q), abs=1e-12)


def test_polygon_is_the_hull_of_both_soles_and_holds_the_point_below_the_centre_of_mass():
    q = samples.bent(0.3)
    shown = drawn(q, {foot: np.array([0, 0, 300.0, 0, 0, 0]) for foot in samples.FEET})
    corners = np.array([samples.human().pose(q, f"{foot}_corner_{k}")[:3, 3] for foot in samples.FEET for k in range(4)])
    x, y = shown.polygon[:, :2].T
    area = 0.5 * np.sum(x * np.roll(y, -1) - np.roll(x, -1) * y)  # positive: counter-clockwise
    assert area == pytest.approx(np.prod(np.ptp(corners[:, :2], axis=0)), rel=1e-9)  # soles side by side make a rectangle
    assert shown.ground == pytest.approx([*shown.com[:2], corners[:, 2].min()], abs=1e-9)


def test_contacts_out_of_the_set_are_not_drawn():
    F = np.array([0, 0, 300.0, 0, 0, 0])
    one = drawn(samples.bent(0.0), {"left_foot": F, "right_foot": np.full(6, np.nan)})
    assert len(one.forces) == 1
    assert len(one.polygon) == 4
    none = drawn(samples.bent(0.0), {})
    assert none.forces.shape == (0, 2, 3)
    assert none.polygon.shape == (0, 3)


def test_polygon_of_a_line_or_a_point():
    line = support_polygon([np.array([[0.0, 0, 0], [1, 1, 0], [0.5, 0.5, 0]])], 0.1)
    assert sorted(line.tolist()) == [[0, 0, 0.1], [1, 1, 0.1]]
    assert support_polygon([np.zeros((1, 3))], 0.0).tolist() == [[0, 0, 0]]


def test_the_force_acts_where_it_tilts_nothing(rng):
    """Law: about the centre of pressure the torque is along the normal."""
    contact = samples.contacts()["left_foot"]
    X = np.eye(4)
    X[:3, 3] = 0.3, 0.2, 0.1
    n = np.array([0.0, 0.0, 1.0])
    at = X[:3, 3] + contact.points.mean(axis=0) + [0.03, -0.02, 0.0]
    force = np.array([20.0, -10.0, 250.0])
    wrench = np.concatenate([force, np.cross(at - X[:3, 3], force) + 3.0 * n])
    p = centre_of_pressure(X, contact, n, wrench)
    left = wrench[3:] - np.cross(p - X[:3, 3], force)
    assert np.cross(n, left) == pytest.approx(np.zeros(3), abs=1e-9)
    assert p == pytest.approx(at, abs=1e-9)


def test_a_force_at_the_limit_of_friction_lies_on_the_cone():
    apex, n = np.array([0.1, 0.2, 0.3]), np.array([0.6, 0.0, 0.8])
    lines = cone(apex, n, 0.5, 0.2)
    rim = lines[-16:, 0] - apex
    along = rim @ n
    assert along == pytest.approx(np.full(16, 0.2), abs=1e-12)
    assert np.linalg.norm(rim - np.outer(along, n), axis=1) == pytest.approx(0.5 * along, abs=1e-12)
    assert lines[:8, 0] == pytest.approx(np.tile(apex, (8, 1)))


def test_normals_point_into_the_robot():
    X = np.stack([np.eye(4), np.diag([1.0, -1.0, -1.0, 1.0])])  # the second stands on its head
    com = np.array([0.0, 0.0, 1.0])
    sole = samples.contacts()["left_foot"]
    assert normals_in_world(X, sole, com) == pytest.approx(np.array([[0, 0, 1.0], [0, 0, 1.0]]), abs=1e-12)
    ball = ContactInfo("left_foot", np.zeros((1, 3)), 0.5)
    assert normals_in_world(X, ball, com).tolist() == [[0, 0, 1], [0, 0, 1]]
    from equipoise.control.contacts import FlatContact, PointContact

    flat = FlatContact("left_foot", normal=(0.0, 1.0, 0.0))
    assert normals_in_world(X, flat, com)[1] == pytest.approx([0, -1, 0])  # in the frame's axes
    wall = PointContact("left_hand", normal=(-2.0, 0.0, 0.0))
    assert normals_in_world(X, wall, com)[1] == pytest.approx([-1, 0, 0])  # in the world's


def test_obstacles_move_and_wear_their_safe_distance():
    ball = Obstacle.of((eq.Sphere((1.0, 0.0, 0.5), 0.1, velocity=(0.0, 0.5, 0.0)), 0.05))
    solid, halo = ball.surfaces()
    reach = [np.linalg.norm(s.vertices, axis=1).max() for s in (solid, halo)]
    assert reach == pytest.approx([0.1, 0.15], abs=1e-12)
    assert ball.pose(2.0, {}, samples.human())[:3, 3] == pytest.approx([1.0, 1.0, 0.5])
    bar = Obstacle.of(eq.Capsule((0, 0, 0), (0, 0, 1), 0.05, velocity=(0, 0, 0, 0, np.pi / 2, 0)))
    assert bar.pose(1.0, {}, samples.human())[:3, :3] @ [0, 0, 1] == pytest.approx([1, 0, 0], abs=1e-12)
    with pytest.raises(eq.EquipoiseError, match="an obstacle is a primitive"):
        Obstacle.of("a ball")


@pytest.mark.parametrize(
    "thing",
    [
        eq.Point((0, 0, 1)), eq.Line((0, 0, 1), (1, 0, 0)), eq.Segment((0, 0, 0), (1, 0, 0)), eq.Segment((0, 0, 0), (0, 0, 0)),
        eq.Plane((0, 1, 1), 0.3), eq.Sphere((0, 0, 1), 0.0), eq.Box((0.1, 0.2, 0.3), rpy=(0, 0, 0.5)),
    ],
    ids=lambda thing: type(thing).__name__,
)  # fmt: skip
def test_everything_that_can_be_an_obstacle_can_be_drawn(thing):
    surfaces = Obstacle(thing, 0.1).surfaces()
    assert len(surfaces) == 2
    assert all(np.isfinite(s.vertices).all() and len(s.faces) for s in surfaces)


def test_an_obstacle_on_a_frame_goes_with_it():
    robot, q = samples.human(), samples.bent(0.5)
    shown = drawn(q, {})
    obstacle = Obstacle(eq.Sphere((0.1, 0, 0), 0.05, frame="left_hand"))
    assert obstacle.pose(0.0, shown.poses, robot)[:3, 3] == pytest.approx((robot.pose(q, "left_hand") @ [0.1, 0, 0, 1])[:3])
