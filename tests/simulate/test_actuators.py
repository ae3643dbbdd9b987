"""What motors make of a command."""

from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from things import FEET, hold, quadruped

import equipoise as eq
from equipoise.simulate.actuators import ActuatorBank
from equipoise.simulate.motor import Motor
from equipoise.simulate.plant import PlantState

DT = 1e-3


@pytest.fixture(scope="module")
def wheel():
    """A flywheel on a fixed axis without gravity."""
    builder = (
        eq.RobotBuilder("wheel", floating=False, gravity=(0, 0, 0))
        .link("ground")
        .link("wheel", mass=1.0, inertia=(1, 1, 0.5))
    )
    return builder.joint("axle", "continuous", "ground", "wheel", axis=(0, 0, 1), effort=10.0, velocity=20.0).build()


def spin(robot, actuators, torque, seconds, v0=0.0, plant="ideal", **more):
    def push(t, q, v):
        return SimpleNamespace(torque=np.array([torque(t) if callable(torque) else torque]), **more)

    return eq.simulate(
        robot, push, plant=plant, duration=seconds, dt=DT, actuators=actuators, q0=robot.neutral(), v0=np.array([v0])
    )


def test_exact_motors_change_nothing(wheel):
    plain = spin(wheel, None, 2.0, 0.05)
    exact = spin(wheel, eq.Actuators(), 2.0, 0.05)
    assert_allclose(exact.v, plain.v, rtol=0, atol=0)


@pytest.mark.paper("X6")
def test_bandwidth_is_a_lag_of_first_order(wheel):
    """A step of torque from 1 to 3 arrives as 1 − exp(−2π f t)."""
    run = spin(wheel, eq.Actuators(bandwidth=20.0), lambda t: 1.0 if t < 0.0099 else 3.0, 0.05)
    t = run.t[11:] - 0.009
    assert_allclose(run.torque[11:, 0], 3 - 2 * np.exp(-2 * np.pi * 20 * t), rtol=1e-9)


def test_rate_limit(wheel):
    run = spin(wheel, eq.Actuators(torque_rate=100.0), lambda t: 5.0 if t > 0.005 else 0.0, 0.1)
    assert_allclose(np.diff(run.torque[:, 0]).max(), 0.1, rtol=1e-9)
    assert_allclose(run.torque[-1], 5.0)


@pytest.mark.paper("X6")
def test_torque_falls_with_speed_and_power(wheel):
    """Driven at full torque it approaches the no-load speed and never passes it; braking torque is all there."""
    run = spin(wheel, eq.Actuators(no_load_speed=8.0), 10.0, 4.0)
    assert_allclose(run.v[-1, 0], 8.0, rtol=1e-3)
    assert run.v.max() < 8.0
    assert_allclose(run.torque[1:, 0], 10 * (1 - run.v[1:, 0] / 8), atol=1e-9)
    corner = spin(wheel, eq.Actuators(no_load_speed=8.0, corner_speed=4.0), 10.0, 1.0)
    slow = corner.v[:, 0] < 4
    assert_allclose(corner.torque[slow, 0], 10.0)
    brake = spin(wheel, eq.Actuators(no_load_speed=8.0), -10.0, 0.02, v0=6.0)
    assert_allclose(brake.torque[:, 0], -10.0)
    weak = spin(wheel, eq.Actuators(power=20.0), 10.0, 1.0)
    assert (weak.torque[:, 0] * weak.v[:, 0]).max() <= 20 * (1 + 1e-12)
    fast = weak.v[:, 0] > 2.1
    assert_allclose(weak.torque[fast, 0] * weak.v[fast, 0], 20.0)


@pytest.mark.paper("X6")
def test_dry_friction_holds_and_brakes(wheel):
    """Below Coulomb's torque the wheel stays; above, it accelerates by what is left; free, it stops."""
    friction = eq.Actuators(coulomb=2.0)
    held = spin(wheel, friction, 1.5, 1.0)
    assert np.abs(held.q[:, 0]).max() < 2e-3
    assert np.abs(held.v[-1]).max() < 1e-3
    moves = spin(wheel, friction, 3.0, 1.0)
    inertia = wheel.mass_matrix(wheel.neutral())[0, 0]
    assert_allclose(moves.acceleration[-2, 0], (3.0 - 2.0) / inertia, rtol=1e-6)
    stops = spin(wheel, friction, 0.0, 2.0, v0=3.0)
    assert np.abs(stops.v[-1]).max() < 1e-3
    assert_allclose(stops.q[-1, 0], 3.0**2 * inertia / 2 / 2.0, rtol=0.02)  # energy = friction × angle
    viscous = spin(wheel, eq.Actuators(viscous=0.4), 0.0, 1.0, v0=3.0)
    assert_allclose(viscous.v[-1, 0], 3 * np.exp(-0.4 / inertia), rtol=1e-3)


