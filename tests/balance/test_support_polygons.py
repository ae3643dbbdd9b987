"""Support polygons against SciPy and brute force, areas against differences and the thesis, balance against other
programs."""

from __future__ import annotations

import numpy as np
import pytest
import support as shared
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import nnls
from scipy.spatial import ConvexHull

import equipoise as eq
from equipoise.balance import (
    SupportPolygon,
    area_gradient,
    centre_of_pressure,
    four_point_area,
    moment_free_point,
    polygon_area,
    static_region,
    support_area,
    support_dynamics,
    support_polygon,
    zero_moment_point,
)

FEET = ["front_left_foot", "front_right_foot", "hind_left_foot", "hind_right_foot"]
SQUARE = np.array([[0.0, 0], [1, 0], [1, 1], [0, 1]])


def slope(f, h=1e-4):
    """Derivative of f at 0, to fourth order."""
    return (8 * (f(h) - f(-h)) - (f(2 * h) - f(-2 * h))) / (12 * h)


# --- the polygon ------------------------------------------------------------------------------------------------------


@pytest.mark.paper("Q7")
@pytest.mark.parametrize("count", [3, 4, 7, 20, 200])
def test_the_polygon_is_the_convex_hull_of_scipy(count, rng):
    points = rng.normal(size=(count, 2)) + np.array([100, -50])
    found, hull = support_polygon(np.c_[points, rng.normal(size=count)]), ConvexHull(points)
    assert set(found.indices) == set(hull.vertices)
    assert_allclose(found.vertices, points[found.indices], rtol=0)
    assert_allclose(found.area, hull.volume, rtol=1e-12)
    k = list(hull.vertices).index(found.indices[0])
    assert list(np.roll(hull.vertices, -k)) == list(found.indices)  # SciPy's are counter-clockwise too


@pytest.mark.paper("Q7")
@pytest.mark.parametrize("rounding", [1e-13, 1e-11, 1e-10, 1e-9, 1e-7])
def test_corners_on_one_line_but_for_rounding(rounding, rng):
    """Two soles side by side, as a standing robot has them: whatever the rounding, the hull is the rectangle around
    both."""
    soles = np.array([[x, y] for x in (-0.105, 0.145) for y in (-0.135, -0.04, 0.04, 0.135)])
    for _ in range(200):
        points = soles + rounding * rng.normal(size=soles.shape)
        found = support_polygon(points)
        # corners dropped lie within 1e-9 of an edge
        assert_allclose(found.area, 0.25 * 0.27, rtol=100 * rounding + 1e-8)
        assert found.margins(points).min() > -1e-9
    on_a_line = np.c_[np.linspace(0, 1, 6), np.linspace(0, 0.5, 6)] + 1e-13 * rng.normal(size=(6, 2))
    assert len(support_polygon(on_a_line).vertices) == 2


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(-3, 3), st.integers(-3, 3)), min_size=1, max_size=12))
def test_the_rows_hold_exactly_the_hull_on_a_grid(points):
    """Many duplicates and collinear points; membership by weights of the given points."""
    found = support_polygon(np.array(points, dtype=float))
    if len(found.vertices) > 2:
        edges = np.roll(found.vertices, -1, axis=0) - found.vertices
        after = np.roll(edges, -1, axis=0)
        # strictly convex: integers turn by 1 or more
        assert (edges[:, 0] * after[:, 1] - edges[:, 1] * after[:, 0] >= 1).all()
    A, b = found.rows
    assert_allclose(np.linalg.norm(A, axis=1), 1)
    for point in np.array([[x, y] for x in np.arange(-3, 3.5, 0.5) for y in np.arange(-3, 3.5, 1.5)]):
        inside = _in_hull(np.array(points, dtype=float), point)
        assert bool((A @ point <= b + 1e-9).all()) == inside == (point in found)


def _in_hull(points, point):
    """p = Σ w_i p_i with w ≥ 0, Σ w = 1, by non-negative least squares."""
    return nnls(np.c_[points, np.ones(len(points))].T, np.r_[point, 1.0])[1] < 1e-9


