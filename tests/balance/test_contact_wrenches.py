"""What contacts give together: the facets say the same as a linear program that looks for forces."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

from equipoise.algebra.rigid import rotation_about
from equipoise.balance.contact_wrenches import LEVER, contact_wrenches
from equipoise.errors import ShapeError

ANGLES = np.pi / 4 + np.pi / 2 * np.arange(4)
CORNERS = np.array([[0.11, 0.05, 0.0], [0.11, -0.05, 0.0], [-0.09, -0.05, 0.0], [-0.09, 0.05, 0.0]])
TO_X = rotation_about(np.array([0.0, 1.0, 0.0]), -np.pi / 2)  # normals along −x: a wall ahead
FROM_X = rotation_about(np.array([0.0, 1.0, 0.0]), np.pi / 2)  # along x: one behind


LEVEL = np.eye(3)


def touching(place, R=LEVEL, friction=0.6, corners=CORNERS):
    """(points, edges) of a flat contact."""
    edges = np.column_stack([friction * np.cos(ANGLES), friction * np.sin(ANGLES), np.ones(4)]) @ R.T
    points = corners @ R.T + place
    return points, np.tile(edges, (len(points), 1, 1))


def point(place):
    return touching(np.array(place), corners=np.zeros((1, 3)))


LEFT, RIGHT = touching(np.array([0.0, 0.1, 0.0])), touching(np.array([0.3, -0.1, 0.0]))
WALL = touching(np.array([0.6, 0.2, 1.1]), TO_X, corners=CORNERS / 2)
SETS = {
    "a foot": [LEFT],
    "two feet": [LEFT, RIGHT],
    "feet, and a hand on a wall": [LEFT, RIGHT, WALL],
    "hands on opposite walls": [WALL, touching(np.array([-0.6, 0.2, 1.1]), FROM_X, corners=CORNERS / 2)],
    "a slope": [touching(np.zeros(3), rotation_about(np.array([0.6, 0.8, 0.0]), 0.4))],
    "three points": [point((0.3, 0.2, 0.0)), point((0.3, -0.2, 0.0)), point((-0.3, 0.2, 0.1))],
    "two points": [point((0.3, 0.2, 0.0)), point((-0.3, -0.2, 0.0))],
}
ORIGIN = np.array([0.05, 0.02, 0.9])


def rays(contacts, largest):
    points, edges = (np.concatenate(x) for x in zip(*contacts, strict=True))
    moments = np.cross((points - ORIGIN)[:, None], edges)
    scaled = np.asarray(largest)[:, None, None] * np.concatenate([edges, moments], axis=2)
    return points, edges, scaled.reshape(-1, 6)


@pytest.mark.parametrize("name", SETS)
def test_facets_say_what_a_search_for_forces_says(name, rng):
    """Wrenches on both sides of the border along random ways from the middle; the border by a linear program."""
    points, edges, V = rays(SETS[name], largest := np.full(sum(len(p) for p, _ in SETS[name]), 2.0))
    found = contact_wrenches(points, edges, largest, ORIGIN)
    middle = V.mean(axis=0)
    for _ in range(8):
        way = rng.dirichlet(np.ones(len(V))) @ V - middle  # within the span of the contacts
        # the largest s with middle + s way = Σ λ V, Σ λ ≤ 1
        A_eq = np.column_stack([V.T, -way])
        bound = linprog(
            np.append(np.zeros(len(V)), -1.0), A_eq=A_eq, b_eq=middle, A_ub=[[*np.ones(len(V)), 0.0]], b_ub=[1.0],
            bounds=(0, None),
        ).x[-1]  # fmt: skip
        size = np.linalg.norm(way)
        assert found.excess(middle + bound * (1 - 1e-6) * way).max() <= 1e-7 * size
        assert found.excess(middle + bound * (1 + 1e-3) * way).max() > 1e-6 * size


@pytest.mark.parametrize("name", SETS)
def test_rays_are_on_the_border(name):
    points, edges, V = rays(SETS[name], largest := np.full(sum(len(p) for p, _ in SETS[name]), 3.0))
    found = contact_wrenches(points, edges, largest, ORIGIN)
    excess = found.excess(np.vstack([np.zeros(6), V]))
    assert excess.max() < 1e-9
    lengths = np.linalg.norm(found.G * [1, 1, 1, LEVER, LEVER, LEVER], axis=1)
    np.testing.assert_allclose(lengths, 1.0, atol=1e-8)


def test_what_two_points_cannot_give_is_outside():
    """No moment about the line through them, whatever the forces; 0.001 is allowed, 0.01 is not."""
    points, edges, _ = rays(SETS["two points"], largest := np.full(2, 3.0))
    found = contact_wrenches(points, edges, largest, ORIGIN)
    line = (points[0] - points[1]) / np.linalg.norm(points[0] - points[1])
    weight = np.array([0.0, 0.0, 1.0])
    rest = np.concatenate([weight, np.cross(points.mean(axis=0) - ORIGIN, weight)])
    assert found.excess(rest).max() < 1e-9
    for sign in (-1, 1):
        tipped = rest + np.concatenate([np.zeros(3), 0.01 * sign * line])
        assert found.excess(tipped).max() > 0.005


def test_a_point_without_friction_pushes_up_and_no_more():
    points, edges = touching(np.zeros(3), friction=0.0, corners=np.zeros((1, 3)))
    found = contact_wrenches(points, edges, np.array([2.0]), np.zeros(3))
    up = np.array([0.0, 0.0, 1.0, 0.0, 0.0, 0.0])
    assert found.excess(up).max() <= 1e-9 and found.excess(1.999 * up).max() <= 1e-9
    for beyond in (2.1 * up, -0.1 * up, np.array([0.1, 0, 1, 0, 0, 0]), np.array([0, 0, 1, 0, 0.01, 0])):
        assert found.excess(beyond).max() > 0.01


def test_a_weak_contact_gives_little():
    points, edges, _ = rays(SETS["feet, and a hand on a wall"], np.ones(12))
    push = np.concatenate([edges[-1].mean(axis=0), np.cross(points[8:].mean(axis=0) - ORIGIN, edges[-1].mean(axis=0))])
    strong, weak = (
        contact_wrenches(points, edges, np.array([3.0] * 8 + [most] * 4), ORIGIN).excess(0.2 * push).max()
        for most in (3.0, 0.1)
    )
    assert strong < 1e-9 < 0.01 < weak


@pytest.mark.parametrize(
    "change",
    [
        {"points": np.zeros((0, 3)), "edges": np.zeros((0, 4, 3)), "largest": np.zeros(0)},
        {"edges": np.ones((3, 4, 3))},
        {"edges": np.ones((4, 4, 3, 3))},
        {"points": np.ones((4, 1))},
        {"largest": np.ones(2)},
        {"points": np.full((4, 3), np.nan)},
        {"edges": np.full((4, 4, 3), np.nan)},
        {"origin": np.full(3, np.nan)},
        {"origin": np.zeros(2)},
        {"largest": np.full(4, np.inf)},
    ],
)
def test_what_is_wrong_is_told(change):
    good = {"points": LEFT[0], "edges": LEFT[1], "largest": np.ones(4), "origin": ORIGIN}
    with pytest.raises(ShapeError, match="points|origin"):
        contact_wrenches(**{**good, **change})
