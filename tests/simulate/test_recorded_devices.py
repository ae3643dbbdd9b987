"""Sensors, motors, noise, falls and files say what they said: fixed seeds, scripted motions."""

from __future__ import annotations

import warnings
from types import SimpleNamespace

import numpy as np
import pytest
import records
from scenes import dog_run, run_data, scripted, tumbling
from things import FEET, SOLE, crate, quadruped

import equipoise as eq
from equipoise.simulate.actuators import ActuatorBank, Actuators
from equipoise.simulate.cones import solve_cones
from equipoise.simulate.contacts import ContactInfo
from equipoise.simulate.plant import PlantState
from equipoise.simulate.sensors import Sensors, SensorSuite
from equipoise.simulate.world import Box, gaps

SENSORS = {
    "exact": Sensors(),
    "realistic": Sensors.realistic(),
    "realistic with feet": Sensors.realistic(forces=True),
    "everything": Sensors(
        dict(gyroscope_noise=0.01, gyroscope_walk=0.2, gyroscope_bias=0.1, accelerometer_noise=0.05,
             accelerometer_walk=0.3, accelerometer_bias=0.7, gyroscope_range=2.0, accelerometer_range=11.0,
             rate=300.0, delay=0.004),
        dict(noise=1e-3, resolution=1e-2, rate_noise=0.1, rate=450.0, delay=0.002),
        dict(noise=0.3, relative=0.02, rate=200.0, delay=0.001),
        dict(force_noise=2.0, torque_noise=0.1, rate=250.0, delay=0.003),
    ),
    "no torques": Sensors(torques=None, imu=dict(rate=1000.0)),
}  # fmt: skip
MOTORS = {
    "exact": Actuators(),
    "all of it": Actuators(bandwidth=30.0, torque_rate=2000.0, power=50.0, no_load_speed=8.0, corner_speed=3.0,
                           coulomb=0.4, viscous=0.05, reflected_inertia=0.02),
    "by joint": Actuators(bandwidth={"front_left_knee": 10.0}, coulomb={"hind_right_knee": 2.0},
                          no_load_speed={"front_left_knee": 1.0}, power={"hind_left_hip_roll": 3.0}),
}  # fmt: skip


def motion(robot, count: int = 40, dt: float = 1e-3):
    """States along a smooth motion in which everything turns."""
    q, v = robot.standing(), np.zeros(robot.nv)
    for k in range(count):
        t = k * dt
        v = np.cos(8 * t + np.arange(robot.nv)) * 1.5
        wrench = {name: np.array([1.0, 2.0, 60.0, 0.1, -0.2, 0.3]) * (1 + t) for name in FEET}
        yield t, PlantState(q, v, t, wrench)
        q = robot.integrate(q, v, dt)


@pytest.mark.parametrize("name", SENSORS)
def test_recorded_readings(name):
    robot, sensors = quadruped(), SENSORS[name]
    contacts = {foot: ContactInfo(foot, np.zeros((1, 3))) for foot in FEET}
    suite = SensorSuite(robot, sensors, "front_left_shank", contacts, np.random.default_rng(5))
    rows = [suite.read(t, state, np.sin(np.arange(robot.nv) + t)) for t, state in motion(robot)]
    names = ["gyroscope", "accelerometer", "joints", "joint_rates"] + (["torques"] if sensors.torques else [])
    found = {name: np.array([getattr(row, name) for row in rows]) for name in names}
    found["forces"] = None if rows[0].forces is None else np.array([[*row.forces.values()] for row in rows])
    records.check(f"simulate_readings_{name.replace(' ', '_')}", found | {"taken for": sensors.filter_noise()})


@pytest.mark.parametrize("name", [*MOTORS, "realistic"])
def test_recorded_motors(name):
    robot = quadruped()
    motors = MOTORS.get(name) or Actuators.realistic(robot)
    bank = ActuatorBank(robot, motors, robot.standing(), 1e-3)
    wanted = np.concatenate([np.zeros(6), 90 * np.cos(np.arange(robot.nv - 6))])
    given = [bank(wanted * np.sin(30 * t + 0.5), PlantState(s.q, 6 * s.v, t)) for t, s in motion(robot)]
    limits = motors.torque_limits(robot)
    found = {"given": np.array(given), "gains": motors.drive_gains(robot), "motors": motors}
    found |= {"limits": [limits.no_load_speed, limits.corner_speed, limits.power, limits.scale]}
    found |= {"mass matrix": motors.loaded(robot).mass_matrix(robot.standing())}
    records.check(f"simulate_motors_{name.replace(' ', '_')}", found)


