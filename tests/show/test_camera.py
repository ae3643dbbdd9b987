"""The camera holds everything, and looks from where obstacles hide nothing."""

from __future__ import annotations

import numpy as np
import pytest

import equipoise as eq
from equipoise.show.camera import ASPECT, FIELD, ROOM, VIEWS, clearest, framing
from equipoise.show.obstacles import Obstacle


def projected(points, eye, at):
    """Places in the picture: 1 is its upper edge, ASPECT its right one."""
    forward = (at - eye) / np.linalg.norm(at - eye)
    right = np.cross(forward, [0.0, 0.0, 1.0])
    right /= np.linalg.norm(right)
    arm = points - eye
    depth = (arm @ forward) * np.tan(FIELD / 2)
    return arm @ right / depth, arm @ np.cross(right, forward) / depth


@pytest.mark.parametrize("size", [(1.0, 0.6, 1.8), (2.0, 2.0, 0.5)], ids=["tall", "wide"])
@pytest.mark.parametrize("view", VIEWS)
def test_all_points_are_in_the_picture_and_fill_it(rng, view, size):
    points = rng.uniform(0.0, 1.0, (50, 3)) * size - [0.4, 0.3, 0.0]
    x, y = projected(points, *framing(points, view))
    assert max(np.abs(x).max() / ASPECT, np.abs(y).max()) == pytest.approx(1 / ROOM)  # the room around it, and no more


def test_the_view_is_one_that_no_obstacle_blocks():
    robot = np.array([[x, y, z] for x in (-0.2, 0.2) for y in (-0.2, 0.2) for z in (0.0, 1.7)])
    feet = robot[robot[:, 2] == 0.0]
    walls = [eq.Box((2.0, 0.05, 2.0), position=(0.0, y, 1.0)) for y in (-0.6, 0.6)]
    surfaces = [s.at(Obstacle(w).pose(0.0, {}, None)) for w in walls for s in Obstacle(w).surfaces()]
    triangles = np.concatenate([s.vertices[s.faces] for s in surfaces])
    open_eye = clearest(robot, feet, np.zeros((0, 3, 3)))[0]
    assert open_eye == pytest.approx(framing(robot, VIEWS[0])[0])  # nothing in the way: the usual one
    eye = clearest(robot, feet, triangles)[0]
    assert abs(np.arctan2(eye[1], eye[0])) > 3.0  # between the walls, from behind
