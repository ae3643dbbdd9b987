"""[BK12, Sec. I]: contacts on any link. The human goes down, crawls a metre on knees and forearms, and stands up, in
MuJoCo."""

from __future__ import annotations

import functools

import numpy as np
import pytest
import records
import shown
from numpy.testing import assert_allclose

from equipoise.papers import bk12_crawl

pytestmark = pytest.mark.paper("B6")


class Disturbed:
    """A machine that sees joints, base and velocities with uniform errors up to a size (rad, m, rad/s, m/s)."""

    def __init__(self, machine, size, rng):
        self.machine, self.size, self.rng = machine, size, rng

    def __getattr__(self, name):
        return getattr(self.machine, name)

    def moved(self, q, v):
        dq, dv = self.rng.uniform(-self.size, self.size, (2, len(v)))
        return self.machine.robot.integrate(q, dq), v + dv

    def __call__(self, t, q, v):
        return self.machine(t, *self.moved(q, v))


@functools.cache
def planned():
    return bk12_crawl.crawling()


def test_recorded_postures_of_the_crawl():
    records.check("paper_postures_crawl", shown.planned(planned()), rtol=2e-3, atol=2e-3)


def test_postures_keep_their_distance_from_joint_ends_and_the_ground():
    """What carries nothing is no more than 3 mm below the ground, where soft contacts are: a toe that stands deeper
    than that turns the foot over."""
    machine = planned()
    robot, tips = machine.robot, [*bk12_crawl.TOES, *bk12_crawl.KNEES, *bk12_crawl.ELBOWS]
    joints = [robot.joints[name].q for name in robot.joints if name != robot.model.base.name]
    at = np.concatenate([np.arange(place.start, place.stop) for place in joints if place.start >= 7])
    for step in (step for stance in machine.plan for step in stance.way):
        q = step.q[at]
        ends = np.minimum(q - robot.limits.lower[at], robot.limits.upper[at] - q)
        assert ends.min() > bk12_crawl.END_DISTANCE - 1e-4
        assert min(robot.pose(step.q, tip)[2, 3] for tip in tips) > -bk12_crawl.BELOW - 1e-4


@pytest.mark.slow
def test_the_human_crawls_a_metre_and_stands_up():
    machine, run = bk12_crawl.crawled()
    assert [figure.what for figure in bk12_crawl.figures_of(machine, run) if not figure.good] == []
    assert_allclose(run.q[-1, 0] - run.q[0, 0], bk12_crawl.STRIDE * bk12_crawl.CYCLES, atol=0.03)
    assert run.q[:, 2].min() < 0.55 * run.q[0, 2]


@pytest.mark.slow
@pytest.mark.parametrize("size", [1e-9, 1e-3])
def test_errors_of_all_that_is_measured_do_not_change_the_verdict(size):
    machine = bk12_crawl.crawling()
    disturbed = Disturbed(machine, size, np.random.default_rng(0))
    q0, v0 = disturbed.moved(machine.q0, np.zeros(machine.robot.nv))
    run = bk12_crawl.crawl(machine, disturbed, q0=q0, v0=v0, noise=None)
    assert [figure.what for figure in bk12_crawl.figures_of(machine, run) if not figure.good] == []
