"""Mechanisms with closed loops and springs, under a controller and in the plants: the laws that they obey."""

from __future__ import annotations

import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose

import equipoise as eq
from equipoise.balance import close_loops, loop_constraints
from equipoise.control.controller.scene import CLOSING

# A box on the ground that carries a four-bar linkage: a motor turns the crank, a coupler and a rocker follow.
FOUR_BAR = """
<mujoco>
  <worldbody>
    <body name="box" pos="0 0 0.1">
      <freejoint/>
      <geom name="hull" type="box" size="0.3 0.2 0.1" mass="8"/>
      <body name="crank" pos="-0.15 0 0.12">
        <joint name="crank" axis="0 1 0" range="-170 170"/>
        <geom type="capsule" fromto="0 0 0 0 0 0.1" size="0.02" mass="0.5"/>
        <body name="coupler" pos="0 0 0.1">
          <joint name="coupler" axis="0 1 0"/>
          <geom type="capsule" fromto="0 0 0 0.3 0 0.05" size="0.02" mass="0.7"/>
        </body>
      </body>
      <body name="rocker" pos="0.15 0 0.12">
        <joint name="rocker" axis="0 1 0" {spring}/>
        <geom type="capsule" fromto="0 0 0 0 0 0.15" size="0.02" mass="0.6"/>
      </body>
    </body>
  </worldbody>
  <equality><connect body1="coupler" body2="rocker" anchor="0.3 0 0.05"/></equality>
  <actuator><motor joint="crank" ctrlrange="-50 50"/></actuator>
</mujoco>
"""


@pytest.fixture(scope="module", params=["", 'stiffness="40" springref="10"'], ids=["loop", "loop and spring"])
def robot(request):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return eq.load(FOUR_BAR.format(spring=request.param))


@pytest.fixture(scope="module")
def bent(robot):
    """The crank turned by 0.3 rad, the loop closed."""
    q = robot.standing()
    q[robot.joints["crank"].q] = 0.3
    return close_loops(robot, q, held=["crank"])


@pytest.fixture(scope="module")
def controller(robot, bent):
    corners = [(x, y, -0.1) for x in (0.3, -0.3) for y in (0.2, -0.2)]
    ground = eq.FlatContact("box", corners=corners, friction=0.8)
    tasks = [eq.PostureTask(bent, weight=1.0, gain=10.0), eq.FrameTask("box", robot.pose(bent, "box"), name="hull")]
    return eq.WholeBodyController(robot, tasks, [ground], [eq.TorqueLimits()], dt=1e-3)


def idle(robot):
    """A controller that does nothing."""
    return lambda t, q, v: SimpleNamespace(torque=np.zeros(robot.nv))


def closed_state(robot, rng):
    """A state on the loop, and its velocities in it; the base moves."""
    q = robot.standing()
    q[robot.joints["crank"].q] = rng.uniform(-0.5, 0.5)
    q = close_loops(robot, q, held=["crank"])
    v = rng.normal(size=robot.nv)
    J = loop_constraints(robot, q, v).J
    return q, v - np.linalg.pinv(J) @ (J @ v)


def test_commanded_accelerations_keep_loops_closed(robot, controller, rng):
    """J a + J̇v = −2k J v − k² (how far it is open): zero on the loop, towards it beside it."""
    for _ in range(5):
        q, v = closed_state(robot, rng)
        a = controller(0.0, q, v).acceleration
        rows = loop_constraints(robot, q, v)
        assert_allclose(rows.J @ a + rows.bias, 0.0, atol=1e-5 * (1 + np.abs(a).max()))  # ε of redundant rows is 1e-7
        controller.reset()
        q = robot.integrate(q, 0.01 * rng.normal(size=robot.nv), 1.0)
        a, rows = controller(0.0, q, v).acceleration, loop_constraints(robot, q, v)
        wanted = -rows.bias - 2 * CLOSING * rows.J @ v - CLOSING**2 * rows.violation
        # the middle row is redundant
        assert_allclose((rows.J @ a)[[0, 2]], wanted[[0, 2]], atol=1e-4 * (1 + np.abs(a).max()))
        controller.reset()


def test_forces_are_those_of_motor_ground_springs_and_loops_alone(robot, controller, rng):
    """M a + h + springs − Sᵀ u − Jᵀ w is a combination of the loops' rows."""
    for _ in range(5):
        q, v = closed_state(robot, rng)
        solution = controller(0.0, q, v)
        controller.reset()
        (wrench,) = solution.forces.values()
        left = robot.mass_matrix(q) @ solution.acceleration + robot.bias_force(q, v) + robot.spring_force(q)
        left -= solution.torque + robot.jacobian(q, "box").T @ wrench
        J = loop_constraints(robot, q, v).J
        forces = np.linalg.lstsq(J.T, left, rcond=1e-9)[0]
        assert_allclose(J.T @ forces, left, atol=1e-6 * (1 + np.abs(left).max()))
        assert np.abs(solution.torque[~robot.actuated]).max() == 0


def test_a_linkage_is_held_where_it_should_be_and_stays_closed_in_mujoco(robot, controller, bent):
    q0 = bent
    controller.reset()
    run = eq.simulate(robot, controller, q0=q0, duration=0.6)
    assert run.outcome == "completed"
    # where springs and weight would have taken the crank without a motor
    assert_allclose(run.q[-1][7:], q0[7:], atol=2e-3)
    opened = [np.abs(loop_constraints(robot, q, np.zeros(robot.nv)).violation).max() for q in run.q[::50]]
    assert max(opened) < 1e-4
    free = eq.simulate(robot, idle(robot), q0=q0, duration=0.6, contacts=controller.contacts)
    assert np.abs(free.q[-1][7:] - q0[7:]).max() > 0.01  # without a motor it leaves


def test_springs_pull_in_every_plant():
    """One joint on a spring swings about its rest with √(k / I), in plants of our own as in MuJoCo."""
    builder = eq.RobotBuilder("swing", floating=False, gravity=(0, 0, 0))
    builder.link("world_link", mass=1.0, com=(0, 0, 0), inertia=(0.1, 0.1, 0.1))
    builder.link("rod", mass=1.0, com=(0, 0, 0), inertia=(0.1, 0.1, 0.1))
    builder.joint("hinge", "revolute", "world_link", "rod", axis=(0, 1, 0), stiffness=10.0, rest=0.2, lower=-3, upper=3)
    robot = builder.build()
    assert_allclose(robot.spring_force(np.array([[0.5], [0.2]])), [[3.0], [0.0]])
    with pytest.raises(eq.EquipoiseError, match="spring_force"):
        robot.spring_force(np.zeros(3))
    for plant in ("mujoco", "hard", "ideal"):
        run = eq.simulate(robot, idle(robot), plant, 0.5, 1e-3, q0=[0.5])
        assert_allclose(run.q[:, 0], 0.2 + 0.3 * np.cos(10 * run.t), atol=5e-3, err_msg=plant)  # of 0.3; ½ ω dt = 0.5 %


def test_plants_that_leave_loops_open_say_so(robot):
    with pytest.warns(eq.ModelWarning, match="closed loops.*mujoco"):
        eq.simulate(robot, idle(robot), "hard", 0.002, contacts=[])