@pytest.mark.parametrize(
    ("points", "vertices"),
    [
        ([[1, 2]], 1),
        ([[1, 2], [1, 2], [1, 2]], 1),
        ([[0, 0], [1, 1]], 2),
        ([[0, 0], [2, 2], [1, 1], [0, 0]], 2),
        ([[0, 0], [1, 0], [0.5, 0], [0.5, 1], [0.5, 0.5]], 3),
        ([[0, 0], [1, 0], [1, 1e-13], [0, 1]], 3),  # twice the same corner, but for rounding
    ],
)
def test_degenerate_sets(points, vertices):
    found = support_polygon(points)
    assert len(found.vertices) == vertices
    assert found.area == 0 if vertices < 3 else found.area > 0
    assert found.vertices[0] in found
    inside = found.margin(found.vertices.mean(axis=0))
    assert abs(inside) < 1e-12 if vertices < 3 else inside > 0.1
    assert found.margin(found.vertices[0] + [9, 7]) < -1


def test_margins_are_distances_from_the_edges():
    found = support_polygon(SQUARE)
    assert_allclose(sorted(found.margins([0.25, 0.5, 9.0])), [0.25, 0.5, 0.5, 0.75])
    assert_allclose(found.margin([[0.25, 0.5], [1.5, 0.5]]), [0.25, -0.5])
    assert [2, 2] not in found and [0.5, 1] in found


def test_no_support_holds_nothing():
    nothing = SupportPolygon(np.empty((0, 2)), np.empty(0, int))
    assert nothing.area == 0 and nothing.margin([0, 0]) < 0 and [0, 0] not in nothing


# --- area -------------------------------------------------------------------------------------------------------------


@pytest.mark.paper("Q7")
def test_the_gradient_is_the_slope_of_the_area(rng):
    vertices, step = rng.normal(size=(5, 6, 2)), rng.normal(size=(5, 6, 2))
    change = slope(lambda h: polygon_area(vertices + h * step), 1e-2)
    assert_allclose(np.sum(area_gradient(vertices) * step, axis=(-2, -1)), change, atol=1e-12)


@pytest.mark.paper("Q7")
def test_the_four_points_of_the_thesis_are_a_special_case(rng):
    for _ in range(20):
        a, b, d = np.array([[0.0, 0], [0.3, 0], [0, 0.25]]) + 0.03 * rng.normal(size=(3, 2))
        c = np.array([0.5, 0.6]) + 0.1 * rng.normal(size=2)
        area, J = four_point_area(a, b, c, d)
        found = support_polygon([a, b, c, d])
        assert len(found.vertices) == 4
        assert_allclose(area, found.area, rtol=1e-12)
        assert_allclose(J, area_gradient(found.vertices)[list(found.indices).index(2)], atol=1e-12)
        assert_allclose(
            J,
            [
                slope(lambda h, e=e, p=(a, b, c, d): four_point_area(p[0], p[1], p[2] + h * e, p[3])[0])
                for e in np.eye(2)
            ],
            atol=1e-9,
        )


@pytest.mark.paper("Q7")
@pytest.mark.parametrize("fixed", [(), [[1.0, 0.3, 0.0], [-1.0, 0.2, 0.0]]])
def test_the_area_changes_as_its_jacobian_says(fixed, rng):
    robot = shared.load("quadruped")
    contacts = [*FEET[:3], ("hind_right_foot", (0.01, -0.02, 0.03)), "trunk"]
    q, v = robot.random_state(rng)
    a = rng.normal(size=robot.nv)
    now = support_area(robot, q, v, contacts, fixed)
    assert len(now.polygon.indices) >= 3 and now.value > 0.01

    def later(h):
        return support_area(robot, robot.integrate(q, v + a * h / 2, h), v + a * h, contacts, fixed)

    assert set(later(1e-3).polygon.indices) == set(now.polygon.indices)
    assert_allclose(now.rate(v), slope(lambda h: later(h).value), rtol=1e-7)
    assert_allclose(now.J @ a + now.J_dot_v, slope(lambda h: later(h).rate(v + a * h)), rtol=1e-6)


def test_an_area_without_extent_has_no_slope(rng):
    robot = shared.load("quadruped")
    q, v = robot.random_state(rng)
    for contacts in (FEET[:1], FEET[:2]):
        now = support_area(robot, q, v, contacts)
        assert now.value == 0 and not now.J.any()


# --- zero-moment point ------------------------------------------------------------------------------------------------


