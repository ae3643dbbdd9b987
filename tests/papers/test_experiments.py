"""[QO21, Sec. 6.1]: the cup and the cooperative arms, shortened; and a task of one's own."""

from __future__ import annotations

import numpy as np
import pytest
import records
import shown
import support
from numpy.testing import assert_allclose

from equipoise.control.controller.controller import WholeBodyController
from equipoise.model.robots.mobile import rolling_constraint
from equipoise.papers import qo21_cooperation, qo21_cup

pytestmark = pytest.mark.paper("Q11")


@pytest.mark.parametrize(("level", "seconds"), [("velocity", 4.0), ("torque", 5.0)])
def test_only_the_constrained_controller_keeps_the_cup_upright(level, seconds):
    """After a third of the time the unconstrained one has tilted the cup beyond its limit, at both levels."""
    free, held = (qo21_cup.placed(level, constrained, seconds) for constrained in (False, True))
    assert free.margins["cup"] < -0.05
    assert min(held.margins.values()) >= 0.0
    for run in (free, held):  # both come nearer all the time
        assert run.distance[-1] < 0.6 * run.distance[0]
        assert (np.diff(run.distance) < 1e-9).all()


def test_task_errors_of_the_cup_decay_at_the_thesis_rate():
    """d' = −η d for QP and CQP alike, so the constraints take nothing from the task [QO21, Eq. (3.1)]."""
    for constrained in (False, True):
        run = qo21_cup.placed("velocity", constrained, 4.0)
        assert_allclose(run.distance[-1] / run.distance[0], np.exp(-qo21_cup.ETA * run.t[-1]), rtol=0.02)


def test_effort_is_the_norm_of_the_input_over_time():
    run = qo21_cup.placed("velocity", True, 4.0)
    expected = np.sqrt(sum(float(u @ u) for u in run.command) * qo21_cup.STEP["velocity"])
    assert_allclose(run.effort, expected, rtol=1e-12)


def test_only_the_constrained_controller_keeps_a_cup_in_both_hands_upright():
    free, held = (qo21_cooperation.lowered(constrained, 6.0) for constrained in (False, True))
    assert free.tilt.max() > qo21_cooperation.TILT + 0.1
    assert min(free.gap.min(), held.gap.min()) > qo21_cooperation.SAFE - 1e-4
    assert 0.25 < held.tilt.max() < qo21_cooperation.TILT + 1e-4  # steps of 10 ms along a curved limit
    assert max(free.relative.max(), held.relative.max()) < 1e-3
    robot = qo21_cooperation._gripping(support.load("bimanual"))
    for run in (free, held):
        first, last = (np.mean([robot.pose(q, frame)[2, 3] for frame in qo21_cooperation.GRIP]) for q in run.q[[0, -1]])
        # the middle itself comes down
        assert_allclose(first - last, qo21_cooperation.DESCENT - run.absolute[-1], atol=1e-3)
        assert_allclose(run.absolute[-1] / run.absolute[0], np.exp(-qo21_cooperation.ETA * run.t[-1]), rtol=0.02)


@pytest.mark.parametrize("name", qo21_cooperation.SHIFT)
def test_the_grip_holds_and_the_joints_keep_their_limits(name):
    run = qo21_cooperation.carried(name, True, 6.0)
    robot = qo21_cooperation._gripping(support.load(name))
    between = [np.linalg.inv(robot.pose(q, "left_tool")) @ robot.pose(q, "right_tool") for q in (run.q[0], run.q[-1])]
    assert_allclose(between[1], between[0], atol=1e-3)  # the task's own error is measured another way
    assert run.relative.max() < 1e-3
    assert run.absolute[-1] < 0.1 * run.absolute[0]
    assert run.joints.min() > -1e-9


def test_the_ball_is_released():
    """After the way of the row: hands apart; one arm is straight, so the place between them moves by half of it at
    most."""
    name = "nonholonomic_bimanual"
    run, robot = qo21_cooperation.released(name), qo21_cooperation._gripping(support.load(name))
    apart = qo21_cooperation.hands_apart(run, robot)
    assert_allclose(apart[-1] - apart[0], qo21_cooperation.RELEASE, rtol=0.01)
    assert (np.diff(apart) > -1e-9).all()
    middle = [np.mean([robot.pose(q, frame)[:3, 3] for frame in qo21_cooperation.GRIP], axis=0) for q in run.q[[0, -1]]]
    assert np.linalg.norm(middle[1] - middle[0]) < qo21_cooperation.RELEASE / 2 + 1e-3
    assert run.slip.max() < 1e-9


def test_without_constraints_a_joint_breaks_its_limit():
    assert qo21_cooperation.carried("bimanual", False, 6.0).joints.min() < -0.05


def test_wheels_roll():
    run = qo21_cooperation.carried("nonholonomic_bimanual", True, 6.0)
    assert run.slip.max() < 1e-9
    path, heading = np.diff(run.q[:, :2], axis=0), run.q[:-1, 2]
    sideways = -np.sin(heading) * path[:, 0] + np.cos(heading) * path[:, 1]
    along = np.cos(heading) * path[:, 0] + np.sin(heading) * path[:, 1]
    assert np.abs(along).sum() > 0.1  # it goes somewhere
    assert np.abs(sideways).sum() < 1e-2 * np.abs(along).sum()  # what is left is of second order in the step


def test_rolling_as_a_task_of_ones_own(rng):
    """J a + J̇ v = −k J v at the acceleration level, with J of the constraint and J̇ v by differences along the
    motion."""
    robot, damping = support.load("nonholonomic_bimanual"), 3.0
    controller = WholeBodyController(robot, [qo21_cooperation.Rolling(damping=damping)], level="acceleration")
    q, v = robot.random_state(rng)
    J, h = rolling_constraint(q).reshape(1, -1), 1e-6
    ahead, behind = (rolling_constraint(robot.integrate(q, v, t)).reshape(1, -1) @ v for t in (h, -h))
    drift = (ahead - behind) / (2 * h)
    assert np.abs(drift).max() > 0.05
    assert np.abs(J @ v).max() > 0.05
    assert_allclose(J @ controller(0.0, q, v).acceleration + drift, -damping * J @ v, atol=1e-6)


def test_recorded_figures_of_shortened_experiments(monkeypatch):
    """What the row shows and requires; not all of it is good, since the motions stop before they are over."""
    levels = {"velocity": 4.0, "torque": 5.0}
    for module, name in ((qo21_cup, "placed"), (qo21_cooperation, "lowered"), (qo21_cooperation, "carried")):
        whole = getattr(module, name)
        monkeypatch.setattr(module, name, lambda *given, whole=whole: whole(*given, levels.get(given[0], 6.0)))
    released = qo21_cooperation.released.__wrapped__  # the cache is for whole motions
    monkeypatch.setattr(qo21_cooperation, "released", released)
    for name, figures in (("cup", qo21_cup.cup_figures), ("cooperation", qo21_cooperation.cooperation_figures)):
        records.check(f"paper_{name}", shown.recorded(figures, monkeypatch), rtol=1e-5, atol=1e-8)