class Drives:
    """Targets for drives with loops of their own, called every other step."""

    dt = 2e-3

    def __init__(self, robot: eq.Robot, gains: bool) -> None:
        self.robot, self.gains = robot, gains

    def __call__(self, t, q, v):
        n = self.robot.nv - 6
        own = dict(kp=np.full(n, 200.0), kd=3.0) if self.gains else {}
        target = self.robot.standing()[7:] + 0.05 * np.sin(40 * t)
        return SimpleNamespace(torque=np.full(self.robot.nv, 0.1), position=target, velocity=np.full(n, 0.2), **own)


def test_recorded_loops_of_drives():
    """Delay, limits, noise, pushes that overlap, and drives with gains of their own or of the robot's."""
    robot, motors = quadruped(), Actuators(kp=100.0, kd={"front_left_knee": 2.0})
    weak = robot.with_limits(effort=9.0)
    pushes = [
        dict(frame="trunk", force=(30, 0, 0), start=0.005, duration=0.01),
        dict(frame="trunk", force=(0, 20, 5), torque=(1, 0, 0), start=0.01, duration=0.01),
        dict(frame=FEET[0], force=(0, 0, 9), start=0.0, duration=0.003),
    ]
    noise = dict(
        position=1e-3, velocity=1e-2, base_position=1e-3, base_orientation=2e-3, base_linear=1e-2, base_angular=3e-2
    )
    drop = dict(plant="hard", contacts=FEET, duration=0.03)
    seen = []

    def watching(t, q, v):
        seen.append(np.concatenate([q, v]))
        return scripted(robot, 5.0)(t, q, v)

    found = {
        "gains of the command": run_data(eq.simulate(robot, Drives(robot, True), delay=3, pushes=pushes, **drop)),
        "gains of the drives": run_data(eq.simulate(robot, Drives(robot, False), actuators=motors, **drop)),
        "weak": run_data(eq.simulate(weak, scripted(weak, 30.0), **drop)),
        "unclipped": run_data(eq.simulate(weak, scripted(weak, 30.0), clip=False, **drop)),
        "noise": run_data(eq.simulate(robot, watching, noise=noise, seed=7, **drop)),
    }
    records.check("simulate_drives", found | {"seen": np.array(seen)}, rtol=1e-6, atol=1e-8)


def test_recorded_falls():
    """Each rule that ends a run, once."""
    robot = crate()
    q, v = tumbling(robot, 0.5)
    v[3:] = [6.0, 0.0, 0.0]
    down, up = v.copy(), v.copy()
    down[2], up[2] = -0.4, 2.0
    touch = dict(height=0.0, tilt=9.0, links=["crate"], clearance=0.05)
    rules = [
        (None, down),
        (dict(height=0.2, tilt=9.0), down),
        (dict(tilt=0.5), up),
        (touch, down),
        ({}, down),
        ({}, up),
    ]
    found = []
    for rule, v0 in rules:
        options = dict(contacts=[("crate", SOLE)], duration=0.4, dt=4e-3, q0=q, v0=v0)
        run = eq.simulate(robot, scripted(robot), "hard", fall=rule, **options)
        found.append([run.outcome, len(run.t), [f"{t:.4g}: {text}" for t, text in run.events]])
    records.check("simulate_falls", found)


def test_recorded_distances():
    """Of points all around each thing that can be touched, at rest and moving."""
    rng = np.random.default_rng(2)
    p = rng.uniform(-1, 1, (30, 3))
    twist = (0.3, -0.2, 0.1, 0.5, 1.0, -0.7)
    things = {
        "plane": eq.Plane((0.1, 0.2, 0.97), 0.1, velocity=(0, 0, 0.2)),
        "ball": eq.Sphere((0.1, 0, 0.2), 0.3, velocity=(0.1, 0.2, 0.3)),
        "capsule": eq.Capsule((0.1, 0, 0.2), (-0.4, 0.5, 0.1), 0.2, velocity=twist),
        "short capsule": eq.Capsule((0.1, 0, 0.2), (0.1, 0, 0.2), 0.2),
        "box": Box((0.5, 0.7, 0.9), (0.1, 0.2, 0.3), (0.3, 0.4, 0.5), twist),
        "box at rest": Box((0.5, 0.7, 0.9), (0.1, 0.2, 0.3), (0.3, 0.4, 0.5)),
    }
    found = {name: gaps([thing], p, 0.4) for name, thing in things.items()} | {"all": gaps([*things.values()], p, 0.4)}
    assert repr(things["box"]) == "Box(size=[0.5, 0.7, 0.9], position=[0.1, 0.2, 0.3], rpy=[0.3, 0.4, 0.5])"
    records.check("simulate_distances", found)


