"""What is drawn around the robot: support polygon, forces and cones, obstacles."""

from __future__ import annotations

import numpy as np
import pytest
import samples

import equipoise as eq
from equipoise.show.contact_marks import (
    centre_of_pressure,
    cone,
    normals_in_world,
    point_forces,
    support_polygon,
    support_region,
)
from equipoise.show.moments import Moment, capture_point, com_velocity, picture
from equipoise.show.obstacles import Obstacle
from equipoise.simulate.contacts import ContactInfo


def drawn(q, wrenches):
    return picture(samples.human(), Moment(0.0, q, wrenches), samples.contacts())


def test_centre_of_mass_is_the_robots(rng):
    robot = samples.human()
    for _ in range(3):
        q, _ = robot.random_state(rng)
        q[:3] = rng.normal(size=3)
        assert drawn(q, {}).com == pytest.approx(robot.com(q), abs=1e-12)


def test_the_velocity_of_the_centre_of_mass_is_the_robots(rng):
    robot = samples.human()
    q, v = robot.random_state(rng)
    assert com_velocity(robot, q, v) == pytest.approx(robot.com_jacobian(q) @ v, abs=1e-3)


def test_polygon_is_the_hull_of_both_soles_and_holds_the_point_below_the_centre_of_mass():
    q = samples.bent(0.3)
    shown = drawn(q, {foot: np.array([0, 0, 300.0, 0, 0, 0]) for foot in samples.FEET})
    corners = np.array(
        [samples.human().pose(q, f"{foot}_corner_{k}")[:3, 3] for foot in samples.FEET for k in range(4)]
    )
    x, y = shown.polygon[:, :2].T
    area = 0.5 * np.sum(x * np.roll(y, -1) - np.roll(x, -1) * y)  # positive: counter-clockwise
    # soles side by side make a rectangle
    assert area == pytest.approx(np.prod(np.ptp(corners[:, :2], axis=0)), rel=1e-9)
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
    rim = lines[-24:, 0] - apex
    along = rim @ n
    assert along == pytest.approx(np.full(24, 0.2), abs=1e-12)
    assert np.linalg.norm(rim - np.outer(along, n), axis=1) == pytest.approx(0.5 * along, abs=1e-12)
    assert lines[:12, 0] == pytest.approx(np.tile(apex, (12, 1)))


def test_pressure_on_the_points_has_the_force_and_the_moments_of_the_wrench():
    sole = np.array([[0.5, 0.25, 0.0], [0.3, 0.25, 0.0], [0.3, 0.15, 0.0], [0.5, 0.15, 0.0]])
    n, origin, at = np.array([0.0, 0.0, 1.0]), np.array([0.4, 0.2, 0.1]), np.array([0.43, 0.19, 0.0])
    force = np.array([30.0, -20.0, 400.0])
    shares = point_forces(sole, n, np.concatenate([force, np.cross(at - origin, force)]), origin)
    assert shares.min() > 0 and shares.sum() == pytest.approx(400.0, rel=1e-12)
    assert shares @ sole / 400.0 == pytest.approx(at, abs=1e-12)  # the centre of pressure
    edge = np.concatenate([force, np.cross([0.12, 0.0, -0.1], force)])  # beyond the toes
    assert point_forces(sole, n, edge, origin)[[1, 2]] == pytest.approx([0.0, 0.0])
    assert point_forces(sole, n, -edge, origin) == pytest.approx(np.zeros(4))  # it pulls


def test_a_hand_on_a_table_widens_the_region_of_support():
    feet = [np.array([[0.1, y, 0.0], [-0.1, y, 0.0], [-0.1, -y, 0.0], [0.1, -y, 0.0]]) for y in (0.15,)]
    hand = np.array([[0.6, 0.2, 0.8], [0.55, 0.2, 0.8], [0.55, 0.15, 0.8], [0.6, 0.15, 0.8]])
    up = np.array([0.0, 0.0, 1.0])
    alone = support_region(feet, [up], [0.5], 0.0)
    both = support_region([*feet, hand], [up, up], [0.5, 0.5], 0.0)
    assert alone[:, 0].max() == pytest.approx(0.1, abs=1e-9)
    assert both[:, 0].max() > 0.4  # far beyond the soles
    slipping = support_region([*feet, hand], [up, up], [0.5, 1e-3], 0.0)
    assert slipping[:, 0].max() == pytest.approx(0.6, abs=0.02)  # without friction, between the feet and the hand
    assert support_region([], [], [], 0.0).shape == (0, 3)


def test_the_capture_point_leads_the_centre_of_mass():
    """ξ − c = ċ / ω with ω² = g / h; at rest it is below the centre of mass."""
    com = np.array([0.1, -0.2, 1.1])
    ahead = capture_point(com, np.array([0.5, 0.2, -3.0]), 0.1, 9.81)
    assert ahead == pytest.approx([0.1 + 0.5 / np.sqrt(9.81), -0.2 + 0.2 / np.sqrt(9.81), 0.1])
    assert capture_point(com, np.zeros(3), 0.1, 9.81) == pytest.approx([0.1, -0.2, 0.1])
    assert capture_point(com, None, 0.1, 9.81) is None


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
        eq.Point((0, 0, 1)), eq.Line((0, 0, 1), (1, 0, 0)), eq.Segment((0, 0, 0), (1, 0, 0)),
        eq.Segment((0, 0, 0), (0, 0, 0)),
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
    assert obstacle.pose(0.0, shown.poses, robot)[:3, 3] == pytest.approx(
        (robot.pose(q, "left_hand") @ [0.1, 0, 0, 1])[:3]
    )
