"""[BK12, Sec. VI] and [QO21, Sec. 6.2]: how runs are read; the runs themselves are in the slow rows."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from equipoise.papers import qo21_contacts
from equipoise.papers.bk12_motions import supports
from equipoise.papers.reference import ReferenceState


def run_with(**bearing: list[bool]) -> SimpleNamespace:
    forces = {name: np.where(np.array(rows)[:, None], 20.0, 2.0) * np.ones(6) for name, rows in bearing.items()}
    return SimpleNamespace(t=0.1 * np.arange(len(next(iter(bearing.values())))), measured=forces)


@pytest.mark.paper("B6")
def test_supports_are_counted_from_change_to_change():
    on, off = [True] * 10, [False] * 10
    assert supports(run_with(left=on * 3, right=on + off + on)) == [2, 1, 2]
    assert supports(run_with(left=on * 3, right=on * 3)) == [2]
    assert supports(run_with(left=on + off, right=off + on)) == [1]


@pytest.mark.paper("B6")
def test_a_flicker_is_no_support():
    on = [True] * 10
    assert supports(run_with(left=on * 2 + [True], right=[*on, False, *on])) == [2]


@pytest.mark.paper("Q8")
def test_what_is_looked_at_in_a_posture():
    """Margins and areas by hand: two soles of the built-in human, and a palm that adds to them."""
    who, place = qo21_contacts.human(), qo21_contacts.PLACES["table"]
    robot, q = who.robot, who.start.copy()
    start = np.array([robot.pose(q, f"{side}_foot_corner_{k}")[:3, 3] for side in ("left", "right") for k in range(4)])
    assert_allclose(qo21_contacts._corners(ReferenceState(robot, q), who.feet), start, atol=1e-12)
    away, area, margin, feet, off = qo21_contacts._looked(place, who, q, False, start)
    x, y = start[:, 0], start[:, 1]
    assert_allclose(area, np.ptp(x) * np.ptp(y), rtol=1e-9)  # soles side by side, a rectangle
    c = robot.com(q)
    assert_allclose(margin, min(c[0] - x.min(), x.max() - c[0], c[1] - y.min(), y.max() - c[1]), rtol=1e-9)
    assert feet < 1e-12 and np.isnan(off)
    assert_allclose(away, np.linalg.norm(robot.pose(q, "right_hand")[:3, 3] - place.ball))
    q[0] += 0.01
    _, larger, _, feet, off = qo21_contacts._looked(place, who, q, True, start)
    palm = np.array([robot.pose(q, f"left_hand_corner_{k}")[:3, 3] for k in range(4)])
    assert larger > area
    assert_allclose(feet, 0.01)
    assert_allclose(off, np.abs(palm[:, 2] - qo21_contacts.HEIGHT).max())
