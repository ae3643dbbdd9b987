"""Distances of points to solids, at rest and moving."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import equipoise as eq
from equipoise.geometry.primitives import GeometryError
from equipoise.simulate.world import gaps, solids

SOLIDS = {
    "plane": eq.Plane((0.2, -0.3, 1.0), 0.4, velocity=(0.1, 0.2, 0.3, 0.4, -0.5, 0.6)),
    "sphere": eq.Sphere((0.1, 0.2, 0.3), 0.4, velocity=(0.1, 0.2, 0.3, 0.4, -0.5, 0.6), acceleration=(0.3, 0.2, -0.1)),
    "capsule": eq.Capsule((0, 0, 0), (0.3, 0.4, 0.5), 0.2, velocity=(0.1, 0.2, 0.3, 0.4, -0.5, 0.6)),
    "box": eq.Box((0.4, 0.6, 0.8), (0.1, 0.2, 0.3), (0.3, 0.2, 0.1), velocity=(0.1, 0.2, 0.3, 0.4, -0.5, 0.6)),
}


@pytest.mark.parametrize("name", SOLIDS)
def test_the_normal_is_the_gradient_and_the_surface_velocity_its_rate(name, rng):
    solid, h, t = [SOLIDS[name]], 1e-6, 0.7
    p = rng.uniform(-1.5, 1.5, (50, 3))
    found = gaps(solid, p, t)
    slope = np.stack(
        [(gaps(solid, p + e, t).distance - gaps(solid, p - e, t).distance) / (2 * h) for e in h * np.eye(3)], axis=1
    )
    assert_allclose(found.normal, slope, atol=1e-7)
    rate = (gaps(solid, p, t + h).distance - gaps(solid, p, t - h).distance) / (2 * h)
    assert_allclose(-np.sum(found.normal * found.velocity, axis=1), rate, atol=1e-7)


def test_a_point_inside_a_box_goes_to_the_nearest_face():
    found = gaps([eq.Box((1.0, 2.0, 3.0))], np.array([[0.4, 0.0, 0.0], [0.0, -0.9, 0.1], [0.0, 0.0, 2.0]]), 0.0)
    assert_allclose(found.distance, [-0.1, -0.1, 0.5], atol=1e-15)
    assert_allclose(found.normal, [[1, 0, 0], [0, -1, 0], [0, 0, 1]], atol=1e-15)


def test_the_nearest_solid_counts():
    world = solids([eq.Sphere((0, 0, 1), 0.5)])
    found = gaps(world, np.array([[0.0, 0.0, 0.1], [0.0, 0.0, 0.45]]), 0.0)
    assert_allclose(found.distance, [0.1, 0.05], atol=1e-15)
    assert_allclose(found.normal[:, 2], [1, -1])


@pytest.mark.parametrize(
    "solid, words",
    [
        (eq.Line((0, 0, 0), (1, 0, 0)), "cannot be touched"),
        (eq.Sphere((0, 0, 0), 0.0), "no radius"),
        (eq.Sphere((0, 0, 0), 0.1, frame="hand"), "on frame 'hand'"),
        ("table", "cannot be touched"),
    ],
)
def test_what_cannot_be_touched_is_refused(solid, words):
    with pytest.raises(GeometryError, match=words):
        solids([solid])


@pytest.mark.parametrize("size", [(1, 2), (1, 2, -3), (1, 2, np.nan)])
def test_a_box_needs_three_positive_edges(size):
    with pytest.raises(GeometryError, match="three positive numbers"):
        eq.Box(size)
