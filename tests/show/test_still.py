"""Still pictures of runs."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import equipoise as eq
from equipoise.show.still import _triangles, _view, still
from equipoise.show.triangles import Surface


@pytest.fixture(scope="module")
def run():
    robot = eq.load("quadruped")
    still_there = SimpleNamespace(torque=np.zeros(robot.nv))
    table = eq.Box(size=(0.3, 0.3, 0.1), position=(0.8, 0, 0.05))
    feet = ["front_left_foot", "front_right_foot"]
    return eq.simulate(robot, lambda t, q, v: still_there, "hard", 0.02, contacts=feet, obstacles=[table])


def test_a_picture_shows_as_many_moments_as_asked(run, tmp_path):
    import matplotlib.image

    one, two = (matplotlib.image.imread(still(run, tmp_path / f"{len(t)}.png", t)) for t in ([0.0], [0.0, 0.02]))
    assert two.shape[1] > 1.6 * one.shape[1]
    inked = (one[:, :, :3].min(axis=2) < 0.8).mean()
    assert 0.03 < inked < 0.9


def test_the_nearest_triangles_are_drawn_last():
    view = _view(-0.7, 0.3)
    eye = view[2]
    here = np.array([[0, 0, 0], [0.1, 0, 0], [0, 0.1, 0.0]])
    things = [
        Surface(here + s * eye, np.array([[0, 1, 2]]), color) for s, color in ((1.0, (255, 0, 0)), (-1.0, (0, 255, 0)))
    ]
    _, colors = _triangles(things, view)
    assert colors[0, 1] > 0.5 and colors[1, 0] > 0.5
    np.testing.assert_allclose(view @ view.T, np.eye(3), atol=1e-12)