@pytest.mark.paper("Q7")
def test_at_rest_the_zero_moment_point_is_below_the_centre_of_mass():
    robot = shared.load("quadruped")
    q, zero = robot.standing(), np.zeros(robot.nv)
    assert_allclose(zero_moment_point(robot, q, zero, zero, height=0.1), [*robot.com(q)[:2], 0.1], atol=1e-12)


@pytest.mark.paper("Q7")
def test_the_zero_moment_point_is_the_centre_of_pressure(rng):
    """The contact forces come from the constrained dynamics, the zero-moment point from momentum alone."""
    robot = shared.load("quadruped")
    q = robot.standing()
    level = [robot.pose(q, foot)[2, 3] for foot in FEET]
    assert np.ptp(level) < 1e-9
    v = support_dynamics(robot, q, np.zeros(robot.nv), FEET).projector @ rng.normal(size=robot.nv)  # moves on its feet
    stand = support_dynamics(robot, q, v, FEET)
    torque = stand.inverse_dynamics(np.zeros(robot.nv)).torque + 0.5 * rng.normal(size=robot.nv - 6)
    forces = stand.contact_force(torque).reshape(4, 3)
    assert forces[:, 2].sum() > 0 and np.abs(v[:6]).min() > 1e-3
    found = zero_moment_point(robot, q, v, stand.acceleration(torque), height=level[0])
    assert_allclose(found, centre_of_pressure([robot.pose(q, foot)[:3, 3] for foot in FEET], forces), atol=1e-9)
    if (forces[:, 2] > 0).all():
        assert found in support_polygon([robot.pose(q, foot)[:3, 3] for foot in FEET])


def test_in_flight_there_is_no_zero_moment_point():
    robot = shared.load("quadruped")
    q, zero = robot.standing(), np.zeros(robot.nv)
    a = np.r_[robot.model.gravity, np.zeros(robot.nv - 3)]
    assert np.isnan(zero_moment_point(robot, q, zero, a)).all()
    assert np.isnan(centre_of_pressure([[0, 0, 0]], [[0, 0, -1.0]])).all()
    both = moment_free_point([[0, 0, 1.0], [0, 0, 1.0]], [[0, 0, -1.0], [1.0, 0, 2.0]], [[0, 0, 0], [0, 0, 0]])
    assert np.isnan(both[0]).all() and np.allclose(both[1], [-0.5, 0, 0])  # along the force to the ground


@pytest.mark.parametrize("batch", [(), (3,), (4, 1), (2, 3), (2, 1, 3)])
def test_batches_of_wrenches_and_points_are_each_alone(batch, rng):
    at, force, torque = rng.normal(size=(3, *batch, 3))
    force[..., 2] = np.where(rng.uniform(size=batch) < 0.3, -1.0, 1.0) * np.abs(force[..., 2])
    found = moment_free_point(at, force, torque, height=0.2)
    vertices = rng.normal(size=(*batch, 5, 2))
    area, gradient = polygon_area(vertices), area_gradient(vertices)
    assert found.shape == (*batch, 3) and np.shape(area) == batch and gradient.shape == (*batch, 5, 2)
    for k in np.ndindex(*batch):
        assert_allclose(found[k], moment_free_point(at[k], force[k], torque[k], height=0.2), rtol=1e-14)
        assert_allclose(np.asarray(area)[k], polygon_area(vertices[k]), rtol=1e-12, atol=1e-14)
        assert_allclose(gradient[k], area_gradient(vertices[k]), rtol=1e-14)


def test_zero_moment_points_of_a_batch_are_each_alone(rng):
    robot = shared.load("quadruped")
    states = [robot.random_state(rng) for _ in range(6)]
    q, v = (np.array([s[k] for s in states]).reshape(2, 3, -1) for k in (0, 1))
    a = rng.normal(size=(2, 3, robot.nv))
    found = zero_moment_point(robot, q, v, a)
    for k in np.ndindex(2, 3):
        assert_allclose(found[k], zero_moment_point(robot, q[k], v[k], a[k]), rtol=1e-9, atol=1e-12)


# --- static balance on any ground -------------------------------------------------------------------------------------