@pytest.mark.delicate
def test_recorded_contact_problems():
    rng, found = np.random.default_rng(8), {}
    for count in (1, 2, 4):
        for dof in (3 * count, 3 * count - 1, 6 * count):
            A = rng.normal(size=(3 * count, dof))
            c, mu = rng.normal(size=(count, 3)), rng.uniform(0.2, 1.0, count)
            c[:, 0] -= 0.5
            solved = solve_cones(A @ A.T, c, mu)
            found[f"{count} points, {dof}"] = [solved.velocity, solved.converged, solved.iterations // 50]
    records.check("simulate_contact_problems", found, rtol=1e-5, atol=1e-6)


def test_recorded_runs_on_estimates():
    """A short run through sensors and an estimator, the header of its file, and what a notebook shows."""
    robot = quadruped()
    estimator = eq.Estimator(robot, "trunk", FEET)
    run = dog_run("hard", sensors=Sensors(), estimator=estimator, duration=0.02, scenario={"name": "x"})
    header = {k: v for k, v in run._header().items() if k not in ("robot", "sensing", "origin")}
    found = {"run": run_data(run), "header": header, "html": run._repr_html_(), "repr": repr(run)}
    records.check("simulate_on_estimates", found, rtol=1e-6, atol=1e-7)


def test_recorded_mixture_of_springs_and_followers():
    """Springs, followers, damping and loops of a small arm in MuJoCo and in flight on our own plants."""
    text = """<mujoco><worldbody><body name="a"><inertial mass="1" pos="0 0 0.1" diaginertia="0.01 0.02 0.03"/>
      <joint name="h" axis="0 1 0" stiffness="30" springref="20" damping="0.4" frictionloss="0.1" armature="0.02"
      range="-10 40" limited="true"/>
      <body name="b" pos="0 0 0.3"><inertial mass="0.5" pos="0.02 0 0.1" diaginertia="0.01 0.01 0.01"/>
      <joint name="k" axis="1 0 0"/></body></body><body name="c" pos="0.3 0 0"><inertial mass="0.5" pos="0.02 0 0.1"
      diaginertia="0.01 0.01 0.01"/><joint name="s" type="slide" axis="0 0 1"/></body></worldbody>
      <equality><joint joint1="k" joint2="h" polycoef="0.1 -0.5 0.2 0 0"/></equality></mujoco>"""
    urdf = """<robot name="m"><link name="o"/><link name="a"><inertial><origin xyz="0 0 0.1"/><mass value="1"/>
      <inertia ixx="0.1" iyy="0.1" izz="0.1"/></inertial></link>
      <link name="b"><inertial><origin xyz="0.1 0 0"/><mass value="0.5"/>
      <inertia ixx="0.01" iyy="0.02" izz="0.02"/></inertial></link><joint name="h" type="revolute"><parent link="o"/>
      <child link="a"/><axis xyz="0 -1 0"/><limit lower="-1" upper="1" effort="9" velocity="9"/></joint><joint name="f"
      type="revolute"><parent link="a"/><child link="b"/><origin xyz="0 0 0.2"/><axis xyz="0.6 0 0.8"/><limit lower="-1"
      upper="1" effort="9" velocity="9"/><mimic joint="h" multiplier="-0.7" offset="0.2"/></joint></robot>"""
    found = {}
    for name, source in (("springs", text), ("followers", urdf)):
        robot = eq.load(source, floating=False)
        push = dict(frame="b", force=(1.0, 2.0, 3.0), torque=(0.1, 0.2, 0.3), start=0.0, duration=0.02)
        physics = dict(damping=True, joint_friction=True, armature=True)
        common = dict(duration=0.03, q0=robot.neutral() + 0.75, pushes=[push])
        without = dict(springs=False, joint_limits=False)
        for plant, more in (("ideal", {}), ("mujoco", {}), ("mujoco", physics), ("mujoco", without)):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                run = eq.simulate(robot, scripted(robot), plant, **common, **more)
            found[f"{name} {plant} {more}"] = run_data(run) | {"warned": [str(w.message) for w in caught]}
    records.check("simulate_springs", found, rtol=1e-6, atol=1e-7)
