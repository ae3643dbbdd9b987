"""The reach of the legs: places in it have postures, and places well outside of it have none."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import equipoise as eq
from equipoise.walking.reach import _Legs, reach_of


def test_the_reach_of_a_human_is_that_of_its_legs():
    body = eq.Body.of(eq.load("human")).still()
    width, height = 0.175, 0.97 * body.height
    reach = reach_of(body, width, height)
    assert (reach.normals @ [0.0, width] < reach.offsets).all()  # where it stands
    # A leg of length L whose hip is at height h gets no farther than √(L² − h²) from under it, and each leg takes half
    # a step.
    straight = body.leg_length / 0.94
    farthest = 2 * np.sqrt(straight**2 - (body.leg_length - 0.03 * body.height) ** 2)
    assert 0.5 * farthest < reach.ahead < 1.15 * farthest  # feet are not points, and the pelvis tilts a little
    assert reach.nearest < width < reach.widest
    left, right = reach.rows(1.0)[0], reach.rows(-1.0)[0]
    np.testing.assert_allclose(left * [1.0, -1.0], right)


def test_a_lower_body_reaches_farther():
    body = eq.Body.of(eq.load("human")).still()
    high, low = (reach_of(body, 0.175, part * body.height) for part in (0.97, 0.94))
    assert low.ahead > high.ahead


def test_a_posture_is_good_only_with_soles_height_and_trunk_as_wanted():
    """Reaches come from a cache; what they are found by is looked at here."""
    body = eq.Body.of(eq.load("human")).still()
    legs, place = _Legs.of(body, 0.97 * body.height), np.array([0.0, 0.175])
    q, good = legs._posture(legs.rest, place)
    assert good
    assert not replace(legs, height=1.03 * legs.height)._good(q, place)
    assert not replace(legs, height=0.97 * legs.height)._good(q, place)
    assert not legs._good(q, place + np.array([0.02, 0.0]))
    c, s = np.cos(0.15), np.sin(0.15)
    leant = np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]])
    assert not replace(legs, upright=leant @ legs.upright)._good(q, place)
    (link, X), right = legs.feet
    tilted = X.copy()
    tilted[:3, :3] = X[:3, :3] @ [[1.0, 0.0, 0.0], [0.0, 0.999, -0.045], [0.0, 0.045, 0.999]]
    assert not replace(legs, feet=((link, tilted), right))._good(q, place)


@pytest.mark.slow
def test_a_looser_tolerance_counts_at_the_next_start(tmp_path):
    """The reach is cached under the source that computes it."""
    shutil.copytree(Path(eq.__file__).parent, tmp_path / "equipoise", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "cache").mkdir(mode=0o700)
    code = (
        "import equipoise as eq\n"
        "from equipoise.walking.reach import reach_of\n"
        "body = eq.Body.of(eq.load('human')).still()\n"
        "print(reach_of(body, 0.175, 0.97 * body.height).ahead)"
    )

    def ahead() -> float:
        environment = os.environ | {"PYTHONPATH": str(tmp_path), "EQUIPOISE_CACHE": str(tmp_path / "cache")}
        return float(
            subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, check=True).stdout
        )

    path = tmp_path / "equipoise" / "walking" / "reach.py"
    tight, again = ahead(), ahead()
    path.write_text(path.read_text().replace("GOOD = 0.006, 0.03, 0.012,", "GOOD = 0.06, 0.3, 0.12,"))
    assert tight == again and ahead() > 1.1 * tight
