"""Commands to joint drives: targets, feed-forward torque, gains; and torque limits that depend on speed."""

from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose

import equipoise as eq
from equipoise.control import JointCommand, JointCommander, TaskError

DT = 2e-3


@pytest.fixture(scope="module")
def arm():
    return eq.load("arm7")


@pytest.fixture(scope="module")
def standing():
    """(robot, controller) of a quadruped on point feet that holds its posture."""
    robot = eq.load("quadruped")
    feet = [eq.PointContact(f) for f in ("front_left_foot", "front_right_foot", "hind_left_foot", "hind_right_foot")]
    tasks = [eq.CoMTask(weight=10.0), eq.FrameTask("trunk", axes="orientation"), eq.PostureTask(weight=0.1)]
    return robot, eq.WholeBodyController(robot, tasks, feet, [eq.TorqueLimits()], dt=DT)


def test_targets_are_the_models_motion_at_half_the_step(standing, rng):
    """The drives' torque, integrated over a step of the model's own motion, is zero to third order in dt."""
    robot, controller = standing
    q, v = robot.random_state(rng)
    solution = controller(0.0, q, v)
    command = solution.joint_command(kp=100.0, kd=2.0)
    assert isinstance(command, JointCommand)
    a, joints = solution.acceleration[6:], slice(6, None)
    assert_allclose(command.position, q[7:] + v[joints] * DT / 2 + a * DT**2 / 8, atol=1e-14)
    assert_allclose(command.velocity, v[joints] + a * DT / 2, atol=1e-12)
    assert_allclose(command.torque, solution.torque, atol=0)
    assert command.kp.shape == command.kd.shape == (robot.nv - 6,)
    s = np.linspace(0, DT, 1001)[:, None]
    added = 100 * (command.position - (q[7:] + v[joints] * s + a * s**2 / 2)) + 2 * (
        command.velocity - (v[joints] + a * s)
    )
    mean = added.mean(axis=0)
    assert np.abs(mean).max() < 1e-3 * np.abs(added).max() + 100 * np.abs(a).max() * DT**2


def test_targets_go_on_from_the_last_ones(arm, rng):
    """With `previous` targets integrate the wanted motion, and leak to what is measured: a joint that is held back is
    led by about (v + a / leak) / leak, and its drive pushes."""
    controller = eq.WholeBodyController(arm, [eq.PostureTask(arm.random_state(rng)[0], weight=1.0)], dt=DT)
    q, v = arm.random_state(rng)
    solution, command = controller(0.0, q, v), None
    for _ in range(2000):
        command = solution.joint_command(10.0, 0.0, previous=command, leak=5.0)
    a, leaks = solution.acceleration, np.expm1(5.0 * DT)
    assert_allclose(command.velocity - (v + a * DT / 2), a * DT / leaks, rtol=1e-6, atol=1e-9)
    ahead = command.velocity * DT / leaks
    assert_allclose(
        command.position - (q + v * DT / 2 + solution.acceleration * DT**2 / 8), ahead, rtol=1e-6, atol=1e-9
    )


def test_targets_of_a_limb_that_lands_start_from_where_it_is(standing):
    """A contact that is made ends the targets of the joints above it; those of the other legs go on."""
    robot, controller = standing
    feet, (q, v) = tuple(contact.label for contact in controller.contacts), (robot.standing(), np.full(robot.nv, 0.1))
    controller.reset()
    controller.set_contacts(feet[1:])
    command = None
    for k in range(20):
        command = controller(k * DT, q, v).joint_command(100.0, 2.0, previous=command)
    controller.set_contacts(feet)
    solution = controller(20 * DT, q, v)
    assert solution.status.ok and command.solution.status.ok
    after, fresh = solution.joint_command(100.0, 2.0, previous=command), solution.joint_command(100.0, 2.0)
    landed = np.flatnonzero(np.abs(robot.jacobian(q, feet[0])[:3, 6:]).max(axis=0) > 1e-9)
    others = np.setdiff1d(np.arange(robot.nv - 6), landed)
    assert len(landed) == 3
    for name in ("position", "velocity"):
        made, start, last = (getattr(x, name) for x in (after, fresh, command))
        assert_allclose(made[landed], start[landed], atol=1e-12)
        assert np.abs(last[landed] - start[landed]).max() > 1e-4  # the limb was led elsewhere before
        assert np.abs(made[others] - start[others]).max() > 1e-4  # and the others still are
    again = controller(21 * DT, q, v).joint_command(100.0, 2.0, previous=after)
    assert np.abs(again.velocity[landed] - fresh.velocity[landed]).max() > 1e-5  # from then on they go on as ever