@pytest.mark.paper("X6")
@pytest.mark.parametrize("plant", ["ideal", "mujoco", "hard"])
def test_rotors_are_in_the_plant(wheel, plant):
    run = spin(wheel, eq.Actuators(reflected_inertia={"axle": 1.5}), 4.0, 0.05, plant=plant)
    inertia = wheel.mass_matrix(wheel.neutral())[0, 0]
    assert_allclose(run.acceleration[0, 0], 4.0 / (inertia + 1.5), rtol=1e-6)
    assert run.robot is wheel


@pytest.mark.paper("X6")
def test_position_loops_reach_their_target(wheel):
    run = spin(wheel, eq.Actuators(kp=50.0, kd=10.0), 0.0, 3.0, position=np.array([0.3]))
    assert_allclose(run.q[-1, 0], 0.3, atol=1e-4)
    first = 50.0 * 0.3
    assert_allclose(run.torque[0, 0], min(first, 10.0), rtol=1e-9)
    with pytest.raises(eq.ShapeError, match="position"):
        spin(wheel, eq.Actuators(kp=50.0), 0.0, 0.01, position=np.zeros(3))


@pytest.mark.paper("X6")
@pytest.mark.parametrize("plant", ["mujoco", "hard"])
def test_a_robot_stands_with_realistic_motors(plant):
    dog = quadruped()
    motors = eq.Actuators.realistic(dog)
    run = eq.simulate(dog, hold(dog, dog.standing()), plant=plant, duration=0.5, contacts=FEET, actuators=motors)
    assert run.outcome == "completed"
    assert np.abs(run.v[-1]).max() < 0.05
    bank = ActuatorBank(dog, motors, dog.standing(), DT)
    said = bank(np.zeros(dog.nv), PlantState(dog.standing(), np.zeros(dog.nv), 0.0))
    assert_allclose(said, 0)


def test_errors_teach(wheel):
    with pytest.raises(eq.StateError, match="bandwidth"):
        eq.Actuators(bandwidth=0.0)
    with pytest.raises(eq.StateError, match="coulomb"):
        eq.Actuators(coulomb=np.nan)
    with pytest.raises(eq.UnknownNameError, match="axle"):
        spin(wheel, eq.Actuators(kp={"axel": 3.0}), 0.0, 0.01)
    with pytest.raises(eq.ShapeError, match="realistic"):
        spin(wheel, {"kp": 3}, 0.0, 0.01)


def test_what_has_no_motor_is_asked_for_nothing():
    robot = quadruped()
    asked = np.arange(1.0, robot.nv + 1)
    sent = Motor(robot, 0, True, "torque", None).wanted(SimpleNamespace(torque=asked)).feed_forward
    assert_allclose(sent, np.where(robot.actuated, asked, 0.0), atol=0)
    assert not sent[:6].any() and asked[0] == 1.0


def test_torque_that_lags_leaves_with_the_speed(wheel):
    """A slow motor at full torque whose wheel is suddenly fast: what the speed leaves counts at once."""
    bank = ActuatorBank(wheel, eq.Actuators(bandwidth=2.0, no_load_speed=20.0, corner_speed=10.0), np.zeros(1), DT)
    slow, fast = (PlantState(np.zeros(1), np.array([speed]), 0.0) for speed in (0.0, 18.0))
    assert_allclose(bank(np.array([10.0]), slow), 10.0)
    assert_allclose(bank(np.array([10.0]), fast), 10.0 * 0.2)  # (20 − 18) / (20 − 10) of the effort limit


def test_drives_are_as_stiff_as_the_lag_of_their_torque_allows(wheel):
    """A third of the bandwidth on the inertia, or 6 % of the effort limit for each rad/s, whichever is less."""
    slow, quick = eq.Actuators(bandwidth=0.5), eq.Actuators(bandwidth=200.0)
    assert_allclose(slow.drive_gains(wheel), [[50 * 0.5 * np.pi / 3], [0.5 * np.pi / 3]])  # 2π f I / 3, I = ½
    assert_allclose(quick.drive_gains(wheel)[1], 0.06 * 10.0)
    heavy = eq.Actuators(bandwidth=0.25, reflected_inertia=0.5)
    assert_allclose(heavy.drive_gains(wheel)[1], 0.5 * np.pi / 3)  # the rotor is part of what it moves


def test_a_placeholder_is_no_measure_of_a_motor(wheel):
    """An effort limit of 1000 N m gives the friction and the gains of a motor without a limit; 999 is a limit."""
    none, placeholder, limit = (wheel.with_limits(effort=effort) for effort in (np.inf, 1000.0, 999.0))
    quick = eq.Actuators(bandwidth=200.0)
    assert_allclose(eq.Actuators.realistic(placeholder).array(wheel, "coulomb"), 0.0)
    assert_allclose(eq.Actuators.realistic(limit).array(wheel, "coulomb"), 9.99)
    assert_allclose(quick.drive_gains(placeholder), quick.drive_gains(none))
