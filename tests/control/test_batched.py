"""Many quadratic programs at once: certified, and equal to the controller's own answers where they are."""

import numpy as np
import pytest

import equipoise as eq
from equipoise.control.batched import BatchedController
from equipoise.control.tasks import TaskError


@pytest.fixture(scope="module")
def standing():
    robot = eq.load("quadruped")
    feet = [name for name in robot.frames if name.endswith("_foot")]
    tasks = [eq.CoMTask(gain=3.0), eq.PostureTask(weight=0.1)]
    limits = [eq.TorqueLimits(), eq.JointLimits()]
    controller = eq.WholeBodyController(robot, tasks, [eq.PointContact(foot) for foot in feet], limits)
    controller(0.0, robot.standing(), np.zeros(robot.nv))
    return robot, controller


def states(robot, count, size, rng):
    q = np.stack([robot.integrate(robot.standing(), size * rng.normal(size=robot.nv)) for _ in range(count)])
    return q, 5 * size * rng.normal(size=(count, robot.nv))


def test_answers_that_call_themselves_solved_are_the_controllers(standing):
    robot, controller = standing
    q, v = states(robot, 40, 2e-3, np.random.default_rng(0))
    answer = BatchedController(controller, iterations=400, tolerance=1e-6)(q, v)
    assert answer.solved.mean() > 0.7
    for k in np.flatnonzero(answer.solved):
        single = controller(0.0, q[k], v[k])
        assert single.status.ok
        np.testing.assert_allclose(answer.torque[k], single.torque, atol=1e-2)  # tolerance 1e-6 of unit rows, in N m


def test_torques_and_accelerations_obey_the_equations_of_motion(standing):
    """Whatever the residuals, torque and acceleration of an answer belong together: contact forces are what is left."""
    robot, controller = standing
    q, v = states(robot, 5, 2e-3, np.random.default_rng(1))
    answer = BatchedController(controller, iterations=50)(q, v)
    for k in range(5):
        forces = {c.label: c.wrench(robot, q[k], answer.x[k][controller.layout.forces[c.label]]) for c in controller.contacts}
        tau = robot.inverse_dynamics(q[k], v[k], answer.acceleration[k], forces)
        np.testing.assert_allclose(tau, answer.torque[k], atol=1e-8)


def test_few_iterations_are_not_called_solved(standing):
    robot, controller = standing
    q, v = states(robot, 10, 0.01, np.random.default_rng(2))
    assert not BatchedController(controller, iterations=2, tolerance=1e-9)(q, v).solved.any()


def test_what_it_does_not_take_is_said(standing):
    robot, controller = standing
    with pytest.raises(eq.ShapeError, match=r"\(B, 19\)"):
        BatchedController(controller)(robot.standing(), np.zeros(robot.nv))
    strict = eq.WholeBodyController(robot, [eq.PostureTask()], priorities="strict")
    with pytest.raises(TaskError, match="weighted"):
        BatchedController(strict)
    fresh = eq.WholeBodyController(robot, [eq.PostureTask()])
    with pytest.raises(TaskError, match="once before"):
        BatchedController(fresh)


def test_a_saved_one_gives_the_same(standing, tmp_path):
    robot, controller = standing
    q, v = states(robot, 3, 2e-3, np.random.default_rng(3))
    many = BatchedController(controller, iterations=60)
    many.save(tmp_path / "many.npz")
    np.testing.assert_array_equal(BatchedController.load(tmp_path / "many.npz")(q, v).torque, many(q, v).torque)