def balanced(points, normals, mu, c, sides=8, largest=None):
    """Whether forces in the pyramids hold a body of weight 1 with its centre of mass above c: by non-negative least
    squares, whose unknowns are the same forces and whose method is another one."""
    columns, slack = [], []
    for k, (p, n) in enumerate(zip(points, normals, strict=True)):
        helper = np.eye(3)[np.abs(n).argmin()]
        s = np.cross(n, helper) / np.linalg.norm(np.cross(n, helper))
        for angle in 2 * np.pi * np.arange(sides) / sides:
            f = n + mu * (np.cos(angle) * s + np.sin(angle) * np.cross(n, s))
            columns.append(np.r_[f, np.cross(p, f), np.eye(len(points))[k] if largest else []])
    wanted = np.r_[0, 0, 1, np.cross([*c, 0], [0, 0, 1.0]), np.full(len(points), largest) if largest else []]
    if largest:
        slack = [np.r_[np.zeros(6), e] for e in np.eye(len(points))]
    return nnls(np.array([*columns, *slack]).T, wanted, maxiter=3000)[1] < 1e-8


@pytest.mark.paper("Q7")
def test_on_level_ground_the_region_is_the_support_polygon(rng):
    points = np.c_[rng.uniform(-1, 1, size=(7, 2)), np.zeros(7)]
    region, hull = static_region(points, mu=0.3), support_polygon(points)
    assert_allclose(region.area, hull.area, rtol=1e-2)
    assert (hull.margin(region.vertices) > -1e-9).all()  # never beyond


@pytest.mark.paper("Q7")
@pytest.mark.parametrize("largest", [None, 0.45])
def test_the_region_of_sloping_contacts_is_that_of_another_program(largest, rng):
    points = np.array([[0.0, 0, 0], [0.4, 0.1, 0.1], [0.1, 0.5, 0.4], [-0.4, 0.2, 0.7]])
    normals = np.array([[0.0, 0, 1], [0.3, 0, 1], [0, -0.5, 1], [1, 0, 0.2]])
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    limits = {} if largest is None else {"mass": 2.0, "largest": largest * 2.0 * 9.80665}
    region = static_region(points, normals, mu=0.6, **limits)
    assert region.area > 0.02
    hull = support_polygon(points)
    assert abs(region.area - hull.area) > 0.02  # another region than that of flat ground
    inside = outside = 0
    for c in rng.uniform(-0.8, 0.8, size=(150, 2)):
        margin = region.margin(c)
        if abs(margin) > 2e-3:  # what tolerance leaves open
            assert balanced(points, normals, 0.6, c, largest=largest) == (margin > 0), (c, margin)
            inside, outside = inside + (margin > 0), outside + (margin < 0)
    assert inside > 3 and outside > 20


def test_where_no_force_holds_there_is_no_region():
    assert len(static_region([[0, 0, 0]], [1, 0, 0], mu=0.5).vertices) == 0  # one wall with little friction
    one = static_region([[0.2, 0.3, 0.0]])
    assert_allclose(one.vertices, [[0.2, 0.3]], atol=1e-7)


def test_a_clamp_between_walls_holds_anything_within_reach():
    """Two facing walls, much friction and no bound of the force: the centre of mass may be far out."""
    walls = [[-0.5, y, z] for y in (-0.2, 0.2) for z in (0, 0.3)], [[0.5, y, z] for y in (-0.2, 0.2) for z in (0, 0.3)]
    points, normals = np.array([*walls[0], *walls[1]]), np.repeat([[1.0, 0, 0], [-1.0, 0, 0]], 4, axis=0)
    region = static_region(points, normals, mu=1.0, reach=3.0)
    assert region.vertices.max() > 2.99 and region.vertices.min() < -2.99


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: support_polygon(np.zeros((0, 2))), eq.ShapeError, "at least one"),
        (lambda: support_polygon([[np.nan, 0]]), eq.StateError, "finite"),
        (lambda: support_polygon([1, 2]), eq.ShapeError, r"\(n, 2\)"),
        (lambda: four_point_area([0, 0], [1, 0], [1, 0], [0, 1]), eq.StateError, "different"),
        (lambda: four_point_area([0, 0], [1, 0], [0.5, 0.5], [0, 1]), eq.StateError, "line of the feet"),
        (lambda: static_region([[0, 0]]), eq.ShapeError, r"\(n, 3\)"),
        (lambda: static_region([[0, 0, 0]], [0, 0, 0]), eq.ShapeError, "normals have a length"),
        (lambda: support_area(shared.load("quadruped"), None, None, []), eq.ShapeError, "at least one contact"),
    ],
)
def test_errors_teach(make, error, words):
    with pytest.raises(error, match=words):
        make()