def test_a_fallback_only_damps(standing):
    robot, controller = standing
    q, v = robot.standing(), np.full(robot.nv, 0.1)
    before = controller(0.0, q, v).joint_command(100.0, 2.0)
    command = controller(0.1, np.full(robot.nq, np.nan), v).joint_command(100.0, 2.0, previous=before)
    assert not command.kp.any() and (command.kd == 2.0).all()
    assert np.isfinite(command.position).all() and np.isfinite(command.torque).all()
    assert_allclose(command.position, before.position)


def test_gains_by_joint_and_what_cannot_be_one(standing, arm):
    robot, controller = standing
    solution = controller(0.0, robot.standing(), np.full(robot.nv, 0.1))
    name = next(iter(robot.joints))
    command = solution.joint_command({name: 7.0}, np.arange(robot.nv - 6))
    assert command.kp[robot.joints[name].v.start - 6] == 7.0 and command.kp.sum() == 7.0
    assert_allclose(command.kd, np.arange(robot.nv - 6))
    for kp, message in (({"knee of nobody": 1.0}, "knee of nobody"), (-1.0, "from 0 on"), (np.ones(3), "one for each")):
        with pytest.raises(TaskError, match=message):
            solution.joint_command(kp, 0.0)
    with pytest.raises(TaskError, match="leak"):
        JointCommander(controller, 1.0, 1.0, leak=-1.0)


@pytest.mark.paper("X6")
@pytest.mark.parametrize("plant", ["hard", "mujoco"])
def test_plants_take_joint_commands(standing, plant):
    """Motors with dry friction that the controller does not know: at 500 Hz, with a loop at 1 kHz in the drives, the
    robot stands; the record has what the controller answered."""
    robot, controller = standing
    drives = JointCommander(controller, kp=80.0, kd=2.0)
    assert drives.dt == DT
    motors = eq.Actuators(coulomb=0.5, bandwidth=60.0)
    run = eq.simulate(robot, drives, plant=plant, duration=0.3, dt=1e-3, actuators=motors)
    assert run.outcome == "completed"
    assert set(run.forces) == {contact.label for contact in controller.contacts}
    assert run.status_names[0] == "optimal"
    assert np.abs(run.v[-1]).max() < 0.05


def test_drives_close_their_loop_in_every_step_of_the_plant(arm):
    """The torque of the plant is feed-forward + kp (position − q) + kd (velocity − v) at each of its own steps."""
    q0 = arm.standing() + 0.1
    said = SimpleNamespace(
        torque=np.arange(7.0), position=q0 + 0.01, velocity=np.full(7, 0.2), kp=np.full(7, 3.0), kd=0.02
    )

    def controller(t, q, v):
        return said

    controller.dt = 0.01
    run = eq.simulate(arm, controller, plant="ideal", q0=q0, v0=np.full(7, -0.3), duration=0.02, dt=1e-3)
    assert_allclose(run.torque, np.arange(7.0) + 3 * (q0 + 0.01 - run.q) + 0.02 * (0.2 - run.v), atol=1e-12)
    late = eq.simulate(arm, controller, plant="ideal", q0=q0, v0=np.full(7, -0.3), duration=0.02, dt=1e-3, delay=3)
    assert_allclose(late.torque, np.arange(7.0) + 3 * (q0 + 0.01 - late.q) + 0.02 * (0.2 - late.v), atol=1e-12)


