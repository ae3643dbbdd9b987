"""[BK12, Sec. I]: contacts on any link. The human goes down, crawls a metre on knees and forearms, and stands up, in
MuJoCo."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from equipoise.control.stances.events import Outcome
from equipoise.papers import bk12_crawl

pytestmark = [pytest.mark.paper("B6"), pytest.mark.slow]


def test_the_human_crawls_a_metre_and_stands_up():
    machine, run = bk12_crawl.crawled(seed=0)
    assert machine.outcome is Outcome.COMPLETED
    assert_allclose(run.q[-1, 0] - run.q[0, 0], bk12_crawl.STRIDE * bk12_crawl.CYCLES, atol=0.03)
    assert_allclose(run.q[-1, 2], run.q[0, 2], atol=0.02)  # it stands again
    assert run.q[:, 2].min() < 0.55 * run.q[0, 2]
    bears = bk12_crawl.bearing(run)
    assert min(bears[name].mean() for name in (*bk12_crawl.KNEES, *bk12_crawl.ELBOWS)) > 0.3  # of the time
    crawling = np.any([bears[name] for name in bk12_crawl.ELBOWS], axis=0)
    assert bears["left foot"][crawling].mean() < 0.5  # knees and forearms carry then, not the feet
    assert np.nanmax(np.abs(run.torque[:, 6:]) / np.asarray(machine.robot.limits.effort)[6:]) < 1 + 1e-9
