"""Grounds are what they say: level where the robot starts, then as high as they should be."""

from __future__ import annotations

import numpy as np
import pytest

from equipoise.simulate.grounds import DEEP, GROUNDS, LEVEL, RISE, ROUGH, TILT, boxes


def top(made, x: float) -> float:
    """m, the height of the ground at (x, 0), from the boxes' own poses."""
    heights = []
    for box in made:
        normal, middle = box.X[:3, 2], box.X[:3, 3]
        z = middle[2] + DEEP / 2 / normal[2] - normal[0] / normal[2] * (x - middle[0])
        inside = box.X[:3, :3].T @ (np.array([x, 0.0, z]) - middle)
        if (np.abs(inside[:2]) <= box.size[:2] / 2 + 1e-9).all():
            heights.append(z)
    return max(heights)


@pytest.mark.parametrize("ground", GROUNDS)
@pytest.mark.parametrize("seed", [0, 1])
def test_it_is_level_where_the_robot_starts(ground, seed):
    assert abs(top(boxes(ground, seed), 0.0)) < 1e-12


def test_heights_are_those_asked_for():
    far = LEVEL + 1.0
    assert top(boxes("step", 0), far) == pytest.approx(RISE) and top(boxes("step", 1), far) == pytest.approx(-RISE)
    assert top(boxes("slope", 0), far) == pytest.approx(np.tan(TILT)) and top(boxes("slope", 1), far) == pytest.approx(
        -np.tan(TILT)
    )
    heights = [top(boxes("uneven", 3), LEVEL + 0.2 + 0.4 * k) for k in range(10)]
    assert max(np.abs(heights)) <= ROUGH and np.ptp(heights) > ROUGH
    assert heights != [top(boxes("uneven", 4), LEVEL + 0.2 + 0.4 * k) for k in range(10)]
