"""[BK12, Sec. VI] on the paper's own robot: HRP-2 walks by Eq. (37) with a unit quaternion, in MuJoCo.

Its description has 100 N m for every joint of the legs, a round number; no published figures were found to put in their
place. So what the motion needs is looked at too: a limit above 75 N m would not be felt.
"""

from __future__ import annotations

import numpy as np
import pytest
import support
from numpy.testing import assert_allclose

import equipoise as eq
from equipoise.control.stances.events import Outcome
from equipoise.forms import charts
from equipoise.papers.bk12_crawl import NOISE
from equipoise.papers.bk12_motions import STEPS, supports

pytestmark = [pytest.mark.paper("B6"), pytest.mark.slow, support.further]
FEET = ["left foot", "right foot"]
WAY = [("right foot", 0.15), ("left foot", 0.3), ("right foot", 0.45), ("left foot", 0.45)]  # m ahead of the start


def test_hrp2_walks_four_steps_by_the_papers_program():
    body = eq.Body.of(support.load("hrp2"))
    robot = body.robot
    stands = {foot: robot.pose(body.standing, body.frames[foot]) for foot in FEET}
    stances = [eq.Stance(FEET, name="standing")]
    for foot, ahead in WAY:
        X = stands[foot].copy()
        X[0, 3] += ahead
        stances.append(eq.Stance(FEET, name=f"{foot} at {ahead} m", places={foot: X}, hold=0.0))
    pace = {"speed": (0.16, 0.5, 1.2), "load_time": 0.2}
    machine = eq.Stances(robot, stances, body, chart=charts.UnitQuaternion, **pace)
    run = eq.simulate(robot, machine, q0=machine.q0, duration=1.05 * machine.seconds + 1.0, noise=NOISE)
    assert machine.outcome is Outcome.COMPLETED
    assert supports(run) == STEPS  # by measured forces
    for foot in FEET:
        assert_allclose(robot.pose(run.q[-1], body.frames[foot])[:2, 3] - stands[foot][:2, 3], [0.45, 0.0], atol=0.02)
    assert np.isfinite(run.torque).all()
    assert np.abs(run.torque[:, 6:]).max() < 75.0
