"""[QO21, Sec. 6.3]: our models beside the Robotics Toolbox and MuJoCo."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from equipoise.forms import principles
from equipoise.papers import qo21_models
from equipoise.papers.qo21_models import TABLE_6_4, _scores, against_toolbox, compared, seven_joints, toolbox_figures

pytestmark = pytest.mark.paper("Q11")


def test_seven_joints_against_the_toolbox():
    """Torques of Newton–Euler, of our kernels and of Alg. 5.1 at the same random states, all terms at work."""
    pytest.importorskip("roboticstoolbox")
    rng = np.random.default_rng(5)
    robot, peer = seven_joints(rng)
    for _ in range(3):
        q, v, a = rng.uniform(-np.pi, np.pi, (3, 7))
        baseline = peer.rne(q, v, a)
        assert_allclose(robot.inverse_dynamics(q, v, a), baseline, rtol=1e-10, atol=1e-10 * np.abs(baseline).max())
        by_gauss = principles.inverse_dynamics(robot, q, v, a, "gauss-dual-quaternion")
        assert_allclose(by_gauss, baseline, rtol=1e-10, atol=1e-10 * np.abs(baseline).max())


def test_percentage_errors_have_a_column_for_each_joint():
    pytest.importorskip("roboticstoolbox")
    errors = against_toolbox(40)
    assert errors.kernels.shape == errors.gauss.shape == (40, 7)
    assert errors.kernels.max() < 1e-9


def test_the_rows_notice_a_wrong_torque(monkeypatch):
    pytest.importorskip("roboticstoolbox")
    real = principles.inverse_dynamics
    monkeypatch.setattr(qo21_models.principles, "inverse_dynamics", lambda *x: real(*x) * (1 + 1e-6))
    against_toolbox.cache_clear()
    figures = list(toolbox_figures(30))
    against_toolbox.cache_clear()
    assert [figure.good for figure in figures] == [True, True, False, False]


@pytest.mark.parametrize("name", ["9-DOF holonomic", "8-DOF nonholonomic"])
def test_accelerations_are_those_of_mujoco(name):
    """Means of the thesis are reached in a short run too."""
    pytest.importorskip("mujoco")
    comparison = compared(name, 0.8)
    assert comparison.correlations.shape == (9,)  # of nonholonomic ones eight are free
    assert all(figure.good for figure in _scores(name, comparison.correlations, TABLE_6_4[name]))


def test_a_robot_that_rolls_is_not_one_that_slides():
    """Without the rolling constraint our model is not the engine's: the score is able to fall."""
    pytest.importorskip("mujoco")
    free = qo21_models.load("nonholonomic_arm")
    t, velocities, accelerations = qo21_models._driven(free, [free.forward_dynamics], True, 0.8)
    engine = np.gradient(velocities, t, axis=0)
    pairs = zip(
        qo21_models._filtered(accelerations[:, 0])[100:-100].T, qo21_models._filtered(engine)[100:-100].T, strict=True
    )
    least = min(qo21_models.multiple_correlation(pair) for pair in pairs)
    assert least < TABLE_6_4["8-DOF nonholonomic"][1]


def test_fifty_joints_against_mujoco_and_the_toolbox():
    """Table 6.4 has both models of the serial manipulator: they score the same, as they are the same."""
    pytest.importorskip("mujoco")
    pytest.importorskip("roboticstoolbox")
    comparison = compared("50-DOF serial", 0.5)
    assert comparison.correlations.shape == (50,)
    assert comparison.correlations.mean() >= TABLE_6_4["50-DOF serial"][1]
    assert_allclose(comparison.toolbox, comparison.ours, atol=1e-8 * np.abs(comparison.ours).max(), rtol=0)
    assert_allclose(comparison.toolbox_correlations, comparison.correlations, atol=1e-9, rtol=0)
