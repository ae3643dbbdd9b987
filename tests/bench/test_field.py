"""The sample field: their lists as stances and hops, their field as solids, and when hops were in the air."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import support
from numpy.testing import assert_allclose

import equipoise as eq
from bench import courses
from bench.field import FIELD, FIRST, MOTION, SECOND, hops_of, pose_of, solids_of, stances_of, yaml_of
from equipoise.geometry.primitives import Capsule
from equipoise.simulate.world import Box, gaps

FEET = ("left foot", "right foot")


pytestmark = pytest.mark.further("EQUIPOISE_COURSES")


def folder() -> Path:
    """Returns the folder of the courses, which are not part of the project."""
    return support.further_folder("EQUIPOISE_COURSES") / "aist"


def motion(part: str):
    return yaml_of(folder() / MOTION)["states"][part]["configs"]


def test_stances_are_their_contacts_in_their_order():
    made = stances_of(motion(FIRST), bar=0.015)
    sets = [frozenset(stance.contacts) - set(FEET) for stance in made]
    assert sets == 5 * [frozenset()] + 4 * [{"left hand"}] + 5 * [frozenset()] + 3 * [{"right hand"}] + [frozenset()]
    assert [list(stance.places) for stance in made[1:5]] == [["left foot"], ["right foot"]] * 2
    assert_allclose(made[5].places["left hand"], [0.9, 0.5, 0.815])
    leans = [stance.com for stance in made if stance.com is not None]
    assert_allclose(leans, [[np.nan, -0.25, np.nan], [np.nan, 0.0, np.nan]], atol=1e-12)
    assert_allclose(hops_of(motion(SECOND)), [0.3, 0.3, 0.3], atol=1e-9)


def test_hands_and_feet_go_to_what_stands_on_the_field():
    """The foot on the block lies on its top, the hand on the wall on its face; the bar is where the other hand goes."""
    block, bar, wall = solids = solids_of(folder() / FIELD)
    assert isinstance(block, Box) and isinstance(bar, Capsule) and isinstance(wall, Box)
    made = stances_of(motion(FIRST), bar=bar.radius)
    feet = [X for stance in made for role, X in stance.places.items() if role == "right foot" and X[2, 3] > 0.0]
    hands = [X for stance in made for role, X in stance.places.items() if role == "right hand"]
    for X in (*feet, *hands):
        found = gaps(solids, X[None, :3, 3], 0.0)
        assert abs(found.distance[0]) < 5e-4  # m: their numbers have as many digits
        assert_allclose(found.normal[0], X[:3, 2], atol=1e-3)
    assert len(feet) == len(hands) == 1
    assert abs(gaps([bar], np.array([[0.9, 0.5, 0.815]]), 0.0).distance[0]) < 1e-9


def test_rotations_of_their_lists_are_those_of_their_field():
    X = pose_of({"translation": [0.1, 0.2, 0.3], "rotation": [-0.349, 0.0, 0.0]})
    assert_allclose(X[:3, 3], [0.1, 0.2, 0.3])
    assert_allclose(X[:3, 2], [0.0, np.sin(0.349), np.cos(0.349)], atol=1e-12)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(eq.EquipoiseError, match="nothing.yaml"):
        yaml_of(tmp_path / "nothing.yaml")


@dataclass
class Walked:
    t: np.ndarray
    measured: dict[str, np.ndarray]


def test_times_in_the_air_are_those_without_any_contact():
    t = 1e-3 * np.arange(1000)
    feet = {role: np.zeros((1000, 6)) for role in FEET}
    feet["left foot"][:, 2] = np.where((t < 0.1) | (t > 0.35), 300.0, 0.0)  # 0.25 s
    feet["right foot"][:, 0] = np.where((t > 0.3495) & (t < 0.8), 300.0, 0.0)  # a level force is a contact too
    feet["left foot"][600:620] = feet["left foot"][900:] = 0.0
    feet["right foot"][600:620] = 0.0  # 20 ms: a bounce, no hop
    assert_allclose(courses.airborne(Walked(t, feet)), [0.249, 0.1], atol=2e-3)


@pytest.mark.slow
def test_jvrc_1_walks_the_field_and_hops():
    (verdict,) = courses.run_field(folder(), seeds=1)
    assert verdict.good and min(verdict.air) > 0.2 and len(verdict.air) == 3
