"""[QO21, Fig. 4.9]: a pendulum's blow on a small and on a large support, in MuJoCo."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from equipoise.papers import qo21_blow
from equipoise.papers.qo21_contacts import HEIGHT, human

pytestmark = pytest.mark.paper("Q7")


@pytest.mark.parametrize(("support", "falls"), [("small", True), ("large", False)])
def test_the_larger_support_is_what_keeps_the_balance(support, falls):
    one = qo21_blow.struck(support)
    run, robot = one.run, human().robot
    struck = int(np.searchsorted(run.t, qo21_blow.BEGINS))
    moved = np.linalg.norm(robot.com(run.q[:struck]) - robot.com(run.q[0]), axis=1)
    assert moved.max() < 2e-3  # at rest until the blow comes
    assert_allclose(robot.com(run.q[0])[:2], qo21_blow.COM[:2], atol=1e-6)
    assert_allclose(robot.pose(run.q[0], "left_hand")[2, 3], HEIGHT, atol=1e-6)
    assert one.fell is falls
    assert (one.margin < 0) is falls
    assert np.isfinite(run.torque).all()


def test_the_hand_goes_outwards_and_stays_on_the_table():
    robot = human().robot
    near, far = (robot.pose(qo21_blow.leaning(support), "left_hand")[:3, 3] for support in qo21_blow.SUPPORTS)
    assert_allclose(near, qo21_blow.TOUCHES, atol=1e-6)
    assert_allclose(far, [*qo21_blow.FAR, HEIGHT], atol=1e-3)
