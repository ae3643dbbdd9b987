"""[QO21, Sec. 6.2] on the thesis's own robots: THORMANG3, and Poppy, which is half its size and has no wrists."""

from __future__ import annotations

import numpy as np
import pytest
import support

import equipoise as eq
from equipoise.papers.qo21_contacts import CONTACT, MARGIN, Surroundings, followed, reacher_of, strategy

pytestmark = [pytest.mark.paper("Q8"), pytest.mark.slow, support.further]


def table(height, near, far, right, left, ball, step):
    corners = ((near, right, height), (far, right, height), (far, left, height), (near, left, height))
    return Surroundings((0, 0, 1), height, corners, ball, step, "Sec. 6.2")


ROBOTS = {
    "thormang3": (table(0.7, 0.15, 0.6, 0.05, 0.5, (1.1, -0.2, 0.8), 3), 0.02, MARGIN),
    "poppy": (table(0.45, 0.08, 0.35, 0.02, 0.25, (0.45, -0.1, 0.5), 4), 0.01, 0.005),
}


@pytest.mark.parametrize("name", ROBOTS)
def test_the_strategy_touches_the_ball(name):
    """Feet alone fail and the hand alone is worse, as in the thesis; then THORMANG3's support is enlarged, and Poppy
    slides."""
    place, palm, margin = ROBOTS[name]
    who = reacher_of(eq.Body.of(support.load(name)), palm)
    run = followed(strategy(who, place, margin=margin), who, place)
    report = run.report
    assert report.step == place.step, str(report)
    assert report.attempts[1].error > report.attempts[0].error + 0.01
    assert np.linalg.norm(who.robot.pose(report.q, who.reaching)[:3, 3] - place.ball) < 0.011
    assert run.margin.min() > margin - 2e-3
    assert run.feet.max() < 2e-3
    assert np.nanmax(run.off) < 2 * CONTACT