# --- torque limits that depend on speed -------------------------------------------------------------------------------


def curve(limit, top, corner, power, speed):
    """The torque–speed curve as one would draw it: (largest negative, largest positive)."""
    if abs(speed) <= corner:
        drives = limit
    else:
        drives = limit * max(0.0, (top - abs(speed)) / (top - corner))
    by_power = power / max(abs(speed), 1e-12)
    up, down = (drives, limit) if speed > 0 else (limit, drives)
    return -min(down, by_power), min(up, by_power)


@pytest.mark.paper("X6")
def test_torque_falls_with_speed(arm, rng):
    """The command is at the curve where a task asks for more, on both sides of rest and beyond the no-load speed."""
    top, corner = np.full(7, 2.0), np.linspace(0, 1.0, 7)
    limits = eq.TorqueLimits(limits=20.0, no_load_speed=top, corner_speed=corner, power=25.0)
    far = eq.PostureTask(arm.neutral() + 50.0, weight=1.0)
    controller = eq.WholeBodyController(arm, [far], constraints=[limits])
    for _ in range(30):
        q, v = arm.random_state(rng)
        v = rng.uniform(-2.5, 2.5, 7)
        solution = controller(0.0, q, v)
        bounds = np.array([curve(20.0, top[i], corner[i], 25.0, v[i]) for i in range(7)])
        assert solution.status.ok
        assert (solution.torque >= bounds[:, 0] - 1e-9).all() and (solution.torque <= bounds[:, 1] + 1e-9).all()
        assert (np.isclose(solution.torque, bounds[:, 0]) | np.isclose(solution.torque, bounds[:, 1])).sum() >= 3
    assert any(name.startswith("torque limit of") for name in solution.active)


def test_the_curve_is_a_parameter_and_the_fallback_obeys_it(arm, rng):
    controller = eq.WholeBodyController(
        arm, [eq.PostureTask(arm.neutral() + 50.0)], constraints=[eq.TorqueLimits(limits=20.0)]
    )
    q, v = arm.random_state(rng)[0], np.full(7, 1.5)
    free = controller(0.0, q, v)
    controller.set("torque limit", no_load_speed=2.0, corner_speed=1.0)
    bound = controller(0.0, q, v)
    assert free.torque.max() > 10.0 + 1e-6
    assert bound.torque.max() <= 10.0 + 1e-9
    controller.set("torque limit", no_load_speed=np.inf, corner_speed=0.0)
    assert_allclose(controller(0.0, q, v).torque, free.torque, atol=1e-9)
    controller.set("torque limit", no_load_speed=2.0, corner_speed=1.0)
    held = controller(0.1, np.full(7, np.nan), v)
    assert held.status.fallback and held.torque.max() <= 10.0 + 1e-9
    for wrong in ({"no_load_speed": 1.0, "corner_speed": 1.0}, {"power": 0.0}, {"corner_speed": -1.0}):
        with pytest.raises(TaskError, match="torque limit"):
            controller.set("torque limit", **wrong)


@pytest.mark.paper("X6")
def test_actuators_say_what_a_controller_may_ask_of_them(arm):
    """A controller that is told of its motors never asks for what they have not: nothing is cut."""
    motors = eq.Actuators(no_load_speed=2.0, corner_speed=0.5, power=30.0)
    target = arm.standing() + 1.0

    def cut(limits):
        controller = eq.WholeBodyController(arm, [eq.PostureTask(target, gain=20.0)], constraints=[limits])
        asked = []

        def heard(t, q, v):
            asked.append(controller(t, q, v))
            return asked[-1]

        run = eq.simulate(
            arm, heard, plant="ideal", duration=0.4, q0=arm.standing(), v0=np.full(7, 0.1), actuators=motors
        )
        return np.abs(run.torque - np.array([s.torque for s in asked])).max()

    assert cut(motors.torque_limits(arm)) < 1e-6
    assert cut(eq.TorqueLimits()) > 1.0
